//! Numbers that take as many bits as the largest of them needs: 25 for those of 30 million objects,
//! where a column has 32.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::column::{Column, Storage};

/// Bytes that are read and written at once: a number of 32 bits that begins at any bit is in them.
const AT_ONCE: usize = 8;

/// So many numbers begin and end with a byte.
pub const EIGHT: usize = 8;

/// The numbers.
#[derive(Debug)]
pub struct Packed {
    bytes: Column<u8>,
    width: usize,
    mask: u64,
}

impl Packed {
    /// So many zeros, in place of which there may be numbers up to `most`.
    pub fn zeroed(storage: Storage, len: usize, most: u32) -> Self {
        let width = (u32::BITS - most.leading_zeros()).max(1) as usize;
        // More than they need, so that as many can be read at the last one; whole words.
        let bytes = (len.next_multiple_of(EIGHT) * width).next_multiple_of(u64::BITS as usize) / 8 + AT_ONCE;
        Self { bytes: Column::zeroed(storage, bytes), width, mask: (1 << width) - 1 }
    }

    /// Asks for the memory of all of them, as all are written to.
    pub fn populated(self) -> Self {
        self.bytes.populate();
        self
    }

    /// The same for several threads at once, to put numbers in place of zeros.
    pub fn shared(&mut self) -> SharedPacked<'_> {
        let bytes: &mut [u8] = &mut self.bytes;
        let words = std::ptr::slice_from_raw_parts(bytes.as_ptr().cast::<AtomicU64>(), bytes.len() / 8);
        // SAFETY: it is borrowed alone for as long as this is; a column begins with a page, which
        // is aligned for words of eight bytes, and has as many of them.
        SharedPacked { words: unsafe { &*words }, width: self.width }
    }

    /// The bytes that a number is in, and the bit of them with which it begins.
    #[inline]
    fn place(&self, at: usize) -> (Range<usize>, usize) {
        let bit = at * self.width;
        (bit / 8..bit / 8 + AT_ONCE, bit % 8)
    }

    /// One of them.
    #[inline]
    pub fn get(&self, at: usize) -> u32 {
        let (place, shift) = self.place(at);
        let bytes = self.bytes[place].try_into().unwrap_or([0; AT_ONCE]);
        (u64::from_le_bytes(bytes) >> shift & self.mask) as u32
    }

    /// Changes one.
    #[inline]
    pub fn set(&mut self, at: usize, value: u32) {
        let (place, shift) = self.place(at);
        let mask = self.mask << shift;
        let bytes = &mut self.bytes[place];
        let before = u64::from_le_bytes((&*bytes).try_into().unwrap_or([0; AT_ONCE]));
        let after = before & !mask | u64::from(value) << shift & mask;
        bytes.copy_from_slice(&after.to_le_bytes());
    }

    /// Changes eight that follow one another, the first a multiple of eight. Faster than one by
    /// one, each of which waits until the one before is written.
    #[inline]
    pub fn set_eight(&mut self, first: usize, values: [u32; EIGHT]) {
        let half = |values: &[u32]| {
            values
                .iter()
                .rev()
                .fold(0, |all, value| all << self.width | u128::from(*value) & u128::from(self.mask))
        };
        let (low, high) = values.split_at(EIGHT / 2);
        let (low, high, bits) = (half(low), half(high), self.width as u32 * 4);
        // A half is 4 to 128 bits.
        let (low, high) = match bits {
            128 => (low, high),
            _ => (low | high << bits, high >> (128 - bits)),
        };
        let mut bytes = [0; 32];
        bytes[..16].copy_from_slice(&low.to_le_bytes());
        bytes[16..].copy_from_slice(&high.to_le_bytes());
        let begin = first / EIGHT * self.width;
        self.bytes[begin..begin + self.width].copy_from_slice(&bytes[..self.width]);
    }
}

/// The numbers for several threads at once.
#[derive(Clone, Copy, Debug)]
pub struct SharedPacked<'a> {
    words: &'a [AtomicU64],
    width: usize,
}

impl SharedPacked<'_> {
    /// Puts a number where there is a zero.
    #[inline]
    pub fn put(self, at: usize, value: u32) {
        let bit = at * self.width;
        let (word, shift) = (bit / 64, bit % 64);
        self.words[word].fetch_or((u64::from(value) << shift).to_le(), Ordering::Relaxed);
        if shift + self.width > 64 {
            self.words[word + 1].fetch_or((u64::from(value) >> (64 - shift)).to_le(), Ordering::Relaxed);
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
                let first = at / 11 * EIGHT;
                let eight: [u32; EIGHT] = std::array::from_fn(|at| value.rotate_left(3 * at as u32) & packed.mask as u32);
                packed.set_eight(first, eight);
                plain[first..first + EIGHT].copy_from_slice(&eight);
                prop_assert_eq!((0..90).map(|at| packed.get(at)).collect::<Vec<_>>(), plain);
            }
        }
    }

    proptest! {
        #[test]
        fn numbers_that_several_threads_put_there_are_there(most in 1_u32.., seed: u32) {
            let mut packed = Packed::zeroed(Storage::Memory, 300, most);
            let of = |at: usize| (at as u32).wrapping_mul(2_654_435_761) ^ seed;
            let of = |at| if most == u32::MAX { of(at) } else { of(at) % (most + 1) };
            let shared = packed.shared();
            std::thread::scope(|scope| {
                for begin in 0..2 {
                    scope.spawn(move || (begin..300).step_by(2).for_each(|at| shared.put(at, of(at))));
                }
            });
            prop_assert!((0..300).all(|at| packed.get(at) == of(at)));
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
