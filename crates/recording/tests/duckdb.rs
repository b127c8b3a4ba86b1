//! A recording is read by DuckDB and pandas as it is: what they compute is what is in it, and every
//! example of docs/recording-format.md runs.
//!
//! The engines come from PyPI into `target/tmp`; where that is impossible, the tests report
//! SKIPPED.

#![allow(clippy::unwrap_used, reason = "a test panics where it fails")]

mod common;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use common::Filled;
use fathom_recording::{Check, Overwrite, Recording, Sink, SpanId, SpanRow, StackId, write};
use serde_json::{Value, json};

/// Runs what comes on standard input, `{"sql": […], "python": […]}`, in the directory of the
/// recording; prints the rows of each query and, after each piece of Python, the value of its
/// `result`.
const RUN: &str = r#"
import json, sys, duckdb
work = json.load(sys.stdin)
plain = lambda v: v if v is None or isinstance(v, (bool, int, float, str)) else str(v)
answers = [[[plain(v) for v in row] for row in duckdb.sql(q).fetchall()] for q in work["sql"]]
sys.stdout, out = sys.stderr, sys.stdout
for code in work["python"]:
    names = {}
    exec(code, names)
    answers.append(names.get("result"))
json.dump(answers, out)
"#;

/// A Python that has duckdb, pandas and pyarrow, when one can be had.
fn python() -> Option<&'static Path> {
    static PYTHON: OnceLock<Option<PathBuf>> = OnceLock::new();
    let made = PYTHON.get_or_init(|| fathom_testing::duckdb::python(Path::new(env!("CARGO_TARGET_TMPDIR"))));
    if made.is_none() {
        fathom_testing::skip("DuckDB and pandas cannot be installed here (python3 with venv, and PyPI)");
    }
    made.as_deref()
}

/// The answers to queries and pieces of Python over a recording that is called NAME.fathom.
fn ask(recording: &Recording, sql: &[&str], code: &[&str]) -> Option<Vec<Value>> {
    let python = python()?;
    let dir = tempfile::tempdir().unwrap();
    write(recording, &dir.path().join("NAME.fathom"), Overwrite::Never).unwrap();
    let mut child = Command::new(python)
        .args(["-c", RUN])
        .current_dir(dir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let work = json!({"sql": sql, "python": code}).to_string();
    child.stdin.take().unwrap().write_all(work.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "the engines failed; see their output above");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn recording() -> (Recording, Filled) {
    let mut recording = Recording::new();
    let mut filled = Filled::new(&mut recording, 200);
    for i in 0..2_000 {
        filled.sample(&mut recording, i);
        let span = filled.span(&mut recording, i);
        filled.count(&mut recording, i);
        if i % 10 == 0 {
            nested(&mut recording, &filled, span);
        }
        recording.point(filled.series, i as i64 * 1_000_000_000, 1_000_000_000, i as f64 / 3.0);
    }
    let seen = (1_700_000_000_000_000_000, 1_700_000_001_000_000_000);
    recording.span(&SpanRow {
        thread: filled.threads.first().copied(),
        labels: &[("trace_id", "4bf92f3577b34da6a3ce929d0e0e4736"), ("span_id", "00f067aa0ba902b7")],
        ..SpanRow::new("trace.span", "span", seen, filled.process, filled.source)
    });
    let check = Check { claim: "it's so".into(), holds: false, detail: "\"no\"".into() };
    recording.source_mut(filled.source).checks.push(check);
    recording.seal();
    (recording, filled)
}

/// A span without figures and labels, on a thread, within another.
fn nested(recording: &mut Recording, filled: &Filled, parent: SpanId) {
    let t0_ns = recording.span_at(parent).t0_ns();
    recording.span(&SpanRow {
        thread: filled.threads.first().copied(),
        parent: Some(parent),
        ..SpanRow::new(
            "gc.nested",
            "Pause Full – ünïcode 'quoted'",
            (t0_ns, t0_ns + 1),
            filled.process,
            filled.source,
        )
    });
}

/// What the queries below must answer, counted from the rows in memory.
fn expected(recording: &Recording) -> Vec<Value> {
    let pauses = || recording.spans_of("gc.pause");
    let mut by_name: BTreeMap<&str, (u64, i64, f64)> = BTreeMap::new();
    for span in pauses() {
        let row = by_name.entry(span.name()).or_default();
        row.0 += 1;
        row.1 += span.duration_ns();
        row.2 += span.figure("heap_after_bytes").unwrap();
    }
    let by_name: Vec<Value> = by_name.iter().map(|(name, r)| json!([name, r.0, r.1, r.2])).collect();
    let points: f64 = recording.series[0].value.iter().sum();
    vec![json!(by_name), json!([["worker-0", 200, 200, 0, 0]]), json!([["throughput", 2_000, points]])]
}

const QUERIES: [&str; 5] = [
    "SELECT name, count(*), sum(t1_ns - t0_ns)::BIGINT, sum(figures['heap_after_bytes'])
     FROM 'NAME.fathom/spans.parquet' WHERE kind = 'gc.pause' AND labels['cause'] = 'G1 Evacuation Pause'
     GROUP BY name ORDER BY name",
    "SELECT threads.name, count(*), count(DISTINCT outer_one.span_id), count(inner_one.line), count(inner_one.key)
     FROM 'NAME.fathom/spans.parquet' inner_one
     JOIN 'NAME.fathom/spans.parquet' outer_one
       ON outer_one.span_id = inner_one.parent_id AND outer_one.t0_ns = inner_one.t0_ns
     JOIN 'NAME.fathom/threads.parquet' threads ON threads.thread_id = inner_one.thread_id
     WHERE inner_one.kind = 'gc.nested' AND cardinality(inner_one.figures) = 0 AND inner_one.name LIKE '%ünïcode%'
     GROUP BY threads.name",
    "SELECT name, count(*), sum(value) FROM 'NAME.fathom/series_points.parquet'
     JOIN 'NAME.fathom/series.parquet' USING (series_id) GROUP BY name",
    "SELECT facts['collector'], pid, jvm FROM 'NAME.fathom/processes.parquet'",
    "WITH RECURSIVE up AS (
       SELECT stack_id, weight FROM 'NAME.fathom/samples.parquet'
       UNION ALL
       SELECT parent_id, weight FROM up JOIN 'NAME.fathom/stacks.parquet' USING (stack_id) WHERE parent_id IS NOT NULL)
     SELECT count(*), sum(weight)::BIGINT FROM up
     JOIN 'NAME.fathom/stacks.parquet' USING (stack_id) JOIN 'NAME.fathom/frames.parquet' USING (frame_id)
     WHERE type = 'c2'",
];

const PANDAS: &str = r#"
import pandas as pd
spans = pd.read_parquet("NAME.fathom/spans.parquet")
samples = pd.read_parquet("NAME.fathom/samples.parquet")
pauses = spans[spans.kind == "gc.pause"]
heap = sum(dict(f)["heap_after_bytes"] for f in pauses.figures)
threads = pd.read_parquet("NAME.fathom/threads.parquet")
by_thread = samples.merge(threads, on="thread_id").groupby("name").weight.sum()
result = [int((pauses.t1_ns - pauses.t0_ns).sum()), heap, int(by_thread["worker-3"]), int(spans.thread_id.isna().sum())]
"#;

#[test]
fn duckdb_and_pandas_compute_what_is_in_the_recording() {
    let (recording, filled) = recording();
    let Some(answers) = ask(&recording, &QUERIES, &[PANDAS]) else { return };
    let expected = expected(&recording);
    assert_eq!(answers[..3], expected[..]);
    assert_eq!(answers[3], json!([["G1", 4711, true]]));

    let on_stacks: u64 = recording.samples.iter().map(|sample| depth(&recording, sample.stack)).sum();
    assert_eq!(answers[4], json!([[on_stacks, on_stacks * 10_000_000]]));
    let on_worker_3 = recording.samples.iter().filter(|s| s.thread == Some(filled.threads[3])).count();
    let pauses: i64 = recording.spans_of("gc.pause").map(|s| s.duration_ns()).sum();
    let heap: f64 = recording.spans_of("gc.pause").filter_map(|s| s.figure("heap_after_bytes")).sum();
    assert_eq!(answers[5], json!([pauses, heap, on_worker_3 * 10_000_000, 2_000]));
}

/// How many frames a stack has.
fn depth(recording: &Recording, stack: Option<StackId>) -> u64 {
    let parent = |id: &StackId| recording.stacks[id.index()].parent;
    std::iter::successors(stack, parent).count() as u64
}

#[test]
fn of_a_label_that_occurs_twice_duckdb_takes_the_first_as_fathom_does() {
    let mut recording = Recording::new();
    let filled = Filled::new(&mut recording, 1);
    recording.span(&SpanRow {
        figures: &[("workers", 1.0), ("tier", 4.0), ("workers", 2.0)],
        labels: &[("cause", "first"), ("cause", "second")],
        ..SpanRow::new("gc.pause", "", (0, 1), filled.process, filled.source)
    });
    recording.seal();
    let span = recording.span_at(SpanId(0));
    assert_eq!((span.figure("workers"), span.label("cause")), (Some(1.0), Some("first")));
    let query =
        "SELECT figures['workers'], figures['tier'], labels['cause'] FROM 'NAME.fathom/spans.parquet'";
    let Some(answers) = ask(&recording, &[query], &[]) else { return };
    assert_eq!(answers[0], json!([[1.0, 4.0, "first"]]));
}

#[test]
fn every_example_of_the_documentation_runs() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/recording-format.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks = |language: &str| -> Vec<String> {
        let start = format!("```{language}\n");
        page.split(&start).skip(1).map(|block| block.split("```").next().unwrap().to_owned()).collect()
    };
    let (sql, python) = (blocks("sql"), blocks("python"));
    assert!(sql.len() >= 5 && !python.is_empty());
    let (recording, _) = recording();
    let sql: Vec<&str> = sql.iter().map(String::as_str).collect();
    let python: Vec<&str> = python.iter().map(String::as_str).collect();
    let Some(answers) = ask(&recording, &sql, &python) else { return };
    for (query, answer) in sql.iter().zip(&answers) {
        assert_ne!(answer.as_array().map(Vec::len), Some(0), "no row from: {query}");
    }
}

#[test]
fn a_query_on_a_window_skips_the_row_groups_of_other_times() {
    let mut recording = Recording::new();
    let mut filled = Filled::new(&mut recording, 10);
    // Three row groups of 2²⁰ rows at most.
    (0..(2 << 20) + 1_000).for_each(|i| filled.sample(&mut recording, i));
    let groups = "SELECT count(DISTINCT row_group_id), count(DISTINCT stats_min_value) FROM
                  parquet_metadata('NAME.fathom/samples.parquet') WHERE path_in_schema = 't_ns'";
    let Some(answers) = ask(&recording, &[groups], &[]) else { return };
    let row = answers[0][0].as_array().unwrap();
    assert!(row[0].as_u64().unwrap() >= 3, "{row:?}");
    assert_eq!(row[0], row[1], "each row group has its own first time");
}
