//! What the holders of a lock did, one after another, while others waited for it.

use std::collections::BTreeMap;

use fathom_recording::{StackId, ThreadId};

use super::thread_activity::{Doing, Next};
use super::walk::Walk;
use super::{Chain, Chains, End, Link, LinkKind, Monitor};
use crate::Fact;
use crate::facts::links;
use crate::intervals::Intervals;
use crate::waits::Category;

/// What was done while a lock was held: by whom, where only one did it, by one of them, and the
/// thing itself.
type Held<'a> = (Option<ThreadId>, ThreadId, Doing<'a>);

impl<'a> Chains<'a> {
    /// The intervals of a thread's life that the ledger attributes to a category; `None` when
    /// nothing is known of it.
    pub(crate) fn under(&self, thread: ThreadId, category: Category) -> Option<Intervals> {
        Some(self.intervals.by_category(thread, &self.stacks)?[category.index()].clone())
    }

    /// The stacks with which a thread waited under a category in some intervals, with nanoseconds:
    /// switches one by one, then what is left by the sums of short waits.
    pub(crate) fn stacks_under(
        &self,
        thread: ThreadId,
        category: Category,
        intervals: &Intervals,
    ) -> Vec<(Option<StackId>, i64)> {
        let mut left = intervals.length_ns();
        let mut stacks: BTreeMap<Option<StackId>, i64> = BTreeMap::new();
        let off = self.intervals.off(thread).iter();
        for span in off.filter(|span| self.stacks.category(span.stack()) == category) {
            let ns = intervals.length_within_ns(span.t0_ns(), span.t1_ns());
            left -= ns;
            *stacks.entry(span.stack()).or_default() += ns;
        }
        let ends = intervals.ranges().first().map(|s| s.0).zip(intervals.ranges().last().map(|s| s.1));
        let (from, to) = ends.unwrap_or_default();
        let cpu = self.recording.on_cpu_kind();
        let short = self.intervals.samples(thread).iter().filter(|sample| {
            Some(sample.kind) != cpu
                && (from..=to).contains(&sample.t_ns)
                && self.stacks.category(sample.stack()) == category
        });
        let short: Vec<_> = short.map(|sample| (sample.stack(), sample.weight.max(0))).collect();
        let all: i128 = short.iter().map(|(_, ns)| i128::from(*ns)).sum();
        for (stack, ns) in short.iter().filter(|_| left > 0) {
            let part = i128::from(left) * i128::from(*ns) / all.max(1);
            *stacks.entry(*stack).or_default() += part as i64;
        }
        if short.is_empty() && left > 0 {
            *stacks.entry(None).or_default() += left;
        }
        stacks.into_iter().filter(|(_, ns)| *ns > 0).collect()
    }

    /// The first timestamp after `from` at which a thread has nothing to do: by then it holds no
    /// lock.
    pub(crate) fn idle_after(&self, thread: ThreadId, from: i64, to: i64) -> Option<i64> {
        let by_category = self.intervals.by_category(thread, &self.stacks)?;
        by_category[Category::Idle.index()].within(from, to).next().map(|(idle, _)| idle)
    }

    /// A chain from a thread that waits for a lock to what those did who held it, each only while
    /// it held it.
    pub(crate) fn of_lock(
        &self,
        thread: ThreadId,
        category: Category,
        what: Fact,
        intervals: &Intervals,
        holders: &[(ThreadId, Intervals)],
        held: Option<&Monitor>,
    ) -> Chain {
        let mut walk = Walk::new(self, intervals.length_ns());
        let mut root = walk.link(LinkKind::Thread, (Some(thread), Some(category)), what, intervals);
        let (each, mut left) = shared_out(holders, intervals);
        root.next = walk.of_holders(&each, (None, held), &mut left);
        if !left.is_empty() && !root.next.is_empty() {
            let what = links::HOLDER_UNKNOWN.fact();
            let mut unknown = walk.link(LinkKind::HolderUnknown, (None, None), what, &left);
            unknown.end = Some(End::Unknown);
            root.next.push(unknown);
        }
        let (name, tid, process) = self.named(thread);
        let ends = intervals.ranges();
        Chain {
            thread: name,
            tid,
            process,
            process_id: self.process_of(thread),
            from_ns: ends.first().map_or(0, |s| s.0),
            to_ns: ends.last().map_or(0, |s| s.1),
            ms: intervals.length_ms(),
            links: vec![root],
        }
    }
}

/// A lock has one holder at a time: all time goes to the first who is recorded to have held it
/// then; and what is left.
pub(super) fn shared_out(
    holders: &[(ThreadId, Intervals)],
    intervals: &Intervals,
) -> (Vec<(ThreadId, Intervals)>, Intervals) {
    let mut left = intervals.clone();
    let mut held = Vec::new();
    for (holder, own) in holders {
        let own = own.and(&left);
        if !own.is_empty() {
            left = left.without(&own);
            held.push((*holder, own));
        }
    }
    (held, left)
}

impl<'a> Walk<'_, 'a> {
    /// What those did who held a lock one after another, put together by what they did, and what
    /// that waited for. Who waits for the lock itself does not hold it: such intervals are added to
    /// `left`, those in which nobody is known to.
    pub(super) fn of_holders(
        &mut self,
        held: &[(ThreadId, Intervals)],
        (lock, monitor): (Option<usize>, Option<&Monitor>),
        left: &mut Intervals,
    ) -> Vec<Link> {
        let mut did: BTreeMap<(Category, String, Next), Held<'a>> = BTreeMap::new();
        let mut back = Vec::new();
        for (holder, own) in held {
            if let Some(end) = self.end_at(*holder) {
                let mut link = self.link(LinkKind::Holder, (Some(*holder), None), links::HELD.fact(), own);
                link.end = Some(end);
                back.push(link);
                continue;
            }
            for doing in self.chains.doings_of_holder(*holder, own, monitor) {
                if lock.is_some_and(|lock| doing.next == Next::Lock(lock)) {
                    *left = left.or(&doing.intervals);
                    continue;
                }
                let key = (doing.category, doing.what.to_string(), doing.next.clone());
                match did.get_mut(&key) {
                    Some((first, _, known)) => {
                        *first = first.filter(|first| first == holder);
                        known.intervals = known.intervals.or(&doing.intervals);
                        known.span = known.span.or(doing.span);
                        known.stack = known.stack.or(doing.stack);
                    }
                    None => {
                        did.insert(key, (Some(*holder), *holder, doing));
                    }
                }
            }
        }
        let mut did: Vec<_> = did.into_values().collect();
        did.sort_by_key(|(_, _, doing)| std::cmp::Reverse(doing.intervals.length_ns()));
        let mut next = self.the_most(
            did,
            |(_, _, doing)| doing.intervals.clone(),
            |walk, (only, holder, doing)| {
                let mut link = walk.through(holder, |walk| walk.follow(holder, doing));
                // What only one of them did is shown with its name.
                if only.is_none() {
                    (link.kind, link.thread, link.tid) = (LinkKind::Holders, None, None);
                }
                link
            },
        );
        next.extend(back);
        next
    }
}
