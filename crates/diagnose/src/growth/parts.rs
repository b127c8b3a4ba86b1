//! What the application's threads of a JVM spent their time on, slow and in the baseline: by
//! category, by the method of the application in which they were, and by what they waited for by
//! name.
//!
//! ```text
//! thread, its intervals by category ─┬─ running ──▶ by CPU samples: the application's method
//!                                    └─ any other ─┬─ times off the CPU ─▶ method of the stack, peer or file of the call
//!                                                  └─ the rest ──────────▶ by category alone
//! ```
//!
//! Waits for threads are attributed to what those threads did meanwhile ([`crate::attribution`]),
//! to the end.
//!
//! The parts of a thread add up to its time in the windows: they are the intervals of the ledger of
//! threads, cut further.

mod reached;
mod running;
mod short;
mod split;

use fathom_recording::{ProcessId, Recording, StackId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::attribution::{Attribution, Key, Named, Path, Piece, Pool, is_followed, lives_of_pools, named_at};
use crate::chain::Chains;
use crate::intervals::Intervals;
use crate::places::{Places, SUMMED_WITHIN_NS, ShortWait};
use crate::waits::Category;
use crate::waits::place::is_of_jdk;
use crate::waits::replies::awaits_result;
use reached::{is_reached, reached};
use running::{Ran, ms_of, on_cpu, running, sampled};
use split::attributed;

/// Windows that are compared with each other: the first half of the slow time, the second half, the
/// baseline.
pub(super) const FRAMES: usize = 3;
/// The baseline among them.
pub(super) const BASE: usize = 2;

/// By how much shares of time may differ and still be the same, relatively.
const ALIKE: f64 = 0.1;
/// What waiting for time-outs must usually take of what it takes now to be a habit.
const HABIT: f64 = 0.25;
/// How many times as long as in the baseline each time of a poll may be.
const POLLS: f64 = 1.5;
/// A pool that runs as much as this part of what the busiest one does is one of those that do the
/// operations.
const WORKS: f64 = 0.25;
/// A thread of a pool that runs less, and sleeps for so much of the baseline, has its own pace.
const HARDLY_AWAKE: f64 = 0.7;
/// What of the time the busiest pool must run for pools to be distinguished by how much they run.
const HARDLY: f64 = 0.01;
/// Waits of all threads that are followed at most, by category and frame, and of one thread at
/// least: a fair part of very many.
const MOST_FOLLOWED: usize = 60_000;
const LEAST_FOLLOWED: usize = 40;
/// Shares of the work, which are rounded to per cents and compared with no baseline, need so many
/// times fewer.
const FEWER: usize = 5;
/// Share of what a thread did while others waited for it from which on it is counted as theirs.
const REACHED: f64 = 0.5;
/// What of the baseline a pool must have lived in to have been there.
const WAS_THERE: f64 = 0.1;
/// What of a thread's time in the baseline may be unknown for the rest to be compared with.
const SEEN: f64 = 0.5;
/// Waits that ended from which on a rate can be given.
const FEW: usize = 2;

/// What time is attributed to in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Cause<'a> {
    pub(super) key: Key<'a>,
    /// The pool whose threads do so, where it is another one than that of the threads that wait for
    /// them.
    pub(super) other: Option<Pool<'a>>,
    /// Whether a lock stands between.
    pub(super) by_lock: bool,
}

impl<'a> Cause<'a> {
    /// Time that is its own cause.
    fn itself(key: Key<'a>) -> Self {
        Self { key, other: None, by_lock: false }
    }

    fn of(path: &Path<'a>, own: Key<'a>) -> Self {
        let Some(end) = path.last() else { return Self::itself(own) };
        let before = &path[..path.len() - 1];
        let by_lock = before.iter().any(|s| matches!(s.key.category, Category::Monitor | Category::Lock));
        Self { key: end.key, other: end.other, by_lock }
    }
}

/// Time of one key, or of one cause.
#[derive(Clone, Debug, Default)]
pub(super) struct Part<'a> {
    /// Milliseconds, added up over threads, by frame.
    pub(super) ms: [f64; FRAMES],
    /// Threads that spent any of it in the slow windows.
    pub(super) threads: FxHashSet<ThreadId>,
    /// When any thread did, in the slow windows; empty for running time, which samples show.
    pub(super) intervals: Vec<(i64, i64)>,
    /// Times off the CPU that ended, by frame, and their milliseconds: those that were long enough
    /// to be recorded one by one.
    pub(super) ended: [usize; FRAMES],
    pub(super) ended_ms: [f64; FRAMES],
    /// Of the longest time: how long, nanoseconds, whose, from when to when.
    pub(super) longest: Option<(i64, ThreadId, i64, i64)>,
    /// Whether it is that of threads of a pool that was not there in the baseline, and that do no
    /// operations.
    pub(super) is_new: bool,
    /// Waits that were followed, by frame: a fair part of all where there are many.
    followed: Vec<(usize, Piece<'a>)>,
    /// Milliseconds by stack, by frame, as far as stacks are known and waits were not followed.
    pub(super) by_stack: FxHashMap<StackId, [f64; FRAMES]>,
    /// Milliseconds by the way on which the waits led here, by frame.
    pub(super) ways: FxHashMap<Path<'a>, [f64; FRAMES]>,
}

impl<'a> Part<'a> {
    pub(super) fn merge(&mut self, other: Self) {
        for (way, ms) in other.ways {
            let sum = self.ways.entry(way).or_default();
            (0..FRAMES).for_each(|frame| sum[frame] += ms[frame]);
        }
        for (stack, ms) in other.by_stack {
            let sum = self.by_stack.entry(stack).or_default();
            (0..FRAMES).for_each(|frame| sum[frame] += ms[frame]);
        }
        for frame in 0..FRAMES {
            self.ms[frame] += other.ms[frame];
            self.ended[frame] += other.ended[frame];
            self.ended_ms[frame] += other.ended_ms[frame];
        }
        self.is_new = other.is_new && (self.is_new || self.threads.is_empty());
        self.threads.extend(other.threads);
        self.intervals.extend(other.intervals);
        if other.longest.is_some_and(|(ns, ..)| self.longest.is_none_or(|(best, ..)| ns > best)) {
            self.longest = other.longest;
        }
    }

    /// What of it threads spent waiting for others that did it, milliseconds by frame.
    pub(super) fn waited_ms(&self) -> [f64; FRAMES] {
        let mut waited = [0.0; FRAMES];
        for (_, ms) in self.ways.iter().filter(|(way, _)| way.len() > 1) {
            (0..FRAMES).for_each(|frame| waited[frame] += ms[frame]);
        }
        waited
    }

    /// Whether a fair part of what it takes of the slow time it takes of the baseline as well.
    fn is_habit(&self, lengths_ms: &[f64; FRAMES]) -> bool {
        let slow_ms = (lengths_ms[0] + lengths_ms[1]).max(f64::MIN_POSITIVE);
        let base = self.ms[BASE] / lengths_ms[BASE].max(f64::MIN_POSITIVE);
        base >= HABIT * (self.ms[0] + self.ms[1]) / slow_ms
    }

    /// Whether it is a habit whose times are each as long as in the baseline.
    pub(super) fn is_poll(&self, lengths_ms: &[f64; FRAMES]) -> bool {
        let each = |ms: f64, ended: usize| ms / ended.max(1) as f64;
        let ended = self.ended[0] + self.ended[1];
        let slow = each(self.ended_ms[0] + self.ended_ms[1], ended);
        let base = each(self.ended_ms[BASE], self.ended[BASE]);
        let alike = slow <= POLLS * base && base <= POLLS * slow;
        ended > 0 && self.ended[BASE] > 0 && alike && self.is_habit(lengths_ms)
    }

    /// Whether a thread spends the same part of its time so whatever the operations do: a reader
    /// without a message, a timer's thread. Fewer operations would each be charged with more of it.
    fn is_background(&self, lengths_ms: &[f64; FRAMES]) -> bool {
        let slow_ms = (lengths_ms[0] + lengths_ms[1]).max(f64::MIN_POSITIVE);
        let base_ms = lengths_ms[BASE].max(f64::MIN_POSITIVE);
        let alike = is_alike(&self.ms, lengths_ms);
        let ended = self.ended[0] + self.ended[1];
        let (slow_rate, base_rate) = (ended as f64 / slow_ms, self.ended[BASE] as f64 / base_ms);
        alike && (ended + self.ended[BASE] <= FEW || slow_rate >= (1.0 - 2.0 * ALIKE) * base_rate)
    }
}

/// The time of all application threads of a JVM.
#[derive(Default)]
pub(super) struct Parts<'a> {
    pub(super) by_cause: ByCause<'a>,
    /// Threads that did anything with operations in the slow windows.
    pub(super) threads: usize,
    /// Share of their slow time that nobody saw.
    pub(super) unseen: f64,
}

/// Whose time is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// That of all application threads.
    All,
    /// Without what is the same however many operations there are: where times are to be divided by
    /// their number.
    OfOperations,
    /// That of threads of pools which run, and what they wait for.
    AtWork,
}

/// Cuts the time of a JVM's application threads.
pub(super) fn of<'a>(
    recording: &'a Recording,
    chains: &Chains<'a>,
    jvm: ProcessId,
    frames: &[Intervals; FRAMES],
    kept: Kept,
) -> Parts<'a> {
    let lengths_ms = frames.each_ref().map(Intervals::length_ms);
    let without_background = kept == Kept::OfOperations;
    let mut parts = Parts::default();
    let mut places = Places::of_recording(recording);
    let mut ran_ms = [0.0; FRAMES];
    let (mut lived_ms, mut unseen_ms) = (0.0, 0.0);
    let mut ran = Ran::default();
    let mut all: Vec<(Pool<'a>, Cause<'a>, Part<'a>)> = Vec::new();
    let application = chains.application_threads(jvm);
    let lives = lives_of_pools(chains, jvm);
    let mut attribution = Attribution::of(chains);
    use Category::{NativeLock, RunQueue, TimedWait, Waiting};
    let (most, least) = match kept {
        Kept::AtWork => (MOST_FOLLOWED / FEWER, LEAST_FOLLOWED / FEWER),
        _ => (MOST_FOLLOWED, LEAST_FOLLOWED),
    };
    let most_followed = (most / application.len().max(1)).max(least);
    let (at_work, minor) = at_work(chains, &application, frames, &lengths_ms);
    for thread in application {
        let Some(by_category) = chains.by_category(thread) else { continue };
        let pool = Pool::of(chains, thread);
        let works = at_work.contains(&pool);
        // Virtual threads run on threads of another pool.
        let is_virtual = recording.threads[thread.index()].tid.is_none();
        if kept == Kept::AtWork && !works && !is_virtual && !at_work.is_empty() {
            continue;
        }
        // A thread that does no operations and runs as much as ever a second, or less, takes from
        // none of them.
        let idles =
            without_background && minor.contains(&pool) && !runs_more(chains, thread, frames, &lengths_ms);
        let mut own_parts = ByKey::default();
        let short = places.of_short_waits(chains, thread);
        let named = chains.naming(thread);
        let (mut base_ms, mut base_unseen_ms) = (0.0, 0.0);
        for (frame, windows) in frames.iter().enumerate() {
            for category in Category::ALL {
                let own = by_category[category.index()].and(windows);
                if frame != BASE {
                    lived_ms += own.length_ms();
                    unseen_ms += if category == Category::Unknown { own.length_ms() } else { 0.0 };
                } else {
                    base_ms += own.length_ms();
                    base_unseen_ms += if category == Category::Unknown { own.length_ms() } else { 0.0 };
                }
                if own.is_empty() || category == Category::Unknown {
                    continue;
                }
                if category.is_running() {
                    ran_ms[frame] += if idles { 0.0 } else { own.length_ms() };
                    continue;
                }
                let means = (&mut places, &mut attribution, chains);
                off(&mut own_parts, means, most_followed, thread, category, own, frame, &short, &named);
            }
            if idles {
                continue;
            }
            for (place, stack, weight) in sampled(chains, &mut places, thread, windows) {
                ran.entry((place, stack, thread)).or_default()[frame] += weight;
            }
        }
        // Who does operations and sleeps between them does fewer the longer it sleeps, and may
        // sleep nearly all the time. A thread that does none and sleeps as much as ever, in fewer
        // and longer turns, has a pace of its own. Whom others wait for while it sleeps is charged
        // by their waits.
        let is_new = lives.get(&pool).is_some_and(|life| is_new(life, &frames[BASE]));
        let stays = |key: &Key<'_>, part: &Part<'_>| match key.category {
            Category::Sleep if minor.contains(&pool) && part.ms[BASE] >= HARDLY_AWAKE * lengths_ms[BASE] => {
                !without_background
            }
            Category::Sleep => works || !without_background || !is_alike(&part.ms, &lengths_ms),
            // So it is with one that looks after something every so often.
            TimedWait if !works => !without_background || !part.is_habit(&lengths_ms),
            Waiting | NativeLock if !works && !is_asked_for(recording, part) => {
                !without_background || !is_alike(&part.ms, &lengths_ms)
            }
            // Where CPUs are all busy, threads that do operations run and wait for as long as ever,
            // and do fewer of them when each takes more.
            RunQueue if works || at_work.is_empty() => true,
            _ => !without_background || !part.is_background(&lengths_ms),
        };
        // Of a thread that was not seen in the baseline (it waited from before the recording on),
        // nothing that it waits for is known to be more than before; of one that was seen in part,
        // the rest is taken to have been like that.
        let was_seen = works || base_unseen_ms <= SEEN * base_ms;
        let seen_ms = if works { base_ms } else { base_ms - base_unseen_ms };
        if seen_ms > 0.0 {
            own_parts.values_mut().for_each(|part| part.ms[BASE] *= base_ms / seen_ms);
        }
        own_parts.retain(|key, part| was_seen && !is_of_jdk_alone(key) && stays(key, part));
        own_parts.values_mut().filter(|_| is_new && !works).for_each(|part| part.is_new = true);
        let causes = own_parts.into_iter().flat_map(|(key, part)| attributed(key, part, thread));
        all.extend(causes.map(|(cause, part)| (pool, cause, part)));
    }
    let reached = reached(&all);
    for (pool, cause, part) in all {
        if !is_reached(&reached, pool, &cause, &part) {
            parts.by_cause.entry(cause).or_default().merge(part);
        }
    }
    short::named(&mut parts.by_cause);
    if kept == Kept::AtWork && ran_ms.iter().all(|ms| *ms <= 0.0) {
        ran.values().for_each(|weights| (0..FRAMES).for_each(|f| ran_ms[f] += weights[f] / 1e6));
    }
    // What neither the kernel's accounts nor samples bear out was not seen.
    for (frame, windows) in frames.iter().enumerate() {
        let kept_ms = ran_ms[frame] * chains.borne_out(jvm, &windows.windows());
        unseen_ms += if frame == BASE { 0.0 } else { ran_ms[frame] - kept_ms };
        ran_ms[frame] = kept_ms;
    }
    running(&mut parts.by_cause, chains, ran_ms, ran);
    parts.unseen = unseen_ms / f64::max(lived_ms, f64::MIN_POSITIVE);
    let threads = parts.by_cause.values().flat_map(|part| &part.threads);
    parts.threads = threads.collect::<FxHashSet<_>>().len();
    parts
}

/// Whether it is mainly waiting for results that the thread has asked for.
fn is_asked_for(recording: &Recording, part: &Part<'_>) -> bool {
    let slow = |ms: &[f64; FRAMES]| ms[0] + ms[1];
    let most = part.by_stack.iter().max_by(|a, b| slow(a.1).total_cmp(&slow(b.1)).then(b.0.cmp(a.0)));
    most.is_some_and(|(stack, _)| awaits_result(recording, *stack))
}

/// Whether a pool was hardly there in the baseline.
fn is_new(life: &Intervals, base: &Intervals) -> bool {
    (life.and(base).length_ns() as f64) < WAS_THERE * base.length_ns() as f64
}

/// Whether a thread of the JDK's own waits for its next turn, without any method of the application
/// on its stack: a timer, a cleaner, a carrier of virtual threads. No operation waits there.
fn is_of_jdk_alone(key: &Key<'_>) -> bool {
    use Category::{NativeLock, Sleep, TimedWait, Waiting};
    matches!(key.category, TimedWait | Sleep | Waiting | NativeLock) && is_of_jdk(key.place)
}

/// Whether a share of time is the same in the slow time and in the baseline.
fn is_alike(ms: &[f64; FRAMES], lengths_ms: &[f64; FRAMES]) -> bool {
    let slow_ms = (lengths_ms[0] + lengths_ms[1]).max(f64::MIN_POSITIVE);
    let (slow, base) = ((ms[0] + ms[1]) / slow_ms, ms[BASE] / lengths_ms[BASE].max(f64::MIN_POSITIVE));
    (slow - base).abs() <= ALIKE * slow.max(base)
}

/// The pools whose threads do the operations: those that run as much as a fair part of what the
/// busiest one does, and do so more or less with the operations. One that runs as much as ever,
/// however many operations there are, does none of them. And those that run less than that part.
fn at_work<'a>(
    chains: &Chains<'a>,
    application: &[ThreadId],
    frames: &[Intervals; FRAMES],
    lengths_ms: &[f64; FRAMES],
) -> (FxHashSet<Pool<'a>>, FxHashSet<Pool<'a>>) {
    let mut ran: FxHashMap<Pool<'a>, [f64; FRAMES]> = FxHashMap::default();
    let mut sampled: FxHashMap<Pool<'a>, [f64; FRAMES]> = FxHashMap::default();
    for thread in application {
        let pool = Pool::of(chains, *thread);
        let (running, sampled) = (ran.entry(pool).or_default(), sampled.entry(pool).or_default());
        let own = running_by_frame(chains, *thread, frames);
        for frame in 0..FRAMES {
            running[frame] += own[frame];
            sampled[frame] += on_cpu(chains, *thread, &frames[frame]).map(|s| ms_of(s.weight)).sum::<f64>();
        }
    }
    // Where switches were not recorded, as in a flight recording, samples decide.
    if ran.values().flatten().all(|ms| *ms <= 0.0) {
        ran = sampled;
    }
    let busiest_ms = ran.values().map(|ms| ms.iter().sum()).fold(0.0, f64::max);
    // Where hardly any ran, all of them may be those that do.
    if busiest_ms < HARDLY * lengths_ms.iter().sum::<f64>() {
        return Default::default();
    }
    let is_minor = |ms: &[f64; FRAMES]| ms.iter().sum::<f64>() < WORKS * busiest_ms;
    let (minor, busy): (Vec<_>, Vec<_>) = ran.into_iter().partition(|(_, ms)| is_minor(ms));
    let works = busy.into_iter().filter(|(_, ms)| !is_alike(ms, lengths_ms));
    (works.map(|(pool, _)| pool).collect(), minor.into_iter().map(|(pool, _)| pool).collect())
}

/// Whether a thread runs for more of the slow time than of the baseline, beyond chance.
fn runs_more(
    chains: &Chains<'_>,
    thread: ThreadId,
    frames: &[Intervals; FRAMES],
    lengths_ms: &[f64; FRAMES],
) -> bool {
    let ran = running_by_frame(chains, thread, frames);
    let share = |ms: f64, of_ms: f64| ms / of_ms.max(f64::MIN_POSITIVE);
    let slow = share(ran[0] + ran[1], lengths_ms[0] + lengths_ms[1]);
    slow > (1.0 + ALIKE) * share(ran[BASE], lengths_ms[BASE])
}

/// Milliseconds for which a thread ran, by frame.
fn running_by_frame(chains: &Chains<'_>, thread: ThreadId, frames: &[Intervals; FRAMES]) -> [f64; FRAMES] {
    let Some(by_category) = chains.by_category(thread) else { return [0.0; FRAMES] };
    let running = || Category::ALL.into_iter().filter(|category| category.is_running());
    frames.each_ref().map(|frame| running().map(|h| by_category[h.index()].and(frame).length_ms()).sum())
}

type ByKey<'a> = FxHashMap<Key<'a>, Part<'a>>;
type ByCause<'a> = FxHashMap<Cause<'a>, Part<'a>>;

#[allow(clippy::too_many_arguments, reason = "one step of the cut")]
/// Time of one thread under one category, by the times that it was off the CPU; what none of them
/// covers, by the category alone.
fn off<'a>(
    parts: &mut ByKey<'a>,
    (places, attribution, chains): (&mut Places<'a>, &mut Attribution<'_, 'a>, &Chains<'a>),
    most_followed: usize,
    thread: ThreadId,
    category: Category,
    own: Intervals,
    frame: usize,
    short: &[ShortWait<'a>],
    named: &Named<'a>,
) {
    let mut left = own.length_ns();
    let (Some(first), Some(last)) = (own.ranges().first(), own.ranges().last()) else { return };
    let follows = is_followed(category);
    let waits = if follows { chains.off_between(thread, first.0, last.1).count() } else { 0 };
    let each = waits.div_ceil(most_followed).max(1);
    chains.off_within(thread, &own, |at, span, ranges| {
        let key =
            Key { category, place: places.of(span.stack()), target: named_at(named, span).unwrap_or("") };
        left = left.saturating_sub(add(parts, key, thread, ranges, frame, span.stack()));
        if follows && at % each == 0 {
            let ended_by = attribution.ended_by(thread, &key, span);
            let ended_by = (ended_by, places.queues(span.stack()));
            let pieces = ranges.iter().flat_map(|s| attribution.of_wait(thread, key, ended_by, *s));
            parts.entry(key).or_default().followed.extend(pieces.map(|piece| (frame, piece)));
        }
    });
    if left <= 0 {
        return;
    }
    // What is left are short waits, which lie before the sample that sums them up.
    let begins = |wait: &&ShortWait<'_>| wait.t_ns.saturating_sub(SUMMED_WITHIN_NS);
    let weights: Vec<_> = (short.iter())
        .filter(|wait| wait.category == category && own.touches(begins(wait), wait.t_ns))
        .collect();
    let all: f64 = weights.iter().map(|wait| wait.weight as f64).sum();
    let mut add = |place, stack: Option<StackId>, ms| {
        let part = parts.entry(Key { category, place, target: "" }).or_default();
        part.ms[frame] += ms;
        if let Some(stack) = stack {
            part.by_stack.entry(stack).or_default()[frame] += ms;
        }
        if frame != BASE {
            part.threads.insert(thread);
        }
    };
    match all > 0.0 {
        true => weights.iter().for_each(|w| add(w.place, w.stack, left as f64 / 1e6 * w.weight as f64 / all)),
        false => add("", None, left as f64 / 1e6),
    }
}

fn add<'a>(
    parts: &mut ByKey<'a>,
    key: Key<'a>,
    thread: ThreadId,
    ranges: &[(i64, i64)],
    frame: usize,
    stack: Option<StackId>,
) -> i64 {
    let part = parts.entry(key).or_default();
    let length = |(from, to): &(i64, i64)| to.saturating_sub(*from);
    let ns = ranges.iter().map(length).fold(0, i64::saturating_add);
    part.ms[frame] += ns as f64 / 1e6;
    if let Some(stack) = stack {
        part.by_stack.entry(stack).or_default()[frame] += ns as f64 / 1e6;
    }
    part.ended[frame] += ranges.len();
    part.ended_ms[frame] += ns as f64 / 1e6;
    if frame != BASE {
        part.threads.insert(thread);
        part.intervals.extend_from_slice(ranges);
        if let Some((from, to)) = ranges.iter().max_by_key(|range| length(range))
            && part.longest.is_none_or(|(best, ..)| length(&(*from, *to)) > best)
        {
            part.longest = Some((length(&(*from, *to)), thread, *from, *to));
        }
    }
    ns
}
