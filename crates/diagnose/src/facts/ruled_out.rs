//! What rules causes out: what was looked for and is not there, or too little to matter.

super::metrics! {
    /// No pause at all.
    NO_PAUSE = "no-pause", "no pause in {in}";
    /// No young collection.
    NO_YOUNG = "no-young-collection", "no young collection in {in}";
    /// The heap was touched when the JVM started.
    PRETOUCHED = "heap-touched-before-use", "the heap is touched before it is used (Pre-touch: Enabled)";
    /// The most kernel time of a pause.
    NO_KERNEL_TIME = "no-pause-of-the-kernel",
        "no pause used more kernel than user time (most kernel time {value})";
    /// Kernel time after the heap had been used once.
    KERNEL_TIME_LATER = "kernel-time-later",
        "{value} of {all} of kernel time in such pauses fell after the heap had been used once";
    /// How many of the early pauses the kernel led.
    LED_BY_KERNEL = "early-pauses-of-the-kernel",
        "{value} of {pauses|pause|pauses} before the heap had been used once had more kernel than user time";
    /// What kernel time cost: too little.
    FIRST_TOUCH_LITTLE = "first-touch-cost", "kernel time made pauses {value} longer in all";
    /// The same of all such pauses.
    KERNEL_TIME_LITTLE = "kernel-time-cost",
        "{pauses|pause|pauses} had more kernel than user time, which made them {value} longer in all; most kernel time {most}";
    /// No stall, no late collection.
    NO_STALL = "no-allocation-stall",
        "no thread waited for memory, no collection was finished with the application stopped";
    /// Stalls and late collections.
    STALLS_LITTLE = "allocation-stalls-cost",
        "{stalls|allocation stall|allocation stalls} and {degenerated|degenerated collection|degenerated collections}, the longest {longest}, {value} in all";
    /// No failure.
    NO_FAILURE = "no-failed-collection", "none of {value|pause|pauses} failed to evacuate or promote";
    /// Nobody asked.
    NOT_ASKED_FOR = "no-collection-asked-for", "none of {value|pause|pauses} was asked for";
    /// Collections that somebody asked for, which cost too little.
    ASKED_FOR_LITTLE = "collections-asked-for-cost",
        "{collections|collection was|collections were} asked for[, one every {every}], {value} above the baseline";
    /// Collections for lack of room.
    FOR_ROOM_LITTLE = "collections-for-room-share",
        "collections for lack of room took {value} of the time (limit {limit})[, though {live} of the heap stays in use]";
    /// The same of full collections alone.
    FULL_FOR_ROOM_LITTLE = "full-collections-for-room-share",
        "full collections for lack of room took {value} of the time (limit {limit})";
    /// The same of young collections alone.
    YOUNG_FOR_ROOM_LITTLE = "young-collections-for-room-share",
        "young collections for lack of room took {value} of the time (limit {limit})";
    /// Allocation that no heap is large enough for.
    FLOOD = "allocation-per-cpu",
        "{value} per second per CPU is allocated: no young generation is large enough for that";
    /// A leak.
    GROWS = "live-set-grows", "the live set keeps growing: a larger heap would only delay what heap-leak describes";
    /// A heap with room.
    HAS_ROOM = "heap-has-room",
        "collections took {value} of the time, but the live set is {live} of the heap[, and the young generation of {young} is full {interval} after a collection]";
    /// Pauses for humongous objects.
    HUMONGOUS_LITTLE = "humongous-cost",
        "{caused} of {pauses|pause was|pauses were} for humongous objects ({share} of the starts of concurrent cycles), {value}";
    /// Collections that native code brought about.
    LOCKER_LITTLE = "gclocker-cost",
        "{collections} of {young|collection was|collections were} because of native code that held an array[; {threads|thread|threads} waited {waited} for it in all], {value}";
    /// A log that nothing waits for.
    LOG_ASYNC = "log-asynchronous", "the log is written asynchronously (-Xlog:async): no pause waits for it";
    /// A gap in which the CPU was busy.
    GAP_BUSY = "longest-gap-busy",
        "the longest interval of a pause outside its phases is {value}, and the collector was at work in it";
    /// Gaps that cost too little.
    GAPS_LITTLE = "gaps-of-pauses",
        "intervals of pauses in which nothing was done are {value} in all, the longest {longest}: too little to matter";
    /// A gap that is too short.
    GAP_SHORT = "longest-gap",
        "the longest interval of a pause in which nothing was done is {value}, a blocked write shows from {least} on";
    /// Collections for metaspace.
    METASPACE_LITTLE = "metaspace-cost", "{collections} of {pauses|pause was|pauses were} for metaspace, {value}";
    /// Survivors that fit.
    PROMOTION_LITTLE = "promotion-cost",
        "survivors overrun after {collapsed} of {young|young collection|young collections}; {promoted} promoted of what young collections freed; old collections took {value}";
    /// CPU time of pauses that worked.
    STARVED_LITTLE = "starved-pauses-cost",
        "{pauses|pause|pauses} of 50 ms or more used {cpu} of CPU in {paused}[, {efficiency} of what their workers could have used] ({value} wasted)";
    /// How little the collector's threads waited for a CPU.
    COLLECTOR_GOT_CPUS = "collector-got-cpus",
        "the collector's threads waited for a CPU for {value} of the time in which they could run ({cost} of the pauses)";
    /// No pause that is long enough.
    NO_LONG_PAUSE = "no-long-pause",
        "no pause of 50 ms or more in which the collector was at work[: {pauses|pause|pauses} used {cpu} of CPU in {paused}, in steps of 10 ms, too coarse to judge shorter pauses by]";
    /// Stops of the JVM.
    STOPPED = "stopped-share-and-longest", "the JVM was stopped for {value} of {of}, the longest stop {longest}";
    /// No operation.
    NO_OPERATION = "no-vm-operation", "no operation but collections held the JVM in {in}";
    /// Operations that cost too little.
    OPERATIONS_LITTLE = "vm-operations-cost",
        "{operations|operation|operations} that are no collections held the JVM for {value} above the baseline, the longest {longest} ({operation})";
    /// No wait for a lock.
    NO_WAIT = "no-lock-wait", "no thread waited for a {noun}";
    /// CPU time of something.
    TOOK_CPU = "cpu-time-of", "{what} took {value} of CPU time[; {above} of wall time above the baseline]";
    /// What took it.
    FULL_HANDSHAKES = "full-handshakes", "TLS handshakes in full";
    STAY_INTERPRETED = "methods-interpreted", "methods that stay in the interpreter";
    WITHOUT_INTRINSICS = "methods-without-intrinsics",
        "compiled Java of methods that C2 has intrinsics for[, without those whose intrinsic was seen to run ({used}),]";
    METHOD = "method-named", "{value}";
    /// All of it, all along.
    ALL_INTERPRETED = "all-interpreted", "all code is interpreted ({flag}), in the baseline as well";
    /// Code that was thrown away.
    INVALIDATIONS = "invalidations",
        "after start-up {invalidations|invalidation|invalidations} without better code there, {value:.2} a second; at most {most} of one method that was compiled again";
    /// Threads that were throttled.
    THROTTLED_LITTLE = "throttled-share",
        "application threads were throttled for {value} of the time in which they had work";
    /// A control group whose own counters show next to nothing.
    GROUP_HARDLY_THROTTLED = "group-hardly-throttled", "the control group was hardly throttled";
    /// Waits for a CPU.
    CPU_WAITS_LITTLE = "cpu-waits-cost",
        "application threads waited for a CPU for {value} of the time in which they had work[, {baseline} in the baseline]; others took [{more} CPUs more|{others} CPUs][; {recorder}]";
}
