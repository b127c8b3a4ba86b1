//! The first pass over a dump: where everything is.

use rustc_hash::FxHashMap;

use crate::addresses::Addresses;
use crate::classes::Classes;
use crate::column::Storage;
use crate::heap::Frame;
use crate::kinds::{Kind, Kinds};
use crate::numbers::{MOST_OBJECTS, NONE};
use crate::progress::{EVERY, Phase, Progress};
use crate::records::{ClassKey, RootRecord, SubRecord, Visit, tag};
use crate::text::Texts;

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
        }
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
    }

    fn frame(&mut self, id: u64, method: u64, source: u64, class_serial: u32, line: i32) {
        let class = self.serials.get(&class_serial).copied().unwrap_or(NONE);
        self.frames.insert(id, Frame { method, source, class, line });
    }

    fn stack(&mut self, serial: u32, _: u32, at: usize, frames: u32) {
        self.stacks.insert(serial, (at as u64, frames));
    }

    fn root(&mut self, root: RootRecord) {
        self.roots.push(root);
    }

    fn object(&mut self, id: u64, class: ClassKey, record: SubRecord) {
        let number = self.kinds.objects() as u32;
        if number.is_multiple_of(EVERY) {
            self.progress.at(Phase::Scan, record.at as f64 / self.data.len() as f64);
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
