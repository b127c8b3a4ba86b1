//! The spans table: everything with a beginning `t0` and an end `t1`. An event has `t0 == t1`.
//!
//! Column by column in memory, because a 4 GB GC log becomes millions of rows. Figures (numbers)
//! and labels (strings) of a span are short lists ([`crate::figures`], [`crate::labels`]); their
//! keys are those of [`crate::vocabulary`].

use crate::figures::Figures;
use crate::labels::Labels;
pub(crate) use crate::narrow::NONE;
use crate::narrow::{Narrow, Sparse};
use crate::row_origins::Origins;
use crate::{ProcessId, SourceId, SpanId, StackId, StrId, ThreadId};

/// One span to be added to a recording.
#[derive(Clone, Copy, Debug)]
pub struct SpanRow<'a> {
    /// Its kind: one of [`crate::vocabulary::kind`].
    pub kind: &'a str,
    /// Its own name, in the terms of its source: "Pause Young (Normal)", "G1CollectForAllocation",
    /// a method.
    pub name: &'a str,
    /// Start, nanoseconds on the source's clock.
    pub t0_ns: i64,
    /// End, nanoseconds on the source's clock; never before `t0_ns`.
    pub t1_ns: i64,
    /// Its process.
    pub process: ProcessId,
    /// Its thread, where that is known.
    pub thread: Option<ThreadId>,
    /// The stack of that thread, where it was recorded: where it waited or what it ran, depending
    /// on the kind.
    pub stack: Option<StackId>,
    /// Its source.
    pub source: SourceId,
    /// Its position in the source: 1-based line number of the record's main line, 0 when it has
    /// none.
    pub line: u64,
    /// The record's own number there (GC id, compile id), or -1.
    pub key: i64,
    /// The span that this one is part of (a Full GC nested in a young collection).
    pub parent: Option<SpanId>,
    /// Numbers, by the keys of [`crate::vocabulary::figure`].
    pub figures: &'a [(&'a str, f64)],
    /// Strings, by the keys of [`crate::vocabulary::label`].
    pub labels: &'a [(&'a str, &'a str)],
}

impl<'a> SpanRow<'a> {
    /// A span of a process from a source, without anything else: the rest by `SpanRow { thread,
    /// ..SpanRow::new(…) }`. Times are start and end.
    pub const fn new(
        kind: &'a str,
        name: &'a str,
        (t0_ns, t1_ns): (i64, i64),
        process: ProcessId,
        source: SourceId,
    ) -> Self {
        Self {
            kind,
            name,
            t0_ns,
            t1_ns,
            process,
            thread: None,
            stack: None,
            source,
            line: 0,
            key: -1,
            parent: None,
            figures: &[],
            labels: &[],
        }
    }
}

/// All spans, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct Spans {
    pub(crate) kind: Vec<StrId>,
    pub(crate) name: Vec<StrId>,
    pub(crate) t0_ns: Vec<i64>,
    pub(crate) t1_ns: Vec<i64>,
    pub(crate) origins: Origins<(ProcessId, SourceId)>,
    pub(crate) thread: Sparse,
    pub(crate) stack: Sparse,
    pub(crate) line: Narrow,
    /// Keys plus one, so that -1, which most spans have, is small.
    pub(crate) key: Narrow,
    pub(crate) parent: Sparse,
    pub(crate) figures: Figures,
    pub(crate) labels: Labels,
}

impl Spans {
    /// The number of spans.
    pub fn len(&self) -> usize {
        self.kind.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.kind.is_empty()
    }

    /// Memory in use, bytes.
    pub(crate) fn bytes(&self) -> usize {
        let words = self.kind.capacity() + self.name.capacity() + self.line.len() + self.key.len();
        let times = self.t0_ns.capacity() + self.t1_ns.capacity();
        let ids = self.thread.bytes() + self.stack.bytes() + self.parent.bytes() + self.origins.bytes();
        4 * words + 8 * times + ids + self.figures.bytes() + self.labels.bytes()
    }

    /// Releases reserved memory.
    pub(crate) fn shrink(&mut self) {
        self.kind.shrink_to_fit();
        self.name.shrink_to_fit();
        self.t0_ns.shrink_to_fit();
        self.t1_ns.shrink_to_fit();
        self.origins.shrink();
        [&mut self.thread, &mut self.stack, &mut self.parent].into_iter().for_each(Sparse::shrink);
        [&mut self.line, &mut self.key].into_iter().for_each(Narrow::shrink);
        self.figures.shrink();
        self.labels.shrink();
    }

    /// The key of span `i`.
    pub(crate) fn key_of(&self, i: usize) -> i64 {
        self.key.get(i).wrapping_sub(1) as i64
    }

    /// Adds the key of the next span.
    pub(crate) fn push_key(&mut self, key: i64) {
        self.key.push((key as u64).wrapping_add(1));
    }
}
