//! A recording in memory: what readers fill, what rules and views read.
//!
//! Its life: readers push rows timestamped on their own clocks → [`Recording::place`] moves each
//! source onto the one clock → [`Recording::seal`] sorts the index → it is read. On disk it is
//! Parquet; see [`crate::disk`].

mod by_kind;
mod count;
mod span;
mod stack_frame;

use rustc_hash::FxHashMap;

use crate::clock::ClockBasis;
use crate::counts::{CountRow, Counts};
use crate::process_names::ProcessNames;
use crate::samples::{Frame, SampleRow, Samples, StackNode};
use crate::series::{Series, SeriesInfo};
use crate::sources::{Process, Source, Thread};
use crate::spans::{NONE, SpanRow, Spans};
use crate::stack_index::StackIndex;
use crate::strings::Strings;
use crate::vocabulary::sample;
use crate::{FrameId, ProcessId, SeriesId, SourceId, SpanId, StackId, StrId, ThreadId};
use by_kind::ByKind;
pub use count::Count;
pub use span::Span;
pub use stack_frame::StackFrame;

/// How many spans back to look for one of the same kind, which probably has the same figures: a
/// pause, its safepoint and what is concurrent with them alternate.
const MODELS: usize = 4;

/// The node that is added next after this one: the first whose caller it can be.
fn behind(node: StackId) -> Option<StackId> {
    node.0.checked_add(1).map(StackId)
}

/// Where readers and collectors write. [`Recording`] keeps rows in memory; the disk writer spools
/// them.
///
/// Times passed in are on the source's own clock.
pub trait Sink {
    /// Adds a source; its counters are updated later through [`Sink::source_mut`].
    fn add_source(&mut self, source: Source) -> SourceId;
    /// A source that was added.
    fn source_mut(&mut self, id: SourceId) -> &mut Source;
    /// Adds a process.
    fn add_process(&mut self, process: Process) -> ProcessId;
    /// A process that was added.
    fn process_mut(&mut self, id: ProcessId) -> &mut Process;
    /// The id of a thread, which is added if it is new. A thread is identified by process, tid and
    /// name.
    fn thread(&mut self, process: ProcessId, tid: Option<i64>, name: &str, role: crate::Role) -> ThreadId;
    /// Renames a thread: one that is seen before it has set its own name has the name of its
    /// parent.
    fn rename_thread(&mut self, id: ThreadId, name: &str, role: crate::Role);
    /// Adds a span. A `t1_ns` before `t0_ns` is raised to it.
    fn span(&mut self, row: &SpanRow<'_>) -> SpanId;
    /// Adds a count. A `t1_ns` before `t0_ns` is raised to it.
    fn count(&mut self, row: &CountRow<'_>);
    /// Adds a series without points.
    fn add_series(&mut self, info: SeriesInfo) -> SeriesId;
    /// Adds a point to a series: `value` over `[t_ns, t_ns + dt_ns)`.
    fn point(&mut self, series: SeriesId, t_ns: i64, dt_ns: i64, value: f64);
    /// The id of a frame, which is added if it is new.
    fn frame(&mut self, name: &str, module: &str, frame_type: crate::FrameType, line: i32) -> FrameId;
    /// The id of a stack node, which is added if it is new.
    fn stack(&mut self, parent: Option<StackId>, frame: FrameId) -> StackId;
    /// Like [`Sink::stack`] for many frames, each called by the one before it: adds their nodes to
    /// `nodes`.
    fn path(&mut self, mut parent: Option<StackId>, frames: &[FrameId], nodes: &mut Vec<StackId>) {
        for frame in frames {
            let node = self.stack(parent, *frame);
            nodes.push(node);
            parent = Some(node);
        }
    }
    /// Adds a sample.
    fn sample(&mut self, row: &SampleRow<'_>);
}

/// A recording in memory.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The dictionary of all strings below.
    pub strings: Strings,
    /// Spans.
    pub spans: Spans,
    /// Counts.
    pub counts: Counts,
    /// Series with their points.
    pub series: Vec<Series>,
    /// Samples.
    pub samples: Samples,
    /// Frames.
    pub frames: Vec<Frame>,
    /// Stacks, parents before children.
    pub stacks: Vec<StackNode>,
    /// Threads.
    pub threads: Vec<Thread>,
    /// Processes.
    pub processes: Vec<Process>,
    /// Sources.
    pub sources: Vec<Source>,
    /// Whether the recording is truncated: its writer ended before it was finished.
    pub cut: bool,
    /// Its identity, for comparisons with other recordings.
    pub identity: crate::Identity,
    /// The recordings that were read into it, where others may have been.
    pub(crate) parts: Vec<crate::RecordingPart>,
    thread_ids: FxHashMap<Thread, ThreadId>,
    frame_ids: FxHashMap<Frame, FrameId>,
    stack_ids: StackIndex,
    /// Spans and counts by kind; made by [`Recording::seal`].
    spans_by_kind: ByKind,
    counts_by_kind: ByKind,
    /// Display names of processes; made by [`Recording::seal`].
    pub(crate) names: ProcessNames,
}

impl Sink for Recording {
    fn add_source(&mut self, source: Source) -> SourceId {
        self.sources.push(source);
        SourceId(self.sources.len() as u32 - 1)
    }

    fn source_mut(&mut self, id: SourceId) -> &mut Source {
        &mut self.sources[id.index()]
    }

    fn add_process(&mut self, process: Process) -> ProcessId {
        self.processes.push(process);
        ProcessId(self.processes.len() as u32 - 1)
    }

    fn process_mut(&mut self, id: ProcessId) -> &mut Process {
        &mut self.processes[id.index()]
    }

    fn thread(&mut self, process: ProcessId, tid: Option<i64>, name: &str, role: crate::Role) -> ThreadId {
        let thread = Thread { process, tid, name: self.strings.intern(name), role };
        match self.thread_ids.get(&thread) {
            Some(id) => *id,
            None => self.add_thread(thread),
        }
    }

    fn rename_thread(&mut self, id: ThreadId, name: &str, role: crate::Role) {
        let name = self.strings.intern(name);
        let Some(thread) = self.threads.get_mut(id.index()) else { return };
        if self.thread_ids.get(thread) == Some(&id) {
            self.thread_ids.remove(thread);
        }
        (thread.name, thread.role) = (name, role);
        self.thread_ids.entry(thread.clone()).or_insert(id);
    }

    fn span(&mut self, row: &SpanRow<'_>) -> SpanId {
        let spans = &mut self.spans;
        // Checking whether a name is that of an earlier row is cheaper than a look-up.
        let like = spans.kind.iter().rev().take(MODELS).position(|kind| self.strings.is(*kind, row.kind));
        let like = like.map(|back| spans.len() - 1 - back);
        let (kind, name) = like.map(|i| (spans.kind[i], spans.name[i])).unzip();
        spans.kind.push(kind.unwrap_or_else(|| self.strings.intern(row.kind)));
        let name = name.filter(|name| self.strings.is(*name, row.name));
        spans.name.push(name.unwrap_or_else(|| self.strings.intern(row.name)));
        spans.t0_ns.push(row.t0_ns);
        spans.t1_ns.push(row.t1_ns.max(row.t0_ns));
        spans.origins.push((row.process, row.source));
        let i = spans.len() - 1;
        spans.thread.put(i, row.thread.map_or(NONE, |t| t.0));
        spans.stack.put(i, row.stack.map_or(NONE, |s| s.0));
        spans.parent.put(i, row.parent.map_or(NONE, |p| p.0));
        spans.line.push(row.line);
        spans.push_key(row.key);
        spans.figures.push_texts(row.figures, like, &mut self.strings);
        spans.labels.push_texts(row.labels, like, &mut self.strings);
        SpanId(i as u32)
    }

    fn count(&mut self, row: &CountRow<'_>) {
        self.counts.push(row, &mut self.strings);
    }

    fn add_series(&mut self, info: SeriesInfo) -> SeriesId {
        self.series.push(Series { info, t_ns: Vec::new(), dt_ns: Vec::new(), value: Vec::new() });
        SeriesId(self.series.len() as u32 - 1)
    }

    fn point(&mut self, series: SeriesId, t_ns: i64, dt_ns: i64, value: f64) {
        let series = &mut self.series[series.index()];
        series.t_ns.push(t_ns);
        series.dt_ns.push(dt_ns.max(0));
        series.value.push(value);
    }

    fn frame(&mut self, name: &str, module: &str, frame_type: crate::FrameType, line: i32) -> FrameId {
        let frame =
            Frame { frame_type, name: self.strings.intern(name), module: self.strings.intern(module), line };
        match self.frame_ids.get(&frame) {
            Some(id) => *id,
            None => self.add_frame(frame),
        }
    }

    fn stack(&mut self, parent: Option<StackId>, frame: FrameId) -> StackId {
        let node = StackNode { parent, frame };
        self.known_stack(&node).unwrap_or_else(|| self.add_stack(node))
    }

    fn path(&mut self, mut parent: Option<StackId>, frames: &[FrameId], nodes: &mut Vec<StackId>) {
        let mut frames = frames.iter();
        for frame in frames.by_ref() {
            let node = StackNode { parent, frame: *frame };
            let known = self.known_stack(&node);
            let id = known.unwrap_or_else(|| self.add_stack(node));
            nodes.push(id);
            parent = Some(id);
            if known.is_none() {
                break;
            }
        }
        // What is called from a new node is new, too, and right behind its caller.
        let next = self.stacks.len() as u32;
        let ids = (next..).zip(frames.as_slice());
        self.stacks.extend(
            ids.clone().map(|(id, frame)| StackNode { parent: Some(StackId(id - 1)), frame: *frame }),
        );
        nodes.extend(ids.map(|(id, _)| StackId(id)));
    }

    fn sample(&mut self, row: &SampleRow<'_>) {
        let samples = &mut self.samples;
        let kind = samples.origins.last().map(|(kind, ..)| kind);
        let kind = kind.filter(|kind| self.strings.is(*kind, row.kind));
        let kind = kind.unwrap_or_else(|| self.strings.intern(row.kind));
        samples.origins.push((kind, row.process, row.source));
        samples.t_ns.push(row.t_ns);
        samples.thread.push(row.thread.map_or(NONE, |t| t.0));
        samples.stack.push(row.stack.map_or(NONE, |s| s.0));
        samples.weight.push(row.weight as u64);
    }
}

impl Recording {
    /// An empty recording.
    pub fn new() -> Self {
        Self::default()
    }

    /// Memory of spans, counts and samples, frames and stacks and all strings, bytes, as far as it
    /// grows with them.
    pub(crate) fn bytes(&self) -> usize {
        // A row of a dictionary is in its list and in the index by which it is found, a third of
        // which is free.
        let rows = 3 * (self.frames.len() * size_of::<Frame>() + self.stacks.len() * size_of::<StackNode>());
        self.strings.bytes() + self.spans.bytes() + self.counts.bytes() + self.samples.bytes() + rows
    }

    /// Releases reserved memory.
    pub(crate) fn shrink(&mut self) {
        self.strings.shrink();
        self.spans.shrink();
        self.counts.shrink();
        self.samples.shrink();
    }

    /// Adds a thread as a row of its own, even if an equal one exists (merging processes leaves
    /// such).
    pub(crate) fn add_thread(&mut self, thread: Thread) -> ThreadId {
        let id = ThreadId(self.threads.len() as u32);
        self.thread_ids.entry(thread.clone()).or_insert(id);
        self.threads.push(thread);
        id
    }

    /// Adds a frame as a row of its own.
    pub(crate) fn add_frame(&mut self, frame: Frame) -> FrameId {
        let id = FrameId(self.frames.len() as u32);
        self.frame_ids.entry(frame).or_insert(id);
        self.frames.push(frame);
        id
    }

    /// The first stack node that is equal to this one.
    #[inline]
    fn known_stack(&self, node: &StackNode) -> Option<StackId> {
        let next = node.parent.and_then(behind);
        let next = next.filter(|next| self.stacks.get(next.index()) == Some(node));
        next.or_else(|| self.stack_ids.get(node))
    }

    /// Adds a stack node as a row of its own.
    #[inline]
    pub(crate) fn add_stack(&mut self, node: StackNode) -> StackId {
        let id = StackId(self.stacks.len() as u32);
        // Most nodes of a stack are added right after their callers, where they are found without
        // an index.
        if node.parent.and_then(behind) != Some(id) {
            self.stack_ids.add(&node, id);
        }
        self.stacks.push(node);
        id
    }

    /// Sorts the index by which spans and counts are found, and gives JVMs of one main class
    /// distinct names. Call it once, after the last row and the last placement.
    pub fn seal(&mut self) {
        self.names = ProcessNames::of(&self.processes, &self.sources);
        self.spans_by_kind = ByKind::of(&self.spans.kind, &self.spans.t0_ns);
        self.counts_by_kind = ByKind::of(&self.counts.kind, &self.counts.t0_ns);
        for series in &mut self.series {
            if !series.t_ns.is_sorted() {
                let mut order: Vec<usize> = (0..series.t_ns.len()).collect();
                order.sort_by_key(|i| series.t_ns[*i]);
                series.t_ns = order.iter().map(|i| series.t_ns[*i]).collect();
                series.dt_ns = order.iter().map(|i| series.dt_ns[*i]).collect();
                series.value = order.iter().map(|i| series.value[*i]).collect();
            }
        }
    }

    /// Spans of a kind in order of their start. Empty before [`Recording::seal`].
    pub fn spans_of(&self, kind: &str) -> impl DoubleEndedIterator<Item = Span<'_>> + ExactSizeIterator {
        let rows = self.spans_by_kind.rows(self.strings.find(kind));
        rows.iter().map(|row| Span { recording: self, id: SpanId(*row) })
    }

    /// Counts of a kind in order of their start. Empty before [`Recording::seal`].
    pub fn counts_of(&self, kind: &str) -> impl DoubleEndedIterator<Item = Count<'_>> + ExactSizeIterator {
        let rows = self.counts_by_kind.rows(self.strings.find(kind));
        rows.iter().map(|row| Count { recording: self, row: *row as usize })
    }

    /// The kinds of spans that occur, with their counts, sorted by name.
    pub fn kinds(&self) -> Vec<(&str, usize)> {
        self.spans_by_kind.kinds(&self.strings)
    }

    /// The kinds of counts that occur, with the number of their rows, sorted by name.
    pub fn count_kinds(&self) -> Vec<(&str, usize)> {
        self.counts_by_kind.kinds(&self.strings)
    }

    /// The kinds of samples that occur, with their counts, sorted by name.
    pub fn sample_kinds(&self) -> Vec<(&str, usize)> {
        let mut counts = FxHashMap::default();
        self.samples.kinds().for_each(|kind| *counts.entry(kind).or_insert(0) += 1);
        let mut kinds: Vec<_> = counts.into_iter().map(|(k, count)| (self.strings.get(k), count)).collect();
        kinds.sort_unstable();
        kinds
    }

    /// The kind of samples that shows what ran on CPUs: time where samples were taken by time,
    /// otherwise cycles; `None` if there are neither.
    pub fn on_cpu_kind(&self) -> Option<StrId> {
        // The string may exist without a sample of that kind, as the name of something else.
        let has_samples = |kind: &StrId| self.samples.kinds().any(|of| of == *kind);
        sample::ON_CPU.iter().filter_map(|kind| self.strings.find(kind)).find(has_samples)
    }

    /// Reads one figure of this recording's spans. For loops over many: its key is looked up once
    /// for all of them.
    pub fn figure_of(&self, key: &str) -> impl Fn(&Span<'_>) -> Option<f64> + Copy + use<> {
        let key = self.strings.find(key);
        move |span| span.spans().figures.get(span.id.index(), key?)
    }

    /// Reads one label of this recording's spans, as the id of its text. For loops over many, like
    /// [`Recording::figure_of`].
    pub fn label_of(&self, key: &str) -> impl Fn(&Span<'_>) -> Option<StrId> + Copy + use<> {
        let key = self.strings.find(key);
        move |span| {
            let key = key?;
            span.spans().labels.of(span.id.index()).iter().find(|(k, _)| *k == key).map(|(_, value)| *value)
        }
    }

    /// One span.
    pub fn span_at(&self, id: SpanId) -> Span<'_> {
        Span { recording: self, id }
    }

    /// One count.
    pub(crate) fn count_at(&self, row: usize) -> Count<'_> {
        Count { recording: self, row }
    }

    /// The display name of a process, which no other JVM has. Before [`Recording::seal`], and for a
    /// process that was added after it, the name that it was given; empty for one that does not
    /// exist.
    pub fn process_name(&self, id: ProcessId) -> &str {
        let given = || self.processes.get(id.index()).map_or("", |process| process.name.as_str());
        self.names.get(id).unwrap_or_else(given)
    }

    /// What a thread is called: its name, or its id where only that is known.
    pub fn thread_label(&self, id: ThreadId) -> String {
        let thread = self.threads.get(id.index());
        let name = thread.map_or("", |thread| self.strings.get(thread.name)).trim();
        match thread.and_then(|thread| thread.tid) {
            Some(tid) if name.is_empty() => format!("thread {tid}"),
            _ if name.is_empty() => "a thread without a name".to_owned(),
            _ => name.to_owned(),
        }
    }

    /// When a process started, nanoseconds on the recording's clock, where a source counts from its
    /// start.
    pub fn process_started_ns(&self, id: ProcessId) -> Option<i64> {
        let own = |source: &&Source| {
            source.process == Some(id.0)
                && source.clock == ClockBasis::JvmUptime
                && source.placement.is_known()
        };
        self.sources.iter().find(own).map(|source| source.placement.offset_ns)
    }

    /// First and last time of anything that is on the recording's clock, nanoseconds. A source that
    /// nothing relates to that clock ([`crate::Placement::is_known`]) would extend it by decades,
    /// so it counts only when there is no other.
    pub fn covers_ns(&self) -> Option<(i64, i64)> {
        let known: Vec<bool> = self.sources.iter().map(|s| s.placement.is_known()).collect();
        let none_is = !known.contains(&true);
        let counts = |source: &SourceId| none_is || known.get(source.index()).copied().unwrap_or(false);
        let spans =
            self.spans.t0_ns.iter().zip(&self.spans.t1_ns).zip(self.spans.origins.rows(0..self.spans.len()));
        let counted = self.counts.t0_ns.iter().zip(&self.counts.t1_ns);
        let counted = counted.zip(self.counts.origins.rows(0..self.counts.len()));
        let spans =
            spans.chain(counted).filter(|(_, (_, source))| counts(source)).map(|((t0, t1), _)| (*t0, *t1));
        let sources = self.samples.origins.rows(0..self.samples.len()).map(|(.., source)| source);
        let samples = self.samples.t_ns.iter().zip(sources);
        let samples = samples.filter(|(_, source)| counts(source)).map(|(t, _)| (*t, *t));
        let series = self.series.iter().filter(|s| counts(&s.info.source)).filter_map(|s| {
            let last = s.t_ns.last()?.saturating_add(*s.dt_ns.last()?);
            Some((*s.t_ns.first()?, last))
        });
        spans.chain(samples).chain(series).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Placement, Role, SeriesKind};

    #[test]
    fn a_thread_is_called_by_its_name_or_by_its_id() {
        let mut recording = Recording::new();
        let process = recording.add_process(Process::default());
        let mut label = |tid, name| {
            let thread = recording.thread(process, tid, name, Role::App);
            recording.thread_label(thread)
        };
        assert_eq!([label(Some(7), "mailer "), label(Some(8), "")], ["mailer", "thread 8"]);
        assert_eq!(label(None, ""), "a thread without a name");
        assert_eq!(Recording::new().thread_label(ThreadId(3)), "a thread without a name");
    }

    #[test]
    fn a_source_that_is_not_on_the_clock_does_not_extend_what_the_recording_covers() {
        let mut recording = Recording::new();
        let mut add = |t_ns: i64, known: bool| {
            let uncertainty_ns = known.then_some(0);
            let placement = Placement { uncertainty_ns, ..Placement::default() };
            let source = recording.add_source(Source { placement, ..Source::default() });
            let (name, unit) = ("throughput".to_owned(), "ops/s".to_owned());
            let info = SeriesInfo {
                name,
                unit,
                instance: String::new(),
                kind: SeriesKind::Rate,
                process: None,
                source,
            };
            let series = recording.add_series(info);
            recording.point(series, t_ns, 10, 1.0);
            recording.covers_ns()
        };
        assert_eq!(add(50, false), Some((50, 60)));
        assert_eq!(add(1_000_000, true), Some((1_000_000, 1_000_010)));
        assert_eq!(add(2_000_000, true), Some((1_000_000, 2_000_010)));
    }
}
