//! What every object refers to, as rows of bytes: one to two bytes a reference in most heaps.
//!
//! ```text
//!   row: reference … 0
//!   reference: difference to the object before it in the row, to the row's own at first
//!              sign in the lowest bit, seven bits a byte, the lowest first, more to come: 0x80
//! ```
//!
//! What an object refers to mostly lies near it, or near what it refers to before that. A
//! difference of 0 ends the row: an object's reference to itself at the row's beginning, and the
//! same one twice in a row, say nothing about who keeps whom and are left out. Where every
//! sixteenth row begins is noted, those between are found by counting ends; objects of kinds
//! without references have no row.

use crate::column::{Column, Storage};
use crate::kinds::BLOCK;

/// Rows while they are written, in the order of their objects.
#[derive(Debug)]
pub struct Rows {
    bytes: Column<u8>,
    /// Where the row of every sixteenth object begins.
    blocks: Column<u64>,
    /// Which of the sixteen have a row, a bit each.
    have: Column<u16>,
}

/// A place in a row.
#[derive(Clone, Copy, Debug)]
pub struct At {
    /// The next byte.
    pub at: u64,
    /// The object that was read last.
    pub last: u32,
}

impl Rows {
    /// None yet, with room for those of so many objects.
    pub fn new(storage: Storage, objects: usize) -> Self {
        let blocks = Column::with_room(storage, objects.div_ceil(BLOCK as usize));
        let have = Column::with_room(storage, objects.div_ceil(BLOCK as usize));
        Self { bytes: Column::with_room(storage, 4 * objects), blocks, have }
    }

    /// Begins the row of an object, or passes it over where it has none. The first object's number
    /// is a multiple of the block's.
    #[inline]
    pub fn begin(&mut self, node: u32, refers: bool) {
        if node.is_multiple_of(BLOCK) {
            self.blocks.push(self.bytes.len() as u64);
            self.have.push(0);
        }
        let block = self.have.len() - 1;
        self.have[block] |= u16::from(refers) << (node % BLOCK);
    }

    /// Adds a reference to the row; `last` is the one before, at first the object itself. Whether
    /// it is not left out.
    #[inline]
    pub fn add(&mut self, last: &mut u32, to: u32) -> bool {
        let difference = i64::from(to) - i64::from(*last);
        if difference == 0 {
            return false;
        }
        *last = to;
        let mut left = ((difference << 1) ^ (difference >> 63)).cast_unsigned();
        while left >= 0x80 {
            self.bytes.push(left as u8 | 0x80);
            left >>= 7;
        }
        self.bytes.push(left as u8);
        true
    }

    /// Ends the row.
    #[inline]
    pub fn end(&mut self) {
        self.bytes.push(0);
    }

    /// Rows of the objects behind those that are here.
    pub fn append(&mut self, rows: &Self) {
        let begin = self.bytes.len() as u64;
        rows.blocks.iter().for_each(|at| self.blocks.push(begin + at));
        self.bytes.extend_from_slice(&rows.bytes);
        self.have.extend_from_slice(&rows.have);
    }

    /// The beginning of an object's row; `None`: it has none.
    #[inline]
    pub fn row(&self, node: u32) -> Option<At> {
        let (block, bit) = ((node / BLOCK) as usize, 1 << (node % BLOCK));
        let have = self.have[block];
        if have & bit == 0 {
            return None;
        }
        let rows = (have & (bit - 1)).count_ones();
        Some(At { at: self.behind(self.blocks[block], rows as usize), last: node })
    }

    /// The rows of all objects of the block that begins with this one.
    pub fn block(&self, first: u32) -> [Option<At>; BLOCK as usize] {
        let block = (first / BLOCK) as usize;
        let (mut at, have) = (self.blocks[block], self.have[block]);
        std::array::from_fn(|bit| {
            (have >> bit & 1 == 1).then(|| {
                let row = At { at, last: first + bit as u32 };
                at = self.behind(at, 1);
                row
            })
        })
    }

    /// The place behind so many ends of rows.
    #[inline]
    fn behind(&self, at: u64, mut rows: usize) -> u64 {
        const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
        let mut at = at as usize;
        while rows > 0 {
            // One end after the other: there are few, and counting bits takes longer where the
            // CPU is not known to do it.
            let Some(eight) = self.bytes.get(at..at + 8).and_then(|eight| eight.try_into().ok()) else {
                rows -= usize::from(self.bytes[at] == 0);
                at += 1;
                continue;
            };
            let eight = u64::from_le_bytes(eight);
            // The uppermost bit of every byte that is zero (Warren, Hacker's Delight, 6-1).
            let mut zeros = !(((eight & LOW) + LOW) | eight | LOW);
            while zeros != 0 {
                if rows == 1 {
                    return (at + zeros.trailing_zeros() as usize / 8 + 1) as u64;
                }
                zeros &= zeros - 1;
                rows -= 1;
            }
            at += 8;
        }
        at as u64
    }

    /// Whether the row has an end here.
    #[inline]
    pub fn is_end(&self, at: u64) -> bool {
        self.bytes[at as usize] == 0
    }

    /// The next object of a row.
    #[inline]
    pub fn next(&self, at: &mut At) -> Option<u32> {
        let bytes = &self.bytes[at.at as usize..];
        let mut value = u64::from(bytes[0]);
        if value == 0 {
            return None;
        }
        let mut taken = 1;
        if value >= 0x80 {
            value &= 0x7f;
            loop {
                let byte = u64::from(bytes[taken]);
                value |= (byte & 0x7f) << (7 * taken);
                taken += 1;
                if byte < 0x80 {
                    break;
                }
            }
        }
        at.at += taken as u64;
        let difference = (value >> 1).cast_signed() ^ -(value & 1).cast_signed();
        at.last = (i64::from(at.last) + difference) as u32;
        Some(at.last)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rows_are_read_as_they_were_written(
            given in prop::collection::vec(prop::option::of(prop::collection::vec(any::<u32>(), 0..6)), 1..120)
        ) {
            let (mut first, mut second) = (Rows::new(Storage::Memory, 64), Rows::new(Storage::Memory, 64));
            for (node, row) in given.iter().enumerate() {
                let rows = if node < 48 { &mut first } else { &mut second };
                rows.begin(node as u32, row.is_some());
                if let Some(row) = row {
                    let mut last = node as u32;
                    for to in row {
                        rows.add(&mut last, *to);
                    }
                    rows.end();
                }
            }
            first.append(&second);
            for (node, row) in given.iter().enumerate() {
                let mut expected = row.clone().unwrap_or_default();
                expected.insert(0, node as u32);
                expected.dedup();
                let mut at = first.row(node as u32);
                prop_assert_eq!(at.is_some(), row.is_some());
                let block = first.block(node as u32 / BLOCK * BLOCK);
                prop_assert_eq!(at.map(|at| at.at), block[node % BLOCK as usize].map(|at| at.at));
                let read: Vec<u32> = at.iter_mut().flat_map(|at| std::iter::from_fn(|| first.next(at))).collect();
                prop_assert_eq!(&read[..], &expected[1..]);
            }
        }
    }
}
