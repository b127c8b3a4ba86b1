//! Recordings made by hand: what differs is known.

use fathom_recording::vocabulary::{count, fact, figure, kind, sample, series};
use fathom_recording::{
    CountRow, FrameType, Process, ProcessId, Recording, Role, SampleRow, SeriesInfo, SeriesKind, Sink,
    Source, SourceId, SpanRow,
};

use super::{Asked, Change, RecordingsReport};
use crate::verdict::Verdict;

/// Tens of milliseconds after which a call comes, always the same, never in step.
fn wiggle(i: u64) -> i64 {
    ((i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) % 7) as i64 * 1_000_000
}

/// 32 s of a JVM: `operations` a second, and so many calls of `futex` and of `read` in each second.
fn recording(version: &str, arguments: &str, operations: f64, futexes: u64, reads: u64) -> Recording {
    let mut recording = Recording::new();
    let mut jvm = Process { name: "Shop".into(), jvm: true, ..Process::default() };
    for (key, value) in [(fact::JVM_VERSION, version), (fact::JVM_ARGS, arguments), (fact::CPUS, "2")] {
        jvm.facts.insert(key.to_owned(), value.to_owned());
    }
    let process = recording.add_process(jvm);
    let source = recording.add_source(Source { name: "x".into(), ..Source::default() });
    let thread = Some(recording.thread(process, Some(7), "main", Role::App));
    let info = SeriesInfo {
        name: series::THROUGHPUT.into(),
        unit: "ops/s".into(),
        instance: String::new(),
        kind: SeriesKind::Rate,
        process: None,
        source,
    };
    let throughput = recording.add_series(info);
    for second in 0..32_u64 {
        let t_ns = second as i64 * 1_000_000_000;
        let noise = 0.98 + wiggle(second) as f64 / 1e6 / 150.0;
        recording.point(throughput, t_ns, 1_000_000_000, operations * noise);
        for (name, number) in [("futex", futexes + second % 3), ("read", reads + second % 2)] {
            for call in 0..number {
                let t0_ns = t_ns + call as i64 * 1_000_000 + wiggle(call);
                recording.span(&SpanRow {
                    thread,
                    ..SpanRow::new(kind::SYSCALL, name, (t0_ns, t0_ns + 100_000), process, source)
                });
            }
        }
    }
    recording.seal();
    recording
}

fn compare(of: [String; 2], recordings: [Recording; 2]) -> RecordingsReport {
    super::compare(of, recordings, &Asked::default())
}

fn of() -> [String; 2] {
    ["a".to_owned(), "b".to_owned()]
}

#[test]
fn what_was_changed_differs_and_what_was_not_does_not() {
    let first = recording("17.0.15+6", "-Xmx1g", 500.0, 20, 40);
    let second = recording("25.0.3+9", "-Xmx2g", 400.0, 40, 40);
    let report = compare(of(), [first, second]);
    let differ = |id: &str| report.measures.iter().find(|m| m.id == id).map(|m| m.differs);
    assert_eq!(differ("throughput"), Some(true));
    assert_eq!((differ("syscalls.futex"), differ("syscalls.read")), (Some(true), Some(false)));
    assert!(report.measures[0].differs, "what differs comes first");
    assert_eq!(report.verdict.verdict, Verdict::Slower);
    assert!(report.verdict.sentence.starts_with("B does 0.80"), "{}", report.verdict.sentence);
    let what: Vec<&str> = report.differing.iter().map(|d| d.what).collect();
    assert_eq!(what, ["JDK", "flags"]);
    assert_eq!(report.differing[1].second.as_deref(), Some("-Xmx2g"));
    assert!(report.known_changes.iter().any(|m| m.change.id == "JEP 491" && m.second_has_it));
    assert_eq!(report.frames, None, "nothing was sampled");
}

/// A client of TLS 1.2 writes handshakes in full alone; its throughput says how many connections
/// there were.
#[test]
fn handshakes_in_full_are_counted_for_each_operation() {
    let client = |every: i64| {
        let mut recording = recording("25.0.3+9", "", 40.0, 20, 20);
        let (process, source) = (ProcessId(0), SourceId(0));
        for i in 0..32 * 40_i64 {
            let (t_ns, resumed) = (i * 25_000_000, f64::from(u8::from(i % every != 0)));
            recording.span(&SpanRow {
                figures: &[(figure::RESUMED, resumed)],
                ..SpanRow::new(kind::NET_TLS, "TLSv1.2", (t_ns, t_ns), process, source)
            });
        }
        recording.seal();
        recording
    };
    let report = compare(of(), [client(1), client(40)]);
    let of = |id: &str| report.measures.iter().find(|m| m.id == format!("calls.tls.{id}")).unwrap();
    let full = of("full");
    assert_eq!((full.unit, full.differs), ("1/op", true));
    assert!((full.first - 1.0).abs() < 0.05 && (full.second - 0.025).abs() < 0.02, "{full:?}");
    assert!(of("resumed").first == 0.0 && of("resumed").second > 0.9);
}

#[test]
fn a_recording_against_itself_differs_in_nothing() {
    let same = || recording("17.0.15+6", "-Xmx1g", 500.0, 20, 40);
    let report = compare(of(), [same(), same()]);
    assert_eq!(report.verdict.verdict, Verdict::NoDifference);
    assert!(report.measures.iter().all(|m| !m.differs) && report.differing.is_empty(), "{report:?}");
    assert!(report.known_changes.is_empty());
}

#[test]
fn nothing_against_something_says_that_it_cannot_tell() {
    let empty = || {
        let mut recording = Recording::new();
        recording.seal();
        recording
    };
    let report = compare(of(), [empty(), recording("17", "", 1.0, 1, 1)]);
    assert_eq!((report.verdict.verdict, report.measures.len()), (Verdict::CannotTell, 0));
    assert_eq!(
        report.verdict.sentence,
        "B against A: cannot tell; neither operations nor enough pauses of both are known"
    );
    assert_eq!(compare(of(), [empty(), empty()]).covers_s, [0.0, 0.0]);
}

/// Of 32 s with 100 operations each: frames with so many samples of 10 ms a second, those of two
/// names below another one; and system calls counted by the second.
fn sampled(counts: &[(&str, Option<&str>, u64)], calls: u64) -> Recording {
    let mut recording = recording("17.0.15+6", "-Xmx1g", 100.0, 1, 1);
    let (process, source) = (ProcessId(0), SourceId(0));
    let thread = Some(recording.thread(process, Some(7), "main", Role::App));
    for second in 0..32_i64 {
        let t0_ns = second * 1_000_000_000;
        for (i, (name, caller, number)) in counts.iter().enumerate() {
            let caller = caller.map(|caller| recording.frame(caller, "", FrameType::C2, -1));
            let caller = caller.map(|frame| recording.stack(None, frame));
            let frame = recording.frame(name, "", FrameType::C2, -1);
            let stack = Some(recording.stack(caller, frame));
            for n in 0..*number {
                let t_ns = t0_ns + n as i64 * 7_000_000 + i as i64 * 1_000;
                let weight = 10_000_000;
                let kind = sample::CPU;
                recording.sample(&SampleRow { kind, t_ns, process, thread, stack, weight, source });
            }
        }
        let interval = (t0_ns, t0_ns + 1_000_000_000);
        let made = CountRow::new(count::SYSCALL_TOTALS, "read", interval, process, source, calls);
        recording.count(&CountRow { thread, ..made });
    }
    recording.seal();
    recording
}

#[test]
fn cost_of_an_operation_is_new_gone_more_or_only_moved() {
    let first = sampled(
        &[("work", None, 20), ("caller", None, 4), ("callee", Some("caller"), 36), ("old", None, 9)],
        200,
    );
    let second = sampled(
        &[("work", None, 60), ("caller", None, 30), ("callee", Some("caller"), 10), ("new", None, 9)],
        400,
    );
    let report = compare(of(), [first, second]);
    let costs = report.costs.as_ref().unwrap();
    assert_eq!((costs.unit, costs.differ), ("ms/op", 5), "{costs:?}");
    let of = |name: &str| costs.moved.iter().find(|f| f.name == name).unwrap();
    let changes = ["work", "caller", "callee", "old", "new"].map(|name| of(name).change);
    // What "caller" costs with all that it calls is the same.
    assert_eq!(changes, [Change::More, Change::Moved, Change::Moved, Change::Gone, Change::New]);
    assert_eq!(costs.moved[0].name, "work", "what differs most comes first");
    // 20 and 60 samples of 10 ms in each second with 100 operations.
    let work = of("work");
    assert!((work.first - 2.0).abs() < 0.1 && (work.second - 6.0).abs() < 0.2, "{work:?}");
    assert!(work.difference[0] < 4.1 && work.difference[1] > 4.0 && work.p_value < 1e-3, "{work:?}");
    let operations = costs.operations.unwrap();
    assert!(operations.iter().all(|n| (3000.0..3300.0).contains(n)), "{operations:?}");
    // 200 and 400 calls a second.
    let calls = report.measures.iter().find(|m| m.id == "calls.system.read").unwrap();
    assert!(calls.differs && calls.unit == "1/op", "{calls:?}");
    assert!((calls.first - 2.0).abs() < 0.1 && (calls.second - 4.0).abs() < 0.2, "{calls:?}");
    let [low, high] = calls.held.unwrap().difference.unwrap();
    assert!(low < 2.1 && 2.0 < high && low > 1.5, "{calls:?}");
}

/// A method that has another name, and one that is called by nothing new: below the same caller,
/// whose cost distinguishes them.
#[test]
fn a_renamed_frame_is_no_new_cost_and_a_frame_more_is() {
    let side = |callee: &'static str, more: &[(&'static str, Option<&'static str>, u64)]| {
        let both = [("other", None, 30), ("caller", None, 4), (callee, Some("caller"), 20)];
        sampled(&[both.as_slice(), more].concat(), 1)
    };
    let changes = |second: Recording| {
        let report = compare(of(), [side("before", &[]), second]);
        [report.costs, report.frames].map(|frames| {
            let moved = frames.unwrap().moved;
            moved.into_iter().map(|f| (f.name, f.change)).collect::<std::collections::BTreeMap<_, _>>()
        })
    };
    for renamed in changes(side("after", &[])) {
        assert_eq!((renamed["before"], renamed["after"]), (Change::Moved, Change::Moved), "{renamed:?}");
    }
    for added in changes(side("before", &[("after", Some("caller"), 12)])) {
        assert_eq!(added["after"], Change::New, "{added:?}");
    }
}

#[test]
fn what_a_side_does_not_tell_is_neither_the_same_nor_another() {
    let mut silent = recording("17", "", 1.0, 1, 1);
    silent.processes[0].facts.remove(fact::CPUS);
    let report = compare(of(), [silent, recording("17", "", 1.0, 1, 1)]);
    let of = |what: &str| report.conditions.iter().find(|c| c.what == what).unwrap();
    assert_eq!((of("JDK").same, of("CPUs").same, of("memory").same), (Some(true), None, None));
    assert_eq!((of("CPUs").first.as_deref(), of("CPUs").second.as_deref()), (None, Some("2")));
    assert!(report.differing.is_empty(), "{report:?}");
}

/// A flight recording has memory in bytes, and a log in megabytes.
#[test]
fn memory_that_sources_round_otherwise_is_the_same() {
    let with = |bytes: &str| {
        let mut recording = recording("17", "", 1.0, 1, 1);
        recording.processes[0].facts.insert(fact::MEMORY_BYTES.to_owned(), bytes.to_owned());
        recording
    };
    let differing = |a: &str, b: &str| compare(of(), [with(a), with(b)]).differing;
    assert!(differing("25281679360", "25281167360").is_empty());
    assert_eq!(differing("25281679360", "8589934592")[0].what, "memory");
}

/// A class that only one side waits for counts as no wait on the other, where both have the same
/// collectors, and as unknown where they have not.
#[test]
fn a_lock_of_one_side_alone_is_told_where_the_other_was_looked_at_alike() {
    let waiting = |format: &str| {
        let mut recording = recording("17", "", 100.0, 1, 1);
        recording.sources[0].format = format.to_owned();
        for t0_ns in (0..320_i64).map(|i| i * 100_000_000) {
            recording.span(&SpanRow::new(
                kind::LOCK_MONITOR,
                "org.example.Shelf",
                (t0_ns, t0_ns + 20_000_000),
                ProcessId(0),
                SourceId(0),
            ));
        }
        recording.seal();
        recording
    };
    let compared = |format: &str| {
        let report = compare(of(), [recording("17", "", 100.0, 1, 1), waiting(format)]);
        report.measures.into_iter().find(|m| m.id == "locks.monitor.org.example.Shelf")
    };
    let shelf = compared("").unwrap();
    assert!(
        shelf.differs && shelf.first == 0.0 && (shelf.second - 2.0).abs() < 0.1 && shelf.unit == "ms/op",
        "{shelf:?}"
    );
    assert_eq!(compared("another"), None);
}

/// Timestamps at the limits of the type, and a window of no length.
#[test]
fn extreme_times_do_no_harm() {
    let extreme = |times: [i64; 2]| {
        let mut recording = recording("17", "", 1.0, 1, 1);
        let process = recording.add_process(Process::default());
        let source = recording.add_source(Source::default());
        for t0_ns in times {
            recording.span(&SpanRow::new(kind::SAFEPOINT, "x", (t0_ns, t0_ns), process, source));
        }
        recording.seal();
        recording
    };
    let report = compare(of(), [extreme([i64::MIN, i64::MAX]), extreme([0, 0])]);
    assert!(report.covers_s[0] > report.covers_s[1]);
}

/// Two pauses, of 60 and of 250 ms: by the limits that are usual, and by one of the user's.
#[test]
fn pauses_are_counted_over_the_limit_that_was_asked_for() {
    let paused = || {
        let mut recording = recording("17", "", 1.0, 1, 1);
        for (at_s, ms) in [(3, 60), (9, 250)] {
            let t0_ns = at_s * 1_000_000_000;
            let span = (t0_ns, t0_ns + ms * 1_000_000);
            recording.span(&SpanRow::new(kind::GC_PAUSE, "Pause Young", span, ProcessId(0), SourceId(0)));
        }
        recording.seal();
        recording
    };
    let over = |asked: &Asked| {
        let report = super::compare(of(), [paused(), paused()], asked);
        let counts = report.measures.into_iter().filter(|m| m.id.starts_with("gc.over_"));
        counts.map(|m| (m.id, m.first)).collect::<std::collections::BTreeMap<_, _>>()
    };
    let count = |id: &str, n: f64| (id.to_owned(), n);
    let usual = [count("gc.over_200_ms", 1.0), count("gc.over_500_ms", 0.0)];
    assert_eq!(over(&Asked::default()), usual.clone().into());
    let asked = Asked { long_pauses_ms: vec![50.0], ..Asked::default() };
    assert_eq!(over(&asked), [count("gc.over_50_ms", 2.0)].into());
}
