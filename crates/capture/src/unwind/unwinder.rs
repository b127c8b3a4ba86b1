//! What all collectors that take stacks share: one set of tables in the kernel, one set of names.
//!
//! The session makes it and keeps it up to date; the programs of the collectors are loaded onto its
//! maps.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use fathom_recording::{Sink, StackId};
use libbpf_rs::MapHandle;

use crate::kernel_symbols::KernelSymbols;

use super::CodeOfProcesses;
use super::frames::Stacks;
use super::kept::{self, Awaited, Kept};
use super::reasons::{is_reason, reason_name};
use super::samples::Sample;

/// The maps that a program with `bpf/unwind.h` looks up.
pub struct UnwindMaps {
    /// `unwind_rows`.
    pub rows: MapHandle,
    /// `row_pages`.
    pub pages: MapHandle,
    /// `code_mappings`.
    pub mappings: MapHandle,
    /// `jvm_codes`.
    pub jvms: MapHandle,
    /// `processes`.
    pub processes: MapHandle,
}

/// See the module.
pub struct Unwinder {
    /// What the programs look up.
    pub code: CodeOfProcesses,
    /// Names of what they walked.
    pub stacks: Stacks,
    /// For further programs.
    pub maps: UnwindMaps,
    /// Counts programs of a process: what was learnt of one is void for the next.
    generations: HashMap<i32, u64>,
    generation: u64,
}

/// An unwinder, shared by the collectors of a session, which all run on one thread.
pub type SharedUnwinder = Rc<RefCell<Unwinder>>;

impl Unwinder {
    /// Over tables that are loaded.
    pub fn new(code: CodeOfProcesses, maps: UnwindMaps) -> SharedUnwinder {
        KernelSymbols::prefetch();
        let (stacks, generations) = (Stacks::default(), HashMap::new());
        Rc::new(RefCell::new(Self { code, stacks, maps, generations, generation: 0 }))
    }

    /// A process came, or became another program: its stacks can be walked when this returns. Names
    /// of its code are
    /// [`Unwinder::learn`]t afterwards, which takes longer.
    pub fn renew(&mut self, pid: i32, is_jvm: bool) {
        self.generation += 1;
        self.generations.insert(pid, self.generation);
        self.code.refresh(pid, is_jvm);
    }

    /// A process is gone.
    pub fn forget(&mut self, pid: i32) {
        self.code.forget(pid);
        self.generations.remove(&pid);
    }

    /// The stack of a sample, with the process read anew where the walk ended for what was not
    /// known of it.
    pub fn stack(&mut self, sample: &Sample<'_>, is_jvm: bool, sink: &mut dyn Sink) -> Option<StackId> {
        let pid = sample.head.pid as i32;
        if wants_refresh(sample.head.reason) && self.code.refresh(pid, is_jvm) {
            self.learn(pid);
        }
        let generation = self.generations.get(&pid).copied().unwrap_or(0);
        self.stacks.stack(sample, self.code.get_mut(pid), generation, sink)
    }

    /// Walks a stack that was kept, with its process read anew where that may help.
    pub fn walk_kept(&mut self, kept: &Kept, is_jvm: bool) -> kept::Walked {
        let pid = kept.head.pid as i32;
        if (wants_refresh(kept.head.reason) || self.code.waits_for_jvm(pid)) && self.code.refresh(pid, is_jvm)
        {
            self.learn(pid);
        }
        let vm =
            self.code.get_mut(pid).and_then(|known| known.jvm.as_ref()).map(|jvm| Arc::clone(&jvm.vm.memory));
        kept.walk(&self.code.tables_of(pid), vm.as_deref())
    }

    /// What a stack that was kept has to wait for; `None` when nothing is to come.
    pub fn awaited(&self, sample: &Sample<'_>) -> Option<Awaited> {
        let (pid, reason) = (sample.head.pid as i32, sample.head.reason);
        let may_come = reason_name(reason).is_some() && self.code.is_starting(pid);
        may_come.then(|| Awaited { pc: sample.head.cut_pc, reason, version: self.code.version(pid) })
    }

    /// Whether it has come.
    pub fn has_come(&self, pid: i32, awaited: &Awaited) -> bool {
        let known = !wants_refresh(awaited.reason) || self.code.knows(pid, awaited.pc.saturating_sub(1));
        known && self.code.version(pid) != awaited.version
    }

    /// Java stacks of threads that sleep, by thread: see [`super::asleep`].
    pub fn asleep(&mut self, pid: i32, tids: &HashSet<u32>, sink: &mut dyn Sink) -> HashMap<u32, StackId> {
        let jvm = self.code.get_mut(pid).and_then(|known| known.jvm.as_mut());
        jvm.map_or_else(HashMap::new, |jvm| super::asleep::stacks(jvm, tids, sink))
    }

    /// Opens the files of a process, so that its code can be named when it is gone.
    pub fn learn(&mut self, pid: i32) {
        if let Some(known) = self.code.get_mut(pid) {
            self.stacks.learn(pid as u32, known);
        }
    }
}

/// Whether a walk ended where reading the process anew may help.
fn wants_refresh(reason: u8) -> bool {
    ["PROCESS_NOT_KNOWN", "NO_MAPPING", "ANONYMOUS_CODE", "JVM_NOT_READ"]
        .iter()
        .any(|name| is_reason(reason, name))
}
