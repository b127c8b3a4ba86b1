//! The program in the kernel, and the breakpoints that it runs at.
//!
//! A breakpoint is an event of each processor and not of each thread: a new thread is watched from its first instruction
//! on, a thousand of them cost no more than one, and nothing is written into the context of the target's threads. What
//! another process executes at the same address is seen too, and told apart by the program; code caches lie where the
//! kernel's randomness put them, so that in practice only a child that the JVM has just forked could.

use std::io;
use std::os::fd::{AsFd, AsRawFd, IntoRawFd, OwnedFd};

use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Link, MapCore, MapFlags};

use crate::bpf::object::{place, share, skeleton};
use crate::collector::Unavailable;
use crate::cpu::perf_event;
use crate::unwind::SharedEngine;
use crate::unwind::samples::{Walked, word};

skeleton!("method");
use skeleton::{MethodSkel, MethodSkelBuilder};

/// Breakpoints that a processor has: `BREAKPOINTS` of bpf/method.h.
pub const BREAKPOINTS: usize = 4;
/// Entries that can be armed one after the other: `MOST_ENTRIES` there.
pub const MOST_ENTRIES: u32 = 2048;

/// Size of `struct call_key`.
const CALL_KEY: usize = 24;

/// What is seen without the program.
pub const WHAT: &str = "calls of compiled Java methods";

/// An address that is watched: `struct armed`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Armed {
    /// Where.
    pub at: u64,
    /// Where the state of its nmethod stands.
    pub state: u64,
    /// Its number.
    pub entry: u32,
}

impl Armed {
    fn bytes(&self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&self.at.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.state.to_ne_bytes());
        bytes[16..20].copy_from_slice(&self.entry.to_ne_bytes());
        bytes
    }
}

/// What was seen at an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// Calls.
    pub calls: u64,
    /// Calls that met code that had been replaced and were sent on.
    pub replaced: u64,
    /// Calls for whose caller and thread there was no room; counted in `calls` too.
    pub not_kept: u64,
    /// Executions by other processes.
    pub elsewhere: u64,
}

impl Hits {
    /// All that cost a trap.
    pub fn all(&self) -> u64 {
        self.calls + self.replaced + self.elsewhere
    }
}

/// Calls of an entry by one caller and thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calls {
    /// The frame that called; its pc is where the call returns to.
    pub caller: Walked,
    /// Whether that frame was found.
    pub is_walked: bool,
    /// Number of the entry.
    pub entry: u32,
    /// The thread.
    pub tid: u32,
    /// The thread's name at the kernel.
    pub comm: String,
    /// How many there were.
    pub count: u64,
}

/// Breakpoints on one address.
struct Slot {
    links: Vec<Link>,
    /// The events of the links, to be read.
    events: Vec<OwnedFd>,
}

/// The loaded program. Fields are dropped in their order: breakpoints before what runs at them.
pub struct Program {
    slots: [Option<Slot>; BREAKPOINTS],
    skel: MethodSkel<'static>,
}

fn refused(step: &'static str) -> impl Fn(libbpf_rs::Error) -> Unavailable {
    move |error| crate::bpf::unavailable(WHAT, step, &error)
}

impl Program {
    /// Loads it for a process, whose stacks the engine knows.
    pub fn load(pid: u32, engine: &SharedEngine) -> Result<Self, Unavailable> {
        crate::bpf::silence();
        let mut open = MethodSkelBuilder::default().open(place()).map_err(refused("opening"))?;
        share(open.open_object_mut(), Some(engine), None).map_err(refused("sharing the tables of"))?;
        if let Some(constants) = open.maps.rodata_data.as_deref_mut() {
            constants.watched_pid = pid;
            constants.pidns_ino = crate::bpf::pid_namespace();
        }
        let skel = open.load().map_err(refused("loading"))?;
        Ok(Self { slots: Default::default(), skel })
    }

    /// A breakpoint that is free, among the first so many.
    pub fn free(&self, of: usize) -> Option<usize> {
        self.slots.iter().take(of).position(Option::is_none)
    }

    /// Sets a breakpoint on every processor. `ENOSPC`: somebody else has taken one of theirs, a debugger, say.
    pub fn arm(&mut self, slot: usize, armed: &Armed) -> io::Result<()> {
        self.disarm(slot);
        let cpus = perf_event::online();
        let opened: io::Result<Vec<OwnedFd>> =
            cpus.iter().map(|cpu| perf_event::breakpoint(armed.at, *cpu)).collect();
        let opened = opened?;
        self.write(slot, armed)?;
        let mut armed = Slot { links: Vec::new(), events: Vec::new() };
        for event in opened {
            armed.events.push(event.try_clone()?);
            let number = event.as_raw_fd();
            let link = self.skel.progs.method_hit.attach_perf_event(number).map_err(io::Error::other)?;
            // libbpf closes the event with the link; when there is no link, `event` does.
            let _ = event.into_raw_fd();
            armed.links.push(link);
        }
        self.slots[slot] = Some(armed);
        Ok(())
    }

    /// Changes what is done at a breakpoint that stands.
    pub fn write(&self, slot: usize, armed: &Armed) -> io::Result<()> {
        let slot = (slot as u32).to_ne_bytes();
        self.skel.maps.armed.update(&slot, &armed.bytes(), MapFlags::ANY).map_err(io::Error::other)
    }

    /// Takes a breakpoint away; how often the processors stopped at it, which is what the program has counted unless the
    /// kernel could not run it.
    pub fn disarm(&mut self, slot: usize) -> Option<u64> {
        let armed = self.slots.get_mut(slot)?.take()?;
        let stopped_at = armed.events.iter().map(|event| perf_event::end(event.as_fd()).ok()).sum();
        // Other code may lie at the address later.
        let _ = self.write(slot, &Armed::default());
        stopped_at
    }

    /// What was seen at an entry.
    pub fn hits(&self, entry: u32) -> Hits {
        let values = self.skel.maps.entry_hits.lookup_percpu(&entry.to_ne_bytes(), MapFlags::ANY);
        let values = values.ok().flatten().unwrap_or_default();
        let sum = |which: usize| values.iter().filter_map(|bytes| at(bytes, which)).sum();
        Hits { calls: sum(0), replaced: sum(1), not_kept: sum(2), elsewhere: sum(3) }
    }

    /// All calls so far, by caller and thread.
    pub fn calls(&self) -> Vec<Calls> {
        let map = &self.skel.maps.calls;
        let read = |key: Vec<u8>| {
            let count = map.lookup(&key, MapFlags::ANY).ok()??;
            let key: [u8; CALL_KEY] = key.try_into().ok()?;
            let number = |from: usize| word(&key[from..from + 4]) as u32;
            let (low, high) = (word(&key[..8]), word(&key[8..16]));
            Some(Calls {
                caller: Walked::of(low, high),
                is_walked: (low, high) != (0, 0),
                entry: number(16),
                tid: number(20),
                comm: comm(count.get(8..24)?),
                count: at(&count, 0)?,
            })
        };
        map.keys().filter_map(read).collect()
    }
}

/// A thread's name as the kernel has it: up to 15 characters and zeros.
fn comm(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// A word of a value.
fn at(bytes: &[u8], which: usize) -> Option<u64> {
    bytes.get(which * 8..which * 8 + 8).map(word)
}
