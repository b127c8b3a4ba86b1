//! What is known of single threads, for those who cut their time in another way than chains do.

use fathom_recording::vocabulary::sample;
use fathom_recording::{Recording, Span, ThreadId};

use super::Chains;
use crate::intervals::Intervals;
use crate::thread_ledger::Taken;
use crate::waits::{Heading, record};

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

    /// Times that a thread was off the CPU between two moments.
    pub(crate) fn off_between(
        &self,
        thread: ThreadId,
        from: i64,
        to: i64,
    ) -> impl Iterator<Item = &Span<'a>> {
        let off = self.moments.off(thread);
        // They do not overlap: their ends are in order too.
        let first = off.partition_point(|span| span.t1_ns() <= from);
        off[first..].iter().take_while(move |span| span.t0_ns() < to)
    }

    /// Times that a thread was off the CPU which touch some moments, in order, each with its number from the first one that may
    /// and its parts that lie in them. A thread has many moments of a few headings and few of all others: both rows are gone
    /// through together, and of either what lies between two of the other is passed at once.
    pub(crate) fn off_within(
        &self,
        thread: ThreadId,
        moments: &Intervals,
        mut each: impl FnMut(usize, &Span<'a>, &[(i64, i64)]),
    ) {
        let stretches = moments.stretches();
        let (Some(first), Some(last)) = (stretches.first(), stretches.last()) else { return };
        let (off, in_order) = (self.moments.off(thread), self.moments.off_ends_in_order(thread));
        let begin = off.partition_point(|span| span.t1_ns() <= first.0);
        let (mut at, mut near) = (begin, 0);
        let mut parts: Vec<(i64, i64)> = Vec::new();
        while let (Some(span), Some(stretch)) = (off.get(at), stretches.get(near)) {
            let (from, to) = (span.t0_ns(), span.t1_ns());
            if from >= last.1 {
                return;
            }
            if stretch.1 <= from {
                near += passed(&stretches[near..], |stretch| stretch.1 <= from);
                continue;
            }
            if to <= stretch.0 {
                at += if in_order { passed(&off[at..], |span| span.t1_ns() <= stretch.0) } else { 1 };
                continue;
            }
            parts.clear();
            let within = stretches[near..].iter().take_while(|stretch| stretch.0 < to);
            parts.extend(within.map(|(a, b)| ((*a).max(from), (*b).min(to))).filter(|(a, b)| a < b));
            if !parts.is_empty() {
                each(at - begin, span, &parts);
            }
            at += 1;
        }
    }

    /// Calls of a thread that name what it waited for, in order of time: from, to, name.
    pub(crate) fn naming(&self, thread: ThreadId) -> Vec<(i64, i64, &'a str)> {
        let told = self.moments.told(thread).iter();
        let named = told.filter(|span| record::NAMING.contains(&span.kind()));
        let mut named: Vec<_> =
            named.filter_map(|span| Some((span.t0_ns(), span.t1_ns(), record::target(span)?))).collect();
        named.sort_unstable();
        named
    }

    /// Short waits of a thread that were summed up, in order of time: category and sample, whose weight is the sum up to its time.
    pub(crate) fn short_waits(&self, thread: ThreadId) -> impl Iterator<Item = (Heading, &Taken)> {
        let [off, queued] =
            [sample::OFF_CPU, sample::RUN_QUEUE].map(|kind| self.recording.strings.find(kind));
        let role = self.recording.threads[thread.index()].role;
        self.moments.samples(thread).iter().filter_map(move |sample| match Some(sample.kind) {
            kind if kind == queued => Some((Heading::RunQueue, sample)),
            kind if kind == off => Some((self.stacks.of_role(sample.stack(), role), sample)),
            _ => None,
        })
    }

    /// Samples of a thread, in order of time.
    pub(crate) fn samples(&self, thread: ThreadId) -> &[Taken] {
        self.moments.samples(thread)
    }
}

/// How many of a row lie before the first that `is_before` does not hold of; of the first of all, it does. Looks near the
/// beginning first.
fn passed<T>(row: &[T], is_before: impl Fn(&T) -> bool) -> usize {
    let mut reach = 1;
    while row.get(reach).is_some_and(&is_before) {
        reach *= 2;
    }
    let known = reach / 2;
    known + row[known..row.len().min(reach)].partition_point(is_before)
}

#[cfg(test)]
mod tests {
    use super::passed;

    #[test]
    fn what_lies_before_is_passed_whatever_its_length() {
        for length in 1..70 {
            let row: Vec<usize> = (0..length).collect();
            for end in 1..=length {
                assert_eq!(passed(&row, |n| *n < end), end, "of {length}");
            }
        }
    }
}
