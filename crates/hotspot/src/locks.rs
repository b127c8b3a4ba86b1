//! Locks that threads wait for, as they lie in the memory of the JVM: who owns them, and the class
//! of the locked object.
//!
//! ```text
//!   synchronized          JavaThread ──_current_pending_monitor──▶ ObjectMonitor ──_owner──▶ a thread
//!                                                                        └──_object──▶ object ──▶ class
//!   java.util.concurrent  JavaThread ──▶ java.lang.Thread ──parkBlocker──▶ object ──▶ class
//!                                                                            └──exclusiveOwnerThread──▶ Thread ──eetop──▶ JavaThread
//! ```
//! What is read of a thread is true only while it waits, so an eBPF program reads it
//! ([`LockConstants`] gives it the offsets). This module finds the fields and names what was found.

use std::collections::HashMap;

use crate::continuation::{self, ContinuationConstants};
use crate::flags::Flags;
use crate::layout::LockLayout;
use crate::memory::Memory;
use crate::oops::Oops;
use crate::{Error, Result, Vm};

/// Class that keeps the owner of an exclusive lock (java.util.concurrent.locks, JDK 6 on).
const OWNABLE: &str = "java/util/concurrent/locks/AbstractOwnableSynchronizer";
/// The most classes of locks that are cached.
const MOST_CLASSES: usize = 4096;
/// Threads that are tried for the fields of `java.lang.Thread` until one has them.
const MOST_ASKED: usize = 64;
/// A monitor refers to its object by a handle since JDK 16 (JDK-8247281), before that directly.
const FIRST_WITH_HANDLES: u32 = 16;
/// An unknown owner: the lock was inflated by the thread that waits for it, and its owner has not
/// noticed yet (`ObjectMonitor::ANONYMOUS_OWNER`).
const ANONYMOUS: u64 = 1;
/// The most objects that a thread can have locked in this way (`LockStack::CAPACITY` is 8).
const MOST_LOCKED: u32 = 16;
/// Nothing lies in the first page; owners that are numbers are small.
const LOWEST_ADDRESS: u64 = 4096;

/// Where a program finds the lock that a thread waits for: bytes from the beginning of each object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockConstants {
    /// `JavaThread`: the monitor that it waits to enter.
    pub pending: u32,
    /// `JavaThread`: the monitor in whose `Object.wait` it is.
    pub waiting: u32,
    /// `JavaThread`: its `java.lang.Thread`, the virtual one where it carries one.
    pub thread_object: u32,
    /// Whether that is a handle: the address of a reference.
    pub thread_object_is_handle: bool,
    /// `JavaThread`: its own `java.lang.Thread`, also where it carries a virtual one.
    pub carrier_object: u32,
    /// `ObjectMonitor`: its object.
    pub monitor_object: u32,
    /// Whether that is a handle.
    pub monitor_object_is_handle: bool,
    /// `ObjectMonitor`: its owner.
    pub monitor_owner: u32,
    /// `JavaThread`: its `OSThread*`.
    pub os_thread: u32,
    /// `OSThread`: its id at the kernel, as its own pid namespace has it.
    pub thread_id: u32,
    /// `java.lang.Thread`: what it is parked for.
    pub park_blocker: u32,
    /// `java.lang.Thread`: its `JavaThread`.
    pub eetop: u32,
    /// `java.lang.Thread`: its number (`Thread.threadId()`).
    pub thread_number: u32,
    /// Whether references within objects are compressed.
    pub compressed_oops: bool,
    /// Whether references carry the colours of generational ZGC.
    pub coloured: bool,
    /// Base of compressed references.
    pub oop_base: u64,
    /// Their shift.
    pub oop_shift: u32,
}

/// The class of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockClass {
    /// "package.Class".
    pub name: String,
    /// Where it keeps the thread that owns it, for a lock of `java.util.concurrent`.
    pub exclusive_owner: Option<u32>,
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// To enter a monitor.
    Monitor,
    /// In `Object.wait`.
    Notification,
    /// Parked, with a blocker.
    Permit,
}

/// A wait, as it lies in the memory of the JVM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// What for.
    pub what: WaitsFor,
    /// The monitor, or the blocker.
    pub lock: u64,
    /// Who holds it: the owner field of a monitor, the `JavaThread` of a blocker; 0: unknown.
    pub owner: u64,
    /// Thread id of the owner, if the owner is a `JavaThread`; 0: unknown.
    pub owner_tid: u32,
    /// First 16 bytes of the object that is locked; zeros when it could not be read.
    pub header: [u64; 2],
}

/// The forms in which a Java thread may appear as the owner of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerKeys {
    /// Its number as an owner of monitors (JDK 24 on); a carrier has that of the thread which it
    /// carries.
    pub owner_id: Option<u64>,
    /// Its own number in Java (`Thread.threadId()`); 0: not known.
    pub number: u64,
    /// Its stack, lowest and highest address: an owner may be given by an address on it (until JDK
    /// 23).
    pub stack: (u64, u64),
}

/// Reads locks of one JVM.
#[derive(Debug)]
pub struct Locks {
    layout: LockLayout,
    oops: Oops,
    feature: u32,
    object_is_handle: bool,
    classes: HashMap<u64, LockClass>,
}

impl Locks {
    /// Prepares for a JVM.
    pub fn new<M: Memory>(vm: &Vm<M>) -> Result<Self> {
        let field = |name: &str| vm.structs.field(name).is_some_and(|field| field.type_name == "OopHandle");
        Ok(Self {
            layout: LockLayout::of(vm.source())?,
            oops: Flags::read(vm).and_then(|flags| Oops::new(vm, &flags))?,
            feature: vm.release.feature,
            object_is_handle: field("JavaThread._vthread") || field("JavaThread._threadObj"),
            classes: HashMap::new(),
        })
    }

    /// Finds the offsets from the fields of any of some `JavaThread`s.
    pub fn constants<M: Memory>(&mut self, vm: &Vm<M>, threads: &[u64]) -> Result<LockConstants> {
        const THREAD: &str = "java/lang/Thread";
        let memory = &vm.memory;
        let object_of = self.layout.virtual_thread.unwrap_or(self.layout.thread_object);
        let mut found = Err(Error::NotReady { what: "a thread with its object" });
        for thread in threads.iter().take(MOST_ASKED) {
            let mut fields = || -> Result<[u64; 3]> {
                let slot = object_of.of(*thread);
                let slot = if self.object_is_handle { memory.read_u64(slot)? } else { slot };
                let object = self.oops.load_root(memory, slot)?;
                let mut field = |name| self.oops.offset(memory, object, THREAD, name);
                Ok([field("parkBlocker")?, field("eetop")?, field("tid")?])
            };
            if let Ok(fields) = fields() {
                found = Ok(fields);
                break;
            }
        }
        let [park_blocker, eetop, number] = found?;
        let (compressed_oops, coloured, oop_base, oop_shift) = self.oops.references();
        Ok(LockConstants {
            pending: self.layout.pending.offset,
            waiting: self.layout.waiting.offset,
            thread_object: object_of.offset,
            thread_object_is_handle: self.object_is_handle,
            carrier_object: self.layout.thread_object.offset,
            monitor_object: self.layout.monitor_object.offset,
            monitor_object_is_handle: self.feature >= FIRST_WITH_HANDLES,
            monitor_owner: self.layout.monitor_owner.offset,
            os_thread: self.layout.os_thread.offset,
            thread_id: self.layout.thread_id.offset,
            park_blocker: park_blocker as u32,
            eetop: eetop as u32,
            thread_number: number as u32,
            compressed_oops,
            coloured,
            oop_base,
            oop_shift,
        })
    }

    /// The class of an object from its first 16 bytes, as they were during the wait.
    pub fn class<M: Memory>(&mut self, vm: &Vm<M>, header: [u64; 2]) -> Result<LockClass> {
        self.class_at(vm, self.oops.klass_of_header(header))
    }

    /// A class by its `Klass*`.
    pub fn class_at<M: Memory>(&mut self, vm: &Vm<M>, klass: u64) -> Result<LockClass> {
        if let Some(known) = self.classes.get(&klass) {
            return Ok(known.clone());
        }
        let memory = &vm.memory;
        let name = external_name(&self.oops.klass_name(memory, klass)?);
        let owner = self.oops.declared(memory, klass, OWNABLE, "exclusiveOwnerThread");
        let class = LockClass { name, exclusive_owner: owner.ok().map(|offset| offset as u32) };
        if self.classes.len() >= MOST_CLASSES {
            self.classes.clear();
        }
        self.classes.insert(klass, class.clone());
        Ok(class)
    }

    /// Whether a thread carries virtual threads (since JDK 21, `jdk.internal.misc.CarrierThread`).
    pub fn is_carrier<M: Memory>(&mut self, vm: &Vm<M>, thread: u64) -> Result<bool> {
        if self.layout.virtual_thread.is_none() {
            return Ok(false);
        }
        let memory = &vm.memory;
        let slot = self.layout.thread_object.of(thread);
        let slot = if self.object_is_handle { memory.read_u64(slot)? } else { slot };
        let object = self.oops.load_root(memory, slot)?;
        let header = [memory.read_u64(object)?, memory.read_u64(object.wrapping_add(8))?];
        Ok(self.class(vm, header)?.name == "jdk.internal.misc.CarrierThread")
    }

    /// From a thread to the virtual thread that it carries, where the JDK needs it (before 25):
    /// found on a thread that carries one at this time.
    pub fn continuation<M: Memory>(&mut self, vm: &Vm<M>, thread: u64) -> Option<ContinuationConstants> {
        continuation::find(vm, &self.layout, &mut self.oops, thread).ok().flatten()
    }

    /// What a thread waits for, as the program in the kernel reads it. Valid only for a thread that
    /// is known to sleep all the while.
    pub fn waiting<M: Memory>(&self, vm: &Vm<M>, at: &LockConstants, thread: u64) -> Result<Option<Waiting>> {
        let memory = &vm.memory;
        let word = |object: u64, offset: u32| memory.read_u64(object.wrapping_add(u64::from(offset)));
        let header = |object: u64| [memory.read_u64(object).unwrap_or(0), word(object, 8).unwrap_or(0)];
        let monitors = [(at.pending, WaitsFor::Monitor), (at.waiting, WaitsFor::Notification)];
        for (offset, what) in monitors {
            let lock = word(thread, offset)?;
            if lock == 0 {
                continue;
            }
            let slot = lock.wrapping_add(u64::from(at.monitor_object));
            let slot = if at.monitor_object_is_handle { memory.read_u64(slot)? } else { slot };
            let object = self.oops.load_root(memory, slot)?;
            let owner = if what == WaitsFor::Monitor { word(lock, at.monitor_owner)? } else { 0 };
            let owner_tid = self.tid(vm, owner).unwrap_or(0);
            return Ok(Some(Waiting { what, lock, owner, owner_tid, header: header(object) }));
        }
        let slot = thread.wrapping_add(u64::from(at.thread_object));
        let slot = if at.thread_object_is_handle { memory.read_u64(slot)? } else { slot };
        let object = self.oops.load_root(memory, slot)?;
        let lock = self.oops.load_field(memory, object.wrapping_add(u64::from(at.park_blocker)))?;
        if lock == 0 {
            return Ok(None);
        }
        let mut found =
            Waiting { what: WaitsFor::Permit, lock, owner: 0, owner_tid: 0, header: header(lock) };
        let class = self.oops.klass_of_header(found.header);
        if let Ok(offset) = self.oops.declared(memory, class, OWNABLE, "exclusiveOwnerThread") {
            let owner = self.oops.load_field(memory, lock.wrapping_add(offset))?;
            found.owner = if owner == 0 { 0 } else { word(owner, at.eetop)? };
            found.owner_tid = self.tid(vm, found.owner).unwrap_or(0);
        }
        Ok(Some(found))
    }

    /// Which of some threads, by id and address, has locked the object of the monitor that a thread
    /// waits for, without a monitor of its own: a thread that locked it before the monitor was
    /// created is not entered as its owner until it looks at the lock again (JDK 21 on).
    pub fn holder<M: Memory>(
        &self,
        vm: &Vm<M>,
        at: &LockConstants,
        waiter: u64,
        threads: &[(u32, u64)],
    ) -> Option<u32> {
        let memory = &vm.memory;
        let base = self.layout.lock_stack?.offset + self.layout.lock_stack_base?.offset;
        let top = self.layout.lock_stack?.offset + self.layout.lock_stack_top?.offset;
        let monitor = memory.read_u64(waiter.wrapping_add(u64::from(at.pending))).ok().filter(|m| *m != 0)?;
        let slot = monitor.wrapping_add(u64::from(at.monitor_object));
        let slot = if at.monitor_object_is_handle { memory.read_u64(slot).ok()? } else { slot };
        let object = self.oops.load_root(memory, slot).ok().filter(|object| *object != 0)?;
        let has_locked = |thread: u64| -> Option<bool> {
            let end = memory.read_u32(thread.wrapping_add(u64::from(top))).ok()?;
            let count = (end.checked_sub(base)? / 8).min(MOST_LOCKED);
            let mut locked = (0..count).map(|i| thread.wrapping_add(u64::from(base + 8 * i)));
            Some(locked.any(|slot| memory.read_u64(slot).is_ok_and(|oop| oop == object)))
        };
        threads
            .iter()
            .find(|(_, thread)| *thread != waiter && has_locked(*thread) == Some(true))
            .map(|(tid, _)| *tid)
    }

    /// Thread id of a `JavaThread`.
    fn tid<M: Memory>(&self, vm: &Vm<M>, thread: u64) -> Option<u32> {
        let thread = Some(thread).filter(|thread| *thread > LOWEST_ADDRESS)?;
        let os_thread = self.layout.os_thread.read_u64(&vm.memory, thread).ok()?;
        u32::try_from(self.layout.thread_id.read(&vm.memory, os_thread).ok()?).ok()
    }

    /// The number of a thread in Java: its own, even where it carries another.
    fn number<M: Memory>(&self, vm: &Vm<M>, at: &LockConstants, thread: u64) -> Result<u64> {
        let memory = &vm.memory;
        let slot = thread.wrapping_add(u64::from(at.carrier_object));
        let slot = if at.thread_object_is_handle { memory.read_u64(slot)? } else { slot };
        let object = self.oops.load_root(memory, slot)?;
        Ok(memory.read_u64(object.wrapping_add(u64::from(at.thread_number)))?)
    }

    /// The forms in which a thread appears as an owner.
    pub fn owner_keys<M: Memory>(&self, vm: &Vm<M>, at: &LockConstants, thread: u64) -> Result<OwnerKeys> {
        let memory = &vm.memory;
        let number = self.number(vm, at, thread).unwrap_or(0);
        let owner_id = self.layout.owner_id.map(|field| field.read_u64(memory, thread)).transpose()?;
        let base = self.layout.stack_base.read_u64(memory, thread)?;
        let size = self.layout.stack_size.read_u64(memory, thread)?;
        Ok(OwnerKeys { owner_id, number, stack: (base.saturating_sub(size), base) })
    }

    /// A number that changes whenever a thread starts or ends; `None` where there is none (before
    /// JDK 16).
    pub fn list_of_threads<M: Memory>(&self, vm: &Vm<M>) -> Option<u64> {
        self.layout.list.and_then(|list| list.read_u64(&vm.memory).ok())
    }

    /// Whether a monitor's owner field does not identify the owner.
    pub fn is_anonymous(owner: u64) -> bool {
        owner <= ANONYMOUS
    }
}

/// "package.Class" of "package/Class", "java.lang.Object[]" of "[Ljava/lang/Object;". The suffix
/// that makes a hidden class unique is left out.
pub(crate) fn external_name(internal: &str) -> String {
    let element = internal.trim_start_matches('[');
    let dimensions = internal.len() - element.len();
    let name = match element {
        _ if dimensions == 0 => internal,
        "Z" => "boolean",
        "B" => "byte",
        "C" => "char",
        "S" => "short",
        "I" => "int",
        "J" => "long",
        "F" => "float",
        "D" => "double",
        _ => element.trim_start_matches('L').trim_end_matches(';'),
    };
    let name = name.split('+').next().unwrap_or(name);
    format!("{}{}", name.replace('/', "."), "[]".repeat(dimensions))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_classes_are_those_of_the_language() {
        let names = ["java/lang/Object", "[Ljava/lang/Object;", "[[I", "A$B", "a/L$$Lambda+0x00007f"];
        let expected = ["java.lang.Object", "java.lang.Object[]", "int[][]", "A$B", "a.L$$Lambda"];
        assert_eq!(names.map(external_name), expected);
    }
}
