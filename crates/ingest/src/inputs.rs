//! Reads everything that the user named into one recording: the entry point for the command line.
//!
//! paths → items ([`crate::open`]) → format ([`crate::detect`]) → its reader → one clock
//! ([`crate::align`]). One bad input among good ones is reported and the rest is used; when nothing
//! can be used, that is an error.

use fathom_recording::quantity::whole;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use fathom_recording::{Recording, Sink, Source, SourceId};

use crate::open::rotation::{self, Joined, Part, Timestamp};
use crate::open::{self, Expansion, Item, Meter, Opener, Place, Progress};
use crate::report::{InputReport, InputsError, Outcome, Report};
use crate::{Format, IngestError, Input, Lines, align, detect, names};

/// How inputs are read.
#[derive(Clone, Default)]
pub struct Options {
    /// `FILE=OFFSET` as on the command line: what is placed on the clock by hand.
    pub align: Vec<String>,
    /// Is called with the progress of reading.
    pub progress: Option<Progress>,
    /// How much compressed inputs may expand.
    pub expansion: Expansion,
}

/// Reads all `paths` into `recording`, aligns their clocks and seals the recording.
pub fn read_inputs(
    paths: &[PathBuf],
    options: &Options,
    recording: &mut Recording,
) -> Result<Report, InputsError> {
    let first_new = recording.sources.len();
    let mut report = Report::default();
    let mut items = Vec::new();
    for path in paths {
        match open::expand(path, options.expansion) {
            Ok(found) if found.is_empty() => {
                let seen = "nothing in it".to_owned();
                report.refuse(path, IngestError::Unknown { path: path.clone(), seen });
            }
            Ok(found) => items.extend(found),
            Err(error) => report.refuse(path, error),
        }
    }
    once(&mut items, &mut report);
    let total = items.iter().map(|item| item.bytes).sum();
    let opener = Opener { limit: options.expansion, meter: Meter::new(total, options.progress.clone()) };
    for set in sets(items) {
        read_set(set, &opener, recording, &mut report);
    }
    if !report.read_any() {
        return Err(InputsError::Nothing(report.errors()));
    }
    report.warnings.extend(copies(recording, first_new));
    align::align(recording, first_new, &options.align, &mut report)?;
    names::shorten(recording, first_new);
    align::leave_out_duplicates(recording);
    recording.seal();
    Ok(report)
}

/// Drops a file that is named a second time, also by another path: read twice, every number would
/// be doubled.
fn once(items: &mut Vec<Item>, report: &mut Report) {
    let mut seen = HashSet::new();
    items.retain(|item| {
        let identity = match &item.place {
            Place::Stdin => PathBuf::from("-"),
            Place::File(path) => path.canonicalize().unwrap_or_else(|_| path.clone()),
            Place::Stream(_) | Place::Member(_) | Place::Nowhere(_) => return true,
        };
        let first = seen.insert(identity);
        if !first {
            report.warnings.push(format!("{}: named twice, read once", item.name));
        }
        first
    });
}

/// Finds logs of a JVM that are most likely the same under two names: equal numbers of lines, bytes
/// and records over the same length of time. They are read all the same, because only the user can
/// know.
fn copies(recording: &Recording, first_new: usize) -> Vec<String> {
    let is_log = |s: &&Source| s.process.is_some() && s.records > 0;
    let length_ns = |s: &Source| s.covers_ns.map(|(from, to)| to.saturating_sub(from));
    let same = |a: &Source, b: &Source| {
        (&a.format, a.lines, a.bytes, a.records, length_ns(a))
            == (&b.format, b.lines, b.bytes, b.records, length_ns(b))
    };
    let mut warnings = Vec::new();
    for (i, source) in recording.sources.iter().enumerate().skip(first_new).filter(|(_, s)| is_log(s)) {
        if let Some(other) = recording.sources.iter().take(i).filter(is_log).find(|other| same(source, other))
        {
            warnings.push(format!(
                "{}: seems to be the same log as {}; if it is, leave one out, or every number is doubled",
                source.name, other.name
            ));
        }
    }
    warnings
}

/// Groups items whose names make them parts of one rotated set, in the order in which the first of
/// each came.
fn sets(items: Vec<Item>) -> Vec<Vec<Item>> {
    let mut sets: Vec<Vec<Item>> = Vec::new();
    let mut by_base: HashMap<String, usize> = HashMap::new();
    for item in items {
        let base = rotation::part_of(&item.name).0.to_owned();
        match by_base.get(&base).and_then(|i| sets.get_mut(*i)).filter(|_| item.reopens()) {
            Some(set) => set.push(item),
            None => {
                if item.reopens() {
                    by_base.insert(base, sets.len());
                }
                sets.push(vec![item]);
            }
        }
    }
    sets
}

/// Reads a set as one input if its files are all of one format, and of one that rotates; otherwise
/// each alone.
fn read_set(set: Vec<Item>, opener: &Opener, recording: &mut Recording, report: &mut Report) {
    let numbered = |item: &Item| rotation::part_of(&item.name).1 != Part::Base;
    let (parts, alone) = match set.len() > 1 && set.iter().any(numbered) {
        true => parts(set, opener),
        false => (Vec::new(), set),
    };
    for item in alone {
        let input = read_item(&item, opener, recording);
        report.inputs.push(input);
    }
    if let [(first, format, _), ..] = parts.as_slice() {
        let (name, format) = (rotation::part_of(&first.name).0.to_owned(), *format);
        let order = rotation::order(&stamps(&parts));
        let items: Vec<Item> =
            order.iter().filter_map(|i| parts.get(*i)).map(|(item, ..)| item.clone()).collect();
        let input = read_joined(name, items, format, opener, recording);
        report.inputs.push(input);
    }
}

/// A file of a set, its format, and its first timestamp.
type PartOfSet = (Item, &'static dyn Format, Option<Timestamp>);

/// The files of a set that are of one rotating format, and the others.
fn parts(set: Vec<Item>, opener: &Opener) -> (Vec<PartOfSet>, Vec<Item>) {
    let (mut parts, mut alone): (Vec<PartOfSet>, Vec<Item>) = (Vec::new(), Vec::new());
    for item in set {
        let found = opener.lines(&item).ok().and_then(|mut lines| {
            let head = lines.peek();
            let format = detect::candidates(head).into_iter().next().filter(|format| format.rotates())?;
            Some((format, rotation::first_timestamp(head)))
        });
        let fits = |format: &dyn Format| parts.first().is_none_or(|(_, first, _)| first.id() == format.id());
        match found {
            Some((format, stamp)) if fits(format) => parts.push((item, format, stamp)),
            _ => alone.push(item),
        }
    }
    if parts.len() < 2 {
        alone.extend(parts.drain(..).map(|(item, ..)| item));
    }
    (parts, alone)
}

fn stamps(parts: &[PartOfSet]) -> Vec<(Part, Option<Timestamp>)> {
    parts.iter().map(|(item, _, stamp)| (rotation::part_of(&item.name).1, *stamp)).collect()
}

fn read_joined(
    name: String,
    items: Vec<Item>,
    format: &'static dyn Format,
    opener: &Opener,
    recording: &mut Recording,
) -> InputReport {
    let modified = items.last().and_then(|item| item.modified);
    let (joined, joined_files) = Joined::new(opener.clone(), items);
    let input = Input { name: name.clone(), modified, lines: Lines::new(Box::new(joined)) };
    let mut warnings = Vec::new();
    let outcome = match read_with(format, input, recording, &mut warnings) {
        Ok(sources) => {
            if let Ok(joined_files) = joined_files.lock() {
                for id in &sources {
                    let source = recording.source_mut(*id);
                    source.segments.clone_from(&joined_files.segments);
                    source.cut |= !joined_files.failures.is_empty();
                }
                warnings.extend(
                    joined_files.failures.iter().map(|failure| format!("part of it is missing: {failure}")),
                );
            }
            Outcome::Read { format: format.id(), sources }
        }
        Err(error) => Outcome::Refused(error),
    };
    InputReport { name, outcome, warnings, modified }
}

fn read_item(item: &Item, opener: &Opener, recording: &mut Recording) -> InputReport {
    let mut warnings = Vec::new();
    let outcome = opener
        .lines(item)
        .map_err(|cause| item.error(cause))
        .and_then(|lines| read_lines(item, lines, opener, recording, &mut warnings))
        .and_then(|read| not_empty(read, &item.name, recording));
    let outcome = match outcome {
        Ok((format, sources)) => Outcome::Read { format, sources },
        Err(error) if item.found => Outcome::NotUsed(error),
        Err(error) => Outcome::Refused(error),
    };
    InputReport { name: item.name.clone(), outcome, warnings, modified: item.modified }
}

/// Reads an opened item with the surest format; if that finds no record after all, with the next.
fn read_lines(
    item: &Item,
    mut lines: Lines,
    opener: &Opener,
    recording: &mut Recording,
    warnings: &mut Vec<String>,
) -> Result<FormatAndSources, IngestError> {
    let head = lines.peek();
    let candidates = detect::candidates(head);
    let (seen, binary) = (detect::looks_like(head), detect::is_binary(head));
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
            Ok(sources) => {
                warn_of_siblings(item, format, warnings);
                return Ok((format.id(), sources));
            }
            Err(error) => first_error = first_error.or(Some((error, format.reads_bytes()))),
        }
    }
    let unknown = || IngestError::Unknown { path: item.name.clone().into(), seen };
    // What a reader of text reports of binary content does not help.
    let fits = first_error.filter(|(_, reads_bytes)| *reads_bytes == binary);
    Err(fits.map(|(error, _)| error).unwrap_or_else(unknown))
}

/// What an input was read as, and into which sources.
type FormatAndSources = (&'static str, Vec<SourceId>);

/// Refuses an input that has lines of its format, but none from which a record or a fact of the JVM
/// was read: a log of one truncated line.
fn not_empty(
    (format, sources): FormatAndSources,
    name: &str,
    recording: &Recording,
) -> Result<FormatAndSources, IngestError> {
    let process = |source: &Source| recording.processes.get(source.process? as usize);
    let holds = |source: &Source| source.records > 0 || process(source).is_some_and(|p| !p.facts.is_empty());
    let of_it = |id: &SourceId| recording.sources.get(id.index());
    match sources.iter().filter_map(of_it).any(holds) {
        true => Ok((format, sources)),
        false => Err(IngestError::Empty { path: name.into(), format }),
    }
}

/// A file that the user named is read alone; the user is warned that there are more parts of it.
fn warn_of_siblings(item: &Item, format: &dyn Format, warnings: &mut Vec<String>) {
    let siblings = if item.found || !format.rotates() { 0 } else { open::siblings(item) };
    if siblings > 0 {
        warnings.push(format!(
            "it looks like one of {} parts of a rotated log; name them all, or the directory, to have them read as one",
            whole(siblings + 1)
        ));
    }
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
        let place = match input.lines.number() {
            0 => format!("byte {}", input.lines.bytes()),
            line => format!("line {line}"),
        };
        warnings.push(format!("truncated after {place}: {failure}"));
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

#[cfg(test)]
mod tests;
