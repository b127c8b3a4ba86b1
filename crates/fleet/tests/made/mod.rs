//! A fleet of made-up machines, and the Python that has the engines: `FATHOM_FLEET_PYTHON` names
//! it, DuckDB comes else from PyPI into `target/tmp`.

#![allow(dead_code, reason = "each test uses a part of it")]

pub mod trino;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use fathom_fleet::{Answer, Question, SqlEngine, add};
use fathom_recording::*;

const DAY_NS: i64 = 86_400_000_000_000;
/// 2026-11-01T10:00:00Z.
const START_NS: i64 = 1_793_527_200_000_000_000;

/// What is wrong with a fleet.
#[derive(Clone, Copy, PartialEq)]
pub enum Planted {
    Nothing,
    /// `shop.Prices.round` costs a fifth more since 2.0, and host 7 waits for a monitor.
    SlowerMethodAndOutlier,
}

/// A recording of a host: five minutes of CPU samples, waits for a lock and collections.
pub fn recording(host: u64, day: i64, version: &str, planted: Planted) -> Recording {
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
pub fn fleet(planted: Planted) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (day, host) in (0..4).flat_map(|day| (0..10).map(move |host| (day, host))) {
        let version = if day < 2 { "1.0" } else { "2.0" };
        add(&recording(host, day, version, planted), dir.path()).unwrap();
    }
    dir
}

pub fn runs(python: &Path, code: &str) -> bool {
    let status = Command::new(python).args(["-c", code]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// A Python that has DuckDB: the same that the tests of recordings use.
pub fn python() -> Option<&'static Path> {
    static PYTHON: OnceLock<Option<PathBuf>> = OnceLock::new();
    let made = PYTHON.get_or_init(|| {
        let venv = Path::new(env!("CARGO_TARGET_TMPDIR")).join("duckdb-venv");
        let own = venv.join("bin/python");
        let named = PathBuf::from(fathom_fleet::python());
        if let Some(found) =
            [named, own.clone()].into_iter().find(|python| runs(python, "import duckdb, numpy, pyarrow"))
        {
            return Some(found);
        }
        let run = |command: &mut Command| {
            command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
        };
        let pip =
            ["-m", "pip", "install", "-q", "--disable-pip-version-check", "duckdb", "pandas", "pyarrow"];
        let made =
            run(Command::new("python3").args(["-m", "venv"]).arg(&venv)) && run(Command::new(&own).args(pip));
        (made && runs(&own, "import duckdb, numpy, pyarrow")).then_some(own)
    });
    if made.is_none() {
        fathom_testing::skip("DuckDB cannot be had here (python3 with venv, and PyPI)");
    }
    made.as_deref()
}

pub fn ask(engine: SqlEngine, place: &Path, question: &str, set: &[(&str, &str)]) -> Option<Answer> {
    let set: Vec<(String, String)> = set.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let question = Question::find(question).unwrap();
    Some(engine.ask(question, place, &set, &python()?.to_string_lossy()).unwrap())
}

/// Values for the parameters of a question that has no answer without them, of [`fleet`].
pub fn parameters(question: &str) -> &'static [(&'static str, &'static str)] {
    match question {
        "versions" => &[("before", "1.0"), ("after", "2.0")],
        "day" => &[("day", "2026-11-03")],
        _ => &[],
    }
}

/// An answer's columns and rows as text, sorted: what must be equal of two engines, byte for byte.
pub fn sorted(answer: &Answer) -> String {
    let mut rows: Vec<String> = answer.rows.iter().map(|row| serde_json::to_string(row).unwrap()).collect();
    rows.sort();
    format!("{}\n{}\n", answer.columns.join(" "), rows.join("\n"))
}

/// Fails where an engine does not answer all questions to a place as DuckDB does. `at` is where the
/// engine has the rows of the place.
pub fn answers_as_duckdb_does(engine: SqlEngine, at: &Path, place: &Path) {
    for question in fathom_fleet::QUESTIONS {
        let (set, started) = (parameters(question.name), std::time::Instant::now());
        let [given, expected] = [(engine, at), (SqlEngine::DuckDb, place)]
            .map(|(engine, at)| sorted(&ask(engine, at, question.name, set).unwrap()));
        assert_eq!(given, expected, "{}", question.name);
        eprintln!("{} and duckdb: {} in {:?}", engine.name(), question.name, started.elapsed());
    }
}
