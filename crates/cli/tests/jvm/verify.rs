//! `fathom verify` on real logs: a fault and none, the same twice, another fault, and a side that
//! cannot show it.

use std::path::Path;

use serde_json::Value;

use crate::live::{fathom, said};

const BLOCKED: &str = "gc-log-write-blocked/javagcworkload-jdk17-g1.log.zst";
const HEALTHY: &str = "healthy/jdk17-g1.log.zst";
const TOO_SMALL: &str = "gc-heap-too-small/jdk17-parallel.log.zst";

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../diagnose/fixtures/gc").join(name);
    path.display().to_string()
}

/// The report, and the exit status.
fn verify(args: &[&str]) -> (Value, Option<i32>) {
    let output = fathom(Path::new("."), &[&["verify", "--json"], args].concat());
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", said(&output)));
    (report, output.status.code())
}

#[test]
fn a_cause_that_is_ruled_out_after_is_gone_and_the_stops_with_it() {
    let (report, status) = verify(&[&fixture(BLOCKED), &fixture(HEALTHY)]);
    assert_eq!(
        (&report["schema"], &report["verdict"]),
        (&"fathom.verify/1".into(), &"fixed".into()),
        "{report}"
    );
    assert_eq!(status, Some(0));
    let cause = &report["causes"][0];
    assert_eq!((&cause["rule"], &cause["state"]), (&"gc-log-write-blocked".into(), &"gone".into()));
    assert!(cause["why"].as_str().unwrap().contains("rules it out"), "{cause}");
    let gain = &report["gains"][0];
    assert_eq!(gain["id"], "gc.stopped");
    assert!(gain["ratio"][2].as_f64().unwrap() < 0.5, "{gain}");
    // What the blocked writes cost is a part of the stops.
    let promised = gain["predicted"].as_f64().unwrap();
    assert!((0.0..1.0).contains(&promised), "{gain}");
}

#[test]
fn the_same_log_twice_is_not_fixed() {
    let (before, after) = (fixture(BLOCKED), fixture(BLOCKED));
    let (report, status) = verify(&["--before", &before, "--after", &after]);
    assert_eq!((&report["verdict"], status), (&"not-fixed".into(), Some(1)), "{report}");
    assert_eq!(report["causes"][0]["state"], "same");
    assert_eq!(report["causes"][0]["before"], report["causes"][0]["after"]);
    assert_eq!((&report["new"], &report["differing"]), (&serde_json::json!([]), &serde_json::json!([])));
}

#[test]
fn another_cause_is_new_and_a_healthy_before_has_nothing_to_fix() {
    let (report, status) = verify(&[&fixture(BLOCKED), &fixture(TOO_SMALL)]);
    assert_eq!(status, Some(1), "{report}");
    assert!(
        report["new"].as_array().unwrap().iter().any(|new| new["rule"] == "gc-heap-too-small"),
        "{report}"
    );
    let (report, status) = verify(&[&fixture(HEALTHY), &fixture(BLOCKED)]);
    assert_eq!((&report["verdict"], status), (&"cannot-tell".into(), Some(1)), "{report}");
    assert_eq!(report["new"][0]["rule"], "gc-log-write-blocked");
}

/// A table of throughput shows no collections: it does not show what became of the blocked write.
#[test]
fn what_after_cannot_show_is_not_known_and_never_gone() {
    let dir = tempfile::tempdir().unwrap();
    let table = dir.path().join("throughput.csv");
    let rows: String = (0..60).map(|s| format!("{s},{}\n", 1_000 + s % 7)).collect();
    std::fs::write(&table, format!("time(sec),throughput(ops)\n{rows}")).unwrap();
    let (report, status) = verify(&[&fixture(BLOCKED), &table.display().to_string()]);
    assert_eq!((&report["verdict"], status), (&"cannot-tell".into(), Some(1)), "{report}");
    assert_eq!(report["causes"][0]["state"], "not-known");
    assert!(!report["not_known"].as_array().unwrap().is_empty());
}

#[test]
fn one_side_alone_is_bad_usage_and_a_side_that_cannot_be_read_is_named() {
    let healthy = fixture(HEALTHY);
    for args in [&["verify", &healthy][..], &["verify", "--before", &healthy], &["verify"]] {
        assert_eq!(fathom(Path::new("."), args).status.code(), Some(2), "{args:?}");
    }
    let output = fathom(Path::new("."), &["verify", &healthy, "no-such.log"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("AFTER") && said(&output).contains("no-such.log"), "{}", said(&output));
}
