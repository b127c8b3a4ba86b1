//! Names of system calls by what they do, as spans and counts `syscall` and the label `syscall` of
//! a wait have them.

/// Those that read, from a file, a pipe or a connection.
pub const READS: [&str; 5] = ["read", "readv", "recvfrom", "recvmsg", "recvmmsg"];
/// Those that write, or send.
pub const WRITES: [&str; 5] = ["write", "writev", "sendto", "sendmsg", "sendmmsg"];
/// Those that wait until one of few descriptors is ready: a connection, as a rule.
pub const POLLS: [&str; 2] = ["poll", "ppoll"];
/// The same, by sets of bits.
pub const SELECTS: [&str; 2] = ["select", "pselect6"];
/// Those that wait until any of many connections is ready.
pub const EPOLLS: [&str; 3] = ["epoll_wait", "epoll_pwait", "epoll_pwait2"];
/// Those that take a connection.
pub const ACCEPTS: [&str; 2] = ["accept", "accept4"];
