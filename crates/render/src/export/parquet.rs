//! One Parquet file with names in place of ids. A recording is a directory of Parquet tables
//! already; this is a window of one table that needs no joins.

use std::io::Write;
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::Compression;
use ::parquet::file::properties::WriterProperties;
use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema};

use super::flat::{self, Cell, Type};
use super::{Export, ExportError, Request, Written};

/// See the module.
pub(super) struct Parquet;

/// Rows a batch: some megabytes.
const BATCH: usize = 65_536;

impl Export for Parquet {
    fn id(&self) -> &'static str {
        "parquet"
    }

    fn extension(&self) -> &'static str {
        "parquet"
    }

    fn about(&self) -> &'static str {
        "for DuckDB, pandas, Spark: one table (--table samples, spans or series) that needs no joins"
    }

    fn write(&self, request: &Request<'_>, out: &mut (dyn Write + Send)) -> Result<Written, ExportError> {
        let columns = flat::columns(request.table);
        let fields: Vec<Field> = columns
            .iter()
            .map(|(name, kind)| match kind {
                Type::Int => Field::new(*name, DataType::Int64, true),
                Type::Float => Field::new(*name, DataType::Float64, false),
                Type::Text => Field::new(*name, DataType::Utf8, false),
            })
            .collect();
        let schema = Arc::new(Schema::new(fields));
        let properties =
            WriterProperties::builder().set_compression(Compression::ZSTD(Default::default())).build();
        let mut writer = ArrowWriter::try_new(out, Arc::clone(&schema), Some(properties))?;
        let mut batch = Batch::new(columns);
        let written = flat::each(request, |cells| {
            batch.push(cells);
            if batch.rows == BATCH {
                writer.write(&batch.take(&schema)?)?;
            }
            Ok(())
        })?;
        if batch.rows > 0 {
            writer.write(&batch.take(&schema)?)?;
        }
        writer.close()?;
        Ok(written)
    }
}

enum Column {
    Int(Int64Builder),
    Float(Float64Builder),
    Text(StringBuilder),
}

struct Batch {
    columns: Vec<Column>,
    rows: usize,
}

impl Batch {
    fn new(columns: &[(&str, Type)]) -> Self {
        let column = |(_, kind): &(&str, Type)| match kind {
            Type::Int => Column::Int(Int64Builder::new()),
            Type::Float => Column::Float(Float64Builder::new()),
            Type::Text => Column::Text(StringBuilder::new()),
        };
        Self { columns: columns.iter().map(column).collect(), rows: 0 }
    }

    fn push(&mut self, cells: Vec<Cell>) {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            match (column, cell) {
                (Column::Int(to), Cell::Int(value)) => to.append_option(value),
                (Column::Float(to), Cell::Float(value)) => to.append_value(value),
                (Column::Text(to), Cell::Text(text)) => to.append_value(text),
                // Rows are made by the same list of columns; a cell of another type is null.
                (Column::Int(to), _) => to.append_null(),
                (Column::Float(to), _) => to.append_value(f64::NAN),
                (Column::Text(to), _) => to.append_value(""),
            }
        }
        self.rows += 1;
    }

    fn take(&mut self, schema: &Arc<Schema>) -> Result<RecordBatch, ExportError> {
        self.rows = 0;
        let array = |column: &mut Column| -> ArrayRef {
            match column {
                Column::Int(builder) => Arc::new(builder.finish()),
                Column::Float(builder) => Arc::new(builder.finish()),
                Column::Text(builder) => Arc::new(builder.finish()),
            }
        };
        let arrays = self.columns.iter_mut().map(array).collect();
        RecordBatch::try_new(Arc::clone(schema), arrays)
            .map_err(|e| ExportError::Parquet(::parquet::errors::ParquetError::ArrowError(e.to_string())))
    }
}
