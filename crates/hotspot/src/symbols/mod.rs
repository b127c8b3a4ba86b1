//! Java frames by address: the names of a stack that was unwound outside of the JVM.
//!
//! ```text
//! pc ──▶ blob ──▶ nmethod (still the same compilation?) ──▶ PcDesc ──▶ scopes ──▶ Method* ─┐
//!          └──▶ stub, adapter: its name        interpreted: Method*, bytecode index ────────┴▶ class.method:line
//! ```
//! The JVM runs on while its memory is read. Code that was freed or replaced since a stack was
//! taken is detected by the number of its compilation, read before and after; its frames are then
//! lost and counted, never guessed.

mod cache;
mod entries;
mod loops;
mod method;
mod names;
mod nmethod;
mod objects;
mod scope;
mod stubs;
mod unsigned5;

use std::sync::Arc;

use fathom_recording::FrameType;
use rustc_hash::FxHashMap;

pub use entries::{Compiled, Entries, Inlined, Matched, OnStack};
pub use method::Method;
pub(crate) use method::read_symbol;
pub use objects::{Compiling, Objects, TASK_BYTES};
pub(crate) use unsigned5::Unsigned5;

use crate::code_cache::{BlobKind, CodeCache};
use crate::layout::MethodLayout;
use crate::memory::Memory;
use crate::memory::ProcessMemory;
use crate::{Result, Vm};
use cache::Cache;
use nmethod::Nmethod;
use stubs::StubNames;

/// Names that nmethods may have: "nmethod" and "native nmethod", and room for those of another
/// release.
const MOST_NMETHOD_NAMES: usize = 8;
/// The blob that compiled code calls where a check fails, which gives the code up
/// (src/hotspot/share/code/codeBlob.cpp).
const UNCOMMON_TRAP: &str = "UncommonTrapBlob";
/// Callees kept.
const MOST_CALLEES: usize = 1 << 14;
/// Bytes of method names and line tables kept: some 30,000 methods.
const METHOD_BYTES: usize = 12 << 20;
/// Bytes of debug information of compiled methods kept: some 3000 of them.
const NMETHOD_BYTES: usize = 12 << 20;
/// Bytes of resolved frames kept: some 60,000 pcs.
const FRAME_BYTES: usize = 12 << 20;

/// A Java frame, or one of a stub of the JVM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JavaFrame {
    /// What kind of code ran it.
    pub frame_type: FrameType,
    /// "package.Class.method", or the name of the stub.
    pub name: Arc<str>,
    /// Source line, where the class file has them.
    pub line: Option<u32>,
    /// Bytecode index; -1 for a stub, a native method or the entry of a method.
    pub bci: i32,
}

/// Why the frames of an address cannot be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Lost {
    /// The code was freed, or replaced by another compilation.
    #[error("the compiled code is not there any more")]
    Stale,
    /// What was read cannot be right, or could not be read.
    #[error("the debug information cannot be read")]
    Damaged,
}

/// How symbolisation went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Addresses resolved without asking the JVM.
    pub cached: u64,
    /// Addresses resolved by reading the JVM.
    pub read: u64,
    /// Addresses whose code was not there any more.
    pub stale: u64,
    /// Addresses whose debug information could not be read.
    pub damaged: u64,
}

/// Names Java frames of one JVM. Names are cached, within bounds, so that they outlive code that is
/// freed.
#[derive(Debug)]
pub struct Symbolizer<M = Arc<ProcessMemory>> {
    memory: M,
    feature: u32,
    code: CodeCache,
    layout: MethodLayout,
    stubs: StubNames,
    /// By `Method*` and its `ConstMethod*`: redefinition and unloading change the second.
    methods: Cache<(u64, u64), Arc<Named>>,
    /// By address and number of the compilation.
    nmethods: Cache<(u64, u32), Arc<Nmethod>>,
    /// By address of the blob, number of the compilation, pc.
    frames: Cache<(u64, u32, u64), Arc<[JavaFrame]>>,
    counts: Counts,
    /// Whether what compiled code calls is the uncommon trap, by address.
    callees: FxHashMap<u64, bool>,
    /// Addresses of the names that nmethods have.
    nmethod_names: Vec<i64>,
}

/// A method with its name as frames have it.
#[derive(Debug)]
struct Named {
    name: Arc<str>,
    method: Method,
}

impl<M: Memory> Symbolizer<M> {
    /// A symboliser of a JVM.
    pub fn new(vm: Vm<M>, code: CodeCache) -> Result<Self> {
        Ok(Self {
            feature: vm.release.feature,
            layout: MethodLayout::of(vm.source())?,
            stubs: StubNames::read(&vm, &code),
            code,
            memory: vm.memory,
            methods: Cache::new(METHOD_BYTES),
            nmethods: Cache::new(NMETHOD_BYTES),
            frames: Cache::new(FRAME_BYTES),
            counts: Counts::default(),
            callees: FxHashMap::default(),
            nmethod_names: Vec::new(),
        })
    }

    /// The counts so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The frames of a pc in compiled code, innermost first. All but the last are inlined.
    ///
    /// `nmethod` is the address of the blob and `compile_id` the number that it had when the stack
    /// was unwound. `pc` is where the frame goes on: a return address in all frames except the
    /// youngest.
    pub fn compiled(
        &mut self,
        nmethod: u64,
        compile_id: u32,
        pc: u64,
    ) -> std::result::Result<Arc<[JavaFrame]>, Lost> {
        let key = (nmethod, compile_id, pc);
        if let Some(frames) = self.frames.get(&key) {
            self.counts.cached += 1;
            return Ok(frames);
        }
        let resolved = self.read_compiled(nmethod, compile_id, pc);
        match &resolved {
            Ok(frames) => {
                self.counts.read += 1;
                self.frames.put(key, frames.clone(), 96 + frames.len() * size_of::<JavaFrame>());
            }
            Err(Lost::Stale) => self.counts.stale += 1,
            Err(Lost::Damaged) => self.counts.damaged += 1,
        }
        resolved
    }

    fn read_compiled(
        &mut self,
        address: u64,
        compile_id: u32,
        pc: u64,
    ) -> std::result::Result<Arc<[JavaFrame]>, Lost> {
        let nmethod = self.nmethod(address, compile_id)?;
        let (code, memory, callees) = (&self.code, &self.memory, &mut self.callees);
        let scopes = nmethod.scopes(memory, pc, self.feature, |callee| {
            if callees.len() >= MOST_CALLEES {
                callees.clear();
            }
            *callees.entry(callee).or_insert_with(|| {
                code.find(memory, callee)
                    .is_ok_and(|blob| blob.is_some_and(|blob| blob.name == UNCOMMON_TRAP))
            })
        });
        let frame_type = match nmethod.level {
            0 => FrameType::Stub,
            1..=3 => FrameType::C1,
            _ => FrameType::C2,
        };
        let mut frames = Vec::with_capacity(scopes.len().max(1));
        for (i, scope) in scopes.iter().enumerate() {
            let named = self.method(scope.method, None).map_err(|_| Lost::Damaged)?;
            let outermost = i + 1 == scopes.len();
            frames.push(JavaFrame {
                frame_type: if outermost { frame_type } else { FrameType::Inlined },
                name: named.name.clone(),
                line: named.method.line(scope.bci),
                bci: scope.bci,
            });
        }
        if frames.is_empty() {
            let named = self.method(nmethod.method, None).map_err(|_| Lost::Damaged)?;
            frames.push(JavaFrame { frame_type, name: named.name.clone(), line: None, bci: -1 });
        }
        // Methods of code that is still in place are alive: had it been freed meanwhile, their
        // names could be others'.
        match self.still(address, compile_id) {
            true => Ok(frames.into()),
            false => Err(Lost::Stale),
        }
    }

    /// The debug information of a compilation, when it is still the one at that address.
    fn nmethod(&mut self, address: u64, compile_id: u32) -> std::result::Result<Arc<Nmethod>, Lost> {
        if let Some(nmethod) = self.nmethods.get(&(address, compile_id)) {
            return Ok(nmethod);
        }
        if !self.still(address, compile_id) {
            return Err(Lost::Stale);
        }
        let nmethod = Nmethod::read(&self.memory, &self.code, address);
        if !self.still(address, compile_id) {
            return Err(Lost::Stale);
        }
        let nmethod = Arc::new(nmethod.map_err(|_| Lost::Damaged)?);
        // A method that was unloaded leaves a null pointer behind.
        if nmethod.method == 0 || nmethod.compile_id != compile_id {
            return Err(Lost::Stale);
        }
        self.nmethods.put((address, compile_id), nmethod.clone(), nmethod.weight());
        Ok(nmethod)
    }

    /// Whether a compilation is (still) the one at an address. Called twice for each new pc, so it
    /// costs three reads: whether a block in use begins there, and its header.
    fn still(&mut self, address: u64, compile_id: u32) -> bool {
        self.code.is_blob(&self.memory, address).is_ok_and(|is| is)
            && self.nmethod_head(address).is_ok_and(|id| id == Some(compile_id))
    }

    /// The number of the compilation, when what lies at the address of a blob is an nmethod.
    fn nmethod_head(&mut self, address: u64) -> Result<Option<u32>> {
        let layout = &self.code.nmethod;
        let head = self.memory.read_bytes(address, layout.size_of.0 as usize)?;
        let (Some(name), Some(id)) = (self.code.blob.name.in_bytes(&head), layout.compile_id.in_bytes(&head))
        else {
            return Ok(None);
        };
        // All nmethods point to the same two strings.
        if !self.nmethod_names.contains(&name) {
            if !self.code.blob_at(&self.memory, address)?.kind.is_nmethod() {
                return Ok(None);
            }
            if self.nmethod_names.len() < MOST_NMETHOD_NAMES {
                self.nmethod_names.push(name);
            }
        }
        Ok(Some(id as u32))
    }

    /// The number of the compilation at the address of an nmethod.
    pub fn compile_id(&self, nmethod: u64) -> Result<u32> {
        Ok(self.code.nmethod.compile_id.read(&self.memory, nmethod)? as u32)
    }

    /// The method that an nmethod was compiled from, and its tier (0 for a wrapper of a native
    /// method).
    pub fn compiled_method(&mut self, nmethod: u64) -> std::result::Result<(Method, u8), Lost> {
        let compile_id = self.compile_id(nmethod).map_err(|_| Lost::Damaged)?;
        let nmethod = self.nmethod(nmethod, compile_id)?;
        let named = self.method(nmethod.method, None).map_err(|_| Lost::Damaged)?;
        Ok((named.method.clone(), nmethod.level))
    }

    /// The frame of an interpreted method.
    ///
    /// `const_method` is what the `Method` pointed to when the stack was unwound, where that was
    /// recorded: it detects a method that was unloaded and another one that lies at its address
    /// since.
    pub fn interpreted(
        &mut self,
        method: u64,
        const_method: Option<u64>,
        bci: i32,
    ) -> std::result::Result<JavaFrame, Lost> {
        match self.method(method, const_method) {
            Ok(named) => {
                self.counts.read += 1;
                let bci = if named.method.native { -1 } else { bci };
                let line = named.method.line(bci);
                Ok(JavaFrame { frame_type: FrameType::Interpreted, name: named.name.clone(), line, bci })
            }
            Err(lost) => {
                match lost {
                    Lost::Stale => self.counts.stale += 1,
                    Lost::Damaged => self.counts.damaged += 1,
                }
                Err(lost)
            }
        }
    }

    /// A method by its address.
    fn method(&mut self, method: u64, const_method: Option<u64>) -> std::result::Result<Arc<Named>, Lost> {
        if let Some(const_method) = const_method
            && let Some(named) = self.methods.get(&(method, const_method))
        {
            return Ok(named);
        }
        let now = self.layout.const_method.read_u64(&self.memory, method).map_err(|_| Lost::Damaged)?;
        if const_method.is_some_and(|then| then != now) {
            return Err(Lost::Stale);
        }
        if let Some(named) = self.methods.get(&(method, now)) {
            return Ok(named);
        }
        let read =
            Method::read(&self.memory, &self.layout, self.feature, method).map_err(|_| Lost::Damaged)?;
        let weight = 2 * read.weight();
        let named = Arc::new(Named { name: read.full_name().into(), method: read });
        self.methods.put((method, now), named.clone(), weight);
        Ok(named)
    }

    /// The frame of a pc in a stub, an adapter, an intrinsic or any blob that has no Java method of
    /// its own.
    pub fn stub(&mut self, pc: u64) -> std::result::Result<JavaFrame, Lost> {
        let name = match self.stubs.name(pc) {
            Some(name) => name,
            None => match self.code.find(&self.memory, pc) {
                Ok(Some(blob)) => blob.name.into(),
                Ok(None) => return Err(Lost::Stale),
                Err(_) => return Err(Lost::Damaged),
            },
        };
        Ok(JavaFrame { frame_type: FrameType::Stub, name, line: None, bci: -1 })
    }

    /// The frames of a pc anywhere in the code cache as it is now, innermost first. An interpreted
    /// frame cannot be identified by its pc, which is that of the interpreter.
    pub fn at(&mut self, pc: u64) -> std::result::Result<Arc<[JavaFrame]>, Lost> {
        let blob = match self.code.find(&self.memory, pc) {
            Ok(Some(blob)) => blob,
            Ok(None) => return Err(Lost::Stale),
            Err(_) => return Err(Lost::Damaged),
        };
        match blob.kind {
            BlobKind::Nmethod | BlobKind::NativeNmethod => {
                let compile_id = self.compile_id(blob.address).map_err(|_| Lost::Damaged)?;
                self.compiled(blob.address, compile_id, pc)
            }
            _ => Ok([self.stub(pc)?].into()),
        }
    }
}
