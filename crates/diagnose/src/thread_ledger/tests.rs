use fathom_recording::vocabulary::{figure, kind, sample};
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
        (from, to): (i64, i64),
        stack: Option<StackId>,
        runq_ms: i64,
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
            figures: &[(figure::RUNQ_NS, (runq_ms * MS) as f64)],
            labels: &[],
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
