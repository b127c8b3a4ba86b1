//! The tables `strings` and `fields`, which have values.

use std::io;

use super::address;
use super::columns::{Cell, Kind, Rows};
use super::shapes;
use crate::cursor::Cursor;
use crate::heap::{Heap, number};
use crate::numbers::NONE;
use crate::records::tag;
use crate::report::object::kind_name;

/// Longest text that a row has, in characters.
const LONGEST: usize = 1 << 16;

pub(super) const STRINGS: &[(&str, Kind)] = &[("object", Kind::Int), ("value", Kind::Text)];
pub(super) const FIELDS: &[(&str, Kind)] = &[
    ("object", Kind::Int),
    ("field", Kind::Name),
    ("type", Kind::Name),
    ("value", Kind::Int),
    ("real", Kind::Real),
];

pub(super) fn strings(heap: &Heap, rows: &mut Rows) -> io::Result<()> {
    let string = heap.classes.named("java.lang.String").next().unwrap_or(NONE);
    for node in 0..heap.len() {
        let kind = heap.kinds.of(node);
        if kind.class == string && kind.tag == tag::INSTANCE {
            let value = heap.string(node, LONGEST);
            rows.push(&[Cell::Int(address(heap, node)), Cell::text(value.as_deref())])?;
        }
    }
    Ok(())
}

pub(super) fn fields(heap: &Heap, rows: &mut Rows) -> io::Result<()> {
    let id_size = heap.header.id_size;
    let places = shapes::of(heap, |kind| kind != 2);
    for (node, place) in heap.kinds.places(0) {
        let kind = heap.kinds.of(node);
        let own = Cell::Int(Cursor::new(heap.file.bytes(), place + 1).id(id_size).unwrap_or(0).cast_signed());
        if kind.tag == tag::CLASS {
            for (name, of, value) in heap.statics(node) {
                push(rows, own, &heap.text(name), of, value)?;
            }
        } else if kind.tag == tag::INSTANCE {
            let values = heap.value_at(place, 0, kind.length as usize);
            for field in &places[kind.class as usize] {
                let Some(value) = values.get(field.at..field.at + field.bytes) else { break };
                push(rows, own, &field.name, field.kind, value)?;
            }
        }
    }
    Ok(())
}

fn push(rows: &mut Rows, own: Cell<'_>, name: &str, kind: u8, value: &[u8]) -> io::Result<()> {
    if !(4..=11).contains(&kind) {
        return Ok(());
    }
    let of = kind_name(kind);
    let whole = number(kind, value);
    let whole = whole.or_else(|| Some(i64::from(u16::from_be_bytes(value.try_into().ok()?))));
    let real = match kind {
        6 => value.try_into().ok().map(|bytes| f64::from(f32::from_be_bytes(bytes))),
        7 => value.try_into().ok().map(f64::from_be_bytes),
        _ => None,
    };
    let real = real.map_or(Cell::Null, Cell::Real);
    rows.push(&[own, Cell::Text(name), Cell::Text(of), Cell::maybe(whole), real])
}
