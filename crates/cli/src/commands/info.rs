//! `fathom info`: what is in a recording or in files.

use crate::exit::Outcome;
use crate::inputs::InputArgs;
use crate::output::{columns, print, print_json};

/// Arguments of `fathom info`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Show what is in a recording or in files: sources, time covered, losses, checks",
    long_about = "Shows what is in a recording or in files: from which sources, over which time, with what losses.

Every line of an input is either understood or counted as skipped, and some of the skipped ones are shown. \
Self-checks run on every input; those that fail come first. For each source it shows how it was time-aligned, and \
the error of that.",
    after_long_help = "Examples:
  fathom info NAME.fathom                         a recording
  fathom info gc.log jit.xml                      what fathom would take from these files
  fathom info gc.log --json | jq '.sources[].skipped'  the machine's form (schema fathom.info/1)"
)]
pub struct Args {
    #[command(flatten)]
    inputs: InputArgs,
    /// List each series by its name, instead of counts by family
    #[arg(long, conflicts_with = "json")]
    all: bool,
    /// As JSON (schema fathom.info/1)
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Prints what there is.
    pub fn run(self) -> anyhow::Result<Outcome> {
        let recording = self.inputs.load()?.recording;
        if self.json {
            print_json(&fathom_render::info::to_json(&recording))?;
        } else {
            print(&fathom_render::info::text(&recording, columns(), self.all))?;
        }
        Ok(Outcome::Done)
    }
}
