//! Columns of numbers that are nearly all small or absent, stored compactly because a large
//! recording has many rows.

use std::ops::Range;

/// Numbers in 32 bits each until one does not fit; from then on all are kept in 64 bits.
#[derive(Clone, Debug)]
pub(crate) enum Narrow {
    /// All fit so far.
    Words(Vec<u32>),
    /// One did not.
    Wide(Vec<u64>),
}

impl Default for Narrow {
    fn default() -> Self {
        Self::Words(Vec::new())
    }
}

impl Narrow {
    /// Adds a number.
    pub(crate) fn push(&mut self, value: u64) {
        match (&mut *self, u32::try_from(value)) {
            (Self::Words(words), Ok(word)) => words.push(word),
            _ => self.widened().push(value),
        }
    }

    /// Converts to 64 bits.
    fn widened(&mut self) -> &mut Vec<u64> {
        if let Self::Words(words) = self {
            *self = Self::Wide(words.iter().map(|word| u64::from(*word)).collect());
        }
        match self {
            Self::Wide(wide) => wide,
            Self::Words(_) => unreachable!("made wide above"),
        }
    }

    /// The number of row `i`.
    #[inline]
    pub(crate) fn get(&self, i: usize) -> u64 {
        match self {
            Self::Words(words) => u64::from(words[i]),
            Self::Wide(wide) => wide[i],
        }
    }

    /// Changes the number of row `i`.
    pub(crate) fn set(&mut self, i: usize, value: u64) {
        match (&mut *self, u32::try_from(value)) {
            (Self::Words(words), Ok(word)) => words[i] = word,
            _ => self.widened()[i] = value,
        }
    }

    /// The numbers of some rows.
    pub(crate) fn rows(&self, rows: Range<usize>) -> impl Iterator<Item = u64> + '_ {
        rows.map(|i| self.get(i))
    }

    /// Releases reserved memory.
    pub(crate) fn shrink(&mut self) {
        match self {
            Self::Words(words) => words.shrink_to_fit(),
            Self::Wide(wide) => wide.shrink_to_fit(),
        }
    }

    /// Memory in use, bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Words(words) => 4 * words.capacity(),
            Self::Wide(wide) => 8 * wide.capacity(),
        }
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Words(words) => words.len(),
            Self::Wide(wide) => wide.len(),
        }
    }

    /// Drops all rows.
    #[cfg(feature = "disk")]
    pub(crate) fn clear(&mut self) {
        match self {
            Self::Words(words) => words.clear(),
            Self::Wide(wide) => wide.clear(),
        }
    }
}

/// "None" in a column of ids.
pub(crate) const NONE: u32 = u32::MAX;

/// Ids that most recordings have few or none of: rows after the last one are [`NONE`] and take no
/// memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sparse(Vec<u32>);

impl Sparse {
    /// Sets the id of row `i`; no later row may have been set.
    pub(crate) fn put(&mut self, i: usize, id: u32) {
        if id != NONE {
            self.0.resize(i, NONE);
            self.0.push(id);
        }
    }

    /// The id of row `i`.
    #[inline]
    pub(crate) fn get(&self, i: usize) -> u32 {
        self.0.get(i).copied().unwrap_or(NONE)
    }

    /// The ids of some rows.
    #[cfg(feature = "disk")]
    pub(crate) fn rows(&self, rows: Range<usize>) -> impl Iterator<Item = u32> + '_ {
        rows.map(|i| self.get(i))
    }

    /// Memory in use, bytes.
    pub(crate) fn bytes(&self) -> usize {
        4 * self.0.capacity()
    }

    /// Releases reserved memory.
    pub(crate) fn shrink(&mut self) {
        self.0.shrink_to_fit();
    }

    /// The ids up to the last one that is set.
    pub(crate) fn into_iter(self) -> impl Iterator<Item = u32> {
        self.0.into_iter()
    }

    /// Drops all rows.
    #[cfg(feature = "disk")]
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_whatever_their_size() {
        let values = [0, 7, u64::from(u32::MAX), 1 << 32, 3, u64::MAX];
        let mut column = Narrow::default();
        for (i, value) in values.iter().enumerate() {
            column.push(*value);
            let expected = &values[..=i];
            assert!(column.rows(0..column.len()).eq(expected.iter().copied()));
        }
        let mut column = Narrow::default();
        [1, 2, 3].into_iter().for_each(|n| column.push(n));
        column.set(1, 9);
        column.set(2, u64::MAX);
        assert!(column.rows(0..3).eq([1, 9, u64::MAX]));
    }

    #[test]
    fn absent_ids_are_absent_before_and_behind_those_that_are_there() {
        let mut column = Sparse::default();
        [(0, NONE), (3, 8), (4, NONE), (5, 9)].into_iter().for_each(|(i, id)| column.put(i, id));
        let ids: Vec<_> = (0..8).map(|i| column.get(i)).collect();
        assert_eq!(ids, [NONE, NONE, NONE, 8, NONE, 9, NONE, NONE]);
    }
}
