//! What the stops of a JVM take of its run, and from where on that matters.
//!
//! `fathom gc` grades by these limits, and `fathom diagnose` has to explain whatever passes them
//! ([`crate::rules`], `jvm-stopped`): they stand here and nowhere else, so that the two never
//! disagree.

use fathom_recording::vocabulary::{fact, kind};
use fathom_recording::{ProcessId, Recording, SourceId};

use crate::intervals::Intervals;
use crate::limits::{LONG_MS, MATTERS_SHARE};
use crate::{Window, collections, stops};

/// Intervals shorter than this show no share of time, nanoseconds: a fragment of a log is nothing
/// but pauses.
const SPAN_NS: i64 = 10_000_000_000;
/// Shorter ones do where so many stops were logged: that the interval begins and ends with one of
/// them makes the share larger by one in as many at most.
const SHORTER: [(i64, usize); 2] = [(5_000_000_000, 20), (1_000_000_000, 50)];
/// What a healthy collector takes of a run. A part of the run is reported for itself only where its
/// stops take at least this share of the whole run: less than that, in however short a part, is a
/// time of load.
const QUIET_SHARE: f64 = 0.02;
/// Parts that a run is looked at in.
const PARTS: i64 = 60;
/// Steps of a part at which one may begin.
const STEPS: i64 = 10;

/// Whether so many stops in a run that was logged for so long show the share of its time that they
/// take.
pub(crate) fn shows_share(logged_ns: i64, stops: usize) -> bool {
    logged_ns >= SPAN_NS || SHORTER.iter().any(|(span_ns, many)| logged_ns >= *span_ns && stops >= *many)
}

/// The kinds of spans that are collections or stops.
pub(crate) const GC_AND_SAFEPOINTS: [&str; 4] =
    [kind::GC_PAUSE, kind::GC_CONCURRENT, kind::GC_STALL, kind::SAFEPOINT];

/// Whether the collections of a JVM are known: there are some, or the log would have them as it
/// names the collector. A log of safepoints alone shows stops and not what they were for.
pub(crate) fn shows_collections(recording: &Recording, jvm: ProcessId) -> bool {
    let collections = [kind::GC_PAUSE, kind::GC_CONCURRENT, kind::GC_STALL];
    let is_one = |kind| recording.spans_of(kind).any(|span| span.process() == jvm);
    let process = recording.processes.get(jvm.index());
    process.is_some_and(|process| process.fact(fact::COLLECTOR).is_some())
        || collections.into_iter().any(is_one)
}

/// The interval that a JVM's collections and stops were logged over; `None` where the log has no
/// timestamps.
pub(crate) fn logged(recording: &Recording, jvm: ProcessId) -> Option<Window> {
    let logged =
        GC_AND_SAFEPOINTS.into_iter().filter_map(|kind| collections::logged_ns(recording, kind, jvm));
    logged.reduce(|a, b| Window { from_ns: a.from_ns.min(b.from_ns), to_ns: a.to_ns.max(b.to_ns) })
}

/// The intervals that a JVM's collections and stops were logged over: all of the interval of
/// [`logged`], but for the time between two recordings in one file.
pub(crate) fn intervals(recording: &Recording, jvm: ProcessId) -> Intervals {
    let mut sources: Vec<SourceId> = Vec::new();
    let mut intervals: Vec<(i64, i64)> = Vec::new();
    for span in
        GC_AND_SAFEPOINTS.into_iter().flat_map(|kind| recording.spans_of(kind)).filter(|s| s.process() == jvm)
    {
        if sources.last() != Some(&span.source()) && !sources.contains(&span.source()) {
            sources.push(span.source());
        }
        intervals.push((span.t0_ns(), span.t1_ns()));
    }
    let runs = recording.spans_of(kind::RUN).filter(|run| run.process() == jvm);
    let runs: Vec<_> = runs.filter(|run| sources.contains(&run.source())).collect();
    if runs.len() < 2 {
        return logged(recording, jvm).map_or_else(Intervals::default, |run| Intervals::of_windows(&[run]));
    }
    intervals.extend(runs.iter().map(|run| (run.t0_ns(), run.t1_ns())));
    Intervals::of(intervals)
}

/// An interval in which a JVM was stopped for [`MATTERS_SHARE`] of the time or more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Heavy {
    pub(crate) window: Window,
    /// What of it was logged, milliseconds.
    pub(crate) ms: f64,
    /// Share of it that the JVM was stopped for.
    pub(crate) share: f64,
    /// Whether it is the whole run.
    pub(crate) whole: bool,
}

/// The stops of a JVM over its run.
pub(crate) struct Burden {
    /// All stops: collections and safepoints, what they share once.
    pub(crate) stops: Intervals,
    /// When collections and stops were logged: see [`intervals`].
    pub(crate) logged: Intervals,
    /// The run, or the part of it that is stopped most, where that matters.
    pub(crate) heavy: Option<Heavy>,
    /// Whether the run is long enough to be judged, and its stops take no more of it than a healthy
    /// collector does, none of them long.
    pub(crate) quiet: bool,
}

impl Burden {
    pub(crate) fn of(recording: &Recording, jvm: ProcessId) -> Self {
        let stops = stops::of_jvm(recording, jvm);
        let logged = intervals(recording, jvm);
        let heavy = heavy(&stops, &logged);
        let quiet = is_quiet(&stops, &logged);
        Self { stops, logged, heavy, quiet }
    }

    /// The stops of a second or more.
    pub(crate) fn long(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        self.stops.ranges().iter().copied().filter(|stop| length_ms(stop) >= LONG_MS)
    }
}

fn length_ms((from_ns, to_ns): &(i64, i64)) -> f64 {
    to_ns.saturating_sub(*from_ns) as f64 / 1e6
}

fn is_quiet(stops: &Intervals, logged: &Intervals) -> bool {
    let stopped_ns = stops.and(logged).length_ns() as f64;
    logged.length_ns() >= SPAN_NS
        && stopped_ns < QUIET_SHARE * logged.length_ns() as f64
        && stops.ranges().iter().all(|stop| length_ms(stop) < LONG_MS)
}

fn heavy(stops: &Intervals, logged: &Intervals) -> Option<Heavy> {
    let (first, last) = (logged.ranges().first()?, logged.ranges().last()?);
    let run = Window { from_ns: first.0, to_ns: last.1 };
    let within = |window: Window| logged.length_within_ns(window.from_ns, window.to_ns);
    let of = |window: Window, whole: bool| {
        let stopped = stops.length_within_ns(window.from_ns, window.to_ns);
        let share = stopped as f64 / within(window).max(1) as f64;
        Heavy { window, ms: within(window) as f64 / 1e6, share, whole }
    };
    if !shows_share(logged.length_ns(), stops.ranges().len()) {
        return None;
    }
    let whole = of(run, true);
    if whole.share >= MATTERS_SHARE {
        return Some(whole);
    }
    let part = of(densest(stops, run, within)?, false);
    let of_run = part.share * part.ms / whole.ms;
    (part.share >= MATTERS_SHARE && of_run >= QUIET_SHARE).then_some(part)
}

/// The interval with the most stopped time above [`MATTERS_SHARE`], of those that are at least one
/// of [`PARTS`] and
/// [`SPAN_NS`] long: the one of all that is both long and stopped much. It may begin at any of many
/// steps, so that it does
/// not depend on where the run began whether stops that lie together are seen together.
fn densest(stops: &Intervals, run: Window, logged_ns: impl Fn(Window) -> i64) -> Option<Window> {
    let step_ns = ((run.length_ns() / PARTS).max(SPAN_NS) / STEPS).max(1);
    let mut ends: Vec<i64> = Vec::new();
    let mut end_ns = run.from_ns;
    while end_ns < run.to_ns {
        end_ns = end_ns.saturating_add(step_ns).min(run.to_ns);
        ends.push(end_ns);
    }
    let (mut best, mut best_sum) = (None, 0.0);
    // What each interval from the beginning of the run on has beyond the share, and of those that
    // end early enough for what follows to be long enough the one with least: what lies behind it
    // is the best interval up to here.
    let mut beyond = vec![0.0_f64];
    let (mut least, mut least_ns) = (0.0_f64, run.from_ns);
    let mut from_ns = run.from_ns;
    for (i, end_ns) in ends.iter().copied().enumerate() {
        let step = Window { from_ns, to_ns: end_ns };
        let own = stops.length_within_ns(from_ns, end_ns) as f64 - MATTERS_SHARE * logged_ns(step) as f64;
        let sum = beyond[i] + own;
        beyond.push(sum);
        from_ns = end_ns;
        // The last step may be shorter than the others.
        let steps = if step.length_ns() < step_ns { STEPS + 1 } else { STEPS };
        let Some(early) = (i + 1).checked_sub(steps as usize) else { continue };
        if beyond[early] < least {
            (least, least_ns) = (beyond[early], ends[early - 1]);
        }
        if sum - least > best_sum {
            (best, best_sum) = (Some(Window { from_ns: least_ns, to_ns: end_ns }), sum - least);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built::Built;

    /// A run of `seconds` with pauses of `ms` at these seconds.
    fn heavy_of(seconds: f64, pauses: impl IntoIterator<Item = (f64, f64)>) -> Option<Heavy> {
        let mut built = Built::jvm("17", "G1", seconds);
        for (at, ms) in pauses {
            built.pause("Pause Young (Normal)", "", at, ms, &[]);
        }
        let jvm = built.jvm;
        Burden::of(&built.sealed(), jvm).heavy
    }

    #[test]
    fn a_short_run_matters_where_many_stops_were_logged_and_not_where_a_few_were() {
        let stops = |n: u32| (0..n).map(move |i| (f64::from(i) * 4.0 / f64::from(n), 1_600.0 / f64::from(n)));
        let heavy = heavy_of(4.0, stops(100)).unwrap();
        assert!(heavy.whole && (0.35..0.45).contains(&heavy.share), "{heavy:?}");
        assert_eq!(heavy_of(4.0, stops(8)), None);
        assert_eq!(heavy_of(0.5, (0..60).map(|i| (0.008 * f64::from(i), 4.0))), None);
        let of = |seconds: f64| (0..30).map(move |i| (f64::from(i) * seconds / 30.0, 13.0 * seconds));
        assert!(heavy_of(6.0, of(6.0)).is_some_and(|heavy| heavy.whole));
        assert_eq!(heavy_of(4.0, of(4.0)), None);
    }

    #[test]
    fn a_run_that_is_stopped_for_a_twentieth_matters_and_one_below_does_not() {
        let every_s = |ms: f64| (0..100).map(move |i| (f64::from(i), ms));
        let heavy = heavy_of(100.0, every_s(60.0)).unwrap();
        assert!(heavy.whole && (heavy.share - 0.06).abs() < 1e-9, "{heavy:?}");
        assert_eq!(heavy_of(100.0, every_s(15.0)), None);
    }

    #[test]
    fn a_part_that_is_stopped_much_is_found_in_a_quiet_run() {
        let part = (0..60).map(|i| (400.0 + f64::from(i), 400.0));
        let heavy = heavy_of(1_000.0, part).unwrap();
        assert!(!heavy.whole && heavy.share > 0.3, "{heavy:?}");
        assert!(
            heavy.window.from_ns >= 380_000_000_000 && heavy.window.to_ns <= 480_000_000_000,
            "{heavy:?}"
        );
    }

    #[test]
    fn a_part_is_found_wherever_in_the_run_it_begins() {
        // 60 stops of 10 ms in eight seconds: 6% of ten, and half of that of two tens that cut them
        // into halves.
        for begin in 0..13 {
            let stops = (0..60).map(|i| (f64::from(begin) + 0.5 + f64::from(i) * 0.13, 10.0));
            let heavy = heavy_of(26.5, stops).unwrap_or_else(|| panic!("from {begin} s on"));
            assert!(!heavy.whole && (heavy.share - 0.06).abs() < 0.002, "{begin}: {heavy:?}");
            assert!((heavy.ms - 10_000.0).abs() < 1e-3, "{begin}: {heavy:?}");
        }
    }

    #[test]
    fn a_quiet_run_is_one_that_is_stopped_for_little_and_never_for_long() {
        let quiet = |seconds: f64, pauses: &[(f64, f64)]| {
            let mut built = Built::jvm("17", "G1", seconds);
            for (at, ms) in pauses {
                built.pause("Pause Young (Normal)", "", *at, *ms, &[]);
            }
            let jvm = built.jvm;
            Burden::of(&built.sealed(), jvm).quiet
        };
        assert!(quiet(100.0, &[(0.0, 300.0), (99.0, 600.0)]));
        assert!(!quiet(100.0, &[(0.0, 300.0), (99.0, 1_000.0)]), "a stop of a second");
        assert!(!quiet(100.0, &[(0.0, 700.0), (50.0, 700.0), (99.0, 700.0)]), "2.1% of the time");
        assert!(!quiet(5.0, &[(0.0, 5.0), (4.9, 5.0)]), "a fragment");
    }

    #[test]
    fn the_time_between_two_recordings_in_one_file_is_no_part_of_the_run() {
        const YEAR_S: f64 = 365.0 * 86_400.0;
        let mut built = Built::jvm("15", "G1", 50.0);
        let covers_ns = Some((0, (YEAR_S as i64 + 50) * 1_000_000_000));
        for source in &mut built.recording.sources {
            (source.format, source.covers_ns) = ("jfr".into(), covers_ns);
        }
        built.span(kind::RUN, "run", YEAR_S, 50_000.0, &[], &[]);
        for i in 0..50 {
            built.pause("Pause Young (Normal)", "", f64::from(i), 100.0, &[]);
            built.pause("Pause Young (Normal)", "", YEAR_S + f64::from(i), 100.0, &[]);
        }
        let (jvm, recording) = (built.jvm, built.sealed());
        let heavy = Burden::of(&recording, jvm).heavy.unwrap();
        assert!(
            heavy.whole && (heavy.share - 0.1).abs() < 1e-9 && (heavy.ms - 100_000.0).abs() < 1e-3,
            "{heavy:?}"
        );
        let report = crate::metrics::gc::report(&recording, None);
        assert_eq!(report.jvms[0].covers_s, Some(100.0));
        let d = crate::diagnose(&recording, &crate::Options::default()).unwrap();
        assert_eq!(d.findings[0].rule, "jvm-stopped", "{}", d.headline);
        assert!((d.findings[0].cost_ms - 10_000.0).abs() < 1e-3, "{}", d.findings[0].cost_ms);
        assert!((d.seen.judged_ms - 100_000.0).abs() < 1e-3, "{}", d.seen.judged_ms);
    }

    #[test]
    fn a_time_of_load_and_a_fragment_show_no_share() {
        assert_eq!(heavy_of(3_600.0, (0..5).map(|i| (f64::from(i), 150.0))), None);
        assert_eq!(heavy_of(3.0, (0..3).map(|i| (f64::from(i), 500.0))), None);
    }
}
