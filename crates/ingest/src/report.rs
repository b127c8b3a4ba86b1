//! What became of each input, and why nothing could be read where that is so.

use fathom_recording::quantity::whole;
use std::path::Path;
use std::time::SystemTime;

use fathom_recording::SourceId;

use crate::IngestError;

/// How many unusable files are listed by name.
const MOST_UNUSED: usize = 5;

/// The result of reading the inputs.
#[derive(Debug, Default)]
pub struct Report {
    /// One entry per input, in the order of reading.
    pub inputs: Vec<InputReport>,
    /// Warnings about how the inputs were combined: clocks, processes.
    pub warnings: Vec<String>,
}

/// The result of reading one input.
#[derive(Debug)]
pub struct InputReport {
    /// Its name.
    pub name: String,
    /// The outcome.
    pub outcome: Outcome,
    /// Warnings about it.
    pub warnings: Vec<String>,
    /// When its file was last written, where that is known.
    pub modified: Option<SystemTime>,
}

/// The outcome for an input.
#[derive(Debug)]
pub enum Outcome {
    /// It was read.
    Read {
        /// By the reader of this format.
        format: &'static str,
        /// Into these sources, one per JVM run.
        sources: Vec<SourceId>,
    },
    /// It could not be used, although the user named it.
    Refused(IngestError),
    /// It was found in a directory or an archive and cannot be used.
    NotUsed(IngestError),
}

impl Report {
    pub(crate) fn refuse(&mut self, path: &Path, error: IngestError) {
        let (name, outcome) = (path.display().to_string(), Outcome::Refused(error));
        self.inputs.push(InputReport { name, outcome, warnings: Vec::new(), modified: None });
    }

    /// When the file of a source was last written.
    pub(crate) fn modified(&self, source: SourceId) -> Option<SystemTime> {
        let of = |input: &&InputReport| match &input.outcome {
            Outcome::Read { sources, .. } => sources.last() == Some(&source),
            Outcome::Refused(_) | Outcome::NotUsed(_) => false,
        };
        self.inputs.iter().find(of)?.modified
    }

    /// All warnings, ready to be shown, one line each.
    pub fn messages(&self) -> Vec<String> {
        let mut messages = Vec::new();
        let mut unused = Vec::new();
        for input in &self.inputs {
            match &input.outcome {
                Outcome::Refused(error) => messages.push(error.to_string()),
                Outcome::NotUsed(error) => unused.push(error.to_string()),
                Outcome::Read { .. } => {}
            }
            messages.extend(input.warnings.iter().map(|warning| format!("{}: {warning}", input.name)));
        }
        let more = unused.len().saturating_sub(MOST_UNUSED);
        unused.truncate(MOST_UNUSED);
        messages.extend(unused.into_iter().map(|error| format!("not used: {error}")));
        if more > 0 {
            messages.push(format!("not used: {} more files", whole(more)));
        }
        messages.extend(self.warnings.iter().cloned());
        messages
    }

    pub(crate) fn read_any(&self) -> bool {
        self.inputs.iter().any(|input| matches!(input.outcome, Outcome::Read { .. }))
    }

    pub(crate) fn errors(self) -> Vec<IngestError> {
        let error = |input: InputReport| match input.outcome {
            Outcome::Refused(error) | Outcome::NotUsed(error) => Some(error),
            Outcome::Read { .. } => None,
        };
        self.inputs.into_iter().filter_map(error).collect()
    }
}

/// Why nothing could be read.
#[derive(Debug, thiserror::Error)]
pub enum InputsError {
    /// None of the inputs could be used.
    #[error("{}", all(.0))]
    Nothing(Vec<IngestError>),
    /// `--align` was given an argument that cannot be used.
    #[error("--align {argument}: {why}")]
    Align {
        /// What was given.
        argument: String,
        /// What is wrong with it.
        why: String,
    },
}

fn all(errors: &[IngestError]) -> String {
    let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
    errors.join("\n")
}
