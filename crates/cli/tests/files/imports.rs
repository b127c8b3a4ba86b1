//! Files of other programs give what their own tools give: `jfr`, `strace -C`, `perf report`,
//! `go tool pprof`.
//!
//! Real files of the fixtures, and traces that are made here. Where a tool is not installed its
//! test says SKIPPED.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn fixture(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

fn reported(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Standard output of a tool; `None` when it is not here or fails, which is reported.
fn tool(command: &mut Command) -> Option<String> {
    match command.output() {
        Ok(output) if output.status.success() => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Ok(output) => {
            fathom_testing::skip(&format!("{:?} fails: {}", command.get_program(), reported(&output)));
            None
        }
        Err(error) => {
            fathom_testing::skip(&format!("no {:?} here: {error}", command.get_program()));
            None
        }
    }
}

fn fathom(args: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_fathom")).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", reported(&output));
    output
}

fn json(args: &[&str]) -> Value {
    serde_json::from_slice(&fathom(args).stdout).unwrap()
}

/// The fixture unpacked, for tools that do not unpack.
fn unpacked(file: &Path, dir: &Path) -> PathBuf {
    let to = dir.join(file.file_stem().unwrap());
    let bytes = zstd::decode_all(std::fs::File::open(file).unwrap()).unwrap();
    std::fs::write(&to, bytes).unwrap();
    to
}

/// Count and time, seconds, of the spans of a file, by the key that is asked for.
fn spans(file: &Path, dir: &Path, key: fn(&csv::StringRecord) -> &str) -> BTreeMap<String, (u64, f64)> {
    let table = dir.join("spans.csv");
    fathom(&[
        "export",
        file.to_str().unwrap(),
        "--format",
        "csv",
        "--table",
        "spans",
        "-o",
        table.to_str().unwrap(),
    ]);
    let mut all: BTreeMap<String, (u64, f64)> = BTreeMap::new();
    for row in csv::Reader::from_path(&table).unwrap().records() {
        let row = row.unwrap();
        let [from, to] = [0, 1].map(|i| row[i].parse::<i64>().unwrap());
        let sum = all.entry(key(&row).to_owned()).or_default();
        *sum = (sum.0 + 1, sum.1 + (to - from) as f64 / 1e9);
    }
    all
}

#[test]
fn every_system_call_is_counted_and_timed_as_strace_counts_and_times_it() {
    let dir = tempfile::tempdir().unwrap();
    let trace = dir.path().join("sh.strace");
    // -C: the same run both call by call and as a table; -w: its times are those of the clock.
    let script = "ls -lR /usr/include | sort | head -3; cat /etc/hostname /nonexistent; sleep 0.05 & wait";
    let mut strace = Command::new("strace");
    strace.args(["-f", "-C", "-w", "-ttt", "-T", "-o"]).arg(&trace).args(["sh", "-c", script]);
    // The exit status is that of `cat`'s missing file or of `wait`; what counts is that a trace was
    // written.
    if let Err(error) = strace.output() {
        fathom_testing::skip(&format!("no strace here: {error}"));
        return;
    }
    let text = std::fs::read_to_string(&trace).unwrap_or_default();
    let Some((_, table)) = text.split_once("% time") else {
        fathom_testing::skip(&format!("strace may not trace here: {text}"));
        return;
    };
    let ours = spans(&trace, dir.path(), |row| row.get(3).unwrap());
    let mut theirs = 0;
    for line in table.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (Some(Ok(_)), Some(name)) = (words.first().map(|w| w.parse::<f64>()), words.last()) else {
            continue;
        };
        if *name == "total" {
            continue;
        }
        let [seconds, calls] = [words[1].parse::<f64>().unwrap(), words[3].parse::<f64>().unwrap()];
        let (n, sum) = ours.get(*name).copied().unwrap_or_default();
        assert_eq!(n, calls as u64, "{name}: {line}");
        // Each line has its time in whole microseconds.
        assert!((sum - seconds).abs() <= 1e-6 * (calls + 2.0), "{name}: {sum} s here, {seconds} s there");
        theirs += n;
    }
    assert!(theirs > 300, "a trace of {theirs} calls");
}

/// Strace that was written elsewhere, of a JVM whose log was held up by its disk: each line is one
/// call.
#[test]
fn a_trace_of_a_jvms_writes_has_each_call_and_all_of_their_time() {
    let dir = tempfile::tempdir().unwrap();
    let file = unpacked(&fixture("diagnose/fixtures/waits/javagcworkload-jdk17-g1.strace.zst"), dir.path());
    let text = std::fs::read_to_string(&file).unwrap();
    let mut lengths = Vec::new();
    for line in text.lines() {
        let length = line.rsplit_once('<').and_then(|(_, t)| t.strip_suffix('>')?.parse::<f64>().ok());
        lengths.extend(length);
    }
    let ours = spans(&file, dir.path(), |row| row.get(3).unwrap());
    let (n, sum) = ours["write"];
    assert_eq!(n, lengths.len() as u64, "{ours:?}");
    // A JVM uses SIGSEGV for its own checks; a signal is an event and no call.
    let signals = text.lines().filter(|l| l.contains("--- SIGSEGV")).count() as u64;
    assert_eq!((ours["SIGSEGV"].0, ours.len()), (signals, 2), "{ours:?}");
    assert!((sum - lengths.iter().sum::<f64>()).abs() < 1e-3, "{sum} s");
}

#[test]
fn a_flight_recording_has_the_events_that_jfr_summary_counts_and_the_waits_that_jfr_print_shows() {
    let dir = tempfile::tempdir().unwrap();
    let file = unpacked(&fixture("diagnose/fixtures/waits/lock-jdk17.jfr.zst"), dir.path());
    let Some(summary) = tool(Command::new("jfr").arg("summary").arg(&file)) else { return };
    let counted = |event: &str| {
        let line = summary.lines().find(|l| l.split_whitespace().next() == Some(event));
        line.map_or(0, |l| l.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap())
    };
    let info = json(&["info", file.to_str().unwrap(), "--json"]);
    let samples = counted("jdk.ExecutionSample") + counted("jdk.NativeMethodSample");
    assert!(samples > 100, "{summary}");
    assert_eq!(info["samples"]["cpu"], samples);
    let waits = "jdk.JavaMonitorEnter";
    let Some(print) = tool(Command::new("jfr").args(["print", "--json", "--events", waits]).arg(&file))
    else {
        return;
    };
    let print: Value = serde_json::from_str(&print).unwrap();
    let events = print["recording"]["events"].as_array().unwrap();
    // ISO 8601: PT0.0209S.
    let length = |e: &Value| -> f64 {
        let text = e["values"]["duration"].as_str().unwrap();
        text.trim_start_matches("PT").trim_end_matches('S').parse().unwrap()
    };
    let theirs: f64 = events.iter().map(length).sum();
    let (n, sum) = spans(&file, dir.path(), |row| row.get(2).unwrap())["lock.monitor"];
    assert_eq!((n, counted(waits)), (events.len() as u64, events.len() as u64));
    assert!((sum - theirs).abs() < 1e-6 * n as f64, "{sum} s here, {theirs} s there");
}

#[test]
fn a_recording_of_perf_has_the_samples_that_perf_counts() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("perf.data");
    let work = "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; ls -lR /usr/include | sort >/dev/null";
    let mut perf = Command::new("perf");
    perf.args(["record", "-q", "-e", "cpu-clock", "-F", "499", "-g", "-o"])
        .arg(&data)
        .args(["sh", "-c", work]);
    if tool(&mut perf).is_none() {
        return;
    }
    let Some(script) = tool(Command::new("perf").args(["script", "-i"]).arg(&data)) else { return };
    let Some(stats) = tool(Command::new("perf").args(["report", "--stats", "-i"]).arg(&data)) else { return };
    let line = stats.lines().find(|l| l.trim_start().starts_with("SAMPLE events:")).unwrap();
    let theirs: u64 = line.split_whitespace().nth(2).unwrap().parse().unwrap();
    let file = dir.path().join("perf.txt");
    std::fs::write(&file, script).unwrap();
    let info = json(&["info", file.to_str().unwrap(), "--json"]);
    assert_eq!(info["samples"]["cpu"], theirs, "{}", info["samples"]);
    assert_eq!(info["losses"]["skipped"], 0);
    // By program, as perf sorts them.
    let sorted = ["report", "--stdio", "-g", "none", "--no-children", "-n", "--sort", "comm", "-i"];
    let Some(report) = tool(Command::new("perf").args(sorted).arg(&data)) else { return };
    let table = dir.path().join("samples.csv");
    fathom(&[
        "export",
        file.to_str().unwrap(),
        "--format",
        "csv",
        "--table",
        "samples",
        "-o",
        table.to_str().unwrap(),
    ]);
    let text = std::fs::read_to_string(&table).unwrap();
    for line in report.lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty()) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (n, program) = (words[1].parse::<usize>().unwrap(), words[2]);
        let mut rows = csv::Reader::from_reader(text.as_bytes());
        let head = rows.headers().unwrap().clone();
        let thread = head.iter().position(|h| h == "thread").unwrap();
        let ours = rows.records().filter(|row| &row.as_ref().unwrap()[thread] == program).count();
        assert_eq!(ours, n, "{line}");
    }
}

#[test]
fn folded_stacks_have_the_sum_of_their_lines() {
    let file = fixture("ingest/fixtures/folded/async17.collapsed");
    let text = std::fs::read_to_string(&file).unwrap();
    let theirs: i64 = text.lines().map(|l| l.rsplit_once(' ').unwrap().1.parse::<i64>().unwrap()).sum();
    let ours = json(&["flame", file.to_str().unwrap(), "--json"]);
    assert_eq!(ours["total"], theirs);
    // Once more through the other direction: what is written of it has the same sum and the same
    // leaves.
    let dir = tempfile::tempdir().unwrap();
    let again = dir.path().join("again.folded");
    fathom(&["flame", file.to_str().unwrap(), "-o", again.to_str().unwrap()]);
    let written = std::fs::read_to_string(&again).unwrap();
    assert_eq!(
        written.lines().map(|l| l.rsplit_once(' ').unwrap().1.parse::<i64>().unwrap()).sum::<i64>(),
        theirs
    );
}

#[test]
fn profiles_of_go_have_the_totals_that_pprof_shows() {
    for (name, unit, kind) in [("cpu.pb.gz", "ns", "cpu"), ("heap.pb.gz", "B", "live")] {
        let file = fixture(&format!("ingest/fixtures/pprof/{name}"));
        let unit = format!("-unit={unit}");
        let Some(top) = tool(Command::new("go").args(["tool", "pprof", "-top", &unit]).arg(&file)) else {
            return;
        };
        // "Showing nodes accounting for 3891436B, 100% of 3891436B total"
        let line = top.lines().find(|l| l.starts_with("Showing nodes")).unwrap();
        let total = line.split(" of ").nth(1).unwrap().split(' ').next().unwrap();
        let theirs: i64 = total.trim_end_matches(|c: char| c.is_alphabetic()).parse().unwrap();
        let args = ["flame", file.to_str().unwrap(), "--json", "--kind", kind];
        assert_eq!(json(&args)["total"], theirs, "{name}: {top}");
    }
}

/// A line of a future JDK changes no pause and is no reason to stop: it is counted and
/// shown.
#[test]
fn a_log_line_that_nobody_knows_is_shown_by_info_and_gc() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("gc.log");
    let text = "[0.1s][info][gc] Using G1\n\
         [1.0s][info][gc,newthing] GC(1) A thing that nobody knows: 12ms\n\
         [1.1s][info][gc] GC(1) Pause Young (Normal) (G1 Evacuation Pause) 1M->0M(2M) 100.000ms\n\
         [2.0s][info][gc,newthing] GC(2) A thing that nobody knows: 9ms\n";
    std::fs::write(&log, text).unwrap();
    let log = log.to_str().unwrap();
    for command in ["info", "gc"] {
        let said = reported(&fathom(&[command, log]));
        assert!(said.contains("(2 lines), for example") && said.contains("one of 2 such lines"), "{said}");
        assert!(said.contains("A thing that nobody knows"), "{said}");
    }
    assert_eq!(json(&["info", log, "--json"])["losses"]["skipped"], 2);
}
