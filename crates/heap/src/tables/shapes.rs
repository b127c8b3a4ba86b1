//! Where the fields of instances are among their values, with names.

use crate::heap::Heap;
use crate::records::{tag, width};

/// A field of instances.
pub(super) struct Place {
    /// Its value's first byte among the values.
    pub at: usize,
    /// Bytes of its value.
    pub bytes: usize,
    /// Its type, as HPROF numbers them.
    pub kind: u8,
    /// Its name.
    pub name: String,
}

/// Of each class, the fields of the types that are asked for: no further than the longest of its
/// instances reaches, so that a dump cannot claim more of them than it has room for.
pub(super) fn of(heap: &Heap, wanted: impl Fn(u8) -> bool) -> Vec<Vec<Place>> {
    let id_size = heap.header.id_size;
    let mut longest = vec![0_usize; heap.classes.count()];
    for kind in heap.kinds.table().iter().filter(|kind| kind.tag == tag::INSTANCE) {
        let longest = &mut longest[kind.class as usize];
        *longest = (kind.length as usize).max(*longest);
    }
    let places = |(class, longest): (u32, usize)| {
        let fields = heap.classes.fields(class, id_size);
        let places = fields.map(|(at, field, _)| (at, width(field.kind, id_size).unwrap_or(0), field));
        let within = places.take_while(|(at, bytes, _)| at + bytes <= longest);
        let wanted = within.filter(|(.., field)| wanted(field.kind));
        wanted
            .map(|(at, bytes, field)| Place { at, bytes, kind: field.kind, name: heap.text(field.name) })
            .collect()
    };
    (0..).zip(longest).map(places).collect()
}
