//! Services put together by hand, of which it is known what an operation's time grew by.

mod advised;
mod below;
mod cpu;
mod idle_and_several;
mod lower_demand;
mod rules_and_second_causes;

use super::measured::halves;
use super::*;
use crate::Confidence;
use crate::built::Built;
use crate::facts::{culprits, remedies, windows};
use crate::intervals::Intervals;
use crate::{Diagnosis, Options, Window, diagnose};
use fathom_recording::vocabulary::frame::RECORDER_MODULE;
use fathom_recording::vocabulary::{figure, kind, label, sample, series};
use fathom_recording::{
    FrameType, Placement, Role, SampleRow, SeriesInfo, SeriesKind, Sink, SpanRow, StackId, ThreadId,
};

pub(crate) const MS: i64 = 1_000_000;

pub(super) const S: i64 = 1_000 * MS;

pub(super) const PARK: [(&str, FrameType); 3] = [
    ("futex_wait", FrameType::Kernel),
    ("java.util.concurrent.ArrayBlockingQueue.take", FrameType::C2),
    ("shop.Pool.call", FrameType::C2),
];

pub(crate) const READ: [(&str, FrameType); 3] = [
    ("tcp_recvmsg", FrameType::Kernel),
    ("sun.nio.ch.NioSocketImpl.read", FrameType::C2),
    ("shop.Pool.call", FrameType::C2),
];

/// Figures and labels of a span.
type Named<'n> = (&'n [(&'n str, f64)], &'n [(&'n str, &'n str)]);

/// A service of which every switch of a minute was seen, and the operations of every second. The 20
/// seconds from the 20th on are slow.
pub(crate) struct Service {
    pub(crate) built: Built,
}

impl Service {
    /// One whose operations nobody counts.
    pub(crate) fn uncounted() -> Self {
        let mut built = Built::jvm("17", "G1", 60.0);
        let placement = Placement { uncertainty_ns: Some(0), ..Placement::default() };
        built.recording.sources[0].placement = placement;
        Self { built }
    }

    /// `rates`: operations a second usually, and while it is slow.
    pub(crate) fn of(rates: (f64, f64)) -> Self {
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

    pub(crate) fn thread(&mut self, name: &str) -> ThreadId {
        let thread = self.built.recording.thread(self.built.jvm, None, name, Role::App);
        self.row(kind::SCHED_WATCHED, thread, (0, 60_000), None, &[]);
        thread
    }

    pub(crate) fn stack(&mut self, frames: &[(&str, FrameType)]) -> StackId {
        let recording = &mut self.built.recording;
        let outermost_first = frames.iter().rev();
        let stack = outermost_first.fold(None, |at, (name, frame_type)| {
            let module = if name.starts_with("fathom: ") { RECORDER_MODULE } else { "" };
            let frame = recording.frame(name, module, *frame_type, -1);
            Some(recording.stack(at, frame))
        });
        stack.unwrap()
    }

    pub(crate) fn row(
        &mut self,
        kind: &str,
        thread: ThreadId,
        ms: (i64, i64),
        stack: Option<StackId>,
        labels: &[(&str, &str)],
    ) {
        self.span(kind, thread, ms, stack, (&[], labels));
    }

    /// A wait for a CPU.
    pub(crate) fn queued(&mut self, thread: ThreadId, ms: (i64, i64)) {
        let queued_ns = ((ms.1 - ms.0) * MS) as f64;
        self.span(kind::SCHED_OFF, thread, ms, None, (&[(figure::RUNQ_NS, queued_ns)], &[]));
    }

    fn span(
        &mut self,
        kind: &str,
        thread: ThreadId,
        ms: (i64, i64),
        stack: Option<StackId>,
        (figures, labels): Named<'_>,
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
            figures,
            labels,
        });
    }

    /// A thread that is off the CPU for the first part of each 100 ms, so many milliseconds usually
    /// and while it is slow.
    pub(crate) fn off(
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

    pub(crate) fn diagnosis(self) -> Diagnosis {
        diagnose(&self.built.sealed(), &Options::default()).unwrap()
    }
}

pub(crate) fn is_slow(s: i64) -> bool {
    (20..40).contains(&s)
}

pub(super) fn found(diagnosis: &Diagnosis) -> &Finding {
    let found = diagnosis.findings.iter().find(|finding| finding.rule == RULE);
    found.unwrap_or_else(|| panic!("{diagnosis:#?}"))
}

#[test]
pub(super) fn of_threads_that_share_a_connection_the_peer_is_the_cause_and_the_others_wait_behind_it() {
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
    assert_eq!((finding.named(), finding.layer), ("10.0.0.7:5432", crate::Layer::Network));
    finding.title.states(&facts::DOING, &[("peer", "10.0.0.7:5432"), ("place", "shop.Pool.call")]);
    finding.title.states(&facts::BEHIND, &[("value", "10"), ("threads", "12")]);
    assert_eq!(finding.confidence, Confidence::Likely, "{finding:#?}");
    assert_eq!(diagnosis.findings.first().map(|f| f.rule), Some(RULE));
}

#[test]
pub(super) fn threads_that_hardly_wait_do_not_wait_behind_those_that_sleep() {
    let mut service = Service::of((300.0, 60.0));
    for i in 0..10 {
        let thread = service.thread(&format!("worker-{i}"));
        service.off(thread, &SLEEP, (0, 80), &[]);
    }
    for i in 0..2 {
        let thread = service.thread(&format!("poller-{i}"));
        service.off(thread, &PARK, (1, 5), &[]);
    }
    let diagnosis = service.diagnosis();
    let finding = found(&diagnosis);
    assert_eq!(finding.named(), "shop.Retry.backOff", "{finding:#?}");
    assert!(finding.title.fact().find(&facts::BEHIND).is_none(), "{finding:#?}");
}

#[test]
pub(super) fn growth_that_reads_as_none_is_not_reported_where_it_is_threads_at_a_time() {
    let counted = grew(&[(Category::C2, "shop.Price.parse", 0.0, 0.02)]);
    assert!(counted.is_enough(0.02));
    let per = Per { each: Each::Wall, ..counted.per };
    let at_a_time = Growth { per, ..counted };
    assert!(!at_a_time.is_enough(0.02) && at_a_time.is_enough(0.2));
}

#[test]
pub(super) fn halves_split_the_time_and_not_the_windows() {
    let intervals = Intervals::of([(0, 10), (20, 50)]);
    let (first, second) = halves(&intervals);
    assert_eq!((first.ranges(), second.ranges()), (&[(0, 10), (20, 30)][..], &[(30, 50)][..]));
}

pub(crate) const SLEEP: [(&str, FrameType); 3] = [
    ("do_nanosleep", FrameType::Kernel),
    ("java.lang.Thread.sleep", FrameType::C2),
    ("shop.Retry.backOff", FrameType::C2),
];

pub(super) const PACED: [(&str, FrameType); 3] = [
    ("futex_wait", FrameType::Kernel),
    ("java.util.concurrent.locks.LockSupport.parkNanos", FrameType::C2),
    ("shop.Worker.pace", FrameType::C2),
];

#[test]
pub(super) fn without_a_series_the_windows_are_those_in_which_threads_spend_their_time_differently() {
    let mut service = Service::uncounted();
    for i in 0..6 {
        let thread = service.thread(&format!("worker-{i}"));
        service.off(thread, &SLEEP, (0, 80), &[]);
    }
    let diagnosis = service.diagnosis();
    let finding = found(&diagnosis);
    assert_eq!(finding.named(), "shop.Retry.backOff", "{finding:#?}");
    // Nobody has measured a loss.
    assert_eq!((finding.confidence, finding.share), (Confidence::ConsistentWith, None));
    let [window] = diagnosis.windows.slow[..] else { panic!("{:?}", diagnosis.windows) };
    assert!((window.from_ns - 20 * S).abs() <= S && (window.to_ns - 40 * S).abs() <= S, "{window:?}");
    let changed = |how: &&crate::Statement| how.fact().find(&windows::CHANGE).is_some();
    let changed = diagnosis.windows.how.iter().find(changed).unwrap();
    changed.states(&windows::CHANGE, &[("doing", "asleep"), ("place", "shop.Retry.backOff")]);

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
pub(super) fn grew(parts: &[(Category, &'static str, f64, f64)]) -> Growth<'static> {
    let key = |(category, place): (&Category, &'static str)| Key { category: *category, place, target: "" };
    let grown = parts.iter().map(|(category, place, base, slow)| Grown {
        key: key((category, place)),
        cause: Cause { key: key((category, place)), other: None, by_lock: false },
        part: Part::default(),
        slow: *slow,
        base: *base,
        credit: 0.0,
        holds: true,
        runs_more: true,
        several: Vec::new(),
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
        of_code: 0.0,
        rules: &[],
    }
}

/// Stacks of a query: in the list of orders, and for each line of it.
pub(super) const QUERY: [(&str, FrameType); 3] = [
    ("ksys_read", FrameType::Kernel),
    ("sun.nio.ch.NioSocketImpl.read", FrameType::C2),
    ("shop.Database.query", FrameType::C2),
];

#[test]
fn what_threads_do_less_of_between_operations_hides_no_growth_of_their_latency() {
    let growth = grew(&[
        (Category::C2, "shop.Cache.get", 0.004, 0.041),
        (Category::RunQueue, "shop.Loop.pause", 0.074, 0.036),
        (Category::Sleep, "shop.Loop.pause", 0.9, 0.9),
    ]);
    let recording = crate::built::Built::jvm("25", "G1", 10.0).sealed();
    let loss = |measure, slow, base| crate::Loss {
        lost_ms: 5_000.0,
        measure: Some(measure),
        slow_rate: Some(slow),
        base_rate: Some(base),
        unit: "ms".into(),
        ..crate::Loss::default()
    };
    let took_longer = |loss| growth.took_longer(&Case { loss, ..crate::built::whole_run(&recording) }, 0.2);
    assert!(took_longer(loss(crate::Measure::Latency, 0.07, 0.03)));
    assert!(!took_longer(loss(crate::Measure::Throughput, 10.0, 20.0)), "nothing in all");
}

#[test]
pub(super) fn connections_that_are_no_longer_kept_are_reported_with_the_wait_for_the_peer() {
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
    assert_eq!((opened.rule, opened.named()), (RULE, "10.0.0.7:5432"), "{opened:#?}");
    opened.title.states(&facts::CONNECTIONS, &[("value", "6.0")]);
    opened.remedies[0].change.states(&remedies::KEEP_CONNECTIONS, &[]);
    // One for each operation is many where none was opened.
    diagnosis(13).findings[0].title.states(&facts::CONNECTIONS, &[("value", "1.0")]);
    let kept = &diagnosis(1).findings[0];
    assert_eq!(kept.title.fact().find(&facts::CONNECTIONS), None);
}

#[test]
pub(super) fn a_peer_that_is_asked_more_often_by_fewer_operations_is_not_slower() {
    let diagnosis = |calls_now: u64, by: Option<&str>| {
        // Of 300 operations a second 10 are left.
        let mut service = Service::of((300.0, 10.0));
        for i in 0..8 {
            let name = format!("worker-{i}");
            let thread = service.thread(&name);
            service.off(thread, &QUERY, (3, 80), &[(label::PEER, "10.0.0.7:5432")]);
            for s in 0..60 {
                let calls = if is_slow(s) { 10 * calls_now } else { 300 * 2 };
                service.built.counted_calls(by.unwrap_or(&name), "read", s as f64, 1_000.0, calls / 8);
            }
        }
        service.diagnosis().findings.remove(0)
    };
    let rows = diagnosis(60, None);
    assert_eq!((rows.rule, rows.named()), (RULE, "10.0.0.7:5432"), "{rows:#?}");
    rows.title.states(&facts::ASKED_MORE, &[("call", "read"), ("value", "60"), ("baseline", "2.0")]);
    assert!(rows.advises(&remedies::ASK_ONCE), "{rows:#?}");
    let slow = diagnosis(2, None);
    assert_eq!(slow.title.fact().find(&facts::ASKED_MORE), None, "{slow:#?}");
    let carried = diagnosis(60, Some("ForkJoinPool-1-worker-1"));
    carried.title.states(&facts::ASKED_MORE, &[("call", "read"), ("value", "60"), ("baseline", "2.0")]);
}

#[test]
pub(super) fn a_query_for_each_row_is_reported_as_more_calls_from_where_they_are_made() {
    let diagnosis = |calls_now: u64, kernel: &'static [(&str, FrameType)]| {
        let mut service = Service::of((300.0, 100.0));
        for i in 0..8 {
            let name = format!("worker-{i}");
            let thread = service.thread(&name);
            let query = [kernel, &QUERY[1..]].concat();
            let mut lines = query.clone();
            lines.push(("shop.Orders.loadLines", FrameType::C2));
            service.off(thread, &query, (3, 0), &[(label::PEER, "10.0.0.7:5432")]);
            service.off(thread, &lines, (0, 80), &[(label::PEER, "10.0.0.7:5432")]);
            for s in 0..60 {
                let calls = if is_slow(s) { 100 * calls_now } else { 300 * 2 };
                service.built.counted_calls(&name, "read", s as f64, 1_000.0, calls / 8);
            }
        }
        service.diagnosis()
    };
    // A read with a time-out waits in poll().
    let polled = diagnosis(120, &[("do_sys_poll", FrameType::Kernel), ("__x64_sys_poll", FrameType::Kernel)]);
    assert_eq!(polled.findings[0].rule, CALLS_RULE, "{:#?}", polled.findings[0]);
    let many = diagnosis(120, &QUERY[..1]);
    let first = &many.findings[0];
    assert_eq!(first.rule, CALLS_RULE, "{first:#?}");
    first
        .culprit
        .states(&culprits::METHOD, &[("value", "shop.Database.query"), ("caller", "shop.Orders.loadLines")]);
    first.title.states(
        &facts::MORE_CALLS,
        &[
            ("call", "read"),
            ("value", "120"),
            ("baseline", "2.0"),
            ("place", "shop.Database.query"),
            ("caller", "shop.Orders.loadLines"),
        ],
    );
    assert!(first.share.is_some_and(|share| share > 0.9), "{:?}", first.share);
    // As many calls an operation as ever: then it is the peer.
    let slower = diagnosis(2, &QUERY[..1]);
    let first = &slower.findings[0];
    assert_eq!((first.rule, first.named()), (RULE, "10.0.0.7:5432"), "{first:#?}");
    first.title.states(&facts::LARGEST, &[("caller", "shop.Orders.loadLines")]);
    first.title.states(&facts::DOING, &[("place", "shop.Database.query")]);
}

#[test]
pub(super) fn a_wait_behind_others_takes_no_more_than_each_of_them_waits() {
    // Two threads wait for a batch, and another one reads for most of the time: what it reads
    // cannot be what they wait for so much longer.
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
    assert_eq!(finding.named(), "shop.Journal.commit", "{finding:#?}");
}

#[test]
pub(super) fn virtual_threads_that_wait_on_their_carriers_are_said_to_keep_them() {
    let title = |tid: Option<i64>| {
        let mut service = Service::of((300.0, 30.0));
        let mut pinned = READ.to_vec();
        pinned.push(("java.lang.VirtualThread.run", FrameType::C2));
        for i in 0..2 {
            let name = format!("ForkJoinPool-1-worker-{i}");
            let tid = tid.map(|tid| tid + i);
            let carrier = service.built.recording.thread(service.built.jvm, tid, &name, Role::App);
            service.row(kind::SCHED_WATCHED, carrier, (0, 60_000), None, &[]);
            service.off(carrier, &pinned, (3, 95), &[(label::PEER, "10.0.0.7:5432")]);
        }
        found(&service.diagnosis()).title.clone()
    };
    assert!(title(Some(70)).fact().find(&facts::CARRIERS).is_some());
    // A virtual thread that left its carrier is not known to the kernel.
    assert_eq!(title(None).fact().find(&facts::CARRIERS), None);
}

#[test]
pub(super) fn waits_of_virtual_threads_are_named_by_the_method_on_their_stacks() {
    let mut service = Service::of((300.0, 30.0));
    // Somebody must have been watched for the baseline to be known.
    let carrier = service.thread("ForkJoinPool-1-worker-1");
    service.off(carrier, &PARK, (5, 5), &[]);
    let sleep = service.stack(&SLEEP);
    for i in 0..8 {
        let name = format!("virtual thread #{i}");
        let thread = service.built.recording.thread(service.built.jvm, None, &name, Role::App);
        for tenth in (0..600).filter(|tenth| is_slow(tenth / 10)) {
            service.row(kind::LOCK_PARK, thread, (tenth * 100, tenth * 100 + 95), Some(sleep), &[]);
        }
    }
    let diagnosis = service.diagnosis();
    let finding = found(&diagnosis);
    assert_eq!(finding.named(), "shop.Retry.backOff", "{finding:#?}");
}
