//! The class of an object, from its header, and its size.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::flags::{Flags, Value};
use crate::layout::ObjectLayout;
use crate::memory::Memory;
use crate::oops::Oops;
use crate::{Result, Vm};

/// `Klass::_lh_instance_slow_path_bit`.
const SLOW_PATH: i32 = 1;
/// Alignments that `-XX:ObjectAlignmentInBytes` takes.
const ALIGNMENTS: std::ops::RangeInclusive<u64> = 8..=256;
/// The most classes; a real JVM has thousands.
const MOST: usize = 1 << 22;
/// Slots for the classes asked for last, as bits.
const SLOT_BITS: u32 = 12;

/// How large objects are.
pub(super) struct Sizes {
    alignment: u64,
    /// Where an array has its length.
    length_at: usize,
    /// Where a `java.lang.Class` has its size.
    mirror_size_at: u64,
    /// Places where a reference may begin, in a word of the stack of a virtual thread.
    places_of_a_word: u64,
}

impl Sizes {
    pub(super) fn of<M: Memory>(vm: &Vm<M>, flags: &Flags) -> Result<Self> {
        let layout = ObjectLayout::of(vm.source())?;
        let alignment = match flags.get("ObjectAlignmentInBytes").map(|flag| &flag.value) {
            Some(Value::Signed(n)) => u64::try_from(*n).unwrap_or(8),
            Some(Value::Unsigned(n)) => *n,
            _ => 8,
        };
        let alignment =
            if ALIGNMENTS.contains(&alignment) && alignment.is_power_of_two() { alignment } else { 8 };
        let compressed =
            flags.get("UseCompressedClassPointers").is_none() || flags.is_on("UseCompressedClassPointers");
        let length_at = match (flags.is_on("UseCompactObjectHeaders"), compressed) {
            (true, _) => 8,
            (false, true) => 12,
            (false, false) => 16,
        };
        let mirror_size_at = u64::try_from(layout.mirror_size.read(&vm.memory)?).unwrap_or(0);
        let places_of_a_word = if flags.is_on("UseCompressedOops") { 2 } else { 1 };
        Ok(Self { alignment, length_at, mirror_size_at, places_of_a_word })
    }

    /// Where a number of words is that an object's size depends on; `None`: it follows from the
    /// class and from an array's length.
    #[inline]
    pub(super) fn words_at(&self, class: Class) -> Option<u64> {
        match class.sort {
            Sort::Plain => None,
            Sort::Mirror => Some(self.mirror_size_at),
            Sort::Stack { words_at } => Some(words_at),
        }
    }

    /// Bytes at the beginning of an object that give its class and length.
    pub(super) fn header_bytes(&self) -> usize {
        self.length_at + 4
    }

    /// `oopDesc::size_given_klass` (src/hotspot/share/oops/oop.inline.hpp), with the words that are
    /// at [`Self::words_at`].
    #[inline]
    pub(super) fn size(&self, class: Class, header: &[u8; 24], words: u32) -> Option<u64> {
        let layout_helper = class.layout_helper;
        let fields = || u64::from((layout_helper & !(SLOW_PATH | 6)).unsigned_abs());
        let size = match (class.sort, layout_helper) {
            (Sort::Mirror, _) => u64::from(words) * 8,
            // Behind the stack is a bitmap of where references may begin
            // (`InstanceStackChunkKlass::instance_size`).
            (Sort::Stack { .. }, _) => {
                let words = u64::from(words);
                fields() + (words + (words * self.places_of_a_word).div_ceil(64)) * 8
            }
            (Sort::Plain, 1..) => fields(),
            (Sort::Plain, 0) => return None,
            (Sort::Plain, _) => {
                let length = header.get(self.length_at..self.length_at + 4)?;
                let length = i32::from_le_bytes(length.try_into().ok()?);
                let (header, shift) = ((layout_helper >> 16 & 0xff) as u64, layout_helper & 0xff);
                let elements =
                    u64::try_from(length).ok()? << u32::try_from(shift).ok().filter(|s| *s <= 3)?;
                header + elements
            }
        };
        // A power of two: without a division.
        let size = size.checked_add(self.alignment - 1)? & !(self.alignment - 1);
        (size >= 8).then_some(size)
    }
}

/// What the size of an object follows from.
#[derive(Clone, Copy)]
enum Sort {
    /// Its class, and the length of an array.
    Plain,
    /// It is a `java.lang.Class`, with static fields behind its own.
    Mirror,
    /// It is the stack of a virtual thread, and says in this field how long it is.
    Stack { words_at: u64 },
}

/// The class of the stacks of virtual threads.
const STACK: &str = "jdk/internal/vm/StackChunk";

/// A class that occurred.
#[derive(Clone, Copy)]
pub(super) struct Class {
    /// In the order in which they occurred.
    pub(super) number: u32,
    layout_helper: i32,
    sort: Sort,
}

/// Room for the archive of classes, which lies in front of the others: that of the JDK has 13 MB,
/// one of an application some hundred.
const ARCHIVE: u64 = 1 << 30;

/// Classes that occurred.
pub(super) struct Classes<'a, M> {
    memory: &'a M,
    oops: Oops,
    /// Where compressed pointers lead to: what else is taken for one mostly leads elsewhere, which
    /// is cheaper to see than to look up.
    within: Range<u64>,
    layout_helper: crate::layout::Field,
    known: FxHashMap<u64, Option<Class>>,
    /// What was asked for last in each slot: a few classes are most objects.
    recent: Vec<(u64, Option<Class>)>,
    /// The address of each `Klass`, and its name.
    all: Vec<(u64, String)>,
}

impl<'a, M: Memory> Classes<'a, M> {
    pub(super) fn new(vm: &'a Vm<M>, flags: &Flags) -> Result<Self> {
        let oops = Oops::new(vm, flags)?;
        let room = match flags.get("CompressedClassSpaceSize").map(|flag| &flag.value) {
            Some(Value::Unsigned(room)) => *room,
            _ => u64::MAX,
        };
        // Pointers that count from 0 may lead to a room anywhere.
        let within = match oops.first_klass().filter(|first| *first > 0) {
            Some(first) => first..first.saturating_add(room).saturating_add(ARCHIVE),
            None => 0..u64::MAX,
        };
        Ok(Self {
            memory: &vm.memory,
            oops,
            within,
            layout_helper: ObjectLayout::of(vm.source())?.layout_helper,
            known: FxHashMap::default(),
            recent: vec![(0, None); 1 << SLOT_BITS],
            all: Vec::new(),
        })
    }

    /// The class that a header names; `None` where it names no class.
    #[inline]
    pub(super) fn class(&mut self, header: &[u8; 24]) -> Option<Class> {
        let word = |at: usize| Some(u64::from_le_bytes(header.get(at..at + 8)?.try_into().ok()?));
        let klass = self.oops.klass_of_header([word(0)?, word(8)?]);
        // The upper bits of a product depend on all bits of its factors.
        let slot = (klass.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - SLOT_BITS)) as usize;
        let (recent, class) = self.recent[slot];
        if recent == klass {
            return class;
        }
        if !self.within.contains(&klass) {
            return None;
        }
        let class = self.look_up(klass);
        self.recent[slot] = (klass, class);
        class
    }

    fn look_up(&mut self, klass: u64) -> Option<Class> {
        if let Some(known) = self.known.get(&klass) {
            return *known;
        }
        let class = self.read(klass).filter(|_| self.all.len() < MOST);
        let class = class.map(|(name, class)| {
            self.all.push((klass, name));
            class
        });
        if self.known.len() < 4 * MOST {
            self.known.insert(klass, class);
        }
        class
    }

    fn read(&self, klass: u64) -> Option<(String, Class)> {
        if klass == 0 || !klass.is_multiple_of(8) || !self.oops.is_class(self.memory, klass) {
            return None;
        }
        let layout_helper = self.layout_helper.read(self.memory, klass).ok()? as i32;
        let internal = self.oops.klass_name(self.memory, klass).ok()?;
        let sort = match internal.as_str() {
            "java/lang/Class" => Sort::Mirror,
            STACK => Sort::Stack { words_at: self.oops.declared(self.memory, klass, STACK, "size").ok()? },
            _ => Sort::Plain,
        };
        let name = crate::locks::external_name(&internal);
        let class = Class { number: self.all.len() as u32, layout_helper, sort };
        (layout_helper != 0 || matches!(sort, Sort::Mirror)).then_some((name, class))
    }

    /// The address of the `Klass` of a number.
    pub(super) fn klass(&self, number: u32) -> u64 {
        self.all.get(number as usize).map_or(0, |(klass, _)| *klass)
    }

    /// The name of each by the address of its `Klass`.
    pub(super) fn names(self) -> impl Iterator<Item = (u64, String)> {
        self.all.into_iter()
    }
}
