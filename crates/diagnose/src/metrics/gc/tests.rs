use fathom_recording::Sink;
use fathom_recording::vocabulary::{fact, figure, kind};

use super::*;
use crate::built::Built;
use crate::facts::{Value, judged, live_set};
use crate::metrics::Metric;

const MB: f64 = 1024.0 * 1024.0;

fn metric<'a>(jvm: &'a JvmGc, id: &str) -> &'a Metric {
    jvm.groups
        .iter()
        .flat_map(|g| &g.metrics)
        .find(|m| m.id == id)
        .unwrap_or_else(|| panic!("no metric {id}"))
}

fn sizes(before_mb: f64, after_mb: f64) -> [(&'static str, f64); 3] {
    [
        (figure::HEAP_BEFORE_BYTES, before_mb * MB),
        (figure::HEAP_AFTER_BYTES, after_mb * MB),
        (figure::HEAP_CAPACITY_BYTES, 1024.0 * MB),
    ]
}

#[test]
fn more_promoted_than_is_seen_to_be_allocated_is_not_known() {
    let mut built = Built::jvm("5", "CMS", 20.0);
    for i in 0..4 {
        let old = 10.0 * MB * f64::from(i);
        let figures = [
            (figure::HEAP_BEFORE_BYTES, old + 4.0 * MB),
            (figure::HEAP_AFTER_BYTES, old + 12.0 * MB),
            (figure::OLD_BEFORE_BYTES, old),
            (figure::OLD_AFTER_BYTES, old + 10.0 * MB),
        ];
        built.pause("GC", "Allocation Failure", f64::from(i) * 5.0, 20.0, &figures);
    }
    let report = report(&built.sealed(), None);
    let share = metric(&report.jvms[0], "promoted_share");
    assert_eq!((share.value, share.grade), (None, Grade::NotJudged), "{share:?}");
}

#[test]
fn a_full_collection_nested_in_a_young_one_is_one_stop_and_one_full_collection() {
    let mut built = Built::jvm("11", "Serial", 100.0);
    built.pause("Pause Young", "Allocation Failure", 1.0, 20.0, &[]);
    let outer = built.pause("Pause Young", "Allocation Failure", 2.0, 50.0, &[]);
    built.nested("Pause Full", 2.01, 40.0, outer);
    built.pause("GC", "CMS Final Remark", 3.0, 10.0, &[(figure::FULL, 1.0)]);
    let report = report(&built.sealed(), None);
    let totals = report.jvms[0].totals;
    assert_eq!((totals.pauses, totals.full_gcs, totals.old_collections), (3, 1, 2));
    assert!((totals.total_pause_s - 0.080).abs() < 1e-12 && (totals.max_pause_s - 0.050).abs() < 1e-12);
    assert!((totals.old_collections_s - 0.060).abs() < 1e-12);
}

#[test]
fn totals_are_summed_over_jvms_and_maxima_are_not() {
    let mut built = Built::jvm("17", "G1", 10.0);
    built.pause("Pause Young (Normal)", "", 1.0, 20.0, &[]);
    let other = built.recording.add_process(fathom_recording::Process::default());
    built.jvm = other;
    built.pause("Pause Full", "", 1.0, 70.0, &[]);
    let report = report(&built.sealed(), None);
    assert_eq!((report.jvms.len(), report.total.pauses, report.total.full_gcs), (2, 2, 1));
    assert!(
        (report.total.total_pause_s - 0.09).abs() < 1e-12 && (report.total.max_pause_s - 0.07).abs() < 1e-12
    );
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["schema"], "fathom.gc/3");
    assert_eq!(json["pauses"], 2);
    assert_eq!(json["jvms"][1]["full_gcs"], 1);
}

#[test]
fn throughput_is_of_the_time_that_the_log_covers() {
    let mut built = Built::jvm("17", "Parallel", 10.0);
    for i in 0..8 {
        built.pause("Pause Young", "Allocation Failure", 1.0 + f64::from(i), 100.0, &[]);
    }
    built.span(kind::SAFEPOINT, "ThreadDump", 9.5, 200.0, &[], &[]);
    built.span(kind::SAFEPOINT, "ParallelGCFailedAllocation", 1.0, 100.0, &[(figure::REACH_NS, 30e6)], &[]);
    let report = report(&built.sealed(), None);
    let jvm = &report.jvms[0];
    assert!((metric(jvm, "gc_throughput").value.unwrap() - 0.92).abs() < 1e-9);
    assert_eq!(metric(jvm, "gc_throughput").grade, Grade::Watch);
    let stops = metric(jvm, "stop_throughput");
    assert!((stops.value.unwrap() - 0.90).abs() < 1e-9, "a collection's safepoint is not counted twice");
    assert_eq!(metric(jvm, "reach_max").value, Some(30.0));
    assert_eq!(jvm.safepoints[0].operation, "ThreadDump");
}

#[test]
fn a_window_counts_what_touches_it_and_takes_shares_of_it() {
    let mut built = Built::jvm("17", "G1", 100.0);
    built.pause("Pause Young (Normal)", "", 9.5, 1_000.0, &[]);
    built.pause("Pause Young (Normal)", "", 50.0, 10.0, &[]);
    let window = Window { from_ns: 10_000_000_000, to_ns: 20_000_000_000 };
    let report = report(&built.sealed(), Some(window));
    assert_eq!((report.total.pauses, report.total.total_pause_s), (1, 1.0));
    assert!((metric(&report.jvms[0], "gc_throughput").value.unwrap() - 0.95).abs() < 1e-9);
    assert_eq!(report.jvms[0].covers_s, Some(10.0));
}

#[test]
fn rates_follow_the_documented_formula() {
    let mut built = Built::jvm("17", "Parallel", 30.0);
    let young = |before, after, old_before: f64, old_after: f64| {
        let mut figures = sizes(before, after).to_vec();
        figures
            .extend([(figure::OLD_BEFORE_BYTES, old_before * MB), (figure::OLD_AFTER_BYTES, old_after * MB)]);
        figures
    };
    built.pause("Pause Young", "Allocation Failure", 10.0, 0.0, &young(300.0, 100.0, 50.0, 60.0));
    built.pause("Pause Young", "Allocation Failure", 15.0, 0.0, &young(600.0, 110.0, 60.0, 65.0));
    built.pause("Pause Full", "Ergonomics", 20.0, 0.0, &young(400.0, 40.0, 65.0, 40.0));
    let report = report(&built.sealed(), None);
    let jvm = &report.jvms[0];
    let rate = metric(jvm, "allocation_rate").value.unwrap();
    assert!((rate - (500.0 + 290.0) * MB / 10.0).abs() < 1.0, "{rate}");
    let promoted = metric(jvm, "promotion_rate").value.unwrap();
    assert!((promoted - 15.0 * MB / 30.0).abs() < 1.0, "full collections promote nothing: {promoted}");
    assert_eq!(metric(jvm, "live_set").value, Some(40.0 * MB));
}

/// Twelve full collections a minute apart in a heap of 1 GB, with the live set of `live` megabytes
/// after each.
fn with_live(live: impl Fn(f64) -> f64) -> Built {
    let mut built = Built::jvm("8", "Parallel", 800.0);
    for i in 0..12 {
        let t = f64::from(i);
        let wobble = if i % 3 == 0 { 2.0 } else { -1.0 };
        built.pause("Full GC", "Ergonomics", 10.0 + 60.0 * t, 2_000.0, &sizes(1_000.0, live(t) + wobble));
    }
    built
}

#[test]
fn the_growth_of_the_live_set_is_judged_as_the_rule_for_a_leak_judges_it() {
    let judged = |live: &dyn Fn(f64) -> f64| {
        let recording = with_live(live).sealed();
        let trend = metric(&report(&recording, None).jvms[0], "live_trend").clone();
        let verdict = crate::diagnose(&recording, &crate::Options::default()).unwrap();
        let ruled_out = verdict.ruled_out.iter().find(|row| row.rule == "heap-leak");
        let blind = verdict.blind_spots.iter().find(|row| row.rules.iter().any(|rule| rule == "heap-leak"));
        let why_not = ruled_out.map(|row| row.figure.fact().clone());
        let unknown = blind.and_then(|row| row.what.fact().detail("why")?.parts().first().cloned());
        (trend, why_not.or(unknown))
    };
    let metric_of = |why: &Option<crate::Fact>| why.as_ref().map_or("", |fact| fact.metric.id);
    // Surely above zero, and a thirtieth of the heap in all.
    let (trend, why_not) = judged(&|i| 820.0 + 3.0 * i);
    assert_eq!((trend.grade, metric_of(&why_not)), (Grade::Fine, live_set::GREW_BY.id));
    assert_eq!(Some(trend.why), why_not);
    let (trend, why_not) = judged(&|i| 100.0 + 750.0 * (1.0 - (-i / 2.0).exp()));
    assert_eq!((trend.grade, metric_of(&why_not)), (Grade::Fine, live_set::FLATTENS.id));
    assert_eq!(Some(trend.why), why_not);
    let (trend, why_not) = judged(&|i| 100.0 + 30.0 * i);
    assert_eq!((trend.grade, metric_of(&why_not)), (Grade::Watch, live_set::FAR_FROM_FULL.id));
    assert_eq!(Some(trend.why), why_not);
    let (trend, why_not) = judged(&|i| 250.0 + 64.0 * i);
    assert_eq!((trend.grade, trend.why.metric.id), (Grade::Watch, judged::GROWS_AS_LEAK.id));
    assert_eq!(why_not, None, "a finding");
}

#[test]
fn live_readings_are_the_last_of_each_series_of_mixed_collections() {
    let mut built = Built::jvm("17", "G1", 100.0);
    for (t, name, after) in [
        (1.0, "Pause Young (Normal)", 900.0),
        (2.0, "Pause Young (Mixed)", 700.0),
        (3.0, "Pause Young (Mixed)", 500.0),
        (4.0, "Pause Young (Normal)", 800.0),
        (5.0, "Pause Young (Mixed)", 510.0),
        (6.0, "Pause Full", 490.0),
    ] {
        built.pause(name, "", t, 10.0, &sizes(950.0, after));
    }
    let (jvm, recording) = (built.jvm, built.sealed());
    let live: Vec<_> = collections::live_points(&recording, jvm, None).iter().map(|p| p.bytes / MB).collect();
    assert_eq!(live, [500.0, 510.0, 490.0]);
}

#[test]
fn without_stamps_nothing_is_divided_by_time() {
    let mut built = Built::jvm("8", "Parallel", 0.0);
    for _ in 0..3 {
        built.pause("GC", "Allocation Failure", 0.0, 0.0, &sizes(300.0, 100.0));
    }
    let report = report(&built.sealed(), None);
    let jvm = &report.jvms[0];
    assert_eq!(jvm.totals.pauses, 3);
    for id in ["gc_throughput", "allocation_rate", "pause_interval", "promotion_rate"] {
        assert_eq!((metric(jvm, id).value, metric(jvm, id).grade), (None, Grade::NotJudged), "{id}");
    }
}

#[test]
fn cpu_efficiency_is_a_sum_over_long_pauses_and_says_when_workers_waited() {
    let cpu = |user, real| {
        [(figure::USER_S, user), (figure::SYS_S, 0.0), (figure::REAL_S, real), (figure::WORKERS, 2.0)]
    };
    let mut built = Built::jvm("17", "G1", 100.0);
    built.pause("Pause Young (Normal)", "", 1.0, 1_000.0, &cpu(0.20, 1.00));
    built.pause("Pause Young (Normal)", "", 2.0, 300.0, &cpu(0.06, 0.30));
    built.pause("Pause Young (Normal)", "", 3.0, 10.0, &cpu(0.02, 0.01));
    let report = report(&built.sealed(), None);
    let metric = metric(&report.jvms[0], "pause_cpu_efficiency");
    assert!((metric.value.unwrap() - 0.1).abs() < 1e-9);
    assert_eq!(metric.grade, Grade::Bad);
}

#[test]
fn a_share_of_a_fragment_and_a_figure_that_costs_nothing_are_not_bad() {
    let mut built = Built::jvm("17", "Parallel", 3.0);
    built.pause("Pause Young", "Allocation Failure", 1.0, 600.0, &[]);
    let fragment = report(&built.sealed(), None);
    assert_eq!(metric(&fragment.jvms[0], "gc_throughput").grade, Grade::Watch);
    let mut built = Built::jvm("17", "Parallel", 3.0);
    let cpu = [(figure::USER_S, 0.01), (figure::SYS_S, 0.05), (figure::REAL_S, 0.2)];
    built.pause("Pause Young", "Allocation Failure", 1.0, 200.0, &cpu);
    let fragment = report(&built.sealed(), None);
    assert_eq!(metric(&fragment.jvms[0], "pause_sys_share").grade, Grade::Watch);
    let mut built = Built::jvm("17", "Parallel", 300.0);
    let cpu = [(figure::USER_S, 0.0), (figure::SYS_S, 0.01), (figure::REAL_S, 0.2)];
    built.pause("Pause Young", "Allocation Failure", 1.0, 200.0, &cpu);
    let quiet = report(&built.sealed(), None);
    for id in ["pause_cpus", "pause_sys_share"] {
        assert_eq!(metric(&quiet.jvms[0], id).grade, Grade::Watch, "{id}");
    }
}

#[test]
fn a_humongous_object_that_was_allocated_after_a_cycle_is_not_what_the_cycle_left() {
    let mut built = Built::jvm("8", "G1", 60.0);
    built.fact(fact::HEAP_MAX_BYTES, "1073741824");
    for i in 0..10 {
        let at = f64::from(i) * 6.0;
        built.pause("GC cleanup", "", at, 0.5, &sizes(706.0, 450.0));
        built.pause("GC pause (young)", "G1 Humongous Allocation", at + 1.0, 0.7, &sizes(962.0, 960.0));
    }
    let share = metric(&report(&built.sealed(), None).jvms[0], "live_share").value.unwrap();
    assert!((share - 450.0 / 1024.0).abs() < 1e-9, "{share}");
}

#[test]
fn no_more_stays_in_use_than_the_heap_takes_whatever_another_part_of_the_log_states() {
    let mut built = Built::jvm("11", "G1", 60.0);
    built.fact(fact::HEAP_MAX_BYTES, "67108864");
    let sizes = [
        (figure::FULL, 1.0),
        (figure::HEAP_BEFORE_BYTES, 1700.0 * MB),
        (figure::HEAP_AFTER_BYTES, 1078.0 * MB),
        (figure::HEAP_CAPACITY_BYTES, 1700.0 * MB),
    ];
    built.pause("Pause Full", "G1 Evacuation Pause", 7.0, 68.0, &sizes);
    let report = report(&built.sealed(), None);
    let share = metric(&report.jvms[0], "live_share").value.unwrap();
    assert!((share - 1078.0 / 1700.0).abs() < 1e-9, "{share}");
    assert_eq!(metric(&report.jvms[0], "heap_after_max").grade, Grade::Fine);
}

#[test]
fn of_safepoints_alone_it_is_not_known_what_the_collector_took() {
    let throughput = |collector: bool| {
        let mut built = Built::jvm("8", "Parallel", 60.0);
        if !collector {
            built.recording.process_mut(built.jvm).facts.remove(fact::COLLECTOR);
        }
        for i in 0..50 {
            built.span(kind::SAFEPOINT, "ParallelGCFailedAllocation", f64::from(i), 80.0, &[], &[]);
        }
        let report = report(&built.sealed(), None);
        let [gc, all] = ["gc_throughput", "stop_throughput"].map(|id| metric(&report.jvms[0], id).clone());
        (gc.value.is_some(), gc.grade, all.grade)
    };
    assert_eq!(throughput(false), (false, Grade::NotJudged, Grade::Watch));
    assert_eq!(throughput(true), (true, Grade::Fine, Grade::Watch));
}

#[test]
fn the_longest_operation_that_is_no_collection_is_judged_as_a_pause_is() {
    let longest = |name: &str, ms: f64| {
        let mut built = Built::jvm("17", "G1", 60.0);
        built.span(kind::SAFEPOINT, "G1CollectForAllocation", 1.0, 5_000.0, &[], &[]);
        built.span(kind::SAFEPOINT, name, 30.0, ms, &[], &[]);
        let report = report(&built.sealed(), None);
        let metric = metric(&report.jvms[0], "operation_max");
        (metric.value, metric.grade, metric.why.clone())
    };
    let (ms, grade, why) = longest("HeapDumper", 338.0);
    assert_eq!((ms, grade), (Some(338.0), Grade::Watch));
    assert_eq!(why, judged::OPERATION.is(Value::name("heap dump")));
    assert_eq!(longest("ThreadDump", 1_200.0).1, Grade::Bad);
    assert_eq!(longest("ThreadDump", 12.0).1, Grade::Fine);
    assert_eq!(longest("Cleanup", 1_200.0).0, None);
}

#[test]
fn a_gap_is_bad_only_where_no_cpu_time_was_used_in_it() {
    let gap = |cpu: &[(&'static str, f64)]| {
        let mut built = Built::jvm("17", "Parallel", 300.0);
        let figures = [cpu, &[(figure::IDLE_GAP_MS, 900.0)]].concat();
        built.pause("Pause Young", "Allocation Failure", 10.0, 950.0, &figures);
        metric(&report(&built.sealed(), None).jvms[0], "idle_gap_max").grade
    };
    let cpu = |user_s: f64| [(figure::USER_S, user_s), (figure::SYS_S, 0.0), (figure::REAL_S, 0.95)];
    assert_eq!([gap(&cpu(0.05)), gap(&cpu(0.9)), gap(&[])], [Grade::Bad, Grade::Watch, Grade::Watch]);
}

#[test]
fn a_number_of_workers_that_is_not_logged_or_cannot_be_right_is_not_judged() {
    for workers in [None, Some(1.0)] {
        let mut built = Built::jvm("8", "Parallel", 100.0);
        let mut cpu = vec![(figure::USER_S, 2.4), (figure::SYS_S, 0.0), (figure::REAL_S, 0.3)];
        cpu.extend(workers.map(|n| (figure::WORKERS, n)));
        built.pause("GC", "", 1.0, 300.0, &cpu);
        let report = report(&built.sealed(), None);
        let efficiency = metric(&report.jvms[0], "pause_cpu_efficiency");
        assert_eq!((efficiency.value, efficiency.grade), (None, Grade::NotJudged), "{workers:?}");
        assert!((metric(&report.jvms[0], "pause_cpus").value.unwrap() - 8.0).abs() < 1e-9);
    }
    // Known of the smaller part of the pauses: of the rest it may be another number.
    let mut built = Built::jvm("8", "CMS", 100.0);
    for i in 0..5 {
        let mut cpu = vec![(figure::USER_S, 0.3), (figure::SYS_S, 0.0), (figure::REAL_S, 0.3)];
        cpu.extend((i == 0).then_some((figure::WORKERS, 4.0)));
        built.pause("GC", "", f64::from(i), 300.0, &cpu);
    }
    let report = report(&built.sealed(), None);
    assert_eq!(metric(&report.jvms[0], "pause_cpu_efficiency").value, None);
}

#[test]
fn stalls_are_counted_by_thread_and_are_no_pauses() {
    let mut built = Built::jvm("21", "Z", 10.0);
    built.fact(fact::GENERATIONAL, "1");
    built.on_thread(kind::GC_STALL, "worker-1", "Allocation Stall", 1.0, 40.0);
    built.on_thread(kind::GC_STALL, "worker-1", "Allocation Stall", 2.0, 60.0);
    built.on_thread(kind::GC_STALL, "worker-2", "Allocation Stall", 1.0, 5.0);
    let report = report(&built.sealed(), None);
    let jvm = &report.jvms[0];
    assert_eq!(jvm.totals.pauses, 0);
    assert_eq!((jvm.stalls[0].thread.as_str(), jvm.stalls[0].length_ms.count), ("worker-1", 2));
    assert_eq!(metric(jvm, "stall_max").value, Some(60.0));
    assert_eq!(metric(jvm, "stalls").grade, Grade::Bad);
    assert_eq!(jvm.description, "JDK 21, generational Z");
}

#[test]
fn a_jvm_that_never_collected_has_no_pauses_rather_than_no_metrics() {
    let report = report(&Built::jvm("17", "Epsilon", 60.0).sealed(), None);
    assert_eq!((report.jvms.len(), report.total.pauses), (1, 0));
}

#[test]
fn every_figure_says_what_it_means_and_why_it_is_judged_so() {
    let mut built = Built::jvm("17", "G1", 100.0);
    for i in 0..20 {
        let mut figures = sizes(500.0, 100.0 + f64::from(i)).to_vec();
        figures.extend([(figure::TENURING_THRESHOLD, 1.0), (figure::TENURING_MAX, 15.0)]);
        figures.push((figure::HUMONGOUS_BEFORE_REGIONS, 3.0));
        built.pause("Pause Full", "System.gc()", f64::from(i), 10.0, &figures);
    }
    let full = report(&built.sealed(), None);
    let mut ids = std::collections::HashSet::new();
    for metric in full.jvms[0].groups.iter().flat_map(|g| &g.metrics) {
        assert!(!metric.meaning.is_empty() && !metric.why.sentence().is_empty(), "{metric:?}");
        assert!(ids.insert(metric.id), "{} twice", metric.id);
        if metric.value.is_none() {
            assert_eq!(metric.grade, Grade::NotJudged, "{metric:?}");
        }
    }
}

#[test]
fn a_jvm_of_which_nothing_was_recorded_is_not_said_to_lack_timestamps() {
    let mut built = Built::jvm("17", "G1", 60.0);
    built.recording.identity.recording = Some("a recording".into());
    let report = report(&built.sealed(), None);
    let jvm = &report.jvms[0];
    assert!(jvm.is_empty() && jvm.covers.is_none());
    assert_eq!(metric(jvm, "gc_throughput").why, judged::NOTHING_RECORDED.fact());
    assert_eq!((jvm.process_id.0, jvm.recording.as_deref()), (0, Some("a recording")));
}
