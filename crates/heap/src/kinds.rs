//! What sort of object each one is, and where its record is in the dump.
//!
//! There are millions of objects and a few thousand *kinds*: the instances of a class, the arrays
//! of a class and a length. A kind has the class, the size and how long the record is, so that an
//! object needs two bytes (three from 65,536 kinds on): the number of its kind. Records follow one
//! another, so that the place of one is that of the first of its sixteen and the lengths of the
//! records in between. Where something else is in between (a new segment, roots), that is noted.

use rustc_hash::FxHashMap;

use crate::bits::Bits;
use crate::column::{Column, Storage};
use crate::numbers::NONE;
use crate::records::tag;

/// So many objects share a place.
pub const BLOCK: u32 = 16;
/// In a block something is between its records.
const JUMPS: u64 = 1 << 63;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The number of the class.
    pub class: u32,
    /// Elements of an array, bytes of the values of an instance.
    pub length: u32,
    /// Bytes of the record in the dump.
    pub record: u64,
    /// Bytes in the heap, in units of eight. Classes differ: [`Kinds::size`].
    pub units: u32,
    /// The tag of the record.
    pub tag: u8,
    /// Whether there is a row of references, which may have none in it.
    pub refers: bool,
    /// The object of the class where its instances hold it, and [`NONE`] where it holds itself.
    pub class_object: u32,
}

impl Default for Kind {
    fn default() -> Self {
        Self { class: 0, length: 0, record: 0, units: 0, tag: 0, refers: false, class_object: NONE }
    }
}

/// The kinds of all objects and the places of their records.
#[derive(Debug)]
pub struct Kinds {
    table: Vec<Kind>,
    known: FxHashMap<(u32, u32, u64, u8), u32>,
    /// By class, the kind that was met last.
    last: Vec<u32>,
    low: Column<u16>,
    /// The bits above; not there as long as all of them are zero.
    high: Column<u8>,
    blocks: Column<u64>,
    /// Places of records that do not follow the one before, with the object.
    jumps: Column<(u64, u32)>,
    end: u64,
    /// Sizes of objects that are classes, in units of eight.
    classes: FxHashMap<u32, u32>,
}

impl Kinds {
    /// The most that can be distinguished.
    pub const MOST: usize = 1 << 24;

    /// No object yet.
    pub fn new(storage: Storage, most_objects: usize) -> Self {
        Self {
            table: Vec::new(),
            known: FxHashMap::default(),
            last: Vec::new(),
            low: Column::with_room(storage, most_objects),
            high: Column::with_room(storage, most_objects),
            blocks: Column::with_room(storage, most_objects.div_ceil(BLOCK as usize)),
            jumps: Column::with_room(storage, most_objects),
            end: 0,
            classes: FxHashMap::default(),
        }
    }

    /// Objects.
    pub fn objects(&self) -> usize {
        self.low.len()
    }

    /// The next object: its kind, and where its record is. False: there are too many kinds.
    pub fn push(&mut self, kind: Kind, place: u64) -> bool {
        let last = self.last.get(kind.class as usize).copied().unwrap_or(u32::MAX);
        let same = |known: &Kind| known.length == kind.length && known.tag == kind.tag;
        let same = |known: &Kind| same(known) && known.record == kind.record && known.class == kind.class;
        let number = match self.table.get(last as usize).filter(|known| same(known)) {
            Some(_) => last,
            None => self.intern(kind),
        };
        if number as usize >= Self::MOST {
            return false;
        }
        self.push_known(number, place, kind.record);
        true
    }

    #[inline]
    fn push_known(&mut self, number: u32, place: u64, record: u64) {
        let node = self.low.len() as u32;
        self.put(node, number);
        if node.is_multiple_of(BLOCK) {
            self.blocks.push(place);
        } else if place != self.end {
            self.jumps.push((place, node));
            self.blocks[(node / BLOCK) as usize] |= JUMPS;
        }
        self.end = place + record;
    }

    /// The objects of other kinds behind those that are here, by the number of their class here.
    /// False: there are too many kinds.
    pub fn append(&mut self, other: &Self, class: impl Fn(u32) -> u32) -> bool {
        let numbers: Vec<u32> =
            other.table.iter().map(|kind| self.intern(Kind { class: class(kind.class), ..*kind })).collect();
        if numbers.iter().any(|number| *number as usize >= Self::MOST) {
            return false;
        }
        for (node, place) in other.places(0) {
            let number = other.number(node);
            self.push_known(numbers[number], place as u64, other.table[number].record);
        }
        true
    }

    fn intern(&mut self, kind: Kind) -> u32 {
        let next = self.table.len() as u32;
        let number = *self.known.entry((kind.class, kind.length, kind.record, kind.tag)).or_insert(next);
        if number == next {
            self.table.push(kind);
        }
        let class = kind.class as usize;
        if self.last.len() <= class {
            self.last.resize(class + 1, u32::MAX);
        }
        self.last[class] = number;
        number
    }

    fn put(&mut self, node: u32, number: u32) {
        let high = (number >> 16) as u8;
        let node = node as usize;
        if node == self.low.len() {
            self.low.push(number as u16);
        } else {
            self.low[node] = number as u16;
        }
        if high > 0 || !self.high.is_empty() {
            while self.high.len() < self.low.len() {
                self.high.push(0);
            }
            self.high[node] = high;
        }
    }

    /// All objects are there: gives up what was only needed to find their kinds.
    pub fn seal(&mut self) {
        self.known = FxHashMap::default();
        self.last = Vec::new();
    }

    /// The number of an object's kind.
    #[inline]
    pub fn number(&self, node: u32) -> usize {
        let high = self.high.get(node as usize).copied().unwrap_or(0);
        usize::from(high) << 16 | usize::from(self.low[node as usize])
    }

    /// An object's kind.
    #[inline]
    pub fn of(&self, node: u32) -> &Kind {
        &self.table[self.number(node)]
    }

    /// All kinds.
    pub fn table(&self) -> &[Kind] {
        &self.table
    }

    /// The same, to fill in.
    pub fn table_mut(&mut self) -> &mut [Kind] {
        &mut self.table
    }

    /// Gives an object a row of references though others of its kind have none.
    pub fn let_refer(&mut self, node: u32) {
        let kind = *self.of(node);
        if kind.refers || self.table.len() >= Self::MOST {
            return;
        }
        let wanted = Kind { refers: true, ..kind };
        let found = self.table.iter().position(|known| *known == wanted);
        let number = found.unwrap_or_else(|| {
            self.table.push(wanted);
            self.table.len() - 1
        });
        self.put(node, number as u32);
    }

    /// Gives objects sizes of their own, bytes, where those of their kind differ.
    pub fn resize(&mut self, sizes: &[(u32, u64)]) {
        let mut known: FxHashMap<(usize, u32), u32> = FxHashMap::default();
        for (node, bytes) in sizes {
            let before = self.number(*node);
            let units = u32::try_from(bytes / 8).unwrap_or(u32::MAX);
            let next = self.table.len() as u32;
            let number = *known.entry((before, units)).or_insert(next);
            if number == next {
                if self.table.len() >= Self::MOST {
                    return;
                }
                self.table.push(Kind { units, ..self.table[before] });
            }
            self.put(*node, number);
        }
    }

    /// The size of an object that is a class, bytes.
    pub fn set_class_size(&mut self, node: u32, bytes: u64) {
        self.classes.insert(node, u32::try_from(bytes / 8).unwrap_or(u32::MAX));
    }

    /// Bytes of an object, in units of eight.
    #[inline]
    pub fn units(&self, node: u32) -> u32 {
        let kind = self.of(node);
        if kind.tag == tag::CLASS {
            self.classes.get(&node).copied().unwrap_or(kind.units)
        } else {
            kind.units
        }
    }

    /// Bytes of an object.
    #[inline]
    pub fn size(&self, node: u32) -> u64 {
        u64::from(self.units(node)) * 8
    }

    /// How many objects there are of each kind.
    pub fn counts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.table.len()];
        (0..self.objects() as u32).for_each(|node| counts[self.number(node)] += 1);
        counts
    }

    /// Bytes of all objects.
    pub fn all_bytes(&self) -> u64 {
        let plain = self.counts().into_iter().zip(&self.table).filter(|(_, kind)| kind.tag != tag::CLASS);
        let units: u64 = plain.map(|(count, kind)| count * u64::from(kind.units)).sum();
        let classes: u64 = self.classes.values().map(|units| u64::from(*units)).sum();
        8 * (units + classes)
    }

    /// Where the record of an object begins.
    pub fn place(&self, node: u32) -> usize {
        let block = self.blocks[(node / BLOCK) as usize];
        let (mut at, mut from) = (block & !JUMPS, node - node % BLOCK);
        if block & JUMPS != 0 {
            let behind = self.jumps.partition_point(|(_, jump)| *jump <= node);
            let jump = behind.checked_sub(1).map(|at| self.jumps[at]);
            if let Some((place, jump)) = jump.filter(|(_, jump)| *jump > from) {
                (at, from) = (place, jump);
            }
        }
        (at + (from..node).map(|node| self.of(node).record).sum::<u64>()) as usize
    }

    /// Calls back for the objects of a set, with the places of their records.
    pub fn each_place(&self, set: &Bits, mut each: impl FnMut(u32, usize)) {
        for (block, first) in (0..self.objects() as u32).step_by(BLOCK as usize).enumerate() {
            let wanted = set.sixteen(first);
            let place = self.blocks[block];
            if wanted == 0 {
                continue;
            }
            if place & JUMPS != 0 {
                (0..BLOCK)
                    .filter(|at| wanted >> at & 1 == 1)
                    .for_each(|at| each(first + at, self.place(first + at)));
                continue;
            }
            let mut at = place;
            for node in first..first + u16::BITS - wanted.leading_zeros() {
                if wanted >> (node - first) & 1 == 1 {
                    each(node, at as usize);
                }
                at += self.of(node).record;
            }
        }
    }

    /// Objects from one on, with the places of their records.
    pub fn places(&self, from: u32) -> impl Iterator<Item = (u32, usize)> + '_ {
        let mut jump = self.jumps.partition_point(|(_, jump)| *jump < from);
        let mut at = if (from as usize) < self.objects() { self.place(from) as u64 } else { 0 };
        (from..self.objects() as u32).map(move |node| {
            if node.is_multiple_of(BLOCK) {
                at = self.blocks[(node / BLOCK) as usize] & !JUMPS;
            }
            if let Some((place, _)) = self.jumps.get(jump).filter(|(_, jump)| *jump == node) {
                at = *place;
                jump += 1;
            }
            let here = at;
            at += self.of(node).record;
            (node, here as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn records_are_found_whatever_is_between_them(
            given in prop::collection::vec((12_u32..20, 0_u32..4, prop_oneof![4 => Just(0_u64), 1 => 1_u64..100]), 1..200)
        ) {
            let mut kinds = Kinds::new(Storage::Memory, given.len());
            let (mut at, mut places) = (7, Vec::new());
            for (class, length, gap) in &given {
                at += gap;
                places.push(at as usize);
                let record = 25 + 8 * u64::from(*length);
                let kind = Kind { class: *class, length: *length, record, tag: tag::INSTANCE, ..Kind::default() };
                prop_assert!(kinds.push(kind, at));
                at += record;
            }
            for (node, place) in places.iter().enumerate() {
                prop_assert_eq!(kinds.place(node as u32), *place);
                prop_assert_eq!((kinds.of(node as u32).class, kinds.of(node as u32).length), (given[node].0, given[node].1));
                let rest: Vec<usize> = kinds.places(node as u32).map(|(_, place)| place).collect();
                prop_assert_eq!(&rest[..], &places[node..]);
            }
        }
    }

    #[test]
    fn beyond_65536_kinds_objects_take_a_byte_more_and_keep_theirs() {
        let mut kinds = Kinds::new(Storage::Memory, 70_000);
        for length in 0..70_000 {
            let kind = Kind { class: 8, length, record: u64::from(length), ..Kind::default() };
            assert!(kinds.push(kind, u64::from(length) * 10));
        }
        assert!([0, 1, 65_535, 65_536, 69_999].iter().all(|node| kinds.of(*node).length == *node));
        kinds.let_refer(5);
        assert!(kinds.of(5).refers && kinds.of(5).length == 5 && !kinds.of(6).refers);
    }
}
