//! The spool: each table as an Arrow IPC stream within a zstd stream, while a recording is written.
//!
//! Each flush ends a message and a zstd block in the page cache; a writer that is killed loses the
//! rows since its last flush, and a reader takes every whole batch. What survives a crash of the
//! machine is up to its file system: nothing waits for the disk here, as a collector must not.
//!
//! zstd is applied to the stream as a whole and not to buffers within it, as Arrow would: a
//! compressed buffer claims its own length, and `arrow-ipc` 60.1 allocates what is claimed. Around
//! the stream, what is unpacked can be bounded.

use std::fs::File;
use std::io::{BufReader, Read, Take};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::ArrowError;

use super::catch_panic::catch_panic;
use super::columns::Columns;
use super::private_files;
use super::tables::{self, Table};
use crate::{Recording, RecordingError};

/// The directory of the spool within a recording.
pub(super) const DIR: &str = "spool";

/// Name of a table's stream.
pub(super) fn file_name(table: &dyn Table) -> String {
    format!("{}.arrows.zst", table.name())
}

/// zstd's fastest regular level, as for the tables: the spool exists only while the recording is
/// written.
const LEVEL: i32 = 1;

/// The bound on what a stream may unpack to: a constant, and beyond that a multiple of its size.
/// Rows are compressed to a tenth of their size; a stream that expands more was made to fill the
/// memory of its reader.
const FREE_BYTES: u64 = 64 << 20;
const MAX_RATIO: u64 = 200;

/// The largest window that is accepted, 8 MB; level 1 uses 512 kB.
const MAX_WINDOW_LOG: u32 = 23;

type Encoder = zstd::stream::write::Encoder<'static, File>;
type Decoder = zstd::stream::read::Decoder<'static, BufReader<File>>;

/// A table's stream while it is written.
pub(super) struct Spool {
    path: PathBuf,
    stream: StreamWriter<Encoder>,
    /// Number of rows in it.
    pub rows: usize,
}

impl Spool {
    /// Starts the stream of a table of the recording in `dir`.
    pub fn create(table: &dyn Table, dir: &Path) -> Result<Self, RecordingError> {
        let path = dir.join(DIR).join(file_name(table));
        let file = private_files::make_file(&path)?;
        let mut stream = start(table, file).map_err(|cause| arrow_error(&path, cause))?;
        stream.flush().map_err(|cause| arrow_error(&path, cause))?;
        Ok(Self { path, stream, rows: 0 })
    }

    /// Adds rows; they are in the page cache when this returns.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), RecordingError> {
        let written = self.stream.write(batch).and_then(|()| self.stream.flush());
        written.map_err(|cause| arrow_error(&self.path, cause))?;
        self.rows += batch.num_rows();
        Ok(())
    }
}

/// Replaces a small table atomically.
pub(super) fn write_snapshot(
    table: &dyn Table,
    recording: &Recording,
    dir: &Path,
) -> Result<(), RecordingError> {
    let path = dir.join(DIR).join(file_name(table));
    let temporary = path.with_extension("tmp");
    let file = private_files::make_file(&temporary)?;
    let fill = || -> Result<(), ArrowError> {
        let mut stream = start(table, file)?;
        stream.write(&tables::batch(table, recording, 0..table.rows(recording), 0)?)?;
        stream.into_inner()?.finish()?;
        Ok(())
    };
    fill().map_err(|cause| arrow_error(&path, cause))?;
    std::fs::rename(&temporary, &path).map_err(RecordingError::io(&path))
}

fn start(table: &dyn Table, file: File) -> Result<StreamWriter<Encoder>, ArrowError> {
    StreamWriter::try_new(Encoder::new(file, LEVEL)?, &tables::schema(table))
}

fn arrow_error(path: &Path, cause: ArrowError) -> RecordingError {
    RecordingError::io(path)(match cause {
        ArrowError::IoError(_, cause) => cause,
        other => std::io::Error::other(other),
    })
}

/// The whole batches of a table's stream, up to where it is truncated or damaged.
pub(super) fn batches(table: &dyn Table, dir: &Path) -> impl Iterator<Item = RecordBatch> {
    let path = dir.join(DIR).join(file_name(table));
    let file = path.metadata().is_ok_and(|info| info.is_file()).then(|| File::open(&path).ok()).flatten();
    let mut stream = file.and_then(|file| catch_panic(|| read_stream(file).ok()).ok().flatten());
    std::iter::from_fn(move || {
        let batch = catch_panic(|| stream.as_mut()?.next()?.ok());
        if batch.is_err() {
            stream = None;
        }
        batch.ok().flatten()
    })
}

fn read_stream(file: File) -> Result<StreamReader<Take<Decoder>>, ArrowError> {
    let bytes = file.metadata()?.len();
    let mut decoder = Decoder::new(file)?;
    decoder.window_log_max(MAX_WINDOW_LOG)?;
    StreamReader::try_new(decoder.take(bytes.saturating_mul(MAX_RATIO).saturating_add(FREE_BYTES)), None)
}

/// Reads the whole batches of a table's stream into a recording, up to the first one that cannot be
/// read or refers to rows that were not saved.
pub(super) fn read(table: &dyn Table, dir: &Path, recording: &mut Recording) {
    for batch in batches(table, dir) {
        if table.decode(&Columns(&batch), recording).is_err() {
            return;
        }
    }
}
