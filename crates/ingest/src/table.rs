//! Tables of throughput or latency: what benchmarks and monitoring scripts print.
//!
//! CSV, TSV, semicolons, bars or blanks between the cells; with a header or without; instances as
//! columns or as rows (time, instance, value); timestamps as seconds, milli-, micro- or nanoseconds
//! since a start or the epoch, or as dates. [`shape`] and [`column_names`] recognise the columns,
//! [`ticks`] turns counts into rates. Lines that are not rows (output of the JVM above the table, a
//! broken row) are counted as skipped.
//!
//! Limits: a cell with a line break in quotes is not read as one; dates without a zone are read as
//! UTC; a log with free text on every line is not a table.

mod column_names;
mod rows;
mod shape;
mod ticks;
mod timestamps;

use fathom_recording::quantity::whole;
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use fathom_recording::clock::seconds;
use fathom_recording::{Check, ClockBasis, SeriesInfo, Sink, Source, SourceId};

use crate::{Confidence, Format, IngestError, Input, Tally};
use column_names::{Cells, Measure};
use shape::{MAX_INSTANCES, Shape};
use ticks::{Convention, GoesBack, Out, Ticks};

/// The format.
pub(crate) struct Table;

impl Format for Table {
    fn id(&self) -> &'static str {
        "table"
    }

    fn about(&self) -> &'static str {
        "throughput or latency over time: CSV, TSV or columns, with or without header, any number of instances"
    }

    fn sniff(&self, head: &[u8]) -> Confidence {
        Shape::of(head).map_or(Confidence(0), |shape| shape.confidence)
    }

    fn read(&self, input: &mut Input, sink: &mut dyn Sink) -> Result<(), IngestError> {
        let empty = || IngestError::Empty { path: input.name.clone().into(), format: "table" };
        let shape = Shape::of(input.lines.peek()).ok_or_else(empty)?;
        let mut reader = Reader::new(&shape, &input.name);
        while let Some(line) = input.lines.next() {
            reader.line(line.number, line.bytes, sink);
        }
        let taken = reader.finish(input.lines.bytes(), input.lines.number(), sink);
        if taken == 0 {
            return Err(IngestError::Empty { path: input.name.clone().into(), format: "table" });
        }
        Ok(())
    }
}

/// Reads rows into series; a table that starts again (a second run appended to the file) becomes a
/// second source.
struct Reader<'a> {
    shape: &'a Shape,
    name: &'a str,
    convention: Convention,
    runs: u32,
    run: Option<Run>,
    /// Skipped lines before the first row.
    before: Tally,
    taken: u64,
}

/// One run of the table.
struct Run {
    source: SourceId,
    tally: Tally,
    /// By instance and metric.
    ticks: HashMap<(String, String), Ticks>,
    went_back: u64,
    covers_ns: (i64, i64),
    last_line: u64,
}

impl<'a> Reader<'a> {
    fn new(shape: &'a Shape, name: &'a str) -> Self {
        let from_zero = shape.first_ns >= 0 && shape.first_ns < shape.tick_ns / 2;
        let convention =
            if from_zero && !shape.stamps.is_wall() { Convention::After } else { Convention::Before };
        Self { shape, name, convention, runs: 0, run: None, before: Tally::default(), taken: 0 }
    }

    fn line(&mut self, number: u64, bytes: &[u8], sink: &mut dyn Sink) {
        let line = rows::text(bytes);
        if line.is_empty() || (self.run.is_some() && line.starts_with('#')) {
            return;
        }
        let cells = self.shape.delimiter.split(&line);
        if self.shape.is_header(&cells) || line.starts_with('#') {
            return;
        }
        if !self.row(number, &cells, sink) {
            let tally = self.run.as_mut().map_or(&mut self.before, |run| &mut run.tally);
            tally.unknown(number, bytes);
        }
    }

    /// Takes a row; false when it is not one.
    fn row(&mut self, number: u64, cells: &[Cow<'_, str>], sink: &mut dyn Sink) -> bool {
        let shape = self.shape;
        let Some(stamp_ns) = shape.stamp(cells) else { return false };
        let value = |index: usize| shape.delimiter.number(cells.get(index)?);
        let values: Vec<_> = shape.values.iter().map(|column| value(column.index)).collect();
        if values.iter().all(Option::is_none) {
            return false;
        }
        let cell = |index: Option<usize>| index.and_then(|i| cells.get(i)).map_or("", |c| c.as_ref());
        let key = (cell(shape.instance).to_owned(), cell(shape.metric).to_owned());
        if self.starts_over(stamp_ns, &key) {
            self.finish_run(number - 1, sink);
        }
        let (name, convention) = (self.name, self.convention);
        let run = match &mut self.run {
            Some(run) => run,
            none => {
                self.runs += 1;
                none.insert(Run::begin(shape, name, self.runs, stamp_ns, sink))
            }
        };
        if run.ticks.len() >= MAX_INSTANCES && !run.ticks.contains_key(&key) {
            return false;
        }
        let source = run.source;
        let ticks = run.ticks.entry(key).or_insert_with_key(|(instance, metric)| {
            let outs = outs(shape, name, source, instance, metric, sink);
            Ticks::new(convention, shape.tick_ns, outs)
        });
        match ticks.row(stamp_ns, &values, sink) {
            Ok(()) => {
                run.tally.records += 1;
                run.last_line = number;
                let (from, to) = &mut run.covers_ns;
                (*from, *to) = ((*from).min(stamp_ns), (*to).max(stamp_ns));
                self.taken += 1;
                true
            }
            Err(GoesBack) => {
                run.went_back += 1;
                false
            }
        }
    }

    /// Whether a row begins a new run: a table that counts from a start is back at its beginning,
    /// for an instance that had been further already.
    fn starts_over(&self, stamp_ns: i64, key: &(String, String)) -> bool {
        let Some(run) = &self.run else { return false };
        let begin = self.shape.first_ns.saturating_add(self.shape.tick_ns / 2);
        let far = run.covers_ns.1 > self.shape.first_ns.saturating_add(self.shape.tick_ns.saturating_mul(2));
        !self.shape.stamps.is_wall() && stamp_ns <= begin && far && {
            run.ticks.get(key).is_some_and(|ticks| ticks.is_beyond(stamp_ns))
        }
    }

    fn finish_run(&mut self, last_line: u64, sink: &mut dyn Sink) {
        let Some(mut run) = self.run.take() else { return };
        for ticks in run.ticks.values_mut() {
            ticks.finish(sink);
        }
        let tick_ns = self.shape.tick_ns;
        let covers = match self.convention {
            Convention::Before => (run.covers_ns.0.saturating_sub(tick_ns), run.covers_ns.1),
            Convention::After => (run.covers_ns.0, run.covers_ns.1.saturating_add(tick_ns)),
        };
        let source = sink.source_mut(run.source);
        source.covers_ns = Some(covers);
        source.lines = last_line;
        source.checks = self.checks(&run);
        std::mem::take(&mut self.before).add_to(source);
        run.tally.add_to(source);
    }

    fn checks(&self, run: &Run) -> Vec<Check> {
        let guesses = &self.shape.guesses;
        let tick = seconds(self.shape.tick_ns);
        let covered = match self.convention {
            Convention::Before => "a row covers the time up to its timestamp",
            Convention::After => "a row covers the time from its timestamp on",
        };
        let counts =
            self.shape.values.iter().any(|v| matches!(v.measure.cells, Cells::Count | Cells::Counter));
        let divided = if counts { ", and its counts are divided by that time" } else { "" };
        let covered = format!("{covered}{divided}");
        vec![
            Check {
                claim: "the table names its columns".to_owned(),
                holds: guesses.is_empty(),
                detail: if guesses.is_empty() {
                    format!("stamps are {}, one every {tick} s; {covered}", self.shape.stamps.words())
                } else {
                    format!("assumed: {}; one row every {tick} s; {covered}", guesses.join("; "))
                },
            },
            Check {
                claim: "timestamps never go back".to_owned(),
                holds: run.went_back == 0,
                detail: format!(
                    "{} rows of {} go back and were skipped",
                    whole(run.went_back),
                    whole(run.tally.records)
                ),
            },
        ]
    }

    fn finish(mut self, bytes: u64, lines: u64, sink: &mut dyn Sink) -> u64 {
        let last = self.run.as_ref().map(|run| run.source);
        self.finish_run(lines, sink);
        if let Some(last) = last {
            sink.source_mut(last).bytes = bytes;
        }
        self.taken
    }
}

impl Run {
    fn begin(shape: &Shape, name: &str, nth: u32, stamp_ns: i64, sink: &mut dyn Sink) -> Self {
        let name = if nth == 1 { name.to_owned() } else { format!("{name} #{nth}") };
        let clock = if shape.stamps.is_wall() { ClockBasis::Epoch } else { ClockBasis::SinceStart };
        let source = sink.add_source(Source { name, format: "table".to_owned(), clock, ..Source::default() });
        Self {
            source,
            tally: Tally::default(),
            ticks: HashMap::new(),
            went_back: 0,
            covers_ns: (stamp_ns, stamp_ns),
            last_line: 0,
        }
    }
}

/// The series of one instance.
fn outs(
    shape: &Shape,
    name: &str,
    source: SourceId,
    instance: &str,
    metric: &str,
    sink: &mut dyn Sink,
) -> Vec<Out> {
    // Several files of one column each are distinguished by their names.
    let stem = Path::new(name).file_stem().map(|s| s.to_string_lossy()).unwrap_or_default();
    let mut out = |measure: &Measure| {
        let measure = if metric.is_empty() { measure.clone() } else { column_names::measure(metric) };
        let parts = [instance, &measure.instance].into_iter().filter(|part| !part.is_empty());
        let instance = parts.collect::<Vec<_>>().join(" ");
        let info = SeriesInfo {
            name: measure.name.clone(),
            unit: measure.unit.clone(),
            instance: if instance.is_empty() { stem.to_string() } else { instance },
            kind: measure.kind,
            process: None,
            source,
        };
        Out::new(sink.add_series(info), Rc::new(measure))
    };
    shape.values.iter().map(|column| out(&column.measure)).collect()
}

#[cfg(test)]
mod tests;
