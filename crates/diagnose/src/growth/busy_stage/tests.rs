//! A row of stages: sessions hand over to a writer, which answers them.

use fathom_recording::FrameType::{C2, Kernel};
use fathom_recording::vocabulary::{kind, label};
use fathom_recording::{Role, Sink};

use super::*;
use crate::facts::{growth as facts, remedies};
use crate::growth::tests::{Service, is_slow};
use crate::{Confidence, Diagnosis};

const TAKE: [(&str, fathom_recording::FrameType); 4] = [
    ("futex_wait", Kernel),
    ("java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await", C2),
    ("shop.Ring.waitFor", C2),
    ("shop.Journal.run", C2),
];
const GET: [(&str, fathom_recording::FrameType); 4] = [
    ("futex_wait", Kernel),
    ("jdk.internal.misc.Unsafe.park", C2),
    ("java.util.concurrent.CompletableFuture.get", C2),
    ("shop.Session.answer", C2),
];
const WRITE: [(&str, fathom_recording::FrameType); 4] = [
    ("pipe_write", Kernel),
    ("ksys_write", Kernel),
    ("java.io.FileOutputStream.write", C2),
    ("shop.Journal.write", C2),
];
/// Between two looks at a ring that is full.
const POLL: [(&str, fathom_recording::FrameType); 3] = [
    ("futex_wait", Kernel),
    ("java.util.concurrent.locks.LockSupport.parkNanos", C2),
    ("shop.Ring.next", C2),
];

/// Six sessions that wait for most of each tenth of a second, and `writers` that write for the
/// given part of it, usually and while it is slow, and wait for work else, brought by `woken_by`;
/// `left`: how many of them there are while it is slow.
fn diagnosis(writers: i64, left: i64, write_ms: (i64, i64), woken_by: &str) -> Diagnosis {
    waiting((&GET, 98), (writers, left), write_ms, woken_by)
}

/// The same of sessions that wait so, for so many milliseconds at a time while it is slow.
fn waiting(
    (wait, each_ms): (&[(&str, fathom_recording::FrameType)], i64),
    (writers, left): (i64, i64),
    write_ms: (i64, i64),
    woken_by: &str,
) -> Diagnosis {
    let mut service = Service::of((300.0, 60.0));
    let get = service.stack(wait);
    let (take, write) = (service.stack(&TAKE), service.stack(&WRITE));
    let named = |service: &mut Service, tid: i64, name: &str, to_ms: i64| {
        let thread = service.built.recording.thread(service.built.jvm, Some(tid), name, Role::App);
        service.row(kind::SCHED_WATCHED, thread, (0, to_ms), None, &[]);
        thread
    };
    for i in 0..6 {
        let session = named(&mut service, 100 + i, &format!("session-{i}"), 60_000);
        for tenth in 0..600 {
            // Who ended the wait is not known, as of virtual threads.
            let mut waits = |from: i64, to: i64| {
                service.row(kind::SCHED_OFF, session, (tenth * 100 + from, tenth * 100 + to), Some(get), &[]);
            };
            match is_slow(tenth / 10) {
                true => (0..98 / each_ms).for_each(|i| waits(i * each_ms, (i + 1) * each_ms)),
                false => waits(0, 40),
            }
        }
    }
    for i in 0..writers {
        let ends_ms = if i < left { 60_000 } else { 20_000 };
        let writer = named(&mut service, 200 + i, &format!("journal-{i}"), ends_ms);
        for tenth in 0..ends_ms / 100 {
            let at = tenth * 100;
            let wrote = at + if is_slow(tenth / 10) { write_ms.1 } else { write_ms.0 };
            service.row(
                kind::SCHED_OFF,
                writer,
                (at, wrote),
                Some(write),
                &[(label::PATH, "/run/audit.pipe")],
            );
            if wrote < at + 100 {
                let waker = [(label::WAKER, woken_by)];
                service.row(kind::SCHED_OFF, writer, (wrote, at + 100), Some(take), &waker);
            }
        }
    }
    service.diagnosis()
}

fn stages(diagnosis: &Diagnosis) -> Vec<&Finding> {
    diagnosis.findings.iter().filter(|finding| finding.rule == STAGE_RULE).collect()
}

#[test]
fn the_stage_that_never_waits_for_work_any_more_is_what_the_others_wait_for() {
    let diagnosis = diagnosis(1, 1, (30, 97), "session-3 (103)");
    let [stage] = stages(&diagnosis)[..] else { panic!("{diagnosis:#?}") };
    assert_eq!(diagnosis.findings[0].rule, STAGE_RULE, "{diagnosis:#?}");
    assert_eq!(stage.confidence, Confidence::Likely, "{stage:#?}");
    stage
        .title
        .states(&facts::BUSY_STAGE, &[("who", "thread journal-0 is"), ("value", "97%"), ("baseline", "30%")]);
    assert!(stage.culprit.fact().name("value").unwrap().contains("/run/audit.pipe"), "{stage:#?}");
    assert!(stage.share.is_some_and(|share| share > 0.9), "{stage:#?}");
}

#[test]
fn who_sleeps_between_two_looks_at_a_full_queue_waits_for_the_stage_that_empties_it() {
    let polled = |each_ms| waiting((&POLL, each_ms), (1, 1), (30, 97), "session-3 (103)");
    let looks_again = polled(7);
    assert_eq!(looks_again.findings[0].rule, STAGE_RULE, "{looks_again:#?}");
    // A sleep of a tenth of a second is one that the code wants.
    let sleeps = polled(98);
    assert_ne!(sleeps.findings[0].rule, STAGE_RULE, "{sleeps:#?}");
}

#[test]
fn of_a_pool_of_which_most_threads_ended_those_that_are_left_are_busy() {
    let diagnosis = diagnosis(6, 1, (40, 97), "session-3 (103)");
    let [stage] = stages(&diagnosis)[..] else { panic!("{diagnosis:#?}") };
    stage.title.states(&facts::BUSY_STAGE, &[("ended", "5"), ("usual", "6"), ("pool", "journal")]);
    stage.remedies[0].change.states(&remedies::WHY_THREADS_ENDED, &[]);
}

#[test]
fn a_stage_with_time_to_spare_or_that_nobody_hands_anything_to_is_none() {
    let spare = diagnosis(1, 1, (30, 80), "session-3 (103)");
    assert!(stages(&spare).is_empty(), "{spare:#?}");
    let always_busy = diagnosis(1, 1, (90, 97), "session-3 (103)");
    assert!(stages(&always_busy).is_empty(), "{always_busy:#?}");
    let alone = diagnosis(1, 1, (30, 97), "kworker (9)");
    assert!(stages(&alone).is_empty(), "{alone:#?}");
}

/// A ticker of a timetable that ends the waits of the workers, whose reports take `report_ms` of
/// each 100 ms while it is slow; `ends`: who ends them. What the sessions wait for is not known.
fn ticking(ends: &str, report_ms: i64) -> Diagnosis {
    let mut service = Service::of((300.0, 60.0));
    let (get, take) = (service.stack(&GET), service.stack(&TAKE));
    let report = service.stack(&[("shop.Reports.hourly", C2), ("shop.Ticker.run", C2)]);
    let named = |service: &mut Service, tid: i64, name: &str| {
        let thread = service.built.recording.thread(service.built.jvm, Some(tid), name, Role::App);
        service.row(kind::SCHED_WATCHED, thread, (0, 60_000), None, &[]);
        thread
    };
    let ticker = named(&mut service, 200, "ticker");
    let worker = named(&mut service, 210, "worker-0");
    let sessions: Vec<_> = (0..6).map(|i| named(&mut service, 100 + i, &format!("session-{i}"))).collect();
    for tenth in 0..600 {
        let (at, slow) = (tenth * 100, is_slow(tenth / 10));
        let busy = if slow { report_ms } else { 20 };
        for session in &sessions {
            let waits = (at, at + if slow { 98 } else { 40 });
            service.row(kind::SCHED_OFF, *session, waits, Some(get), &[]);
        }
        service.row(kind::SCHED_OFF, ticker, (at + busy, at + 100), Some(take), &[]);
        service.row(kind::SCHED_OFF, worker, (at + 5, at + 100), Some(take), &[(label::WAKER, ends)]);
        service.built.recording.sample(&fathom_recording::SampleRow {
            kind: fathom_recording::vocabulary::sample::CPU,
            t_ns: at * 1_000_000,
            process: service.built.jvm,
            thread: Some(ticker),
            stack: Some(report),
            weight: busy * 1_000_000,
            source: fathom_recording::SourceId(0),
        });
    }
    service.diagnosis()
}

#[test]
fn a_stage_whose_work_a_timer_brings_is_known_by_the_waits_that_it_ends() {
    let busy = ticking("ticker (200)", 98);
    let [stage] = stages(&busy)[..] else { panic!("{busy:#?}") };
    assert_eq!(busy.findings[0].rule, STAGE_RULE, "{busy:#?}");
    stage.title.states(&facts::BUSY_STAGE, &[("who", "thread ticker is")]);
    assert_eq!(stage.named(), "shop.Reports.hourly");
    let of_nobody = ticking("session-3 (103)", 98);
    assert!(stages(&of_nobody).is_empty(), "nobody waits for it: {of_nobody:#?}");
}

#[test]
fn over_a_whole_run_a_thread_that_only_writes_while_others_wait_is_said() {
    let said = |write_ms: i64, frames: &[(&str, fathom_recording::FrameType)]| {
        let mut service = Service::uncounted();
        let (get, write) = (service.stack(&GET), service.stack(frames));
        let named = |service: &mut Service, tid: i64, name: &str| {
            let thread = service.built.recording.thread(service.built.jvm, Some(tid), name, Role::App);
            service.row(kind::SCHED_WATCHED, thread, (0, 60_000), None, &[]);
            thread
        };
        let writer = named(&mut service, 200, "journal");
        let sessions: Vec<_> =
            (0..6).map(|i| named(&mut service, 100 + i, &format!("session-{i}"))).collect();
        for tenth in 0..600 {
            let at = tenth * 100;
            for session in &sessions {
                service.row(kind::SCHED_OFF, *session, (at, at + 90), Some(get), &[]);
            }
            service.row(kind::SCHED_OFF, writer, (at, at + write_ms), Some(write), &[]);
        }
        service.diagnosis().findings.into_iter().find(|finding| finding.rule == STAGE_RULE)
    };
    let stage = said(97, &WRITE).unwrap();
    assert_eq!((stage.confidence, stage.share), (Confidence::ConsistentWith, None));
    stage.title.states(&facts::BUSY_ALL_ALONG, &[("value", "97%"), ("waiting", "5.4")]);
    stage.title.states(&facts::DOING, &[("place", "shop.Journal.write")]);
    assert!(said(70, &WRITE).is_none(), "it has time to spare");
    let read = [("pipe_read", Kernel), ("java.io.FileInputStream.read", C2), ("shop.Stdin.read", C2)];
    assert!(said(97, &read).is_none(), "who reads may have nothing to do");
}

#[test]
fn a_stage_without_time_to_spare_refutes_that_less_was_asked_for() {
    // Sessions that wait for the writer look as if they had no work.
    let diagnosis = |writes_ms: i64| {
        let mut service = Service::of((300.0, 150.0));
        let rest = [
            ("futex_wait", Kernel),
            ("java.util.concurrent.LinkedBlockingQueue.take", C2),
            ("java.util.concurrent.ThreadPoolExecutor.getTask", C2),
        ];
        let (rest, write) = (service.stack(&rest), service.stack(&WRITE));
        let named = |service: &mut Service, tid: i64, name: &str| {
            let thread = service.built.recording.thread(service.built.jvm, Some(tid), name, Role::App);
            service.row(kind::SCHED_WATCHED, thread, (0, 60_000), None, &[]);
            thread
        };
        let writer = named(&mut service, 200, "journal");
        let sessions: Vec<_> =
            (0..8).map(|i| named(&mut service, 100 + i, &format!("session-{i}"))).collect();
        for tenth in 0..600 {
            let at = tenth * 100;
            for session in &sessions {
                service.row(kind::SCHED_OFF, *session, (at, at + 95), Some(rest), &[]);
            }
            let wrote = at + if is_slow(tenth / 10) { writes_ms } else { 30 };
            service.row(kind::SCHED_OFF, writer, (at, wrote), Some(write), &[]);
            let waker = [(label::WAKER, "session-3 (103)")];
            service.row(kind::SCHED_OFF, writer, (wrote, at + 99), Some(rest), &waker);
        }
        service.diagnosis()
    };
    let busy = diagnosis(97);
    assert_eq!(busy.findings[0].rule, STAGE_RULE, "{busy:#?}");
    busy.findings[0].title.states(&facts::BUSY_STAGE, &[("who", "thread journal is")]);
    let spare = diagnosis(15);
    assert_eq!(spare.findings[0].rule, crate::growth::demand::DEMAND_RULE, "{spare:#?}");
}

#[test]
fn a_stage_that_sleeps_is_not_said_to_be_busy_and_gets_no_more_threads() {
    let mut service = Service::of((300.0, 60.0));
    for i in 0..6 {
        let thread = service.thread(&format!("session-{i}"));
        service.off(thread, &GET, (20, 90), &[(label::WAKER, "journal (70)")]);
    }
    let journal = service.built.recording.thread(service.built.jvm, Some(70), "journal", Role::App);
    service.row(kind::SCHED_WATCHED, journal, (0, 60_000), None, &[]);
    let (take, sleep) = (service.stack(&TAKE), service.stack(&crate::growth::tests::SLEEP));
    for tenth in 0..600 {
        let (at, is_slow) = (tenth * 100, is_slow(tenth / 10));
        let labels = [(label::WAKER, "session-0 (71)")];
        let stack = if is_slow { sleep } else { take };
        service.row(
            kind::SCHED_OFF,
            journal,
            (at, at + 80),
            Some(stack),
            if is_slow { &[] } else { &labels },
        );
    }
    let diagnosis = service.diagnosis();
    let [stage] = stages(&diagnosis)[..] else { panic!("{:#?}", diagnosis.findings) };
    stage.title.states(&facts::BUSY_STAGE_ASLEEP, &[("value", "100%"), ("share", "80%")]);
    assert!(!stage.advises(&remedies::OFF_THE_CRITICAL_PATH), "{:#?}", stage.remedies);
}

#[test]
fn a_stage_that_runs_much_more_than_usual_is_busy_however_long_it_waits_for_a_cpu() {
    let spent =
        |waited: f64, queued: f64, ran: f64| Spent { lived: 10_000.0, waited, queued, ran, unseen: 0.0 };
    let usual = spent(7_000.0, 1_700.0, 1_300.0);
    assert!(spent(0.0, 7_000.0, 3_000.0).is_busy(&usual));
    assert!(!spent(0.0, 8_700.0, 1_300.0).is_busy(&usual), "others have its CPU");
}

/// Eight workers that ask a peer for most of each tenth of a second, and have no work while it is
/// slow; meanwhile one thread, that was not there before, asks it for `asks_ms` of each, in the
/// same method of the application or in another one.
fn moved(asks_ms: i64, asks_in: &str) -> Diagnosis {
    let mut service = Service::of((800.0, 100.0));
    let run = ("java.util.concurrent.ThreadPoolExecutor.runWorker", C2);
    let ask = service.stack(&[("tcp_recvmsg", Kernel), ("shop.Rates.fetch", C2), run]);
    let alone = service.stack(&[("tcp_recvmsg", Kernel), (asks_in, C2), run]);
    let rest = ("java.util.concurrent.ThreadPoolExecutor.getTask", C2);
    let rest = service.stack(&[("futex_wait", Kernel), rest, run]);
    let peer = [(label::PEER, "10.0.0.7:5432")];
    for i in 0..8 {
        let thread = service.built.recording.thread(service.built.jvm, Some(100 + i), "wide", Role::App);
        service.row(kind::SCHED_WATCHED, thread, (0, 60_000), None, &[]);
        for tenth in 0..600 {
            let at = tenth * 100;
            match is_slow(tenth / 10) {
                true => service.row(kind::SCHED_OFF, thread, (at, at + 100), Some(rest), &[]),
                false => {
                    service.row(kind::SCHED_OFF, thread, (at, at + 90), Some(ask), &peer);
                    service.row(kind::SCHED_OFF, thread, (at + 90, at + 100), Some(rest), &[]);
                }
            }
        }
    }
    let single = service.built.recording.thread(service.built.jvm, Some(200), "single-1", Role::App);
    service.row(kind::SCHED_WATCHED, single, (20_000, 40_000), None, &[]);
    for tenth in 200..400 {
        let (at, asked) = (tenth * 100, tenth * 100 + asks_ms);
        service.row(kind::SCHED_OFF, single, (at, asked), Some(alone), &peer);
        service.row(kind::SCHED_OFF, single, (asked, at + 100), Some(rest), &[]);
    }
    service.diagnosis()
}

#[test]
fn a_new_thread_that_does_alone_what_many_did_is_a_stage_though_only_tasks_wait_for_it() {
    let diagnosis = moved(99, "shop.Rates.fetch");
    let stage = &diagnosis.findings[0];
    assert_eq!((stage.rule, stage.confidence), (STAGE_RULE, Confidence::Likely), "{diagnosis:#?}");
    let title = stage.title.fact().find(&facts::BUSY_STAGE).expect("the title");
    assert_eq!(title.number("others").map(|others| (others * 10.0).round()), Some(72.0), "{title:?}");
    assert!(title.detail("baseline").is_none(), "it was not there: {title:?}");
    stage.culprit.states(&crate::facts::culprits::THREAD, &[("value", "single-1")]);
    assert!(stages(&moved(80, "shop.Rates.fetch")).is_empty(), "it has time to spare");
    assert!(stages(&moved(99, "shop.Export.run")).is_empty(), "nobody did that before");
}
