//! What a thread did while it held a monitor.
//!
//! Short waits are known by their sums alone, which the ledger spreads over all that a thread did.
//! A monitor is held within the method that took it: of the sums only those show what a holder did
//! whose stacks lie within such a method.

use std::collections::BTreeMap;

use fathom_recording::{StackId, ThreadId};

use super::Chains;
use super::thread_activity::{Doing, EndKey, Next, TRANSPARENT, spent};
use crate::Fact;
use crate::facts::Value;
use crate::intervals::Intervals;
use crate::waits::Category;
use crate::waits::place::{Seen, seen_within};

/// A monitor, by what it is waited for under in the ledger and the methods that take it.
#[derive(Clone, Debug)]
pub(crate) struct Monitor {
    pub(crate) category: Category,
    pub(crate) places: Vec<String>,
}

impl<'a> Chains<'a> {
    /// What a thread did in some intervals, in which it held a monitor where one is given.
    pub(super) fn doings_of_holder(
        &self,
        thread: ThreadId,
        intervals: &Intervals,
        held: Option<&Monitor>,
    ) -> Vec<Doing<'a>> {
        let doings = self.doings(thread, intervals);
        let Some(monitor) = held else { return doings };
        let is_spread = |doing: &Doing<'_>| {
            let spread = doing.span.is_none() && doing.stack.is_none();
            let waits = !doing.category.is_running() && !doing.category.is_stopped();
            spread
                && waits
                && !matches!(doing.category, Category::Unknown | Category::RunQueue | Category::Frozen)
        };
        let (spread, mut doings): (Vec<_>, Vec<_>) = doings.into_iter().partition(is_spread);
        let within = self.short_waits_within(thread, intervals, monitor);
        if within.is_empty() {
            doings.extend(spread);
        } else {
            let all = spread.iter().fold(Intervals::default(), |all, doing| all.or(&doing.intervals));
            doings.extend(shared(within, &all));
        }
        doings.sort_by_key(|doing| std::cmp::Reverse(doing.intervals.length_ns()));
        doings
    }

    /// Short waits of a thread within the methods that take a monitor, by category and what they
    /// were, nanoseconds. Those for the monitor itself are left out.
    fn short_waits_within(
        &self,
        thread: ThreadId,
        intervals: &Intervals,
        monitor: &Monitor,
    ) -> BTreeMap<(Category, String), Short> {
        let ends = intervals.ranges().first().map(|s| s.0).zip(intervals.ranges().last().map(|s| s.1));
        let (from, to) = ends.unwrap_or_default();
        let cpu = self.recording.on_cpu_kind();
        let mut within: BTreeMap<(Category, String), Short> = BTreeMap::new();
        for sample in self.intervals.samples(thread) {
            if Some(sample.kind) == cpu || !(from..=to).contains(&sample.t_ns) {
                continue;
            }
            let category = self.stacks.category(sample.stack());
            let Some(stack) = sample.stack().filter(|_| category != monitor.category) else { continue };
            let is_within = |place: &String| seen_within(self.recording, stack, place) == Seen::Within;
            if category.is_running()
                || category == Category::RunQueue
                || !monitor.places.iter().any(is_within)
            {
                continue;
            }
            let is_own = |name: &str| TRANSPARENT.iter().any(|prefix| name.starts_with(prefix));
            let method = crate::waits::place::java_method(self.recording, Some(stack), is_own);
            let what = spent(category).with("place", method.map(Value::name));
            let short = within.entry((category, what.sentence()));
            short.or_insert_with(|| Short { what, ns: 0, stack }).ns += sample.weight.max(0);
        }
        within.retain(|_, short| short.ns > 0);
        within
    }
}

/// Short waits of one sort: what they were, how long in all, and the stack of one.
struct Short {
    what: Fact,
    ns: i64,
    stack: StackId,
}

/// Shares intervals out among what was done in them, in proportion.
fn shared<'a>(within: BTreeMap<(Category, String), Short>, intervals: &Intervals) -> Vec<Doing<'a>> {
    let all: i128 = within.values().map(|short| i128::from(short.ns)).sum();
    let length = i128::from(intervals.length_ns());
    let (mut sum, mut cut, mut left) = (0_i128, 0_i128, intervals.clone());
    let mut doings = Vec::new();
    for ((category, _), Short { what, ns, stack }) in within {
        sum += i128::from(ns);
        let until = length * sum / all.max(1);
        let (own, rest) = left.split_at_ns((until - cut) as i64);
        (left, cut) = (rest, until);
        let next = match category {
            Category::Disk => Next::Disk,
            Category::Network | Category::Dns | Category::Child => Next::End(EndKey::Outside),
            Category::Sleep | Category::TimedWait => Next::End(EndKey::Choice),
            _ => Next::End(EndKey::Unknown),
        };
        if !own.is_empty() {
            let (what, stack) = (what.into(), Some(stack));
            doings.push(Doing { category, what, intervals: own, span: None, stack, next });
        }
    }
    doings
}
