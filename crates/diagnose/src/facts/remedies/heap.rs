//! What helps the collector: the heap, its generations, class memory, native memory of buffers.

super::remedies! {
    ROOM_FOR_A_CYCLE = "remedy-room-for-a-cycle",
        "a larger -Xmx",
        "any JDK", "memory; room for what is allocated during one cycle is what counts";
    MORE_CONCURRENT_THREADS = "remedy-more-concurrent-threads",
        "-XX:ConcGCThreads=N, more than now",
        "ZGC, Shenandoah", "takes CPUs from the application while it collects";
    EARLIER_CYCLES_OF_ZGC = "remedy-earlier-cycles-of-zgc",
        "ZGC: -XX:ZAllocationSpikeTolerance=5 (default 2), or generational ZGC",
        "generational: JDK 21 and 22 with -XX:+ZGenerational, the default since 23", "collections start earlier and run more often";
    ALLOCATE_LESS = "remedy-allocate-less",
        "allocate less: fathom flame shows where, once allocations are recorded",
        "any JDK", "";
    LOOK_BESIDES_THE_HEAP = "remedy-look-besides-the-heap",
        "look at what the collections freed besides the heap: a larger -XX:PermSize or -XX:MetaspaceSize where classes fill that; -Xlog:gc* (JDK 8: -XX:+PrintGCCause) names the cause",
        "any JDK", "none";
    LARGER_HEAP = "remedy-larger-heap",
        "a larger -Xmx",
        "any JDK", "memory";
    G1_RESERVE = "remedy-g1-reserve",
        "-XX:G1ReservePercent=20 (default 10)",
        "G1", "that much of the heap stays free for survivors and not for use";
    EARLIER_CYCLES_OF_G1 = "remedy-earlier-cycles-of-g1",
        "-XX:InitiatingHeapOccupancyPercent=35 (default 45)",
        "G1; since JDK 9 only the start value of an adaptive one (-XX:-G1UseAdaptiveIHOP holds it)", "concurrent cycles run more often and take CPU time";
    EARLIER_CYCLES_OF_CMS = "remedy-earlier-cycles-of-cms",
        "-XX:CMSInitiatingOccupancyFraction=60 -XX:+UseCMSInitiatingOccupancyOnly",
        "CMS, JDK 13 and before", "concurrent cycles run more often and take CPU time";
    SMALLER_LIVE_SET = "remedy-smaller-live-set",
        "a smaller live set: see what the heap holds (jcmd PID GC.class_histogram)",
        "any JDK", "the histogram stops the application";
    MORE_DIRECT_MEMORY = "remedy-more-direct-memory",
        "a larger -XX:MaxDirectMemorySize (the largest heap's size unless it is set)",
        "any JDK", "memory besides the heap";
    RMI_INTERVAL = "remedy-rmi-interval",
        "-Dsun.rmi.dgc.server.gcInterval=… and -Dsun.rmi.dgc.client.gcInterval=… (milliseconds)",
        "any JDK", "remote objects that nobody uses are let go later";
    REUSE_DIRECT_BUFFERS = "remedy-reuse-direct-buffers",
        "use direct buffers again instead of a new one for each piece of work (a pool; Netty's pooled allocator), or give them back at once (a try-with-resources Arena, JDK 22)",
        "the code that allocates them", "buffers that are kept hold memory";
    NO_SYSTEM_GC = "remedy-no-system-gc",
        "remove the call from the application or library",
        "any JDK", "";
    NO_JCMD_GC_RUN = "remedy-no-jcmd-gc-run",
        "stop the script or tool that runs jcmd PID GC.run",
        "any JDK", "";
    HISTOGRAMS_WITHOUT_COLLECTION = "remedy-histograms-without-collection",
        "take histograms rarely; jcmd PID GC.class_histogram -all does not collect first",
        "any JDK", "-all counts garbage too";
    DUMPS_WITHOUT_COLLECTION = "remedy-dumps-without-collection",
        "take heap dumps when the application is idle; jcmd PID GC.heap_dump -all does not collect first",
        "any JDK", "the dump holds garbage too";
    FIND_THE_TIMER = "remedy-find-the-timer",
        "-XX:+PrintGCCause (JDK 7; always in 8 and later) names who asks; look for a timer that calls System.gc()",
        "any JDK", "";
    CONFIGURE_AGENT = "remedy-configure-agent",
        "detach or configure the agent",
        "any JDK", "";
    EXPLICIT_GC_CONCURRENT = "remedy-explicit-gc-concurrent",
        "-XX:+ExplicitGCInvokesConcurrent",
        "G1, CMS, Shenandoah; any JDK", "System.gc() starts a concurrent cycle instead; direct memory is freed later";
    DISABLE_EXPLICIT_GC = "remedy-disable-explicit-gc",
        "-XX:+DisableExplicitGC",
        "any JDK", "code that relies on it breaks: direct memory (NIO) is freed by System.gc() when it runs out";
    PRETOUCH_HEAP = "remedy-pretouch-heap",
        "-XX:+AlwaysPreTouch with -Xms equal to -Xmx",
        "any JDK; with several threads since JDK 9", "the JVM starts later (measured: 5.3 s for 2.5 GB with huge pages) and takes all its memory at once";
    HEAP_WITHOUT_HUGE_PAGES = "remedy-heap-without-huge-pages",
        "transparent huge pages off for the heap (-XX:-UseTransparentHugePages, or madvise in /sys/kernel/mm/transparent_hugepage/enabled)",
        "Linux", "more TLB misses later; only where huge pages are zeroed inside pauses and pre-touching is not wanted";
    HEAP_AT_FULL_SIZE = "remedy-heap-at-full-size",
        "-Xms equal to -Xmx, where the heap has not grown to its limit",
        "any JDK", "takes the memory at the start";
    LARGER_HEAP_DELAYS = "remedy-larger-heap-delays",
        "a larger -Xmx only where what is kept stops growing: until then it puts off an OutOfMemoryError",
        "any JDK", "memory";
    KEEP_LESS = "remedy-keep-less",
        "keep less in use: caches with limits, smaller representations",
        "any JDK", "code change";
    SMALLER_ARRAYS = "remedy-smaller-arrays",
        "allocate in chunks, or reuse large buffers",
        "any JDK", "code change";
    JDK_8U60 = "remedy-jdk-8u60",
        "8u60 or later",
        "JDK 8", "frees dead humongous arrays of primitives in young collections";
    SHORTER_CRITICAL_SECTIONS = "remedy-shorter-critical-sections",
        "shorten the critical sections: smaller buffers, or GetByteArrayRegion instead of GetPrimitiveArrayCritical",
        "any JDK", "copies the array";
    LARGER_YOUNG_FOR_LOCKER = "remedy-larger-young-for-locker",
        "a larger young generation (-Xmn): fewer collections meet native code that holds an array",
        "any JDK", "memory; each young collection may take longer";
    LOCKER_THAT_WAITS = "remedy-locker-that-waits",
        "JDK 25 or later: a collection waits until native code lets go, and none follows for its sake (JDK-8192647)",
        "Parallel and Serial", "a new JDK";
    CMS_CLASS_UNLOADING = "remedy-cms-class-unloading",
        "-XX:+CMSClassUnloadingEnabled",
        "CMS (default since JDK 8)", "longer remark pauses";
    FIND_CLASS_MAKERS = "remedy-find-class-makers",
        "find who makes class loaders or classes: redeployments, scripts, proxies, expression and serialisation libraries without a cache",
        "any JDK", "";
    LARGER_YOUNG_OF_G1 = "remedy-larger-young-of-g1",
        "-XX:G1NewSizePercent=20 (default 5, needs -XX:+UnlockExperimentalVMOptions) or a longer -XX:MaxGCPauseMillis",
        "G1", "longer young pauses";
    LARGER_YOUNG = "remedy-larger-young",
        "a larger young generation: -XX:NewSize / -XX:MaxNewSize",
        "Serial, Parallel, CMS", "less room for the old generation";
    LARGER_SURVIVOR_SPACES = "remedy-larger-survivor-spaces",
        "-XX:SurvivorRatio=4 (default 8; Parallel also -XX:-UseAdaptiveSizePolicy)",
        "any collector with survivor spaces", "less eden, so young collections come more often";
    RECORD_ALLOCATIONS = "remedy-record-allocations",
        "a flight recording with log and dump (jdk.ObjectAllocationSample; before JDK 16 jdk.ObjectAllocationInNewTLAB and jdk.ObjectAllocationOutsideTLAB, as in profile.jfc) shows which method allocates what stays",
        "any JDK with JFR", "about 1% of CPU time";
    DUMP_WITH_LOG = "remedy-dump-with-log",
        "find what holds the objects: -XX:+HeapDumpOnOutOfMemoryError, or jcmd PID GC.heap_dump FILE, and then fathom diagnose with log and dump",
        "any JDK", "a dump stops the application while it is written and holds its data";
    LIMIT_WHAT_GROWS = "remedy-limit-what-grows",
        "a limit for caches, maps and queues that only grow; listeners and thread locals removed",
        "any JDK", "code change";
    OLD_OBJECT_SAMPLES = "remedy-old-object-samples",
        "JFR with jdk.OldObjectSample (path-to-gc-roots=true)",
        "JDK 11 and later", "a stop when the recording ends";
    LARGER_HEAP_BUYS_TIME = "remedy-larger-heap-buys-time",
        "a larger -Xmx only buys time",
        "any JDK", "longer collections before the end";
    DUMP_WHEN_OUT_OF_MEMORY = "remedy-dump-when-out-of-memory",
        "-XX:+HeapDumpOnOutOfMemoryError -XX:HeapDumpPath=DIR, and see in the dump what holds the memory",
        "any JDK", "the dump is as large as the heap";
    MORE_METASPACE = "remedy-more-metaspace",
        "a larger -XX:MaxMetaspaceSize, or none",
        "JDK 8 and later", "memory";
    LARGER_HEAP_UNLESS_IT_GROWS = "remedy-larger-heap-unless-it-grows",
        "a larger -Xmx",
        "any JDK", "memory; buys time only where the heap keeps growing";
    OLD_OF_SIZE = "remedy-old-of-size",
        "an old generation of {value} or more: a larger -Xmx, or less of it for the young one (-Xmn, -XX:NewRatio)",
        "any JDK", "memory; a smaller young generation is collected more often";
    YOUNG_SIZED_BY_G1 = "remedy-young-sized-by-g1",
        "no -Xmn or -XX:NewSize (G1 then sizes the young generation itself), a longer -XX:MaxGCPauseMillis",
        "any JDK", "longer young pauses, less room for the old generation";
    YOUNG_BY_RATIO = "remedy-young-by-ratio",
        "a larger young generation: -Xmn, or -XX:NewRatio=1",
        "any JDK", "longer young pauses, less room for the old generation";
    FIND_WHAT_FILLS = "remedy-find-what-fills",
        "find what fills it (jcmd PID GC.class_histogram, or a heap dump: fathom heap): at most {baseline} stayed in use in the baseline, and {value} do now",
        "any JDK", "a dump stops the JVM and is as large as what is in use";
    TWICE_THE_LIVE_SET = "remedy-twice-the-live-set",
        "-Xmx of {value} or more: twice the live set",
        "any JDK", "memory; a container's limit must allow for it";
    MORE_MEMORY = "remedy-more-memory",
        "a larger -Xmx, on a machine or in a container with more memory",
        "any JDK", "this one has {value}";
    LARGER_REGIONS = "remedy-larger-regions",
        "[-XX:G1HeapRegionSize={value#}m: objects below {limit} are then ordinary|a larger -XX:G1HeapRegionSize]",
        "G1; up to 32m, since JDK 18 up to 512m", "fewer, coarser regions: keep at least a thousand or so";
    PERM_SIZE = "remedy-perm-size",
        "-XX:PermSize=N -XX:MaxPermSize=N[, N above the {value} in use]",
        "JDK 7 and before", "classes that could be unloaded stay until then";
    METASPACE_SIZE = "remedy-metaspace-size",
        "-XX:MetaspaceSize=N[, N above the {value} in use]",
        "JDK 8 and later", "classes that could be unloaded stay until then";
    PINNING_JDK = "remedy-pinning-jdk",
        "JDK 22 or later, whose G1 pins regions instead of holding collections back (JEP 423)",
        "G1", "a new JDK";
    PINNING_G1_OF_LATER_JDK = "remedy-pinning-g1-of-later-jdk",
        "G1 of JDK 22 or later, which pins regions instead (JEP 423)",
        "JDK 22 and later", "another collector, with its own trade-offs";
    PINNING_G1 = "remedy-pinning-g1",
        "-XX:+UseG1GC: it pins regions instead (JEP 423)",
        "JDK 22 and later", "another collector, with its own trade-offs";
    REMOVE_THREAD_LOCALS = "remedy-remove-thread-locals",
        "call remove() of the ThreadLocal when a task is done: threads of a pool go on, and so do its values",
        "any JDK", "code change";
    LET_LOADERS_GO = "remedy-let-loaders-go",
        "let go of what {value} keeps of classes that were loaded before: one object of theirs keeps all of their loader",
        "any JDK", "code change";
    NO_FINALIZERS = "remedy-no-finalizers",
        "no finalize() that waits or takes long, or none at all (java.lang.ref.Cleaner, close())",
        "any JDK", "code change";
    LIMIT_KEEPER = "remedy-limit-keeper",
        "a limit for what {value} keeps, or an end for each of its entries",
        "any JDK", "code change";
    LET_BUFFERS_GO = "remedy-let-buffers-go",
        "let go of the buffers that {value} keeps, or use some of them again (a pool with a limit)",
        "any JDK", "code change";
    SHORT_FINALIZER = "remedy-short-finalizer",
        "a {value} that neither waits nor takes long; better none at all: close() and try-with-resources, or java.lang.ref.Cleaner as a net",
        "any JDK (Cleaner: 9 and later)", "code change; a larger heap only takes longer to fill";
}
