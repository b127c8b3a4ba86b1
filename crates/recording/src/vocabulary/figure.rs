//! Keys of figures. Bytes are bytes, times carry their unit.

// Heap, on gc.pause and on gc.concurrent where the log prints sizes. From "a->b(c)" of the `gc`
// line or "[PSYoungGen: a->b(c)]" and the like.
/// Heap used before.
pub const HEAP_BEFORE_BYTES: &str = "heap_before_bytes";
/// Heap used after.
pub const HEAP_AFTER_BYTES: &str = "heap_after_bytes";
/// Heap capacity as printed in the record.
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
/// Metaspace committed (JDK 8: the number in parentheses).
pub const METASPACE_COMMITTED_BYTES: &str = "metaspace_committed_bytes";
// CPU, on gc.pause: the "[Times: …]" or `gc,cpu` line; resolution 10 ms.
/// CPU seconds in user mode during the pause.
pub const USER_S: &str = "user_s";
/// CPU seconds in kernel mode during the pause.
pub const SYS_S: &str = "sys_s";
/// Wall seconds as the CPU line prints them.
pub const REAL_S: &str = "real_s";
/// GC worker threads used.
pub const WORKERS: &str = "workers";
/// Prefix of the timed phases of a pause, in milliseconds: "phase_ms:Evacuate Collection Set". Only
/// the outermost phases: they do not overlap and their sum is comparable to the pause.
pub const PHASE_MS_PREFIX: &str = "phase_ms:";
/// Sum of the outermost timed phases except "Other", milliseconds. Absent when the log prints no
/// phases.
pub const PHASES_SUM_MS: &str = "phases_sum_ms";
/// Largest gap between the timestamps of consecutive lines of one pause in which no timed work
/// lies, milliseconds: what remains of the gap after subtracting every phase printed from there on.
/// Evidence of a blocked log write.
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
/// 1 when the pause collected the whole heap or all of the old generation, whether the log labels
/// it so or not.
pub const FULL: &str = "full";
/// Host load average that ZGC prints ("Load: 7.50 (375%) / …"), one minute, as a load (7.50).
pub const HOST_LOAD: &str = "host_load";
// Safepoints, nanoseconds.
/// From the request until the last thread stopped ("Reaching safepoint", "Stopping threads took",
/// sync): the time to safepoint.
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
/// Threads that ran when it was requested.
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
/// 0 when the log does not record when a queued task was started; absent, or 1, when it does.
pub const WAIT_KNOWN: &str = "wait_known";
/// Bytecode index of a trap.
pub const BCI: &str = "bci";
/// How often the method had been recompiled or decompiled, according to the log.
pub const DECOMPILES: &str = "decompiles";
/// Code cache free, bytes.
pub const CODE_CACHE_FREE_BYTES: &str = "code_cache_free_bytes";
/// Code cache size (reserved), bytes.
pub const CODE_CACHE_SIZE_BYTES: &str = "code_cache_size_bytes";
/// 1 when the JVM reports that the compiler has been disabled.
pub const COMPILER_DISABLED: &str = "compiler_disabled";
/// Bytes moved, requested or allocated.
pub const BYTES: &str = "bytes";
/// How long a thread waited for a CPU at the end of its time off-CPU: from its wakeup (or
/// preemption) until it ran.
pub const RUNQ_NS: &str = "runq_ns";
/// Of `runq_ns`, at its beginning: how long the thread's control group had no CPU quota left.
pub const THROTTLED_NS: &str = "throttled_ns";
/// Id of the thread that was started, on [`super::kind::THREAD_STARTUP`]; there, `runq_ns` is how
/// long it first waited for a CPU.
pub const NEW_TID: &str = "new_tid";
/// How long its caller was in `Thread.start`, until that returned.
pub const CALL_NS: &str = "call_ns";
/// Of it, the time in the system call that creates a thread.
pub const CLONE_NS: &str = "clone_ns";
/// Of it, the caller's time off-CPU until the new thread signalled that it was up and the caller
/// had a CPU again.
pub const WAITED_NS: &str = "waited_ns";
/// From when the kernel had created the thread until it ran Java.
pub const TO_JAVA_NS: &str = "to_java_ns";
/// The limit above which it is slow, on [`super::kind::SLOW`].
pub const LIMIT_NS: &str = "limit_ns";
/// How often a thread ran on another CPU than before.
pub const MIGRATIONS: &str = "migrations";
/// Thread id of the holder of a lock (label `owner`).
pub const OWNER_TID: &str = "owner_tid";
/// DNS queries of a look-up that were not answered before their time-out.
pub const TIMEOUTS: &str = "timeouts";
/// Bytes that a system call was requested to move, or to map.
pub const REQUESTED_BYTES: &str = "requested_bytes";
/// Number of calls.
pub const CALLS: &str = "calls";
/// How many of what is counted were timed; absent when all were. The others are assumed to have
/// taken as long.
pub const TIMED: &str = "timed";
/// The mean of what there was, nanoseconds.
pub const MEAN_NS: &str = "mean_ns";
/// The longest of what there was, nanoseconds.
pub const MAX_NS: &str = "max_ns";
/// Duration of the longest of them; absent where a longer one came before.
pub const LONGEST_NS: &str = "longest_ns";
/// How many calls were interrupted, timed out or had nothing yet (EINTR, EAGAIN, ETIMEDOUT,
/// EINPROGRESS).
pub const AGAIN: &str = "again";
/// How many of them failed otherwise.
pub const FAILED: &str = "failed";
/// Prefix of the number of calls that took at least this many nanoseconds and less than twice as
/// many: "calls_from_ns:1024".
pub const CALLS_FROM_NS_PREFIX: &str = "calls_from_ns:";

/// The key of calls that took at least `ns` nanoseconds (a power of two) and less than twice as
/// many.
pub fn calls_from_ns(ns: u64) -> String {
    format!("{CALLS_FROM_NS_PREFIX}{ns}")
}

/// 1 when the call that began a connection did not wait for it: its thread may have done something
/// else meanwhile.
pub const NONBLOCKING: &str = "nonblocking";
/// Segments of a connection.
pub const SEGMENTS: &str = "segments";
/// What a system call returned; -1 when it failed.
pub const RESULT: &str = "result";
/// Shorter spans of the kind are not in the source, nanoseconds: sums are too small by those.
pub const THRESHOLD_NS: &str = "threshold_ns";
/// 1 when what was thrown is a `java.lang.Error`, 0 when an exception.
pub const IS_ERROR: &str = "is_error";
/// Page faults that had to wait for a page to be read (major faults).
pub const MAJOR: &str = "major";
/// Page faults by writes to a page that was present but write-protected: shared since a fork, a
/// snapshot, a zero page.
pub const PROTECT: &str = "protect";
/// Page faults of the kernel on behalf of a system call: `read` into a buffer that was never
/// touched before.
pub const IN_KERNEL: &str = "in_kernel";
/// How long a request was queued before it went to its device, nanoseconds.
pub const QUEUE_NS: &str = "queue_ns";
/// Of the times that a lock was taken, those for writing.
pub const LOCKS_WRITTEN: &str = "locks_written";
/// Whether a TLS handshake resumed a session, 1, or was made in full, 0; left out where that is not
/// known.
pub const RESUMED: &str = "resumed";
/// Status of a response: 200, 503; 0 when the client left before there was one.
pub const STATUS: &str = "status";
/// The precision of a timestamp that a person wrote: the unit of its last digit, nanoseconds.
pub const PRECISION_NS: &str = "precision_ns";
/// Bytes of a heap dump that would become unreachable with an object.
pub const RETAINED_BYTES: &str = "retained_bytes";
/// The same bytes in the previous heap dump.
pub const BEFORE_BYTES: &str = "before_bytes";
/// The number of objects that are summed up.
pub const OBJECTS: &str = "objects";
/// The number of entries that accumulate in a holder.
pub const ENTRIES: &str = "entries";
