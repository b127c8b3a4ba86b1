//! A set of numbers: one bit for each, and, once it is counted, in front of every 64 how many are
//! before them: half a bit a number more, so that one word is counted where a number's place among
//! the others is asked for (it is not known when fathom is compiled that CPUs count bits).

use std::sync::atomic::{AtomicU64, Ordering};

use crate::column::{Column, Storage};

/// The set.
#[derive(Debug)]
pub struct Bits {
    words: Column<u64>,
    /// How many are in the set before each word; filled by [`Bits::count`].
    before: Column<u32>,
}

impl Bits {
    /// None of so many numbers.
    pub fn none(storage: Storage, numbers: usize) -> Self {
        // One word more, so that what is behind all of them has a place.
        let words = numbers / 64 + 1;
        Self { words: Column::zeroed(storage, words), before: Column::zeroed(storage, words) }
    }

    /// Adds one.
    #[inline]
    pub fn add(&mut self, number: u32) {
        self.words[number as usize / 64] |= 1 << (number % 64);
    }

    /// Whether one is in it.
    #[inline]
    pub fn has(&self, number: u32) -> bool {
        self.words[number as usize / 64] >> (number % 64) & 1 == 1
    }

    /// Sixteen of them, from a multiple of sixteen on: the first is the lowest bit.
    #[inline]
    pub fn sixteen(&self, first: u32) -> u16 {
        (self.words[first as usize / 64] >> (first % 64)) as u16
    }

    /// Adds those of another set of the same numbers.
    pub fn add_all(&mut self, other: &Self) {
        self.words.iter_mut().zip(&*other.words).for_each(|(word, other)| *word |= other);
    }

    /// Adds those that are in two other sets of the same numbers.
    pub fn add_common(&mut self, one: &Self, other: &Self) {
        let common = one.words.iter().zip(&*other.words).map(|(one, other)| one & other);
        self.words.iter_mut().zip(common).for_each(|(word, common)| *word |= common);
    }

    /// Takes out those of another set of the same numbers.
    pub fn take_out(&mut self, other: &Self) {
        self.words.iter_mut().zip(&*other.words).for_each(|(word, other)| *word &= !other);
    }

    /// The same set for several threads at once.
    pub fn shared(&mut self) -> SharedBits<'_> {
        let words: &mut [u64] = &mut self.words;
        // SAFETY: it is borrowed alone for as long as this is, and an atomic number has the size
        // and the alignment of a plain one.
        SharedBits(unsafe { &*(std::ptr::from_mut(words) as *const [AtomicU64]) })
    }

    /// Those from the smallest on.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.words.iter().enumerate().flat_map(|(word, bits)| {
            let mut left = *bits;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some(word as u32 * 64 + bit)
            })
        })
    }

    /// Counts; how many there are. Nothing is added afterwards.
    pub fn count(&mut self) -> u32 {
        let mut sum = 0;
        for (word, before) in self.words.iter().zip(self.before.iter_mut()) {
            *before = sum;
            sum += word.count_ones();
        }
        sum
    }

    /// How many there are.
    pub fn all(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// How many smaller ones are in it, once it is counted.
    #[inline]
    pub fn before(&self, number: u32) -> u32 {
        let word = number as usize / 64;
        let part = self.words[word] & ((1 << (number % 64)) - 1);
        self.before[word] + part.count_ones()
    }
}

/// A set that several threads look at and add to.
#[derive(Clone, Copy, Debug)]
pub struct SharedBits<'a>(&'a [AtomicU64]);

impl SharedBits<'_> {
    /// Adds one.
    #[inline]
    pub fn add(self, number: u32) {
        self.0[number as usize / 64].fetch_or(1 << (number % 64), Ordering::Relaxed);
    }

    /// Whether one is in it.
    #[inline]
    pub fn has(self, number: u32) -> bool {
        self.0[number as usize / 64].load(Ordering::Relaxed) >> (number % 64) & 1 == 1
    }

    /// As [`Bits::sixteen`].
    #[inline]
    pub fn sixteen(self, first: u32) -> u16 {
        (self.0[first as usize / 64].load(Ordering::Relaxed) >> (first % 64)) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_knows_how_many_are_before_it() {
        let mut bits = Bits::none(Storage::Memory, 3000);
        let all: Vec<u32> = (0..3000).filter(|n| n % 7 == 3 || *n > 2500).collect();
        all.iter().for_each(|n| bits.add(*n));
        assert_eq!(bits.iter().collect::<Vec<_>>(), all);
        assert_eq!(bits.count() as usize, all.len());
        for n in 0..3000 {
            assert_eq!(bits.before(n) as usize, all.partition_point(|known| *known < n), "{n}");
            assert_eq!(bits.has(n), all.contains(&n));
        }
    }

    #[test]
    fn numbers_beyond_31_bits_are_distinguished() {
        let most = crate::numbers::MOST_OBJECTS;
        let mut bits = Bits::none(Storage::Memory, most as usize + 1);
        let all = [5, 1 << 31, (1 << 31) + 5, most];
        all.iter().for_each(|number| bits.add(*number));
        assert_eq!(bits.count(), 4);
        assert_eq!(all.map(|number| bits.before(number)), [0, 1, 2, 3]);
        assert!(!bits.has(most - 1) && bits.has(most));
    }
}
