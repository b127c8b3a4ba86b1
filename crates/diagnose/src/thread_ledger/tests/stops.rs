//! Time in which the JVM stopped a thread.

use super::*;

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
    assert_eq!((ms(group, Category::StoppedByGc), ms(group, Category::Stopped)), (25.0, 15.0));
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
    assert_eq!((ms(group, Category::StoppedByGc), ms(group, Category::NativeLock)), (25.0, 25.0));
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
        figures: &[(figure::REACH_NS, 150e6)],
        ..SpanRow::new(kind::SAFEPOINT, "Cleanup", (100 * MS, 600 * MS), process, source)
    });
    watched.recording.seal();
    // Only a call named as one that writes is a write.
    let name = |category| {
        let ledger = thread_ledger(&watched.recording, None, None, By::Thread);
        let worker = ledger.groups.into_iter().find(|g| g.name == "worker").unwrap();
        worker.spent.iter().find(|s| s.category == category).map_or(0.0, |s| s.ms)
    };
    assert_eq!(name(Category::StoppedToReach), 150.0);
    assert_eq!(name(Category::StoppedByLog), 0.0);
    let log =
        watched.stack(&[(FrameType::Jvm, "LogFileStreamOutput::write"), (FrameType::Kernel, "vfs_write")]);
    watched.recording.span(&SpanRow {
        thread: Some(vm),
        stack: log,
        ..SpanRow::new(kind::SYSCALL, "write", (300 * MS, 500 * MS), process, source)
    });
    watched.recording.seal();
    let ledger = thread_ledger(&watched.recording, None, None, By::Thread);
    let worker = ledger.groups.into_iter().find(|g| g.name == "worker").unwrap();
    let spent: Vec<_> = worker.spent.iter().map(|s| (s.category, s.ms)).collect();
    let expected = [
        (Category::Running, 500.0),
        (Category::StoppedToReach, 150.0),
        (Category::StoppedByLog, 200.0),
        (Category::Stopped, 150.0),
    ];
    assert_eq!(spent, expected);
}
