//! Rows of a table as columns, and a Parquet file of them.

use std::fs::File;
use std::io;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};

/// Version of the tables, in the footer of each file.
pub(crate) const SCHEMA_VERSION: &str = "1";

/// What a cell holds; `None` is what is not known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Text(Option<String>),
    Int(Option<i64>),
    Real(Option<f64>),
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(Some(text.to_owned()))
    }
}

impl From<Option<String>> for Cell {
    fn from(text: Option<String>) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Cell {
    fn from(number: i64) -> Self {
        Self::Int(Some(number))
    }
}

impl From<usize> for Cell {
    fn from(number: usize) -> Self {
        Self::Int(i64::try_from(number).ok())
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        Self::Real(Some(number).filter(|n| n.is_finite()))
    }
}

impl From<Option<f64>> for Cell {
    fn from(number: Option<f64>) -> Self {
        Self::Real(number.filter(|n| n.is_finite()))
    }
}

/// A table's rows.
#[derive(Debug)]
pub(crate) struct Rows {
    /// Its name.
    pub name: &'static str,
    columns: &'static [&'static str],
    cells: Vec<Vec<Cell>>,
}

impl Rows {
    pub fn new(name: &'static str, columns: &'static [&'static str]) -> Self {
        Self { name, columns, cells: columns.iter().map(|_| Vec::new()).collect() }
    }

    /// Adds a row, a cell for each column.
    pub fn push<const N: usize>(&mut self, row: [Cell; N]) {
        debug_assert_eq!(N, self.columns.len(), "{}", self.name);
        self.cells.iter_mut().zip(row).for_each(|(column, cell)| column.push(cell));
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.cells.first().map_or(0, Vec::len)
    }

    /// Writes them, each behind the cells that all rows of a recording begin with. `empty`: a row
    /// of the types that the columns have, for tables without rows.
    pub fn write(&self, common: &[(&'static str, Cell)], empty: &[Cell], file: File) -> io::Result<File> {
        let n = self.len();
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        let mut add = |name: &str, array: ArrayRef| {
            fields.push(Field::new(name, array.data_type().clone(), true));
            arrays.push(array);
        };
        for (name, cell) in common {
            add(name, array(cell, std::iter::repeat_n(cell, n)));
        }
        for ((name, cells), like) in self.columns.iter().zip(&self.cells).zip(empty) {
            add(name, array(like, cells.iter()));
        }
        debug_assert!(arrays.iter().all(|a| *a.data_type() != DataType::Null));
        let schema = Arc::new(Schema::new(fields));
        let batch = RecordBatch::try_new(Arc::clone(&schema), arrays).map_err(io::Error::other)?;
        let about = |key: &str, value: &str| KeyValue::new(format!("fathom.{key}"), value.to_owned());
        let properties = WriterProperties::builder()
            .set_created_by(concat!("fathom ", env!("CARGO_PKG_VERSION")).into())
            .set_key_value_metadata(Some(vec![
                about("fleet_schema_version", SCHEMA_VERSION),
                about("table", self.name),
            ]))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .build();
        let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
        let mut writer =
            ArrowWriter::try_new_with_options(file, schema, options).map_err(io::Error::other)?;
        writer.write(&batch).map_err(io::Error::other)?;
        writer.into_inner().map_err(io::Error::other)
    }
}

/// An array of the type of `like`.
fn array<'a>(like: &Cell, cells: impl Iterator<Item = &'a Cell>) -> ArrayRef {
    match like {
        Cell::Text(_) => Arc::new(StringArray::from_iter(cells.map(|cell| match cell {
            Cell::Text(text) => text.as_deref(),
            _ => None,
        }))),
        Cell::Int(_) => Arc::new(Int64Array::from_iter(cells.map(|cell| match cell {
            Cell::Int(number) => *number,
            _ => None,
        }))),
        Cell::Real(_) => Arc::new(Float64Array::from_iter(cells.map(|cell| match cell {
            Cell::Real(number) => *number,
            _ => None,
        }))),
    }
}
