//! A thread's life as a row of segments: what it did from when to when, and who ended it where that
//! was a wait for a thread.

use fathom_recording::vocabulary::call::EPOLLS;
use fathom_recording::vocabulary::{interrupt, label, sample};
use fathom_recording::{Span, ThreadId};
use rustc_hash::FxHashMap;

use super::{Key, is_followed, named_at};
use crate::chain::Chains;
use crate::intervals::Intervals;
use crate::places::{Places, SUMMED_WITHIN_NS, ShortWait};
use crate::thread_ledger::Taken;
use crate::waits::Category;

/// How far a CPU sample may lie from the running time that it counts for, nanoseconds: two periods
/// at the usual 99 Hz.
const NEAR_NS: i64 = 20_000_000;

/// Something that a thread did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment<'a> {
    pub(crate) from: i64,
    pub(crate) to: i64,
    pub(crate) key: Key<'a>,
    /// The thread that ended it, where it waited for one.
    pub(crate) ended_by: Option<ThreadId>,
    /// Whether it waited for something out of a queue.
    pub(crate) queues: bool,
    /// Whether the thread had no work: it waited for whoever brings some.
    pub(crate) rests: bool,
}

/// The segments of a thread in order of time, without overlap. Time that nobody saw is in none.
pub(crate) fn of<'a>(chains: &Chains<'a>, places: &mut Places<'a>, thread: ThreadId) -> Vec<Segment<'a>> {
    let Some(by_category) = chains.by_category(thread) else { return Vec::new() };
    let named = chains.naming(thread);
    let mut segments = Vec::new();
    let mut servers: FxHashMap<ThreadId, bool> = FxHashMap::default();
    let has_work = |c: &Category| c.is_running() || matches!(c, Category::RunQueue | Category::Throttled);
    let at_work = Category::ALL.iter().filter(|category| has_work(category));
    let at_work =
        Intervals::of(at_work.flat_map(|category| by_category[category.index()].ranges().iter().copied()));
    for category in Category::ALL {
        let own = &by_category[category.index()];
        if category == Category::Unknown || own.is_empty() {
            continue;
        }
        if category.is_running() {
            segments.extend(own.ranges().iter().map(|(from, to)| Segment {
                from: *from,
                to: *to,
                key: Key {
                    category: Category::Running,
                    place: ran_in(chains, places, thread, (*from, *to), &at_work),
                    target: "",
                },
                ended_by: None,
                queues: false,
                rests: false,
            }));
            continue;
        }
        let (mut off, rests) = (Vec::new(), category == Category::Idle);
        let (mut selected_in, mut brought_by) = (None, FxHashMap::<ThreadId, usize>::default());
        chains.off_within(thread, own, |_, span, parts| {
            let mut key = Key {
                category,
                place: places.of(span.stack()),
                target: named_at(&named, span).unwrap_or(""),
            };
            let mut ended_by = ended_by(chains, thread, &key, span);
            // Who waits for this thread waits for what this one is notified of: an answer that
            // comes over one of its connections, unless a thread of its own JVM notified it that is
            // no server at the other end of one.
            let mut of_own = |other: ThreadId| {
                let process = |thread: ThreadId| chains.recording().threads[thread.index()].process;
                process(other) == process(thread)
                    && !*servers.entry(other).or_insert_with(|| chains.serves(other))
            };
            if rests && selects(span) && !ended_by.is_some_and(&mut of_own) {
                selected_in = Some(key.place);
                (key.category, ended_by) = (Category::Network, None);
            }
            // What it then does for others they had to wait until its time was up for: a batch that
            // is not full yet, a flush now and then.
            if rests && ended_by.is_none() && span.label(label::INTERRUPT) == Some(interrupt::TIMER) {
                key.category = Category::TimedWait;
            }
            if let Some(other) = ended_by.filter(|_| rests) {
                *brought_by.entry(other).or_default() += 1;
            }
            off.extend_from_slice(parts);
            let queues = places.queues(span.stack());
            segments.extend(parts.iter().map(|(from, to)| Segment {
                from: *from,
                to: *to,
                key,
                ended_by,
                queues,
                rests,
            }));
        });
        let left = own.without(&Intervals::of(off));
        if left.is_empty() {
            continue;
        }
        // What is left are waits too short to be recorded one by one: of a thread that selects,
        // those for its connections; of one that nearly always gets its work from the same thread,
        // those for that one; of any other, where the samples that sum them up show them.
        let summed = match selected_in {
            Some(_) => Vec::new(),
            None => places.of_short_waits(chains, thread),
        };
        let key_of = |from, to| match selected_in {
            Some(place) => Key { category: Category::Network, place, target: "" },
            None => Key { category, place: waited_in(&summed, category, (from, to)), target: "" },
        };
        let all: usize = brought_by.values().sum();
        let most = brought_by.into_iter().max_by_key(|(other, times)| (*times, *other));
        let ended_by = most.filter(|(_, times)| times * 10 >= all * 9).map(|(other, _)| other);
        let rest = left.ranges().iter();
        segments.extend(rest.map(|(from, to)| Segment {
            from: *from,
            to: *to,
            key: key_of(*from, *to),
            ended_by,
            queues: false,
            rests,
        }));
    }
    segments.sort_by_key(|segment| (segment.from, segment.to));
    segments
}

/// Whether a time off the CPU is one in which a thread waits for something to happen on any of its
/// connections, and something did.
fn selects(span: &Span<'_>) -> bool {
    let happened =
        span.label(label::WAKER).is_some() || span.label(label::INTERRUPT) == Some(interrupt::NETWORK);
    happened && span.label(label::SYSCALL).is_some_and(|call| EPOLLS.contains(&call))
}

/// Who ended a wait for a thread: of the same process, or at the other end of a connection.
pub(super) fn ended_by(
    chains: &Chains<'_>,
    thread: ThreadId,
    key: &Key<'_>,
    span: &Span<'_>,
) -> Option<ThreadId> {
    let waker = match key.category {
        Category::Network => chains.answered_by(thread, key.target, span),
        // A thread that has nothing to do waits for whoever brings it something.
        category if is_followed(category) || category == Category::Idle => chains.woken_by(thread, span),
        _ => None,
    };
    waker.filter(|other| *other != thread)
}

/// The application's method in which a thread's short waits between two timestamps were, most of
/// them: a sample sums up those of the time before it.
fn waited_in<'a>(summed: &[ShortWait<'a>], category: Category, (from, to): (i64, i64)) -> &'a str {
    let first = summed.partition_point(|wait| wait.t_ns < from);
    let last = to.saturating_add(SUMMED_WITHIN_NS);
    let within = summed[first..].iter().take_while(|wait| wait.t_ns <= last);
    let mut weights: FxHashMap<&'a str, i64> = FxHashMap::default();
    for wait in within.filter(|wait| wait.category == category) {
        *weights.entry(wait.place).or_default() += wait.weight;
    }
    weights.into_iter().max_by_key(|(place, weight)| (*weight, *place)).map_or("", |(place, _)| place)
}

/// The application's method in which a thread ran, by the nearest sample: within the time in which
/// it had work, for a thread that is preempted goes on with what it did, or next to it.
fn ran_in<'a>(
    chains: &Chains<'a>,
    places: &mut Places<'a>,
    thread: ThreadId,
    (from, to): (i64, i64),
    at_work: &Intervals,
) -> &'a str {
    let samples = chains.samples(thread);
    let kinds = sample::ON_CPU.map(|kind| chains.recording().strings.find(kind));
    let work = at_work.around(from).unwrap_or((from, to));
    let (first, last) = (work.0.min(from).saturating_sub(NEAR_NS), work.1.max(to).saturating_add(NEAR_NS));
    let distance = |t_ns: i64| (from.saturating_sub(t_ns)).max(t_ns.saturating_sub(to)).max(0);
    let of_cpu = |sample: &&Taken| kinds.contains(&Some(sample.kind));
    // The nearest at or after its beginning, and before it: those of a long time are many.
    let begin = samples.partition_point(|sample| sample.t_ns < from);
    let after = samples[begin..].iter().take_while(|sample| sample.t_ns <= last).find(of_cpu);
    let before = samples[..begin].iter().rev().take_while(|sample| sample.t_ns >= first).find(of_cpu);
    let nearest = before.into_iter().chain(after).min_by_key(|sample| distance(sample.t_ns));
    nearest.map_or("", |sample| places.of(sample.stack()))
}
