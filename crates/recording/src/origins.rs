//! Where each span comes from: its process and its source, of which a recording has few pairs.

use std::collections::HashMap;
use std::ops::Range;

use rustc_hash::FxBuildHasher;

use crate::{ProcessId, SourceId};

/// Process and source of all spans, in the order of the spans.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins {
    /// The pairs that there are; that of a span is an index into it.
    pairs: Vec<(ProcessId, SourceId)>,
    ids: HashMap<(ProcessId, SourceId), u32, FxBuildHasher>,
    of: Vec<u32>,
}

impl Origins {
    /// Adds the next span's.
    pub(crate) fn push(&mut self, process: ProcessId, source: SourceId) {
        let pair = (process, source);
        let last = self.of.last().copied().filter(|id| self.pairs[*id as usize] == pair);
        let id = last.unwrap_or_else(|| self.id(pair));
        self.of.push(id);
    }

    fn id(&mut self, pair: (ProcessId, SourceId)) -> u32 {
        let pairs = &mut self.pairs;
        *self.ids.entry(pair).or_insert_with(|| {
            pairs.push(pair);
            pairs.len() as u32 - 1
        })
    }

    /// Process and source of span `i`.
    #[inline]
    pub(crate) fn of(&self, i: usize) -> (ProcessId, SourceId) {
        self.pairs[self.of[i] as usize]
    }

    /// Process and source of some spans.
    pub(crate) fn rows(
        &self,
        rows: Range<usize>,
    ) -> impl Iterator<Item = (ProcessId, SourceId)> + Clone + '_ {
        self.of[rows].iter().map(|id| self.pairs[*id as usize])
    }

    /// Memory that they take, bytes.
    pub(crate) fn bytes(&self) -> usize {
        4 * self.of.capacity() + 24 * self.pairs.len()
    }

    /// Gives back what is reserved for more.
    pub(crate) fn shrink(&mut self) {
        self.of.shrink_to_fit();
    }

    /// Moves the spans of process `from` to process `into`.
    pub(crate) fn move_process(&mut self, from: ProcessId, into: ProcessId) {
        for (process, _) in self.pairs.iter_mut().filter(|(process, _)| *process == from) {
            *process = into;
        }
        // Two pairs may be one now: either id says the same.
        self.ids = self.pairs.iter().enumerate().map(|(id, pair)| (*pair, id as u32)).collect();
    }

    /// Adds those of all spans of `other`; `here` gives a pair its ids here.
    pub(crate) fn append(
        &mut self,
        other: Self,
        here: impl Fn(ProcessId, SourceId) -> (ProcessId, SourceId),
    ) {
        let ids: Vec<u32> =
            other.pairs.iter().map(|(process, source)| self.id(here(*process, *source))).collect();
        self.of.extend(other.of.into_iter().map(|id| ids[id as usize]));
    }

    /// Forgets the spans. Pairs stay: the next spans will have them too.
    #[cfg(feature = "disk")]
    pub(crate) fn clear(&mut self) {
        self.of.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(process: u32, source: u32) -> (ProcessId, SourceId) {
        (ProcessId(process), SourceId(source))
    }

    #[test]
    fn pairs_come_back_also_when_a_process_has_become_another() {
        let mut origins = Origins::default();
        for (process, source) in [(0, 0), (0, 0), (1, 0), (0, 1), (1, 0)] {
            origins.push(ProcessId(process), SourceId(source));
        }
        origins.move_process(ProcessId(1), ProcessId(0));
        origins.push(ProcessId(0), SourceId(0));
        let mut more = Origins::default();
        more.push(ProcessId(0), SourceId(0));
        origins.append(more, |process, source| (ProcessId(process.0 + 5), SourceId(source.0 + 7)));
        let seen: Vec<_> = origins.rows(0..7).collect();
        let expected = [(0, 0), (0, 0), (0, 0), (0, 1), (0, 0), (0, 0), (5, 7)];
        assert_eq!(seen, expected.map(|(process, source)| pair(process, source)));
    }
}
