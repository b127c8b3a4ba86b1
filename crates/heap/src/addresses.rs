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
/// So many objects of mixed chunks are noted; where there are more, all objects are gone through.
const FEW: usize = 1 << 20;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub struct Chunk {
    key: u64,
    places: [u64; 8],
    /// Once all are added: how many are before each word of the places but the first, nine bits
    /// each, as a CPU may have to count the bits of a word one by one (Vigna, "Broadword
    /// implementation of rank/select queries", 2008).
    before: u64,
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
    /// Numbers of objects in mixed chunks, as long as they are few.
    mixed: Vec<u32>,
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
        let whole = (self.before >> (9 * ((word + 7) % 8))) as u32 & 0x1ff;
        whole + (self.places[word] & ((1 << (place % 64)) - 1)).count_ones()
    }

    fn count(&mut self) {
        let mut sum = 0;
        for (word, places) in (0..7).zip(self.places) {
            sum += u64::from(places.count_ones());
            self.before |= sum << (9 * word);
        }
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
            mixed: Vec::new(),
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
                self.chunks.push(Chunk { key, places: [0; 8], before: 0, first: number, list: 0 });
            }
            self.last = (key, at);
        }
        let chunk = &mut self.chunks[self.last.1 as usize];
        if chunk.has(place) {
            return false;
        }
        let (count, before) = (chunk.list & 0xffff, u64::from(chunk.list >> 16 & 0x1ff));
        let follows = count == 0 || place > before && chunk.first.wrapping_add(count) == number;
        let was_mixed = chunk.list & MIXED != 0;
        let mixed = chunk.list & MIXED | if follows { 0 } else { MIXED };
        chunk.list = mixed | (place as u32) << 16 | (count + 1);
        if mixed != 0 && self.mixed.len() < FEW {
            if !was_mixed {
                self.mixed.extend((0..count).map(|at| chunk.first + at));
            }
            self.mixed.push(number);
        }
        chunk.places[place as usize / 64] |= 1 << (place % 64);
        self.all_bits |= address;
        true
    }

    /// Adds the objects of others, whose numbers begin with 0, from a number on. False: an address
    /// is there already, and nothing of this is of use any more.
    pub fn append(&mut self, others: &Self, from: u32) -> bool {
        let next = self.chunks.len() as u32;
        for other in &*others.chunks {
            let (count, first) = (other.list & 0xffff, from + other.first);
            let at = *self.by_key.entry(other.key).or_insert(self.chunks.len() as u32);
            if at >= next {
                self.chunks.push(Chunk { first, ..*other });
                continue;
            }
            let chunk = &mut self.chunks[at as usize];
            if chunk.places.iter().zip(other.places).any(|(one, other)| one & other != 0) {
                return false;
            }
            // In both: their numbers do not follow one another.
            let known = chunk.list & 0xffff;
            if chunk.list & MIXED == 0 {
                self.mixed.extend((0..known).map(|at| chunk.first + at));
            }
            if other.list & MIXED == 0 {
                self.mixed.extend((0..count).map(|at| first + at));
            }
            chunk.places.iter_mut().zip(other.places).for_each(|(one, other)| *one |= other);
            chunk.list = MIXED | (known + count);
        }
        self.mixed.extend(others.mixed.iter().map(|number| from + number));
        self.all_bits |= others.all_bits;
        self.last = (u64::MAX, 0);
        true
    }

    /// All objects are added. `address` says an object's, `each` calls back for every one with its
    /// address and number, where it is asked to.
    pub fn seal(
        &mut self,
        storage: Storage,
        address: impl Fn(u32) -> u64,
        each: impl FnOnce(&mut dyn FnMut(u64, u32)),
    ) {
        self.by_key = FxHashMap::default();
        self.chunks.sort_unstable_by_key(|chunk| chunk.key);
        let mut listed = 0;
        for chunk in self.chunks.iter_mut() {
            let count = chunk.list & 0xffff;
            let mixed = chunk.list & MIXED != 0;
            chunk.list = if mixed { listed } else { NONE };
            listed += if mixed { count } else { 0 };
            chunk.count();
        }
        let chunks = &self.chunks;
        let lookup = Lookup::new(storage, chunks.len(), |at| chunks[at].key);
        self.lists = Column::zeroed(storage, listed as usize);
        let lists = &mut self.lists;
        let mut put = |address, number| {
            let (key, place) = place_of(address);
            let chunk = lookup.find(key, |at| chunks[at].key).map(|at| &chunks[at as usize]);
            if let Some(chunk) = chunk.filter(|chunk| chunk.list != NONE) {
                lists[(chunk.list + chunk.before(place)) as usize] = number;
            }
        };
        let mixed = std::mem::take(&mut self.mixed);
        if mixed.len() < FEW {
            mixed.into_iter().for_each(|number| put(address(number), number));
        } else {
            each(&mut put);
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
        seal(&mut addresses, &kept);
        (addresses, kept)
    }

    fn seal(addresses: &mut Addresses, kept: &[u64]) {
        let address = |number: u32| kept[number as usize];
        addresses.seal(Storage::Memory, address, |each| {
            kept.iter().zip(0..).for_each(|(address, number)| each(*address, number));
        });
    }

    proptest! {
        #[test]
        fn every_address_is_found_and_no_other(
            mut given in prop::collection::vec(prop_oneof![0_u64..40_000, any::<u64>(), (0_u64..9000).prop_map(|n| 8 * n)], 1..400),
            ordered: bool,
            in_parts: bool,
            other in 0_u64..40_000,
        ) {
            if ordered {
                given.sort_unstable();
            }
            let (mut addresses, kept) = of(&given);
            let halves = [&kept[..kept.len() / 2], &kept[kept.len() / 2..]];
            if in_parts {
                let mut all = Addresses::new(Storage::Memory, 1);
                for (half, from) in halves.iter().zip([0, halves[0].len() as u32]) {
                    let mut part = Addresses::new(Storage::Memory, 1);
                    (0..).zip(*half).for_each(|(number, address)| assert!(part.add(*address, number)));
                    prop_assert!(all.append(&part, from));
                }
                seal(&mut all, &kept);
                addresses = all;
            }
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
