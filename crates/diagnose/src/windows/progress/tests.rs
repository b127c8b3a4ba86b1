use fathom_recording::{SeriesInfo, Sink, Source};

use super::*;

const S: i64 = 1_000_000_000;

/// Start, length, value.
type Point = (i64, i64, f64);

fn recording(instances: &[(&str, SeriesKind, Vec<Point>)]) -> Recording {
    let mut recording = Recording::new();
    for (i, (name, kind, points)) in instances.iter().enumerate() {
        let source = recording.add_source(Source::default());
        let info = SeriesInfo {
            name: (*name).into(),
            unit: "ops/s".into(),
            instance: format!("client{i}"),
            kind: *kind,
            process: None,
            source,
        };
        let series = recording.add_series(info);
        for (t, dt, v) in points {
            recording.point(series, *t, *dt, *v);
        }
    }
    recording.seal();
    recording
}

#[test]
fn rates_of_instances_add_up_on_a_common_grid() {
    let a: Vec<_> = (0..10).map(|i| (i * S, S, 100.0)).collect();
    let b: Vec<_> = (0..10).map(|i| (i * S + S / 2, S, 50.0)).collect();
    let r = recording(&[("throughput", SeriesKind::Rate, a), ("throughput", SeriesKind::Rate, b)]);
    let p = Progress::of(&r, |_| true).unwrap();
    assert_eq!((p.from_ns, p.tick_ns, p.values.len()), (S / 2, S, 9));
    assert!(p.values.iter().all(|v| *v == Some(150.0)), "{p:?}");
    assert_eq!(p.measured_on, "throughput of client0, client1");
}

#[test]
fn a_missing_tick_is_a_gap_and_a_prolonged_one_a_stall() {
    let mut a: Vec<_> = (0..10).map(|i| (i * S, S, 100.0)).collect();
    a.push((14 * S, S, 100.0));
    a.push((15 * S, 3 * S, 33.0));
    let p = Progress::of(&recording(&[("throughput", SeriesKind::Rate, a)]), |_| true).unwrap();
    assert_eq!(p.values.len(), 18);
    assert_eq!(p.values[10..14], [None; 4]);
    assert_eq!(p.values[16], Some(33.0));
    assert!(p.stalled[16] && p.stalled[11] && !p.stalled[14] && !p.stalled[3]);
}

#[test]
fn latency_is_turned_round_and_only_asked_without_a_rate() {
    let points = |v: f64| (0..5).map(|i| (i * S, S, v)).collect::<Vec<_>>();
    let latency = ("avg_latency", SeriesKind::Latency, points(4.0));
    let r = recording(&[("max", SeriesKind::Latency, points(9.0)), latency.clone()]);
    let p = Progress::of(&r, |_| true).unwrap();
    assert!(p.of_latency && p.values[0] == Some(0.25) && p.shown(0.25) == 4.0);
    let r = recording(&[latency, ("throughput", SeriesKind::Rate, points(7.0))]);
    assert_eq!(Progress::of(&r, |_| true).unwrap().values[0], Some(7.0));
}

/// A tick of a thousand operations that took 2 ms each, one of ten that took 200 ms each, and
/// their harmonic mean: 3.96 ms.
#[test]
fn a_latency_is_averaged_over_operations_and_not_over_their_speeds() {
    let points = |values: [f64; 4]| (0..).zip(values).map(|(i, v)| (i * S, S, v)).collect::<Vec<_>>();
    let latency = ("avg_latency", SeriesKind::Latency, points([2.0, 200.0, 2.0, 200.0]));
    let mean = |p: &Progress| p.mean_shown(&[p.window(0, 4)]).unwrap();
    let mut r = recording(std::slice::from_ref(&latency));
    let p = Progress::of(&r, |_| true).unwrap();
    assert_eq!((mean(&p), p.measured_on.as_str()), (101.0, "mean latency of client0"));
    let info = SeriesInfo { name: "throughput".into(), kind: SeriesKind::Rate, ..r.series[0].info.clone() };
    let rate = r.add_series(info);
    points([1_000.0, 10.0, 1_000.0, 10.0]).into_iter().for_each(|(t, dt, v)| r.point(rate, t, dt, v));
    r.seal();
    let p = Progress::of_latency(&r, |_| true).unwrap();
    assert!((mean(&p) - (1_000.0 * 2.0 + 10.0 * 200.0) / 1_010.0).abs() < 1e-9, "{}", mean(&p));
    // The rate of another client counts other operations.
    let other = recording(&[latency, ("throughput", SeriesKind::Rate, points([1.0, 1.0, 1.0, 1.0]))]);
    assert_eq!(mean(&Progress::of_latency(&other, |_| true).unwrap()), 101.0);
}

#[test]
fn each_latency_of_a_table_is_asked_the_typical_one_first() {
    let points = |v: f64| (0..5).map(|i| (i * S, S, v)).collect::<Vec<_>>();
    let series = |name, v| (name, SeriesKind::Latency, points(v));
    let r = recording(&[series("p99", 90.0), series("max", 700.0), series("p50", 4.0)]);
    let all = Progress::of_latencies(&r, |_| true);
    let of: Vec<&str> = all.iter().map(|p| p.measured_on.split(" of").next().unwrap()).collect();
    assert_eq!(of, ["p50 latency", "p99 latency"]);
}

#[test]
fn latencies_are_named_in_words() {
    for (name, words) in [
        ("avg_latency", "mean latency"),
        ("p99", "p99 latency"),
        ("p99.9-lat", "p99.9 latency"),
        ("median", "median latency"),
        ("latency", "latency"),
        ("checkout", "latency checkout"),
    ] {
        let info = SeriesInfo {
            name: name.into(),
            unit: "ms".into(),
            instance: String::new(),
            kind: SeriesKind::Latency,
            process: None,
            source: fathom_recording::SourceId(0),
        };
        assert_eq!(in_words(&info), words, "{name}");
    }
}

#[test]
fn requests_that_failed_are_no_progress() {
    let points = |v: f64| (0..5).map(|i| (i * S, S, v)).collect::<Vec<_>>();
    let mut r = recording(&[
        ("requests", SeriesKind::Rate, points(9.0)),
        ("requests", SeriesKind::Rate, points(70.0)),
    ]);
    // Of a log that does not distinguish failures all requests count.
    assert_eq!(Progress::of(&r, |_| true).unwrap().values[0], Some(79.0));
    for counted in 0..2 {
        let name = series::REQUESTS_WITHOUT_5XX.to_owned();
        let info = SeriesInfo { name, ..r.series[counted].info.clone() };
        let without = r.add_series(info);
        (0..5).for_each(|i| r.point(without, i * S, S, if i < 2 { 5.0 } else { 0.0 }));
    }
    r.seal();
    let p = Progress::of(&r, |_| true).unwrap();
    assert_eq!(p.values, [Some(10.0), Some(10.0), Some(0.0), Some(0.0), Some(0.0)]);
    assert_eq!(p.measured_on, "requests without 5xx of client0, client1");
}

#[test]
fn wild_stamps_need_no_wild_memory() {
    let points = vec![(i64::MIN, 1, 1.0), (0, 1, 2.0), (5, 1, 2.0), (i64::MAX - 1, 1, 1.0)];
    let r = recording(&[("throughput", SeriesKind::Rate, points)]);
    assert!(Progress::of(&r, |_| true).is_none_or(|p| p.values.len() <= 100_001));
}
