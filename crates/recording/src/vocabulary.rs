//! The words of a recording: kinds of spans, keys of figures, labels and facts.
//!
//! Readers and collectors write these words and rules and views read them; nothing else couples the two sides. A
//! new word is one constant here, with its unit and the source of its meaning. Units are part of the word.

/// Kinds of spans. A kind ending in nothing that lasts (an event) has `t0 == t1`.
pub mod kind {
    /// A stop-the-world garbage collection, outermost only. `name`: what the log calls it without cause and
    /// sizes ("Pause Young (Normal)", "Full GC", "GC pause (young)"); `key`: GC id; duration: as printed.
    pub const GC_PAUSE: &str = "gc.pause";
    /// A collection nested in another pause (Full inside Young on JDK 9–16 Serial and CMS, ParNew inside Remark).
    /// Its `parent` is the outer one; its time is part of the parent's.
    pub const GC_NESTED: &str = "gc.nested";
    /// Work of the collector beside the application: a cycle or one of its phases. `key`: GC id.
    pub const GC_CONCURRENT: &str = "gc.concurrent";
    /// One thread held up by the collector while others ran on (ZGC "Allocation Stall", "Relocation Stall",
    /// Shenandoah pacing). Not a stop of the world. `thread`: the one that waited.
    pub const GC_STALL: &str = "gc.stall";
    /// A stop of all Java threads, from the request until they run again. `name`: the VM operation
    /// ("G1CollectForAllocation"), or "stopped" where the log does not name it.
    pub const SAFEPOINT: &str = "safepoint";
    /// A thread that was late to stop at a safepoint, from the request until it stopped. `name`: the state that it was
    /// in; `thread`, `stack`: where.
    pub const SAFEPOINT_LATE: &str = "safepoint.late";
    /// A compilation from its start to its end. `name`: "class.method(signature)"; `key`: compile id;
    /// `thread`: the compiler thread. A cut-off one ends where the log ends and has label `cut`.
    pub const JIT_COMPILE: &str = "jit.compile";
    /// A compile task waiting in the queue, from queued to started. `name`: method; `key`: compile id. Where the
    /// start is not in the log, it ends at the installation, or is an event (figure `wait_known` = 0).
    pub const JIT_QUEUE: &str = "jit.queue";
    /// Event: compiled code installed (`nmethod`). `name`: method; `key`: compile id.
    pub const JIT_INSTALL: &str = "jit.install";
    /// Event: compiled code made not entrant or a zombie. `name`: method; `key`: compile id.
    pub const JIT_INVALIDATE: &str = "jit.invalidate";
    /// Event: an uncommon trap taken at run time. `name`: the method that trapped.
    pub const JIT_TRAP: &str = "jit.trap";
    /// Event: a dependency of compiled code broken by class loading. `name`: the method or type.
    pub const JIT_DEPENDENCY: &str = "jit.dependency";
    /// Event: a compilation gave up. `name`: method; label `reason`.
    pub const JIT_FAILURE: &str = "jit.failure";
    /// Event: the code cache (or a segment) was full; label `segment`; figure `compiler_disabled` = 1 when the
    /// JVM says that the compiler has been disabled.
    pub const JIT_CODE_CACHE_FULL: &str = "jit.code-cache-full";
    /// A sweep of the code cache (JDK ≤ 19) or a code-cache unloading event.
    pub const JIT_SWEEP: &str = "jit.sweep";
    /// A VM operation as the VM thread ran it. `name`: the operation.
    pub const VM_OPERATION: &str = "vm.operation";
    /// Event: a class was loaded. `name`: the class.
    pub const CLASS_LOAD: &str = "class.load";
    /// Event: a class was unloaded. `name`: the class.
    pub const CLASS_UNLOAD: &str = "class.unload";
    /// Event: a thread began to run. `name`: its name.
    pub const THREAD_START: &str = "thread.start";
    /// Event: a thread ended. `name`: its name.
    pub const THREAD_END: &str = "thread.end";
    /// `Thread.sleep`. `thread`: the one that slept.
    pub const THREAD_SLEEP: &str = "thread.sleep";
    /// A wait for a Java monitor. `name`: class of the lock object; labels `owner`, `address`.
    pub const LOCK_MONITOR: &str = "lock.monitor";
    /// `Object.wait`. `name`: class of the object.
    pub const LOCK_WAIT: &str = "lock.wait";
    /// `LockSupport.park`. `name`: class of the blocker, where it was told.
    pub const LOCK_PARK: &str = "lock.park";
    /// A wait for a lock of the C library (`pthread_mutex`). label `address`.
    pub const LOCK_NATIVE: &str = "lock.native";
    /// A virtual thread that kept its carrier while it waited. `name`: what it waited in; label `reason`.
    pub const THREAD_PINNED: &str = "thread.pinned";
    /// A system call. `name`: its name; figures `result`, `bytes`; labels `path`, `peer`, `error`.
    pub const SYSCALL: &str = "syscall";
    /// Reading or writing a file as the program sees it. `name`: "read", "write", "force"; label `path`.
    pub const IO_FILE: &str = "io.file";
    /// Reading or writing a socket as the program sees it. `name`: "read", "write"; label `peer`.
    pub const IO_SOCKET: &str = "io.socket";
    /// A name being resolved. `name`: the host's name.
    pub const NET_DNS: &str = "net.dns";
    /// A connection being made. label `peer`.
    pub const NET_CONNECT: &str = "net.connect";
    /// A TLS handshake. label `peer`; figure `resumed` 1 or 0.
    pub const NET_TLS: &str = "net.tls-handshake";
    /// Event: an exception or error was thrown. `name`: its class.
    pub const EXCEPTION: &str = "exception";
    /// Any other record with a time that a reader understood but no rule asks for. `name`: what its source calls it.
    pub const EVENT: &str = "event";
    /// A stretch in which every switch of a thread was seen: what of it is not [`SCHED_OFF`] was spent on a CPU.
    /// `thread`: whose. It ends where switches were lost and begins anew behind them.
    pub const SCHED_WATCHED: &str = "sched.watched";
    /// A thread off the CPU, from switched out until it ran again. `name`: the state in which the kernel left it
    /// ("sleeping", "uninterruptible", "preempted", "stopped"); `stack`: at the switch; figure `runq_ns`; labels
    /// `syscall`, `path`, `peer`, `waker`. Shorter ones than the collector's limit are samples of kind "off-cpu".
    pub const SCHED_OFF: &str = "sched.off-cpu";
    /// A page fault that took long. `name`: "minor", "major", "write-protect"; labels `path`, `address`.
    pub const PAGE_FAULT: &str = "page-fault";
    /// Event: a warning or error line of the JVM's log. `name`: its text (cut to 200 characters).
    pub const JVM_WARNING: &str = "jvm.warning";
    /// The stretch of a run that a source covers: first to last stamp. One per source and JVM run.
    pub const RUN: &str = "run";
}

/// Kinds of samples, with the unit of their weight.
pub mod sample {
    /// A thread on a CPU. Weight: nanoseconds of CPU time that the sample stands for.
    pub const CPU: &str = "cpu";
    /// A thread seen whether it ran or not. Weight: nanoseconds of wall time.
    pub const WALL: &str = "wall";
    /// A thread in native code, where the source cannot tell whether it ran or waited. Weight: nanoseconds of wall time.
    pub const NATIVE: &str = "native";
    /// A thread blocked off the CPU, with the stack at which it was switched out; may stand for several times that it
    /// was. Weight: nanoseconds, without those on the run queue.
    pub const OFF_CPU: &str = "off-cpu";
    /// A thread that could run and had no CPU, with its stack. Weight: nanoseconds on the run queue.
    pub const RUN_QUEUE: &str = "run-queue";
    /// An allocation on the Java heap. Weight: bytes.
    pub const ALLOC: &str = "alloc";
    /// An object that was still live. Weight: bytes.
    pub const LIVE: &str = "live";
    /// An allocation by the C library. Weight: bytes.
    pub const MALLOC: &str = "malloc";
    /// A wait for a lock. Weight: nanoseconds.
    pub const LOCK: &str = "lock";
    /// A page fault. Weight: how many.
    pub const PAGE_FAULT: &str = "page-fault";
    /// Any other event that a profiler counted (a tracepoint, a hardware counter). Weight: how many.
    pub const EVENT: &str = "event";

    /// The unit of a kind's weight: "ns", "bytes", or "count" also for kinds that are not known.
    pub fn unit(kind: &str) -> &'static str {
        match kind {
            CPU | WALL | NATIVE | OFF_CPU | RUN_QUEUE | LOCK => "ns",
            ALLOC | LIVE | MALLOC => "bytes",
            _ => "count",
        }
    }
}

/// Names of frames that are none of the program's.
///
/// The names of real ones: Java "package.Class.method" without signature, `$$Lambda` and hidden classes without the
/// address that makes each of them unique; C++ and Rust demangled; the kernel's as kallsyms has them. `module`: the
/// library's file name ("libjvm.so"), "kernel" or the kernel module in brackets, empty for Java.
pub mod frame {
    /// Begins the name of the root of a stack whose callers could not be walked.
    pub const CUT_PREFIX: &str = "[stack cut: ";

    /// The name of the root of a stack that was cut for a reason ("depth", "no unwind row").
    pub fn cut(reason: &str) -> String {
        format!("{CUT_PREFIX}{reason}]")
    }

    /// The reason, when a frame is the root of a stack that was cut.
    pub fn cut_reason(name: &str) -> Option<&str> {
        name.strip_prefix(CUT_PREFIX)?.strip_suffix(']')
    }
}

/// Keys of figures. Bytes are bytes, times carry their unit.
pub mod figure {
    // Heap, on gc.pause and on gc.concurrent where the log prints sizes. From "a->b(c)" of the `gc` line or
    // "[PSYoungGen: a->b(c)]" and the like.
    /// Heap used before.
    pub const HEAP_BEFORE_BYTES: &str = "heap_before_bytes";
    /// Heap used after.
    pub const HEAP_AFTER_BYTES: &str = "heap_after_bytes";
    /// Heap capacity as printed with the record.
    pub const HEAP_CAPACITY_BYTES: &str = "heap_capacity_bytes";
    /// Young generation (or ZGC young) used before; for G1 eden + survivor regions × region size.
    pub const YOUNG_BEFORE_BYTES: &str = "young_before_bytes";
    /// Young generation used after.
    pub const YOUNG_AFTER_BYTES: &str = "young_after_bytes";
    /// Young generation capacity.
    pub const YOUNG_CAPACITY_BYTES: &str = "young_capacity_bytes";
    /// Eden used before.
    pub const EDEN_BEFORE_BYTES: &str = "eden_before_bytes";
    /// Eden used after.
    pub const EDEN_AFTER_BYTES: &str = "eden_after_bytes";
    /// Survivor spaces used before.
    pub const SURVIVOR_BEFORE_BYTES: &str = "survivor_before_bytes";
    /// Survivor spaces used after.
    pub const SURVIVOR_AFTER_BYTES: &str = "survivor_after_bytes";
    /// Old generation used before.
    pub const OLD_BEFORE_BYTES: &str = "old_before_bytes";
    /// Old generation used after.
    pub const OLD_AFTER_BYTES: &str = "old_after_bytes";
    /// Old generation capacity.
    pub const OLD_CAPACITY_BYTES: &str = "old_capacity_bytes";
    /// G1 humongous regions before.
    pub const HUMONGOUS_BEFORE_REGIONS: &str = "humongous_before_regions";
    /// G1 humongous regions after.
    pub const HUMONGOUS_AFTER_REGIONS: &str = "humongous_after_regions";
    /// Metaspace (JDK ≤ 7: permanent generation) used before.
    pub const METASPACE_BEFORE_BYTES: &str = "metaspace_before_bytes";
    /// Metaspace used after.
    pub const METASPACE_AFTER_BYTES: &str = "metaspace_after_bytes";
    /// Metaspace committed (JDK 8: the figure in parentheses).
    pub const METASPACE_COMMITTED_BYTES: &str = "metaspace_committed_bytes";
    // CPU, on gc.pause: the "[Times: …]" or `gc,cpu` figures; resolution 10 ms.
    /// CPU seconds in user mode during the pause.
    pub const USER_S: &str = "user_s";
    /// CPU seconds in kernel mode during the pause.
    pub const SYS_S: &str = "sys_s";
    /// Wall seconds as the CPU line prints them.
    pub const REAL_S: &str = "real_s";
    /// GC worker threads used.
    pub const WORKERS: &str = "workers";
    /// Prefix of the timed phases of a pause, in milliseconds: "phase_ms:Evacuate Collection Set". Only the
    /// outermost phases: they do not overlap and their sum is comparable to the pause.
    pub const PHASE_MS_PREFIX: &str = "phase_ms:";
    /// Sum of the outermost timed phases except "Other", milliseconds. Absent when the log prints no phases.
    pub const PHASES_SUM_MS: &str = "phases_sum_ms";
    /// Largest gap between the stamps of consecutive lines of one pause in which no timed work lies,
    /// milliseconds: what remains of the gap after subtracting every phase printed from there on. Evidence of a
    /// blocked log write.
    pub const IDLE_GAP_MS: &str = "idle_gap_ms";
    /// Line number at which that gap ends.
    pub const IDLE_GAP_LINE: &str = "idle_gap_line";
    // Ages, on gc.pause, from gc+age or PrintTenuringDistribution.
    /// New tenuring threshold.
    pub const TENURING_THRESHOLD: &str = "tenuring_threshold";
    /// Highest threshold allowed.
    pub const TENURING_MAX: &str = "tenuring_max";
    /// Desired survivor size.
    pub const DESIRED_SURVIVOR_BYTES: &str = "desired_survivor_bytes";
    /// Bytes of age 1.
    pub const AGE1_BYTES: &str = "age1_bytes";
    /// 1 when an evacuation, promotion or concurrent mode failure is printed for the pause.
    pub const EVACUATION_FAILURE: &str = "evacuation_failure";
    /// 1 when the pause collected the whole heap or all of the old generation, labelled so or not.
    pub const FULL: &str = "full";
    /// Host load average that ZGC prints ("Load: 7.50 (375%) / …"), one minute, as a load (7.50).
    pub const HOST_LOAD: &str = "host_load";
    // Safepoints, nanoseconds.
    /// From the request until the last thread stopped ("Reaching safepoint", "Stopping threads took", sync).
    pub const REACH_NS: &str = "reach_ns";
    /// 1 when `reach_ns` contains the cleanup (JDK 13 – 17.0.7, JDK-8297154).
    pub const REACH_INCLUDES_CLEANUP: &str = "reach_includes_cleanup";
    /// Cleanup before the operation.
    pub const CLEANUP_NS: &str = "cleanup_ns";
    /// At the safepoint: the VM operation itself.
    pub const AT_NS: &str = "at_ns";
    /// Leaving the safepoint (JDK 21.0.8 on).
    pub const LEAVE_NS: &str = "leave_ns";
    /// Since the previous safepoint.
    pub const SINCE_LAST_NS: &str = "since_last_ns";
    /// Threads known to the safepoint.
    pub const THREADS: &str = "threads";
    /// Threads running when it was asked for.
    pub const THREADS_RUNNABLE: &str = "threads_runnable";
    // Compilation.
    /// Tier, 1 to 4; 0 when unknown.
    pub const TIER: &str = "tier";
    /// Bytecode index of an on-stack replacement; absent for a normal compilation.
    pub const OSR_BCI: &str = "osr_bci";
    /// Bytecodes of the method.
    pub const BYTECODES: &str = "bytecodes";
    /// Size of the machine code, bytes.
    pub const NMETHOD_BYTES: &str = "nmethod_bytes";
    /// Bytecodes inlined.
    pub const INLINED_BYTES: &str = "inlined_bytes";
    /// 1 when the compilation succeeded, 0 when not.
    pub const SUCCESS: &str = "success";
    /// 0 when the log does not tell when a queued task was started; absent, or 1, when it is known.
    pub const WAIT_KNOWN: &str = "wait_known";
    /// Bytecode index of a trap.
    pub const BCI: &str = "bci";
    /// How often the method had been recompiled or decompiled, as the log says.
    pub const DECOMPILES: &str = "decompiles";
    /// Code cache free, bytes.
    pub const CODE_CACHE_FREE_BYTES: &str = "code_cache_free_bytes";
    /// Code cache size (reserved), bytes.
    pub const CODE_CACHE_SIZE_BYTES: &str = "code_cache_size_bytes";
    /// 1 when the JVM says that the compiler has been disabled.
    pub const COMPILER_DISABLED: &str = "compiler_disabled";
    /// Bytes moved, asked for or allocated.
    pub const BYTES: &str = "bytes";
    /// How long a thread waited for a CPU at the end of being off it: from woken (or preempted) until it ran.
    pub const RUNQ_NS: &str = "runq_ns";
    /// Questions of a look-up that were not answered before their time-out.
    pub const TIMEOUTS: &str = "timeouts";
    /// What a system call returned.
    pub const RESULT: &str = "result";
    /// 1 when a TLS session was resumed, 0 when not.
    pub const RESUMED: &str = "resumed";
    /// Shorter spans of the kind are not in the source, nanoseconds: their sums are too small by those.
    pub const THRESHOLD_NS: &str = "threshold_ns";
    /// 1 when what was thrown is a `java.lang.Error`, 0 when an exception.
    pub const IS_ERROR: &str = "is_error";
    /// Length of the compile queue, as the log says.
    pub const QUEUE_LENGTH: &str = "queue_length";
}

/// Keys of labels.
pub mod label {
    /// GC cause: "G1 Evacuation Pause", "System.gc()", "Allocation Failure".
    pub const CAUSE: &str = "cause";
    /// Parenthesised qualifiers that were not known to the reader; the pause counts all the same.
    pub const QUALIFIER: &str = "qualifier";
    /// Why: of a compile failure, a trap, an invalidation; "tiered" of a queued task.
    pub const REASON: &str = "reason";
    /// What the runtime does about a trap: "reinterpret", "make_not_compilable".
    pub const ACTION: &str = "action";
    /// "c1", "c2", "jvmci".
    pub const COMPILER: &str = "compiler";
    /// The class whose loading broke a dependency of compiled code.
    pub const WITNESS: &str = "witness";
    /// Code-cache segment: "CodeHeap 'non-profiled nmethods'".
    pub const SEGMENT: &str = "segment";
    /// File behind a descriptor.
    pub const PATH: &str = "path";
    /// Other end of a connection, "host:port".
    pub const PEER: &str = "peer";
    /// Error of a system call: "EAGAIN".
    pub const ERROR: &str = "error";
    /// The system call within which something happened.
    pub const SYSCALL: &str = "syscall";
    /// Name of the thread that woke another.
    pub const WAKER: &str = "waker";
    /// Name of the thread that asked for a VM operation.
    pub const CALLER: &str = "caller";
    /// Name of the thread that held a lock.
    pub const OWNER: &str = "owner";
    /// Address or identity of an object, hexadecimal.
    pub const ADDRESS: &str = "address";
    /// Why a record ends early: the log was cut off, or lines of it are missing.
    pub const CUT: &str = "cut";
}

/// Keys of what is known of a process.
pub mod fact {
    /// JVM version, e.g. "17.0.15+6-Debian-1deb12u1".
    pub const JVM_VERSION: &str = "jvm_version";
    /// Feature release as a number: 8, 11, 17, 21, 25.
    pub const JDK: &str = "jdk";
    /// "Serial", "Parallel", "CMS", "G1", "Z", "Shenandoah", "Epsilon".
    pub const COLLECTOR: &str = "collector";
    /// "1" for generational ZGC or Shenandoah.
    pub const GENERATIONAL: &str = "generational";
    /// Processors that the JVM sees.
    pub const CPUS: &str = "cpus";
    /// Memory of the machine or container as the JVM sees it, bytes.
    pub const MEMORY_BYTES: &str = "memory_bytes";
    /// Maximum heap, bytes.
    pub const HEAP_MAX_BYTES: &str = "heap_max_bytes";
    /// Initial heap, bytes.
    pub const HEAP_INITIAL_BYTES: &str = "heap_initial_bytes";
    /// G1 region size, bytes.
    pub const REGION_BYTES: &str = "region_bytes";
    /// "enabled" or "disabled".
    pub const PRETOUCH: &str = "pretouch";
    /// Large pages as printed: "Disabled", "Enabled (Transparent)".
    pub const LARGE_PAGES: &str = "large_pages";
    /// Parallel GC worker threads configured.
    pub const GC_WORKERS: &str = "gc_workers";
    /// Concurrent GC threads configured.
    pub const GC_CONCURRENT_WORKERS: &str = "gc_concurrent_workers";
    /// Reserved code cache, bytes.
    pub const CODE_CACHE_BYTES: &str = "code_cache_bytes";
    /// JVM arguments (secrets removed by the reader: values of properties whose name speaks of a password,
    /// secret, token, key or credential are replaced by "***").
    pub const JVM_ARGS: &str = "jvm_args";
    /// When the JVM had started, epoch nanoseconds, as it says itself: some 10 ms to 1 s after its elapsed counter's zero.
    pub const JVM_START_NS: &str = "jvm_start_ns";
    /// Events that a flight recording only has when they last longer: "FileRead 20 ms, ThreadPark 20 ms".
    pub const JFR_THRESHOLDS: &str = "jfr_thresholds";
    /// The operating system, "Debian GNU/Linux 12 (bookworm)".
    pub const OS: &str = "os";
    /// Main class or jar.
    pub const MAIN: &str = "main";
    /// "async" when unified logging is known to write asynchronously, "sync" when known not to.
    pub const LOG_MODE: &str = "log_mode";
    /// Compiler threads seen, e.g. "C1=1 C2=1".
    pub const COMPILER_THREADS: &str = "compiler_threads";
    /// Swap of the machine as JDK 8's header prints it: total and free bytes.
    pub const SWAP_TOTAL_BYTES: &str = "swap_total_bytes";
    /// See [`SWAP_TOTAL_BYTES`].
    pub const SWAP_FREE_BYTES: &str = "swap_free_bytes";
    /// "1" when the reader saw that GC lines name no causes or phases (`-Xlog:gc` alone).
    pub const GC_BRIEF: &str = "gc_brief";
}

/// Names of series.
pub mod series {
    /// Completed operations per second.
    pub const THROUGHPUT: &str = "throughput";
    /// Heap in use, bytes.
    pub const HEAP_USED: &str = "heap.used";
    /// Tasks waiting for a compiler; instance: "c1", "c2".
    pub const COMPILE_QUEUE: &str = "compile.queue";
    /// CPU time of the JVM in user mode, as a share of all processors (1.0: all of them).
    pub const CPU_JVM_USER: &str = "cpu.jvm-user";
    /// The same in kernel mode.
    pub const CPU_JVM_SYSTEM: &str = "cpu.jvm-system";
    /// CPU time of the whole machine, as a share of all processors.
    pub const CPU_MACHINE: &str = "cpu.machine";
    /// CPU time of a thread as a share of all processors; instance: its name.
    pub const CPU_THREAD: &str = "cpu.thread";
    /// Context switches of the machine, per second.
    pub const CONTEXT_SWITCHES: &str = "context-switches";
    /// Memory of the machine in use, bytes.
    pub const MEMORY_USED: &str = "memory.used";
    /// Memory of the process in use, bytes.
    pub const MEMORY_RESIDENT: &str = "memory.resident";
    /// Java threads that live.
    pub const JAVA_THREADS: &str = "java-threads";
    /// Code cache in use, bytes.
    pub const CODE_CACHE_USED: &str = "codecache.used";
}

/// Series of the machine, its control groups and its processes, which live collectors write about once a second.
///
/// Each names its unit and how it behaves. A rate is divided by the time it was taken over already; "cpus" is CPU time
/// by wall time, so that 1.0 is one processor kept busy, and instances add up.
pub mod live {
    use crate::SeriesKind::{self, Gauge, Latency, Rate};

    /// The word for a series, with its unit and its kind.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct Word {
        /// Its name.
        pub name: &'static str,
        /// Unit of its values.
        pub unit: &'static str,
        /// How its values behave.
        pub kind: SeriesKind,
    }

    const fn word(name: &'static str, unit: &'static str, kind: SeriesKind) -> Word {
        Word { name, unit, kind }
    }

    /// How names of these series begin. None of them tells of the application's progress.
    const FAMILIES: [&str; 8] = ["host.", "disk.", "net.", "tcp.", "process.", "cgroup.", "jvm.", "fathom."];

    /// Whether a series is one of these: it tells of the machine or the JVM, and not of what the application got done.
    pub fn is_live(name: &str) -> bool {
        FAMILIES.iter().any(|family| name.starts_with(family))
    }

    // Processors: /proc/stat, /proc/loadavg. Instance: "cpu0".
    /// A processor's busy time: user, nice, system, interrupts; guests are within user.
    pub const HOST_CPU_BUSY: Word = word("host.cpu.busy", "cpus", Gauge);
    /// Of it, in the kernel: system and interrupts.
    pub const HOST_CPU_KERNEL: Word = word("host.cpu.kernel", "cpus", Gauge);
    /// Idle while a task that last ran on it waits for a disk.
    pub const HOST_CPU_IOWAIT: Word = word("host.cpu.iowait", "cpus", Gauge);
    /// Taken by the hypervisor while there was work to do.
    pub const HOST_CPU_STEAL: Word = word("host.cpu.steal", "cpus", Gauge);
    /// Tasks that run or wait for a processor, at the moment of reading.
    pub const HOST_RUNNABLE: Word = word("host.tasks.runnable", "tasks", Gauge);
    /// Tasks blocked on I/O, at the moment of reading.
    pub const HOST_BLOCKED: Word = word("host.tasks.blocked", "tasks", Gauge);
    /// Load average of one minute.
    pub const HOST_LOAD: Word = word("host.load1", "tasks", Gauge);
    /// Context switches.
    pub const HOST_SWITCHES: Word = word("host.switches", "1/s", Rate);
    /// Processes and threads created.
    pub const HOST_FORKS: Word = word("host.forks", "1/s", Rate);

    // Memory: /proc/meminfo, /proc/vmstat.
    /// What could be allocated without swapping, as the kernel estimates it.
    pub const HOST_MEMORY_AVAILABLE: Word = word("host.memory.available", "bytes", Gauge);
    /// Page cache that has to be written back.
    pub const HOST_MEMORY_DIRTY: Word = word("host.memory.dirty", "bytes", Gauge);
    /// Page cache being written back.
    pub const HOST_MEMORY_WRITEBACK: Word = word("host.memory.writeback", "bytes", Gauge);
    /// Swap in use.
    pub const HOST_SWAP_USED: Word = word("host.swap.used", "bytes", Gauge);
    /// Read back from swap.
    pub const HOST_SWAP_IN: Word = word("host.swap.in", "bytes/s", Rate);
    /// Written to swap.
    pub const HOST_SWAP_OUT: Word = word("host.swap.out", "bytes/s", Rate);
    /// Faults that had to read a page.
    pub const HOST_MAJOR_FAULTS: Word = word("host.faults.major", "1/s", Rate);
    /// Pages that allocating tasks had to look through to find a free one (direct reclaim).
    pub const HOST_DIRECT_RECLAIM: Word = word("host.reclaim.direct", "pages/s", Rate);
    /// Compactions that allocating tasks waited for.
    pub const HOST_COMPACTION_STALLS: Word = word("host.compaction.stalls", "1/s", Rate);
    /// Processes killed for want of memory.
    pub const HOST_OOM_KILLS: Word = word("host.oom-kills", "1/s", Rate);

    // Pressure: /proc/pressure. Instance: "some" (a task waited) or "full" (all that could run did).
    /// Share of the time in which tasks waited for a processor.
    pub const HOST_PRESSURE_CPU: Word = word("host.pressure.cpu", "share", Latency);
    /// Share of the time in which tasks waited for memory.
    pub const HOST_PRESSURE_MEMORY: Word = word("host.pressure.memory", "share", Latency);
    /// Share of the time in which tasks waited for I/O.
    pub const HOST_PRESSURE_IO: Word = word("host.pressure.io", "share", Latency);

    // Disks: /proc/diskstats. Instance: the device ("nvme0n1").
    /// Share of the time in which it had at least one request.
    pub const DISK_BUSY: Word = word("disk.busy", "share", Gauge);
    /// Requests in it or queued for it, on average.
    pub const DISK_QUEUE: Word = word("disk.queue", "requests", Gauge);
    /// Time from a request's queueing to its completion, mean of those completed.
    pub const DISK_AWAIT: Word = word("disk.await", "ms", Latency);
    /// Read from it.
    pub const DISK_READ: Word = word("disk.read", "bytes/s", Rate);
    /// Written to it.
    pub const DISK_WRITTEN: Word = word("disk.written", "bytes/s", Rate);
    /// Requests completed.
    pub const DISK_REQUESTS: Word = word("disk.requests", "1/s", Rate);

    // Network: /proc/net/dev, /proc/net/snmp, /proc/net/netstat. Instance of the first four: the interface.
    /// Received.
    pub const NET_RECEIVED: Word = word("net.received", "bytes/s", Rate);
    /// Sent.
    pub const NET_SENT: Word = word("net.sent", "bytes/s", Rate);
    /// Packets that were dropped or erroneous, both ways.
    pub const NET_DROPPED: Word = word("net.dropped", "1/s", Rate);
    /// TCP segments sent.
    pub const TCP_SEGMENTS: Word = word("tcp.segments", "1/s", Rate);
    /// TCP segments sent again.
    pub const TCP_RETRANSMITS: Word = word("tcp.retransmits", "1/s", Rate);
    /// Connections refused because the queue of a listening socket was full.
    pub const TCP_LISTEN_DROPS: Word = word("tcp.listen-drops", "1/s", Rate);

    // Processes: /proc/PID. Instance: name and pid of the process.
    /// CPU time of one of the processes that take most of it.
    pub const PROCESS_CPU: Word = word("process.cpu", "cpus", Gauge);
    /// CPU time in user mode of a recorded process.
    pub const PROCESS_CPU_USER: Word = word("process.cpu.user", "cpus", Gauge);
    /// CPU time in kernel mode of a recorded process.
    pub const PROCESS_CPU_KERNEL: Word = word("process.cpu.kernel", "cpus", Gauge);
    /// CPU time of a JVM's threads by what they are for. Instance: "app", "gc", "jit", "vm".
    pub const PROCESS_CPU_ROLE: Word = word("process.cpu.role", "cpus", Gauge);
    /// Resident memory.
    pub const PROCESS_RSS: Word = word("process.rss", "bytes", Gauge);
    /// Of it, moved to swap.
    pub const PROCESS_SWAP: Word = word("process.swap", "bytes", Gauge);
    /// Page faults that read nothing.
    pub const PROCESS_MINOR_FAULTS: Word = word("process.faults.minor", "1/s", Rate);
    /// Page faults that read from a disk.
    pub const PROCESS_MAJOR_FAULTS: Word = word("process.faults.major", "1/s", Rate);
    /// Switches away from the process' first thread because it waited for something.
    pub const PROCESS_SWITCHES_VOLUNTARY: Word = word("process.switches.voluntary", "1/s", Rate);
    /// Switches away from it because another one was to run.
    pub const PROCESS_SWITCHES_INVOLUNTARY: Word = word("process.switches.involuntary", "1/s", Rate);
    /// Time its threads were runnable and waited for a processor.
    pub const PROCESS_RUN_QUEUE: Word = word("process.run-queue", "cpus", Gauge);
    /// Threads.
    pub const PROCESS_THREADS: Word = word("process.threads", "threads", Gauge);
    /// Open file descriptors.
    pub const PROCESS_FDS: Word = word("process.fds", "descriptors", Gauge);
    /// Read from storage.
    pub const PROCESS_READ: Word = word("process.read", "bytes/s", Rate);
    /// Written towards storage.
    pub const PROCESS_WRITTEN: Word = word("process.written", "bytes/s", Rate);

    // Control groups of recorded processes. Instance: the group's path.
    /// CPU time of the group.
    pub const CGROUP_CPU: Word = word("cgroup.cpu", "cpus", Gauge);
    /// Processors that its quota allows.
    pub const CGROUP_CPU_QUOTA: Word = word("cgroup.cpu.quota", "cpus", Gauge);
    /// Time its run queues were throttled, added up over processors.
    pub const CGROUP_THROTTLED: Word = word("cgroup.cpu.throttled", "cpus", Gauge);
    /// Periods in which the quota ran out.
    pub const CGROUP_THROTTLED_PERIODS: Word = word("cgroup.cpu.throttled-periods", "1/s", Rate);
    /// Memory charged to it.
    pub const CGROUP_MEMORY: Word = word("cgroup.memory", "bytes", Gauge);
    /// What may be charged to it at most.
    pub const CGROUP_MEMORY_MAX: Word = word("cgroup.memory.max", "bytes", Gauge);
    /// Times it hit its limits (v2: high and max; v1: failcnt).
    pub const CGROUP_MEMORY_LIMIT_HITS: Word = word("cgroup.memory.limit-hits", "1/s", Rate);
    /// Processes of it killed for want of memory.
    pub const CGROUP_OOM_KILLS: Word = word("cgroup.memory.oom-kills", "1/s", Rate);

    // What a JVM counts (hsperfdata). Instance: name and pid of the process, and of which collector or space.
    /// Collections.
    pub const JVM_COLLECTIONS: Word = word("jvm.gc.collections", "1/s", Rate);
    /// Time in collections, by wall time.
    pub const JVM_GC_TIME: Word = word("jvm.gc.time", "share", Gauge);
    /// Safepoints.
    pub const JVM_SAFEPOINTS: Word = word("jvm.safepoints", "1/s", Rate);
    /// Time at safepoints, by wall time.
    pub const JVM_SAFEPOINT_TIME: Word = word("jvm.safepoint.time", "share", Gauge);
    /// Of it, until all threads had stopped.
    pub const JVM_SAFEPOINT_SYNC: Word = word("jvm.safepoint.sync", "share", Gauge);
    /// Classes loaded.
    pub const JVM_CLASSES_LOADED: Word = word("jvm.classes.loaded", "1/s", Rate);
    /// Classes unloaded.
    pub const JVM_CLASSES_UNLOADED: Word = word("jvm.classes.unloaded", "1/s", Rate);
    /// Time of compiler threads, by wall time.
    pub const JVM_COMPILE_TIME: Word = word("jvm.compile.time", "share", Gauge);
    /// Heap in use, by space. Between collections most collectors update it now and then only.
    pub const JVM_HEAP_USED: Word = word("jvm.heap.used", "bytes", Gauge);
    /// Heap as large as it is now, by space.
    pub const JVM_HEAP_CAPACITY: Word = word("jvm.heap.capacity", "bytes", Gauge);
    /// Metaspace in use.
    pub const JVM_METASPACE_USED: Word = word("jvm.metaspace.used", "bytes", Gauge);
    /// Live Java threads.
    pub const JVM_THREADS: Word = word("jvm.threads", "threads", Gauge);

    // fathom itself. Instance: "all", or a collector.
    /// CPU time of fathom.
    pub const FATHOM_CPU: Word = word("fathom.cpu", "cpus", Gauge);
    /// Resident memory of fathom.
    pub const FATHOM_RSS: Word = word("fathom.rss", "bytes", Gauge);
}
