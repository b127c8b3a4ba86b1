//! What was planted in a fleet of made-up machines is found by the questions, and nothing in one
//! without it; engines give the same rows.

#![allow(clippy::unwrap_used, reason = "a test panics where it fails")]

use fathom_fleet::{Added, SqlEngine, add};
use fathom_recording::*;

mod made;

use made::*;

#[test]
fn a_method_that_costs_a_fifth_more_and_a_host_that_waits_are_found_and_nothing_else() {
    let dir = fleet(Planted::SlowerMethodAndOutlier);
    let Some(versions) = ask(SqlEngine::DuckDb, dir.path(), "versions", parameters("versions")) else {
        return;
    };
    let methods: Vec<&str> = versions.rows.iter().filter_map(|row| row[0].as_str()).collect();
    assert_eq!(methods, ["shop.Prices.round"], "{versions:?}");
    let (from, to) = (versions.rows[0][4].as_f64().unwrap(), versions.rows[0][5].as_f64().unwrap());
    assert!(from < 2.0 && 2.0 < to && from > 0.0, "{from} to {to} points; 2 were planted");
    let outliers = ask(SqlEngine::DuckDb, dir.path(), "outliers", &[]).unwrap();
    assert!(!outliers.rows.is_empty());
    assert!(outliers.rows.iter().all(|row| row[1] == "host-7"), "{outliers:?}");
    assert!(outliers.rows.iter().any(|row| row[2] == "blocked: Java monitor"), "{outliers:?}");
}

#[test]
fn in_a_fleet_in_which_nothing_changed_nothing_is_found() {
    let dir = fleet(Planted::Nothing);
    let Some(versions) = ask(SqlEngine::DuckDb, dir.path(), "versions", parameters("versions")) else {
        return;
    };
    assert_eq!(versions.rows, Vec::<Vec<serde_json::Value>>::new());
    assert!(ask(SqlEngine::DuckDb, dir.path(), "outliers", &[]).unwrap().rows.is_empty());
    assert!(ask(SqlEngine::DuckDb, dir.path(), "day", parameters("day")).unwrap().rows.is_empty());
    // A frame's shares are those that were made: a tenth of the samples.
    let frames = ask(SqlEngine::DuckDb, dir.path(), "frames", &[("top", "100")]).unwrap();
    let round = frames.rows.iter().find(|row| row[2] == "shop.Prices.round").unwrap();
    assert!((round[3].as_f64().unwrap() - 10.0).abs() < 0.5, "{round:?}");
    // 40 recordings × 30 collections of 5 ms.
    let pauses = ask(SqlEngine::DuckDb, dir.path(), "pauses", &[]).unwrap();
    let gc = pauses.rows.iter().find(|row| row[1] == "gc").unwrap();
    assert_eq!((gc[4].as_i64(), gc[5].as_f64(), gc[7].as_i64()), (Some(1200), Some(6000.0), Some(10)));
}

#[test]
fn clickhouse_answers_every_question_as_duckdb_does() {
    let Some(python) = python() else { return };
    if !runs(python, "import chdb") {
        return fathom_testing::skip("ClickHouse (chdb) is not installed for this Python");
    }
    let dir = fleet(Planted::SlowerMethodAndOutlier);
    answers_as_duckdb_does(SqlEngine::ClickHouse, dir.path(), dir.path());
}

#[test]
fn a_recording_that_is_added_again_changes_nothing_and_one_that_was_not_finished_is_completed() {
    let dir = tempfile::tempdir().unwrap();
    let made = recording(3, 0, "1.0", Planted::Nothing);
    let Added::Written { place, rows, bytes } = add(&made, dir.path()).unwrap() else { panic!("written") };
    assert!(place.ends_with("day=2026-11-01/service=shop/host=host-3"), "{}", place.display());
    assert!(rows > 40 && bytes > 0);
    let content = || {
        let mut files: Vec<_> = std::fs::read_dir(&place).unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        files.into_iter().map(|path| (std::fs::read(&path).unwrap(), path)).collect::<Vec<_>>()
    };
    let first = content();
    assert_eq!(first.len(), 9);
    assert_eq!(add(&made, dir.path()).unwrap(), Added::There { place: place.clone() });
    assert_eq!(content(), first);
    // Killed between two files: the last one, and one before it, are missing.
    for (_, path) in &first {
        let name = path.to_string_lossy().into_owned();
        if name.ends_with("-recordings.parquet") || name.ends_with("-calls.parquet") {
            std::fs::remove_file(path).unwrap();
        }
    }
    assert!(matches!(add(&made, dir.path()).unwrap(), Added::Written { .. }));
    assert_eq!(content(), first);
}

#[test]
fn a_recording_without_an_id_is_known_by_its_rows_and_one_without_a_day_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut made = recording(3, 0, "1.0", Planted::Nothing);
    made.identity = Identity::default();
    let Added::Written { place, .. } = add(&made, dir.path()).unwrap() else { panic!("written") };
    assert!(place.ends_with("service=__HIVE_DEFAULT_PARTITION__/host=__HIVE_DEFAULT_PARTITION__"));
    assert!(matches!(add(&made, dir.path()).unwrap(), Added::There { .. }));
    made.sources[0].placement = Placement::default();
    assert!(add(&made, dir.path()).unwrap_err().to_string().contains("wall-clock"));
    assert!(add(&Recording::new(), dir.path()).unwrap_err().to_string().contains("nothing in it"));
}
