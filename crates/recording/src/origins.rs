//! Where each row of a table comes from: a span's process and source, a sample's kind besides. A
//! recording has few of them that differ, so that each is kept once.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;

use rustc_hash::FxBuildHasher;

/// The origins of all rows of a table, in the order of the rows.
#[derive(Clone, Debug)]
pub(crate) struct Origins<T> {
    /// Those that there are; that of a row is an index into it.
    known: Vec<T>,
    ids: HashMap<T, u32, FxBuildHasher>,
    of: Vec<u32>,
}

impl<T> Default for Origins<T> {
    fn default() -> Self {
        Self { known: Vec::new(), ids: HashMap::default(), of: Vec::new() }
    }
}

impl<T: Copy + Eq + Hash> Origins<T> {
    /// Adds the next row's.
    pub(crate) fn push(&mut self, origin: T) {
        let last = self.of.last().copied().filter(|id| self.known[*id as usize] == origin);
        let id = last.unwrap_or_else(|| self.id(origin));
        self.of.push(id);
    }

    fn id(&mut self, origin: T) -> u32 {
        let known = &mut self.known;
        *self.ids.entry(origin).or_insert_with(|| {
            known.push(origin);
            known.len() as u32 - 1
        })
    }

    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.of.len()
    }

    /// That of row `i`.
    #[inline]
    pub(crate) fn of(&self, i: usize) -> T {
        self.known[self.of[i] as usize]
    }

    /// That of the last row.
    pub(crate) fn last(&self) -> Option<T> {
        self.of.last().map(|id| self.known[*id as usize])
    }

    /// Those of some rows.
    pub(crate) fn rows(&self, rows: Range<usize>) -> impl ExactSizeIterator<Item = T> + Clone + '_ {
        self.of[rows].iter().map(|id| self.known[*id as usize])
    }

    /// Memory that they take, bytes.
    pub(crate) fn bytes(&self) -> usize {
        4 * self.of.capacity() + (2 * size_of::<T>() + 8) * self.known.len()
    }

    /// Gives back what is reserved for more.
    pub(crate) fn shrink(&mut self) {
        self.of.shrink_to_fit();
    }

    /// Makes others of them.
    pub(crate) fn change(&mut self, change: impl FnMut(&mut T)) {
        self.known.iter_mut().for_each(change);
        // Two may be the same now: either id says so.
        self.ids = self.known.iter().enumerate().map(|(id, origin)| (*origin, id as u32)).collect();
    }

    /// Adds those of all rows of `other`; `here` makes of one what it is here.
    pub(crate) fn append(&mut self, other: Self, here: impl Fn(T) -> T) {
        let ids: Vec<u32> = other.known.iter().map(|origin| self.id(here(*origin))).collect();
        self.of.extend(other.of.into_iter().map(|id| ids[id as usize]));
    }

    /// Forgets the rows. What is known stays: the next rows will have it too.
    #[cfg(feature = "disk")]
    pub(crate) fn clear(&mut self) {
        self.of.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ProcessId, SourceId};

    fn pair(process: u32, source: u32) -> (ProcessId, SourceId) {
        (ProcessId(process), SourceId(source))
    }

    #[test]
    fn origins_come_back_also_when_a_process_has_become_another() {
        let mut origins = Origins::default();
        for (process, source) in [(0, 0), (0, 0), (1, 0), (0, 1), (1, 0)] {
            origins.push(pair(process, source));
        }
        origins.change(|(process, _)| *process = ProcessId(0));
        origins.push(pair(0, 0));
        assert_eq!(origins.last(), Some(pair(0, 0)));
        let mut more = Origins::default();
        more.push(pair(0, 0));
        origins.append(more, |(process, source)| pair(process.0 + 5, source.0 + 7));
        let seen: Vec<_> = origins.rows(0..7).collect();
        let expected = [(0, 0), (0, 0), (0, 0), (0, 1), (0, 0), (0, 0), (5, 7)];
        assert_eq!(seen, expected.map(|(process, source)| pair(process, source)));
    }
}
