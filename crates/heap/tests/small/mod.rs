//! A small dump, written record by record: what a test wants to be in one.

// Each test uses a part of it.
#![allow(dead_code)]

/// Identifiers of the small dump.
pub mod id {
    /// The application's class with the static field.
    pub const CACHE: u64 = 0x1300;
    /// The list that the field refers to.
    pub const LIST: u64 = 0x2000;
    /// Its array.
    pub const ARRAY: u64 = 0x2018;
    /// Where its elements begin, 24 bytes each.
    pub const ITEMS: u64 = 0x2100;
    /// A thread.
    pub const THREAD: u64 = 0x3000;
    /// What only a weak reference refers to.
    pub const WEAKLY: u64 = 0x4000;
    /// What nothing refers to.
    pub const GARBAGE: u64 = 0x5000;
}

/// Elements of the list.
pub const ITEMS: u64 = 40;

struct Writer(Vec<u8>, usize);

impl Writer {
    fn u8(&mut self, value: u8) -> &mut Self {
        self.0.push(value);
        self
    }
    fn u16(&mut self, value: u16) -> &mut Self {
        self.0.extend(value.to_be_bytes());
        self
    }
    fn u32(&mut self, value: u32) -> &mut Self {
        self.0.extend(value.to_be_bytes());
        self
    }
    fn id(&mut self, value: u64) -> &mut Self {
        self.0.extend(&value.to_be_bytes()[8 - self.1..]);
        self
    }
    fn record(&mut self, tag: u8, body: &[u8]) {
        self.u8(tag).u32(0).u32(body.len() as u32);
        self.0.extend(body);
    }
    fn class(&mut self, id: u64, parent: u64, statics: &[(u64, u64)], fields: &[(u64, u8)]) {
        self.u8(0x20)
            .id(id)
            .u32(0)
            .id(parent)
            .id(0)
            .id(0)
            .id(0)
            .id(0)
            .id(0)
            .u32(0)
            .u16(0)
            .u16(statics.len() as u16);
        for (name, value) in statics {
            self.id(*name).u8(2).id(*value);
        }
        self.u16(fields.len() as u16);
        for (name, kind) in fields {
            self.id(*name).u8(*kind);
        }
    }
    fn instance(&mut self, id: u64, class: u64, values: &[u8]) {
        self.u8(0x21).id(id).u32(0).id(class).u32(values.len() as u32);
        self.0.extend(values);
    }
}

/// Names and types of fields.
type Fields = &'static [(&'static str, u8)];

/// Classes: identifier, name, superclass, fields.
const CLASSES: [(u64, &str, u64, Fields); 8] = [
    (0x1000, "java/lang/Object", 0, &[]),
    (0x1080, "java/lang/Class", 0x1000, &[]),
    (0x1100, "java/lang/String", 0x1000, &[("value", 2), ("coder", 8)]),
    (0x1180, "java/lang/Thread", 0x1000, &[("name", 2)]),
    (0x1200, "java/util/ArrayList", 0x1000, &[("size", 10), ("elementData", 2)]),
    (0x1280, "java/lang/ref/Reference", 0x1000, &[("referent", 2), ("queue", 2)]),
    (id::CACHE, "org/example/Cache", 0x1000, &[("item", 2)]),
    (0x1380, "java/lang/ref/WeakReference", 0x1280, &[]),
];

/// The dump as JVMs of 64 bits write it.
pub fn dump() -> Vec<u8> {
    dump_as("1.0.2", 8)
}

/// The same in an older version of the format, which has no segments, and with identifiers of
/// another size.
pub fn dump_as(version: &str, id_size: usize) -> Vec<u8> {
    let reference = |id: u64| id.to_be_bytes()[8 - id_size..].to_vec();
    let mut texts: Vec<&str> = CLASSES
        .iter()
        .flat_map(|(_, name, _, fields)| std::iter::once(*name).chain(fields.iter().map(|(name, _)| *name)))
        .collect();
    texts.extend(["items", "weak", "[Ljava/lang/Object;", "run", "Cache.java"]);
    let text = |name: &str| 0x100 + texts.iter().position(|known| *known == name).unwrap() as u64;
    let mut out = Writer(format!("JAVA PROFILE {version}\0").into_bytes(), id_size);
    out.u32(id_size as u32).0.extend(1_700_000_000_000_u64.to_be_bytes());
    for (at, name) in texts.iter().enumerate() {
        let mut body = Writer(Vec::new(), id_size);
        body.id(0x100 + at as u64).0.extend(name.bytes());
        out.record(0x01, &body.0);
    }
    for (serial, (class, name, ..)) in
        CLASSES.iter().chain([&(0x1400, "[Ljava/lang/Object;", 0, &[][..])]).enumerate()
    {
        let mut body = Writer(Vec::new(), id_size);
        body.u32(serial as u32).id(*class).u32(0).id(text(name));
        out.record(0x02, &body.0);
    }
    let mut frame = Writer(Vec::new(), id_size);
    frame.id(0x900).id(text("run")).id(0).id(text("Cache.java")).u32(6).u32(7);
    out.record(0x04, &frame.0);
    let mut stack = Writer(Vec::new(), id_size);
    stack.u32(1).u32(1).u32(1).id(0x900);
    out.record(0x05, &stack.0);
    let mut heap = Writer(Vec::new(), id_size);
    for (class, name, parent, fields) in CLASSES {
        let fields: Vec<(u64, u8)> = fields.iter().map(|(name, kind)| (text(name), *kind)).collect();
        let statics = [(text("items"), id::LIST), (text("weak"), 0x4100)];
        heap.class(class, parent, if name == "org/example/Cache" { &statics } else { &[] }, &fields);
    }
    heap.class(0x1400, 0x1000, &[], &[]);
    let pair = |first: &[u8], second: &[u8]| [first, second].concat();
    heap.instance(id::LIST, 0x1200, &pair(&(ITEMS as u32).to_be_bytes(), &reference(id::ARRAY)));
    heap.u8(0x22).id(id::ARRAY).u32(0).u32(ITEMS as u32).id(0x1400);
    (0..ITEMS).for_each(|i| {
        heap.id(id::ITEMS + 24 * i);
    });
    (0..ITEMS).for_each(|i| heap.instance(id::ITEMS + 24 * i, id::CACHE, &reference(0)));
    heap.instance(id::THREAD, 0x1180, &reference(0x3020));
    heap.instance(0x3020, 0x1100, &pair(&reference(0x3040), &[0]));
    heap.u8(0x23).id(0x3040).u32(0).u32(6).u8(8).0.extend(b"worker");
    heap.u8(0x23).id(0x3060).u32(0).u32(100).u8(11).0.extend([0; 800]);
    heap.instance(id::WEAKLY, 0x1000, &[]);
    heap.instance(0x4100, 0x1380, &pair(&reference(id::WEAKLY), &reference(0)));
    heap.instance(id::GARBAGE, 0x1000, &[]);
    heap.u8(0x05).id(0x1000).u8(0x08).id(id::THREAD).u32(1).u32(1);
    heap.u8(0x03).id(0x3060).u32(1).u32(0);
    if version == "1.0.2" {
        out.record(0x1c, &heap.0);
        out.record(0x2c, &[]);
    } else {
        out.record(0x0c, &heap.0);
    }
    out.0
}

/// Classes of [`graph`].
pub const KINDS: u64 = 4;
/// References of each of its objects.
pub const FIELDS: [&str; 3] = ["a", "b", "c"];

/// A dump of objects of a few classes ("k.K0", "k.K1" …), each with what it refers to, by their
/// places in the list, and of those that are roots.
pub fn graph(objects: &[(u64, [Option<u64>; 3])], roots: &[u64]) -> Vec<u8> {
    graph_of("", objects, roots)
}

/// The identifier of a class of [`graph`].
pub fn kind(kind: u64) -> u64 {
    0x2000 + 0x100 * kind
}

/// A dump of so many classes of the boot loader, of which all but the last are listed as roots. The
/// last has an instance, which is a root where it is to be held.
pub fn listed(classes: u64, held: bool) -> Vec<u8> {
    let names: Vec<String> = (0..classes).map(|class| format!("k/L{class}")).collect();
    let mut out = Writer(b"JAVA PROFILE 1.0.2\0".to_vec(), 8);
    out.u32(8).0.extend(1_700_000_000_000_u64.to_be_bytes());
    for (at, name) in (0..).zip(&names) {
        out.record(0x01, &[&(0x100_u64 + at).to_be_bytes()[..], name.as_bytes()].concat());
    }
    let mut heap = Writer(Vec::new(), 8);
    for class in 0..classes {
        let mut body = Writer(Vec::new(), 8);
        body.u32(class as u32).id(kind(class)).u32(0).id(0x100 + class);
        out.record(0x02, &body.0);
        heap.class(kind(class), 0, &[], &[]);
    }
    let instance = 0x10_0000;
    heap.instance(instance, kind(classes - 1), &[]);
    for class in 0..classes - 1 {
        heap.u8(0x05).id(kind(class));
    }
    if held {
        heap.u8(0x01).id(instance).id(0);
    }
    out.record(0x1c, &heap.0);
    out.record(0x2c, &[]);
    out.0
}

/// The same with something at the end of the classes' names.
pub fn graph_of(suffix: &str, objects: &[(u64, [Option<u64>; 3])], roots: &[u64]) -> Vec<u8> {
    let class = kind;
    let object = |at: u64| 0x10_000 + 32 * at;
    let names: Vec<String> = ["java/lang/Object", "java/lang/Class"]
        .map(str::to_owned)
        .into_iter()
        .chain((0..KINDS).map(|kind| format!("k/K{kind}{suffix}")))
        .chain(FIELDS.map(str::to_owned))
        .collect();
    let text = |name: &str| 0x100 + names.iter().position(|known| known == name).unwrap() as u64;
    let mut out = Writer(b"JAVA PROFILE 1.0.2\0".to_vec(), 8);
    out.u32(8).0.extend(1_700_000_000_000_u64.to_be_bytes());
    for (at, name) in names.iter().enumerate() {
        let mut body = Writer(Vec::new(), 8);
        body.id(0x100 + at as u64).0.extend(name.bytes());
        out.record(0x01, &body.0);
    }
    let mut classes: Vec<(u64, u64)> =
        (0..KINDS).map(|kind| (class(kind), text(&format!("k/K{kind}{suffix}")))).collect();
    classes.extend([(0x1000, text("java/lang/Object")), (0x1080, text("java/lang/Class"))]);
    for (serial, (id, name)) in classes.into_iter().enumerate() {
        let mut body = Writer(Vec::new(), 8);
        body.u32(serial as u32).id(id).u32(0).id(name);
        out.record(0x02, &body.0);
    }
    let mut heap = Writer(Vec::new(), 8);
    heap.class(0x1000, 0, &[], &[]);
    heap.class(0x1080, 0x1000, &[], &[]);
    for kind in 0..KINDS {
        heap.class(class(kind), 0x1000, &[], &FIELDS.map(|name| (text(name), 2)));
    }
    for (at, (kind, references)) in objects.iter().enumerate() {
        let values = references.map(|to| to.map_or(0, object).to_be_bytes()).concat();
        heap.instance(object(at as u64), class(*kind), &values);
    }
    for root in roots {
        heap.u8(0x01).id(object(*root)).id(0);
    }
    out.record(0x1c, &heap.0);
    out.record(0x2c, &[]);
    out.0
}
