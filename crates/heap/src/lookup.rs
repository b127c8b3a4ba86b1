//! From a key to its place among sorted ones: a table of the keys' upper bits in front of a binary
//! search.
//!
//! References mostly lead to other places of the heap, so that a search over all keys misses the
//! cache some twenty times. The table leaves a few candidates.

use std::cmp::Ordering;

use crate::column::{Column, Storage};

/// The table.
#[derive(Debug)]
pub struct Lookup {
    first: u64,
    shift: u32,
    /// The first key of each slot, and the end.
    slots: Column<u32>,
}

impl Lookup {
    /// Of so many sorted keys: a slot each on average.
    pub fn new(storage: Storage, keys: usize, key: impl Fn(usize) -> u64) -> Self {
        let (first, last) = if keys == 0 { (0, 0) } else { (key(0), key(keys - 1)) };
        let mut shift = 0;
        while (last - first) >> shift > keys as u64 {
            shift += 1;
        }
        let count = ((last - first) >> shift) as usize + 1;
        let mut slots = Column::with_room(storage, count + 1);
        for at in 0..keys {
            let slot = ((key(at) - first) >> shift) as usize;
            while slots.len() <= slot {
                slots.push(at as u32);
            }
        }
        while slots.len() <= count {
            slots.push(keys as u32);
        }
        Self { first, shift, slots }
    }

    /// The place of a key.
    #[inline]
    pub fn find(&self, key: u64, key_at: impl Fn(usize) -> u64) -> Option<u32> {
        let slot = (key.checked_sub(self.first)? >> self.shift) as usize;
        let mut end = *self.slots.get(slot.checked_add(1)?)?;
        let mut begin = self.slots[slot];
        while begin < end {
            let middle = begin + (end - begin) / 2;
            match key_at(middle as usize).cmp(&key) {
                Ordering::Equal => return Some(middle),
                Ordering::Less => begin = middle + 1,
                Ordering::Greater => end = middle,
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_key_is_found_and_no_other(mut keys in prop::collection::vec(any::<u64>(), 0..200), other: u64) {
            keys.sort_unstable();
            keys.dedup();
            let lookup = Lookup::new(Storage::Memory, keys.len(), |at| keys[at]);
            for (at, key) in keys.iter().enumerate() {
                prop_assert_eq!(lookup.find(*key, |at| keys[at]), Some(at as u32));
            }
            prop_assert_eq!(lookup.find(other, |at| keys[at]).is_some(), keys.contains(&other));
        }
    }
}
