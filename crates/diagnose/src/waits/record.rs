//! A wait told by the record that tells of it: what JFR, strace and probes write as spans of a thread.

use fathom_recording::Span;
use fathom_recording::vocabulary::{kind, label};

use super::Heading;
use super::stack::ByStack;

/// Kinds of spans that tell what their thread waited for.
pub(crate) const WAITS: [&str; 11] = [
    kind::LOCK_MONITOR,
    kind::LOCK_WAIT,
    kind::LOCK_PARK,
    kind::THREAD_SLEEP,
    kind::IO_FILE,
    kind::IO_SOCKET,
    kind::NET_DNS,
    kind::NET_CONNECT,
    kind::NET_TLS,
    kind::GC_STALL,
    kind::SYSCALL,
];

/// What the thread of such a span waited for.
pub(crate) fn heading(span: &Span<'_>, stacks: &ByStack) -> Heading {
    let by_stack = stacks.heading(span.stack());
    match span.kind() {
        kind::LOCK_MONITOR => Heading::Monitor,
        // A pool's idle thread parks and waits as well: only its stack tells.
        kind::LOCK_PARK | kind::LOCK_WAIT if by_stack != Heading::Blocked => by_stack,
        kind::LOCK_PARK if span.name().contains("Sync") && !span.name().contains("Condition") => {
            Heading::Lock
        }
        kind::LOCK_PARK | kind::LOCK_WAIT => Heading::Waiting,
        kind::THREAD_SLEEP => Heading::Sleep,
        kind::IO_FILE => Heading::Disk,
        kind::IO_SOCKET | kind::NET_CONNECT | kind::NET_TLS => Heading::Network,
        kind::NET_DNS => Heading::Dns,
        kind::GC_STALL => Heading::AllocationStall,
        kind::SYSCALL if by_stack != Heading::Blocked => by_stack,
        kind::SYSCALL => syscall(span),
        _ => Heading::Blocked,
    }
}

/// A system call of which only name and descriptor are known.
fn syscall(span: &Span<'_>) -> Heading {
    match span.name() {
        "futex" | "futex_wait" => Heading::NativeLock,
        "nanosleep" | "clock_nanosleep" => Heading::Sleep,
        "epoll_wait" | "epoll_pwait" | "epoll_pwait2" | "accept" | "accept4" => Heading::Idle,
        "wait4" | "waitid" => Heading::Child,
        "connect" | "recvfrom" | "recvmsg" | "recvmmsg" | "sendto" | "sendmsg" | "sendmmsg" | "poll"
        | "ppoll" | "select" | "pselect6" => Heading::Network,
        "fsync" | "fdatasync" | "sync_file_range" | "openat" | "open" | "unlink" | "rename" | "ftruncate" => {
            Heading::Disk
        }
        _ if span.label(label::PEER).is_some() => Heading::Network,
        _ if span.label(label::PATH).is_some() => Heading::Disk,
        // Most calls that are left do their work rather than wait.
        _ => Heading::Kernel,
    }
}
