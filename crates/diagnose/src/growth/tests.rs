//! Services put together by hand, of which it is known what an operation's time grew by.

use fathom_recording::vocabulary::frame::RECORDER_MODULE;
use fathom_recording::vocabulary::{kind, label, sample, series};
use fathom_recording::{
    FrameType, Placement, Role, SampleRow, SeriesInfo, SeriesKind, Sink, SpanRow, StackId, ThreadId,
};

use super::*;
use crate::built::Built;
use crate::{Diagnosis, Options, Window, diagnose};

const MS: i64 = 1_000_000;
const S: i64 = 1_000 * MS;
const PARK: [(&str, FrameType); 3] = [
    ("futex_wait", FrameType::Kernel),
    ("java.util.concurrent.ArrayBlockingQueue.take", FrameType::C2),
    ("shop.Pool.call", FrameType::C2),
];
const READ: [(&str, FrameType); 3] = [
    ("tcp_recvmsg", FrameType::Kernel),
    ("sun.nio.ch.NioSocketImpl.read", FrameType::C2),
    ("shop.Pool.call", FrameType::C2),
];

/// A service of which every switch of a minute was seen, and the operations of every second. The 20 seconds from the 20th on are slow.
struct Service {
    built: Built,
}

impl Service {
    /// One whose operations nobody counts.
    fn uncounted() -> Self {
        let mut built = Built::jvm("17", "G1", 60.0);
        let placement = Placement { uncertainty_ns: Some(0), ..Placement::default() };
        built.recording.sources[0].placement = placement;
        Self { built }
    }

    /// `rates`: operations a second usually, and while it is slow.
    fn of(rates: (f64, f64)) -> Self {
        let Self { mut built } = Self::uncounted();
        let source = fathom_recording::SourceId(0);
        let throughput = SeriesInfo {
            name: series::THROUGHPUT.into(),
            unit: "ops/s".into(),
            instance: String::new(),
            kind: SeriesKind::Rate,
            process: None,
            source,
        };
        let id = built.recording.add_series(throughput);
        for s in 0..60 {
            let rate = if is_slow(s) { rates.1 } else { rates.0 };
            built.recording.point(id, s * S, S, rate * (1.0 + 0.002 * (s * 7 % 5) as f64));
        }
        Self { built }
    }

    fn thread(&mut self, name: &str) -> ThreadId {
        let thread = self.built.recording.thread(self.built.jvm, None, name, Role::App);
        self.row(kind::SCHED_WATCHED, thread, (0, 60_000), None, &[]);
        thread
    }

    fn stack(&mut self, frames: &[(&str, FrameType)]) -> StackId {
        let recording = &mut self.built.recording;
        let outermost_first = frames.iter().rev();
        let stack = outermost_first.fold(None, |at, (name, frame_type)| {
            let module = if name.starts_with("fathom: ") { RECORDER_MODULE } else { "" };
            let frame = recording.frame(name, module, *frame_type, -1);
            Some(recording.stack(at, frame))
        });
        stack.unwrap()
    }

    fn row(
        &mut self,
        kind: &str,
        thread: ThreadId,
        ms: (i64, i64),
        stack: Option<StackId>,
        labels: &[(&str, &str)],
    ) {
        self.built.recording.span(&SpanRow {
            kind,
            name: "",
            t0_ns: ms.0 * MS,
            t1_ns: ms.1 * MS,
            process: self.built.jvm,
            thread: Some(thread),
            stack,
            source: fathom_recording::SourceId(0),
            line: 1,
            key: -1,
            parent: None,
            figures: &[],
            labels,
        });
    }

    /// A thread that is off the CPU for the first part of each 100 ms, so many milliseconds usually and while it is slow.
    fn off(
        &mut self,
        thread: ThreadId,
        frames: &[(&str, FrameType)],
        ms: (i64, i64),
        labels: &[(&str, &str)],
    ) {
        let stack = self.stack(frames);
        for tenth in 0..600 {
            let length = if is_slow(tenth / 10) { ms.1 } else { ms.0 };
            if length > 0 {
                let ends = (tenth * 100, tenth * 100 + length);
                self.row(kind::SCHED_OFF, thread, ends, Some(stack), labels);
            }
        }
    }

    fn diagnosis(self) -> Diagnosis {
        diagnose(&self.built.sealed(), &Options::default()).unwrap()
    }
}

fn is_slow(s: i64) -> bool {
    (20..40).contains(&s)
}

fn found(diagnosis: &Diagnosis) -> &Finding {
    let found = diagnosis.findings.iter().find(|finding| finding.rule == RULE);
    found.unwrap_or_else(|| panic!("{diagnosis:#?}"))
}

#[test]
fn of_threads_that_share_a_connection_the_peer_is_the_cause_and_the_others_wait_behind_it() {
    let mut service = Service::of((300.0, 30.0));
    for i in 0..2 {
        let thread = service.thread(&format!("reader-{i}"));
        service.off(thread, &READ, (30, 95), &[(label::PEER, "10.0.0.7:5432")]);
    }
    for i in 0..10 {
        let thread = service.thread(&format!("worker-{i}"));
        service.off(thread, &PARK, (20, 90), &[]);
    }
    let diagnosis = service.diagnosis();
    let finding = found(&diagnosis);
    assert_eq!((finding.culprit.as_str(), finding.layer), ("10.0.0.7:5432", crate::Layer::Network));
    assert!(
        finding.title.contains("waiting for the network at 10.0.0.7:5432 in shop.Pool.call"),
        "{finding:#?}"
    );
    assert!(finding.title.contains("10 of 12 threads wait behind it"), "{finding:#?}");
    assert_eq!(finding.confidence, Confidence::Likely, "{finding:#?}");
    assert_eq!(diagnosis.findings.first().map(|f| f.rule), Some(RULE));
}

#[test]
fn more_cpu_time_for_each_operation_is_told_by_the_method_of_the_application() {
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
    assert_eq!((finding.culprit.as_str(), finding.layer), ("shop.Price.parse", crate::Layer::Application));
    assert!(finding.title.contains("running in shop.Price.parse"), "{finding:#?}");
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
    assert!(
        diagnosis.findings.iter().all(|f| !f.title.contains("shop.Cart.add")),
        "{:#?}",
        diagnosis.findings
    );
    assert!(
        diagnosis.account.iter().any(|c| c.to.contains("programs of fathom") && c.finding.is_none()),
        "{:#?}",
        diagnosis.account
    );
}

#[test]
fn less_demand_makes_no_operation_slower_and_is_no_cause() {
    let mut service = Service::of((300.0, 150.0));
    // Half as many operations, each with the same read; in between the pool's threads have no work.
    let idle = [
        ("futex_wait", FrameType::Kernel),
        ("java.util.concurrent.ThreadPoolExecutor.getTask", FrameType::C2),
    ];
    let reader = service.thread("worker-0");
    service.off(reader, &READ, (60, 30), &[(label::PEER, "10.0.0.7:5432")]);
    let stack = service.stack(&idle);
    for tenth in 0..600 {
        let from = if is_slow(tenth / 10) { 30 } else { 60 };
        service.row(kind::SCHED_OFF, reader, (tenth * 100 + from, tenth * 100 + 100), Some(stack), &[]);
    }
    // Two that read what seldom comes, and a timer.
    for (name, frames) in [("listener-0", &READ), ("listener-1", &READ), ("timer", &PARK)] {
        let thread = service.thread(name);
        service.off(thread, frames, (100, 100), &[]);
    }
    let diagnosis = service.diagnosis();
    assert!(diagnosis.findings.iter().all(|finding| finding.rule != RULE), "{:#?}", diagnosis.findings);
}

#[test]
fn threads_that_sleep_longer_between_operations_may_be_asked_for_less() {
    // Short sleeps are summed up, take nearly all of a thread's time in both, and are fewer for each operation that is longer.
    let mut service = Service::of((300.0, 100.0));
    for i in 0..4 {
        let name = format!("worker-{i}");
        let thread = service.thread(&name);
        service.off(thread, &PACED, (94, 96), &[]);
        for tenth in 0..600 {
            let ran_ms = if is_slow(tenth / 10) { 3.0 } else { 5.0 };
            let at = f64::from(tenth as i32) / 10.0 + 0.097;
            service.built.on_cpu(&name, &[("shop.Cart.add", FrameType::C2)], at, ran_ms);
        }
    }
    let diagnosis = service.diagnosis();
    let [finding] = &diagnosis.findings[..] else { panic!("{diagnosis:#?}") };
    assert_eq!((finding.rule, finding.culprit.as_str()), (PACE_RULE, "shop.Worker.pace"));
    assert_eq!(finding.confidence, Confidence::ConsistentWith, "{finding:#?}");
}

#[test]
fn halves_split_the_time_and_not_the_windows() {
    let moments = Intervals::of([(0, 10), (20, 50)]);
    let (first, second) = halves(&moments);
    assert_eq!((first.stretches(), second.stretches()), (&[(0, 10), (20, 30)][..], &[(30, 50)][..]));
}

const SLEEP: [(&str, FrameType); 3] = [
    ("do_nanosleep", FrameType::Kernel),
    ("java.lang.Thread.sleep", FrameType::C2),
    ("shop.Retry.backOff", FrameType::C2),
];

const PACED: [(&str, FrameType); 3] = [
    ("futex_wait", FrameType::Kernel),
    ("java.util.concurrent.locks.LockSupport.parkNanos", FrameType::C2),
    ("shop.Worker.pace", FrameType::C2),
];

#[test]
fn without_a_series_the_windows_are_those_in_which_threads_spend_their_time_differently() {
    let mut service = Service::uncounted();
    for i in 0..6 {
        let thread = service.thread(&format!("worker-{i}"));
        service.off(thread, &SLEEP, (0, 80), &[]);
    }
    let diagnosis = service.diagnosis();
    let finding = found(&diagnosis);
    assert_eq!(finding.culprit, "shop.Retry.backOff", "{finding:#?}");
    // Nobody has measured a loss.
    assert_eq!((finding.confidence, finding.share), (Confidence::ConsistentWith, None));
    let [window] = diagnosis.windows.slow[..] else { panic!("{:?}", diagnosis.windows) };
    assert!((window.from_ns - 20 * S).abs() <= S && (window.to_ns - 40 * S).abs() <= S, "{window:?}");
    assert!(diagnosis.windows.how.contains("asleep in shop.Retry.backOff"), "{}", diagnosis.windows.how);

    // The same all along is no change.
    let mut service = Service::uncounted();
    for i in 0..6 {
        let thread = service.thread(&format!("worker-{i}"));
        service.off(thread, &SLEEP, (80, 80), &[]);
    }
    let diagnosis = service.diagnosis();
    assert!(diagnosis.findings.iter().all(|finding| finding.rule != RULE), "{:#?}", diagnosis.findings);
}

/// What operations of a JVM grew by, by category and method: usual and slow milliseconds.
fn grew(parts: &[(Heading, &'static str, f64, f64)]) -> Growth<'static> {
    let key = |(heading, place): (&Heading, &'static str)| Key { heading: *heading, place, target: "" };
    let grown = parts.iter().map(|(heading, place, base, slow)| Grown {
        key: key((heading, place)),
        cause: Cause { key: key((heading, place)), other: None, by_lock: false },
        part: Part::default(),
        slow: *slow,
        base: *base,
        credit: 0.0,
        holds: true,
        runs_more: true,
    });
    let per = Per { each: Each::Operation, by: [100.0; FRAMES] };
    Growth {
        jvm: ProcessId(0),
        grown: grown.collect(),
        per,
        threads: 8,
        lengths_ms: [1.0; FRAMES],
        unseen: 0.0,
        calls: Vec::new(),
        of_holders: 0.0,
    }
}

/// Stacks of a query: in the list of orders, and for each line of it.
const QUERY: [(&str, FrameType); 3] = [
    ("ksys_read", FrameType::Kernel),
    ("sun.nio.ch.NioSocketImpl.read", FrameType::C2),
    ("shop.Database.query", FrameType::C2),
];

#[test]
fn cpu_time_that_grew_in_many_methods_is_told_by_the_one_that_all_are_below() {
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
    assert_eq!(finding.culprit, "org.base.Select.scan, called from shop.Desk.list", "{finding:#?}");
    assert!(
        finding.title.contains("below org.base.Select.scan, called from shop.Desk.list (Page"),
        "{finding:#?}"
    );
    assert!(finding.share.is_some_and(|share| share > 0.8), "{finding:#?}");
    // Where nothing else is common to them, it is the application's own method.
    assert_eq!(found(&diagnosis(false)).culprit, "shop.Desk.list");
}

#[test]
fn connections_that_are_no_longer_kept_stand_beside_the_wait_for_the_peer() {
    let diagnosis = |opened: u32| {
        let mut service = Service::of((300.0, 100.0));
        for i in 0..8 {
            let name = format!("worker-{i}");
            let thread = service.thread(&name);
            service.off(thread, &QUERY, (3, 80), &[(label::PEER, "10.0.0.7:5432")]);
            for s in 0..60 {
                for n in 0..if is_slow(s) { opened } else { 1 } {
                    let at = f64::from(s as u32) + f64::from(n) / 100.0;
                    service.built.on_thread(kind::NET_CONNECT, &name, "10.0.0.7:5432", at, 0.1);
                }
            }
        }
        service.diagnosis()
    };
    let opened = &diagnosis(75).findings[0];
    assert_eq!((opened.rule, opened.culprit.as_str()), (RULE, "10.0.0.7:5432"), "{opened:#?}");
    let told = "each operation opens 6.0 connections instead of ";
    assert!(opened.title.contains(told), "{}", opened.title);
    assert!(opened.remedies[0].change.contains("keep connections open"), "{:?}", opened.remedies);
    let kept = &diagnosis(1).findings[0];
    assert!(!kept.title.contains("connections"), "{}", kept.title);
}

#[test]
fn a_query_for_each_row_is_told_as_more_calls_from_where_they_are_made() {
    let diagnosis = |calls_now: f64| {
        let mut service = Service::of((300.0, 100.0));
        for i in 0..8 {
            let name = format!("worker-{i}");
            let thread = service.thread(&name);
            let mut lines = QUERY.to_vec();
            lines.push(("shop.Orders.loadLines", FrameType::C2));
            service.off(thread, &QUERY, (3, 0), &[(label::PEER, "10.0.0.7:5432")]);
            service.off(thread, &lines, (0, 80), &[(label::PEER, "10.0.0.7:5432")]);
            for s in 0..60 {
                let (rate, calls) = if is_slow(s) { (100.0, calls_now) } else { (300.0, 2.0) };
                service.built.counted_calls(&name, "read", s as f64, 1_000.0, rate * calls / 8.0);
            }
        }
        service.diagnosis()
    };
    let many = diagnosis(120.0);
    let first = &many.findings[0];
    assert_eq!(
        (first.rule, first.culprit.as_str()),
        (CALLS_RULE, "shop.Database.query, called from shop.Orders.loadLines"),
        "{first:#?}"
    );
    assert!(
        first
            .title
            .starts_with("each operation calls read() 120 times instead of 2.0 in shop.Database.query, called from shop.Orders.loadLines"),
        "{}",
        first.title
    );
    assert!(first.share.is_some_and(|share| share > 0.9), "{:?}", first.share);
    // As many calls an operation as ever: then it is the peer.
    let slower = diagnosis(2.0);
    let first = &slower.findings[0];
    assert_eq!((first.rule, first.culprit.as_str()), (RULE, "10.0.0.7:5432"), "{first:#?}");
    assert!(
        first.title.contains("in shop.Database.query, called from shop.Orders.loadLines"),
        "{}",
        first.title
    );
}

#[test]
fn fewer_operations_none_of_which_takes_longer_are_less_demand() {
    let rest = [
        ("futex_wait", FrameType::Kernel),
        ("java.util.concurrent.LinkedBlockingQueue.take", FrameType::C2),
        ("java.util.concurrent.ThreadPoolExecutor.getTask", FrameType::C2),
    ];
    let diagnosis = |read_ms: i64| {
        let mut service = Service::of((300.0, 150.0));
        for i in 0..8 {
            let thread = service.thread(&format!("worker-{i}"));
            // Half as many operations, each of which reads for as long as ever.
            service.off(thread, &READ, (30, read_ms), &[(label::PEER, "10.0.0.7:5432")]);
            for tenth in 0..600 {
                let from = if is_slow(tenth / 10) { read_ms } else { 30 };
                let stack = service.stack(&rest);
                service.row(
                    kind::SCHED_OFF,
                    thread,
                    (tenth * 100 + from, tenth * 100 + 99),
                    Some(stack),
                    &[],
                );
            }
        }
        service.diagnosis()
    };
    let less = diagnosis(15);
    assert_eq!(less.findings[0].rule, demand::DEMAND_RULE, "{less:#?}");
    assert_eq!(less.findings[0].confidence, Confidence::ConsistentWith);
    let title = &less.findings[0].title;
    assert!(title.contains("each took no longer: 8.50 ms of threads' time instead of 8.23 ms"), "{title}");
    let slower = diagnosis(60);
    assert_eq!(slower.findings[0].rule, RULE, "{slower:#?}");
    // What nobody saw may have held what operations waited for.
    let recording = Service::of((300.0, 150.0)).built.sealed();
    let (slow_rate, base_rate) = (Some(150.0), Some(300.0));
    let loss = crate::Loss { lost_ms: 10_000.0, slow_rate, base_rate, ..crate::Loss::default() };
    let window = |from: i64, to: i64| vec![Window { from_ns: from * S, to_ns: to * S }];
    let whole = crate::built::whole_run(&recording);
    let case = Case { loss, slow: window(20, 40), base: window(0, 20), ..whole };
    let unseen = |unseen| Growth { unseen, ..grew(&[(Heading::Network, "", 8.0, 8.0)]) };
    assert!(unseen(0.05).less_demand(&case).is_some() && unseen(0.2).less_demand(&case).is_none());
}

#[test]
fn a_timer_of_the_jdks_that_waits_for_its_turn_is_no_part_of_an_operation() {
    let wait = |method| {
        [
            ("pthread_cond_timedwait", FrameType::Native),
            ("java.lang.Object.wait", FrameType::C2),
            (method, FrameType::Interpreted),
        ]
    };
    let charged = |method| {
        let mut service = Service::of((300.0, 30.0));
        let worker = service.thread("worker");
        service.off(worker, &READ, (30, 95), &[(label::PEER, "10.0.0.7:5432")]);
        let timer = service.thread("timer");
        service.off(timer, &wait(method), (50, 99), &[]);
        let account = service.diagnosis().account;
        account.iter().any(|charge| charge.to.contains(method))
    };
    assert!(charged("shop.Poller.run") && !charged("java.util.TimerThread.run"));
}

#[test]
fn others_on_the_cpus_explain_no_more_than_waiting_for_a_cpu_grew_by() {
    let service = Service::of((300.0, 100.0));
    let recording = service.built.sealed();
    let slow = vec![Window { from_ns: 20 * S, to_ns: 40 * S }];
    let loss = crate::Loss { lost_ms: 10_000.0, ..crate::Loss::default() };
    let case = Case { slow, whole_run: false, loss, ..crate::built::whole_run(&recording) };
    let jvm = ProcessId(0);
    let taken =
        |cost_ms| case.finding_by("cpu-taken-by-others", crate::Layer::Cpu, jvm, Confidence::Proven, cost_ms);
    // A back-off of 15 ms; waiting for a CPU grew by 3.
    let growth =
        grew(&[(Heading::Sleep, "shop.Retry.backOff", 0.0, 15.0), (Heading::RunQueue, "", 1.0, 4.0)]);
    let mut findings = vec![taken(9_000.0)];
    growth.limit(&case, &mut findings);
    let [finding] = &findings[..] else { panic!("{findings:#?}") };
    assert!((finding.cost_ms - 10_000.0 / 6.0).abs() < 1.0, "{finding:#?}");
    assert_eq!(finding.confidence, Confidence::Likely);
    assert!(finding.why_confidence.contains("17 % of what an operation's time grew by"), "{finding:#?}");
    // Where nothing else grew it keeps all that it costs.
    let growth = grew(&[(Heading::RunQueue, "", 1.0, 4.0)]);
    let mut findings = vec![taken(9_000.0)];
    growth.limit(&case, &mut findings);
    assert_eq!((findings[0].cost_ms, findings[0].confidence), (9_000.0, Confidence::Proven));
    // And where waiting for a CPU did not grow it is none.
    let growth = grew(&[(Heading::Sleep, "", 0.0, 15.0), (Heading::RunQueue, "", 4.0, 4.0)]);
    let [ruled_out] = &growth.limit(&case, &mut findings)[..] else { panic!("{findings:#?}") };
    assert!(findings.is_empty(), "{findings:#?}");
    assert!(
        ruled_out.figure.starts_with("it makes up 0 % of what an operation's time grew by"),
        "{ruled_out:?}"
    );
}

#[test]
fn code_that_runs_longer_is_credited_with_the_waiting_for_a_cpu_that_follows_from_it() {
    let parts = [(Heading::Running, "shop.Price.parse", 0.2, 1.2), (Heading::RunQueue, "", 0.5, 5.5)];
    let by = |growth: &Growth<'_>, heading| -> f64 {
        growth.grown.iter().filter(|g| g.key.heading == heading).map(Grown::by).sum()
    };
    let mut growth = grew(&parts);
    growth.credit_running(&[]);
    assert_eq!((by(&growth, Heading::Running), by(&growth, Heading::RunQueue)), (6.0, 0.0));
    // Others that took CPUs have their part of it.
    let service = Service::of((300.0, 100.0));
    let recording = service.built.sealed();
    let case = crate::built::whole_run(&recording);
    let jvm = ProcessId(0);
    let mut taken = case.finding_by("cpu-taken-by-others", crate::Layer::Cpu, jvm, Confidence::Likely, 1.0);
    taken.share = Some(0.5);
    let mut growth = grew(&parts);
    growth.credit_running(&[taken]);
    assert!((by(&growth, Heading::RunQueue) - 3.0).abs() < 1e-9, "{}", by(&growth, Heading::RunQueue));
    assert!((by(&growth, Heading::Running) - 3.0).abs() < 1e-9, "{}", by(&growth, Heading::Running));
    // Without more CPU time the wait has another reason.
    let mut growth = grew(&[(Heading::Running, "", 1.0, 1.1), (Heading::RunQueue, "", 0.5, 5.5)]);
    growth.credit_running(&[]);
    assert_eq!(by(&growth, Heading::RunQueue), 5.0);
}

#[test]
fn code_that_runs_as_ever_while_less_is_asked_for_is_not_likely_to_be_the_cause() {
    let mut service = Service::of((300.0, 100.0));
    service.thread("compactor");
    for tenth in 0..600 {
        let compact = [("shop.Compactor.run", FrameType::C2)];
        service.built.on_cpu("compactor", &compact, f64::from(tenth) / 10.0, 100.0);
    }
    let diagnosis = service.diagnosis();
    let likely = |finding: &&Finding| finding.confidence > Confidence::ConsistentWith;
    assert_eq!(diagnosis.findings.iter().find(likely), None);
}

#[test]
fn a_wait_behind_others_takes_no_more_than_each_of_them_waits() {
    // Two threads wait for a batch, and another one reads for most of the time: what it reads cannot be what they wait for so much longer.
    const BATCH: [(&str, FrameType); 3] = [
        ("futex_wait", FrameType::Kernel),
        ("java.util.concurrent.CompletableFuture.get", FrameType::C2),
        ("shop.Journal.commit", FrameType::C2),
    ];
    let mut service = Service::of((300.0, 100.0));
    let reader = service.thread("reader");
    service.off(reader, &READ, (50, 55), &[(label::PEER, "10.0.0.7:5432")]);
    for i in 0..2 {
        let thread = service.thread(&format!("worker-{i}"));
        service.off(thread, &BATCH, (1, 98), &[]);
    }
    let diagnosis = service.diagnosis();
    let finding = found(&diagnosis);
    assert_eq!(finding.culprit, "shop.Journal.commit", "{finding:#?}");
}
