//! Names of series.

/// Completed operations per second.
pub const THROUGHPUT: &str = "throughput";
/// Requests that a server answered, per second, from its access log; each counts when it ended.
pub const REQUESTS: &str = "requests";
/// Those of them that were answered with a status below 500, per second: the server's useful work.
/// It is a part of the former, never added to it.
pub const REQUESTS_WITHOUT_5XX: &str = "requests without 5xx";
/// Share of the requests of a tick that were answered with a status of 500 or more, 0 to 1.
pub const SERVER_ERRORS: &str = "share_of_5xx";
/// Mean latency of the requests that ended in a tick, milliseconds.
pub const AVG_LATENCY: &str = "avg_latency";
/// The longest of these latencies.
pub const MAX_LATENCY: &str = "max_latency";
/// Heap in use, bytes.
pub const HEAP_USED: &str = "heap.used";
/// Tasks waiting for a compiler; instance: "c1", "c2".
pub const COMPILE_QUEUE: &str = "compile.queue";
/// CPU time of the JVM in user mode, as a share of all CPUs (1.0: all of them).
pub const CPU_JVM_USER: &str = "cpu.jvm-user";
/// The same in kernel mode.
pub const CPU_JVM_SYSTEM: &str = "cpu.jvm-system";
/// CPU time of the whole machine, as a share of all CPUs.
pub const CPU_MACHINE: &str = "cpu.machine";
/// CPU time of a thread as a share of all CPUs; instance: its name.
pub const CPU_THREAD: &str = "cpu.thread";
/// Context switches of the machine, per second.
pub const CONTEXT_SWITCHES: &str = "context-switches";
/// Memory of the machine in use, bytes.
pub const MEMORY_USED: &str = "memory.used";
/// Memory of the process in use, bytes.
pub const MEMORY_RESIDENT: &str = "memory.resident";
/// Live Java threads.
pub const JAVA_THREADS: &str = "java-threads";
/// Code cache in use, bytes.
pub const CODE_CACHE_USED: &str = "codecache.used";
