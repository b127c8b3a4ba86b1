//! Objects of the Java heap read whole, whose class is checked before their content is used.

use std::collections::HashMap;
use std::sync::Arc;

use crate::flags::Flags;
use crate::layout::ClassLayout;
use crate::memory::Memory;
use crate::oops::Oops;
use crate::{Error, Result, Vm};

/// Bytes that are read of an object at once: the largest that is needed, a `VirtualThread`, has
/// some 160 bytes.
const BYTES: usize = 192;
const PAGE: u64 = 4096;
/// The most classes that are cached; some twenty are needed.
const MOST_CLASSES: usize = 4096;
/// The most loaders, and classes of one, that are searched.
const MOST_LOADERS: usize = 1 << 20;
const MOST_OF_LOADER: usize = 1 << 20;
/// The most references of an array that are read: the table of a set of as many threads.
const MOST_ELEMENTS: usize = 1 << 22;

/// An object as it was at one time.
pub(super) struct Object {
    pub(super) at: u64,
    pub(super) klass: u64,
    /// "java/lang/Thread".
    pub(super) class: Arc<str>,
    bytes: Vec<u8>,
}

impl Object {
    /// Its first 16 bytes.
    pub(super) fn header(&self) -> [u64; 2] {
        [self.word(0).unwrap_or(0), self.word(8).unwrap_or(0)]
    }

    fn word(&self, at: u64) -> Option<u64> {
        let at = usize::try_from(at).ok()?;
        Some(u64::from_le_bytes(self.bytes.get(at..at + 8)?.try_into().ok()?))
    }

    fn half(&self, at: u64) -> Option<u32> {
        let at = usize::try_from(at).ok()?;
        Some(u32::from_le_bytes(self.bytes.get(at..at + 4)?.try_into().ok()?))
    }
}

/// Reads objects of one JVM.
#[derive(Debug)]
pub(super) struct Objects {
    pub(super) oops: Oops,
    layout: ClassLayout,
    classes: HashMap<u64, Option<Arc<str>>>,
    offsets: HashMap<(u64, &'static str), Option<u64>>,
}

impl Objects {
    pub(super) fn new<M: Memory>(vm: &Vm<M>, flags: &Flags) -> Result<Self> {
        Ok(Self {
            oops: Oops::new(vm, flags)?,
            layout: ClassLayout::of(vm.source())?,
            classes: HashMap::new(),
            offsets: HashMap::new(),
        })
    }

    /// An object; `None` where there is none, for example because it was moved meanwhile.
    pub(super) fn object(&mut self, memory: &impl Memory, at: u64) -> Option<Object> {
        if at == 0 || !at.is_multiple_of(8) {
            return None;
        }
        let mut bytes = vec![0; BYTES];
        if memory.read(at, &mut bytes).is_err() {
            // The next page may not belong to the heap.
            bytes.truncate(((PAGE - at % PAGE) as usize).min(BYTES));
            memory.read(at, &mut bytes).ok()?;
        }
        let mut object = Object { at, klass: 0, class: Arc::from(""), bytes };
        object.klass = self.oops.klass_of_header(object.header());
        object.class = self.class_name(memory, object.klass)?;
        Some(object)
    }

    fn class_name(&mut self, memory: &impl Memory, klass: u64) -> Option<Arc<str>> {
        if let Some(known) = self.classes.get(&klass) {
            return known.clone();
        }
        let is_class = klass != 0 && klass.is_multiple_of(8) && self.oops.is_class(memory, klass);
        let name = is_class.then(|| self.oops.klass_name(memory, klass).ok()).flatten();
        if self.classes.len() >= MOST_CLASSES {
            self.classes.clear();
            self.offsets.clear();
        }
        // A class may appear later where there was none.
        let name: Option<Arc<str>> = Some(name?.into());
        self.classes.insert(klass, name.clone());
        name
    }

    /// The offset of a field that the class of an object declares, or a superclass of it called so.
    fn offset(&mut self, memory: &impl Memory, klass: u64, class: &str, field: &'static str) -> Option<u64> {
        if let Some(known) = self.offsets.get(&(klass, field)) {
            return *known;
        }
        let offset = self.oops.declared(memory, klass, class, field).ok();
        self.offsets.insert((klass, field), offset);
        offset
    }

    /// The reference in a field.
    pub(super) fn reference(
        &mut self,
        memory: &impl Memory,
        object: &Object,
        (class, field): (&str, &'static str),
    ) -> Option<u64> {
        let at = self.offset(memory, object.klass, class, field)?;
        let wide = self.oops.reference_bytes() == 8;
        let reference = if wide { object.word(at)? } else { u64::from(object.half(at)?) };
        Some(self.oops.decode(reference))
    }

    /// The number in a field of 4 bytes.
    pub(super) fn int(
        &mut self,
        memory: &impl Memory,
        object: &Object,
        (class, field): (&str, &'static str),
    ) -> Option<i32> {
        let at = self.offset(memory, object.klass, class, field)?;
        object.half(at).map(u32::cast_signed)
    }

    /// The number in a field of 8 bytes.
    pub(super) fn long(
        &mut self,
        memory: &impl Memory,
        object: &Object,
        (class, field): (&str, &'static str),
    ) -> Option<u64> {
        let at = self.offset(memory, object.klass, class, field)?;
        object.word(at)
    }

    /// Bytes of an object of a class that is not an array.
    pub(super) fn size(&self, memory: &impl Memory, klass: u64) -> Option<u64> {
        let helper = self.layout.layout_helper.read(memory, klass).ok()? as i32;
        u64::try_from(helper).ok().map(|size| size & !7).filter(|size| *size > 0)
    }

    /// The length of an array.
    pub(super) fn length(&self, array: &Object) -> Option<usize> {
        Some((array.half(self.oops.length_at())? as usize).min(MOST_ELEMENTS))
    }

    /// The references of an array of objects, null ones left out.
    pub(super) fn elements(&mut self, memory: &impl Memory, array: &Object) -> Option<Vec<(usize, u64)>> {
        // `Klass::layout_helper` of an array: bytes before its elements in the third byte.
        let helper = self.layout.layout_helper.read(memory, array.klass).ok()? as i32;
        if helper >= 0 || !array.class.starts_with('[') {
            return None;
        }
        let begin = (helper >> 16 & 0xff) as u64;
        let width = self.oops.reference_bytes();
        let length = self.length(array)?;
        let bytes = memory.read_bytes(array.at.wrapping_add(begin), length * width).ok()?;
        let all = bytes.chunks_exact(width).enumerate().filter_map(|(i, bytes)| {
            let mut word = [0; 8];
            word.get_mut(..width)?.copy_from_slice(bytes);
            Some((i, self.oops.decode(u64::from_le_bytes(word)))).filter(|(_, at)| *at != 0)
        });
        Some(all.collect())
    }

    /// Classes of the JDK by their names, in that order; 0 for one that is not loaded.
    pub(super) fn find<const N: usize>(&self, memory: &impl Memory, names: [&str; N]) -> Result<[u64; N]> {
        let layout = &self.layout;
        let mut loader = layout.loaders.read_u64(memory)?;
        let mut last = loader;
        for _ in 0..MOST_LOADERS {
            if loader == 0 {
                break;
            }
            last = loader;
            loader = layout.next_loader.read_u64(memory, loader)?;
        }
        let mut found = [0; N];
        let mut class = layout.classes.read_u64(memory, last)?;
        for _ in 0..MOST_OF_LOADER {
            if class == 0 || found.iter().all(|found| *found != 0) {
                break;
            }
            if let Ok(name) = self.oops.klass_name(memory, class)
                && let Some(which) = names.iter().position(|wanted| *wanted == name)
            {
                found[which] = class;
            }
            class = layout.next_class.read_u64(memory, class)?;
        }
        Ok(found)
    }

    /// Where a static field of a class is now: its `java.lang.Class` may be moved.
    fn static_at(&self, memory: &impl Memory, klass: u64, field: &str) -> Result<u64> {
        if klass == 0 {
            return Err(Error::NotReady { what: "a class of the JDK" });
        }
        let handle = memory.read_u64(self.layout.mirror.of(klass))?;
        let mirror = self.oops.load_root(memory, handle)?;
        let name = self.oops.klass_name(memory, klass)?;
        Ok(mirror.wrapping_add(self.oops.declared(memory, klass, &name, field)?))
    }

    /// The object in a static field.
    pub(super) fn static_reference(&self, memory: &impl Memory, klass: u64, field: &str) -> Result<u64> {
        self.oops.load_field(memory, self.static_at(memory, klass, field)?)
    }

    /// The number in a static field.
    pub(super) fn static_int(&self, memory: &impl Memory, klass: u64, field: &str) -> Result<i32> {
        Ok(memory.read_i32(self.static_at(memory, klass, field)?)?)
    }
}
