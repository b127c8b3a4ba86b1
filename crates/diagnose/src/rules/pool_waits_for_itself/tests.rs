//! A pool whose tasks submit others to it, or to another pool, and wait for them.

use fathom_recording::FrameType::{C2, Kernel};
use fathom_recording::vocabulary::{kind, label};
use fathom_recording::{FrameType, Role, Sink};

use crate::growth::tests::{Service, is_slow};
use crate::{Confidence, Diagnosis};

const RUNNER: &str = "java.util.concurrent.ThreadPoolExecutor.runWorker";
const IDLE: [(&str, FrameType); 3] =
    [("futex_wait", Kernel), ("java.util.concurrent.ThreadPoolExecutor.getTask", C2), (RUNNER, C2)];

/// Four threads of a pool, each of which waits, in every slow second, `waits_ms` for a result that
/// a thread of the pool `waker` gives, below a frame of `runner`; the rest it has no work.
fn diagnosis(waits_ms: i64, waker: &str, runner: &'static str) -> Diagnosis {
    let mut service = Service::of((300.0, 100.0));
    let awaits = [
        ("futex_wait", Kernel),
        ("java.util.concurrent.locks.LockSupport.park", C2),
        ("java.util.concurrent.FutureTask.get", C2),
        ("shop.Orders.total", C2),
        (runner, C2),
    ];
    let (awaits, idle) = (service.stack(&awaits), service.stack(&IDLE));
    service.built.recording.thread(service.built.jvm, Some(204), "prices-3", Role::App);
    for i in 0..4 {
        let name = format!("orders-{i}");
        let thread = service.built.recording.thread(service.built.jvm, Some(100 + i), &name, Role::App);
        service.row(kind::SCHED_WATCHED, thread, (0, 60_000), None, &[]);
        for s in 0..60 {
            let waits_ms = if is_slow(s) { waits_ms } else { 0 };
            let at = s * 1_000;
            if waits_ms > 0 {
                let by = [(label::WAKER, waker)];
                service.row(kind::SCHED_OFF, thread, (at, at + waits_ms), Some(awaits), &by);
            }
            service.row(kind::SCHED_OFF, thread, (at + waits_ms, at + 999), Some(idle), &[]);
        }
    }
    service.diagnosis()
}

fn found(diagnosis: &Diagnosis) -> Option<&crate::Finding> {
    diagnosis.findings.iter().find(|finding| finding.rule == "pool-waits-for-itself")
}

#[test]
fn a_pool_whose_tasks_wait_for_tasks_in_its_own_queue_is_named_with_where_they_wait() {
    let diagnosis = diagnosis(960, "orders-3 (103)", RUNNER);
    let finding = found(&diagnosis).unwrap_or_else(|| panic!("{diagnosis:#?}"));
    assert_eq!((finding.confidence, finding.culprit.as_str()), (Confidence::Likely, "shop.Orders.total"));
    let fact = &finding.evidence[0].fact;
    assert_eq!((fact.metric.id, fact.name("pool")), ("waits-for-results-within-tasks", Some("orders")));
    assert!(fact.number("value").is_some_and(|share| share > 0.9), "{fact:?}");
}

#[test]
fn waits_for_another_pool_or_beside_idle_threads_or_of_a_pool_that_compensates_are_none() {
    for (waits_ms, waker, runner) in [
        (960, "prices-3 (204)", RUNNER),
        (500, "orders-3 (103)", RUNNER),
        (960, "orders-3 (103)", "java.util.concurrent.ForkJoinPool.runWorker"),
    ] {
        let diagnosis = diagnosis(waits_ms, waker, runner);
        assert!(found(&diagnosis).is_none(), "{waits_ms} {waker} {runner}: {diagnosis:#?}");
    }
}
