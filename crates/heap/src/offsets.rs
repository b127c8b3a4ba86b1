//! Where the rows of a table of rows begin: four bytes each until the table has 2³² entries, five
//! from then on.

use crate::column::{Column, Storage};

/// Offsets that only grow, the last one being the end.
#[derive(Debug)]
pub struct Offsets {
    low: Column<u32>,
    /// The bits above; not there as long as all of them are zero.
    high: Column<u8>,
}

impl Offsets {
    /// None yet, with room for so many.
    pub fn with_room(storage: Storage, rows: usize) -> Self {
        Self { low: Column::with_room(storage, rows + 1), high: Column::with_room(storage, rows + 1) }
    }

    /// Appends one. Offsets of 2⁴⁰ and more do not come up: that many references take 4 TB.
    pub fn push(&mut self, offset: u64) {
        let high = (offset >> 32) as u8;
        if high > 0 || !self.high.is_empty() {
            while self.high.len() < self.low.len() {
                self.high.push(0);
            }
            self.high.push(high);
        }
        self.low.push(offset as u32);
    }

    /// The offset of a row.
    #[inline]
    pub fn get(&self, row: usize) -> usize {
        let high = self.high.get(row).copied().unwrap_or(0);
        (u64::from(high) << 32 | u64::from(self.low[row])) as usize
    }

    /// A row's entries.
    #[inline]
    pub fn row(&self, row: usize) -> std::ops::Range<usize> {
        self.get(row)..self.get(row + 1)
    }

    /// Changes one.
    #[inline]
    fn set(&mut self, row: usize, offset: u64) {
        self.low[row] = offset as u32;
        if let Some(high) = self.high.get_mut(row) {
            *high = (offset >> 32) as u8;
        }
    }

    /// Rows from how many entries each has: `each` calls back once for every entry with its row,
    /// twice in all, in any order.
    pub fn fill(
        storage: Storage,
        rows: usize,
        each: impl Fn(&mut dyn FnMut(u32, u32)),
    ) -> (Self, Column<u32>) {
        let mut counts = Column::<u32>::zeroed(storage, rows);
        each(&mut |row, _| counts[row as usize] = counts[row as usize].saturating_add(1));
        let mut offsets = Self::with_room(storage, rows);
        let mut end = 0;
        for count in &*counts {
            end += u64::from(*count);
            offsets.push(end);
        }
        offsets.push(end);
        drop(counts);
        let mut entries = Column::zeroed(storage, end as usize);
        // Each row is filled from its end, so that its offset is where it begins when it is full.
        each(&mut |row, entry| {
            let at = (offsets.get(row as usize) as u64).saturating_sub(1);
            offsets.set(row as usize, at);
            entries[at as usize] = entry;
        });
        (offsets, entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_beyond_32_bits_keep_the_small_ones() {
        let mut offsets = Offsets::with_room(Storage::Memory, 5);
        let all = [0, 7, u64::from(u32::MAX), 1 << 32, (5 << 32) + 3];
        all.into_iter().for_each(|offset| offsets.push(offset));
        assert_eq!((0..5).map(|row| offsets.get(row) as u64).collect::<Vec<_>>(), all);
        assert_eq!(offsets.row(3), (1 << 32)..((5 << 32) + 3));
    }

    #[test]
    fn rows_are_filled_whatever_the_order_of_entries() {
        let pairs = [(2, 20), (0, 1), (2, 21), (0, 2), (0, 3)];
        let (offsets, entries) =
            Offsets::fill(Storage::Memory, 4, |add| pairs.iter().for_each(|(row, entry)| add(*row, *entry)));
        let mut rows: Vec<Vec<u32>> = (0..4).map(|row| entries[offsets.row(row)].to_vec()).collect();
        rows.iter_mut().for_each(|row| row.sort_unstable());
        assert_eq!(rows, [vec![1, 2, 3], vec![], vec![20, 21], vec![]]);
    }
}
