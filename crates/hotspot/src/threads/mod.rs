//! Threads of a live JVM: ids at the kernel, names, roles, states, and what compilers compile.

mod nameless;
mod tasks;

use std::collections::HashMap;

use fathom_recording::Role;

use crate::flags::Flags;
use crate::layout::{CompilerLayout, ThreadLayout};
use crate::memory::Memory;
use crate::oops::Oops;
use crate::symbols::Compiling;
use crate::{Error, Result, Vm};

/// Java threads read at most.
const MOST_THREADS: usize = 1 << 16;

/// What a Java thread is doing, according to the JVM (`JavaThreadState`,
/// src/hotspot/share/utilities/globalDefinitions.hpp; transitions belong to the state that is
/// left).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ThreadState {
    /// Being started.
    New,
    /// In native code.
    Native,
    /// In the JVM.
    Vm,
    /// In Java code.
    Java,
    /// Blocked in the JVM.
    Blocked,
    /// An unknown number.
    Unknown(u32),
}

impl ThreadState {
    fn of(number: i64) -> Self {
        match number {
            2 | 3 => Self::New,
            4 | 5 => Self::Native,
            6 | 7 => Self::Vm,
            8 | 9 => Self::Java,
            10 | 11 => Self::Blocked,
            other => Self::Unknown(other as u32),
        }
    }
}

/// Where a thread was when it last left Java (`JavaFrameAnchor`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Stack pointer of its youngest Java frame.
    pub sp: u64,
    /// Where that frame goes on; 0: it is in the word below the stack pointer.
    pub pc: u64,
    /// Its frame pointer; 0 where it was not kept.
    pub fp: u64,
}

/// A thread known to the JVM as a Java thread, compilers included.
#[derive(Clone, Debug)]
pub struct JavaThread {
    /// The `JavaThread*`.
    pub address: u64,
    /// Its id at the kernel, as the pid namespace of the JVM has it.
    pub tid: u32,
    /// Its name; `None` when it could not be read just now (the collector may be moving it): try
    /// again.
    pub name: Option<String>,
    /// What it is doing.
    pub state: ThreadState,
    /// Where it left Java; `None` while it runs Java code.
    pub anchor: Option<Anchor>,
}

/// A thread of the process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadInfo {
    /// Its id at the kernel, as this process sees it.
    pub tid: u32,
    /// Its name: that of the Java thread in full, or what the kernel has (15 characters).
    pub name: String,
    /// Whether the name is the JVM's; the kernel's may be that of the parent thread until the
    /// thread names itself.
    pub named_by_jvm: bool,
    /// What it is for.
    pub role: Role,
    /// The `JavaThread*`, where it is one.
    pub java: Option<u64>,
}

/// Reads the threads of one JVM.
#[derive(Debug)]
pub struct Threads {
    layout: ThreadLayout,
    compiler: Option<CompilerLayout>,
    oops: Option<Oops>,
    /// Since JDK 15 a thread refers to its `java.lang.Thread` by a handle.
    object_is_handle: bool,
    feature: u32,
}

impl Threads {
    /// Prepares for a JVM. Names need more of its internals than the rest: where those are not
    /// known, the kernel's names are used.
    pub fn new<M: Memory>(vm: &Vm<M>) -> Result<Self> {
        let oops = Flags::read(vm).and_then(|flags| Oops::new(vm, &flags)).ok();
        Ok(Self {
            layout: ThreadLayout::of(vm.source())?,
            compiler: CompilerLayout::of(vm.source()).ok(),
            oops,
            object_is_handle: vm
                .structs
                .field("JavaThread._threadObj")
                .is_some_and(|field| field.type_name == "OopHandle"),
            feature: vm.release.feature,
        })
    }

    /// The Java threads. Those that end or start meanwhile may be missing.
    pub fn java<M: Memory>(&mut self, vm: &Vm<M>) -> Result<Vec<JavaThread>> {
        let memory = &vm.memory;
        let addresses = self.addresses(vm)?;
        let mut threads = Vec::with_capacity(addresses.len());
        for address in addresses {
            // Freed meanwhile, or not yet set up.
            let Ok(tid) = self.tid(memory, address) else { continue };
            let Ok(state) = self.layout.state.read(memory, address) else { continue };
            threads.push(JavaThread {
                address,
                tid,
                name: self.name(memory, address).ok(),
                state: ThreadState::of(state),
                anchor: self.anchor(memory, address).ok().flatten(),
            });
        }
        Ok(threads)
    }

    /// Addresses and ids of the Java threads, without their names: cheap enough to be called
    /// whenever a thread starts.
    pub fn java_ids<M: Memory>(&self, vm: &Vm<M>) -> Result<Vec<(u64, u32)>> {
        let addresses = self.addresses(vm)?.into_iter();
        Ok(addresses.filter_map(|address| Some((address, self.tid(&vm.memory, address).ok()?))).collect())
    }

    /// The name of a Java thread.
    pub fn java_name<M: Memory>(&mut self, vm: &Vm<M>, thread: u64) -> Result<String> {
        self.name(&vm.memory, thread)
    }

    /// All threads of the process with their roles.
    pub fn all<M: Memory>(&mut self, vm: &Vm<M>) -> Result<Vec<ThreadInfo>> {
        let java = self.java(vm)?;
        let tasks = tasks::read(vm.libjvm.pid)?;
        let by_tid: HashMap<u32, &JavaThread> = java.iter().map(|thread| (thread.tid, thread)).collect();
        let mut all: Vec<ThreadInfo> = tasks
            .into_iter()
            .map(|task| {
                let java = by_tid.get(&task.tid_inside);
                let java_name = java.and_then(|thread| thread.name.clone());
                let named_by_jvm = java_name.is_some();
                let name = java_name.unwrap_or(task.name);
                let role = Role::of_named(&name, Some(java.is_some()));
                ThreadInfo {
                    tid: task.tid,
                    name,
                    named_by_jvm,
                    role,
                    java: java.map(|thread| thread.address),
                }
            })
            .collect();
        if self.feature < 9 {
            nameless::roles(&mut all);
        }
        Ok(all)
    }

    /// What a compiler thread compiles now; `None` while it is idle. Other threads have no answer,
    /// so the role is checked first.
    pub fn compiling<M: Memory>(&self, vm: &Vm<M>, thread: &ThreadInfo) -> Result<Option<Compiling>> {
        let (Some(layout), Some(java), Role::Jit) = (&self.compiler, thread.java, thread.role) else {
            return Ok(None);
        };
        let memory = &vm.memory;
        let env = layout.env.read_u64(memory, java)?;
        if env == 0 {
            return Ok(None);
        }
        let task = layout.task.read_u64(memory, env)?;
        if task == 0 {
            return Ok(None);
        }
        let osr_bci = layout.osr_bci.read(memory, task)? as i32;
        let compiling = Compiling {
            method: layout.method.read_u64(memory, task)?,
            compile_id: layout.compile_id.read(memory, task)? as u32,
            level: layout.comp_level.read(memory, task)? as u8,
            osr_bci: (osr_bci >= 0).then_some(osr_bci),
        };
        // It finished meanwhile: the task may be another's by now.
        let same = layout.env.read_u64(memory, java)? == env && layout.task.read_u64(memory, env)? == task;
        Ok(Some(compiling).filter(|_| same))
    }

    /// The `JavaThread`s.
    fn addresses<M: Memory>(&self, vm: &Vm<M>) -> Result<Vec<u64>> {
        let memory = &vm.memory;
        let layout = &self.layout;
        if let (Some(list), Some(length), Some(threads)) =
            (layout.smr_list, layout.smr_length, layout.smr_threads)
        {
            let list = list.read_u64(memory)?;
            if list == 0 {
                return Err(Error::NotReady { what: "the list of threads" });
            }
            let count = length.read_u64(memory, list)?;
            if count > MOST_THREADS as u64 {
                return Err(Error::Implausible { what: "number of Java threads".to_owned(), value: count });
            }
            let array = threads.read_u64(memory, list)?;
            let bytes = memory.read_bytes(array, count as usize * 8)?;
            let address =
                |word: &[u8]| word.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
            return Ok(bytes.chunks_exact(8).map(address).collect());
        }
        let (Some(list), Some(next)) = (layout.list, layout.next) else {
            return Err(Error::MissingSymbol {
                symbol: "ThreadsSMRSupport._java_thread_list or Threads._thread_list".to_owned(),
                jvm: vm.release.to_string(),
            });
        };
        let mut all = Vec::new();
        let mut thread = list.read_u64(memory)?;
        while thread != 0 && all.len() < MOST_THREADS {
            all.push(thread);
            thread = next.read_u64(memory, thread)?;
        }
        Ok(all)
    }

    fn tid(&self, memory: &impl Memory, thread: u64) -> Result<u32> {
        let os_thread = self.layout.os_thread.read_u64(memory, thread)?;
        let tid = self.layout.thread_id.read(memory, os_thread)?;
        u32::try_from(tid)
            .ok()
            .filter(|tid| *tid > 0)
            .ok_or_else(|| Error::Implausible { what: "id of a thread".to_owned(), value: tid as u64 })
    }

    fn name(&mut self, memory: &impl Memory, thread: u64) -> Result<String> {
        let oops = self.oops.as_mut().ok_or(Error::NotReady { what: "the layout of objects" })?;
        let slot = self.layout.thread_object.of(thread);
        let slot = if self.object_is_handle { memory.read_u64(slot)? } else { slot };
        let object = oops.load_root(memory, slot)?;
        let name = oops.reference(memory, object, "java/lang/Thread", "name")?;
        oops.string(memory, name)
    }

    fn anchor(&self, memory: &impl Memory, thread: u64) -> Result<Option<Anchor>> {
        let anchor = self.layout.anchor.of(thread);
        let sp = self.layout.anchor_sp.read_u64(memory, anchor)?;
        let pc = self.layout.anchor_pc.read_u64(memory, anchor)?;
        let fp = self.layout.anchor_fp.read_u64(memory, anchor)?;
        // The stack pointer is set last and cleared first.
        Ok((sp != 0).then_some(Anchor { sp, pc, fp }))
    }
}
