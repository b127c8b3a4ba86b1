//! What helps against stops of the JVM: long collections, VM operations, safepoints, its log.

super::remedies! {
    LOG_TO_MEMORY = "remedy-log-to-memory",
        "write the log to tmpfs (/dev/shm) or to a disk of its own",
        "any JDK", "tmpfs takes memory and is lost at a restart: rotate and copy";
    NO_HSPERFDATA = "remedy-no-hsperfdata",
        "-XX:+PerfDisableSharedMem, when it was hsperfdata",
        "any JDK", "jps, jstat and tools that read hsperfdata no longer see the JVM";
    LOG_SAFEPOINTS = "remedy-log-safepoints",
        "let the log name them, and what takes the time in them: -Xlog:safepoint (JDK 8: -XX:+PrintSafepointStatistics -XX:PrintSafepointStatisticsCount=1)",
        "any JDK", "a larger log";
    NO_LACK_OF_CPUS = "remedy-no-lack-of-cpus",
        "no lack of CPUs: vmstat 1 shows idle ones while the JVM collects; -XX:+PrintGCDetails (-Xlog:gc+cpu) prints the CPU time of each collection",
        "any JDK", "fewer other programs";
    NO_PERIODIC_COLLECTIONS = "remedy-no-periodic-collections",
        "these come by the clock and not for lack of room: -XX:G1PeriodicGCInterval=0 (jcmd PID VM.set_flag G1PeriodicGCInterval 0 while it runs), or a longer interval; -XX:+G1PeriodicGCInvokesConcurrent makes them concurrent, and -XX:G1PeriodicGCSystemLoadThreshold leaves them out under load",
        "G1, JDK 12 and later (JEP 346)", "memory is given back to the system later";
    ROOM_IN_OLD = "remedy-room-in-old",
        "more room in the old generation: a larger -Xmx, or less kept in use (jcmd PID GC.class_histogram)",
        "any JDK", "memory";
    CONCURRENT_COLLECTOR = "remedy-concurrent-collector",
        "a collector that collects the old generation concurrently: G1, or ZGC",
        "G1: JDK 8 on; ZGC: JDK 15 on, generational since 21", "takes CPUs from the application while it runs";
    LARGER_HEAP_FOR_FULL = "remedy-larger-heap-for-full",
        "a larger -Xmx: full collections take a good part of the time, and what they free is soon in use again",
        "any JDK", "memory";
    LOG_MORE = "remedy-log-more",
        "a log that says more: -Xlog:gc*,safepoint:file=gc.log (JDK 8: -XX:+PrintGCDetails -XX:+PrintGCCause -XX:+PrintGCApplicationStoppedTime)",
        "any JDK", "a larger log";
    ROOM_FOR_SURVIVORS = "remedy-room-for-survivors",
        "larger survivor spaces or a larger young generation: survivors overrun them and are promoted too early",
        "any JDK", "longer young pauses, memory";
    KEEP_LESS_NEW = "remedy-keep-less-new",
        "keep less of what is new: these collections copy nearly all that they find and free next to nothing, as where a cache or a queue fills (jcmd PID GC.class_histogram twice, or a heap dump, shows with what)",
        "any JDK", "a code change; a larger young generation only postpones the copying";
    FEWER_OBJECTS = "remedy-fewer-objects",
        "fewer or smaller objects (a profile of allocations, JFR or async-profiler -e alloc, shows who makes them), or a larger young generation, so that collections are rarer",
        "any JDK", "a larger young generation takes memory";
    ALLOCATE_LESS_THERE = "remedy-allocate-less-there",
        "fewer or smaller objects there (a profile of allocations, JFR or async-profiler -e alloc, shows which), or more room for the collector to keep up: a larger -Xmx, more -XX:ConcGCThreads",
        "any JDK", "memory; CPU time for the collector";
    GIVE_CPUS = "remedy-give-cpus",
        "give the JVM its CPUs: look for other processes, a CPU quota (nr_throttled in cpu.stat), steal",
        "", "";
    FEWER_RUNNABLE_THREADS = "remedy-fewer-runnable-threads",
        "fewer runnable threads than CPUs, GC threads included (-XX:ParallelGCThreads)",
        "all JDKs", "longer collections when CPUs are free";
    NAME_LATE_THREAD = "remedy-name-late-thread",
        "name the late thread: -XX:+SafepointTimeout -XX:SafepointTimeoutDelay=20 prints it",
        "all JDKs; in JFR jdk.SafepointLatency from JDK 25 on", "";
    COUNTED_LOOP = "remedy-counted-loop",
        "a counted loop: -XX:+UseCountedLoopSafepoints, with -XX:LoopStripMiningIter=1000 (the default of G1, Z and Shenandoah); or a long as the index",
        "JDK 10 and later (JDK-8186027); on 8 the first flag alone", "some per cent of a tight loop's speed";
    COPY_IN_PIECES = "remedy-copy-in-pieces",
        "copy large arrays and buffers in pieces of a megabyte",
        "", "";
    ASYNC_LOG = "remedy-async-log",
        "-Xlog:async",
        "JDK 17 and later; off by default", "lines are dropped (and counted in the log) when its buffer, -XX:AsyncLogBufferSize, is full";
    PARALLEL_REMARK = "remedy-parallel-remark",
        "-XX:+ParallelRefProcEnabled and -XX:+CMSScavengeBeforeRemark, with -XX:+CMSParallelRemarkEnabled left on",
        "CMS (JDK 13 and before)", "a young collection before each remark";
    PARALLEL_INITIAL_MARK = "remedy-parallel-initial-mark",
        "-XX:+CMSParallelInitialMarkEnabled (JDK 8 and later, where it is the default), or a smaller young generation",
        "CMS (JDK 13 and before)", "more young collections, where it is smaller";
    DUMPS_ASIDE = "remedy-dumps-aside",
        "take heap dumps of an instance that serves no traffic, and to a fast disk: the JVM is stopped until the dump is written",
        "any JDK", "";
    PARALLEL_DUMP = "remedy-parallel-dump",
        "jcmd PID GC.heap_dump -parallel=N FILE writes with several threads, and puts the parts together while the application runs",
        "JDK 22 and later", "CPUs meanwhile";
    FEWER_HISTOGRAMS = "remedy-fewer-histograms",
        "take class histograms rarely; jcmd PID GC.class_histogram -all and jmap -histo without :live collect nothing first",
        "any JDK", "garbage is counted too";
    FEWER_STACKS = "remedy-fewer-stacks",
        "take stacks less often, of fewer threads and frames (ThreadMXBean.getThreadInfo(ids, depth)), and without the synchronizers that threads own, for which the JVM walks its whole heap (dumpAllThreads(…, true), jstack -l)",
        "any JDK", "";
    NO_LIST_OF_LOCKS = "remedy-no-list-of-locks",
        "no list of java.util.concurrent locks (jstack -l, jcmd Thread.print -l, dumpAllThreads(…, true)): the JVM looks through the whole heap for them",
        "any JDK", "";
    FEWER_DEADLOCK_SEARCHES = "remedy-fewer-deadlock-searches",
        "look for deadlocks less often",
        "any JDK", "";
    INSTRUMENT_AT_LOAD = "remedy-instrument-at-load",
        "let the agent instrument classes as they are loaded (-javaagent at the start, not attached later), and fewer of them",
        "any JDK", "";
    DETACH_DEBUGGER = "remedy-detach-debugger",
        "detach the debugger or the agent",
        "any JDK", "";
    NO_PATHS_TO_ROOTS = "remedy-no-paths-to-roots",
        "path-to-gc-roots=false",
        "JDK 11 and later", "the recording does not show what keeps an object";
    NO_BIASED_LOCKING = "remedy-no-biased-locking",
        "-XX:-UseBiasedLocking",
        "JDK 14 and before; off by default since 15, gone since 18", "locks that only one thread takes cost a little more";
    FIND_RECOMPILED = "remedy-find-recompiled",
        "find the code that is compiled again: fathom jit, on a log of -XX:+LogCompilation",
        "any JDK", "";
    FEWER_COMMANDS = "remedy-fewer-commands",
        "run such commands rarely",
        "any JDK", "";
    NO_VERIFICATION = "remedy-no-verification",
        "run without -XX:+Verify…",
        "any JDK", "";
    SHORT_COMMAND = "remedy-short-command",
        "a command of -XX:OnOutOfMemoryError that ends soon",
        "any JDK", "";
}
