//! Chains in recordings put together by hand, where the ends are known.

use fathom_recording::vocabulary::{figure, kind, label, live};
use fathom_recording::{FrameType, Role, Sink, SourceId, SpanRow, StackId};

use super::*;
use crate::built::{Built, spent_in};
use crate::facts::links;

mod any_waits;

const MS: i64 = 1_000_000;

/// A JVM whose threads are watched for 100 s, thread by thread.
struct World {
    built: Built,
    tids: Vec<ThreadId>,
}

impl World {
    fn of(threads: &[(&str, Role)]) -> Self {
        let mut built = Built::jvm("17", "G1", 100.0);
        let mut world = |(i, (name, role)): (usize, &(&str, Role))| {
            let id = built.recording.thread(built.jvm, Some(100 + i as i64), name, *role);
            let jvm = built.jvm;
            built.recording.span(&row(kind::SCHED_WATCHED, "", (0, 100_000), jvm, Some(id), None, &[], &[]));
            id
        };
        let tids = threads.iter().enumerate().map(&mut world).collect();
        Self { built, tids }
    }

    fn stack(&mut self, frames: &[(FrameType, &str)]) -> StackId {
        let recording = &mut self.built.recording;
        let stack = frames.iter().fold(None, |at, (frame_type, name)| {
            let frame = recording.frame(name, "", *frame_type, -1);
            Some(recording.stack(at, frame))
        });
        stack.unwrap()
    }

    #[allow(clippy::too_many_arguments, reason = "a row of a table")]
    fn add(
        &mut self,
        kind: &str,
        thread: usize,
        name: &str,
        ms: (i64, i64),
        stack: &[(FrameType, &str)],
        figures: &[(&str, f64)],
        labels: &[(&str, &str)],
    ) {
        let stack = (!stack.is_empty()).then(|| self.stack(stack));
        let (jvm, thread) = (self.built.jvm, Some(self.tids[thread]));
        self.built.recording.span(&row(kind, name, ms, jvm, thread, stack, figures, labels));
    }

    /// A wait for a monitor, seen by the scheduler and by the locks' collector.
    fn monitor(&mut self, thread: usize, owner: usize, ms: (i64, i64), labels: &[(&str, &str)]) {
        let enter = [(FrameType::Jvm, "ObjectMonitor::enter"), (FrameType::Kernel, "futex_wait")];
        self.add(kind::SCHED_OFF, thread, "sleeping", ms, &enter, &[], &[]);
        let owner = [(figure::OWNER_TID, 100.0 + owner as f64)];
        self.add(kind::LOCK_MONITOR, thread, "shop.Cart", ms, &[], &owner, labels);
    }

    fn chain(self, thread: usize, ms: (i64, i64)) -> Chain {
        let thread = self.tids[thread];
        let recording = self.built.sealed();
        Chains::of(&recording).of_thread(thread, Window { from_ns: ms.0 * MS, to_ns: ms.1 * MS })
    }

    fn stops(self) -> Vec<Stop> {
        let jvm = self.built.jvm;
        let recording = self.built.sealed();
        Chains::of(&recording).stops(jvm, Window { from_ns: 0, to_ns: 100_000 * MS }, 10)
    }
}

#[allow(clippy::too_many_arguments, reason = "a row of a table")]
fn row<'a>(
    kind: &'a str,
    name: &'a str,
    ms: (i64, i64),
    process: fathom_recording::ProcessId,
    thread: Option<ThreadId>,
    stack: Option<StackId>,
    figures: &'a [(&'a str, f64)],
    labels: &'a [(&'a str, &'a str)],
) -> SpanRow<'a> {
    SpanRow {
        kind,
        name,
        t0_ns: ms.0 * MS,
        t1_ns: ms.1 * MS,
        process,
        thread,
        stack,
        source: SourceId(0),
        line: 1,
        key: -1,
        parent: None,
        figures,
        labels,
    }
}

/// The longest way as "thread: what", its last end.
fn way(chain: &Chain) -> (Vec<String>, Option<End>) {
    let first = &chain.links[0];
    let said = |link: &Link| format!("{}: {}", link.thread.as_deref().unwrap_or("-"), link.what);
    (first.heaviest().map(said).collect(), first.heaviest().last().and_then(|link| link.end))
}

/// Every link's next links share its time out, and so do the first ones the chain's.
fn adds_up(ms: f64, links: &[Link]) {
    let sum: f64 = links.iter().map(|link| link.ms).sum();
    assert!((sum - ms).abs() < 1e-6, "{sum} of {ms}: {links:#?}");
    for link in links {
        assert_eq!(link.end.is_some(), link.next.is_empty(), "{link:#?}");
        if !link.next.is_empty() {
            adds_up(link.ms, &link.next);
        }
    }
}

const APPS: [(&str, Role); 4] =
    [("a", Role::App), ("b", Role::App), ("c", Role::App), ("VM Thread", Role::Vm)];

#[test]
fn three_locks_in_a_row_lead_to_the_call_in_which_the_last_owner_hangs() {
    let mut world = World::of(&APPS);
    world.monitor(0, 1, (1_000, 3_000), &[]);
    world.monitor(1, 2, (900, 3_000), &[]);
    let write =
        [(FrameType::Native, "write"), (FrameType::Kernel, "vfs_write"), (FrameType::Kernel, "io_schedule")];
    let path = [(label::PATH, "/var/log/app.log")];
    world.add(kind::SYSCALL, 2, "write", (800, 3_000), &write, &[], &path);
    world.add(kind::SCHED_OFF, 2, "uninterruptible", (800, 3_000), &write, &[], &[]);
    let disk = [(label::DEVICE, "vda"), (label::ISSUER, "kworker/u8:1")];
    world.add(kind::DISK_REQUEST, 3, "write", (500, 2_800), &[], &[], &disk);
    let chain = world.chain(0, (1_000, 3_000));
    adds_up(chain.ms, &chain.links);
    let (said, end) = way(&chain);
    assert_eq!(
        said,
        [
            "a: waiting for shop.Cart",
            "b: waiting for shop.Cart",
            "c: in write() on /var/log/app.log",
            "-: vda: a write by kworker/u8:1",
        ]
    );
    assert_eq!(end, Some(End::Hardware));
    let disk = &chain.links[0].next[0].next[0].next;
    assert_eq!((disk[0].ms, disk[1].ms, disk[1].end), (1_800.0, 200.0, Some(End::Unknown)));
    assert_eq!(chain.links[0].next[0].next[0].stack[0], "io_schedule");
}

/// Three threads hold a monitor for a second each, one after another, and sleep in it; the victim
/// waits for all of them. A wait records the owner at its beginning alone.
fn convoy() -> World {
    let mut world = World::of(&[
        ("a", Role::App),
        ("b", Role::App),
        ("c", Role::App),
        ("d", Role::App),
        ("e", Role::App),
    ]);
    let enter = [
        (FrameType::C2, "shop.Orders.book"),
        (FrameType::Jvm, "ObjectMonitor::enter"),
        (FrameType::Kernel, "__x64_sys_futex"),
        (FrameType::Kernel, "futex_wait"),
    ];
    let nap = [
        (FrameType::C2, "shop.Orders.book"),
        (FrameType::C2, "shop.Audit.trail"),
        (FrameType::C2, "java.lang.Thread.sleep"),
        (FrameType::Jvm, "JavaThread::sleep"),
        (FrameType::Native, "pthread_cond_timedwait"),
        (FrameType::Kernel, "__x64_sys_futex"),
        (FrameType::Kernel, "futex_wait"),
    ];
    for (i, thread) in [1, 2, 3].into_iter().enumerate() {
        let held = 1_000 + 1_000 * i as i64;
        if i > 0 {
            world.add(kind::SCHED_OFF, thread, "sleeping", (1_000, held), &enter, &[], &[]);
            let owner = [(figure::OWNER_TID, 101.0)];
            world.add(kind::LOCK_MONITOR, thread, "shop.Ledger", (1_000, held), &enter[..1], &owner, &[]);
        }
        world.add(kind::SCHED_OFF, thread, "sleeping", (held, held + 900), &nap, &[], &[]);
    }
    world.add(kind::SCHED_OFF, 0, "sleeping", (1_000, 4_000), &enter, &[], &[]);
    let owner = [(figure::OWNER_TID, 101.0)];
    world.add(kind::LOCK_MONITOR, 0, "shop.Ledger", (1_000, 4_000), &enter[..1], &owner, &[]);
    // This wait has no record of a lock.
    world.add(kind::SCHED_OFF, 4, "sleeping", (1_000, 4_000), &enter, &[], &[]);
    world
}

#[test]
fn what_the_holders_of_a_convoy_did_is_added_up_over_the_wait() {
    for victim in [0, 4] {
        let world = convoy();
        let (thread, window) = (world.tids[victim], Window { from_ns: 1_000 * MS, to_ns: 4_000 * MS });
        let recording = world.built.sealed();
        let chain = Chains::with_lock_holders(&recording).of_thread(thread, window);
        adds_up(chain.ms, &chain.links);
        assert_eq!(chain.links[0].what, "waiting for shop.Ledger in shop.Orders.book()");
        let next: Vec<_> =
            chain.links[0].next.iter().map(|l| (l.kind, l.what.fact().clone(), l.ms)).collect();
        let asleep = spent_in(Category::Sleep, "shop.Audit.trail");
        let (in_turn, ran) = (LinkKind::Holders, links::RUNNING.fact());
        assert_eq!(next, [(in_turn, asleep, 2_700.0), (in_turn, ran, 300.0)]);
        let stack = ["futex_wait", "java.lang.Thread.sleep", "shop.Audit.trail", "shop.Orders.book"];
        assert_eq!(chain.links[0].next[0].stack, stack);
    }
}

#[test]
fn one_holder_of_a_lock_that_changes_hands_elsewhere_is_shown_by_its_name() {
    let mut world = convoy();
    let call = [(FrameType::C2, "shop.Orders.book"), (FrameType::Kernel, "pipe_read")];
    world.add(kind::SYSCALL, 4, "read", (6_000, 8_000), &call, &[], &[(label::PATH, "/tmp/fifo")]);
    world.add(kind::SCHED_OFF, 4, "sleeping", (6_000, 8_000), &call, &[], &[]);
    let (enter, owner) = ([(FrameType::C2, "shop.Orders.book")], [(figure::OWNER_TID, 104.0)]);
    world.add(kind::LOCK_MONITOR, 0, "shop.Ledger", (6_000, 8_000), &enter, &owner, &[]);
    world.add(kind::SCHED_OFF, 0, "sleeping", (6_000, 8_000), &enter, &[], &[]);
    let (thread, window) = (world.tids[0], Window { from_ns: 6_000 * MS, to_ns: 8_000 * MS });
    let recording = world.built.sealed();
    let chain = Chains::with_lock_holders(&recording).of_thread(thread, window);
    adds_up(chain.ms, &chain.links);
    let holder = &chain.links[0].next[0];
    assert_eq!((holder.thread.as_deref(), holder.tid), (Some("e"), Some(104)), "{chain:#?}");
    assert_eq!(holder.what, "in read() on /tmp/fifo");
}

#[test]
fn an_owner_that_runs_sleeps_or_has_no_cpu_is_the_end_of_the_chain() {
    let mut world = World::of(&APPS);
    world.monitor(0, 1, (1_000, 2_000), &[]);
    let nap = [(FrameType::Interpreted, "java.lang.Thread.sleep"), (FrameType::Kernel, "futex_wait")];
    world.add(kind::SCHED_OFF, 1, "sleeping", (1_000, 1_600), &nap, &[], &[]);
    let queued = [(figure::RUNQ_NS, 300e6)];
    world.add(
        kind::SCHED_OFF,
        1,
        "preempted",
        (1_600, 1_900),
        &[],
        &queued,
        &[(label::RAN_INSTEAD, "stress (9)")],
    );
    let chain = world.chain(0, (1_000, 2_000));
    adds_up(chain.ms, &chain.links);
    let owner = &chain.links[0].next;
    let ends: Vec<_> = owner.iter().map(|link| (link.category, link.ms, link.end)).collect();
    assert_eq!(
        ends,
        [
            (Some(Category::Sleep), 600.0, Some(End::Choice)),
            (Some(Category::RunQueue), 300.0, None),
            (Some(Category::Running), 100.0, Some(End::Running)),
        ]
    );
    assert_eq!((&*owner[1].next[0].what, owner[1].next[0].end), ("stress (9) ran", Some(End::Running)));
}

#[test]
fn who_had_the_cpus_is_added_up_over_the_whole_wait_and_by_process() {
    let mut world = World::of(&APPS);
    // The last that ran before each wait ended is a thread that did next to nothing.
    let stack = [(FrameType::C2, "shop.Cart.total"), (FrameType::Kernel, "asm_sysvec_apic_timer_interrupt")];
    for at in [1_000, 2_000, 3_000] {
        let labels = [(label::RAN_INSTEAD, "rcu_preempt (15)")];
        world.add(
            kind::SCHED_OFF,
            0,
            "preempted",
            (at, at + 900),
            &stack,
            &[(figure::RUNQ_NS, 900e6)],
            &labels,
        );
    }
    let process = world.built.jvm;
    for (instance, process, cpus) in [
        ("hog (7)", None, 0.9),
        ("hog (8)", None, 0.6),
        ("App (100)", Some(process), 0.6),
        ("rcu_preempt (15)", None, 0.001),
    ] {
        let info = fathom_recording::SeriesInfo {
            name: live::PROCESS_CPU.name.into(),
            instance: instance.into(),
            unit: "cpus".into(),
            kind: fathom_recording::SeriesKind::Gauge,
            process,
            source: SourceId(0),
        };
        let series = world.built.recording.add_series(info);
        for second in 0..10 {
            world.built.recording.point(series, second * 1_000 * MS, 1_000 * MS, cpus);
        }
    }
    let chain = world.chain(0, (1_000, 4_000));
    let queue = chain.links.iter().find(|link| link.category == Some(Category::RunQueue)).unwrap();
    adds_up(queue.ms, &queue.next);
    let who: Vec<(&str, i64)> = queue.next.iter().map(|link| (&*link.what, link.ms.round() as i64)).collect();
    // Of the program's own 0.6 CPUs the thread itself ran 0.1.
    assert_eq!(who[..2], [("hog ran", 2_024), ("other threads of App ran", 675)], "{who:?}");
    assert!(queue.next.iter().all(|link| link.stack.is_empty()), "whose stack: {:?}", queue.next);
}

#[test]
fn a_wait_that_an_interrupt_ended_leads_to_no_thread() {
    let parked = [
        (FrameType::C2, "shop.Orders.await"),
        (FrameType::C2, "java.util.concurrent.locks.LockSupport.park"),
        (FrameType::Kernel, "futex_wait"),
    ];
    let ended_by = |label: &str, by: &str| {
        let mut world = World::of(&APPS);
        world.add(kind::SCHED_OFF, 0, "sleeping", (1_000, 4_000), &parked, &[], &[(label, by)]);
        let chain = world.chain(0, (1_000, 4_000));
        adds_up(chain.ms, &chain.links);
        way(&chain)
    };
    let (said, _) = ended_by(label::WAKER, "b (101)");
    assert!(said.len() > 1, "{said:?}");
    let (said, end) = ended_by(label::INTERRUPT, "a timer");
    assert_eq!((said.len(), end), (1, Some(End::Choice)), "{said:?}");
    let (said, end) = ended_by(label::INTERRUPT, "the network");
    assert_eq!(end, Some(End::Outside), "{said:?}");
    assert!(said.iter().any(|what| what == "-: the network, which ended the wait"), "{said:?}");
}

#[test]
fn a_process_that_is_stopped_by_a_signal_waits_for_nobody_inside() {
    let mut world = World::of(&APPS);
    let parked = [
        (FrameType::C2, "java.util.concurrent.locks.LockSupport.park"),
        (FrameType::Kernel, "get_signal"),
        (FrameType::Kernel, "do_signal_stop"),
    ];
    world.add(kind::SCHED_OFF, 0, "sleeping", (1_000, 4_000), &parked, &[], &[(label::WAKER, "pay-7 (101)")]);
    let chain = world.chain(0, (1_000, 4_000));
    let link = &chain.links[0];
    assert_eq!((link.category, link.ms, link.end), (Some(Category::Frozen), 3_000.0, Some(End::Outside)));
}

#[test]
fn threads_that_wait_for_each_other_for_ever_are_a_deadlock_and_others_a_circle() {
    for (labels, end) in [(&[(label::CUT, "the recording ended")][..], End::Deadlock), (&[][..], End::Circle)]
    {
        let mut world = World::of(&APPS);
        world.monitor(0, 1, (1_000, 100_000), labels);
        world.monitor(1, 2, (1_000, 100_000), labels);
        world.monitor(2, 0, (1_000, 100_000), labels);
        let chain = world.chain(0, (2_000, 100_000));
        adds_up(chain.ms, &chain.links);
        let (said, last) = way(&chain);
        assert_eq!((said.len(), last), (3, Some(end)), "{said:?}");
    }
}

#[test]
fn an_owner_of_whom_nothing_is_known_is_reported_as_unknown() {
    let mut world = World::of(&APPS);
    world.monitor(0, 77, (1_000, 2_000), &[]);
    let chain = world.chain(0, (1_000, 2_000));
    assert_eq!((chain.links.len(), chain.links[0].end), (1, Some(End::Unknown)));
}

/// A stop of 500 ms: a runs on for 300 ms of it, then the operation, then the log for 150 ms.
fn stopped() -> World {
    let mut world = World::of(&APPS);
    let parts = [(figure::REACH_NS, 300e6), (figure::AT_NS, 190e6), (figure::LEAVE_NS, 10e6)];
    world.built.span(kind::SAFEPOINT, "G1CollectForAllocation", 10.0, 500.0, &parts, &[]);
    let block = [(FrameType::C2, "shop.Loop.count"), (FrameType::Jvm, "SafepointSynchronize::block")];
    world.add(kind::SCHED_OFF, 0, "sleeping", (10_300, 10_500), &block, &[], &[]);
    world.add(kind::SCHED_OFF, 1, "sleeping", (10_002, 10_500), &block, &[], &[]);
    let nap = [(FrameType::Interpreted, "java.lang.Thread.sleep")];
    world.add(kind::SCHED_OFF, 2, "sleeping", (0, 100_000), &nap, &[], &[]);
    world.add(kind::SCHED_OFF, 3, "sleeping", (5_000, 9_999), &[], &[], &[(label::WAKER, "b (101)")]);
    let write = [
        (FrameType::Jvm, "LogFileStreamOutput::write"),
        (FrameType::Kernel, "vfs_write"),
        (FrameType::Kernel, "percpu_rwsem_wait"),
    ];
    let labels = [(label::SYSCALL, "write"), (label::PATH, "/mnt/gc.log")];
    world.add(kind::SCHED_OFF, 3, "uninterruptible", (10_320, 10_470), &write, &[], &labels);
    world
}

#[test]
fn a_stop_is_cut_into_its_parts_with_the_last_thread_and_the_blocked_log() {
    let stops = stopped().stops();
    let [stop] = &stops[..] else { panic!("{stops:#?}") };
    let parts: Vec<_> = stop.parts.iter().map(|part| (part.part, part.ms)).collect();
    let expected =
        [(Part::Reach, 300.0), (Part::Operation, 40.0), (Part::LogWrite, 150.0), (Part::Leave, 10.0)];
    assert_eq!(parts, expected);
    assert_eq!((stop.asked_by.as_deref(), stop.last_in.as_deref()), (Some("b"), Some("a")));
    assert_eq!(stop.last_in_stack, ["SafepointSynchronize::block", "shop.Loop.count"]);
    for part in &stop.parts {
        adds_up(part.ms, &part.links);
    }
    assert_eq!(stop.parts[0].links[0].category, Some(Category::Running));
    let write = &stop.parts[2].links[0];
    assert_eq!((&*write.what, write.next[0].end), ("blocked: disk on /mnt/gc.log", Some(End::Outside)));
    assert_eq!(write.next[0].what, "a frozen file system");
}

#[test]
fn the_chain_of_a_thread_that_was_stopped_leads_through_the_stop() {
    let chain = stopped().chain(1, (10_002, 10_500));
    adds_up(chain.ms, &chain.links);
    let is_reach = |link: &&Link| link.what.fact().metric == &links::STOP_REACH;
    let reach = chain.links.iter().flat_map(|link| &link.next).find(is_reach);
    let reach = reach.unwrap_or_else(|| panic!("{chain:#?}"));
    assert_eq!((reach.ms, reach.next[0].thread.as_deref()), (298.0, Some("a")));
    assert_eq!(reach.next[0].end, Some(End::Running));
}

#[test]
fn nobody_near_the_end_means_who_ran_most_and_a_sleeper_is_never_the_last() {
    let mut world = World::of(&APPS);
    let parts = [(figure::REACH_NS, 300e6), (figure::AT_NS, 10e6)];
    world.built.span(kind::SAFEPOINT, "Cleanup", 10.0, 310.0, &parts, &[]);
    let nap = [(FrameType::Interpreted, "java.lang.Thread.sleep")];
    world.add(kind::SCHED_OFF, 0, "sleeping", (0, 10_010), &nap, &[], &[]);
    world.add(kind::SCHED_OFF, 0, "sleeping", (10_290, 100_000), &nap, &[], &[]);
    world.add(kind::SCHED_OFF, 1, "sleeping", (0, 100_000), &nap, &[], &[]);
    world.add(kind::SCHED_OFF, 2, "sleeping", (0, 100_000), &nap, &[], &[]);
    let stop = &world.stops()[0];
    assert_eq!(stop.last_in.as_deref(), Some("a"), "{stop:#?}");
    assert_eq!(stop.last_in_how, Some(links::LAST_RAN.fact().into()));
}

#[test]
fn a_condition_is_told_by_the_method_that_waits_for_it_and_not_by_its_class() {
    let mut world = World::of(&APPS);
    let condition = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject";
    let awaits = format!("{condition}.await");
    let stack = [(FrameType::C2, "shop.Usage.waitForSpace"), (FrameType::C2, &*awaits)];
    world.add(kind::SCHED_OFF, 0, "sleeping", (100, 600), &stack, &[], &[]);
    world.add(kind::LOCK_PARK, 0, condition, (100, 600), &stack, &[], &[]);
    let chain = world.chain(0, (100, 600));
    assert_eq!(chain.links[0].what, "waiting for another thread in shop.Usage.waitForSpace");
}

#[test]
fn one_stop_that_two_sources_recorded_is_one() {
    let mut world = stopped();
    world.built.span(kind::SAFEPOINT, "stopped", 10.001, 498.0, &[], &[]);
    world.built.pause("Pause Young", "", 10.31, 180.0, &[]);
    assert_eq!(world.stops().len(), 1);
}
