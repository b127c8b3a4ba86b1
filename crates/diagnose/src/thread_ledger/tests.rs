use fathom_recording::vocabulary::frame::RECORDER_MODULE;
use fathom_recording::vocabulary::{figure, kind, label, live, sample};
use fathom_recording::{
    FrameType, Process, ProcessId, Recording, Role, SampleRow, Sampling, SeriesInfo, SeriesKind, Sink,
    Source, SourceId, SpanRow, StackId, ThreadId,
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
            let module = if name.starts_with("fathom: ") { RECORDER_MODULE } else { "" };
            let frame = self.recording.frame(name, module, *frame_type, -1);
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
fn what_the_recorder_runs_in_the_name_of_a_thread_is_not_the_kernels_work_for_it() {
    let mut jvm = Watched::new();
    let worker = jvm.thread("worker-1", Role::App);
    let java = (FrameType::C2, "shop.Orders.load");
    let hook = [java, (FrameType::Kernel, "schedule"), (FrameType::Kernel, "fathom: on_switch")];
    let own = jvm.stack(&hook);
    let below = jvm.stack(&[&hook[..], &[(FrameType::Kernel, "bpf_ringbuf_output")]].concat());
    let write = jvm.stack(&[java, (FrameType::Kernel, "vfs_write")]);
    // A function of the program that is called as the recorder's are is the program's.
    let native = jvm.stack(&[java, (FrameType::Native, "fathom: sound")]);
    jvm.span(kind::SCHED_WATCHED, Some(worker), (0, 1000), None, 0);
    for (at, stack) in [own, own, below, write, native].into_iter().enumerate() {
        jvm.sample(sample::CPU, worker, 400 + at as i64, stack, 10);
    }
    let ledger = jvm.ledger((0, 1000), By::Thread);
    let figures =
        [Heading::Recorder, Heading::Kernel, Heading::Native].map(|h| ms(&ledger.groups[0], h).round());
    assert_eq!(figures, [600.0, 200.0, 200.0]);
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
fn whoever_waits_for_the_jvm_at_a_lock_of_its_own_while_it_collects_is_stopped() {
    let mut jvm = Watched::new();
    let worker = jvm.thread("worker-1", Role::App);
    let futex = jvm.stack(&[
        (FrameType::Jvm, "ParallelScavengeHeap::mem_allocate"),
        (FrameType::Native, "pthread_mutex_lock"),
        (FrameType::Kernel, "futex_wait"),
    ]);
    jvm.span(kind::SCHED_WATCHED, Some(worker), (0, 100), None, 0);
    jvm.span(kind::SCHED_OFF, Some(worker), (10, 60), futex, 0);
    jvm.span(kind::GC_PAUSE, None, (25, 50), None, 0);
    let ledger = jvm.ledger((0, 100), By::Thread);
    let group = &ledger.groups[0];
    assert_eq!((ms(group, Heading::StoppedByGc), ms(group, Heading::NativeLock)), (25.0, 25.0));
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
fn a_thread_that_waits_for_a_request_on_a_connection_that_it_accepted_has_no_work() {
    let mut watched = Watched::new();
    let thread = watched.thread("http-1", Role::App);
    watched.span(kind::SCHED_WATCHED, Some(thread), (0, 1000), None, 0);
    let network = watched.stack(&[(FrameType::Kernel, "tcp_recvmsg")]);
    for (from, to, call, accepted) in
        [(100, 200, "read", true), (300, 600, "read", false), (700, 750, "write", true)]
    {
        watched.span(kind::SCHED_OFF, Some(thread), (from, to), network, 0);
        let labels = [(label::PEER, "10.0.0.7:51000"), (label::ACCEPTED, "yes")];
        watched.record(
            kind::SYSCALL,
            call,
            thread,
            (from, to),
            if accepted { &labels } else { &labels[..1] },
        );
    }
    let ledger = watched.ledger((0, 1000), By::Thread);
    assert_eq!(ms(&ledger.groups[0], Heading::Idle), 100.0);
    assert_eq!(ms(&ledger.groups[0], Heading::Network), 350.0, "an answer, and a client that does not read");
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
fn a_wait_that_ran_out_of_time_and_one_that_another_thread_ended_are_told_apart() {
    let mut app = Watched::new();
    let waiting = app.recording.thread(app.process, Some(100), "waiting", Role::App);
    app.recording.thread(app.process, Some(101), "notifier", Role::App);
    let timed = app.stack(&[
        (FrameType::C2, "java.lang.Object.wait"),
        (FrameType::Native, "pthread_cond_timedwait"),
        (FrameType::Kernel, "futex_wait"),
    ]);
    app.span(kind::SCHED_WATCHED, Some(waiting), (0, 1_000), None, 0);
    app.span(kind::SCHED_OFF, Some(waiting), (0, 300), timed, 0);
    let (process, source) = (app.process, app.source);
    app.recording.span(&SpanRow {
        kind: kind::SCHED_OFF,
        name: "sleeping",
        t0_ns: 300 * MS,
        t1_ns: 500 * MS,
        process,
        thread: Some(waiting),
        stack: timed,
        source,
        line: 0,
        key: -1,
        parent: None,
        figures: &[],
        labels: &[(label::WAKER, "notifier (101)")],
    });
    let ledger = app.ledger((0, 1_000), By::Role);
    assert_eq!(ms(&ledger.groups[0], Heading::TimedWait), 300.0);
    assert_eq!(ms(&ledger.groups[0], Heading::Waiting), 200.0);
}

#[test]
fn what_the_stack_leaves_open_is_told_by_the_interrupt_that_ended_the_wait() {
    let of = |interrupt: &str, frames: &[(FrameType, &str)]| {
        let mut app = Watched::new();
        let waiting = app.recording.thread(app.process, Some(100), "waiting", Role::App);
        let stack = app.stack(frames);
        app.span(kind::SCHED_WATCHED, Some(waiting), (0, 1_000), None, 0);
        let (process, source) = (app.process, app.source);
        app.recording.span(&SpanRow {
            kind: kind::SCHED_OFF,
            name: "sleeping",
            t0_ns: 0,
            t1_ns: 300 * MS,
            process,
            thread: Some(waiting),
            stack,
            source,
            line: 0,
            key: -1,
            parent: None,
            figures: &[],
            labels: &[(label::INTERRUPT, interrupt)],
        });
        let ledger = app.ledger((0, 1_000), By::Role);
        let spent = Heading::ALL.into_iter().filter(|heading| !heading.is_running());
        spent.max_by(|a, b| ms(&ledger.groups[0], *a).total_cmp(&ms(&ledger.groups[0], *b))).unwrap()
    };
    let futex = [(FrameType::Kernel, "futex_wait")];
    assert_eq!(of("a timer", &futex), Heading::TimedWait);
    assert_eq!(of("the disk", &futex), Heading::Disk);
    assert_eq!(of("the network", &futex), Heading::Network);
    assert_eq!(of("softirq RCU", &futex), Heading::Blocked);
    // A thread that waits for a lock looks for itself now and then: what it waits for stays the lock.
    let monitor = [(FrameType::Jvm, "ObjectMonitor::enter"), (FrameType::Kernel, "futex_wait")];
    assert_eq!(of("a timer", &monitor), Heading::Monitor);
}

#[test]
fn threads_whose_waits_grew_stand_before_those_that_always_wait() {
    let mut app = Watched::new();
    let read = app.stack(&[(FrameType::C2, "shop.Wire.read"), (FrameType::Kernel, "tcp_recvmsg")]);
    for i in 0..15 {
        let reader = app.thread(&format!("reader-{i}"), Role::App);
        app.span(kind::SCHED_WATCHED, Some(reader), (0, 10_000), None, 0);
        app.span(kind::SCHED_OFF, Some(reader), (0, 10_000), read, 0);
    }
    let request = app.thread("request-0", Role::App);
    app.span(kind::SCHED_WATCHED, Some(request), (0, 10_000), None, 0);
    app.span(kind::SCHED_OFF, Some(request), (6_000, 8_000), read, 0);
    app.recording.seal();
    let window = |from: i64, to: i64| Window { from_ns: from * MS, to_ns: to * MS };
    for (slow, base) in [(None, None), (Some(window(6_000, 8_000)), Some(window(0, 6_000)))] {
        let ledger = thread_ledger(&app.recording, slow, base, By::Pool);
        let names: Vec<&str> = ledger.groups.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(names, ["request-#", "reader-#"], "base {base:?}");
    }
    let chains = crate::chain::Chains::of(&app.recording);
    for base in [&[][..], &[window(0, 6_000)][..]] {
        assert_eq!(chains.victims(window(6_000, 8_000), base).len(), 16);
    }
    assert_eq!(chains.victims(window(0, 10_000), &[])[0].0, request);
    assert_eq!(chains.victims(window(6_000, 8_000), &[window(0, 6_000)])[0].0, request);
}

#[test]
fn a_jvms_own_thread_that_waits_in_the_applications_code_is_not_idle() {
    let mut app = Watched::new();
    let finalizer = app.thread("Finalizer", Role::Vm);
    let own = app.stack(&[
        (FrameType::C2, "java.lang.ref.Finalizer.runFinalizer"),
        (FrameType::C2, "shop.Socket.finalize"),
        (FrameType::C2, "java.util.concurrent.locks.LockSupport.park"),
    ]);
    let rest = app.stack(&[(FrameType::Jvm, "Monitor::wait"), (FrameType::Kernel, "futex_wait")]);
    app.span(kind::SCHED_WATCHED, Some(finalizer), (0, 1_000), None, 0);
    app.span(kind::SCHED_OFF, Some(finalizer), (0, 300), own, 0);
    app.span(kind::SCHED_OFF, Some(finalizer), (300, 1_000), rest, 0);
    let ledger = app.ledger((0, 1_000), By::Role);
    assert_eq!(ms(&ledger.groups[0], Heading::Waiting), 300.0);
    assert_eq!(ms(&ledger.groups[0], Heading::Idle), 700.0);
}

#[test]
fn a_thousand_threads_that_nobody_saw_run_did_not_run_together() {
    let mut app = Watched::new();
    app.sampled();
    app.cpus(2);
    for i in 0..200 {
        let thread = app.thread(&format!("worker-{i}"), Role::App);
        app.span(kind::SCHED_WATCHED, Some(thread), (0, 1_000), None, 0);
        app.span(kind::SCHED_OFF, Some(thread), (0, 950), None, 0);
        if i < 30 {
            app.sample(sample::CPU, thread, 960 + i, None, 10);
        }
    }
    let ledger = app.ledger((0, 1_000), By::Process);
    // Each may have run for its 50 ms without a sample, and two processors could run 2 s; 30 samples stand for 300 ms.
    let ran = running(&ledger.groups[0]);
    assert!((ran - 300.0).abs() < 1.0, "{ran}");
    assert!((ms(&ledger.groups[0], Heading::Unknown) - (10_000.0 - ran)).abs() < 1.0);
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

impl Watched {
    /// CPU samples were taken every 10 ms, in the second that is recorded.
    fn sampled(&mut self) {
        let sampling = Sampling {
            event: "cpu-clock".into(),
            unit: "ns".into(),
            rate_hz: 100,
            period: Some((10 * MS).cast_unsigned()),
        };
        let covers_ns = Some((0, 1000 * MS));
        self.recording.add_source(Source { sampling: Some(sampling), covers_ns, ..Source::default() });
    }

    /// The machine has so many processors.
    fn cpus(&mut self, count: usize) {
        for i in 0..count {
            self.series(live::HOST_CPU_BUSY, &format!("cpu{i}"), None, 1.0);
        }
    }

    /// A series with one value, of the second that is recorded.
    fn series(&mut self, word: live::Word, instance: &str, process: Option<ProcessId>, value: f64) {
        let info = SeriesInfo {
            name: word.name.into(),
            unit: word.unit.into(),
            instance: instance.into(),
            kind: word.kind,
            process,
            source: self.source,
        };
        let series = self.recording.add_series(info);
        self.recording.point(series, 0, 1000 * MS, value);
    }
}

fn running(group: &GroupLedger) -> f64 {
    group.spent.iter().filter(|s| s.heading.is_running()).map(|s| s.ms).sum()
}

#[test]
fn a_watched_thread_of_which_no_sample_says_that_it_ran_is_unknown() {
    let mut jvm = Watched::new();
    jvm.sampled();
    let java = jvm.stack(&[(FrameType::C2, "shop.Orders.total")]);
    let (asleep, busy, brief) =
        (jvm.thread("asleep", Role::App), jvm.thread("busy", Role::App), jvm.thread("brief", Role::App));
    for thread in [asleep, busy, brief] {
        jvm.span(kind::SCHED_WATCHED, Some(thread), (0, 1000), None, 0);
    }
    // Its second sleep was not seen.
    jvm.span(kind::SCHED_OFF, Some(asleep), (0, 200), None, 0);
    (0..100).for_each(|i| jvm.sample(sample::CPU, busy, i * 10 + 5, java, 10));
    // So short a time may pass between two samples.
    jvm.span(kind::SCHED_OFF, Some(brief), (0, 960), None, 0);
    let ledger = jvm.ledger((0, 1000), By::Thread);
    let told = |name: &str| ledger.groups.iter().find(|group| group.name == name).unwrap();
    assert_eq!((running(told("asleep")), ms(told("asleep"), Heading::Unknown)), (0.0, 800.0));
    assert_eq!((running(told("busy")), running(told("brief"))), (1000.0, 40.0));
}

#[test]
fn running_ties_to_the_kernels_account_of_the_thread() {
    let mut jvm = Watched::new();
    let java = jvm.stack(&[(FrameType::C2, "shop.Orders.total")]);
    let worker = jvm.thread("worker", Role::App);
    jvm.span(kind::SCHED_WATCHED, Some(worker), (0, 1000), None, 0);
    jvm.span(kind::SCHED_OFF, Some(worker), (100, 200), None, 0);
    jvm.sample(sample::CPU, worker, 420, java, 10);
    jvm.told(kind::THREAD_CPU, Some(worker), (0, 1000), None, &[(figure::CPU_NS, 150e6)]);
    let window = |from: i64, to: i64| Window { from_ns: from * MS, to_ns: to * MS };
    jvm.recording.seal();
    let ledger = thread_ledger(&jvm.recording, Some(window(0, 1000)), None, By::Thread);
    let group = &ledger.groups[0];
    assert_eq!((running(group), ms(group, Heading::Unknown)), (150.0, 750.0));
    // It ran where a sample says so.
    let around = thread_ledger(&jvm.recording, Some(window(412, 418)), None, By::Thread);
    assert_eq!(running(&around.groups[0]), 6.0);
}

#[test]
fn short_waits_lie_where_they_were_counted_and_not_where_they_were_told() {
    let mut jvm = Watched::new();
    let worker = jvm.thread("worker", Role::App);
    let monitor = jvm.stack(&[(FrameType::Jvm, "ObjectMonitor::enter")]);
    jvm.span(kind::SCHED_WATCHED, Some(worker), (0, 1000), None, 0);
    jvm.sample(sample::OFF_CPU, worker, 1000, monitor, 800);
    let ledger = jvm.ledger((0, 500), By::Thread);
    assert_eq!((ms(&ledger.groups[0], Heading::Monitor), running(&ledger.groups[0])), (400.0, 100.0));
}

#[test]
fn what_a_process_ran_for_is_bounded_by_the_kernels_account_of_it() {
    let mut jvm = Watched::new();
    for i in 0..10 {
        let thread = jvm.thread(&format!("worker-{i}"), Role::App);
        jvm.span(kind::SCHED_WATCHED, Some(thread), (0, 1000), None, 0);
        jvm.span(kind::SCHED_OFF, Some(thread), (0, 500), None, 0);
    }
    let process = jvm.process;
    jvm.series(live::PROCESS_CPU_USER, "App", Some(process), 0.3);
    jvm.series(live::PROCESS_CPU_KERNEL, "App", Some(process), 0.1);
    let ledger = jvm.ledger((0, 1000), By::Process);
    let group = &ledger.groups[0];
    // Its ticks are of 10 ms: 40 ms may be missing at both ends of both accounts.
    assert!((running(group) - 440.0).abs() < 0.1, "{group:?}");
    assert!((ms(group, Heading::Unknown) - 4560.0).abs() < 0.1, "{group:?}");
}

proptest! {
    #[test]
    fn running_never_exceeds_the_processors_nor_a_threads_account(
        off in prop::collection::vec((0_usize..6, 0_i64..950, 1_i64..300), 0..40),
        samples in prop::collection::vec((0_usize..6, 0_usize..3, 0_i64..1000, 0_i64..60), 0..60),
        accounts in prop::collection::vec(0_i64..1000, 6),
        cpus in 1_usize..4,
        from in 0_i64..500,
        length in 1_i64..500,
    ) {
        let mut jvm = Watched::new();
        jvm.sampled();
        jvm.cpus(cpus);
        let stack = jvm.stack(&[(FrameType::C1, "a.B.c"), (FrameType::Kernel, "futex_wait")]);
        let threads: Vec<_> = (0..6).map(|i| jvm.thread(&format!("t{i}"), Role::App)).collect();
        for (thread, account) in threads.iter().zip(&accounts) {
            jvm.span(kind::SCHED_WATCHED, Some(*thread), (0, 1000), None, 0);
            let ran = [(figure::CPU_NS, (account * MS) as f64)];
            jvm.told(kind::THREAD_CPU, Some(*thread), (0, 1000), None, &ran);
        }
        for (thread, at, length) in off {
            jvm.span(kind::SCHED_OFF, Some(threads[thread]), (at, at + length), stack, 0);
        }
        for (thread, kind, at, weight) in samples {
            let kind = [sample::CPU, sample::OFF_CPU, sample::RUN_QUEUE][kind];
            jvm.sample(kind, threads[thread], at, stack, weight);
        }
        jvm.recording.seal();
        let ledger = |from: i64, to: i64| {
            let window = Window { from_ns: from * MS, to_ns: to * MS };
            thread_ledger(&jvm.recording, Some(window), None, By::Thread).groups
        };
        let part = ledger(from, from + length);
        let all: f64 = part.iter().map(running).sum();
        prop_assert!(all <= (cpus as i64 * length) as f64 + 1e-6, "{all} on {cpus} CPUs in {length}");
        for group in ledger(0, 1000).iter().chain(&part) {
            let account = accounts[group.name[1..].parse::<usize>().unwrap()] as f64;
            // Two readings of 10 ms; a sample bears out what it stands for, and one after the window reaches back into it.
            let sampled = (group.cpu_samples + 1) as f64 * 61.0;
            prop_assert!(running(group) <= account + 20.0 + sampled, "{group:?}");
        }
    }
}

#[test]
fn operations_are_counted_by_clients_else_by_an_access_log_and_never_by_both() {
    let mut recording = Recording::new();
    let source = recording.add_source(Source::default());
    let mut add = |name: &str, rate: f64| {
        let series = recording.add_series(SeriesInfo {
            name: name.into(),
            unit: "ops/s".into(),
            instance: String::new(),
            kind: SeriesKind::Rate,
            process: None,
            source,
        });
        (0..10).for_each(|i| recording.point(series, i * 1_000_000_000, 1_000_000_000, rate));
        operations(&recording, Window { from_ns: 0, to_ns: 5_000_000_000 })
    };
    assert_eq!(add("requests", 40.0), Some(200.0));
    assert_eq!(add("requests without 5xx", 35.0), Some(200.0), "a part of the requests");
    assert_eq!(add("throughput", 30.0), Some(150.0));
}
