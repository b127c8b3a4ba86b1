//! Names of series.

/// Completed operations per second.
pub const THROUGHPUT: &str = "throughput";
/// Requests that a server answered, per second, by its access log; each counts where it ended.
pub const REQUESTS: &str = "requests";
/// Those of them that were not answered with a status from 500 on, per second: what a server got
/// done. It is a part of the former, never added to it.
pub const REQUESTS_WITHOUT_5XX: &str = "requests without 5xx";
/// Share of the requests of a tick that were answered with a status from 500 on, 0 to 1.
pub const SERVER_ERRORS: &str = "share_of_5xx";
/// Mean latency of the requests that ended in a tick, milliseconds.
pub const AVG_LATENCY: &str = "avg_latency";
/// The longest of them.
pub const MAX_LATENCY: &str = "max_latency";
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
