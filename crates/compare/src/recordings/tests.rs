//! Recordings made by hand: what differs is known.

use fathom_recording::vocabulary::{fact, kind, series};
use fathom_recording::{Process, Recording, Role, SeriesInfo, SeriesKind, Sink, Source, SpanRow};

use super::compare;
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
                    kind: kind::SYSCALL,
                    name,
                    t0_ns,
                    t1_ns: t0_ns + 100_000,
                    process,
                    thread,
                    stack: None,
                    source,
                    line: 0,
                    key: -1,
                    parent: None,
                    figures: &[],
                    labels: &[],
                });
            }
        }
    }
    recording.seal();
    recording
}

fn of() -> [String; 2] {
    ["a".to_owned(), "b".to_owned()]
}

#[test]
fn what_was_changed_differs_and_what_was_not_does_not() {
    let first = recording("17.0.15+6", "-Xmx1g", 500.0, 20, 40);
    let second = recording("25.0.3+9", "-Xmx2g", 400.0, 40, 40);
    let report = compare(of(), [first, second], 0.01);
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

#[test]
fn a_recording_against_itself_differs_in_nothing() {
    let same = || recording("17.0.15+6", "-Xmx1g", 500.0, 20, 40);
    let report = compare(of(), [same(), same()], 0.01);
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
    let report = compare(of(), [empty(), recording("17", "", 1.0, 1, 1)], 0.01);
    assert_eq!((report.verdict.verdict, report.measures.len()), (Verdict::CannotTell, 0));
    assert_eq!(
        report.verdict.sentence,
        "B against A: cannot tell; neither operations nor enough pauses of both are known"
    );
    assert_eq!(compare(of(), [empty(), empty()], 0.01).covers_s, [0.0, 0.0]);
}

/// Times at the ends of what can be told, and a window of no length.
#[test]
fn extreme_times_do_no_harm() {
    let extreme = |times: [i64; 2]| {
        let mut recording = recording("17", "", 1.0, 1, 1);
        let process = recording.add_process(Process::default());
        let source = recording.add_source(Source::default());
        for t0_ns in times {
            recording.span(&SpanRow {
                kind: kind::SAFEPOINT,
                name: "x",
                t0_ns,
                t1_ns: t0_ns,
                process,
                thread: None,
                stack: None,
                source,
                line: 0,
                key: -1,
                parent: None,
                figures: &[],
                labels: &[],
            });
        }
        recording.seal();
        recording
    };
    let report = compare(of(), [extreme([i64::MIN, i64::MAX]), extreme([0, 0])], 0.01);
    assert!(report.covers_s[0] > report.covers_s[1]);
}
