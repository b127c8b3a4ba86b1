//! What a wait is attributed to: what the thread did that ended it, meanwhile, and what that waited
//! for in turn, to the end.
//!
//! ```text
//! worker-3 parked in Pool.borrow, 20–80 ms ── woken by worker-7, which meanwhile
//!     20–50 ms  parked in Pool.borrow ── woken by worker-1, which meanwhile … read() from the peer
//!     50–80 ms  was in read() from the peer                                ▶ the peer: 60 ms, the pool: on the way
//! ```
//!
//! Time is conserved: the pieces of a wait add up to its length, whatever is known of them (the
//! redistribution of Zhou et al., "wPerf", OSDI 2018). A piece ends where a thread runs, sleeps,
//! waits for a device or for something outside, where nobody knows who ended a wait, or where the
//! way leads back to a thread that it came from.
//!
//! A thread that was without work until somebody brought it what is waited for explains nothing of
//! the time before: that is followed to who brought it, and to the network where that is a thread
//! that waits for something to happen on any of its connections. Not so where a worker takes from a
//! queue what a colleague of its pool gives back: that one had a request of its own.
//!
//! A wait for an answer over a connection of this host is one for the thread at the other end: who
//! sends there wakes the receiver up itself, also from another recorded process. A thread that
//! waits for the next request meanwhile has no work.
//!
//! Limits. Short waits that the recorder summed up name nobody who ended them. A lock's wait is
//! attributed to the thread that released it; who held it before that one is followed as far as
//! that one waited for it.

mod key;
pub(crate) mod segments;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::rc::Rc;

use fathom_recording::vocabulary::kind;
use fathom_recording::{ProcessId, Span, ThreadId};
use rustc_hash::FxHashMap;

use crate::chain::Chains;
use crate::intervals::Intervals;
use crate::places::Places;
use crate::waits::Category;
pub(crate) use key::{Key, Named, named_at};
use segments::Segment;

/// Threads that follow each other at most: a queue of waiters is as long as the pool that shares
/// what they wait for.
const MOST_DEPTH: usize = 48;
/// Pieces of one wait that are followed one by one.
const MOST_PIECES: usize = 64;
/// Of what a thread did in the time beyond that: how many segments are looked at, and which part of
/// it (one in so many) something must be to be attributed by itself.
const LOOKED_AT: usize = 4_096;
const ONE_IN: i64 = 10;

/// A step on the way from a wait to what it is attributed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Step<'a> {
    pub(crate) key: Key<'a>,
    /// A thread of another pool than the one that waits first.
    pub(crate) other: Option<Pool<'a>>,
}

/// A pool of threads, by the name of one of them without its number, and by the name of its
/// process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Pool<'a> {
    pub(crate) name: &'a str,
    pub(crate) process: &'a str,
}

impl<'a> Pool<'a> {
    /// The pool of a thread.
    pub(crate) fn of(chains: &Chains<'a>, thread: ThreadId) -> Self {
        let recording = chains.recording();
        let name = chains.name(thread).trim_end_matches(|c: char| c.is_ascii_digit());
        let process = recording.process_name(recording.threads[thread.index()].process);
        Self { name: name.trim_end_matches(['-', ' ', '#', '_']), process }
    }
}

/// When each pool of a process had any thread.
pub(crate) fn lives_of_pools<'a>(chains: &Chains<'a>, process: ProcessId) -> FxHashMap<Pool<'a>, Intervals> {
    let mut lives: FxHashMap<Pool<'a>, Vec<(i64, i64)>> = FxHashMap::default();
    let watched = chains.recording().spans_of(kind::SCHED_WATCHED).filter(|span| span.process() == process);
    for (thread, span) in watched.filter_map(|span| Some((span.thread()?, span))) {
        lives.entry(Pool::of(chains, thread)).or_default().push((span.t0_ns(), span.t1_ns()));
    }
    lives.into_iter().map(|(pool, intervals)| (pool, Intervals::of(intervals))).collect()
}

/// Steps from the wait to its end, each once: waiters in a row that wait for the same are one step.
pub(crate) type Path<'a> = Rc<[Step<'a>]>;

/// A piece of a wait: what it is attributed to, from when to when.
pub(crate) type Piece<'a> = (Path<'a>, i64, i64);

/// Follows waits of a recording.
pub(crate) struct Attribution<'c, 'a> {
    chains: &'c Chains<'a>,
    segments: FxHashMap<ThreadId, Rc<[Segment<'a>]>>,
    places: Places<'a>,
}

/// One wait that is being followed.
struct Walk<'a> {
    /// The pool of the thread that waits first.
    own: Pool<'a>,
    /// The threads that lead here and wait meanwhile.
    on_the_way: Vec<ThreadId>,
    /// How many threads lead here in all.
    depth: usize,
    steps: Vec<Step<'a>>,
    pieces: Vec<Piece<'a>>,
}

impl<'c, 'a> Attribution<'c, 'a> {
    pub(crate) fn of(chains: &'c Chains<'a>) -> Self {
        let recording = chains.recording();
        Self { chains, segments: FxHashMap::default(), places: Places::of_recording(recording) }
    }

    /// The thread that ended a time off the CPU, where that was a wait for one: for a lock, a
    /// hand-over, or the other end of a connection of this host.
    pub(crate) fn ended_by(&self, thread: ThreadId, key: &Key<'a>, span: &Span<'_>) -> Option<ThreadId> {
        segments::ended_by(self.chains, thread, key, span)
    }

    /// What a thread's wait between two timestamps is attributed to: pieces without overlap that
    /// cover it.
    pub(crate) fn of_wait(
        &mut self,
        thread: ThreadId,
        key: Key<'a>,
        (ended_by, queues): (Option<ThreadId>, bool),
        (from, to): (i64, i64),
    ) -> Vec<Piece<'a>> {
        let first = Step { key, other: None };
        let own = Pool::of(self.chains, thread);
        let mut walk =
            Walk { own, on_the_way: vec![thread], depth: 1, steps: vec![first], pieces: Vec::new() };
        match ended_by.filter(|other| *other != thread) {
            Some(other) => self.meanwhile(&mut walk, (other, queues), from, to),
            None => walk.ends(from, to),
        }
        walk.pieces
    }

    /// What a thread did between two timestamps, and whether the one that waited for it did so in a
    /// queue.
    fn meanwhile(&mut self, walk: &mut Walk<'a>, (thread, queues): (ThreadId, bool), from: i64, to: i64) {
        if walk.depth >= MOST_DEPTH || walk.on_the_way.contains(&thread) {
            return walk.ends(from, to);
        }
        walk.depth += 1;
        let other = Some(Pool::of(self.chains, thread)).filter(|pool| *pool != walk.own);
        // What a colleague was given to do is a request of its own: it gave back what it had taken
        // for that, and who had that before is not known.
        let waiter = walk.on_the_way.last().filter(|_| queues);
        let is_colleague =
            waiter.is_some_and(|waiter| Pool::of(self.chains, *waiter) == Pool::of(self.chains, thread));
        let segments = self.segments_of(thread);
        let first = segments.partition_point(|segment| segment.to <= from);
        let end = segments.partition_point(|segment| segment.from < to).max(first);
        let mut at = from;
        let within = &segments[first..end];
        // What a thread did before it was last without work was for others: until then the work
        // that is waited for had not come, and its time is that of whoever brought it. Of a rest
        // that goes on for longer than the wait, nothing was brought for that: the thread had done
        // its part before.
        let last = within.iter().rposition(|segment| segment.rests && segment.to <= to);
        if let Some(rest) = last.map(|last| &within[last]) {
            let brought = rest.to;
            let step = Step { key: rest.key, other };
            let is_new = walk.steps.last() != Some(&step);
            if is_new {
                walk.steps.push(step);
            }
            // A thread that rests may have brought work itself before: it is not on the way.
            match rest.ended_by.filter(|_| !is_colleague) {
                Some(other) => self.meanwhile(walk, (other, false), from, brought),
                None => walk.ends(from, brought),
            }
            if is_new {
                walk.steps.pop();
            }
            at = brought;
        }
        walk.on_the_way.push(thread);
        let left = &within[last.map_or(0, |last| last + 1)..];
        for (i, segment) in left.iter().enumerate() {
            if walk.pieces.len() >= MOST_PIECES {
                walk.ends_as(&left[i..], other, at, to);
                at = to;
                break;
            }
            let (begin, end) = (segment.from.max(at), segment.to.min(to));
            if begin >= end {
                continue;
            }
            walk.ends(at, begin);
            if segment.rests {
                walk.ends(begin, end);
                at = end;
                continue;
            }
            // Who waits for a message of a thread that itself waits for this one's answer has
            // nothing to do.
            let back = segment.ended_by.is_some_and(|other| walk.on_the_way.contains(&other));
            if segment.key.category == Category::Network && back {
                walk.ends(begin, end);
                at = end;
                continue;
            }
            let step = Step { key: segment.key, other };
            // A hand-over within one pool is one step, however many threads the thing goes through.
            let is_new = walk.steps.last().is_none_or(|last| last.key != step.key);
            if is_new {
                walk.steps.push(step);
            }
            match segment.ended_by {
                Some(other) => self.meanwhile(walk, (other, segment.queues), begin, end),
                None => walk.ends(begin, end),
            }
            if is_new {
                walk.steps.pop();
            }
            at = end;
        }
        walk.ends(at, to);
        walk.on_the_way.pop();
        walk.depth -= 1;
    }

    fn segments_of(&mut self, thread: ThreadId) -> Rc<[Segment<'a>]> {
        if let Some(known) = self.segments.get(&thread) {
            return Rc::clone(known);
        }
        let segments: Rc<[Segment<'a>]> = segments::of(self.chains, &mut self.places, thread).into();
        self.segments.insert(thread, Rc::clone(&segments));
        segments
    }
}

impl<'a> Walk<'a> {
    /// The way ends here for the time between two timestamps.
    fn ends(&mut self, from: i64, to: i64) {
        // That the thread at the end had no work explains no wait for it: the wait itself stands.
        let has_work = |step: &Step<'_>| step.key.category != Category::Idle;
        let end = self.steps.iter().rposition(has_work).map_or(1, |at| at + 1);
        if from < to {
            self.pieces.push((self.steps[..end].into(), from, to));
        }
    }

    /// The way ends here for the time between two timestamps, which is divided as what a thread did
    /// in it: that is more than is followed one by one.
    fn ends_as(&mut self, did: &[Segment<'a>], other: Option<Pool<'a>>, from: i64, to: i64) {
        let mut by: BTreeMap<Key<'a>, i64> = BTreeMap::new();
        for segment in did.iter().take(LOOKED_AT) {
            let ns = segment.to.min(to).saturating_sub(segment.from.max(from)).max(0);
            let sum = by.entry(segment.key).or_default();
            *sum = sum.saturating_add(ns);
        }
        let all = by.values().copied().fold(0, i64::saturating_add);
        let mut most: Vec<(Key<'a>, i64)> =
            by.into_iter().filter(|(_, ns)| ns.saturating_mul(ONE_IN) >= all).collect();
        most.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        let kept = most.iter().map(|(_, ns)| *ns).fold(0, i64::saturating_add);
        let (mut at, length) = (from, to.saturating_sub(from) as f64);
        for (key, ns) in most {
            let end = at.saturating_add((length * ns as f64 / kept.max(1) as f64) as i64).min(to);
            self.steps.push(Step { key, other });
            self.ends(at, end);
            self.steps.pop();
            at = end;
        }
        self.ends(at, to);
    }
}

/// Whether what ends such a wait may be a thread that can be followed. A thread without work waits
/// for whoever brings some.
pub(crate) fn is_followed(category: Category) -> bool {
    use Category::{Lock, Monitor, NativeLock, Network, Waiting};
    matches!(category, Monitor | Lock | NativeLock | Waiting | Network)
}
