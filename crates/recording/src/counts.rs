//! The counts table: how often something happened in an interval, and how long all of it took. For
//! what happens too often for a row each.
//!
//! A count is no span: nothing lasted as long as its interval, and a part of the interval does not
//! have a known part of the count.

use crate::figures::Figures;
use crate::narrow::{NONE, Narrow, Sparse};
use crate::row_origins::Origins;
use crate::{ProcessId, SourceId, StrId, Strings, ThreadId};

/// One count to be added to a recording.
#[derive(Clone, Copy, Debug)]
pub struct CountRow<'a> {
    /// Its kind: one of [`crate::vocabulary::count`].
    pub kind: &'a str,
    /// What was counted: a system call, a mapping.
    pub name: &'a str,
    /// Start of the interval, nanoseconds on the source's clock.
    pub t0_ns: i64,
    /// End of the interval, nanoseconds on the source's clock; never before `t0_ns`.
    pub t1_ns: i64,
    /// The process in which it happened.
    pub process: ProcessId,
    /// The thread in which it happened, where it was counted by thread.
    pub thread: Option<ThreadId>,
    /// Its source.
    pub source: SourceId,
    /// The number that what was counted has at the kernel, or -1.
    pub key: i64,
    /// How often it happened.
    pub count: u64,
    /// How long all of it took, nanoseconds, where that is known.
    pub total_ns: Option<u64>,
    /// More numbers, by the keys of [`crate::vocabulary::figure`].
    pub figures: &'a [(&'a str, f64)],
}

impl<'a> CountRow<'a> {
    /// How often something happened in a process, without anything else: the rest by `CountRow {
    /// thread, ..CountRow::new(…) }`. Times are start and end of the interval.
    pub const fn new(
        kind: &'a str,
        name: &'a str,
        (t0_ns, t1_ns): (i64, i64),
        process: ProcessId,
        source: SourceId,
        count: u64,
    ) -> Self {
        let (thread, total_ns) = (None, None);
        Self { kind, name, t0_ns, t1_ns, process, thread, source, key: -1, count, total_ns, figures: &[] }
    }
}

/// All counts, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    pub(crate) kind: Vec<StrId>,
    pub(crate) name: Vec<StrId>,
    pub(crate) t0_ns: Vec<i64>,
    pub(crate) t1_ns: Vec<i64>,
    pub(crate) origins: Origins<(ProcessId, SourceId)>,
    pub(crate) thread: Sparse,
    /// Keys plus one, so that -1 is small.
    key: Narrow,
    count: Narrow,
    /// Nanoseconds plus one; 0 where the time is not known.
    total: Narrow,
    pub(crate) figures: Figures,
}

impl Counts {
    /// The number of counts.
    pub fn len(&self) -> usize {
        self.kind.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.kind.is_empty()
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, row: &CountRow<'_>, strings: &mut Strings) {
        // Rows of a kind follow one another, and have mostly the same figures.
        let last = self.len().checked_sub(1).filter(|i| strings.is(self.kind[*i], row.kind));
        let kind = last.map_or_else(|| strings.intern(row.kind), |i| self.kind[i]);
        let name = last.map(|i| self.name[i]).filter(|name| strings.is(*name, row.name));
        let name = name.unwrap_or_else(|| strings.intern(row.name));
        self.push_without_figures((kind, name), row);
        self.figures.push_texts(row.figures, last, strings);
    }

    /// Adds a row with this kind and name. Its figures are up to the caller.
    pub(crate) fn push_without_figures(&mut self, (kind, name): (StrId, StrId), row: &CountRow<'_>) {
        self.thread.put(self.len(), row.thread.map_or(NONE, |t| t.0));
        self.kind.push(kind);
        self.name.push(name);
        self.t0_ns.push(row.t0_ns);
        self.t1_ns.push(row.t1_ns.max(row.t0_ns));
        self.origins.push((row.process, row.source));
        self.key.push((row.key as u64).wrapping_add(1));
        self.count.push(row.count);
        self.total.push(row.total_ns.map_or(0, |ns| ns.saturating_add(1)));
    }

    /// Adds all rows of `other`; the functions map ids to what they are here.
    pub(crate) fn append(
        &mut self,
        other: Self,
        text: impl Fn(StrId) -> StrId,
        origin: impl Fn((ProcessId, SourceId)) -> (ProcessId, SourceId),
        thread: impl Fn(u32) -> u32,
    ) {
        let first = self.len();
        let threads = other.thread.into_iter().enumerate();
        threads.for_each(|(i, id)| self.thread.put(first + i, thread(id)));
        self.kind.extend(other.kind.into_iter().map(&text));
        self.name.extend(other.name.into_iter().map(&text));
        self.t0_ns.extend(other.t0_ns);
        self.t1_ns.extend(other.t1_ns);
        self.origins.append(other.origins, origin);
        let columns =
            [(&mut self.key, other.key), (&mut self.count, other.count), (&mut self.total, other.total)];
        for (to, from) in columns {
            from.rows(0..from.len()).for_each(|value| to.push(value));
        }
        self.figures.append(other.figures, text);
    }

    /// Memory in use, bytes.
    pub(crate) fn bytes(&self) -> usize {
        let words = self.kind.capacity() + self.name.capacity();
        let times = self.t0_ns.capacity() + self.t1_ns.capacity();
        let numbers = self.key.bytes() + self.count.bytes() + self.total.bytes();
        4 * words + 8 * times + numbers + self.thread.bytes() + self.origins.bytes() + self.figures.bytes()
    }

    /// Releases reserved memory.
    pub(crate) fn shrink(&mut self) {
        [&mut self.kind, &mut self.name].into_iter().for_each(Vec::shrink_to_fit);
        [&mut self.t0_ns, &mut self.t1_ns].into_iter().for_each(Vec::shrink_to_fit);
        [&mut self.key, &mut self.count, &mut self.total].into_iter().for_each(Narrow::shrink);
        self.origins.shrink();
        self.thread.shrink();
        self.figures.shrink();
    }

    /// Drops all rows.
    #[cfg(feature = "disk")]
    pub(crate) fn clear(&mut self) {
        [&mut self.kind, &mut self.name].into_iter().for_each(Vec::clear);
        [&mut self.t0_ns, &mut self.t1_ns].into_iter().for_each(Vec::clear);
        [&mut self.key, &mut self.count, &mut self.total].into_iter().for_each(Narrow::clear);
        self.origins.clear();
        self.thread.clear();
        self.figures.clear();
    }

    /// The key of row `i`.
    pub(crate) fn key_of(&self, i: usize) -> i64 {
        self.key.get(i).wrapping_sub(1) as i64
    }

    /// How often, in row `i`.
    pub(crate) fn count_of(&self, i: usize) -> u64 {
        self.count.get(i)
    }

    /// How long, in row `i`, nanoseconds.
    pub(crate) fn total_of(&self, i: usize) -> Option<u64> {
        self.total.get(i).checked_sub(1)
    }
}
