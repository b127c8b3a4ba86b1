//! Hogs, other JVMs, the JVM's own threads and the recorder.

use crate::Confidence;
use crate::facts::remedies;
use fathom_recording::FrameType;
use fathom_recording::vocabulary::{figure, kind, label, live};

use super::*;
use crate::built::{Built, judged, slow_and_base};

/// Two workers on two CPUs that always run, but for `waits` ms of each 100 ms from 20 to 30 s
/// on, while others take `others` CPUs.
fn workers(workers: usize, waits: f64, others: f64) -> Built {
    let mut built = Built::jvm("17", "G1", 60.0);
    for worker in 0..workers {
        let name = format!("worker-{worker}");
        built.watched(&name, 60.0);
        for i in 0..100 {
            built.preempted(&name, 20.0 + f64::from(i) * 0.1, waits, 0.0, "hog (4711)");
        }
    }
    let jvm = Some(built.jvm);
    let own = 2.0 - others;
    built.gauge(live::HOST_CPU_BUSY, "cpu0", None, &[(0.0, 60.0, 1.0)]);
    built.gauge(live::HOST_CPU_BUSY, "cpu1", None, &[(0.0, 60.0, 1.0)]);
    let parts = [(0.0, 20.0, 2.0), (20.0, 30.0, own), (30.0, 60.0, 2.0)];
    built.gauge(live::PROCESS_CPU_USER, "App (1)", jvm, &parts);
    for pid in 7..10 {
        built.gauge(live::PROCESS_CPU, &format!("python3 ({pid})"), None, &[(20.0, 30.0, others / 3.0)]);
    }
    built
}

#[test]
fn hogs_are_added_up_by_name_and_charged_with_what_they_took() {
    let recording = workers(2, 80.0, 1.6).sealed();
    let case = slow_and_base(&recording, (20, 30), (30, 60), 0.8);
    let Judgement::Found(finding) = CpuTakenByOthers.judge(&case, ProcessId(0)) else { panic!("not found") };
    assert!((finding.cost_ms - 8_000.0).abs() < 300.0, "{}", finding.cost_ms);
    assert_eq!(finding.confidence, Confidence::Proven, "{:?}", finding.why_confidence);
    finding.culprit.states(&culprits::TAKER, &[("value", "python3 (3 processes)"), ("cpus", "1.60")]);
    let waits = finding.fact(&crate::facts::cpu::THREADS_WAITING);
    let ms = |name| waits.number(name).unwrap();
    assert!((ms("value") / (ms("value") + ms("running")) - 0.8).abs() < 0.01, "{waits:?}");
    assert_eq!(waits.number("baseline"), Some(0.0), "{waits:?}");
    let ran = finding.evidence.iter().find(|e| e.metric() == "ran-at-end-of-wait").unwrap();
    let [hog] = ran.fact.detail("processes").unwrap().parts() else { panic!("{ran:?}") };
    assert_eq!((hog.number("value"), hog.detail("process").unwrap().as_name()), (Some(1.0), Some("hog")));
    let busy = finding.evidence.iter().find(|e| e.metric() == "cpus-busy").unwrap();
    assert!((busy.fact.number("others").unwrap() - 1.6).abs() < 0.01, "{busy:?}");
    assert_eq!(busy.fact.number("baseline-others"), Some(0.0), "{busy:?}");
}

#[test]
fn a_process_whose_own_priority_fell_is_not_behind_the_fault_of_those_who_run() {
    let judge = |nice: f64, weight: f64| {
        let mut built = workers(2, 80.0, 1.6);
        let jvm = Some(built.jvm);
        let values = |usual: f64, slow: f64| [(0.0, 20.0, usual), (20.0, 30.0, slow), (30.0, 60.0, usual)];
        built.gauge(live::PROCESS_NICE, "App (1)", jvm, &values(0.0, nice));
        built.gauge(live::CGROUP_CPU_WEIGHT, "shop", None, &values(1.0, weight));
        let recording = built.sealed();
        match CpuTakenByOthers.judge(&slow_and_base(&recording, (20, 30), (30, 60), 0.8), ProcessId(0)) {
            Judgement::Found(finding) => *finding,
            _ => panic!("not found"),
        }
    };
    let nicer = judge(19.0, 1.0);
    nicer.culprit.states(&culprits::OWN_PRIORITY, &[]);
    nicer.title.states(&facts::NICER, &[("value", "19"), ("baseline", "0.0")]);
    assert!(nicer.advises(&remedies::PRIORITY_AS_BEFORE));
    judge(0.0, 0.1).title.states(&facts::LIGHTER, &[("value", "0.1"), ("group", "shop")]);
    assert!(judge(1.0, 0.9).title.fact().find(&facts::NICER).is_none());
}

/// Waits for a CPU are half of the time in which threads have work: each piece of work takes twice
/// as long.
#[test]
fn waits_that_double_explain_a_part_of_a_fall_to_a_fiftieth() {
    let recording = workers(2, 50.0, 1.0).sealed();
    let cost_ms = |lost: f64| match CpuTakenByOthers
        .judge(&slow_and_base(&recording, (20, 30), (30, 60), lost), ProcessId(0))
    {
        Judgement::Found(finding) => finding.cost_ms,
        other => panic!("{other:?}"),
    };
    // ln 2 of what the operations took longer and ran longer: 25 times as much CPU time for each.
    let part = 2.0_f64.ln() / 50.0_f64.ln();
    assert!((cost_ms(0.98) - part * 9_800.0).abs() < 200.0, "{}", cost_ms(0.98));
    assert!((cost_ms(0.5) - 5_000.0).abs() < 300.0, "{}", cost_ms(0.5));
}

#[test]
fn programs_that_the_jvm_starts_itself_are_no_others() {
    let by = |programs: u64| {
        let mut built = workers(2, 80.0, 1.6);
        built.recording.series.retain(|series| series.info.name != live::PROCESS_CPU.name);
        built.counted_calls("process reaper", "wait4", 20.0, 10_000.0, programs);
        let recording = built.sealed();
        let case = slow_and_base(&recording, (20, 30), (30, 60), 0.8);
        let Judgement::Found(finding) = CpuTakenByOthers.judge(&case, ProcessId(0)) else {
            panic!("not found")
        };
        let started = finding.says(&titles::CPU_TAKEN).number("started");
        assert!(started.is_none() || finding.confidence == Confidence::ConsistentWith);
        (started, finding.facts(&crate::facts::cpu::PROGRAMS_STARTED).count())
    };
    assert_eq!(by(300), (Some(30.0), 1));
    assert_eq!(by(3), (None, 0));
}

#[test]
fn more_threads_than_processors_wait_for_each_other() {
    let recording = workers(10, 80.0, 0.0).sealed();
    let case = slow_and_base(&recording, (20, 30), (30, 60), 0.8);
    let judged = CpuTakenByOthers.judge(&case, ProcessId(0));
    let Judgement::RuledOut { figure, .. } = &judged else { panic!("{judged:?}") };
    figure.states(&ruled_out::CPU_WAITS_LITTLE, &[("more", "0.00")]);
    // What is taken of many waiting threads costs what they would have run with it.
    let recording = workers(10, 90.0, 1.0).sealed();
    let case = slow_and_base(&recording, (20, 30), (30, 60), 0.5);
    let Judgement::Found(finding) = CpuTakenByOthers.judge(&case, ProcessId(0)) else { panic!("not found") };
    assert!((finding.cost_ms - 5_000.0).abs() < 300.0, "{}", finding.cost_ms);
}

#[test]
fn threads_that_run_three_times_as_much_wait_for_each_other_more_than_for_others() {
    let cost_ms = |sleeps: f64| {
        let mut built = workers(10, 84.0, 0.4);
        for worker in 0..10 {
            for i in (0..600).filter(|i| !(200..300).contains(i) && sleeps > 0.0) {
                let asleep = [("java.lang.Thread.sleep", FrameType::C2)];
                let at = f64::from(i) * 0.1;
                let name = format!("worker-{worker}");
                built.with_stack((kind::SCHED_OFF, "sleeping"), &name, &asleep, &[], (at, sleeps));
            }
        }
        let recording = built.sealed();
        let case = slow_and_base(&recording, (20, 30), (30, 60), 0.8);
        match CpuTakenByOthers.judge(&case, ProcessId(0)) {
            Judgement::Found(finding) => finding.cost_ms,
            other => panic!("{other:?}"),
        }
    };
    // They ran all the time before: what others took is what is missing. Or they ran for a third of
    // what they run now.
    assert!((cost_ms(0.0) - 2_000.0).abs() < 100.0, "{}", cost_ms(0.0));
    assert!((cost_ms(95.0) - 2_000.0 * 4.0 / 15.0).abs() < 60.0, "{}", cost_ms(95.0));
}

#[test]
fn others_that_take_what_threads_leave_to_them_are_no_cause() {
    // Threads wait for a CPU for as large a part of their time before, and others take more.
    let mut built = workers(2, 80.0, 1.6);
    for worker in 0..2 {
        for i in 0..300 {
            let name = format!("worker-{worker}");
            built.preempted(&name, 30.0 + f64::from(i) * 0.1, 80.0, 0.0, "hog (4711)");
        }
    }
    let recording = built.sealed();
    let case = slow_and_base(&recording, (20, 30), (30, 60), 0.8);
    let judged = CpuTakenByOthers.judge(&case, ProcessId(0));
    let Judgement::RuledOut { figure, .. } = &judged else { panic!("{judged:?}") };
    figure.states(&ruled_out::CPU_WAITS_LITTLE, &[("value", "80%"), ("baseline", "80%")]);
}

#[test]
fn how_sure_it_is_goes_by_the_part_and_by_how_much_that_is() {
    let sure = |waits: f64, lost: f64| {
        // Two CPUs: what the workers wait is what others run.
        let recording = workers(2, waits, waits / 50.0).sealed();
        let case = slow_and_base(&recording, (20, 30), (30, 60), lost);
        let Judgement::Found(finding) = CpuTakenByOthers.judge(&case, ProcessId(0)) else {
            panic!("not found")
        };
        finding.confidence
    };
    assert_eq!(sure(80.0, 0.8), Confidence::Proven);
    assert_eq!(sure(30.0, 0.7), Confidence::Likely);
    assert_eq!(sure(8.0, 0.7), Confidence::ConsistentWith);
    assert_eq!(sure(80.0, 0.04), Confidence::Likely, "400 ms prove nothing");
}

#[test]
fn without_a_series_a_fifth_of_the_run_is_asked_for() {
    let finds =
        |waits| matches!(judged(&CpuTakenByOthers, &workers(2, waits, 1.6).sealed()), Judgement::Found(_));
    // 80 ms of each 100 ms in 10 s of 60 s.
    assert!(!finds(80.0));
    let mut built = Built::jvm("17", "G1", 10.0);
    built.watched("worker", 10.0);
    for i in 0..100 {
        built.preempted("worker", f64::from(i) * 0.1, 50.0, 0.0, "rustc (4711)");
    }
    let Judgement::Found(finding) = judged(&CpuTakenByOthers, &built.sealed()) else { panic!("not found") };
    assert_eq!(finding.confidence, Confidence::ConsistentWith);
    finding.culprit.states(&culprits::TAKER, &[("value", "rustc")]);
}

#[test]
fn recorded_jvms_that_wait_for_each_other_want_more_than_there_is() {
    let mut built = workers(2, 80.0, 1.6);
    let (jvm, other) = (built.jvm, built.another_jvm("Other"));
    built.gauge(live::PROCESS_CPU_USER, "Other (2)", Some(other), &[(20.0, 30.0, 1.6)]);
    let recording = built.sealed();
    let case = slow_and_base(&recording, (20, 30), (30, 60), 0.8);
    let Judgement::Found(finding) = CpuTakenByOthers.judge(&case, jvm) else { panic!("not found") };
    finding.title.states(&titles::CPU_TAKEN, &[("jvms", "2"), ("cpus", "2")]);
    assert!(!finding.advises(&remedies::LARGER_WEIGHT), "{:?}", finding.remedies);
}

#[test]
fn what_the_recorder_takes_is_reported_and_is_no_cause() {
    let mut built = workers(2, 80.0, 1.6);
    built.gauge(live::FATHOM_CPU, "all", None, &[(20.0, 30.0, 1.6)]);
    let recording = built.sealed();
    let case = slow_and_base(&recording, (20, 30), (30, 60), 0.8);
    let Judgement::RuledOut { figure, .. } = CpuTakenByOthers.judge(&case, ProcessId(0)) else {
        panic!("not ruled out")
    };
    assert_eq!(figure.fact().detail("recorder").unwrap().parts()[0].shows("value"), "1.60", "{figure}");
}

#[test]
fn its_own_collector_is_named_and_compilers_of_other_jvms_are_left_to_their_rule() {
    let mut built = workers(2, 80.0, 0.0);
    let jvm = built.jvm;
    built.gauge(live::PROCESS_CPU_ROLE, "App (1) gc", Some(jvm), &[(20.0, 30.0, 1.6)]);
    let recording = built.sealed();
    let case = slow_and_base(&recording, (20, 30), (30, 60), 0.8);
    let Judgement::Found(finding) = CpuTakenByOthers.judge(&case, jvm) else { panic!("not found") };
    finding.title.states(&titles::CPU_TAKEN, &[("by", "the JVM's own collector threads")]);

    let mut built = workers(2, 80.0, 1.6);
    let jvm = built.jvm;
    let other = built.another_jvm("Other");
    built.gauge(live::PROCESS_CPU_ROLE, "Other (2) jit", Some(other), &[(20.0, 30.0, 1.6)]);
    let recording = built.sealed();
    let case = slow_and_base(&recording, (20, 30), (30, 60), 0.8);
    assert!(matches!(CpuTakenByOthers.judge(&case, jvm), Judgement::RuledOut { .. }));
}

/// Each of the workers' waits for a CPU ends a time off it of a name, with labels; in the baseline
/// there are neither.
fn after(name: &str, labels: &[(&str, &str)]) -> Judgement {
    let mut built = workers(2, 0.0, 1.6);
    for worker in 0..2 {
        for i in 0..100 {
            let figures = [(figure::RUNQ_NS, 60e6)];
            let worker = format!("worker-{worker}");
            let at = 20.0 + f64::from(i) * 0.1;
            built.row(kind::SCHED_OFF, name, at, 80.0, &figures, labels, None, Some(&worker));
        }
    }
    let recording = built.sealed();
    let case = slow_and_base(&recording, (20, 30), (30, 60), 0.8);
    CpuTakenByOthers.judge(&case, ProcessId(0))
}

#[test]
fn waits_for_a_cpu_that_follow_more_waits_for_a_disk_are_those_of_the_calls() {
    let judged = after("uninterruptible", &[]);
    assert!(matches!(&judged, Judgement::RuledOut { .. }), "{judged:#?}");
}

#[test]
fn threads_that_yield_leave_their_cpus_to_others_themselves() {
    let judged = after("runnable", &[(label::SYSCALL, "sched_yield")]);
    assert!(matches!(&judged, Judgement::RuledOut { .. }), "{judged:#?}");
    let judged = after("runnable", &[(label::SYSCALL, "futex")]);
    assert!(matches!(&judged, Judgement::Found { .. }), "{judged:#?}");
}
