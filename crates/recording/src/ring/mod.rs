//! The latest rows of a recording that goes on for days, in bounded memory, from which intervals
//! are taken.
//!
//! ```text
//!   Sink ──▶ open segment ──(a second old, or large)──▶ segment ▪ segment ▪ segment ──▶ dropped: too old, or no room
//!                                                           └──────────┬──────────┘
//!                                            excerpt(from, to) ────────┴──▶ [`Excerpt`] ──▶ an ordinary Recording
//! ```
//!
//! Rows are dropped with their segment, and with them the strings that only they use. What rows
//! refer to lives longer, because writers of rows keep the ids that they were given:
//!
//! - frames and stacks are kept for a *generation* ([`names`]); when that has grown too large, the
//!   ring asks for a new one ([`Ring::wants_new_names`]), writers forget their ids, and the old one
//!   is dropped with the last segment that refers to it. Ids continue from generation to
//!   generation, so that an id that a writer kept too long is not taken for a new one: its row
//!   loses the stack, which is counted, and never gets a wrong one;
//! - threads, processes, sources and series ([`entities`]) are kept until [`Ring::forget`] finds
//!   that they have ended and that no row refers to them.
//!
//! So memory is bounded by [`Bounds::bytes`] for rows and names, and otherwise by the number of
//! entities that are alive at the same time.

mod entities;
mod excerpt;
mod names;
mod segment;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use crate::{
    CountRow, FrameId, FrameType, Process, ProcessId, Role, SampleRow, SeriesId, SeriesInfo, Sink, Source,
    SourceId, SpanId, SpanRow, StackId, ThreadId,
};
use entities::Entities;
pub use excerpt::Excerpt;
use names::Names;
use segment::Segment;

/// Length of a segment, nanoseconds: the granularity at which old rows are dropped.
const SEGMENT_NS: i64 = 1_000_000_000;
/// A segment is closed when it has grown to this part of the bound.
const LARGEST_SEGMENT: usize = 16;
/// Frames and stacks may take this part of the bound before new ones are requested.
const LARGEST_NAMES: usize = 4;
/// Rows between two checks of the size of the open segment.
const ROWS_PER_LOOK: usize = 1024;

/// How much a ring keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Memory of rows, and of the frames and stacks that they point to, bytes.
    pub bytes: usize,
    /// Rows that were added longer ago are dropped, nanoseconds.
    pub age_ns: i64,
}

/// What a ring had no room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Rows that were dropped although they were not too old.
    pub rows: u64,
    /// Rows whose stack had been dropped when they were added.
    pub stacks: u64,
}

/// See the module. Times are nanoseconds on the recording's clock.
pub struct Ring {
    bounds: Bounds,
    entities: Entities,
    names: Arc<Mutex<Names>>,
    /// Former generations that segments still refer to.
    former: Vec<Arc<Mutex<Names>>>,
    segments: VecDeque<Arc<Segment>>,
    /// Memory of `segments`.
    closed_bytes: usize,
    open: Segment,
    /// While unfinished spans are written: those rows, which belong to one excerpt only.
    unfinished: Option<Segment>,
    spans: u32,
    pending: usize,
    now_ns: i64,
    dropped: Dropped,
}

impl Ring {
    /// An empty one.
    pub fn new(bounds: Bounds, now_ns: i64) -> Self {
        let names = Arc::new(Mutex::new(Names::from(0, 0)));
        Self {
            bounds,
            entities: Entities::default(),
            open: Segment::new(&names, now_ns, 0, Vec::new()),
            names,
            former: Vec::new(),
            segments: VecDeque::new(),
            closed_bytes: 0,
            unfinished: None,
            spans: 0,
            pending: 0,
            now_ns,
            dropped: Dropped::default(),
        }
    }

    /// Sets the time: rows from here on are added later. Drops what is too old, but nothing that
    /// was added at or after `keep_from_ns`.
    pub fn roll(&mut self, now_ns: i64, keep_from_ns: Option<i64>) {
        self.now_ns = now_ns.max(self.now_ns);
        if self.now_ns - self.open.began_ns >= SEGMENT_NS {
            self.close();
        }
        let oldest = now_ns.saturating_sub(self.bounds.age_ns).min(keep_from_ns.unwrap_or(i64::MAX));
        while self.segments.front().is_some_and(|segment| segment.ended_ns < oldest) {
            self.drop_oldest();
        }
        self.make_room();
    }

    /// Memory of rows and names, bytes.
    pub fn bytes(&self) -> usize {
        let of = |names: &Arc<Mutex<Names>>| locked(names).bytes();
        let names = of(&self.names) + self.former.iter().map(of).sum::<usize>();
        self.closed_bytes + self.open.bytes() + names
    }

    /// The time from which on nothing is missing.
    pub fn since_ns(&self) -> i64 {
        self.segments.front().map_or(self.open.began_ns, |segment| segment.began_ns)
    }

    /// The number of its rows.
    pub fn rows(&self) -> usize {
        self.segments.iter().map(|segment| segment.len()).sum::<usize>() + self.open.len()
    }

    /// What it had no room for so far.
    pub fn dropped(&self) -> Dropped {
        self.dropped
    }

    /// The number of threads, processes and series that it keeps: what [`Ring::forget`] reduces.
    pub fn known(&self) -> usize {
        self.entities.len()
    }

    /// Whether frames and stacks take so much memory that they should be dropped.
    pub fn wants_new_names(&self) -> bool {
        locked(&self.names).bytes() > self.bounds.bytes / LARGEST_NAMES
    }

    /// Drops all frames and stacks for future rows. Ids of them that were given out are invalid
    /// from now on.
    pub fn renew_names(&mut self) {
        self.close();
        let next = locked(&self.names).next();
        let next = Arc::new(Mutex::new(next));
        self.former.push(std::mem::replace(&mut self.names, next));
        self.open.names = Arc::clone(&self.names);
        self.let_go_of_names();
    }

    /// Drops threads, processes and series that have ended: `is_over` is called with the process id
    /// and, for threads, the thread id. What rows refer to stays.
    pub fn forget(&mut self, is_over: impl Fn(i64, Option<i64>) -> bool) {
        let segments = self.segments.iter().map(Arc::as_ref);
        let segments = segments.chain([&self.open]).chain(&self.unfinished);
        self.entities.forget(segments, is_over);
    }

    /// Rows from here until [`Ring::excerpt`] are of spans that have not ended, in their current
    /// state. They are in that excerpt alone: the complete row is written when the span has ended.
    pub fn write_unfinished(&mut self) {
        self.close();
        self.unfinished = Some(Segment::new(&self.names, self.now_ns, self.spans, Vec::new()));
    }

    /// Whether rows of unfinished spans are being written.
    pub fn is_writing_unfinished(&self) -> bool {
        self.unfinished.is_some()
    }

    /// All rows of an interval that have been added so far, with those since
    /// [`Ring::write_unfinished`].
    pub fn excerpt(&mut self, (from_ns, to_ns): (i64, i64)) -> Excerpt {
        let unfinished = self.unfinished.take();
        self.close();
        let came_in = |segment: &&Arc<Segment>| segment.ended_ns >= from_ns;
        let mut segments: Vec<Arc<Segment>> = self.segments.iter().filter(came_in).cloned().collect();
        segments.extend(unfinished.map(Arc::new));
        Excerpt {
            segments,
            entities: self.entities.clone(),
            lost: self.entities.losses(),
            within: (from_ns, to_ns),
        }
    }

    /// Closes the open segment and begins the next.
    fn close(&mut self) {
        self.pending = 0;
        let next = Segment::new(&self.names, self.now_ns, self.spans, self.entities.losses());
        if self.open.is_empty() {
            self.open = next;
            return;
        }
        let mut closed = std::mem::replace(&mut self.open, next);
        closed.close(self.now_ns);
        self.closed_bytes += closed.bytes();
        self.segments.push_back(Arc::new(closed));
    }

    fn drop_oldest(&mut self) -> usize {
        let Some(oldest) = self.segments.pop_front() else { return 0 };
        self.closed_bytes = self.closed_bytes.saturating_sub(oldest.bytes());
        self.let_go_of_names();
        oldest.len()
    }

    fn make_room(&mut self) {
        while self.bytes() > self.bounds.bytes && !self.segments.is_empty() {
            self.dropped.rows += self.drop_oldest() as u64;
        }
    }

    /// Drops former generations that no segment refers to.
    fn let_go_of_names(&mut self) {
        let segments = &self.segments;
        self.former.retain(|names| segments.iter().any(|segment| Arc::ptr_eq(&segment.names, names)));
    }

    fn segment(&mut self) -> &mut Segment {
        self.unfinished.as_mut().unwrap_or(&mut self.open)
    }

    /// Called after each row.
    fn added(&mut self) {
        self.pending += 1;
        let look = self.unfinished.is_none() && self.pending.is_multiple_of(ROWS_PER_LOOK);
        if look && self.open.bytes() > self.bounds.bytes / LARGEST_SEGMENT {
            self.close();
            self.make_room();
        }
    }

    /// A stack that is still known; counted when it is not.
    fn known_stack(&mut self, stack: Option<StackId>) -> Option<StackId> {
        let known = stack.filter(|stack| locked(&self.names).has(*stack));
        self.dropped.stacks += u64::from(known != stack);
        known
    }
}

/// Names under their lock: a thread that panicked while it held the lock has added at most one
/// name.
fn locked(names: &Mutex<Names>) -> std::sync::MutexGuard<'_, Names> {
    names.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sink for Ring {
    fn add_source(&mut self, source: Source) -> SourceId {
        self.entities.add_source(source)
    }

    fn source_mut(&mut self, id: SourceId) -> &mut Source {
        self.entities.source_mut(id)
    }

    fn add_process(&mut self, process: Process) -> ProcessId {
        self.entities.add_process(process)
    }

    fn process_mut(&mut self, id: ProcessId) -> &mut Process {
        self.entities.process_mut(id)
    }

    fn thread(&mut self, process: ProcessId, tid: Option<i64>, name: &str, role: Role) -> ThreadId {
        self.entities.thread(process, tid, name, role)
    }

    fn rename_thread(&mut self, id: ThreadId, name: &str, role: Role) {
        self.entities.rename_thread(id, name, role);
    }

    fn span(&mut self, row: &SpanRow<'_>) -> SpanId {
        let id = SpanId(self.spans);
        self.spans = self.spans.wrapping_add(1);
        let stack = self.known_stack(row.stack);
        self.segment().span(&SpanRow { stack, ..*row });
        self.added();
        id
    }

    fn count(&mut self, row: &CountRow<'_>) {
        self.segment().count(row);
        self.added();
    }

    fn add_series(&mut self, info: SeriesInfo) -> SeriesId {
        self.entities.add_series(info)
    }

    fn point(&mut self, series: SeriesId, t_ns: i64, dt_ns: i64, value: f64) {
        self.segment().point(series, t_ns, dt_ns, value);
        self.added();
    }

    fn frame(&mut self, name: &str, module: &str, frame_type: FrameType, line: i32) -> FrameId {
        locked(&self.names).frame(name, module, frame_type, line)
    }

    fn stack(&mut self, parent: Option<StackId>, frame: FrameId) -> StackId {
        locked(&self.names).stack(parent, frame)
    }

    fn sample(&mut self, row: &SampleRow<'_>) {
        let stack = self.known_stack(row.stack);
        self.segment().sample(&SampleRow { stack, ..*row });
        self.added();
    }
}

impl Ring {
    /// Name of a thread; empty when it is not known any more.
    pub fn thread_name(&self, id: ThreadId) -> &str {
        self.entities.thread_name(id)
    }

    /// The role of a thread.
    pub fn thread_role(&self, id: ThreadId) -> Role {
        self.entities.thread_role(id)
    }

    /// A process, by its id; `None` when it is not known any more.
    pub fn process(&self, id: ProcessId) -> Option<&Process> {
        self.entities.process(id)
    }

    /// A series, by its id; `None` when it is not known any more.
    pub fn series(&self, id: SeriesId) -> Option<&SeriesInfo> {
        self.entities.series(id)
    }

    /// Names and types of a stack's frames, innermost first, at most this many; empty when it is
    /// not known any more.
    pub fn frames(&self, stack: Option<StackId>, most: usize) -> Vec<(String, FrameType)> {
        locked(&self.names).frames(stack, most)
    }
}
