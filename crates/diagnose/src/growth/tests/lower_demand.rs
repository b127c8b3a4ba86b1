//! Less that is asked for, and threads that wait for their next turn, are no cause.

use fathom_recording::vocabulary::live;
use fathom_recording::{Scope, Unseen};

use super::*;

#[test]
fn less_demand_makes_no_operation_slower_and_is_no_cause() {
    let mut service = Service::of((300.0, 150.0));
    // Half as many operations, each with the same read; in between the pool's threads have no work.
    let idle = [
        ("futex_wait", FrameType::Kernel),
        ("java.util.concurrent.ThreadPoolExecutor.getTask", FrameType::C2),
    ];
    let reader = service.thread("worker-0");
    service.off(reader, &READ, (60, 30), &[(label::PEER, "10.0.0.7:5432")]);
    let stack = service.stack(&idle);
    for tenth in 0..600 {
        let from = if is_slow(tenth / 10) { 30 } else { 60 };
        service.row(kind::SCHED_OFF, reader, (tenth * 100 + from, tenth * 100 + 100), Some(stack), &[]);
    }
    // Two that read what seldom comes, and a timer.
    for (name, frames) in [("listener-0", &READ), ("listener-1", &READ), ("timer", &PARK)] {
        let thread = service.thread(name);
        service.off(thread, frames, (100, 100), &[]);
    }
    let diagnosis = service.diagnosis();
    assert!(diagnosis.findings.iter().all(|finding| finding.rule != RULE), "{:#?}", diagnosis.findings);
}

#[test]
fn threads_that_sleep_longer_between_operations_may_be_asked_for_less() {
    // Short sleeps are summed up, take nearly all of a thread's time in both, and are fewer for
    // each operation that is longer.
    let mut service = Service::of((300.0, 100.0));
    for i in 0..4 {
        let name = format!("worker-{i}");
        let thread = service.thread(&name);
        service.off(thread, &PACED, (94, 96), &[]);
        for tenth in 0..600 {
            let ran_ms = if is_slow(tenth / 10) { 3.0 } else { 5.0 };
            let at = f64::from(tenth as i32) / 10.0 + 0.097;
            service.built.on_cpu(&name, &[("shop.Cart.add", FrameType::C2)], at, ran_ms);
        }
    }
    let diagnosis = service.diagnosis();
    let [finding] = &diagnosis.findings[..] else { panic!("{diagnosis:#?}") };
    assert_eq!((finding.rule, finding.named()), (PACE_RULE, "shop.Worker.pace"));
    assert_eq!(finding.confidence, Confidence::ConsistentWith, "{finding:#?}");
}

#[test]
fn fewer_operations_none_of_which_takes_longer_are_less_demand() {
    let rest = [
        ("futex_wait", FrameType::Kernel),
        ("java.util.concurrent.LinkedBlockingQueue.take", FrameType::C2),
        ("java.util.concurrent.ThreadPoolExecutor.getTask", FrameType::C2),
    ];
    let diagnosis_of = |workers: usize, read_ms: i64, virtual_sleeps: bool| {
        let mut service = Service::of((300.0, 150.0));
        if virtual_sleeps {
            let timer = service.thread("ForkJoinPool-1-delayScheduler");
            service.off(timer, &SLEEP, (0, 90), &[]);
        }
        for i in 0..workers {
            let thread = service.thread(&format!("worker-{i}"));
            // Half as many operations, each of which reads for as long as ever.
            service.off(thread, &READ, (30, read_ms), &[(label::PEER, "10.0.0.7:5432")]);
            for tenth in 0..600 {
                let from = if is_slow(tenth / 10) { read_ms } else { 30 };
                let stack = service.stack(&rest);
                service.row(
                    kind::SCHED_OFF,
                    thread,
                    (tenth * 100 + from, tenth * 100 + 99),
                    Some(stack),
                    &[],
                );
            }
        }
        service.diagnosis()
    };
    let diagnosis = |read_ms, virtual_sleeps| diagnosis_of(8, read_ms, virtual_sleeps);
    let less = diagnosis(15, false);
    assert_eq!(less.findings[0].rule, demand::DEMAND_RULE, "{less:#?}");
    assert_eq!(less.findings[0].confidence, Confidence::ConsistentWith);
    let title = &less.findings[0].title;
    title.states(&facts::LESS_DEMAND, &[("part", "")]);
    title.states(&facts::TOOK_OF_THREADS, &[("value", "8.50 ms"), ("baseline", "8.23 ms")]);
    // One worker: each operation takes twice as long, all of them together by far less than what
    // was lost.
    let most = diagnosis_of(1, 34, false);
    assert_eq!(most.findings[0].rule, demand::DEMAND_RULE, "{most:#?}");
    let (title, share) = (&most.findings[0].title, most.findings[0].share.unwrap());
    title.states(&facts::LESS_DEMAND, &[("part", "39%")]);
    assert!((0.59..0.63).contains(&share), "{share}");
    assert_eq!(most.findings[1].rule, RULE, "{most:#?}");
    let slower = diagnosis(60, false);
    assert_eq!(slower.findings[0].rule, RULE, "{slower:#?}");
    // Virtual threads that sleep are seen by nobody but the thread that wakes them.
    let asleep = diagnosis(15, true);
    assert!(asleep.findings.iter().all(|f| f.rule != demand::DEMAND_RULE), "{:#?}", asleep.findings);
    let sleeps = |spot: &crate::BlindSpot| {
        let fact = spot.what.fact();
        fact.metric == &facts::UNSEEN_SLEEPS
            && fact.shows("value") == "10.0"
            && fact.shows("baseline") == "0.0"
    };
    assert!(asleep.blind_spots.iter().any(sleeps), "{:#?}", asleep.blind_spots);
    // What nobody saw may have held what operations waited for.
    let recording = Service::of((300.0, 150.0)).built.sealed();
    let (slow_rate, base_rate) = (Some(150.0), Some(300.0));
    let loss = crate::Loss { lost_ms: 10_000.0, slow_rate, base_rate, ..crate::Loss::default() };
    let window = |from: i64, to: i64| vec![Window { from_ns: from * S, to_ns: to * S }];
    let case = Case {
        loss: loss.clone(),
        slow: window(20, 40),
        base: window(0, 20),
        ..crate::built::whole_run(&recording)
    };
    let unseen = |unseen| Growth { unseen, ..grew(&[(Category::Network, "", 8.0, 8.0)]) };
    assert!(unseen(0.05).less_demand(&case).is_some() && unseen(0.2).less_demand(&case).is_none());
    // Nor is anything known of virtual threads whose waits are hidden, whatever words say so.
    let by_virtual_threads = |hidden| {
        let mut recording = recording.clone();
        let frame = recording.frame("java.lang.VirtualThread.run", "", FrameType::C2, -1);
        recording.stack(None, frame);
        let scope = Some(Scope::of_process(1).of_virtual_threads(hidden));
        recording.sources[0].unseen.push(Unseen { scope, ..Unseen::default() });
        let (loss, slow, base) = (loss.clone(), case.slow.clone(), case.base.clone());
        let case = Case { loss, slow, base, ..crate::built::whole_run(&recording) };
        unseen(0.05).less_demand(&case).is_some()
    };
    assert!(by_virtual_threads(false) && !by_virtual_threads(true));
}

#[test]
fn a_thread_that_does_no_operations_and_sleeps_as_much_as_ever_is_no_pace_of_theirs() {
    let mut service = Service::of((300.0, 150.0));
    let worker = service.thread("worker");
    service.off(worker, &READ, (60, 60), &[(label::PEER, "10.0.0.7:5432")]);
    for tenth in 0..600 {
        let (at, ran_ms) =
            (f64::from(tenth) / 10.0, if is_slow(i64::from(tenth / 10)) { 20.0 } else { 30.0 });
        service.built.on_cpu("worker", &[("shop.Cart.add", FrameType::C2)], at + 0.065, ran_ms);
    }
    // It sleeps nearly all the time, in fewer turns than before.
    let batch = service.thread("batch");
    let sleep = service.stack(&SLEEP);
    let mut at_ms = 0;
    while at_ms < 60_000 {
        let (turn_ms, ran_ms) = if is_slow(at_ms / 1_000) { (50, 0.2) } else { (20, 0.1) };
        service.row(kind::SCHED_OFF, batch, (at_ms, at_ms + turn_ms - 1), Some(sleep), &[]);
        service.built.on_cpu("batch", &[("shop.Batch.run", FrameType::C2)], at_ms as f64 / 1e3, ran_ms);
        at_ms += turn_ms;
    }
    let account = service.diagnosis().account;
    assert!(account.iter().all(|charge| !charge.names("shop.Retry.backOff")), "{account:#?}");
}

#[test]
fn threads_that_come_and_sleep_are_no_change_unless_somebody_waits_for_them() {
    let waiting = [
        ("futex_wait", FrameType::Kernel),
        ("java.util.concurrent.locks.LockSupport.park", FrameType::C2),
        ("shop.Journal.commit", FrameType::C2),
    ];
    let diagnosis = |waits: bool| {
        let mut service = Service::uncounted();
        for i in 0..12 {
            let (waiter, mailer) = (format!("worker-{i}"), format!("mailer-{i}"));
            let thread = service.thread(&waiter);
            service.off(thread, &waiting, (5, if waits { 90 } else { 5 }), &[]);
            let thread = service.built.recording.thread(service.built.jvm, None, &mailer, Role::App);
            service.row(kind::SCHED_WATCHED, thread, (20_000, 40_000), None, &[]);
            service.off(thread, &SLEEP, (0, 95), &[]);
        }
        service.diagnosis()
    };
    let blamed = |diagnosis: &crate::Diagnosis| diagnosis.findings.first().map(|f| f.culprit.to_string());
    assert_eq!(blamed(&diagnosis(false)), None);
    assert!(blamed(&diagnosis(true)).is_some());
}

#[test]
fn what_operations_took_longer_explains_no_more_than_it_adds_up_to() {
    let recording = Service::of((300.0, 150.0)).built.sealed();
    let (slow_rate, base_rate) = (Some(150.0), Some(300.0));
    let loss = crate::Loss { lost_ms: 10_000.0, slow_rate, base_rate, ..crate::Loss::default() };
    let window = |from: i64, to: i64| vec![Window { from_ns: from * S, to_ns: to * S }];
    let whole = crate::built::whole_run(&recording);
    let case = Case { loss, slow: window(20, 40), base: window(0, 20), ..whole };
    // 200 operations that take 5 ms longer: one second of the ten that were lost, and who would
    // have waited in the others?
    let hardly = grew(&[(Category::Network, "", 4.0, 9.0)]);
    assert!(!hardly.grew(&case));
    let title = hardly.less_demand(&case).unwrap().title;
    title.states(&facts::LESS_DEMAND, &[("part", "10%")]);
    title.states(&facts::TOOK_OF_THREADS, &[("value", "9.00 ms")]);
    // 200 that take 25 ms longer: half of it.
    let by_half = grew(&[(Category::Network, "", 4.0, 29.0)]);
    assert!(by_half.grew(&case) && by_half.less_demand(&case).is_none());
    let explained = by_half.findings(&case, &[], 0.0, false, 1);
    assert_eq!(explained.findings[0].share.map(|share| (share * 100.0).round()), Some(50.0));
}

#[test]
fn a_timer_of_the_jdks_that_waits_for_its_turn_is_no_part_of_an_operation() {
    let wait = |method| {
        [
            ("pthread_cond_timedwait", FrameType::Native),
            ("java.lang.Object.wait", FrameType::C2),
            (method, FrameType::Interpreted),
        ]
    };
    let charged = |method| {
        let mut service = Service::of((300.0, 30.0));
        let worker = service.thread("worker");
        service.off(worker, &READ, (30, 95), &[(label::PEER, "10.0.0.7:5432")]);
        let timer = service.thread("timer");
        service.off(timer, &wait(method), (50, 99), &[]);
        let account = service.diagnosis().account;
        account.iter().any(|charge| charge.names(method))
    };
    assert!(charged("shop.Poller.run") && !charged("java.util.TimerThread.run"));
}

#[test]
fn code_that_runs_as_ever_while_less_is_asked_for_is_not_likely_to_be_the_cause() {
    let mut service = Service::of((300.0, 100.0));
    service.thread("compactor");
    for tenth in 0..600 {
        let compact = [("shop.Compactor.run", FrameType::C2)];
        service.built.on_cpu("compactor", &compact, f64::from(tenth) / 10.0, 100.0);
    }
    let diagnosis = service.diagnosis();
    let likely = |finding: &&Finding| finding.confidence > Confidence::ConsistentWith;
    assert_eq!(diagnosis.findings.iter().find(likely), None);
}

#[test]
fn a_main_thread_that_keeps_its_jvm_alive_is_without_work() {
    let join = [
        ("futex_wait", FrameType::Kernel),
        ("java.util.concurrent.locks.LockSupport.park", FrameType::C2),
        ("java.util.concurrent.CountDownLatch.await", FrameType::C2),
        ("shop.Main.main", FrameType::Interpreted),
    ];
    let category = |name: &str, waits: &[(i64, i64)]| {
        let mut service = Service::of((300.0, 300.0));
        let (thread, stack) = (service.thread(name), service.stack(&join));
        for (from, to) in waits {
            let cut = [(label::CUT, "the recording ended")];
            let labels = if *to == 60_000 { &cut[..] } else { &[] };
            service.row(kind::SCHED_OFF, thread, (*from, *to), Some(stack), labels);
        }
        let recording = service.built.sealed();
        let causes = crate::waits::Causes::of(&recording);
        let last = recording.spans_of(kind::SCHED_OFF).last().map(|span| causes.category(&span));
        last.unwrap_or(Category::Unknown)
    };
    assert_eq!(category("main", &[(0, 60_000)]), Category::Idle);
    assert_eq!(category("main", &[(0, 30_000), (30_001, 60_000)]), Category::Waiting);
    assert_eq!(category("main", &[(0, 50_000)]), Category::Waiting, "it ended");
    assert_eq!(category("worker-0", &[(0, 60_000)]), Category::Waiting);
}

#[test]
fn clients_that_are_answered_as_soon_as_ever_refute_that_operations_took_longer() {
    // Connections that are kept open without a request: their threads wait for one.
    let diagnosis = |late_ms: f64| {
        let mut service = Service::of((300.0, 150.0));
        for i in 0..8 {
            let thread = service.thread(&format!("session-{i}"));
            service.off(thread, &READ, (30, 85), &[(label::PEER, "10.0.0.7:5432")]);
        }
        let info = SeriesInfo {
            name: "avg_latency".into(),
            unit: "ms".into(),
            instance: String::new(),
            kind: SeriesKind::Latency,
            process: None,
            source: fathom_recording::SourceId(0),
        };
        let id = service.built.recording.add_series(info);
        for s in 0..60 {
            service.built.recording.point(id, s * S, S, if is_slow(s) { late_ms } else { 3.3 });
        }
        service.diagnosis()
    };
    let as_ever = diagnosis(3.4);
    assert_eq!(as_ever.findings[0].rule, demand::DEMAND_RULE, "{as_ever:#?}");
    assert!(as_ever.findings.iter().all(|finding| finding.rule != RULE), "{as_ever:#?}");
    let longer = diagnosis(9.0);
    assert_eq!(longer.findings[0].rule, RULE, "{longer:#?}");
}

/// Whether a twentieth as many requests as usual, each answered within `now_ms` instead of
/// `usual_ms`, are answered as soon as ever.
fn are_answered_as_ever(usual_ms: f64, now_ms: f64) -> bool {
    let mut service = Service::uncounted();
    for (word, usual, now) in
        [(live::PROCESS_REQUESTS, 20_000.0, 1_000.0), (live::PROCESS_REQUEST_TIME, usual_ms, now_ms)]
    {
        let info = SeriesInfo {
            name: word.name.into(),
            unit: word.unit.into(),
            instance: String::new(),
            kind: word.kind,
            process: Some(service.built.jvm),
            source: fathom_recording::SourceId(0),
        };
        let id = service.built.recording.add_series(info);
        for half in 0..120 {
            let value = if is_slow(half / 2) { now } else { usual };
            service.built.recording.point(id, half * S / 2, S / 2, value);
        }
    }
    let recording = service.built.sealed();
    let loss = crate::Loss { lost_ms: 19_000.0, ..crate::Loss::default() };
    let window = |from: i64, to: i64| vec![Window { from_ns: from * S, to_ns: to * S }];
    let whole = crate::built::whole_run(&recording);
    let case = Case { loss, slow: window(20, 40), base: window(0, 20), ..whole };
    grew(&[(Category::Network, "", 0.15, 2.8)]).answers_as_ever(&case)
}

/// A JVM that answers its own requests as soon as ever, and whose clients wait for a thread of it
/// that handles the answers one by one.
#[test]
fn who_asks_itself_for_less_may_be_held_up_by_itself() {
    let judged_on = |asks_itself: bool| {
        let mut service = Service::uncounted();
        let jvm = Some(service.built.jvm);
        let rates = [(0.0, 20.0, 600.0), (20.0, 40.0, 60.0), (40.0, 60.0, 600.0)];
        service.built.gauge(live::PROCESS_REQUESTS, "", jvm, &rates);
        service.built.gauge(live::PROCESS_REQUEST_TIME, "", jvm, &[(0.0, 60.0, 0.1)]);
        if asks_itself {
            service.built.gauge(live::PROCESS_PEER_ANSWERS, "127.0.0.1:8080", jvm, &rates);
        }
        for i in 0..4 {
            let thread = service.thread(&format!("client-{i}"));
            service.off(thread, &SLEEP, (10, 97), &[]);
        }
        service.diagnosis().windows.found_on
    };
    assert_eq!(judged_on(true), crate::FoundOn::Exchanges);
    assert_eq!(judged_on(false), crate::FoundOn::Change, "its clients asked for less");
}

/// A server that is called sixty times in a row answers from a warm cache: one that is called once
/// is answered later by some microseconds, which make no second.
#[test]
fn requests_that_are_answered_later_by_less_than_was_lost_are_fewer_and_not_slower() {
    assert!(are_answered_as_ever(0.1, 0.1) && are_answered_as_ever(0.006, 0.02));
    assert!(!are_answered_as_ever(0.1, 10.0));
}

/// Workers wait longer for a peer, and do a tenth of the operations; a loader that sleeps all along
/// and a meter that runs as much as ever would each be charged with ten times as much for one.
#[test]
fn threads_that_do_the_same_all_along_take_from_no_operation() {
    let mut service = Service::of((300.0, 30.0));
    for i in 0..4 {
        let thread = service.thread(&format!("worker-{i}"));
        service.off(thread, &READ, (30, 93), &[(label::PEER, "10.0.0.7:5432")]);
    }
    let loader = service.thread("loader");
    service.off(loader, &SLEEP, (75, 99), &[]);
    let meter = service.thread("meter");
    service.off(meter, &PACED, (90, 90), &[]);
    for tenth in 0..600 {
        let at = f64::from(tenth) / 10.0 + 0.09;
        service.built.on_cpu("meter", &[("shop.Meter.count", FrameType::C2)], at, 10.0);
    }
    let diagnosis = service.diagnosis();
    assert_eq!(diagnosis.findings[0].named(), "10.0.0.7:5432");
    let theirs = ["shop.Retry.backOff", "shop.Meter.count", "shop.Worker.pace"];
    let is_theirs = |charge: &crate::Charge| theirs.iter().any(|place| charge.names(place));
    assert!(!diagnosis.account.iter().any(is_theirs), "{:?}", diagnosis.account);
}
