//! A stage that all operations pass through and that has no time to spare any more: one thread, or
//! the few of a pool, that took work from others and waited for it a good part of the time, and
//! that is now busy all the time. What limits a row of stages is the one that never waits for work
//! (the utilisation law); all others wait for it, whoever wakes them up.
//!
//! ```text
//! sessions ──▶ enrichers ──▶ journal: in write() to a pipe for 96% of the time instead of 0%
//!     waits        waits        51% of the time without work, now 0.5%
//! ```
//!
//! The ways of waits do not lead there where each stage hands over to the next one: who wakes an
//! idle stage up is the one before it.

mod all_along;
mod finding;
mod moved;
mod spinning;

use std::collections::{BTreeMap, BTreeSet};

use fathom_recording::vocabulary::label;
use fathom_recording::{ProcessId, ThreadId};

use super::{Grown, Growth, MOST, on_threads, words};
use crate::attribution::Key;
use crate::attribution::{Pool, segments};
use crate::chain::Chains;
use crate::intervals::Intervals;
use crate::places::Places;
use crate::waits::Category;
use crate::{Case, Finding, Window};
pub(crate) use all_along::all_along;
pub(super) use moved::moved;

/// The id of the finding.
pub const STAGE_RULE: &str = "busy-stage";

/// The share of their time that a pool's threads must have been without work in the baseline, and
/// may be while it is slow.
const HAD_TIME: f64 = 0.25;
const HAS_NONE: f64 = 0.1;
/// The same as a share of what they were without work in the baseline.
const HAD_NONE: f64 = 0.2;
/// Share of the time that may be unseen.
const UNSEEN: f64 = 0.1;
/// How often a second other threads must have brought such a pool something in the baseline for it
/// to be a stage of theirs; or how many of its recorded waits they must have ended, and which
/// share.
const BROUGHT_PER_S: f64 = 2.0;
const FEW: usize = 5;
const NEARLY_ALL: f64 = 0.8;
/// What of its waits may be long enough to be recorded one by one where work comes all the time.
const SHORT: f64 = 0.2;
/// Share of the waits of another pool that a pool must have ended in the baseline to be what that
/// one waits for.
const ENDS: f64 = 0.5;
/// Sleeps of up to this length, milliseconds, in the mean, are those between two looks at a queue.
const LOOKS_AGAIN_MS: f64 = 10.0;
/// How many times as long as usual a thread may wait for a CPU for as much running; who runs for as
/// many times as much of its time is not kept from it.
const DEPRIVED: f64 = 1.5;

/// How threads of a pool spent their time in some windows, milliseconds.
#[derive(Clone, Copy, Default)]
struct Spent {
    lived: f64,
    /// Idle, or waiting for another thread.
    waited: f64,
    queued: f64,
    ran: f64,
    unseen: f64,
}

impl Spent {
    /// Whether it had no time to spare, and had CPUs, or at least as much of them as usually for
    /// what it ran, or ran for much more of its time than usual.
    fn is_busy(&self, usual: &Self) -> bool {
        let queues = |spent: &Self| spent.queued / spent.ran.max(f64::MIN_POSITIVE);
        let as_usual = usual.ran > 0.0 && queues(self) <= DEPRIVED * queues(usual);
        let runs = |spent: &Self| spent.ran / spent.lived.max(f64::MIN_POSITIVE);
        let runs_more = runs(self) >= DEPRIVED * runs(usual);
        self.lived > 0.0
            && self.waiting_share() <= HAS_NONE.max(HAD_NONE * usual.waiting_share())
            && self.unseen <= UNSEEN * self.lived
            && (self.queued <= MOST * self.lived || as_usual || runs_more)
    }

    fn waiting_share(&self) -> f64 {
        self.waited / self.lived.max(f64::MIN_POSITIVE)
    }
}

/// A stage without time to spare.
pub(super) struct Stage<'a> {
    threads: Vec<ThreadId>,
    name: &'a str,
    /// Threads at a time, slow and in the baseline.
    count: (f64, f64),
    /// Share of their time for which they had work, slow and in the baseline.
    busy: (f64, f64),
    /// What they mainly do while it is slow.
    key: Key<'a>,
    /// Its share of their time, slow and in the baseline.
    share: (f64, f64),
    /// The longest time of it.
    longest: Longest,
    /// How many other threads at a time did the same in the baseline, where these were not there.
    others: Option<f64>,
}

/// The stage that lost most of the time that it had to spare; or a new one, that does with fewer
/// threads what others did.
pub(super) fn find<'a>(case: &Case<'a>, jvm: ProcessId) -> Option<Stage<'a>> {
    had_time(case, jvm).or_else(|| moved(case, jvm))
}

fn had_time<'a>(case: &Case<'a>, jvm: ProcessId) -> Option<Stage<'a>> {
    let chains = case.chains();
    let (slow, base) = (Intervals::of_windows(&mostly(&case.slow)), Intervals::of_windows(&case.base));
    let stages = pools(case, jvm, (&slow, &base)).into_iter();
    let stages =
        stages.filter(|(_, (_, now, usual))| now.is_busy(usual) && usual.waiting_share() >= HAD_TIME);
    let mut enders: Option<BTreeSet<Pool<'a>>> = None;
    let fed = stages.filter(|(pool, (threads, _, usual))| {
        is_fed(chains, threads, &case.base, usual)
            || enders.get_or_insert_with(|| enders_of_waits(case, jvm)).contains(pool)
    });
    let gained = |now: &Spent, usual: &Spent| usual.waiting_share() - now.waiting_share();
    let (pool, (threads, now, usual)) =
        fed.max_by(|a, b| gained(&a.1.1, &a.1.2).total_cmp(&gained(&b.1.1, &b.1.2)))?;
    let doing = mainly(case, &threads, (&slow, &base))?;
    // Threads that ended are missed from then on.
    let onset = slow.ranges().first().map_or(i64::MAX, |range| range.0);
    let before = base.and(&Intervals::of([(i64::MIN, onset)]));
    let before = if before.is_empty() { base.clone() } else { before };
    let count = (at_a_time(chains, &threads, &slow), at_a_time(chains, &threads, &before));
    Some(Stage {
        name: if threads.len() == 1 { chains.name(threads[0]) } else { pool.name },
        threads,
        count,
        busy: (1.0 - now.waiting_share(), 1.0 - usual.waiting_share()),
        key: doing.0,
        share: (doing.1 / now.lived, doing.2 / usual.lived.max(f64::MIN_POSITIVE)),
        longest: doing.3,
        others: None,
    })
}

/// How many of some threads there are at a time, on average.
fn at_a_time(chains: &Chains<'_>, threads: &[ThreadId], within: &Intervals) -> f64 {
    let mut spent = Spent::default();
    threads.iter().for_each(|thread| add(chains, *thread, within, &mut spent));
    spent.lived / within.length_ms().max(f64::MIN_POSITIVE)
}

/// The longest of slow windows, where it makes up half of them: in a short one next to it something
/// else may have acted. Of it the middle half: where a window was found, its ends are uncertain,
/// and a stage that has work for all of it has work for the middle.
fn mostly(windows: &[Window]) -> Vec<Window> {
    let all: i64 = windows.iter().map(Window::length_ns).sum();
    match windows.iter().max_by_key(|window| window.length_ns()) {
        Some(longest) if 2 * longest.length_ns() >= all => {
            let quarter = longest.length_ns() / 4;
            vec![Window { from_ns: longest.from_ns + quarter, to_ns: longest.to_ns - quarter }]
        }
        _ => windows.to_vec(),
    }
}

/// The threads of each pool, with how they spent the slow time and the baseline.
type Pools<'a> = BTreeMap<Pool<'a>, (Vec<ThreadId>, Spent, Spent)>;

fn pools<'a>(case: &Case<'a>, jvm: ProcessId, (slow, base): (&Intervals, &Intervals)) -> Pools<'a> {
    let chains = case.chains();
    let mut pools = Pools::new();
    let of_kernel = |id: &ThreadId| case.recording.threads[id.index()].tid.is_some();
    for thread in chains.application_threads(jvm).into_iter().filter(of_kernel) {
        let pool = pools.entry(Pool::of(chains, thread)).or_default();
        add(chains, thread, slow, &mut pool.1);
        add(chains, thread, base, &mut pool.2);
        pool.0.push(thread);
    }
    pools
}

fn add(chains: &Chains<'_>, thread: ThreadId, within: &Intervals, spent: &mut Spent) {
    let Some(by_category) = chains.by_category(thread) else { return };
    for category in Category::ALL {
        let ms = by_category[category.index()].shared_ns(within) as f64 / 1e6;
        spent.lived += ms;
        match category {
            Category::RunQueue => spent.queued += ms,
            Category::Unknown => spent.unseen += ms,
            category if category.is_running() => spent.ran += ms,
            Category::TimedWait => spent.waited += ms,
            category if on_threads(category) => spent.waited += ms,
            _ => {}
        }
    }
}

/// Whether other threads of the JVM bring threads their work: a job of a timetable is woken up by a
/// timer, and seldom. Where nearly all waits are too short to be recorded one by one, work comes
/// all the time. `usual`: how the threads spent the baseline.
fn is_fed(chains: &Chains<'_>, threads: &[ThreadId], windows: &[Window], usual: &Spent) -> bool {
    let (mut waits, mut brought, mut recorded_ms) = (0, 0, 0.0);
    for thread in threads {
        let off = windows.iter().flat_map(|w| chains.off_between(*thread, w.from_ns, w.to_ns));
        for span in off {
            recorded_ms += span.duration_ns() as f64 / 1e6;
            waits += usize::from(span.label(label::WAKER).is_some());
            brought += usize::from(chains.woken_by(*thread, span).is_some_and(|other| other != *thread));
        }
    }
    let a_second = brought as f64 / (Case::length_ms(windows) / 1e3).max(f64::MIN_POSITIVE);
    let all_the_time = recorded_ms <= SHORT * usual.waited;
    let nearly_all = brought >= FEW && brought as f64 >= NEARLY_ALL * waits as f64;
    a_second >= BROUGHT_PER_S || nearly_all || all_the_time
}

/// The pools that ended half of another pool's waits in the baseline, and did so often: what those
/// waits were for, whoever brings these pools their work, be it a timer.
fn enders_of_waits<'a>(case: &Case<'a>, jvm: ProcessId) -> BTreeSet<Pool<'a>> {
    let chains = case.chains();
    let mut ended: BTreeMap<Pool<'a>, BTreeMap<Pool<'a>, usize>> = BTreeMap::new();
    for thread in chains.application_threads(jvm) {
        let pool = Pool::of(chains, thread);
        let off = case.base.iter().flat_map(|w| chains.off_between(thread, w.from_ns, w.to_ns));
        let by = off.filter_map(|span| chains.woken_by(thread, span)).map(|waker| Pool::of(chains, waker));
        by.for_each(|waker| *ended.entry(pool).or_default().entry(waker).or_default() += 1);
    }
    let base_s = Case::length_ms(&case.base) / 1e3;
    let most = ended.iter().filter_map(|(pool, by)| {
        let (all, (waker, most)) = (by.values().sum::<usize>(), by.iter().max_by_key(|(_, count)| **count)?);
        let often = *most as f64 >= BROUGHT_PER_S * base_s;
        (waker != pool && often && *most as f64 >= ENDS * all as f64).then_some(*waker)
    });
    most.collect()
}

/// Waiting for a CPU is part of the call during which a thread does so, where that call also waits
/// for something, and else of running, where the thread runs.
fn with_queueing<'a>(by: &mut BTreeMap<Key<'a>, Doings>) {
    let is_queue = |key: &Key<'a>| key.category == Category::RunQueue;
    let mut queued = (0.0, 0.0);
    let queues: Vec<_> = by.iter().filter(|(key, _)| is_queue(key)).map(|(key, sum)| (*key, *sum)).collect();
    for (key, (now, usual, _)) in &queues {
        let same = |other: &Key<'a>| !is_queue(other) && !key.target.is_empty() && other.target == key.target;
        let calls = by.iter_mut().filter(|(other, _)| same(other));
        match calls.max_by(|a, b| a.1.0.total_cmp(&b.1.0)) {
            Some((_, sum)) => (sum.0, sum.1) = (sum.0 + now, sum.1 + usual),
            None => queued = (queued.0 + now, queued.1 + usual),
        }
    }
    let ran = by.iter().filter(|(key, _)| key.category.is_running());
    let ran = ran.fold((0.0, 0.0), |all, (_, sum)| (all.0 + sum.0, all.1 + sum.1));
    if ran.0 > 0.0 {
        by.retain(|key, _| !is_queue(key));
        let more = |ran: f64, queued: f64| 1.0 + queued / ran.max(f64::MIN_POSITIVE);
        for (_, sum) in by.iter_mut().filter(|(key, _)| key.category.is_running()) {
            (sum.0, sum.1) = (sum.0 * more(ran.0, queued.0), sum.1 * more(ran.1, queued.1));
        }
    }
}

/// What threads were busy with for most of the slow time, with milliseconds slow and in the
/// baseline, and the longest of it.
type Doing<'a> = (Key<'a>, f64, f64, Longest);
type Doings = (f64, f64, Longest);
type Longest = (ThreadId, i64, i64);

fn mainly<'a>(
    case: &Case<'a>,
    threads: &[ThreadId],
    (slow, base): (&Intervals, &Intervals),
) -> Option<Doing<'a>> {
    let mut places = Places::of_recording(case.recording);
    let mut by: BTreeMap<Key<'a>, Doings> = BTreeMap::new();
    for thread in threads {
        for segment in segments::of(case.chains(), &mut places, *thread) {
            if segment.rests || on_threads(segment.key.category) {
                continue;
            }
            let ms = |within: &Intervals| within.length_within_ns(segment.from, segment.to) as f64 / 1e6;
            let sum = by.entry(segment.key).or_insert((0.0, 0.0, (*thread, 0, 0)));
            let (now, usual) = (ms(slow), ms(base));
            if now > 0.0 && segment.to - segment.from > sum.2.2 - sum.2.1 {
                sum.2 = (*thread, segment.from, segment.to);
            }
            (sum.0, sum.1) = (sum.0 + now, sum.1 + usual);
        }
    }
    with_queueing(&mut by);
    // Short waits that were summed up have no peer or file, and are the same doing.
    let mut categories: BTreeMap<Category, (f64, f64)> = BTreeMap::new();
    for (key, (now, usual, _)) in &by {
        let sum = categories.entry(key.category).or_default();
        (sum.0, sum.1) = (sum.0 + now, sum.1 + usual);
    }
    let (category, (now, usual)) = categories.into_iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    let of_it = by.into_iter().filter(|(key, _)| key.category == category);
    let is_named = |key: &Key<'_>| !key.place.is_empty() || !key.target.is_empty();
    let (mut named, others): (Vec<_>, Vec<_>) = of_it.partition(|(key, _)| is_named(key));
    named.sort_by(|a, b| b.1.0.total_cmp(&a.1.0));
    let most = named.first().filter(|(_, sum)| sum.0 >= MOST * now);
    let (key, longest) = match most {
        Some((key, sum)) => (*key, sum.2),
        None => (Key { category, place: "", target: "" }, named.first().or(others.first())?.1.2),
    };
    (now > 0.0).then_some((key, now, usual, longest))
}

impl<'a> Growth<'a> {
    /// What grew because others wait for a stage: waits for threads, those that were followed to a
    /// connection of nobody in particular, short sleeps between two looks at a full queue, and the
    /// stage's own part.
    pub(super) fn behind<'g>(&self, stage: &Stage<'a>, left: &[&'g Grown<'a>]) -> Vec<&'g Grown<'a>> {
        let is_behind = |g: &&&'g Grown<'a>| {
            let followed =
                g.key.category == Category::Network && g.key.target.is_empty() && g.way().is_some();
            g.key.category != Category::Idle
                && (on_threads(g.key.category) || followed || looks_again(g) || self.is_own(stage, g))
        };
        left.iter().filter(is_behind).copied().collect()
    }

    /// The same where no operation took longer as far as threads show, and fewer were done: threads
    /// that wait for the stage may look as if they had no work.
    pub(crate) fn busy_stage(&self, case: &Case<'a>) -> Option<Finding> {
        let stage = find(case, self.jvm)?;
        Some(self.stage_finding(case, &stage, &[], case.loss.lost_ms))
    }

    fn is_own(&self, stage: &Stage<'a>, grown: &Grown<'a>) -> bool {
        grown.key == stage.key && grown.part.threads.iter().any(|id| stage.threads.contains(id))
    }
}

/// Whether it is sleeping for so short a time that it can only be to look again for something.
fn looks_again(grown: &Grown<'_>) -> bool {
    let (ended, ms) =
        (grown.part.ended[0] + grown.part.ended[1], grown.part.ended_ms[0] + grown.part.ended_ms[1]);
    let sleeps = matches!(grown.key.category, Category::Sleep | Category::TimedWait);
    // Where none was long enough to be recorded one by one, all were short.
    sleeps && ms <= LOOKS_AGAIN_MS * ended as f64
}

#[cfg(test)]
mod tests;
