//! Which stops are reported, and with what.

use fathom_recording::vocabulary::live;

use super::*;
use crate::built::{Built, judged, slow_and_base};
use crate::facts::remedies;
use crate::{Confidence, Options, Status, diagnose};

fn log(every_s: f64, ms: f64) -> Built {
    let mut built = Built::jvm("8", "Parallel", 120.0);
    for i in 0..(120.0 / every_s) as usize {
        built.pause("Full GC", "Ergonomics", i as f64 * every_s, ms, &[]);
    }
    built
}

#[test]
fn stops_of_a_twentieth_are_reported_with_where_they_went() {
    let Judgement::Found(finding) = judged(&JvmStopped, &log(2.0, 120.0).sealed()) else {
        panic!("not found")
    };
    finding.title.states(&titles::STOPPED_IN_RUN, &[("value", "6.0%")]);
    finding.title.states(&titles::JVM_STOPPED, &[("sort", "Full GC"), ("cause", "Ergonomics")]);
    let sort = &finding.fact(&pauses::STOPS).detail("sorts").unwrap().parts()[0];
    assert_eq!(["stops", "value"].map(|name| sort.number(name).unwrap().round()), [60.0, 7_200.0]);
    assert_eq!([sort.name("sort"), sort.name("cause")], [Some("Full GC"), Some("Ergonomics")]);
    assert!(!finding.remedies.is_empty());
}

#[test]
fn what_a_stop_waits_for_threads_is_a_part_of_the_time_in_which_it_acts() {
    // A collection of 20 ms at the end of each safepoint of 100 ms.
    let mut built = Built::jvm("17", "G1", 60.0);
    for i in 0..60 {
        let at = f64::from(i);
        built.span(kind::SAFEPOINT, "G1CollectForAllocation", at, 100.0, &[], &[]);
        built.pause("Pause Young (Normal)", "G1 Evacuation Pause", at + 0.08, 20.0, &[]);
    }
    let Judgement::Found(finding) = judged(&JvmStopped, &built.sealed()) else { panic!("not found") };
    assert!((finding.cost_ms - 6_000.0).abs() < 1e-3, "{}", finding.cost_ms);
    assert!((Case::length_ms(&finding.acts) - finding.cost_ms).abs() < 1e-3, "{:?}", finding.acts);
}

#[test]
fn what_safepoints_take_beyond_the_collections_in_them_is_said_apart() {
    let mut built = Built::jvm("8", "G1", 60.0);
    for i in 0..600 {
        let at = f64::from(i) * 0.1;
        built.span(kind::SAFEPOINT, "stopped", at, 30.0, &[], &[]);
        built.pause("GC pause (young)", "G1 Evacuation Pause", at + 0.02, 2.0, &[]);
    }
    let Judgement::Found(finding) = judged(&JvmStopped, &built.sealed()) else { panic!("not found") };
    let title = finding.says(&titles::JVM_STOPPED);
    assert_eq!(title.name("sort"), Some("safepoints around collections, beyond their pauses"));
    assert!(title.number("share").unwrap() > 0.5, "{title:?}");
    finding.remedies[0].change.states(&remedies::LOG_SAFEPOINTS, &[]);
    assert_eq!(finding.layer, Layer::Safepoint);
}

#[test]
fn a_stop_of_a_second_is_reported_whatever_share_it_is() {
    let mut built = Built::jvm("17", "G1", 36_000.0);
    built.pause("Pause Young (Normal)", "G1 Evacuation Pause", 9_000.0, 1_200.0, &[]);
    built.pause("Pause Young (Normal)", "G1 Evacuation Pause", 9_100.0, 20.0, &[]);
    let diagnosis = diagnose(&built.sealed(), &Options::default()).unwrap();
    assert_eq!(diagnosis.status, Status::Found, "{}", diagnosis.headline);
    diagnosis.findings[0].title.states(&titles::LONG_STOP, &[("value", "1.20 s")]);
}

#[test]
fn all_long_stops_are_counted_and_their_cost_is_that_of_all() {
    let mut built = Built::jvm("6", "Parallel", 36_000.0);
    for i in 0..1_300 {
        let ms = if i % 10 == 0 { 1_200.0 } else { 20.0 };
        built.pause("Full GC", "", f64::from(i) * 27.0, ms, &[]);
    }
    let diagnosis = diagnose(&built.sealed(), &Options::default()).unwrap();
    let title = [("stops", "130"), ("least", "1.00 s")];
    diagnosis.findings[0].title.states(&titles::LONG_STOPS, &title);
    // Without what the JVM is stopped for in as much other time.
    let cost_ms = diagnosis.findings[0].cost_ms;
    assert!((155_000.0..=156_000.0).contains(&cost_ms), "{cost_ms}");
    let sort = diagnosis.findings[0].fact(&pauses::STOPS).find(&pauses::STOPS_OF).unwrap();
    assert_eq!((sort.shows("stops"), sort.name("sort")), ("130".into(), Some("Full GC")));
}

#[test]
fn what_no_rule_explains_of_stops_that_are_nearly_all_of_the_runs_is_a_finding() {
    // 5.5% of the run, nearly all in stops that stand out; somebody asked for a third of them.
    let mut built = Built::jvm("8", "G1", 1_000.0);
    for i in 0..1_000 {
        let (cause, ms) = match i % 50 {
            0 => ("System.gc()", 920.0),
            1 | 2 => ("G1 Evacuation Pause", 920.0),
            _ => ("G1 Evacuation Pause", 5.0),
        };
        built.pause("GC pause (young)", cause, f64::from(i), ms, &[]);
    }
    let d = diagnose(&built.sealed(), &Options::default()).unwrap();
    let rules: Vec<_> = d.findings.iter().map(|f| f.rule).collect();
    assert_eq!(rules, ["gc-explicit", "jvm-stopped"], "{}", d.headline);
    let charged: f64 = d.findings.iter().map(|f| f.cost_ms).sum();
    assert!(charged >= 0.95 * d.loss.lost_ms && d.loss.lost_ms > 50_000.0, "{charged} of {:?}", d.loss);
}

#[test]
fn stops_that_stand_out_are_named_where_they_are_what_was_lost() {
    let mut built = Built::jvm("7", "G1", 1_000.0);
    for i in 0..1_000 {
        let (name, ms) = match i % 50 {
            0 => ("GC pause (young)", 400.0),
            1 => ("GC pause (young) (initial-mark)", 300.0),
            _ => ("GC remark", 20.0),
        };
        built.pause(name, "G1 Evacuation Pause", f64::from(i), ms, &[]);
    }
    let d = diagnose(&built.sealed(), &Options::default()).unwrap();
    assert_eq!(d.status, Status::Found, "{}", d.headline);
    let finding = &d.findings[0];
    assert_eq!(finding.rule, "jvm-stopped");
    let stops = finding.says(&titles::STOPS_STANDING_OUT);
    assert_eq!(
        ["stops", "all", "value"].map(|name| stops.number(name).unwrap().round()),
        [40.0, 1_000.0, 400.0]
    );
    assert!(finding.named().starts_with("GC pause"), "{}", finding.culprit);
    let sort = finding.fact(&pauses::STOPS).find(&pauses::STOPS_OF).unwrap();
    assert_eq!(sort.shows("stops"), "20");
    assert_eq!(sort.name("sort"), Some("GC pause (young)"));
    assert_eq!(sort.name("cause"), Some("G1 Evacuation Pause"));
}

#[test]
fn stops_that_take_little_of_the_slow_windows_may_be_there_by_chance() {
    let sure = |each_ms: f64| {
        let mut built = Built::jvm("25", "G1", 100.0);
        for i in 0..8 {
            built.pause("Pause Young (Normal)", "G1 Evacuation Pause", 10.0 + f64::from(i), each_ms, &[]);
        }
        let (jvm, recording) = (built.jvm, built.sealed());
        let mut case = slow_and_base(&recording, (10, 20), (30, 70), 1.0);
        case.loss.lost_ms = 2_000.0;
        match JvmStopped.judge(&case, jvm) {
            Judgement::Found(finding) => Some(finding.confidence),
            _ => None,
        }
    };
    assert_eq!(sure(50.0), Some(Confidence::ConsistentWith));
    assert_eq!(sure(70.0), Some(Confidence::Likely));
    assert_eq!(sure(5.0), None);
}

#[test]
fn shorter_stops_that_stand_out_are_counted_with_the_long_ones() {
    let mut built = Built::jvm("8", "G1", 10_000.0);
    for i in 0..2_000 {
        let (cause, ms) = match i % 40 {
            0 => ("G1 Evacuation Pause", 400.0),
            _ => ("G1 Evacuation Pause", 4.0),
        };
        built.pause("GC pause (young)", cause, f64::from(i) * 5.0, ms, &[]);
    }
    built.span(kind::SAFEPOINT, "stopped", 2_001.0, 3_600.0, &[], &[]);
    built.pause("Full GC", "Metadata GC Threshold", 4_002.0, 1_300.0, &[]);
    let d = diagnose(&built.sealed(), &Options::default()).unwrap();
    let first = &d.findings[0];
    assert_eq!(first.rule, "jvm-stopped", "{}", d.headline);
    first.title.states(
        &titles::LONG_STOPS,
        &[("stops", "2"), ("shorter", "50"), ("all", "2,002"), ("value", "3.60 s")],
    );
    // All of them, without what a usual stop takes.
    assert!((23_500.0..=23_600.0).contains(&first.cost_ms), "{}", first.cost_ms);
    let sorts = first.fact(&pauses::STOPS).values().flat_map(crate::facts::Value::parts);
    let unnamed = sorts.filter_map(|sort| sort.find(&pauses::STOPS_OF));
    let unnamed: Vec<_> = unnamed.filter(|sort| sort.name("sort") == Some(crate::stops::UNNAMED)).collect();
    assert_eq!(unnamed[0].shows("stops"), "1", "{unnamed:?}");
    assert_eq!(unnamed[0].shows("value"), "3.60 s", "{unnamed:?}");
}

#[test]
fn pauses_that_waited_or_were_in_the_kernel_recommend_to_look_at_swap() {
    let advised = |user_s: f64, sys_s: f64, swapped_in: Option<f64>| {
        let mut built = Built::jvm("8", "CMS", 600.0);
        for i in 0..30 {
            let cpu = [(figure::USER_S, user_s), (figure::SYS_S, sys_s), (figure::REAL_S, 2.0)];
            built.pause("GC", "Allocation Failure", f64::from(i) * 20.0, 2_000.0, &cpu);
        }
        if let Some(rate) = swapped_in {
            built.gauge(live::HOST_SWAP_IN, "", None, &[(0.0, 600.0, rate)]);
        }
        let Judgement::Found(found) = judged(&JvmStopped, &built.sealed()) else { panic!("not found") };
        found.advises(&remedies::NO_SWAP)
    };
    assert!(advised(0.1, 0.3, None), "it waited");
    assert!(advised(0.1, 0.3, Some(4e6)), "and was read back");
    assert!(!advised(0.1, 0.3, Some(0.0)), "nothing was in swap");
    assert!(advised(1.0, 4.0, None), "the kernel worked");
    assert!(!advised(7.0, 0.3, None));
}

#[test]
fn a_full_collection_that_creeps_is_said_to_have_waited() {
    let full = |ms: f64, more: &[(&str, f64)]| {
        let mut built = Built::jvm("6", "Parallel", 36_000.0);
        let sizes = [(figure::HEAP_BEFORE_BYTES, 917.0 * 1024.0 * 1024.0)];
        built.pause("Full GC", "", 9_000.0, ms, &[&sizes, more].concat());
        diagnose(&built.sealed(), &Options::default()).unwrap()
    };
    let d = full(332_000.0, &[]);
    let title = &d.findings[0].title;
    title.states(&titles::LONG_STOP, &[("value", "332.00 s")]);
    title.states(&titles::JVM_STOPPED, &[("sort", "Full GC"), ("pace", "2.8 MB")]);
    let said = |d: &crate::Diagnosis| {
        let first = &d.findings[0];
        let waited = first.facts(&pauses::PACE).next().is_some();
        (waited, first.advises(&remedies::NO_SWAP))
    };
    assert_eq!(said(&d), (true, true), "{:?}", d.findings[0]);
    // The same heap in three seconds is work, and where there are CPU times these decide.
    assert_eq!(said(&full(3_000.0, &[])), (false, false));
    let busy = [(figure::USER_S, 331.0), (figure::SYS_S, 0.5), (figure::REAL_S, 332.0)];
    assert_eq!(said(&full(332_000.0, &busy)), (false, false));
}

#[test]
fn one_long_pause_without_cpu_says_nothing_of_many_short_ones_whose_cpu_no_log_can_show() {
    let finding = |short: usize| {
        let mut built = Built::jvm("25", "Serial", 60.0);
        for i in 0..short {
            let cpu = [(figure::USER_S, 0.0), (figure::SYS_S, 0.0), (figure::REAL_S, 0.01)];
            built.pause("Pause Young", "Allocation Failure", 0.1 * i as f64, 9.0, &cpu);
        }
        let cpu = [(figure::USER_S, 0.0), (figure::SYS_S, 0.0), (figure::REAL_S, 1.2)];
        built.pause("Pause Full", "Allocation Failure", 59.0, 1_200.0, &cpu);
        match judged(&JvmStopped, &built.sealed()) {
            Judgement::Found(finding) => finding,
            other => panic!("{other:?}"),
        }
    };
    let said = |short| {
        let finding = finding(short);
        let cpu = finding.fact(&pauses::CPU_OF);
        (cpu.clone(), finding.advises(&remedies::LARGER_HEAP_FOR_FULL))
    };
    let (of_most, _) = said(10);
    assert_eq!(["pauses", "value"].map(|name| of_most.number(name)), [Some(1.0), Some(0.0)]);
    assert!(of_most.named("waited").is_some(), "{of_most:?}");
    let (of_few, larger_heap) = said(500);
    assert!(of_few.named("waited").is_none() && !larger_heap, "{of_few:?}");
    assert!(said(300).1, "a full collection took a third of it");
}

#[test]
fn a_remark_on_one_processor_is_said_to_be_one_and_one_on_four_is_not() {
    let remark = |user_s: f64| {
        let mut built = Built::jvm("8", "CMS", 36_000.0);
        let cpu = [(figure::USER_S, user_s), (figure::SYS_S, 0.01), (figure::REAL_S, 2.66)];
        built.pause("CMS-remark", "", 9_000.0, 2_660.0, &cpu);
        diagnose(&built.sealed(), &Options::default()).unwrap().findings.remove(0)
    };
    let one = remark(2.68);
    let on_one = one.fact(&pauses::ON_ONE_CPU);
    let shown = ["pauses", "mark", "value", "paused"].map(|name| on_one.shows(name));
    assert_eq!(shown, ["1", "remark", "2.69 s", "2.66 s"]);
    one.remedies[0].change.states(&remedies::PARALLEL_REMARK, &[]);
    let four = remark(9.0);
    assert_eq!(four.facts(&pauses::ON_ONE_CPU).count(), 0, "{four:?}");
}

#[test]
fn an_initial_mark_on_one_processor_is_said_to_be_one() {
    let mut built = Built::jvm("7", "CMS", 36_000.0);
    let cpu = [(figure::USER_S, 19.72), (figure::SYS_S, 0.02), (figure::REAL_S, 19.69)];
    built.pause("CMS-initial-mark", "", 9_000.0, 19_684.0, &cpu);
    let one = diagnose(&built.sealed(), &Options::default()).unwrap().findings.remove(0);
    let on_one = one.fact(&pauses::ON_ONE_CPU);
    assert_eq!(["pauses", "mark", "value"].map(|name| on_one.shows(name)), ["1", "initial mark", "19.74 s"]);
    one.remedies[0].change.states(&remedies::PARALLEL_INITIAL_MARK, &[]);
}

#[test]
fn a_quiet_run_is_ruled_out_by_its_figures() {
    let Judgement::RuledOut { figure, .. } = judged(&JvmStopped, &log(2.0, 30.0).sealed()) else { panic!() };
    figure.states(&ruled_out::STOPPED, &[("value", "1.5%"), ("longest", "30 ms")]);
}

#[test]
fn a_safepoint_right_behind_a_collection_is_not_the_collection() {
    // JDK 8: a collection of 41 ms, and another safepoint of a second whose time overlaps its end
    // by 5 ms.
    let mut built = Built::jvm("8", "G1", 60.0);
    built.pause("GC pause (young)", "G1 Evacuation Pause", 2.847, 41.0, &[]);
    built.span(kind::SAFEPOINT, "stopped", 2.846, 42.0, &[], &[]);
    built.span(kind::SAFEPOINT, "stopped", 2.883, 1_000.7, &[], &[]);
    let Judgement::Found(finding) = judged(&JvmStopped, &built.sealed()) else { panic!("not found") };
    assert_eq!(finding.says(&titles::LONG_STOP).number("value").unwrap().round(), 1_038.0);
    assert_eq!(*finding.culprit, *UNNAMED);
    finding.remedies[0].change.states(&remedies::LOG_SAFEPOINTS, &[]);
    assert_eq!(finding.layer, Layer::Safepoint);
}

#[test]
fn the_largest_sort_of_stops_is_most_of_them_only_from_half_on() {
    let mut built = Built::jvm("8", "G1", 60.0);
    for i in 0..60 {
        let at = f64::from(i);
        built.span(kind::SAFEPOINT, "stopped", at, 40.0, &[], &[]);
        built.pause("GC pause (young)", "G1 Evacuation Pause", at + 0.3, 35.0, &[]);
        built.pause("GC pause (young)", "GCLocker Initiated GC", at + 0.6, 25.0, &[]);
    }
    let Judgement::Found(finding) = judged(&JvmStopped, &built.sealed()) else { panic!("not found") };
    finding.title.states(&titles::JVM_STOPPED, &[("share", "40%"), ("sort", UNNAMED)]);
}

#[test]
fn safepoints_that_are_no_collections_count_as_well() {
    let mut built = Built::jvm("17", "G1", 60.0);
    for i in 0..60 {
        built.span(kind::SAFEPOINT, "ThreadDump", f64::from(i), 100.0, &[], &[]);
    }
    let Judgement::Found(finding) = judged(&JvmStopped, &built.sealed()) else { panic!("not found") };
    assert!(finding.named() == "ThreadDump" && finding.layer == Layer::Safepoint, "{}", finding.title);
}

#[test]
fn what_another_rule_explains_is_charged_there_and_the_sum_stands_in_its_evidence() {
    let mut built = Built::jvm("8", "Parallel", 120.0);
    for i in 0..60 {
        built.pause("Full GC", "System.gc()", f64::from(i) * 2.0, 400.0, &[]);
    }
    let d = diagnose(&built.sealed(), &Options::default()).unwrap();
    assert_eq!(d.findings.iter().map(|f| f.rule).collect::<Vec<_>>(), ["gc-explicit"], "{}", d.headline);
    d.findings[0].fact(&crate::facts::merged::IN_ALL);
}

#[test]
fn stops_that_others_explain_are_not_ruled_out_as_well() {
    let mut built = Built::jvm("8", "Parallel", 62.0);
    built.pause("Full GC", "System.gc()", 30.0, 4_500.0, &[]);
    built.pause("Full GC", "JvmtiEnv ForceGarbageCollection", 36.0, 3_900.0, &[]);
    let d = diagnose(&built.sealed(), &Options::default()).unwrap();
    assert!(d.findings.iter().any(|f| f.rule == "gc-explicit"), "{}", d.headline);
    assert!(d.ruled_out.iter().all(|row| row.rule != "jvm-stopped"), "{:?}", d.ruled_out);
}
