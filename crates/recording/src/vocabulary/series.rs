//! Names of series.

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
