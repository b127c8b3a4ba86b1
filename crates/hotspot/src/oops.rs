//! Objects of the Java heap, as far as names of threads need them.
//!
//! The collector may move an object while it is read: the result is checked (a string's class must
//! be `java.lang.String`) and otherwise dropped, never guessed. The form of a reference depends on
//! the collector and on flags: compressed (32 bits), plain, or with the colours of ZGC.

use std::collections::HashMap;

use crate::flags::Flags;
use crate::layout::{MethodLayout, OopLayout};
use crate::memory::Memory;
use crate::symbols::{Unsigned5, read_symbol};
use crate::{Error, Result, Vm};

/// Characters of a string read at most.
const LONGEST_STRING: u64 = 256;
/// Fields of a class looked at; `java.lang.Thread` has some 25.
const MOST_FIELDS: usize = 4096;
/// Superclasses looked at.
const DEEPEST: usize = 64;
/// Where the class lies in a compact object header (`markWord::klass_shift` on 64 bits).
const COMPACT_KLASS_SHIFT: u32 = 42;

/// Reads objects.
#[derive(Debug)]
pub(crate) struct Oops {
    layout: OopLayout,
    names: MethodLayout,
    feature: u32,
    compressed_oops: bool,
    compressed_klass: bool,
    compact_headers: bool,
    coloured: bool,
    oop_base: u64,
    oop_shift: u32,
    klass_base: u64,
    klass_shift: u32,
    /// (class, field): its offset.
    offsets: HashMap<(u64, &'static str), u64>,
}

impl Oops {
    pub(crate) fn new<M: Memory>(vm: &Vm<M>, flags: &Flags) -> Result<Self> {
        let memory = &vm.memory;
        let layout = OopLayout::of(vm.source())?;
        let shift = |value: i64, what: &str| {
            let value = value as u64;
            u32::try_from(value)
                .ok()
                .filter(|shift| *shift < 32)
                .ok_or_else(|| Error::Implausible { what: what.to_owned(), value })
        };
        Ok(Self {
            names: MethodLayout::of(vm.source())?,
            feature: vm.release.feature,
            compressed_oops: flags.is_on("UseCompressedOops"),
            // The flag went away in JDK 27, where they always are.
            compressed_klass: flags.get("UseCompressedClassPointers").is_none()
                || flags.is_on("UseCompressedClassPointers"),
            compact_headers: flags.is_on("UseCompactObjectHeaders"),
            // Generational ZGC came in JDK 21, as the only one in 24. Before, all colours of an
            // address were mapped.
            coloured: flags.is_on("UseZGC") && (vm.release.feature >= 24 || flags.is_on("ZGenerational")),
            oop_base: layout.oop_base.read_u64(memory)?,
            oop_shift: shift(layout.oop_shift.read(memory)?, "shift of compressed oops")?,
            klass_base: layout.klass_base.read_u64(memory)?,
            klass_shift: shift(layout.klass_shift.read(memory)?, "shift of compressed class pointers")?,
            layout,
            offsets: HashMap::new(),
        })
    }

    /// The object that a full-width reference outside of the heap points to; 0 for null.
    pub(crate) fn load_root(&self, memory: &impl Memory, slot: u64) -> Result<u64> {
        Ok(self.uncoloured(memory.read_u64(slot)?))
    }

    /// The object that a field of an object points to.
    pub(crate) fn load_field(&self, memory: &impl Memory, slot: u64) -> Result<u64> {
        if !self.compressed_oops {
            return self.load_root(memory, slot);
        }
        Ok(match memory.read_u32(slot)? {
            0 => 0,
            narrow => self.oop_base.wrapping_add(u64::from(narrow) << self.oop_shift),
        })
    }

    /// Generational ZGC: the address begins above the one bit that is set of bits 12 to 15
    /// (zAddress.hpp).
    fn uncoloured(&self, oop: u64) -> u64 {
        match (oop >> 12) & 0xf {
            _ if !self.coloured => oop,
            0 => 0,
            remapped => oop >> (13 + remapped.trailing_zeros()),
        }
    }

    /// The class of an object: a `Klass*`.
    fn klass(&self, memory: &impl Memory, oop: u64) -> Result<u64> {
        let narrow = if self.compact_headers {
            // A mark word that a lock displaced does not hold it; the caller finds that this is not
            // a class.
            memory.read_u64(oop)? >> COMPACT_KLASS_SHIFT
        } else if self.compressed_klass {
            u64::from(memory.read_u32(self.layout.narrow_klass.of(oop))?)
        } else {
            return self.layout.klass.read_u64(memory, oop);
        };
        Ok(self.klass_base.wrapping_add(narrow << self.klass_shift))
    }

    /// Whether something is a class: its superclasses end at `java.lang.Object`.
    pub(crate) fn is_class(&self, memory: &impl Memory, klass: u64) -> bool {
        let mut at = klass;
        for _ in 0..DEEPEST {
            match self.layout.superclass.read_u64(memory, at) {
                Ok(0) => return self.klass_name(memory, at).is_ok_and(|name| name == "java/lang/Object"),
                Ok(above) if above.is_multiple_of(8) => at = above,
                _ => return false,
            }
        }
        false
    }

    /// Like `klass`, from the first 16 bytes of the object.
    pub(crate) fn klass_of_header(&self, [mark, klass]: [u64; 2]) -> u64 {
        let narrow = match (self.compact_headers, self.compressed_klass) {
            (true, _) => mark >> COMPACT_KLASS_SHIFT,
            (false, true) => klass & 0xffff_ffff,
            (false, false) => return klass,
        };
        self.klass_base.wrapping_add(narrow << self.klass_shift)
    }

    /// Where classes begin that compressed pointers lead to; `None`: pointers are not compressed.
    pub(crate) fn first_klass(&self) -> Option<u64> {
        (self.compressed_klass || self.compact_headers).then_some(self.klass_base)
    }

    /// The form of references within objects: compressed, coloured, base and shift.
    pub(crate) fn references(&self) -> (bool, bool, u64, u32) {
        (self.compressed_oops, self.coloured, self.oop_base, self.oop_shift)
    }

    /// Where an array has its length.
    pub(crate) fn length_at(&self) -> u64 {
        match (self.compact_headers, self.compressed_klass) {
            (true, _) => 8,
            (false, true) => 12,
            (false, false) => 16,
        }
    }

    /// Bytes of a reference in an object.
    pub(crate) fn reference_bytes(&self) -> usize {
        if self.compressed_oops { 4 } else { 8 }
    }

    /// The object that a reference points to, where the reference was read as a part of its object.
    pub(crate) fn decode(&self, reference: u64) -> u64 {
        match (self.compressed_oops, reference) {
            (true, 0) => 0,
            (true, narrow) => self.oop_base.wrapping_add(narrow << self.oop_shift),
            (false, plain) => self.uncoloured(plain),
        }
    }

    /// "java/lang/String".
    pub(crate) fn klass_name(&self, memory: &impl Memory, klass: u64) -> Result<String> {
        read_symbol(memory, &self.names, self.names.klass_name.read_u64(memory, klass)?)
    }

    /// The reference in a field that a class of this name declares, in an object of that class or
    /// of a subclass.
    pub(crate) fn reference(
        &mut self,
        memory: &impl Memory,
        oop: u64,
        class: &str,
        field: &'static str,
    ) -> Result<u64> {
        let offset = self.offset(memory, oop, class, field)?;
        self.load_field(memory, oop.wrapping_add(offset))
    }

    /// Where a field lies in an object.
    pub(crate) fn offset(
        &mut self,
        memory: &impl Memory,
        oop: u64,
        class: &str,
        field: &'static str,
    ) -> Result<u64> {
        let mut klass = self.klass(memory, oop)?;
        let own = klass;
        if let Some(offset) = self.offsets.get(&(own, field)) {
            return Ok(*offset);
        }
        for _ in 0..DEEPEST {
            if self.klass_name(memory, klass)? == class {
                let offset = self.declared_offset(memory, klass, field)?;
                self.offsets.insert((own, field), offset);
                return Ok(offset);
            }
            klass = self.layout.superclass.read_u64(memory, klass)?;
        }
        Err(Error::Implausible { what: format!("class of an object that should be {class}"), value: oop })
    }

    /// The offset of a field that a class declares, or the superclass of it that has this name.
    pub(crate) fn declared(&self, memory: &impl Memory, klass: u64, class: &str, field: &str) -> Result<u64> {
        let mut at = klass;
        for _ in 0..DEEPEST {
            if at == 0 {
                break;
            }
            if self.klass_name(memory, at)? == class {
                return self.declared_offset(memory, at, field);
            }
            at = self.layout.superclass.read_u64(memory, at)?;
        }
        Err(no_field(field, klass))
    }

    /// The offset of a field that a class declares.
    fn declared_offset(&self, memory: &impl Memory, klass: u64, field: &str) -> Result<u64> {
        let pool = self.layout.constants.read_u64(memory, klass)?;
        let length = self.names.pool_length.read_u64(memory, pool)?;
        let is_wanted = |index: u64| -> Result<bool> {
            if index == 0 || index >= length {
                return Ok(false);
            }
            let entry = pool.wrapping_add(u64::from(self.names.pool_size_of.0)).wrapping_add(index * 8);
            Ok(read_symbol(memory, &self.names, memory.read_u64(entry)?)? == field)
        };
        if let Some(stream) = self.layout.field_stream {
            return self.streamed_offset(memory, stream.read_u64(memory, klass)?, is_wanted, field);
        }
        let (Some(fields), Some(count)) = (self.layout.fields, self.layout.fields_count) else {
            return Err(Error::MissingSymbol {
                symbol: "InstanceKlass._fields or InstanceKlass._fieldinfo_stream".to_owned(),
                jvm: format!("JDK {}", self.feature),
            });
        };
        // Six numbers per field: flags, name, signature, initial value, offset << 2 | tag in two
        // halves (src/hotspot/share/oops/fieldInfo.hpp).
        let array = fields.read_u64(memory, klass)?;
        let count = (count.read_u64(memory, klass)? as usize).min(MOST_FIELDS);
        let bytes = memory.read_bytes(self.layout.shorts.of(array), count * 12)?;
        for record in bytes.chunks_exact(12) {
            let short = |i: usize| u64::from(record[2 * i]) | u64::from(record[2 * i + 1]) << 8;
            if is_wanted(short(1))? {
                return Ok((short(5) << 16 | short(4)) >> 2);
            }
        }
        Err(no_field(field, klass))
    }

    /// Like `declared_offset`, where fields are a stream: counts of own and of injected fields;
    /// each is name, signature, offset, access, flags, and one number more for flags 0, 2 and 4
    /// (fieldInfo.hpp since JDK 21).
    fn streamed_offset(
        &self,
        memory: &impl Memory,
        array: u64,
        is_wanted: impl Fn(u64) -> Result<bool>,
        field: &str,
    ) -> Result<u64> {
        let length = self.layout.array_length.read_u64(memory, array)? as usize;
        let bytes = memory.read_bytes(self.layout.bytes.of(array), length.min(MOST_FIELDS * 16))?;
        let mut stream = Unsigned5::new(&bytes, 0, self.feature);
        let count = stream.number().unwrap_or(0).min(MOST_FIELDS as u32);
        stream.number();
        for _ in 0..count {
            let mut next = || stream.number().ok_or_else(|| no_field(field, array));
            let (name, _signature, offset) = (next()?, next()?, next()?);
            let (_access, flags) = (next()?, next()?);
            for optional in [0, 2, 4] {
                if flags & (1 << optional) != 0 {
                    next()?;
                }
            }
            if is_wanted(u64::from(name))? {
                return Ok(u64::from(offset));
            }
        }
        Err(no_field(field, array))
    }

    /// The text of a `java.lang.String` (or a `char[]`, which names of threads once were).
    pub(crate) fn string(&mut self, memory: &impl Memory, oop: u64) -> Result<String> {
        const STRING: &str = "java/lang/String";
        let klass = self.klass(memory, oop)?;
        let (array, wide) = match self.klass_name(memory, klass)?.as_str() {
            STRING => {
                let array = self.reference(memory, oop, STRING, "value")?;
                // JDK 9 on: bytes with a coder, 0 for Latin-1; before: chars.
                let wide = match self.offset(memory, oop, STRING, "coder") {
                    Ok(coder) => memory.read_u8(oop.wrapping_add(coder))? != 0,
                    Err(_) => true,
                };
                (array, wide)
            }
            "[C" => (oop, true),
            _ => return Err(Error::Implausible { what: "class of a string".to_owned(), value: klass }),
        };
        let length_at = self.length_at();
        // Elements were aligned to 8 bytes until JDK 22 (JDK-8139457).
        let mut data_at = length_at + 4;
        if self.feature < 23 {
            data_at = (data_at + 7) & !7;
        }
        let length = u64::from(memory.read_u32(array.wrapping_add(length_at))?);
        // The array of a string before JDK 9 counts chars, since then bytes.
        let bytes = if wide && self.feature < 9 { length.saturating_mul(2) } else { length };
        let bytes = memory.read_bytes(array.wrapping_add(data_at), bytes.min(LONGEST_STRING * 2) as usize)?;
        Ok(if wide {
            let units = bytes.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
            char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
        } else {
            bytes.iter().map(|byte| char::from(*byte)).collect()
        })
    }
}

fn no_field(field: &str, value: u64) -> Error {
    Error::Implausible { what: format!("list of fields, which lacks {field},"), value }
}
