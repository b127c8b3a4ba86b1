//! Bursts put together by hand: with samples and without, at other times, of other JVMs.

use crate::facts::culprits;
use fathom_recording::FrameType;
use fathom_recording::vocabulary::{kind, label};

use super::*;
use crate::built::{Built, jit_task};
use crate::known::Known;
use crate::{Confidence, Finding, Loss, Window};

const S: i64 = 1_000_000_000;

fn window(from_s: i64, to_s: i64) -> Window {
    Window { from_ns: from_s * S, to_ns: to_s * S }
}

/// A minute of quiet from 40 s on, then a slow window of 100 to 110 s in which half is lost.
fn judge(built: Built, slow: Window) -> Judgement {
    let (jvm, recording) = (built.jvm, built.sealed());
    let ticks = (slow.from_ns / S..slow.to_ns / S).map(|s| (window(s, s + 1), 500.0));
    let lost_by: Vec<_> = ticks.collect();
    let lost_ms = lost_by.iter().map(|(_, ms)| ms).sum();
    let case = Case {
        recording: &recording,
        slow: vec![slow],
        base: vec![window(40, 95)],
        whole_run: false,
        loss: Loss { lost_ms, slow_rate: Some(50.0), base_rate: Some(100.0), ..Loss::default() },
        found_on_stops: false,
        warm_up: None,
        lost_by,
        exchanges: None,
        attributed: std::rc::Rc::default(),
        known: Known::shared(&recording),
    };
    JitCompileBurst.judge(&case, jvm)
}

fn burst(at_s: f64, tasks: usize) -> Built {
    let mut built = Built::jvm("17", "Parallel", 200.0);
    for i in 0..20 {
        jit_task(&mut built, "app.Old.run()", 41.0 + 2.0 * f64::from(i), 0.0, 5.0, 3);
    }
    for i in 0..tasks {
        let at = at_s + i as f64 * 0.01;
        let tier = if i % 3 == 0 { 4 } else { 3 };
        jit_task(&mut built, &format!("app.shift.M{i}.go()"), at, 50.0 * i as f64, 20.0, tier);
    }
    built
}

/// The same with samples of the worker every 10 ms, in code of a kind from 100 to 110 s and
/// compiled before, and of the compiler in the dip.
fn sampled(by: FrameType, method: &str, compiling: f64) -> Built {
    let mut built = burst(100.2, 120);
    built.watched("worker", 200.0);
    for i in 0..7_000 {
        let at = 40.0 + f64::from(i) * 0.01;
        if (100.0..110.0).contains(&at) {
            built.on_cpu(
                "worker",
                &[(method, by), ("app.Main.run", FrameType::Interpreted)],
                at,
                10.0 * (1.0 - compiling),
            );
            built.on_cpu("C2 CompilerThread0", &[("Compile::Compile", FrameType::Jvm)], at, 10.0 * compiling);
        } else {
            built.on_cpu("worker", &[("app.Old.run", FrameType::C2)], at, 10.0);
        }
    }
    if compiling > 0.0 {
        for i in 0..100 {
            built.preempted(
                "worker",
                100.0 + f64::from(i) * 0.1,
                100.0 * compiling,
                0.0,
                "C2 CompilerThre (9)",
            );
        }
    }
    built
}

#[test]
fn samples_of_code_that_is_compiled_later_make_it_likely() {
    let built = sampled(FrameType::Interpreted, "app.shift.M7.go", 0.0);
    let Judgement::Found(finding) = judge(built, window(100, 110)) else { panic!() };
    assert_eq!(finding.confidence, Confidence::Likely, "{:?}", finding.why_confidence);
    assert_eq!(finding.fact(&compile::UNCOMPILED).number("interpreted"), Some(1.0));
}

#[test]
fn a_burst_whose_code_runs_compiled_is_what_new_code_brings_and_no_cause() {
    for (by, method) in [
        (FrameType::C2, "app.shift.M7.go"),
        // Never compiled: slow for another reason.
        (FrameType::Interpreted, "app.Huge.table"),
        (FrameType::Native, "connect"),
    ] {
        let Judgement::RuledOut { figure, .. } = judge(sampled(by, method, 0.0), window(100, 110)) else {
            panic!("{by:?} {method}")
        };
        let ran = figure.fact().find(&compile::AS_NEW_CODE).unwrap_or_else(|| panic!("{figure:?}"));
        assert_eq!(ran.number("interpreted"), Some(0.0), "{by:?} {method}");
    }
}

/// Tasks of the dip, and a baseline in which as many a second are made, each of them a short
/// one.
fn starved(tasks: usize) -> Judgement {
    let mut built = Built::jvm("17", "Parallel", 200.0);
    for i in 0..550 {
        jit_task(&mut built, &format!("app.Old.run{}()", i % 9), 40.0 + 0.1 * f64::from(i), 0.0, 5.0, 3);
    }
    for i in 0..tasks {
        let at = 100.2 + 9.0 * i as f64 / tasks as f64;
        jit_task(&mut built, &format!("app.shift.M{i}.go()"), at, 0.0, 250.0, 4);
    }
    judge(built, window(100, 110))
}

#[test]
fn compilers_that_are_busy_for_long_with_as_few_tasks_as_ever_get_no_cpu_and_are_no_burst() {
    let Judgement::RuledOut { figure, .. } = starved(40) else { panic!("found") };
    let rate = figure.fact().find(&compile::RATE).unwrap_or_else(|| panic!("{figure:?}"));
    assert_eq!((rate.number("value"), rate.number("baseline")), (Some(4.0), Some(10.0)));
    assert!(matches!(starved(150), Judgement::Found(_)));
}

/// Whether the CPUs that compilers took cost more than code that ran before it was compiled.
fn is_mostly_cpus(finding: &Finding) -> bool {
    let run_ms = finding.fact(&compile::UNCOMPILED).number("value");
    finding.fact(&compile::CPU_WAITS).number("taken") > run_ms
}

#[test]
fn compilers_that_have_the_processors_which_the_application_waits_for_are_the_cause() {
    let built = sampled(FrameType::C2, "app.shift.M7.go", 0.6);
    let Judgement::Found(finding) = judge(built, window(100, 110)) else { panic!() };
    assert!(is_mostly_cpus(&finding), "{:?}", finding.evidence);
    let cpus = finding.fact(&compile::CPUS);
    assert!((cpus.number("value").unwrap() - 0.6).abs() < 0.005, "{cpus:?}");
    assert_eq!(cpus.number("baseline"), Some(0.0));
    let waits = finding.fact(&compile::CPU_WAITS);
    assert!((waits.number("value").unwrap() - 0.6).abs() < 0.005, "{waits:?}");
}

#[test]
fn compilers_that_are_busy_for_longer_than_was_asked_for_are_charged_for_all_of_it() {
    let mut built = sampled(FrameType::C2, "app.shift.M7.go", 0.6);
    for i in 0..20 {
        jit_task(&mut built, &format!("app.late.M{i}.go()"), 104.0 + f64::from(i) * 0.2, 0.0, 5.0, 3);
    }
    let Judgement::Found(finding) = judge(built, window(100, 110)) else { panic!() };
    // Of the ten seconds five are lost; most tasks are asked for in the first two of them.
    assert!(finding.cost_ms > 2_500.0, "{}", finding.cost_ms);
}

#[test]
fn a_burst_that_begins_with_the_dip_is_consistent_with_it_and_names_the_new_methods() {
    let Judgement::Found(finding) = judge(burst(100.2, 120), window(100, 110)) else { panic!() };
    assert_eq!(finding.confidence, Confidence::ConsistentWith, "{:?}", finding.why_confidence);
    assert_eq!(finding.facts(&compile::UNCOMPILED).count(), 0, "logs do not show what ran");
    assert_eq!(finding.facts(&compile::START_UP).count(), 0);
    assert_eq!(finding.fact(&compile::FRESH).number("value"), Some(120.0));
    finding.culprit.states(&culprits::PACKAGE, &[("package", "app.shift"), ("value", "120")]);
    assert!(finding.share.unwrap() > 0.5 && finding.cost_ms < 5_000.0, "{finding:?}");
    let tiers = finding.fact(&compile::TIERS).detail("parts").unwrap().parts();
    let tiers: Vec<_> = tiers.iter().map(|part| (part.number("value"), part.number("tier"))).collect();
    assert_eq!(tiers, [(Some(80.0), Some(3.0)), (Some(40.0), Some(4.0))]);
    let onset = finding.fact(&compile::ONSET);
    assert!((onset.number("value").unwrap() - 200.0).abs() < 1e-6, "{onset:?}");
    assert_eq!(onset.name("side"), Some("after"));
    let queues = finding.fact(&compile::QUEUE).detail("compilers").unwrap().parts();
    assert_eq!(queues.iter().filter_map(|of| of.name("compiler")).collect::<Vec<_>>(), ["C2", "C1"]);
}

#[test]
fn a_burst_at_another_time_or_of_a_few_tasks_explains_nothing() {
    for built in [burst(150.0, 120), burst(100.2, 20), burst(60.0, 0)] {
        let Judgement::RuledOut { figure, .. } = judge(built, window(100, 110)) else { panic!() };
        assert!(figure.fact().find(&compile::RATE).is_some(), "{figure:?}");
    }
}

#[test]
fn start_up_is_called_start_up_and_never_more_than_consistent() {
    let Judgement::Found(finding) = judge(burst(5.0, 300), window(3, 13)) else { panic!() };
    assert_eq!(finding.confidence, Confidence::ConsistentWith);
    let after_ms = finding.fact(&compile::START_UP).number("value").unwrap();
    assert!((after_ms - 5_000.0).abs() < 1.0, "{after_ms}");
}

/// A case in which the loss was not measured.
fn judge_unmeasured(built: Built, slow: Window, base: Window) -> Judgement {
    let (jvm, recording) = (built.jvm, built.sealed());
    let ((from, to), base) = ((slow.from_ns / S, slow.to_ns / S), (base.from_ns / S, base.to_ns / S));
    let measured = crate::built::slow_and_base(&recording, (from, to), base, 0.0);
    JitCompileBurst.judge(&Case { loss: Loss::default(), lost_by: Vec::new(), ..measured }, jvm)
}

#[test]
fn what_a_base_precedes_is_no_start_up() {
    let is_start_up = |base| match judge_unmeasured(burst(20.2, 120), window(20, 30), base) {
        Judgement::Found(finding) => finding.facts(&compile::START_UP).count() == 1,
        other => panic!("{other:?}"),
    };
    assert!(!is_start_up(window(5, 15)) && is_start_up(window(50, 90)));
}

#[test]
fn no_more_is_charged_than_compilers_worked_and_new_code_ran_where_no_loss_was_measured() {
    let judged = |by: FrameType| {
        let mut built = Built::jvm("17", "Parallel", 200.0);
        for i in 0..120 {
            let at = 100.2 + f64::from(i) * 0.01;
            jit_task(&mut built, &format!("app.shift.M{i}.go()"), at, 1.0, 0.2, 4);
        }
        // A worker that mostly sleeps: too few samples for shares.
        for i in 0..50 {
            built.on_cpu("worker", &[("app.shift.M7.go", by)], 100.2 + f64::from(i) * 0.02, 20.0);
        }
        judge_unmeasured(built, window(100, 110), window(40, 95))
    };
    let Judgement::RuledOut { figure, .. } = judged(FrameType::C2) else { panic!("found") };
    let worked = figure.fact().find(&compile::WORKED).unwrap_or_else(|| panic!("{figure:?}"));
    assert!((worked.number("value").unwrap() - 24.0).abs() < 1e-6, "{worked:?}");
    let Judgement::Found(finding) = judged(FrameType::Interpreted) else { panic!("not found") };
    assert!((finding.cost_ms - 1_024.0).abs() < 1.0, "{}", finding.cost_ms);
}

#[test]
fn compilers_that_get_no_cpu_are_charged_with_what_they_worked() {
    let judged = |compiled_ms: f64| {
        let mut built = Built::jvm("17", "Parallel", 200.0);
        for i in 0..60 {
            let at = 100.2 + f64::from(i) * 0.15;
            jit_task(&mut built, &format!("app.shift.M{i}.go()"), at, 1.0, 140.0, 4);
        }
        for i in 0..50 {
            built.on_cpu("worker", &[("app.Old.run", FrameType::C2)], 100.2 + f64::from(i) * 0.02, 20.0);
        }
        built.on_cpu("C2 CompilerThread0", &[("Compile::Compile", FrameType::Jvm)], 105.0, compiled_ms);
        judge(built, window(100, 110))
    };
    assert!(matches!(judged(30.0), Judgement::RuledOut { .. }));
    let Judgement::Found(finding) = judged(4_000.0) else { panic!("not found") };
    assert!((finding.cost_ms - 4_000.0).abs() < 1.0, "{}", finding.cost_ms);
}

#[test]
fn a_burst_is_judged_where_it_was_and_not_over_a_long_window() {
    judged_where_it_was(burst(100.2, 120));
}

#[test]
fn a_burst_that_dies_down_slowly_is_judged_where_it_was_dense() {
    let mut built = burst(100.2, 600);
    for i in 0..400 {
        let at = 108.0 + f64::from(i) * 0.16;
        jit_task(&mut built, &format!("app.late.M{i}.go()"), at, 0.0, 5.0, 3);
    }
    let finding = judged_where_it_was(built);
    assert!(finding.windows.iter().all(|w| w.to_ns <= 110 * S), "{:?}", finding.windows);
}

/// Judged over 72 s. The worker waits for a tenth of the baseline, for two fifths in the first nine
/// seconds, while compilers work, and not at all afterwards.
fn judged_where_it_was(mut built: Built) -> Box<Finding> {
    built.watched("worker", 200.0);
    for i in 0..1_320 {
        let at = 40.0 + f64::from(i) * 0.1;
        let (waits, compiles) = match at {
            at if at < 100.0 => (0.1, 0.0),
            at if at < 109.0 => (0.4, 0.4),
            _ => (0.0, 0.0),
        };
        built.on_cpu("worker", &[("app.Old.run", FrameType::C2)], at, 100.0 * (1.0 - waits));
        if waits > 0.0 {
            built.preempted("worker", at, 100.0 * waits, 0.0, "C2 CompilerThre (9)");
        }
        if compiles > 0.0 {
            let frames = [("Compile::Compile", FrameType::Jvm)];
            built.on_cpu("C2 CompilerThread0", &frames, at, 100.0 * compiles);
        }
    }
    // Shares need a hundred samples.
    built.on_cpu("worker", &[("app.Old.run", FrameType::Interpreted)], 30.0, 1.0);
    for i in 0..100 {
        built.on_cpu("worker", &[("app.Old.run", FrameType::C2)], 100.5 + f64::from(i) * 0.01, 0.1);
    }
    let Judgement::Found(finding) = judge(built, window(100, 172)) else { panic!("not found") };
    assert!(is_mostly_cpus(&finding), "{:?}", finding.evidence);
    assert!(finding.cost_ms > 1_800.0 && finding.cost_ms < 4_300.0, "{}", finding.cost_ms);
    finding
}

#[test]
fn stops_in_the_same_windows_weaken_it() {
    let confidence = |pause_ms: f64| {
        let mut built = sampled(FrameType::Interpreted, "app.shift.M7.go", 0.0);
        built.pause("Pause Full", "Allocation Failure", 103.0, pause_ms, &[]);
        let Judgement::Found(finding) = judge(built, window(100, 110)) else { panic!() };
        finding.confidence
    };
    assert_eq!([40.0, 4_000.0].map(confidence), [Confidence::Likely, Confidence::ConsistentWith]);
}

#[test]
fn compiling_without_a_slow_window_is_no_finding_and_ruled_out_only_where_it_was_little_or_a_series_was_steady()
 {
    let judged = |tasks, measure| {
        let recording = burst(100.2, tasks).sealed();
        let loss = Loss { measure, ..Loss::default() };
        let case = Case { loss, ..crate::built::whole_run(&recording) };
        JitCompileBurst.judge(&case, fathom_recording::ProcessId(0))
    };
    let tasks = |fact: &Fact| fact.find(&compile::RUN).and_then(|run| run.number("value"));
    let Judgement::RuledOut { figure, .. } = judged(300, None) else { panic!() };
    assert!(figure.fact().find(&compile::BUSY_RUN).is_some(), "{figure:?}");
    assert_eq!(tasks(figure.fact()), Some(320.0));
    let Judgement::Inconclusive(spot) = judged(500, None) else { panic!() };
    let not_judged = spot.what.fact().find(&compile::NOT_JUDGED).unwrap_or_else(|| panic!("{spot:?}"));
    assert!((not_judged.number("value").unwrap() - 0.051).abs() < 5e-4, "{not_judged:?}");
    let Judgement::RuledOut { figure, .. } = judged(500, Some(crate::Measure::Throughput)) else { panic!() };
    assert!(figure.fact().find(&compile::NO_SLOW_TIME).is_some(), "{figure:?}");
    assert_eq!(tasks(figure.fact()), Some(520.0));
    let silent = Built::jvm("17", "G1", 10.0).sealed();
    assert!(matches!(crate::built::judged(&JitCompileBurst, &silent), Judgement::Inconclusive(_)));
}

#[test]
fn a_jvm_that_follows_another_is_not_the_cause() {
    let mut built = burst(100.2, 150);
    let leader = built.jvm;
    let follower = built.another_jvm("follower");
    for i in 0..40 {
        let at_s = 100.3 + 0.01 * f64::from(i);
        jit_task(&mut built, &format!("app.Talk.m{i}()"), at_s, 1.0, 1.0, 3);
    }
    let recording = built.sealed();
    let case = Case {
        recording: &recording,
        slow: vec![window(100, 110)],
        base: vec![window(40, 95)],
        whole_run: false,
        loss: Loss::default(),
        found_on_stops: false,
        warm_up: None,
        lost_by: Vec::new(),
        exchanges: None,
        attributed: std::rc::Rc::default(),
        known: Known::shared(&recording),
    };
    assert!(matches!(JitCompileBurst.judge(&case, leader), Judgement::Found(_)));
    let judged = JitCompileBurst.judge(&case, follower);
    let Judgement::RuledOut { figure, .. } = judged else { panic!("{judged:?}") };
    let leads = figure.fact().find(&compile::LEADER).unwrap_or_else(|| panic!("{figure:?}"));
    assert_eq!((leads.number("value"), leads.name("jvm")), (Some(150.0), Some("App")));
}

/// A worker whose methods are compiled, and again after each of two redefinitions of classes.
#[test]
fn code_that_redefined_classes_threw_away_is_told_from_new_code() {
    let redefined = |operation: &str| {
        let mut built = sampled(FrameType::Interpreted, "app.shift.M7.go", 0.0);
        for i in 0..120 {
            let tier = if i % 3 == 0 { 4 } else { 3 };
            jit_task(&mut built, &format!("app.shift.M{i}.go()"), 20.0 + 0.1 * f64::from(i), 0.0, 20.0, tier);
        }
        for at_s in [99.9, 104.0] {
            built.span(kind::VM_OPERATION, operation, at_s, 20.0, &[], &[(label::CALLER, "agent-rules")]);
        }
        let Judgement::Found(finding) = judge(built, window(100, 110)) else { panic!("{operation}") };
        finding
    };
    let finding = redefined("RedefineClasses");
    let culprit = [("value", "RedefineClasses"), ("asked-by", "agent-rules")];
    finding.culprit.states(&culprits::OPERATION, &culprit);
    let again = finding.fact(&compile::COMPILED_AGAIN);
    assert_eq!((again.number("value"), again.number("times")), (Some(120.0), Some(2.0)));
    assert!(redefined("ThreadDump").culprit.fact().find(&culprits::OPERATION).is_none());
}
