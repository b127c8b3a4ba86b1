//! The functions that show what a thread waits for, the most specific first. Names are those of
//! HotSpot 8 to 25, of the JDK's classes, of libraries with pools of their own and of Linux 4 to 6.

use super::Category;

/// Where a function is looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Layer {
    Java,
    Native,
    Kernel,
}
use Layer::{Java, Kernel, Native};

/// The category of the methods of queues, as long as nothing says for what something is taken from
/// one.
pub(super) const FROM_QUEUE: Category = Category::Idle;

/// The methods of a semaphore: a lock, as long as nothing says that it is a signal. See `queues`.
pub(super) const PERMIT: &str = "java.util.concurrent.Semaphore.*";

/// The list. A name that ends in `*` is the beginning of one.
pub(super) const WAIT_FUNCTIONS: &[(Layer, &[&str], Category)] = &[
    // kernel/signal.c and kernel/freezer.c: whatever the thread waited for before, it stands until
    // it is let go. `get_signal` takes the functions in that the compiler inlines into it.
    (
        Kernel,
        &[
            "do_signal_stop*",
            "ptrace_stop*",
            "do_freezer_trap*",
            "do_jobctl_trap*",
            "__refrigerator",
            "get_signal*",
        ],
        Category::Frozen,
    ),
    // Recordings of other tools; the scheduler's own spans have it as a value.
    (Kernel, &["throttle_cfs_rq_work", "throttle_cfs_rq"], Category::Throttled),
    // Whoever asked for the operation waits for its end in VMThread::execute, and stands still as
    // the others do.
    (
        Native,
        &["SafepointSynchronize::block", "SafepointMechanism::*", "VMThread::execute"],
        Category::Stopped,
    ),
    // gcLocker.cpp: memory is there only after a collection, which native code that holds an array
    // keeps from beginning.
    (Native, &["GCLocker::*", "GC_locker::*"], Category::AllocationStall),
    // Concurrent collectors that are too late hold up who allocates (shenandoahHeap.cpp,
    // shenandoahPacer.cpp, zPageAllocator.cpp).
    (
        Native,
        &["ShenandoahHeap::allocate_memory*", "ShenandoahPacer::*", "ZPageAllocator::alloc_page*"],
        Category::AllocationStall,
    ),
    (Kernel, &["exc_page_fault", "asm_exc_page_fault", "do_user_addr_fault"], Category::PageFault),
    (Native, &["getaddrinfo", "__GI_getaddrinfo", "getnameinfo", "gethostbyname*"], Category::Dns),
    // The native methods that call those, where the C library's frames could not be walked.
    (
        Java,
        &["java.net.Inet4AddressImpl.lookupAllHostAddr", "java.net.Inet6AddressImpl.lookupAllHostAddr"],
        Category::Dns,
    ),
    (
        Java,
        &["java.net.Inet4AddressImpl.getHostByAddr", "java.net.Inet6AddressImpl.getHostByAddr"],
        Category::Dns,
    ),
    // Of threads that want the same name one asks for it, and the others wait at a lock of its own
    // (JDK 9 and later, JDK 8).
    (
        Java,
        &["java.net.InetAddress$NameServiceAddresses.get", "java.net.InetAddress.checkLookupTable"],
        Category::Dns,
    ),
    // XNIO (Undertow) waits at a selector until a connection takes or brings something.
    (Java, &["org.xnio.nio.SelectorUtils.await*"], Category::Network),
    (
        Java,
        &[
            "java.util.concurrent.ThreadPoolExecutor.getTask",
            "java.util.concurrent.ForkJoinPool.awaitWork",
            // The executor of Undertow and WildFly (jboss-threads), and that of OkHttp's own tasks.
            "org.jboss.threads.EnhancedQueueExecutor$PoolThreadNode.park",
            // Threads that Jetty keeps for tasks that must not wait.
            "org.eclipse.jetty.util.thread.ReservedThreadExecutor$ReservedThread.waitForTask",
            "org.eclipse.jetty.util.thread.ReservedThreadExecutor$ReservedThread.reservedWait",
            "okhttp3.internal.concurrent.TaskRunner$RealBackend.coordinatorWait",
            "java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue.take",
            "java.util.concurrent.ScheduledThreadPoolExecutor$DelayedWorkQueue.poll",
            "java.lang.ref.ReferenceQueue.remove*",
            "java.lang.ref.Reference.waitForReferencePendingList",
            "java.lang.ref.Reference.tryHandlePending",
            // Who wakes a selector up, or gives a timer's thread something, is at work.
            "sun.nio.ch.SelectorImpl.select*",
            "sun.nio.ch.SelectorImpl.lockAndDoSelect",
            "sun.nio.ch.EPollSelectorImpl.doSelect",
            "sun.nio.ch.EPollArrayWrapper.poll",
            "sun.nio.ch.EPollArrayWrapper.epollWait",
            "io.netty.channel.epoll.Native.epollWait*",
            "java.net.ServerSocket.*accept*",
            "java.net.PlainSocketImpl.socketAccept",
            "sun.nio.ch.ServerSocketChannelImpl.accept*",
            "sun.nio.ch.ServerSocketChannelImpl.implAccept",
            "sun.nio.ch.NioSocketImpl.accept",
        ],
        Category::Idle,
    ),
    // Without work, unless the thread takes a thing that it needs for the work it has: see
    // `queues`.
    (
        Java,
        &[
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
        ],
        FROM_QUEUE,
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
            "percpu_rwsem_wait",
            "wbt_wait",
            "rq_qos_wait",
        ],
        Category::Disk,
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
        Category::Monitor,
    ),
    // A latch is acquired by the same methods as a lock, and held by nobody.
    (Java, &["java.util.concurrent.CountDownLatch.await"], Category::Waiting),
    (Java, &[PERMIT], Category::Lock),
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
        ],
        Category::Lock,
    ),
    (
        Java,
        &["java.lang.Thread.sleep*", "java.lang.Thread.beforeSleep", "java.util.concurrent.TimeUnit.sleep"],
        Category::Sleep,
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
        Category::Network,
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
        Category::Network,
    ),
    (Kernel, &["inet_csk_accept", "__sys_accept4", "do_accept", "ep_poll", "do_epoll_wait"], Category::Idle),
    (
        Kernel,
        &["do_wait", "kernel_wait4", "pipe_read", "pipe_write", "anon_pipe_read", "anon_pipe_write"],
        Category::Child,
    ),
    // fs/notify/fanotify: a program that watches files lets them be opened, as virus scanners do.
    (Kernel, &["fanotify_handle_event", "fanotify_get_response"], Category::Child),
    // fs/locks.c: a lock of a file, which is a process' and not a thread's.
    (Kernel, &["fcntl_setlk*"], Category::Child),
    // Sockets and pipes are written to through it as well: those have functions of their own.
    (Kernel, &["vfs_write", "vfs_writev"], Category::Disk),
    (
        Java,
        &[
            "java.lang.Object.wait*",
            "java.util.concurrent.locks.LockSupport.park*",
            "java.util.concurrent.CountDownLatch.await",
            "java.lang.Thread.join",
        ],
        Category::Waiting,
    ),
    (Native, &["ObjectMonitor::wait", "JVM_MonitorWait", "Unsafe_Park", "Parker::park"], Category::Waiting),
    (Kernel, &["do_nanosleep", "hrtimer_nanosleep", "common_nsleep*"], Category::Sleep),
    (Kernel, &["do_sys_poll", "do_poll", "poll_schedule_timeout*", "do_select"], Category::Network),
    (Kernel, &["futex_wait*", "do_futex"], Category::NativeLock),
];

#[cfg(test)]
mod tests {
    use fathom_recording::FrameType::{self, C2, Jvm, Kernel};

    use super::Category;
    use crate::built::Built;
    use crate::waits::stack::ByStack;

    fn category(innermost_first: &[(&str, FrameType)]) -> Category {
        let mut built = Built::jvm("25", "Shenandoah", 1.0);
        let stack = built.stack(innermost_first);
        ByStack::of(&built.sealed()).category(stack)
    }

    #[test]
    fn a_wait_for_memory_or_for_room_to_send_is_no_lock_and_no_rest() {
        let allocates = ("ShenandoahHeap::allocate_memory", Jvm);
        let memory = [("futex_wait", Kernel), allocates, ("shop.Feed.add", C2)];
        assert_eq!(category(&memory), Category::AllocationStall);
        let selector = [("ep_poll", Kernel), ("sun.nio.ch.EPollSelectorImpl.doSelect", C2)];
        let awaits = ("org.xnio.nio.SelectorUtils.await", C2);
        let writes = [&selector[..], &[awaits, ("shop.Download.document", C2)]].concat();
        assert_eq!(category(&writes), Category::Network);
        assert_eq!(category(&selector), Category::Idle);
    }
}
