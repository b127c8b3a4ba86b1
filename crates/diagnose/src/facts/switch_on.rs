//! What to record, or to switch on, to see what could not be seen.

super::metrics! {
    /// What a collector of a live recording says itself.
    AS_SAID = "as-the-collector-says", "{value}";
    /// A collector that the recording was made without.
    COLLECTOR = "record-with-collector", "fathom record again, not --without {value}";
    ALIGN = "align-by-hand",
        "align the log by hand: --align FILE=+SECONDS after the start of the first JVM, or --align FILE=@2026-11-20T22:00:00Z; logging with the `time` decorator makes that unnecessary";
    ANY_PROCESS = "commands-for-any-process", "fathom ps lists the JVMs; fathom ledger and fathom chain show any process";
    RECORD_SERIES_TIME = "record-time-of-series", "record all of the time that the series covers";
    RECORD_LESS = "record-less", "a shorter recording, fewer processes, or a less busy machine";
    SAMPLE_OFTENER = "sample-more-often", "fathom record --rate 999, or a longer slow window";
    SERIES_OR_WINDOWS = "give-series-or-windows", "a table of throughput or latency, or --slow and --base";
    LONGER_LOG = "longer-log", "a longer log";
    LONGER_LOG_UNDER_LOAD = "longer-log-under-load", "a log of 10 s or more under the usual load";
    LONGER_LOG_OR_HISTOGRAMS = "longer-log-or-histograms",
        "a longer log, or jcmd PID GC.class_histogram twice, some time apart";
    LONGER_LOG_WITH_SIZES = "longer-log-with-sizes",
        "a longer log with sizes: -Xlog:gc* (JDK 8: -XX:+PrintGCDetails); the same load with a larger -Xmx";
    HEAP_AT_ITS_SIZE = "run-with-heap-at-its-size",
        "the same load with -Xms equal to -Xmx, where the heap need not grow first";
    GC_AND_SAFEPOINT_LOG = "gc-and-safepoint-log",
        "-Xlog:gc*,safepoint:file=gc.log:time,uptime,level,tags (JDK 8: -Xloggc:gc.log -XX:+PrintGCDetails -XX:+PrintGCDateStamps -XX:+PrintGCApplicationStoppedTime)";
    GC_LOG = "gc-log", "a GC log: -Xlog:gc*,safepoint:file=gc.log (JDK 8: -Xloggc:gc.log -XX:+PrintGCDetails)";
    GC_LOG_OF_ALL = "gc-log-of-all",
        "a GC log of all of the time: -Xlog:gc*,safepoint:file=gc.log (JDK 8: -Xloggc:gc.log -XX:+PrintGCDetails -XX:+PrintGCApplicationStoppedTime)";
    GC_CPU = "log-gc-cpu", "-Xlog:gc*,gc+cpu (JDK 8: -XX:+PrintGCDetails)";
    GC_CPU_OR_RECORD = "log-gc-cpu-or-record", "-Xlog:gc*,gc+cpu (JDK 8: -XX:+PrintGCDetails), or fathom record";
    GC_PHASES = "log-gc-phases",
        "-Xlog:gc*,safepoint (JDK 8: -XX:+PrintGCDetails -XX:+PrintGCApplicationStoppedTime)";
    GC_CAUSES = "log-gc-causes", "-Xlog:gc* (JDK 7: -XX:+PrintGCCause)";
    GC_SIZES = "log-gc-sizes", "-Xlog:gc* (JDK 8: -XX:+PrintGCDetails)";
    GC_AGES = "log-gc-ages", "-Xlog:gc*,gc+age=trace (JDK 8: -XX:+PrintTenuringDistribution)";
    SAFEPOINTS = "log-safepoints",
        "safepoint lines: -Xlog:safepoint:file=gc.log (JDK 8: -XX:+PrintGCApplicationStoppedTime)";
    LOG_COMPILATION = "log-compilation", "-XX:+UnlockDiagnosticVMOptions -XX:+LogCompilation -XX:LogFile=jit.xml";
    JIT_LOG = "jit-log",
        "a JIT log: -XX:+UnlockDiagnosticVMOptions -XX:+LogCompilation -XX:LogFile=jit.xml (with less in it: -Xlog:jit+compilation=debug, JDK 8: -XX:+PrintCompilation)";
    JIT_LOG_OF_ALL = "jit-log-of-all",
        "a JIT log of all of the time: -XX:+UnlockDiagnosticVMOptions -XX:+LogCompilation -XX:LogFile=jit.xml";
    JIT_LOG_OR_DEOPTIMISATIONS = "jit-log-or-deoptimisations",
        "a JIT log of all of the time: -XX:+UnlockDiagnosticVMOptions -XX:+LogCompilation -XX:LogFile=jit.xml; or JFR's jdk.Deoptimization";
    PROFILE_OF_ALL = "profile-of-all",
        "a JFR file of all of the time (jcmd PID JFR.start settings=profile), or fathom record";
    CPU_PROFILE = "cpu-profile",
        "fathom record, or a profile: a JFR file (jcmd PID JFR.start settings=profile), async-profiler, perf with its map";
    WAITS = "record-waits",
        "a JFR file of the time (jcmd PID JFR.start settings=profile), fathom record, or strace -f -ttt -T";
    WAITS_BY_OTHERS = "record-waits-by-other-means",
        "a JFR file of the time (jcmd PID JFR.start settings=profile), or strace -f -ttt -T";
    SLEEPS = "record-sleeps",
        "a flight recording as well (jdk.ThreadSleep, jdk.ThreadPark), or jcmd PID Thread.dump_to_file -format=json FILE meanwhile";
    RECORD = "record-all", "fathom record for all of the time";
    RECORD_WITH_EBPF = "record-all-with-ebpf", "fathom record (eBPF) for all of the time";
    CALLS = "record-calls", "fathom record (eBPF), or strace -f -ttt -T, for all of the time";
    LOOKUPS = "record-look-ups", "fathom record, or strace -f -ttt -T, for all of the time";
    FAULTS = "record-faults", "fathom record (eBPF), or perf record -g with the kernel's frames";
    FAULTS_OF_ALL = "record-faults-of-all",
        "fathom record (eBPF) for all of the time, or perf record -g with the kernel's frames";
}
