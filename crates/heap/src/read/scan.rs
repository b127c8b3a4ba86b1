//! The first pass over a dump: where everything is.

use rustc_hash::FxHashMap;

use crate::classes::Classes;
use crate::column::{Column, Storage};
use crate::dominators::NONE;
use crate::heap::{Entry, Frame, PLACE_BITS};
use crate::records::{ClassKey, RootRecord, Visit};
use crate::text::Texts;

/// What the first pass notes.
pub(super) struct Scan {
    pub(super) texts: Texts,
    pub(super) entries: Column<Entry>,
    pub(super) classes: Classes,
    pub(super) loaded: Vec<(u32, u64, u64)>,
    pub(super) frames: FxHashMap<u64, Frame>,
    /// Serial numbers of classes, for frames.
    pub(super) serials: FxHashMap<u32, u32>,
    pub(super) stacks: FxHashMap<u32, (u64, u32)>,
    pub(super) roots: Vec<RootRecord>,
    pub(super) too_many_classes: bool,
}

impl Scan {
    pub(super) fn new(storage: Storage, most: usize) -> Self {
        Self {
            texts: Texts::default(),
            entries: Column::with_room(storage, most),
            classes: Classes::default(),
            loaded: Vec::new(),
            frames: FxHashMap::default(),
            serials: FxHashMap::default(),
            stacks: FxHashMap::default(),
            roots: Vec::new(),
            too_many_classes: false,
        }
    }

    pub(super) fn class(&mut self, id: u64) -> u32 {
        let class = self.classes.intern(id);
        self.too_many_classes |= class.is_none();
        class.unwrap_or(0)
    }
}

impl Visit for Scan {
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

    fn object(&mut self, id: u64, class: ClassKey, at: usize) {
        let class = match class {
            ClassKey::Id(class) => self.class(class),
            ClassKey::Primitive(kind) => u32::from(kind),
            ClassKey::Class => 0,
        };
        self.entries.push(Entry { address: id, packed: u64::from(class) << PLACE_BITS | at as u64 });
    }
}
