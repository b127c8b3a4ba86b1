//! A burst of compile tasks within a slow window, and what it can have cost.

use std::collections::{BTreeMap, HashSet};

use fathom_recording::ProcessId;

use super::super::jit_case::{JitCase, Task};
use crate::intervals::Intervals;
use crate::{Case, Window};

/// Compile tasks per second from which they are a burst. A warmed-up service queues less than one a
/// second (measured:
/// 0.3 a second over minutes of a database server); the seed burst queued 190.
pub(super) const BURST_PER_S: f64 = 5.0;

/// And so many times the baseline's rate.
pub(super) const TIMES_BASE: f64 = 5.0;

/// Fewer tasks than this are no burst, whatever their rate.
pub(super) const MIN_TASKS: usize = 30;

/// Or: the top compiler busy for this share of the window …
pub(super) const BUSY: f64 = 0.5;

/// … and this much more than in the baseline: few methods, each long to compile.
pub(super) const BUSY_MORE: f64 = 0.3;

/// Fewest tasks of such a window.
pub(super) const MIN_BUSY_TASKS: usize = 10;

/// Bins in which a burst is looked for, nanoseconds.
pub(super) const BIN_NS: i64 = 1_000_000_000;

/// A burst may begin this long before the dip shows: throughput is reported in ticks of a second or
/// more, and the clocks of two files may be apart by as much.
pub(super) const LEAD_NS: i64 = 3_000_000_000;

/// Intervals of the burst closer than this are one: between its tiers a method runs on, counted and
/// slow.
pub(super) const BRIDGE_NS: i64 = 1_000_000_000;

/// Of a burst's tasks, how many its densest part must hold to stand for it.
pub(super) const MOST_TASKS: f64 = 0.6;

/// A burst within one slow window.
pub(super) struct Burst<'a> {
    pub(super) window: Window,
    pub(super) tasks: Vec<Task<'a>>,
    /// Where its tasks were asked for, waiting or being compiled, within the window.
    pub(super) ranges: Intervals,
    /// When it began.
    pub(super) onset_ns: i64,
}

impl<'a> Burst<'a> {
    pub(super) fn in_window(jit: &JitCase<'_, 'a>, window: Window, looping: &HashSet<&str>) -> Option<Self> {
        let early = Window { from_ns: window.from_ns.saturating_sub(LEAD_NS), to_ns: window.to_ns };
        let asked: Vec<Task<'a>> =
            jit.asked_in(&[early]).filter(|t| !looping.contains(t.method())).copied().collect();
        let base_per_s = jit.per_s(&jit.case.base);
        let limit = BURST_PER_S.max(TIMES_BASE * base_per_s);
        let mut bins: BTreeMap<i64, usize> = BTreeMap::new();
        for task in &asked {
            *bins.entry(task.queued_ns.div_euclid(BIN_NS)).or_default() += 1;
        }
        bins.retain(|_, n| *n as f64 >= limit);
        let in_bin = |t: &Task<'_>| bins.contains_key(&t.queued_ns.div_euclid(BIN_NS));
        let dense: Vec<Task<'a>> = asked.iter().filter(|t| in_bin(t)).copied().collect();
        let (busy, usual) = (jit.busy_share("c2", &[window]), jit.busy_share("c2", &jit.case.base));
        let tasks = if dense.len() >= MIN_TASKS {
            dense
        } else if asked.len() >= MIN_BUSY_TASKS && busy >= BUSY && busy >= usual + BUSY_MORE {
            asked
        } else {
            return None;
        };
        let onset_ns = tasks.first()?.queued_ns;
        // Wholly before the window it is the end of another story.
        tasks.iter().rfind(|t| t.done_ns >= window.from_ns)?;
        let at_work = tasks.iter().map(|t| {
            let bin = t.queued_ns.div_euclid(BIN_NS).saturating_add(1).saturating_mul(BIN_NS);
            (t.queued_ns, t.done_ns.max(if bins.is_empty() { t.done_ns } else { bin }))
        });
        let bridged = Intervals::of(at_work.map(|(from, to)| (from, to.saturating_add(BRIDGE_NS))));
        let ranges = bridged.and(&Intervals::of_windows(&[window]));
        (!ranges.is_empty()).then_some(Self { window, tasks, ranges, onset_ns })
    }

    /// The part of its intervals in which more tasks came than on average, where most of them came
    /// then; else all of them.
    pub(super) fn densest(&self) -> Intervals {
        let of = |t_ns: i64| t_ns.div_euclid(BIN_NS);
        let (Some(first), Some(last)) = (self.tasks.first(), self.tasks.last()) else {
            return self.ranges.clone();
        };
        let mut bins: BTreeMap<i64, f64> =
            (of(first.queued_ns)..=of(last.queued_ns)).map(|b| (b, 0.0)).collect();
        self.tasks.iter().for_each(|task| *bins.entry(of(task.queued_ns)).or_default() += 1.0);
        let mean = self.tasks.len() as f64 / bins.len() as f64;
        // The interval of bins with the greatest sum above the mean (Kadane).
        let (mut from, mut sum, mut best) = (*bins.keys().next().unwrap_or(&0), 0.0, (0.0, 0, 0));
        for (bin, tasks) in &bins {
            if sum <= 0.0 {
                (from, sum) = (*bin, 0.0);
            }
            sum += tasks - mean;
            if sum > best.0 {
                best = (sum, from, *bin);
            }
        }
        let held: f64 = bins.range(best.1..=best.2).map(|(_, tasks)| tasks).sum();
        if best.0 <= 0.0 || held < MOST_TASKS * self.tasks.len() as f64 {
            return self.ranges.clone();
        }
        let end = best.2.saturating_add(1).saturating_mul(BIN_NS);
        Intervals::of([(best.1.saturating_mul(BIN_NS), end)]).and(&self.ranges)
    }
}

/// The second with most tasks.
pub(super) fn busiest(jit: &JitCase<'_, '_>) -> (i64, usize) {
    let mut bins: BTreeMap<i64, usize> = BTreeMap::new();
    for task in &jit.tasks {
        *bins.entry(task.queued_ns.div_euclid(BIN_NS)).or_default() += 1;
    }
    let most = bins.into_iter().max_by_key(|(bin, n)| (*n, std::cmp::Reverse(*bin)));
    most.map_or((0, 0), |(bin, n)| (bin.saturating_mul(BIN_NS), n))
}

/// What of the loss fell into the burst. Without a series: its length less the time in which the
/// JVM was stopped anyway, unless the loss was measured on those stops.
pub(super) fn cost_ms(case: &Case<'_>, jvm: ProcessId, ranges: &Intervals) -> f64 {
    case.lost_during_ms(ranges).unwrap_or_else(|| match case.loss.lost_ms > 0.0 {
        true => 0.0,
        false => ranges.length_ms() - case.stopped_ms(jvm, &ranges.windows()),
    })
}
