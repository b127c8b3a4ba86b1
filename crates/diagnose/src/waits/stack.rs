//! A wait told by the stack of the thread that waits.
//!
//! One list of functions, the most telling first: the earliest line that any frame of the stack matches decides. A
//! thread in `ThreadPoolExecutor.getTask` is idle although it is parked, a thread in a page fault under `write()` waits
//! for the fault. Names are those of HotSpot 8 to 25, of the JDK's classes and of Linux 4 to 6; what is not in the list
//! is [`Heading::Blocked`] and shown as such.

use fathom_recording::{FrameType, Recording, StackId};

use super::Heading;

/// Where a function is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layer {
    Java,
    Native,
    Kernel,
}
use Layer::{Java, Kernel, Native};

/// The list. A name that ends in `*` is the beginning of one.
const TOLD_BY: &[(Layer, &[&str], Heading)] = &[
    // Recordings of other tools; the scheduler's own spans have it as a figure.
    (Kernel, &["throttle_cfs_rq_work", "throttle_cfs_rq"], Heading::Throttled),
    // Whoever asked for the operation waits for its end in VMThread::execute, and stands still as the others do.
    (
        Native,
        &["SafepointSynchronize::block", "SafepointMechanism::*", "VMThread::execute"],
        Heading::Stopped,
    ),
    (Kernel, &["exc_page_fault", "asm_exc_page_fault", "do_user_addr_fault"], Heading::PageFault),
    (Native, &["getaddrinfo", "__GI_getaddrinfo", "getnameinfo", "gethostbyname*"], Heading::Dns),
    (
        Java,
        &[
            "java.util.concurrent.ThreadPoolExecutor.getTask",
            "java.util.concurrent.ForkJoinPool.awaitWork",
            "java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue.*",
            "java.util.concurrent.LinkedBlockingQueue.take",
            "java.util.concurrent.LinkedBlockingQueue.poll",
            "java.util.concurrent.LinkedBlockingDeque.take*",
            "java.util.concurrent.LinkedBlockingDeque.poll*",
            "java.util.concurrent.ArrayBlockingQueue.take",
            "java.util.concurrent.ArrayBlockingQueue.poll",
            "java.util.concurrent.PriorityBlockingQueue.take",
            "java.util.concurrent.DelayQueue.take",
            "java.util.concurrent.SynchronousQueue.take",
            "java.util.concurrent.SynchronousQueue.poll",
            "java.util.concurrent.LinkedTransferQueue.take",
            "java.lang.ref.ReferenceQueue.remove*",
            "java.lang.ref.Reference.waitForReferencePendingList",
            "java.lang.ref.Reference.tryHandlePending",
            "sun.nio.ch.SelectorImpl.*",
            "sun.nio.ch.EPollSelectorImpl.*",
            "sun.nio.ch.EPollArrayWrapper.*",
            "io.netty.channel.epoll.Native.epollWait*",
            "java.net.ServerSocket.*accept*",
            "java.net.PlainSocketImpl.socketAccept",
            "sun.nio.ch.ServerSocketChannelImpl.*",
            "sun.nio.ch.NioSocketImpl.accept",
        ],
        Heading::Idle,
    ),
    (
        Kernel,
        &[
            "balance_dirty_pages*",
            "folio_wait_*",
            "wait_on_page_*",
            "io_schedule*",
            "blk_*",
            "submit_bio*",
            "jbd2_*",
            "ext4_*",
            "xfs_*",
            "btrfs_*",
            "f2fs_*",
            "do_fsync",
            "vfs_fsync*",
            "sync_file_range",
            "filemap_*",
            "vfs_write",
            "vfs_writev",
            "percpu_rwsem_wait",
            "wbt_wait",
            "rq_qos_wait",
        ],
        Heading::Disk,
    ),
    (
        Native,
        &[
            "ObjectMonitor::enter*",
            "ObjectMonitor::ReenterI",
            "ObjectMonitor::reenter*",
            "ObjectSynchronizer::enter*",
            "ObjectSynchronizer::fast_enter",
            "ObjectSynchronizer::slow_enter",
            "SharedRuntime::complete_monitor_locking_C",
            "SharedRuntime::monitor_enter_helper",
            "InterpreterRuntime::monitorenter",
            "Runtime1::monitorenter",
        ],
        Heading::Monitor,
    ),
    // A latch is acquired by the same methods as a lock, and held by nobody.
    (Java, &["java.util.concurrent.CountDownLatch.await"], Heading::Waiting),
    (
        Java,
        &[
            "java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire*",
            "java.util.concurrent.locks.AbstractQueuedSynchronizer.doAcquire*",
            "java.util.concurrent.locks.AbstractQueuedSynchronizer.tryAcquireNanos",
            "java.util.concurrent.locks.AbstractQueuedLongSynchronizer.acquire*",
            "java.util.concurrent.locks.StampedLock.*",
            "java.util.concurrent.locks.ReentrantLock*",
            "java.util.concurrent.locks.ReentrantReadWriteLock*",
            "java.util.concurrent.Semaphore.*",
        ],
        Heading::Lock,
    ),
    (
        Java,
        &["java.lang.Thread.sleep*", "java.lang.Thread.beforeSleep", "java.util.concurrent.TimeUnit.sleep"],
        Heading::Sleep,
    ),
    (
        Java,
        &[
            "java.net.SocketInputStream.*",
            "java.net.SocketOutputStream.*",
            "java.net.PlainSocketImpl.*",
            "sun.nio.ch.NioSocketImpl.*",
            "sun.nio.ch.Net.*",
            "sun.nio.ch.SocketDispatcher.*",
            "sun.nio.ch.SocketChannelImpl.*",
            "sun.nio.ch.DatagramChannelImpl.*",
        ],
        Heading::Network,
    ),
    (
        Kernel,
        &[
            "tcp_*",
            "udp_*",
            "inet_*",
            "unix_stream_*",
            "sk_wait_data",
            "sk_stream_wait_*",
            "sock_recvmsg",
            "sock_sendmsg",
            "__sys_recvfrom",
            "__sys_sendto",
            "__sys_connect",
        ],
        Heading::Network,
    ),
    (Kernel, &["inet_csk_accept", "__sys_accept4", "do_accept", "ep_poll", "do_epoll_wait"], Heading::Idle),
    (Kernel, &["do_wait", "kernel_wait4", "pipe_read", "pipe_write", "anon_pipe_read"], Heading::Child),
    (
        Java,
        &[
            "java.lang.Object.wait*",
            "java.util.concurrent.locks.LockSupport.park*",
            "java.util.concurrent.CountDownLatch.await",
            "java.lang.Thread.join",
        ],
        Heading::Waiting,
    ),
    (Native, &["ObjectMonitor::wait", "JVM_MonitorWait", "Unsafe_Park", "Parker::park"], Heading::Waiting),
    (Kernel, &["do_nanosleep", "hrtimer_nanosleep", "common_nsleep*"], Heading::Sleep),
    (Kernel, &["do_sys_poll", "do_poll", "poll_schedule_timeout*", "do_select"], Heading::Network),
    (Kernel, &["futex_wait*", "do_futex"], Heading::NativeLock),
];

/// Headings of a recording's stacks, each looked at once. Parents stand before children, so that one pass does it.
pub(crate) struct ByStack {
    /// Place in [`TOLD_BY`] of the earliest line that a frame of the stack matches.
    told: Vec<u8>,
    /// Whether the kernel's side is all that is known of it.
    kernel_only: Vec<bool>,
}

const NOTHING: u8 = u8::MAX;

impl ByStack {
    pub(crate) fn of(recording: &Recording) -> Self {
        let frames: Vec<u8> = (recording.frames.iter())
            .map(|frame| place(layer(frame.frame_type), recording.strings.get(frame.name)))
            .collect();
        let is_kernel: Vec<bool> =
            recording.frames.iter().map(|frame| frame.frame_type == FrameType::Kernel).collect();
        let mut told: Vec<u8> = Vec::with_capacity(recording.stacks.len());
        let mut kernel_only: Vec<bool> = Vec::with_capacity(recording.stacks.len());
        for node in &recording.stacks {
            let callers = node.parent.and_then(|parent| told.get(parent.index()).copied()).unwrap_or(NOTHING);
            told.push(callers.min(frames.get(node.frame.index()).copied().unwrap_or(NOTHING)));
            let callers = node.parent.is_none_or(|p| kernel_only.get(p.index()).copied().unwrap_or(false));
            kernel_only.push(callers && is_kernel.get(node.frame.index()).copied().unwrap_or(false));
        }
        Self { told, kernel_only }
    }

    /// What a thread waits for whose stack this is.
    pub(crate) fn heading(&self, stack: Option<StackId>) -> Heading {
        let Some(stack) = stack else { return Heading::Blocked };
        let told = self.told.get(stack.index()).copied().unwrap_or(NOTHING);
        match TOLD_BY.get(usize::from(told)).map_or(Heading::Blocked, |line| line.2) {
            // Monitors, parking, joining: all sleep on a futex, and only who called it tells which.
            Heading::NativeLock if self.kernel_only.get(stack.index()) == Some(&true) => Heading::Blocked,
            heading => heading,
        }
    }
}

fn layer(frame_type: FrameType) -> Option<Layer> {
    match frame_type {
        FrameType::Interpreted | FrameType::C1 | FrameType::C2 | FrameType::Inlined => Some(Java),
        FrameType::Native | FrameType::Jvm | FrameType::Stub => Some(Native),
        FrameType::Kernel => Some(Kernel),
        FrameType::Unknown => None,
    }
}

fn place(layer: Option<Layer>, name: &str) -> u8 {
    // The compiled wrapper of a native method is a stub with the method's name; no C++ name looks like one of Java.
    let fits = |of: Layer| Some(of) == layer || (of == Java && layer == Some(Native));
    // Signatures are not part of a name here; some profilers write them.
    let name = name.split('(').next().unwrap_or(name);
    let matches = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(beginning) => glob(beginning, name),
        None => *pattern == name,
    };
    let line = TOLD_BY.iter().position(|(of, names, _)| fits(*of) && names.iter().any(matches));
    line.map_or(NOTHING, |line| line as u8)
}

/// Whether `name` begins so; a further `*` within stands for anything.
fn glob(beginning: &str, name: &str) -> bool {
    match beginning.split_once('*') {
        None => name.starts_with(beginning),
        Some((head, tail)) => name.strip_prefix(head).is_some_and(|rest| rest.contains(tail)),
    }
}

#[cfg(test)]
mod tests {
    use fathom_recording::Sink;

    use super::*;

    fn heading(frames: &[(FrameType, &str)]) -> Heading {
        let mut recording = Recording::new();
        let mut at = None;
        for (frame_type, name) in frames {
            let frame = recording.frame(name, "", *frame_type, -1);
            at = Some(recording.stack(at, frame));
        }
        ByStack::of(&recording).heading(at)
    }

    #[test]
    fn a_pool_without_a_task_is_idle_and_a_task_that_waits_for_a_lock_is_not() {
        use FrameType::{C2, Kernel, Native};
        let run = (C2, "java.util.concurrent.ThreadPoolExecutor.runWorker");
        let park = (C2, "java.util.concurrent.locks.LockSupport.park");
        let futex = (Kernel, "futex_wait_queue");
        let take = (C2, "java.util.concurrent.ThreadPoolExecutor.getTask");
        assert_eq!(heading(&[run, take, park, futex]), Heading::Idle);
        let acquire = (C2, "java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire");
        assert_eq!(heading(&[run, (C2, "shop.Orders.add"), acquire, park, futex]), Heading::Lock);
        assert_eq!(heading(&[run, (C2, "shop.Orders.add"), park, futex]), Heading::Waiting);
        assert_eq!(heading(&[run, (Native, "pthread_mutex_lock"), futex]), Heading::NativeLock);
    }

    #[test]
    fn the_kernels_side_tells_a_blocked_write_from_a_fault_within_it() {
        use FrameType::{Jvm, Kernel};
        let log = (Jvm, "LogFileStreamOutput::write");
        let write = (Kernel, "vfs_write");
        assert_eq!(heading(&[log, write, (Kernel, "balance_dirty_pages")]), Heading::Disk);
        assert_eq!(
            heading(&[log, (Kernel, "asm_exc_page_fault"), (Kernel, "ext4_page_mkwrite")]),
            Heading::PageFault
        );
        assert_eq!(
            heading(&[(Jvm, "SafepointSynchronize::block"), (Kernel, "futex_wait")]),
            Heading::Stopped
        );
        let asked = [(Jvm, "VMThread::execute"), (Jvm, "Monitor::wait"), (Kernel, "futex_wait")];
        assert_eq!(heading(&asked), Heading::Stopped);
        assert_eq!(heading(&[(Kernel, "schedule")]), Heading::Blocked);
        assert_eq!(heading(&[(Kernel, "__x64_sys_futex"), (Kernel, "futex_wait")]), Heading::Blocked);
        assert_eq!(heading(&[]), Heading::Blocked);
    }

    #[test]
    fn a_java_method_that_is_named_like_the_kernels_is_not_the_kernels() {
        assert_eq!(heading(&[(FrameType::C2, "tcp_recvmsg")]), Heading::Blocked);
        assert_eq!(heading(&[(FrameType::C2, "java.net.ServerSocket.accept")]), Heading::Idle);
    }
}
