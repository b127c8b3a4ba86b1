//! The first pass over a dump: where everything is.
//!
//! The JVM (from JDK 9 on) writes the heap in segments of a megabyte or so, each with its length.
//! So as many ranges of segments are read side by side as there are CPUs, each as if it were a dump
//! of its own, and what was found is put one behind the other: numbers of objects, kinds and
//! classes then follow. Where the heap is one segment or is damaged, or an object is there twice in
//! different ranges, all is read in its order instead.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::addresses::Addresses;
use crate::classes::Classes;
use crate::column::Storage;
use crate::damage::Damage;
use crate::dominators::joined;
use crate::file::DumpFile;
use crate::heap::Frame;
use crate::kinds::{Kind, Kinds};
use crate::numbers::{MOST_OBJECTS, NONE};
use crate::progress::{EVERY, Phase, Progress};
use crate::records::{ClassKey, Header, RootRecord, SubRecord, Visit, tag};
use crate::text::Texts;
use crate::walk::{all_are_whole, segment_put_off, walk};

/// Ranges of segments at a time, at most.
const MOST_AT_ONCE: usize = 4;
/// Bytes of such a range at least.
pub(super) const PART_BYTES: usize = 4 << 20;

/// What the first pass notes.
pub(super) struct Scan<'a> {
    pub(super) texts: Texts,
    pub(super) addresses: Addresses,
    pub(super) kinds: Kinds,
    /// Objects that are classes.
    pub(super) class_objects: Vec<u32>,
    /// Objects that are there once more.
    pub(super) duplicates: u64,
    pub(super) classes: Classes,
    pub(super) loaded: Vec<(u32, u64, u64)>,
    /// Identifiers of classes that were loaded.
    known: FxHashSet<u64>,
    pub(super) frames: FxHashMap<u64, Frame>,
    /// Serial numbers of classes, for frames.
    pub(super) serials: FxHashMap<u32, u32>,
    pub(super) stacks: FxHashMap<u32, (u64, u32)>,
    pub(super) roots: Vec<RootRecord>,
    pub(super) too_many_classes: bool,
    pub(super) too_many_kinds: bool,
    pub(super) too_many_objects: bool,
    data: &'a [u8],
    pub(super) progress: Progress,
    /// The class that was met last.
    last_class: (u64, u32),
    /// Segments that are put off, if any are to be.
    put_off: Option<Vec<Range<usize>>>,
    /// Of what the progress is: bytes of the dump.
    range: Range<usize>,
}

/// The first pass over a dump.
pub(super) fn scanned<'a>(
    file: &'a DumpFile,
    header: &Header,
    storage: Storage,
    least: usize,
    new: impl Fn() -> Scan<'a> + Sync,
) -> (Scan<'a>, Damage) {
    let data = file.bytes();
    let at_once = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_AT_ONCE);
    let at_once = at_once.min(data.len() / least.max(1));
    // On disk what is read anew would be written twice.
    if at_once > 1 && storage == Storage::Memory && all_are_whole(data, header) {
        let mut scan = new();
        scan.put_off = Some(Vec::new());
        let damage = walk(data, header, &mut scan);
        let segments = scan.put_off.take().unwrap_or_default();
        let parts = divided(segments, at_once);
        let begin = |segments: &Vec<Range<usize>>| {
            let mut part = new();
            let mut damage = Damage::default();
            part.range =
                segments.first().map_or(0, |first| first.start)..segments.last().map_or(0, |last| last.end);
            for segment in segments {
                segment_put_off(data, segment.clone(), header, &mut part, &mut damage);
            }
            (part, damage)
        };
        let parts: Vec<(Scan<'_>, Damage)> = std::thread::scope(|scope| {
            let begun: Vec<_> = parts.iter().map(|part| scope.spawn(move || begin(part))).collect();
            begun.into_iter().map(joined).collect()
        });
        let mut all_follow = true;
        for (part, of_part) in parts {
            // Past damage it is read by what is known from elsewhere.
            all_follow = all_follow && of_part == Damage::default() && scan.append(part);
        }
        if all_follow {
            return (scan, damage);
        }
    }
    let mut scan = new();
    let damage = walk(data, header, &mut scan);
    (scan, damage)
}

/// Segments in so many parts of about as many bytes.
fn divided(segments: Vec<Range<usize>>, parts: usize) -> Vec<Vec<Range<usize>>> {
    let total: usize = segments.iter().map(Range::len).sum();
    let mut divided = vec![Vec::new(); parts];
    let mut sum = 0;
    for segment in segments {
        divided[(sum * parts / total.max(1)).min(parts - 1)].push(segment.clone());
        sum += segment.len();
    }
    divided
}

impl<'a> Scan<'a> {
    pub(super) fn new(storage: Storage, data: &'a [u8], most: usize, progress: Progress) -> Self {
        Self {
            texts: Texts::default(),
            addresses: Addresses::new(storage, most),
            kinds: Kinds::new(storage, most),
            class_objects: Vec::new(),
            duplicates: 0,
            classes: Classes::default(),
            loaded: Vec::new(),
            known: FxHashSet::default(),
            frames: FxHashMap::default(),
            serials: FxHashMap::default(),
            stacks: FxHashMap::default(),
            roots: Vec::new(),
            too_many_classes: false,
            too_many_kinds: false,
            too_many_objects: false,
            data,
            progress,
            last_class: (0, 0),
            put_off: None,
            range: 0..data.len(),
        }
    }

    /// Adds what is behind it. False: it has to be read in its order.
    fn append(&mut self, part: Self) -> bool {
        let from = self.kinds.objects();
        if part.too_many_classes || part.too_many_kinds || from + part.kinds.objects() > MOST_OBJECTS as usize
        {
            return false;
        }
        // The first twelve are the same everywhere.
        let classes: Vec<u32> = part
            .classes
            .iter()
            .map(|(number, class)| match class.address {
                0 if number < 12 => number,
                id => self.class(id),
            })
            .collect();
        let from = from as u32;
        let (addresses, kinds) = (&mut self.addresses, &mut self.kinds);
        let all_follow = std::thread::scope(|scope| {
            let addresses = scope.spawn(|| addresses.append(&part.addresses, from));
            kinds.append(&part.kinds, |class| classes[class as usize]) && joined(addresses)
        });
        self.class_objects.extend(part.class_objects.iter().map(|number| from + number));
        self.duplicates += part.duplicates;
        self.roots.extend(part.roots);
        all_follow && !self.too_many_classes
    }

    pub(super) fn class(&mut self, id: u64) -> u32 {
        let class = self.classes.intern(id);
        self.too_many_classes |= class.is_none();
        class.unwrap_or(0)
    }
}

impl Visit for Scan<'_> {
    fn text(&mut self, id: u64, at: usize, bytes: usize) {
        self.texts.add(id, at, bytes);
    }

    fn class_loaded(&mut self, serial: u32, id: u64, name: u64) {
        let class = self.class(id);
        self.serials.insert(serial, class);
        self.loaded.push((class, id, name));
        self.known.insert(id);
    }

    fn frame(&mut self, id: u64, method: u64, source: u64, class_serial: u32, line: i32) {
        let class = self.serials.get(&class_serial).copied().unwrap_or(NONE);
        self.frames.insert(id, Frame { method, source, class, line });
    }

    fn stack(&mut self, serial: u32, _: u32, at: usize, frames: u32) {
        self.stacks.insert(serial, (at as u64, frames));
    }

    fn knows_class(&self, id: u64) -> bool {
        self.known.contains(&id)
    }

    fn put_off(&mut self, body: Range<usize>) -> bool {
        self.put_off.as_mut().map(|all| all.push(body)).is_some()
    }

    fn root(&mut self, root: RootRecord) {
        self.roots.push(root);
    }

    fn object(&mut self, id: u64, class: ClassKey, record: SubRecord) {
        let number = self.kinds.objects() as u32;
        if number.is_multiple_of(EVERY) {
            let done = record.at.saturating_sub(self.range.start) as f64 / self.range.len().max(1) as f64;
            self.progress.at(Phase::Scan, done);
        }
        if number >= MOST_OBJECTS || self.too_many_kinds {
            self.too_many_objects |= number >= MOST_OBJECTS;
            return;
        }
        let class = match class {
            ClassKey::Id(class) if class == self.last_class.0 => self.last_class.1,
            ClassKey::Id(class) => {
                self.last_class = (class, self.class(class));
                self.last_class.1
            }
            ClassKey::Primitive(kind) => u32::from(kind),
            ClassKey::Class => 0,
        };
        if !self.addresses.add(id, number) {
            self.duplicates += 1;
            return;
        }
        let tag = self.data[record.at];
        if tag == tag::CLASS {
            self.class_objects.push(number);
        }
        let (length, bytes) = (record.length, record.bytes as u64);
        let kind = Kind { class, length, record: bytes, tag, ..Kind::default() };
        self.too_many_kinds |= !self.kinds.push(kind, record.at as u64);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::cursor::Cursor;

    /// Where objects and roots of a dump begin, and the ends of its segments.
    #[derive(Default)]
    struct Begin(Vec<usize>);

    impl Visit for Begin {
        fn text(&mut self, _: u64, _: usize, _: usize) {}
        fn class_loaded(&mut self, _: u32, _: u64, _: u64) {}
        fn frame(&mut self, _: u64, _: u64, _: u64, _: u32, _: i32) {}
        fn stack(&mut self, _: u32, _: u32, _: usize, _: u32) {}
        fn root(&mut self, _: RootRecord) {}
        fn object(&mut self, _: u64, _: ClassKey, at: SubRecord) {
            self.0.push(at.at);
            self.0.push(at.at + at.bytes);
        }
    }

    /// The dump in as many segments as there are objects, and some of them a second time.
    fn in_segments(data: &[u8], every: usize, again: &[usize]) -> Vec<u8> {
        let head = crate::records::header(data).unwrap();
        let mut begin = Begin::default();
        walk(data, &head, &mut begin);
        let (first, last) = (*begin.0.iter().min().unwrap(), *begin.0.iter().max().unwrap());
        let mut out = data[..head.first].to_vec();
        let mut heap: Vec<Range<usize>> = Vec::new();
        let mut at = head.first;
        while at < data.len() {
            let length = Cursor::new(data, at + 5).u32().unwrap() as usize;
            let body = at + 9..at + 9 + length;
            if matches!(data[at], 0x0c | 0x1c) {
                heap.push(body.clone());
            } else {
                out.extend(&data[at..body.end]);
            }
            at = body.end;
        }
        let mut segment = |bytes: &[u8]| {
            out.extend([0x1c, 0, 0, 0, 0]);
            out.extend((bytes.len() as u32).to_be_bytes());
            out.extend(bytes);
        };
        for body in heap {
            let mut cuts: Vec<usize> = begin.0.iter().copied().filter(|cut| body.contains(cut)).collect();
            cuts.extend([body.start, body.end]);
            cuts.sort_unstable();
            cuts.dedup();
            let cuts: Vec<usize> = (0..)
                .zip(&cuts)
                .filter(|(i, cut)| i % every == 0 || **cut == body.end)
                .map(|(_, cut)| *cut)
                .collect();
            cuts.windows(2).for_each(|cut| segment(&data[cut[0]..cut[1]]));
        }
        for object in again {
            let pairs: Vec<&[usize]> = begin.0.chunks_exact(2).collect();
            let pair = pairs[object % pairs.len()];
            segment(&data[pair[0]..pair[1]]);
        }
        assert!(first < last);
        out
    }

    /// What is known of a dump behind the first pass.
    fn known(data: &[u8], least: usize) -> (Vec<String>, Damage) {
        let named = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(named.path(), data).unwrap();
        let file = DumpFile::open(named.path(), &Progress::default()).unwrap();
        let header = crate::records::header(data).unwrap();
        let new = || Scan::new(Storage::Memory, file.bytes(), 1000, Progress::default());
        let (mut scan, damage) = scanned(&file, &header, Storage::Memory, least, new);
        let at = |place: usize| Cursor::new(data, place + 1).id(header.id_size).unwrap();
        let Scan { kinds, addresses, .. } = &mut scan;
        addresses.seal(
            Storage::Memory,
            |node| at(kinds.place(node)),
            |each| {
                kinds.places(0).for_each(|(node, place)| each(at(place), node));
            },
        );
        let mut known = vec![format!("{:?} {:?} {}", scan.class_objects, scan.roots, scan.duplicates)];
        for (node, place) in scan.kinds.places(0) {
            let Kind { class, length, record, tag, .. } = *scan.kinds.of(node);
            let class = scan.classes.get(class).address;
            let found = scan.addresses.find(at(place));
            known.push(format!(
                "{node} {place} {class:x} {length} {record} {tag} {found:?} {}",
                scan.kinds.place(node)
            ));
        }
        (known, damage)
    }

    proptest! {
        #[test]
        fn ranges_of_segments_tell_what_the_whole_tells(
            every in 1_usize..40,
            again in prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(any::<usize>(), 1..3)],
            spoilt in prop::option::of(any::<prop::sample::Index>()),
        ) {
            let mut data = in_segments(include_bytes!("../../fixtures/small.hprof"), every, &again);
            if let Some(at) = spoilt {
                let at = data.len() / 2 + at.index(data.len() / 2);
                data[at] ^= 0x40;
            }
            prop_assert_eq!(known(&data, 1), known(&data, usize::MAX));
        }
    }
}
