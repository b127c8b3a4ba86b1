//! A heap: its objects by number, in the order of the dump, and what refers to what.
//!
//! | column | bytes an object |
//! |---|---|
//! | addresses: a bit for every place where an object may begin | some 0.8 |
//! | kind: class, size, length of the record | 2 (3 from 65,536 kinds on) |
//! | place of the record in the dump | 0.5 |
//! | references | 1 and some 1.5 each, 0.5 to find them |
//!
//! An instance's reference to its class is not stored: it follows from the class. Nor are values:
//! they are read from the dump's bytes where they are asked for.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::addresses::Addresses;
use crate::bits::Bits;
use crate::classes::{Class, Classes};
use crate::column::Storage;
use crate::cursor::{Cursor, ids};
use crate::damage::Damage;
use crate::dominators::{Graph, Left, TOGETHER};
use crate::file::DumpFile;
use crate::kinds::Kinds;
use crate::layout::Layout;
use crate::numbers::NONE;
use crate::progress::Progress;
use crate::records::{ClassPart, Header, RootKind, class_body, tag, width};
use crate::references::{At, Rows};
use crate::text::Texts;

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
    pub(crate) addresses: Addresses,
    pub(crate) kinds: Arc<Kinds>,
    /// Who is shown how far what is asked of it is.
    pub(crate) progress: Progress,
    pub(crate) rows: Rows,
    /// Objects that one alone refers to, and that refer to nothing but such, their class apart.
    pub(crate) private: Arc<Bits>,
    /// Objects that hold themselves, each once, in their order.
    pub(crate) held: Vec<u32>,
    /// Roots as the dump lists them.
    pub roots: Vec<Root>,
    /// Threads.
    pub threads: Vec<Thread>,
    pub(crate) frames: FxHashMap<u64, Frame>,
    /// Which class an object is that is a class.
    pub(crate) mirrors: FxHashMap<u32, u32>,
    /// References that the JVM has and that are in no field: a thread's local variables, a loader's
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
        self.kinds.objects() as u32
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its address.
    pub fn address(&self, node: u32) -> u64 {
        Cursor::new(self.file.bytes(), self.place(node) + 1).id(self.header.id_size).unwrap_or(0)
    }

    /// The object at an address.
    #[inline]
    pub fn find(&self, address: u64) -> Option<u32> {
        if address == 0 { None } else { self.addresses.find(address) }
    }

    /// The number of its class.
    #[inline]
    pub fn class_number(&self, node: u32) -> u32 {
        self.kinds.of(node).class
    }

    /// Its class.
    pub fn class(&self, node: u32) -> &Class {
        self.classes.get(self.class_number(node))
    }

    /// Bytes that it takes itself.
    #[inline]
    pub fn size(&self, node: u32) -> u64 {
        self.kinds.size(node)
    }

    /// The class that it is, where it is one.
    pub fn as_class(&self, node: u32) -> Option<&Class> {
        self.mirrors.get(&node).map(|class| self.classes.get(*class))
    }

    /// References that are in no field: a thread's local variables, a loader's classes.
    pub fn extra(&self, node: u32) -> &[u32] {
        self.extra.get(&node).map_or(&[], Vec::as_slice)
    }

    /// Where its record begins.
    #[inline]
    pub(crate) fn place(&self, node: u32) -> usize {
        self.kinds.place(node)
    }

    /// Kind of its record.
    #[inline]
    pub fn tag(&self, node: u32) -> u8 {
        self.kinds.of(node).tag
    }

    /// Elements of an array; 0 for what is not an array.
    pub fn length(&self, node: u32) -> u64 {
        let kind = self.kinds.of(node);
        match kind.tag {
            tag::OBJECT_ARRAY | tag::PRIMITIVE_ARRAY => u64::from(kind.length),
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

    /// Some bytes among the values of the instance whose record is at a place; none where there are
    /// not so many.
    #[inline]
    pub(crate) fn value_at(&self, place: usize, at: usize, bytes: usize) -> &[u8] {
        let from = place + 1 + self.header.id_size + 4 + self.header.id_size + 4 + at;
        self.file.bytes().get(from..from + bytes).unwrap_or(&[])
    }

    /// The object that a value of that instance refers to.
    #[inline]
    pub(crate) fn object_at(&self, place: usize, at: usize) -> Option<u32> {
        let id_size = self.header.id_size;
        ids(self.value_at(place, at, id_size), id_size).next().and_then(|id| self.find(id))
    }

    /// The elements of an array of primitive values whose record is at a place.
    pub(crate) fn elements_at(&self, array: u32, place: usize) -> &[u8] {
        let end = place + self.kinds.of(array).record as usize;
        self.file.bytes().get(place + 1 + self.header.id_size + 4 + 4 + 1..end).unwrap_or(&[])
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
    fn successors(&self, object: u32) -> Left {
        self.left(object, self.rows.row(object))
    }

    fn together(&self, first: u32, all: &mut Vec<Left>) {
        all.clear();
        let end = first.saturating_add(TOGETHER).min(self.len());
        all.extend((first..end).zip(self.rows.block(first)).map(|(object, row)| self.left(object, row)));
    }

    #[inline]
    fn next(&self, left: &mut Left) -> Option<u32> {
        if left.first != NONE {
            return Some(std::mem::replace(&mut left.first, NONE));
        }
        if left.at == NO_ROW {
            return None;
        }
        let mut at = At { at: left.at, last: left.last };
        let next = self.rows.next(&mut at);
        (left.at, left.last) = (at.at, at.last);
        next
    }

    #[inline]
    fn first(&self, object: u32) -> u32 {
        self.kinds.of(object).class_object
    }

    #[inline]
    fn has_more(&self, left: &Left) -> bool {
        left.first != NONE || left.at != NO_ROW && !self.rows.is_end(left.at)
    }
}

/// In place of where a row goes on: it ends.
const NO_ROW: u64 = u64::MAX;

impl Heap {
    /// What an object refers to: before its fields, its class.
    #[inline]
    fn left(&self, object: u32, row: Option<At>) -> Left {
        let first = self.kinds.of(object).class_object;
        match row {
            Some(At { at, last }) => Left { at, last, first },
            None => Left { at: NO_ROW, last: object, first },
        }
    }

    /// What an object refers to, its class included; one that has several references to another may
    /// name it more than once.
    pub fn referred(&self, node: u32) -> impl Iterator<Item = u32> + '_ {
        let mut left = self.successors(node);
        std::iter::from_fn(move || self.next(&mut left))
    }
}
