//! What a diagnosis comes to: "healthy" only where loss was looked for with the means to see it.

use fathom_recording::ProcessId;

use crate::intervals::Intervals;
use crate::limits::LONG_MS;
use crate::sight::Sights;
use crate::waits::Category;
use crate::{
    COVERED, Case, Confidence, FewStops, Finding, Layer, MATTERS_SHARE, Part, PartOf, Sight, Status, Window,
};

/// A run that is shorter is a fragment: a few collections tell nothing about the collector, and a
/// log that is truncated at its head shows none of the long ones. Milliseconds.
const FRAGMENT_MS: f64 = 10_000.0;
/// Share of the time in which threads have work for which they may wait for each other in health.
const HELD_UP: f64 = 0.5;

/// The status. `steady`: what a series covers in which a dip would have been seen and none was.
pub(crate) fn of(
    case: &Case<'_>,
    sights: &Sights<'_>,
    jvms: &[ProcessId],
    findings: &[Finding],
    steady: Option<Window>,
) -> Status {
    let measured = case.loss.measure.is_some();
    let lost_nothing = || {
        is_steady(case, steady)
            && !jvms.is_empty()
            && jvms.iter().all(|jvm| stops_are_few(case, sights, *jvm))
    };
    if !findings.is_empty() {
        // What acts all along and is but possible takes nothing from a series that never fell.
        let may_be = |f: &Finding| f.confidence == Confidence::ConsistentWith && f.layer != Layer::Gc;
        match case.whole_run && findings.iter().all(may_be) && lost_nothing() {
            true => Status::Healthy,
            false => Status::Found,
        }
    } else if jvms.is_empty() && !measured {
        Status::NothingToJudge
    } else if case.loss.lost_ms > 0.0 {
        Status::NotExplained
    } else if lost_nothing() {
        Status::Healthy
    } else {
        Status::NoCauseFound
    }
}

/// Whether a level that never changes may be too low all along: that of a pool which is too small,
/// or of threads that wait for each other for most of the time in which they have work. Who sleeps
/// may do so by choice, to keep a pace.
pub(crate) fn may_be_held_up(largest: &[Part]) -> bool {
    use Category::{Lock, Monitor, Waiting};
    let threads = || largest.iter().filter(|part| part.of == PartOf::ApplicationThreads);
    let waits = |part: &Part| matches!(part.category, Lock | Monitor | Waiting) && part.share >= HELD_UP;
    threads().any(|part| !part.details.is_empty() || waits(part))
}

/// Whether the series covers the run. What it left out for warm-up was not looked at.
fn is_steady(case: &Case<'_>, steady: Option<Window>) -> bool {
    let run = Intervals::of_windows(&case.slow);
    let covered = steady.map(|w| Intervals::of_windows(&[w]).and(&run).length_ns());
    covered.is_some_and(|covered| covered as f64 >= COVERED * run.length_ns() as f64)
}

/// Whether the stops of a JVM were seen and take less than what matters, none of them long.
fn stops_are_few(case: &Case<'_>, sights: &Sights<'_>, jvm: ProcessId) -> bool {
    let run = Intervals::of_windows(&case.slow);
    let run_ms = run.length_ms();
    let seen = |sight: Sight| {
        let coverage = sights.coverage(sight, jvm);
        coverage.lossy.is_empty() && coverage.intervals.and(&run).length_ms() >= COVERED * run_ms
    };
    let stops = crate::stops::of_jvm(case.recording, jvm);
    let longest =
        stops.ranges().iter().map(|(from, to)| (to.saturating_sub(*from)) as f64 / 1e6).fold(0.0, f64::max);
    seen(Sight::Collections) && stops.and(&run).length_ms() < MATTERS_SHARE * run_ms && longest < LONG_MS
}

/// The stops of the JVM that was stopped most, where those of all were seen and are few; `None`
/// otherwise.
pub(crate) fn few_stops(case: &Case<'_>, sights: &Sights<'_>, jvms: &[ProcessId]) -> Option<FewStops> {
    if jvms.is_empty() || !jvms.iter().all(|jvm| stops_are_few(case, sights, *jvm)) {
        return None;
    }
    let run = Intervals::of_windows(&case.slow);
    if run.length_ms() < FRAGMENT_MS {
        return None;
    }
    let stops = jvms.iter().map(|jvm| crate::stops::of_jvm(case.recording, *jvm).and(&run));
    let most = stops.max_by_key(Intervals::length_ns)?;
    let longest = most.ranges().iter().map(|(from, to)| to.saturating_sub(*from)).max().unwrap_or(0);
    Some(FewStops {
        share: most.length_ms() / run.length_ms().max(f64::MIN_POSITIVE),
        longest_ms: longest as f64 / 1e6,
    })
}
