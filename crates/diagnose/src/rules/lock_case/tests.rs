use crate::facts::{Value, links, remedies, titles};
use fathom_recording::{FrameType, Sink};

use fathom_recording::vocabulary::{kind, label};

use super::facts;
use crate::built::did_by_holders;
use crate::built::{Built, judged};
use crate::rules::lock_contended_juc::LockContendedJuc;
use crate::rules::lock_contended_monitor::LockContendedMonitor;
use crate::{Confidence, Finding, Judgement};

/// The threads of a deadlock, each with the lock that it waits for, and where.
fn deadlock(finding: &Finding) -> Vec<(&str, &str, Option<&str>)> {
    let cycle = finding.facts(&facts::DEADLOCK).filter_map(|cycle| cycle.detail("waits"));
    let waits = cycle.flat_map(|waits| waits.parts());
    let named = waits.filter_map(|wait| {
        let lock = wait.find(&facts::TAKEN_IN)?;
        Some((wait.name("thread")?, lock.name("value")?, lock.name("place")))
    });
    named.collect()
}

/// Two threads that wait for a monitor most of the time, held by "owner".
fn contended() -> Built {
    let mut built = Built::jvm("17", "G1", 60.0);
    for thread in ["worker-1", "worker-2"] {
        for i in 0..60 {
            built.waits_for(thread, "shop.Cart", "owner", f64::from(i), 800.0);
        }
    }
    built
}

fn found(built: Built) -> Box<Finding> {
    match judged(&LockContendedMonitor, &built.sealed()) {
        Judgement::Found(finding) => finding,
        _ => panic!("nothing found"),
    }
}

#[test]
fn what_the_owner_did_meanwhile_is_reported_with_its_share() {
    let mut built = contended();
    built.on_thread(kind::SCHED_WATCHED, "owner", "", 0.0, 60_000.0);
    for i in 0..60 {
        // In write() for three quarters of the wait, with the switch inside of it.
        let at = f64::from(i);
        built.call("owner", "write", "/var/log/app.log", at, 600.0);
        built.on_thread(kind::SCHED_OFF, "owner", "uninterruptible", at, 600.0);
    }
    let finding = found(built);
    // Second, so that no fold of the list takes it.
    assert_eq!(finding.evidence[1].metric(), facts::HOLDERS.id);
    let write = links::CALL.is(Value::name("write")).with("target", Value::name("/var/log/app.log"));
    assert_eq!(did_by_holders(&finding), [(write, 0.75), (links::RUNNING.fact(), 0.25)]);
}

/// Each wait is for an object of its own, as latches that a transaction opens when it ends.
#[test]
fn many_objects_whose_holder_does_one_thing_are_as_one() {
    let is_one_lock = |sleeps_ms: f64| {
        let mut built = Built::jvm("17", "G1", 60.0);
        for thread in ["worker-1", "worker-2"] {
            for i in 0..60 {
                let labels = [(label::OWNER, "owner"), (label::ADDRESS, &*format!("{thread}{i}"))];
                let wait = (kind::LOCK_MONITOR, "db.Latch");
                let stack = [("db.Latch.await", FrameType::C2)];
                built.with_stack(wait, thread, &stack, &labels, (f64::from(i), 800.0));
            }
        }
        built.on_thread(kind::SCHED_WATCHED, "owner", "", 0.0, 60_000.0);
        for i in 0..60 {
            let sleep = [("java.lang.Thread.sleep", FrameType::C2), ("shop.Audit.run", FrameType::C2)];
            let at = (f64::from(i), sleeps_ms);
            built.with_stack((kind::SCHED_OFF, "sleeping"), "owner", &sleep, &[], at);
        }
        found(built).title.fact().find(&titles::LOCK).is_some()
    };
    assert!(is_one_lock(790.0));
    assert!(!is_one_lock(300.0), "it does several things");
}

#[test]
fn waits_that_were_as_long_before_are_said_to_be_no_more_than_in_the_base() {
    let recording = contended().sealed();
    let window = |from_s: i64, to_s: i64| crate::Window {
        from_ns: from_s * 1_000_000_000,
        to_ns: to_s * 1_000_000_000,
    };
    let mut case = crate::built::whole_run(&recording);
    (case.slow, case.base) = (vec![window(30, 60)], vec![window(0, 30)]);
    let jvm = fathom_recording::ProcessId(0);
    let Judgement::RuledOut { figure, .. } = crate::Rule::judge(&LockContendedMonitor, &case, jvm) else {
        panic!()
    };
    let little = figure.fact().find(&facts::LITTLE).unwrap_or_else(|| panic!("{figure:?}"));
    assert_eq!(["threads", "value"].map(|name| little.number(name)), [Some(2.0), Some(48_000.0)]);
    assert!(little.detail("above").is_none() && little.detail("usual").is_some(), "{little:?}");
}

#[test]
fn an_owner_that_waits_for_another_lock_is_a_link_of_the_chain() {
    let mut built = contended();
    for i in 0..60 {
        built.waits_for("owner", "shop.Stock", "last", f64::from(i), 790.0);
    }
    let finding = found(built);
    let did = did_by_holders(&finding);
    let waits = links::FOR_LOCK.is(Value::name("shop.Stock")).with("owner", Value::name("last"));
    assert_eq!(did[0], (waits, 0.99));
}

#[test]
fn threads_that_wait_for_each_other_at_the_end_are_a_deadlock_and_those_in_a_row_are_none() {
    for (last, is_cycle) in [("one", true), ("three", false)] {
        let mut built = Built::jvm("17", "G1", 60.0);
        built.still_waits_for("one", "shop.Stock", "two", 10.0, 50_000.0);
        built.still_waits_for("two", "shop.Cart", last, 10.0, 50_000.0);
        built.still_waits_for("by the way", "shop.Cart", "one", 20.0, 40_000.0);
        built.on_thread(kind::SCHED_WATCHED, "three", "", 0.0, 60_000.0);
        let finding = found(built);
        let cycle = [("one", "shop.Stock", None), ("two", "shop.Cart", None)];
        assert_eq!(deadlock(&finding), if is_cycle { &cycle[..] } else { &[] });
        assert_eq!(finding.confidence == Confidence::Proven, is_cycle);
    }
}

#[test]
fn waits_that_began_before_the_recording_stand_where_their_threads_sleep() {
    let mut built = Built::jvm("17", "G1", 60.0);
    for (thread, class, owner) in [("one", "shop.Stock", "two"), ("two", "shop.Cart", "one")] {
        built.on_thread(kind::SCHED_WATCHED, thread, "", 0.0, 60_000.0);
        let asleep = [("ObjectMonitor::enter", FrameType::Jvm), ("shop.Orders.book", FrameType::C2)];
        built.with_stack((kind::SCHED_OFF, "sleeping"), thread, &asleep, &[], (0.0, 60_000.0));
        built.still_waits_for(thread, class, owner, 0.0, 60_000.0);
    }
    let finding = found(built);
    let place = Some("shop.Orders.book");
    assert_eq!(deadlock(&finding), [("one", "shop.Stock", place), ("two", "shop.Cart", place)]);
    let class = finding.culprit.fact().name("value").unwrap();
    assert!(["shop.Stock", "shop.Cart"].contains(&class), "{}", finding.culprit);
}

/// A holder that is known for the last tenth of the time only, and is in read() then.
#[test]
fn a_holder_known_for_a_part_of_the_time_is_said_to_be_so_and_is_not_the_story() {
    let mut built = Built::jvm("17", "G1", 60.0);
    built.on_thread(kind::SCHED_WATCHED, "owner", "", 0.0, 60_000.0);
    for thread in ["worker-1", "worker-2"] {
        for i in 0..60 {
            let class = "java.util.concurrent.Semaphore$NonfairSync";
            let owner = if i >= 54 { "owner" } else { "" };
            let owner = [(fathom_recording::vocabulary::label::OWNER, owner)];
            let frames = [("shop.Gate.enter", FrameType::C2)];
            let labels = if i >= 54 { &owner[..] } else { &[] };
            built.with_stack((kind::LOCK_PARK, class), thread, &frames, labels, (f64::from(i), 800.0));
        }
    }
    for i in 0..60 {
        let at = f64::from(i);
        built.call("owner", "read", "/data/orders", at, 800.0);
        built.on_thread(kind::SCHED_OFF, "owner", "uninterruptible", at, 800.0);
        // Then it has nothing to do.
        let rests = [("java.util.concurrent.ThreadPoolExecutor.getTask", FrameType::C2)];
        built.with_stack((kind::SCHED_OFF, "sleeping"), "owner", &rests, &[], (at + 0.8, 200.0));
    }
    let Judgement::Found(finding) = judged(&LockContendedJuc, &built.sealed()) else { panic!("not found") };
    let holders = finding.fact(&facts::HOLDERS);
    let figures = ["covered", "wanted"].map(|name| holders.number(name).unwrap());
    assert!(figures[0] < 0.2 * figures[1], "{figures:?}");
    let title = finding.title.fact();
    assert!(title.detail("off").or(title.detail("ran")).is_none(), "{title:?}");
    finding.remedies[0].change.states(&remedies::GIVE_BACK, &[]);
}

#[test]
fn a_holder_that_waits_for_the_lock_of_a_file_may_wait_for_another_process() {
    let mut built = contended();
    built.on_thread(kind::SCHED_WATCHED, "owner", "", 0.0, 60_000.0);
    for i in 0..60 {
        built.call("owner", "fcntl", "/srv/ledger.dat", f64::from(i), 790.0);
        built.on_thread(kind::SCHED_OFF, "owner", "sleeping", f64::from(i), 790.0);
    }
    let finding = found(built);
    finding.remedies[0].change.states(&remedies::FILE_LOCK, &[]);
}

#[test]
fn an_owner_of_whom_nothing_is_known_is_not_reported() {
    let mut built = contended();
    // Two threads of that name: nobody knows which.
    for tid in [1, 2] {
        let jvm = built.jvm;
        built.recording.thread(jvm, Some(tid), "owner", fathom_recording::Role::App);
    }
    built.on_thread(kind::SCHED_OFF, "owner", "sleeping", 0.0, 60_000.0);
    let finding = found(built);
    assert_eq!(finding.facts(&facts::HOLDERS).count(), 0, "{:?}", finding.evidence);
}
