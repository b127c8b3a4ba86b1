//! Whole logs: what must come out of the real ones, and of the same cut off or damaged.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{fact, figure, kind, label};
use fathom_recording::{Recording, Span};

use super::LogCompilation;
use crate::{Format, Input, Lines};

fn read(bytes: Vec<u8>) -> Recording {
    let mut recording = Recording::new();
    let lines = Lines::new(Box::new(std::io::Cursor::new(bytes)));
    let mut input = Input { name: "jit.xml".to_owned(), modified: None, lines };
    LogCompilation.read(&mut input, &mut recording).expect("a log");
    recording.seal();
    recording
}

fn elasql(server: u32) -> Recording {
    let path = format!("{}/fixtures/elasql/jit{server}.xml.zst", env!("CARGO_MANIFEST_DIR"));
    let packed = std::fs::read(path).expect("the fixture");
    read(zstd::decode_all(&packed[..]).expect("zstd"))
}

fn count(recording: &Recording, kind: &str) -> usize {
    recording.spans_of(kind).len()
}

#[test]
fn every_record_of_a_real_log_is_counted() {
    // Counted with grep and awk in the logs themselves.
    let expected = [
        // server, queued, tasks, installed, not entrant or zombie, traps, dependencies, failures, sweeps
        (0, [4626, 4625, 4764, 3984, 196, 113, 45, 8]),
        (2, [4312, 4312, 4473, 2794, 176, 65, 23, 5]),
        (3, [2206, 2206, 2358, 600, 54, 30, 20, 1]),
    ];
    let kinds = [
        kind::JIT_QUEUE,
        kind::JIT_COMPILE,
        kind::JIT_INSTALL,
        kind::JIT_INVALIDATE,
        kind::JIT_TRAP,
        kind::JIT_DEPENDENCY,
        kind::JIT_FAILURE,
        kind::JIT_SWEEP,
    ];
    for (server, expected) in expected {
        let recording = elasql(server);
        assert_eq!(kinds.map(|kind| count(&recording, kind)), expected, "server {server}");
        let source = &recording.sources[0];
        assert_eq!((source.skipped, source.lost, source.cut), (0, 0, false), "{:?}", source.unknown);
        assert!(source.checks.len() == 3 && source.checks.iter().all(|c| c.holds), "{:?}", source.checks);
    }
}

/// The busiest 5 s: when they began, in seconds, and how many spans began in them.
fn busiest_5_s<'a>(spans: impl Iterator<Item = Span<'a>>) -> (i64, usize) {
    let mut starts = BTreeMap::new();
    for span in spans {
        *starts.entry(span.t0_ns() / 5_000_000_000 * 5).or_default() += 1;
    }
    // The start of the JVM is always busy.
    starts.into_iter().filter(|(from, _)| *from >= 30).max_by_key(|(_, n)| *n).expect("spans")
}

#[test]
fn the_compile_burst_of_the_migration_is_seen_in_queue_and_tasks() {
    let recording = elasql(2);
    assert_eq!(busiest_5_s(recording.spans_of(kind::JIT_QUEUE)), (180, 956));
    assert_eq!(busiest_5_s(recording.spans_of(kind::JIT_COMPILE)), (180, 879));
    let base = recording.spans_of(kind::JIT_QUEUE).filter(|s| s.t0_ns() / 1_000_000_000 / 5 == 34).count();
    assert_eq!(base, 1, "170 to 175 s");
    let migration = recording.spans_of(kind::JIT_QUEUE).filter(|s| s.name().contains(".migration.")).count();
    assert!(migration > 20, "{migration}");
}

#[test]
fn the_process_and_its_clock_are_told() {
    let recording = elasql(2);
    let [process] = &recording.processes[..] else { panic!("one process") };
    assert_eq!((process.pid, process.jvm), (Some(10544), true));
    assert_eq!(process.name, "org.elasql.bench.server.StartUp (10544)");
    assert_eq!(process.fact(fact::JDK), Some("17"));
    assert_eq!(process.fact(fact::JVM_VERSION), Some("17.0.15+6-Debian-1deb12u1"));
    assert_eq!(process.fact(fact::COMPILER_THREADS), Some("C1=1 C2=1"));
    assert!(process.fact(fact::JVM_ARGS).unwrap().starts_with("-Xmx1g -Xms1g -XX:+UseParallelGC"));
    let source = &recording.sources[0];
    assert_eq!(source.anchor.as_ref().unwrap().zero_epoch_ns, 1_795_210_275_183_000_000);
    assert_eq!(source.covers_ns, Some((25_000_000, 290_843_000_000)));
    assert_eq!((source.lines, source.bytes), (734_059, 38_300_416));
}

#[test]
fn a_task_is_told_whole_and_joined_with_its_wait() {
    let recording = elasql(2);
    let by_key = |kind: &str| recording.spans_of(kind).find(|s| s.key() == 1).expect("the first task");
    let task = by_key(kind::JIT_COMPILE);
    assert_eq!(task.name(), "java.lang.String.hashCode");
    assert_eq!((task.t0_ns(), task.t1_ns(), task.line()), (26_000_000, 26_000_000, 16_377));
    let figures: BTreeMap<_, _> = task.figures().collect();
    let expected = [
        (figure::TIER, 3.0),
        (figure::BYTECODES, 60.0),
        (figure::NMETHOD_BYTES, 816.0),
        (figure::INLINED_BYTES, 19.0),
        (figure::SUCCESS, 1.0),
        (figure::CODE_CACHE_FREE_BYTES, 250_614_272.0),
    ];
    assert_eq!(figures, BTreeMap::from(expected));
    assert_eq!(task.label(label::COMPILER), Some("c1"));
    let thread = &recording.threads[task.thread().expect("its thread").index()];
    assert_eq!((thread.tid, recording.strings.get(thread.name)), (Some(10571), "C1 CompilerThread0"));
    let wait = by_key(kind::JIT_QUEUE);
    assert_eq!((wait.t0_ns(), wait.t1_ns(), wait.line()), (25_000_000, 26_000_000, 57));
    assert_eq!(wait.label(label::REASON), Some("tiered"));
    assert_eq!(wait.figure(figure::WAIT_KNOWN), None);
    let install = by_key(kind::JIT_INSTALL);
    assert_eq!((install.t0_ns(), install.figure(figure::NMETHOD_BYTES)), (26_000_000, Some(1448.0)));
}

#[test]
fn the_task_that_the_exit_cut_off_and_the_one_still_queued_say_so() {
    let recording = elasql(0);
    let cut: Vec<_> =
        recording.spans_of(kind::JIT_COMPILE).filter(|s| s.label(label::CUT).is_some()).collect();
    let [cut] = &cut[..] else { panic!("one of the 4625 is cut off, not {}", cut.len()) };
    assert_eq!((cut.key(), cut.name()), (4811, "java.util.logging.LogManager.ensureLogManagerInitialized"));
    assert_eq!((cut.t0_ns(), cut.t1_ns()), (289_991_000_000, 290_928_000_000));
    let unknown: Vec<_> =
        recording.spans_of(kind::JIT_QUEUE).filter(|s| s.figure(figure::WAIT_KNOWN) == Some(0.0)).collect();
    assert_eq!(unknown.len(), 1);
    assert_eq!(unknown[0].duration_ns(), 0);
}

#[test]
fn code_cache_use_is_measured_against_the_default_size_that_fits() {
    let recording = elasql(2);
    let [series] = &recording.series[..] else { panic!("one series") };
    assert_eq!(series.info.name, "codecache.used");
    assert_eq!(series.value.len(), 4312 - 23, "a stale task tells no figure");
    assert_eq!(series.value[0], 240.0 * 1048576.0 - 250_614_272.0);
    assert!(series.t_ns.is_sorted());
}
