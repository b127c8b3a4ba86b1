//! Numbers that take as many bits as the largest of them needs: 25 for those of 30 million objects,
//! where a column has 32.

use crate::column::{Column, Storage};

/// The numbers.
#[derive(Debug)]
pub struct Packed {
    words: Column<u64>,
    width: usize,
    mask: u64,
}

impl Packed {
    /// So many zeros, in place of which there may be numbers up to `most`.
    pub fn zeroed(storage: Storage, len: usize, most: u32) -> Self {
        let width = (u32::BITS - most.leading_zeros()).max(1) as usize;
        // One word more, so that two can be read at any place.
        let words = (len * width).div_ceil(64) + 1;
        Self { words: Column::zeroed(storage, words), width, mask: (1 << width) - 1 }
    }

    /// One of them.
    #[inline]
    pub fn get(&self, at: usize) -> u32 {
        let bit = at * self.width;
        let (word, shift) = (bit / 64, bit % 64);
        let two = u128::from(self.words[word + 1]) << 64 | u128::from(self.words[word]);
        ((two >> shift) as u64 & self.mask) as u32
    }

    /// Changes one.
    #[inline]
    pub fn set(&mut self, at: usize, value: u32) {
        let bit = at * self.width;
        let (word, shift) = (bit / 64, bit % 64);
        let value = u64::from(value) & self.mask;
        self.words[word] = self.words[word] & !(self.mask << shift) | value << shift;
        if shift + self.width > 64 {
            let begun = 64 - shift;
            self.words[word + 1] = self.words[word + 1] & !(self.mask >> begun) | value >> begun;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_are_what_was_put_there_last(most in 1_u32.., changes in prop::collection::vec((0_usize..90, any::<u32>()), 1..300)) {
            let mut packed = Packed::zeroed(Storage::Memory, 90, most);
            let mut plain = [0_u32; 90];
            for (at, value) in changes {
                let value = if most == u32::MAX { value } else { value % (most + 1) };
                packed.set(at, value);
                plain[at] = value;
                prop_assert_eq!((0..90).map(|at| packed.get(at)).collect::<Vec<_>>(), plain);
            }
        }
    }

    #[test]
    fn numbers_beyond_31_bits_have_their_places() {
        // Pages that nobody writes to take no memory.
        let most = crate::numbers::MOST_OBJECTS;
        let mut packed = Packed::zeroed(Storage::Memory, most as usize + 2, most + 1);
        let all = [0, 1 << 31, (1 << 31) + 1, most, most + 1];
        all.iter().for_each(|at| packed.set(*at as usize, most + 1 - at));
        assert_eq!(all.map(|at| packed.get(at as usize)), all.map(|at| most + 1 - at));
        assert_eq!(packed.get((1 << 31) + 2), 0);
    }
}
