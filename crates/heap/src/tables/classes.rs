//! The table `classes`: a class that two loaders defined has two rows.

use std::io;

use super::address;
use super::columns::{Cell, Kind, Rows};
use crate::heap::Heap;
use crate::kept::Kept;
use crate::numbers::NONE;

pub(super) const COLUMNS: &[(&str, Kind)] = &[
    ("class", Kind::Text),
    ("package", Kind::Name),
    ("superclass", Kind::Name),
    ("object", Kind::Int),
    ("loader", Kind::Int),
    ("loader_class", Kind::Name),
    ("objects", Kind::Int),
    ("shallow", Kind::Int),
    ("retained", Kind::Int),
    ("unreachable_objects", Kind::Int),
    ("unreachable", Kind::Int),
];

pub(super) fn write(heap: &Heap, kept: &Kept, rows: &mut Rows) -> io::Result<()> {
    let count = heap.classes.count();
    let groups: Vec<[u32; 1]> = (0..count as u32).map(|class| [class]).collect();
    for ((_, class), sum) in heap.classes.iter().zip(kept.sums(&groups, count)) {
        if class.name.is_empty() {
            continue;
        }
        let loader = heap.find(class.loader);
        let parent = (class.parent != NONE).then(|| heap.classes.get(class.parent).name.as_str());
        rows.push(&[
            Cell::Text(&class.name),
            Cell::Text(class.package()),
            Cell::text(parent),
            Cell::maybe((class.node != NONE).then(|| address(heap, class.node))),
            Cell::maybe(loader.map(|loader| address(heap, loader))),
            Cell::text(loader.map(|loader| heap.class(loader).name.as_str())),
            Cell::count(sum.objects),
            Cell::count(sum.shallow_bytes),
            Cell::count(sum.retained_bytes),
            Cell::count(sum.unreachable_objects),
            Cell::count(sum.unreachable_bytes),
        ])?;
    }
    Ok(())
}
