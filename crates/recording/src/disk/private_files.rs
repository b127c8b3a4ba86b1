//! Files and directories for the user alone: a recording has command lines, paths and method names;
//! hence 0700 and 0600, as `perf` does.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use crate::RecordingError;

/// Creates a directory for the user alone.
pub(super) fn make_dir(path: &Path) -> Result<(), RecordingError> {
    make_dir_for(path, path)
}

/// The same; an error names another path, the one that the user gave.
pub(super) fn make_dir_for(path: &Path, named: &Path) -> Result<(), RecordingError> {
    DirBuilder::new().mode(0o700).create(path).map_err(RecordingError::io(named))
}

/// Creates a file for the user alone; previous content is lost.
pub(super) fn make_file(path: &Path) -> Result<File, RecordingError> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path).map_err(RecordingError::io(path))
}

/// Replaces a file atomically: it is there whole or as it was before, also after a crash of the
/// machine.
pub(super) fn replace_file(
    path: &Path,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), RecordingError> {
    let temporary = path.with_extension("tmp");
    let mut file = make_file(&temporary)?;
    fill(&mut file).and_then(|()| file.sync_all()).map_err(RecordingError::io(path))?;
    std::fs::rename(&temporary, path).map_err(RecordingError::io(path))
}
