//! The origin of each row of a table: a span's process and source, and for a sample its kind as
//! well. A recording has few distinct ones, so that each is kept once.

use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;

use rustc_hash::FxBuildHasher;

/// The origins of all rows of a table, in the order of the rows.
#[derive(Clone, Debug)]
pub(crate) struct Origins<T> {
    /// The distinct origins; a row has an index into it.
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
    /// Adds the origin of the next row.
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

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.of.len()
    }

    /// The origin of row `i`.
    #[inline]
    pub(crate) fn of(&self, i: usize) -> T {
        self.known[self.of[i] as usize]
    }

    /// The origin of the last row.
    pub(crate) fn last(&self) -> Option<T> {
        self.of.last().map(|id| self.known[*id as usize])
    }

    /// The origins of some rows.
    pub(crate) fn rows(&self, rows: Range<usize>) -> impl ExactSizeIterator<Item = T> + Clone + '_ {
        self.of[rows].iter().map(|id| self.known[*id as usize])
    }

    /// Memory in use, bytes.
    pub(crate) fn bytes(&self) -> usize {
        4 * self.of.capacity() + (2 * size_of::<T>() + 8) * self.known.len()
    }

    /// Releases reserved memory.
    pub(crate) fn shrink(&mut self) {
        self.of.shrink_to_fit();
    }

    /// Changes the distinct origins.
    pub(crate) fn change(&mut self, change: impl FnMut(&mut T)) {
        self.known.iter_mut().for_each(change);
        // Two may be equal now: either id will do.
        self.ids = self.known.iter().enumerate().map(|(id, origin)| (*origin, id as u32)).collect();
    }

    /// Adds the origins of all rows of `other`; `here` maps each to what it is here.
    pub(crate) fn append(&mut self, other: Self, here: impl Fn(T) -> T) {
        let ids: Vec<u32> = other.known.iter().map(|origin| self.id(here(*origin))).collect();
        self.of.extend(other.of.into_iter().map(|id| ids[id as usize]));
    }

    /// Drops the rows. The distinct origins stay: the next rows will have them too.
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
