//! `fathom export`: samples, spans and series in the formats of other programs.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use fathom_render::export::{EXPORTS, Export, ExportError, Request, Table};

use crate::exit::Outcome;
use crate::inputs::InputArgs;
use crate::output::write_file;
use crate::selection::SelectionArgs;

/// Arguments of `fathom export`.
#[derive(clap::Args, Debug)]
#[command(
    long_about = "Writes samples, spans and series in the formats of other programs.

Windows and the other filters choose samples as for fathom flame; spans and series are taken from the windows. What a \
format cannot hold is said.",
    after_long_help = "Examples:
  fathom export NAME.fathom --format firefox -o x.json          profiler.firefox.com: threads, spans, series
  fathom export NAME.fathom --format perfetto -o x.pftrace      ui.perfetto.dev
  fathom export app.jfr --format pprof -o x.pb.gz               go tool pprof -http=: x.pb.gz
  fathom export app.jfr --format speedscope --window 115s..125s -o x.json
  fathom export NAME.fathom --format csv --table spans -o spans.csv
  fathom export NAME.fathom --format folded -o - | flamegraph.pl > x.svg"
)]
pub struct Args {
    #[command(flatten)]
    inputs: InputArgs,
    #[command(flatten)]
    selection: SelectionArgs,
    /// The format
    #[arg(long, value_parser = formats())]
    format: Format,
    /// The table of a flat format (csv, tsv, parquet)
    #[arg(long, default_value = "samples")]
    table: TableName,
    /// A profile for each thread (folded, speedscope)
    #[arg(long)]
    per_thread: bool,
    /// Suffixes for types of frames as async-profiler writes them: _[j] C2, _[1] C1, _[i] inlined, _[0] interpreted,
    /// _[k] kernel (folded)
    #[arg(long)]
    annotated: bool,
    /// The file to write; `-` for standard output. One that is there is replaced; it can be read by you alone
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// A format of the list.
#[derive(Clone)]
struct Format(&'static dyn Export);

impl std::fmt::Debug for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.id())
    }
}

/// A format by its name.
fn format(id: &str) -> Result<Format, String> {
    let found = EXPORTS.iter().find(|e| e.id() == id).map(|e| Format(*e));
    found.ok_or_else(|| format!("there is no format {id}"))
}

fn formats() -> impl TypedValueParser<Value = Format> {
    let known = EXPORTS.iter().map(|e| PossibleValue::new(e.id()).help(e.about()));
    PossibleValuesParser::new(known).try_map(|id| format(&id))
}

/// `--table`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TableName {
    /// A row a sample
    Samples,
    /// A row a span
    Spans,
    /// A row a point of a series
    Series,
}

impl Args {
    /// Writes the file.
    pub fn run(self) -> Result<Outcome> {
        let recording = self.inputs.load()?.recording;
        let request = Request {
            recording: &recording,
            // What has no samples may have spans.
            kinds: self.selection.kinds(&recording).unwrap_or_default(),
            selection: self.selection.selection(&recording)?,
            per_thread: self.per_thread,
            annotated: self.annotated,
            table: match self.table {
                TableName::Samples => Table::Samples,
                TableName::Spans => Table::Spans,
                TableName::Series => Table::Series,
            },
            title: crate::inputs::told(&recording),
        };
        let to_standard_output = self.output.as_os_str() == "-";
        let place =
            if to_standard_output { "standard output".into() } else { self.output.display().to_string() };
        let mut written = None;
        let mut failed = None;
        let mut write = |out: &mut (dyn Write + Send)| match self.format.0.write(&request, out) {
            Ok(what) => {
                written = Some(what);
                Ok(())
            }
            Err(error) => {
                failed = Some(error);
                Err(std::io::Error::other("not written"))
            }
        };
        let done = if to_standard_output {
            let mut out = BufWriter::new(std::io::stdout());
            write(&mut out).and_then(|()| out.flush()).context("standard output")
        } else {
            write_file(&self.output, |out| write(out))
        };
        match failed {
            Some(ExportError::Nothing(what)) => bail!("{}: no {what} in what was chosen", request.title),
            // What the system says, without a word of ours between.
            Some(ExportError::Io(error)) => return Err(anyhow::Error::from(error).context(place)),
            Some(error) => return Err(anyhow::Error::from(error).context(place)),
            None => done?,
        }
        if let Some(what) = written {
            eprintln!(
                "fathom: {place}: {} samples, {} spans, {} points of series",
                what.samples, what.spans, what.points
            );
            for left_out in what.left_out {
                eprintln!(
                    "fathom: {} does not hold {}",
                    self.format.0.id(),
                    fathom_render::printable(&left_out)
                );
            }
        }
        Ok(Outcome::Done)
    }
}
