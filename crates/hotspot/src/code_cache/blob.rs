//! One piece of the code cache.

use super::CodeCache;
use crate::memory::Memory;
use crate::{Error, Result};

/// Longest blob name read: "Stub<adapter>" and the like; the longest of JDK 25 has some 60
/// characters.
const LONGEST_NAME: usize = 128;
/// Anything larger than this is not a blob.
const LARGEST_BLOB: u64 = 256 << 20;

/// What a blob holds, by its name (the `CodeBlob` subclasses of
/// src/hotspot/share/code/codeBlob.hpp).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlobKind {
    /// A method compiled by C1, C2 or another compiler.
    Nmethod,
    /// The wrapper through which a native method is called.
    NativeNmethod,
    /// The interpreter.
    Interpreter,
    /// Stubs of virtual and interface calls.
    Vtable,
    /// Adapters between interpreted and compiled calls.
    Adapter,
    /// Stubs of method handles.
    MethodHandle,
    /// Where deoptimised frames go.
    Deoptimization,
    /// Anything else: stubs of the runtime, of C1, intrinsics.
    Stub,
}

impl BlobKind {
    /// By name.
    pub fn of(name: &str) -> Self {
        match name {
            "nmethod" => Self::Nmethod,
            "native nmethod" => Self::NativeNmethod,
            "Interpreter" => Self::Interpreter,
            "vtable chunks" => Self::Vtable,
            "DeoptimizationBlob" => Self::Deoptimization,
            _ if name.starts_with("I2C/C2I adapters") => Self::Adapter,
            _ if name.starts_with("MethodHandles adapters") => Self::MethodHandle,
            _ => Self::Stub,
        }
    }

    /// Whether it has the fields of an nmethod.
    pub fn is_nmethod(self) -> bool {
        matches!(self, Self::Nmethod | Self::NativeNmethod)
    }
}

/// A blob of the code cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    /// Its address.
    pub address: u64,
    /// Its name as HotSpot gives it: "nmethod", "Interpreter", "StubRoutines (2)",
    /// "resolve_static_call".
    pub name: String,
    /// What it holds.
    pub kind: BlobKind,
    /// All of its bytes, head and data included.
    pub size: u64,
    /// First instruction.
    pub code_begin: u64,
    /// First address after its instructions.
    pub code_end: u64,
    /// Words of its frame with the return address; 0 where it has none of a fixed size.
    pub frame_size: u32,
    /// Bytes from `code_begin` until the frame is complete; negative: never.
    pub frame_complete: i32,
}

impl Blob {
    /// Whether an address lies within it.
    pub fn holds(&self, address: u64) -> bool {
        address.wrapping_sub(self.address) < self.size
    }

    /// Whether an address is one of its instructions.
    pub fn is_code(&self, pc: u64) -> bool {
        (self.code_begin..self.code_end).contains(&pc)
    }
}

impl CodeCache {
    /// The blob at an address that is known to be the address of a blob.
    pub fn blob_at(&self, memory: &impl Memory, address: u64) -> Result<Blob> {
        let layout = &self.blob;
        let head = memory.read_bytes(address, layout.size_of.0 as usize)?;
        // The header has the size that `sizeof` reports, so that no field can lie beyond it.
        let field = |field: crate::layout::Field| {
            let offset = u64::from(field.offset);
            field
                .in_bytes(&head)
                .ok_or_else(|| Error::Implausible { what: "field of CodeBlob".to_owned(), value: offset })
        };
        let name = match field(layout.name)? as u64 {
            0 => String::new(),
            name => memory.read_c_string(name, LONGEST_NAME)?,
        };
        let size = field(layout.size)? as u64;
        let relative = |offset: i64| address.wrapping_add(offset as u64);
        let code_begin = match (layout.code_begin, layout.code_offset) {
            (Some(begin), _) => field(begin)? as u64,
            (None, Some(offset)) => relative(field(offset)?),
            (None, None) => return Err(no_code_begin()),
        };
        let code_end = match layout.code_end {
            Some(end) => field(end)? as u64,
            None => relative(field(layout.data_offset)?),
        };
        let blob = Blob {
            address,
            kind: BlobKind::of(&name),
            name,
            size,
            code_begin,
            code_end,
            frame_size: u32::try_from(field(layout.frame_size)?).unwrap_or(0),
            frame_complete: field(layout.frame_complete)? as i32,
        };
        let inside = |at: u64| at.wrapping_sub(address) <= size;
        if size > LARGEST_BLOB || !inside(code_begin) || !inside(code_end) || code_begin > code_end {
            return Err(Error::Implausible {
                what: format!("extent of code blob {}", blob.name),
                value: size,
            });
        }
        Ok(blob)
    }
}

/// Neither of the fields by which code begins is exported.
pub(super) fn no_code_begin() -> Error {
    Error::MissingSymbol {
        symbol: "CodeBlob._code_begin or CodeBlob._code_offset".to_owned(),
        jvm: "this JVM".to_owned(),
    }
}
