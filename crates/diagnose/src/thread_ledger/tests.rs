use fathom_recording::vocabulary::{figure, kind, label, sample};
use fathom_recording::{
    FrameType, Process, ProcessId, Recording, Role, SampleRow, SeriesInfo, SeriesKind, Sink, Source,
    SourceId, SpanRow, StackId, ThreadId,
};
use proptest::prelude::*;

use super::*;

const MS: i64 = 1_000_000;

/// A JVM whose threads are put together by hand; times in milliseconds.
struct Watched {
    recording: Recording,
    process: ProcessId,
    source: SourceId,
}

impl Watched {
    fn new() -> Self {
        let mut recording = Recording::new();
        let process = recording.add_process(Process { name: "App".into(), jvm: true, ..Process::default() });
        let source = recording.add_source(Source { name: "scheduler".into(), ..Source::default() });
        Self { recording, process, source }
    }

    fn thread(&mut self, name: &str, role: Role) -> ThreadId {
        self.recording.thread(self.process, None, name, role)
    }

    fn stack(&mut self, frames: &[(FrameType, &str)]) -> Option<StackId> {
        let mut at = None;
        for (frame_type, name) in frames {
            let frame = self.recording.frame(name, "", *frame_type, -1);
            at = Some(self.recording.stack(at, frame));
        }
        at
    }

    fn span(
        &mut self,
        kind: &str,
        thread: Option<ThreadId>,
        ends: (i64, i64),
        stack: Option<StackId>,
        runq_ms: i64,
    ) {
        self.told(kind, thread, ends, stack, &[(figure::RUNQ_NS, (runq_ms * MS) as f64)]);
    }

    /// A wait for a CPU, which for a part was one for quota.
    fn queued(&mut self, thread: ThreadId, ends: (i64, i64), runq_ms: i64, throttled_ms: i64) {
        let figures = [(figure::RUNQ_NS, runq_ms), (figure::THROTTLED_NS, throttled_ms)];
        let figures = figures.map(|(key, ms)| (key, (ms * MS) as f64));
        self.told(kind::SCHED_OFF, Some(thread), ends, None, &figures);
    }

    fn told(
        &mut self,
        kind: &str,
        thread: Option<ThreadId>,
        (from, to): (i64, i64),
        stack: Option<StackId>,
        figures: &[(&str, f64)],
    ) {
        self.recording.span(&SpanRow {
            kind,
            name: "",
            t0_ns: from * MS,
            t1_ns: to * MS,
            process: self.process,
            thread,
            stack,
            source: self.source,
            line: 0,
            key: -1,
            parent: None,
            figures,
            labels: &[],
        });
    }

    /// A record of what the thread waited for.
    fn record(
        &mut self,
        kind: &str,
        name: &str,
        thread: ThreadId,
        (from, to): (i64, i64),
        labels: &[(&str, &str)],
    ) {
        self.recording.span(&SpanRow {
            kind,
            name,
            t0_ns: from * MS,
            t1_ns: to * MS,
            process: self.process,
            thread: Some(thread),
            stack: None,
            source: self.source,
            line: 0,
            key: -1,
            parent: None,
            figures: &[],
            labels,
        });
    }

    fn sample(&mut self, kind: &str, thread: ThreadId, at_ms: i64, stack: Option<StackId>, weight_ms: i64) {
        let (process, source) = (self.process, self.source);
        let (t_ns, weight) = (at_ms * MS, weight_ms * MS);
        self.recording.sample(&SampleRow {
            kind,
            t_ns,
            process,
            thread: Some(thread),
            stack,
            weight,
            source,
        });
    }

    fn ledger(mut self, window_ms: (i64, i64), by: By) -> ThreadLedger {
        self.recording.seal();
        let window = Window { from_ns: window_ms.0 * MS, to_ns: window_ms.1 * MS };
        thread_ledger(&self.recording, Some(window), None, by)
    }
}

fn ms(group: &GroupLedger, heading: Heading) -> f64 {
    group.spent.iter().find(|s| s.heading == heading).map_or(0.0, |s| s.ms)
}

#[test]
fn a_thread_that_the_kernel_does_not_know_is_charged_with_its_waits_and_no_rest() {
    let mut jvm = Watched::new();
    let (virtual_thread, carrier) =
        (jvm.thread("virtual thread #31", Role::App), jvm.thread("carrier", Role::App));
    jvm.record(kind::LOCK_MONITOR, "shop.Cart", virtual_thread, (100, 300), &[]);
    jvm.record(kind::LOCK_MONITOR, "shop.Cart", virtual_thread, (700, 750), &[]);
    jvm.span(kind::SCHED_WATCHED, Some(carrier), (0, 1000), None, 0);
    let ledger = jvm.ledger((200, 1000), By::Thread);
    let told = |name: &str| ledger.groups.iter().find(|group| group.name == name).unwrap();
    let (waiter, carrier) = (told("virtual thread #31"), told("carrier"));
    assert_eq!((waiter.thread_ms, ms(waiter, Heading::Monitor)), (150.0, 150.0));
    assert_eq!(carrier.thread_ms, 800.0);
}

#[test]
fn a_watched_thread_is_charged_by_its_stacks_and_its_queue_and_runs_the_rest() {
    let mut jvm = Watched::new();
    let worker = jvm.thread("worker-1", Role::App);
    let monitor = jvm.stack(&[(FrameType::C2, "shop.Orders.add"), (FrameType::Jvm, "ObjectMonitor::enter")]);
    let write = jvm.stack(&[(FrameType::Jvm, "os::write"), (FrameType::Kernel, "vfs_write")]);
    let java = jvm.stack(&[(FrameType::C2, "shop.Orders.total"), (FrameType::Inlined, "shop.Order.price")]);
    let kernel = jvm.stack(&[(FrameType::C2, "shop.Orders.total"), (FrameType::Kernel, "clear_page")]);
    jvm.span(kind::SCHED_WATCHED, Some(worker), (0, 1000), None, 0);
    jvm.span(kind::SCHED_OFF, Some(worker), (100, 300), monitor, 50);
    jvm.span(kind::SCHED_OFF, Some(worker), (400, 600), write, 0);
    for at in [10, 350, 700, 900] {
        jvm.sample(sample::CPU, worker, at, if at == 350 { kernel } else { java }, 10);
    }
    jvm.sample(sample::OFF_CPU, worker, 950, monitor, 20);
    let ledger = jvm.ledger((0, 1000), By::Role);
    let group = &ledger.groups[0];
    assert_eq!((group.name.as_str(), group.threads, group.thread_ms), ("application threads", 1, 1000.0));
    let expected = [
        (Heading::Monitor, 170.0),
        (Heading::RunQueue, 50.0),
        (Heading::Disk, 200.0),
        (Heading::C2, 435.0),
        (Heading::Kernel, 145.0),
        (Heading::Unknown, 0.0),
    ];
    for (heading, expected) in expected {
        assert!((ms(group, heading) - expected).abs() < 1e-3, "{heading:?}: {}", ms(group, heading));
    }
}

#[test]
fn cycles_divide_the_time_that_was_measured_and_are_never_taken_for_time() {
    let mut jvm = Watched::new();
    let worker = jvm.thread("worker-1", Role::App);
    let java = jvm.stack(&[(FrameType::C2, "shop.Orders.total")]);
    let kernel = jvm.stack(&[(FrameType::C2, "shop.Orders.total"), (FrameType::Kernel, "clear_page")]);
    jvm.span(kind::SCHED_WATCHED, Some(worker), (0, 1000), None, 0);
    jvm.span(kind::SCHED_OFF, Some(worker), (0, 600), java, 600);
    for (at, stack) in [(700, java), (800, java), (900, java), (950, kernel)] {
        // As many as 30 s of a processor at 1 GHz.
        jvm.sample(sample::CYCLES, worker, at, stack, 30_000);
    }
    let ledger = jvm.ledger((0, 1000), By::Role);
    let group = &ledger.groups[0];
    for (heading, expected) in [(Heading::RunQueue, 600.0), (Heading::C2, 300.0), (Heading::Kernel, 100.0)] {
        assert!((ms(group, heading) - expected).abs() < 1e-3, "{heading:?}: {}", ms(group, heading));
    }
}

#[test]
fn the_kernels_work_for_page_faults_stands_by_itself() {
    let mut jvm = Watched::new();
    let worker = jvm.thread("worker-1", Role::App);
    let java = (FrameType::C2, "shop.Orders.load");
    let fault = (FrameType::Kernel, "asm_exc_page_fault");
    let touched = jvm.stack(&[java, fault, (FrameType::Kernel, "clear_page_erms")]);
    let write = jvm.stack(&[java, (FrameType::Kernel, "vfs_write")]);
    let waits =
        jvm.stack(&[java, fault, (FrameType::Kernel, "filemap_fault"), (FrameType::Kernel, "io_schedule")]);
    jvm.span(kind::SCHED_WATCHED, Some(worker), (0, 1000), None, 0);
    jvm.span(kind::SCHED_OFF, Some(worker), (100, 300), waits, 0);
    (0..8).for_each(|i| jvm.sample(sample::CPU, worker, 400 + i, if i < 6 { touched } else { write }, 10));
    let ledger = jvm.ledger((0, 1000), By::Thread);
    let figures =
        [Heading::KernelFault, Heading::Kernel, Heading::PageFault].map(|h| ms(&ledger.groups[0], h));
    assert_eq!(figures, [600.0, 200.0, 200.0]);
}

#[test]
fn stopped_at_a_safepoint_is_the_collectors_while_it_collects() {
    let mut jvm = Watched::new();
    let worker = jvm.thread("worker-1", Role::App);
    let at_safepoint =
        jvm.stack(&[(FrameType::Jvm, "SafepointSynchronize::block"), (FrameType::Kernel, "futex_wait")]);
    jvm.span(kind::SCHED_WATCHED, Some(worker), (0, 100), None, 0);
    jvm.span(kind::SCHED_OFF, Some(worker), (20, 60), at_safepoint, 0);
    jvm.span(kind::GC_PAUSE, None, (25, 50), None, 0);
    let ledger = jvm.ledger((0, 100), By::Thread);
    let group = &ledger.groups[0];
    assert_eq!((ms(group, Heading::StoppedByGc), ms(group, Heading::Stopped)), (25.0, 15.0));
}

#[test]
fn a_thread_that_nobody_watched_is_unknown_but_for_what_records_and_samples_tell() {
    let mut jvm = Watched::new();
    let worker = jvm.thread("worker-1", Role::App);
    let java = jvm.stack(&[(FrameType::Interpreted, "shop.Orders.total")]);
    jvm.span(kind::THREAD_SLEEP, Some(worker), (100, 300), None, 0);
    jvm.span(kind::RUN, None, (0, 1000), None, 0);
    (0..10).for_each(|i| jvm.sample(sample::CPU, worker, 400 + i * 20, java, 20));
    let ledger = jvm.ledger((0, 1000), By::Thread);
    let group = &ledger.groups[0];
    let figures = [Heading::Sleep, Heading::Interpreted, Heading::Unknown].map(|h| ms(group, h));
    assert_eq!(figures, [200.0, 200.0, 600.0]);
    let error = group.spent.iter().find(|s| s.heading == Heading::Interpreted).and_then(|s| s.sampling_error);
    assert!(error.is_some_and(|e| e > 0.0), "{error:?}");
}

#[test]
fn time_per_operation_comes_from_the_throughput_of_each_window() {
    let mut jvm = Watched::new();
    let worker = jvm.thread("worker-1", Role::App);
    jvm.span(kind::SCHED_WATCHED, Some(worker), (0, 2000), None, 0);
    let info = SeriesInfo {
        name: "throughput".into(),
        unit: "ops/s".into(),
        instance: String::new(),
        kind: SeriesKind::Rate,
        process: None,
        source: jvm.source,
    };
    let series = jvm.recording.add_series(info);
    jvm.recording.point(series, 0, 1000 * MS, 100.0);
    jvm.recording.point(series, 1000 * MS, 1000 * MS, 50.0);
    jvm.recording.seal();
    let window = |from, to| Window { from_ns: from * MS, to_ns: to * MS };
    let ledger = thread_ledger(&jvm.recording, Some(window(1000, 2000)), Some(window(0, 1000)), By::Process);
    let spent = &ledger.groups[0].spent[0];
    assert_eq!((spent.ms_per_operation, spent.base_ms_per_operation), (Some(20.0), Some(10.0)));
}

#[test]
fn the_lock_of_the_address_space_and_the_search_for_memory_are_headings_of_their_own() {
    let mut watched = Watched::new();
    let worker = watched.thread("worker", Role::App);
    let fault = watched.stack(&[(FrameType::C2, "shop.Cart.add"), (FrameType::Kernel, "asm_exc_page_fault")]);
    watched.span(kind::SCHED_WATCHED, Some(worker), (0, 1_000), None, 0);
    watched.span(kind::SCHED_OFF, Some(worker), (100, 600), fault, 0);
    watched.record(kind::MEMORY_MAP_LOCK, "read", worker, (100, 300), &[]);
    watched.record(kind::MEMORY_STALL, "direct reclaim", worker, (300, 450), &[]);
    watched.recording.seal();
    let ledger = thread_ledger(&watched.recording, None, None, By::Thread);
    let spent: Vec<_> = ledger.groups[0].spent.iter().map(|s| (s.heading, s.ms)).collect();
    let expected = [
        (Heading::Running, 500.0),
        (Heading::MemoryStall, 150.0),
        (Heading::PageFault, 150.0),
        (Heading::MapLock, 200.0),
    ];
    assert_eq!(spent, expected);
}

#[test]
fn a_stop_is_charged_part_by_part_to_who_was_stopped() {
    let mut watched = Watched::new();
    let (worker, vm) = (watched.thread("worker", Role::App), watched.thread("VM Thread", Role::Vm));
    let block = watched.stack(&[(FrameType::Jvm, "SafepointSynchronize::block")]);
    let log =
        watched.stack(&[(FrameType::Jvm, "LogFileStreamOutput::write"), (FrameType::Kernel, "vfs_write")]);
    watched.span(kind::SCHED_WATCHED, Some(worker), (0, 1_000), None, 0);
    watched.span(kind::SCHED_OFF, Some(worker), (100, 600), block, 0);
    watched.span(kind::SYSCALL, Some(vm), (300, 500), log, 0);
    let (process, source) = (watched.process, watched.source);
    watched.recording.span(&SpanRow {
        kind: kind::SAFEPOINT,
        name: "Cleanup",
        t0_ns: 100 * MS,
        t1_ns: 600 * MS,
        process,
        thread: None,
        stack: None,
        source,
        line: 0,
        key: -1,
        parent: None,
        figures: &[(figure::REACH_NS, 150e6)],
        labels: &[],
    });
    watched.recording.seal();
    // Only a call named as one that writes is a write.
    let name = |heading| {
        let ledger = thread_ledger(&watched.recording, None, None, By::Thread);
        let worker = ledger.groups.into_iter().find(|g| g.name == "worker").unwrap();
        worker.spent.iter().find(|s| s.heading == heading).map_or(0.0, |s| s.ms)
    };
    assert_eq!(name(Heading::StoppedToReach), 150.0);
    assert_eq!(name(Heading::StoppedByLog), 0.0);
    let log =
        watched.stack(&[(FrameType::Jvm, "LogFileStreamOutput::write"), (FrameType::Kernel, "vfs_write")]);
    watched.recording.span(&SpanRow {
        kind: kind::SYSCALL,
        name: "write",
        t0_ns: 300 * MS,
        t1_ns: 500 * MS,
        process,
        thread: Some(vm),
        stack: log,
        source,
        line: 0,
        key: -1,
        parent: None,
        figures: &[],
        labels: &[],
    });
    watched.recording.seal();
    let ledger = thread_ledger(&watched.recording, None, None, By::Thread);
    let worker = ledger.groups.into_iter().find(|g| g.name == "worker").unwrap();
    let spent: Vec<_> = worker.spent.iter().map(|s| (s.heading, s.ms)).collect();
    let expected = [
        (Heading::Running, 500.0),
        (Heading::StoppedToReach, 150.0),
        (Heading::StoppedByLog, 200.0),
        (Heading::Stopped, 150.0),
    ];
    assert_eq!(spent, expected);
}

proptest! {
    #[test]
    fn headings_add_up_to_threads_times_time(
        spans in prop::collection::vec((0_usize..9, 0_usize..4, 0_i64..900, 0_i64..400, 0_i64..100), 0..60),
        samples in prop::collection::vec((0_usize..3, 0_usize..4, 0_i64..1000, 0_i64..200), 0..60),
        from in 0_i64..500,
        length in 1_i64..600,
    ) {
        let mut jvm = Watched::new();
        let roles = [Role::App, Role::App, Role::Gc, Role::Vm];
        let threads: Vec<_> = (0..4).map(|i| jvm.thread(&format!("t{i}"), roles[i])).collect();
        let stacks = [
            jvm.stack(&[(FrameType::C1, "a.B.c"), (FrameType::Kernel, "futex_wait")]),
            jvm.stack(&[(FrameType::Jvm, "SafepointMechanism::process")]),
            None,
        ];
        let kinds = [
            kind::SCHED_WATCHED, kind::SCHED_WATCHED, kind::SCHED_OFF, kind::SCHED_OFF, kind::LOCK_MONITOR,
            kind::SYSCALL, kind::GC_PAUSE, kind::SAFEPOINT, kind::THREAD_SLEEP,
        ];
        for (kind, thread, at, length, queue) in spans {
            jvm.span(kinds[kind], Some(threads[thread]), (at, at + length), stacks[thread % 3], queue);
        }
        for (kind, thread, at, weight) in samples {
            let kind = [sample::CPU, sample::OFF_CPU, sample::RUN_QUEUE][kind];
            jvm.sample(kind, threads[thread], at, stacks[thread % 3], weight);
        }
        let ledger = jvm.ledger((from, from + length), By::Thread);
        for group in &ledger.groups {
            let sum: f64 = group.spent.iter().map(|s| s.ms).sum();
            prop_assert!((sum - group.thread_ms).abs() < 1e-6 && group.thread_ms <= length as f64 + 1e-6, "{:?}", group);
            prop_assert!(group.spent.iter().all(|s| s.ms >= 0.0));
        }
    }
}

#[test]
fn a_wait_names_its_file_its_peer_or_its_host_once() {
    let mut watched = Watched::new();
    let thread = watched.thread("main", Role::App);
    watched.span(kind::SCHED_WATCHED, Some(thread), (0, 1000), None, 0);
    let disk = watched.stack(&[(FrameType::Kernel, "io_schedule")]);
    let network = watched.stack(&[(FrameType::Kernel, "tcp_recvmsg")]);
    let lookup = watched.stack(&[(FrameType::Native, "getaddrinfo"), (FrameType::Kernel, "do_sys_poll")]);
    watched.span(kind::SCHED_OFF, Some(thread), (100, 200), disk, 0);
    watched.span(kind::SCHED_OFF, Some(thread), (300, 500), network, 0);
    watched.span(kind::SCHED_OFF, Some(thread), (600, 900), lookup, 0);
    watched.record(kind::SYSCALL, "write", thread, (90, 180), &[(label::PATH, "/var/log/app.log")]);
    watched.record(kind::SYSCALL, "read", thread, (299, 501), &[(label::PEER, "10.0.0.7:5432")]);
    // The poll of a look-up is part of it.
    watched.record(kind::SYSCALL, "poll", thread, (600, 900), &[(label::PEER, "10.0.0.2:53")]);
    watched.record(kind::NET_DNS, "db.test", thread, (590, 905), &[(label::PEER, "10.0.0.2:53")]);
    let ledger = watched.ledger((0, 1000), By::Thread);
    let on = |heading: Heading| {
        let spent = ledger.groups[0].spent.iter().find(|spent| spent.heading == heading).unwrap();
        let on = spent.on.iter().map(|target| (target.name.as_str(), target.ms)).collect::<Vec<_>>();
        (spent.ms, on)
    };
    // What of a wait lies outside of the call is not the file's.
    assert_eq!(on(Heading::Disk), (100.0, vec![("/var/log/app.log", 80.0)]));
    assert_eq!(on(Heading::Network), (200.0, vec![("10.0.0.7:5432", 200.0)]));
    assert_eq!(on(Heading::Dns), (300.0, vec![("db.test", 300.0)]));
}

#[test]
fn a_thread_without_quota_is_throttled_at_the_beginning_of_its_wait_for_a_cpu() {
    let mut jvm = Watched::new();
    let thread = jvm.thread("burner", Role::App);
    jvm.span(kind::SCHED_WATCHED, Some(thread), (0, 1000), None, 0);
    jvm.queued(thread, (100, 400), 300, 200);
    // More than its wait for a CPU it cannot be.
    jvm.queued(thread, (500, 550), 50, 900);
    let ledger = jvm.ledger((0, 1000), By::Thread);
    assert_eq!(ms(&ledger.groups[0], Heading::Throttled), 250.0);
    assert_eq!(ms(&ledger.groups[0], Heading::RunQueue), 100.0);
    assert_eq!(ms(&ledger.groups[0], Heading::Running), 650.0);
}

#[test]
fn a_sync_that_two_collectors_tell_of_is_charged_and_named_once() {
    let mut jvm = Watched::new();
    let thread = jvm.thread("syncer", Role::App);
    let fsync = jvm.stack(&[(FrameType::C2, "Shop.save"), (FrameType::Kernel, "do_fsync")]);
    jvm.span(kind::SCHED_WATCHED, Some(thread), (0, 100), None, 0);
    jvm.span(kind::SCHED_OFF, Some(thread), (20, 60), fsync, 0);
    let file = [(label::PATH, "/var/orders.db")];
    jvm.record(kind::SYSCALL, "fsync", thread, (18, 61), &file);
    jvm.record(kind::DISK_SYNC, "fsync", thread, (19, 61), &file);
    let ledger = jvm.ledger((0, 100), By::Thread);
    assert_eq!(ms(&ledger.groups[0], Heading::Disk), 40.0);
    let disk = ledger.groups[0].spent.iter().find(|s| s.heading == Heading::Disk).unwrap();
    assert_eq!(disk.on, [Target { name: "/var/orders.db".into(), ms: 40.0 }]);
}
