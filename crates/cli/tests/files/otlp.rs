//! OTLP profiles: what is written has the same totals when it is read, and passes OpenTelemetry's
//! own checker (`profcheck` of open-telemetry/sig-profiling), where that is installed.

use std::path::Path;
use std::process::{Command, Output};

use super::exports::exported;

fn fathom(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fathom")).current_dir(dir).args(args).output().unwrap()
}

fn totals(dir: &Path, input: &str) -> serde_json::Value {
    let output = fathom(dir, &["flame", input, "--json", "--kind", "cpu"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn what_is_exported_is_read_with_the_same_totals() {
    let dir = tempfile::tempdir().unwrap();
    exported(dir.path(), "otlp", "x.otlp");
    let (before, after) = (totals(dir.path(), "a.fathom"), totals(dir.path(), "x.otlp"));
    assert_eq!(before["total"], after["total"]);
    let frames = |of: &serde_json::Value| {
        let mut frames: Vec<_> = of["frames"].as_array().unwrap().iter().map(ToString::to_string).collect();
        frames.sort();
        frames
    };
    assert_eq!(frames(&before), frames(&after));
    for command in ["diagnose", "info"] {
        let output = fathom(dir.path(), &[command, "x.otlp"]);
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let report = fathom(dir.path(), &["report", "x.otlp", "-o", "x.html"]);
    assert!(report.status.success(), "{}", String::from_utf8_lossy(&report.stderr));
}

#[test]
fn opentelemetrys_own_checker_finds_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = exported(dir.path(), "otlp", "x.otlp");
    let check = Command::new("profcheck").args(["-check-dupes", "-check-orphans"]).arg(&file).output();
    let Ok(check) = check else {
        fathom_testing::skip("profcheck (open-telemetry/sig-profiling) is not installed");
        return;
    };
    let text = String::from_utf8_lossy(&check.stdout);
    assert!(check.status.success() && text.contains("conformance checks passed"), "{text}");
}
