//! The chosen samples, and the time in which they could have been taken.

use fathom_recording::{ClockBasis, ProcessId, Recording, SourceId, SpanId, StackId, ThreadId};

use super::{Selection, waits};
use crate::Window;
use crate::intervals::Intervals;

/// One sample, or one span with a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// When; for a span its start within the window.
    pub t_ns: i64,
    /// Of which process.
    pub process: ProcessId,
    /// On which thread.
    pub thread: Option<ThreadId>,
    /// The stack.
    pub stack: Option<StackId>,
    /// What it stands for, in the unit of its kind; never negative.
    pub weight: i64,
}

/// The chosen rows.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// In the order of the recording.
    pub rows: Vec<Row>,
    /// The intervals that they are from: the windows as far as a source of such rows covers
    /// them and the processes were there.
    pub covered: Vec<Window>,
    /// Rows left out because their weight is negative: no source may say so.
    pub negative: u64,
}

impl Rows {
    /// The rows that a selection chooses.
    pub fn of(recording: &Recording, selection: &Selection) -> Self {
        let mut rows = Self::default();
        let mut sources = vec![false; recording.sources.len()];
        let is_waits = selection.kind == waits::WAITS;
        let kind = recording.strings.find(if is_waits { waits::SHORT } else { &selection.kind });
        let (thread, stack) = (selection.threads(recording), selection.stacks(recording));
        let process = selection.processes(recording);
        let from_here = |source: SourceId| {
            source.0 >= selection.sources_from && selection.sources_to.is_none_or(|to| source.0 < to)
        };
        let windows = Intervals::of_windows(&selection.windows).windows();
        let whole = [Window { from_ns: i64::MIN, to_ns: i64::MAX }];
        let windows = if selection.windows.is_empty() { &whole[..] } else { &windows };
        let is_kind = |id| Some(id) == kind;
        for sample in recording.samples.iter().filter(|s| is_kind(s.kind) && from_here(s.source)) {
            if let Some(seen) = sources.get_mut(sample.source.index()) {
                *seen = true;
            }
            let inside = windows.iter().any(|w| w.from_ns <= sample.t_ns && sample.t_ns < w.to_ns);
            if !inside || !process(sample.process) || !thread(sample.thread) || !stack(sample.stack) {
                continue;
            }
            rows.take(sample.t_ns, sample.process, sample.thread, sample.stack, sample.weight);
        }
        let no_samples = !sources.contains(&true);
        let kinds = match is_waits {
            true => waits::span_kinds(recording),
            false => &[selection.kind.as_str()][..],
        };
        for i in (0..recording.spans.len()).filter(|_| is_waits || no_samples) {
            let span = recording.span_at(SpanId(i as u32));
            if span.stack().is_none() || !kinds.contains(&span.kind()) || !from_here(span.source()) {
                continue;
            }
            let (t0_ns, t1_ns) = if is_waits { waits::of_span(&span) } else { (span.t0_ns(), span.t1_ns()) };
            if let Some(seen) = sources.get_mut(span.source().index()) {
                *seen = true;
            }
            if !process(span.process()) || !thread(span.thread()) || !stack(span.stack()) {
                continue;
            }
            for window in windows {
                let from = t0_ns.max(window.from_ns);
                let weight = t1_ns.min(window.to_ns).saturating_sub(from);
                if weight > 0 {
                    rows.take(from, span.process(), span.thread(), span.stack(), weight);
                }
            }
        }
        rows.covered = rows.covered(recording, &sources, windows);
        rows
    }

    fn take(
        &mut self,
        t_ns: i64,
        process: ProcessId,
        thread: Option<ThreadId>,
        stack: Option<StackId>,
        weight: i64,
    ) {
        if weight < 0 {
            self.negative += 1;
            return;
        }
        self.rows.push(Row { t_ns, process, thread, stack, weight });
    }

    /// The windows as far as the sources that have such rows cover them; where no source says what
    /// it covers, from the first row to the last.
    fn covered(&self, recording: &Recording, has_rows: &[bool], windows: &[Window]) -> Vec<Window> {
        let sources = recording.sources.iter().zip(has_rows).filter(|(_, has_rows)| **has_rows);
        let mut covers: Vec<Window> = sources
            .filter_map(|(source, _)| source.covers_ns)
            .filter(|(from, to)| from < to)
            .map(|(from_ns, to_ns)| Window { from_ns, to_ns })
            .collect();
        if covers.is_empty() {
            let from_ns = self.rows.iter().map(|r| r.t_ns).min();
            let to_ns = self.rows.iter().map(|r| r.t_ns.saturating_add(1)).max();
            covers.extend(from_ns.zip(to_ns).map(|(from_ns, to_ns)| Window { from_ns, to_ns }));
        }
        let began = self.began_ns(recording);
        let lived = [Window { from_ns: began.unwrap_or(i64::MIN), to_ns: i64::MAX }];
        let covers = Intervals::of_windows(&covers).and(&Intervals::of_windows(&lived));
        covers.and(&Intervals::of_windows(windows)).windows()
    }

    /// When the first of the chosen processes began, where that is known of each: a recorder that
    /// waits for a JVM covers time in which there was nothing to see, and which is part of no rate.
    /// Never later than the first row.
    fn began_ns(&self, recording: &Recording) -> Option<i64> {
        let mut starts = vec![None; recording.processes.len()];
        // What counts from the start of a JVM says when that was.
        for source in &recording.sources {
            let started = source.clock == ClockBasis::JvmUptime && source.placement.is_known();
            let process = source.process.filter(|_| started);
            if let Some(start) = process.and_then(|p| starts.get_mut(p as usize)) {
                *start = Some(source.placement.offset_ns);
            }
        }
        let mut began: Option<i64> = None;
        for row in &self.rows {
            let start = (*starts.get(row.process.index())?)?.min(row.t_ns);
            began = Some(began.map_or(start, |known| known.min(start)));
        }
        began
    }

    /// Time covered, nanoseconds.
    pub fn covered_ns(&self) -> i64 {
        self.covered.iter().fold(0, |sum, w| sum.saturating_add(w.length_ns()))
    }

    /// Sum of the weights.
    pub fn weight(&self) -> i64 {
        self.rows.iter().fold(0, |sum, r| sum.saturating_add(r.weight))
    }
}
