//! The spool: each table as an Arrow IPC stream, while a recording is written.
//!
//! Each flush ends at a message boundary in the system's memory; a writer that is killed loses the rows since its
//! last flush, and a reader takes every whole batch. What a crash of the machine keeps is up to its file system:
//! nothing waits for the disk here, as a collector must not.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::ArrowError;

use super::columns::Columns;
use super::create;
use super::tables::{self, Table};
use crate::{Recording, RecordingError};

/// The directory of the spool within a recording.
pub(super) const DIR: &str = "spool";

/// Name of a table's stream.
pub(super) fn file_name(table: &dyn Table) -> String {
    format!("{}.arrows", table.name())
}

/// A table's stream while it is written.
pub(super) struct Spool {
    path: PathBuf,
    stream: StreamWriter<BufWriter<File>>,
    /// Rows that are in it.
    pub rows: usize,
}

impl Spool {
    /// Starts the stream of a table of the recording in `dir`.
    pub fn create(table: &dyn Table, dir: &Path) -> Result<Self, RecordingError> {
        let path = dir.join(DIR).join(file_name(table));
        let file = BufWriter::new(create::make_file(&path)?);
        let mut stream = open_stream(table, file).map_err(|cause| arrow_error(&path, cause))?;
        stream.flush().map_err(|cause| arrow_error(&path, cause))?;
        Ok(Self { path, stream, rows: 0 })
    }

    /// Adds rows; they are the system's when this returns.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), RecordingError> {
        let written = self.stream.write(batch).and_then(|()| self.stream.flush());
        written.map_err(|cause| arrow_error(&self.path, cause))?;
        self.rows += batch.num_rows();
        Ok(())
    }
}

/// Writes a small table anew, in one step.
pub(super) fn write_snapshot(
    table: &dyn Table,
    recording: &Recording,
    dir: &Path,
) -> Result<(), RecordingError> {
    let path = dir.join(DIR).join(file_name(table));
    let temporary = path.with_extension("tmp");
    let mut file = BufWriter::new(create::make_file(&temporary)?);
    let fill = |file: &mut BufWriter<File>| -> Result<(), ArrowError> {
        let batch = tables::batch(table, recording, 0..table.rows(recording), 0)?;
        let mut stream = open_stream(table, file)?;
        stream.write(&batch)?;
        stream.finish()
    };
    fill(&mut file).map_err(|cause| arrow_error(&path, cause))?;
    file.flush().map_err(RecordingError::io(&path))?;
    std::fs::rename(&temporary, &path).map_err(RecordingError::io(&path))
}

fn open_stream<W: Write>(table: &dyn Table, file: W) -> Result<StreamWriter<W>, ArrowError> {
    let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::ZSTD))?;
    StreamWriter::try_new_with_options(file, &tables::schema(table), options)
}

fn arrow_error(path: &Path, cause: ArrowError) -> RecordingError {
    RecordingError::io(path)(match cause {
        ArrowError::IoError(_, cause) => cause,
        other => std::io::Error::other(other),
    })
}

/// The whole batches of a table's stream, up to where it is cut.
pub(super) fn batches(table: &dyn Table, dir: &Path) -> impl Iterator<Item = RecordBatch> {
    let path = dir.join(DIR).join(file_name(table));
    let file = path.metadata().is_ok_and(|info| info.is_file()).then(|| File::open(&path).ok()).flatten();
    let stream = file.and_then(|file| StreamReader::try_new(BufReader::new(file), None).ok());
    stream.into_iter().flatten().map_while(Result::ok)
}

/// Reads the whole batches of a table's stream into a recording, up to the first that cannot be read or points to
/// rows that were not saved.
pub(super) fn read(table: &dyn Table, dir: &Path, recording: &mut Recording) {
    for batch in batches(table, dir) {
        if table.decode(&Columns(&batch), recording).is_err() {
            return;
        }
    }
}
