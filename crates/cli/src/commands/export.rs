//! `fathom export`: samples, spans and series in the formats of other programs.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use fathom_recording::quantity;
use fathom_render::export::{EXPORTS, Export, ExportError, Request, Table};

use crate::exit::Outcome;
use crate::inputs::InputArgs;
use crate::output::write_file;
use crate::selection::SelectionArgs;

/// Arguments of `fathom export`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Export samples, spans and series to other formats: pprof, speedscope, Firefox Profiler, Perfetto, CSV …",
    long_about = "Writes samples, spans and series in the formats of other programs.

Windows and the other filters select samples as for fathom flame; spans and series are taken from the windows. \
What a format cannot hold is reported.",
    after_long_help = "Examples:
  fathom export NAME.fathom --format firefox -o x.json          profiler.firefox.com: threads, spans, series
  fathom export NAME.fathom --format perfetto -o x.pftrace      ui.perfetto.dev
  fathom export app.jfr --format pprof -o x.pb.gz               go tool pprof -http=: x.pb.gz
  fathom export NAME.fathom --format otlp -o x.otlp             OpenTelemetry: curl --data-binary @x.otlp to a collector
  fathom export app.jfr --format speedscope --window 115s..125s -o x.json
  fathom export NAME.fathom --format csv --table spans -o spans.csv
  fathom export NAME.fathom --format csv --per-kind -o x.csv    x-cpu.csv, x-waits.csv, … one kind a file
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
    /// The table of a flat format (csv, tsv, parquet) [default: samples]
    #[arg(long)]
    table: Option<TableName>,
    /// A profile for each thread (folded, speedscope)
    #[arg(long)]
    per_thread: bool,
    /// A file for each kind of samples, NAME-KIND.csv for NAME.csv: kinds overlap in time (a wait
    /// for a lock is a wait, too), and a sum over several counts it twice
    #[arg(long)]
    per_kind: bool,
    /// Suffixes for types of frames as async-profiler writes them: _[j] C2, _[1] C1, _[i] inlined,
    /// _[0] interpreted, _[k] kernel (folded)
    #[arg(long)]
    annotated: bool,
    /// The file to write; `-` for standard output. An existing file is replaced; only you can read
    /// it
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
    found.ok_or_else(|| format!("no such format: {id}"))
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
    /// A row a count
    Counts,
    /// A row a point of a series
    Series,
}

impl Args {
    /// Writes the file, or one for each kind.
    pub fn run(self) -> Result<Outcome> {
        self.check()?;
        let recording = self.inputs.load()?.recording;
        let request = Request {
            recording: &recording,
            // What has no samples may have spans.
            kinds: self.selection.kinds(&recording).unwrap_or_default(),
            selection: self.selection.selection(&recording)?,
            per_thread: self.per_thread,
            annotated: self.annotated,
            table: match self.table.unwrap_or(TableName::Samples) {
                TableName::Samples => Table::Samples,
                TableName::Spans => Table::Spans,
                TableName::Counts => Table::Counts,
                TableName::Series => Table::Series,
            },
            title: crate::inputs::in_words(&recording),
        };
        if !self.per_kind {
            if let Some(what) = self.write(&request, &self.output)? {
                bail!("{}: no {what} in the selection", request.title);
            }
            return Ok(Outcome::Done);
        }
        if self.output.as_os_str() == "-" {
            bail!("--per-kind writes several files, and standard output is one: -o FILE");
        }
        let mut written = 0;
        for kind in &request.kinds {
            let one = Request {
                kinds: vec![kind.clone()],
                selection: request.selection.clone(),
                title: request.title.clone(),
                ..request
            };
            // A kind may have nothing in the window that was asked for.
            written += usize::from(self.write(&one, &of_kind(&self.output, kind))?.is_none());
        }
        if written == 0 {
            bail!("{}: no sample in the selection", request.title);
        }
        Ok(Outcome::Done)
    }

    /// Refuses what the format has no place for.
    fn check(&self) -> Result<()> {
        let id = self.format.0.id();
        let only = |given: bool, option: &str, formats: &[&str]| {
            ensure!(
                !given || formats.contains(&id),
                "{option} is for --format {}, and has no effect on {id}",
                formats.join(", ")
            );
            Ok(())
        };
        only(self.table.is_some(), "--table", &["csv", "tsv", "parquet"])?;
        only(self.annotated, "--annotated", &["folded"])?;
        only(self.per_thread, "--per-thread", &["folded", "speedscope"])
    }

    /// Writes a file, or reports what the selection lacks.
    fn write(&self, request: &Request<'_>, output: &Path) -> Result<Option<&'static str>> {
        let to_standard_output = output.as_os_str() == "-";
        let place = if to_standard_output { "standard output".into() } else { output.display().to_string() };
        let mut written = None;
        let mut failed = None;
        let mut write = |out: &mut (dyn Write + Send)| match self.format.0.write(request, out) {
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
            write_file(output, |out| write(out))
        };
        match failed {
            Some(ExportError::Nothing(what)) => return Ok(Some(what)),
            // What the system says, without a word of ours between.
            Some(ExportError::Io(error)) => return Err(anyhow::Error::from(error).context(place)),
            Some(error) => return Err(anyhow::Error::from(error).context(place)),
            None => done?,
        }
        if let Some(what) = written {
            let [samples, spans, counts, points] =
                [what.samples, what.spans, what.counts, what.points].map(|rows| quantity::count(rows as f64));
            eprintln!(
                "fathom: {place}: {samples} samples, {spans} spans, {counts} counts, {points} points of series"
            );
            let left_out =
                what.left_out.iter().map(|text| format!("{} does not hold {text}", self.format.0.id()));
            for text in left_out.chain(what.notes.iter().map(|text| format!("{place}: {text}"))) {
                eprintln!("fathom: {}", fathom_render::printable(&text));
            }
        }
        Ok(None)
    }
}

/// "x-cpu.csv" of "x.csv"; what no file name should hold becomes a dash.
fn of_kind(output: &Path, kind: &str) -> PathBuf {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    let kind: String = kind.chars().map(safe).collect();
    // "x.pb.gz" has two endings.
    let name = output.file_name().unwrap_or_default().to_string_lossy();
    let (stem, ending) = name.find('.').filter(|at| *at > 0).map_or((&*name, ""), |at| name.split_at(at));
    output.with_file_name(format!("{stem}-{kind}{ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_stands_before_the_endings_of_a_file() {
        for (output, kind, expected) in [
            ("a/x.csv", "cpu", "a/x-cpu.csv"),
            ("x.pb.gz", "lock.monitor", "x-lock.monitor.pb.gz"),
            (".hidden", "cpu", ".hidden-cpu"),
            ("x", "../etc", "x-..-etc"),
        ] {
            assert_eq!(of_kind(Path::new(output), kind), Path::new(expected));
        }
    }
}
