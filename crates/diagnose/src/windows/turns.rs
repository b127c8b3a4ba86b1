//! Progress that a live recording shows by the sleeps of its threads, where nothing counts
//! requests: a client that thinks between two calls, a worker that rests between two tasks.
//!
//! ```text
//! sleep of application threads in one method ─▶ time asleep ÷ length of one sleep ─▶ turns a second
//! ```
//!
//! Who sleeps for a fixed time between operations does one of them for each sleep: that it sleeps
//! less is that it gets less done, and never that it sleeps too much.
//!
//! Limits. Only sleeps that are as long in slow windows as in the baseline count turns: who sleeps
//! until a time, or backs off, sleeps longer or shorter. Where a recorder sums up most sleeps of a
//! busy baseline, those that are left are the long ones: then it is only known that they did not
//! become longer. That fewer turns were made is a loss only where each took longer, which the
//! ledger of threads says ([`crate::growth`]).

use std::collections::BTreeMap;

use fathom_recording::vocabulary::kind;
use fathom_recording::{ProcessId, Recording};

use super::change::by_place;
use super::dips::{self, Found};
use super::exchanges::{lost, spread, ticks};
use super::lengths::are_no_longer;
use super::progress::{Progress, TURNS};
use crate::chain::Chains;
use crate::places::Places;
use crate::waits::Category;
use crate::{Window, stats};

const TICK_NS: i64 = 500_000_000;
/// Turns a second below which there is no level that could fall.
const LEAST_PER_S: f64 = 20.0;
/// Share of the time asleep that must have been recorded one by one for lengths to be those of all.
const MOST: f64 = 0.5;

/// Sleep in one method.
struct Sleeps {
    /// Nanoseconds in each tick.
    asleep_ns: Vec<f64>,
    /// Of each that was recorded by itself: when it ended, and its length, nanoseconds.
    each: Vec<(i64, i64)>,
}

/// The turns of the JVM that lost most of them, with the windows in which it did; `None` where no
/// JVM's fell.
pub(super) fn find<'a>(
    recording: &'a Recording,
    chains: &Chains<'a>,
    jvms: &[ProcessId],
) -> Option<(Progress, Found)> {
    let of_each = jvms.iter().filter_map(|jvm| of_jvm(recording, chains, *jvm));
    of_each.max_by(|a, b| lost(&a.0, &a.1).total_cmp(&lost(&b.0, &b.1)))
}

fn of_jvm<'a>(recording: &'a Recording, chains: &Chains<'a>, jvm: ProcessId) -> Option<(Progress, Found)> {
    let watched = || recording.spans_of(kind::SCHED_WATCHED).filter(|span| span.process() == jvm);
    let from_ns = watched().map(|span| span.t0_ns()).min()?;
    let to_ns = watched().map(|span| span.t1_ns()).max()?;
    let grid = ticks(from_ns, to_ns, TICK_NS)?;
    let mut places = Places::of_recording(recording);
    let mut sleeps: BTreeMap<&'a str, Sleeps> = BTreeMap::new();
    for thread in chains.application_threads(jvm) {
        let Some(by_category) = chains.by_category(thread) else { continue };
        let own = &by_category[Category::Sleep.index()];
        let short = places.of_short_waits(chains, thread);
        by_place(
            chains,
            &mut places,
            (thread, Category::Sleep),
            own,
            &short,
            |place, (from, to), by_itself| {
                let new = || Sleeps { asleep_ns: vec![0.0; grid.stalled.len()], each: Vec::new() };
                let sleeps = sleeps.entry(place).or_insert_with(new);
                let ns = to.saturating_sub(from);
                spread(&mut sleeps.asleep_ns, &grid, (from, to), ns as f64);
                sleeps.each.extend(by_itself.then_some((to, ns)));
            },
        );
    }
    sleeps.remove("");
    let turns = sleeps.into_iter().filter_map(|(place, sleeps)| {
        let progress = sleeps.progress(&grid)?;
        let mean = stats::mean(&progress.values.iter().flatten().copied().collect::<Vec<_>>())?;
        (mean >= LEAST_PER_S).then_some((mean, place, progress))
    });
    let (_, place, mut progress) = turns.max_by(|a, b| a.0.total_cmp(&b.0))?;
    progress.measured_on =
        format!("turns of threads of {} between sleeps in {place}", recording.process_name(jvm));
    // Found again by its name and in its unit, which the statement of how it was found has.
    dips::find(&progress).map(|found| (progress, found))
}

impl Sleeps {
    /// Turns a second; `None` where they do not become fewer, or sleeps are not as long then as in
    /// the baseline.
    fn progress(&self, grid: &Progress) -> Option<Progress> {
        let mut progress = Progress { unit: TURNS.into(), ..grid.clone() };
        progress.values = self.asleep_ns.iter().map(|ns| Some(*ns)).collect();
        let found = dips::find(&progress).filter(|found| !found.slow.is_empty())?;
        let (slow, base) = (self.lengths(&found.slow), self.lengths(&found.base));
        let one_by_one = base.iter().sum::<f64>();
        let asleep = progress.within(&found.base).flatten().sum::<f64>();
        let are_alike =
            are_no_longer(&slow, &base) && (are_no_longer(&base, &slow) || one_by_one < MOST * asleep);
        let length_ns = stats::median(&slow).filter(|ns| *ns > 0.0 && are_alike)?;
        let a_second = 1e9 / TICK_NS as f64;
        progress.values.iter_mut().flatten().for_each(|ns| *ns *= a_second / length_ns);
        Some(progress)
    }

    /// The lengths of those that ended in some windows, nanoseconds, in order.
    fn lengths(&self, windows: &[Window]) -> Vec<f64> {
        let within = |t_ns: &i64| windows.iter().any(|w| (w.from_ns..w.to_ns).contains(t_ns));
        stats::sorted(self.each.iter().filter(|(t_ns, _)| within(t_ns)).map(|(_, ns)| *ns as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::growth::tests::{SLEEP, Service, is_slow};
    use fathom_recording::vocabulary::kind;

    /// Threads that sleep for 5 ms, or for `slow_ms` while it is slow, between operations of 15 ms,
    /// or of `held_ms`.
    fn found(slow_ms: i64, held_ms: i64) -> Option<(Progress, Found)> {
        let mut service = Service::uncounted();
        let sleep = service.stack(&SLEEP);
        for i in 0..4 {
            let thread = service.thread(&format!("client-{i}"));
            let mut at = 0;
            while at < 60_000 {
                let (ms, busy) = if is_slow(at / 1_000) { (slow_ms, held_ms) } else { (5, 15) };
                service.row(kind::SCHED_OFF, thread, (at, at + ms), Some(sleep), &[]);
                at += ms + busy;
            }
        }
        let (jvm, recording) = (service.built.jvm, service.built.sealed());
        find(&recording, &Chains::of(&recording), &[jvm])
    }

    #[test]
    fn who_sleeps_as_long_each_time_and_less_in_all_gets_less_done() {
        let (progress, found) = found(5, 95).expect("fewer turns");
        let [slow] = found.slow[..] else { panic!("{:?}", found.slow) };
        let seconds = |ns: i64| (ns - progress.from_ns) / 1_000_000_000;
        assert_eq!((seconds(slow.from_ns), seconds(slow.to_ns)), (20, 40));
        assert!((progress.values[0].expect("it was seen") - 200.0).abs() < 2.0);
        assert!((progress.values[60].expect("it was seen") - 40.0).abs() < 5.0);
    }

    #[test]
    fn sleep_that_becomes_longer_or_shorter_counts_no_turns() {
        assert!(found(1, 95).is_none());
        assert!(found(60, 15).is_none());
        assert!(found(5, 15).is_none(), "as ever");
    }
}
