//! Safepoints that are late, and by what.

use super::*;
use crate::Confidence;
use crate::built::{Built, judged, slow_and_base};
use crate::facts::{links, remedies};

fn safepoints(waits: impl IntoIterator<Item = (&'static str, f64, f64)>) -> Judgement {
    let mut built = Built::jvm("21", "Parallel", 100.0);
    for (i, (operation, reach_ms, leave_ms)) in waits.into_iter().enumerate() {
        let figures = [(figure::REACH_NS, reach_ms * 1e6), (figure::LEAVE_NS, leave_ms * 1e6)];
        built.span(kind::SAFEPOINT, operation, i as f64 * 0.5, reach_ms + leave_ms + 5.0, &figures, &[]);
    }
    judged(&SafepointSlowToReach, &built.sealed())
}

fn usual() -> impl Iterator<Item = (&'static str, f64, f64)> {
    (0..100).map(|_| ("ParallelGCFailedAllocation", 0.2, 0.01))
}

#[test]
fn one_late_thread_is_found_and_not_named() {
    let Judgement::Found(found) = safepoints(usual().chain([("ThreadDump", 459.0, 0.0)])) else { panic!() };
    assert_eq!(found.confidence, Confidence::Likely);
    assert_eq!(found.culprit.fact().metric, &culprits::LATE_THREAD);
    assert_eq!(found.fact(&facts::REACH).number("value"), Some(459.0));
    found.remedies[0].change.states(&remedies::NAME_LATE_THREAD, &[]);
    assert_eq!(found.cost_ms, 459.0);
}

#[test]
fn one_late_safepoint_alone_may_be_a_thread_that_got_no_cpu() {
    let of = |count: usize| {
        let mut built = Built::jvm("21", "Parallel", 100.0);
        let mut stop = |at_s: f64, reach_ms: f64| {
            let figures = [(figure::REACH_NS, reach_ms * 1e6), (figure::LEAVE_NS, 0.0)];
            built.span(kind::SAFEPOINT, "ThreadDump", at_s, reach_ms + 1.0, &figures, &[]);
        };
        (0..40).for_each(|i| stop(f64::from(i), 0.2));
        (0..count).for_each(|i| stop(50.0 + i as f64, 700.0));
        // The switches of the threads were recorded at another time.
        built.watched("worker", 10.0);
        let recording = built.sealed();
        let case = slow_and_base(&recording, (50, 54), (0, 40), 0.5);
        match SafepointSlowToReach.judge(&case, ProcessId(0)) {
            Judgement::Found(found) => (found.confidence, found.culprit.fact().metric == &culprits::NO_POLL),
            _ => panic!("not found"),
        }
    };
    assert_eq!(of(1), (Confidence::ConsistentWith, false));
    assert_eq!(of(AGAIN), (Confidence::Likely, true), "again and again");
}

#[test]
fn threads_that_are_late_by_a_minute_where_a_collection_was_held_up_in_the_kernel_are_not_a_loops_doing() {
    let late = |sys_s: f64, swap: &str| {
        let mut built = Built::jvm("8", "CMS", 600.0);
        built.fact(fathom_recording::vocabulary::fact::SWAP_TOTAL_BYTES, swap);
        let cpu = [(figure::USER_S, 15.8 - sys_s), (figure::SYS_S, sys_s), (figure::REAL_S, 15.1)];
        built.pause("CMS-remark", "CMS Final Remark", 100.0, 15_100.0, &cpu);
        for i in 0..100 {
            built.span(kind::SAFEPOINT, "stopped", f64::from(i), 1.0, &[(figure::REACH_NS, 1e5)], &[]);
        }
        built.span(kind::SAFEPOINT, "stopped", 300.0, 77_400.0, &[(figure::REACH_NS, 77.4e9)], &[]);
        let Judgement::Found(found) = judged(&SafepointSlowToReach, &built.sealed()) else { panic!() };
        let swap = found.advises(&remedies::NO_SWAP);
        (found.confidence, found.culprit.fact().metric == &culprits::HELD_UP, swap)
    };
    assert_eq!(late(15.8, "0"), (Confidence::ConsistentWith, true, false));
    assert_eq!(late(15.8, "1000"), (Confidence::ConsistentWith, true, true));
    assert_eq!(late(0.2, "1000"), (Confidence::Likely, false, true));
}

/// A safepoint that took 400 ms to reach at 50 s, in which a worker was in some state all that
/// time.
fn late_worker(held: bool) -> Judgement {
    let mut built = Built::jvm("21", "Parallel", 100.0);
    for i in 0..100 {
        let figures = [(figure::REACH_NS, 0.2e6), (figure::LEAVE_NS, 0.01e6)];
        built.span(kind::SAFEPOINT, "ParallelGCFailedAllocation", f64::from(i) * 0.4, 5.0, &figures, &[]);
    }
    built.span(kind::SAFEPOINT, "ThreadDump", 50.0, 405.0, &[(figure::REACH_NS, 400e6)], &[]);
    built.watched("worker", 100.0);
    if held {
        built.preempted("worker", 50.0, 399.0, 0.0, "hog (4711)");
    }
    judged(&SafepointSlowToReach, &built.sealed())
}

#[test]
fn a_thread_that_was_late_for_want_of_a_cpu_is_no_loop_without_a_poll() {
    let Judgement::RuledOut { figure, .. } = late_worker(true) else { panic!("found") };
    let held_back = figure.fact().find(&facts::HELD_BACK).unwrap_or_else(|| panic!("{figure:?}"));
    assert_eq!(held_back.named("by"), Some(&Value::Category(Category::RunQueue)));
    let Judgement::Found(found) = late_worker(false) else { panic!("not found") };
    let last = found.fact(&facts::LAST_IN);
    assert_eq!(last.name("value"), Some("worker"));
    assert!(last.find(&links::RUNNING).is_some(), "{last:?}");
    // Of a run of 100 s.
    assert!((found.cost_ms - 400.0).abs() < 1.0, "{}", found.cost_ms);
}

/// On a busy machine a loop without a poll gets a CPU now and then, and is late by all of it.
#[test]
fn a_thread_that_ran_on_between_its_waits_for_a_cpu_is_late_by_its_code() {
    let judge = |ran_ms: f64| {
        let mut built = Built::jvm("21", "Parallel", 100.0);
        for i in 0..100 {
            let figures = [(figure::REACH_NS, 0.2e6), (figure::LEAVE_NS, 0.01e6)];
            built.span(kind::SAFEPOINT, "ParallelGCFailedAllocation", f64::from(i) * 0.4, 5.0, &figures, &[]);
        }
        built.span(kind::SAFEPOINT, "ThreadDump", 50.0, 405.0, &[(figure::REACH_NS, 400e6)], &[]);
        built.watched("worker", 100.0);
        for slice in 0..10 {
            let at = 50.0 + 0.04 * f64::from(slice);
            built.preempted("worker", at, 40.0 - ran_ms / 10.0, 0.0, "hog (4711)");
        }
        judged(&SafepointSlowToReach, &built.sealed())
    };
    assert!(matches!(judge(8.0), Judgement::RuledOut { .. }));
    let Judgement::Found(found) = judge(50.0) else { panic!("not found") };
    let last = found.fact(&facts::LAST_IN);
    assert_eq!(last.name("value"), Some("worker"));
    assert!(last.find(&links::RUNNING).is_some(), "{last:?}");
    assert!((found.cost_ms - 400.0).abs() < 1.0, "{}", found.cost_ms);
}

#[test]
fn slow_trivial_operations_point_at_the_machine() {
    let slow = (0..40).map(|_| ("Cleanup", 300.0, 0.0));
    let Judgement::Found(found) = safepoints(usual().chain(slow)) else { panic!() };
    assert_eq!(found.confidence, Confidence::ConsistentWith);
    assert_eq!(found.culprit.fact().metric, &culprits::NO_CPU);
}

#[test]
fn slow_leaving_is_the_vm_threads() {
    let Judgement::Found(found) = safepoints(usual().chain([("Cleanup", 0.1, 350.0)])) else { panic!() };
    assert_eq!(found.culprit.fact().metric, &culprits::VM_THREAD);
    let late = found.fact(&facts::REACH);
    assert!(late.number("leave") > late.number("value"), "{late:?}");
}

#[test]
fn without_a_safepoint_there_is_nothing_to_ask_for_where_the_probes_were_watched() {
    let quiet = |format: &str| {
        let mut built = Built::jvm("17", "G1", 60.0);
        built.recording.sources.iter_mut().for_each(|source| source.format = format.into());
        judged(&SafepointSlowToReach, &built.sealed())
    };
    assert!(matches!(quiet("jvm-events"), Judgement::RuledOut { .. }));
    assert!(matches!(quiet("unified-log"), Judgement::Inconclusive(_)));
}

#[test]
fn usual_waits_and_a_single_late_one_of_no_length_are_ruled_out() {
    let Judgement::RuledOut { figure, .. } = safepoints(usual().chain([("Cleanup", 60.0, 0.0)])) else {
        panic!()
    };
    assert_eq!(figure.fact().find(&facts::REACHED).and_then(|reached| reached.number("value")), Some(60.0));
    let none = Built::jvm("17", "G1", 10.0).sealed();
    assert!(matches!(judged(&SafepointSlowToReach, &none), Judgement::Inconclusive(_)));
}
