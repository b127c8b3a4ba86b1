//! Whether a thread has nothing to do, as far as the stack of its wait alone shows it: for those
//! who see one wait and not a whole recording.
//!
//! That is the ledger's [`Category::Idle`], but for a queue of the JDK. What distinguishes a worker
//! that takes its next task from a request that takes a connection of a pool is what other threads
//! do ([`super::queues`]). Of one stack, a queue that a task of a pool takes from counts as a wait
//! for something; any other as one for work.

use fathom_recording::{FrameType, Recording, Role, Sink, StackId};

use super::Category;
use super::stack::ByStack;

/// Methods that run a task of a pool: what stands above them on a stack is the task.
const RUN_TASKS: [&str; 3] = [
    "java.util.concurrent.ThreadPoolExecutor.runWorker",
    "java.util.concurrent.ForkJoinTask.doExec",
    "java.util.concurrent.FutureTask.run",
];
/// What libraries with pools of their own call the first of them.
const RUNS_TASKS: &str = ".runWorker";

/// Whether a thread that waits is without work. `frames`: names and types, the innermost first.
pub fn is_at_rest(frames: &[(&str, FrameType)], role: Role) -> bool {
    let mut recording = Recording::new();
    let mut stack: Option<StackId> = None;
    for (name, frame_type) in frames.iter().rev() {
        let frame = recording.frame(name, "", *frame_type, -1);
        stack = Some(recording.stack(stack, frame));
    }
    let stacks = ByStack::by_frames(&recording);
    if stacks.of_role(stack, role) != Category::Idle {
        return false;
    }
    let runs_task = |(name, frame_type): &(&str, FrameType)| {
        frame_type.is_java() && (RUN_TASKS.contains(name) || name.ends_with(RUNS_TASKS))
    };
    !(stacks.takes_from_queue(stack) && frames.iter().any(runs_task))
}

#[cfg(test)]
mod tests {
    use FrameType::{C2, Jvm, Kernel};

    use super::*;

    const PARK: (&str, FrameType) = ("java.util.concurrent.locks.LockSupport.park", C2);
    const FUTEX: (&str, FrameType) = ("futex_wait_queue", Kernel);
    const RUN: (&str, FrameType) = ("java.util.concurrent.ThreadPoolExecutor.runWorker", C2);
    const TAKE: (&str, FrameType) = ("java.util.concurrent.ArrayBlockingQueue.poll", C2);

    fn at_rest(frames: &[(&str, FrameType)]) -> bool {
        is_at_rest(frames, Role::App)
    }

    #[test]
    fn a_pool_without_a_task_is_at_rest_and_a_task_that_waits_is_not() {
        let task = ("java.util.concurrent.ThreadPoolExecutor.getTask", C2);
        assert!(at_rest(&[FUTEX, PARK, task, RUN]));
        assert!(!at_rest(&[FUTEX, PARK, ("shop.Orders.add", C2), RUN]));
        assert!(!at_rest(&[FUTEX, ("ObjectMonitor::enter", Jvm), ("shop.Orders.add", C2), RUN]));
        assert!(!at_rest(&[("tcp_recvmsg", Kernel), ("shop.Orders.ask", C2), RUN]));
        assert!(at_rest(&[("ep_poll", Kernel), ("sun.nio.ch.EPollSelectorImpl.doSelect", C2)]));
        let wakes = [FUTEX, ("ObjectMonitor::enter", Jvm), ("sun.nio.ch.EPollSelectorImpl.wakeup", C2), RUN];
        assert!(!at_rest(&wakes), "it wants to wake somebody up");
        assert!(!at_rest(&[]), "nothing is known of it");
    }

    #[test]
    fn a_queue_is_one_of_work_unless_a_task_takes_from_it() {
        assert!(at_rest(&[FUTEX, PARK, TAKE, ("shop.Worker.run", C2), ("java.lang.Thread.run", C2)]));
        assert!(!at_rest(&[FUTEX, PARK, TAKE, ("shop.Pool.borrow", C2), ("shop.Orders.add", C2), RUN]));
        let tomcat = ("org.apache.tomcat.util.threads.ThreadPoolExecutor.runWorker", C2);
        assert!(!at_rest(&[FUTEX, PARK, TAKE, ("shop.Pool.borrow", C2), tomcat]));
    }

    #[test]
    fn the_jvms_own_threads_rest_where_others_wait() {
        let frames = [FUTEX, ("Monitor::wait", Jvm), ("WorkerThread::run", Jvm)];
        assert!(is_at_rest(&frames, Role::Gc) && !is_at_rest(&frames, Role::App));
    }
}
