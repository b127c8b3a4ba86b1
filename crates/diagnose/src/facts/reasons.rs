//! Why a finding is as sure as it is: what shows its cause, what of the loss that explains, and
//! what speaks against it.

super::metrics! {
    /// What shows it, and what of the loss it explains.
    HALF = "reason-explains-half", "{shown}, and it explains half of the loss or more";
    LESS_THAN_HALF = "reason-explains-less", "{shown}, but it explains less than half of the loss";
    NO_SERIES = "reason-loss-not-measured", "{shown}; no series shows what it cost the application";
    QUERIES_LOST = "reason-queries-lost", "the lost queries were seen";
    ONLY_LENGTH = "reason-only-length-of-look-ups",
        "only the length of the look-ups was seen, which fits the default time-out; strace -f -e trace=network shows the queries";
    LOOKUPS_TIMED = "reason-look-ups-timed", "the look-ups were timed";
    KERNEL_NOT_AT_WHAT = "reason-kernel-at-what",
        "the log says how long the kernel worked in pauses, and not at what. Proof: stacks of the collector's threads (fathom record, perf record -g)";
    NAMED = "reason-cause-named", "the log names the cause";
    UNTOUCHED = "reason-heap-untouched",
        "the heap is not touched before use, and kernel time falls once it has been used through";
    UNTOUCHED_NOT_SHOWN = "reason-heap-untouched-not-shown",
        "the log does not show both that the heap is not touched before use and that kernel time falls later. Proof: page faults of the collector's threads (perf trace -F all, or minor faults in /proc/PID/task)";
    STOPPED_COMPILING = "reason-stopped-compiling",
        "the JVM says itself that it stopped compiling, and the loss came after that; which code ran interpreted is not in the logs";
    STOPPED_COMPILING_COST = "reason-stopped-compiling-cost",
        "the JVM says itself that it stopped compiling; what that cost is not in the logs";
    CODE_THROWN_AWAY = "reason-code-thrown-away",
        "code is thrown away for lack of room; what its compiling again cost is not in the logs";
    HELD_UP = "reason-held-up",
        "collections of this run waited for seconds or spent them in the kernel, and what held these up may well have held up threads; a loop or a copy without a poll would look the same";
    VM_THREAD_WITHOUT_CPU = "reason-vm-thread-without-cpu",
        "the log shows the time; that the VM thread did not get a CPU is what usually makes it so";
    TRIVIAL_ARE_SLOW = "reason-trivial-operations-slow",
        "many or trivial operations are slow to reach, so it is no thread's code; the log does not show what kept the threads from running";
    TIME_LOST_HERE = "reason-time-lost-here",
        "the log shows the time lost here; waits for a CPU are shorter than these; whether it is a loop, a copy or a fault is not in the log";
    ONE_LATE_THREAD = "reason-one-late-thread",
        "the log shows the time lost here; a few safepoints among many fast ones point at one late thread, which the log does not name";
    FEW_WERE_LATE = "reason-few-were-late",
        "the log shows the time lost here; that few times, a thread that got no CPU looks like one whose code runs on, and switches of threads, which would show it, were not recorded";
    RAN_ON = "reason-last-ran-on",
        "the switches of the threads name the one that came last and show that it ran on for longer than to the next poll";
    NOT_HELD_BACK = "reason-last-not-held-back",
        "the switches of the threads name the one that came last and show that nothing held it back";
    STARTS_HALF = "reason-starts-half",
        "the starts were timed and take half of the loss or more; that work waited for them was not seen";
    STARTS_LESS = "reason-starts-less", "the starts were timed; they take less than half of the loss";
    STARTS_ALL_ALONG = "reason-starts-all-along",
        "the starts were timed; they took as long all along, and no series shows that they cost anything";
    STARTS_COST = "reason-starts-cost",
        "the starts were timed; no series shows what they cost the application";
    /// Something that every start of a program has.
    BEGINNING = "reason-beginning",
        "these are the first seconds that were looked at, and a program that starts does so: nobody measured that anything was slow";
    PERIODIC = "reason-periodic-collections",
        "the log names no causes; they keep to a period, as no heap that fills does";
    MOSTLY_CONCURRENT = "reason-mostly-concurrent",
        "the log names the cause; the collections asked for ran mostly concurrently with the application";
    FULL_HANDSHAKES = "reason-full-handshakes",
        "samples show what only full handshakes do, and not whether the peers had a session to resume";
    SAID_BY_JVM = "reason-said-by-jvm", "the JVM says so itself; what holds the memory is not in its log";
    DIRECT_LIMIT = "reason-direct-limit-reached",
        "the limit is reached, and collections are asked for, as is done to find dead buffers";
    TWO_DUMPS = "reason-two-dumps",
        "two dumps show that it grew, and not that it goes on; a pool of buffers that fills looks the same";
    TWO_HEAP_DUMPS = "reason-two-heap-dumps",
        "two dumps show that it grew, and not that it goes on; a table or a cache that fills looks the same";
    HELD_BACK_BY_SCHEDULER = "reason-held-back-by-scheduler",
        "the scheduler was seen to hold the threads back for lack of quota";
    COUNTED_BY_CGROUP = "reason-counted-by-cgroup",
        "the control group's own counters show it; which threads were stopped was not recorded";
    DEADLOCK = "reason-deadlock",
        "each of these threads waits for what the next one holds, and none of these waits had ended when the recording did";
    STACKS_OF_SWITCHES = "reason-stacks-of-switches",
        "the waits are known from the stacks of switches alone: no record of a lock says which one it was, and whether it was one";
    HOLDERS_WITHOUT_CPU = "reason-holders-without-cpu",
        "its holders waited for a CPU for most of the time in which others waited for them: whatever takes the CPUs causes the same waits";
    HOLDERS_UNSEEN = "reason-holders-unseen",
        "the waits were measured; what its holders did meanwhile was not: a holder that is itself off the CPU (throttled, swapped, blocked on a disk) causes the same waits";
    HOLDERS_PARTLY = "reason-holders-partly-known",
        "the waits were measured; who held it is known for {value} of the {of} for which somebody waited, and what the holders did for the rest is not: a holder that is itself off the CPU causes the same waits, and so do permits that are never released";
    HOLDERS_KNOWN = "reason-holders-known",
        "the waits were measured; what its holders did is known of {value} of the {of} for which they are known to have held it while others waited";
    OWNER_INFERRED = "reason-owner-inferred",
        "the lock names no owner: whoever ended a wait is assumed to have held it from when the wait began";
    FINALIZERS_FILL = "reason-finalizers-fill-heap",
        "that what waits for the thread of finalizers is what fills the heap was not seen: a heap dump shows it";
    FEW_SAMPLES = "reason-few-samples",
        "it was seen in a few samples only, so that its share of the CPU time is not known well";
    COMPILERS_OFF = "reason-compilers-off", "the flag that switches the compilers off was given";
    OTHERS_COMPILED = "reason-others-compiled",
        "compilations were recorded, and none of these methods; how large a method is was not seen, and how much faster its compiled code would be was not measured";
    STAYED_INTERPRETED = "reason-stayed-interpreted",
        "it stayed in the interpreter for longer than any hot method does; compilations were not recorded";
    HAD_ROOM = "reason-heap-had-room",
        "the log shows the collections, and that the heap had room; why they were made it does not name";
    COST_TOO_LITTLE = "reason-cost-too-little", "it cost too little to be why anything was slow";
    SURVIVORS_OVERRUN = "reason-survivors-overrun",
        "survivors are overrun and die in the old generation; how much would die with larger survivor spaces is not in the log";
    START_UP = "reason-start-up",
        "every JVM compiles much in its first seconds: this is expected, and ends with the start-up";
    BURST_NO_SERIES = "reason-burst-without-series",
        "no series of throughput or latency shows that anything was lost; the cost is how long it lasted, and no more than compilers worked and new code ran, as far as samples show that";
    BURST_SEEN_LESS = "reason-burst-seen-less",
        "what samples and switches show of it explains less than half of what these windows lost";
    BURST_LESS = "reason-burst-less",
        "less than half of what these windows lost was lost while tasks of the burst were under way";
    STOPS_TOO = "reason-stops-explain-too", "stops of the JVM explain a good part of the same windows";
    BURST_LATE = "reason-burst-late", "in a window the burst began only when half of it was over";
    BURST_FITS = "reason-burst-fits",
        "the burst begins with the dip and most of the loss falls into it; logs do not show which code ran interpreted, so that the new code is slow for another reason is not excluded: CPU samples (fathom record) would show it";
    BURST_SEEN = "reason-burst-seen",
        "samples and switches show what ran before it was compiled, and who took the CPUs; that explains half of the loss or more";
    BURST_SEEN_IN_PART = "reason-burst-seen-in-part",
        "samples and switches show what ran before it was compiled, and who took the CPUs; that explains half of what was lost while most was compiled or more";
    STOPS_NAMED = "reason-stops-named",
        "the log shows the stops and what they were; why they take so long it does not name";
    LARGER_HEAP_NOT_TRIED = "reason-larger-heap-not-tried",
        "the metrics fit; how much a larger heap helps shows only a run with one";
    LOAD_GREW = "reason-load-grew",
        "the application allocates {value:.1} times as much as in the baseline windows: the load grew, too";
    WAITS_WITHIN_TASKS = "reason-waits-within-tasks",
        "stacks show the waits within tasks, and the scheduler how they ended; which task waits for which was not seen";
    COMPILED_OFTEN = "reason-compiled-often",
        "what is compiled so often was thrown away as often, and most of the loss falls into that; why it was thrown away was not recorded";
    COMPILED_OFTEN_COST = "reason-compiled-often-cost",
        "what is compiled so often was thrown away as often; that the application waited for it was not seen";
    ROUNDS = "reason-deoptimisation-rounds",
        "the rounds are in the log and most of the loss falls into them; which code ran interpreted is not";
    ROUNDS_COST = "reason-deoptimisation-rounds-cost",
        "the rounds are in the log; that the methods are what the application waited for is not";
    FULL_AND_TWO_DUMPS = "reason-full-and-two-dumps",
        "the growth goes on until the heap is full, and two dumps show what grew";
    LOG_AND_DUMPS = "reason-log-and-dumps",
        "log and dumps show the same growth; a cache without a limit that is still filling looks the same until it stops";
    ONE_DUMP = "reason-one-dump",
        "the log shows that the heap grows, and the dump shows one that keeps much of it in many entries without a bound; a second dump would show whether this is what grows";
    GROWS_UNTIL_FULL = "reason-grows-until-full",
        "the growth goes on until the heap is full; what holds the objects is not in a GC log";
    MAY_BE_A_CACHE = "reason-may-be-a-cache",
        "a cache without a limit that is still filling looks the same until it stops";
    THREADS_STOPPED = "reason-threads-stopped",
        "the scheduler saw its threads stopped in the kernel's functions for stopped tasks";
    THREADS_TRACED = "reason-threads-traced",
        "the scheduler saw threads stopped in the kernel's functions for stopped tasks, not all at once; what else the tracer costs (its own CPU time, the way through the kernel) is not included";
    INITIALISER_SEEN = "reason-initialiser-seen",
        "the scheduler saw threads wait in the JVM's initialisation of a class, and another one in its static initialiser";
    INITIALISER_LESS = "reason-initialiser-less",
        "threads were seen to wait for the initialiser; it explains less than half of the loss";
    INITIALISER_UNSEEN = "reason-initialiser-unseen",
        "threads were seen to wait in the JVM's initialisation of a class; no stack shows who ran the initialiser";
    LOG_LINES_FIT = "reason-log-lines-fit",
        "the lines fit a blocked write of the log; a stall of hsperfdata or of the whole process prints the same ones. Proof: kernel write() times on the log's descriptor, or the VM thread's off-CPU stack";
    WRITES_TIMED = "reason-log-writes-timed", "the write() calls were timed in the kernel and fill the gaps";
    INTRINSIC_OFF = "reason-intrinsic-off",
        "the method runs as Java, and the flag that does so was given; how much faster it would be was not measured";
    INTRINSIC_LATER = "reason-intrinsic-later",
        "the method runs as Java, and this JDK has no intrinsic for it; how much faster it would be was not measured";
    INTRINSIC_UNSEEN = "reason-intrinsic-unseen",
        "the method runs as Java; whether this CPU supports the intrinsic was not seen";
    CPUS_BUSY_TOO = "reason-cpus-busy-too",
        "other metrics point to busy CPUs too; run-queue times of the workers would prove it";
    VIRTUAL_THREADS_AT_A_TIME = "reason-virtual-threads-at-a-time",
        "the waits were measured; how many of these virtual threads there were at a time is not known, and so they may cost far less";
    COLLECTOR_TIMED = "reason-collector-timed",
        "each wait of the collector's threads for a CPU was timed; how long the pauses are with CPUs that are free, only a run with them shows";
    LITTLE_OF_THE_RUN = "reason-little-of-the-run",
        "each wait of the collector's threads for a CPU was timed; it is little of the whole run, and no series shows that anything was slow then";
    COLLECTIONS_EXPLAINED = "reason-collections-explained",
        "each wait of the collector's threads for a CPU was timed; but there are too many collections for another reason, which is a finding of its own: CPUs that are short make each of them longer";
    MAY_BE_SWAPPED = "reason-may-be-swapped",
        "a heap that was swapped out prints the same figures. Proof: run-queue time of the workers (perf sched, /proc/PID/task/*/schedstat) and no major page faults";
    FAULTS_TIMED = "reason-faults-timed", "each fault was counted and timed";
    FAULTS_SAMPLED = "reason-faults-sampled",
        "CPU samples show the kernel's handling of faults, which were not counted";
    OPERATION_NAMED = "reason-operation-named", "the operation is named";
    OPERATION_SMALL = "reason-operation-small",
        "the operation is named, and has little work of its own: that its thread waited for a CPU, for memory from swap or for a disk is as likely";
    CPU_HALF = "reason-cpu-waits-half",
        "the kernel timed the waits and counted who ran on the CPUs; they explain half of the loss or more";
    CPU_PART = "reason-cpu-waits-part", "the kernel timed the waits; they explain a part of the loss";
    CPU_SMALL_PART = "reason-cpu-waits-small-part",
        "the kernel timed the waits; they explain a small part of the loss";
    CPU_USUAL_UNKNOWN = "reason-cpu-waits-usual",
        "the kernel timed the waits; what is usual on this machine, and what they cost the application, is not known";
    CPU_OWN = "reason-cpu-waits-for-own",
        "but {value} of the waits ended when a thread of its own left the CPU";
    CPU_AFTER_DISK = "reason-cpu-waits-after-disk",
        "but {value} of the waiting follows waits for a disk, {baseline} in the baseline: who makes more such calls waits for a CPU after each";
    CPU_CHILDREN = "reason-cpu-whose-children",
        "which of the short-lived processes the JVM started is not known";
    FOUND_IN_STOPS = "reason-found-in-stops", "found in the longest stops, and its cost is theirs";
    FOUND_IN_CHANGES = "reason-found-in-changes",
        "found where threads spent their time differently, and its cost is of that";
    FOUND_IN_RUN = "reason-found-in-run", "found over the whole run, and its cost is of all of it";
    COVERED = "reason-covered-part", "judged on the {value} of the slow windows that its sources cover";
    NO_BASELINE = "reason-no-baseline",
        "nothing of it was recorded in the baseline, so what is usual is not known";
    CHARGED_TO = "reason-charged-to-another",
        "{value} of its {of} are attributed to {rule}, which explains the same time";
    CHARGED_BEFORE = "reason-charged-to-those-before",
        "{value} of its {of} are attributed to the findings before it";
    BEYOND_THE_LOSS = "reason-beyond-the-loss",
        "{value} of its {of} are beyond what was lost above as much baseline time";
    DIVIDED = "reason-divided-among-jvms", "{value} JVMs show it, and the loss is divided among them";
    SENDER_UNSEEN = "reason-sender-unseen",
        "what sends the requests was not looked at: it may wait for something else, ask elsewhere, or wait for an answer that is held back here";
    CLIENTS_NOT_TIMED = "reason-clients-not-timed",
        "what the host sends and how often the JVM sends was counted; how long clients take to take that in was not";
    ASKERS_NOT_SEEN = "reason-askers-not-seen",
        "requests and operations were counted; which clients make the others, and whether an operation needs more of them, was not";
    DELAYED_ACK = "reason-delayed-acknowledgement",
        "that clients wait, that threads do not and that an answer is sent in more calls was measured; the delay fits TCP's delayed acknowledgement, which was not seen itself";
    CARRIERS_PINNED = "reason-carriers-pinned",
        "that virtual threads wait on their carriers was seen on their stacks; that others wait for a carrier meanwhile was not";
    GIVEN_UP = "reason-calls-given-up",
        "that connections were closed while an answer was waited for, and after how long, was measured; that operations waited for those calls was not, nor whether the peer or the network lost them";
    CLIENTS_NOT_SEEN = "reason-clients-not-seen",
        "that answers are sent in more calls and that far fewer requests come was measured; that clients wait for the last piece of each was not, nor the acknowledgement that it may wait for";
    CLIENTS_WAIT = "reason-clients-wait",
        "that clients wait and that threads do not was measured; what holds the answers was not: what clients measure has the network and their own waiting in it";
    WAITS_ALL_ALONG = "reason-waits-all-along",
        "some thread is in it nearly all the time, and hardly ever was before; that clients wait for that thread was not followed";
    HOLDER_OF_ANSWERS = "reason-holder-of-answers",
        "that the answers come late and that no thread is busy with them was measured; what holds them was not. Requests that wait for news on purpose (a long poll) look the same where there is less news, and so do requests that arrive slowly, in parts";
    LIMIT_OF_CALLS = "reason-limit-of-calls",
        "that requests wait while one call after the other is made, of which there were several at a time, was measured; what makes them wait for each other was not seen";
    STAGE_NOT_FOLLOWED = "reason-stage-not-followed",
        "what the others wait for was not followed to it, and whether it was ever faster is not known";
    CALLS_TAKE = "reason-calls-take", "what these calls take makes up {value} of what {whose} grew by";
    GREW_BELOW = "reason-grew-below",
        "what runs below it makes up {value} of what {whose} grew by; no rule knows the mechanism";
    LIES_BELOW = "reason-lies-below",
        "what lies below it makes up {value} of what {whose} grew by; no rule knows the mechanism";
    GREW = "reason-grew", "it makes up {value} of what {whose} grew by; no rule knows the mechanism";
    STAGE_BUSY = "reason-stage-busy",
        "threads that took work from others and had time to spare have none any more, and the others wait more than before; that what they wait for passes through {value?this thread|these threads} was not seen itself";
    PEER_TIMED = "reason-peer-timed",
        "how long the peer's answers take was measured at the connections, from the first bytes sent to the first that came back; threads spend {value!} instead of {baseline!} on an operation, so that none of them waits for it. [The way to it and back takes {way!}: the peer itself is slow|Whether the peer or the network to it is slow was not seen]; of several requests at a time over one connection only the first is timed";
    BEHIND_PEER = "reason-behind-peer",
        "how long the peer's answers take was measured at the connections, from the first bytes sent to the first that came back; threads wait for each other {value!} longer for each operation, and none of them is seen to wait for the peer: they wait behind calls that it answers. [The way to it and back takes {way!}: the peer itself is slow|Whether the peer or the network to it is slow was not seen]; of several requests at a time over one connection only the first is timed";
    STAYS = "reason-stays",
        "when the first cause is gone, it still adds {value} to an operation's usual time";
    PART_OF_GROWTH = "reason-part-of-growth",
        "it makes up {value} of what {whose} grew by, and explains no more of the loss";
    WITH_UNCOMPILED = "reason-with-uncompiled",
        "with what threads took longer in code that was not compiled yet it is {value}";
    WITH_INTERPRETED = "reason-with-interpreted",
        "with what threads took longer in code that stays in the interpreter it is {value}";
    WAKERS_UNSEEN = "reason-wakers-unseen",
        "which threads ended these waits, and what they did meanwhile, was not recorded";
    COST_OF_WINDOWS = "reason-cost-of-windows",
        "no loss was measured, and it costs no more than the windows are long";
}
