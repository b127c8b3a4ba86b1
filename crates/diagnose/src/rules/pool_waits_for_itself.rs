//! `pool-waits-for-itself`: tasks of a thread pool wait for the results of tasks that stand in the
//! queue of the same pool.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::source;
use fathom_recording::{ProcessId, Recording, StackId, ThreadId};
use rustc_hash::FxHashMap;

use super::gc_case::{cited, summed};
use crate::attribution::Pool;
use crate::confidence::Ground;
use crate::facts::{Value, checks, culprits, meanings, reasons, remedies, titles, waits as facts};
use crate::growth::busy_pools::takes_tasks;
use crate::intervals::Intervals;
use crate::places::Places;
use crate::waits::Category;
use crate::{Case, Finding, Judgement, Layer, Rule, Sight, Window};

/// The methods in which threads of a pool of fixed size take one task after another. Those of a
/// ForkJoinPool run other tasks while they wait, or are replaced.
const RUNNERS: [&str; 4] = [
    "java.util.concurrent.ThreadPoolExecutor.runWorker",
    "org.apache.tomcat.util.threads.ThreadPoolExecutor.runWorker",
    "org.eclipse.jetty.util.thread.QueuedThreadPool$Runner.run",
    "org.jboss.threads.EnhancedQueueExecutor$ThreadBody.run",
];
/// The methods in which a thread waits for the result of a task.
const RESULTS: [&str; 9] = [
    "java.util.concurrent.FutureTask.get",
    "java.util.concurrent.CompletableFuture.get",
    "java.util.concurrent.CompletableFuture.join",
    "java.util.concurrent.CountDownLatch.await",
    "java.util.concurrent.ExecutorCompletionService.take",
    "java.util.concurrent.ExecutorCompletionService.poll",
    "com.google.common.util.concurrent.AbstractFuture.get",
    "io.netty.util.concurrent.DefaultPromise.await",
    "scala.concurrent.Await$.result",
];
/// What of their time the threads of the pool must spend in such waits.
const MUCH: f64 = 0.25;
/// The share of their time for which they may be without work: a pool with a thread to spare does
/// not stand in its own way.
const WITHOUT_WORK: f64 = 0.1;
/// What of the waits of which it is known how they ended threads of the same pool must have ended,
/// and how many at least.
const SAME: f64 = 0.5;
const FEW: usize = 3;
/// What of the pool's time, and of the time that passes, all other pools of tasks together may be
/// at work for their tasks not to be what it waits for in vain: two threads of another pool that
/// are never without work are little of the time of a hundred that wait for them.
const HARDLY: (f64, f64) = (0.05, 0.25);

/// The rule.
pub struct PoolWaitsForItself;

impl Rule for PoolWaitsForItself {
    fn id(&self) -> &'static str {
        "pool-waits-for-itself"
    }

    fn layer(&self) -> Layer {
        Layer::Application
    }

    fn about(&self) -> &'static str {
        "A task that submits others to the pool in which it runs and waits for their results keeps a thread while they stand in the queue behind it. With \
         as many such tasks as the pool has threads nothing runs until a time-out, and with a few less everything runs on what is left. It often comes \
         with a second use of a pool that was one use's alone, or with more requests at a time.\n\n\
         **Evidence.** Threads of a pool of fixed size wait for a result (`FutureTask.get`, `CompletableFuture.join`, a latch) within a task of the \
         pool, by their stacks; the waits of which it is known how they ended were ended by threads of the same pool, or by their time-out while no other pool \
         had anything to do; and the pool is hardly ever without work.\n\n\
         **Cost.** The share of the threads' time that goes to such waits, as far as threads of the same pool ended them: so many threads the pool lacks.\n\n\
         **Confounders.** A wait for another pool's result is that pool's time. A pool with idle threads is large enough. A `ForkJoinPool` runs other tasks while \
         it waits.\n\n\
         **Ruled out** by the share of a pool's time that goes to waits for results within its own tasks."
    }

    fn needs(&self) -> &'static [Sight] {
        &[Sight::Switches]
    }

    fn judge(&self, case: &Case<'_>, jvm: ProcessId) -> Judgement {
        let pools = pools(case, jvm, &case.slow);
        let Some((pool, spent)) = pools.iter().max_by(|a, b| a.1.own_share().total_cmp(&b.1.own_share()))
        else {
            return Judgement::RuledOut {
                figure: facts::NESTED_WAITS.is(Value::share(0.0)).into(),
                source: source::SCHED.into(),
            };
        };
        let base = self::pools(case, jvm, &case.base);
        let usual = base.get(pool).map_or(0.0, Spent::own_share);
        let [slow_ms, base_ms] = [&case.slow, &case.base].map(|windows| Case::length_ms(windows));
        let cost_ms = case.excess_ms(spent.own_share() * slow_ms, usual * base_ms);
        if !spent.stands_in_its_own_way() || !case.matters(cost_ms) {
            let fact = facts::NESTED_WAITS.is(Value::share(spent.share()));
            let fact =
                fact.with("pool", Value::name(pool.name)).with("idle", Value::share(spent.idle_share()));
            return Judgement::RuledOut { figure: fact.into(), source: source::SCHED.into() };
        }
        Judgement::Found(Box::new(spent.finding(self, case, jvm, (*pool, usual, cost_ms))))
    }
}

/// Waits that ended in one way.
#[derive(Clone, Copy, Default)]
struct Ended {
    count: usize,
    ms: f64,
}

/// How the threads of a pool spent their time, milliseconds.
#[derive(Default)]
struct Spent<'a> {
    threads: usize,
    lived: f64,
    idle: f64,
    /// Waiting within a task for a result, by the application's method.
    nested: BTreeMap<&'a str, f64>,
    /// Time in which its threads ran or waited for anything but a thread: for the network, a disk,
    /// a CPU, asleep.
    at_work: f64,
    /// Such waits that threads of the same pool ended, those that others did, and those that ran
    /// into their time-out.
    ended: [Ended; 3],
    /// Whether no other pool of tasks was at work, so that what ran into a time-out stood in this
    /// one's queue.
    others_rest: bool,
    longest: Option<(ThreadId, fathom_recording::Span<'a>)>,
}

impl Spent<'_> {
    fn share(&self) -> f64 {
        self.nested.values().sum::<f64>() / self.lived.max(f64::MIN_POSITIVE)
    }

    /// Of these, those that the pool itself kept waiting, as far as it is known how they ended.
    fn own(&self) -> Ended {
        let [same, _, timed_out] = self.ended;
        match self.others_rest {
            true => Ended { count: same.count + timed_out.count, ms: same.ms + timed_out.ms },
            false => same,
        }
    }

    /// What part of the waits of which it is known how they ended that is.
    fn own_part(&self) -> f64 {
        self.own().ms / self.ended.iter().map(|ended| ended.ms).sum::<f64>().max(f64::MIN_POSITIVE)
    }

    /// The share of the threads' time that goes to them.
    fn own_share(&self) -> f64 {
        self.share() * self.own_part()
    }

    fn idle_share(&self) -> f64 {
        self.idle / self.lived.max(f64::MIN_POSITIVE)
    }

    fn stands_in_its_own_way(&self) -> bool {
        self.own_share() >= MUCH
            && self.idle_share() <= WITHOUT_WORK
            && self.own().count >= FEW
            && self.own_part() >= SAME
    }
}

/// The pools of fixed size whose tasks wait for results in some windows.
fn pools<'a>(case: &Case<'a>, jvm: ProcessId, windows: &[Window]) -> BTreeMap<Pool<'a>, Spent<'a>> {
    let chains = case.chains();
    let within = Intervals::of_windows(windows);
    let mut places = Places::of_recording(case.recording);
    let mut known: FxHashMap<StackId, bool> = FxHashMap::default();
    let mut nests = |stack: Option<StackId>| {
        stack.is_some_and(|stack| {
            *known.entry(stack).or_insert_with(|| waits_within_task(case.recording, stack))
        })
    };
    let mut runs = FxHashMap::default();
    let mut pools: BTreeMap<Pool<'a>, Spent<'a>> = BTreeMap::new();
    for thread in chains.application_threads(jvm) {
        let Some(by_category) = chains.by_category(thread) else { continue };
        let ms = |category: Category| by_category[category.index()].shared_ns(&within) as f64 / 1e6;
        let own = Pool::of(chains, thread);
        let spent = pools.entry(own).or_default();
        let lived: f64 = Category::ALL.into_iter().map(ms).sum();
        spent.threads += usize::from(lived > 0.0);
        spent.lived += lived;
        spent.idle += ms(Category::Idle);
        let timed = &by_category[Category::TimedWait.index()];
        let mut recorded_ms = 0.0;
        if takes_tasks(case.recording, chains, thread, &mut runs) {
            spent.at_work += Category::ALL.into_iter().filter(|c| is_work(*c)).map(ms).sum::<f64>();
        }
        for window in windows {
            for span in chains.off_between(thread, window.from_ns, window.to_ns) {
                let length_ns =
                    span.t1_ns().min(window.to_ns).saturating_sub(span.t0_ns().max(window.from_ns));
                let length_ms = length_ns.max(0) as f64 / 1e6;
                let waits = [Category::Waiting, Category::TimedWait];
                if waits.iter().any(|c| by_category[c.index()].touches(span.t0_ns(), span.t1_ns())) {
                    recorded_ms += length_ms;
                }
                if !nests(span.stack()) {
                    continue;
                }
                *spent.nested.entry(places.of(span.stack())).or_default() += length_ms;
                let how = match chains.woken_by(thread, span) {
                    Some(other) => Some(usize::from(Pool::of(chains, other) != own)),
                    None => timed.touches(span.t0_ns(), span.t1_ns()).then_some(2),
                };
                if let Some(ended) = how.map(|how| &mut spent.ended[how]) {
                    ended.count += 1;
                    ended.ms += length_ms;
                }
                if spent
                    .longest
                    .as_ref()
                    .is_none_or(|(_, longest)| longest.duration_ns() < span.duration_ns())
                {
                    spent.longest = Some((thread, *span));
                }
            }
        }
        // What is left are waits too short to be recorded one by one, of which samples show where.
        let left_ms = (ms(Category::Waiting) + ms(Category::TimedWait) - recorded_ms).max(0.0);
        let short: Vec<_> = (places.of_short_waits(chains, thread).into_iter())
            .filter(|wait| matches!(wait.category, Category::Waiting | Category::TimedWait))
            .filter(|wait| within.touches(wait.t_ns, wait.t_ns))
            .collect();
        let all: f64 = short.iter().map(|wait| wait.weight as f64).sum();
        for wait in short.iter().filter(|wait| nests(wait.stack)) {
            *spent.nested.entry(wait.place).or_default() += left_ms * wait.weight as f64 / all;
        }
    }
    let at_work: f64 = pools.values().map(|spent| spent.at_work).sum();
    let most_ms = HARDLY.1 * Case::length_ms(windows);
    for spent in pools.values_mut() {
        spent.others_rest = at_work - spent.at_work <= most_ms.min(HARDLY.0 * spent.lived);
    }
    pools.retain(|_, spent| !spent.nested.is_empty());
    pools
}

/// Whether a thread of a pool does something in a category, for which no other thread is needed.
fn is_work(category: Category) -> bool {
    use Category::{Idle, Lock, Monitor, TimedWait, Unknown, Waiting};
    !matches!(category, Idle | Waiting | TimedWait | Monitor | Lock | Unknown)
}

/// Whether a thread of a pool waits for a result within one of its tasks.
fn waits_within_task(recording: &Recording, stack: StackId) -> bool {
    let mut waits = false;
    for name in recording.frames_of(stack).map(|frame| frame.name()) {
        let name = name.split('(').next().unwrap_or(name);
        if waits && RUNNERS.contains(&name) {
            return true;
        }
        waits |= RESULTS.contains(&name);
    }
    false
}

impl<'a> Spent<'a> {
    fn finding(
        &self,
        rule: &dyn Rule,
        case: &Case<'a>,
        jvm: ProcessId,
        (pool, usual, cost_ms): (Pool<'a>, f64, f64),
    ) -> Finding {
        let why = &reasons::WAITS_WITHIN_TASKS;
        let mut finding = case.finding(rule, jvm, Ground::Incomplete.because(case, cost_ms, why), cost_ms);
        let place = self.nested.iter().max_by(|a, b| a.1.total_cmp(b.1)).map_or(&"", |(place, _)| place);
        let usual = (!case.base.is_empty()).then(|| Value::share(usual));
        let title = titles::POOL_WAITS_FOR_ITSELF.is(Value::share(self.own_share())).over(usual);
        let title = title.with("pool", Value::name(pool.name)).with("place", Value::name(*place));
        finding.title = title.with("threads", Value::count(self.threads)).into();
        finding.culprit = culprits::METHOD.is(Value::name(*place)).into();
        finding.meaning = meanings::POOL_WAITS_FOR_ITSELF.fact().into();
        let fact = facts::NESTED_WAITS.is(Value::share(self.share())).with("pool", Value::name(pool.name));
        finding.evidence.push(summed(source::SCHED, fact.with("idle", Value::share(self.idle_share()))));
        let [same, others, timed_out] = self.ended.map(|ended| Value::ms(ended.ms));
        let ended = facts::NESTED_ENDED.is(same).with("others", others).with("timed-out", timed_out);
        finding.evidence.push(summed(source::SCHED, ended));
        if let Some((thread, span)) = &self.longest {
            let took = Value::ms(span.duration_ns() as f64 / 1e6);
            finding.evidence.push(cited(span, facts::NESTED_LONGEST.is(took)));
            let window = Window { from_ns: span.t0_ns(), to_ns: span.t1_ns() };
            finding.chain = Some(case.chains().of_thread(*thread, window));
        }
        finding.windows.clone_from(&case.slow);
        finding.remedies = vec![remedies::POOL_OF_THEIR_OWN.remedy(), remedies::NO_WAIT_IN_POOL.remedy()];
        let little = checks::LITTLE_WAIT_FOR_RESULTS.is(Value::share(MUCH));
        finding.verify = vec![little.with("pool", Value::name(pool.name)).into()];
        finding
    }
}

#[cfg(test)]
mod tests;
