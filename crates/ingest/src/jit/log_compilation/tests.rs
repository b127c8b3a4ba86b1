//! Whole logs: what must be read from the real ones, and from the same truncated or damaged.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{fact, figure, kind, label};
use fathom_recording::{Recording, Span};

use super::LogCompilation;
use crate::{Confidence, Format, IngestError, Input, Lines};

fn read_or_refuse(bytes: &[u8]) -> Result<Recording, IngestError> {
    let mut recording = Recording::new();
    let lines = Lines::new(Box::new(std::io::Cursor::new(bytes.to_vec())));
    let mut input = Input { name: "jit.xml".to_owned(), modified: None, lines };
    LogCompilation.read(&mut input, &mut recording)?;
    recording.seal();
    Ok(recording)
}

fn read(bytes: &[u8]) -> Recording {
    read_or_refuse(bytes).expect("a log")
}

fn fixture(name: &str) -> Vec<u8> {
    let path = format!("{}/fixtures/{name}.zst", env!("CARGO_MANIFEST_DIR"));
    let packed = std::fs::read(path).expect("the fixture");
    zstd::decode_all(&packed[..]).expect("zstd")
}

fn elasql(server: u32) -> Recording {
    read(&fixture(&format!("elasql/jit{server}.xml")))
}

fn count(recording: &Recording, kind: &str) -> usize {
    recording.spans_of(kind).len()
}

#[test]
fn every_record_of_a_real_log_is_counted() {
    // Counted with grep and awk in the logs themselves.
    let expected = [
        // server, queued, tasks, installed, not entrant or zombie, traps, dependencies, failures,
        // sweeps
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
fn the_process_and_its_clock_are_read() {
    let recording = elasql(2);
    let [process] = &recording.processes[..] else { panic!("one process") };
    assert_eq!((process.pid, process.jvm), (Some(10544), true));
    assert_eq!(process.name, "org.elasql.bench.server.StartUp");
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
fn a_task_is_read_completely_and_joined_with_its_wait() {
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
fn the_task_that_the_exit_truncated_and_the_one_still_queued_are_marked() {
    let recording = elasql(0);
    let truncated: Vec<_> =
        recording.spans_of(kind::JIT_COMPILE).filter(|s| s.label(label::CUT).is_some()).collect();
    let [truncated] = &truncated[..] else { panic!("one of the 4625 is truncated, not {}", truncated.len()) };
    assert_eq!(
        (truncated.key(), truncated.name()),
        (4811, "java.util.logging.LogManager.ensureLogManagerInitialized")
    );
    assert_eq!((truncated.t0_ns(), truncated.t1_ns()), (289_991_000_000, 290_928_000_000));
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
    assert_eq!(series.value.len(), 4312 - 23, "a stale task has no value");
    assert_eq!(series.value[0], 240.0 * 1048576.0 - 250_614_272.0);
    assert!(series.t_ns.is_sorted());
}

/// A summary of a recording: process, source, and of each kind its count and the first and the last
/// span.
fn outline(recording: &Recording) -> String {
    let mut text = String::new();
    for process in &recording.processes {
        text += &format!("process {:?} {}\n", process.pid, process.name);
        process.facts.iter().for_each(|(key, value)| text += &format!("  {key}: {value}\n"));
    }
    for source in &recording.sources {
        let zero = source.anchor.as_ref().map(|anchor| anchor.zero_epoch_ns);
        text += &format!("source {} zero {zero:?} covers {:?}\n", source.name, source.covers_ns);
        let (lines, records, skipped) = (source.lines, source.records, source.skipped);
        text += &format!("  {lines} lines, {records} records, {skipped} skipped, cut: {}\n", source.cut);
        source.unknown.iter().for_each(|line| text += &format!("  unknown {}: {}\n", line.line, line.text));
        for check in &source.checks {
            text += &format!("  {}: {} ({})\n", check.claim, check.holds, check.detail);
        }
    }
    for series in &recording.series {
        let (first, last) = (series.value.first(), series.value.last());
        text +=
            &format!("series {}: {} points, {first:?} to {last:?}\n", series.info.name, series.value.len());
    }
    for (kind, n) in recording.kinds() {
        text += &format!("{kind}: {n}\n");
        let mut spans = recording.spans_of(kind);
        for span in spans.next().into_iter().chain(spans.next_back()) {
            let figures: Vec<_> = span.figures().map(|(key, value)| format!("{key}={value}")).collect();
            let labels: Vec<_> = span.labels().map(|(key, value)| format!("{key}={value}")).collect();
            text += &format!(
                "  {}..{} #{} {} [{}] {{{}}} {}\n",
                span.t0_ns() / 1_000_000,
                span.t1_ns() / 1_000_000,
                span.key(),
                span.name(),
                figures.join(" "),
                labels.join("; "),
                span.position(),
            );
        }
    }
    text
}

#[test]
fn logs_of_four_jdks_are_read_as_they_were() {
    for jdk in [11, 17, 21, 25] {
        let recording = read(&fixture(&format!("jit/jdk{jdk}.xml")));
        insta::assert_snapshot!(format!("jdk{jdk}"), outline(&recording));
    }
}

#[test]
fn a_log_truncated_by_kill_9_and_its_threads_files_are_read_as_they_were() {
    insta::assert_snapshot!("killed", outline(&read(&fixture("jit/jdk17-killed.xml"))));
    insta::assert_snapshot!("killed_c1", outline(&read(&fixture("jit/hs_c24557_pid24538.log"))));
    insta::assert_snapshot!("killed_c2", outline(&read(&fixture("jit/hs_c24556_pid24538.log"))));
}

#[test]
fn a_log_is_recognised_by_its_content() {
    let sniff = |bytes: &[u8]| LogCompilation.sniff(bytes);
    assert_eq!(sniff(&fixture("jit/jdk25.xml")), Confidence(100));
    assert_eq!(sniff(&fixture("jit/hs_c24557_pid24538.log")), Confidence(95));
    let log = fixture("jit/jdk17.xml");
    assert_eq!(sniff(&log[log.len() / 2..]), Confidence(80), "the end of a log");
    assert_eq!(sniff(b"<?xml version='1.0'?>\n<html>"), Confidence(0));
    assert_eq!(sniff(b""), Confidence(0));
}

/// A log of a few lines in the main stream.
fn in_main_stream(lines: &str) -> Recording {
    read(format!("<hotspot_log version='160 1' process='7' time_ms='1000'>\n<tty>\n{lines}").as_bytes())
}

#[test]
fn a_full_code_cache_says_whether_the_compiler_was_switched_off() {
    let full = "<code_cache_full total_blobs='2508' nmethods='2171' adapters='249' free_code_cache='128' stamp='2.272'/>\n";
    let recording = in_main_stream(&format!(
        "{full}CodeCache: size=3200Kb used=3199Kb max_used=3199Kb free=0Kb\n\
         \x20compilation: disabled (not enough contiguous free space left)\n full_count=1\n<writer thread='1'/>\n{full}"
    ));
    let spans: Vec<_> = recording.spans_of(kind::JIT_CODE_CACHE_FULL).collect();
    assert_eq!(spans.len(), 2);
    assert_eq!(spans[0].figure(figure::COMPILER_DISABLED), Some(1.0));
    assert_eq!(spans[0].figure(figure::CODE_CACHE_FREE_BYTES), Some(128.0));
    assert_eq!(spans[1].figure(figure::COMPILER_DISABLED), None);
    assert_eq!(recording.sources[0].skipped, 0);
}

#[test]
fn jdk_8_spells_methods_with_slashes_and_gives_no_thread_names() {
    let recording = in_main_stream(
        "<task_queued compile_id='1' compile_kind='osr' method='java/lang/String hashCode ()I' bytes='55' osr_bci='2' \
         stamp='0.100' comment='count'/>\n\
         <task_queued compile_id='1' method='java/lang/String hashCode ()I' bytes='55' level='3' stamp='0.090'/>\n\
         <nmethod compile_id='1' compiler='C1' level='3' size='9' method='java/lang/String hashCode ()I' stamp='0.095'/>\n\
         <make_not_entrant thread='9' zombie='1' compile_id='1' compiler='C1' level='3' stamp='0.200'/>\n\
         </tty>\n<compilation_log thread='11'>\n<start_compile_thread thread='11' process='7' stamp='0.050'/>\n\
         <task compile_id='1' compile_kind='osr' method='java/lang/String hashCode ()I' bytes='55' osr_bci='2' stamp='0.120'>\n\
         <failure reason='out of nodes' phase='compile'/>\n<task_done success='0' nmsize='0' count='1' stamp='0.150'/>\n\
         </task>\n</compilation_log>\n<hotspot_log_done stamp='0.300'/>\n</hotspot_log>\n",
    );
    let waits: Vec<_> = recording.spans_of(kind::JIT_QUEUE).map(|s| (s.t0_ns(), s.t1_ns())).collect();
    assert_eq!(waits, [(90_000_000, 95_000_000), (100_000_000, 120_000_000)]);
    let zombie = recording.spans_of(kind::JIT_INVALIDATE).next().unwrap();
    assert_eq!((zombie.name(), zombie.label(label::REASON)), ("java.lang.String.hashCode", Some("zombie")));
    let task = recording.spans_of(kind::JIT_COMPILE).next().unwrap();
    assert_eq!((task.figure(figure::TIER), task.figure(figure::SUCCESS)), (Some(4.0), Some(0.0)));
    let thread = &recording.threads[task.thread().unwrap().index()];
    assert_eq!(recording.strings.get(thread.name), "C2 CompilerThread");
    let failure = recording.spans_of(kind::JIT_FAILURE).next().unwrap();
    assert_eq!(failure.label(label::REASON), Some("out of nodes"));
}

#[test]
fn an_element_that_nobody_knows_is_counted_and_shown() {
    let recording =
        in_main_stream("<novelty stamp='0.1'/>\n<task_queued compile_id='x'/>\n<writer thread='1'/>\n");
    let source = &recording.sources[0];
    assert_eq!((source.skipped, source.cut), (2, true));
    let unknown: Vec<_> = source.unknown.iter().map(|u| (u.line, u.text.as_str())).collect();
    assert_eq!(unknown, [(3, "<novelty stamp='0.1'/>"), (4, "<task_queued compile_id='x'/>")]);
}

#[test]
fn two_runs_in_one_file_are_two_processes() {
    let log = fixture("jit/jdk17.xml");
    let recording = read(&[&log[..], &log[..]].concat());
    let names: Vec<_> = recording.sources.iter().map(|s| (s.name.as_str(), s.records, s.skipped)).collect();
    assert_eq!((names[0].0, names[1].0), ("jit.xml", "jit.xml #2"));
    assert_eq!((names[0].1, names[0].2), (names[1].1, names[1].2));
    assert_eq!(recording.processes.len(), 2);
}

#[test]
fn a_failed_check_is_reported() {
    let recording = read(
        b"<hotspot_log version='160 1' process='7' time_ms='1000'>\n<tty>\n\
        <task_queued compile_id='1' method='A b ()V' stamp='0.200'/>\n</tty>\n<compilation_log thread='1'>\n\
        <task compile_id='1' method='A b ()V' stamp='0.100'>\n<task_done success='1' stamp='0.050'/>\n</task>\n\
        <task compile_id='2' method='A b ()V' stamp='0.100'>\n<task_done success='1' stamp='0.150'/>\n</task>\n\
        </compilation_log>\n</hotspot_log>\n",
    );
    let failed: Vec<_> =
        recording.sources[0].checks.iter().filter(|c| !c.holds).map(|c| &c.claim[..]).collect();
    assert_eq!(
        failed,
        [
            "every queued task is accounted for",
            "no wait in the queue is negative",
            "no task ends before it starts"
        ]
    );
    assert!(recording.spans_of(kind::JIT_QUEUE).all(|s| s.duration_ns() == 0));
}

#[test]
fn a_log_truncated_anywhere_is_read_up_to_there() {
    let log = fixture("jit/jdk17.xml");
    let whole = read(&log).sources[0].records;
    let mut last = 0;
    // 97 is prime to the length of lines, so that logs are truncated everywhere within them.
    for length in (400..log.len()).step_by(97 * 131) {
        let recording = read(&log[..length]);
        let source = &recording.sources[0];
        assert!(source.cut, "{length}");
        assert_eq!((source.skipped, source.lost), (0, 0), "{length}: {:?}", source.unknown);
        assert!(source.checks.iter().all(|c| c.holds), "{length}: {:?}", source.checks);
        // A wait that was open becomes a record where its task is missing.
        assert!(source.records >= last || source.records + 4 >= last, "{length}");
        last = source.records;
    }
    assert!(last <= whole + 4, "{last} of {whole}");
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(24))]

    #[test]
    fn no_flipped_bytes_make_it_panic(
        flips in proptest::collection::vec((0_usize..110_000, proptest::num::u8::ANY), 1..400),
        length in 0_usize..118_784,
    ) {
        let mut log = fixture("jit/jdk17-killed.xml");
        // The main stream followed by the end of a thread's file: every kind of element.
        log.truncate(60_000);
        log.extend_from_slice(&fixture("jit/hs_c24557_pid24538.log")[..50_000]);
        for (at, byte) in flips {
            log[at] = byte;
        }
        log.truncate(length);
        // Refused when nothing of it could be used.
        let _ = read_or_refuse(&log);
    }
}
