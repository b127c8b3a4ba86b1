//! Slow windows without a series: stops of the JVM that are far beyond what is usual in its run, or
//! intervals in which it was stopped much more than usual.
//!
//! Where the JVM is stopped a good part of the time throughout, a window would hide that: then the
//! whole run is looked at.

use fathom_recording::{ProcessId, Recording};

use crate::burden::shows_share;
use crate::facts::{Value, windows as words};
use crate::intervals::Intervals;
use crate::known::Known;
use crate::limits::{LONG_MS, MATTERS_SHARE, stands_out};
use crate::stops::{of_jvm, standstills};
use crate::{Fact, Statement, Window, stats};

/// Stops from which a median is worth anything. With fewer, a stop must last [`ALONE_MS`] to be
/// reported.
const ENOUGH: usize = 5;
/// See [`ENOUGH`], milliseconds.
const ALONE_MS: f64 = 1_000.0;
/// Beyond this share of the run spent in stops other than the outstanding ones, the run is slow as
/// a whole, unless the outstanding ones take more still.
const THROUGHOUT: f64 = 0.1;
/// An interval with much stopping is no window where the stops outside of it alone would matter and
/// are as much as this of those within: a third of all and more would be attributed to nothing.
const REST_SHARE: f64 = 0.5;
/// A rest of the run of at least this length is a baseline, nanoseconds, and so is a shorter one
/// that is as much of the slow windows: half a second next to a stop of thirty holds nothing but
/// the collections around it.
const BASE_NS: i64 = 10_000_000_000;
const BASE_SHARE: f64 = 0.1;
/// A run is looked at in so many parts for intervals with much stopping …
const PARTS: i64 = 60;
/// … none shorter than this, nanoseconds: a part must hold several usual stops.
const PART_NS: i64 = 5_000_000_000;
/// A part is slow when stopped for at least this share of it …
const PART_STOPPED: f64 = 0.2;
/// … and so many times the median part.
const PART_TIMES: f64 = 4.0;

/// Why a run without slow windows has none: no stop stands out, or some do in a run that is stopped
/// so much throughout that a window around them would hide it. `series`: why no series shows any.
pub(crate) fn why_none(
    recording: &Recording,
    jvms: &[ProcessId],
    series: &[Statement],
    known: &Known<'_>,
) -> Fact {
    let none = words::NO_STOP.fact().with("series", Value::from(series));
    let all = jvms.iter().map(|jvm| (of_jvm(recording, *jvm), *jvm));
    let most = all.max_by(|a, b| a.0.length_ns().cmp(&b.0.length_ns()));
    let Some((stops, jvm)) = most else { return none };
    let (outstanding, _) = outstanding(&stops);
    if outstanding.is_empty() {
        return none;
    }
    // Of the time that the stops were logged over, as the finding about them has it.
    let logged = &known.stops(jvm).burden.logged;
    let stopped = stops.and(logged).length_ms() / logged.length_ms().max(f64::MIN_POSITIVE);
    let throughout = words::STOPPED_THROUGHOUT.is(Value::share(stopped)).with("series", Value::from(series));
    let throughout = throughout.with("stops", Value::count(outstanding.len()));
    throughout.with("jvm", Value::name(recording.process_name(jvm)))
}

/// Slow windows of JVMs within what is covered, with how they were found; `None` when nothing
/// stands out.
pub(crate) fn find(
    recording: &Recording,
    jvms: &[ProcessId],
    covers: Window,
    known: &Known<'_>,
) -> Option<(Vec<Window>, Fact)> {
    let mut found: Vec<Window> = Vec::new();
    let mut hows = Vec::new();
    let stacks = known.stacks();
    for jvm in jvms {
        let name = recording.process_name(*jvm);
        let stops = standstills(recording, stacks, *jvm);
        let known = known.stops(*jvm);
        let crowded = || {
            crowded(&stops, covers)
                .filter(|(windows, _)| !rest_matters(&stops, &known.burden.logged, windows))
        };
        let Some((windows, how)) = long(&stops, covers).or_else(crowded) else { continue };
        hows.push(how.with("jvm", Value::name(name)));
        found.extend(windows);
    }
    if found.is_empty() {
        return None;
    }
    let windows = Intervals::of_windows(&found).windows();
    Some((windows, words::FOUND_ON_STOPS.fact().with("stops", Value::list(hows))))
}

/// Whether the rest of a run, without some windows, is no baseline: its stops matter, and are much
/// compared with those of the windows.
fn rest_matters(stops: &Intervals, logged: &Intervals, windows: &[Window]) -> bool {
    if !shows_share(logged.length_ns(), stops.ranges().len()) {
        return false;
    }
    let windows = Intervals::of_windows(windows);
    let rest_ms = logged.without(&windows).length_ms();
    let within_ms = stops.and(&windows).length_ms();
    let rest_stopped_ms = stops.length_ms() - within_ms;
    rest_stopped_ms >= MATTERS_SHARE * rest_ms && rest_stopped_ms >= REST_SHARE * within_ms
}

/// What is left of a run apart from its slow windows, as a baseline: nothing where that is too
/// short to show what is usual.
pub(super) fn baseline_apart_from(run: &Intervals, slow: &[Window]) -> Vec<Window> {
    let slow = Intervals::of_windows(slow);
    let rest = run.without(&slow);
    let shows =
        rest.length_ns() >= BASE_NS || rest.length_ns() as f64 >= BASE_SHARE * slow.length_ns() as f64;
    if shows { rest.windows() } else { Vec::new() }
}

/// Windows with all stops of a second and more, which are reported in any case, and what that adds
/// to how the others were found.
pub(super) fn with_long(
    recording: &Recording,
    jvms: &[ProcessId],
    windows: &[Window],
) -> (Vec<Window>, Option<Fact>) {
    let known = Intervals::of_windows(windows);
    let is_long = |stop: &(i64, i64)| window(stop).length_ns() as f64 / 1e6 >= LONG_MS;
    let is_new = |(from, to): &(i64, i64)| known.length_within_ns(*from, *to) < to.saturating_sub(*from);
    let of = |jvm: &ProcessId| of_jvm(recording, *jvm).ranges().to_vec();
    let more: Vec<(i64, i64)> =
        jvms.iter().flat_map(of).filter(|stop| is_long(stop) && is_new(stop)).collect();
    let added = words::MORE_STOPS.is(Value::count(more.len())).with("limit", Value::ms(LONG_MS));
    let added = (!more.is_empty()).then_some(added);
    (known.or(&Intervals::of(more)).windows(), added)
}

fn window((from_ns, to_ns): &(i64, i64)) -> Window {
    Window { from_ns: *from_ns, to_ns: *to_ns }
}

/// The stops far beyond the usual, and the lengths of all, milliseconds, sorted.
fn outstanding(stops: &Intervals) -> (Vec<Window>, Vec<f64>) {
    let ms = |stop: &(i64, i64)| window(stop).length_ns() as f64 / 1e6;
    let lengths = stats::sorted(stops.ranges().iter().map(ms));
    let usual = stats::median(&lengths).unwrap_or(0.0);
    let outstanding = |stop: &(i64, i64)| match lengths.len() {
        n if n < ENOUGH => ms(stop) >= ALONE_MS,
        _ => stands_out(ms(stop), usual),
    };
    (stops.ranges().iter().filter(|s| outstanding(s)).map(window).collect(), lengths)
}

/// Single stops far beyond the usual.
fn long(stops: &Intervals, covers: Window) -> Option<(Vec<Window>, Fact)> {
    let (windows, lengths) = outstanding(stops);
    let usual = stats::median(&lengths)?;
    let stopped: f64 = windows.iter().map(|w| w.length_ns() as f64 / 1e6).sum();
    let rest = stops.length_ms() - stopped;
    let throughout = rest > THROUGHOUT * covers.length_ns() as f64 / 1e6 && rest > stopped;
    if windows.is_empty() || throughout {
        return None;
    }
    let longest = lengths.last().copied().unwrap_or(0.0);
    let these = Value::count(windows.len());
    let how = match lengths.len() {
        n if n < ENOUGH => words::SOME_STOPS.is(these).with("limit", Value::ms(ALONE_MS)),
        _ => words::LONG_STOPS.is(these).with("usual", Value::ms(usual)),
    };
    Some((windows, how.with("all", Value::count(lengths.len())).with("longest", Value::ms(longest))))
}

/// Parts of the run in which stops take much more than in the rest.
fn crowded(stops: &Intervals, covers: Window) -> Option<(Vec<Window>, Fact)> {
    let part_ns = (covers.length_ns() / PARTS).max(PART_NS);
    let parts = usize::try_from(covers.length_ns() / part_ns).ok().filter(|n| *n >= 10)?;
    let at = |i: usize| covers.from_ns.saturating_add((i as i64).saturating_mul(part_ns));
    let part = |i: usize| Window { from_ns: at(i), to_ns: at(i + 1) };
    let shares: Vec<f64> = (0..parts)
        .map(|i| stops.length_within_ns(part(i).from_ns, part(i).to_ns) as f64 / part_ns as f64)
        .collect();
    let usual = stats::median(&stats::sorted(shares.iter().copied()))?;
    let limit = PART_STOPPED.max(PART_TIMES * usual);
    let slow: Vec<Window> = (0..parts).filter(|i| shares[*i] >= limit).map(part).collect();
    let windows = Intervals::of_windows(&slow).windows();
    let how = words::CROWDED.is(Value::count(windows.len())).with("limit", Value::share(limit));
    let how = how.with("usual", Value::share(usual));
    (!windows.is_empty()).then_some((windows, how))
}

/// Share of the rest of a run that stops must take for it to be no baseline: a JVM that is stopped
/// for half of the time is not well, whatever longer stops it has as well.
const SICK: f64 = 0.5;

/// That a JVM is stopped for so much of the rest of its run, without windows, that nothing of it is
/// usual.
pub(super) fn rest_is_sick(
    recording: &Recording,
    jvms: &[ProcessId],
    run: &Intervals,
    slow: &[Window],
) -> Option<Fact> {
    let rest = run.without(&Intervals::of_windows(slow));
    let share = |jvm: &ProcessId| {
        of_jvm(recording, *jvm).and(&rest).length_ms() / rest.length_ms().max(f64::MIN_POSITIVE)
    };
    let most = jvms.iter().map(share).max_by(f64::total_cmp).filter(|share| *share >= SICK)?;
    Some(words::REST_STOPPED.is(Value::share(most)))
}

#[cfg(test)]
mod tests {
    use fathom_recording::vocabulary::kind;

    use super::*;
    use crate::built::Built;

    fn found(pauses: impl IntoIterator<Item = (f64, f64)>) -> Option<Vec<(f64, f64)>> {
        let mut built = Built::jvm("17", "G1", 600.0);
        for (at_s, ms) in pauses {
            built.pause("Pause Young (Normal)", "G1 Evacuation Pause", at_s, ms, &[]);
        }
        let (jvm, recording) = (built.jvm, built.sealed());
        let covers = Window { from_ns: 0, to_ns: 600_000_000_000 };
        let (windows, _) = find(&recording, &[jvm], covers, &Known::of(&recording))?;
        Some(windows.iter().map(|w| (w.from_ns as f64 / 1e9, w.length_ns() as f64 / 1e6)).collect())
    }

    #[test]
    fn a_stop_far_beyond_the_usual_is_a_slow_window() {
        let usual = (0..100).map(|i| (f64::from(i) * 5.0, 20.0));
        assert_eq!(found(usual.clone()), None);
        assert_eq!(found(usual.clone().chain([(503.0, 19_870.0)])), Some(vec![(503.0, 19_870.0)]));
        assert_eq!(found(usual.chain([(503.0, 190.0)])), None);
    }

    #[test]
    fn where_there_are_few_stops_nothing_is_called_usual() {
        let mut built = Built::jvm("17", "G1", 600.0);
        built.pause("Pause Full", "System.gc()", 503.0, 1_320.0, &[]);
        let (jvm, recording) = (built.jvm, built.sealed());
        let covers = Window { from_ns: 0, to_ns: 600_000_000_000 };
        let (_, how) = find(&recording, &[jvm], covers, &Known::of(&recording)).unwrap();
        let some = how.find(&words::SOME_STOPS).unwrap();
        assert_eq!([some.shows("value"), some.shows("longest"), some.shows("all")], ["1", "1.32 s", "1"]);
    }

    #[test]
    fn the_rest_of_a_run_is_no_base_where_it_is_stopped_for_half_of_the_time_as_well() {
        let rest = |each_ms: f64| {
            let mut built = Built::jvm("17", "G1", 60.0);
            (0..100).for_each(|i| {
                built.pause("Pause Full", "System.gc()", f64::from(i) * 0.5, each_ms, &[]);
            });
            built.pause("Pause Full", "System.gc()", 55.0, 2_000.0, &[]);
            let (jvm, recording) = (built.jvm, built.sealed());
            let slow = Window { from_ns: 55_000_000_000, to_ns: 57_000_000_000 };
            let run = Intervals::of([(0, 60_000_000_000)]);
            rest_is_sick(&recording, &[jvm], &run, &[slow])
        };
        assert_eq!(rest(200.0), None);
        assert_eq!(rest(400.0).map(|sick| sick.shows("value")).as_deref(), Some("69%"));
    }

    #[test]
    fn a_run_that_is_stopped_throughout_has_no_window() {
        let heavy = (0..1_000).map(|i| (f64::from(i) * 0.5, 100.0)).chain([(520.0, 2_000.0)]);
        assert_eq!(found(heavy.clone()), None);
        let why = |pauses: &mut dyn Iterator<Item = (f64, f64)>| {
            let mut built = Built::jvm("17", "G1", 600.0);
            for (at_s, ms) in pauses {
                built.pause("Pause Young (Normal)", "G1 Evacuation Pause", at_s, ms, &[]);
            }
            // What else is recorded for longer does not make the JVM be stopped for less.
            built.on_thread(kind::SYSCALL, "worker", "read", 600.0, 600_000.0);
            let (jvm, recording) = (built.jvm, built.sealed());
            let known = Known::of(&recording);
            let share = known.stops(jvm).burden.heavy.map(|heavy| crate::quantity::share(heavy.share));
            (why_none(&recording, &[jvm], &[], &known), share.unwrap())
        };
        let (reason, share) = why(&mut heavy.clone());
        assert_eq!(reason.metric, &words::STOPPED_THROUGHOUT);
        assert_eq!([reason.shows("stops"), reason.shows("value")], ["1".to_owned(), share]);
        let (reason, _) = why(&mut (0..1_000).map(|i| (f64::from(i) * 0.5, 100.0)));
        assert_eq!(reason.metric, &words::NO_STOP);
    }

    #[test]
    fn where_the_rest_of_a_run_matters_as_well_no_interval_hides_it() {
        // A tenth of the run is stopped for two thirds of its time; the rest for a tenth, which is
        // more in all.
        let crowded = (0..200).map(|i| (100.0 + 0.3 * f64::from(i), 190.0));
        let rest = |ms: f64| (0..430).map(move |i| (165.0 + f64::from(i), ms));
        assert_eq!(found(crowded.clone().chain(rest(100.0))), None);
        let windows = found(crowded.chain(rest(20.0))).unwrap();
        assert_eq!(windows, [(100.0, 60_000.0)], "2% of the rest");
    }

    #[test]
    fn all_stops_that_stand_out_are_windows_and_long_ones_in_any_case() {
        let usual = (0..4_000).map(|i| (f64::from(i) * 0.15, 5.0));
        let outstanding = (0..150).map(|i| (0.02 + f64::from(i) * 3.0, 220.0));
        assert_eq!(found(usual.chain(outstanding)).unwrap().len(), 150);
        // Of two stops, one of which lies outside of the windows.
        let mut built = Built::jvm("17", "G1", 600.0);
        built.pause("Pause Full", "", 10.0, 300.0, &[]);
        built.pause("Pause Full", "", 20.0, 1_300.0, &[]);
        let (jvm, recording) = (built.jvm, built.sealed());
        let (windows, more) = with_long(&recording, &[jvm], &[Window { from_ns: 0, to_ns: 15_000_000_000 }]);
        assert_eq!((windows.len(), more.unwrap().number("value")), (2, Some(1.0)));
        let (same, none) = with_long(&recording, &[jvm], &windows);
        assert_eq!((same, none), (windows, None));
    }

    #[test]
    fn what_is_left_of_a_run_that_was_stopped_for_nearly_all_of_it_is_no_base() {
        const MS: i64 = 1_000_000;
        let base_ms = |run_ms: i64, slow_ms: i64| -> i64 {
            let slow = Window { from_ns: 0, to_ns: slow_ms * MS };
            let base = baseline_apart_from(&Intervals::of([(0, run_ms * MS)]), &[slow]);
            base.iter().map(Window::length_ns).sum::<i64>() / MS
        };
        assert_eq!(base_ms(33_100, 32_600), 0);
        assert_eq!(base_ms(3_100, 2_600), 500);
        assert_eq!(base_ms(1_000_000, 980_000), 20_000);
    }

    #[test]
    fn an_interval_with_much_stopping_is_a_slow_window() {
        let usual = (0..500).map(|i| (f64::from(i), 15.0));
        let crowded = (0..300).map(|i| (500.0 + f64::from(i) * 0.3, 150.0));
        let windows = found(usual.chain(crowded)).unwrap();
        assert_eq!(windows.len(), 1);
        assert_eq!(windows[0], (500.0, 90_000.0));
    }
}
