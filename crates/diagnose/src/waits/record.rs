//! A wait classified by its record: what JFR, strace and probes write as spans of a thread.

use fathom_recording::Span;
use fathom_recording::vocabulary::call::{ACCEPTS, EPOLLS, POLLS, READS, SELECTS};
use fathom_recording::vocabulary::lock::is_lock;
use fathom_recording::vocabulary::{figure, kind, label};

use super::Category;
use super::stack::ByStack;

/// Kinds of spans that show what their thread waited for.
pub(crate) const WAITS: [&str; 16] = [
    kind::LOCK_MONITOR,
    kind::LOCK_NATIVE,
    kind::LOCK_WAIT,
    kind::LOCK_PARK,
    kind::THREAD_SLEEP,
    kind::IO_FILE,
    kind::IO_SOCKET,
    kind::NET_DNS,
    kind::NET_CONNECT,
    kind::NET_TLS,
    kind::GC_STALL,
    kind::MEMORY_MAP_LOCK,
    kind::MEMORY_STALL,
    kind::PAGE_FAULT,
    kind::DISK_SYNC,
    kind::SYSCALL,
];

/// Categories of records that know better than the stack at the switch, where the two differ: the
/// stack of a thread that waits for the lock of its address space, or looks for memory, is that of
/// the fault or call in which it does.
pub(crate) const NARROWER: [Category; 2] = [Category::MapLock, Category::MemoryStall];

/// Kinds that name what was waited for, the most specific first: a look-up is made of system calls,
/// and so is what the program sees as a read of a file.
pub(crate) const NAMING: [&str; 6] =
    [kind::NET_DNS, kind::NET_CONNECT, kind::SYSCALL, kind::IO_FILE, kind::IO_SOCKET, kind::NET_TLS];

/// Whether a span of one of [`WAITS`] is a wait of its thread: of a connection that is made without
/// blocking, the thread may have done something else meanwhile.
pub(crate) fn is_wait(span: &Span<'_>) -> bool {
    span.kind() != kind::NET_CONNECT || span.figure(figure::NONBLOCKING) != Some(1.0)
}

/// What a span says its thread waited for by name: a peer, a file, a host.
pub(crate) fn target<'a>(span: &Span<'a>) -> Option<&'a str> {
    if span.kind() == kind::NET_DNS {
        return Some(span.name()).filter(|name| !name.is_empty());
    }
    span.first_label(label::PEER, label::PATH).filter(|name| !name.is_empty())
}

/// Whether a call waits for a request on a connection that was accepted: its thread has no work.
pub(crate) fn awaits_request(span: &Span<'_>) -> bool {
    span.label(label::ACCEPTED).is_some() && reads(span)
}

/// The same of a thread that takes no connections itself; or for what a peer sends of its own
/// accord.
pub(crate) fn awaits_work(span: &Span<'_>, stacks: &ByStack) -> bool {
    (awaits_request(span) && !stacks.takes_connections(span)) || (reads(span) && stacks.is_of_stream(span))
}

fn reads(span: &Span<'_>) -> bool {
    let waits = |call: &str| READS.contains(&call) || POLLS.contains(&call);
    span.kind() == kind::SYSCALL && waits(span.name())
}

/// Whether a class is one at which a thread parks until another one hands it something over: the
/// queue of a cached pool, where its stack could not be walked.
fn is_hand_over(class: &str) -> bool {
    class.starts_with("java.util.concurrent.SynchronousQueue$")
}

/// Whether a stack shows no more than that a thread parks.
fn says_little(category: Category) -> bool {
    use Category::{Blocked, NativeLock, TimedWait, Waiting};
    matches!(category, Blocked | NativeLock | TimedWait | Waiting)
}

/// What the thread of such a span waited for.
pub(crate) fn category(span: &Span<'_>, stacks: &ByStack) -> Category {
    let by_stack = stacks.category(span.stack());
    match span.kind() {
        kind::LOCK_MONITOR => Category::Monitor,
        kind::LOCK_NATIVE => Category::NativeLock,
        kind::LOCK_PARK
            if is_hand_over(span.name())
                && says_little(by_stack)
                && !stacks.takes_from_queue(span.stack()) =>
        {
            Category::Idle
        }
        // A pool's idle thread parks and waits as well: only its stack shows that it is idle.
        // A stack whose caller of the synchronizer is unknown leaves open what the class says.
        kind::LOCK_PARK if by_stack == Category::Waiting && is_lock(span.name()) => Category::Lock,
        kind::LOCK_PARK | kind::LOCK_WAIT if by_stack != Category::Blocked => by_stack,
        kind::LOCK_PARK if is_lock(span.name()) => Category::Lock,
        kind::LOCK_PARK | kind::LOCK_WAIT => Category::Waiting,
        kind::THREAD_SLEEP => Category::Sleep,
        kind::IO_FILE | kind::DISK_SYNC => Category::Disk,
        kind::IO_SOCKET | kind::NET_CONNECT | kind::NET_TLS => Category::Network,
        kind::NET_DNS => Category::Dns,
        kind::GC_STALL => Category::AllocationStall,
        kind::MEMORY_MAP_LOCK => Category::MapLock,
        kind::MEMORY_STALL => Category::MemoryStall,
        kind::PAGE_FAULT => Category::PageFault,
        kind::SYSCALL if awaits_work(span, stacks) => Category::Idle,
        kind::SYSCALL if by_stack != Category::Blocked => by_stack,
        kind::SYSCALL => syscall(span),
        _ => Category::Blocked,
    }
}

/// A system call of which only name and descriptor are known.
fn syscall(span: &Span<'_>) -> Category {
    let path = span.label(label::PATH).unwrap_or_default();
    match span.name() {
        "futex" | "futex_wait" => Category::NativeLock,
        "nanosleep" | "clock_nanosleep" => Category::Sleep,
        name if EPOLLS.contains(&name) || ACCEPTS.contains(&name) => Category::Idle,
        // A lock of a file is a process' and not a thread's.
        "wait4" | "waitid" | "fcntl" => Category::Child,
        "connect" | "recvfrom" | "recvmsg" | "recvmmsg" | "sendto" | "sendmsg" | "sendmmsg" => {
            Category::Network
        }
        name if POLLS.contains(&name) || SELECTS.contains(&name) => Category::Network,
        "fsync" | "fdatasync" | "sync_file_range" | "openat" | "open" | "unlink" | "rename" | "ftruncate" => {
            Category::Disk
        }
        _ if span.label(label::PEER).is_some() => Category::Network,
        // As /proc names what is no file: a pipe's other end is a process, the others only signal
        // events.
        _ if path.starts_with("pipe:") => Category::Child,
        _ if path.starts_with("anon_inode:") || path.starts_with("/dev/") => Category::Idle,
        _ if !path.is_empty() => Category::Disk,
        // Most calls that are left do their work rather than wait.
        _ => Category::Kernel,
    }
}

#[cfg(test)]
mod tests {
    use fathom_recording::{FrameType, Process, Recording, Role, Sink, Source, SpanRow};

    use super::*;
    use crate::built::Built;

    #[test]
    fn a_park_whose_stack_leaves_open_what_it_is_for_is_what_its_class_says() {
        let frames = [
            ("futex_wait", FrameType::Kernel),
            ("java.util.concurrent.locks.LockSupport.park", FrameType::C2),
            ("java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire", FrameType::C2),
            ("[unknown Java method]", FrameType::Interpreted),
        ];
        let of = |class: &str| {
            let mut built = Built::jvm("21", "G1", 60.0);
            built.with_stack((kind::LOCK_PARK, class), "worker", &frames, &[], (1.0, 500.0));
            let recording = built.sealed();
            let span = recording.spans_of(kind::LOCK_PARK).next().expect("the park");
            category(&span, &ByStack::of(&recording))
        };
        assert_eq!(of("java.util.concurrent.locks.ReentrantLock$NonfairSync"), Category::Lock);
        assert_eq!(of("java.util.concurrent.CountDownLatch$Sync"), Category::Waiting);
        assert_eq!(of(""), Category::Waiting);
    }

    #[test]
    fn a_thread_that_waits_for_a_hand_over_has_no_work_though_no_stack_shows_it() {
        let of = |class: &str| {
            let mut built = Built::jvm("25", "G1", 10.0);
            built.on_thread(kind::LOCK_PARK, "worker", class, 1.0, 500.0);
            let recording = built.sealed();
            let span = recording.spans_of(kind::LOCK_PARK).next().expect("the park");
            category(&span, &ByStack::by_frames(&recording))
        };
        assert_eq!(of("java.util.concurrent.SynchronousQueue$Transferer"), Category::Idle);
        assert_eq!(of("java.util.concurrent.CompletableFuture$Signaller"), Category::Waiting);
    }

    #[test]
    fn a_request_that_waits_for_a_hand_over_of_what_other_requests_give_back_is_not_without_work() {
        let mut recording = Recording::new();
        let process = recording.add_process(Process::default());
        let source = recording.add_source(Source::default());
        let mut stack = None;
        for name in ["shop.Server.serve", "shop.Pool.borrow", "java.util.concurrent.SynchronousQueue.poll"] {
            let frame = recording.frame(name, "", FrameType::C2, -1);
            stack = Some(recording.stack(stack, frame));
        }
        let class = "java.util.concurrent.SynchronousQueue$Transferer";
        for (tid, waker) in [(1, "request-2 (2)"), (2, "request-1 (1)")] {
            let thread = Some(recording.thread(process, Some(tid), &format!("request-{tid}"), Role::App));
            let labels = &[(label::WAKER, waker)];
            for (kind, name) in [(kind::SCHED_OFF, "sleeping"), (kind::LOCK_PARK, class)] {
                let row = SpanRow::new(kind, name, (tid * 10, tid * 10 + 9), process, source);
                recording.span(&SpanRow { thread, stack, labels, ..row });
            }
        }
        recording.seal();
        let stacks = ByStack::of(&recording);
        let parks = recording.spans_of(kind::LOCK_PARK).map(|span| category(&span, &stacks));
        assert_eq!(parks.collect::<Vec<_>>(), [Category::Waiting; 2]);
    }
}
