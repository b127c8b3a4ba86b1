//! Each window that a verdict prints is one that the other commands take, and where nobody watched
//! they say so.

use std::process::{Command, Output};

use serde_json::Value;

fn fathom(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fathom")).args(args).output().unwrap()
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn fixture(name: &str) -> String {
    format!("{}/../diagnose/fixtures/live/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The windows of the line that begins with a label: "   slow      0.0 to 4.1 s, 9.0 to 9.5 s (4.14 s) from …".
fn printed(verdict: &str, label: &str) -> Vec<String> {
    let line = verdict.lines().find_map(|line| line.trim_start().strip_prefix(label)).unwrap();
    let windows = line.split_once('(').unwrap().0;
    windows.split(", ").map(|window| window.trim().trim_end_matches(" s").to_owned() + " s").collect()
}

#[test]
fn windows_are_taken_as_they_are_printed() {
    for name in ["lock-convoy", "hog"] {
        let (recording, table) =
            (fixture(&format!("{name}.fathom")), fixture(&format!("{name}-throughput.csv")));
        let verdict = said(&fathom(&["diagnose", &recording, &table]));
        let windows = [printed(&verdict, "slow "), printed(&verdict, "baseline ")].concat();
        assert!(windows.len() > 1, "{verdict}");
        for window in windows {
            for command in [&["ledger"][..], &["flame", "--top=3"], &["chain"]] {
                let output = fathom(&[command, &["--window", &window, &recording]].concat());
                assert!(output.status.success(), "{command:?} {window}: {}", said(&output));
            }
        }
    }
}

#[test]
fn a_window_in_which_nobody_watched_says_from_when_on_threads_were() {
    let hog = fixture("hog.fathom");
    for command in ["ledger", "chain"] {
        let output = fathom(&[command, "--window", "0s..0.3s", &hog]);
        let said = said(&output);
        assert!(output.status.success(), "{command}: {said}");
        let reported = "no thread was watched in 0.000 s to 0.300 s: context switches are recorded from";
        assert!(said.starts_with(reported), "{command}: {said}");
    }
    let json = fathom(&["ledger", "--json", "--window", "0s..0.3s", &hog]);
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["groups"], Value::Array(Vec::new()));
}

#[test]
fn all_commands_look_at_the_same_time() {
    for name in ["hog", "log-frozen-file-system", "hand-1500-threads"] {
        let recording = fixture(&format!("{name}.fathom"));
        let window = |command: &[&str]| -> Value {
            let output = fathom(&[command, &["--json", &recording]].concat());
            serde_json::from_slice::<Value>(&output.stdout).unwrap()["window"].clone()
        };
        let of_ledger = window(&["ledger"]);
        assert_eq!(of_ledger, window(&["chain"]), "{name}");
        let verdict = fathom(&["diagnose", "--json", &recording]);
        let windows = serde_json::from_slice::<Value>(&verdict.stdout).unwrap()["windows"].clone();
        if windows["base"] == Value::Array(Vec::new()) {
            assert_eq!(of_ledger, windows["slow"][0], "{name}");
        }
    }
}
