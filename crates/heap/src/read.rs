//! Reading a dump: all records once, then all objects once more for what they refer to.
//!
//! The first pass notes where each object is; sorted by address that gives objects their numbers.
//! The second goes over them in that order, which is the dump's own but for collectors that dump in
//! the order of references, and turns identifiers into numbers.

mod scan;

use std::ops::Range;
use std::path::Path;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::HeapError;
use crate::classes::{Classes, Field, java_name};
use crate::column::{Column, Storage};
use crate::cursor::{Cursor, ids};
use crate::dominators::NONE;
use crate::file::DumpFile;
use crate::heap::{Heap, PLACE_BITS, Root, Thread};
use crate::layout::{Layout, Neighbour, round};
use crate::lookup::Lookup;
use crate::offsets::Offsets;
use crate::records::{ClassPart, Damage, Header, RootKind, class_body, header, tag, walk, width};
use scan::Scan;

/// What the referents of soft, weak, phantom and final references count as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Referents {
    /// References like all others, as Eclipse MAT takes them: the figures of both are of one graph.
    #[default]
    AsAll,
    /// None: what only they refer to counts as unreachable.
    LeftOut,
}

/// Bytes of an object's record at least but for its identifiers, of which it has two: an instance
/// of four bytes, or an array without elements.
const SMALLEST: usize = 9;
/// What all that is asked of a dump takes beside it, as a share of its bytes. Measured: 0.8 to 1.4,
/// most with many small objects.
const TAKES: f64 = 1.5;

/// Ranges of objects that are looked at side by side, at most: each takes room for its
/// references while they are put together.
const MOST_AT_ONCE: usize = 4;
/// A range has so many objects at least.
const FEWEST_AT_ONCE: u32 = 1 << 14;

/// Reads a dump. Where less memory is left than it takes, its index is in files.
pub fn read(path: &Path, referents: Referents, memory_left: Option<u64>) -> Result<Heap, HeapError> {
    let file = DumpFile::open(path)?;
    let named = || path.to_owned();
    let header = header(file.bytes()).ok_or_else(|| HeapError::NotHprof { path: named() })?;
    if !matches!(header.id_size, 4 | 8) {
        return Err(HeapError::IdSize { path: named(), size: header.id_size as u32 });
    }
    let too_large = |what, limit| HeapError::TooLarge { path: path.to_owned(), what, limit };
    if file.bytes().len() as u64 >> PLACE_BITS > 0 {
        return Err(too_large("bytes", 1 << PLACE_BITS));
    }
    let fits = memory_left.is_none_or(|left| file.bytes().len() as f64 * TAKES <= left as f64);
    let storage = if fits { Storage::Memory } else { Storage::Disk };
    let mut scan = Scan::new(storage, file.bytes().len() / (SMALLEST + 2 * header.id_size));
    let mut damage = walk(file.bytes(), &header, &mut scan);
    damage.truncated |= file.cut_while_packed;
    if scan.too_many_classes {
        return Err(too_large("classes", Classes::MOST as u64));
    }
    if scan.entries.is_empty() {
        return Err(HeapError::Empty { path: named(), truncated: damage.truncated });
    }
    let told = scan.entries.len();
    scan.entries.sort_unstable();
    scan.entries.dedup_by_key(|entry| entry.address);
    damage.duplicate_objects = (told - scan.entries.len()) as u64;
    if scan.entries.len() >= NONE as usize {
        return Err(too_large("objects", u64::from(NONE)));
    }
    let mut build = Build::new(storage, &file, &header, scan, damage);
    build.name_classes();
    build.describe_classes();
    let layout = build.measure();
    let sizes = build.sizes(&layout);
    build.find_roots();
    let (offsets, references) = build.connect(referents);
    let Build { scan, damage, held, roots, threads, mirrors, extra, .. } = build;
    let Scan { texts, entries, classes, frames, .. } = scan;
    Ok(Heap {
        file,
        storage,
        header,
        damage,
        classes,
        layout,
        texts,
        entries,
        sizes,
        offsets,
        references,
        held,
        roots,
        threads,
        frames,
        mirrors,
        extra,
    })
}

/// What a range of objects refers to.
struct Connected {
    references: Column<u32>,
    /// How many of them each object has.
    counts: Column<u32>,
    dangling: u64,
    without_class: u64,
}

/// A heap that is being put together.
struct Build<'a> {
    storage: Storage,
    data: &'a [u8],
    id_size: usize,
    scan: Scan,
    damage: Damage,
    lookup: Lookup,
    held: Vec<u32>,
    roots: Vec<Root>,
    threads: Vec<Thread>,
    mirrors: FxHashMap<u32, u32>,
    extra: FxHashMap<u32, Vec<u32>>,
}

impl<'a> Build<'a> {
    fn new(storage: Storage, file: &'a DumpFile, header: &Header, scan: Scan, damage: Damage) -> Self {
        let lookup = Lookup::new(storage, &scan.entries);
        Self {
            storage,
            data: file.bytes(),
            id_size: header.id_size,
            scan,
            damage,
            lookup,
            held: Vec::new(),
            roots: Vec::new(),
            threads: Vec::new(),
            mirrors: FxHashMap::default(),
            extra: FxHashMap::default(),
        }
    }

    fn find(&self, address: u64) -> Option<u32> {
        if address == 0 { None } else { self.lookup.find(&self.scan.entries, address) }
    }

    fn place(&self, node: u32) -> usize {
        (self.scan.entries[node as usize].packed & ((1 << PLACE_BITS) - 1)) as usize
    }

    fn class_number(&self, node: u32) -> u32 {
        (self.scan.entries[node as usize].packed >> PLACE_BITS) as u32
    }

    fn tag(&self, node: u32) -> u8 {
        self.data[self.place(node)]
    }

    fn name_classes(&mut self) {
        for (class, _, name) in std::mem::take(&mut self.scan.loaded) {
            if let Some(name) = self.scan.texts.get(self.data, name) {
                self.scan.classes.get_mut(class).name = java_name(&name);
            }
        }
    }

    /// Reads what class records tell, and gives objects that are classes their class.
    fn describe_classes(&mut self) {
        let class_of_classes = self.scan.classes.named("java.lang.Class").next().unwrap_or(0);
        for node in 0..self.scan.entries.len() as u32 {
            if self.tag(node) == tag::CLASS {
                let entry = &mut self.scan.entries[node as usize];
                entry.packed |= u64::from(class_of_classes) << PLACE_BITS;
                self.describe_class(node);
            }
        }
        if class_of_classes == 0 {
            self.scan.classes.get_mut(0).name = "java.lang.Class".to_owned();
        }
        self.scan.classes.find_references();
    }

    fn describe_class(&mut self, node: u32) {
        let address = self.scan.entries[node as usize].address;
        // A class of which there is neither an instance nor a name would be new here.
        let Some(number) = self.scan.classes.intern(address) else { return };
        let (mut parent, mut loader) = (0, 0);
        let mut fields = Vec::new();
        let mut statics = Vec::new();
        let mut c = Cursor::new(self.data, self.place(node) + 1);
        let _ = c.id(self.id_size).and_then(|_| {
            class_body(&mut c, self.id_size, &mut |part| match part {
                ClassPart::Head([super_class, class_loader, ..]) => {
                    (parent, loader) = (super_class, class_loader)
                }
                ClassPart::Field(name, kind) => fields.push(Field { name, kind }),
                ClassPart::Static(name, kind, _) => statics.push((name, kind)),
                ClassPart::Constant(_) | ClassPart::Value(..) => {}
            })
        });
        let parent = self.scan.classes.of_id(parent).unwrap_or(NONE);
        let class = self.scan.classes.get_mut(number);
        (class.node, class.parent, class.loader) = (node, parent, loader);
        fields.into_iter().for_each(|field| class.add_field(field, self.id_size));
        // What the JVM keeps beside the class is told as if it were static:
        // "<resolved_references>", "<init_lock>".
        statics.retain(|(name, _)| {
            !self.scan.texts.bytes(self.data, *name).is_some_and(|name| name.starts_with(b"<"))
        });
        class.static_references = statics.iter().filter(|(_, kind)| *kind == 2).count() as u64;
        let values = statics.iter().filter(|(_, kind)| *kind != 2);
        class.static_bytes = values.filter_map(|(_, kind)| width(*kind, self.id_size)).sum::<usize>() as u64;
        self.mirrors.insert(node, number);
    }

    /// Elements and their type, of an array.
    fn array(&self, node: u32) -> Option<(u8, u64)> {
        let mut c = Cursor::new(self.data, self.place(node));
        let tag = c.u8()?;
        c.take(self.id_size + 4)?;
        let length = u64::from(c.u32()?);
        match tag {
            tag::OBJECT_ARRAY => Some((2, length)),
            tag::PRIMITIVE_ARRAY => Some((c.u8()?, length)),
            _ => None,
        }
    }

    fn distance(&self, node: u32) -> u64 {
        let next = self.scan.entries.get(node as usize + 1);
        next.map_or(u64::MAX, |next| next.address - self.scan.entries[node as usize].address)
    }

    /// Measures how objects are laid out, and the sizes of instances.
    fn measure(&mut self) -> Layout {
        let entries = &self.scan.entries;
        let nodes = entries.len() as u32;
        let bits = entries.iter().fold(0, |bits, entry| bits | entry.address);
        // Objects of a small dump may all lie at higher multiples by chance.
        let alignment = if entries.len() > 64 { 1 << bits.trailing_zeros().clamp(3, 8) } else { 8 };
        let span = entries[entries.len() - 1].address - entries[0].address;
        let fills_gaps = self.scan.classes.named("java.lang.Record").next().is_some();
        let neighbours = (0..nodes).filter_map(|node| {
            let (_, length) = self.array(node)?;
            let (tag, class) = (self.tag(node), self.class_number(node));
            Some(Neighbour { tag, class, length, distance: self.distance(node) })
        });
        let neighbours = neighbours.filter(|near| near.tag == tag::OBJECT_ARRAY || near.class == 8);
        let layout = Layout::measure(neighbours, self.id_size, alignment, span, fills_gaps);
        let mut closest = vec![(u64::MAX, 0); self.scan.classes.count()];
        for node in 0..nodes {
            if self.tag(node) == tag::INSTANCE {
                let (least, count) = &mut closest[self.class_number(node) as usize];
                *least = self.distance(node).min(*least);
                *count += 1;
            }
        }
        layout.instances(&mut self.scan.classes, &closest);
        self.measure_class_objects(layout.reference_bytes);
        layout
    }

    /// A class's own object is an instance of `java.lang.Class` with the class's static fields
    /// behind it: how large the instance is, the one that is closest to its neighbour tells.
    fn measure_class_objects(&mut self, reference_bytes: u64) {
        let mut base = u64::MAX;
        for (node, class) in &self.mirrors {
            let class = self.scan.classes.get(*class);
            let statics = class.static_bytes + class.static_references * reference_bytes;
            base = base.min(self.distance(*node).saturating_sub(statics));
        }
        let class = self.scan.classes.named("java.lang.Class").next().unwrap_or(0);
        let class = self.scan.classes.get_mut(class);
        if base != u64::MAX && base > class.instance_bytes && base < class.instance_bytes + 128 {
            class.instance_bytes = base;
        }
    }

    /// Bytes of every object, in units of eight.
    fn sizes(&self, layout: &Layout) -> Column<u32> {
        let class_of_classes = self.scan.classes.named("java.lang.Class").next().unwrap_or(0);
        let mirror = self.scan.classes.get(class_of_classes).instance_bytes.max(16);
        let size = |node: u32| match self.array(node) {
            Some((kind, length)) => layout.array(kind, length),
            None if self.tag(node) == tag::CLASS => {
                let statics = self.mirrors.get(&node).map_or(0, |class| {
                    let class = self.scan.classes.get(*class);
                    class.static_bytes + class.static_references * layout.reference_bytes
                });
                round(mirror + statics, layout.alignment)
            }
            None => self.scan.classes.get(self.class_number(node)).instance_bytes,
        };
        let mut sizes = Column::zeroed(self.storage, self.scan.entries.len());
        for (bytes, node) in sizes.iter_mut().zip(0..) {
            *bytes = u32::try_from(size(node) / 8).unwrap_or(u32::MAX);
        }
        sizes
    }

    /// Which objects hold themselves, what threads have on their stacks, and which classes a loader
    /// holds.
    fn find_roots(&mut self) {
        let records = std::mem::take(&mut self.scan.roots);
        let mut threads: FxHashMap<u32, u32> = FxHashMap::default();
        for record in records.iter().filter(|record| record.kind == RootKind::Thread) {
            let (Some(node), Some(serial)) = (self.find(record.object), record.thread) else { continue };
            if threads.insert(serial, node).is_none() {
                let frames = record.frame.map_or_else(Vec::new, |stack| self.stack(stack));
                self.threads.push(Thread { node, serial, frames });
            }
        }
        let mut held = Vec::new();
        for record in &records {
            let Some(node) = self.find(record.object) else { continue };
            let thread = record.thread.and_then(|serial| threads.get(&serial).copied()).unwrap_or(NONE);
            let frame = record.frame.filter(|_| record.kind != RootKind::Thread);
            self.roots.push(Root { node, kind: record.kind, thread, frame });
            // What only a thread's stack holds is the thread's.
            match record.kind {
                RootKind::Thread => held.push(node),
                _ if thread != NONE => self.extra.entry(thread).or_default().push(node),
                _ => held.push(node),
            }
        }
        self.hold_classes(&mut held);
        held.sort_unstable();
        held.dedup();
        self.held = held;
    }

    /// A class of the boot loader is never unloaded; any other lives as long as its loader (JLS
    /// 12.7), whether a field says so or not.
    fn hold_classes(&mut self, held: &mut Vec<u32>) {
        let mut of_loaders = Vec::new();
        for (_, class) in self.scan.classes.iter().filter(|(_, class)| class.node != NONE) {
            match self.find(class.loader) {
                Some(loader) => of_loaders.push((loader, class.node)),
                None => held.push(class.node),
            }
        }
        let roots: FxHashSet<u32> = held.iter().copied().collect();
        for (loader, node) in of_loaders.into_iter().filter(|(_, node)| !roots.contains(node)) {
            self.extra.entry(loader).or_default().push(node);
            if let Some(class) = self.mirrors.get(&node) {
                self.scan.classes.get_mut(*class).held_by_instances = node;
            }
        }
    }

    fn stack(&self, serial: u32) -> Vec<u64> {
        let Some((at, frames)) = self.scan.stacks.get(&serial) else { return Vec::new() };
        let bytes = Cursor::new(self.data, *at as usize).take(*frames as usize * self.id_size);
        ids(bytes.unwrap_or(&[]), self.id_size).collect()
    }

    /// What every object refers to: as many ranges of objects at a time as there are processors.
    fn connect(&mut self, referents: Referents) -> (Offsets, Column<u32>) {
        let nodes = self.scan.entries.len() as u32;
        let at_once = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_AT_ONCE) as u32;
        let each = nodes.div_ceil(at_once).max(FEWEST_AT_ONCE);
        let this = &*self;
        let parts: Vec<Connected> = std::thread::scope(|scope| {
            let begin = |from: u32| {
                let to = from.saturating_add(each).min(nodes);
                scope.spawn(move || this.connect_range(from..to, referents))
            };
            let begun: Vec<_> = (0..nodes).step_by(each as usize).map(begin).collect();
            // A panic in one is a panic here.
            let join = |thread: std::thread::ScopedJoinHandle<'_, Connected>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            begun.into_iter().map(join).collect()
        });
        let mut offsets = Offsets::with_room(self.storage, nodes as usize);
        let all = parts.iter().map(|part| part.references.len()).sum();
        let mut references = Column::with_room(self.storage, all);
        let mut end = 0;
        offsets.push(end);
        for part in parts {
            for count in &*part.counts {
                end += u64::from(*count);
                offsets.push(end);
            }
            references.extend_from_slice(&part.references);
            self.damage.dangling_references += part.dangling;
            self.damage.without_class += part.without_class;
        }
        (offsets, references)
    }

    fn connect_range(&self, nodes: Range<u32>, referents: Referents) -> Connected {
        let count = nodes.len();
        let mut references = Column::with_room(self.storage, 2 * count);
        let mut counts = Column::with_room(self.storage, count);
        let (mut dangling, mut without_class) = (0, 0);
        for node in nodes {
            let before = references.len();
            let known = self.each_reference(node, referents, &mut |address| match self.find(address) {
                Some(to) => references.push(to),
                None => dangling += u64::from(address != 0),
            });
            without_class += u64::from(!known);
            self.extra.get(&node).into_iter().flatten().for_each(|to| references.push(*to));
            // An array has fewer than 2³² elements, and what no field tells are as many at most as
            // there are objects.
            counts.push(u32::try_from(references.len() - before).unwrap_or(u32::MAX));
        }
        Connected { references, counts, dangling, without_class }
    }

    /// Calls back for every reference of an object. False: its class is not in the dump.
    fn each_reference(&self, node: u32, referents: Referents, each: &mut impl FnMut(u64)) -> bool {
        let id_size = self.id_size;
        let mut c = Cursor::new(self.data, self.place(node) + 1 + id_size);
        let id = |bytes: Option<&[u8]>| bytes.and_then(|bytes| ids(bytes, id_size).next());
        match self.tag(node) {
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
                let number = self.class_number(node);
                let class = self.scan.classes.get(number);
                let mut base = 0_usize;
                for (_, part) in self.scan.classes.chain(number) {
                    let skipped = referents == Referents::LeftOut
                        && class.strength.is_some()
                        && part.name == "java.lang.ref.Reference";
                    for (field, at) in
                        part.fields.iter().filter(|field| field.kind == 2).zip(&part.references)
                    {
                        let at = base + *at as usize;
                        if skipped && self.scan.texts.bytes(self.data, field.name) == Some(b"referent") {
                            continue;
                        }
                        id(payload.get(at..at + id_size)).into_iter().for_each(&mut *each);
                    }
                    base += part.own_bytes as usize;
                }
                return class.node != NONE;
            }
            _ => {}
        }
        true
    }
}
