//! A copy of a dump without anybody's data: values that are no references are zero. Sizes, what
//! refers to what, threads' stacks, and names of classes, fields and methods are as they were.
//! HotSpot writes all symbols of the JVM as texts, with the literals of the program among them:
//! those that name nothing in the dump are zero as well.
//!
//! Kept are the counts and capacities of the JDK's own collections and buffers, and how a text is
//! encoded: they are sizes, and the report needs them. Nothing is copied that was not understood.

use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use crate::HeapError;
use crate::cursor::Cursor;
use crate::file::DumpFile;
use crate::progress::Progress;
use crate::records::{ClassKey, ClassPart, RootRecord, SubRecord, Visit, class_body, header, tag, width};
use crate::text::Texts;
use crate::walk::walk;

/// Superclasses that are followed; a chain that is longer, or runs in a circle, is cut.
const DEEPEST: usize = 256;
/// Fields of the JDK's classes that are sizes (`java.util`, `java.util.concurrent`, `java.nio`),
/// and the encoding of a text (`java.lang.String.coder`, JDK 9 and later).
const KEPT: [&[u8]; 7] =
    [b"size", b"count", b"elementCount", b"baseCount", b"capacity", b"queueLength", b"coder"];
/// Zeros written at a time.
const ZEROS: [u8; 4096] = [0; 4096];
/// Says in the copy that it is one: a text whose identifier no JVM uses.
const MARK: &[u8] = b"values set to zero by fathom";
const MARK_ID: u64 = u64::MAX;

/// What was set to zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Redacted {
    /// Arrays of primitive values.
    pub arrays: u64,
    /// Instances with a field that is no reference.
    pub instances: u64,
    /// Static fields.
    pub statics: u64,
    /// Texts that name no class, field, method or file.
    pub texts: u64,
    /// Bytes of all of them.
    pub bytes: u64,
}

/// Whether a dump is such a copy.
pub(crate) fn is_copy(data: &[u8], texts: &Texts, id_size: usize) -> bool {
    texts.bytes(data, mark_id(id_size)) == Some(MARK)
}

fn mark_id(id_size: usize) -> u64 {
    if id_size == 4 { u64::from(u32::MAX) } else { MARK_ID }
}

/// Copies a dump, packed or plain, without its values. A damaged one is refused: what is not
/// understood may be data.
pub fn redact(path: &Path, out: &mut impl Write) -> Result<Redacted, HeapError> {
    let file = DumpFile::open(path, &Progress::default())?;
    let named = || path.to_owned();
    let data = file.bytes();
    let header = header(data).ok_or_else(|| HeapError::NotHprof { path: named() })?;
    if !matches!(header.id_size, 4 | 8) {
        return Err(HeapError::IdSize { path: named(), size: header.id_size as u32 });
    }
    let mut shapes = Shapes { data, id_size: header.id_size, ..Shapes::default() };
    let damage = walk(data, &header, &mut shapes);
    if damage.skipped_bytes > 0 || damage.damaged_records > 0 || damage.unknown_records > 0 {
        return Err(HeapError::NotUnderstood { path: named(), at: damage.first_at.unwrap_or(0) });
    }
    let failed = |cause: io::Error| HeapError::Io { path: named(), cause };
    let mut copy =
        Copy { shapes, masks: FxHashMap::default(), out, copied: 0, failed: None, done: Redacted::default() };
    copy.keep(header.first);
    copy.mark();
    walk(data, &header, &mut copy);
    copy.keep(data.len());
    match copy.failed {
        Some(cause) => Err(failed(cause)),
        None => Ok(copy.done),
    }
}

/// What instances of a class hold of its own: its superclass, and each field's name and type.
type Shape = (u64, Vec<(u64, u8)>);
/// Bytes of an instance's values that are set to zero: from, how many.
type Mask = Rc<[(usize, usize)]>;

/// The classes of a dump, as far as values of their instances are distinguished.
#[derive(Default)]
struct Shapes<'a> {
    data: &'a [u8],
    id_size: usize,
    texts: Texts,
    names: FxHashMap<u64, u64>,
    by_class: FxHashMap<u64, Shape>,
    /// Texts that are names of classes, fields, methods and files.
    named: FxHashSet<u64>,
}

impl Shapes<'_> {
    /// Where the values lie that are set to zero, in an instance of a class; `None` where the
    /// class, or one above it, is not in the dump.
    fn mask(&self, class: u64) -> Option<Mask> {
        let (mut at, mut class, mut mask) = (0, class, Vec::<(usize, usize)>::new());
        for _ in 0..DEEPEST {
            if class == 0 {
                break;
            }
            let (parent, fields) = self.by_class.get(&class)?;
            let is_jdk = self.names.get(&class).and_then(|name| self.texts.bytes(self.data, *name));
            let is_jdk = is_jdk.is_some_and(|name| {
                // How long the stack of a virtual thread is, is its size as an object.
                name.starts_with(b"java/") || name == b"jdk/internal/vm/StackChunk"
            });
            for (name, kind) in fields {
                let bytes = width(*kind, self.id_size)?;
                let is_size = || self.texts.bytes(self.data, *name).is_some_and(|name| KEPT.contains(&name));
                if *kind != 2 && !(is_jdk && is_size()) {
                    match mask.last_mut() {
                        Some((from, length)) if *from + *length == at => *length += bytes,
                        _ => mask.push((at, bytes)),
                    }
                }
                at += bytes;
            }
            class = *parent;
        }
        Some(mask.into())
    }
}

impl Visit for Shapes<'_> {
    fn text(&mut self, id: u64, at: usize, bytes: usize) {
        self.texts.add(id, at, bytes);
    }

    fn class_loaded(&mut self, _: u32, id: u64, name: u64) {
        self.names.insert(id, name);
        self.named.insert(name);
    }

    fn frame(&mut self, _: u64, method: u64, source: u64, _: u32, _: i32) {
        self.named.extend([method, source]);
    }

    fn signature(&mut self, text: u64) {
        self.named.insert(text);
    }

    fn stack(&mut self, _: u32, _: u32, _: usize, _: u32) {}

    fn root(&mut self, _: RootRecord) {}

    fn object(&mut self, id: u64, class: ClassKey, SubRecord { at, .. }: SubRecord) {
        if class != ClassKey::Class {
            return;
        }
        let mut shape: Shape = (0, Vec::new());
        let mut named: Vec<u64> = Vec::new();
        let mut cursor = Cursor::new(self.data, at + 1 + self.id_size);
        let read = class_body(&mut cursor, self.id_size, &mut |part| match part {
            ClassPart::Head([parent, ..]) => shape.0 = parent,
            ClassPart::Field(name, kind) => {
                shape.1.push((name, kind));
                named.push(name);
            }
            ClassPart::Static(name, ..) => named.push(name),
            ClassPart::Constant(_) | ClassPart::Value(..) => {}
        });
        self.named.extend(named);
        // The first one counts, as for who reads the copy.
        if read.is_some() {
            self.by_class.entry(id).or_insert(shape);
        }
    }
}

/// The copy under way.
struct Copy<'a, W> {
    shapes: Shapes<'a>,
    masks: FxHashMap<u64, Option<Mask>>,
    out: &'a mut W,
    /// Up to where the dump is copied.
    copied: usize,
    failed: Option<io::Error>,
    done: Redacted,
}

impl<W: Write> Copy<'_, W> {
    /// Copies all up to a place as it is.
    fn keep(&mut self, to: usize) {
        if self.failed.is_none() && to > self.copied {
            self.failed = self.out.write_all(&self.shapes.data[self.copied..to]).err();
            self.copied = to;
        }
    }

    /// Writes zeros in place of so many bytes from a place on.
    fn zero(&mut self, from: usize, bytes: usize) {
        self.keep(from);
        let mut left = bytes.min(self.shapes.data.len().saturating_sub(from));
        self.done.bytes += left as u64;
        self.copied = from + left;
        while left > 0 && self.failed.is_none() {
            let part = left.min(ZEROS.len());
            self.failed = self.out.write_all(&ZEROS[..part]).err();
            left -= part;
        }
    }

    /// Says in the copy that it is one.
    fn mark(&mut self) {
        let id_size = self.shapes.id_size;
        let id = mark_id(id_size).to_be_bytes();
        let length = (id_size + MARK.len()) as u32;
        let record = [&[0x01, 0, 0, 0, 0][..], &length.to_be_bytes(), &id[8 - id_size..], MARK].concat();
        if self.failed.is_none() {
            self.failed = self.out.write_all(&record).err();
        }
    }

    fn array(&mut self, kind: u8, at: usize) {
        let id_size = self.shapes.id_size;
        let length = Cursor::new(self.shapes.data, at + 1 + id_size + 4).u32().unwrap_or(0) as usize;
        let bytes = width(kind, id_size).unwrap_or(0).saturating_mul(length);
        self.done.arrays += 1;
        self.zero(at + 1 + id_size + 4 + 4 + 1, bytes);
    }

    fn instance(&mut self, class: u64, at: usize) {
        let id_size = self.shapes.id_size;
        let values = at + 1 + id_size + 4 + id_size + 4;
        let length = Cursor::new(self.shapes.data, values - 4).u32().unwrap_or(0) as usize;
        let shapes = &self.shapes;
        let mask = self.masks.entry(class).or_insert_with(|| shapes.mask(class)).clone();
        // Of a class that is not in the dump nobody knows which of its values are references.
        let mask = mask.unwrap_or_else(|| Rc::from([(0, length)]));
        self.done.instances += u64::from(!mask.is_empty());
        for (from, bytes) in mask.iter() {
            self.zero(values + from.min(&length), *bytes.min(&length.saturating_sub(*from)));
        }
    }

    fn class(&mut self, at: usize) {
        let id_size = self.shapes.id_size;
        let mut values: Vec<(usize, usize)> = Vec::new();
        let mut cursor = Cursor::new(self.shapes.data, at + 1 + id_size);
        let _ = class_body(&mut cursor, id_size, &mut |part| {
            if let ClassPart::Static(_, kind, at) | ClassPart::Value(kind, at) = part
                && kind != 2
            {
                values.push((at, width(kind, id_size).unwrap_or(0)));
            }
        });
        self.done.statics += values.len() as u64;
        values.into_iter().for_each(|(from, bytes)| self.zero(from, bytes));
    }
}

impl<W: Write> Visit for Copy<'_, W> {
    fn text(&mut self, id: u64, at: usize, bytes: usize) {
        if !self.shapes.named.contains(&id) {
            self.done.texts += 1;
            self.zero(at, bytes);
        }
    }

    fn class_loaded(&mut self, _: u32, _: u64, _: u64) {}

    fn frame(&mut self, _: u64, _: u64, _: u64, _: u32, _: i32) {}

    fn stack(&mut self, _: u32, _: u32, _: usize, _: u32) {}

    fn root(&mut self, _: RootRecord) {}

    fn object(&mut self, _: u64, class: ClassKey, SubRecord { at, .. }: SubRecord) {
        match class {
            ClassKey::Primitive(kind) => self.array(kind, at),
            ClassKey::Class => self.class(at),
            ClassKey::Id(class) if self.shapes.data[at] == tag::INSTANCE => self.instance(class, at),
            // An array of references.
            ClassKey::Id(_) => {}
        }
    }
}
