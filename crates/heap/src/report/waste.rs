//! Memory that says nothing: texts that are there several times, collections without elements,
//! numbers in boxes.

use rustc_hash::FxHashMap;
use serde::Serialize;
use std::hash::Hasher;

use super::collections::known;
use crate::column::Column;
use crate::dominators::NONE;
use crate::heap::Heap;
use crate::kept::Kept;
use crate::records::tag;

/// Classes of boxed values.
const BOXES: [&str; 8] = ["Boolean", "Byte", "Short", "Character", "Integer", "Long", "Float", "Double"];
/// An array of a collection from so many slots on, of which fewer than a quarter are used, is
/// sparse.
const SPARSE_FROM: u64 = 16;

/// What could be saved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Waste {
    /// Texts (`java.lang.String`) that can be reached.
    pub strings: u64,
    /// Bytes of their arrays.
    pub string_bytes: u64,
    /// Arrays of texts that have the content of another one. Compared by a hash of 64 bits;
    /// contents are not kept.
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

/// Looked for in all that can be reached.
pub(crate) fn waste(heap: &Heap, kept: &Kept) -> Waste {
    let mut waste = Waste::default();
    let string = heap.classes.named("java.lang.String").next().unwrap_or(NONE);
    let collections: FxHashMap<u32, (&str, &str)> =
        heap.classes.iter().filter_map(|(number, _)| Some((number, known(heap, number)?))).collect();
    let boxes: Vec<bool> = heap.classes.iter().map(|(_, class)| is_box(&class.name)).collect();
    let mut arrays = Column::with_room(heap.storage, heap.len() as usize);
    for node in (0..heap.len()).filter(|node| kept.number(*node).is_some()) {
        let class = heap.class_number(node);
        if boxes[class as usize] && heap.tag(node) == tag::INSTANCE {
            waste.boxed += 1;
            waste.boxed_bytes += heap.size(node);
        } else if class == string && heap.tag(node) == tag::INSTANCE {
            waste.strings += 1;
            let value = heap.object(node, "value");
            if let Some(array) = value.filter(|array| heap.tag(*array) == tag::PRIMITIVE_ARRAY) {
                arrays.push(array);
            }
        } else if let Some((size, array)) = collections.get(&class) {
            collection(heap, node, size, array, &mut waste);
        }
    }
    // In a copy without values all texts of one length are alike.
    if !heap.is_redacted() {
        duplicates(heap, arrays, &mut waste);
    }
    waste
}

fn is_box(name: &str) -> bool {
    name.strip_prefix("java.lang.").is_some_and(|name| BOXES.contains(&name))
}

fn collection(heap: &Heap, node: u32, size: &str, array: &str, waste: &mut Waste) {
    // What other threads had added to a ConcurrentHashMap stands in its cells, beside the count.
    if heap.object(node, "counterCells").is_some() {
        return;
    }
    let Some(size) = heap.number(node, size).and_then(|size| u64::try_from(size).ok()) else { return };
    let array = if array.is_empty() { None } else { heap.object(node, array) };
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

/// Arrays with the same content, by a hash: 12 bytes a text while they are sorted.
fn duplicates(heap: &Heap, mut arrays: Column<u32>, waste: &mut Waste) {
    arrays.sort_unstable();
    arrays.dedup_by_key(|array| *array);
    waste.string_bytes = arrays.iter().map(|array| heap.size(*array)).sum();
    let mut hashes: Column<(u64, u32)> = Column::with_room(heap.storage, arrays.len());
    arrays.iter().for_each(|array| hashes.push((hash(heap, *array), *array)));
    hashes.sort_unstable();
    for same in hashes.chunk_by(|(a, _), (b, _)| a == b).filter(|same| same.len() > 1) {
        waste.duplicate_arrays += same.len() as u64 - 1;
        waste.duplicate_bytes += same[1..].iter().map(|(_, array)| heap.size(*array)).sum::<u64>();
    }
}

fn hash(heap: &Heap, array: u32) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    hasher.write_u32(heap.class_number(array));
    hasher.write(heap.payload(array));
    hasher.finish()
}
