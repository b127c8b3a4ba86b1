//! Comma- or tab-separated values: one table with names in place of ids (RFC 4180 quoting).

use std::io::Write;

use super::flat::{self, Cell};
use super::{Export, ExportError, Request, Written};

/// See the module.
pub(super) struct Csv;
/// With tabs.
pub(super) struct Tsv;

impl Export for Csv {
    fn id(&self) -> &'static str {
        "csv"
    }

    fn extension(&self) -> &'static str {
        "csv"
    }

    fn about(&self) -> &'static str {
        "for spreadsheets and scripts: one table (--table samples, spans or series), names in place of ids"
    }

    fn write(&self, request: &Request<'_>, out: &mut (dyn Write + Send)) -> Result<Written, ExportError> {
        separated(request, b',', out)
    }
}

impl Export for Tsv {
    fn id(&self) -> &'static str {
        "tsv"
    }

    fn extension(&self) -> &'static str {
        "tsv"
    }

    fn about(&self) -> &'static str {
        "the same with tabs"
    }

    fn write(&self, request: &Request<'_>, out: &mut (dyn Write + Send)) -> Result<Written, ExportError> {
        separated(request, b'\t', out)
    }
}

fn separated(request: &Request<'_>, by: u8, out: &mut (dyn Write + Send)) -> Result<Written, ExportError> {
    let mut writer = ::csv::WriterBuilder::new().delimiter(by).from_writer(out);
    writer.write_record(flat::columns(request.table).iter().map(|(name, _)| name))?;
    let written = flat::each(request, |cells| {
        let text = |cell: Cell| match cell {
            Cell::Int(None) => String::new(),
            Cell::Int(Some(value)) => value.to_string(),
            Cell::Float(value) => value.to_string(),
            Cell::Text(text) => text,
        };
        Ok(writer.write_record(cells.into_iter().map(text))?)
    })?;
    writer.flush()?;
    Ok(written)
}
