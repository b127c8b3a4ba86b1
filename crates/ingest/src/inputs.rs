//! Everything that the user named, read into one recording: the way in for the command line.
//!
//! paths → items ([`crate::open`]) → format ([`crate::detect`]) → its reader → one clock ([`crate::align`]).
//! One bad input among good ones is told and the rest is used; when nothing can be used, that is an error.

use std::path::PathBuf;
use std::time::SystemTime;

use fathom_recording::{Recording, SourceId};

use crate::open::{self, Expansion, Item, Meter, Opener, Progress};
use crate::{Format, IngestError, Input, Lines, align, detect};

/// How inputs are read.
#[derive(Clone, Default)]
pub struct Options {
    /// `FILE=OFFSET` as on the command line: what is placed on the clock by hand.
    pub align: Vec<String>,
    /// Told how far the reading is.
    pub progress: Option<Progress>,
    /// How much packed inputs may grow.
    pub expansion: Expansion,
}

/// What became of the inputs.
#[derive(Debug, Default)]
pub struct Report {
    /// One entry an input, in the order of reading.
    pub inputs: Vec<InputReport>,
    /// What the user should know of how the inputs were put together: clocks, processes.
    pub warnings: Vec<String>,
}

/// What became of one input.
#[derive(Debug)]
pub struct InputReport {
    /// Its name.
    pub name: String,
    /// What happened to it.
    pub outcome: Outcome,
    /// What the user should know of it.
    pub warnings: Vec<String>,
    /// When its file was last written, where that is known.
    pub modified: Option<SystemTime>,
}

/// What happened to an input.
#[derive(Debug)]
pub enum Outcome {
    /// It was read.
    Read {
        /// By the reader of this format.
        format: &'static str,
        /// Into these sources, one a JVM run.
        sources: Vec<SourceId>,
    },
    /// It could not be used, although the user named it.
    Refused(IngestError),
}

/// Why nothing could be read.
#[derive(Debug, thiserror::Error)]
pub enum InputsError {
    /// None of the inputs could be used.
    #[error("{}", all(.0))]
    Nothing(Vec<IngestError>),
    /// `--align` was given something that cannot be followed.
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

impl Report {
    /// When the file of a source was last written.
    pub(crate) fn modified(&self, source: SourceId) -> Option<SystemTime> {
        let of = |input: &&InputReport| match &input.outcome {
            Outcome::Read { sources, .. } => sources.last() == Some(&source),
            Outcome::Refused(_) => false,
        };
        self.inputs.iter().find(of)?.modified
    }

    /// All that the user should know, ready to be shown, one line each.
    pub fn messages(&self) -> Vec<String> {
        let of_inputs = self.inputs.iter().flat_map(|input| {
            let refused = match &input.outcome {
                Outcome::Refused(error) => Some(error.to_string()),
                Outcome::Read { .. } => None,
            };
            refused.into_iter().chain(input.warnings.iter().map(|w| format!("{}: {w}", input.name)))
        });
        of_inputs.chain(self.warnings.iter().cloned()).collect()
    }
}

/// Reads all `paths` into `recording`, puts them on one clock and seals the recording.
pub fn read_inputs(
    paths: &[PathBuf],
    options: &Options,
    recording: &mut Recording,
) -> Result<Report, InputsError> {
    let first_new = recording.sources.len();
    let items: Vec<_> = paths.iter().map(open::item).collect();
    let total = items.iter().flatten().map(|item| item.bytes).sum();
    let opener = Opener { limit: options.expansion, meter: Meter::new(total, options.progress.clone()) };
    let mut report = Report::default();
    for (path, item) in paths.iter().zip(items) {
        let input = match item {
            Ok(item) => read_item(&item, &opener, recording),
            Err(error) => InputReport {
                name: path.display().to_string(),
                outcome: Outcome::Refused(error),
                warnings: Vec::new(),
                modified: None,
            },
        };
        report.inputs.push(input);
    }
    if !report.inputs.iter().any(|input| matches!(input.outcome, Outcome::Read { .. })) {
        let refused = report.inputs.into_iter().filter_map(|input| match input.outcome {
            Outcome::Refused(error) => Some(error),
            Outcome::Read { .. } => None,
        });
        return Err(InputsError::Nothing(refused.collect()));
    }
    align::align(recording, first_new, &options.align, &mut report)?;
    recording.seal();
    Ok(report)
}

fn read_item(item: &Item, opener: &Opener, recording: &mut Recording) -> InputReport {
    let mut warnings = Vec::new();
    let outcome = opener
        .lines(item)
        .map_err(|cause| item.error(cause))
        .and_then(|lines| read_lines(item, lines, opener, recording, &mut warnings));
    let outcome = match outcome {
        Ok((format, sources)) => Outcome::Read { format, sources },
        Err(error) => Outcome::Refused(error),
    };
    InputReport { name: item.name.clone(), outcome, warnings, modified: item.modified }
}

/// Reads an opened item with the surest format; when that finds no record after all, with the next.
fn read_lines(
    item: &Item,
    mut lines: Lines,
    opener: &Opener,
    recording: &mut Recording,
    warnings: &mut Vec<String>,
) -> Result<(&'static str, Vec<SourceId>), IngestError> {
    let head = lines.peek();
    let candidates = detect::candidates(head);
    let seen = detect::looks_like(head);
    if candidates.is_empty() {
        if let (true, Some(cause)) = (head.is_empty(), lines.take_failure()) {
            return Err(item.error(cause));
        }
        return Err(IngestError::Unknown { path: item.name.clone().into(), seen });
    }
    let mut first_error = None;
    let mut opened = Some(lines);
    for format in candidates {
        let lines = match opened.take() {
            Some(lines) => lines,
            None if item.reopens() => opener.lines(item).map_err(|cause| item.error(cause))?,
            None => break,
        };
        let input = Input { name: item.name.clone(), modified: item.modified, lines };
        match read_with(format, input, recording, warnings) {
            Ok(sources) => return Ok((format.id(), sources)),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    Err(first_error.unwrap_or(IngestError::Unknown { path: item.name.clone().into(), seen }))
}

/// Reads an input with one format and completes what only the opener knows of its sources.
fn read_with(
    format: &'static dyn Format,
    mut input: Input,
    recording: &mut Recording,
    warnings: &mut Vec<String>,
) -> Result<Vec<SourceId>, IngestError> {
    let before = recording.sources.len();
    format.read(&mut input, recording)?;
    let sources: Vec<_> = (before..recording.sources.len()).map(|i| SourceId(i as u32)).collect();
    if sources.is_empty() {
        return Err(IngestError::Empty { path: input.name.into(), format: format.id() });
    }
    if let Some(failure) = input.lines.failure() {
        warnings.push(format!("cut off after line {}: {failure}", input.lines.number()));
        if let Some(last) = recording.sources.last_mut() {
            last.cut = true;
        }
    }
    if let [only] = recording.sources.get_mut(before..).unwrap_or_default() {
        only.bytes = only.bytes.max(input.lines.bytes());
        only.lines = only.lines.max(input.lines.number());
    }
    Ok(sources)
}
