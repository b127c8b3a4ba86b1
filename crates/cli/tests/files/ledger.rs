//! `fathom ledger`, from the outside.

use std::path::Path;
use std::process::{Command, Output};

use fathom_recording::vocabulary::kind;
use fathom_recording::{FrameType, Overwrite, Process, Recording, Role, Sink, Source, SpanRow};

fn fathom(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fathom")).current_dir(dir).args(args).output().unwrap()
}

/// Two workers of a pool over 10 s: in the second half both wait for a monitor twice as long as
/// they run.
fn recording() -> Recording {
    let mut recording = Recording::new();
    let process = recording.add_process(Process { name: "Shop".into(), jvm: true, ..Process::default() });
    let source = recording.add_source(Source { name: "scheduler".into(), ..Source::default() });
    let frame = recording.frame("ObjectMonitor::enter", "libjvm.so", FrameType::Jvm, -1);
    let monitor = recording.stack(None, frame);
    for name in ["pool-1-thread-1", "pool-1-thread-2"] {
        let thread = Some(recording.thread(process, Some(7), name, Role::App));
        let mut span = |kind: &str, from_ms: i64, to_ms: i64| {
            recording.span(&SpanRow {
                thread,
                stack: (kind == kind::SCHED_OFF).then_some(monitor),
                ..SpanRow::new(kind, "sleeping", (from_ms * 1_000_000, to_ms * 1_000_000), process, source)
            });
        };
        span(kind::SCHED_WATCHED, 0, 10_000);
        (0..50).for_each(|i| span(kind::SCHED_OFF, 5_000 + i * 100, 5_000 + i * 100 + 66));
    }
    recording.seal();
    recording
}

#[test]
fn a_slow_window_shows_what_grew_against_the_base_and_adds_up() {
    let dir = tempfile::tempdir().unwrap();
    fathom_recording::write(&recording(), &dir.path().join("x.fathom"), Overwrite::Never).unwrap();
    let windows = ["--window", "5s..10s", "--base", "0s..5s"];
    let shown = fathom(dir.path(), &[&["ledger", "x.fathom", "--by", "pool"], &windows[..]].concat());
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("pool-#-thread-# of Shop: 2 threads, 10.00 s of thread time"), "{shown}");
    let monitor = shown.lines().find(|l| l.contains("blocked: Java monitor")).unwrap();
    assert!(monitor.contains("66%") && monitor.contains('▲'), "{shown}");
    assert!(shown.lines().all(|l| l.chars().count() <= 100), "{shown}");

    let json = fathom(dir.path(), &[&["ledger", "x.fathom", "--json"], &windows[..]].concat());
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["schema"], "fathom.ledger/2");
    let spent = json["groups"][0]["spent"].as_array().unwrap();
    let sum: f64 = spent.iter().map(|s| s["ms"].as_f64().unwrap()).sum();
    assert!((sum - 10_000.0).abs() < 1e-6, "{json}");
    assert_eq!(spent.iter().find(|s| s["category"] == "monitor").unwrap()["ms"], 6600.0);
}

#[test]
fn inputs_without_threads_are_an_error_that_says_where_threads_come_from() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("ops.csv"), "time_s,throughput\n0,4\n1,5\n2,4\n").unwrap();
    let output = fathom(dir.path(), &["ledger", "ops.csv"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no thread in ops.csv"), "{output:?}");
}

#[test]
fn spans_counted_as_operations_give_milliseconds_for_each() {
    let dir = tempfile::tempdir().unwrap();
    fathom_recording::write(&recording(), &dir.path().join("x.fathom"), Overwrite::Never).unwrap();
    // Fifty waits of each of two threads end in the second half, each 66 ms long.
    let args =
        ["ledger", "x.fathom", "--window", "5s..10s", "--by", "pool", "--per", "sched.off-cpu=sleeping"];
    let json = fathom(dir.path(), &[&args[..], &["--json"]].concat());
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["operations"], 100.0);
    let spent = json["groups"][0]["spent"].as_array().unwrap();
    let monitor = spent.iter().find(|s| s["category"] == "monitor").unwrap();
    assert_eq!(monitor["ms_per_operation"], 66.0);
    let shown = String::from_utf8(fathom(dir.path(), &args).stdout).unwrap();
    assert!(shown.contains("100 operations (spans sched.off-cpu, sleeping)"), "{shown}");
    let monitor = shown.lines().find(|l| l.contains("blocked: Java monitor")).unwrap();
    assert!(monitor.contains("66 ms"), "{shown}");
    let none = fathom(dir.path(), &["ledger", "x.fathom", "--per", "syscall=sendto"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&none.stderr).contains("kinds: sched.off-cpu"), "{none:?}");
}
