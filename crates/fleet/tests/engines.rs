//! Engines that take minutes to come up, and packages of hundreds of megabytes: `make test-engines`
//! installs them and runs these. Each must give the rows that DuckDB gives, byte for byte.

#![allow(clippy::unwrap_used, reason = "a test panics where it fails")]

mod made;

use std::process::Command;

use fathom_fleet::SqlEngine;
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
        answers_as_duckdb_does(SqlEngine::Spark, dir.path(), dir.path());
    }
}

/// Prints the tables of a catalogue whose rows are not those of the files at a place.
const READER: &str = "
import sys, duckdb
from pyiceberg.catalog.sql import SqlCatalog
catalog, place = sys.argv[1:]
tables = SqlCatalog('fathom', uri=f'sqlite:///{catalog}/catalog.db', warehouse=f'file://{catalog}')
for (_, name) in tables.list_tables('fathom'):
    rows = tables.load_table(f'fathom.{name}').scan().to_arrow()
    engine = duckdb.connect()
    engine.register('given', rows)
    files = f'{place}/day=*/service=*/host=*/*-{name}.parquet'
    engine.execute(f\"CREATE VIEW files AS SELECT * FROM read_parquet('{files}', hive_partitioning = false)\")
    one, other = 'SELECT * FROM given', 'SELECT * FROM files'
    for a, b in ((one, other), (other, one)):
        if engine.execute(f'SELECT count(*) FROM ({a} EXCEPT ALL {b})').fetchone()[0]:
            print(name)
print(len(tables.list_tables('fathom')), 'tables')
";

#[test]
#[ignore = "make test-engines"]
fn tables_of_iceberg_have_the_rows_of_the_files_and_follow_them() {
    if !has("pyiceberg") {
        return;
    }
    let (dir, catalog) = (fleet(Planted::SlowerMethodAndOutlier), tempfile::tempdir().unwrap());
    let python = python().unwrap();
    let registered = || {
        let all = fathom_fleet::register(dir.path(), catalog.path(), &python.to_string_lossy()).unwrap();
        let frames = all.into_iter().find(|table| table.table == "frames").unwrap();
        (frames.files, frames.added, frames.removed)
    };
    let differing = || {
        let output =
            Command::new(python).args(["-c", READER]).args([catalog.path(), dir.path()]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(registered(), (40, 40, 0));
    // Those without a row in any file are tables, too.
    let first = differing();
    assert_eq!(first, "9 tables\n");
    std::fs::remove_dir_all(dir.path().join("day=2026-11-02")).unwrap();
    assert_eq!(registered(), (30, 0, 10));
    assert_eq!(differing(), first);
    assert_eq!(registered(), (30, 0, 0));
}

/// A fleet of a month in which something was planted, and the changes that DuckDB finds in it.
fn month() -> (tempfile::TempDir, String) {
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
    let expected = changes(SqlEngine::DuckDb, dir.path());
    assert!(expected.lines().count() > 3, "{expected}");
    (dir, expected)
}

fn changes(engine: SqlEngine, at: &std::path::Path) -> String {
    sorted(&ask(engine, at, "changes", &[("moved", "yes")]).unwrap())
}

#[test]
#[ignore = "make test-engines"]
fn clickhouse_and_spark_find_the_same_changes_as_duckdb() {
    if has("pyspark") && has("chdb") {
        let (dir, expected) = month();
        assert_eq!(changes(SqlEngine::ClickHouse, dir.path()), expected);
        assert_eq!(changes(SqlEngine::Spark, dir.path()), expected);
    }
}

#[test]
#[ignore = "make test-engines"]
fn trino_answers_every_question_as_duckdb_does_and_finds_the_same_changes() {
    if !(has("trino") && has("pyiceberg")) {
        return;
    }
    let Some(server) = trino::Trino::start() else { return };
    let dir = fleet(Planted::SlowerMethodAndOutlier);
    answers_as_duckdb_does(SqlEngine::Trino, &server.schema("days", dir.path()), dir.path());
    let (dir, expected) = month();
    assert_eq!(changes(SqlEngine::Trino, &server.schema("month", dir.path())), expected);
}
