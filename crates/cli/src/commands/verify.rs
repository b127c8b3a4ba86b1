//! `fathom verify`: whether a fix helped.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use fathom_compare::verify::{Verdict, verify};
use fathom_recording::Recording;

use crate::exit::Outcome;
use crate::inputs::InputArgs;
use crate::output::{print_fitted, print_json};

/// Arguments of `fathom verify`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Verify a fix: what became of each finding, what was gained, what is new",
    long_about = "Shows whether a fix helped: diagnoses what was recorded before it and what was recorded after \
it, and says of each finding whether its cause is gone, smaller, the same or larger, what was gained compared with \
what the findings promised, what is new, and what is not known and why.

A cause is gone only where AFTER could have shown it: without the source that a finding rests on it is not known. \
Exit status: 0 fixed, 1 smaller, not fixed or cannot tell.",
    after_long_help = "Examples:
  fathom verify before.fathom after.fathom
  fathom verify monday/ friday/                            folders of logs
  fathom verify gc-old.log gc-new.log                      logs alone: what stops the JVM
  fathom verify --before run1.fathom,gc1.log,t1.csv --after run2.fathom,gc2.log,t2.csv
  fathom verify --json before.fathom after.fathom | jq '.causes[] | .rule, .state'

For an interval over several runs of each: fathom compare -- 'COMMAND A' -- 'COMMAND B'."
)]
pub struct Args {
    /// What was recorded before and after: each a recording, a file or a folder
    #[arg(value_names = ["BEFORE", "AFTER"], num_args = 2, conflicts_with_all = ["before", "after"], required_unless_present = "before")]
    sides: Vec<PathBuf>,
    /// All that was recorded before the fix, comma-separated or given several times
    #[arg(long, value_name = "INPUT,…", value_delimiter = ',', requires = "after")]
    before: Vec<PathBuf>,
    /// All that was recorded after it
    #[arg(long, value_name = "INPUT,…", value_delimiter = ',', requires = "before")]
    after: Vec<PathBuf>,
    /// As JSON (schema fathom.verify/1, docs/verify.md)
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Diagnoses both and prints what became of the findings.
    pub fn run(self) -> Result<Outcome> {
        let sides = match self.sides.as_slice() {
            [before, after] => [vec![before.clone()], vec![after.clone()]],
            _ => [self.before, self.after],
        };
        ensure!(sides.iter().all(|side| !side.is_empty()), "give what was recorded before and what after");
        let of = sides
            .each_ref()
            .map(|side| side.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", "));
        let [before, after] = sides;
        let read = [load("BEFORE", before)?, load("AFTER", after)?];
        let report = verify(of, read)?;
        if self.json {
            print_json(&report)?;
        } else {
            print_fitted(&fathom_render::verify::text(&report))?;
        }
        Ok(if report.verdict == Verdict::Fixed { Outcome::Done } else { Outcome::Found })
    }
}

fn load(side: &'static str, inputs: Vec<PathBuf>) -> Result<Recording> {
    let loaded = InputArgs { inputs, align: Vec::new() }.load().context(side)?;
    Ok(loaded.recording)
}
