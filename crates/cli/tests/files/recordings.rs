//! `fathom import`, `info`, `pack` and `unpack`, from the outside.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

fn fathom(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fathom")).current_dir(dir).args(args).output().unwrap()
}

fn ok(dir: &Path, args: &[&str]) -> String {
    let output = fathom(dir, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(dir: &Path, args: &[&str]) -> serde_json::Value {
    serde_json::from_str(&ok(dir, args)).unwrap()
}

/// A directory with a table of 60 ticks.
fn place() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let ticks: String = (0..60).map(|i| format!("{i},{}\n", 400 + i % 7)).collect();
    fs::write(dir.path().join("ops.csv"), format!("time_s,throughput\n{ticks}")).unwrap();
    dir
}

#[test]
fn a_recording_tells_the_same_as_the_files_that_it_was_made_from_packed_or_not() {
    let dir = place();
    let from_file = json(dir.path(), &["info", "ops.csv", "--json"]);
    assert_eq!(from_file["schema"], "fathom.info/1");
    assert_eq!(from_file["rows"]["series_points"], 60);
    ok(dir.path(), &["import", "ops.csv", "-o", "x.fathom"]);
    // A recording has an id of its own, which files have not, and keeps it.
    let reported = |recording: &str| {
        let mut reported = json(dir.path(), &["info", recording, "--json"]);
        let id = reported["identity"]["recording"].take();
        (id.as_str().unwrap().to_owned(), reported)
    };
    let (id, of_recording) = reported("x.fathom");
    assert_eq!((id.len(), &of_recording), (32, &from_file));
    assert_eq!(ok(dir.path(), &["pack", "x.fathom"]), "x.fathom.tar\n");
    assert_eq!(reported("x.fathom.tar"), (id.clone(), from_file.clone()));
    ok(dir.path(), &["unpack", "x.fathom.tar", "-o", "y.fathom"]);
    assert_eq!(reported("y.fathom"), (id.clone(), from_file));
    // Verdict and chains say which recording they are of, and files are none.
    for command in ["diagnose", "chain"] {
        let of = |input: &str| json(dir.path(), &[command, input, "--json"])["recording"].clone();
        assert_eq!((of("y.fathom"), of("ops.csv")), (serde_json::json!(id), serde_json::Value::Null));
    }
    let both = json(dir.path(), &["info", "y.fathom", "ops.csv", "--json"]);
    assert_eq!(both["rows"]["series_points"], 120);
    assert_eq!(both["sources"].as_array().unwrap().len(), 2);
}

#[test]
fn a_folder_is_read_with_the_recordings_in_it() {
    let dir = place();
    fs::create_dir(dir.path().join("run")).unwrap();
    ok(dir.path(), &["import", "ops.csv", "-o", "run/x.fathom"]);
    let alone = json(dir.path(), &["info", "run", "--json"]);
    assert_eq!(alone["rows"]["series_points"], 60);
    fs::copy(dir.path().join("ops.csv"), dir.path().join("run/again.csv")).unwrap();
    let both = json(dir.path(), &["info", "run", "--json"]);
    assert_eq!(both["rows"]["series_points"], 120);
    let output = fathom(dir.path(), &["info", "run"]);
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(!reported.contains("not used") && !reported.contains("not a format"), "{reported}");
}

#[test]
fn nothing_is_replaced_unless_asked_for_and_never_what_is_no_recording() {
    let dir = place();
    ok(dir.path(), &["import", "ops.csv", "-o", "x.fathom"]);
    ok(dir.path(), &["pack", "x.fathom"]);
    fs::create_dir(dir.path().join("home")).unwrap();
    fs::write(dir.path().join("home/thesis"), "years").unwrap();
    for args in [
        &["import", "ops.csv", "-o", "x.fathom"][..],
        &["import", "ops.csv", "-o", "home", "--force"],
        &["import", "ops.csv", "-o", "ops.csv", "--force"],
        &["unpack", "x.fathom.tar"],
        &["unpack", "x.fathom.tar", "-o", "home", "--force"],
        &["pack", "x.fathom"],
        &["pack", "home"],
        &["unpack", "ops.csv"],
    ] {
        let output = fathom(dir.path(), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(output.stderr.starts_with(b"fathom: "), "{args:?}");
    }
    assert_eq!(fs::read(dir.path().join("home/thesis")).unwrap(), b"years");
    ok(dir.path(), &["import", "ops.csv", "-o", "x.fathom", "--force"]);
    ok(dir.path(), &["pack", "x.fathom", "--force"]);
    ok(dir.path(), &["unpack", "x.fathom.tar", "--force"]);
}

#[test]
fn a_damaged_recording_is_named_and_nothing_in_it_reaches_the_terminal_as_a_control() {
    let dir = place();
    ok(dir.path(), &["import", "ops.csv", "-o", "x.fathom"]);
    let meta = "{\"format\":\"fathom.recording\",\"schema_version\":9,\"tool\":\"\\u001b[2Jevil\"}";
    fs::write(dir.path().join("x.fathom/meta.json"), meta).unwrap();
    let output = fathom(dir.path(), &["info", "x.fathom"]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("schema 9") && message.contains("\\x1b[2Jevil"), "{message}");
    assert!(!message.contains('\x1b'));
}
