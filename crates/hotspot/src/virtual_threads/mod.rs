//! Virtual threads that wait without a carrier, read from outside: what each of them waits in, with
//! its stack as it lies in the Java heap. Nothing in the JVM is stopped or probed, and no request
//! is sent.
//!
//! ```text
//!   sets of the JDK ──▶ VirtualThread ──state──▶ parked, blocked, waiting …
//!   (sets.rs)                └──cont──▶ Continuation ──tail──▶ StackChunk ──▶ frames (stack.rs) ──parent──▶ StackChunk …
//! ```
//! The JVM runs on meanwhile. If it collected while threads were read, objects were moved, and they
//! are read again, a few times at most. Each object's class is checked; a thread whose state or
//! stack changed while it was read is skipped and counted. JDK 21 to 25, with collectors whose
//! references are plain: for ZGC and Shenandoah the reader reports that it cannot. Threads of a
//! structured scope (`ThreadFlock`) hang on the stack of their owner only and are not listed; nor
//! are those of the root container with `-Djdk.trackAllThreads=false`.

mod collections;
mod objects;
mod sets;
mod stack;

use crate::code_cache::{CodeCache, UnwindConstants};
use crate::flags::Flags;
use crate::memory::Memory;
use crate::walk::WalkedFrame;
use crate::{Error, Result, Vm};
use collections::Collections;
use objects::{Object, Objects};
use stack::Stacks;

const THREAD: &str = "java/lang/Thread";
const VIRTUAL: &str = "java/lang/VirtualThread";
const CHUNK: &str = "jdk/internal/vm/StackChunk";
const OWNABLE: &str = "java/util/concurrent/locks/AbstractOwnableSynchronizer";
/// The first release whose virtual threads are final.
const FIRST: u32 = 21;
/// How often threads are read until no collection intervenes.
const TRIES: usize = 4;
/// Names of `VirtualThread`'s states without a carrier, as it declares them; those of monitors
/// since JDK 24.
const STATES: [(&str, State); 8] = [
    ("PARKED", State::Parked),
    ("TIMED_PARKED", State::Parked),
    ("BLOCKED", State::Blocked),
    ("WAIT", State::Waiting),
    ("TIMED_WAIT", State::Waiting),
    ("UNPARKED", State::Runnable),
    ("YIELDED", State::Runnable),
    ("UNBLOCKED", State::Runnable),
];

/// What a virtual thread does, by its own state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// Parked, without a carrier: for a lock, for work, for a socket, asleep.
    Parked,
    /// Waits to enter a monitor, without a carrier.
    Blocked,
    /// In `Object.wait`, without a carrier.
    Waiting,
    /// Without a carrier, and waits for one only.
    Runnable,
    /// On a carrier, not started or ended.
    Other,
}

/// What a thread is parked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blocker {
    /// Where it lies.
    pub at: u64,
    /// Its first 16 bytes, which identify its class ([`crate::locks::Locks::class`]).
    pub header: [u64; 2],
    /// The number of the thread that owns it, where it is a lock that is owned.
    pub owner: Option<u64>,
}

/// A virtual thread as it was at one time.
#[derive(Clone, Debug)]
pub struct VirtualThread {
    /// Its number (`Thread.threadId()`).
    pub number: u64,
    /// What it does.
    pub state: State,
    /// What it is parked for; `None` asleep, for a socket, or not parked.
    pub blocker: Option<Blocker>,
    /// Its frames, youngest first; empty unless it waits without a carrier.
    pub frames: Vec<WalkedFrame>,
    /// Why the oldest of them are missing.
    pub truncated: Option<Truncation>,
}

/// Why a stack is truncated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truncation {
    /// A frame of a kind that does not occur in the heap, or code that is not there any more.
    Unknown,
    /// There are more frames than are unwound.
    TooDeep,
}

/// The virtual threads of a JVM at one time.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// All that the JDK lists.
    pub all: usize,
    /// Whether there were more than are listed.
    pub is_cut: bool,
    /// Those that were read.
    pub threads: Vec<VirtualThread>,
    /// Threads and nodes of sets that changed while they were read, or were moved.
    pub skipped: u64,
}

/// Reads the virtual threads of one JVM.
#[derive(Debug)]
pub struct VirtualThreads {
    collections: Collections,
    objects: Objects,
    stacks: Stacks,
    containers: u64,
    root: u64,
    /// Numbers of states.
    states: Vec<(i32, State)>,
    /// The bit of a thread that a debugger suspended.
    suspended: i32,
}

impl VirtualThreads {
    /// Prepares for a JVM. [`Error::NotReady`] until it has had a virtual thread.
    pub fn new<M: Memory>(vm: &Vm<M>, code: CodeCache) -> Result<Self> {
        let flags = Flags::read(vm)?;
        if let Some(collector) = ["UseZGC", "UseShenandoahGC"].into_iter().find(|flag| flags.is_on(flag)) {
            let what = format!("references of the Java heap with -XX:+{collector}");
            return Err(Error::Unsupported { what });
        }
        if vm.release.feature < FIRST {
            return Err(Error::Unsupported {
                what: format!("virtual threads of JDK {}", vm.release.feature),
            });
        }
        let memory = &vm.memory;
        let objects = Objects::new(vm, &flags)?;
        let [containers, root, thread, chunk] =
            objects.find(memory, [sets::CONTAINERS, sets::ROOT, VIRTUAL, CHUNK])?;
        if containers == 0 || thread == 0 || chunk == 0 {
            return Err(Error::NotReady { what: "a virtual thread" });
        }
        let numbers = STATES.into_iter().filter_map(|(name, state)| {
            let number = objects.static_int(memory, thread, name).ok()?;
            Some((number, state))
        });
        let states: Vec<(i32, State)> = numbers.collect();
        // Static fields have their values once the class is initialised.
        if states.iter().any(|(number, _)| *number == 0) {
            return Err(Error::NotReady { what: "a virtual thread" });
        }
        let begin = objects.size(memory, chunk).ok_or(Error::NotReady { what: "stacks in the heap" })?;
        let constants = UnwindConstants::of(vm, &code)?;
        Ok(Self {
            collections: Collections::of(vm)?,
            stacks: Stacks::new(code, constants, begin),
            containers,
            root,
            suspended: objects.static_int(memory, thread, "SUSPENDED").unwrap_or(0),
            objects,
            states,
        })
    }

    /// Reads them. If there are many, about `most`: those whose number modulo k is `part`; k is
    /// returned with them.
    pub fn read<M: Memory>(&mut self, vm: &Vm<M>, most: usize, part: u32) -> Result<(Snapshot, u32)> {
        for _ in 1..TRIES {
            let before = self.collections.so_far(&vm.memory);
            let read = self.read_once(vm, most, part);
            if before.is_some() && before == self.collections.so_far(&vm.memory) {
                return read;
            }
        }
        // A JVM that collects all the time: this is the best that can be read.
        self.read_once(vm, most, part)
    }

    fn read_once<M: Memory>(&mut self, vm: &Vm<M>, most: usize, part: u32) -> Result<(Snapshot, u32)> {
        let found = sets::list(vm, &mut self.objects, [self.containers, self.root])?;
        let mut snapshot = Snapshot {
            all: found.threads.len(),
            is_cut: found.is_cut,
            threads: Vec::new(),
            skipped: found.skipped,
        };
        let k = u32::try_from(found.threads.len().div_ceil(most.max(1))).unwrap_or(u32::MAX).max(1);
        self.stacks.begin_round();
        for thread in found.threads.iter().filter(|thread| thread.hash % k == part % k) {
            match self.thread(&vm.memory, thread.at) {
                Some(thread) => snapshot.threads.push(thread),
                None => snapshot.skipped += 1,
            }
        }
        Ok((snapshot, k))
    }

    fn state(&mut self, memory: &impl Memory, thread: &Object) -> Option<State> {
        let number = self.objects.int(memory, thread, (VIRTUAL, "state"))? & !self.suspended;
        let known = self.states.iter().find(|(known, _)| *known == number);
        Some(known.map_or(State::Other, |(_, state)| *state))
    }

    /// A thread; `None` where it is not one, or not the same as just before.
    fn thread(&mut self, memory: &impl Memory, at: u64) -> Option<VirtualThread> {
        let thread = self.objects.object(memory, at)?;
        let number = self.objects.long(memory, &thread, (THREAD, "tid"))?;
        // A thread that is bound to a platform thread, without continuations
        // (-XX:-VMContinuations), is of another class.
        let state = if &*thread.class == VIRTUAL { self.state(memory, &thread)? } else { State::Other };
        let mut read = VirtualThread { number, state, blocker: None, frames: Vec::new(), truncated: None };
        if matches!(state, State::Runnable | State::Other) {
            return Some(read);
        }
        let cont = self.objects.reference(memory, &thread, (VIRTUAL, "cont"))?;
        let cont = self.objects.object(memory, cont)?;
        let tail = self.objects.reference(memory, &cont, ("jdk/internal/vm/Continuation", "tail"))?;
        (read.frames, read.truncated) = self.stacks.walk(memory, &mut self.objects, tail)?;
        if state == State::Parked {
            let blocker = self.objects.reference(memory, &thread, (THREAD, "parkBlocker"))?;
            read.blocker = self.blocker(memory, blocker);
        }
        // It may have run on meanwhile.
        let after = self.objects.object(memory, at)?;
        (self.state(memory, &after)? == state).then_some(read)
    }

    fn blocker(&mut self, memory: &impl Memory, at: u64) -> Option<Blocker> {
        let lock = self.objects.object(memory, at)?;
        let mut blocker = Blocker { at, header: lock.header(), owner: None };
        let owner = self.objects.reference(memory, &lock, (OWNABLE, "exclusiveOwnerThread"));
        if let Some(owner) = owner.and_then(|owner| self.objects.object(memory, owner)) {
            blocker.owner = self.objects.long(memory, &owner, (THREAD, "tid"));
        }
        Some(blocker)
    }
}
