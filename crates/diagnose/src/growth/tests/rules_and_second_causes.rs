//! What is reported together with a cause, and what rules take from the attribution.

use fathom_recording::vocabulary::live;

use super::*;

/// A worker of a pool without work.
const REST: [(&str, FrameType); 3] = [
    ("futex_wait", FrameType::Kernel),
    ("java.util.concurrent.LinkedBlockingQueue.take", FrameType::C2),
    ("java.util.concurrent.ThreadPoolExecutor.getTask", FrameType::C2),
];

const ENTER: [(&str, FrameType); 2] =
    [("futex_wait", FrameType::Kernel), ("shop.Ledger.book", FrameType::C2)];

#[test]
fn a_small_part_that_is_new_is_a_second_finding_with_the_cause() {
    let diagnosis = |usual: i64| {
        let mut service = Service::of((300.0, 60.0));
        for i in 0..6 {
            let thread = service.thread(&format!("worker-{i}"));
            service.off(thread, &SLEEP, (0, 80), &[]);
            let read = service.stack(&READ);
            for tenth in 0..600 {
                let length = if is_slow(tenth / 10) { 6 } else { usual };
                let at = tenth * 100 + 85;
                if length > 0 {
                    service.row(
                        kind::SCHED_OFF,
                        thread,
                        (at, at + length),
                        Some(read),
                        &[(label::PEER, "10.0.0.7:5432")],
                    );
                }
            }
        }
        service.diagnosis()
    };
    let both = diagnosis(0);
    let of: Vec<_> = both.findings.iter().map(|f| (f.rule, &*f.culprit, f.confidence)).collect();
    let first = (RULE, "shop.Retry.backOff", Confidence::Likely);
    assert_eq!(of, [first, (RULE, "10.0.0.7:5432", Confidence::ConsistentWith)]);
    // As many milliseconds a second as ever, which fewer operations share among themselves, are no
    // change.
    let of: Vec<_> = diagnosis(6).findings.iter().map(|f| f.culprit.to_string()).collect();
    assert_eq!(of, ["shop.Retry.backOff"]);
}

#[test]
fn a_thread_that_polls_and_finds_less_to_do_is_no_cause_next_to_another_one() {
    let diagnosis = |poll_ms: (i64, i64)| {
        let mut service = Service::of((300.0, 6.0));
        for i in 0..6 {
            let thread = service.thread(&format!("worker-{i}"));
            service.off(thread, &READ, (20, 97), &[(label::PEER, "10.0.0.7:5432")]);
        }
        // Sleeps of 5 ms: thirteen of each 100 ms usually, and twenty while there is nothing to do.
        let poll = service.stack(&SLEEP);
        for i in 0..3 {
            let thread = service.thread(&format!("consumer-{i}"));
            for tenth in 0..600 {
                let slow = is_slow(tenth / 10);
                let (each, all) = if slow { (poll_ms.1, 98) } else { (poll_ms.0, 65) };
                for at in (0..all).step_by(usize::try_from(each).unwrap()) {
                    let at = tenth * 100 + at;
                    service.row(kind::SCHED_OFF, thread, (at, at + each), Some(poll), &[]);
                }
            }
        }
        service.diagnosis()
    };
    let of = |d: &Diagnosis| d.findings.iter().map(|f| f.culprit.to_string()).collect::<Vec<_>>();
    let polls = diagnosis((5, 5));
    assert_eq!(of(&polls), ["10.0.0.7:5432"]);
    let left = |d: &Diagnosis| d.account.iter().any(|charge| charge.names("shop.Retry.backOff"));
    assert!(!left(&polls), "{:#?}", polls.account);
    // Sleeps that became longer are a change of their own.
    let longer = diagnosis((5, 45));
    assert!(of(&longer).contains(&"shop.Retry.backOff".into()) || left(&longer), "{longer:#?}");
}

/// Each of 6 operations a second sleeps for 800 ms, and reads for `read` ms; usually there are 300
/// of 20 ms.
fn held_up(read: (i64, i64)) -> Diagnosis {
    let mut service = Service::of((300.0, 6.0));
    // Wakes up at intervals of its own, slow or not.
    let timer = service.thread("statistics");
    service.off(timer, &SLEEP, (98, 98), &[]);
    for i in 0..6 {
        let thread = service.thread(&format!("worker-{i}"));
        service.off(thread, &SLEEP, (0, 80), &[]);
        let stack = service.stack(&READ);
        for tenth in 0..600 {
            let length = if is_slow(tenth / 10) { read.1 } else { read.0 };
            let at = tenth * 100 + 85;
            if length > 0 {
                service.row(
                    kind::SCHED_OFF,
                    thread,
                    (at, at + length),
                    Some(stack),
                    &[(label::PEER, "10.0.0.7:5432")],
                );
            }
        }
    }
    service.diagnosis()
}

#[test]
fn what_the_first_cause_hides_is_a_second_finding_where_it_adds_much_to_a_usual_operation() {
    // A hundredth of what operations grew by, and half of what one usually takes.
    let both = held_up((0, 1));
    let of: Vec<_> = both.findings.iter().map(|f| (f.rule, &*f.culprit, f.confidence)).collect();
    let first = (RULE, "shop.Retry.backOff", Confidence::Likely);
    assert_eq!(of, [first, (RULE, "10.0.0.7:5432", Confidence::ConsistentWith)]);
    assert!(both.findings[1].share.is_some_and(|share| share < 0.02), "{:?}", both.findings[1].share);
    // Sleep first, which grew from nothing to 800 ms for each operation.
    let first = &both.seen.threads[0];
    assert_eq!((first.category, first.base_per_operation_ms), (Category::Sleep, Some(0.0)));
    assert!(first.per_operation_ms.is_some_and(|ms| (ms - 800.0).abs() < 10.0), "{first:?}");
    // Read as long as ever.
    assert_eq!(held_up((1, 1)).findings.len(), 1);
}

#[test]
fn a_lock_for_which_the_threads_of_a_pool_wait_in_turn_costs_what_operations_wait_for_it() {
    let mut service = Service::of((300.0, 60.0));
    for i in 0..20 {
        let name = format!("worker-{i}");
        let thread = service.thread(&name);
        let (rest, enter) = (service.stack(&REST), service.stack(&ENTER));
        for tenth in 0..600 {
            let at = tenth * 100;
            // Four at a time have work.
            if tenth % 5 != i % 5 {
                service.row(kind::SCHED_OFF, thread, (at, at + 100), Some(rest), &[]);
            } else if is_slow(tenth / 10) {
                service.row(kind::SCHED_OFF, thread, (at, at + 90), Some(enter), &[]);
                service.built.waits_for(&name, "shop.Ledger", "owner", at as f64 / 1e3, 90.0);
            } else {
                service.row(kind::SCHED_OFF, thread, (at, at + 85), Some(rest), &[]);
            }
        }
    }
    let diagnosis = service.diagnosis();
    let first = &diagnosis.findings[0];
    assert_eq!(first.rule, "lock-contended-monitor", "{first:#?}");
    // Each of the twenty waits for less than a fifth of the time.
    assert!(first.share.is_some_and(|share| share > 0.8), "{:?}", first.share);
    assert_eq!(first.confidence, Confidence::Likely);
}

#[test]
fn without_a_baseline_the_largest_parts_are_what_the_threads_at_work_wait_for() {
    let mut service = Service::uncounted();
    for i in 0..6 {
        let thread = service.thread(&format!("worker-{i}"));
        service.off(thread, &SLEEP, (70, 70), &[]);
    }
    // It hardly ever runs, and nobody waits for it.
    let console = service.built.recording.thread(service.built.jvm, Some(77), "console", Role::App);
    service.row(kind::SCHED_WATCHED, console, (0, 60_000), None, &[]);
    service.off(console, &READ, (100, 100), &[(label::PEER, "10.0.0.9:22")]);
    let diagnosis = service.diagnosis();
    assert!(diagnosis.findings.is_empty(), "{:#?}", diagnosis.findings);
    let largest = diagnosis.seen.largest.iter().map(|part| (part.category, part.what.fact().name("place")));
    let sleeps = (Category::Sleep, Some("shop.Retry.backOff"));
    assert_eq!(largest.collect::<Vec<_>>(), [sleeps, (Category::Running, None)]);
    assert!((diagnosis.seen.largest[0].share - 0.7).abs() < 0.01, "{:?}", diagnosis.seen.largest);
}

#[test]
fn what_threads_wait_for_while_another_runs_is_not_said_to_be_their_own_running() {
    let mut service = Service::uncounted();
    let owner = service.built.recording.thread(service.built.jvm, Some(70), "owner", Role::App);
    service.row(kind::SCHED_WATCHED, owner, (0, 60_000), None, &[]);
    let enter = service.stack(&ENTER);
    for i in 0..6 {
        let thread = service.thread(&format!("worker-{i}"));
        for at in (0..60_000).step_by(100) {
            service.row(kind::SCHED_OFF, thread, (at, at + 80), Some(enter), &[(label::WAKER, "owner (70)")]);
        }
    }
    let (jvm, recording) = (service.built.jvm, service.built.sealed());
    let work = work::of(&crate::built::whole_run(&recording), jvm);
    let largest: Vec<_> = work.iter().map(|part| part.what.fact().metric.id).collect();
    assert_eq!(largest, [facts::RAN_OR_BEHIND.id]);
}

#[test]
fn taken_cpus_are_no_cause_where_threads_at_work_wait_for_something_else_nearly_all_the_time() {
    let rules = |sleeps: i64, queues: f64| {
        let mut service = Service::uncounted();
        let jvm = Some(service.built.jvm);
        for i in 0..6 {
            let name = format!("worker-{i}");
            let thread = service.thread(&name);
            service.off(thread, &SLEEP, (sleeps, sleeps), &[]);
            for tenth in 0..600 {
                let at = tenth as f64 / 10.0 + sleeps as f64 / 1e3 + 1e-3;
                service.built.preempted(&name, at, queues, 0.0, "hog (4711)");
            }
        }
        for cpu in ["cpu0", "cpu1"] {
            service.built.gauge(live::HOST_CPU_BUSY, cpu, None, &[(0.0, 60.0, 1.0)]);
        }
        service.built.gauge(live::PROCESS_CPU_USER, "App (1)", jvm, &[(0.0, 60.0, 0.1)]);
        service.built.gauge(live::PROCESS_CPU, "hog (4711)", None, &[(0.0, 60.0, 1.8)]);
        let diagnosis = service.diagnosis();
        diagnosis.findings.iter().map(|f| f.rule).collect::<Vec<_>>()
    };
    assert_eq!(rules(0, 60.0), ["cpu-taken-by-others"]);
    assert_eq!(rules(88, 8.0), [""; 0]);
    assert_eq!(rules(50, 30.0), [""; 0], "they sleep for longer than they wait for a CPU");
}

#[test]
fn threads_that_hang_are_the_work_where_hardly_any_thread_runs() {
    let mut service = Service::uncounted();
    for i in 0..8 {
        let name = format!("worker-{i}");
        let thread = service.built.recording.thread(service.built.jvm, Some(80 + i), &name, Role::App);
        service.row(kind::SCHED_WATCHED, thread, (0, 60_000), None, &[]);
        let latch = [
            ("futex_wait", FrameType::Kernel),
            ("java.util.concurrent.CountDownLatch.await", FrameType::C2),
            ("shop.Start.ready", FrameType::Interpreted),
        ];
        let stack = service.stack(&latch);
        service.row(kind::SCHED_OFF, thread, (0, 60_000), Some(stack), &[]);
    }
    // A timer's thread runs for a thousandth of the time.
    let timer = service.built.recording.thread(service.built.jvm, Some(77), "ticker", Role::App);
    service.row(kind::SCHED_WATCHED, timer, (0, 60_000), None, &[]);
    let sleep = service.stack(&SLEEP);
    for s in 0..60 {
        service.row(kind::SCHED_OFF, timer, (s * 1_000, s * 1_000 + 999), Some(sleep), &[]);
    }
    let diagnosis = service.diagnosis();
    let first = &diagnosis.seen.largest[0];
    let waits = (Category::Waiting, Some("shop.Start.ready"));
    assert_eq!((first.category, first.what.fact().name("place")), waits, "{:#?}", diagnosis.seen.largest);
}

/// A service that makes so many operations a second while its threads sleep, at three places, for
/// so many milliseconds of 100.
fn meanwhile(rate: f64, slept: i64) -> Diagnosis {
    let mut service = Service::of((300.0, rate));
    for i in 0..6 {
        let thread = service.thread(&format!("worker-{i}"));
        let place = ["shop.Retry.backOff", "shop.Audit.pause", "shop.Quota.await"][i % 3];
        let sleep = [
            ("do_nanosleep", FrameType::Kernel),
            ("java.lang.Thread.sleep", FrameType::C2),
            (place, FrameType::C2),
        ];
        service.off(thread, &sleep, (0, slept), &[]);
    }
    service.diagnosis()
}

#[test]
fn a_slight_loss_in_which_threads_did_something_else_is_looked_into() {
    let both = meanwhile(264.0, 60);
    assert_eq!(both.windows.found_on, crate::FoundOn::Series, "{}", both.headline);
    assert!(both.loss.lost_ms > 1_000.0 && !both.findings.is_empty(), "{:?}", both.loss);
    for (rate, slept) in [(264.0, 0), (300.0, 60)] {
        let one = meanwhile(rate, slept);
        assert!(one.findings.is_empty(), "{}", one.headline);
    }
}

/// Threads were watched until the middle of the slow time; the log of the collector goes on.
#[test]
fn slow_time_that_only_a_log_covers_does_not_dilute_what_threads_show() {
    let mut service = Service::of((300.0, 60.0));
    let sleep = service.stack(&SLEEP);
    for i in 0..6 {
        let name = format!("worker-{i}");
        let recording = &mut service.built.recording;
        let thread = recording.thread(service.built.jvm, None, &name, fathom_recording::Role::App);
        service.row(kind::SCHED_WATCHED, thread, (0, 32_000), None, &[]);
        for tenth in 200..320 {
            let ends = (tenth * 100, tenth * 100 + 80);
            service.row(kind::SCHED_OFF, thread, ends, Some(sleep), &[]);
        }
    }
    let diagnosis = service.diagnosis();
    let [slow] = diagnosis.windows.slow[..] else { panic!("{:?}", diagnosis.windows) };
    assert!((slow.to_ns - 32 * 1_000_000_000).abs() < 2_000_000_000, "{slow:?}");
    assert_eq!(&*found(&diagnosis).culprit, "shop.Retry.backOff");
    assert!(diagnosis.findings[0].share.is_some_and(|share| share > 0.8), "{:#?}", diagnosis.findings);
}
