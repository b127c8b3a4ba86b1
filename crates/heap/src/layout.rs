//! How large objects are in the heap, which a dump does not say: it has values, and references of
//! eight bytes whatever they took.
//!
//! HotSpot's layout depends on flags that are not in the dump (compressed references, compressed
//! class pointers, compact headers, the alignment of objects) and on the release. But addresses are
//! there, and no object reaches into the next one. So the layout is *measured*:
//!
//! * references take 4 bytes where arrays of references are closer to their neighbours than 8 bytes
//!   an element would let them be;
//! * an array's header is the size with which most arrays of bytes end exactly where the next
//!   object begins;
//! * an instance is as large as its fields need when they are laid out as HotSpot does
//!   (`FieldLayoutBuilder` from JDK 15 on, which fills the gaps of superclasses; before, each class
//!   begins behind its superclass, whose fields take a multiple of a reference:
//!   `nonstatic_field_size` of `classFileParser.cpp`), and, where a class has many instances, as
//!   the smallest distance from one of them to its neighbour.

use crate::classes::Classes;
use crate::records::{tag, width};

/// Distances that are looked at for a header, at most.
pub const SAMPLES: usize = 200_000;
/// From so many instances on the smallest distance to a neighbour is believed: between so many, two
/// are neighbours.
const MANY: u64 = 16;
/// What an instance may take more than its fields need, for what the JVM adds to a class: 24 bytes
/// to JDK 8's `MemberName`, less to others of which there are many. More is another object in
/// between.
const MOST_INJECTED: u64 = 24;

/// The stacks of virtual threads that are not running.
pub const STACK_CHUNK: &str = "jdk.internal.vm.StackChunk";
/// Types of the fields that the JVM adds to them and that are not in a dump: the continuation, the
/// pc, the most that is thawed, flags and the size of the lock stack (`javaClasses.hpp` of JDK 25;
/// the last one is not there before JDK 24).
const OF_STACK_CHUNKS: [u8; 5] = [2, 11, 10, 8, 8];

/// The layout of a heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Layout {
    /// Bytes of a reference.
    pub reference_bytes: u64,
    /// Bytes of an instance's header.
    pub header_bytes: u64,
    /// Bytes of an array's header, before its elements are aligned.
    pub array_header_bytes: u64,
    /// What objects begin at a multiple of.
    pub alignment: u64,
    /// How many distances the sizes of references and of headers were measured from; 0: assumed.
    pub measured_on: (u64, u64),
    /// Whether gaps of superclasses are filled (JDK 15 and later).
    pub fills_gaps: bool,
}

/// An array or instance with the distance to its neighbour.
#[derive(Clone, Copy, Debug)]
pub struct Neighbour {
    /// The record's tag.
    pub tag: u8,
    /// The number of its class, for arrays of primitive values the type.
    pub class: u32,
    /// Elements of an array.
    pub length: u64,
    /// Bytes to the next object.
    pub distance: u64,
}

impl Layout {
    /// Measures it. `alignment` is what all addresses are a multiple of; `span` how far apart they
    /// are.
    pub fn measure(
        neighbours: impl Iterator<Item = Neighbour>,
        id_size: usize,
        alignment: u64,
        span: u64,
        fills_gaps: bool,
    ) -> Self {
        // Object header of 16 with plain class pointers: array headers are 24, from JDK 23 on 20
        // (JDK-8139457). 12: compact headers.
        let headers: &[u64] = if id_size == 4 { &[12] } else { &[16, 24, 20, 12] };
        let (mut closer, mut apart, mut bytes) = (0_u64, 0_u64, 0_u64);
        let mut exact = [0_u64; 4];
        for near in neighbours.take(SAMPLES) {
            if near.tag == tag::OBJECT_ARRAY && near.length >= 8 {
                if near.distance < 16 + 8 * near.length { closer += 1 } else { apart += 1 }
            }
            if near.tag == tag::PRIMITIVE_ARRAY && near.class == 8 {
                bytes += 1;
                for (header, exact) in headers.iter().zip(&mut exact) {
                    *exact += u64::from(round(header + near.length, alignment) == near.distance);
                }
            }
        }
        let narrow = match (closer, apart) {
            // Nothing to measure: references are compressed wherever the heap is small enough for
            // it.
            (0, 0) => span < 32 << 30,
            // A few distances that contradict the rest come from damage.
            _ => closer * 10 > apart,
        };
        let reference_bytes = if id_size == 4 || narrow { 4 } else { 8 };
        let best = (0..headers.len()).max_by_key(|i| (exact[*i], std::cmp::Reverse(*i))).unwrap_or(0);
        // A few arrays may have anything behind them.
        let array_header_bytes = if exact[best] >= MANY { headers[best] } else { headers[0] };
        let header_bytes = match (id_size, array_header_bytes) {
            (4, _) | (_, 12) => 8,
            (_, 16) => 12,
            _ => 16,
        };
        let measured_on = (closer + apart, if exact[best] >= MANY { bytes } else { 0 });
        Self { reference_bytes, header_bytes, array_header_bytes, alignment, measured_on, fills_gaps }
    }

    /// Bytes of an array.
    pub fn array(&self, kind: u8, length: u64) -> u64 {
        let element = self.width(kind);
        // Before JDK 23 elements began at a multiple of the word; what was measured is already
        // that.
        let begin = round(self.array_header_bytes, element.max(1));
        round(begin.saturating_add(element.saturating_mul(length)), self.alignment)
    }

    /// Bytes of a value in the heap.
    pub fn width(&self, kind: u8) -> u64 {
        if kind == 2 { self.reference_bytes } else { width(kind, 8).unwrap_or(0) as u64 }
    }

    /// Bytes of an instance of a class, from its fields.
    fn computed(&self, classes: &Classes, class: u32) -> u64 {
        let chain: Vec<u32> = classes.chain(class).map(|(number, _)| number).collect();
        let mut end = self.header_bytes;
        let mut gaps: Vec<(u64, u64)> = Vec::new();
        for class in chain.into_iter().rev() {
            if !self.fills_gaps {
                gaps.clear();
                end = self.header_bytes + round(end - self.header_bytes, self.reference_bytes);
            }
            let class = classes.get(class);
            let mut widths: Vec<u64> = class.fields.iter().map(|f| self.width(f.kind)).collect();
            if class.name == STACK_CHUNK {
                widths.extend(OF_STACK_CHUNKS.map(|kind| self.width(kind)));
            }
            widths.sort_unstable_by(|a, b| b.cmp(a));
            for width in widths.into_iter().filter(|width| *width > 0) {
                place(&mut gaps, &mut end, width);
            }
        }
        round(end, self.alignment)
    }

    /// Fills in the sizes of instances. `closest` has, class by class, the smallest distance of an
    /// instance to its neighbour and how many there are.
    pub fn instances(&self, classes: &mut Classes, closest: &[(u64, u64)]) {
        for class in 12..classes.count() as u32 {
            let computed = self.computed(classes, class);
            let (distance, count) = closest.get(class as usize).copied().unwrap_or((u64::MAX, 0));
            let measured = distance < computed || count >= MANY && distance - computed <= MOST_INJECTED;
            // Less than a header is no object: addresses of a damaged dump.
            let believed = measured && distance >= round(self.header_bytes, self.alignment);
            classes.get_mut(class).instance_bytes = if believed { distance } else { computed };
        }
    }

    /// In words, with how it is known.
    pub fn in_words(&self) -> String {
        let (arrays, bytes) = self.measured_on;
        let how = |n: u64, of: &str| match n {
            0 => "assumed, no array shows it".to_owned(),
            n => format!("measured on {n} {of}"),
        };
        format!(
            "references of {} bytes ({}), headers of {} and of arrays {} bytes ({}), objects at multiples of {}",
            self.reference_bytes,
            how(arrays, "arrays of references"),
            self.header_bytes,
            self.array_header_bytes,
            how(bytes, "arrays of bytes"),
            self.alignment
        )
    }
}

/// Puts a field where it fits: into the first gap, or at the end.
fn place(gaps: &mut Vec<(u64, u64)>, end: &mut u64, width: u64) {
    let fitting = gaps.iter().position(|(from, to)| round(*from, width) + width <= *to);
    let Some(gap) = fitting else {
        let at = round(*end, width);
        if at > *end {
            gaps.push((*end, at));
        }
        *end = at + width;
        return;
    };
    let (from, to) = gaps.swap_remove(gap);
    let at = round(from, width);
    gaps.extend([(from, at), (at + width, to)].into_iter().filter(|(from, to)| from < to));
}

/// Up to a multiple.
pub fn round(bytes: u64, multiple: u64) -> u64 {
    bytes.checked_next_multiple_of(multiple.max(1)).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classes::Field;

    fn arrays(header: u64, reference: u64) -> impl Iterator<Item = Neighbour> {
        (0..400).map(move |i| match i % 2 {
            0 => Neighbour {
                tag: tag::OBJECT_ARRAY,
                class: 20,
                length: 8 + i,
                distance: round(round(header, reference) + reference * (8 + i), 8),
            },
            _ => Neighbour { tag: tag::PRIMITIVE_ARRAY, class: 8, length: i, distance: round(header + i, 8) },
        })
    }

    #[test]
    fn the_layout_is_found_by_distances() {
        for (header, reference, instance) in [(16, 4, 12), (24, 8, 16), (12, 4, 8), (20, 8, 16), (20, 4, 16)]
        {
            let layout = Layout::measure(arrays(header, reference), 8, 8, 1 << 30, true);
            let found = (layout.array_header_bytes, layout.reference_bytes, layout.header_bytes);
            assert_eq!(found, (header, reference, instance));
        }
    }

    #[test]
    fn fields_are_laid_out_as_the_jvm_does() {
        let mut classes = Classes::default();
        let (base, sub) = (classes.intern(1).unwrap(), classes.intern(2).unwrap());
        classes.get_mut(sub).parent = base;
        for (class, kind) in [(base, 8), (sub, 11), (sub, 8), (sub, 2)] {
            classes.get_mut(class).add_field(Field { name: 0, kind }, 8);
        }
        let mut layout = Layout::measure(arrays(16, 4), 8, 8, 1 << 30, true);
        // byte at 12, and in one: byte at 13, long at 16, reference at 24.
        assert_eq!(layout.computed(&classes, sub), 32);
        layout.fills_gaps = false;
        // byte at 12, long at 16, reference at 24, byte at 28.
        assert_eq!(layout.computed(&classes, sub), 32);
        // References of eight bytes: byte at 16, long at 24, reference at 32, byte at 40.
        let wide = Layout::measure(arrays(24, 8), 8, 8, 1 << 30, false);
        assert_eq!(wide.computed(&classes, sub), 48);
        assert_eq!([layout.array(8, 0), layout.array(11, 3), layout.array(2, 3)], [16, 40, 32]);
        // Closer than computed: measured. Many, and a little further: measured. Few: computed.
        let mut closest = vec![(u64::MAX, 0); classes.count()];
        for (closest_bytes, expected) in
            [((24, 1), 24), ((40, 100), 40), ((48, 100), 48), ((64, 100), 32), ((40, 2), 32), ((8, 9), 32)]
        {
            closest[sub as usize] = closest_bytes;
            layout.instances(&mut classes, &closest);
            assert_eq!(classes.get(sub).instance_bytes, expected);
        }
    }
}
