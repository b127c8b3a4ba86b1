//! Names of the arguments of JVM functions: a compilation's task, a class. For probes on such
//! functions, which get addresses.

use std::sync::Arc;

use super::{Method, read_symbol};
use crate::layout::{CompilerLayout, MethodLayout};
use crate::memory::{Memory, ProcessMemory};
use crate::{Result, Vm};

/// Bytes of a `CompileTask` that hold all that [`Objects::compiling`] looks for, in JDK 8 to 25.
pub const TASK_BYTES: usize = 128;

/// What a compiler thread compiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compiling {
    /// The `Method*`; see [`Objects::method`].
    pub method: u64,
    /// Number of the compilation.
    pub compile_id: u32,
    /// Tier.
    pub level: u8,
    /// Bytecode index of an on-stack replacement; `None` for a whole method.
    pub osr_bci: Option<i32>,
}

/// Reads objects of one JVM. An object may be gone by the time it is read: then there is an error,
/// or, where its place was used again, the name of another one.
#[derive(Debug)]
pub struct Objects<M = Arc<ProcessMemory>> {
    memory: M,
    feature: u32,
    methods: MethodLayout,
    compiler: CompilerLayout,
}

impl<M: Memory> Objects<M> {
    /// Prepares for a JVM. An error names the field that is missing from its tables.
    pub fn new(vm: Vm<M>) -> Result<Self> {
        Ok(Self {
            feature: vm.release.feature,
            methods: MethodLayout::of(vm.source())?,
            compiler: CompilerLayout::of(vm.source())?,
            memory: vm.memory,
        })
    }

    /// The compilation of a task, from its bytes; `None` where they are too few.
    pub fn compiling(&self, task: &[u8]) -> Option<Compiling> {
        let layout = &self.compiler;
        let osr_bci = layout.osr_bci.in_bytes(task)? as i32;
        Some(Compiling {
            method: layout.method.in_bytes(task)? as u64,
            compile_id: layout.compile_id.in_bytes(task)? as u32,
            level: layout.comp_level.in_bytes(task)? as u8,
            osr_bci: (osr_bci >= 0).then_some(osr_bci),
        })
    }

    /// The method at an address (a `Method*`).
    pub fn method(&self, method: u64) -> Result<Method> {
        Method::read(&self.memory, &self.methods, self.feature, method)
    }

    /// The name of the class at an address (a `Klass*`), as the JVM has it: "java/lang/String".
    pub fn class(&self, klass: u64) -> Result<String> {
        let symbol = self.methods.klass_name.read_u64(&self.memory, klass)?;
        read_symbol(&self.memory, &self.methods, symbol)
    }
}
