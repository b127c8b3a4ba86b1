//! The table `refs`: which object refers to which, and by what.

use std::io;

use super::columns::{Cell, Kind, Rows};
use super::shapes;
use crate::cursor::{Cursor, ids};
use crate::heap::Heap;
use crate::records::{ClassPart, class_body, tag};

pub(super) const COLUMNS: &[(&str, Kind)] = &[
    ("source", Kind::Int),
    ("target", Kind::Int),
    ("via", Kind::Name),
    ("field", Kind::Name),
    ("index", Kind::Int),
];

pub(super) fn write(heap: &Heap, rows: &mut Rows) -> io::Result<()> {
    let id_size = heap.header.id_size;
    let data = heap.file.bytes();
    let fields = shapes::of(heap, |kind| kind == 2);
    for (node, place) in heap.kinds.places(0) {
        let kind = heap.kinds.of(node);
        let source = Cell::Int(Cursor::new(data, place + 1).id(id_size).unwrap_or(0).cast_signed());
        let mut push = |target: u64, via: &str, field: Option<&str>, index: Option<usize>| {
            if heap.find(target).is_none() {
                return Ok(());
            }
            let index = Cell::maybe(index.map(|index| index as i64));
            rows.push(&[source, Cell::Int(target.cast_signed()), Cell::Text(via), Cell::text(field), index])
        };
        // Classes of arrays of primitive types hold themselves.
        if matches!(kind.tag, tag::INSTANCE | tag::OBJECT_ARRAY) {
            push(heap.classes.get(kind.class).address, "instance-of", None, None)?;
        }
        if !kind.refers {
            continue;
        }
        match kind.tag {
            tag::INSTANCE => {
                let values = heap.value_at(place, 0, kind.length as usize);
                for field in &fields[kind.class as usize] {
                    let value = values.get(field.at..field.at + field.bytes);
                    let target = value.and_then(|value| ids(value, id_size).next()).unwrap_or(0);
                    push(target, "field", Some(&field.name), None)?;
                }
            }
            tag::OBJECT_ARRAY => {
                for (index, target) in ids(heap.payload(node), id_size).enumerate() {
                    push(target, "element", None, Some(index))?;
                }
            }
            tag::CLASS => {
                let mut found = Vec::new();
                let mut c = Cursor::new(data, place + 1 + id_size);
                let _ = class_body(&mut c, id_size, &mut |part| match part {
                    ClassPart::Head(all) => {
                        let names = ["superclass", "loader", "signers", "protection domain"];
                        found.extend(all.into_iter().zip(names).map(|(to, name)| (to, "class", name.into())));
                    }
                    ClassPart::Constant(to) => found.push((to, "class", "constant".to_owned())),
                    ClassPart::Static(name, 2, at) => {
                        let to = data.get(at..at + id_size).and_then(|id| ids(id, id_size).next());
                        found.push((to.unwrap_or(0), "static", heap.text(name)));
                    }
                    ClassPart::Value(..) | ClassPart::Static(..) | ClassPart::Field(..) => {}
                });
                for (target, via, name) in found {
                    push(target, via, Some(&name), None)?;
                }
            }
            _ => {}
        }
        for to in heap.extra(node) {
            let thread = heap.threads.iter().any(|thread| thread.node == node);
            push(heap.address(*to), if thread { "local" } else { "defines" }, None, None)?;
        }
    }
    Ok(())
}
