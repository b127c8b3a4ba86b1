//! Memory that says nothing: texts that are there several times, collections without elements,
//! numbers in boxes.

use std::hash::Hasher;

use rustc_hash::FxHasher;
use serde::Serialize;

use super::collections::known;
use crate::bits::Bits;
use crate::column::Column;
use crate::heap::{Heap, number};
use crate::kinds::Kind;
use crate::numbers::NONE;
use crate::records::{tag, width};

/// Classes of boxed values.
const BOXES: [&str; 8] = ["Boolean", "Byte", "Short", "Character", "Integer", "Long", "Float", "Double"];
/// An array of a collection from so many slots on, of which fewer than a quarter are used, is
/// sparse.
const SPARSE_FROM: u64 = 16;

/// Arrays of texts are compared in so many parts or a few more.
const PARTS: u32 = 4;

/// What could be saved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Waste {
    /// Texts (`java.lang.String`) that can be reached.
    pub strings: u64,
    /// Bytes of their arrays.
    pub string_bytes: u64,
    /// Arrays of texts that have the content of another one. Compared by length and by a hash of 40
    /// bits and more; contents are not kept.
    pub duplicate_arrays: u64,
    /// Bytes that these take.
    pub duplicate_bytes: u64,
    /// Collections of the JDK without an element.
    pub empty_collections: u64,
    /// Bytes that they and the arrays that they keep take.
    pub empty_bytes: u64,
    /// Collections that use less than a quarter of an array of 16 slots or more.
    pub sparse_collections: u64,
    /// Bytes of the slots that are not used.
    pub sparse_bytes: u64,
    /// Boxed values.
    pub boxed: u64,
    /// Bytes that they take.
    pub boxed_bytes: u64,
}

/// What is looked at in the objects of a kind.
enum Look {
    Nothing,
    Box,
    /// Where the array of a text is among the values.
    Text(usize),
    Collection(Collection),
}

/// Where a collection's values are.
struct Collection {
    size: (usize, u8),
    array: Option<usize>,
    /// What other threads had added to a `ConcurrentHashMap` is in its cells, in addition to the
    /// count.
    cells: Option<usize>,
}

/// Looked for in all that can be reached.
pub(crate) fn waste(heap: &Heap, is_reached: impl Fn(u32) -> bool) -> Waste {
    let mut waste = Waste::default();
    let string = heap.classes.named("java.lang.String").next().unwrap_or(NONE);
    let looks: Vec<Look> = heap.kinds.table().iter().map(|kind| look(heap, kind, string)).collect();
    let mut arrays = Bits::none(heap.storage, heap.len() as usize);
    for (node, place) in heap.kinds.places(0) {
        let look = &looks[heap.kinds.number(node)];
        if matches!(look, Look::Nothing) || !is_reached(node) {
            continue;
        }
        match look {
            Look::Nothing => {}
            Look::Box => {
                waste.boxed += 1;
                waste.boxed_bytes += heap.size(node);
            }
            Look::Text(value) => {
                waste.strings += 1;
                let array = heap.object_at(place, *value);
                if let Some(array) = array.filter(|array| heap.tag(*array) == tag::PRIMITIVE_ARRAY) {
                    arrays.add(array);
                }
            }
            Look::Collection(known) => collection(heap, (node, place), known, &mut waste),
        }
    }
    waste.string_bytes = arrays.iter().map(|array| heap.size(array)).sum();
    // In a copy without values all texts of one length are alike.
    if !heap.is_redacted() {
        duplicates(heap, &mut arrays, &mut waste);
    }
    waste
}

fn look(heap: &Heap, kind: &Kind, string: u32) -> Look {
    let field = |name: &str| {
        let id_size = heap.header.id_size;
        let mut fields = heap.classes.fields(kind.class, id_size);
        let (at, field, _) = fields.find(|(_, field, _)| heap.text_is(field.name, name))?;
        let end = at + width(field.kind, id_size)?;
        (end <= kind.length as usize).then_some((at, field.kind))
    };
    let reference = |name: &str| field(name).filter(|(_, kind)| *kind == 2).map(|(at, _)| at);
    if kind.tag != tag::INSTANCE {
        return Look::Nothing;
    }
    let name = heap.classes.get(kind.class).name.as_str();
    if name.strip_prefix("java.lang.").is_some_and(|name| BOXES.contains(&name)) {
        return Look::Box;
    }
    if kind.class == string {
        return reference("value").map_or(Look::Nothing, Look::Text);
    }
    let collection = known(heap, kind.class).and_then(|(size, array)| {
        Some(Collection { size: field(size)?, array: reference(array), cells: reference("counterCells") })
    });
    collection.map_or(Look::Nothing, Look::Collection)
}

fn collection(heap: &Heap, (node, place): (u32, usize), known: &Collection, waste: &mut Waste) {
    if known.cells.is_some_and(|cells| heap.object_at(place, cells).is_some()) {
        return;
    }
    let (at, kind) = known.size;
    let size =
        width(kind, heap.header.id_size).and_then(|width| number(kind, heap.value_at(place, at, width)));
    let Some(size) = size.and_then(|size| u64::try_from(size).ok()) else { return };
    let array = known.array.and_then(|array| heap.object_at(place, array));
    let slots = array.map_or(0, |array| heap.length(array));
    if size == 0 {
        waste.empty_collections += 1;
        // Empty arrays are shared by all.
        waste.empty_bytes +=
            heap.size(node) + array.filter(|_| slots > 0).map_or(0, |array| heap.size(array));
    } else if slots >= SPARSE_FROM && size < slots / 4 {
        waste.sparse_collections += 1;
        waste.sparse_bytes += (slots - size) * heap.layout.reference_bytes;
    }
}

/// Arrays with the same content: of the same kind, which is their type and length, and with the
/// same hash, in one word of 64 bits each, of which the kind takes as many as the number of kinds
/// has. Some kinds at a time, so that only their words are there.
fn duplicates(heap: &Heap, arrays: &mut Bits, waste: &mut Waste) {
    let kinds = &heap.kinds;
    let bits = usize::BITS - kinds.table().len().leading_zeros();
    let total = arrays.count();
    let mut counts = vec![0_u32; kinds.table().len()];
    arrays.iter().for_each(|array| counts[kinds.number(array)] += 1);
    // In which of the parts each kind is.
    let (mut part, mut largest, mut sum) = (0_u32, 0, 0);
    let mut parts = vec![0; counts.len()];
    for (count, of) in counts.into_iter().zip(&mut parts) {
        if sum > 0 && sum + count > total / PARTS {
            (part, sum) = (part + 1, 0);
        }
        sum += count;
        largest = sum.max(largest);
        *of = part;
    }
    let mut words: Column<u64> = Column::with_room(heap.storage, largest as usize);
    for part in 0..=part {
        words.truncate(0);
        kinds.each_place(arrays, |node, place| {
            let kind = kinds.number(node);
            if parts[kind] == part {
                let mut hasher = FxHasher::default();
                hasher.write(heap.elements_at(node, place));
                words.push(hasher.finish() << bits | kind as u64);
            }
        });
        words.sort_unstable();
        for same in words.chunk_by(|a, b| a == b).filter(|same| same.len() > 1) {
            let kind = &kinds.table()[(same[0] & ((1 << bits) - 1)) as usize];
            waste.duplicate_arrays += same.len() as u64 - 1;
            waste.duplicate_bytes += (same.len() as u64 - 1) * u64::from(kind.units) * 8;
        }
    }
}
