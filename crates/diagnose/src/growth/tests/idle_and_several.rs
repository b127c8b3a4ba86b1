//! Threads that look after something every so often, and waits for one resource by many names.

use fathom_recording::{Sampling, Source};

use super::*;

/// A worker that asks a peer for its operations, for longer while the service is slow, and runs for
/// less of the time then.
fn worker(service: &mut Service, i: usize) {
    let name = format!("worker-{i}");
    let thread = service.thread(&name);
    service.off(thread, &READ, (30, 80), &[(label::PEER, "10.0.0.7:5432")]);
    for tenth in 0..600 {
        let ran_ms = if is_slow(i64::from(tenth) / 10) { 5.0 } else { 40.0 };
        let at = f64::from(tenth) / 10.0 + 0.09;
        service.built.on_cpu(&name, &[("shop.Cart.add", FrameType::C2)], at, ran_ms);
    }
}

#[test]
fn a_pool_that_always_waits_for_time_outs_and_does_no_operations_is_no_part_of_them() {
    let poll = [
        ("futex_wait", FrameType::Kernel),
        ("pthread_cond_timedwait", FrameType::Native),
        ("java.util.concurrent.locks.LockSupport.parkNanos", FrameType::C2),
        ("java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.awaitNanos", FrameType::C2),
        ("shop.Events.poll", FrameType::C2),
    ];
    let rest = [
        ("futex_wait", FrameType::Kernel),
        ("java.util.concurrent.LinkedBlockingQueue.take", FrameType::C2),
        ("java.util.concurrent.ThreadPoolExecutor.getTask", FrameType::C2),
    ];
    let charged = |habit_ms: i64| {
        let mut service = Service::of((300.0, 60.0));
        for i in 0..4 {
            worker(&mut service, i);
            let poller = service.thread(&format!("poller-{i}"));
            service.off(poller, &poll, (habit_ms, 90), &[]);
            let rest = service.stack(&rest);
            for tenth in 0..600 {
                let from = tenth * 100 + if is_slow(tenth / 10) { 90 } else { habit_ms };
                service.row(kind::SCHED_OFF, poller, (from, tenth * 100 + 99), Some(rest), &[]);
            }
        }
        let account = service.diagnosis().account;
        account.iter().any(|charge| charge.names("shop.Events.poll"))
    };
    // Who waits for time-outs more often when less is done; and who had never done so.
    assert!(!charged(60));
    assert!(charged(0));
}

/// The main thread slept from before the recording on: of its first wait there is no record, and
/// its second begins when the service becomes slow.
#[test]
fn what_a_thread_that_was_not_seen_in_the_baseline_waits_for_is_no_growth() {
    let sleep = [("futex_wait", FrameType::Kernel), ("java.lang.Thread.sleep", FrameType::C2)];
    let sleep = [&sleep[..], &[("shop.Main.main", FrameType::C2)]].concat();
    let charged = |seen_before: bool| {
        let mut service = Service::of((300.0, 60.0));
        (0..4).for_each(|i| worker(&mut service, i));
        let sampling =
            Sampling { event: "cpu-clock".into(), unit: "ns".into(), rate_hz: 100, period: Some(10_000_000) };
        let covers_ns = Some((0, 60 * S));
        let sampler = Source { sampling: Some(sampling), covers_ns, ..Source::default() };
        service.built.recording.add_source(sampler);
        let main = service.thread("main");
        let stack = service.stack(&sleep);
        if seen_before {
            let frames = [("futex_wait", FrameType::Kernel), ("shop.Main.start", FrameType::C2)];
            let start = service.stack(&frames);
            service.row(kind::SCHED_OFF, main, (0, 20_000), Some(start), &[]);
        }
        service.row(kind::SCHED_OFF, main, (20_000, 40_000), Some(stack), &[]);
        service.diagnosis().account.iter().any(|charge| charge.names("shop.Main.main"))
    };
    assert_eq!([charged(true), charged(false)], [true, false]);
}

#[test]
fn writes_to_many_files_of_one_disk_are_one_cause() {
    let write = [
        ("balance_dirty_pages", FrameType::Kernel),
        ("ksys_write", FrameType::Kernel),
        ("sun.nio.ch.FileDispatcherImpl.write", FrameType::C2),
        ("shop.Log.append", FrameType::C2),
    ];
    let mut service = Service::of((300.0, 30.0));
    for i in 0..5 {
        let thread = service.thread(&format!("writer-{i}"));
        let path = format!("/logs/t-{i}.log");
        service.off(thread, &write, (2, 90), &[(label::PATH, &path)]);
    }
    let diagnosis = service.diagnosis();
    let finding = found(&diagnosis);
    finding.title.states(&facts::DOING, &[("value", "waiting for the disk"), ("place", "shop.Log.append")]);
    let one = finding.says(&facts::SHARE_OF);
    assert_eq!(one.shows("value"), "20%");
    assert!(one.name("method").unwrap().starts_with("/logs/t-"), "{one:?}");
    assert!(finding.share.is_some_and(|share| share > 0.9), "{finding:#?}");
    assert_eq!(finding.confidence, Confidence::Likely);
}

#[test]
fn waits_for_many_processes_each_at_a_pipe_of_its_own_are_one_cause() {
    let mut service = Service::of((300.0, 60.0));
    let frames = [("pipe_read", FrameType::Kernel), ("shop.Pictures.convert", FrameType::C2)];
    let reads = service.stack(&frames);
    for i in 0..6 {
        let thread = service.thread(&format!("worker-{i}"));
        for tenth in (0..600).filter(|tenth| is_slow(tenth / 10)) {
            let pipe = format!("pipe:[{}]", 10 * tenth + i);
            let ms = (tenth * 100, tenth * 100 + 80);
            service.row(kind::SCHED_OFF, thread, ms, Some(reads), &[(label::PATH, &pipe)]);
        }
    }
    let diagnosis = service.diagnosis();
    let first = found(&diagnosis);
    assert_eq!(first.named(), "shop.Pictures.convert", "{first:#?}");
    assert!(first.share.is_some_and(|share| share > 0.9), "{:?}", diagnosis.account);
}
