//! Whole verdicts on recordings put together by hand: which windows, what is found, what is called
//! healthy.

use fathom_recording::vocabulary::source::SESSION;
use fathom_recording::vocabulary::{fact, figure, kind, live, series};
use fathom_recording::{FrameType, Placement, SeriesId, SeriesInfo, SeriesKind, Sink, Source};

use super::*;
use crate::built::Built;
use crate::facts::{Value, headlines, pauses, scope};
use crate::growth::tests::{SLEEP, Service};
use crate::{BlindSpot, FoundOn, Status};

const S: i64 = 1_000_000_000;

/// A series of throughput in a table of its own.
fn throughput(built: &mut Built) -> SeriesId {
    let source = built.recording.add_source(Source { format: "table".into(), ..Source::default() });
    built.recording.add_series(SeriesInfo {
        name: series::THROUGHPUT.into(),
        unit: "ops/s".into(),
        instance: String::new(),
        kind: SeriesKind::Rate,
        process: None,
        source,
    })
}

/// 20 minutes of throughput a second, which falls to a tenth for 15 s of each minute, with lock
/// waits of 30 threads in all of these times, of which a recording has only what begins in
/// `recorded`.
fn convoy(recorded: (i64, i64), with_series: bool) -> Recording {
    let slow = |s: i64| s % 60 >= 45;
    let mut built = Built::jvm("17", "G1", 0.0);
    let placement = Placement { uncertainty_ns: Some(0), ..Placement::default() };
    built.span(kind::RUN, "run", recorded.0 as f64, (recorded.1 - recorded.0) as f64 * 1e3, &[], &[]);
    for s in (recorded.0..recorded.1).filter(|s| slow(*s)) {
        for thread in 0..30 {
            built.waits_for(&format!("worker-{thread}"), "shop.Ledger", "owner", s as f64, 950.0);
        }
    }
    if with_series {
        let id = throughput(&mut built);
        for s in 0..1_200 {
            let wobble = (s * 37 % 11) as f64;
            let rate = if slow(s) { 60.0 } else { 600.0 };
            built.recording.point(id, s * S, S, rate + wobble);
        }
    }
    built.recording.sources.iter_mut().for_each(|source| source.placement = placement.clone());
    built.sealed()
}

/// Slow time that only the series covers, as the blind spots have it.
fn unrecorded_ms(d: &Diagnosis) -> Option<f64> {
    d.blind_spots.iter().find_map(|spot| spot.what.fact().find(&scope::ONLY_SERIES)?.number("value"))
}

#[test]
fn half_a_minute_recorded_within_twenty_is_judged_on_that_and_says_so() {
    let alone = diagnose(&convoy((30, 60), false), &Options::default()).unwrap();
    assert_eq!(alone.findings.first().map(|f| f.rule), Some("lock-contended-monitor"), "{}", alone.headline);
    let with = diagnose(&convoy((30, 60), true), &Options::default()).unwrap();
    assert_eq!(with.findings.first().map(|f| f.rule), Some("lock-contended-monitor"), "{}", with.headline);
    assert!(with.findings[0].share.is_some_and(|share| share > 0.9), "{:?}", with.findings[0].share);
    assert!(
        (with.loss.lost_ms - 13_500.0).abs() < 500.0,
        "of the 15 s that were recorded: {}",
        with.loss.lost_ms
    );
    assert!(with.seen.unrecorded_ms > 200_000.0, "{:?}", with.windows.how);
    assert_eq!(unrecorded_ms(&with), Some(with.seen.unrecorded_ms));
}

#[test]
fn the_whole_of_a_recording_is_no_more_than_was_recorded() {
    // A table of twenty minutes would make each operation look forty times as cheap.
    let whole = crate::whole(&convoy((30, 60), true));
    assert_eq!((whole.from_ns, whole.to_ns), (30 * S, 60 * S));
}

#[test]
fn what_nobody_recorded_is_not_ruled_out() {
    // The recording lies between two slow times.
    let d = diagnose(&convoy((10, 40), true), &Options::default()).unwrap();
    assert_eq!(d.status, Status::NotExplained, "{}", d.headline);
    assert!(d.ruled_out.iter().all(|row| !row.rule.starts_with("lock") && !row.rule.starts_with("gc")));
    assert!(d.blind_spots.iter().any(|b| b.rules.iter().any(|r| r == "gc-explicit")), "{:?}", d.blind_spots);
    assert!(d.seen.unrecorded_ms >= d.seen.judged_ms, "{:?}", d.seen);
}

#[test]
fn a_loss_that_lies_outside_of_the_recording_is_no_loss_that_does_not_stand_out() {
    // The table begins 20 s before the recording; the dip ends 0.3 s into it, or as it begins.
    for end_ms in [300, 0] {
        let mut built = Built::jvm("17", "G1", 0.0);
        built.span(kind::RUN, "run", 0.0, 40_000.0, &[], &[]);
        let id = throughput(&mut built);
        let placement = Placement { uncertainty_ns: Some(0), ..Placement::default() };
        built.recording.sources.iter_mut().for_each(|source| source.placement = placement.clone());
        for ms in (-20_000..40_000).step_by(100) {
            let slow = (end_ms - 2_000..end_ms).contains(&ms);
            let rate = if slow { 60.0 } else { 600.0 + (ms / 100 * 37 % 11) as f64 };
            built.recording.point(id, ms * 1_000_000, S / 10, rate);
        }
        let d = diagnose(&built.sealed(), &Options::default()).unwrap();
        let said = format!("{}; {:?}", d.headline, d.windows);
        assert_ne!(d.status, Status::Healthy, "{said}");
        assert!(d.seen.unrecorded_ms > 1_000.0, "{said}");
        assert_eq!(unrecorded_ms(&d), Some(d.seen.unrecorded_ms), "{said}");
    }
}

#[test]
fn where_it_was_slow_only_while_nobody_watched_threads_what_they_did_else_is_told() {
    let mut built = Built::jvm("17", "G1", 80.0);
    let sched = Source { format: "sched".into(), covers_ns: Some((0, 40 * S)), ..Source::default() };
    built.source = built.recording.add_source(sched);
    built.watched("worker", 40.0);
    let retry = [("java.lang.Thread.sleep", FrameType::C2), ("shop.Cart.retry", FrameType::C2)];
    for second in 0..40 {
        built.with_stack((kind::SCHED_OFF, "sleeping"), "worker", &retry, &[], (f64::from(second), 990.0));
    }
    let id = throughput(&mut built);
    for s in 0..80 {
        built.recording.point(id, s * S, S, if s < 60 { 600.0 + (s * 37 % 11) as f64 } else { 60.0 });
    }
    let placement = Placement { uncertainty_ns: Some(0), ..Placement::default() };
    built.recording.sources.iter_mut().for_each(|source| source.placement = placement.clone());
    let d = diagnose(&built.sealed(), &Options::default()).unwrap();
    assert_eq!((d.windows.found_on, d.seen.unrecorded_ms), (FoundOn::WholeRun, 20_000.0), "{}", d.headline);
    let slow = d.windows.slow.iter().map(|w| (w.from_ns / S, w.to_ns / S));
    assert_eq!(slow.collect::<Vec<_>>(), [(0, 40)]);
    assert!(!d.seen.largest.is_empty() && unrecorded_ms(&d) == Some(20_000.0));
}

#[test]
fn a_recording_without_a_jvm_is_not_asked_for_logs_of_one() {
    let source = |format: &str| {
        let mut recording = Recording::default();
        recording.add_source(Source {
            format: format.into(),
            covers_ns: Some((0, 10 * S)),
            ..Source::default()
        });
        recording.seal();
        diagnose(&recording, &Options::default()).unwrap().blind_spots
    };
    // A blind spot of the rules on collections.
    let of_gc = |spots: &[BlindSpot]| -> Vec<&'static str> {
        let of_gc = spots.iter().filter(|spot| spot.rules.iter().any(|rule| rule == "gc-explicit"));
        of_gc.map(|spot| spot.what.fact().metric.id).collect()
    };
    assert_eq!(of_gc(&source(SESSION)), [scope::NO_JVM.id]);
    assert_eq!(of_gc(&source("strace")), [scope::NO_GC_LOG.id], "a log is asked for");
}

/// A run of ten minutes in which threads queue for a monitor all along, and three pauses of 300 ms.
fn convoy_with_stops() -> Recording {
    let mut built = Built::jvm("17", "G1", 600.0);
    for i in 0..100 {
        built.pause("Pause Young (Normal)", "G1 Evacuation Pause", 1.0 + f64::from(i) * 5.0, 4.0, &[]);
    }
    for at in [100.5, 200.5, 300.5] {
        built.pause("Pause Young (Concurrent Start)", "G1 Humongous Allocation", at, 300.0, &[]);
    }
    for s in 0..600 {
        for thread in 0..8 {
            built.waits_for(&format!("worker-{thread}"), "shop.Ledger", "owner", f64::from(s), 600.0);
        }
    }
    built.sealed()
}

#[test]
fn three_long_stops_do_not_hide_what_acts_all_along() {
    let d = diagnose(&convoy_with_stops(), &Options::default()).unwrap();
    assert_eq!(d.findings.first().map(|f| f.rule), Some("lock-contended-monitor"), "{}", d.headline);
    assert!(d.findings[0].cost_ms > 300_000.0, "{}", d.findings[0].cost_ms);
    assert_eq!((d.windows.base.len(), d.windows.found_on), (0, FoundOn::WholeRun), "{:?}", d.windows.how);
}

#[test]
fn stops_that_no_rule_explains_are_named_with_what_they_were() {
    let mut built = Built::jvm("17", "G1", 600.0);
    for i in 0..600 {
        let ms = if i % 10 == 0 { 300.0 } else { 4.0 };
        built.pause("Pause Young (Normal)", "G1 Evacuation Pause", 0.5 + f64::from(i), ms, &[]);
    }
    let d = diagnose(&built.sealed(), &Options::default()).unwrap();
    let [finding] = &d.findings[..] else { panic!("{}", d.headline) };
    assert_eq!((d.status, finding.rule), (Status::Found, "jvm-stopped"), "{}", d.headline);
    let most = &finding.fact(&pauses::STOPS).detail("sorts").unwrap().parts()[0];
    assert_eq!(
        (most.number("stops"), most.name("sort"), most.name("cause")),
        (Some(60.0), Some("Pause Young (Normal)"), Some("G1 Evacuation Pause"))
    );
}

#[test]
fn a_fragment_of_a_log_does_not_say_that_the_collector_is_healthy() {
    let is_healthy = |seconds: f64| {
        let mut built = Built::jvm("17", "G1", seconds);
        built.pause("Pause Young (Normal)", "G1 Evacuation Pause", 0.0, 1.0, &[]);
        diagnose(&built.sealed(), &Options::default()).unwrap().seen.few_stops.is_some()
    };
    assert!(!is_healthy(0.01) && !is_healthy(5.0) && is_healthy(60.0));
}

#[test]
fn of_safepoints_alone_nothing_is_said_of_the_collector() {
    let headline = |collector: bool| {
        let mut built = Built::jvm("8", "Parallel", 60.0);
        if !collector {
            built.recording.process_mut(built.jvm).facts.remove(fact::COLLECTOR);
        }
        (0..50).for_each(|i| {
            built.span(kind::SAFEPOINT, "RevokeBias", f64::from(i), 5.0, &[], &[]);
        });
        diagnose(&built.sealed(), &Options::default()).unwrap().headline
    };
    headline(true).states(&headlines::COLLECTOR_HEALTHY, &[]);
    headline(false).states(&headlines::STOPS_FEW, &[]);
}

/// Humongous objects that account for a fifth of the stops come first, and do not hide the rest.
#[test]
fn stops_that_the_first_cause_leaves_are_in_the_headline() {
    let mut built = Built::jvm("8", "G1", 60.0);
    for i in 0..50 {
        let at = f64::from(i);
        built.pause("GC pause (young)", "G1 Evacuation Pause", at, 350.0, &[]);
        if i % 3 == 0 {
            let cause = "G1 Humongous Allocation";
            built.pause("GC pause (young) (initial-mark)", cause, at + 0.5, 300.0, &[]);
        }
    }
    let d = diagnose(&built.sealed(), &Options::default()).unwrap();
    let rules: Vec<_> = d.findings.iter().map(|f| f.rule).collect();
    assert_eq!(rules, ["gc-humongous", "jvm-stopped"], "{}", d.headline);
    assert_eq!(d.headline.fact().named("left"), Some(&Value::from(&d.findings[1].title)));
}

#[test]
fn stops_that_are_few_and_below_a_second_ask_for_no_explanation() {
    let run = |cause: &str, ms: f64| {
        let mut built = Built::jvm("17", "G1", 600.0);
        for i in 0..100 {
            built.pause("Pause Young (Normal)", "G1 Evacuation Pause", 1.0 + f64::from(i) * 5.0, 4.0, &[]);
        }
        built.pause("Pause Full", cause, 300.5, ms, &[]);
        diagnose(&built.sealed(), &Options::default()).unwrap()
    };
    for cause in ["System.gc()", "Metadata GC Threshold"] {
        let d = run(cause, 600.0);
        assert_eq!((d.status, d.findings.len()), (Status::NoCauseFound, 0), "{}", d.headline);
        assert_eq!(d.seen.few_stops.map(|stops| stops.longest_ms), Some(600.0), "{}", d.headline);
        assert_eq!(d.windows.found_on, FoundOn::WholeRun, "{:?}", d.windows.how);
        assert_eq!(run(cause, 1_200.0).status, Status::Found, "{cause}");
    }
    let d = run("G1 Compaction Pause", 600.0);
    assert_eq!(d.findings.iter().map(|f| f.rule).collect::<Vec<_>>(), ["gc-evacuation-failure"]);
}

#[test]
fn healthy_needs_a_series_without_a_dip_and_stops_that_were_seen() {
    let steady = |jvm: bool, noise: i64| {
        let mut built = Built::jvm("17", "G1", if jvm { 300.0 } else { 0.0 });
        built.pause("Pause Young (Normal)", "", 5.0, 10.0, &[]);
        let id = throughput(&mut built);
        for s in 0..300 {
            built.recording.point(id, s * S, S, 600.0 + (s * 7919 % 101 - 50) as f64 * noise as f64);
        }
        diagnose(&built.sealed(), &Options::default()).unwrap()
    };
    let d = steady(true, 1);
    assert_eq!(d.status, Status::Healthy, "{}", d.headline);
    assert_eq!(steady(false, 1).status, Status::NoCauseFound, "nobody saw the stops");
    assert_eq!(steady(true, 9).status, Status::NoCauseFound, "no dip would show");
    let alone = diagnose(&Built::jvm("17", "G1", 60.0).sealed(), &Options::default()).unwrap();
    assert_eq!(alone.status, Status::NoCauseFound, "{}", alone.headline);
    assert!(alone.seen.few_stops.is_some(), "{}", alone.headline);
    let nothing = diagnose(&Recording::new(), &Options::default()).unwrap();
    assert_eq!(nothing.status, Status::NothingToJudge);
}

#[test]
fn a_level_that_a_pool_without_time_to_spare_keeps_is_not_called_healthy() {
    use fathom_recording::FrameType::{C2, Kernel};
    let run_worker = ("java.util.concurrent.ThreadPoolExecutor.runWorker", C2);
    let read = [("tcp_recvmsg", Kernel), ("shop.Peer.call", C2), run_worker];
    let rest = [("futex_wait", Kernel), ("java.util.concurrent.ThreadPoolExecutor.getTask", C2), run_worker];
    let park = [
        ("futex_wait", Kernel),
        ("java.util.concurrent.locks.LockSupport.park", C2),
        ("shop.Pool.lease", C2),
        run_worker,
    ];
    let status = |work: &[_], busy_ms: f64| {
        let mut built = Built::jvm("17", "G1", 60.0);
        built.pause("Pause Young (Normal)", "", 5.0, 10.0, &[]);
        for thread in ["web-0", "web-1"] {
            built.watched(thread, 60.0);
            for i in 0..600 {
                let at_s = f64::from(i) * 0.1;
                let off = (kind::SCHED_OFF, "sleeping");
                built.with_stack(off, thread, work, &[], (at_s, busy_ms));
                built.with_stack(off, thread, &rest, &[], (at_s + busy_ms / 1e3, 100.0 - busy_ms));
            }
        }
        let id = throughput(&mut built);
        (0..60).for_each(|s| built.recording.point(id, s * S, S, 600.0 + (s * 7919 % 11) as f64));
        diagnose(&built.sealed(), &Options::default()).unwrap().status
    };
    assert_eq!((status(&read, 99.0), status(&read, 40.0)), (Status::NoCauseFound, Status::Healthy));
    // Of the rest of their time they have work, and wait for each other.
    assert_eq!(status(&park, 40.0), Status::NoCauseFound);
}

#[test]
fn what_may_act_all_along_is_no_loss_of_a_series_that_never_fell() {
    let run = |level_after: f64| {
        let mut built = Built::jvm("17", "G1", 60.0);
        built.pause("Pause Young (Normal)", "", 5.0, 10.0, &[]);
        for name in ["worker-0", "worker-1"] {
            built.watched(name, 60.0);
            for i in 0..600 {
                built.preempted(name, f64::from(i) * 0.1, 60.0, 0.0, "hog (4711)");
            }
        }
        let jvm = Some(built.jvm);
        for cpu in ["cpu0", "cpu1"] {
            built.gauge(live::HOST_CPU_BUSY, cpu, None, &[(0.0, 60.0, 1.0)]);
        }
        built.gauge(live::PROCESS_CPU_USER, "App (1)", jvm, &[(0.0, 60.0, 0.8)]);
        built.gauge(live::PROCESS_CPU, "hog (4711)", None, &[(0.0, 60.0, 1.2)]);
        let id = throughput(&mut built);
        // The client goes on for longer than anybody recorded.
        for s in 0..90 {
            let level = if (30..40).contains(&s) { level_after } else { 600.0 };
            built.recording.point(id, s * S, S, level + (s * 7919 % 101 - 50) as f64 / 10.0);
        }
        diagnose(&built.sealed(), &Options::default()).unwrap()
    };
    let d = run(600.0);
    assert_eq!((d.status, d.findings.len()), (Status::Healthy, 1), "{}", d.headline);
    assert_eq!((d.windows.found_on, d.seen.judged_ms), (FoundOn::WholeRun, 60_000.0));
    assert_ne!(run(200.0).status, Status::Healthy, "it fell");
}

#[test]
fn what_fathom_gc_judges_bad_is_a_finding_or_said() {
    const MB: f64 = 1024.0 * 1024.0;
    let mut built = Built::jvm("17", "Parallel", 300.0);
    built.fact(fact::HEAP_MAX_BYTES, "1073741824");
    for i in 0..3 {
        let sizes = [(figure::HEAP_AFTER_BYTES, 980.0 * MB)];
        built.pause("Pause Full", "Ergonomics", 10.0 + f64::from(i) * 100.0, 100.0, &sizes);
    }
    let (jvm, recording) = (built.jvm, built.sealed());
    let bad: Vec<_> = metrics::gc::bad(&recording, jvm, 0).iter().map(|metric| metric.id).collect();
    assert_eq!(bad, ["live_share"]);
    let d = diagnose(&recording, &Options::default()).unwrap();
    let bad = judged_bad(&recording, &[jvm], &d.findings, d.zero_ns);
    assert!(bad.len() == 1 && d.warnings.ends_with(&bad), "{:?}", d.warnings);
    assert_eq!(d.seen.few_stops, None, "{}", d.headline);
}

#[test]
fn a_loss_that_nobody_measured_is_not_called_none() {
    let built = Built::jvm("17", "G1", 60.0);
    let options = Options {
        slow: vec!["10s..20s".parse().unwrap()],
        base: vec!["30s..50s".parse().unwrap()],
        ..Options::default()
    };
    let d = diagnose(&built.sealed(), &options).unwrap();
    assert!(!d.seen.loss_measured && d.loss.measure.is_none(), "{}", d.headline);
}

/// A table that goes up and down until it keeps its level from the 41st second on, and a minute of
/// recording in which the quota of the control group holds threads back from the twentieth to the
/// fortieth.
#[test]
fn of_the_time_before_a_series_reached_its_level_the_recording_itself_is_asked() {
    let run = |throttled_ms: f64| {
        let mut service = Service::uncounted();
        for i in 0..8 {
            let name = format!("worker-{i}");
            let thread = service.thread(&name);
            service.off(thread, &SLEEP, (80, 35), &[]);
            for tenth in (200..400).filter(|_| throttled_ms > 0.0) {
                let at_s = f64::from(tenth) / 10.0 + 0.04;
                service.built.preempted(&name, at_s, throttled_ms, throttled_ms, "");
            }
        }
        let id = throughput(&mut service.built);
        let sources = service.built.recording.sources.iter_mut();
        sources.for_each(|source| source.placement.uncertainty_ns = Some(0));
        for s in 0..120 {
            let rate = match s {
                0..41 => [90.0, 700.0, 140.0, 890.0, 430.0][s % 5],
                _ => 900.0,
            };
            service.built.recording.point(id, s as i64 * S, S, rate + (s * 37 % 11) as f64);
        }
        diagnose(&service.built.sealed(), &Options::default()).unwrap()
    };
    let d = run(45.0);
    let [window] = d.windows.slow[..] else { panic!("{:?}", d.windows) };
    assert!((window.from_ns - 20 * S).abs() <= S && (window.to_ns - 40 * S).abs() <= S, "{window:?}");
    assert_eq!(d.findings.first().map(|f| f.rule), Some("cpu-throttled-by-cgroup"), "{}", d.headline);
    assert_eq!(run(0.0).findings.len(), 0);
}
