//! Changes that were planted in a fleet are found, each on its day, and nothing in months in which
//! nothing happened. The fleets are those of `bench/fleet/generate.py`, their templates recordings
//! of made-up services.

#![allow(clippy::unwrap_used, reason = "a test panics where it fails")]

mod made;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use fathom_fleet::{SqlEngine, add};
use made::*;
use serde_json::Value;

const GENERATOR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/fleet/generate.py");

/// A month of three services; false where it cannot be made here.
fn month(to: &Path, seed: u64, plant: &str) -> bool {
    let Some(python) = python() else { return false };
    let templates = tempfile::tempdir().unwrap();
    for (host, service) in ["cart", "prices", "search"].into_iter().enumerate() {
        let made = recording(host as u64, 0, "1.0", Planted::Nothing);
        add(&made, &templates.path().join(service)).unwrap();
    }
    let output = Command::new(python)
        .arg(GENERATOR)
        .args(["--recordings", "360", "--samples", "6000", "--packed", "--plant", plant])
        .args(["--seed", &seed.to_string(), "--from"])
        .args([templates.path(), Path::new("--to"), to])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    true
}

fn text(row: &[Value], column: usize) -> &str {
    row[column].as_str().unwrap()
}

#[test]
fn planted_regressions_are_found_on_their_days_and_what_moved_or_went_away_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    if !month(dir.path(), 1, "all") {
        return;
    }
    let planted: Value =
        serde_json::from_slice(&std::fs::read(dir.path().join("planted.json")).unwrap()).unwrap();
    let planted = planted["planted"].as_array().unwrap();
    let day = |what: &Value| format!("2026-11-{:02}", 1 + what["since"].as_i64().unwrap());
    let real: BTreeSet<(String, String, String)> = planted
        .iter()
        .filter(|what| ["regression", "category"].contains(&what["kind"].as_str().unwrap()))
        .map(|what| {
            let name = what["method"].as_str().or(what["category"].as_str()).unwrap();
            (what["service"].as_str().unwrap().to_owned(), name.to_owned(), day(what))
        })
        .collect();
    let answer = ask(SqlEngine::DuckDb, dir.path(), "changes", &[]).unwrap();
    let found: BTreeSet<_> = answer
        .rows
        .iter()
        .map(|row| (text(row, 0).to_owned(), text(row, 2).to_owned(), text(row, 3).to_owned()))
        .collect();
    let all = ask(SqlEngine::DuckDb, dir.path(), "changes", &[("moved", "yes")]).unwrap();
    assert_eq!(found, real, "{all:?}");
    // The one that came with a version says so; the others have none.
    for row in &answer.rows {
        let with =
            planted.iter().find(|what| what["method"] == row[2] || what["category"] == row[2]).unwrap();
        let deploy = if with["release"].is_null() { "" } else { "2.2" };
        assert_eq!(text(row, 9), deploy, "{row:?}");
    }
    // What is left out is printed on demand, with the method that it was before.
    for kind in ["renamed", "outlined"] {
        let what = planted.iter().find(|what| what["kind"] == kind).unwrap();
        let from = format!("moved from {}", what["method"].as_str().unwrap());
        assert!(all.rows.iter().any(|row| row[11] == from.as_str()), "{kind}: {all:?}");
    }
}

#[test]
fn in_quiet_months_nothing_is_found() {
    for seed in 2..5 {
        let dir = tempfile::tempdir().unwrap();
        if !month(dir.path(), seed, "none") {
            return;
        }
        let answer = ask(SqlEngine::DuckDb, dir.path(), "changes", &[]).unwrap();
        assert_eq!(answer.rows, Vec::<Vec<Value>>::new(), "seed {seed}");
    }
}
