//! Writes a recording as a stream, in bounded memory, so that a killed writer loses at most a
//! second of it.
//!
//! Rows are kept in a small [`Recording`] and leave it for the spool at each flush; dictionaries
//! (strings, threads, frames, stacks) stay, as they are needed to distinguish old from new: memory
//! grows with what is *different* in the recording and not with its length. `finish` turns the
//! spool into Parquet, one batch at a time.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::BATCH_ROWS;
use super::create::{self, Overwrite};
use super::duplicates;
use super::meta::Meta;
use super::parquet_file::{self, ParquetFile, Written};
use super::private_files;
use super::spool::{self, Spool};
use super::tables::{self, Growth, TABLES, Table};
use crate::{
    CountRow, FrameId, FrameType, Identity, Process, ProcessId, Recording, RecordingError, Role, SampleRow,
    SeriesId, SeriesInfo, Sink, Source, SourceId, SpanId, SpanRow, StackId, ThreadId,
};

/// How long rows may wait in memory: what a killed writer loses.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// Rows between two checks of the clock: a check takes 50 ns, so that it costs less than 1 ns per
/// row.
const ROWS_PER_LOOK: usize = 64;

/// Writes a recording while it happens.
///
/// Rows must be on the recording's clock (epoch nanoseconds), as live collectors timestamp them:
/// what has left memory cannot be moved. Rows of logs on clocks of their own go into a
/// [`Recording`], which is placed and then written with [`crate::write`].
///
/// [`Sink`]'s methods cannot fail; the first error (a full disk) is kept, rows after it are
/// dropped, and [`Writer::checkpoint`] and [`Writer::finish`] return it.
pub struct Writer {
    dir: PathBuf,
    /// Rows since the last flush, and all dictionaries.
    buffer: Recording,
    /// The streams of those tables that grow, in the order of [`TABLES`].
    spools: Vec<Option<Spool>>,
    covers_ns: Option<(i64, i64)>,
    /// Spans that have left the buffer; the ids of those in it continue from there.
    spans_before: usize,
    pending: usize,
    flushed: Instant,
    /// The first error; nothing is written after it.
    failure: Option<String>,
}

impl Writer {
    /// Starts a recording at `dir`.
    pub fn create(dir: &Path, overwrite: Overwrite) -> Result<Self, RecordingError> {
        create::check_place(dir, overwrite)?;
        let temporary = create::make_next_to(dir)?;
        private_files::make_dir(&temporary.join(spool::DIR))?;
        let identity = Identity { recording: Identity::new_recording_id(), ..Identity::default() };
        Meta::writing(identity.clone()).store(&temporary)?;
        create::move_into_place(&temporary, dir)?;
        let mut buffer = Recording::new();
        buffer.identity = identity;
        let spool = |table: &'static dyn Table| match table.growth() {
            Growth::Small => Ok(None),
            Growth::Dictionary | Growth::Bulk => Spool::create(table, dir).map(Some),
        };
        let spools = TABLES.into_iter().map(spool).collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            dir: dir.to_path_buf(),
            buffer,
            spools,
            covers_ns: None,
            spans_before: 0,
            pending: 0,
            flushed: Instant::now(),
            failure: None,
        })
    }

    /// Sets what is recorded, which a truncated recording has as well. Its own id stays.
    pub fn identify(&mut self, identity: Identity) -> Result<(), RecordingError> {
        let recording = self.buffer.identity.recording.take();
        self.buffer.identity = Identity { recording, ..identity };
        Meta::writing(self.buffer.identity.clone()).store(&self.dir)
    }

    /// Saves the rows so far if a second has passed since the last time. Rows trigger this by
    /// themselves; a collector that may be quiet for a long time calls it now and then.
    pub fn checkpoint(&mut self) -> Result<(), RecordingError> {
        if self.flushed.elapsed() >= FLUSH_EVERY { self.flush() } else { Ok(()) }
    }

    /// Saves the rows so far.
    pub fn flush(&mut self) -> Result<(), RecordingError> {
        if let Some(failure) = &self.failure {
            return Err(RecordingError::io(&self.dir)(std::io::Error::other(failure.clone())));
        }
        let covers = [self.covers_ns, self.buffer.covers_ns()];
        self.covers_ns = covers.into_iter().flatten().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        let spans = self.buffer.spans.len();
        let saved = self.save();
        self.failure = saved.as_ref().err().map(ToString::to_string);
        TABLES.iter().for_each(|table| table.clear(&mut self.buffer));
        self.spans_before += spans;
        self.pending = 0;
        self.flushed = Instant::now();
        saved
    }

    /// Appends what is new to the spool, each table before those that refer to it.
    fn save(&mut self) -> Result<(), RecordingError> {
        for (table, spool) in TABLES.into_iter().zip(&mut self.spools) {
            let Some(spool) = spool else {
                spool::write_snapshot(table, &self.buffer, &self.dir)?;
                continue;
            };
            let rows = table.rows(&self.buffer);
            let (new, first_id) = match table.growth() {
                Growth::Bulk => (0, spool.rows),
                Growth::Small | Growth::Dictionary => (spool.rows, 0),
            };
            for from in (new..rows).step_by(BATCH_ROWS) {
                let range = from..rows.min(from + BATCH_ROWS);
                let batch = tables::batch(table, &self.buffer, range, first_id);
                spool.write(&batch.map_err(|e| RecordingError::io(&self.dir)(std::io::Error::other(e)))?)?;
            }
        }
        Ok(())
    }

    /// Finishes the recording: the spool becomes tables. After an error the recording stays as it
    /// is and opens as a truncated one.
    pub fn finish(mut self) -> Result<(), RecordingError> {
        self.flush()?;
        let changes = duplicates::changes(&mut self.buffer, &self.dir)?;
        let id = self.buffer.identity.recording.clone();
        let mut files = Vec::with_capacity(TABLES.len());
        for table in TABLES {
            files.push(match table.growth() {
                Growth::Bulk if table.name() == duplicates::TABLE.name() && !changes.is_empty() => {
                    duplicates::convert(&changes, &mut self.buffer, &self.dir)?
                }
                Growth::Bulk => convert(table, id.as_deref(), &self.dir)?,
                Growth::Small | Growth::Dictionary => {
                    parquet_file::write_rows(table, &self.buffer, id.as_deref(), &self.dir)?
                }
            });
        }
        for ((table, spool), file) in TABLES.iter().zip(&self.spools).zip(&files) {
            let gone =
                if table.name() == duplicates::TABLE.name() { duplicates::removed(&changes) } else { 0 };
            if let Some(spool) = spool.as_ref().filter(|spool| spool.rows != file.rows + gone) {
                let detail = format!("{} of {} rows came back from the spool", file.rows + gone, spool.rows);
                let path = self.dir.join(spool::DIR).join(spool::file_name(*table));
                return Err(RecordingError::Damaged { path, detail });
            }
        }
        self.buffer.identity.derive_service(&self.buffer.processes);
        Meta::complete(&self.buffer, &files, self.covers_ns).store(&self.dir)?;
        let spool = self.dir.join(spool::DIR);
        std::fs::remove_dir_all(&spool).map_err(RecordingError::io(&spool))
    }

    /// Discards the recording: nothing of it is left on disk.
    pub fn discard(self) -> Result<(), RecordingError> {
        create::remove(&self.dir)
    }

    /// Called after each row: saves when there are enough rows, or when it is time.
    fn added(&mut self) {
        self.pending += 1;
        let full = self.pending >= BATCH_ROWS;
        let late = self.pending.is_multiple_of(ROWS_PER_LOOK) && self.flushed.elapsed() >= FLUSH_EVERY;
        if !full && !late {
            return;
        }
        // The error, if there is one, is kept and returned by the next call that can.
        let _ = self.flush();
    }
}

/// Writes a table from its spool.
fn convert(table: &dyn Table, id: Option<&str>, dir: &Path) -> Result<Written, RecordingError> {
    let mut file = ParquetFile::create(table, id, dir)?;
    for batch in spool::batches(table, dir) {
        file.write(&batch)?;
    }
    file.finish()
}

impl Sink for Writer {
    fn add_source(&mut self, source: Source) -> SourceId {
        self.buffer.add_source(source)
    }

    fn source_mut(&mut self, id: SourceId) -> &mut Source {
        self.buffer.source_mut(id)
    }

    fn add_process(&mut self, process: Process) -> ProcessId {
        self.buffer.add_process(process)
    }

    fn process_mut(&mut self, id: ProcessId) -> &mut Process {
        self.buffer.process_mut(id)
    }

    fn thread(&mut self, process: ProcessId, tid: Option<i64>, name: &str, role: Role) -> ThreadId {
        self.buffer.thread(process, tid, name, role)
    }

    fn rename_thread(&mut self, id: ThreadId, name: &str, role: Role) {
        // Threads are saved when they are added; a truncated recording has their first name.
        self.buffer.rename_thread(id, name, role);
    }

    fn span(&mut self, row: &SpanRow<'_>) -> SpanId {
        let id = SpanId(self.spans_before as u32 + self.buffer.span(row).0);
        self.added();
        id
    }

    fn count(&mut self, row: &CountRow<'_>) {
        self.buffer.count(row);
        self.added();
    }

    fn add_series(&mut self, info: SeriesInfo) -> SeriesId {
        self.buffer.add_series(info)
    }

    fn point(&mut self, series: SeriesId, t_ns: i64, dt_ns: i64, value: f64) {
        self.buffer.point(series, t_ns, dt_ns, value);
        self.added();
    }

    fn frame(&mut self, name: &str, module: &str, frame_type: FrameType, line: i32) -> FrameId {
        self.buffer.frame(name, module, frame_type, line)
    }

    fn stack(&mut self, parent: Option<StackId>, frame: FrameId) -> StackId {
        self.buffer.stack(parent, frame)
    }

    fn sample(&mut self, row: &SampleRow<'_>) {
        self.buffer.sample(row);
        self.added();
    }
}
