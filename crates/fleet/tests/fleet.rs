//! What was planted in a fleet of made-up machines is found by the questions, and nothing in one
//! without it; engines give the same rows.
//!
//! DuckDB and chdb come from the Python that `FATHOM_FLEET_PYTHON` names, DuckDB else from PyPI
//! into `target/tmp`.

#![allow(clippy::unwrap_used, reason = "a test panics where it fails")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use fathom_fleet::{Added, Answer, Engine, Question, add};
use fathom_recording::*;

const DAY_NS: i64 = 86_400_000_000_000;
/// 2026-11-01T10:00:00Z.
const START_NS: i64 = 1_793_527_200_000_000_000;

/// What is wrong with a fleet.
#[derive(Clone, Copy, PartialEq)]
enum Planted {
    Nothing,
    /// `shop.Prices.round` costs a fifth more since 2.0, and host 7 waits for a monitor.
    SlowerMethodAndOutlier,
}

/// A recording of a host: five minutes of CPU samples, waits for a lock and collections.
fn recording(host: u64, day: i64, version: &str, planted: Planted) -> Recording {
    let mut state = (host + 1) * 0x9e37_79b9 + day as u64 * 7_919 + version.len() as u64;
    let mut random = move |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let mut r = Recording::new();
    let process =
        r.add_process(Process { pid: Some(1), name: "Shop".into(), jvm: true, ..Process::default() });
    let source = r.add_source(Source {
        name: "made".into(),
        format: "test".into(),
        clock: ClockBasis::Epoch,
        placement: Placement { wall: true, uncertainty_ns: Some(0), ..Placement::default() },
        ..Source::default()
    });
    let thread = r.thread(process, Some(2), "worker", Role::App);
    let root = r.frame("shop.Main.run", "", FrameType::C2, -1);
    let root = r.stack(None, root);
    let mut stacks = Vec::new();
    for i in 0..40 {
        let name = if i == 0 { "shop.Prices.round".to_owned() } else { format!("shop.Code.m{i}") };
        let frame = r.frame(&name, "", FrameType::C2, -1);
        stacks.push(r.stack(Some(root), frame));
    }
    let start = START_NS + day * DAY_NS;
    let slower = planted == Planted::SlowerMethodAndOutlier && version == "2.0";
    // Ten of a hundred samples are of the method, or twelve.
    let share = if slower { 120 } else { 100 };
    for i in 0..6_000_i64 {
        let which = if random(1000) < share { 0 } else { 1 + random(39) as usize };
        let stack = Some(stacks[which]);
        let row = SampleRow {
            kind: "cpu",
            t_ns: start + i * 50_000_000,
            process,
            thread: Some(thread),
            stack,
            weight: 50_000_000,
            source,
        };
        r.sample(&row);
    }
    let waits = if planted != Planted::Nothing && host == 7 { 100 } else { 10 };
    for i in 0..300_i64 {
        let t0_ns = start + i * 1_000_000_000;
        let length = waits * 1_000_000 + random(1_000_000) as i64;
        let mut span =
            |kind: &'static str, name: &'static str, thread, length: i64, labels: &[(&str, &str)]| {
                r.span(&SpanRow {
                    thread,
                    labels,
                    ..SpanRow::new(kind, name, (t0_ns, t0_ns + length), process, source)
                });
            };
        span("lock.monitor", "shop.Cart", Some(thread), length, &[]);
        if i % 10 == 0 {
            span("gc.pause", "Pause Young (Normal)", None, 5_000_000, &[("cause", "G1 Evacuation Pause")]);
        }
    }
    r.identity = Identity {
        recording: Some(format!("{:032x}", host << 32 | (day as u64) << 8 | version.len() as u64)),
        host: Some(format!("host-{host}")),
        service: Some("shop".into()),
        service_from: Some(ServiceFrom::Given),
        version: Some(version.into()),
        ..Identity::default()
    };
    r.seal();
    r
}

/// Ten hosts over four days; the version changes on the third.
fn fleet(planted: Planted) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (day, host) in (0..4).flat_map(|day| (0..10).map(move |host| (day, host))) {
        let version = if day < 2 { "1.0" } else { "2.0" };
        add(&recording(host, day, version, planted), dir.path()).unwrap();
    }
    dir
}

fn runs(python: &Path, code: &str) -> bool {
    let status = Command::new(python).args(["-c", code]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// A Python that has DuckDB: the same that the tests of recordings use.
fn python() -> Option<&'static Path> {
    static PYTHON: OnceLock<Option<PathBuf>> = OnceLock::new();
    let made = PYTHON.get_or_init(|| {
        let named = PathBuf::from(fathom_fleet::python());
        let is_enough = runs(&named, "import duckdb");
        if is_enough {
            Some(named)
        } else {
            fathom_testing::duckdb::python(Path::new(env!("CARGO_TARGET_TMPDIR")))
        }
    });
    if made.is_none() {
        fathom_testing::skip("DuckDB cannot be had here (python3 with venv, and PyPI)");
    }
    made.as_deref()
}

fn ask(engine: Engine, place: &Path, question: &str, set: &[(&str, &str)]) -> Option<Answer> {
    let set: Vec<(String, String)> = set.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let question = Question::find(question).unwrap();
    Some(engine.ask(question, place, &set, &python()?.to_string_lossy()).unwrap())
}

const VERSIONS: [(&str, &str); 2] = [("before", "1.0"), ("after", "2.0")];

#[test]
fn a_method_that_costs_a_fifth_more_and_a_host_that_waits_are_found_and_nothing_else() {
    let dir = fleet(Planted::SlowerMethodAndOutlier);
    let Some(versions) = ask(Engine::DuckDb, dir.path(), "versions", &VERSIONS) else { return };
    let methods: Vec<&str> = versions.rows.iter().filter_map(|row| row[0].as_str()).collect();
    assert_eq!(methods, ["shop.Prices.round"], "{versions:?}");
    let (from, to) = (versions.rows[0][4].as_f64().unwrap(), versions.rows[0][5].as_f64().unwrap());
    assert!(from < 2.0 && 2.0 < to && from > 0.0, "{from} to {to} points; 2 were planted");
    let outliers = ask(Engine::DuckDb, dir.path(), "outliers", &[]).unwrap();
    assert!(!outliers.rows.is_empty());
    assert!(outliers.rows.iter().all(|row| row[1] == "host-7"), "{outliers:?}");
    assert!(outliers.rows.iter().any(|row| row[2] == "blocked: Java monitor"), "{outliers:?}");
}

#[test]
fn in_a_fleet_in_which_nothing_changed_nothing_is_found() {
    let dir = fleet(Planted::Nothing);
    let Some(versions) = ask(Engine::DuckDb, dir.path(), "versions", &VERSIONS) else { return };
    assert_eq!(versions.rows, Vec::<Vec<serde_json::Value>>::new());
    assert!(ask(Engine::DuckDb, dir.path(), "outliers", &[]).unwrap().rows.is_empty());
    assert!(ask(Engine::DuckDb, dir.path(), "day", &[("day", "2026-11-03")]).unwrap().rows.is_empty());
    // A frame's shares are those that were made: a tenth of the samples.
    let frames = ask(Engine::DuckDb, dir.path(), "frames", &[("top", "100")]).unwrap();
    let round = frames.rows.iter().find(|row| row[2] == "shop.Prices.round").unwrap();
    assert!((round[3].as_f64().unwrap() - 10.0).abs() < 0.5, "{round:?}");
    // 40 recordings × 30 collections of 5 ms.
    let pauses = ask(Engine::DuckDb, dir.path(), "pauses", &[]).unwrap();
    let gc = pauses.rows.iter().find(|row| row[1] == "gc").unwrap();
    assert_eq!((gc[4].as_i64(), gc[5].as_f64(), gc[7].as_i64()), (Some(1200), Some(6000.0), Some(10)));
}

#[test]
fn clickhouse_answers_every_question_as_duckdb_does() {
    let Some(python) = python() else { return };
    if !runs(python, "import chdb") {
        return fathom_testing::skip("ClickHouse (chdb) is not installed for this Python");
    }
    let dir = fleet(Planted::SlowerMethodAndOutlier);
    for question in fathom_fleet::QUESTIONS {
        let set: &[(&str, &str)] = match question.name {
            "versions" => &VERSIONS,
            "day" => &[("day", "2026-11-03")],
            _ => &[],
        };
        let sorted = |engine| {
            let answer = ask(engine, dir.path(), question.name, set).unwrap();
            let mut rows: Vec<String> = answer.rows.iter().map(|row| format!("{row:?}")).collect();
            rows.sort();
            (answer.columns, rows)
        };
        assert_eq!(sorted(Engine::ClickHouse), sorted(Engine::DuckDb), "{}", question.name);
    }
}

#[test]
fn a_recording_that_is_added_again_changes_nothing_and_one_that_was_not_finished_is_completed() {
    let dir = tempfile::tempdir().unwrap();
    let made = recording(3, 0, "1.0", Planted::Nothing);
    let Added::Written { place, rows, bytes } = add(&made, dir.path()).unwrap() else { panic!("written") };
    assert!(place.ends_with("day=2026-11-01/service=shop/host=host-3"), "{}", place.display());
    assert!(rows > 40 && bytes > 0);
    let content = || {
        let mut files: Vec<_> = std::fs::read_dir(&place).unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        files.into_iter().map(|path| (std::fs::read(&path).unwrap(), path)).collect::<Vec<_>>()
    };
    let first = content();
    assert_eq!(first.len(), 9);
    assert_eq!(add(&made, dir.path()).unwrap(), Added::There { place: place.clone() });
    assert_eq!(content(), first);
    // Killed between two files: the last one, and one before it, are missing.
    for (_, path) in &first {
        let name = path.to_string_lossy().into_owned();
        if name.ends_with("-recordings.parquet") || name.ends_with("-calls.parquet") {
            std::fs::remove_file(path).unwrap();
        }
    }
    assert!(matches!(add(&made, dir.path()).unwrap(), Added::Written { .. }));
    assert_eq!(content(), first);
}

#[test]
fn a_recording_without_an_id_is_known_by_its_rows_and_one_without_a_day_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut made = recording(3, 0, "1.0", Planted::Nothing);
    made.identity = Identity::default();
    let Added::Written { place, .. } = add(&made, dir.path()).unwrap() else { panic!("written") };
    assert!(place.ends_with("service=__HIVE_DEFAULT_PARTITION__/host=__HIVE_DEFAULT_PARTITION__"));
    assert!(matches!(add(&made, dir.path()).unwrap(), Added::There { .. }));
    made.sources[0].placement = Placement::default();
    assert!(add(&made, dir.path()).unwrap_err().to_string().contains("wall-clock"));
    assert!(add(&Recording::new(), dir.path()).unwrap_err().to_string().contains("nothing in it"));
}
