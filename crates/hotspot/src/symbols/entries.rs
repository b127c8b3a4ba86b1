//! Where methods are entered: the compiled code that a call of a method runs now, and the
//! executions that pass no entry.
//!
//! A `Method` points to the nmethod that calls of it run (`Method::_code`). All of them pass its
//! *verified entry*: calls whose receiver is still to be checked begin a few instructions before
//! and fall through to it (src/hotspot/share/code/nmethod.hpp). Three kinds of executions pass no
//! entry: those inlined into other compiled methods, those in the interpreter, and loops that went
//! on in compiled code in the middle of a call (on-stack replacement). Inlined copies are found in
//! the debug information of the code that holds them: a copy that has no call, no check that may
//! fail and no loop, such as a getter's, leaves nothing there and is not found.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::Method;
use super::nmethod::Nmethod;
use crate::code_cache::{Blob, CodeCache};
use crate::layout::{Field, MethodLayout};
use crate::memory::{Memory, ProcessMemory};
use crate::{Error, Result, Vm};

/// Names of methods kept between two scans: more than the largest applications compile.
const MOST_NAMES: usize = 1 << 18;
/// The most inlined copies of wanted methods that are reported.
const MOST_COPIES: usize = 1 << 14;
/// `InvocationEntryBci`: an nmethod that is entered where its method begins.
const WHOLE_METHOD: i64 = -1;
/// `nmethod::in_use`, the same in JDK 8 to 25.
const IN_USE: i64 = 0;

/// Compiled code that calls of a method run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compiled {
    /// Address of the nmethod.
    pub nmethod: u64,
    /// Number of the compilation.
    pub compile_id: u32,
    /// Tier, 1 to 4; 0 for the wrapper of a native method.
    pub level: u8,
    /// Its verified entry.
    pub entry: u64,
    /// The address of its state: a byte that is 0 while it may be entered.
    pub state: u64,
}

/// A wanted method that occurs in compiled code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matched {
    /// The `Method*`.
    pub method: u64,
    /// What it is called.
    pub about: Method,
}

/// An asked-for method within the code of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inlined {
    /// The `Method*` that is inlined.
    pub method: u64,
    /// The nmethod that it is inlined into.
    pub nmethod: u64,
    /// Number of its compilation.
    pub compile_id: u32,
    /// Its tier.
    pub level: u8,
    /// The method that it was compiled from: "package.Class.method".
    pub into: String,
    /// At how many places.
    pub places: u32,
}

/// Code of an asked-for method that is entered in the middle of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnStack {
    /// The `Method*`.
    pub method: u64,
    /// Address of the nmethod.
    pub nmethod: u64,
    /// Number of its compilation.
    pub compile_id: u32,
    /// Its tier.
    pub level: u8,
    /// Bytecode at which it is entered.
    pub bci: i32,
}

/// Looks entries up in one JVM.
pub struct Entries<M = Arc<ProcessMemory>> {
    memory: M,
    feature: u32,
    code: CodeCache,
    layout: MethodLayout,
    current: Field,
    is_wanted: Box<dyn Fn(&Method) -> bool>,
    /// Whether a method is wanted, by `Method*` and `ConstMethod*`.
    known: HashMap<(u64, u64), Option<Arc<Method>>>,
    /// Compilations that were scanned.
    seen: HashSet<(u64, u32)>,
    /// Methods found so far, by `Method*`.
    pub methods: Vec<Matched>,
    /// Places where they are inlined, in code that was in use at any of the scans.
    pub inlined: Vec<Inlined>,
    /// Their on-stack replacements, likewise.
    pub on_stack: Vec<OnStack>,
    /// Compilations whose tables could not be read.
    pub unread: u64,
}

impl<M: Memory> Entries<M> {
    /// Looks for methods for which `is_wanted` holds.
    pub fn new(vm: Vm<M>, code: CodeCache, is_wanted: Box<dyn Fn(&Method) -> bool>) -> Result<Self> {
        let layout = MethodLayout::of(vm.source())?;
        let missing =
            |symbol: &str| Error::MissingSymbol { symbol: symbol.to_owned(), jvm: vm.release.to_string() };
        let current = layout.code.ok_or_else(|| missing("Method._code"))?;
        if code.nmethod.verified_entry.or(code.nmethod.verified_entry_offset).is_none() {
            return Err(missing("nmethod._verified_entry_point or nmethod._verified_entry_offset"));
        }
        Ok(Self {
            feature: vm.release.feature,
            memory: vm.memory,
            code,
            layout,
            current,
            is_wanted,
            known: HashMap::new(),
            seen: HashSet::new(),
            methods: Vec::new(),
            inlined: Vec::new(),
            on_stack: Vec::new(),
            unread: 0,
        })
    }

    /// The compiled code that calls of a method run now; `None`: they are interpreted. This is two
    /// small reads while nothing has changed, so that it can be called a few hundred times per
    /// second.
    pub fn current(&self, method: u64, before: Option<Compiled>) -> Result<Option<Compiled>> {
        let nmethod = self.current.read_u64(&self.memory, method)?;
        if nmethod == 0 {
            return Ok(None);
        }
        let layout = &self.code.nmethod;
        let compile_id = layout.compile_id.read(&self.memory, nmethod)? as u32;
        if before.is_some_and(|before| (before.nmethod, before.compile_id) == (nmethod, compile_id)) {
            return Ok(before);
        }
        let blob = self.code.blob_at(&self.memory, nmethod)?;
        let entry = match (layout.verified_entry, layout.verified_entry_offset) {
            (Some(entry), _) => entry.read_u64(&self.memory, nmethod)?,
            (None, Some(offset)) => blob.code_begin.wrapping_add(offset.read_u64(&self.memory, nmethod)?),
            (None, None) => return Ok(None),
        };
        let is_of_it = layout.method.read_u64(&self.memory, nmethod)? == method;
        let is_whole = layout.entry_bci.read(&self.memory, nmethod)? as i32 == WHOLE_METHOD as i32;
        if !blob.kind.is_nmethod() || !is_of_it || !is_whole || !blob.is_code(entry) {
            return Err(Error::Implausible { what: "entry of compiled code".to_owned(), value: entry });
        }
        Ok(Some(Compiled {
            nmethod,
            compile_id,
            level: layout.comp_level.read(&self.memory, nmethod)? as u8,
            entry,
            state: layout.state.of(nmethod),
        }))
    }

    /// Scans the compiled code for what is new since the last time.
    pub fn survey(&mut self) -> Result<()> {
        let blobs = self.code.blobs(&self.memory)?;
        let mut there: HashSet<(u64, u32)> = HashSet::with_capacity(blobs.len());
        for blob in blobs.iter().filter(|blob| blob.kind.is_nmethod()) {
            let Ok(id) = self.code.nmethod.compile_id.read(&self.memory, blob.address) else { continue };
            let key = (blob.address, id as u32);
            if self.is_in_use(blob.address) {
                there.insert(key);
                if !self.seen.contains(&key) && self.look(blob).is_err() {
                    self.unread += 1;
                }
            }
        }
        self.seen = there;
        Ok(())
    }

    /// Whether a compilation is (still) the one at an address, and in use.
    pub fn is_there(&self, nmethod: u64, compile_id: u32) -> bool {
        self.code.is_blob(&self.memory, nmethod).is_ok_and(|is| is)
            && self
                .code
                .nmethod
                .compile_id
                .read(&self.memory, nmethod)
                .is_ok_and(|id| id as u32 == compile_id)
            && self.is_in_use(nmethod)
    }

    fn is_in_use(&self, nmethod: u64) -> bool {
        self.code.nmethod.state.read(&self.memory, nmethod).is_ok_and(|state| state == IN_USE)
    }

    /// Finds the wanted methods in one nmethod.
    fn look(&mut self, blob: &Blob) -> Result<()> {
        let nmethod = Nmethod::read(&self.memory, &self.code, blob.address)?;
        let entry_bci = self.code.nmethod.entry_bci.read(&self.memory, blob.address)? as i32;
        let is_on_stack = entry_bci != WHOLE_METHOD as i32 && self.on_stack.len() < MOST_COPIES;
        if self.wanted(nmethod.method).is_some() && is_on_stack {
            self.on_stack.push(OnStack {
                method: nmethod.method,
                nmethod: blob.address,
                compile_id: nmethod.compile_id,
                level: nmethod.level,
                bci: entry_bci,
            });
        }
        let mut into = None;
        for (method, places) in nmethod.inlined(self.feature) {
            if self.wanted(method).is_none() || self.inlined.len() >= MOST_COPIES {
                continue;
            }
            let into = match &into {
                Some(into) => into,
                None => into.insert(self.name(nmethod.method)?),
            };
            self.inlined.push(Inlined {
                method,
                nmethod: blob.address,
                compile_id: nmethod.compile_id,
                level: nmethod.level,
                into: into.clone(),
                places,
            });
        }
        Ok(())
    }

    fn name(&self, method: u64) -> Result<String> {
        Ok(Method::read(&self.memory, &self.layout, self.feature, method)?.full_name())
    }

    /// The method, if it is wanted; it is then one of those that were found.
    fn wanted(&mut self, method: u64) -> Option<Arc<Method>> {
        let key = (method, self.layout.const_method.read_u64(&self.memory, method).ok()?);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let about = Method::read(&self.memory, &self.layout, self.feature, method).ok()?;
        let about = (self.is_wanted)(&about).then(|| Arc::new(about));
        if self.known.len() >= MOST_NAMES {
            self.known.clear();
        }
        self.known.insert(key, about.clone());
        if let Some(about) = &about {
            let matched = Matched { method, about: (**about).clone() };
            match self.methods.iter_mut().find(|matched| matched.method == method) {
                // Its class was redefined, or unloaded and another one lies there.
                Some(before) => *before = matched,
                None => self.methods.push(matched),
            }
        }
        about
    }
}
