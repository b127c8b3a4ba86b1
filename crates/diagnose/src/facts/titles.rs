//! The lines that findings are known by: what it is, with its main value. An id begins with that of
//! the rule.

super::metrics! {
    /// Look-ups that ran into the time-out of the resolver's client.
    DNS_TIMEOUT = "dns-timeout",
        "[{threads|thread|threads}|{lookups|name look-up|name look-ups}] waited {value} for a resolver that did not answer";
    /// Look-ups that took long.
    DNS_SLOW = "dns-slow",
        "{lookups|name look-up|name look-ups} took {value}, the longest {longest}[, {unanswered} without an answer when the recording ended][; threads that wanted the same name waited {behind} for them]";
    /// Handshakes that a session would have spared.
    TLS_NOT_RESUMED = "tls-not-resumed",
        "TLS handshakes in full took {value} of CPU time[, {cpu}, and {elapsed} with its waits for a CPU]: sessions were not resumed";
    /// Starts of threads.
    THREAD_START_SLOW = "thread-start-slow",
        "{starts|start of a thread|starts of threads} took {value} until they ran, the longest {longest}: {share} of it {part}";
    /// Waits for the static initialiser of a class.
    CLASS_INIT_SLOW = "class-init-slow",
        "{threads|thread|threads} waited {value} for the static initialiser of [{class}|a class]";
    COLLECTOR_WORK = "title-collector-work", "{title}; {value} of what the collector's threads ran went to {work}";
    CARRIERS_PINNED = "title-carriers-pinned",
        "virtual threads keep {carriers?their carrier|their carriers} for {value} of the time[, {baseline} in the baseline]: they wait in {place} and cannot leave {carriers?it|them}[, {by}], so that no other virtual thread gets on";
    /// Waits within a pool's tasks for results of its other tasks.
    POOL_WAITS_FOR_ITSELF = "pool-waits-for-itself",
        "tasks of {pool}-# wait in {place} for results of tasks of the same pool: {value} of the time of its {threads|thread|threads}, which are hardly ever without work[ ({baseline} in the baseline)]";
    /// Waits for one lock, and what its holder did.
    LOCK = "lock-contended",
        "{threads|thread|threads} waited {value} for [the {noun} {lock}|a {noun} of unknown class][ in {place}()][; its holder was off the CPU {off} of {held}; what it did: {did}][; its holder ran on a CPU {ran} of {held}: {did}][; what that waited for: {behind}]";
    /// Waits for several locks.
    LOCKS = "lock-contended-several",
        "{threads|thread|threads} waited {value} for [{locks|{noun}|{noun}s}, longest for |many {noun}s: ]{lock}";
    /// Threads each of which waits for what the next one holds.
    DEADLOCK = "lock-deadlock", "a deadlock: {waits}";

    /// The kernel in pauses.
    GC_KERNEL_TIME = "gc-kernel-time-in-pauses",
        "in {collections|collection|collections} the kernel worked more than the collector: {value} of {cpu} of CPU";
    /// Memory that the heap had not used before.
    GC_FIRST_TOUCH = "gc-first-touch",
        "{value} of pauses went into the kernel handing out memory that the heap had not used before";
    /// Collections that somebody asked for.
    GC_EXPLICIT = "gc-explicit", "{collections|collection|collections} asked for by {by}: {value} of stops";
    /// Collections that failed, by how, and those that followed.
    GC_EVACUATION_FAILURE = "gc-evacuation-failure",
        "{failures}[, {within|full collection|full collections} within][, {followed|full collection|full collections} followed][, of which {truncated|record is|records are} truncated][: {value} lost]";
    /// One way to fail, in the words of the log.
    GC_FAILURE = "gc-failure", "{value} × {failure}";
    /// Collections for class memory.
    GC_METASPACE = "gc-metaspace",
        "{collections|collection|collections} because class memory reached its threshold[, {last-resort} of them the last resort before an OutOfMemoryError]: {value}[; it keeps growing, by {growth} a minute]";
    /// Collections that waited for native code.
    GC_LOCKER = "gc-locker",
        "{collections|collection|collections} ({value}) had to wait because native code held an array";
    /// Collections that left regions in place for native code.
    GC_LOCKER_PINNED = "gc-locker-pinned",
        "{collections|collection|collections} ({value}) left regions in place because native code held an array";
    /// Threads that waited for native code.
    GC_LOCKER_WAITED = "gc-locker-waited",
        "{threads|thread|threads} waited {value} for native code that held an array";
    /// Allocations that failed for native code.
    GC_LOCKER_FAILED = "gc-locker-failed",
        "GCLocker: {value|allocation|allocations} failed while native code held an array: {said}";
    /// Objects that are promoted too early.
    GC_PREMATURE_PROMOTION = "gc-premature-promotion",
        "{value} of young collections overrun the survivor spaces; {cost} of old collections clean up after that";
    /// Cycles that humongous objects start.
    GC_HUMONGOUS = "gc-humongous",
        "{share} of {cycles|concurrent cycle|concurrent cycles} started for objects of half a region or more: {value} of pauses";
    /// Collections for lack of room in the heap, or in one of its generations.
    GC_HEAP_TOO_SMALL = "gc-heap-too-small",
        "collections take {value} of the time[: {live} of the heap of {heap} stays in use][, where at most {before} did before][: {old-left} of the {old} of the old generation stay in use after full ones][: the young generation of {young} is full {interval} after a collection]";
    /// The same where the length of full collections matters, not their share of the run.
    GC_HEAP_TOO_SMALL_LONG = "gc-heap-too-small-by-length",
        "{value|full collection|full collections} of a second or more[: {live} of the heap of {heap} stays in use][, where at most {before} did before]";
    /// A heap that is full of what waits for its finalizers, with what is said of the heap.
    FINALIZERS_BEHIND = "finalizers-behind",
        "{title}; the thread that runs finalizers is behind, in {value}()";
    /// Pauses that waited for their CPUs.
    GC_STARVED_OF_CPU = "gc-starved-of-cpu",
        "collections [got {efficiency} of the CPU time that they could use|waited for more than they worked]: {value} of CPU in {paused} of pauses";
    /// The same as the scheduler shows it, of the time in which the collector's threads could run.
    GC_WAITED_FOR_CPU = "gc-waited-for-cpu",
        "collections waited for a CPU: in {paused} of pauses, the collector's threads waited for {value} of the time in which they could run";
    /// Threads that waited for memory.
    GC_ALLOCATION_STALL = "gc-allocation-stall",
        "allocation stalls: threads waited {stalls|time|times} for memory that the collector had not freed yet, {value} in all";
    /// Concurrent collections that were too late.
    GC_DEGENERATED = "gc-allocation-stall-degenerated",
        "[degenerated: {degenerated|collection|collections}|{collections|collection|collections}] had to be finished with the application stopped (Pause Degenerated, Pause Full), {value}";
    /// Writes of the log that took long.
    GC_LOG_WRITE_BLOCKED = "gc-log-write-blocked",
        "{stops|stop|stops} waited {value} without using a CPU, the longest {longest}: the GC log's own write blocked";
    /// The same, which were not timed.
    GC_LOG_WRITE_GAPS = "gc-log-write-gaps",
        "{stops|stop|stops} waited {value} without using a CPU, the longest {longest}: the GC log's own write may have blocked";
    /// A live set that grows, and what keeps it.
    HEAP_LEAK = "heap-leak",
        "the live set grows by {value} a minute[ (more slowly of late: {late}, before that {early})| without flattening], has reached {share} of the heap [and fills it in {left}|and is at its end][: {keeper} keeps {kept} of it][, in {class}][ allocated by {method}]";
    /// Direct buffers that become more.
    HEAP_LEAK_DIRECT = "heap-leak-direct",
        "direct buffers kept by {owner} grew by {value} to {size} outside of the heap, {share} of what they may take";
    /// What grew from one heap dump to the next, where the log does not show how it goes on.
    HEAP_LEAK_DUMPS = "heap-leak-dumps",
        "{owner} grew by {value} from one heap dump to the next, to {size}: {share} of the largest heap";
    /// No class memory.
    OUT_OF_METASPACE = "out-of-memory-classes",
        "OutOfMemoryError: no class memory left, {value|time|times} in the log";
    /// No heap.
    OUT_OF_HEAP = "out-of-memory-heap",
        "OutOfMemoryError: no memory left for new objects, {value|time|times} in the log";
    /// Hardly any heap.
    OVERHEAD_LIMIT = "out-of-memory-overhead",
        "GC overhead limit: collections take nearly all of the time and free nearly nothing, {value|time|times} in the log";

    /// Stops, and the sort that most of it is.
    JVM_STOPPED = "jvm-stopped",
        "{stops}[, {share} of it in |: ]{sort}[, {cause}][, through {pace} of heap a second]";
    /// Stops within slow windows.
    STOPPED_IN_WINDOWS = "jvm-stopped-in-windows",
        "the JVM was stopped for {value} of the {of} that were slow";
    /// Stops of a run.
    STOPPED_IN_RUN = "jvm-stopped-in-run", "the JVM is stopped for {value} of {of}";
    /// Stops of the part of a run in which they are most.
    STOPPED_IN_PART = "jvm-stopped-in-part",
        "in the part of the run that it is stopped most, the JVM is stopped for {value} of {of}";
    /// Stops of intervals that stand out.
    STOPPED_STANDING_OUT = "jvm-stopped-standing-out",
        "the JVM is stopped for {value} of {of} that stand out of its run";
    /// One long stop.
    LONG_STOP = "jvm-stopped-once", "one stop of {value}";
    /// Long stops, and shorter ones that stand out.
    LONG_STOPS = "jvm-stopped-long",
        "{stops|stop|stops} of {least} or more[ and {shorter} shorter ones that stand out of {all}], the longest {value}";
    /// Stops that stand out.
    STOPS_STANDING_OUT = "jvm-stopped-stops-standing-out",
        "{stops|stop|stops} that stand out of {all}, the longest {value}";
    /// VM operations of one sort.
    SAFEPOINT_OPERATION = "safepoint-operation",
        "{operations} {noun}[ ({operation})] held the JVM for {value}[, the longest {longest}][, other operations for {others}][, asked for by {asked-by}]";
    /// Threads that are slow to stop.
    SAFEPOINT_SLOW_TO_REACH = "safepoint-slow-to-reach",
        "threads are slow to stop for a safepoint, up to {value}[, {of-run} of the run in all]";
    /// Threads that are let go late.
    SAFEPOINT_SLOW_TO_LEAVE = "safepoint-slow-to-leave",
        "threads are let go late after a safepoint, up to {value}[, {of-run} of the run in all]";
    /// A process that was stopped as a whole.
    PROCESS_STOPPED = "process-stopped-as-a-whole",
        "{jvm} was stopped by a signal, a debugger or the freezer for {value}[, {times} times]";
    /// Threads that were stopped one at a time.
    PROCESS_TRACED = "process-traced",
        "[{by}|a tracer] stopped threads of {jvm} one at a time, for {value} of the time in which they had work";

    /// New code that is compiled in a start-up.
    START_UP = "jit-compile-burst-start-up", "start-up: {value|method|methods} compiled for the first time";
    /// Compilers that took CPUs.
    BURST_TOOK_CPUS = "jit-compile-burst-cpus",
        "{value|method|methods} became hot at once: their compilation took the application's CPUs";
    /// New code that ran before it was compiled.
    BURST = "jit-compile-burst", "{value|method|methods} became hot at once and ran slow until compiled";
    /// Code that redefinitions of classes threw away.
    REDEFINED = "jit-compile-burst-redefined",
        "{times|redefinition of classes|redefinitions of classes}[, asked for by {asked-by},] threw away the code of {value|method|methods}, which ran slow until compiled again";
    /// The compiler is off.
    COMPILER_OFF = "jit-code-cache-full-compiler-off", "the code cache is full and the compiler is switched off";
    /// Code is thrown away for lack of room.
    CODE_CACHE_FULL = "jit-code-cache-full-again",
        "the code cache is full again and again: code is thrown away and compiled anew";
    /// A method that is compiled again and again.
    COMPILED_AGAIN = "jit-compiled-again", "{method} is compiled again and again, {value} times";
    /// The same, as the record of each invalidation shows it.
    DEOPT_LOOP = "jit-deopt-loop", "{method} is compiled and thrown away again and again, {value} times";
    /// Code of many methods.
    DEOPT_STORM = "jit-deopt-storm", "compiled code is thrown away {value:.0} times a second";
    /// Java code that the JVM could have replaced.
    INTRINSIC_MISSING = "jit-intrinsic-missing",
        "{method} ran as Java code, not as the JVM's intrinsic: {value} of CPU time";
    /// A method that stays in the interpreter.
    NEVER_COMPILED = "jit-never-compiled",
        "{method}[ and {more} more] is never compiled and runs in the interpreter: {value} of the JVM's CPU time[, {cpu}, and {elapsed} with its waits for a CPU]";
    /// All of them.
    NO_COMPILERS = "jit-no-compilers",
        "the JVM runs without its compilers ({flag}): {value} of its CPU time is in the interpreter[, {cpu}, and {elapsed} with its waits for a CPU]";

    /// A quota that ran out.
    CPU_THROTTLED = "cpu-throttled-by-cgroup",
        "the control group's CPU quota[ of {quota} CPUs] held the application back for {value} of its time[ ({baseline} in the baseline)]";
    /// Waits for a CPU, and who had them.
    CPU_TAKEN = "cpu-taken-by-others",
        "application threads waited for a CPU for {value} of the time in which they could run[ ({baseline} in the baseline)]: [{jvms} recorded JVMs want more CPUs than the {cpus} there are|{by} took the CPUs][; the JVM itself starts {started:.0} programs a second][; {lowered}]";
    /// Page faults.
    PAGE_FAULT_STORM = "page-fault-storm",
        "threads spent {value} in page faults[ in {mappings} mappings, most][ in {mapping}]: {cause}[; {waited}]";
}
