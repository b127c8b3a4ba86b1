//! Placement of synthetic sources.

use std::time::Duration;

use fathom_recording::vocabulary::{fact, kind};
use fathom_recording::{Anchor, Process, Sink, Source, SpanRow};

use super::*;
use crate::report::{InputReport, Outcome};

const ZERO: i64 = 1_795_210_275_000_000_000;

/// A source with one span from `from_s` to `to_s` seconds on its own clock.
fn add(r: &mut Recording, name: &str, clock: ClockBasis, span: &str, facts: &[(&str, &str)]) -> usize {
    let facts = facts.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    let process = r.add_process(Process { name: name.to_owned(), jvm: true, facts, ..Process::default() });
    let covers_ns = Some((0, 100 * SECOND_NS));
    let source = r.add_source(Source {
        name: name.to_owned(),
        clock,
        covers_ns,
        process: (clock == ClockBasis::JvmUptime).then_some(process.0),
        ..Source::default()
    });
    r.span(&SpanRow { line: 1, ..SpanRow::new(span, "x", (5 * SECOND_NS, 6 * SECOND_NS), process, source) });
    source.index()
}

fn anchored(r: &mut Recording, source: usize, zero_epoch_ns: i64) {
    let how = "time_ms in the header".to_owned();
    r.sources[source].anchor = Some(Anchor { zero_epoch_ns, uncertainty_ns: 1_000_000, how });
}

fn aligned(r: &mut Recording, arguments: &[&str]) -> Vec<String> {
    let mut report = Report::default();
    let arguments: Vec<_> = arguments.iter().map(|a| (*a).to_owned()).collect();
    align(r, 0, &arguments, &mut report).unwrap();
    r.seal();
    report.warnings
}

#[test]
fn files_of_one_jvm_share_the_start_that_one_of_them_knows() {
    let mut r = Recording::new();
    let args = "-Xlog:gc*:file=/srv/gc0.log:uptime";
    let gc = add(&mut r, "d/gc0.log", ClockBasis::JvmUptime, kind::GC_PAUSE, &[(fact::JDK, "17")]);
    let other = add(&mut r, "d/gc1.log", ClockBasis::JvmUptime, kind::GC_PAUSE, &[(fact::JDK, "17")]);
    let jit = add(&mut r, "d/jit0.xml", ClockBasis::JvmUptime, kind::JIT_COMPILE, &[(fact::JVM_ARGS, args)]);
    anchored(&mut r, jit, ZERO);
    let warnings = aligned(&mut r, &[]);
    assert_eq!(r.sources[gc].process, r.sources[jit].process);
    assert_ne!(r.sources[other].process, r.sources[jit].process);
    let pause = r.spans_of(kind::GC_PAUSE).find(|s| s.source().index() == gc).unwrap();
    assert_eq!(pause.t0_ns(), ZERO + 5 * SECOND_NS);
    let placed = &r.sources[gc].placement;
    assert!(placed.wall && placed.how.contains("jit0.xml"), "{placed:?}");
    assert!(!r.sources[other].placement.is_known());
    assert!(warnings.iter().any(|w| w.contains("gc1.log") && w.contains("--align")), "{warnings:?}");
}

#[test]
fn a_lone_pair_side_by_side_is_assumed_to_be_one_jvm_and_that_is_said() {
    let pair = |version: &str, directory: &str| {
        let mut r = Recording::new();
        let gc = add(
            &mut r,
            "d/gc.log",
            ClockBasis::JvmUptime,
            kind::GC_PAUSE,
            &[(fact::JVM_VERSION, "17.0.1+2 (x)")],
        );
        let name = format!("{directory}/jit.xml");
        let jit =
            add(&mut r, &name, ClockBasis::JvmUptime, kind::JIT_COMPILE, &[(fact::JVM_VERSION, version)]);
        let warnings = aligned(&mut r, &[]);
        (r.sources[gc].process == r.sources[jit].process, warnings.iter().any(|w| w.contains("assumed")))
    };
    assert_eq!(pair("17.0.1+2", "d"), (true, true));
    assert_eq!(pair("21.0.1+2", "d"), (false, false));
    assert_eq!(pair("17.0.1+2", "e"), (false, false));
}

#[test]
fn the_same_process_id_joins_unless_the_starts_are_apart_or_it_is_that_of_a_container() {
    let joined = |pid: i64, start: i64| {
        let mut r = Recording::new();
        let a = add(&mut r, "a/gc.log", ClockBasis::JvmUptime, kind::GC_PAUSE, &[]);
        let b = add(&mut r, "b/safepoint.log", ClockBasis::JvmUptime, kind::SAFEPOINT, &[]);
        r.processes.iter_mut().for_each(|p| p.pid = Some(pid));
        anchored(&mut r, a, ZERO);
        anchored(&mut r, b, start);
        aligned(&mut r, &[]);
        r.sources[a].process == r.sources[b].process
    };
    assert!(joined(4711, ZERO + 500_000_000));
    assert!(!joined(4711, ZERO + 600 * SECOND_NS));
    assert!(!joined(1, ZERO));
}

/// One dip in a table and one pause in a log fit each other, and so would many others: that is not
/// enough.
#[test]
fn a_table_of_which_one_dip_fits_is_not_placed_and_what_it_may_be_is_offered() {
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str, text: String| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let pause = |i: u32| {
        let ms = if i == 70 { 4_000 } else { 3 + i % 5 };
        let end_ms = i * 1_000 + ms;
        let heap = 100 + i * 37 % 23;
        format!(
            "[2026-11-20T21:{:02}:{:02}.{:03}+0000][{}.{:03}s][info][gc] GC({i}) Pause Young (Normal) (G1 Evacuation Pause) \
             {heap}M->40M(256M) {ms}.000ms\n",
            10 + end_ms / 60_000,
            end_ms / 1_000 % 60,
            end_ms % 1_000,
            end_ms / 1_000,
            end_ms % 1_000
        )
    };
    let log: String = (1..120).map(pause).collect();
    let tick = |i: u32| format!("{i},{}\n", if (30..34).contains(&i) { 80 } else { 900 + i * 53 % 61 });
    let table = format!("time,throughput\n{}", (0..60).map(tick).collect::<String>());
    let paths = [put("gc.log", log), put("tput.csv", table)];
    let mut recording = Recording::new();
    let report = crate::read_inputs(&paths, &crate::Options::default(), &mut recording).unwrap();
    let placement =
        &recording.sources.iter().find(|source| source.name.ends_with("tput.csv")).unwrap().placement;
    assert!(!placement.is_known(), "{placement:?}");
    let said: Vec<_> = report.warnings.iter().filter(|warning| warning.contains("tput.csv")).collect();
    assert!(
        said.iter().any(|w| w.contains("not placed in time") && w.contains("--align tput.csv=")),
        "{:?}",
        report.warnings
    );
}

/// perf sees every process of a machine: those that have logs are recognised by their id, whichever
/// of them perf saw most of.
#[test]
fn samples_of_perf_are_of_the_jvms_with_their_ids() {
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let sample = |pid: u32, t: u32| {
        format!(
            "java {pid}/{pid} {t}.000001: 10000000 cpu-clock: \n\t    7f28 Foo::run+0x3 (/tmp/perf-{pid}.map)\n\n"
        )
    };
    let perf: String =
        [(20_389, 1), (20_389, 2), (20_400, 3), (7, 4)].map(|(pid, t)| sample(pid, t)).concat();
    let log = |pid: u32| {
        format!(
            "[0.1s][{pid}][{pid}][info][gc] Using G1\n[1.0s][{pid}][{pid}][info][gc] GC(0) Pause Young (Normal) \
             (G1 Evacuation Pause) 1M->0M(2M) 1.0ms\n"
        )
    };
    let paths = [put("a.log", &log(20_400)), put("perf.txt", &perf), put("b.log", &log(20_389))];
    let mut recording = Recording::new();
    crate::read_inputs(&paths, &crate::Options::default(), &mut recording).unwrap();
    let with_pid = |pid: i64| recording.processes.iter().filter(|p| p.pid == Some(pid)).count();
    assert_eq!([20_389, 20_400, 7].map(with_pid), [1, 1, 1], "{:?}", recording.processes);
    let of = |pid: i64| {
        recording.samples.iter().filter(|s| recording.processes[s.process.index()].pid == Some(pid)).count()
    };
    assert_eq!([20_389, 20_400, 7].map(of), [2, 1, 1]);
}

#[test]
fn by_hand_wins_and_counts_from_the_start_of_the_first_jvm() {
    let mut r = Recording::new();
    let gc = add(&mut r, "gc.log", ClockBasis::JvmUptime, kind::GC_PAUSE, &[]);
    anchored(&mut r, gc, ZERO);
    let table = add(&mut r, "client.csv", ClockBasis::SinceStart, kind::RUN, &[]);
    let dated = add(&mut r, "dated.csv", ClockBasis::Epoch, kind::RUN, &[]);
    let zero = add(&mut r, "zero.csv", ClockBasis::SinceStart, kind::RUN, &[]);
    let warnings = aligned(&mut r, &["client.csv=+36.5s", "dated.csv=-1h", "zero.csv=@2026-11-20T22:00:00Z"]);
    assert_eq!(r.sources[table].placement.offset_ns, ZERO + 36_500_000_000);
    assert_eq!(r.sources[dated].placement.offset_ns, -3600 * SECOND_NS);
    assert_eq!(r.sources[zero].placement.offset_ns, 1_795_212_000 * SECOND_NS);
    assert!(r.sources[table].placement.how.contains("--align client.csv=+36.5s"));
    assert_eq!(warnings, Vec::<String>::new());
}

#[test]
fn without_any_wall_clock_the_first_jvm_is_the_clock() {
    let mut r = Recording::new();
    let table = add(&mut r, "client.csv", ClockBasis::SinceStart, kind::RUN, &[]);
    let gc = add(&mut r, "gc.log", ClockBasis::JvmUptime, kind::GC_PAUSE, &[]);
    let warnings = aligned(&mut r, &[]);
    assert!(r.sources[gc].placement.is_known() && !r.sources[gc].placement.wall);
    assert!(!r.sources[table].placement.is_known());
    assert_eq!(warnings.len(), 1);
}

#[test]
fn the_time_of_the_last_write_is_used_only_if_it_overlaps_with_wall_clock_time() {
    let placed = |apart_s: i64, other: bool| {
        let mut r = Recording::new();
        let gc = add(&mut r, "gc.log", ClockBasis::JvmUptime, kind::GC_PAUSE, &[]);
        if other {
            let table = add(&mut r, "client.csv", ClockBasis::Epoch, kind::RUN, &[]);
            r.sources[table].covers_ns = Some((ZERO, ZERO + 100 * SECOND_NS));
        }
        let written = Duration::from_nanos((ZERO + (100 + apart_s) * SECOND_NS) as u64);
        let outcome = Outcome::Read { format: "unified-log", sources: vec![SourceId(gc as u32)] };
        let input = InputReport {
            name: "gc.log".to_owned(),
            outcome,
            warnings: Vec::new(),
            modified: Some(UNIX_EPOCH + written),
        };
        let mut report = Report { inputs: vec![input], warnings: Vec::new() };
        align(&mut r, 0, &[], &mut report).unwrap();
        r.sources[gc].placement.clone()
    };
    let guessed = placed(7, true);
    assert!(guessed.wall && guessed.how.contains("guessed"));
    assert_eq!(guessed.offset_ns, ZERO + 7 * SECOND_NS);
    assert!(!placed(5000, true).is_known());
    assert!(!placed(7, false).wall);
}

/// A table of a load that varies a lot, the same for the same seed; `share` scales it.
fn load(r: &mut Recording, name: &str, share: f64) -> usize {
    let source = add(r, name, ClockBasis::SinceStart, kind::RUN, &[]);
    let series = r.add_series(fathom_recording::SeriesInfo {
        name: fathom_recording::vocabulary::series::THROUGHPUT.to_owned(),
        unit: "ops/s".to_owned(),
        instance: name.to_owned(),
        kind: fathom_recording::SeriesKind::Rate,
        process: None,
        source: SourceId(source as u32),
    });
    for t in 0..120i64 {
        let value = share * (100.0 + (t * t * 7919 % 89) as f64);
        r.point(series, t * SECOND_NS, SECOND_NS, value);
    }
    source
}

#[test]
fn tables_that_go_up_and_down_together_follow_the_one_placed_by_hand() {
    let mut r = Recording::new();
    let gc = add(&mut r, "gc.log", ClockBasis::JvmUptime, kind::GC_PAUSE, &[]);
    anchored(&mut r, gc, ZERO);
    let (first, second) = (load(&mut r, "client0.csv", 1.0), load(&mut r, "client1.csv", 0.8));
    let warnings = aligned(&mut r, &["client1.csv=+20s"]);
    assert_eq!(r.sources[second].placement.offset_ns, ZERO + 20 * SECOND_NS);
    assert_eq!(r.sources[first].placement.offset_ns, ZERO + 20 * SECOND_NS);
    assert!(r.sources[first].placement.how.contains("together with client1.csv"));
    assert_eq!(warnings, Vec::<String>::new());
}

#[test]
fn the_clients_of_a_real_benchmark_are_placed_where_they_started() {
    let fixtures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/elasql");
    let files = ["gc0.log", "gc1.log", "gc2.log", "jit0.xml.zst", "jit1.xml.zst", "jit2.xml.zst"];
    let clients = ["client0.csv", "client1.csv", "client2.csv"];
    let paths: Vec<_> = files.iter().chain(&clients).map(|name| fixtures.join(name)).collect();
    let mut r = Recording::new();
    let report = crate::read_inputs(&paths, &crate::Options::default(), &mut r).unwrap();
    let messages = report.messages();
    assert!(
        messages.iter().any(|m| m.starts_with("client0.csv, client1.csv, client2.csv: placed by")),
        "{messages:?}"
    );
    let zero = r.sources.iter().find(|s| s.name.ends_with("jit0.xml.zst")).unwrap().placement.offset_ns;
    for source in r.sources.iter().filter(|s| s.name.ends_with(".csv")) {
        let after_s = fathom_recording::clock::seconds(source.placement.offset_ns - zero);
        assert!((34.0..=38.0).contains(&after_s), "{} {after_s}", source.name);
        assert!(source.placement.how.starts_with("by correlation"), "{:?}", source.placement);
        assert!(source.placement.is_known() && source.placement.wall, "{:?}", source.placement);
    }
}

#[test]
fn a_table_placed_by_hand_counts_from_a_jvm_that_knows_no_wall_clock_time() {
    let mut r = Recording::new();
    let table = add(&mut r, "client.csv", ClockBasis::SinceStart, kind::RUN, &[]);
    let gc = add(&mut r, "gc.log", ClockBasis::JvmUptime, kind::GC_PAUSE, &[]);
    let warnings = aligned(&mut r, &["client.csv=+36s"]);
    assert!(r.sources[gc].placement.is_known() && r.sources[gc].placement.offset_ns == 0);
    assert_eq!(r.sources[table].placement.offset_ns, 36 * SECOND_NS);
    assert_eq!(warnings, Vec::<String>::new());
}
