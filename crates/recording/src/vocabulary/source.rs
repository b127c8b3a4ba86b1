//! Formats of sources that other code looks for by name: those that `fathom record` writes. Formats
//! of files are defined by their readers.

/// A live recording as a whole.
pub const SESSION: &str = "session";
/// A JVM that was recorded live: its facts, and when it started.
pub const JVM: &str = "jvm";
/// The collector of a JVM's own probes: collections, safepoints, compilations.
pub const JVM_EVENTS: &str = "jvm-events";
/// The collector of waits for locks.
pub const LOCKS: &str = "locks";
/// The collector of connections and name look-ups.
pub const NETWORK: &str = "network";
/// The collector of requests that are answered over accepted connections.
pub const REQUESTS: &str = "requests";
/// The collector of what TCP connections are limited by.
pub const CONNECTIONS: &str = "connections";
/// The collector of CPU samples.
pub const CPU: &str = "cpu";
/// The collector of context switches, and of wakeups.
pub const SCHED: &str = "sched";
/// The collector of page faults.
pub const MEMORY: &str = "memory";
/// The collector of system calls.
pub const SYSCALLS: &str = "syscalls";
/// What people or their tools did, as a user gave it (`--mark`, `--marks`).
pub const MARKS: &str = "marks";
/// A heap dump: who retains what of its heap.
pub const HEAP_DUMP: &str = "heap-dump";
