//! A heap: its objects by number, in the order of their addresses, and what refers to what.
//!
//! | column | bytes an object |
//! |---|---|
//! | address; class and place of its record in the dump | 16 |
//! | size | 4 |
//! | where its references begin | 4 (5 from 2³² references on) |
//! | references | 4 each |
//!
//! An instance's reference to its class is not stored: it follows from the class. Nor are values:
//! they are read from the dump's bytes where they are asked for.

use rustc_hash::FxHashMap;

use crate::classes::{Class, Classes};
use crate::column::{Column, Storage};
use crate::cursor::{Cursor, ids};
use crate::dominators::{Graph, NONE};
use crate::file::DumpFile;
use crate::layout::Layout;
use crate::offsets::Offsets;
use crate::records::{ClassPart, Damage, Header, RootKind, class_body, tag, width};
use crate::text::Texts;

/// An object: its address, and its class and the place of its record in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its identifier, which is its address.
    pub address: u64,
    /// The class in the upper 24 bits, the place below.
    pub packed: u64,
}

/// Bits of a place in the dump.
pub const PLACE_BITS: u32 = 40;

/// A root that is in the dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    /// The object.
    pub node: u32,
    /// Why.
    pub kind: RootKind,
    /// The thread that holds it, as the number of its object.
    pub thread: u32,
    /// The frame, counted from the top of the thread's stack.
    pub frame: Option<u32>,
}

/// A thread with its stack.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Its object.
    pub node: u32,
    /// Its serial number in the dump.
    pub serial: u32,
    /// Its frames, from the top: "java.lang.Object.wait(Native Method)" and such, as identifiers of
    /// frames.
    pub frames: Vec<u64>,
}

/// A frame of a stack.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// The method's name.
    pub method: u64,
    /// The file's.
    pub source: u64,
    /// The class.
    pub class: u32,
    /// The line; -1 and below: not known, or native.
    pub line: i32,
}

/// A heap that was read.
#[derive(Debug)]
pub struct Heap {
    /// The dump's bytes.
    pub file: DumpFile,
    /// Where the index of it is.
    pub storage: Storage,
    /// Its first bytes.
    pub header: Header,
    /// What could not be read.
    pub damage: Damage,
    /// Classes.
    pub classes: Classes,
    /// How sizes are known.
    pub layout: Layout,
    pub(crate) texts: Texts,
    pub(crate) entries: Column<Entry>,
    /// In units of eight bytes.
    pub(crate) sizes: Column<u32>,
    pub(crate) offsets: Offsets,
    pub(crate) references: Column<u32>,
    /// Objects that hold themselves, each once, in their order.
    pub(crate) held: Vec<u32>,
    /// Roots as they were told.
    pub roots: Vec<Root>,
    /// Threads.
    pub threads: Vec<Thread>,
    pub(crate) frames: FxHashMap<u64, Frame>,
    /// Which class an object is that is a class.
    pub(crate) mirrors: FxHashMap<u32, u32>,
    /// References that the JVM has and no field tells: a thread's local variables, a loader's
    /// classes.
    pub(crate) extra: FxHashMap<u32, Vec<u32>>,
}

impl Heap {
    /// Whether the dump is a copy in which values are zero.
    pub fn is_redacted(&self) -> bool {
        crate::redact::is_copy(self.file.bytes(), &self.texts, self.header.id_size)
    }

    /// How many objects there are.
    pub fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Its address.
    pub fn address(&self, node: u32) -> u64 {
        self.entries[node as usize].address
    }

    /// The object at an address.
    pub fn find(&self, address: u64) -> Option<u32> {
        self.entries.binary_search_by_key(&address, |entry| entry.address).ok().map(|node| node as u32)
    }

    /// The number of its class.
    #[inline]
    pub fn class_number(&self, node: u32) -> u32 {
        (self.entries[node as usize].packed >> PLACE_BITS) as u32
    }

    /// Its class.
    pub fn class(&self, node: u32) -> &Class {
        self.classes.get(self.class_number(node))
    }

    /// Bytes that it takes itself.
    #[inline]
    pub fn size(&self, node: u32) -> u64 {
        u64::from(self.sizes[node as usize]) * 8
    }

    /// The class that it is, where it is one.
    pub fn as_class(&self, node: u32) -> Option<&Class> {
        self.mirrors.get(&node).map(|class| self.classes.get(*class))
    }

    /// What it refers to, but for its class.
    #[inline]
    pub fn references(&self, node: u32) -> &[u32] {
        &self.references[self.offsets.row(node as usize)]
    }

    /// References that no field tells: a thread's local variables, a loader's classes.
    pub fn extra(&self, node: u32) -> &[u32] {
        self.extra.get(&node).map_or(&[], Vec::as_slice)
    }

    /// Where its record begins.
    #[inline]
    pub(crate) fn place(&self, node: u32) -> usize {
        (self.entries[node as usize].packed & ((1 << PLACE_BITS) - 1)) as usize
    }

    /// Kind of its record.
    #[inline]
    pub fn tag(&self, node: u32) -> u8 {
        self.file.bytes().get(self.place(node)).copied().unwrap_or(0)
    }

    /// Elements of an array; 0 for what is none.
    pub fn length(&self, node: u32) -> u64 {
        let mut c = Cursor::new(self.file.bytes(), self.place(node));
        match c.u8() {
            Some(tag::OBJECT_ARRAY | tag::PRIMITIVE_ARRAY) => {
                c.take(self.header.id_size + 4).and_then(|_| c.u32()).map_or(0, u64::from)
            }
            _ => 0,
        }
    }

    /// The values of an instance's fields, or of an array's elements, as they are in the dump.
    pub(crate) fn payload(&self, node: u32) -> &[u8] {
        let id_size = self.header.id_size;
        let mut c = Cursor::new(self.file.bytes(), self.place(node));
        let payload = (|| match c.u8()? {
            tag::INSTANCE => {
                c.take(2 * id_size + 4)?;
                let bytes = c.u32()?;
                c.take(bytes as usize)
            }
            tag::OBJECT_ARRAY => {
                c.take(id_size + 4)?;
                let length = c.u32()? as usize;
                c.take(id_size)?;
                c.take(length.checked_mul(id_size)?)
            }
            tag::PRIMITIVE_ARRAY => {
                c.take(id_size + 4)?;
                let length = c.u32()? as usize;
                let kind = c.u8()?;
                c.take(length.checked_mul(width(kind, id_size)?)?)
            }
            _ => None,
        })();
        payload.unwrap_or(&[])
    }

    /// A field's value of an instance by its name, the one that is declared lowest: its type and
    /// its bytes.
    pub(crate) fn field(&self, node: u32, name: &str) -> Option<(u8, &[u8])> {
        if self.tag(node) != tag::INSTANCE {
            return None;
        }
        let id_size = self.header.id_size;
        let payload = self.payload(node);
        let mut fields = self.classes.fields(self.class_number(node), id_size);
        let (at, field, _) = fields.find(|(_, field, _)| self.text_is(field.name, name))?;
        Some((field.kind, payload.get(at..at + width(field.kind, id_size)?)?))
    }

    /// A field that is a whole number: boolean, byte, short, int, long.
    pub(crate) fn number(&self, node: u32, name: &str) -> Option<i64> {
        let (kind, bytes) = self.field(node, name)?;
        number(kind, bytes)
    }

    /// The object that a field refers to.
    pub fn object(&self, node: u32, name: &str) -> Option<u32> {
        let (kind, bytes) = self.field(node, name)?;
        if kind != 2 {
            return None;
        }
        self.find(ids(bytes, self.header.id_size).next()?)
    }

    /// The static fields of a class: name, type, bytes.
    pub(crate) fn statics(&self, class_object: u32) -> Vec<(u64, u8, &[u8])> {
        let id_size = self.header.id_size;
        let data = self.file.bytes();
        let mut found = Vec::new();
        let mut c = Cursor::new(data, self.place(class_object));
        if c.u8() != Some(tag::CLASS) || c.id(id_size).is_none() {
            return found;
        }
        let _ = class_body(&mut c, id_size, &mut |part| {
            if let ClassPart::Static(name, kind, at) = part {
                let bytes = width(kind, id_size).and_then(|width| data.get(at..at + width));
                found.extend(bytes.map(|bytes| (name, kind, bytes)));
            }
        });
        found
    }

    /// A text of the dump: names.
    pub fn text(&self, id: u64) -> String {
        self.texts.get(self.file.bytes(), id).unwrap_or_else(|| "?".to_owned())
    }

    pub(crate) fn text_is(&self, id: u64, text: &str) -> bool {
        self.texts.bytes(self.file.bytes(), id) == Some(text.as_bytes())
    }

    /// A frame in words: "org.example.Cache.put(Cache.java:42)".
    pub fn frame(&self, id: u64) -> Option<String> {
        let frame = self.frames.get(&id)?;
        let class = if frame.class == NONE { "?" } else { self.classes.get(frame.class).name.as_str() };
        let place = match frame.line {
            1.. => format!("{}:{}", self.text(frame.source), frame.line),
            -3 => "Native Method".to_owned(),
            _ => {
                self.texts.get(self.file.bytes(), frame.source).unwrap_or_else(|| "Unknown Source".to_owned())
            }
        };
        Some(format!("{class}.{}({place})", self.text(frame.method)))
    }
}

/// A whole number out of its bytes.
pub(crate) fn number(kind: u8, bytes: &[u8]) -> Option<i64> {
    match (kind, bytes) {
        (4 | 8, [byte]) => Some(i64::from(byte.cast_signed())),
        (9, _) => Some(i64::from(i16::from_be_bytes(bytes.try_into().ok()?))),
        (10, _) => Some(i64::from(i32::from_be_bytes(bytes.try_into().ok()?))),
        (11, _) => Some(i64::from_be_bytes(bytes.try_into().ok()?)),
        _ => None,
    }
}

impl Graph for Heap {
    fn objects(&self) -> u32 {
        self.len()
    }

    fn roots(&self) -> &[u32] {
        &self.held
    }

    #[inline]
    fn successor(&self, object: u32, k: u32) -> Option<u32> {
        let row = self.offsets.row(object as usize);
        let at = row.start + k as usize;
        if at < row.end {
            return Some(self.references[at]);
        }
        // Behind its fields, its class.
        (at == row.end).then(|| self.class(object).held_by_instances).filter(|class| *class != NONE)
    }
}
