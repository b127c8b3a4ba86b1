//! A pool whose tasks submit others to it, or to another pool, and wait for them.

use fathom_recording::FrameType::{C2, Kernel};
use fathom_recording::vocabulary::{kind, label};
use fathom_recording::{FrameType, Role, Sink};

use crate::growth::tests::{Service, is_slow};
use crate::{Confidence, Diagnosis};

const RUNNER: &str = "java.util.concurrent.ThreadPoolExecutor.runWorker";
const PARK: &str = "java.util.concurrent.locks.LockSupport.park";
const PARK_NANOS: &str = "java.util.concurrent.locks.LockSupport.parkNanos";
const IDLE: [(&str, FrameType); 3] =
    [("futex_wait", Kernel), ("java.util.concurrent.ThreadPoolExecutor.getTask", C2), (RUNNER, C2)];

fn diagnosis(waits_ms: i64, waker: &str, runner: &'static str, other_ms: i64) -> Diagnosis {
    diagnosis_of(4, (waits_ms, waker, runner), other_ms)
}

/// So many threads of a pool, each of which waits, in every slow second, `waits_ms` for a result
/// that a thread of the pool `waker` gives, below a frame of `runner`; the rest it has no work.
/// Without a waker the waits run into their time-out. The thread of another pool reads for
/// `other_ms` of each slow second.
fn diagnosis_of(
    threads: i64,
    (waits_ms, waker, runner): (i64, &str, &'static str),
    other_ms: i64,
) -> Diagnosis {
    let mut service = Service::of((300.0, 100.0));
    let awaits = [
        ("futex_wait", Kernel),
        (if waker.is_empty() { PARK_NANOS } else { PARK }, C2),
        ("java.util.concurrent.FutureTask.get", C2),
        ("shop.Orders.total", C2),
        (runner, C2),
    ];
    let (awaits, idle) = (service.stack(&awaits), service.stack(&IDLE));
    let other = service.built.recording.thread(service.built.jvm, Some(904), "prices-3", Role::App);
    let read = service.stack(&[("tcp_recvmsg", Kernel), ("shop.Prices.read", C2), (RUNNER, C2)]);
    service.row(kind::SCHED_WATCHED, other, (0, 60_000), None, &[]);
    for s in 0..60 {
        let (at, read_ms) = (s * 1_000, if is_slow(s) { other_ms } else { 0 });
        if read_ms > 0 {
            service.row(kind::SCHED_OFF, other, (at, at + read_ms), Some(read), &[]);
        }
        service.row(kind::SCHED_OFF, other, (at + read_ms, at + 999), Some(idle), &[]);
    }
    for i in 0..threads {
        let name = format!("orders-{i}");
        let thread = service.built.recording.thread(service.built.jvm, Some(100 + i), &name, Role::App);
        service.row(kind::SCHED_WATCHED, thread, (0, 60_000), None, &[]);
        for s in 0..60 {
            let waits_ms = if is_slow(s) { waits_ms } else { 0 };
            let at = s * 1_000;
            if waits_ms > 0 {
                let by = match waker {
                    "" => [(label::INTERRUPT, "a timer")],
                    _ => [(label::WAKER, waker)],
                };
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
    let diagnosis = diagnosis(960, "orders-3 (103)", RUNNER, 0);
    let finding = found(&diagnosis).unwrap_or_else(|| panic!("{diagnosis:#?}"));
    assert_eq!((finding.confidence, finding.named()), (Confidence::Likely, "shop.Orders.total"));
    let fact = &finding.evidence[0].fact;
    assert_eq!((fact.metric.id, fact.name("pool")), ("waits-for-results-within-tasks", Some("orders")));
    assert!(fact.number("value").is_some_and(|share| share > 0.9), "{fact:?}");
}

#[test]
fn waits_for_another_pool_or_beside_idle_threads_or_of_a_pool_that_compensates_are_none() {
    for (waits_ms, waker, runner, other_ms) in [
        (960, "prices-3 (904)", RUNNER, 0),
        (960, "", RUNNER, 900),
        (500, "orders-3 (103)", RUNNER, 0),
        (960, "orders-3 (103)", "java.util.concurrent.ForkJoinPool.runWorker", 0),
    ] {
        let diagnosis = diagnosis(waits_ms, waker, runner, other_ms);
        assert!(found(&diagnosis).is_none(), "{waits_ms} {waker} {runner}: {diagnosis:#?}");
    }
}

#[test]
fn waits_that_run_into_their_time_out_while_no_other_pool_has_anything_to_do_are_for_its_own_queue() {
    let diagnosis = diagnosis(960, "", RUNNER, 0);
    let finding = found(&diagnosis).unwrap_or_else(|| panic!("{diagnosis:#?}"));
    let timed_out = finding.evidence[1].fact.number("timed-out");
    assert!(timed_out.is_some_and(|ms| ms > 70_000.0), "{timed_out:?}");
}

/// They are a thirtieth of what the others wait.
#[test]
fn a_pool_of_few_threads_that_are_never_without_work_is_what_many_wait_for() {
    let diagnosis = diagnosis_of(30, (960, "", RUNNER), 960);
    assert!(found(&diagnosis).is_none(), "{diagnosis:#?}");
}
