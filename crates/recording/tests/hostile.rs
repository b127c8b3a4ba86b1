//! Recordings that are damaged, foreign or malicious: an error that names the file, never a panic,
//! never a file outside of the directory, never unbounded memory.

#![allow(clippy::unwrap_used, reason = "a test panics where it fails")]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use common::Filled;
use fathom_recording::{Overwrite, Recording, RecordingError, Sink, Writer, open, pack, unpack, write};

fn recording() -> Recording {
    let mut recording = Recording::new();
    let mut filled = Filled::new(&mut recording, 50);
    for i in 0..500 {
        filled.sample(&mut recording, i);
        filled.span(&mut recording, i);
        filled.count(&mut recording, i);
        recording.point(filled.series, i as i64 * 1_000_000, 1_000_000, i as f64);
    }
    recording.seal();
    recording
}

fn written(dir: &Path) -> PathBuf {
    let path = dir.join("r.fathom");
    write(&recording(), &path, Overwrite::Never).unwrap();
    path
}

/// The same as the first versions wrote it: without checksums of the tables.
fn without_checksums(path: &Path) {
    let meta = path.join("meta.json");
    let mut json: serde_json::Value = serde_json::from_slice(&fs::read(&meta).unwrap()).unwrap();
    assert!(json.as_object_mut().unwrap().remove("crc32").is_some());
    fs::write(&meta, json.to_string()).unwrap();
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    files
}

/// How many changes to try per file; more in a long run:
/// `FATHOM_MUTATIONS=5000 cargo test --release`.
fn mutations() -> u64 {
    std::env::var("FATHOM_MUTATIONS").ok().and_then(|n| n.parse().ok()).unwrap_or(60)
}

/// Changes, drops or doubles some bytes.
fn mutate(bytes: &mut Vec<u8>, filled: &mut Filled) {
    for _ in 0..=filled.random(4) {
        if bytes.is_empty() {
            return;
        }
        // Half of the changes hit the end, where Parquet has its footer.
        let span = if filled.random(2) == 0 { bytes.len() } else { bytes.len().min(2_000) };
        let at = bytes.len() - 1 - filled.random(span as u64) as usize;
        match filled.random(6) {
            0 => bytes.truncate(at),
            1 => bytes[at] = 0xff,
            2 => bytes[at] = 0,
            3 => bytes[at] = filled.random(256) as u8,
            4 => bytes[at] ^= 1 << filled.random(8),
            _ => {
                let end = (at + filled.random(64) as usize).min(bytes.len());
                let part = bytes[at..end].to_vec();
                bytes.splice(at..at, part);
            }
        }
    }
}

#[test]
fn a_damaged_file_gives_an_error_or_rows_and_never_a_panic() {
    let dir = tempfile::tempdir().unwrap();
    let path = written(dir.path());
    without_checksums(&path);
    let mut refused = 0;
    let mut filled = Filled::new(&mut Recording::new(), 1);
    for file in files(&path) {
        let whole = fs::read(&file).unwrap();
        for _ in 0..mutations() {
            let mut bytes = whole.clone();
            mutate(&mut bytes, &mut filled);
            fs::write(&file, &bytes).unwrap();
            refused += u64::from(open(&path).is_err());
        }
        fs::write(&file, &whole).unwrap();
    }
    assert!(refused > mutations(), "most damage must be noticed, but only {refused} were");
    open(&path).unwrap();
}

#[test]
fn a_single_bit_that_changed_in_a_table_is_noticed_and_the_table_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = written(dir.path());
    let mut filled = Filled::new(&mut Recording::new(), 1);
    let tables = files(&path).into_iter().filter(|file| file.extension().is_some_and(|e| e == "parquet"));
    for file in tables {
        let whole = fs::read(&file).unwrap();
        let table = file.file_stem().unwrap().to_str().unwrap();
        for _ in 0..20 {
            let mut bytes = whole.clone();
            bytes[filled.random(whole.len() as u64) as usize] ^= 1 << filled.random(8);
            fs::write(&file, &bytes).unwrap();
            let error = open(&path).unwrap_err();
            assert!(matches!(error, RecordingError::Damaged { .. }), "{error}");
            assert!(
                error.to_string().contains(&format!("the table {table} is not as it was written")),
                "{error}"
            );
        }
        fs::write(&file, &whole).unwrap();
    }
    open(&path).unwrap();
}

#[test]
fn a_damaged_spool_gives_the_rows_before_the_damage_and_never_a_panic() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.fathom");
    let mut writer = Writer::create(&path, Overwrite::Never).unwrap();
    let mut filled = Filled::new(&mut writer, 50);
    for i in 0..500 {
        filled.sample(&mut writer, i);
        filled.span(&mut writer, i);
        filled.count(&mut writer, i);
        if i % 100 == 0 {
            writer.flush().unwrap();
        }
    }
    drop(writer);
    for file in files(&path.join("spool")) {
        let whole = fs::read(&file).unwrap();
        for _ in 0..mutations() {
            let mut bytes = whole.clone();
            mutate(&mut bytes, &mut filled);
            fs::write(&file, &bytes).unwrap();
            assert!(open(&path).unwrap().cut);
        }
        fs::write(&file, &whole).unwrap();
    }
}

#[test]
fn every_file_that_is_missing_or_truncated_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = written(dir.path());
    for file in files(&path) {
        let whole = fs::read(&file).unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        for keep in [0, 3, whole.len() / 2, whole.len() - 1] {
            fs::write(&file, &whole[..keep]).unwrap();
            let error = open(&path).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
        fs::remove_file(&file).unwrap();
        let error = open(&path).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
        fs::write(&file, &whole).unwrap();
    }
}

#[test]
fn a_table_in_place_of_another_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = written(dir.path());
    without_checksums(&path);
    fs::copy(path.join("samples.parquet"), path.join("spans.parquet")).unwrap();
    let error = open(&path).unwrap_err();
    assert!(matches!(error, RecordingError::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("spans.parquet"), "{error}");
}

#[test]
fn ids_that_point_outside_of_their_table_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = written(dir.path());
    without_checksums(&path);
    let other = dir.path().join("other.fathom");
    let mut few = Recording::new();
    Filled::new(&mut few, 3);
    few.threads.truncate(3);
    write(&few, &other, Overwrite::Never).unwrap();
    let foreign = |table: &str| {
        let whole = fs::read(path.join(table)).unwrap();
        fs::copy(other.join(table), path.join(table)).unwrap();
        let error = open(&path).unwrap_err().to_string();
        fs::write(path.join(table), whole).unwrap();
        error
    };
    let error = foreign("stacks.parquet");
    assert!(error.contains("samples.parquet") && error.contains("stack_id"), "{error}");
    // Spans of the first recording are on no thread, its counts are.
    let error = foreign("threads.parquet");
    assert!(error.contains("counts.parquet") && error.contains("thread_id"), "{error}");
}

#[test]
fn a_recording_of_a_later_schema_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let path = written(dir.path());
    fs::write(
        path.join("meta.json"),
        r#"{"format":"fathom.recording","schema_version":99,"tool":"fathom 9"}"#,
    )
    .unwrap();
    let error = open(&path).unwrap_err();
    assert!(matches!(&error, RecordingError::Newer { found: 99, tool, .. } if tool == "fathom 9"), "{error}");
}

#[test]
fn a_recording_of_a_schema_that_never_was_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = written(dir.path());
    let meta = fs::read_to_string(path.join("meta.json")).unwrap();
    let mut json: serde_json::Value = serde_json::from_str(&meta).unwrap();
    for version in [0.into(), (-1).into(), serde_json::Value::Null] {
        json["schema_version"] = version;
        fs::write(path.join("meta.json"), json.to_string()).unwrap();
        let error = open(&path).unwrap_err();
        assert!(matches!(&error, RecordingError::NotARecording { .. }), "{error}");
    }
}

#[test]
fn what_is_no_recording_is_neither_opened_nor_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let precious = dir.path().join("precious");
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("thesis.tex"), "years of work").unwrap();
    assert!(matches!(open(&precious), Err(RecordingError::NotARecording { .. })));
    for place in [&precious, &precious.join("thesis.tex")] {
        for overwrite in [Overwrite::Never, Overwrite::Recording] {
            let refused = write(&recording(), place, overwrite);
            assert!(matches!(refused, Err(RecordingError::Exists { .. })), "{refused:?}");
            assert!(matches!(Writer::create(place, overwrite), Err(RecordingError::Exists { .. })));
        }
    }
    assert_eq!(fs::read(precious.join("thesis.tex")).unwrap(), b"years of work");
    assert!(matches!(open(&dir.path().join("nothing")), Err(RecordingError::Io { .. })));
}

#[test]
fn a_recording_is_replaced_only_when_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let path = written(dir.path());
    let refused = write(&Recording::new(), &path, Overwrite::Never);
    assert!(matches!(refused, Err(RecordingError::Exists { .. })));
    assert_eq!(open(&path).unwrap().spans.len(), 500);
    write(&Recording::new(), &path, Overwrite::Recording).unwrap();
    assert_eq!(open(&path).unwrap().spans.len(), 0);
    Writer::create(&path, Overwrite::Recording).unwrap().finish().unwrap();
    assert!(!open(&path).unwrap().cut);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing else is left");
}

#[test]
fn only_its_user_can_read_a_recording() {
    let dir = tempfile::tempdir().unwrap();
    let path = written(dir.path());
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o700);
    files(&path).iter().for_each(|file| assert_eq!(mode(file), 0o600, "{file:?}"));
}

// Malicious archives.

fn archive(entries: &[(&str, tar::EntryType, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, kind, content) in entries {
        let mut header = tar::Header::new_ustar();
        header.set_entry_type(*kind);
        header.set_size(content.len() as u64);
        header.set_mode(0o777);
        if kind.is_symlink() {
            header.set_link_name("/etc").unwrap();
        }
        // The library refuses ".." in names, an attacker does not.
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_cksum();
        builder.append(&header, *content).unwrap();
    }
    builder.into_inner().unwrap()
}

#[test]
fn an_archive_that_reaches_outside_is_refused_and_leaves_nothing() {
    use tar::EntryType::{Fifo, GNUSparse, Link, Regular, Symlink};
    let meta = ("r.fathom/meta.json", Regular, &b"{}"[..]);
    let evil = [
        ("../../evil", Regular),
        ("/etc/evil", Regular),
        ("r.fathom/../evil", Regular),
        ("r.fathom/spool/../../evil", Regular),
        ("r.fathom/evil", Regular),
        ("r.fathom/spool", Symlink),
        ("r.fathom/spans.parquet", Symlink),
        ("r.fathom/spans.parquet", Link),
        ("r.fathom/spans.parquet", Fifo),
        ("r.fathom/spans.parquet", GNUSparse),
    ];
    for (name, kind) in evil {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        let packed = inner.join("packed");
        fs::write(&packed, archive(&[meta, (name, kind, b"")])).unwrap();
        let refused = unpack(&packed, Some(&inner.join("out.fathom")), Overwrite::Never);
        assert!(matches!(refused, Err(RecordingError::NotARecording { .. })), "{name} {kind:?}: {refused:?}");
        assert!(matches!(open(&packed), Err(RecordingError::NotARecording { .. })), "{name} {kind:?}");
        assert_eq!(fs::read_dir(&inner).unwrap().count(), 1, "{name} {kind:?}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "{name} {kind:?}");
    }
}

#[test]
fn an_archive_names_its_recording_only_plainly() {
    for name in ["..fathom/meta.json", "-rf.fathom/meta.json", "/etc/x.fathom/meta.json"] {
        let dir = tempfile::tempdir().unwrap();
        let packed = dir.path().join("packed");
        fs::write(&packed, archive(&[(name, tar::EntryType::Regular, b"{}")])).unwrap();
        let refused = unpack(&packed, None, Overwrite::Never);
        assert!(matches!(refused, Err(RecordingError::NotARecording { .. })), "{name}: {refused:?}");
    }
}

#[test]
fn a_packed_recording_that_is_truncated_or_damaged_is_refused_or_read_and_never_panics() {
    let dir = tempfile::tempdir().unwrap();
    let mut whole = Vec::new();
    pack(&written(dir.path()), &mut whole, Path::new("memory")).unwrap();
    let packed = dir.path().join("packed");
    for keep in [0, 100, 511, 512, 2_000, whole.len() / 2] {
        fs::write(&packed, &whole[..keep]).unwrap();
        assert!(open(&packed).is_err(), "the first {keep} bytes of {}", whole.len());
    }
    let mut filled = Filled::new(&mut Recording::new(), 1);
    for _ in 0..mutations() {
        let mut bytes = whole.clone();
        mutate(&mut bytes, &mut filled);
        fs::write(&packed, &bytes).unwrap();
        // Only that it returns counts; damage in the data of a table can go unnoticed, as Parquet
        // pages have no checksum.
        let _ = open(&packed);
    }
}
