//! What a recording holds in the formats of other programs: one file a format, one line each in
//! [`EXPORTS`].
//!
//! Names are bounded and made printable on the way, as in pictures. Each format says what it cannot
//! hold; nothing that is left out is left out silently.

mod counts;
mod csv;
mod firefox;
mod flat;
mod folded;
mod otlp;
mod parquet;
mod perfetto;
mod pprof;
mod speedscope;
mod stacks;

use std::io::{self, Write};

use fathom_diagnose::stacks::{Rows, Selection, StacksError};
use fathom_recording::Recording;

pub use folded::folded;

/// A format.
pub trait Export: Sync {
    /// Its name on the command line.
    fn id(&self) -> &'static str;
    /// The usual ending of its files.
    fn extension(&self) -> &'static str;
    /// What reads it, and what of a recording is in it.
    fn about(&self) -> &'static str;
    /// Writes it.
    fn write(&self, request: &Request<'_>, out: &mut (dyn Write + Send)) -> Result<Written, ExportError>;
}

/// All formats, in the order in which they are listed.
pub static EXPORTS: [&dyn Export; 9] = [
    &folded::Folded,
    &pprof::Pprof,
    &otlp::Otlp,
    &speedscope::Speedscope,
    &firefox::Firefox,
    &perfetto::Perfetto,
    &csv::Csv,
    &parquet::Parquet,
    &csv::Tsv,
];

/// The table that a flat format holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Table {
    /// A row a sample.
    #[default]
    Samples,
    /// A row a span.
    Spans,
    /// A row a count.
    Counts,
    /// A row a point of a series.
    Series,
}

/// What is to be written.
pub struct Request<'a> {
    /// The recording, sealed.
    pub recording: &'a Recording,
    /// Kinds of samples, the most important first.
    pub kinds: Vec<String>,
    /// Which samples; its kind is not looked at. Spans, counts and series are taken from its
    /// windows and sources.
    pub selection: Selection,
    /// A profile for each thread where the format has but one list of samples.
    pub per_thread: bool,
    /// Suffixes for types of frames where the format has no other place for them.
    pub annotated: bool,
    /// The table of a flat format.
    pub table: Table,
    /// A name for the whole.
    pub title: String,
}

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Samples.
    pub samples: usize,
    /// Spans.
    pub spans: usize,
    /// Counts, where they are rows.
    pub counts: usize,
    /// Points of series, and of counts where they are lines.
    pub points: usize,
    /// What the format cannot hold and was left out, in words.
    pub left_out: Vec<String>,
    /// What whoever reads it must know, in words.
    pub notes: Vec<String>,
}

/// What a format that holds but the first kind of samples leaves out.
fn other_kinds<T>(kinds: &[(&str, T)]) -> Vec<String> {
    let others: Vec<&str> = kinds.iter().skip(1).map(|(kind, _)| *kind).collect();
    match others.as_slice() {
        [] => Vec::new(),
        [one] => vec![format!("samples of kind {one}")],
        several => vec![format!("samples of the kinds {}", several.join(", "))],
    }
}

/// Why an export failed.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// Writing failed.
    #[error("writing")]
    Io(#[from] io::Error),
    /// There is nothing to write.
    #[error(transparent)]
    Stacks(#[from] StacksError),
    /// There is nothing to write.
    #[error("no {0} in the selection")]
    Nothing(&'static str),
    /// The library that writes Parquet says so.
    #[error("Parquet")]
    Parquet(#[from] ::parquet::errors::ParquetError),
    /// The library that writes CSV says so.
    #[error("CSV")]
    Csv(#[from] ::csv::Error),
    /// A JSON writer says so.
    #[error("JSON")]
    Json(#[from] serde_json::Error),
}

impl Request<'_> {
    /// The chosen samples of one kind.
    fn rows(&self, kind: &str) -> Rows {
        Rows::of(self.recording, &Selection { kind: kind.to_owned(), ..self.selection.clone() })
    }

    /// The chosen samples kind by kind, without kinds that have none.
    fn all_rows(&self) -> Result<Vec<(&str, Rows)>, ExportError> {
        let rows: Vec<_> = self.kinds.iter().map(|kind| (kind.as_str(), self.rows(kind))).collect();
        let rows: Vec<_> = rows.into_iter().filter(|(_, rows)| !rows.rows.is_empty()).collect();
        if rows.is_empty() { Err(ExportError::Nothing("sample with a stack")) } else { Ok(rows) }
    }

    /// Whether a timestamp is in the chosen windows.
    fn in_window(&self, from_ns: i64, to_ns: i64) -> bool {
        let windows = &self.selection.windows;
        // A point in time has no length, and lies in a window that begins with it.
        windows.is_empty()
            || windows.iter().any(|w| from_ns < w.to_ns && (w.from_ns < to_ns || w.from_ns == from_ns))
    }

    /// The unit of a kind.
    fn unit(&self, kind: &str) -> &'static str {
        fathom_diagnose::stacks::unit(self.recording, kind)
    }
}

#[cfg(test)]
mod tests;
