//! Calls of the kernel that read from a connection and write to it, by name.

/// Calls that read.
pub(crate) const READS: [&str; 5] = ["read", "readv", "recvfrom", "recvmsg", "recvmmsg"];
/// Calls that write.
pub(crate) const WRITES: [&str; 5] = ["write", "writev", "sendto", "sendmsg", "sendmmsg"];
/// Calls that wait until a connection can be read.
pub(crate) const POLLS: [&str; 2] = ["poll", "ppoll"];
