//! Bad input from the outside: what is said, and exit status 2 where nothing could be used.

use std::fs;
use std::path::Path;

use snapbox::cmd::Command;
use snapbox::str;

const TABLE: &str = "time,ops\n1,10\n2,11\n3,12\n4,9\n5,10\n";

fn info(dir: &Path, args: &[&str]) -> Command {
    Command::new(env!("CARGO_BIN_EXE_fathom")).current_dir(dir).arg("info").args(args)
}

fn place(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        fs::write(dir.path().join(name), bytes).unwrap();
    }
    dir
}

#[test]
fn nothing_usable_is_exit_status_2_with_the_reason_for_each_input() {
    let dir = place(&[
        ("empty.log", b""),
        ("core", &[0, 7, 1, 200, 0, 0]),
        ("mail.txt", b"Dear all,\nit is slow.\n"),
    ]);
    info(dir.path(), &["empty.log", "core", "mail.txt"]).assert().code(2).stdout_eq("").stderr_eq(str![[
        r#"
fathom: empty.log: not a format that fathom knows (empty)
fathom: core: not a format that fathom knows (binary data)
fathom: mail.txt: not a format that fathom knows (text: Dear all,)

"#
    ]]);
}

#[test]
fn a_log_of_a_truncated_line_is_refused_by_each_command() {
    let dir = place(&[("gc.log", b"[0.005s][info][gc,start    ] GC(0) Pause You")]);
    let nothing = "fathom: gc.log: looks like unified-log, but holds no record that could be read\n";
    for command in ["diagnose", "gc", "info"] {
        let fathom = Command::new(env!("CARGO_BIN_EXE_fathom")).current_dir(dir.path());
        fathom.args([command, "gc.log"]).assert().code(2).stdout_eq("").stderr_eq(nothing);
    }
}

#[test]
fn a_named_input_that_is_missing_is_exit_status_2_however_good_the_others_are() {
    let dir = place(&[("ops.csv", TABLE.as_bytes())]);
    for gone in ["gone.log", "gone.fathom"] {
        let reason = format!("fathom: {gone}: No such file or directory\n");
        info(dir.path(), &["ops.csv", gone]).assert().code(2).stdout_eq("").stderr_eq(reason);
    }
}

#[test]
fn one_good_input_is_enough_and_the_bad_ones_are_reported() {
    let dir = place(&[("empty.log", b""), ("ops.csv", TABLE.as_bytes())]);
    info(dir.path(), &["empty.log", "ops.csv"]).assert().success().stderr_eq(str![[r#"
fathom: empty.log: not a format that fathom knows (empty)

"#]]);
}

#[test]
fn a_table_comes_through_standard_input() {
    let dir = place(&[]);
    let output = info(dir.path(), &["-", "--json"]).stdin(TABLE).assert().success().stderr_eq("");
    let reported: serde_json::Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    assert_eq!(reported["sources"][0]["name"], "standard input");
    assert_eq!(reported["sources"][0]["records"], 5);
}

#[test]
fn an_empty_standard_input_is_exit_status_2() {
    let dir = place(&[]);
    info(dir.path(), &["-"]).stdin("").assert().code(2).stderr_eq(str![[r#"
fathom: standard input: not a format that fathom knows (empty)

"#]]);
}

/// The tests may run as root, whom no permission stops; what the kernel refuses to everybody is the
/// memory of a process at address 0.
#[test]
#[cfg(target_os = "linux")]
fn what_cannot_be_read_is_exit_status_2() {
    let dir = place(&[]);
    info(dir.path(), &["/proc/self/mem"]).assert().code(2).stderr_eq(str![[r#"
fathom: /proc/self/mem: Input/output error

"#]]);
}

#[test]
fn an_alignment_that_cannot_be_followed_is_exit_status_2() {
    let dir = place(&[("ops.csv", TABLE.as_bytes())]);
    info(dir.path(), &["ops.csv", "--align", "gc.log=+3s"]).assert().code(2).stderr_eq(str![[r#"
fathom: --align gc.log=+3s: no input is called gc.log; there are ops.csv

"#]]);
    info(dir.path(), &["ops.csv", "--align", "ops.csv=soon"]).assert().code(2).stderr_eq(str![[r#"
fathom: --align ops.csv=soon: "soon" is no offset: say +12.3s, -200ms, 1.5min or @2026-11-20T22:00:00Z

"#]]);
}

#[test]
fn pauses_longer_than_their_log_are_doubted_by_gc_as_by_diagnose() {
    let dir = tempfile::tempdir().unwrap();
    // Lines of several JVMs in one file look so, or of one whose clock stands still.
    let pause = "[1.0s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 10M->5M(20M) 100.000ms\n";
    let log = dir.path().join("gc.log");
    std::fs::write(&log, format!("[0.001s][info][gc] Using G1\n{}", pause.repeat(60))).unwrap();
    for command in ["gc", "diagnose"] {
        let output = Command::new(env!("CARGO_BIN_EXE_fathom")).args([command, "--json"]).arg(&log).output();
        let shown: serde_json::Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
        let warnings = shown["warnings"].as_array().unwrap();
        let is_doubt =
            |w: &serde_json::Value| w["text"].as_str().unwrap().contains("pauses lie within the log's span");
        assert!(warnings.iter().any(is_doubt), "{command}: {warnings:?}");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_fathom")).arg("gc").arg(&log).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with(" ! gc.log: self-check failed: "), "{text}");
}
