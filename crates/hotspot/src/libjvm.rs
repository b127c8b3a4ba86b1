//! The library that is the JVM, in a live process.

use crate::elf::LoadedElf;
use crate::maps::{self, Mapping};
use crate::memory::ProcessMemory;
use crate::{Error, Result};

/// The symbol that identifies a HotSpot JVM.
const TABLE: &str = "gHotSpotVMStructs";

/// `libjvm.so` of a HotSpot JVM, found in a process.
#[derive(Clone, Debug)]
pub struct Libjvm {
    /// The process.
    pub pid: u32,
    /// Where it begins in memory.
    pub base: u64,
    /// Its path as the process names it.
    pub path: String,
    /// The file was deleted or replaced since the JVM started. Nothing here needs the file.
    pub deleted: bool,
    /// Its exported symbols.
    pub elf: LoadedElf,
}

impl Libjvm {
    /// Finds it, and returns it with the memory of the process.
    pub fn find(pid: u32) -> Result<(Self, ProcessMemory)> {
        let mappings = maps::read(pid)?;
        Self::among(pid, &mappings)
    }

    /// Like [`Libjvm::find`], among mappings that were read already.
    pub fn among(pid: u32, mappings: &[Mapping]) -> Result<(Self, ProcessMemory)> {
        let candidates = || mappings.iter().filter(|m| m.offset == 0 && m.file_name() == "libjvm.so");
        let mut foreign = None;
        for mapping in candidates() {
            let memory = ProcessMemory::open(pid, mapping.start)?;
            if let Some(elf) = LoadedElf::at(&memory, mapping.start)?
                && elf.symbol(&memory, TABLE)?.is_some()
            {
                let found = Self {
                    pid,
                    base: mapping.start,
                    path: mapping.path.clone(),
                    deleted: mapping.deleted,
                    elf,
                };
                return Ok((found, memory));
            }
            foreign = Some(mapping.path.clone());
        }
        Err(match foreign {
            Some(path) => Error::NotHotSpot { pid, path },
            None => Error::NoLibjvm { pid },
        })
    }
}
