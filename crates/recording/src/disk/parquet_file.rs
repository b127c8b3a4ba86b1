//! One table as a Parquet file.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, DictionaryArray, Int32Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::{KeyValue, PageIndexPolicy};
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;

use super::catch_panic::catch_panic;
use super::checksum::{Checksum, Summed};
use super::columns::{self, Columns, Damage};
use super::tables::{self, Table};
use super::{BATCH_ROWS, SCHEMA_VERSION, TOOL, private_files};
use crate::{Recording, RecordingError};

/// Rows of a row group, the unit that a reader skips by its first and last time. 2²⁰ samples are
/// some 5 MB on disk, a size that suits query engines.
const ROW_GROUP_ROWS: usize = 1 << 20;

/// Bytes of a row group while it waits to be written; spans with many figures reach this first.
const ROW_GROUP_BYTES: usize = 16 << 20;

/// Size of a column's dictionary before its values are written one by one. Names of methods need
/// more than the usual 1 MB; 4 MB of them are some 50,000.
const DICTIONARY_BYTES: usize = 4 << 20;

/// Ids are `Int32`.
const MAX_ROWS: usize = i32::MAX as usize;

/// Rows that a file may have whatever its size, and rows that it may have for each of its bytes
/// beyond that. Real samples take 5 bytes per row; a file that claims eighty times as many rows in
/// its bytes was made to fill the memory of its reader.
const FREE_ROWS: u64 = 4 << 20;
const MAX_ROWS_PER_BYTE: u64 = 16;

/// Bytes that its columns may have unpacked, by the same reasoning: real data is compressed to a
/// fifth or a twentieth, and only a column of a single value to a hundredth.
const FREE_BYTES: u64 = 64 << 20;
const MAX_BYTES_PER_BYTE: u64 = 256;

/// The column that every table ends with: the id of the recording, by which rows of several
/// recordings are distinguished. It says nothing within one and is not read back.
const RECORDING: &str = "recording";

/// Name of a table's file.
pub(super) fn file_name(table: &dyn Table) -> String {
    format!("{}.parquet", table.name())
}

/// A table's file while it is written, batch by batch.
pub(super) struct ParquetFile {
    path: std::path::PathBuf,
    writer: ArrowWriter<Summed>,
    schema: SchemaRef,
    /// The id of the recording, where it has one.
    recording: Option<StringArray>,
    rows: usize,
}

impl ParquetFile {
    /// Starts the file of a table in `dir`, of the recording with this id.
    pub fn create(table: &dyn Table, id: Option<&str>, dir: &Path) -> Result<Self, RecordingError> {
        let mut fields = table.fields();
        fields.extend(id.map(|_| columns::text(RECORDING)));
        let schema = SchemaRef::new(Schema::new(fields));
        let path = dir.join(file_name(table));
        let file = Summed::new(private_files::make_file(&path)?);
        // Without the Arrow schema in the footer, readers see plain Parquet types: strings, not
        // dictionaries.
        let options =
            ArrowWriterOptions::new().with_properties(properties(table)).with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(file, Arc::clone(&schema), options)
            .map_err(|cause| write_error(&path, cause))?;
        Ok(Self { path, writer, schema, recording: id.map(|id| StringArray::from(vec![id])), rows: 0 })
    }

    /// Adds rows.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), RecordingError> {
        self.rows += batch.num_rows();
        if self.rows > MAX_ROWS {
            let detail = format!("a table holds at most {MAX_ROWS} rows");
            return Err(RecordingError::TooLarge { path: self.path.clone(), detail });
        }
        let mut columns = batch.columns().to_vec();
        columns.extend(self.recording.as_ref().map(|id| repeated(id, batch.num_rows())));
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns);
        let written = batch.map_err(Into::into).and_then(|batch| self.writer.write(&batch));
        written.map_err(|cause| write_error(&self.path, cause))
    }

    /// Finishes the file, and syncs it to disk.
    pub fn finish(self) -> Result<Written, RecordingError> {
        let summed = self.writer.into_inner().map_err(|cause| write_error(&self.path, cause))?;
        let (file, checksum) = summed.finish();
        file.sync_all().map_err(RecordingError::io(&self.path))?;
        Ok(Written { rows: self.rows, checksum })
    }
}

/// A column of one value.
fn repeated(value: &StringArray, rows: usize) -> ArrayRef {
    Arc::new(DictionaryArray::new(Int32Array::from_value(0, rows), Arc::new(value.clone())))
}

/// A table's file that was written.
pub(super) struct Written {
    /// Its number of rows.
    pub rows: usize,
    /// The checksum of its bytes.
    pub checksum: Checksum,
}

/// Writes the rows that a recording has in memory.
pub(super) fn write_rows(
    table: &dyn Table,
    recording: &Recording,
    id: Option<&str>,
    dir: &Path,
) -> Result<Written, RecordingError> {
    let mut file = ParquetFile::create(table, id, dir)?;
    let rows = table.rows(recording);
    for from in (0..rows).step_by(BATCH_ROWS) {
        let batch = tables::batch(table, recording, from..rows.min(from + BATCH_ROWS), 0)
            .map_err(|cause| write_error(&file.path, cause.into()))?;
        file.write(&batch)?;
    }
    file.finish()
}

fn properties(table: &dyn Table) -> WriterProperties {
    let about = |key: &str, value: String| KeyValue::new(format!("fathom.{key}"), value);
    let mut properties = WriterProperties::builder()
        .set_created_by(TOOL.into())
        .set_key_value_metadata(Some(vec![
            about("schema_version", SCHEMA_VERSION.to_string()),
            about("tool", TOOL.into()),
            about("table", table.name().into()),
            about(
                "clock",
                "columns *_ns: nanoseconds since 1970-01-01T00:00:00Z, unless they are lengths".into(),
            ),
        ]))
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_dictionary_page_size_limit(DICTIONARY_BYTES)
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_max_row_group_bytes(Some(ROW_GROUP_BYTES));
    for (i, field) in table.fields().iter().enumerate() {
        // Text and ids of other tables repeat, which is what Parquet's dictionaries are for. Times,
        // counts and the table's own ids mostly ascend: their differences are small.
        let own_id = i == 0 && field.name().ends_with("_id");
        if own_id || *field.data_type() == DataType::Int64 {
            let column = ColumnPath::from(field.name().as_str());
            properties = properties
                .set_column_dictionary_enabled(column.clone(), false)
                .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
        }
    }
    properties.build()
}

fn write_error(path: &Path, cause: parquet::errors::ParquetError) -> RecordingError {
    RecordingError::io(path)(std::io::Error::other(cause))
}

/// Reads a table's file into a recording, which must not be used after an error. `checksum`: the
/// one in `meta.json`; recordings of the first versions have none.
pub(super) fn read(
    table: &dyn Table,
    dir: &Path,
    checksum: Option<&str>,
    recording: &mut Recording,
) -> Result<(), RecordingError> {
    let path = dir.join(file_name(table));
    // Opening a pipe would block until it has a writer.
    let info = path.metadata().map_err(RecordingError::io(&path))?;
    if !info.is_file() {
        return Err(RecordingError::damaged(&path)("not a file"));
    }
    if let Some(expected) = checksum {
        let found = Checksum::of(&path).map_err(RecordingError::io(&path))?.to_string();
        if found != expected {
            let detail = format!(
                "the table {} is not as it was written: its CRC-32 is {found}, meta.json says {expected}",
                table.name()
            );
            return Err(RecordingError::damaged(&path)(detail));
        }
    }
    let file = File::open(&path).map_err(RecordingError::io(&path))?;
    let decoded = catch_panic(|| decode(table, file, info.len(), recording));
    decoded.unwrap_or_else(|panic| Err(Damage(panic))).map_err(RecordingError::damaged(&path))
}

fn decode(table: &dyn Table, file: File, bytes: u64, recording: &mut Recording) -> Result<(), Damage> {
    let options = || {
        ArrowReaderOptions::new().with_skip_arrow_metadata(true).with_page_index_policy(PageIndexPolicy::Skip)
    };
    let footer = ArrowReaderMetadata::load(&file, options())?;
    let rows = claimed_rows(&footer, bytes)?;
    check_unpacked(&footer, bytes)?;
    let (schema, mask) = expected(&footer, table);
    let footer = ArrowReaderMetadata::try_new(Arc::clone(footer.metadata()), options().with_schema(schema))?;
    let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(file, footer);
    let mut read = 0;
    for batch in reader.with_projection(mask).with_batch_size(BATCH_ROWS).build()? {
        let batch = batch.map_err(parquet::errors::ParquetError::from)?;
        read += batch.num_rows();
        if read > rows {
            break;
        }
        table.decode(&Columns(&batch), recording)?;
    }
    if read == rows {
        Ok(())
    } else {
        Err(Damage(format!("its footer claims {rows} rows, but it holds {read}")))
    }
}

impl From<parquet::errors::ParquetError> for Damage {
    fn from(cause: parquet::errors::ParquetError) -> Self {
        Self(cause.to_string())
    }
}

/// The rows that the footer claims, if they are plausible for a file of this size.
fn claimed_rows(footer: &ArrowReaderMetadata, bytes: u64) -> Result<usize, Damage> {
    let rows = footer.metadata().file_metadata().num_rows();
    let limit = bytes.saturating_mul(MAX_ROWS_PER_BYTE).saturating_add(FREE_ROWS).min(MAX_ROWS as u64);
    match u64::try_from(rows) {
        Ok(valid) if valid <= limit => Ok(valid as usize),
        _ => Err(Damage(format!(
            "its footer claims {rows} rows in {bytes} bytes; more than {limit} are not read"
        ))),
    }
}

/// Refuses what would fill the memory of its reader.
fn check_unpacked(footer: &ArrowReaderMetadata, bytes: u64) -> Result<(), Damage> {
    let columns = footer.metadata().row_groups().iter().flat_map(|group| group.columns());
    let claims = columns.map(|column| u64::try_from(column.uncompressed_size()).unwrap_or(u64::MAX));
    let unpacked = claims.fold(0, u64::saturating_add);
    let limit = bytes.saturating_mul(MAX_BYTES_PER_BYTE).saturating_add(FREE_BYTES);
    if unpacked <= limit {
        return Ok(());
    }
    Err(Damage(format!("its {bytes} bytes would unpack to {unpacked}; more than {limit} are not read")))
}

/// The file's schema with our types for our columns, and the projection on our columns: those that
/// a later version added are ignored.
fn expected(footer: &ArrowReaderMetadata, table: &dyn Table) -> (SchemaRef, ProjectionMask) {
    let ours = table.fields();
    let mut wanted = Vec::new();
    let mut fields: Vec<Field> = Vec::new();
    for (i, theirs) in footer.schema().fields().iter().enumerate() {
        match ours.iter().find(|f| f.name() == theirs.name()) {
            Some(field) => {
                wanted.push(i);
                fields.push(field.clone());
            }
            None => fields.push(theirs.as_ref().clone()),
        }
    }
    let mask = ProjectionMask::roots(footer.parquet_schema(), wanted);
    (Arc::new(Schema::new(fields)), mask)
}
