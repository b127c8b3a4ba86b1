//! Formats of sources that others ask for by name: what `fathom record` writes. Formats of files
//! are their readers' own.

/// A live recording as a whole.
pub const SESSION: &str = "session";
/// A JVM that was recorded live: what is known of it, and when it started.
pub const JVM: &str = "jvm";
/// The collector of a JVM's own probes: collections, safepoints, compilations.
pub const JVM_EVENTS: &str = "jvm-events";
/// The collector of waits for locks.
pub const LOCKS: &str = "locks";
/// The collector of connections and look-ups of names.
pub const NETWORK: &str = "network";
/// The collector of requests that are answered over accepted connections.
pub const REQUESTS: &str = "requests";
/// The collector of CPU samples.
pub const CPU: &str = "cpu";
/// The collector of switches of threads, and of what starts and ends them.
pub const SCHED: &str = "sched";
/// The collector of page faults.
pub const MEMORY: &str = "memory";
/// The collector of system calls.
pub const SYSCALLS: &str = "syscalls";
/// What people or their tools did, as a user names it (`--mark`, `--marks`).
pub const MARKS: &str = "marks";
/// A heap dump: who keeps what of its heap.
pub const HEAP_DUMP: &str = "heap-dump";
