//! Marks through the command line, on the access log of a real server that stopped for three
//! seconds.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// Apache's log: slow from 12:38:39 on, reported in ticks of a second of a clock that is cut to
/// seconds.
fn log() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../ingest/fixtures/access-log/apache-2.4-D.log.zst")
}

fn fathom(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fathom")).env("TZ", "UTC").args(args).output().unwrap()
}

fn done(args: &[&str]) -> String {
    let output = fathom(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(args: &[&str]) -> Value {
    serde_json::from_str(&done(&[args, &["--json"]].concat())).unwrap()
}

/// Time and text of the marks of a verdict, and how long before a slow window they are,
/// milliseconds.
fn marks(diagnosis: &Value) -> Vec<(i64, String, Option<f64>)> {
    let mark = |m: &Value| {
        (
            m["at_ns"].as_i64().unwrap(),
            m["text"].as_str().unwrap().to_owned(),
            m["began"]["before_ms"].as_f64(),
        )
    };
    diagnosis["marks"].as_array().unwrap().iter().map(mark).collect()
}

#[test]
fn a_slow_window_that_begins_with_a_mark_says_so_and_claims_no_cause() {
    let log = log();
    let log = log.to_str().unwrap();
    let args =
        ["diagnose", log, "--mark", "12:38:38.600=deploy 2.3", "--mark", "2026-11-24T12:38:30Z=backup"];
    let reported = json(&args);
    let from_ns = reported["windows"]["slow"][0]["from_ns"].as_i64().unwrap();
    let deploy = reported["marks"].as_array().unwrap().iter().find(|m| m["text"] == "deploy 2.3").unwrap();
    assert_eq!(deploy["began"]["from_ns"], from_ns);
    assert_eq!(deploy["began"]["before_ms"], 400.0);
    // A tick, the millisecond that the mark is written to, and the second that timestamps are
    // rounded down to.
    assert_eq!(deploy["began"]["within_ms"], 2001.0);
    let backup = reported["marks"].as_array().unwrap().iter().find(|m| m["text"] == "backup").unwrap();
    assert!(backup["began"].is_null());
    assert!(reported["findings"].as_array().unwrap().is_empty(), "a mark is no cause");
    let words = done(&args).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("began with: deploy 2.3 (400 ms before the window at 12.0 s"), "{words}");
    // The windows and the loss are those without a mark.
    let without = json(&["diagnose", log]);
    assert_eq!((&reported["windows"], &reported["loss"]), (&without["windows"], &without["loss"]));
}

#[test]
fn marks_of_a_file_stay_in_a_recording_and_in_what_is_made_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (csv, plain, recording, packed) =
        (at("deploys.csv"), at("ops.txt"), at("x.fathom"), at("x.packed.fathom"));
    std::fs::write(
        &csv,
        "time,text\n2026-11-24T12:38:38Z,\"deploy 2.3, canary\"\n# a note\n\n2020-01-01,long ago\n",
    )
    .unwrap();
    std::fs::write(&plain, "5s switch on\n2026-11-24 12:38:50 switch off\n").unwrap();
    let log = log();
    let imported =
        fathom(&["import", log.to_str().unwrap(), "--marks", &csv, "--marks", &plain, "-o", &recording]);
    let said = String::from_utf8_lossy(&imported.stderr).into_owned();
    assert!(imported.status.success(), "{said}");
    assert!(said.contains("deploys.csv: not a mark of this recording: 2020-01-01"), "{said}");
    done(&["pack", &recording, "-o", &packed]);
    let expected = ["switch on", "deploy 2.3, canary", "switch off"];
    for kept in [&recording, &packed] {
        let reported = json(&["diagnose", kept]);
        let texts: Vec<_> = marks(&reported).into_iter().map(|(_, text, _)| text).collect();
        assert_eq!(texts, expected, "{kept}");
        assert_eq!(reported["marks"][1]["source"], "deploys.csv:2");
    }
    // More can be added to a recording that has some.
    let more = json(&["diagnose", &packed, "--mark", "20=restart"]);
    assert_eq!(marks(&more).len(), 4);
    // They are no records of an input that cover anything.
    let info = done(&["info", &packed]);
    assert!(info.contains("mark") && info.contains("ops.txt"), "{info}");
}

#[test]
fn a_report_holds_marks_and_none_can_leave_its_place() {
    let evil = "</script><script>alert(1)</script>\u{1b}[2J\u{202e}x";
    let log = log();
    let mark = format!("12:38:39={evil}");
    let page = done(&["report", log.to_str().unwrap(), "--mark", &mark, "-o", "-"]);
    assert!(page.contains("alert(1)") && !page.contains("</script><script>alert"));
    let words = done(&["diagnose", log.to_str().unwrap(), "--mark", &mark]);
    assert!(
        words.contains("\\x1b[2J") && !words.contains('\u{1b}') && !words.contains('\u{202e}'),
        "{words:?}"
    );
}

#[test]
fn what_is_no_mark_is_refused_with_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("marks.txt");
    std::fs::write(&file, "5s first\nsecond\n").unwrap();
    let log = log();
    for (args, expected) in [
        (["--marks", file.to_str().unwrap()], "marks.txt:2: not TIME TEXT"),
        (["--marks", "/nonexistent/marks"], "/nonexistent/marks"),
        (["--mark", "deploy"], "cannot read the time"),
        (["--mark", "noon=deploy"], "cannot read the time"),
        (["--mark", "8.6s="], "has a time but no text"),
    ] {
        let output = fathom(&[&["diagnose", log.to_str().unwrap()], &args[..]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(expected), "{args:?}: {said}");
    }
}

#[test]
fn a_live_recording_keeps_its_marks_and_a_bad_file_of_them_does_not_cost_it() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let (marks_file, bad, recording) = (at("ops.log"), at("bad.log"), at("x.fathom"));
    std::fs::write(&marks_file, "0.5s cache off\n").unwrap();
    std::fs::write(&bad, "no time\n").unwrap();
    for (file, expected) in [(&marks_file, ["cache off", "load on"].as_slice()), (&bad, &[])] {
        let args =
            ["record", "-d", "2s", "-o", &recording, "--force", "--mark", "1s=load on", "--marks", file];
        let output = fathom(&[&args[..], &["--", "sleep", "4"]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.code() == Some(3) {
            fathom_testing::skip(&format!("nothing can be recorded here: {said}"));
            return;
        }
        assert!(output.status.success(), "{said}");
        assert_eq!(said.contains("no marks: "), expected.is_empty(), "{said}");
        let reported = json(&["diagnose", &recording]);
        assert_eq!(marks(&reported).into_iter().map(|(_, text, _)| text).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_rotated_access_log_is_read_as_one() {
    let dir = tempfile::tempdir().unwrap();
    let text = zstd::decode_all(std::fs::File::open(log()).unwrap()).unwrap();
    let half = text[..text.len() / 2].iter().rposition(|b| *b == b'\n').unwrap() + 1;
    std::fs::write(dir.path().join("access.log.1"), &text[..half]).unwrap();
    std::fs::write(dir.path().join("access.log"), &text[half..]).unwrap();
    let whole = json(&["diagnose", log().to_str().unwrap()]);
    let rotated = json(&["diagnose", dir.path().to_str().unwrap()]);
    assert_eq!(rotated["inputs"].as_array().unwrap().len(), 1);
    assert_eq!(rotated["inputs"][0]["format"], "access-log");
    assert_eq!(rotated["windows"]["slow"], whole["windows"]["slow"]);
    assert_eq!(rotated["loss"]["lost_ms"], whole["loss"]["lost_ms"]);
}
