//! What is known of single threads, for those who cut their time in another way than chains do.

use fathom_recording::vocabulary::sample;
use fathom_recording::{Recording, Span, ThreadId};

use super::Chains;
use crate::intervals::Intervals;
use crate::nearest::Near;
use crate::side_by_side::touching;
use crate::thread_ledger::Taken;
use crate::waits::{Category, record};

impl<'a> Chains<'a> {
    /// The recording that they are of.
    pub(crate) fn recording(&self) -> &'a Recording {
        self.recording
    }

    /// The name of a thread; empty where it has none.
    pub(crate) fn name(&self, thread: ThreadId) -> &'a str {
        let row = self.recording.threads.get(thread.index());
        row.map_or("", |row| self.recording.strings.get(row.name).trim())
    }

    /// Times that a thread was off the CPU between two timestamps.
    pub(crate) fn off_between(
        &self,
        thread: ThreadId,
        from: i64,
        to: i64,
    ) -> impl Iterator<Item = &Span<'a>> {
        let off = self.intervals.off(thread);
        // They do not overlap: their ends are in order too.
        let first = off.partition_point(|span| span.t1_ns() <= from);
        off[first..].iter().take_while(move |span| span.t0_ns() < to)
    }

    /// Times that a thread was off the CPU which touch some intervals, in order, each with its
    /// number from the first one that may and its parts that lie in them. Of a virtual thread,
    /// whose switches are nothing that the kernel knows of: its waits, kind by kind.
    pub(crate) fn off_within(
        &self,
        thread: ThreadId,
        intervals: &Intervals,
        mut each: impl FnMut(usize, &Span<'a>, &[(i64, i64)]),
    ) {
        let Some((from, _)) = intervals.ranges().first() else { return };
        let ends = |span: &Span<'a>| (span.t0_ns(), span.t1_ns());
        let (off, in_order) = (self.intervals.off(thread), self.intervals.off_ends_in_order(thread));
        if off.is_empty() {
            for (_, row, in_order) in self.intervals.waits_by_kind(thread) {
                touching(row, in_order, ends, intervals, &mut each);
            }
            return;
        }
        let off = &off[off.partition_point(|span| span.t1_ns() <= *from)..];
        touching(off, in_order, ends, intervals, each);
    }

    /// Those of them that begin in an interval, kind by kind; `near` is for one who asks again and
    /// again of the same thread, mostly for later ones.
    pub(crate) fn off_begun(
        &self,
        thread: ThreadId,
        (from, to): (i64, i64),
        near: &mut Vec<Near>,
        mut each: impl FnMut(&Span<'a>),
    ) {
        let off = self.intervals.off(thread);
        let kinds = self.intervals.waits_by_kind(thread).map(|(_, row, _)| row).filter(|_| off.is_empty());
        for (n, row) in std::iter::once(off).chain(kinds).enumerate() {
            if near.len() <= n {
                near.push(Near::default());
            }
            let first = near[n].first(row, |span| span.t0_ns() < from);
            let begun = row[first..].iter().take_while(|span| span.t0_ns() < to);
            begun.filter(|span| span.t0_ns() < span.t1_ns()).for_each(&mut each);
        }
    }

    /// Records of some kinds that show what a thread waited for in some intervals, kind by kind.
    pub(super) fn waits_within(
        &self,
        thread: ThreadId,
        kinds: &[&str],
        intervals: &Intervals,
    ) -> Vec<Span<'a>> {
        let mut waits = Vec::new();
        for (_, row, in_order) in
            self.intervals.waits_by_kind(thread).filter(|(kind, ..)| kinds.contains(kind))
        {
            let ends = |span: &Span<'a>| (span.t0_ns(), span.t1_ns());
            touching(row, in_order, ends, intervals, |_, span, _| waits.push(*span));
        }
        waits
    }

    /// The record that covers most of what a thread waited for under a category between two
    /// intervals.
    pub(crate) fn wait_at(
        &self,
        thread: ThreadId,
        category: Category,
        from: i64,
        to: i64,
    ) -> Option<Span<'a>> {
        let mut best: Option<(i64, Span<'a>)> = None;
        let role = self.recording.threads[thread.index()].role;
        let unlisted = self.stacks.of_unlisted(self.intervals.off(thread), role);
        for (_, row, in_order) in self.intervals.waits_by_kind(thread) {
            let ends = |span: &Span<'a>| (span.t0_ns(), span.t1_ns());
            let intervals = Intervals::of([(from, to)]);
            touching(row, in_order, ends, &intervals, |_, span, _| {
                let ns = span.overlap_ns(from, to);
                let matches = unlisted.category(record::category(span, &self.stacks)) == category;
                if matches && best.as_ref().is_none_or(|(most, _)| ns > *most) {
                    best = Some((ns, *span));
                }
            });
        }
        best.map(|(_, span)| span)
    }

    /// When a thread lived, as far as that is known.
    pub(crate) fn lived(&self, thread: ThreadId) -> Option<(i64, i64)> {
        self.intervals.lived(thread)
    }

    /// Calls of a thread that name what it waited for, in order of time: from, to, name.
    pub(crate) fn naming(&self, thread: ThreadId) -> Vec<(i64, i64, &'a str)> {
        let waits = self.intervals.waits(thread).iter();
        let named = waits.filter(|span| record::NAMING.contains(&span.kind()));
        let mut named: Vec<_> =
            named.filter_map(|span| Some((span.t0_ns(), span.t1_ns(), record::target(span)?))).collect();
        named.sort_unstable();
        named
    }

    /// Whether a thread waits for requests on connections that were accepted: whom it wakes up, it
    /// answers.
    pub(crate) fn serves(&self, thread: ThreadId) -> bool {
        self.intervals.waits(thread).iter().any(record::awaits_request)
    }

    /// Short waits of a thread that were summed up, in order of time: category and sample, whose
    /// weight is the sum up to its time.
    pub(crate) fn short_waits(&self, thread: ThreadId) -> impl Iterator<Item = (Category, &Taken)> {
        let [off, queued] =
            [sample::OFF_CPU, sample::RUN_QUEUE].map(|kind| self.recording.strings.find(kind));
        let role = self.recording.threads[thread.index()].role;
        let unlisted = self.stacks.of_unlisted(self.intervals.off(thread), role);
        self.intervals.samples(thread).iter().filter_map(move |sample| match Some(sample.kind) {
            kind if kind == queued => Some((Category::RunQueue, sample)),
            kind if kind == off => {
                Some((unlisted.category(self.stacks.of_role(sample.stack(), role)), sample))
            }
            _ => None,
        })
    }

    /// Whether a thread whose stack this is runs a BPF program of the recorder.
    pub(crate) fn is_in_recorder(&self, stack: Option<fathom_recording::StackId>) -> bool {
        self.stacks.is_in_recorder(stack)
    }

    /// Samples of a thread, in order of time.
    pub(crate) fn samples(&self, thread: ThreadId) -> &[Taken] {
        self.intervals.samples(thread)
    }
}
