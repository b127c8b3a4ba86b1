//! From an address to the number of its object: a table of the addresses' upper bits in front of a
//! binary search.
//!
//! References mostly lead to other places of the heap, so that a search over all addresses misses
//! the cache some twenty times. The table leaves a few candidates.

use crate::column::{Column, Storage};
use crate::heap::Entry;

/// Objects that a slot stands for on average.
const OBJECTS_A_SLOT: u64 = 4;

/// The table.
#[derive(Debug)]
pub struct Lookup {
    first: u64,
    shift: u32,
    /// The first object of each slot, and the end.
    slots: Column<u32>,
}

impl Lookup {
    /// Of objects in the order of their addresses.
    pub fn new(storage: Storage, entries: &[Entry]) -> Self {
        let first = entries.first().map_or(0, |entry| entry.address);
        let span = entries.last().map_or(0, |entry| entry.address) - first;
        let wanted = (entries.len() as u64 / OBJECTS_A_SLOT).max(1);
        let mut shift = 0;
        while span >> shift > wanted {
            shift += 1;
        }
        let count = (span >> shift) as usize + 1;
        let mut slots = Column::with_room(storage, count + 1);
        for (node, entry) in entries.iter().enumerate() {
            let slot = ((entry.address - first) >> shift) as usize;
            while slots.len() <= slot {
                slots.push(node as u32);
            }
        }
        while slots.len() <= count {
            slots.push(entries.len() as u32);
        }
        Self { first, shift, slots }
    }

    /// The object at an address.
    #[inline]
    pub fn find(&self, entries: &[Entry], address: u64) -> Option<u32> {
        let slot = (address.checked_sub(self.first)? >> self.shift) as usize;
        let end = *self.slots.get(slot.checked_add(1)?)?;
        let begin = self.slots[slot];
        let found =
            entries[begin as usize..end as usize].binary_search_by_key(&address, |entry| entry.address);
        found.ok().map(|at| begin + at as u32)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_address_is_found_and_no_other(mut addresses in prop::collection::vec(any::<u64>(), 1..200), other: u64) {
            addresses.sort_unstable();
            addresses.dedup();
            let entries: Vec<Entry> = addresses.iter().map(|address| Entry { address: *address, packed: 0 }).collect();
            let lookup = Lookup::new(Storage::Memory, &entries);
            for (node, address) in addresses.iter().enumerate() {
                prop_assert_eq!(lookup.find(&entries, *address), Some(node as u32));
            }
            prop_assert_eq!(lookup.find(&entries, other).is_some(), addresses.contains(&other));
        }
    }
}
