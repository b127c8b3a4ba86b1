//! The records of a dump, one after the other, as HPROF lays them out.
//!
//! ```text
//!   "JAVA PROFILE 1.0.2\0" · size of identifiers u4 · milliseconds since 1970 u8
//!   record: tag u1 · microseconds u4 · length u4 · body
//!   HEAP_DUMP, HEAP_DUMP_SEGMENT: sub-records, tag u1 and what belongs to it, without lengths
//! ```
//!
//! Source: `heapDumper.cpp` of JDK 8 to 25, and the manual of the HPROF agent of JDK 6.

use std::ops::Range;

use crate::cursor::Cursor;

/// What the first bytes of a dump say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// "1.0.1" or "1.0.2".
    pub version: String,
    /// Bytes of an identifier, 4 or 8.
    pub id_size: usize,
    /// When it was begun, milliseconds since 1970.
    pub written_ms: u64,
    /// Where records begin.
    pub first: usize,
}

/// Why something holds an object by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RootKind {
    /// The dump does not say.
    Unknown,
    /// A global reference of native code.
    JniGlobal,
    /// A local reference of native code, or an argument of it.
    JniLocal,
    /// A local variable or a stack slot of a Java method.
    JavaFrame,
    /// A native method's frame.
    NativeStack,
    /// A class that is never unloaded, as those of the boot loader.
    StickyClass,
    /// A thread block.
    ThreadBlock,
    /// A monitor that is entered or waited for.
    Monitor,
    /// A thread that runs.
    Thread,
    /// One that this reader does not know; its object is taken.
    Other,
}

impl RootKind {
    /// The same in one word, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::JniGlobal => "jni-global",
            Self::JniLocal => "jni-local",
            Self::JavaFrame => "java-frame",
            Self::NativeStack => "native-stack",
            Self::StickyClass => "sticky-class",
            Self::ThreadBlock => "thread-block",
            Self::Monitor => "monitor",
            Self::Thread => "thread",
            Self::Other => "other",
        }
    }
}

/// One root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootRecord {
    /// The object.
    pub object: u64,
    /// Why.
    pub kind: RootKind,
    /// The thread's serial number, where one holds it.
    pub thread: Option<u32>,
    /// The frame's place in the thread's stack, where known; for a thread the serial number of its
    /// stack.
    pub frame: Option<u32>,
}

/// Kinds of sub-records that are objects.
pub mod tag {
    /// A class.
    pub const CLASS: u8 = 0x20;
    /// An instance.
    pub const INSTANCE: u8 = 0x21;
    /// An array of references.
    pub const OBJECT_ARRAY: u8 = 0x22;
    /// An array of primitive values.
    pub const PRIMITIVE_ARRAY: u8 = 0x23;
}

/// The class of an object, as its record says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassKey {
    /// The identifier of its class.
    Id(u64),
    /// An array of this type of primitive values.
    Primitive(u8),
    /// It is a class itself.
    Class,
}

/// Where the sub-record of an object is, which is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubRecord {
    /// Its first byte, the tag.
    pub at: usize,
    /// Bytes of it.
    pub bytes: usize,
    /// Elements of an array, bytes of the values of an instance.
    pub length: u32,
}

/// Who takes what is read.
pub trait Visit {
    /// A text: names of classes, fields, methods, files.
    fn text(&mut self, id: u64, at: usize, bytes: usize);
    /// A class was loaded.
    fn class_loaded(&mut self, serial: u32, id: u64, name: u64);
    /// A frame of a stack.
    fn frame(&mut self, id: u64, method: u64, source: u64, class_serial: u32, line: i32);
    /// The text of a frame's signature.
    fn signature(&mut self, _text: u64) {}
    /// A stack: its frames are identifiers from `at` on.
    fn stack(&mut self, serial: u32, thread: u32, at: usize, frames: u32);
    /// Whether a class of this identifier was loaded, as far as is known so far.
    fn knows_class(&self, _id: u64) -> bool {
        false
    }
    /// A whole segment, of whose sub-records none was read yet. True: it is put off.
    fn put_off(&mut self, _body: Range<usize>) -> bool {
        false
    }
    /// A root.
    fn root(&mut self, root: RootRecord);
    /// An object, whose sub-record begins at `at`.
    fn object(&mut self, id: u64, class: ClassKey, at: SubRecord);
}

/// Reads the header. `None`: this is no dump.
pub fn header(data: &[u8]) -> Option<Header> {
    let rest = data.strip_prefix(b"JAVA PROFILE ")?;
    let end = rest.iter().take(16).position(|byte| *byte == 0)?;
    let version =
        std::str::from_utf8(&rest[..end]).ok().filter(|v| matches!(*v, "1.0" | "1.0.1" | "1.0.2"))?;
    let mut cursor = Cursor::new(data, data.len() - rest.len() + end + 1);
    let id_size = cursor.u32()? as usize;
    let written_ms = cursor.u64()?;
    Some(Header { version: version.to_owned(), id_size, written_ms, first: cursor.at() })
}

/// A record that is no heap. `None`: not known, or too short.
pub(crate) fn record(
    data: &[u8],
    tag: u8,
    body: usize,
    id_size: usize,
    visit: &mut impl Visit,
) -> Option<()> {
    let mut c = Cursor::new(data, body);
    match tag {
        0x01 => {
            let id = c.id(id_size)?;
            visit.text(id, c.at(), data.len() - c.at());
        }
        0x02 => {
            let (serial, id, _, name) = (c.u32()?, c.id(id_size)?, c.u32()?, c.id(id_size)?);
            visit.class_loaded(serial, id, name);
        }
        0x04 => {
            let (id, method) = (c.id(id_size)?, c.id(id_size)?);
            visit.signature(c.id(id_size)?);
            visit.frame(id, method, c.id(id_size)?, c.u32()?, c.u32()?.cast_signed());
        }
        0x05 => {
            let (serial, thread, frames) = (c.u32()?, c.u32()?, c.u32()?);
            let at = c.at();
            c.take((frames as usize).checked_mul(id_size)?)?;
            visit.stack(serial, thread, at, frames);
        }
        // Unloaded classes, allocation sites, heap summary, starts and ends of threads, samples,
        // settings: of no interest here.
        0x03 | 0x06 | 0x07 | 0x0a | 0x0b | 0x0d | 0x0e => {}
        _ => return None,
    }
    Some(())
}

/// Whether a sub-record begins so, or a record behind the segment.
#[inline]
pub(crate) fn may_follow(tag: u8) -> bool {
    matches!(tag, 0x01..=0x08 | 0x20..=0x23 | 0xff | 0x1c | 0x2c)
}

/// One sub-record; where the next one begins. `None`: unknown, not whole, or, where `unsure`, an
/// object behind which nothing begins that is known: its length may be wrong, and it is not
/// visited.
pub(crate) fn sub_record(
    data: &[u8],
    at: usize,
    id_size: usize,
    unsure: bool,
    visit: &mut impl Visit,
) -> Option<usize> {
    let leads_on = |end: usize| !unsure || data.get(end).is_none_or(|tag| may_follow(*tag));
    let mut c = Cursor::new(data, at);
    let tag = c.u8()?;
    let id = c.id(id_size)?;
    let mut root = |kind, thread, frame| visit.root(RootRecord { object: id, kind, thread, frame });
    let record = |end: usize, length| SubRecord { at, bytes: end - at, length };
    match tag {
        0xff => root(RootKind::Unknown, None, None),
        0x01 => {
            c.id(id_size)?;
            root(RootKind::JniGlobal, None, None);
        }
        0x02 | 0x03 => {
            let (thread, frame) = (c.u32()?, c.u32()?);
            let kind = if tag == 2 { RootKind::JniLocal } else { RootKind::JavaFrame };
            root(kind, Some(thread), Some(frame).filter(|frame| *frame != u32::MAX));
        }
        0x04 | 0x06 => {
            let thread = c.u32()?;
            root(if tag == 4 { RootKind::NativeStack } else { RootKind::ThreadBlock }, Some(thread), None);
        }
        0x05 => root(RootKind::StickyClass, None, None),
        0x07 => root(RootKind::Monitor, None, None),
        0x08 => {
            let (thread, stack) = (c.u32()?, c.u32()?);
            root(RootKind::Thread, Some(thread), Some(stack));
        }
        tag::CLASS => {
            class_body(&mut c, id_size, &mut |_| {})?;
            leads_on(c.at()).then_some(())?;
            visit.object(id, ClassKey::Class, record(c.at(), 0));
        }
        tag::INSTANCE => {
            c.u32()?;
            let class = c.id(id_size)?;
            let bytes = c.u32()?;
            c.take(bytes as usize)?;
            leads_on(c.at()).then_some(())?;
            visit.object(id, ClassKey::Id(class), record(c.at(), bytes));
        }
        tag::OBJECT_ARRAY => {
            c.u32()?;
            let length = c.u32()?;
            let class = c.id(id_size)?;
            c.take((length as usize).checked_mul(id_size)?)?;
            leads_on(c.at()).then_some(())?;
            visit.object(id, ClassKey::Id(class), record(c.at(), length));
        }
        tag::PRIMITIVE_ARRAY => {
            c.u32()?;
            let length = c.u32()?;
            let kind = c.u8()?;
            c.take((length as usize).checked_mul(width(kind, id_size)?)?)?;
            if kind == 2 || !leads_on(c.at()) {
                return None;
            }
            visit.object(id, ClassKey::Primitive(kind), record(c.at(), length));
        }
        _ => return None,
    }
    Some(c.at())
}

/// Bytes of a value of a type: 2 is a reference, 4 to 11 are boolean, char, float, double, byte,
/// short, int, long.
pub fn width(kind: u8, id_size: usize) -> Option<usize> {
    match kind {
        2 => Some(id_size),
        4 | 8 => Some(1),
        5 | 9 => Some(2),
        6 | 10 => Some(4),
        7 | 11 => Some(8),
        _ => None,
    }
}

/// The contents of a class record, piece by piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassPart {
    /// Superclass, class loader, signers, protection domain.
    Head([u64; 4]),
    /// A constant that is a reference.
    Constant(u64),
    /// A constant that is not a reference: its type, and where its value is.
    Value(u8, usize),
    /// A static field: name, type, where its value is.
    Static(u64, u8, usize),
    /// A field of instances: name, type.
    Field(u64, u8),
}

/// Reads a class record behind its identifier.
pub fn class_body(c: &mut Cursor<'_>, id_size: usize, part: &mut dyn FnMut(ClassPart)) -> Option<()> {
    c.u32()?;
    let head = [c.id(id_size)?, c.id(id_size)?, c.id(id_size)?, c.id(id_size)?];
    part(ClassPart::Head(head));
    c.take(2 * id_size + 4)?;
    for _ in 0..c.u16()? {
        c.u16()?;
        let kind = c.u8()?;
        if kind == 2 {
            part(ClassPart::Constant(c.id(id_size)?));
        } else {
            let at = c.at();
            c.take(width(kind, id_size)?)?;
            part(ClassPart::Value(kind, at));
        }
    }
    for _ in 0..c.u16()? {
        let (name, kind) = (c.id(id_size)?, c.u8()?);
        let at = c.at();
        c.take(width(kind, id_size)?)?;
        part(ClassPart::Static(name, kind, at));
    }
    for _ in 0..c.u16()? {
        let (name, kind) = (c.id(id_size)?, c.u8()?);
        width(kind, id_size)?;
        part(ClassPart::Field(name, kind));
    }
    Some(())
}
