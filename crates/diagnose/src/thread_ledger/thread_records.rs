//! What is recorded of each thread, gathered once: when it was watched, when it was off the CPU,
//! the records of its waits, its samples.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::kind;
use fathom_recording::{Recording, Sample, Span, StackId, StrId, ThreadId};

use super::gaps::{Kinds, Sampler};
use crate::waits::record;

/// A sample of a thread of which it is known, small: a busy hour has millions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    pub(crate) t_ns: i64,
    pub(crate) weight: i64,
    pub(crate) kind: StrId,
    /// The stack, [`NO_STACK`] for none.
    pub(super) stack: u32,
}

/// In the place of a stack: none was taken.
pub(super) const NO_STACK: u32 = u32::MAX;

impl Taken {
    pub(super) fn of(sample: &Sample) -> Self {
        let stack = sample.stack.map_or(NO_STACK, |stack| stack.0);
        Self { t_ns: sample.t_ns, weight: sample.weight, kind: sample.kind, stack }
    }

    /// The stack that was seen.
    pub(crate) fn stack(&self) -> Option<StackId> {
        (self.stack != NO_STACK).then_some(StackId(self.stack))
    }
}

/// What is recorded of each thread.
pub(super) struct Seen<'a> {
    pub(super) threads: BTreeMap<ThreadId, ThreadRecords<'a>>,
    pub(super) means: Means,
}

/// By what it is judged whether a thread ran.
pub(super) struct Means {
    pub(super) kinds: Kinds,
    pub(super) sampler: Option<Sampler>,
}

/// What is recorded of one thread.
#[derive(Default)]
pub(super) struct ThreadRecords<'a> {
    pub(super) watched: Vec<(i64, i64)>,
    pub(super) off: Vec<Span<'a>>,
    /// Whether the ends of those are in order, too.
    pub(super) ends_in_order: bool,
    /// Records of its waits.
    pub(super) waits: Vec<Span<'a>>,
    /// The same kind by kind: where its records end, and whether their ends are in order.
    pub(super) wait_kinds: Vec<(&'static str, usize, bool)>,
    pub(super) starts: Vec<i64>,
    pub(super) ends: Vec<i64>,
    /// In order of time.
    pub(super) samples: Vec<Taken>,
    /// First and last time of anything.
    pub(super) hull: Option<(i64, i64)>,
}

impl<'a> ThreadRecords<'a> {
    pub(super) fn reach(&mut self, from: i64, to: i64) {
        let (first, last) = self.hull.unwrap_or((from, to));
        self.hull = Some((first.min(from), last.max(to)));
    }

    /// Adds a record of a wait. All records of a kind must come one after another.
    pub(super) fn add_wait(&mut self, kind: &'static str, span: Span<'a>) {
        if !record::is_wait(&span) {
            return;
        }
        match self.wait_kinds.last_mut().filter(|(last, ..)| *last == kind) {
            Some((_, end, in_order)) => {
                *in_order &= self.waits.last().is_none_or(|last| last.t1_ns() <= span.t1_ns());
                *end += 1;
            }
            None => self.wait_kinds.push((kind, self.waits.len() + 1, true)),
        }
        self.waits.push(span);
    }

    /// When the thread lived. Where nobody watched its start, it is taken to live from its first
    /// record to its last when its switches were watched, and for the whole recording when not: a
    /// sampled thread is mostly silent.
    pub(super) fn alive(&self, covers: (i64, i64)) -> (i64, i64) {
        let (first, last) = self.hull.unwrap_or(covers);
        let watched = !self.watched.is_empty();
        let start = self.starts.iter().min().copied().unwrap_or(if watched { first } else { covers.0 });
        let end = self.ends.iter().max().copied().unwrap_or(if watched { last } else { covers.1 });
        (start.min(first), end.max(last))
    }

    /// Whether nothing is known of it but what it waited for. A virtual thread is no thread of the
    /// kernel's: what it does else is attributed to its carriers.
    pub(super) fn is_known_by_waits(&self) -> bool {
        self.watched.is_empty() && self.off.is_empty() && self.samples.is_empty()
    }
}

impl<'a> Seen<'a> {
    pub(super) fn of(recording: &'a Recording) -> Self {
        let mut of_threads: Vec<ThreadRecords<'a>> = Vec::new();
        of_threads.resize_with(recording.threads.len(), ThreadRecords::default);
        let mut each = |kind: &str, take: &mut dyn FnMut(&mut ThreadRecords<'a>, Span<'a>)| {
            for span in recording.spans_of(kind) {
                let records = span.thread().and_then(|thread| of_threads.get_mut(thread.index()));
                let Some(records) = records else { continue };
                records.reach(span.t0_ns(), span.t1_ns());
                take(records, span);
            }
        };
        each(kind::SCHED_WATCHED, &mut |records, span| records.watched.push((span.t0_ns(), span.t1_ns())));
        each(kind::SCHED_OFF, &mut |records, span| records.off.push(span));
        each(kind::THREAD_START, &mut |records, span| records.starts.push(span.t0_ns()));
        each(kind::THREAD_END, &mut |records, span| records.ends.push(span.t1_ns()));
        for kind in record::WAITS {
            each(kind, &mut |records, span| records.add_wait(kind, span));
        }
        let kinds = Kinds::of(recording);
        for sample in recording.samples.iter().filter(|s| kinds.is_on_cpu(s.kind) || kinds.is_short(s.kind)) {
            let records = sample.thread.and_then(|thread| of_threads.get_mut(thread.index()));
            let Some(records) = records else { continue };
            records.reach(sample.t_ns, sample.t_ns);
            records.samples.push(Taken::of(&sample));
        }
        let mut threads = BTreeMap::new();
        for (i, mut records) in
            of_threads.into_iter().enumerate().filter(|(_, records)| records.hull.is_some())
        {
            records.samples.sort_by_key(|sample| sample.t_ns);
            records.ends_in_order = records.off.is_sorted_by_key(|span| span.t1_ns());
            threads.insert(ThreadId(i as u32), records);
        }
        Self { threads, means: Means { kinds, sampler: Sampler::of(recording) } }
    }
}
