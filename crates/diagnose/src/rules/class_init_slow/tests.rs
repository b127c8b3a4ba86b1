//! Workers that use a class whose static initialiser another thread runs.

use crate::facts::culprits;
use fathom_recording::FrameType::{C2, Jvm, Kernel};
use fathom_recording::vocabulary::kind;
use fathom_recording::{FrameType, Role, Sink};

use crate::growth::tests::{Service, is_slow};
use crate::{Confidence, Diagnosis};

const AWAITS: [(&str, FrameType); 4] = [
    ("futex_wait", Kernel),
    ("ObjectMonitor::wait", Jvm),
    ("InstanceKlass::initialize_impl", Jvm),
    ("shop.Rates.of", C2),
];
const RUNS: [(&str, FrameType); 5] = [
    ("hrtimer_nanosleep", Kernel),
    ("java.lang.Thread.sleep0", C2),
    ("shop.Rates.<clinit>", C2),
    ("InstanceKlass::initialize_impl", Jvm),
    ("shop.Rates.of", C2),
];

/// Four workers, of which so many wait for a class in the slow seconds; one more initialises it.
fn waiting(workers: i64, frames: &[(&str, FrameType)]) -> Diagnosis {
    let mut service = Service::of((300.0, 300.0 - 55.0 * workers as f64));
    let (awaits, runs) = (service.stack(frames), service.stack(&RUNS));
    for i in 0..5 {
        let thread = service.built.recording.thread(
            service.built.jvm,
            Some(100 + i),
            &format!("worker-{i}"),
            Role::App,
        );
        service.row(kind::SCHED_WATCHED, thread, (0, 60_000), None, &[]);
        for s in (0..60).filter(|s| is_slow(*s)) {
            let stack = if i == 4 { runs } else { awaits };
            if i == 4 || i < workers {
                service.row(kind::SCHED_OFF, thread, (s * 1_000, s * 1_000 + 995), Some(stack), &[]);
            }
        }
    }
    service.diagnosis()
}

#[test]
fn threads_that_wait_for_a_static_initialiser_are_a_finding_with_the_class() {
    let diagnosis = waiting(4, &AWAITS);
    let finding = &diagnosis.findings[0];
    assert_eq!((finding.rule, finding.confidence), ("class-init-slow", Confidence::Likely), "{diagnosis:#?}");
    finding.culprit.states(&culprits::INITIALISER, &[("value", "shop.Rates")]);
    let facts: Vec<_> = finding.evidence.iter().map(|row| &row.fact).collect();
    assert_eq!(facts[0].metric.id, "class-initialiser-waits");
    assert!(facts[0].number("value").is_some_and(|ms| (75_000.0..=81_000.0).contains(&ms)), "{facts:#?}");
    let run = (facts[1].metric.id, facts[1].name("value"), facts[1].name("thread"));
    assert_eq!(run, ("class-initialiser-run", Some("shop.Rates"), Some("worker-4")));
}

#[test]
fn threads_that_wait_below_an_initialiser_for_something_else_are_none() {
    let diagnosis = waiting(4, &RUNS);
    assert!(diagnosis.findings.iter().all(|finding| finding.rule != "class-init-slow"), "{diagnosis:#?}");
}
