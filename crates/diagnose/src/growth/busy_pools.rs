//! Pools whose threads always have work: what is handed to one of them queues up, wherever
//! that is queued.

use std::collections::BTreeMap;

use fathom_recording::{ProcessId, Recording, StackId, ThreadId};
use rustc_hash::FxHashMap;

use crate::attribution::Pool;
use crate::chain::Chains;
use crate::facts::{Value, growth as facts};
use crate::intervals::Intervals;
use crate::waits::Category;
use crate::{Case, Fact};

/// The methods in which the threads of an executor take one task after another and run it.
const RUNNERS: [&str; 5] = [
    "java.util.concurrent.ThreadPoolExecutor.runWorker",
    "java.util.concurrent.ForkJoinPool.runWorker",
    "org.apache.tomcat.util.threads.ThreadPoolExecutor.runWorker",
    "org.eclipse.jetty.util.thread.QueuedThreadPool$Runner.run",
    "org.jboss.threads.EnhancedQueueExecutor$ThreadBody.run",
];
/// The share of their time for which threads that always have work may be without: between two
/// tasks they look for the next one.
const WITHOUT_WORK: f64 = 0.03;
/// The share of it that running and waiting for a CPU may take: beyond that the CPUs are the limit,
/// and not the number of threads. The same for sleeping, which is the way of tasks that never end,
/// and for what nobody saw.
const OTHER: f64 = 0.5;
/// What of the work of all threads a pool must do to be named.
const MOST: f64 = 0.5;

/// How threads of a pool spent their time, milliseconds.
#[derive(Default)]
struct Spent<'a> {
    threads: usize,
    name: &'a str,
    lived: f64,
    idle: f64,
    on_cpus: f64,
    asleep: f64,
    unseen: f64,
}

impl Spent<'_> {
    fn always_had_work(&self) -> bool {
        let within = |ms: f64, most: f64| ms <= most * self.lived;
        self.lived > 0.0
            && within(self.idle, WITHOUT_WORK)
            && within(self.on_cpus, OTHER)
            && within(self.asleep + self.unseen, OTHER)
    }
}

/// That the pool that does most of the work always had some; `None` where there is no such pool.
/// `work_ms`: what all threads of the JVM spent on work.
pub(crate) fn always_busy(case: &Case<'_>, jvm: ProcessId, work_ms: f64) -> Option<Fact> {
    let chains = case.chains();
    let slow = Intervals::of_windows(&case.slow);
    let mut runs = FxHashMap::default();
    let mut pools: BTreeMap<Pool<'_>, Spent<'_>> = BTreeMap::new();
    for thread in chains.application_threads(jvm) {
        let Some(by_category) = chains.by_category(thread) else { continue };
        if !takes_tasks(case.recording, chains, thread, &mut runs) {
            continue;
        }
        let pool = pools.entry(Pool::of(chains, thread)).or_default();
        pool.threads += 1;
        pool.name = chains.name(thread);
        for category in Category::ALL {
            let ms = by_category[category.index()].and(&slow).length_ms();
            pool.lived += ms;
            match category {
                Category::Idle => pool.idle += ms,
                Category::RunQueue => pool.on_cpus += ms,
                Category::Sleep => pool.asleep += ms,
                Category::Unknown => pool.unseen += ms,
                _ if category.is_running() => pool.on_cpus += ms,
                _ => {}
            }
        }
    }
    let busy = pools.iter().filter(|(_, spent)| spent.always_had_work());
    let (pool, spent) = busy.max_by(|a, b| a.1.lived.total_cmp(&b.1.lived))?;
    if spent.lived - spent.idle < MOST * work_ms {
        return None;
    }
    let share = Value::share(1.0 - spent.idle / spent.lived);
    Some(match spent.threads {
        1 => facts::BUSY_THREAD.is(share).with("thread", Value::name(spent.name)),
        n => {
            let busy = facts::BUSY_POOL.is(share).with("threads", Value::count(n));
            busy.with("pool", Value::name(pool.name))
        }
    })
}

/// Whether a thread is one of an executor's, by the stacks that were seen of it.
pub(crate) fn takes_tasks(
    recording: &Recording,
    chains: &Chains<'_>,
    thread: ThreadId,
    runs: &mut FxHashMap<StackId, bool>,
) -> bool {
    let off = chains.off_between(thread, i64::MIN, i64::MAX).filter_map(|span| span.stack());
    let mut stacks = off.chain(chains.samples(thread).iter().filter_map(|sample| sample.stack()));
    stacks.any(|stack| *runs.entry(stack).or_insert_with(|| is_of_executor(recording, stack)))
}

fn is_of_executor(recording: &Recording, stack: StackId) -> bool {
    let runs = |name: &str| RUNNERS.contains(&name.split('(').next().unwrap_or(name));
    recording.frames_of(stack).any(|frame| frame.is_java() && runs(frame.name()))
}

#[cfg(test)]
mod tests {
    use fathom_recording::FrameType::{C2, Kernel};
    use fathom_recording::vocabulary::kind;

    use super::*;
    use crate::built::{Built, whole_run};

    const TASK: &str = "java.util.concurrent.ThreadPoolExecutor.runWorker";

    /// Ten seconds of threads of a pool: `busy_ms` of each tenth of a second in a wait, the rest
    /// without work.
    fn busy(threads: usize, frames: &[&str], wait: &str, busy_ms: f64) -> Option<Fact> {
        let mut built = Built::jvm("17", "G1", 10.0);
        for thread in (0..threads).map(|i| format!("web-{i}")) {
            built.watched(&thread, 10.0);
            let task: Vec<_> =
                [(wait, Kernel)].into_iter().chain(frames.iter().map(|frame| (*frame, C2))).collect();
            let rest = [("futex_wait", Kernel), ("java.util.concurrent.ThreadPoolExecutor.getTask", C2)];
            for i in 0..100 {
                let at_s = f64::from(i) * 0.1;
                built.with_stack((kind::SCHED_OFF, "sleeping"), &thread, &task, &[], (at_s, busy_ms));
                let rest_at = (at_s + busy_ms / 1e3, 100.0 - busy_ms);
                built.with_stack((kind::SCHED_OFF, "sleeping"), &thread, &rest, &[], rest_at);
            }
        }
        let (jvm, recording) = (built.jvm, built.sealed());
        always_busy(&whole_run(&recording), jvm, 10_000.0)
    }

    #[test]
    fn a_pool_whose_threads_always_have_work_is_named_with_how_many_they_are() {
        let read = ["shop.Peer.call", TASK];
        let one = busy(1, &read, "tcp_recvmsg", 99.0).unwrap();
        assert_eq!((one.metric, one.name("thread")), (&facts::BUSY_THREAD, Some("web-0")));
        let two = busy(2, &read, "tcp_recvmsg", 99.0).unwrap();
        assert_eq!(
            (two.metric, two.name("pool"), two.number("threads")),
            (&facts::BUSY_POOL, Some("web"), Some(2.0))
        );
        for busy in [one, two] {
            assert!((busy.number("value").unwrap() - 0.99).abs() < 1e-9, "{busy:?}");
        }
    }

    #[test]
    fn a_pool_with_time_to_spare_or_that_takes_no_tasks_or_sleeps_is_no_limit() {
        assert_eq!(busy(2, &["shop.Peer.call", TASK], "tcp_recvmsg", 90.0), None);
        assert_eq!(busy(2, &["shop.Peer.call", "java.lang.Thread.run"], "tcp_recvmsg", 99.9), None);
        assert_eq!(busy(2, &["java.lang.Thread.sleep", "shop.Cron.loop", TASK], "futex_wait", 99.9), None);
    }
}
