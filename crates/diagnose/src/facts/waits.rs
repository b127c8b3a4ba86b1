//! What threads waited for.

super::metrics! {
    /// What of the carriers' time virtual threads wait on them.
    PINNED = "carriers-pinned", "virtual threads waited on their carriers for {value} of these threads' time; without anything to run: {idle}";
    /// The longest such wait.
    PINNED_LONGEST = "carriers-pinned-longest", "the longest such wait took {value!}";
    /// What keeps them there.
    BELOW_NATIVE = "pinned-below-native", "as a native frame stands on their stacks";
    BELOW_INITIALISER = "pinned-below-initialiser", "as a class is being initialised";
    /// Look-ups of names that took long.
    SLOW_LOOKUPS = "slow-lookups",
        "{value} of {lookups|look-up|look-ups} took {least} or more, {total} in all: {names}[; {unanswered} of them without an answer when the recording ended][; threads that wanted the same name waited {behind} for them]";
    /// How long look-ups of one name took.
    LOOKUPS_OF = "lookups-of-a-name", "{name} ({value})";
    /// DNS queries that ran into their time-out.
    TIMED_OUT = "dns-queries-timed-out",
        "{value|query|queries} ran into {value?its|their} time-out; {threads|thread|threads} waited {waited} in all";
    /// Look-ups none of whose queries timed out, as the recorder saw.
    NO_TIME_OUT = "lookups-without-time-out",
        "no query of {value|look-up|look-ups} timed out; the longest took {longest}[, {unanswered} of them without an answer when the recording ended]";
    /// Look-ups none of which was as long as the default time-out, where only their lengths are
    /// known.
    NO_ROUND_LENGTH = "lookups-not-of-time-out-length",
        "{value|look-up|look-ups}, none as long as a multiple of 5 s; the longest took {longest}[, {unanswered} of them without an answer when the recording ended]";
    /// The longest of look-ups.
    LONGEST_LOOKUP = "longest-lookup", "the longest of {lookups|look-up|look-ups} took {value}";
    /// No look-up at all.
    NO_LOOKUP = "no-lookup", "no name was looked up";
    /// One look-up.
    LOOKUP = "lookup-wait", "{value} for [{name}|a name][, sent to {peer}]";
    /// A wait for another thread's look-up of the same name.
    BEHIND_LOOKUP = "lookup-wait-behind", "{value} for another thread that asks for the same name";
    /// A query of a look-up that was not recorded.
    QUERY = "dns-query-wait", "{value} for an answer of [{peer}|a resolver]";
    /// One start of a thread.
    START = "thread-start", "{value} until [{thread}|the new thread] ran";
    /// The longest of starts of threads.
    LONGEST_START = "longest-thread-start", "the longest of {starts|start of a thread|starts of threads} took {value}";
    /// Starts of threads that took long, and what they spent the time on.
    SLOW_STARTS = "slow-thread-starts", "{value} of {starts|start of a thread|starts of threads} took {least} or more, {total} in all: {parts}";
    /// A part of these starts.
    START_PART = "thread-start-part", "{value} {part}";
    /// What of a start may take long.
    MAP_LOCK = "thread-start-map-lock", "waits for the lock of the address space";
    RUN_QUEUE = "thread-start-run-queue", "the new thread waiting for a CPU";
    CLONE = "thread-start-clone", "the kernel's clone()";
    THREADS_LOCK = "thread-start-threads-lock", "waits for the JVM's lock of its list of threads";
    CALL = "thread-start-call", "the rest of Thread.start on the caller's side";
    TO_JAVA = "thread-start-to-java", "the new thread on its way to Java";
    /// Where threads were started.
    STARTED_BY = "threads-started-by", "started by {sites}";
    /// One of these places.
    STARTED_AT = "threads-started-at", "{site} ({value} of them)";
    /// Time in which most threads of the application were stopped by a signal or the freezer.
    FROZEN = "process-stopped",
        "most threads of the application were stopped at once for {value}, in as much time of the baseline for {baseline}";
    /// The same where it is too little to matter.
    HARDLY_FROZEN = "process-hardly-stopped", "the process was stopped from outside for {value}";
    /// Time in which threads were stopped, one at a time; the share of the time in which they had
    /// work.
    TRACED = "threads-stopped-by-tracer",
        "threads were stopped for {value} in all, {share} of the time in which they had work, {baseline} in the baseline";
    /// The longest time that one thread was stopped.
    FROZEN_LONGEST = "process-stopped-longest", "the longest: one thread was stopped for {value}";
    /// How long threads took to stop, and how much of it is slow: too little to matter.
    REACHED = "safepoints-reached-in-time",
        "threads stopped within {value} (p99 {p99}) in {safepoints|safepoint|safepoints}; {slow} of them slow, {lost} in all";
    /// No safepoint while the JVM's probes were watched.
    NO_SAFEPOINT = "no-safepoint", "{jvm} came to no safepoint while its probes were watched";
    /// The last thread was held back from running, for what share of the time looked at.
    HELD_BACK = "late-thread-held-back",
        "the thread that came last was late because it was held back, not for its code: {by}, {value} of {looked-at} looked at";
    /// The thread that came last to the longest of these safepoints, and what it did.
    LAST_IN = "last-thread-to-stop", "the last thread to stop was {value}: {did}";
    /// Safepoints that threads were slow to reach or to leave.
    SLOW_SAFEPOINTS = "slow-safepoints",
        "{value} of {safepoints} safepoints slow ({share}), the usual time to stop is {usual}; {trivial} of the slow ones for an operation that does nothing of note";
    /// The operations of these.
    SLOW_FOR = "slow-safepoint-operations", "slow for {operations}";
    /// One of these operations.
    SLOW_OPERATION = "slow-safepoint-operation", "{operation} ({value})";
    /// Time to safepoint of one, and time to leave it.
    REACH = "time-to-safepoint", "{operation}: {value} to stop, {leave} to be let go, {total} in all";
    /// A thread that asked for operations.
    ASKED_BY = "operations-asked-by", "{value}";
    /// A tool that did, through the thread that takes its requests.
    ASKED_BY_TOOL = "operations-asked-by-tool", "{value} (a tool: jcmd, jmap, jstack)";
    /// VM operations of one sort that held the JVM, and who asked for them.
    VM_OPERATIONS = "vm-operations",
        "{operations} × {operation}: {value}, the longest {longest}[, {collections} of it in the collections that they begin with][, asked for by {asked-by}]";
    /// One of them.
    VM_OPERATION = "vm-operation", "{operation} of {value}[, asked for by {asked-by}]";
    /// What this JDK counts into the time to safepoint.
    REACH_HAS_CLEANUP = "time-to-safepoint-has-cleanup",
        "this JDK counts the cleanup into the time to stop (JDK-8297154)";
    /// Time that threads were throttled, running and waiting.
    THROTTLED = "throttled-threads",
        "application threads: {value} throttled, {running} running, {waiting} waiting for a CPU of {active} in which they had work";
    /// How often a control group's quota ran out, and for how long.
    QUOTA = "quota-ran-out",
        "{group}: throttled for {throttled} in all, the quota ran out in {value} periods a second";
    /// Time that threads waited until another one had initialised a class.
    INITIALISER_WAITS = "class-initialiser-waits",
        "{value} of waits for the static initialiser of a class[, by {threads|thread|threads}][, in {places}]";
    /// Where they waited so.
    INITIALISER_AT = "class-initialiser-waits-at", "{place} ({value})";
    /// Who ran the initialiser meanwhile.
    INITIALISER_RUN = "class-initialiser-run", "{thread} ran the static initialiser of {value}: {did}";
    /// What it did, by share of the time in which others waited.
    INITIALISER_PART = "class-initialiser-part", "{what} {value}";
    /// The longest of these waits.
    INITIALISER_LONGEST = "class-initialiser-longest-wait", "a wait of {value} until the class was initialised";
    /// What of their time the threads of a pool waited, within its tasks, for results.
    NESTED_WAITS = "waits-for-results-within-tasks",
        "{value} of the threads' time went to waits for results within tasks of a pool[: {pool}-#][, without work for {idle} of it]";
    /// How these waits ended, where that is known.
    NESTED_ENDED = "waits-for-results-ended-by",
        "{value} of these waits were ended by threads of the same pool, {others} by other threads, and {timed-out} by their time-out";
    /// The longest of them.
    NESTED_LONGEST = "longest-wait-for-a-result", "a wait of {value} for a result";
}
