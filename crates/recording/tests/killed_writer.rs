//! A writer that is killed leaves a recording that opens, is marked as truncated, and has every row
//! that was saved.

#![allow(clippy::unwrap_used, reason = "a test panics where it fails")]

mod common;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use common::Filled;
use fathom_recording::{Overwrite, Recording, Writer, open};

const PLACE: &str = "FATHOM_TEST_KILLED_WRITER";

/// Not a test of its own: the child of the tests below, which writes until it is killed.
#[test]
fn child_that_writes_until_it_is_killed() {
    let Some(path) = std::env::var_os(PLACE) else { return };
    let mut writer = Writer::create(Path::new(&path), Overwrite::Never).unwrap();
    let mut filled = Filled::new(&mut writer, 1_000);
    for i in 0.. {
        filled.sample(&mut writer, i);
        if i % 10 == 0 {
            filled.span(&mut writer, i / 10);
            filled.count(&mut writer, i / 10);
        }
        if i > 0 && i % 50_000 == 0 {
            writer.flush().unwrap();
            println!("\nsaved {i}");
        }
    }
}

/// Starts the child, kills it once it has reported that it saved `rows` samples, and opens what it
/// left.
fn killed_after(rows: u64, path: &Path) -> Recording {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_that_writes_until_it_is_killed", "--nocapture"])
        .env(PLACE, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let wanted = format!("saved {rows}");
    let saved = lines.map_while(Result::ok).any(|line| line == wanted);
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert!(saved, "the child ended by itself: {status}");
    open(path).unwrap()
}

#[test]
fn what_was_saved_before_the_kill_is_there_and_the_recording_is_marked_as_truncated() {
    let dir = tempfile::tempdir().unwrap();
    for rows in [50_000, 200_000] {
        let recording = killed_after(rows, &dir.path().join(format!("{rows}.fathom")));
        assert!(recording.cut);
        assert!(recording.samples.len() as u64 >= rows, "{} samples of {rows}", recording.samples.len());
        assert!(recording.spans.len() as u64 >= rows / 10, "{} spans of {rows}", recording.spans.len());
        assert!(recording.counts.len() as u64 >= rows / 10, "{} counts of {rows}", recording.counts.len());
        assert_eq!(recording.stacks.len(), 1_000);
        assert_eq!(recording.sources[0].name, "test");
        assert_eq!(recording.processes[0].fact("collector"), Some("G1"));
    }
}

#[test]
fn a_truncated_recording_that_is_written_again_is_still_marked_as_truncated() {
    let dir = tempfile::tempdir().unwrap();
    let truncated = killed_after(50_000, &dir.path().join("cut.fathom"));
    let again = dir.path().join("again.fathom");
    fathom_recording::write(&truncated, &again, Overwrite::Never).unwrap();
    let read = open(&again).unwrap();
    assert!(read.cut);
    assert_eq!(read.samples.len(), truncated.samples.len());
}

#[test]
fn a_spool_truncated_anywhere_keeps_the_whole_batches_before_the_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cut.fathom");
    let mut writer = Writer::create(&path, Overwrite::Never).unwrap();
    let mut filled = Filled::new(&mut writer, 100);
    let spans = path.join("spool/spans.arrows.zst");
    let mut whole = Vec::new();
    for batch in 0..20 {
        (0..50).for_each(|i| _ = filled.span(&mut writer, batch * 50 + i));
        writer.flush().unwrap();
        whole.push(spans.metadata().unwrap().len());
    }
    drop(writer);
    for length in (0..whole[19]).rev().step_by(97) {
        std::fs::File::options().write(true).open(&spans).unwrap().set_len(length).unwrap();
        let batches = whole.iter().filter(|end| **end <= length).count();
        assert_eq!(open(&path).unwrap().spans.len(), batches * 50, "truncated at {length}");
    }
}

#[test]
fn a_writer_that_cannot_write_says_so_and_what_it_wrote_before_opens() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("full.fathom");
    let mut writer = Writer::create(&path, Overwrite::Never).unwrap();
    let mut filled = Filled::new(&mut writer, 10);
    (0..100).for_each(|i| _ = filled.span(&mut writer, i));
    writer.flush().unwrap();
    // The path of a small table is occupied: it cannot be written any more, whichever user runs the
    // test.
    let sources = path.join("spool/sources.arrows.zst");
    std::fs::remove_file(&sources).unwrap();
    std::fs::create_dir_all(sources.join("in the way")).unwrap();
    (100..100_000).for_each(|i| _ = filled.span(&mut writer, i));
    let first = writer.flush().unwrap_err().to_string();
    assert!(first.contains("sources.arrows"), "{first}");
    assert!(writer.finish().is_err());
    std::fs::remove_dir_all(&sources).unwrap();
    assert!(open(&path).unwrap().cut);
}
