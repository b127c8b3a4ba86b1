//! Creates a recording's directory, readable by its user only, and never replaces something that is
//! not a recording.

use std::io;
use std::path::{Path, PathBuf};

use super::meta::{self, Meta};
use super::tables::TABLES;
use super::{parquet_file, private_files, spool};
use crate::{Identity, Recording, RecordingError};

/// What to do when there is a recording already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overwrite {
    /// Refuse.
    Never,
    /// Replace it. What is not a recording is refused all the same.
    Recording,
}

/// Writes a recording whose rows are all on its clock. It appears at `path` whole or not at all.
pub fn write(recording: &Recording, path: &Path, overwrite: Overwrite) -> Result<(), RecordingError> {
    check_place(path, overwrite)?;
    let temporary = make_next_to(path)?;
    let written = write_tables(recording, &temporary).and_then(|()| move_into_place(&temporary, path));
    if written.is_err() {
        // Best effort: the first error is the one that matters.
        let _ = remove(&temporary);
    }
    written
}

fn write_tables(recording: &Recording, dir: &Path) -> Result<(), RecordingError> {
    let id = recording.identity.recording.clone().or_else(Identity::new_recording_id);
    let mut files = Vec::with_capacity(TABLES.len());
    for table in TABLES {
        files.push(parquet_file::write_rows(table, recording, id.as_deref(), dir)?);
    }
    let mut meta = Meta::complete(recording, &files, recording.covers_ns());
    meta.identity.recording = id;
    meta.identity.derive_service(&recording.processes);
    meta.store(dir)
}

/// Refuses a path that holds something which must not be lost.
pub(super) fn check_place(path: &Path, overwrite: Overwrite) -> Result<(), RecordingError> {
    let exists = |why| Err(RecordingError::Exists { path: path.to_path_buf(), why });
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    match Meta::load(path) {
        Err(RecordingError::NotARecording { .. }) if is_empty_dir(path) => Ok(()),
        Err(RecordingError::NotARecording { .. }) => exists("exists and is not a recording"),
        _ if overwrite == Overwrite::Never => exists("a recording exists there already; --force replaces it"),
        _ => Ok(()),
    }
}

fn is_empty_dir(path: &Path) -> bool {
    path.read_dir().is_ok_and(|mut entries| entries.next().is_none())
}

/// A free name in the directory of `path`, as rename needs the same file system.
fn next_to(path: &Path) -> PathBuf {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let free = |n: u32| path.with_file_name(format!(".{name}.{}.{n}.tmp", std::process::id()));
    (0..u32::MAX).map(free).find(|p| p.symlink_metadata().is_err()).unwrap_or_else(|| free(0))
}

/// Creates a directory next to `path`, to be renamed to it when it is complete. An error names the
/// path that the user gave.
pub(super) fn make_next_to(path: &Path) -> Result<PathBuf, RecordingError> {
    let temporary = next_to(path);
    private_files::make_dir_for(&temporary, path)?;
    Ok(temporary)
}

/// Renames a finished directory to its path; an existing recording is replaced.
pub(super) fn move_into_place(from: &Path, to: &Path) -> Result<(), RecordingError> {
    if to.symlink_metadata().is_ok() {
        let old = next_to(to);
        std::fs::rename(to, &old).map_err(RecordingError::io(to))?;
        if let Err(cause) = std::fs::rename(from, to) {
            let _ = std::fs::rename(&old, to);
            return Err(RecordingError::io(to)(cause));
        }
        return remove(&old);
    }
    std::fs::rename(from, to).map_err(RecordingError::io(to))
}

/// Removes a recording: the files that belong to one, and the directory if nothing else is in it.
pub fn remove(dir: &Path) -> Result<(), RecordingError> {
    for file in files() {
        match std::fs::remove_file(dir.join(&file)) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                return Err(RecordingError::io(&dir.join(file))(cause));
            }
            _ => {}
        }
    }
    let spool = dir.join(spool::DIR);
    if spool.is_dir() {
        std::fs::remove_dir_all(&spool).map_err(RecordingError::io(&spool))?;
    }
    std::fs::remove_dir(dir).map_err(RecordingError::io(dir))
}

/// All files that a recording may have, relative to its directory: `meta.json` first, then tables,
/// then streams of the spool.
pub(super) fn files() -> Vec<PathBuf> {
    let mut files = vec![PathBuf::from(meta::FILE)];
    files.extend(TABLES.iter().map(|t| PathBuf::from(parquet_file::file_name(*t))));
    files.extend(TABLES.iter().map(|t| Path::new(spool::DIR).join(spool::file_name(*t))));
    files
}
