//! The spans table: everything that lasted from `t0` to `t1`. An event at a moment has `t0 == t1`.
//!
//! Column by column in memory, because a 4 GB GC log becomes millions of rows. Figures (numbers) and labels
//! (strings) hang on a span as short lists ([`crate::figures`] keeps the numbers); their keys are the words of [`crate::vocabulary`].

use crate::figures::Figures;
use crate::{ProcessId, SourceId, SpanId, StackId, StrId, ThreadId};

/// One span on its way into a recording.
#[derive(Clone, Copy, Debug)]
pub struct SpanRow<'a> {
    /// What kind of thing lasted: one of [`crate::vocabulary::kind`].
    pub kind: &'a str,
    /// Its own name, in the field's words: "Pause Young (Normal)", "G1CollectForAllocation", a method.
    pub name: &'a str,
    /// Start, nanoseconds on the source's clock.
    pub t0_ns: i64,
    /// End, nanoseconds on the source's clock; never before `t0_ns`.
    pub t1_ns: i64,
    /// The process that it happened in.
    pub process: ProcessId,
    /// The thread that it happened on, where that is known.
    pub thread: Option<ThreadId>,
    /// The stack of that thread: where it waited or what it ran, as the kind says; where that was seen.
    pub stack: Option<StackId>,
    /// The source that told it.
    pub source: SourceId,
    /// Where in the source: line number from 1 of the record's main line, 0 when it has none.
    pub line: u64,
    /// The record's own number there (GC id, compile id), or -1.
    pub key: i64,
    /// The span that this one is part of (a Full GC nested in a young collection).
    pub parent: Option<SpanId>,
    /// Numbers, by the words of [`crate::vocabulary::figure`].
    pub figures: &'a [(&'a str, f64)],
    /// Strings, by the words of [`crate::vocabulary::label`].
    pub labels: &'a [(&'a str, &'a str)],
}

/// All spans, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub struct Spans {
    pub(crate) kind: Vec<StrId>,
    pub(crate) name: Vec<StrId>,
    pub(crate) t0_ns: Vec<i64>,
    pub(crate) t1_ns: Vec<i64>,
    pub(crate) process: Vec<ProcessId>,
    /// `u32::MAX` is "no thread known".
    pub(crate) thread: Vec<u32>,
    /// `u32::MAX` is "no stack seen", and so is what lies behind the end: logs have none and pay nothing.
    pub(crate) stack: Vec<u32>,
    pub(crate) source: Vec<SourceId>,
    pub(crate) line: Vec<u64>,
    pub(crate) key: Vec<i64>,
    /// `u32::MAX` is "no parent".
    pub(crate) parent: Vec<u32>,
    pub(crate) figures: Figures,
    /// The end of each span's labels in the flat list below.
    pub(crate) labels_end: Vec<u32>,
    pub(crate) labels: Vec<(StrId, StrId)>,
}

pub(crate) const NONE: u32 = u32::MAX;

impl Spans {
    /// How many spans there are.
    pub fn len(&self) -> usize {
        self.kind.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.kind.is_empty()
    }

    /// The stack of span `i`, [`NONE`] when it has none.
    pub(crate) fn stack_of(&self, i: usize) -> u32 {
        self.stack.get(i).copied().unwrap_or(NONE)
    }

    /// Says which stack span `i`, the last one that has said so, has.
    pub(crate) fn push_stack(&mut self, i: usize, stack: u32) {
        if stack != NONE {
            self.stack.resize(i, NONE);
            self.stack.push(stack);
        }
    }

    /// Labels of span `i` as (key, value).
    pub(crate) fn labels_of(&self, i: usize) -> &[(StrId, StrId)] {
        let from = if i == 0 { 0 } else { self.labels_end[i - 1] as usize };
        &self.labels[from..self.labels_end[i] as usize]
    }
}
