//! Which fields of which JDK are needed, and where they lie in this JVM.
//!
//! Each group below is a declaration: a field of ours, its kind, and all names under which HotSpot
//! releases export it, newest spelling last. No offset is hard-coded: offsets and widths come from
//! the tables of the live JVM, so that a new release that moves a field needs no change, and one
//! that renames it gives an error that names the symbol.

mod class;
mod code;
mod flag;
mod heap;
mod method;
mod space;
mod thread;

pub use class::ClassLayout;
pub use code::{CodeBlobLayout, CodeCacheLayout, InterpreterLayout, NmethodLayout};
pub use flag::FlagLayout;
pub use heap::HeapLayout;
pub use method::MethodLayout;
pub use space::{G1Layout, ObjectLayout, ParallelLayout, SerialLayout};
pub use thread::{CompilerLayout, LockLayout, OopLayout, ThreadLayout};

use crate::memory::Memory;
use crate::release::Release;
use crate::vm_structs::{Place, VmStructs};
use crate::{Error, Result};

/// Offsets within an object of the JVM are below this; the farthest of JDK 8 to 25 is 2224
/// (`CompilerThread._env`).
const FARTHEST: u64 = 64 << 10;
/// `sizeof` of an object of the JVM is below this.
const LARGEST: u64 = 64 << 10;

/// A field within an object of the JVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Bytes from the beginning of the object.
    pub offset: u32,
    /// Its bytes: 1, 2, 4 or 8; 0 for a field that is an object itself.
    pub width: u8,
    /// Whether it is a signed number.
    pub signed: bool,
}

impl Field {
    /// Its address in the object at `object`.
    pub fn of(self, object: u64) -> u64 {
        object.wrapping_add(u64::from(self.offset))
    }

    /// Its value in the object at `object`, sign-extended where it is signed.
    pub fn read(self, memory: &impl Memory, object: u64) -> Result<i64> {
        self.value_at(memory, self.of(object))
    }

    /// Its value in the object at `object` as an address or a size.
    pub fn read_u64(self, memory: &impl Memory, object: u64) -> Result<u64> {
        Ok(self.read(memory, object)? as u64)
    }

    fn value_at(self, memory: &impl Memory, address: u64) -> Result<i64> {
        let mut bytes = [0; 8];
        let width = usize::from(self.width.min(8));
        memory.read(address, &mut bytes[..width])?;
        Ok(self.extend(u64::from_le_bytes(bytes)))
    }

    /// Its value in bytes of the object that were read already; `None` when it lies beyond them.
    pub fn in_bytes(self, object: &[u8]) -> Option<i64> {
        let at = self.offset as usize;
        let found = object.get(at..at + usize::from(self.width))?;
        let mut bytes = [0; 8];
        bytes.get_mut(..found.len())?.copy_from_slice(found);
        Some(self.extend(u64::from_le_bytes(bytes)))
    }

    fn extend(self, value: u64) -> i64 {
        match (self.width, self.signed) {
            (1, true) => i64::from(value as i8),
            (2, true) => i64::from(value as i16),
            (4, true) => i64::from(value as i32),
            _ => value as i64,
        }
    }
}

/// A static variable of the JVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Static {
    /// Its address.
    pub address: u64,
    shape: Field,
}

impl Static {
    /// Its value.
    pub fn read(self, memory: &impl Memory) -> Result<i64> {
        self.shape.value_at(memory, self.address)
    }

    /// Its value as an address or a size.
    pub fn read_u64(self, memory: &impl Memory) -> Result<u64> {
        Ok(self.read(memory)? as u64)
    }
}

/// `sizeof` a type, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u32);

/// A constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constant(pub i64);

/// What a group is looked up in: the tables, and the release for the message when a symbol is
/// missing.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The tables.
    pub structs: &'a VmStructs,
    /// The JVM's release.
    pub release: &'a Release,
}

/// Something that can be looked up in the tables of a JVM under one of several names.
trait Lookup: Sized {
    fn lookup(source: Source<'_>, names: &[&str]) -> Result<Self>;
}

impl Lookup for Option<Field> {
    fn lookup(source: Source<'_>, names: &[&str]) -> Result<Self> {
        for name in names {
            let Some(entry) = source.structs.field(name) else { continue };
            let Place::Offset(offset) = entry.place else { continue };
            if offset >= FARTHEST {
                return Err(Error::Implausible { what: format!("offset of {name}"), value: offset });
            }
            return Ok(Some(shape(source.structs, &entry.type_name, offset as u32)));
        }
        Ok(None)
    }
}

impl Lookup for Option<Static> {
    fn lookup(source: Source<'_>, names: &[&str]) -> Result<Self> {
        Ok(names.iter().find_map(|name| {
            let entry = source.structs.field(name)?;
            let Place::Static(address) = entry.place else { return None };
            Some(Static { address, shape: shape(source.structs, &entry.type_name, 0) })
        }))
    }
}

impl Lookup for Option<Size> {
    fn lookup(source: Source<'_>, names: &[&str]) -> Result<Self> {
        let found = names.iter().find_map(|name| Some((name, source.structs.type_entry(name)?.size)));
        match found {
            Some((name, size)) if size == 0 || size >= LARGEST => {
                Err(Error::Implausible { what: format!("size of {name}"), value: size })
            }
            found => Ok(found.map(|(_, size)| Size(size as u32))),
        }
    }
}

impl Lookup for Option<Constant> {
    fn lookup(source: Source<'_>, names: &[&str]) -> Result<Self> {
        Ok(names.iter().find_map(|name| source.structs.constant(name)).map(Constant))
    }
}

macro_rules! required {
    ($($kind:ty),*) => { $(impl Lookup for $kind {
        fn lookup(source: Source<'_>, names: &[&str]) -> Result<Self> {
            <Option<$kind>>::lookup(source, names)?.ok_or_else(|| Error::MissingSymbol {
                symbol: names.join(" or "),
                jvm: source.release.to_string(),
            })
        }
    })* };
}
required!(Field, Static, Size, Constant);

/// A field's width and sign from its C++ type, by the JVM's own table of types.
fn shape(structs: &VmStructs, type_name: &str, offset: u32) -> Field {
    let mut name = type_name;
    for qualifier in ["const ", "volatile "] {
        name = name.strip_prefix(qualifier).unwrap_or(name);
    }
    let size = if name.ends_with('*') { 8 } else { structs.type_entry(name).map_or(0, |t| t.size) };
    let width = match size {
        1 | 2 | 4 | 8 => size as u8,
        // Types that some releases use for a field but do not list.
        _ => match name {
            // Listed without a type: a pointer (`JVMFlag._addr`), or an object of which only the
            // address is needed.
            "" => 8,
            "address" | "size_t" | "intptr_t" | "uintptr_t" | "uint64_t" | "int64_t" | "long"
            | "pthread_t" | "intx" | "uintx" => 8,
            "int" | "uint" | "int32_t" | "uint32_t" => 4,
            "short" | "int16_t" | "uint16_t" => 2,
            "signed char" | "bool" => 1,
            _ => 0,
        },
    };
    let signed = matches!(
        name,
        "int"
            | "jint"
            | "short"
            | "jshort"
            | "int16_t"
            | "int32_t"
            | "jbyte"
            | "char"
            | "signed char"
            | "pid_t"
    );
    Field { offset, width, signed }
}

/// Declares a group of fields.
macro_rules! group {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $field:ident: $kind:ty = [$($symbol:literal),+];)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name { $($(#[$doc])* pub $field: $kind,)* }

        impl $name {
            /// Looks all of it up. What is not optional and not there is an error that names it.
            pub fn of(source: $crate::layout::Source<'_>) -> $crate::Result<Self> {
                Ok(Self {
                    $($field: <$kind as $crate::layout::Lookup>::lookup(source, &[$($symbol),+])?,)*
                })
            }
        }
    };
}
use group;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Captured;

    group! {
        /// A group for these tests.
        Tested {
            /// A field that was renamed.
            name: Field = ["CodeBlob._old_name", "CodeBlob._name"];
            /// A field that older releases do not have.
            complete: Option<Field> = ["CodeBlob._frame_complete_offset"];
        }
    }

    fn release() -> Release {
        Release { feature: 99, version: "99+1".to_owned() }
    }

    #[test]
    fn a_missing_field_names_all_its_spellings_and_the_jvm() {
        let structs = VmStructs::made(&[("CodeBlob._size", "int", Place::Offset(8))], &[("int", 4)]);
        let missing = Tested::of(Source { structs: &structs, release: &release() }).unwrap_err();
        assert_eq!(
            missing.to_string(),
            "JVM symbol CodeBlob._old_name or CodeBlob._name not found in JDK 99 (99+1): this release of HotSpot \
             is not known to fathom"
        );
    }

    #[test]
    fn a_field_is_as_wide_as_its_type_and_keeps_its_sign() {
        let structs = VmStructs::made(
            &[
                ("CodeBlob._name", "const char*", Place::Offset(8)),
                ("CodeBlob._frame_complete_offset", "int16_t", Place::Offset(54)),
            ],
            &[("int16_t", 2)],
        );
        let tested = Tested::of(Source { structs: &structs, release: &release() }).unwrap();
        assert_eq!((tested.name.offset, tested.name.width), (8, 8));
        let complete = tested.complete.unwrap();
        let mut memory = Captured::default();
        memory.add(1000 + 54, &(-3i16).to_le_bytes());
        assert_eq!(complete.read(&memory, 1000).unwrap(), -3);
        assert_eq!(complete.in_bytes(&[0xff; 56]), Some(-1));
        assert_eq!(complete.in_bytes(&[0xff; 55]), None);
    }

    #[test]
    fn an_offset_that_no_object_has_is_refused() {
        let structs = VmStructs::made(&[("CodeBlob._name", "const char*", Place::Offset(1 << 40))], &[]);
        let refused = Tested::of(Source { structs: &structs, release: &release() }).unwrap_err();
        assert!(matches!(refused, Error::Implausible { .. }), "{refused}");
    }
}
