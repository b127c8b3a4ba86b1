//! The class of an object, from its header, and its size.

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

/// How large objects are.
pub(super) struct Sizes {
    alignment: u64,
    /// Where an array has its length.
    length_at: usize,
    /// Where a `java.lang.Class` has its size.
    pub(super) mirror_size_at: u64,
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
        Ok(Self { alignment, length_at, mirror_size_at })
    }

    /// Bytes at the beginning of an object that give its class and length.
    pub(super) fn header_bytes(&self) -> usize {
        self.length_at + 4
    }

    /// `oopDesc::size_given_klass` (src/hotspot/share/oops/oop.inline.hpp).
    pub(super) fn size(&self, layout_helper: i32, header: &[u8; 24], mirror: Option<u32>) -> Option<u64> {
        let size = match (layout_helper, mirror) {
            (_, Some(words)) => u64::from(words) * 8,
            (1.., None) => u64::from((layout_helper & !(SLOW_PATH | 6)).unsigned_abs()),
            (0, None) => return None,
            (_, None) => {
                let length = header.get(self.length_at..self.length_at + 4)?;
                let length = i32::from_le_bytes(length.try_into().ok()?);
                let (header, shift) = ((layout_helper >> 16 & 0xff) as u64, layout_helper & 0xff);
                let elements =
                    u64::try_from(length).ok()? << u32::try_from(shift).ok().filter(|s| *s <= 3)?;
                header + elements
            }
        };
        let size = size.next_multiple_of(self.alignment);
        (size >= 8).then_some(size)
    }
}

struct Class {
    name: String,
    layout_helper: i32,
    is_mirror: bool,
}

/// Classes that occurred.
pub(super) struct Classes<'a, M> {
    memory: &'a M,
    oops: Oops,
    layout_helper: crate::layout::Field,
    known: FxHashMap<u64, Option<u32>>,
    all: Vec<Class>,
    last: (u64, Option<u32>),
}

impl<'a, M: Memory> Classes<'a, M> {
    pub(super) fn new(vm: &'a Vm<M>, flags: &Flags) -> Result<Self> {
        Ok(Self {
            memory: &vm.memory,
            oops: Oops::new(vm, flags)?,
            layout_helper: ObjectLayout::of(vm.source())?.layout_helper,
            known: FxHashMap::default(),
            all: Vec::new(),
            last: (0, None),
        })
    }

    /// The class that a header names; `None` where it names no class.
    pub(super) fn class(&mut self, header: &[u8; 24]) -> Option<u32> {
        let word = |at: usize| Some(u64::from_le_bytes(header.get(at..at + 8)?.try_into().ok()?));
        let klass = self.oops.klass_of_header([word(0)?, word(8)?]);
        if klass == self.last.0 {
            return self.last.1;
        }
        let found = match self.known.get(&klass) {
            Some(known) => *known,
            None => {
                let class = self.read(klass).filter(|_| self.all.len() < MOST);
                let number = class.map(|class| {
                    self.all.push(class);
                    self.all.len() as u32 - 1
                });
                if self.known.len() < 4 * MOST {
                    self.known.insert(klass, number);
                }
                number
            }
        };
        self.last = (klass, found);
        found
    }

    fn read(&self, klass: u64) -> Option<Class> {
        if klass == 0 || !klass.is_multiple_of(8) || !self.oops.is_class(self.memory, klass) {
            return None;
        }
        let layout_helper = self.layout_helper.read(self.memory, klass).ok()? as i32;
        let internal = self.oops.klass_name(self.memory, klass).ok()?;
        let is_mirror = internal == "java/lang/Class";
        let name = crate::locks::external_name(&internal);
        (layout_helper != 0 || is_mirror).then_some(Class { name, layout_helper, is_mirror })
    }

    pub(super) fn name(&self, class: u32) -> &str {
        self.all.get(class as usize).map_or("?", |class| &class.name)
    }

    pub(super) fn layout_helper(&self, class: u32) -> i32 {
        self.all.get(class as usize).map_or(0, |class| class.layout_helper)
    }

    pub(super) fn is_mirror(&self, class: u32) -> bool {
        self.all.get(class as usize).is_some_and(|class| class.is_mirror)
    }
}
