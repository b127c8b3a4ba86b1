//! Time off the CPU: what for, and what by name.

use super::*;

#[test]
fn a_thread_that_the_kernel_does_not_know_is_charged_with_its_waits_and_no_rest() {
    let mut jvm = Watched::new();
    let (virtual_thread, carrier) =
        (jvm.thread("virtual thread #31", Role::App), jvm.thread("carrier", Role::App));
    jvm.record(kind::LOCK_MONITOR, "shop.Cart", virtual_thread, (100, 300), &[]);
    jvm.record(kind::LOCK_MONITOR, "shop.Cart", virtual_thread, (700, 750), &[]);
    jvm.span(kind::SCHED_WATCHED, Some(carrier), (0, 1000), None, 0);
    let ledger = jvm.ledger((200, 1000), By::Thread);
    let group = |name: &str| ledger.groups.iter().find(|group| group.name == name).unwrap();
    let (waiter, carrier) = (group("virtual thread #31"), group("carrier"));
    assert_eq!((waiter.thread_ms, ms(waiter, Category::Monitor)), (150.0, 150.0));
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
        (Category::Monitor, 170.0),
        (Category::RunQueue, 50.0),
        (Category::Disk, 200.0),
        (Category::C2, 435.0),
        (Category::Kernel, 145.0),
        (Category::Unknown, 0.0),
    ];
    for (category, expected) in expected {
        assert!((ms(group, category) - expected).abs() < 1e-3, "{category:?}: {}", ms(group, category));
    }
}

#[test]
fn a_stub_runs_for_the_code_that_calls_it() {
    let mut jvm = Watched::new();
    let worker = jvm.thread("worker-1", Role::App);
    let stub = (FrameType::Stub, "vtable chunks");
    let inlined = (FrameType::Inlined, "shop.Order.price");
    let stacks = [
        jvm.stack(&[(FrameType::C1, "shop.Orders.total"), inlined, stub]),
        jvm.stack(&[(FrameType::C2, "shop.Orders.total"), stub]),
        jvm.stack(&[(FrameType::Interpreted, "shop.Orders.total"), stub]),
        jvm.stack(&[(FrameType::Jvm, "JavaCalls::call_helper"), stub]),
    ];
    jvm.span(kind::SCHED_WATCHED, Some(worker), (0, 1000), None, 0);
    for (at, stack) in (100..).step_by(200).zip(stacks) {
        jvm.sample(sample::CPU, worker, at, stack, 10);
    }
    let ledger = jvm.ledger((0, 1000), By::Thread);
    let categories = [Category::C1, Category::C2, Category::Interpreted, Category::Jvm];
    assert_eq!(categories.map(|category| ms(&ledger.groups[0], category)), [250.0; 4]);
}

#[test]
fn a_thread_whose_switches_were_not_recorded_is_unknown_but_for_its_records_and_samples() {
    let mut jvm = Watched::new();
    let worker = jvm.thread("worker-1", Role::App);
    let java = jvm.stack(&[(FrameType::Interpreted, "shop.Orders.total")]);
    jvm.span(kind::THREAD_SLEEP, Some(worker), (100, 300), None, 0);
    jvm.span(kind::RUN, None, (0, 1000), None, 0);
    (0..10).for_each(|i| jvm.sample(sample::CPU, worker, 400 + i * 20, java, 20));
    let ledger = jvm.ledger((0, 1000), By::Thread);
    let group = &ledger.groups[0];
    let figures = [Category::Sleep, Category::Interpreted, Category::Unknown].map(|h| ms(group, h));
    assert_eq!(figures, [200.0, 200.0, 600.0]);
    let error =
        group.spent.iter().find(|s| s.category == Category::Interpreted).and_then(|s| s.sampling_error);
    assert!(error.is_some_and(|e| e > 0.0), "{error:?}");
}

#[test]
fn the_lock_of_the_address_space_and_the_search_for_memory_are_categories_of_their_own() {
    let mut watched = Watched::new();
    let worker = watched.thread("worker", Role::App);
    let fault = watched.stack(&[(FrameType::C2, "shop.Cart.add"), (FrameType::Kernel, "asm_exc_page_fault")]);
    watched.span(kind::SCHED_WATCHED, Some(worker), (0, 1_000), None, 0);
    watched.span(kind::SCHED_OFF, Some(worker), (100, 600), fault, 0);
    watched.record(kind::MEMORY_MAP_LOCK, "read", worker, (100, 300), &[]);
    watched.record(kind::MEMORY_STALL, "direct reclaim", worker, (300, 450), &[]);
    watched.recording.seal();
    let ledger = thread_ledger(&watched.recording, None, None, By::Thread);
    let spent: Vec<_> = ledger.groups[0].spent.iter().map(|s| (s.category, s.ms)).collect();
    let expected = [
        (Category::Running, 500.0),
        (Category::MemoryStall, 150.0),
        (Category::PageFault, 150.0),
        (Category::MapLock, 200.0),
    ];
    assert_eq!(spent, expected);
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
    let on = |category: Category| {
        let spent = ledger.groups[0].spent.iter().find(|spent| spent.category == category).unwrap();
        let on = spent.on.iter().map(|target| (target.name.as_str(), target.ms)).collect::<Vec<_>>();
        (spent.ms, on)
    };
    // What of a wait lies outside of the call is not the file's.
    assert_eq!(on(Category::Disk), (100.0, vec![("/var/log/app.log", 80.0)]));
    assert_eq!(on(Category::Network), (200.0, vec![("10.0.0.7:5432", 200.0)]));
    assert_eq!(on(Category::Dns), (300.0, vec![("db.test", 300.0)]));
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
    assert_eq!(ms(&ledger.groups[0], Category::Idle), 100.0);
    assert_eq!(ms(&ledger.groups[0], Category::Network), 350.0, "an answer, and a client that does not read");
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
    assert_eq!(ms(&ledger.groups[0], Category::Throttled), 250.0);
    assert_eq!(ms(&ledger.groups[0], Category::RunQueue), 100.0);
    assert_eq!(ms(&ledger.groups[0], Category::Running), 650.0);
}

#[test]
fn a_wait_that_timed_out_and_one_that_another_thread_ended_are_distinguished() {
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
        thread: Some(waiting),
        stack: timed,
        labels: &[(label::WAKER, "notifier (101)")],
        ..SpanRow::new(kind::SCHED_OFF, "sleeping", (300 * MS, 500 * MS), process, source)
    });
    let ledger = app.ledger((0, 1_000), By::Role);
    assert_eq!(ms(&ledger.groups[0], Category::TimedWait), 300.0);
    assert_eq!(ms(&ledger.groups[0], Category::Waiting), 200.0);
}

/// A thread waits with a limit of 10 ms; of a third of its waits the end is recorded, of a third
/// the sum, of a third the lock.
#[test]
fn waits_that_are_not_listed_end_as_those_that_are() {
    for (waker, category) in [("", Category::TimedWait), ("notifier (101)", Category::Waiting)] {
        let mut app = Watched::new();
        let waiting = app.recording.thread(app.process, Some(100), "waiting", Role::App);
        app.recording.thread(app.process, Some(101), "notifier", Role::App);
        let limited = app.stack(&[
            (FrameType::C2, "java.lang.Object.wait"),
            (FrameType::Native, "pthread_cond_timedwait"),
            (FrameType::Kernel, "futex_wait"),
        ]);
        app.span(kind::SCHED_WATCHED, Some(waiting), (0, 600), None, 0);
        for i in 0..20 {
            let (process, source) = (app.process, app.source);
            let ends = if waker.is_empty() { (label::INTERRUPT, "a timer") } else { (label::WAKER, waker) };
            app.recording.span(&SpanRow {
                thread: Some(waiting),
                stack: limited,
                labels: &[ends],
                ..SpanRow::new(kind::SCHED_OFF, "sleeping", (i * 10 * MS, (i + 1) * 10 * MS), process, source)
            });
        }
        app.sample(sample::OFF_CPU, waiting, 400, limited, 200);
        app.record(kind::LOCK_WAIT, "java.lang.Object", waiting, (400, 600), &[]);
        let unknown = app.stack(&[(FrameType::Kernel, "futex_wait")]);
        app.span(kind::SCHED_OFF, Some(waiting), (400, 600), unknown, 0);
        let ledger = app.ledger((0, 600), By::Role);
        assert_eq!(ms(&ledger.groups[0], category), 600.0, "{waker}: {:?}", ledger.groups[0]);
    }
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
    assert_eq!(ms(&ledger.groups[0], Category::Waiting), 300.0);
    assert_eq!(ms(&ledger.groups[0], Category::Idle), 700.0);
}

#[test]
fn a_sync_that_two_collectors_recorded_is_charged_and_named_once() {
    let mut jvm = Watched::new();
    let thread = jvm.thread("syncer", Role::App);
    let fsync = jvm.stack(&[(FrameType::C2, "Shop.save"), (FrameType::Kernel, "do_fsync")]);
    jvm.span(kind::SCHED_WATCHED, Some(thread), (0, 100), None, 0);
    jvm.span(kind::SCHED_OFF, Some(thread), (20, 60), fsync, 0);
    let file = [(label::PATH, "/var/orders.db")];
    jvm.record(kind::SYSCALL, "fsync", thread, (18, 61), &file);
    jvm.record(kind::DISK_SYNC, "fsync", thread, (19, 61), &file);
    let ledger = jvm.ledger((0, 100), By::Thread);
    assert_eq!(ms(&ledger.groups[0], Category::Disk), 40.0);
    let disk = ledger.groups[0].spent.iter().find(|s| s.category == Category::Disk).unwrap();
    assert_eq!(disk.on, [Target { name: "/var/orders.db".into(), ms: 40.0 }]);
}

#[test]
fn what_the_stack_leaves_open_is_decided_by_the_interrupt_that_ended_the_wait() {
    let of = |interrupt: &str, frames: &[(FrameType, &str)]| {
        let mut app = Watched::new();
        let waiting = app.recording.thread(app.process, Some(100), "waiting", Role::App);
        let stack = app.stack(frames);
        app.span(kind::SCHED_WATCHED, Some(waiting), (0, 1_000), None, 0);
        let (process, source) = (app.process, app.source);
        app.recording.span(&SpanRow {
            thread: Some(waiting),
            stack,
            labels: &[(label::INTERRUPT, interrupt)],
            ..SpanRow::new(kind::SCHED_OFF, "sleeping", (0, 300 * MS), process, source)
        });
        let ledger = app.ledger((0, 1_000), By::Role);
        let spent = Category::ALL.into_iter().filter(|category| !category.is_running());
        spent.max_by(|a, b| ms(&ledger.groups[0], *a).total_cmp(&ms(&ledger.groups[0], *b))).unwrap()
    };
    let futex = [(FrameType::Kernel, "futex_wait")];
    assert_eq!(of("a timer", &futex), Category::TimedWait);
    assert_eq!(of("the disk", &futex), Category::Disk);
    assert_eq!(of("the network", &futex), Category::Network);
    assert_eq!(of("softirq RCU", &futex), Category::Blocked);
    // A thread that waits for a lock looks for itself now and then: what it waits for stays the
    // lock.
    let monitor = [(FrameType::Jvm, "ObjectMonitor::enter"), (FrameType::Kernel, "futex_wait")];
    assert_eq!(of("a timer", &monitor), Category::Monitor);
}
