//! Kinds of spans. An event has `t0 == t1`.

/// A stop-the-world garbage collection, outermost only. `name`: what the log calls it without cause
/// and sizes ("Pause Young (Normal)", "Full GC", "GC pause (young)"); `key`: GC id; duration: as
/// printed.
pub const GC_PAUSE: &str = "gc.pause";
/// A collection nested in another pause (Full inside Young on JDK 9–16 Serial and CMS, ParNew
/// inside Remark). Its `parent` is the outer one; its time is part of the parent's.
pub const GC_NESTED: &str = "gc.nested";
/// Work of the collector while the application runs: a cycle or one of its phases. `key`: GC id.
pub const GC_CONCURRENT: &str = "gc.concurrent";
/// One thread blocked by the collector while others ran on (ZGC "Allocation Stall", "Relocation
/// Stall", Shenandoah pacing). Not a stop-the-world pause. `thread`: the one that waited.
pub const GC_STALL: &str = "gc.stall";
/// Event: a pause whose record is truncated, so that its length is not known: it is not a
/// [`GC_PAUSE`] and in no sum. Written only where what is left of the record names a failure or a
/// full collection. Labels `cause`, `failure` and figure `full` as of a pause.
pub const GC_CUT: &str = "gc.cut";
/// A stop of all Java threads, from the request until they run again. `name`: the VM operation
/// ("G1CollectForAllocation"), or "stopped" where the log does not name it.
pub const SAFEPOINT: &str = "safepoint";
/// A thread that was late to stop at a safepoint, from the request until it stopped. `name`: the
/// state that it was in; `thread`, `stack`: where.
pub const SAFEPOINT_LATE: &str = "safepoint.late";
/// A compilation from its start to its end. `name`: "class.method(signature)"; `key`: compile id;
/// `thread`: the compiler thread. A truncated one ends where the log ends and has label `cut`.
pub const JIT_COMPILE: &str = "jit.compile";
/// A compile task waiting in the queue, from queued to started. `name`: method; `key`: compile id.
/// Where the start is not in the log, it ends at the installation, or is an event (figure
/// `wait_known` = 0).
pub const JIT_QUEUE: &str = "jit.queue";
/// Event: compiled code installed (`nmethod`). `name`: method; `key`: compile id.
pub const JIT_INSTALL: &str = "jit.install";
/// Event: compiled code made not entrant or a zombie. `name`: method; `key`: compile id.
pub const JIT_INVALIDATE: &str = "jit.invalidate";
/// Event: an uncommon trap taken at run time. `name`: the method that trapped.
pub const JIT_TRAP: &str = "jit.trap";
/// A call of a method that was traced. `name`: "class.method"; `thread`: who called; `stack`: from
/// where.
pub const METHOD_CALL: &str = "method.call";
/// Event: calls of a method that is timed, since it is. `name`: "class.method"; figures `calls`,
/// `mean_ns`, `max_ns`.
pub const METHOD_TIMING: &str = "method.timing";
/// Event: a dependency of compiled code broken by class loading. `name`: the method or type.
pub const JIT_DEPENDENCY: &str = "jit.dependency";
/// Event: a compilation gave up. `name`: method; label `reason`.
pub const JIT_FAILURE: &str = "jit.failure";
/// Event: the code cache (or a segment) was full; label `segment`; figure `compiler_disabled` = 1
/// when the JVM reports that the compiler has been disabled.
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
/// The start of a thread, from the call of `Thread.start` (otherwise from `clone`) until it ran
/// Java (otherwise until it ran for the first time). `name`: the new thread's; `thread`, `stack`:
/// who started it; figures `new_tid`, `call_ns`, `clone_ns`, `waited_ns`, `runq_ns`, `to_java_ns`,
/// where they were measured. The parts overlap: they are on two threads.
pub const THREAD_STARTUP: &str = "thread.startup";
/// Event: a thread ended. `name`: its name.
pub const THREAD_END: &str = "thread.end";
/// `Thread.sleep`. `thread`: the one that slept.
pub const THREAD_SLEEP: &str = "thread.sleep";
/// A wait for a Java monitor. `name`: class of the lock object; labels `owner`, `address`.
pub const LOCK_MONITOR: &str = "lock.monitor";
/// `Object.wait`. `name`: class of the object.
pub const LOCK_WAIT: &str = "lock.wait";
/// `LockSupport.park`. `name`: class of the blocker, where it is known.
pub const LOCK_PARK: &str = "lock.park";
/// A wait for a lock of the C library (`pthread_mutex`). label `address`.
pub const LOCK_NATIVE: &str = "lock.native";
/// A virtual thread that kept its carrier while it waited (pinned). `name`: what it waited in;
/// label `reason`.
pub const THREAD_PINNED: &str = "thread.pinned";
/// A system call. `name`: its name; figures `result`, `bytes`, `requested_bytes`; labels `path`,
/// `peer`, `error`, `flags`, `address`. Live recordings have those above a limit, without those in
/// which a thread waits by choice.
pub const SYSCALL: &str = "syscall";
/// Reading or writing a file, as the program sees it. `name`: "read", "write", "force"; label
/// `path`.
pub const IO_FILE: &str = "io.file";
/// Reading or writing a socket, as the program sees it. `name`: "read", "write"; label `peer`.
pub const IO_SOCKET: &str = "io.socket";
/// A name being resolved. `name`: the host's name; figures `result`, `timeouts`; labels `error`,
/// `peer` (the server that was queried last, where it was recorded).
pub const NET_DNS: &str = "net.dns";
/// A connection being established, from the first segment to the answer; figure `nonblocking`;
/// labels `peer`, `error`, `reason`.
pub const NET_CONNECT: &str = "net.connect";
/// Event: segments of a connection were retransmitted within the preceding second. Figure
/// `segments`; label `peer`.
pub const NET_RETRANSMIT: &str = "net.retransmit";
/// A TLS handshake. `name`: the protocol; label `peer`; figure `resumed`.
pub const NET_TLS: &str = "net.tls-handshake";
/// Event: an exception or error was thrown. `name`: its class.
pub const EXCEPTION: &str = "exception";
/// A hit of a probe that a user requested. `name`: the probe, "uprobe:libc.so.6:open64", from entry
/// to return; of an allocation: the class. Figures `arg0` …, `result`, or the fields of a
/// tracepoint; labels `str0`, `str1`: what the first arguments point to, if that is text.
pub const PROBE: &str = "probe";
/// Any other timed record that a reader understood but no rule uses. `name`: what its source calls
/// it.
pub const EVENT: &str = "event";
/// An interval in which every context switch of a thread was recorded: what of it is not
/// [`SCHED_OFF`] was spent on a CPU. `thread`: whose; figure `migrations`, where there were any. It
/// ends where switches were lost, and a new one begins after them.
pub const SCHED_WATCHED: &str = "sched.watched";
/// A thread off-CPU, from switched out until it ran again. `name`: the state in which the kernel
/// left it ("sleeping", "uninterruptible", "preempted", "stopped"); `stack`: at the switch; figure
/// `runq_ns`; labels `syscall`, `path`, `peer`, `waker` or `interrupt`, `ran_instead`, `trace_id`,
/// `span_id`. Intervals below the collector's limit are samples of kind "off-cpu".
pub const SCHED_OFF: &str = "sched.off-cpu";
/// A slow page fault. `name`: "major"; `stack`: with a frame for the mapping; labels `path`,
/// `address`.
pub const PAGE_FAULT: &str = "page-fault";
/// A thread held up by the kernel for memory. `name`: one of [`super::memory_stall`].
pub const MEMORY_STALL: &str = "memory.stall";
/// A thread that waited for the lock of its process' address space. `name`: "read", "write".
pub const MEMORY_MAP_LOCK: &str = "memory.map-lock";
/// Event: the OOM killer chose a process. `name`: its command; `key`: its id.
pub const MEMORY_OOM: &str = "memory.oom";
/// A request to a block device, from its creation to its completion. `name`: "read", "write",
/// "flush", "discard", "other"; `process`: who issued it, for buffered writes a kernel thread;
/// figures `bytes`, `queue_ns`, `result`; labels `device`, `issuer`.
pub const DISK_REQUEST: &str = "disk.request";
/// A commit of a file system's journal (jbd2). label `device`.
pub const DISK_COMMIT: &str = "disk.journal-commit";
/// A round of writeback of the page cache. `name`: why ("background", "periodic", "sync"); label
/// `device`.
pub const DISK_WRITEBACK: &str = "disk.writeback";
/// A file that was written back, by whoever did it. `name`: the file's own, "metadata" for a file
/// system's own blocks; figure `bytes`; labels `path`, `device`, `writer`. It ends when all of it
/// is handed to the device, or, if somebody waits for it, when it is written.
pub const DISK_WRITEBACK_FILE: &str = "disk.writeback-file";
/// A writing thread was throttled by the kernel until more is written back; the span is the pause
/// that was requested. label `device`.
pub const DISK_THROTTLE: &str = "disk.throttle";
/// A thread in a call that writes a file back. `name`: "fsync", "fdatasync", "sync_file_range",
/// "syncfs"; figure `result`; label `path`.
pub const DISK_SYNC: &str = "disk.sync";
/// Event: a warning or error line of the JVM's log. `name`: its text (truncated to 200 characters).
pub const JVM_WARNING: &str = "jvm.warning";
/// What a recording was kept for: something that exceeded a limit that was set. `name`: the
/// trigger, "stop>200ms"; figure `limit_ns`; label `what`: what was slow, in words.
pub const SLOW: &str = "slow";
/// A request that a server answered, from its access log. `name`: method and path, with `*` for
/// what distinguishes one request from another ("GET /orders/*"); figure `status`. It lies on no
/// thread; timestamps may be truncated to seconds.
pub const OPERATION: &str = "operation";
/// A thread seen within a span of a trace (OpenTelemetry's), from the first to the last look that
/// found it there, at each of its CPU samples and of its recorded waits: it began earlier and ended
/// later. One for each thread, and anew where the thread was elsewhere meanwhile; an event where
/// there was one look. `name`: "span"; labels `trace_id`, `span_id`.
pub const TRACE_SPAN: &str = "trace.span";
/// Event: a heap dump was written. `name`: its file; figures `retained_bytes` (reachable bytes),
/// `objects`, `before_bytes` (reachable bytes in the dump that it is compared with, where there is
/// one).
pub const HEAP_DUMP: &str = "heap.dump";
/// Event, within [`HEAP_DUMP`]: an object of the dump, or a set of them, that retains much of the
/// heap. `name`: its class; figures `retained_bytes`, `objects`, `entries`, `before_bytes`; labels
/// `held_by`, `static_field`, `held_by_threads`, `entry_class`, `accumulates_in`, `dominators`,
/// `suspicion`, `bound`.
pub const HEAP_HOLDER: &str = "heap.holder";
/// Event, within [`HEAP_DUMP`]: the holder of direct buffers, whose memory is outside of the heap.
/// `name`: who, as in `held_by`; figures `bytes` (their capacity), `objects`, `before_bytes`.
pub const HEAP_DIRECT: &str = "heap.direct";
/// Event: something that people or their tools did to the application or its machine: a deployment,
/// a migration. `name`: their description (truncated to 200 characters); figure `precision_ns`. Its
/// process has no meaning.
pub const MARK: &str = "mark";
/// The interval of a run that a source covers: first to last timestamp. One per source and JVM run.
pub const RUN: &str = "run";
