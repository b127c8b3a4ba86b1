//! `fathom import`: files into a recording.

use std::path::PathBuf;

use fathom_diagnose::quantity;
use fathom_recording::Overwrite;
use fathom_recording::identity::plain;

use crate::exit::Outcome;
use crate::identity::IdentityArgs;
use crate::inputs::InputArgs;
use crate::marks::MarkArgs;

/// Arguments of `fathom import`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Import files of any known format into a recording",
    long_about = "Reads files of any known format into a recording: a directory of Parquet tables.

A recording opens faster than the logs that it was made from, holds all of them on one clock, and is read by DuckDB, \
pandas, Spark or ClickHouse as it is (docs/recording-format.md).",
    after_long_help = "Examples:
  fathom import gc.log jit.xml ops.csv -o slow.fathom
  duckdb -c \"SELECT kind, count(*), sum(t1_ns - t0_ns) / 1e9 FROM 'slow.fathom/spans.parquet' GROUP BY kind\""
)]
pub struct Args {
    #[command(flatten)]
    inputs: InputArgs,
    #[command(flatten)]
    marks: MarkArgs,
    #[command(flatten)]
    identity: IdentityArgs,
    /// The host that the files are from, for `fathom fleet`
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// The recording to write
    #[arg(short, long, value_name = "NAME.fathom")]
    output: PathBuf,
    /// Replace an existing recording
    #[arg(long)]
    force: bool,
}

impl Args {
    /// Writes the recording.
    pub fn run(self) -> anyhow::Result<Outcome> {
        let mut recording = self.inputs.load()?.recording;
        self.marks.add_to(&mut recording, true)?;
        let mut identity = self.identity.over(std::mem::take(&mut recording.identity));
        identity.host = self.host.as_deref().map(plain).or(identity.host);
        recording.identity = identity;
        fathom_recording::write(&recording, &self.output, overwrite(self.force))?;
        let [spans, counts, samples, series] =
            [recording.spans.len(), recording.counts.len(), recording.samples.len(), recording.series.len()]
                .map(|rows| quantity::count(rows as f64));
        eprintln!(
            "fathom: {}: {spans} spans, {counts} counts, {samples} samples, {series} series; see fathom info",
            self.output.display()
        );
        Ok(Outcome::Done)
    }
}

/// What `--force` asks for.
pub fn overwrite(force: bool) -> Overwrite {
    if force { Overwrite::Recording } else { Overwrite::Never }
}
