//! Time on the CPUs that grew, and the waiting for them.

use super::*;
use crate::facts::culprits;

#[test]
fn more_cpu_time_for_each_operation_is_named_by_the_method_of_the_application() {
    let mut service = Service::of((300.0, 100.0));
    for i in 0..2 {
        let name = format!("worker-{i}");
        service.thread(&name);
        let compute =
            [("java.util.regex.Pattern$Loop.match", FrameType::C2), ("shop.Price.parse", FrameType::C2)];
        let other = [("shop.Cart.add", FrameType::C2)];
        for tenth in 0..600 {
            let frames: &[_] = if is_slow(tenth / 10) && tenth % 5 != 0 { &compute } else { &other };
            service.built.on_cpu(&name, frames, tenth as f64 / 10.0, 100.0);
        }
    }
    let diagnosis = service.diagnosis();
    let finding = found(&diagnosis);
    assert_eq!((finding.named(), finding.layer), ("shop.Price.parse", crate::Layer::Application));
    finding.title.states(&facts::DOING, &[("value", "running"), ("place", "shop.Price.parse")]);
}

/// Four fifths of the slow time in faults of pages that the method touches first, a fifth of it in
/// the method itself.
#[test]
fn page_faults_are_no_work_of_the_method_that_touches_the_memory() {
    let mut service = Service::of((300.0, 100.0));
    for i in 0..2 {
        let name = format!("worker-{i}");
        service.thread(&name);
        let faults = [("asm_exc_page_fault", FrameType::Kernel), ("shop.Picture.scale", FrameType::C2)];
        let scales = [("shop.Picture.scale", FrameType::C2)];
        let other = [("shop.Cart.add", FrameType::C2)];
        for tenth in 0..600 {
            let frames: &[_] = match (is_slow(tenth / 10), tenth % 5) {
                (true, 0) => &scales,
                (true, _) => &faults,
                _ => &other,
            };
            service.built.on_cpu(&name, frames, tenth as f64 / 10.0, 100.0);
        }
    }
    let diagnosis = service.diagnosis();
    let finding = &diagnosis.findings[0];
    assert_eq!(finding.rule, "page-fault-storm", "{finding:#?}");
    let of_method: Vec<_> = diagnosis.findings.iter().filter(|f| f.named() == "shop.Picture.scale").collect();
    assert!(of_method.iter().all(|f| f.cost_ms < finding.cost_ms / 2.0), "{:#?}", diagnosis.findings);
    assert!(
        finding.share.is_some_and(|share| share > 0.6),
        "{:?} of {:#?}",
        finding.share,
        diagnosis.account
    );
}

#[test]
fn what_the_recorder_runs_more_in_the_name_of_threads_is_said_and_is_no_method_of_theirs() {
    let mut service = Service::of((300.0, 100.0));
    let thread = service.thread("worker-0");
    let own = service.stack(&[("fathom: on_sys_exit", FrameType::Kernel), ("shop.Cart.add", FrameType::C2)]);
    let cart = service.stack(&[("shop.Cart.add", FrameType::C2)]);
    for tenth in 0..600 {
        let stack = if is_slow(tenth / 10) && tenth % 5 != 0 { own } else { cart };
        service.built.recording.sample(&SampleRow {
            kind: sample::CPU,
            t_ns: tenth * 100 * MS,
            process: service.built.jvm,
            thread: Some(thread),
            stack: Some(stack),
            weight: 100 * MS,
            source: fathom_recording::SourceId(0),
        });
    }
    let diagnosis = service.diagnosis();
    assert!(diagnosis.findings.iter().all(|f| f.named() != "shop.Cart.add"), "{:#?}", diagnosis.findings);
    assert!(
        diagnosis.account.iter().any(|c| c.category == Some(Category::Recorder) && c.finding.is_none()),
        "{:#?}",
        diagnosis.account
    );
}

#[test]
fn cpu_time_that_grew_in_many_methods_is_named_by_the_one_that_all_are_below() {
    let diagnosis = |below: bool| {
        let mut service = Service::of((300.0, 100.0));
        for i in 0..2 {
            let name = format!("worker-{i}");
            service.thread(&name);
            for tenth in 0..600_u32 {
                let leaf = format!("org.base.store.Page{}.next", tenth % 7);
                let root = if below { "org.base.Select.scan" } else { &leaf };
                let scan = [
                    (leaf.as_str(), FrameType::C2),
                    (root, FrameType::C2),
                    ("shop.Desk.list", FrameType::C2),
                ];
                let other = [("shop.Cart.add", FrameType::C2)];
                let frames: &[_] =
                    if is_slow(i64::from(tenth) / 10) && tenth % 5 != 0 { &scan } else { &other };
                service.built.on_cpu(&name, frames, f64::from(tenth) / 10.0, 100.0);
            }
        }
        service.diagnosis()
    };
    let diagnosed = diagnosis(true);
    let finding = found(&diagnosed);
    finding
        .culprit
        .states(&culprits::METHOD, &[("value", "org.base.Select.scan"), ("caller", "shop.Desk.list")]);
    finding.title.states(&facts::SPREAD, &[("method", "org.base.Select.scan"), ("caller", "shop.Desk.list")]);
    assert!(finding.says(&facts::SHARE_OF).name("method").unwrap().starts_with("Page"), "{finding:#?}");
    assert!(finding.share.is_some_and(|share| share > 0.8), "{finding:#?}");
    // Where nothing else is common to them, it is the application's own method.
    assert_eq!(found(&diagnosis(false)).named(), "shop.Desk.list");
}

#[test]
fn the_narrower_method_that_nearly_all_of_it_is_below_is_named_first() {
    let mut service = Service::of((300.0, 100.0));
    service.thread("worker-0");
    for tenth in 0..600_u32 {
        let leaf = format!("org.base.store.Page{}.next", tenth % 7);
        let scan = [
            (leaf.as_str(), FrameType::C2),
            ("org.base.Terms.rewrite", FrameType::C2),
            ("org.base.Select.scan", FrameType::C2),
            ("shop.Desk.list", FrameType::C2),
        ];
        // One of seven by another way, and one of eleven elsewhere.
        let direct = [scan[0], scan[2], scan[3]];
        let (log, usual) = ([("shop.Log.put", FrameType::C2)], [("shop.Cart.add", FrameType::C2)]);
        let frames: &[_] = match (is_slow(i64::from(tenth) / 10), tenth % 11, tenth % 7) {
            (false, ..) => &usual,
            (true, 0, _) => &log,
            (true, _, 0) => &direct,
            _ => &scan,
        };
        service.built.on_cpu("worker-0", frames, f64::from(tenth) / 10.0, 100.0);
    }
    let diagnosed = service.diagnosis();
    let finding = found(&diagnosed);
    finding.title.states(&facts::SPREAD, &[("method", "org.base.Select.scan")]);
    assert_eq!(finding.says(&facts::SHARE_OF).name("method"), Some("Terms.rewrite"), "{finding:#?}");
}

/// A selector that turns round and round for as long as its worker is busy.
#[test]
fn what_a_library_runs_meanwhile_comes_behind_the_code_of_the_application() {
    let first = |leaves: u32, busy: u32| {
        let mut service = Service::of((300.0, 100.0));
        ["worker-0", "io-0"].into_iter().for_each(|name| _ = service.thread(name));
        for tenth in 0..600_u32 {
            let at_s = f64::from(tenth) / 10.0;
            if !is_slow(i64::from(tenth) / 10) {
                continue;
            }
            let leaf = format!("org.base.store.Page{}.next", tenth % leaves);
            let scan = [(leaf.as_str(), FrameType::C2), ("org.base.Select.scan", FrameType::C2)];
            let own = [("Desk.list", FrameType::C2)];
            let frames = if leaves > 1 { [&scan[..], &own].concat() } else { own.to_vec() };
            if tenth % 10 < busy {
                service.built.on_cpu("worker-0", &frames, at_s, 100.0);
            }
            if tenth % 10 < 6 {
                service.built.on_cpu("io-0", &[("org.xnio.Loop.turn", FrameType::C2)], at_s, 100.0);
            }
        }
        found(&service.diagnosis()).named().to_owned()
    };
    assert_eq!(first(7, 9), "org.base.Select.scan", "more than the selector, in many methods");
    assert_eq!(first(1, 5), "Desk.list", "less than the selector");
    assert_eq!(first(1, 2), "org.xnio.Loop.turn", "far less");
}

#[test]
fn others_on_the_cpus_explain_no_more_than_waiting_for_a_cpu_grew_by() {
    let service = Service::of((300.0, 100.0));
    let recording = service.built.sealed();
    let slow = vec![Window { from_ns: 20 * S, to_ns: 40 * S }];
    let loss = crate::Loss { lost_ms: 10_000.0, ..crate::Loss::default() };
    let case = Case { slow, whole_run: false, loss, ..crate::built::whole_run(&recording) };
    let jvm = ProcessId(0);
    let taken = |cost_ms| {
        case.finding_by(
            "cpu-taken-by-others",
            crate::Layer::Cpu,
            jvm,
            (Confidence::Proven, Vec::new()),
            cost_ms,
        )
    };
    // A back-off of 15 ms; waiting for a CPU grew by 3.
    let growth =
        grew(&[(Category::Sleep, "shop.Retry.backOff", 0.0, 15.0), (Category::RunQueue, "", 1.0, 4.0)]);
    let mut findings = vec![taken(9_000.0)];
    growth.limit(&case, &mut findings);
    let [finding] = &findings[..] else { panic!("{findings:#?}") };
    assert!((finding.cost_ms - 10_000.0 / 6.0).abs() < 1.0, "{finding:#?}");
    assert_eq!(finding.confidence, Confidence::Likely);
    // Where nothing else grew it keeps all that it costs.
    let growth = grew(&[(Category::RunQueue, "", 1.0, 4.0)]);
    let mut findings = vec![taken(9_000.0)];
    growth.limit(&case, &mut findings);
    assert_eq!((findings[0].cost_ms, findings[0].confidence), (9_000.0, Confidence::Proven));
    // And where waiting for a CPU did not grow it is none.
    let growth = grew(&[(Category::Sleep, "", 0.0, 15.0), (Category::RunQueue, "", 4.0, 4.0)]);
    let [ruled_out] = &growth.limit(&case, &mut findings)[..] else { panic!("{findings:#?}") };
    assert!(findings.is_empty(), "{findings:#?}");
    ruled_out.figure.states(&facts::OF_GROWTH, &[("value", "0%"), ("whose", "an operation's time")]);
}

#[test]
fn code_that_runs_longer_is_credited_with_the_waiting_for_a_cpu_that_follows_from_it() {
    let parts = [(Category::Running, "shop.Price.parse", 0.2, 1.2), (Category::RunQueue, "", 0.5, 5.5)];
    let by = |growth: &Growth<'_>, category| -> f64 {
        growth.grown.iter().filter(|g| g.key.category == category).map(Grown::by).sum()
    };
    let mut growth = grew(&parts);
    growth.credit_running(&[]);
    assert_eq!((by(&growth, Category::Running), by(&growth, Category::RunQueue)), (6.0, 0.0));
    // Others that took CPUs have their part of it.
    let service = Service::of((300.0, 100.0));
    let recording = service.built.sealed();
    let case = crate::built::whole_run(&recording);
    let jvm = ProcessId(0);
    let mut taken =
        case.finding_by("cpu-taken-by-others", crate::Layer::Cpu, jvm, (Confidence::Likely, Vec::new()), 1.0);
    taken.share = Some(0.5);
    let mut growth = grew(&parts);
    growth.credit_running(&[taken]);
    assert!((by(&growth, Category::RunQueue) - 3.0).abs() < 1e-9, "{}", by(&growth, Category::RunQueue));
    assert!((by(&growth, Category::Running) - 3.0).abs() < 1e-9, "{}", by(&growth, Category::Running));
    // Without more CPU time the wait has another reason.
    let mut growth = grew(&[(Category::Running, "", 1.0, 1.1), (Category::RunQueue, "", 0.5, 5.5)]);
    growth.credit_running(&[]);
    assert_eq!(by(&growth, Category::RunQueue), 5.0);
}

#[test]
fn code_that_runs_longer_is_credited_with_the_stalls_of_the_collector_in_it() {
    let stalls = (Category::AllocationStall, "shop.Feed.build", 0.1, 1.6);
    let by = |growth: &Growth<'_>, category| -> f64 {
        growth.grown.iter().filter(|g| g.key.category == category).map(Grown::by).sum()
    };
    let mut growth = grew(&[(Category::C2, "shop.Feed.build", 0.1, 1.1), stalls]);
    growth.credit_allocation();
    assert_eq!((by(&growth, Category::C2), by(&growth, Category::AllocationStall)), (2.5, 0.0));
    let code = growth.grown.iter().find(|g| g.key.category == Category::C2).unwrap();
    assert!(growth.stalled_in(code).is_some());
    // Code elsewhere, or that runs no longer, is not why.
    for other in [(Category::C2, "shop.Cart.add", 0.1, 1.1), (Category::C2, "shop.Feed.build", 1.0, 1.1)] {
        let mut growth = grew(&[other, stalls]);
        growth.credit_allocation();
        assert_eq!(by(&growth, Category::AllocationStall), 1.5);
    }
}

/// Eight virtual threads that each wait for a short time in an operation, on one carrier that has
/// time to spare, and in the slow windows has something to do for `now` of each 100 ms: it runs, or
/// is blocked with a virtual thread that is pinned to it.
fn waits_on_a_carrier(waits: &[(&str, FrameType)], now: i64, pinned: bool) -> crate::Diagnosis {
    let mut service = Service::of((300.0, 60.0));
    let jvm = service.built.jvm;
    let carrier = service.built.recording.thread(jvm, Some(70), "ForkJoinPool-1-worker-1", Role::App);
    service.row(kind::SCHED_WATCHED, carrier, (0, 60_000), None, &[]);
    let idle = service.stack(&[
        ("futex_wait", FrameType::Kernel),
        ("java.util.concurrent.ForkJoinPool.awaitWork", FrameType::C2),
        ("java.util.concurrent.ForkJoinPool.runWorker", FrameType::C2),
    ]);
    let total = service
        .stack(&[("shop.Invoice.total", FrameType::C2), ("java.lang.VirtualThread.run", FrameType::C2)]);
    let fsync = service.stack(&[
        ("ext4_sync_file", FrameType::Kernel),
        ("sun.nio.ch.FileDispatcherImpl.force0", FrameType::C2),
        ("shop.Audit.force", FrameType::C2),
        ("java.lang.VirtualThread.run", FrameType::C2),
    ]);
    let wait = service.stack(waits);
    for tenth in 0..600 {
        let slow = is_slow(tenth / 10);
        let (at, busy) = (tenth * 100, if slow { now } else { 10 });
        if slow && pinned {
            service.row(kind::SCHED_OFF, carrier, (at + 5, at + busy), Some(fsync), &[]);
        }
        if busy < 100 {
            service.row(kind::SCHED_OFF, carrier, (at + busy, at + 100), Some(idle), &[]);
        }
        service.built.recording.sample(&SampleRow {
            kind: sample::CPU,
            t_ns: at * MS,
            process: jvm,
            thread: Some(carrier),
            stack: Some(total),
            weight: if slow && pinned { 5 } else { busy } * MS,
            source: fathom_recording::SourceId(0),
        });
    }
    for i in 0..8 {
        let name = format!("virtual thread #{i}");
        let thread = service.built.recording.thread(jvm, None, &name, Role::App);
        for tenth in 0..600 {
            let length = if is_slow(tenth / 10) { 90 } else { 20 };
            service.row(kind::LOCK_PARK, thread, (tenth * 100, tenth * 100 + length), Some(wait), &[]);
        }
    }
    service.diagnosis()
}

/// A virtual thread that waits for a request or an answer.
const VIRTUAL_READ: [(&str, FrameType); 3] = [
    ("java.lang.VirtualThread.yieldContinuation", FrameType::C2),
    ("sun.nio.ch.NioSocketImpl.park", FrameType::C2),
    ("shop.Session.serve", FrameType::C2),
];

#[test]
fn sleep_of_virtual_threads_that_no_carrier_is_free_to_end_follows_from_what_carriers_run() {
    let culprit = |diagnosis: &crate::Diagnosis| found(diagnosis).named().to_owned();
    assert_eq!(culprit(&waits_on_a_carrier(&SLEEP, 100, false)), "shop.Invoice.total");
    // Where carriers have time to spare, who sleeps longer does so for itself.
    assert_eq!(culprit(&waits_on_a_carrier(&SLEEP, 40, false)), "shop.Retry.backOff");
}

#[test]
fn what_virtual_threads_wait_for_the_network_longer_is_what_takes_their_carriers_time() {
    let culprit = |now, pinned| found(&waits_on_a_carrier(&VIRTUAL_READ, now, pinned)).named().to_owned();
    assert_eq!(culprit(100, false), "shop.Invoice.total");
    assert_eq!(culprit(99, true), "shop.Audit.force");
    assert_eq!(culprit(40, false), "shop.Session.serve", "with time to spare it is the network");
}

/// Two workers that run all the time, in C1's code of a method that is compiled from the twentieth
/// second on for `usual` of it usually and for `now` while it is slow.
fn before_it_was_compiled(
    mut service: Service,
    (usual, now): (u32, u32),
    runs_as: FrameType,
) -> crate::Diagnosis {
    for i in 0..120 {
        let method = format!("shop.tenant.Prices.m{i}()");
        crate::built::jit_task(&mut service.built, &method, 20.2 + 0.1 * f64::from(i), 0.0, 5.0, 4);
    }
    for i in 0..2 {
        let name = format!("worker-{i}");
        service.thread(&name);
        let main = ("shop.Main.run", FrameType::Interpreted);
        for tenth in 0..600_u32 {
            let of_ten = if is_slow(i64::from(tenth) / 10) { now } else { usual };
            let method = format!("shop.tenant.Prices.m{}", tenth % 7);
            let frames = match tenth % 10 < of_ten {
                true => [(method.as_str(), runs_as), main],
                false => [("shop.Cart.add", FrameType::C2), main],
            };
            service.built.on_cpu(&name, &frames, f64::from(tenth) / 10.0, 100.0);
        }
    }
    service.diagnosis()
}

#[test]
fn code_that_ran_before_it_was_compiled_is_the_bursts_and_no_growth_of_its_methods() {
    let of = |d: &crate::Diagnosis| d.findings.iter().map(|f| (f.rule, f.share)).collect::<Vec<_>>();
    let halved = || Service::of((300.0, 150.0));
    // Four tenths of the baseline are such code as well: twice the time an operation makes that
    // eight tenths of a second of an operation, where it was four of half as much.
    let burst = of(&before_it_was_compiled(halved(), (4, 8), FrameType::C1));
    let (first, share) = burst[0];
    assert_eq!(first, "jit-compile-burst", "{burst:?}");
    assert!(share.is_some_and(|share| share > 0.5), "{burst:?}");
    // The work itself is what its compiled form would take.
    let others: f64 = burst[1..].iter().filter_map(|(_, share)| *share).sum();
    assert!(others < 0.5, "{burst:?}");
    // In compiled code it is the methods that take longer.
    let compiled = of(&before_it_was_compiled(halved(), (4, 8), FrameType::C2));
    assert_eq!(compiled[0].0, RULE, "{compiled:?}");
    // So it is where nobody counts operations.
    let uncounted = of(&before_it_was_compiled(Service::uncounted(), (0, 8), FrameType::C1));
    assert_eq!(uncounted[0], ("jit-compile-burst", None), "{uncounted:?}");
}

#[test]
fn all_that_runs_longer_in_a_method_that_is_never_compiled_is_of_its_finding() {
    let mut service = Service::of((300.0, 60.0));
    for i in 0..2 {
        let name = format!("worker-{i}");
        let thread = service.thread(&name);
        let main = ("shop.Main.run", FrameType::C2);
        for tenth in 0..600_u32 {
            let method = match is_slow(i64::from(tenth) / 10) {
                true => ("shop.Tariff.price", FrameType::Interpreted),
                false => ("shop.Cart.add", FrameType::C2),
            };
            // Half of each tenth of a second: in the other one it waits for a CPU.
            service.built.on_cpu(&name, &[method, main], f64::from(tenth) / 10.0, 50.0);
            if is_slow(i64::from(tenth) / 10) {
                let at = i64::from(tenth) * 100 + 50;
                service.queued(thread, (at, at + 50));
            }
        }
    }
    let diagnosis = service.diagnosis();
    let of: Vec<_> = diagnosis.findings.iter().map(|f| (f.rule, f.named())).collect();
    assert_eq!(of, [("jit-never-compiled", "shop.Tariff.price")], "{:#?}", diagnosis.findings);
}

/// Four threads on a machine with no CPU to spare, which run something else in the slow time.
fn starved(mut service: Service) -> Diagnosis {
    let usual = [("shop.Cart.add", FrameType::C2)];
    let counts = [
        ("java.util.concurrent.ConcurrentLinkedQueue.size", FrameType::C2),
        ("shop.Gauge.update", FrameType::C2),
    ];
    for i in 0..4 {
        let name = format!("worker-{i}");
        let thread = service.thread(&name);
        for tenth in 0..600_i64 {
            service.queued(thread, (tenth * 100, tenth * 100 + 90));
            let frames: &[_] = if is_slow(tenth / 10) && tenth % 5 != 0 { &counts } else { &usual };
            service.built.on_cpu(&name, frames, tenth as f64 / 10.0 + 0.09, 10.0);
        }
    }
    service.diagnosis()
}

/// Threads that run and wait for a CPU for as long as ever, and do fewer operations as each takes
/// more.
#[test]
fn waiting_for_a_cpu_grows_with_what_an_operation_runs_where_all_cpus_are_busy() {
    let diagnosis = starved(Service::of((300.0, 60.0)));
    let finding = &diagnosis.findings[0];
    finding.title.states(&facts::DOING, &[("value", "running"), ("place", "shop.Gauge.update")]);
    assert!(finding.share.is_some_and(|share| share > 0.8), "{finding:#?}");
}

/// The same where nobody counts operations.
#[test]
fn threads_wait_for_a_cpu_where_they_run() {
    let diagnosis = starved(Service::uncounted());
    let finding = &diagnosis.findings[0];
    finding.title.states(&facts::RUNS, &[("place", "shop.Gauge.update")]);
    assert_eq!(finding.confidence, Confidence::ConsistentWith);
}
