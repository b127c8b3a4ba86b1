//! What CPU samples are taken by, and what each weighs. Needs root and eBPF; skips loudly without.

use std::path::Path;

use serde_json::Value;

use crate::live::process::busy;
use crate::live::recorded::open;
use crate::live::{ebpf_is_allowed, fathom, json, patiently, said};

/// What a recording says that its CPU samples were taken by.
fn sampling(info: &Value) -> Value {
    let sources = info["sources"].as_array().unwrap();
    sources.iter().find(|source| source["format"] == "cpu").unwrap()["sampling"].clone()
}

#[test]
fn a_sample_by_the_clock_weighs_the_time_between_two_ticks_and_the_recording_says_so() {
    patiently(|| {
        if !ebpf_is_allowed() {
            return;
        }
        let (dir, busy) = (tempfile::tempdir().unwrap(), busy());
        let args = ["record", "-p", &busy.pid(), "-d", "2s", "-F", "499", "-o", "x.fathom"];
        let output = fathom(dir.path(), &args);
        assert!(output.status.success(), "{}", said(&output));
        let (recording, reported) = (open(dir.path(), "x.fathom"), json(dir.path(), &["info", "x.fathom"]));
        let period_ns = 1_000_000_000 / 499;
        let cpu = recording.strings.find("cpu");
        let weights: Vec<i64> =
            recording.samples.iter().filter(|s| Some(s.kind) == cpu).map(|s| s.weight).collect();
        assert!(!weights.is_empty() && weights.iter().all(|ns| *ns == period_ns), "{weights:?}");
        let expected =
            serde_json::json!({"event": "cpu-clock", "unit": "ns", "rate_hz": 499, "period": period_ns});
        assert_eq!(sampling(&reported), expected);
        let kinds = reported["sample_kinds"].as_array().unwrap();
        let kind = kinds.iter().find(|kind| kind["kind"] == "cpu").unwrap();
        assert_eq!((&kind["unit"], kind["weight"].as_i64()), (&"ns".into(), Some(weights.iter().sum())));
    });
}

#[test]
fn cycles_are_sampled_where_they_are_counted_and_refused_in_one_sentence_where_not() {
    if !ebpf_is_allowed() {
        return;
    }
    let check = fathom(Path::new("."), &["check", "--json"]);
    let check: Value = serde_json::from_slice(&check.stdout).unwrap();
    let item = check["items"].as_array().unwrap().iter().find(|item| item["id"] == "pmu").unwrap();
    let (dir, busy) = (tempfile::tempdir().unwrap(), busy());
    let args = ["record", "-p", &busy.pid(), "-d", "2s", "--event", "cycles", "-o", "x.fathom"];
    let output = fathom(dir.path(), &args);
    if item["state"] != "works" {
        fathom_testing::skip("in part: this machine counts no cycles");
        assert_eq!((output.status.code(), said(&output).lines().count()), (Some(3), 1), "{}", said(&output));
        assert!(said(&output).contains("--event cpu-clock"), "{}", said(&output));
        assert!(item["not_seen"].as_str().unwrap().contains("--event cycles"), "{item}");
        assert!(!dir.path().join("x.fathom").exists());
        return;
    }
    assert!(output.status.success(), "{}", said(&output));
    let reported = json(dir.path(), &["info", "x.fathom"]);
    let sampling = sampling(&reported);
    assert_eq!((&sampling["event"], &sampling["unit"]), (&"cycles".into(), &"cycles".into()));
    assert!(
        reported["samples"]["cycles"].as_u64().is_some_and(|n| n > 0) && reported["samples"]["cpu"].is_null()
    );
}

#[test]
fn the_flight_recorder_is_not_asked_for_cycles() {
    let (dir, busy) = (tempfile::tempdir().unwrap(), busy());
    let args = ["record", "-p", &busy.pid(), "--engine", "jfr", "--event", "cycles", "-o", "x.fathom"];
    let output = fathom(dir.path(), &args);
    assert_eq!((output.status.code(), said(&output).lines().count()), (Some(3), 1), "{}", said(&output));
    assert!(said(&output).contains("eBPF engine") && !dir.path().join("x.fathom").exists());
}
