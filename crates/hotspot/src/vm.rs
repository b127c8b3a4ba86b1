//! A live HotSpot JVM, opened for reading.

use std::sync::Arc;

use crate::Result;
use crate::layout::Source;
use crate::libjvm::Libjvm;
use crate::memory::{Memory, ProcessMemory};
use crate::release::Release;
use crate::vm_structs::VmStructs;

/// A HotSpot JVM whose tables were read. What is built on it (code cache, symbols, threads, flags)
/// looks up its own fields, so that a field that is missing for one of them does not disable the
/// others.
#[derive(Clone, Debug)]
pub struct Vm<M = Arc<ProcessMemory>> {
    /// Its memory.
    pub memory: M,
    /// Its library.
    pub libjvm: Libjvm,
    /// Its tables.
    pub structs: Arc<VmStructs>,
    /// Its release.
    pub release: Release,
}

impl Vm {
    /// Opens the JVM of a process.
    pub fn open(pid: u32) -> Result<Self> {
        let (libjvm, memory) = Libjvm::find(pid)?;
        Self::of(libjvm, Arc::new(memory))
    }
}

impl<M: Memory> Vm<M> {
    /// Like [`Vm::open`], for a library that was found already, in any memory.
    pub fn of(libjvm: Libjvm, memory: M) -> Result<Self> {
        let structs = Arc::new(VmStructs::read(&memory, &libjvm.elf)?);
        let release = Release::read(&memory, &structs)?;
        Ok(Self { memory, libjvm, structs, release })
    }

    /// What groups of fields are looked up in.
    pub fn source(&self) -> Source<'_> {
        Source { structs: &self.structs, release: &self.release }
    }
}
