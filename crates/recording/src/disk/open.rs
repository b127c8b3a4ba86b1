//! Reading a recording back into memory.

use std::path::Path;

use super::meta::{Meta, State};
use super::tables::TABLES;
use super::{EXTENSION, pack, parquet_file, spool, version_1};
use crate::{Identity, Recording, RecordingError};

/// Whether a directory claims to be a recording, of whatever version: by its `meta.json`, or, where
/// that is damaged, by its name and a table in it.
pub fn is_recording(path: &Path) -> bool {
    let named = || {
        path.extension().is_some_and(|extension| extension == EXTENSION)
            && TABLES.iter().any(|table| path.join(parquet_file::file_name(*table)).is_file())
    };
    path.is_dir() && (!matches!(Meta::load(path), Err(RecordingError::NotARecording { .. })) || named())
}

/// The identity and the time range of a recording on disk, without reading its tables.
pub fn about(dir: &Path) -> Result<(Identity, Option<(i64, i64)>), RecordingError> {
    let meta = Meta::load(dir)?;
    Ok((meta.identity, meta.covers_ns))
}

/// Reads a recording, a directory or a packed file, sealed and ready to be read.
///
/// One whose writer was killed yields all whole batches up to there and has [`Recording::cut`] set.
pub fn open(path: &Path) -> Result<Recording, RecordingError> {
    if path.is_file() {
        return open(pack::unpack_to_read(path)?.path());
    }
    if !path.is_dir() {
        let cause =
            path.metadata().err().unwrap_or_else(|| std::io::Error::other("neither file nor directory"));
        return Err(RecordingError::io(path)(cause));
    }
    let meta = Meta::load(path)?;
    let mut recording = Recording::new();
    match meta.state {
        State::Complete => {
            for table in TABLES.into_iter().filter(|table| table.since() <= meta.schema_version) {
                parquet_file::read(table, path, meta.checksum(table), &mut recording)?;
            }
            recording.cut = meta.cut;
        }
        State::Writing => {
            for table in TABLES {
                spool::read(table, path, &mut recording);
            }
            recording.cut = true;
        }
    }
    if meta.schema_version < 2 {
        version_1::counts_of_spans(&mut recording);
    }
    recording.identity = meta.identity;
    recording.seal();
    Ok(recording)
}
