//! Kinds of counts. Each row is of an interval, mostly of about a second.

/// System calls of a thread, short ones included. `name`: the call's; figures `longest_ns`,
/// `timed`, `again`, `failed`, and a histogram of durations
/// ([`super::figure::CALLS_FROM_NS_PREFIX`]). Where many threads end within a second, their calls
/// are summed by process, under a thread named "threads that have ended".
pub const SYSCALL_TOTALS: &str = "syscall.totals";
/// Page faults, minor and major, timed from the trap to the end of its handling. `name`: the
/// mapping ([`super::fault`]); `thread`: whose, absent for threads with few, which are summed up;
/// figures `major`, `protect`, `in_kernel`, `timed`.
pub const PAGE_FAULTS: &str = "page-faults";
/// Page faults of about ten seconds by their offset within the page, weighted as samples are.
/// Figures: the number from each offset on, "0", "64" … "4032".
pub const PAGE_FAULT_OFFSETS: &str = "page-fault.offsets";
/// Times that another process, or a kernel thread, took the lock of the process' address space.
/// `name`: its command; `key`: its id; figure `locks_written`.
pub const MEMORY_FOREIGN: &str = "memory.foreign";
