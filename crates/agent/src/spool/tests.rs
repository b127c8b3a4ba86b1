//! A spool keeps what is whole, drops the oldest, and counts each once.

#![allow(clippy::unwrap_used, reason = "a test panics where it fails")]
use super::*;

const BYTES: usize = 1000;

fn add(spool: &Spool, name: &str) {
    let made = spool.make(name).unwrap();
    std::fs::write(made.join("x-recordings.parquet"), [0; BYTES]).unwrap();
    spool.commit(&made).unwrap();
}

fn names(spool: &Spool) -> Vec<String> {
    spool.entries().into_iter().map(|entry| entry.name).collect()
}

fn incident(dir: &Path, name: &str) {
    let path = dir.join("incidents").join(name);
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join("meta.json"), [0; BYTES]).unwrap();
}

#[test]
fn what_was_not_finished_is_cleared_away_and_what_is_whole_stays() {
    let dir = tempfile::tempdir().unwrap();
    let spool = Spool::open(dir.path(), 1 << 20).unwrap();
    add(&spool, "a");
    std::fs::write(spool.make("b").unwrap().join("half"), "x").unwrap();
    let second = Spool::open(dir.path(), 1 << 20).err().unwrap();
    assert!(second.to_string().contains("another fathom agent"), "{second}");
    // Killed between the move and the removal.
    add(&spool, "c");
    std::fs::rename(dir.path().join("rows/c"), dir.path().join("gone/c")).unwrap();
    drop(spool);
    let spool = Spool::open(dir.path(), 1 << 20).unwrap();
    assert_eq!(names(&spool), ["a"]);
    assert!(["making", "gone"].iter().all(|part| files(&dir.path().join(part)).is_empty()));
    let entry = spool.next().unwrap();
    spool.done(&entry).unwrap();
    assert_eq!((names(&spool).len(), spool.fill()), (0, Fill::default()));
}

#[test]
fn the_oldest_rows_are_dropped_and_counted_and_incidents_come_last() {
    let dir = tempfile::tempdir().unwrap();
    let spool = Spool::open(dir.path(), 3 * BYTES as u64).unwrap();
    incident(dir.path(), "2026.fathom");
    ["a", "b", "c", "d"].iter().for_each(|name| add(&spool, name));
    assert_eq!(names(&spool), ["2026.fathom", "c", "d"]);
    assert_eq!(spool.fill().dropped, 2);
    ["2027.fathom", "2028.fathom", "2029.fathom"].iter().for_each(|name| incident(dir.path(), name));
    spool.trim().unwrap();
    assert_eq!(names(&spool), ["2027.fathom", "2028.fathom", "2029.fathom"]);
    assert_eq!(spool.fill().dropped, 5);
    drop(spool);
    assert_eq!(Spool::open(dir.path(), 1 << 20).unwrap().fill().dropped, 5);
}

#[test]
fn what_is_being_handed_over_is_not_dropped() {
    let dir = tempfile::tempdir().unwrap();
    let spool = Spool::open(dir.path(), BYTES as u64).unwrap();
    add(&spool, "a");
    assert_eq!(spool.next().unwrap().name, "a");
    add(&spool, "b");
    assert_eq!(names(&spool), ["a"]);
    spool.release();
    add(&spool, "c");
    assert_eq!((names(&spool), spool.fill().dropped), (vec!["c".to_owned()], 2));
}

#[test]
fn a_kill_between_writing_down_and_removing_counts_once_and_one_within_a_line_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let spool = Spool::open(dir.path(), 1 << 20).unwrap();
    ["a", "b"].iter().for_each(|name| add(&spool, name));
    drop(spool);
    std::fs::write(dir.path().join("dropped"), "7 before\n1 a\n1 ").unwrap();
    let spool = Spool::open(dir.path(), 1 << 20).unwrap();
    assert_eq!((names(&spool), spool.fill().dropped), (vec!["b".to_owned()], 8));
    spool.count_lost("z", 2).unwrap();
    drop(spool);
    assert_eq!(Spool::open(dir.path(), 1 << 20).unwrap().fill().dropped, 10);
}

#[test]
fn a_long_list_is_folded_and_still_counts() {
    let dir = tempfile::tempdir().unwrap();
    let spool = Spool::open(dir.path(), 1 << 20).unwrap();
    let name = "n".repeat(200);
    (0..400).for_each(|i| spool.count_lost(&format!("{name}{i}"), 1).unwrap());
    assert!(dir.path().join("dropped").metadata().unwrap().len() < LONG_LIST);
    assert_eq!(spool.fill().dropped, 400);
    drop(spool);
    assert_eq!(Spool::open(dir.path(), 1 << 20).unwrap().fill().dropped, 400);
}
