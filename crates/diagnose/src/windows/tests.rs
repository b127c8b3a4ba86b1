//! Windows that a diagnosis chooses on series made by hand.

use super::recorded_enough;
use crate::Window;
use crate::intervals::Intervals;
use fathom_recording::vocabulary::series;
use fathom_recording::{Placement, Recording, SeriesInfo, SeriesKind, Sink};

use crate::built::Built;
use crate::facts::{headlines, windows as words};
use crate::{Diagnosis, FoundOn, Measure, Options, diagnose};

const S: i64 = 1_000_000_000;

/// A series: its name, its kind, and its value by the second.
type Recorded<'s> = (&'s str, SeriesKind, &'s dyn Fn(i64) -> f64);

/// A JVM of 64 seconds, and values by the second of series that are on its clock.
fn recorded(all: &[Recorded<'_>]) -> Recording {
    let mut built = Built::jvm("17", "G1", 64.0);
    built.recording.sources[0].placement = Placement { uncertainty_ns: Some(0), ..Placement::default() };
    for (name, kind, value) in all {
        let id = built.recording.add_series(SeriesInfo {
            name: (*name).into(),
            unit: if *kind == SeriesKind::Rate { "ops/s".into() } else { "ms".into() },
            instance: String::new(),
            kind: *kind,
            process: None,
            source: fathom_recording::SourceId(0),
        });
        (0..64).for_each(|s| built.recording.point(id, s * S, S, value(s)));
    }
    built.sealed()
}

fn wobble(s: i64) -> f64 {
    (s * 37 % 11) as f64 - 5.0
}

#[test]
fn a_window_given_by_hand_that_is_slower_by_no_more_than_noise_has_no_loss() {
    let lost = |now: f64| {
        let rate = move |s: i64| if (20..30).contains(&s) { now } else { 2_000.0 } + wobble(s);
        let recording = recorded(&[(series::THROUGHPUT, SeriesKind::Rate, &rate)]);
        let (slow, base) = (vec!["20s..30s".parse().unwrap()], vec!["30s..60s".parse().unwrap()]);
        diagnose(&recording, &Options { slow, base, ..Options::default() }).unwrap()
    };
    let alike = lost(1_990.0);
    assert_eq!(alike.loss.lost_ms, 0.0, "{}", alike.headline);
    assert!(alike.findings.is_empty() && alike.account.is_empty(), "{}", alike.headline);
    assert!((lost(1_500.0).loss.lost_ms - 2_500.0).abs() < 50.0);
}

#[test]
fn slow_windows_within_the_baseline_are_refused_and_a_given_baseline_is_the_only_one() {
    let rate = |s: i64| 2_000.0 + wobble(s);
    let recording = recorded(&[(series::THROUGHPUT, SeriesKind::Rate, &rate)]);
    let on = |base: &str| {
        let (slow, base) = (vec!["20s..30s".parse().unwrap()], vec![base.parse().unwrap()]);
        diagnose(&recording, &Options { slow, base, ..Options::default() })
    };
    assert!(matches!(on("15s..35s"), Err(crate::windows::WindowError::NothingToCompare)));
    let windows = on("30s..60s").unwrap().windows;
    assert_eq!(windows.found_on, FoundOn::Given, "{:?}", windows.how);
    assert_eq!(windows.base, [Window { from_ns: 30 * S, to_ns: 60 * S }], "{:?}", windows.how);
}

#[test]
fn where_as_much_is_asked_as_ever_the_latency_shows_when_it_was_slow() {
    let diagnosis = |slower: f64| -> Diagnosis {
        let rate = |s: i64| 400.0 + wobble(s);
        let latency = move |s: i64| if (20..30).contains(&s) { 5.0 * slower } else { 5.0 } + wobble(s) * 0.01;
        diagnose(
            &recorded(&[
                ("requests", SeriesKind::Rate, &rate),
                ("avg_latency", SeriesKind::Latency, &latency),
            ]),
            &Options::default(),
        )
        .unwrap()
    };
    let slow = diagnosis(25.0);
    let seconds = |ns: i64| (ns - slow.zero_ns) / S;
    let windows: Vec<_> = slow.windows.slow.iter().map(|w| (seconds(w.from_ns), seconds(w.to_ns))).collect();
    assert_eq!(windows, [(20, 30)], "{:?}", slow.windows.how);
    assert_eq!(slow.loss.measure, Some(Measure::Latency), "{}", slow.loss.measured_on);
    let steady = diagnosis(1.0);
    assert_eq!(steady.loss.lost_ms, 0.0);
    assert_eq!(steady.loss.measure, Some(Measure::Throughput), "{:?}", steady.windows.how);
}

#[test]
fn a_series_that_counts_no_operation_is_said_to_count_none() {
    let said = |busy: i64| {
        let rate = move |s: i64| if s < busy { 400.0 } else { 0.0 };
        diagnose(&recorded(&[(series::THROUGHPUT, SeriesKind::Rate, &rate)]), &Options::default()).unwrap()
    };
    let all = 64_000.0;
    for (busy, none) in [(0, (Some(all), None)), (8, (Some(56_000.0), Some(all)))] {
        let d = said(busy);
        for said in d.windows.how.iter().take(1).chain([&d.headline]) {
            let fact = said.fact().find(&words::NO_OPERATIONS).unwrap_or_else(|| panic!("{said:?}"));
            assert_eq!((fact.number("value"), fact.number("of")), none);
        }
        assert_eq!(d.headline.fact().find(&headlines::NO_LOSS), None);
    }
    assert_eq!(said(64).headline.fact().find(&words::NO_OPERATIONS), None);
}

#[test]
fn requests_that_fail_fast_are_not_less_demand() {
    let rate = |s: i64| 400.0 + wobble(s);
    let answered = |s: i64| if (20..30).contains(&s) { 40.0 } else { 400.0 } + wobble(s);
    let latency = |s: i64| 5.0 + wobble(s) * 0.01;
    let all: [Recorded<'_>; 3] = [
        ("requests", SeriesKind::Rate, &rate),
        ("requests without 5xx", SeriesKind::Rate, &answered),
        ("avg_latency", SeriesKind::Latency, &latency),
    ];
    let d = diagnose(&recorded(&all), &Options::default()).unwrap();
    assert!(d.loss.lost_ms > 8_000.0, "on the requests that were answered: {}", d.loss.measured_on);
    assert!(d.findings.is_empty(), "{}", d.headline);
}

#[test]
fn fewer_requests_of_the_same_latency_are_less_demand() {
    let diagnosis = |latency_now: f64| {
        let rate = |s: i64| if (20..30).contains(&s) { 100.0 } else { 400.0 } + wobble(s);
        let latency = move |s: i64| if (20..30).contains(&s) { latency_now } else { 5.0 } + wobble(s) * 0.01;
        let series: [Recorded<'_>; 2] =
            [("requests", SeriesKind::Rate, &rate), ("avg_latency", SeriesKind::Latency, &latency)];
        diagnose(&recorded(&series), &Options::default()).unwrap()
    };
    let less = diagnosis(5.0);
    assert_eq!(less.findings.first().map(|f| f.rule), Some("less-demand"), "{}", less.headline);
    assert_eq!(diagnosis(20.0).findings.len(), 0, "slower, and nothing says why");
}

#[test]
fn answers_that_come_later_because_more_is_asked_are_no_slow_window() {
    let diagnosis = |rate_now: f64| {
        let rate = move |s: i64| if (20..30).contains(&s) { rate_now } else { 400.0 } + wobble(s);
        let latency = |s: i64| if (20..30).contains(&s) { 9.0 } else { 5.0 } + wobble(s) * 0.01;
        let series: [Recorded<'_>; 2] =
            [("requests", SeriesKind::Rate, &rate), ("avg_latency", SeriesKind::Latency, &latency)];
        diagnose(&recorded(&series), &Options::default()).unwrap()
    };
    let more = diagnosis(800.0);
    assert_eq!(more.windows.found_on, crate::FoundOn::WholeRun, "{:?}", more.windows.how);
    let asked = more.windows.how.iter().find_map(|how| how.fact().find(&words::MORE_ASKED)).unwrap();
    assert!((asked.number("value").unwrap() - 2.0).abs() < 0.1, "{asked:?}");
    assert_ne!(more.status, crate::Status::Healthy, "{}", more.headline);
    assert_eq!(diagnosis(400.0).windows.found_on, crate::FoundOn::Series, "as many, and later");
}

#[test]
fn a_window_of_which_hardly_anything_was_recorded_is_not_judged() {
    let window = |from: i64, to: i64| Window { from_ns: from * 1_000_000, to_ns: to * 1_000_000 };
    let recorded = Intervals::of_windows(&[window(1_858, 20_000)]);
    let enough = |slow: &[Window]| recorded_enough(slow, &recorded);
    // 142 ms of two seconds; half of a short one; one that was not recorded at all and one that
    // was.
    assert_eq!(enough(&[window(0, 2_000)]), (vec![], 142.0, 1_858.0));
    assert_eq!(enough(&[window(1_500, 2_500)]).0.len(), 1);
    assert_eq!(
        enough(&[window(0, 2_000), window(9_000, 11_000)]),
        (vec![window(9_000, 11_000)], 142.0, 1_858.0)
    );
    assert_eq!(enough(&[window(0, 1_000)]), (vec![window(0, 1_000)], 0.0, 0.0));
}

#[test]
fn a_fall_to_next_to_nothing_that_lasts_is_no_noise_however_much_of_it_there_is() {
    let of = |left: f64| {
        let noisy = |s: i64| [1_000.0, 6_000.0, 2_500.0, 5_200.0, 1_500.0][(s % 5) as usize];
        let rate = move |s: i64| if s < 32 { noisy(s) } else { left * noisy(s) };
        let recording = recorded(&[(series::THROUGHPUT, SeriesKind::Rate, &rate)]);
        let progress = super::Progress::of(&recording, |_| true).unwrap();
        let found = super::dips::find(&progress).unwrap();
        (found.would_show, super::collapses(&progress, &found))
    };
    assert_eq!(of(0.02), (false, true));
    assert!(!of(0.5).1);
}
