//! Rows of a table on their way into a Parquet file.

use std::fs::File;
use std::io;
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder, StringDictionaryBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

/// Rows that are handed on together.
const BATCH: usize = 1 << 14;
/// Rows of a group, which the writer has in memory, packed: as many as DuckDB reads at a time.
const GROUP: usize = 120 << 10;

/// What a column holds; all of it may be null.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Whole numbers: addresses, bytes, counts.
    Int,
    /// Other numbers.
    Real,
    /// Texts of which there are few different ones.
    Name,
    /// Texts.
    Text,
}

enum Column {
    Int(Int64Builder),
    Real(Float64Builder),
    Name(StringDictionaryBuilder<Int32Type>),
    Text(StringBuilder),
}

/// What a cell holds.
#[derive(Clone, Copy, Debug)]
pub enum Cell<'a> {
    Int(i64),
    Real(f64),
    Text(&'a str),
    Null,
}

impl Cell<'_> {
    /// A count or bytes.
    pub fn count(value: u64) -> Self {
        Self::Int(value.cast_signed())
    }

    /// A number where there is one.
    pub fn maybe(value: Option<i64>) -> Self {
        value.map_or(Self::Null, Self::Int)
    }
}

impl<'a> Cell<'a> {
    /// A text where there is one.
    pub fn text(value: Option<&'a str>) -> Self {
        value.map_or(Self::Null, Self::Text)
    }
}

/// A table while it is written.
pub struct Rows {
    writer: ArrowWriter<File>,
    schema: SchemaRef,
    columns: Vec<Column>,
    gathered: usize,
    rows: u64,
}

impl Rows {
    /// None yet.
    pub fn new(columns: &[(&'static str, Kind)], file: File) -> io::Result<Self> {
        let field = |(name, kind): &(&str, Kind)| {
            let kind = match kind {
                Kind::Int => DataType::Int64,
                Kind::Real => DataType::Float64,
                Kind::Name => DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8)),
                Kind::Text => DataType::Utf8,
            };
            Field::new(*name, kind, true)
        };
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        let properties = WriterProperties::builder()
            .set_created_by(concat!("fathom ", env!("CARGO_PKG_VERSION")).into())
            .set_max_row_group_row_count(Some(GROUP))
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .build();
        // Without the schema of Arrow readers see texts, and no dictionaries.
        let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(file, Arc::clone(&schema), options);
        let column = |(_, kind): &(&str, Kind)| match kind {
            Kind::Int => Column::Int(Int64Builder::new()),
            Kind::Real => Column::Real(Float64Builder::new()),
            Kind::Name => Column::Name(StringDictionaryBuilder::new()),
            Kind::Text => Column::Text(StringBuilder::new()),
        };
        Ok(Self {
            writer: writer.map_err(io::Error::other)?,
            schema,
            columns: columns.iter().map(column).collect(),
            gathered: 0,
            rows: 0,
        })
    }

    /// Adds one, a cell for each column.
    pub fn push(&mut self, cells: &[Cell<'_>]) -> io::Result<()> {
        debug_assert_eq!(cells.len(), self.columns.len());
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            match (column, cell) {
                (Column::Int(column), Cell::Int(value)) => column.append_value(*value),
                (Column::Int(column), _) => column.append_null(),
                (Column::Real(column), Cell::Real(value)) => column.append_value(*value),
                (Column::Real(column), _) => column.append_null(),
                (Column::Name(column), Cell::Text(value)) => {
                    column.append(value).map_err(io::Error::other)?;
                }
                (Column::Name(column), _) => column.append_null(),
                (Column::Text(column), Cell::Text(value)) => column.append_value(value),
                (Column::Text(column), _) => column.append_null(),
            }
        }
        self.gathered += 1;
        self.rows += 1;
        if self.gathered == BATCH { self.hand_on() } else { Ok(()) }
    }

    fn hand_on(&mut self) -> io::Result<()> {
        let arrays = self.columns.iter_mut().map(|column| -> ArrayRef {
            match column {
                Column::Int(column) => Arc::new(column.finish()),
                Column::Real(column) => Arc::new(column.finish()),
                Column::Name(column) => Arc::new(column.finish()),
                Column::Text(column) => Arc::new(column.finish()),
            }
        });
        let batch =
            RecordBatch::try_new(Arc::clone(&self.schema), arrays.collect()).map_err(io::Error::other)?;
        self.gathered = 0;
        self.writer.write(&batch).map_err(io::Error::other)
    }

    /// Writes what is left; how many rows there are.
    pub fn finish(mut self) -> io::Result<u64> {
        self.hand_on()?;
        self.writer.close().map_err(io::Error::other)?;
        Ok(self.rows)
    }
}
