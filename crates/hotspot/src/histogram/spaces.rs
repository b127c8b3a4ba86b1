//! Where objects lie: regions of G1, spaces of Parallel and Serial, and the gaps in them.

use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::flags::Flags;
use crate::heap::HeapBounds;
use crate::layout::{G1Layout, HeapLayout, ObjectLayout, ParallelLayout, SerialLayout};
use crate::memory::Memory;
use crate::threads::Threads;
use crate::{Error, Result, Vm};

/// The most regions of G1: it makes some 2048, and more of at most 32 MB each in heaps above 64 GB.
const MOST_REGIONS: u64 = 1 << 20;
/// The bit of a region's type that marks the first region of an object that spans several
/// (g1HeapRegionType.hpp, JDK 8 to 25).
const HUMONGOUS: i64 = 4;
/// The bit that marks the other regions of such an object.
const CONTINUES: i64 = 1;
/// A buffer keeps at least two words for an object that fills it up (`alignment_reserve`).
const FILLER_WORDS: u64 = 2;
/// The bit of a region's type that marks eden and survivors.
const YOUNG: i64 = 2;

/// A range of the heap that is full of objects, except for gaps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) at: Range<u64>,
    /// Whether it is one object, of which only the beginning is read.
    pub(super) one_object: bool,
    /// Whether every collection empties it.
    pub(super) young: bool,
    /// What G1 uses the region for; 0 elsewhere.
    pub(super) sort: i64,
}

/// All ranges, and the unused parts of allocation buffers in them: their end by their beginning.
pub(super) struct Spaces {
    pub(super) ranges: Vec<Extent>,
    pub(super) gaps: BTreeMap<u64, u64>,
    pub(super) collector: &'static str,
    /// Collections so far, where the JVM has the count among its tables.
    collections: Option<i64>,
}

impl Spaces {
    pub(super) fn read<M: Memory>(vm: &Vm<M>, flags: &Flags) -> Result<Self> {
        let (collector, ranges) = if flags.is_on("UseG1GC") {
            ("G1", g1(vm)?)
        } else if flags.is_on("UseParallelGC") {
            ("Parallel", parallel(vm)?)
        } else if flags.is_on("UseSerialGC") {
            ("Serial", serial(vm)?)
        } else {
            return Err(Error::NotWalked);
        };
        let heap = HeapBounds::read(vm)?.heap.ok_or(Error::NotWalked)?;
        let within = |range: &Extent| {
            range.at.start < range.at.end && heap.start <= range.at.start && range.at.end <= heap.end
        };
        let ranges = ranges.into_iter().filter(within).collect();
        Ok(Self { ranges, gaps: gaps(vm, &heap)?, collector, collections: collections(vm)? })
    }

    /// The ranges of `self` in which objects moved before `later` was read. A range whose end grew
    /// was allocated in, and its objects are where they were; but a collection may have emptied a
    /// young one that has been filled again since.
    pub(super) fn moved(&self, later: &Self) -> Vec<bool> {
        let collected = self.collections != later.collections;
        let by_start: FxHashMap<u64, &Extent> =
            later.ranges.iter().map(|range| (range.at.start, range)).collect();
        let stayed = |range: &Extent| {
            by_start.get(&range.at.start).is_some_and(|after| {
                after.sort == range.sort && after.at.end >= range.at.end && !(collected && range.young)
            })
        };
        self.ranges.iter().map(|range| !stayed(range)).collect()
    }
}

fn collections<M: Memory>(vm: &Vm<M>) -> Result<Option<i64>> {
    let layout = HeapLayout::of(vm.source())?;
    let Some(field) = layout.collections else { return Ok(None) };
    Ok(Some(field.read(&vm.memory, layout.heap.read_u64(&vm.memory)?)?))
}

fn heap<M: Memory>(vm: &Vm<M>) -> Result<u64> {
    HeapLayout::of(vm.source())?.heap.read_u64(&vm.memory)
}

fn g1<M: Memory>(vm: &Vm<M>) -> Result<Vec<Extent>> {
    let (memory, layout) = (&vm.memory, G1Layout::of(vm.source())?);
    let table = layout.table.of(layout.manager.of(heap(vm)?));
    let regions = layout.regions.read_u64(memory, table)?;
    let length = layout.length.read_u64(memory, table)?;
    if length > MOST_REGIONS {
        return Err(Error::Implausible { what: "number of G1's regions".to_owned(), value: length });
    }
    let mut ranges = Vec::new();
    for pointer in memory.read_bytes(regions, length as usize * 8)?.chunks_exact(8) {
        let region = u64::from_le_bytes(pointer.try_into().unwrap_or_default());
        // Not committed yet.
        if region == 0 {
            continue;
        }
        // The sort is an enumeration, of four bytes.
        let sort = i64::from(memory.read_u32(layout.sort.of(region))?);
        if sort & HUMONGOUS != 0 && sort & CONTINUES != 0 {
            continue;
        }
        // Pointers, whose types the table has followed by "const" and "volatile".
        let pointer = |field: crate::layout::Field| memory.read_u64(field.of(region));
        let at = pointer(layout.bottom)?..pointer(layout.top)?;
        ranges.push(Extent { at, one_object: sort & HUMONGOUS != 0, young: sort & YOUNG != 0, sort });
    }
    Ok(ranges)
}

fn parallel<M: Memory>(vm: &Vm<M>) -> Result<Vec<Extent>> {
    let (memory, layout) = (&vm.memory, ParallelLayout::of(vm.source())?);
    let (young, old) = (layout.young.read_u64(memory)?, layout.old.read_u64(memory)?);
    [(young, layout.eden, true), (young, layout.from, true), (old, layout.tenured, false)]
        .into_iter()
        .map(|(generation, space, young)| {
            let space = space.read_u64(memory, generation)?;
            let at = layout.bottom.read_u64(memory, space)?..layout.top.read_u64(memory, space)?;
            Ok(Extent { at, one_object: false, young, sort: 0 })
        })
        .collect()
}

fn serial<M: Memory>(vm: &Vm<M>) -> Result<Vec<Extent>> {
    let (memory, layout, heap) = (&vm.memory, SerialLayout::of(vm.source())?, heap(vm)?);
    let (young, old) = (layout.young.read_u64(memory, heap)?, layout.old.read_u64(memory, heap)?);
    [(young, layout.eden, true), (young, layout.from, true), (old, layout.tenured, false)]
        .into_iter()
        .map(|(generation, space, young)| {
            let space = space.read_u64(memory, generation)?;
            let at = layout.bottom.read_u64(memory, space)?..layout.top.read_u64(memory, space)?;
            Ok(Extent { at, one_object: false, young, sort: 0 })
        })
        .collect()
}

/// What threads have reserved for future objects.
fn gaps<M: Memory>(vm: &Vm<M>, heap: &Range<u64>) -> Result<BTreeMap<u64, u64>> {
    let (memory, layout) = (&vm.memory, ObjectLayout::of(vm.source())?);
    let reserve = layout.reserve.and_then(|reserve| reserve.read(memory).ok()).unwrap_or(0);
    let reserve = u64::try_from(reserve).unwrap_or(0).clamp(FILLER_WORDS, 1 << 10) * 8;
    let mut gaps = BTreeMap::new();
    for thread in Threads::new(vm)?.java(vm)? {
        let buffer = layout.buffer.of(thread.address);
        let (Ok(top), Ok(end)) =
            (layout.buffer_top.read_u64(memory, buffer), layout.buffer_end.read_u64(memory, buffer))
        else {
            continue;
        };
        let end = end.saturating_add(reserve);
        if top != 0 && top < end && heap.start <= top && end <= heap.end {
            gaps.insert(top, end);
        }
    }
    Ok(gaps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spaces(collections: i64, ranges: &[(u64, u64, i64)]) -> Spaces {
        let range = |(start, end, sort): &(u64, u64, i64)| Extent {
            at: *start..*end,
            one_object: sort & HUMONGOUS != 0,
            young: sort & YOUNG != 0,
            sort: *sort,
        };
        Spaces {
            ranges: ranges.iter().map(range).collect(),
            gaps: BTreeMap::new(),
            collector: "G1",
            collections: Some(collections),
        }
    }

    #[test]
    fn what_was_allocated_in_stayed_and_what_shrank_went_or_was_reused_moved() {
        const OLD: i64 = 8;
        let before = spaces(3, &[(100, 200, YOUNG), (200, 300, OLD), (300, 350, OLD), (400, 500, HUMONGOUS)]);
        let grown = spaces(3, &[(100, 230, YOUNG), (200, 300, OLD), (300, 390, OLD), (400, 500, HUMONGOUS)]);
        assert_eq!(before.moved(&grown), [false; 4]);
        // Eden was emptied and is as full as it was; one region became another sort, one has less
        // in it, one is gone.
        let collected = spaces(4, &[(100, 200, YOUNG), (200, 300, YOUNG | 1), (300, 340, OLD)]);
        assert_eq!(before.moved(&collected), [true; 4]);
        // A young collection leaves the old regions where they are.
        let young = spaces(4, &[(200, 300, OLD), (300, 400, OLD), (400, 500, HUMONGOUS)]);
        assert_eq!(before.moved(&young), [true, false, false, false]);
    }
}
