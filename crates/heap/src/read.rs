//! Reading a dump: all records once, then all objects once more for what they refer to.
//!
//! The first pass notes what each object is and where, and gives it the next number. The second
//! goes over them in that order, which is the dump's, and turns identifiers into numbers.

mod chunks;
mod connect;
mod scan;

use std::path::Path;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::HeapError;
use crate::bits::Bits;
use crate::classes::{Class, Classes, Field, is_hidden, java_name};
use crate::column::Storage;
use crate::cursor::{Cursor, ids};
use crate::damage::Damage;
use crate::dominators::{apart, each_reference, private};
use crate::file::DumpFile;
use crate::heap::{Heap, Root, Thread};
use crate::kinds::{Kind, Kinds};
use crate::layout::{Layout, Neighbour, SAMPLES, STACK_CHUNK, round};
use crate::numbers::{MOST_OBJECTS, NONE, PLACE_BITS};
use crate::progress::Progress;
use crate::records::{ClassPart, Header, RootKind, class_body, header, tag, width};
use scan::{PART_BYTES, Scan, scanned};

/// What the referents of soft, weak, phantom and final references count as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Referents {
    /// References like all others, as in Eclipse MAT, so that the sizes of both are of one graph.
    #[default]
    AsAll,
    /// None: what only they refer to counts as unreachable.
    LeftOut,
}

/// Bytes of an object's record at least but for its identifiers, of which it has two: an instance
/// of four bytes, or an array without elements.
const SMALLEST: usize = 9;
/// Memory that all queries of a dump take in addition to it, as a share of its bytes. Measured: 0.5
/// of a dump of 40 bytes an object; more where objects are smaller and shared.
const TAKES: f64 = 0.8;

/// A dump that lists the classes of the boot loader as roots lists so many at least: the JDK's own
/// are hundreds.
const FEWEST_LISTED: usize = 100;
/// The share of unpacking in all that is done with a packed dump.
const UNPACKING: f64 = 0.5;

/// Reads a dump. Where less memory is left than it takes, its index is in files.
pub fn read(path: &Path, referents: Referents, memory_left: Option<u64>) -> Result<Heap, HeapError> {
    read_telling(path, referents, memory_left, Progress::default())
}

/// The same; says how far it is, as does what is then asked of the heap.
pub fn read_telling(
    path: &Path,
    referents: Referents,
    memory_left: Option<u64>,
    progress: Progress,
) -> Result<Heap, HeapError> {
    let file = DumpFile::open(path, &progress.part(0.0, UNPACKING))?;
    let progress = if file.packed { progress.part(UNPACKING, 1.0) } else { progress };
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
    let most = file.bytes().len() / (SMALLEST + 2 * header.id_size) + 1;
    let new = || Scan::new(storage, file.bytes(), most.min(MOST_OBJECTS as usize), progress.clone());
    let (scan, mut damage) = scanned(&file, &header, storage, PART_BYTES, new);
    damage.truncated |= file.cut_while_packed;
    damage.duplicate_objects = scan.duplicates;
    if scan.too_many_classes {
        return Err(too_large("classes", Classes::MOST as u64));
    }
    if scan.too_many_kinds {
        return Err(too_large("lengths of arrays", Kinds::MOST as u64));
    }
    if scan.too_many_objects {
        return Err(too_large("objects", u64::from(MOST_OBJECTS)));
    }
    if scan.kinds.objects() == 0 {
        return Err(HeapError::Empty {
            path: named(),
            truncated: damage.truncated,
            damaged_at: damage.first.map(|first| first.at),
        });
    }
    let mut build = Build::new(storage, &file, &header, scan, damage);
    build.find_addresses();
    build.name_classes();
    build.describe_classes();
    let (layout, stack_chunks) = build.measure();
    build.describe_kinds(&layout);
    build.measure_stack_chunks(&layout, &stack_chunks);
    build.find_roots();
    let (rows, alone) = build.connect(referents);
    let Build { scan, damage, held, roots, threads, mirrors, extra, of_loaders, .. } = build;
    let Scan { texts, addresses, kinds, classes, frames, .. } = scan;
    let mut heap = Heap {
        storage,
        header,
        damage,
        classes,
        layout,
        texts,
        addresses,
        kinds: Arc::new(kinds),
        progress,
        rows,
        private: Arc::new(Bits::none(storage, 0)),
        held,
        roots,
        threads,
        frames,
        mirrors,
        extra,
        file,
    };
    if heap.damage.is_incomplete() {
        hold_what_nothing_refers_to(&mut heap);
    }
    let apart = apart(&heap, storage, &of_loaders, &alone);
    heap.private = Arc::new(private(&heap, storage, &alone, &apart));
    Ok(heap)
}

/// JDK 17 writes the roots last (JDK 21 first), and what refers to an object may be missing, too.
/// Of a dump of which a part is missing, what nothing refers to counts as held: so what is there is
/// shown with what it keeps, and not as garbage.
fn hold_what_nothing_refers_to(heap: &mut Heap) {
    let mut referred = Bits::none(heap.storage, heap.len() as usize);
    each_reference(heap, |_, to| referred.add(to));
    let alone = (0..heap.len()).filter(|node| !referred.has(*node));
    heap.held.extend(alone);
    heap.held.sort_unstable();
    heap.held.dedup();
}

/// A heap that is being put together.
struct Build<'a> {
    storage: Storage,
    data: &'a [u8],
    id_size: usize,
    scan: Scan<'a>,
    damage: Damage,
    held: Vec<u32>,
    roots: Vec<Root>,
    threads: Vec<Thread>,
    mirrors: FxHashMap<u32, u32>,
    extra: FxHashMap<u32, Vec<u32>>,
    /// Loaders, each with a class that it holds and that instances hold, too.
    of_loaders: Vec<(u32, u32)>,
}

impl<'a> Build<'a> {
    fn new(storage: Storage, file: &'a DumpFile, header: &Header, scan: Scan<'a>, damage: Damage) -> Self {
        Self {
            storage,
            data: file.bytes(),
            id_size: header.id_size,
            scan,
            damage,
            held: Vec::new(),
            roots: Vec::new(),
            threads: Vec::new(),
            mirrors: FxHashMap::default(),
            extra: FxHashMap::default(),
            of_loaders: Vec::new(),
        }
    }

    /// From here on addresses are found.
    fn find_addresses(&mut self) {
        self.scan.kinds.seal();
        let (kinds, data, id_size) = (&self.scan.kinds, self.data, self.id_size);
        let at = |place| Cursor::new(data, place + 1).id(id_size).unwrap_or(0);
        self.scan.addresses.seal(
            self.storage,
            |node| at(kinds.place(node)),
            |each| kinds.places(0).for_each(|(node, place)| each(at(place), node)),
        );
    }

    fn find(&self, address: u64) -> Option<u32> {
        if address == 0 { None } else { self.scan.addresses.find(address) }
    }

    fn place(&self, node: u32) -> usize {
        self.scan.kinds.place(node)
    }

    fn name_classes(&mut self) {
        for (class, _, name) in std::mem::take(&mut self.scan.loaded) {
            if let Some(name) = self.scan.texts.get(self.data, name) {
                let class = self.scan.classes.get_mut(class);
                (class.hidden, class.name) = (is_hidden(&name), java_name(&name));
            }
        }
    }

    /// Reads class records, and gives objects that are classes their class.
    fn describe_classes(&mut self) {
        let class_of_classes = self.scan.classes.named("java.lang.Class").next().unwrap_or(0);
        for kind in self.scan.kinds.table_mut().iter_mut().filter(|kind| kind.tag == tag::CLASS) {
            kind.class = class_of_classes;
        }
        for node in std::mem::take(&mut self.scan.class_objects) {
            self.describe_class(node);
        }
        if class_of_classes == 0 {
            self.scan.classes.get_mut(0).name = "java.lang.Class".to_owned();
        }
        self.scan.classes.find_references();
    }

    fn describe_class(&mut self, node: u32) {
        let address = Cursor::new(self.data, self.place(node) + 1).id(self.id_size).unwrap_or(0);
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
        // What the JVM keeps with the class is listed as if it were static:
        // "<resolved_references>", "<init_lock>".
        statics.retain(|(name, _)| {
            !self.scan.texts.bytes(self.data, *name).is_some_and(|name| name.starts_with(b"<"))
        });
        class.static_references = statics.iter().filter(|(_, kind)| *kind == 2).count() as u64;
        let values = statics.iter().filter(|(_, kind)| *kind != 2);
        class.static_bytes = values.filter_map(|(_, kind)| width(*kind, self.id_size)).sum::<usize>() as u64;
        self.mirrors.insert(node, number);
    }

    /// Measures how objects are laid out, and the sizes of instances; with the stacks of virtual
    /// threads, which differ, and the distance of each to its neighbour.
    fn measure(&mut self) -> (Layout, Vec<(u32, u64)>) {
        let (addresses, kinds) = (&self.scan.addresses, &self.scan.kinds);
        // Objects of a small dump may all lie at higher multiples by chance.
        let zeros = addresses.all_bits.trailing_zeros().clamp(3, 8);
        let alignment = if kinds.objects() > 64 { 1 << zeros } else { 8 };
        let mut arrays: Vec<Neighbour> = Vec::new();
        let mut closest = vec![(u64::MAX, 0_u64); self.scan.classes.count()];
        let mut of_classes: Vec<(u32, u64)> = Vec::new();
        let stack_chunk = self.scan.classes.named(STACK_CHUNK).next();
        let mut stack_chunks: Vec<(u32, u64)> = Vec::new();
        addresses.neighbours(|node, distance| {
            let Kind { class, length, tag, .. } = *kinds.of(node);
            match tag {
                tag::INSTANCE if Some(class) == stack_chunk => stack_chunks.push((node, distance)),
                tag::INSTANCE => {
                    let (least, count) = &mut closest[class as usize];
                    *least = (*least).min(distance);
                    *count += 1;
                }
                tag::CLASS => of_classes.push((node, distance)),
                _ if arrays.len() < SAMPLES && (tag == tag::OBJECT_ARRAY || class == 8) => {
                    arrays.push(Neighbour { tag, class, length: u64::from(length), distance });
                }
                _ => {}
            }
        });
        let fills_gaps = self.scan.classes.named("java.lang.Record").next().is_some();
        let span = addresses.span();
        let layout = Layout::measure(arrays.into_iter(), self.id_size, alignment, span, fills_gaps);
        layout.instances(&mut self.scan.classes, &closest);
        self.measure_class_objects(layout.reference_bytes, &of_classes);
        (layout, stack_chunks)
    }

    /// A class's own object is an instance of `java.lang.Class` with the class's static fields
    /// behind it: the one that is closest to its neighbour shows how large the instance is.
    fn measure_class_objects(&mut self, reference_bytes: u64, distances: &[(u32, u64)]) {
        let mut base = u64::MAX;
        for (node, distance) in distances {
            base = base.min(distance.saturating_sub(self.static_bytes(*node, reference_bytes)));
        }
        let class = self.scan.classes.named("java.lang.Class").next().unwrap_or(0);
        let class = self.scan.classes.get_mut(class);
        if base != u64::MAX && base > class.instance_bytes && base < class.instance_bytes + 128 {
            class.instance_bytes = base;
        }
    }

    /// Bytes of the static fields of an object that is a class.
    fn static_bytes(&self, node: u32, reference_bytes: u64) -> u64 {
        self.mirrors.get(&node).map_or(0, |class| {
            let class = self.scan.classes.get(*class);
            class.static_bytes + class.static_references * reference_bytes
        })
    }

    /// Bytes of the objects of every kind, and which kinds refer to others.
    fn describe_kinds(&mut self, layout: &Layout) {
        let classes = &self.scan.classes;
        let class_of_classes = classes.named("java.lang.Class").next().unwrap_or(0);
        let mirror = classes.get(class_of_classes).instance_bytes.max(16);
        let has_references: Vec<bool> = (0..classes.count() as u32)
            .map(|class| classes.chain(class).any(|(_, class)| !class.references.is_empty()))
            .collect();
        for kind in self.scan.kinds.table_mut() {
            let length = u64::from(kind.length);
            let (bytes, refers) = match kind.tag {
                tag::OBJECT_ARRAY => (layout.array(2, length), length > 0),
                tag::PRIMITIVE_ARRAY => (layout.array(kind.class as u8, length), false),
                tag::CLASS => (mirror, true),
                _ => (classes.get(kind.class).instance_bytes, has_references[kind.class as usize]),
            };
            kind.units = u32::try_from(bytes / 8).unwrap_or(u32::MAX);
            kind.refers = refers;
        }
        for node in self.mirrors.keys() {
            let bytes = mirror + self.static_bytes(*node, layout.reference_bytes);
            self.scan.kinds.set_class_size(*node, round(bytes, layout.alignment));
        }
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
        for kind in self.scan.kinds.table_mut() {
            kind.class_object = self.scan.classes.get(kind.class).held_by_instances;
        }
        self.extra.keys().for_each(|node| self.scan.kinds.let_refer(*node));
        held.sort_unstable();
        held.dedup();
        self.held = held;
    }

    /// A class of the boot loader is never unloaded; any other lives as long as its loader (JLS
    /// 12.7), whether a field says so or not. A hidden one of the boot loader, as those of method
    /// handles, is only held where the dump says so: else as long as something refers to it. Before
    /// JDK 15 their names do not show them; but HotSpot lists all that are in the boot loader's
    /// dictionary as roots, where only they and arrays are not.
    fn hold_classes(&mut self, held: &mut Vec<u32>) {
        let (mut of_loaders, mut of_instances) = (Vec::new(), Vec::new());
        let listed: FxHashSet<u32> =
            held.iter().copied().filter(|node| self.mirrors.contains_key(node)).collect();
        // Not where the list is cut off, or was never written.
        let all_are_listed = listed.len() >= FEWEST_LISTED && !self.damage.is_incomplete();
        let is_listed = |class: &Class| !all_are_listed || class.is_array() || listed.contains(&class.node);
        for (_, class) in self.scan.classes.iter().filter(|(_, class)| class.node != NONE) {
            match self.find(class.loader) {
                Some(loader) => of_loaders.push((loader, class.node)),
                None if class.hidden || !is_listed(class) => of_instances.push(class.node),
                None => held.push(class.node),
            }
        }
        let roots: FxHashSet<u32> = held.iter().copied().collect();
        for (loader, node) in of_loaders.into_iter().filter(|(_, node)| !roots.contains(node)) {
            self.extra.entry(loader).or_default().push(node);
            self.of_loaders.push((loader, node));
            of_instances.push(node);
        }
        for node in of_instances.into_iter().filter(|node| !roots.contains(node)) {
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
}
