//! What of the threads' time grew, as the ledger of threads shows it, and what answers take.
//!
//! Amounts are of an operation, with its noun, or threads at a time where operations are not
//! counted.

super::metrics! {
    /// What grew most, and what goes with it.
    LARGEST = "largest-growth", "{growth}[ ({methods})][, called from {caller}][; {also*; }]";
    /// Time of threads by what they do.
    SPENDS = "grown-time",
        "[each {noun} spends {value!} instead of {baseline!}|{value:.1} threads at a time instead of {baseline:.1} are] {doing}";
    /// Time on CPUs or waiting for one, where operations are not counted.
    RUNS = "grown-running",
        "{value:.1} threads at a time instead of {baseline:.1} are running or waiting for a CPU[ in {place}]";
    /// Waits for a thread, and what that does.
    WAITS_FOR_THREAD = "grown-waits-for-thread",
        "[each {noun} waits {value!} instead of {baseline!}|{value:.1} threads at a time instead of {baseline:.1} wait] for a thread that is {doing}";
    /// Waits for an answer over another thread's connection.
    WAITS_FOR_ANSWER = "grown-waits-for-answer",
        "[each {noun} waits {value!} instead of {baseline!}|{value:.1} threads at a time instead of {baseline:.1} wait] for {answer}";
    /// Waits for room to send.
    WAITS_TO_SEND = "grown-waits-to-send",
        "[each {noun} waits {value!} instead of {baseline!}|{value:.1} threads at a time instead of {baseline:.1} wait] for room to send in {sender}: the other side takes in slowly what is written";
    /// Where the answer comes over another thread's connection.
    ANSWER = "answer-over-a-connection",
        "the network[ in {place}]: for an answer over a connection of thread {thread}[ of {process}]";
    /// What threads do, at which peer or file, in which method; whose threads, where they are
    /// others than those that wait for them, and the peer at whose other end they are.
    DOING = "thread-doing",
        "{value}[ at {peer}][ at {file}][ of {name}][ on {mapping}][ in {place}][ (thread {thread})][ (thread {thread-of-another} of {process})][ at the other end of {over}]";
    /// The same over several connections of a service, files or pipes.
    AT_PEERS = "thread-doing-at-peers", "{doing} ({value} peers)";
    AT_FILES = "thread-doing-at-files", "{doing} ({value} files)";
    AT_PIPES = "thread-doing-at-pipes", "{doing} ({value} pipes and processes)";
    /// Waits for room to send, where there is no baseline.
    FOR_ROOM = "thread-waits-to-send", "waiting for room to send in {value}";
    /// Waits for an answer over another thread's connection, where there is no baseline.
    FOR_ANSWER = "thread-waits-for-answer", "waiting for {value}";
    /// What threads ran, where there is no baseline.
    RAN = "threads-ran", "running[ ({within})]";
    /// The same, with waits for threads that ran.
    RAN_OR_BEHIND = "threads-ran-or-waited", "running or waiting for a thread that ran[ ({within})]";
    /// The methods that run most.
    RAN_METHODS = "threads-ran-methods", "{methods*, } of it";
    /// The method below which most of it lies, and those that run most.
    RAN_BELOW = "threads-ran-below", "most of it below {value}[: {methods*, }]";
    /// A method's share of the running time.
    SHARE_OF_RUNNING = "share-of-running", "{method} {value}";
    /// A pool whose threads always had work.
    BUSY_POOL = "pool-always-busy",
        "the {threads} threads of {pool}-# had work for {value} of the time: work handed to them queues up";
    /// The same of a pool with one thread.
    BUSY_THREAD = "thread-always-busy",
        "{thread}, the only thread of its pool, had work for {value} of the time: work handed to it queues up";
    /// Requests that take longer than threads work on them or wait for them.
    STAND = "requests-stand",
        "its {requests} requests a second are answered after {value!} each, of which threads work or wait for {work!}: the rest of the time they stand where no thread waits for them, as in a queue or a timer";
    /// A part of what grew.
    PART = "growth",
        "{doing}: [{value!} {each}, {baseline!} in the baseline|{value:.2} threads at a time, {baseline:.2} in the baseline], by {threads|thread|threads}";
    /// For how much of the slow time any thread did something.
    THROUGHOUT = "thread-doing-throughout", "during {value} of the slow time some thread was {doing}";
    /// The way from a wait to its end.
    WAY = "waits-followed-to", "waits were followed to who ended them: {steps* ← }";
    /// A method's share of what grew.
    SHARE_OF = "share-of-growth", "{method} {value}";
    /// A method that has most of what the one before it has, far below it.
    SHARE_WITHIN = "share-within-growth", "below it {method} {value}";
    /// How many of the threads wait for the first of them.
    BEHIND = "threads-behind", "{value} of {threads} threads wait behind it[ in {place}]";
    /// Virtual threads that do not let go of their carriers.
    CARRIERS = "carriers-kept", "virtual threads keep their carriers meanwhile";
    /// Fewer threads at a time do what takes as long as ever.
    FEWER = "fewer-threads-at-a-time",
        "that itself takes as long as ever ({each!}), and only {value:.1} instead of {baseline:.1} threads at a time do it";
    /// The same, with what each takes in the baseline.
    AT_A_TIME = "threads-at-a-time",
        "without those that wait: {each!} an operation, {each-baseline!} in the baseline; {value:.1} threads at a time, {baseline:.1} in the baseline";
    /// Waits that last as long as Linux holds an acknowledgement back.
    DELAYED_ACKS = "delayed-acknowledgements",
        "{value} of these waits last 40 to 50 ms, and Linux holds an acknowledgement back for 40: as where a request is written in pieces (Nagle's algorithm)";
    /// Threads that wait for one answer all the time.
    UNANSWERED = "unanswered", "{value|thread has|threads have} had no answer for up to {longest}";
    /// Calls of the kernel after which threads stay away.
    CALLS_FAIL = "calls-fail",
        "{call}() fails {value} times a second instead of [{baseline}|never][, {share} of these calls]";
    /// That a control group is at its memory limit.
    GROUP_RECLAIM = "group-reclaim",
        "its control group is at its memory limit: pages were taken back from it {value} times a second instead of [{baseline}|never][, which took {stalled}]";
    /// Waits that a time limit ended.
    TIME_LIMIT = "ended-by-time-limit",
        "{value} of that time passes in {waits|wait|waits} of {limit}, which a time limit ended: what they waited for did not come";
    /// That a control group reads or writes as much as it may.
    READ_LIMIT = "read-limit-of-group",
        "its control group may read [{requests:.0} requests|{value}] a second ({group}), and reads {done}[; {baseline} in the baseline]";
    /// The same of what it writes.
    WRITE_LIMIT = "write-limit-of-group",
        "its control group may write [{requests:.0} requests|{value}] a second ({group}), and writes {done}[; {baseline} in the baseline]";
    /// Segments to a peer that were retransmitted: they got lost, or their acknowledgements did.
    SENT_AGAIN = "segments-sent-again",
        "{value|segment to it was|segments to it were} retransmitted instead of [{baseline}|none], and waits that are far longer than usual take {long} of that time";
    /// A receive window that is too small.
    SMALL_WINDOW = "small-receive-window",
        "[{peer} may send|the peer may send] {value} at a time[ instead of {baseline}]: the receive window that this side offers";
    /// More calls, and why.
    MORE_CALLS_AS = "more-calls-as", "{title}; {why}";
    /// A peer that does not read.
    PEER_WINDOW_FULL = "peer-window-full",
        "the receive window of [{peer}|the peer] was full for {value} of the time in which something was to be sent[ instead of {baseline}]: it does not read what comes";
    /// A long way to a peer.
    LONG_WAY = "long-way-to-peer",
        "the way to [{peer}|it] and back takes {value!} instead of {baseline!}: more than a slow peer explains";
    /// A short way to a peer.
    WAY_TO_PEER = "way-to-peer",
        "the way to {peer} and back takes {value!}[, {baseline!} in the baseline], its answers {took!}: the peer itself takes the time";
    /// Operations of the JVM that ask each of its threads.
    HANDSHAKES = "handshakes-made", "the JVM makes {handshake} {value:.0} times a second instead of {baseline:.0}";
    /// The same, with their number.
    HANDSHAKES_COUNTED = "handshakes-counted",
        "{count} × {handshake} in the slow windows: {value:.1} a second, {baseline:.1} in the baseline";
    /// What most of the running time of a finding is spent on.
    MECHANISM = "mechanism-of-growth", "[{title}; {value} of it|{value} of what grew is spent] {mechanism}";
    /// Classes that are loaded or made all the time.
    CLASSES_LOADED = "classes-loaded",
        "[{title}; ]the JVM loads {value:.0} classes a second instead of {baseline:.0}";
    /// By which methods of libraries one of the application comes to where the time is spent.
    THROUGH = "called-through", "called through {methods}";
    /// Connections that are opened, of an operation or a second.
    CONNECTIONS = "connections-opened",
        "[each {noun} opens {value} connections|{value} connections are opened a second] instead of [{baseline}|none]";
    /// Threads that ended when the slow time began, and the finding that this is added to.
    ENDED_MEANWHILE = "threads-ended-meanwhile", "{title}; {value?thread|threads} {names} ended when it began";
    /// Threads that begin while it is slow and do not end, and the finding that this is added to.
    BEGUN = "threads-begun",
        "[{title}; ]{value} threads {pool} began meanwhile, and [{ended}|none] of them ended";
    /// The same, with how long they had lived.
    ENDED = "threads-ended", "{value?thread|threads} {names} ended, after having lived since the recording began";
    /// Running time that grew in many methods below one.
    SPREAD = "largest-growth-below",
        "[each {noun} runs for {value!} instead of {baseline!}|{value:.1} threads at a time instead of {baseline:.1} run] below {method}[, called from {caller}][ ({methods})]";
    /// Time of several sorts that grew below one method.
    SPENT_BELOW = "largest-growth-of-sorts-below",
        "[each {noun} spends {value!} instead of {baseline!}|{value:.1} threads at a time instead of {baseline:.1} are] below {method} ({sorts})";
    /// Calls that are made more often, and what they take in all.
    MORE_CALLS = "more-calls",
        "[each {noun} calls {call}() {value} times|threads call {call}() {value} times a second] instead of {baseline}[ in {place}][, called from {caller}]: [{took!} instead of {took-baseline!}][{threads:.1} of them at a time instead of {threads-baseline:.1}]";
    /// Calls of which each of fewer operations makes more, in the title of what waits in them.
    ASKED_MORE = "asked-more", "each {noun} calls {call}() {value} times instead of {baseline}";
    /// What the collector makes code wait that allocates more.
    STALLED = "stalled-as-well",
        "the collector stalls threads there for {value} instead of {baseline}, until it has freed memory";
    /// What another thread does while others wait for nobody knows whom.
    MEANWHILE = "thread-meanwhile",
        "for {value} of that time thread {thread} is {doing}, and for {baseline} of the baseline";
    /// What waits for the network to connect.
    CONNECTING = "waits-to-connect", "these are waits for connections to be made";
    /// The same calls, counted.
    CALLS = "calls-counted", "{call}() {value} times {each}, {baseline} in the baseline";
    /// Fewer operations that take as long as ever, or add up to little of what was lost.
    LESS_DEMAND = "less-demand",
        "fewer operations, and [what they took longer adds up to no more than {part} of what was lost|on average each took no longer]: {took}; as under lower demand";
    /// How many operations a second, and what each took.
    OPERATIONS = "operations-and-time",
        "{value} instead of {baseline} {unit}; each took {took}";
    /// What an operation took of threads' time.
    TOOK_OF_THREADS = "operations-took-of-threads", "{value!} of threads' time instead of {baseline!}";
    /// What an operation took by its latency.
    TOOK = "operations-took", "{value:.3} {unit} instead of {baseline:.3} {unit}";
    /// Time of threads that nobody saw.
    UNSEEN = "threads-time-unseen", "[{value} of the threads' time was not seen|what threads did was not seen]";
    /// Sleeps of virtual threads that are not recorded.
    UNSEEN_SLEEPS = "sleeps-of-virtual-threads-unseen",
        "where virtual threads of {jvm} slept or waited with a time-out: the thread that wakes them did so {value:.1} times a second instead of {baseline:.1}, and what they waited for is not recorded";
    /// A stage that always has work.
    BUSY_STAGE = "busy-stage",
        "[{ended} of {usual} threads of {pool} ended, and ]{who} always busy ({value} of the time[, {baseline} in the baseline]): {doing} for {share} of it; work handed over queues up[; in the baseline {others:.1} other threads at a time did that]";
    /// The same where it mainly sleeps: that is no work, and keeps it from taking any.
    BUSY_STAGE_ASLEEP = "busy-stage-asleep",
        "[{ended} of {usual} threads of {pool} ended, and ]{who} never waiting for work ({value} of the time with some[, {baseline} in the baseline]), and {doing} for {share} of it; work handed over queues up[; in the baseline {others:.1} other threads at a time did that]";
    /// The same where it only asks a selector.
    SPINNING_STAGE = "busy-stage-spinning",
        "{who} always busy ({value} of the time[, {baseline} in the baseline]): {doing} for {share} of it; {spins}";
    /// A selector that answers at once.
    SELECTOR_SPINS = "selector-spins",
        "its selector returns at once, {value} times a second instead of [{baseline}|never], for {reads} reads a second: it spins";
    /// Threads of a stage.
    STAGE = "busy-stage-of", "[thread {thread} is|the {threads} threads of {pool} are]";
    /// What is left of them.
    STAGE_LEFT = "busy-stage-left", "[the {threads} that are left are|the one that is left is]";
    /// The same where nothing shows when it was slow.
    BUSY_ALL_ALONG = "busy-stage-all-along",
        "{who} {doing} for {value} of the time, while {waiting:.1} threads at a time wait for another thread";
    /// What a stage does, and for which share of the time it has no work.
    STAGE_TIME = "busy-stage-time", "{doing}: {value} of the time[, {baseline} in the baseline][; without work: {idle}]";
    /// The share of the time without work.
    STAGE_IDLE = "busy-stage-idle",
        "without work, or waiting for another thread: {value} of the time, {baseline} in the baseline";
    /// How many threads it has at a time.
    STAGE_THREADS = "busy-stage-threads", "{value:.1} threads of it at a time, {baseline:.1} in the baseline";
    /// Requests that are answered late while no thread works on them.
    HELD_BACK = "answers-held-back",
        "each request is answered after {value!} instead of {baseline!}, of which threads work or wait for {spent!} instead of {spent-baseline!}: its answer is held back where no thread waits for it[; {calls}]";
    /// How many calls of a peer are in flight at a time.
    IN_FLIGHT = "calls-in-flight",
        "{value:.1} calls to {peer} are in flight at a time instead of {baseline:.1}, each answered after {took!} instead of {took-baseline!}";
    /// How long the JVM's answers take, and how many there are.
    ANSWER_TIME = "answer-time",
        "from the first bytes of a request to the first of its answer: {value!}, {baseline!} in the baseline; {rate} answers a second, {rate-baseline} in the baseline";
    /// What threads spend on an operation.
    SPENT = "threads-time-of-an-operation",
        "what threads spend on an operation: {value!}, {baseline!} in the baseline";
    /// The thread that sends most.
    SENDS_MOST = "sends-most", "thread {thread} makes {value} of the calls that send";
    /// Clients that wait for longer than threads work.
    LATE_AT_CLIENTS = "answers-late-at-clients",
        "clients wait {value!} instead of {baseline!} for each operation, of which threads work or wait for {spent!} instead of {spent-baseline!}: [its answer is sent in more pieces ({pieces})|the rest passes where no thread of the process waits]";
    /// How long clients wait.
    AT_CLIENTS = "latency-at-clients", "{measured-on}: {value!}, {baseline!} in the baseline";
    /// Calls that send.
    PIECES = "calls-that-send", "{value:.2} calls that send an operation instead of {baseline:.2}";
    /// Answers in more pieces, where clients measure nothing.
    IN_MORE_PIECES = "answers-in-more-pieces",
        "each answer is sent by {value:.1} calls instead of {baseline:.1}, and far fewer are asked for: who waits for the last piece of one asks for no other";
    /// Answers that are larger than usual.
    LARGER_ANSWERS = "larger-answers",
        "for each operation the host sends {value} instead of {baseline}, and the JVM sends more often: whoever takes that in takes longer, and asks for less";
    /// What the host sends a second.
    SENT_IN_ALL = "sent-by-the-host", "the host sends {value} a second, {baseline} in the baseline";
    /// Requests in addition to the operations.
    MORE_REQUESTS = "more-requests",
        "the JVM answers {value} requests for each operation instead of {baseline}[, and accepts {connections} connections instead of {connections-baseline}]: it is asked for more than the operations show";
    /// How many requests there are.
    REQUESTS = "requests-and-operations",
        "{value} requests a second, {baseline} in the baseline; in addition to one for each operation {others}, {others-baseline} in the baseline";
    /// How many connections are accepted.
    ACCEPTED = "connections-accepted", "{value} connections accepted for each operation, {baseline} in the baseline";
    /// A peer that answers late.
    PEER_LATE = "peer-answers-late",
        "{peer} answers after {value!} instead of {baseline!}[, {answers} for each {noun}]: the calls are asynchronous, so that no thread waits for them";
    /// A peer that leaves calls unanswered.
    UNANSWERED_CALLS = "calls-unanswered",
        "{peer} leaves {value} of calls unanswered instead of {baseline}: {rate} a second are given up, after {after!} each";
    /// Answers that are read late.
    READ_LATE = "answers-read-late",
        "answers of {peer} arrive and are read only after {value!} instead of {baseline!}[, {answers} for each {noun}]: what reads them is busy or gets no CPU";
    /// How long a peer's answers take.
    PEER_TIME = "answer-time-of-peer",
        "from the first bytes sent to {peer} to the first of its answer that arrive: {value!}, {baseline!} in the baseline";
    /// How long they then are not read.
    UNREAD = "answers-unread", "from then until they are read: {value!}, {baseline!} in the baseline";
    /// How many there are.
    PEER_ANSWERS = "answers-of-peer", "{value} answers a second, {baseline} in the baseline";
    /// A lock whose waiters wait behind such answers.
    LOCK_BEHIND = "lock-behind-answers", "behind it: {title}";
    /// What a finding makes up of what grew: too little.
    OF_GROWTH = "share-of-growth-of-finding", "it makes up {value} of what {whose} grew by: {title}";
    /// What waiting for a CPU makes up of the time at work: too little.
    OF_WORK = "cpu-waits-of-work",
        "waiting for a CPU makes up {value} of the time in which threads at work were not idle: {title}";
}
