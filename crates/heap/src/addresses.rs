//! From an address to the number of its object, and what is next to it.
//!
//! Objects are numbered in the order of the dump, which mostly is that of their addresses. So the
//! heap is a set of *chunks* of 4 kB that have a bit for every place where an object may begin, and
//! the number of the first object in them: the number of any other is that and how many bits are
//! before its own, less than a byte an object in all. A chunk whose objects do not follow one
//! another in the dump (classes, which come first; all chunks of collectors that dump in the order
//! of references) has a list of numbers, four bytes an object, instead.
//!
//! Identifiers of other JVMs may be any numbers: an identifier is turned by three bits, so that the
//! bits that are zero in an address lie on top, and chunks are only there where there is something.

use rustc_hash::FxHashMap;

use crate::column::{Column, Plain, Storage};
use crate::lookup::Lookup;
use crate::numbers::NONE;

/// Places where an object may begin, in a chunk.
const PLACES: u64 = 512;
/// Bits of an address that are zero: objects begin at multiples of eight.
const ZERO_BITS: u32 = 3;
/// While objects are added: they do not follow one another.
const MIXED: u32 = 1 << 31;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Chunk {
    key: u64,
    places: [u64; 8],
    /// The number of its first object.
    first: u32,
    /// While objects are added: their count, the last place above 16 bits, [`MIXED`]. Then: where
    /// its list begins, or [`NONE`].
    list: u32,
}

// SAFETY: it consists of numbers.
unsafe impl Plain for Chunk {}

/// The addresses of all objects.
#[derive(Debug)]
pub struct Addresses {
    chunks: Column<Chunk>,
    by_key: FxHashMap<u64, u32>,
    last: (u64, u32),
    lookup: Option<Lookup>,
    lists: Column<u32>,
    /// All bits that any address has.
    pub all_bits: u64,
}

fn place_of(address: u64) -> (u64, u64) {
    let turned = address.rotate_right(ZERO_BITS);
    (turned / PLACES, turned % PLACES)
}

impl Chunk {
    fn has(&self, place: u64) -> bool {
        self.places[place as usize / 64] >> (place % 64) & 1 == 1
    }

    fn before(&self, place: u64) -> u32 {
        let word = place as usize / 64;
        let whole: u32 = self.places[..word].iter().map(|word| word.count_ones()).sum();
        whole + (self.places[word] & ((1 << (place % 64)) - 1)).count_ones()
    }

    fn addresses(&self) -> impl Iterator<Item = u64> + '_ {
        self.places.iter().enumerate().flat_map(move |(word, bits)| {
            let mut left = *bits;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| u64::from(left.trailing_zeros()))?;
                left &= left - 1;
                Some((self.key * PLACES + word as u64 * 64 + bit).rotate_left(ZERO_BITS))
            })
        })
    }
}

impl Addresses {
    /// None yet.
    pub fn new(storage: Storage, most_objects: usize) -> Self {
        Self {
            chunks: Column::with_room(storage, most_objects),
            by_key: FxHashMap::default(),
            last: (u64::MAX, 0),
            lookup: None,
            lists: Column::with_room(storage, 0),
            all_bits: 0,
        }
    }

    /// Adds the address of an object. False: it is there already.
    pub fn add(&mut self, address: u64, number: u32) -> bool {
        let (key, place) = place_of(address);
        if self.last.0 != key {
            let next = self.chunks.len() as u32;
            let at = *self.by_key.entry(key).or_insert(next);
            if at == next {
                self.chunks.push(Chunk { key, places: [0; 8], first: number, list: 0 });
            }
            self.last = (key, at);
        }
        let chunk = &mut self.chunks[self.last.1 as usize];
        if chunk.has(place) {
            return false;
        }
        let (count, before) = (chunk.list & 0xffff, u64::from(chunk.list >> 16 & 0x1ff));
        let follows = count == 0 || place > before && chunk.first.wrapping_add(count) == number;
        let mixed = chunk.list & MIXED | if follows { 0 } else { MIXED };
        chunk.list = mixed | (place as u32) << 16 | (count + 1);
        chunk.places[place as usize / 64] |= 1 << (place % 64);
        self.all_bits |= address;
        true
    }

    /// All objects are added; `each` calls back for every one with its address and number, where it
    /// is asked to.
    pub fn seal(&mut self, storage: Storage, each: impl FnOnce(&mut dyn FnMut(u64, u32))) {
        self.by_key = FxHashMap::default();
        self.chunks.sort_unstable_by_key(|chunk| chunk.key);
        let mut listed = 0;
        for chunk in self.chunks.iter_mut() {
            let count = chunk.list & 0xffff;
            let mixed = chunk.list & MIXED != 0;
            chunk.list = if mixed { listed } else { NONE };
            listed += if mixed { count } else { 0 };
        }
        let chunks = &self.chunks;
        let lookup = Lookup::new(storage, chunks.len(), |at| chunks[at].key);
        self.lists = Column::zeroed(storage, listed as usize);
        if listed > 0 {
            each(&mut |address, number| {
                let (key, place) = place_of(address);
                let chunk = lookup.find(key, |at| chunks[at].key).map(|at| &chunks[at as usize]);
                if let Some(chunk) = chunk.filter(|chunk| chunk.list != NONE) {
                    self.lists[(chunk.list + chunk.before(place)) as usize] = number;
                }
            });
        }
        self.lookup = Some(lookup);
    }

    /// The object at an address.
    #[inline]
    pub fn find(&self, address: u64) -> Option<u32> {
        let (key, place) = place_of(address);
        let at = self.lookup.as_ref()?.find(key, |at| self.chunks[at].key)?;
        let chunk = &self.chunks[at as usize];
        if !chunk.has(place) {
            return None;
        }
        Some(match chunk.list {
            NONE => chunk.first + chunk.before(place),
            list => self.lists[(list + chunk.before(place)) as usize],
        })
    }

    /// How far the first and the last one are apart.
    pub fn span(&self) -> u64 {
        let end = |chunk: Option<&Chunk>, last: bool| {
            let mut all = chunk?.addresses();
            if last { all.last() } else { all.next() }
        };
        let (first, last) = (end(self.chunks.first(), false), end(self.chunks.last(), true));
        last.unwrap_or(0).saturating_sub(first.unwrap_or(0))
    }

    /// Calls back for every object in the order of addresses, with its number and the bytes to the
    /// next one.
    pub fn neighbours(&self, mut each: impl FnMut(u32, u64)) {
        let mut before: Option<(u64, u32)> = None;
        for chunk in &*self.chunks {
            for (at, address) in (0..).zip(chunk.addresses()) {
                let number = match chunk.list {
                    NONE => chunk.first + at,
                    list => self.lists[(list + at) as usize],
                };
                if let Some((from, number)) = before {
                    each(number, address.checked_sub(from).unwrap_or(u64::MAX));
                }
                before = Some((address, number));
            }
        }
        if let Some((_, number)) = before {
            each(number, u64::MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(given: &[u64]) -> (Addresses, Vec<u64>) {
        let mut addresses = Addresses::new(Storage::Memory, given.len());
        let mut kept: Vec<u64> = Vec::new();
        for address in given {
            if addresses.add(*address, kept.len() as u32) {
                kept.push(*address);
            }
        }
        addresses.seal(Storage::Memory, |each| {
            kept.iter().zip(0..).for_each(|(address, number)| each(*address, number));
        });
        (addresses, kept)
    }

    proptest! {
        #[test]
        fn every_address_is_found_and_no_other(
            mut given in prop::collection::vec(prop_oneof![0_u64..40_000, any::<u64>(), (0_u64..9000).prop_map(|n| 8 * n)], 1..400),
            ordered: bool,
            other in 0_u64..40_000,
        ) {
            if ordered {
                given.sort_unstable();
            }
            let (addresses, kept) = of(&given);
            for (number, address) in kept.iter().enumerate() {
                prop_assert_eq!(addresses.find(*address), Some(number as u32));
            }
            prop_assert_eq!(addresses.find(other).is_some(), kept.contains(&other));
            let mut seen = Vec::new();
            addresses.neighbours(|number, _| seen.push(number));
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..kept.len() as u32).collect::<Vec<_>>());
        }
    }

    #[test]
    fn objects_in_the_order_of_their_addresses_take_no_list_and_others_do() {
        let ascending: Vec<u64> = (0..5000).map(|n| 0x8000 + 24 * n).collect();
        let (addresses, _) = of(&ascending);
        assert!(addresses.lists.is_empty());
        assert_eq!(addresses.span(), 24 * 4999);
        addresses.neighbours(|number, bytes| assert!(bytes == 24 || number == 4999));
        let descending: Vec<u64> = ascending.iter().rev().copied().collect();
        assert_eq!(of(&descending).0.lists.len(), 5000);
    }
}
