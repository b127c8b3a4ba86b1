//! The table `objects`.

use std::io;

use rustc_hash::FxHashMap;

use super::address;
use super::columns::{Cell, Kind, Rows};
use crate::cursor::Cursor;
use crate::heap::Heap;
use crate::kept::Kept;
use crate::records::{RootKind, tag};

pub(super) const COLUMNS: &[(&str, Kind)] = &[
    ("object", Kind::Int),
    ("class", Kind::Name),
    ("kind", Kind::Name),
    ("shallow", Kind::Int),
    ("retained", Kind::Int),
    ("dominator", Kind::Int),
    ("root", Kind::Name),
    ("length", Kind::Int),
    ("describes", Kind::Name),
];

pub(super) fn write(heap: &Heap, kept: &Kept, rows: &mut Rows) -> io::Result<()> {
    let mut roots: FxHashMap<u32, RootKind> = FxHashMap::default();
    for root in &heap.roots {
        roots.entry(root.node).and_modify(|kind| *kind = root.kind.min(*kind)).or_insert(root.kind);
    }
    let id_size = heap.header.id_size;
    for (node, place) in heap.kinds.places(0) {
        let own = Cursor::new(heap.file.bytes(), place + 1).id(id_size).unwrap_or(0);
        let number = kept.number(node);
        let above = number.map(|number| kept.dominator(number)).filter(|above| *above != 0);
        let kind = heap.tag(node);
        rows.push(&[
            Cell::Int(own.cast_signed()),
            Cell::Text(&heap.class(node).name),
            Cell::Text(match kind {
                tag::CLASS => "class",
                tag::OBJECT_ARRAY => "object-array",
                tag::PRIMITIVE_ARRAY => "primitive-array",
                _ => "instance",
            }),
            Cell::count(heap.size(node)),
            Cell::maybe(number.map(|number| kept.retained(number).cast_signed())),
            Cell::maybe(above.map(|above| address(heap, kept.node(above)))),
            Cell::text(roots.get(&node).map(|kind| kind.name())),
            match kind {
                tag::OBJECT_ARRAY | tag::PRIMITIVE_ARRAY => Cell::count(heap.length(node)),
                _ => Cell::Null,
            },
            Cell::text((kind == tag::CLASS).then(|| heap.as_class(node)).flatten().map(|c| c.name.as_str())),
        ])?;
    }
    Ok(())
}
