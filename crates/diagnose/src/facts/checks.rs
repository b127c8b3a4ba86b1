//! How to see that a remedy helped.

super::metrics! {
    STAGE_WAITS = "check-stage-waits",
        "fathom ledger REC --by pool: it waits for work a good part of the time";
    CALLS_COUNTED = "check-calls-counted",
        "the recording counts them by thread and second: kind syscall.totals in its counts.parquet";
    REQUESTS_FELL = "check-requests-fell",
        "requests that arrive at this process a second fell as its operations did";
    SAME_PARTS = "check-same-parts",
        "fathom ledger and fathom flame --diff of the two windows show the same parts";
    SAME_FRAMES = "check-same-frames",
        "fathom flame --diff of the two windows shows the same frames";
    LOG_CLASS_INIT = "check-log-class-init",
        "-Xlog:class+init=info names each class that is initialised, and by which thread";
    NO_WAIT_FOR_INITIALISER = "check-no-wait-for-initialiser",
        "fathom record again: no thread waits in InstanceKlass::initialize_impl";
    NO_CPU_WAITS = "check-no-cpu-waits",
        "fathom ledger REC --by role: application threads no longer wait for a CPU";
    RUN_QUEUE = "check-run-queue",
        "vmstat 1: the run queue (r) is no longer than the number of CPUs";
    NR_THROTTLED = "check-nr-throttled",
        "cpu.stat of the group: nr_throttled no longer rises under the same load";
    NOTHING_THROTTLED = "check-nothing-throttled",
        "fathom ledger REC --by role: nothing is throttled";
    GETENT = "check-getent",
        "time getent ahosts NAME on the host takes as long as the look-ups here";
    SHORT_LOOK_UPS = "check-short-look-ups",
        "fathom trace dns -p PID shows look-ups below 100 ms after the change";
    DIG = "check-dig",
        "dig @SERVER NAME +tries=1: no answer from the server that is named here";
    NO_LOOK_UP_TIMED_OUT = "check-no-look-up-timed-out",
        "fathom trace dns -p PID shows no look-up at a multiple of the time-out after the change";
    NO_STALLS = "check-no-stalls",
        "fathom gc shows no allocation stall, and no degenerated collection";
    NO_FULL_WITH_ROOM = "check-no-full-with-room",
        "no full collection in the log while the heap has room";
    NO_FAILURES = "check-no-failures",
        "fathom gc shows 0 under \"Failures to evacuate or promote\"";
    HEAP_BELOW_LIMIT = "check-heap-below-limit",
        "the heap after collections stays below 85% of the largest heap";
    NO_PAUSE_OF_CAUSE = "check-no-pause-of-cause",
        "fathom gc shows no pause of this cause under \"Pauses by cause\"";
    PRETOUCH_ENABLED = "check-pretouch-enabled",
        "the log says Pre-touch: Enabled, and the first pauses have Sys below User";
    LITTLE_KERNEL_TIME = "check-little-kernel-time",
        "fathom gc shows a kernel share of the CPU used in pauses below 25%";
    NO_HUMONGOUS_CAUSE = "check-no-humongous-cause",
        "fathom gc shows no cause G1 Humongous Allocation";
    WHO_ALLOCATES = "check-who-allocates",
        "who allocates: JFR event jdk.ObjectAllocationOutsideTLAB (JDK 16 and later also jdk.ObjectAllocationSample) with sizes above the limit";
    KERNEL_FUNCTIONS = "check-kernel-functions",
        "fathom record -p PID, then fathom flame --kind cpu: below the collector's threads stand the kernel's functions (compaction and zeroing of huge pages, swap, page faults)";
    NO_LOCKER_CAUSE = "check-no-locker-cause",
        "fathom gc shows no GCLocker Initiated GC under \"Pauses by cause\"";
    LOG_JNI = "check-log-jni",
        "-Xlog:gc+jni=debug names the threads that hold arrays";
    STRACE_WRITES = "check-strace-writes",
        "strace -f -T -e trace=write -p PID shows write() calls on the log's descriptor as long as the gaps";
    NO_GAPS = "check-no-gaps",
        "with -Xlog:async or the log on tmpfs, no pause has a gap of 200 ms and the longest pause is as long as its phases";
    GAPS_THAT_STAY = "check-gaps-that-stay",
        "if the gaps stay: -XX:+PerfDisableSharedMem shows whether it was hsperfdata";
    NO_METASPACE_COLLECTIONS = "check-no-metaspace-collections",
        "fathom gc shows no collection to free metaspace after the start";
    CLASS_LOADER_STATS = "check-class-loader-stats",
        "jcmd PID VM.classloader_stats (JDK 9 and later) lists loaders with their classes: their number must not grow";
    LOG_AGES = "check-log-ages",
        "-Xlog:gc+age=trace shows thresholds above 1, and old collections come less often";
    CPU_IN_PAUSES = "check-cpu-in-pauses",
        "fathom gc shows \"CPU used in pauses\" at 50% or more";
    RUN_QUEUE_IN_COLLECTIONS = "check-run-queue-in-collections",
        "vmstat 1: the run queue (r) is no longer than the number of CPUs while collections run; swap (si, so) is 0";
    COLLECTOR_GETS_CPUS = "check-collector-gets-cpus",
        "fathom ledger --by role: the GC threads wait for a CPU for less of their time than they run";
    NO_GROWTH_OF_LIVE_SET = "check-no-growth-of-live-set",
        "after the fix, fathom gc shows no sure growth of the live set";
    SAME_DIRECT_BUFFERS = "check-same-direct-buffers",
        "fathom diagnose with two dumps after the fix: direct buffers are as large in both";
    ROOM_IN_CODE_CACHE = "check-room-in-code-cache",
        "no \"CodeCache is full\" and no code_cache_full in the logs; jcmd PID Compiler.codecache shows a tenth free";
    C1_ALONE = "check-c1-alone",
        "run the same load with -XX:TieredStopAtLevel=1 (C1 only): if the dip shrinks to a fraction, it was C2's queue; if it stays, look for what else the new code does";
    BENCHMARK_OF_CALL = "check-benchmark-of-call",
        "a benchmark of the call alone (JMH), with the flag on and off on one JDK";
    CODE_OF_C2 = "check-code-of-c2",
        "fathom record again: the method runs as code of C2 (fathom flame --top)";
    LAST_BYTECODE = "check-last-bytecode",
        "javap -c -p CLASS: the last bytecode index of the method is below 8,000";
    THREAD_PRINT = "check-thread-print",
        "jcmd PID Thread.print names deadlocks of monitors and exclusive locks at its end";
    HALF_THE_THREADS = "check-half-the-threads",
        "the same load with half the threads: throughput that stays says that the lock, not the work, is the limit";
    NO_SUCH_LINE = "check-no-such-line",
        "the log has no such line";
    FEWER_FAULTS = "check-fewer-faults",
        "fathom record again: the series process.faults of this mapping falls, and fathom ledger shows less under \"running: kernel, page faults\"";
    MINFLT = "check-minflt",
        "minflt of /proc/PID/stat (or perf stat -e minor-faults -p PID) rises more slowly under the same load";
    PROCESS_STATE = "check-process-state",
        "/proc/PID/status: State is T (stopped) or t (traced) while it lasts; cgroup.events: frozen";
    NOT_STOPPED = "check-not-stopped",
        "fathom ledger REC: no time under \"stopped: by a signal, or frozen\"";
    NO_TRACER = "check-no-tracer",
        "/proc/PID/status: TracerPid is 0";
    PARTS_OF_STARTS = "check-parts-of-starts",
        "fathom trace threads -p PID: each start and its parts after the change";
    CALLERS_WAIT_NO_MORE = "check-callers-wait-no-more",
        "fathom ledger REC --by thread: the callers wait no more";
    OPENSSL_RECONNECT = "check-openssl-reconnect",
        "openssl s_client -connect HOST:PORT -reconnect prints \"New\" or \"Reused\" for each connection";
    DEBUG_HANDSHAKES = "check-debug-handshakes",
        "-Djavax.net.debug=ssl:handshake on either side names the session that is resumed, or why none is";
    COUNT_HANDSHAKES = "check-count-handshakes",
        "fathom method -p PID 'sun.security.ssl.ServerHello$*Producer::produce' 'sun.security.ssl.CertificateMessage$*CertificateProducer::produce' on the server: certificates sent for each connection, 1 where none resumes a session and 0 where all do";
    NO_CERTIFICATE_FRAMES = "check-no-certificate-frames",
        "fathom record again: frames of sun.security.ssl.CertificateVerify and CertificateMessage are gone (fathom flame)";
    STAGE_WITHOUT_WORK = "check-stage-without-work",
        "fathom ledger REC --by pool: {pool} is again without work for {value} of the time";
    CALLS_ANSWERED = "check-calls-answered",
        "{peer} leaves no more than {value} of calls unanswered again (process.peer.given-up)";
    CARRIERS_FREE = "check-carriers-free",
        "virtual threads wait on their carriers for no more than {value} of the time again (fathom chain, jdk.VirtualThreadPinned of a flight recording)";
    SENDS_AS_BEFORE = "check-sends-as-before",
        "the threads that answer send {value:.1} times for each request again (fathom ledger REC)";
    STAGE_SHARED = "check-stage-shared",
        "fathom ledger REC --by pool: {pool} is not alone any more, and {value:.1} threads at a time do it";
    CALLS_AGAIN = "check-calls-again",
        "{call}() {value} times {each} again";
    PART_AS_USUAL = "check-part-as-usual",
        "{what} is back at what it was: [{value!} {each}|{threads:.2} threads at a time]";
    METHOD_AS_USUAL = "check-method-as-usual",
        "what runs below {method} is back at what it was: [{value!} {each}|{threads:.2} threads at a time]";
    CLIENTS_WAIT = "check-clients-wait",
        "clients wait as long as before: {value!} ({measured-on})";
    ANSWERED_AS_BEFORE = "check-answered-as-before",
        "requests are answered as soon as before: {value!} (process.request-time)";
    REQUESTS_AS_BEFORE = "check-requests-as-before",
        "as many requests a second as before: {value} (process.requests)";
    PEER_AS_BEFORE = "check-peer-as-before",
        "answers of {peer} take as long as before: {value!} (process.peer.answer-time)";
    JFR_SYSTEM_GC = "check-jfr-system-gc",
        "the JFR event jdk.SystemGC (JDK 17 and later) has the stack of the caller";
    NO_LONG_FULL = "check-no-long-full",
        "fathom gc shows no full collection of a second, and a live set below 70% of the heap";
    LITTLE_STOPPED = "check-little-stopped",
        "fathom gc shows less than 5% of the time stopped and a live set below 70% of the heap";
    SECOND_DUMP = "check-second-dump",
        "a second heap dump some time later, given with the log and the first one: what grew";
    HISTOGRAM_TWICE = "check-histogram-twice",
        "jcmd PID GC.class_histogram twice, some time apart: the classes whose numbers only rise are what leaks";
    LESS_STOPPED = "check-less-stopped",
        "fathom gc shows less than {value} of the time stopped and no pause of {longest}";
    WHO_ASKS = "check-who-asks",
        "fathom record -p PID, then fathom chain, names the thread that asks for it; so does a flight recording (jdk.ExecuteVMOperation, caller)";
    NO_LONG_OPERATION = "check-no-long-operation",
        "fathom gc shows no {operation} of {value} under \"Safepoints by operation\"";
    SOON_AT_SAFEPOINT = "check-soon-at-safepoint",
        "in the safepoint log no \"Reaching safepoint\" above {value:.0} ms and no \"Leaving safepoint\" above {leaving:.0} ms under the same load";
    FEWER_COMPILATIONS = "check-fewer-compilations",
        "after a warm-up of the path, the log shows fewer than {value:.0} compile tasks a second in the window, and the throughput keeps its level";
    NOT_REDEFINED = "check-not-redefined",
        "under the same load no safepoint is for RedefineClasses (fathom gc, -Xlog:safepoint)";
    NOT_COMPILED_AGAIN = "check-not-compiled-again",
        "under the same load no method is compiled {value} times (fathom jit)";
    REASONS_NAMED = "check-reasons-named",
        "a LogCompilation file names the reason of each deoptimisation";
    NOT_MADE_NOT_ENTRANT = "check-not-made-not-entrant",
        "under the same load no method is made not entrant {value} times within the window (grep make_not_entrant in the LogCompilation file)";
    NO_FRAME_OF_ITS_OWN = "check-no-frame-of-its-own",
        "fathom record again: {value} is no longer compiled by C2 as a frame of its own (fathom flame --top)";
    LEDGER_WITHOUT = "check-ledger-without",
        "after the change, fathom ledger shows the time under \"{value}\" gone";
    LITTLE_WAIT_FOR_RESULTS = "check-little-wait-for-results",
        "fathom record again: threads of {pool}-# wait for results for less than {value} of their time";
    NET_SENT = "check-net-sent",
        "net.sent of the host for each operation is as low as before";
}
