//! Time on a CPU: by its layers, and no more of it than the kernel counted.

use proptest::prelude::*;

use super::*;

#[test]
fn cycles_divide_the_time_that_was_measured_and_are_never_taken_for_time() {
    let mut jvm = Watched::new();
    let worker = jvm.thread("worker-1", Role::App);
    let java = jvm.stack(&[(FrameType::C2, "shop.Orders.total")]);
    let kernel = jvm.stack(&[(FrameType::C2, "shop.Orders.total"), (FrameType::Kernel, "clear_page")]);
    jvm.span(kind::SCHED_WATCHED, Some(worker), (0, 1000), None, 0);
    jvm.span(kind::SCHED_OFF, Some(worker), (0, 600), java, 600);
    for (at, stack) in [(700, java), (800, java), (900, java), (950, kernel)] {
        // As many as 30 s of a CPU at 1 GHz.
        jvm.sample(sample::CYCLES, worker, at, stack, 30_000);
    }
    let ledger = jvm.ledger((0, 1000), By::Role);
    let group = &ledger.groups[0];
    for (category, expected) in
        [(Category::RunQueue, 600.0), (Category::C2, 300.0), (Category::Kernel, 100.0)]
    {
        assert!((ms(group, category) - expected).abs() < 1e-3, "{category:?}: {}", ms(group, category));
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
        [Category::Recorder, Category::Kernel, Category::Native].map(|h| ms(&ledger.groups[0], h).round());
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
        [Category::KernelFault, Category::Kernel, Category::PageFault].map(|h| ms(&ledger.groups[0], h));
    assert_eq!(figures, [600.0, 200.0, 200.0]);
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
    // Each may have run for its 50 ms without a sample, and two CPUs could run 2 s; 30
    // samples stand for 300 ms.
    let ran = running(&ledger.groups[0]);
    assert!((ran - 300.0).abs() < 1.0, "{ran}");
    assert!((ms(&ledger.groups[0], Category::Unknown) - (10_000.0 - ran)).abs() < 1.0);
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
    let group = |name: &str| ledger.groups.iter().find(|group| group.name == name).unwrap();
    assert_eq!((running(group("asleep")), ms(group("asleep"), Category::Unknown)), (0.0, 800.0));
    assert_eq!((running(group("busy")), running(group("brief"))), (1000.0, 40.0));
}

#[test]
fn short_waits_lie_where_they_were_counted_and_not_where_their_sum_was_recorded() {
    let mut jvm = Watched::new();
    let worker = jvm.thread("worker", Role::App);
    let monitor = jvm.stack(&[(FrameType::Jvm, "ObjectMonitor::enter")]);
    jvm.span(kind::SCHED_WATCHED, Some(worker), (0, 1000), None, 0);
    jvm.sample(sample::OFF_CPU, worker, 1000, monitor, 800);
    let ledger = jvm.ledger((0, 500), By::Thread);
    assert_eq!((ms(&ledger.groups[0], Category::Monitor), running(&ledger.groups[0])), (400.0, 100.0));
}

/// 800 ms of waits too short to be listed, whose stacks were not walked; a lock was waited for in
/// half of the time.
#[test]
fn short_waits_without_a_stack_are_classified_by_the_record_around_them() {
    let mut jvm = Watched::new();
    let worker = jvm.thread("worker", Role::App);
    jvm.span(kind::SCHED_WATCHED, Some(worker), (0, 1000), None, 0);
    jvm.sample(sample::OFF_CPU, worker, 1000, None, 800);
    jvm.span(kind::LOCK_NATIVE, Some(worker), (0, 500), None, 0);
    let ledger = jvm.ledger((0, 1000), By::Thread);
    let group = &ledger.groups[0];
    assert_eq!((ms(group, Category::NativeLock), ms(group, Category::Blocked)), (400.0, 400.0));
    assert_eq!(running(group), 200.0);
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
    assert!((ms(group, Category::Unknown) - 4560.0).abs() < 0.1, "{group:?}");
}

proptest! {
    #[test]
    fn running_never_exceeds_the_cpus(
        off in prop::collection::vec((0_usize..6, 0_i64..950, 1_i64..300), 0..40),
        samples in prop::collection::vec((0_usize..6, 0_usize..3, 0_i64..1000, 0_i64..60), 0..60),
        cpus in 1_usize..4,
        from in 0_i64..500,
        length in 1_i64..500,
    ) {
        let mut jvm = Watched::new();
        jvm.sampled();
        jvm.cpus(cpus);
        let stack = jvm.stack(&[(FrameType::C1, "a.B.c"), (FrameType::Kernel, "futex_wait")]);
        let threads: Vec<_> = (0..6).map(|i| jvm.thread(&format!("t{i}"), Role::App)).collect();
        for thread in &threads {
            jvm.span(kind::SCHED_WATCHED, Some(*thread), (0, 1000), None, 0);
        }
        for (thread, at, length) in off {
            jvm.span(kind::SCHED_OFF, Some(threads[thread]), (at, at + length), stack, 0);
        }
        for (thread, kind, at, weight) in samples {
            let kind = [sample::CPU, sample::OFF_CPU, sample::RUN_QUEUE][kind];
            jvm.sample(kind, threads[thread], at, stack, weight);
        }
        jvm.recording.seal();
        let window = Window { from_ns: from * MS, to_ns: (from + length) * MS };
        let groups = thread_ledger(&jvm.recording, Some(window), None, By::Thread).groups;
        let all: f64 = groups.iter().map(running).sum();
        prop_assert!(all <= (cpus as i64 * length) as f64 + 1e-6, "{all} on {cpus} CPUs in {length}");
    }
}
