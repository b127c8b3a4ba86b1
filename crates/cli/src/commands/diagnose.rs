//! `fathom diagnose`: the verdict on recordings and log files.

use std::str::FromStr;

use fathom_diagnose::operations::{self, Amount, Choice};
use fathom_diagnose::rules::RULES;
use fathom_diagnose::{Confidence, Diagnosis, diagnose};

use crate::exit::Outcome;
use crate::inputs::InputArgs;
use crate::marks::MarkArgs;
use crate::output::{print, print_json};
use crate::verdict::print_verdict;
use crate::windows::WindowArgs;

/// What says nothing of single operations, which are taken from the whole recording and shown
/// without marks.
const WHOLE_RUN_ONLY: [&str; 6] = ["fail_on", "all", "slow", "base", "mark", "marks"];

/// Arguments of `fathom diagnose`.
#[derive(clap::Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    inputs: InputArgs,
    #[command(flatten)]
    windows: WindowArgs,
    #[command(flatten)]
    marks: MarkArgs,
    /// As JSON (schema fathom.diagnosis/8, docs/diagnosis-json.md)
    #[arg(long)]
    json: bool,
    /// The whole verdict, also what does not fit a screen: all findings, evidence, what was ruled
    /// out and why, windows; JSON always has all of it
    #[arg(long, conflicts_with = "json")]
    all: bool,
    /// Exit with status 1 when a finding has at least this confidence (proven, likely,
    /// consistent-with) or is by one of these rules; a comma-separated list
    #[arg(long, value_name = "CONFIDENCE|RULE,…", value_delimiter = ',')]
    fail_on: Vec<Watched>,
    /// Explain instead how the slowest operations differ from ordinary ones: a share (1%) or a
    /// number (20)
    #[arg(long, value_name = "N|N%", conflicts_with_all = WHOLE_RUN_ONLY, conflicts_with = "op")]
    slowest: Option<Amount>,
    /// The kind of operations, with --slowest: the name of an event, a probe or a request
    #[arg(long, value_name = "NAME", requires = "slowest", conflicts_with = "op")]
    kind: Option<String>,
    /// Explain instead one operation along its thread, by an id that --slowest lists, or a span or
    /// a trace by its own id, where the recording has trace contexts
    #[arg(long, value_name = "ID", conflicts_with_all = WHOLE_RUN_ONLY)]
    op: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  fathom diagnose gc.log                        what stopped this JVM?
  fathom diagnose gc.log jit.xml client.csv     why did the throughput dip?
  fathom diagnose logs/ --align client.csv=+36s a series that starts 36 s after the JVM
  fathom diagnose gc.log --slow 115s..125s --base 20s..110s
  fathom diagnose gc.log --slow 22:00:23..22:00:45
  fathom diagnose access.log --mark 22:00:23='deploy 2.3' --marks deploys.csv
  fathom diagnose gc.log --fail-on likely       for a pipeline: status 1 when something was found
  fathom diagnose shop.jfr --slowest 1%         what do the slowest operations have that others have not?
  fathom diagnose shop.jfr --slowest 20 --kind shop.Request
  fathom diagnose shop.jfr --op event:4711      one of them, piece by piece
  fathom diagnose shop.fathom --op 00f067aa0ba902b7  what its thread did in this span of a trace
  fathom diagnose gc.log --json | jq '.findings[] | .rule, .cost_ms'

Windows are 115s..125s, 2m..2m30s, 22:00:23..22:00:45 (in the zone of this machine, TZ), or
2026-11-20T22:00:23+01:00..2026-11-20T22:00:45+01:00; an end left out is that of the recording.";

/// What `--fail-on` watches for.
#[derive(Clone, Debug)]
enum Watched {
    AtLeast(Confidence),
    Rule(&'static str),
}

impl FromStr for Watched {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let word = text.trim();
        match word {
            "proven" => return Ok(Self::AtLeast(Confidence::Proven)),
            "likely" => return Ok(Self::AtLeast(Confidence::Likely)),
            "consistent-with" => return Ok(Self::AtLeast(Confidence::ConsistentWith)),
            _ => {}
        }
        let known: Vec<_> = RULES.iter().map(|rule| rule.id()).collect();
        let rule = known.iter().find(|id| **id == word).map(|id| Self::Rule(id));
        rule.ok_or_else(|| format!("write proven, likely, consistent-with or a rule: {}", known.join(", ")))
    }
}

impl Watched {
    fn is_in(&self, diagnosis: &Diagnosis) -> bool {
        diagnosis.findings.iter().any(|finding| match self {
            Self::AtLeast(confidence) => finding.confidence >= *confidence,
            Self::Rule(id) => finding.rule == *id,
        })
    }
}

impl Args {
    /// Diagnoses the inputs and prints the verdict.
    pub fn run(self) -> anyhow::Result<Outcome> {
        let mut loaded = self.inputs.load()?;
        self.marks.add_to(&mut loaded.recording, true)?;
        if let Some(amount) = self.slowest {
            let found = operations::slowest(&loaded.recording, &Choice { amount, kind: self.kind })?;
            if self.json {
                print_json(&found)?;
            } else {
                let zero = fathom_diagnose::zero(&loaded.recording);
                print(&fathom_render::operations::slowest(&found, zero.at_ns))?;
            }
            return Ok(Outcome::Done);
        }
        if let Some(id) = &self.op {
            let explained = operations::explain(&loaded.recording, id)?;
            if self.json {
                print_json(&explained)?;
            } else {
                print(&fathom_render::operations::operation(&explained))?;
            }
            return Ok(Outcome::Done);
        }
        let diagnosis = diagnose(&loaded.recording, &self.windows.options())?;
        print_verdict(&diagnosis, self.json, self.all)?;
        let found = self.fail_on.iter().any(|watched| watched.is_in(&diagnosis));
        Ok(if found { Outcome::Found } else { Outcome::Done })
    }
}
