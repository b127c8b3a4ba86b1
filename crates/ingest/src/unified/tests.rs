//! Whole logs through the reader: shapes of lines in small texts, and logs of real JVMs from
//! `fixtures/unified/`.

mod pauses;
mod runs;

use std::fmt::Write as _;
use std::io::Cursor;
use std::path::PathBuf;

use fathom_recording::vocabulary::{fact, figure, kind, label};
use fathom_recording::{ClockBasis, Recording, Span};
use proptest::prelude::*;

use super::*;

fn try_read(bytes: &[u8]) -> Option<Recording> {
    let mut recording = Recording::new();
    let lines = Lines::new(Box::new(Cursor::new(bytes.to_vec())));
    let mut input = Input { name: "gc.log".into(), modified: None, lines };
    UnifiedLog.read(&mut input, &mut recording).ok()?;
    recording.seal();
    Some(recording)
}

fn read(text: &str) -> Recording {
    try_read(text.as_bytes()).expect("a unified log")
}

fn only<'r>(recording: &'r Recording, kind: &str) -> Span<'r> {
    let spans: Vec<_> = recording.spans_of(kind).collect();
    assert_eq!(spans.len(), 1, "{kind}");
    spans[0]
}

fn failed(recording: &Recording) -> Vec<String> {
    let checks = recording.sources.iter().flat_map(|s| &s.checks);
    checks.filter(|c| !c.holds).map(|c| format!("{}: {}", c.claim, c.detail)).collect()
}

fn fixture(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/unified").join(name);
    zstd::decode_all(std::fs::File::open(path).unwrap()).unwrap()
}

const G1_PAUSE: &str = "\
[0.049s][info][gc,init] Heap Region Size: 2M
[30.402s][info][gc,start    ] GC(181) Pause Young (Normal) (G1 Evacuation Pause)
[50.148s][info][gc,task     ] GC(181) Using 2 workers of 2 for evacuation
[50.277s][info][gc,phases   ] GC(181)   Pre Evacuate Collection Set: 0.9ms
[50.277s][info][gc,phases   ] GC(181)   Merge Heap Roots: 0.7ms
[50.277s][info][gc,phases   ] GC(181)   Evacuate Collection Set: 121.7ms
[50.277s][info][gc,phases   ] GC(181)   Post Evacuate Collection Set: 5.1ms
[50.277s][info][gc,phases   ] GC(181)   Other: 19746.3ms
[50.277s][info][gc,heap     ] GC(181) Eden regions: 464->0(388)
[50.277s][info][gc,heap     ] GC(181) Survivor regions: 81->69(69)
[50.277s][info][gc,heap     ] GC(181) Old regions: 1040->1169
[50.277s][info][gc,heap     ] GC(181) Humongous regions: 3->1
[50.277s][info][gc          ] GC(181) Pause Young (Normal) (G1 Evacuation Pause) 3171M->2476M(4096M) 19875.187ms
[50.277s][info][gc,cpu      ] GC(181) User=0.06s Sys=0.02s Real=19.87s
";

#[test]
fn every_decoration_set_gives_the_same_pause() {
    let body = "GC(7) Pause Young (Mixed) (G1 Evacuation Pause) 28M->8M(90M) 4.512ms";
    for decorations in [
        "[2026-11-20T21:59:52.977+0000]",
        "[2026-11-20T21:59:52.977+0000][0.041s][myhost][12][13][info][gc          ]",
        "[41ms]",
        "[1790000000000ms][info ]",
        "[123456789ns][gc]",
        "[info][gc]",
        "[0,041s]",
        "",
    ] {
        let line = if decorations.is_empty() { body.to_owned() } else { format!("{decorations} {body}") };
        let recording = read(&format!("{line}\n"));
        let pause = only(&recording, kind::GC_PAUSE);
        assert_eq!((pause.duration_ns(), pause.key()), (4_512_000, 7), "{line}");
        assert_eq!(failed(&recording), [""; 0], "{line}");
    }
}

#[test]
fn a_log_without_timestamps_has_its_pauses_one_after_another() {
    let recording = read(
        "GC(0) Pause Young (Normal) 2M->1M(4M) 1.5ms\nGC(1) Pause Full (System.gc()) 2M->1M(4M) 2.5ms\n",
    );
    let pauses: Vec<_> = recording.spans_of(kind::GC_PAUSE).map(|p| (p.t0_ns(), p.duration_ns())).collect();
    assert_eq!(recording.sources[0].clock, ClockBasis::None);
    assert_eq!(pauses.iter().map(|p| p.1).collect::<Vec<_>>(), [1_500_000, 2_500_000]);
    assert!(pauses[1].0 >= pauses[0].0 + 1_500_000, "{pauses:?}");
    assert_eq!(failed(&recording), [""; 0]);
}

#[test]
fn facts_are_read_without_tags_and_before_the_first_certain_line() {
    let recording = read(
        "noise\n[0.1s] Version: 17.0.10+7-LTS (release)\n[0.1s] CPUs: 12 total, 3 available\n[0.2s] Using G1\n[0.2s] Memory: 31900M\n",
    );
    let process = &recording.processes[0];
    assert_eq!(process.fact(fact::JVM_VERSION), Some("17.0.10+7-LTS"));
    assert_eq!((process.fact(fact::CPUS), process.fact(fact::JDK)), (Some("3"), Some("17")));
    assert_eq!(process.fact(fact::MEMORY_BYTES), Some("33449574400"));
    assert_eq!((recording.sources[0].skipped, recording.sources[0].unknown[0].line), (1, 1));
}

#[test]
fn arguments_are_kept_without_their_secrets_and_name_the_process() {
    // JDK 25 with -Xlog:arguments,gc.
    let recording = read(
        "\
[0.000s][info][arguments] VM Arguments:
[0.000s][info][arguments] jvm_args: -Xmx200m -Ddb.password=hunter2 -Xlog:arguments*=debug,gc:file=x.log 
[0.000s][info][arguments] java_command: org.example.Load --token t0p
[0.000s][info][arguments] java_class_path (initial): /opt/load
[0.025s][info][gc       ] Using G1
",
    );
    let process = &recording.processes[0];
    assert_eq!(
        (process.name.as_str(), process.fact(fact::MAIN)),
        ("org.example.Load", Some("org.example.Load"))
    );
    let args = "-Xmx200m -Ddb.password=*** -Xlog:arguments*=debug,gc:file=x.log";
    assert_eq!(process.fact(fact::JVM_ARGS), Some(args));
    assert!(process.facts.values().all(|fact| !fact.contains("hunter2") && !fact.contains("t0p")));
    assert_eq!((recording.sources.len(), recording.sources[0].skipped), (1, 0));
}

#[test]
fn safepoints_of_every_generation() {
    let of = |text: &str| {
        let recording = read(text);
        let stop = only(&recording, kind::SAFEPOINT);
        let figures: Vec<_> = stop.figures().map(|(k, v)| (k.to_owned(), v as i64)).collect();
        (stop.name().to_owned(), stop.duration_ns(), stop.t1_ns(), figures)
    };
    let named = |pairs: &[(&str, i64)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect::<Vec<_>>();
    let eleven = of("\
[0.068s][info][safepoint ] Application time: 0.0047431 seconds
[0.068s][info][safepoint ] Entering safepoint region: RevokeBias
[0.069s][info][safepoint ] Leaving safepoint region
[0.069s][info][safepoint ] Total time for which application threads were stopped: 0.0001188 seconds, Stopping threads took: 0.0000384 seconds
");
    let figures = named(&[(figure::REACH_NS, 38_400), (figure::SINCE_LAST_NS, 4_743_100)]);
    assert_eq!(eleven, ("RevokeBias".into(), 118_800, 69_000_000, figures));
    let fourteen = of(
        "[0.1s][info][safepoint] Safepoint \"G1CollectForAllocation\", Time since last: 5 ns, Reaching safepoint: 7 ns, At safepoint: 11 ns, Total: 18 ns\n",
    );
    let figures = named(&[
        (figure::SINCE_LAST_NS, 5),
        (figure::REACH_NS, 7),
        (figure::AT_NS, 11),
        (figure::REACH_INCLUDES_CLEANUP, 1),
    ]);
    assert_eq!(fourteen, ("G1CollectForAllocation".into(), 18, 100_000_000, figures));
    let seventeen = of(
        "[0.1s][info][safepoint] Safepoint \"ICBufferFull\", Time since last: 5 ns, Reaching safepoint: 7 ns, Cleanup: 3 ns, At safepoint: 11 ns, Total: 21 ns\n",
    );
    let figures = named(&[
        (figure::SINCE_LAST_NS, 5),
        (figure::REACH_NS, 7),
        (figure::CLEANUP_NS, 3),
        (figure::AT_NS, 11),
    ]);
    assert_eq!(seventeen, ("ICBufferFull".into(), 21, 100_000_000, figures));
    let twenty_five = of(
        "[0.1s][info][safepoint] Safepoint \"G1PauseRemark\", Time since last: 5 ns, Reaching safepoint: 7 ns, At safepoint: 11 ns, Leaving safepoint: 2 ns, Total: 20 ns, Threads: 2 runnable, 12 total\n",
    );
    let figures = named(&[
        (figure::SINCE_LAST_NS, 5),
        (figure::REACH_NS, 7),
        (figure::AT_NS, 11),
        (figure::LEAVE_NS, 2),
        (figure::THREADS_RUNNABLE, 2),
        (figure::THREADS, 12),
    ]);
    assert_eq!(twenty_five, ("G1PauseRemark".into(), 20, 100_000_000, figures));
}

#[test]
fn a_safepoint_in_table_and_line_is_one() {
    let row = "[0.1s][info][safepoint,stats] G1CollectForAllocation       [             13               1 ][             4036      57386    4571350    4632772 ]               0\n";
    let line = "[0.1s][info][safepoint] Safepoint \"G1CollectForAllocation\", Time since last: 1 ns, Reaching safepoint: 4036 ns, Cleanup: 57386 ns, At safepoint: 4571350 ns, Total: 4632772 ns\n";
    assert_eq!(read(&format!("{row}{line}")).spans_of(kind::SAFEPOINT).len(), 1);
    let table = read(row);
    let stop = only(&table, kind::SAFEPOINT);
    assert_eq!((stop.duration_ns(), stop.figure(figure::AT_NS)), (4_632_772, Some(4_571_350.0)));
}

#[test]
fn stalls_are_of_one_thread_and_no_pause() {
    let recording = read(
        "\
[0.303s][info][gc] Allocation Stall (pool-1 (main)) 1.499ms
[0.304s][info][gc] GC(2) y: Relocation Stall (ZWorkerYoung#0) 0.200ms
",
    );
    let stalls: Vec<_> = recording.spans_of(kind::GC_STALL).collect();
    let threads: Vec<_> =
        stalls.iter().map(|s| recording.threads[s.thread().unwrap().index()].clone()).collect();
    assert_eq!(recording.strings.get(threads[0].name), "pool-1 (main)");
    assert_eq!(threads[1].role, fathom_recording::Role::Gc);
    assert_eq!((stalls[0].name(), stalls[0].duration_ns()), ("Allocation Stall", 1_499_000));
    assert_eq!(recording.spans_of(kind::GC_PAUSE).len(), 0);
}

/// A summary of a log.
fn summary(recording: &Recording) -> String {
    let mut text = String::new();
    for source in &recording.sources {
        writeln!(
            text,
            "{}: {:?}, {} records, {} skipped, {} lost, cut {}",
            source.name, source.clock, source.records, source.skipped, source.lost, source.cut
        )
        .unwrap();
        for check in &source.checks {
            writeln!(
                text,
                "  {} {} ({})",
                if check.holds { "ok" } else { "FAILS" },
                check.claim,
                check.detail
            )
            .unwrap();
        }
    }
    for process in &recording.processes {
        writeln!(text, "{:?}", process.facts).unwrap();
    }
    for (kind, count) in recording.kinds() {
        writeln!(text, "{kind} {count}").unwrap();
        let mut names: std::collections::BTreeMap<String, (u32, i64)> = Default::default();
        for span in recording.spans_of(kind) {
            let cause = span.label(label::CAUSE).map(|c| format!(" ({c})")).unwrap_or_default();
            let qualifiers: String =
                span.labels().filter(|l| l.0 == label::QUALIFIER).map(|l| format!(" ?{}", l.1)).collect();
            let sum = names.entry(format!("{}{cause}{qualifiers}", span.name())).or_default();
            sum.0 += 1;
            sum.1 += span.duration_ns();
        }
        for (name, (count, ns)) in names {
            writeln!(text, "  {count} × {name}: {:.6} ms", ns as f64 / 1e6).unwrap();
        }
        for span in recording.spans_of(kind).take(2) {
            writeln!(
                text,
                "  line {} key {} {:?}",
                span.line(),
                span.key(),
                span.figures().collect::<Vec<_>>()
            )
            .unwrap();
        }
    }
    text
}

#[test]
fn logs_of_real_jvms_read_as_they_did() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/unified");
    let mut names: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(".log.zst"));
    names.sort();
    assert!(names.len() >= 26);
    for name in names {
        let recording = try_read(&fixture(&name)).unwrap();
        assert_eq!(failed(&recording), [""; 0], "{name}");
        insta::assert_snapshot!(name.trim_end_matches(".log.zst"), summary(&recording));
    }
}

/// Whatever the bytes are, the result is consistent.
fn is_sound(bytes: &[u8]) {
    let Some(recording) = try_read(bytes) else { return };
    for (kind, _) in recording.kinds() {
        for span in recording.spans_of(kind) {
            assert!(span.duration_ns() >= 0);
            assert!(
                span.figures().all(|(_, v)| v.is_finite() && v >= -1.0),
                "{:?}",
                span.figures().collect::<Vec<_>>()
            );
        }
    }
    assert!(recording.sources.iter().all(|s| s.checks.len() == 4));
    assert!(recording.sources.iter().all(|s| s.checks[0].holds), "no negative pause");
}

const DAMAGED: &[&str] =
    &["g1-25.log.zst", "serial-11.log.zst", "genzgc-21.log.zst", "shen-17.log.zst", "codecache-25.log.zst"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn a_log_truncated_anywhere_is_consistent(which in 0..DAMAGED.len(), from in 0.0..1.0f64, length in 0usize..30_000) {
        let log = fixture(DAMAGED[which]);
        let from = (from * log.len() as f64) as usize;
        is_sound(&log[from..(from + length).min(log.len())]);
    }

    #[test]
    fn a_log_with_flipped_bytes_is_sound(
        which in 0..DAMAGED.len(),
        flips in prop::collection::vec((0usize..20_000, any::<u8>()), 1..200),
    ) {
        let mut log = fixture(DAMAGED[which]);
        log.truncate(20_000);
        for (at, byte) in flips {
            let at = at % log.len();
            log[at] = byte;
        }
        is_sound(&log);
    }
}

/// Both fixtures begin with two lines of the JVM, not of its log, which report that the flags of
/// the table are deprecated.
fn assert_only_deprecations_are_unknown(recording: &Recording) {
    let source = &recording.sources[0];
    assert!(source.unknown.iter().all(|line| line.text.contains("was deprecated")), "{:?}", source.unknown);
    assert_eq!(source.skipped, 2);
}

#[test]
fn rows_of_the_table_that_jdk_9_to_12_print_past_their_log_give_its_stops_their_threads() {
    let text = String::from_utf8(fixture("safepoint-table-11.log.zst")).unwrap();
    let recording = read(&text);
    assert_only_deprecations_are_unknown(&recording);
    assert_eq!(failed(&recording), [""; 0]);
    let lines = text.matches("Total time for which").count();
    let stops: Vec<_> = recording.spans_of(kind::SAFEPOINT).collect();
    assert_eq!(
        (lines, stops.len()),
        (19, 20),
        "the JVM ends within its last one, which has a row but no line"
    );
    for stop in &stops {
        assert!(stop.figure(figure::THREADS).is_some_and(|n| n >= 8.0), "{}", stop.position());
        assert!(stop.figure(figure::CLEANUP_NS).is_some(), "{}", stop.position());
    }
    let exact = stops.iter().filter(|stop| stop.duration_ns() % 1_000_000 != 0).count();
    assert_eq!(exact, lines, "a line's own length is the better one");
    assert_eq!(stops[19].name(), "no vm operation");
}

#[test]
fn rows_without_lines_are_stops() {
    let text = String::from_utf8(fixture("safepoint-rows-11.log.zst")).unwrap();
    let recording = read(&text);
    assert_only_deprecations_are_unknown(&recording);
    let is_row = |l: &&str| l.contains("][") && l.trim_start().starts_with(|c: char| c.is_ascii_digit());
    let rows = text.lines().filter(is_row).count();
    assert_eq!(recording.spans_of(kind::SAFEPOINT).count(), rows);
    let young = |stop: &Span<'_>| stop.name() == "G1CollectForAllocation";
    assert_eq!(recording.spans_of(kind::SAFEPOINT).filter(young).count(), 101, "as the JVM itself counts");
    let plain = recording.spans_of(kind::GC_PAUSE).count();
    assert_eq!(plain, text.lines().filter(|l| l.contains("] GC(") && l.contains(" Pause ")).count());
}

#[test]
fn a_cycle_that_is_cancelled_before_its_first_phase_is_accounted_for() {
    let recording = read(
        "[0.004s][info][gc] Using Shenandoah\n\
         [0.971s][info][gc             ] GC(52) Cancelled\n\
         [0.971s][info][gc,metaspace   ] GC(52) Metaspace: 267K(448K)->267K(448K) NonClass: 250K(320K)->250K(320K) \
         Class: 16K(128K)->16K(128K)\n",
    );
    assert_eq!(failed(&recording), Vec::<String>::new());
    let event = only(&recording, kind::GC_CONCURRENT);
    assert_eq!((event.name(), event.duration_ns()), ("Cancelled", 0));
}

#[test]
fn what_a_collection_failed_at_is_named_whatever_the_log_calls_it() {
    let recording = read(
        "[1.0s][info][gc,start] GC(1) Pause Young (Normal) (G1 Evacuation Pause)\n\
         [1.1s][info][gc] GC(1) To-space exhausted\n\
         [1.1s][info][gc] GC(1) Pause Young (Normal) (G1 Evacuation Pause) 3M->2M(4M) 100.0ms\n\
         [2.1s][info][gc] GC(2) Pause Young (Normal) (G1 Evacuation Pause) (Evacuation Failure: Pinned) 3M->2M(4M) 100.0ms\n\
         [3.1s][info][gc] GC(3) Pause Young (Normal) (G1 Evacuation Pause) (Evacuation Failure: Allocation / Pinned) 3M->2M(4M) 100.0ms\n\
         [4.0s][info][gc,start] GC(4) Pause Young (Allocation Failure)\n\
         [4.0s][info][gc,promotion] Promotion failed\n\
         [4.1s][info][gc] GC(4) Pause Young (Allocation Failure) 3M->2M(4M) 100.0ms\n\
         [5.0s][info][gc,start] GC(5) Pause Degenerated GC (Mark)\n\
         [5.0s][info][gc] GC(5) Cannot finish degeneration, upgrading to Full GC\n\
         [5.1s][info][gc] GC(5) Pause Degenerated GC (Mark) 3M->2M(4M) 100.0ms\n\
         [6.1s][info][gc] GC(6) Pause Young (Allocation Failure) 3M->2M(4M) 100.0ms\n\
         [6.2s][info][gc] Out Of Memory (main)\n\
         java.lang.OutOfMemoryError: Java heap space\n",
    );
    let of = |span: Span<'_>| {
        span.labels()
            .filter(|(k, _)| *k == label::FAILURE)
            .map(|(_, v)| v.to_owned())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let failures: Vec<_> = recording.spans_of(kind::GC_PAUSE).map(of).collect();
    assert_eq!(
        failures,
        [
            "evacuation failure",
            "pinned",
            "pinned, evacuation failure",
            "promotion failed",
            "upgraded to full, degenerated",
            ""
        ]
    );
    let full: Vec<_> = recording.spans_of(kind::GC_PAUSE).map(|p| p.figure(figure::FULL).is_some()).collect();
    assert_eq!(full, [false, false, false, false, true, false]);
    let warnings: Vec<_> = recording.spans_of(kind::JVM_WARNING).map(|w| w.name().to_owned()).collect();
    assert_eq!(warnings, ["Out Of Memory (main)", "java.lang.OutOfMemoryError: Java heap space"]);
}

/// What a future JDK adds is counted and shown, one example per sort, even where it looks like a
/// phase.
#[test]
fn a_thing_that_nobody_knows_is_counted_whatever_its_tags() {
    let text = "[0.1s][info][gc] Using G1\n\
         [1.0s][info][gc,start] GC(1) Pause Young (Normal) (G1 Evacuation Pause)\n\
         [1.0s][info][gc,newthing] GC(1) A thing that nobody knows: 12ms\n\
         [1.0s][info][gc,heap] GC(1) Frozen regions: 1->2\n\
         [1.1s][info][gc] GC(1) Pause Young (Normal) (G1 Evacuation Pause) 1M->0M(2M) 100.000ms\n\
         [2.0s][info][gc,heap] GC(1) Frozen regions: 3->4\n\
         [2.0s][info][class,load] java.lang.Object source: jrt:/java.base\n\
         [2.0s][debug][gc,ergo] GC(1) of no interest\n";
    let recording = read(text);
    let source = &recording.sources[0];
    let unknown: Vec<_> = source.unknown.iter().map(|u| (u.line, u.alike)).collect();
    assert_eq!((source.skipped, unknown), (3, vec![(3, 1), (4, 2)]), "{:?}", source.unknown);
    let pause = recording.spans_of(kind::GC_PAUSE).next().unwrap();
    assert!(pause.figures().all(|(key, _)| !key.contains("nobody")), "no phase of the pause");
}
