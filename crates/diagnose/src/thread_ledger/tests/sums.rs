//! What adds up: over threads and windows, for each operation, and in which order it is shown.

use proptest::prelude::*;

use super::*;

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
fn two_processes_of_one_program_are_two_rows_with_their_pids() {
    let mut jvm = Watched::new();
    for (pid, ms) in [(11, 400), (12, 700)] {
        jvm.process =
            jvm.recording.add_process(Process { pid: Some(pid), name: "sh".into(), ..Process::default() });
        let thread = jvm.thread("sh", Role::Other);
        jvm.span(kind::SCHED_WATCHED, Some(thread), (0, ms), None, 0);
    }
    for by in [By::Process, By::Pool] {
        let recording = jvm.recording.clone();
        let ledger = Watched { recording, ..Watched::new() }.ledger((0, 1000), by);
        let mut rows: Vec<_> = ledger.groups.iter().map(|g| (g.process.as_str(), g.thread_ms)).collect();
        rows.sort_by(|a, b| a.0.cmp(b.0));
        assert_eq!(rows, [("sh [pid 11]", 400.0), ("sh [pid 12]", 700.0)], "{by:?}");
    }
}

proptest! {
    #[test]
    fn categories_add_up_to_threads_times_time(
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
