//! An interval of a ring, and the ordinary recording that is made of it.
//!
//! It shares its rows with the ring and does not block it: the recording can be made on another
//! thread.

use std::collections::HashMap;
use std::sync::Arc;

use super::entities::Entities;
use super::locked;
use super::names::Names;
use super::segment::Segment;
use crate::vocabulary::{figure, kind, label};
use crate::{
    Count, CountRow, Process, ProcessId, Recording, SampleRow, SeriesId, Sink, SourceId, Span, SpanId,
    SpanRow, StackId, ThreadId,
};

/// Kinds of spans that record the interval in which something was watched or asleep, which goes on
/// outside of the excerpt as it did within it.
const WATCHES: [&str; 3] = [kind::RUN, kind::SCHED_WATCHED, kind::SCHED_OFF];

/// See the module. Made by [`super::Ring::excerpt`].
pub struct Excerpt {
    pub(super) segments: Vec<Arc<Segment>>,
    pub(super) entities: Entities,
    /// Records that sources had lost when it was taken.
    pub(super) lost: Vec<(u32, u64)>,
    pub(super) within: (i64, i64),
}

impl Excerpt {
    /// Its time range, nanoseconds.
    pub fn within(&self) -> (i64, i64) {
        self.within
    }

    /// The recording of the interval: all rows that overlap it. Spans that extend beyond it are
    /// truncated and labelled so, unless they only record that something was watched; counts are
    /// taken if their interval lies in it as a whole, as those of a part are not known. Sources
    /// count what is recorded and lost within. Not sealed.
    pub fn recording(&self) -> Recording {
        self.recording_of(&|_| true)
    }

    /// JVMs that are known, whether they have rows within or not.
    pub fn jvms(&self) -> impl Iterator<Item = (ProcessId, &Process)> {
        let jvms = self.entities.processes.iter().filter(|(_, process)| process.jvm);
        jvms.map(|(id, process)| (ProcessId(id), process))
    }

    /// The recording of a part: rows of the wanted processes, by their ids in the ring, and series
    /// of the machine where `None` is wanted.
    pub fn recording_of(&self, wants: &dyn Fn(Option<ProcessId>) -> bool) -> Recording {
        let mut out = Out::new(self, wants);
        let mut names = None;
        for segment in &self.segments {
            if !names.is_some_and(|names| Arc::ptr_eq(names, &segment.names)) {
                (names, out.stacks) = (Some(&segment.names), HashMap::new());
            }
            (0..segment.rows.spans.len()).for_each(|i| out.span(segment, SpanId(i as u32)));
            (0..segment.rows.counts.len()).for_each(|row| out.count(&segment.rows.count_at(row)));
            (0..segment.rows.samples.len()).for_each(|i| out.sample(segment, i));
            out.points(segment);
        }
        out.recording
    }
}

/// A recording in the making, with the new ids by those of the ring.
struct Out<'a> {
    excerpt: &'a Excerpt,
    wants: &'a dyn Fn(Option<ProcessId>) -> bool,
    recording: Recording,
    processes: HashMap<u32, ProcessId>,
    threads: HashMap<u32, ThreadId>,
    sources: HashMap<u32, SourceId>,
    series: HashMap<u32, SeriesId>,
    /// Stacks of one generation of names.
    stacks: HashMap<u32, StackId>,
    /// Only where spans have parents.
    spans: HashMap<u32, SpanId>,
}

impl<'a> Out<'a> {
    fn new(excerpt: &'a Excerpt, wants: &'a dyn Fn(Option<ProcessId>) -> bool) -> Self {
        let mut out = Self {
            excerpt,
            wants,
            recording: Recording::new(),
            processes: HashMap::new(),
            threads: HashMap::new(),
            sources: HashMap::new(),
            series: HashMap::new(),
            stacks: HashMap::new(),
            spans: HashMap::new(),
        };
        let before = excerpt.segments.first().map_or(&[][..], |first| &first.lost);
        let of = |losses: &[(u32, u64)], id: u32| {
            losses.iter().find(|(source, _)| *source == id).map_or(0, |(_, lost)| *lost)
        };
        let is_wanted = |source: &crate::Source| source.process.is_none_or(|id| wants(Some(ProcessId(id))));
        for (id, source) in excerpt.entities.sources.iter().filter(|(_, source)| is_wanted(source)) {
            let mut source = source.clone();
            source.process = source.process.map(|process| out.process(ProcessId(process)).0);
            // A source without rows of its own (a JVM's start) covers nothing.
            source.covers_ns = source.process.is_none().then_some(excerpt.within);
            source.records = 0;
            source.lost = of(&excerpt.lost, id).saturating_sub(of(before, id));
            out.sources.insert(id, out.recording.add_source(source));
        }
        out
    }

    fn process(&mut self, id: ProcessId) -> ProcessId {
        let (entities, recording) = (&self.excerpt.entities, &mut self.recording);
        let row = || entities.process(id).cloned().unwrap_or_default();
        *self.processes.entry(id.0).or_insert_with(|| recording.add_process(row()))
    }

    fn thread(&mut self, id: ThreadId) -> Option<ThreadId> {
        if let Some(known) = self.threads.get(&id.0) {
            return Some(*known);
        }
        let named = self.excerpt.entities.threads.get(id.0)?;
        let process = self.process(named.process);
        let thread = self.recording.thread(process, named.tid, &named.name, named.role);
        self.threads.insert(id.0, thread);
        Some(thread)
    }

    fn source(&mut self, id: SourceId) -> SourceId {
        let recording = &mut self.recording;
        let id = *self.sources.entry(id.0).or_insert_with(|| recording.add_source(crate::Source::default()));
        recording.source_mut(id).records += 1;
        id
    }

    fn stack(&mut self, segment: &Segment, id: StackId) -> Option<StackId> {
        if let Some(known) = self.stacks.get(&id.0) {
            return Some(*known);
        }
        let names = locked(&segment.names);
        copy_stack(&names, id, &mut self.recording, &mut self.stacks)
    }

    fn span(&mut self, segment: &Segment, id: SpanId) {
        let (from, to) = self.excerpt.within;
        let row = segment.rows.span_at(id);
        let (t0, t1) = (row.t0_ns(), row.t1_ns());
        if t1 < from || t0 >= to || !(self.wants)(Some(row.process())) {
            return;
        }
        let ends = (t0.max(from), t1.min(to));
        let whole = ends == (t0, t1);
        let truncation = (!whole && !WATCHES.contains(&row.kind())).then(|| truncation(t1 - t0));
        let mut figures: Vec<(&str, f64)> = row.figures().collect();
        if !whole && row.kind() == kind::SCHED_OFF {
            // A thread is on the run queue at the end of a wait.
            let on_queue = |ns: f64| (ns - (t1 - ends.1) as f64).clamp(0.0, (ends.1 - ends.0) as f64);
            let of = |wanted: &str| figures.iter().find(|(key, _)| *key == wanted).map_or(0.0, |(_, ns)| *ns);
            // It is throttled at the beginning of that, before it is on the queue for good.
            let last = of(figure::RUNQ_NS) - of(figure::THROTTLED_NS);
            for (key, ns) in &mut figures {
                match *key {
                    figure::RUNQ_NS => *ns = on_queue(*ns),
                    figure::THROTTLED_NS => *ns = on_queue(last + *ns) - on_queue(last),
                    _ => {}
                }
            }
        }
        let mut labels: Vec<(&str, &str)> = row.labels().collect();
        labels.extend(truncation.as_deref().map(|text| (label::CUT, text)));
        self.write(segment, &row, ends, &figures, &labels);
    }

    fn write(
        &mut self,
        segment: &Segment,
        row: &Span<'_>,
        (t0_ns, t1_ns): (i64, i64),
        figures: &[(&str, f64)],
        labels: &[(&str, &str)],
    ) {
        let process = self.process(row.process());
        let thread = row.thread().and_then(|thread| self.thread(thread));
        let stack = row.stack().and_then(|stack| self.stack(segment, stack));
        let source = self.source(row.source());
        let parent = row.parent().and_then(|parent| self.spans.get(&parent.0)).copied();
        let id = self.recording.span(&SpanRow {
            kind: row.kind(),
            name: row.name(),
            t0_ns,
            t1_ns,
            process,
            thread,
            stack,
            source,
            line: row.line(),
            key: row.key(),
            parent,
            figures,
            labels,
        });
        if segment.rows.spans.parent.bytes() > 0 {
            self.spans.insert(segment.first_span.wrapping_add(row.id.0), id);
        }
    }

    fn count(&mut self, row: &Count<'_>) {
        let (from, to) = self.excerpt.within;
        if row.t0_ns() < from || row.t1_ns() > to || !(self.wants)(Some(row.process())) {
            return;
        }
        let process = self.process(row.process());
        let thread = row.thread().and_then(|thread| self.thread(thread));
        let source = self.source(row.source());
        let figures: Vec<(&str, f64)> = row.figures().collect();
        self.recording.count(&CountRow {
            thread,
            key: row.key(),
            total_ns: row.total_ns(),
            figures: &figures,
            ..CountRow::new(row.kind(), row.name(), (row.t0_ns(), row.t1_ns()), process, source, row.count())
        });
    }

    fn sample(&mut self, segment: &Segment, i: usize) {
        let Some(row) = segment.rows.samples.get(i) else { return };
        let (from, to) = self.excerpt.within;
        if !(from..to).contains(&row.t_ns) || !(self.wants)(Some(row.process)) {
            return;
        }
        let process = self.process(row.process);
        let thread = row.thread.and_then(|thread| self.thread(thread));
        let stack = row.stack.and_then(|stack| self.stack(segment, stack));
        let source = self.source(row.source);
        let (kind, t_ns, weight) = (segment.rows.strings.get(row.kind), row.t_ns, row.weight);
        self.recording.sample(&SampleRow { kind, t_ns, process, thread, stack, weight, source });
    }

    /// Kinds of series whose points are values of a single interval.
    fn points(&mut self, segment: &Segment) {
        let (from, to) = self.excerpt.within;
        for point in segment.points.iter().filter(|p| p.t_ns >= from && p.t_ns.saturating_add(p.dt_ns) <= to)
        {
            let Some(info) =
                self.excerpt.entities.series(point.series).filter(|info| (self.wants)(info.process))
            else {
                continue;
            };
            let source = self.source(info.source);
            let id = match self.series.get(&point.series.0) {
                Some(id) => *id,
                None => {
                    let process = info.process.map(|process| self.process(process));
                    let id = self.recording.add_series(crate::SeriesInfo { process, source, ..info.clone() });
                    self.series.insert(point.series.0, id);
                    id
                }
            };
            self.recording.point(id, point.t_ns, point.dt_ns, point.value);
        }
    }
}

/// Copies a stack with all of its callers.
fn copy_stack(
    names: &Names,
    id: StackId,
    to: &mut Recording,
    known: &mut HashMap<u32, StackId>,
) -> Option<StackId> {
    let (from, first) = names.inner();
    let mut path = Vec::new();
    let mut at = id.0;
    let mut caller = None;
    loop {
        if let Some(copied) = known.get(&at) {
            caller = Some(*copied);
            break;
        }
        let node = from.stacks.get(at.checked_sub(first)? as usize)?;
        path.push((at, node.frame));
        match node.parent {
            Some(parent) => at = first + parent.0,
            None => break,
        }
    }
    for (id, frame) in path.into_iter().rev() {
        let frame = from.frames.get(frame.index())?;
        let text = |id| from.strings.get(id);
        let frame = to.frame(text(frame.name), text(frame.module), frame.frame_type, frame.line);
        let copied = to.stack(caller, frame);
        known.insert(id, copied);
        caller = Some(copied);
    }
    caller
}

/// The label of a span that is truncated.
fn truncation(lasted_ns: i64) -> String {
    format!("goes beyond the recording: {:.3} s in all", lasted_ns as f64 / 1e9)
}
