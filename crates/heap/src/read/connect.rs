//! The second pass over a dump: what every object refers to.
//!
//! As many ranges of objects are looked at side by side as there are CPUs. Where references
//! are among the values of an instance is worked out once for each class.

use std::ops::Range;

use super::{Build, Referents};
use crate::bits::Bits;
use crate::cursor::{Cursor, ids};
use crate::dominators::joined;
use crate::kinds::BLOCK;
use crate::numbers::NONE;
use crate::progress::{EVERY, Phase};
use crate::records::{ClassPart, class_body, tag};
use crate::references::Rows;

/// Ranges of objects at a time, at most.
const MOST_AT_ONCE: usize = 4;
/// A range has so many objects at least.
const FEWEST_AT_ONCE: u32 = 1 << 14;

/// What a range of objects refers to.
struct Connected {
    rows: Rows,
    /// Objects that something refers to.
    one: Bits,
    /// Those of them that more than one reference leads to.
    many: Bits,
    dangling: u64,
    without_class: u64,
}

/// What is needed of a class to read its instances.
#[derive(Default)]
struct Shape {
    /// Where references are among the values.
    references: Vec<u32>,
    /// Whether the class is in the dump.
    known: bool,
}

impl Build<'_> {
    /// What every object refers to, and to which of them one reference alone leads.
    pub(super) fn connect(&mut self, referents: Referents) -> (Rows, Bits) {
        let nodes = self.scan.kinds.objects() as u32;
        let shapes = self.shapes(referents);
        let at_once = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_AT_ONCE) as u32;
        // A block of rows is written by one.
        let each = nodes.div_ceil(at_once).max(FEWEST_AT_ONCE).next_multiple_of(BLOCK);
        let (this, shapes) = (&*self, &shapes[..]);
        let parts: Vec<Connected> = std::thread::scope(|scope| {
            let begin = |from: u32| {
                let to = from.saturating_add(each).min(nodes);
                scope.spawn(move || this.connect_range(from..to, shapes))
            };
            let begun: Vec<_> = (0..nodes).step_by(each as usize).map(begin).collect();
            begun.into_iter().map(joined).collect()
        });
        let mut rows: Option<Rows> = None;
        let none = || Bits::none(self.storage, nodes as usize);
        let (mut alone, mut many) = (none(), none());
        // What its instances refer to, and what holds itself.
        for kind in self.scan.kinds.table().iter().filter(|kind| kind.class_object != NONE) {
            many.add(kind.class_object);
        }
        self.held.iter().for_each(|held| many.add(*held));
        for part in parts {
            many.add_common(&alone, &part.one);
            many.add_all(&part.many);
            alone.add_all(&part.one);
            self.damage.dangling_references += part.dangling;
            self.damage.without_class += part.without_class;
            match &mut rows {
                Some(rows) => rows.append(&part.rows),
                None => rows = Some(part.rows),
            }
        }
        alone.take_out(&many);
        (rows.unwrap_or_else(|| Rows::new(self.storage, 0)), alone)
    }

    /// Of each class that has instances, where their references are. No further than the longest of
    /// them reaches, so that what is known of classes takes no more room than the instances did.
    fn shapes(&self, referents: Referents) -> Vec<Shape> {
        let mut longest = vec![0; self.scan.classes.count()];
        for kind in self.scan.kinds.table().iter().filter(|kind| kind.tag == tag::INSTANCE) {
            let longest = &mut longest[kind.class as usize];
            *longest = kind.length.max(*longest);
        }
        let shape = |number: u32, longest: u32| {
            let class = self.scan.classes.get(number);
            let mut shape = Shape { references: Vec::new(), known: class.node != NONE };
            let mut base = 0_u64;
            for (_, part) in self.scan.classes.chain(number) {
                let skipped = referents == Referents::LeftOut
                    && class.strength.is_some()
                    && part.name == "java.lang.ref.Reference";
                for (field, at) in part.fields.iter().filter(|field| field.kind == 2).zip(&part.references) {
                    let at = base + u64::from(*at);
                    if at + self.id_size as u64 > u64::from(longest) {
                        return shape;
                    }
                    if skipped && self.scan.texts.bytes(self.data, field.name) == Some(b"referent") {
                        continue;
                    }
                    shape.references.push(at as u32);
                }
                base += u64::from(part.own_bytes);
            }
            shape
        };
        (0..).zip(longest).map(|(number, longest)| shape(number, longest)).collect()
    }

    fn connect_range(&self, nodes: Range<u32>, shapes: &[Shape]) -> Connected {
        let mut rows = Rows::new(self.storage, nodes.len());
        let none = || Bits::none(self.storage, self.scan.kinds.objects());
        let (mut one, mut many) = (none(), none());
        let (mut dangling, mut without_class) = (0, 0);
        for (node, place) in self.scan.kinds.places(nodes.start).take(nodes.len()) {
            if nodes.start == 0 && node.is_multiple_of(EVERY) {
                self.scan.progress.at(Phase::Connect, f64::from(node) / nodes.len() as f64);
            }
            let kind = self.scan.kinds.of(node);
            rows.begin(node, kind.refers);
            without_class += u64::from(kind.tag == tag::INSTANCE && !shapes[kind.class as usize].known);
            if !kind.refers {
                continue;
            }
            let mut last = node;
            self.each_reference(place, kind.tag, &shapes[kind.class as usize], &mut |address| match self
                .find(address)
            {
                Some(to) => {
                    if rows.add(&mut last, to) {
                        if one.has(to) { many.add(to) } else { one.add(to) }
                    }
                }
                None => dangling += u64::from(address != 0),
            });
            for to in self.extra.get(&node).into_iter().flatten() {
                if rows.add(&mut last, *to) {
                    if one.has(*to) { many.add(*to) } else { one.add(*to) }
                }
            }
            rows.end();
        }
        Connected { rows, one, many, dangling, without_class }
    }

    /// Calls back for every reference of an object.
    fn each_reference(&self, place: usize, tag: u8, shape: &Shape, each: &mut impl FnMut(u64)) {
        let id_size = self.id_size;
        let mut c = Cursor::new(self.data, place + 1 + id_size);
        let id = |bytes: Option<&[u8]>| bytes.and_then(|bytes| ids(bytes, id_size).next());
        match tag {
            tag::CLASS => {
                let _ = class_body(&mut c, id_size, &mut |part| match part {
                    ClassPart::Head(ids) => ids.into_iter().for_each(&mut *each),
                    ClassPart::Constant(id) => each(id),
                    ClassPart::Static(_, 2, at) => {
                        id(self.data.get(at..at + id_size)).into_iter().for_each(&mut *each)
                    }
                    ClassPart::Value(..) | ClassPart::Static(..) | ClassPart::Field(..) => {}
                });
            }
            tag::OBJECT_ARRAY => {
                let length = c.take(4).and_then(|_| c.u32()).unwrap_or(0) as usize;
                let elements = c.take(id_size).and_then(|_| c.take(length.saturating_mul(id_size)));
                ids(elements.unwrap_or(&[]), id_size).for_each(each);
            }
            tag::INSTANCE => {
                let bytes = c.take(4 + id_size).and_then(|_| c.u32()).unwrap_or(0);
                let payload = c.take(bytes as usize).unwrap_or(&[]);
                for at in &shape.references {
                    let at = *at as usize;
                    id(payload.get(at..at + id_size)).into_iter().for_each(&mut *each);
                }
            }
            _ => {}
        }
    }
}
