//! Engines that take minutes to come up, and packages of hundreds of megabytes: `make test-engines`
//! installs them and runs these. Each must give the rows that DuckDB gives, byte for byte.

#![allow(clippy::unwrap_used, reason = "a test panics where it fails")]

mod made;

use std::process::Command;

use fathom_fleet::Engine;
use made::*;

const GENERATOR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench/fleet/generate.py");

/// Whether the Python of the tests has a package.
fn has(package: &str) -> bool {
    let found = python().is_some_and(|python| runs(python, &format!("import {package}")));
    if !found {
        fathom_testing::skip(&format!("{package} is not installed for this Python"));
    }
    found
}

#[test]
#[ignore = "make test-engines"]
fn spark_answers_every_question_as_duckdb_does() {
    if has("pyspark") {
        let dir = fleet(Planted::SlowerMethodAndOutlier);
        answers_as_duckdb_does(Engine::Spark, dir.path());
    }
}

#[test]
#[ignore = "make test-engines"]
fn all_engines_find_the_same_changes() {
    if !(has("pyspark") && has("chdb")) {
        return;
    }
    let (templates, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let template = recording(1, 0, "1.0", Planted::Nothing);
    fathom_fleet::add(&template, &templates.path().join("cart")).unwrap();
    let output = Command::new(python().unwrap())
        .arg(GENERATOR)
        .args(["--recordings", "150", "--samples", "6000", "--packed", "--from"])
        .args([templates.path(), std::path::Path::new("--to"), dir.path()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let of = |engine| sorted(&ask(engine, dir.path(), "changes", &[("moved", "yes")]).unwrap());
    let expected = of(Engine::DuckDb);
    assert!(expected.lines().count() > 3, "{expected}");
    assert_eq!(of(Engine::ClickHouse), expected);
    assert_eq!(of(Engine::Spark), expected);
}
