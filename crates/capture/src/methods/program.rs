//! The program in the kernel, and the breakpoints that it runs at.
//!
//! A breakpoint is an event of each CPU and not of each thread: a new thread is watched from
//! its first instruction on, a thousand of them cost no more than one, and nothing is written into
//! the context of the target's threads. What another process executes at the same address is seen
//! too, and filtered out by the program; code caches lie where the kernel's randomness put them, so
//! that in practice only a child that the JVM has just forked could.

use std::io;
use std::os::fd::{AsFd, AsRawFd, IntoRawFd, OwnedFd};

use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Link, MapCore, MapFlags};

use crate::Unavailable;
use crate::bpf::object::{place, skeleton};
use crate::perf_event;
use crate::unwind::SharedUnwinder;
use crate::unwind::samples::{Walked, word};
use crate::unwind::share_tables;

skeleton!("method");
use skeleton::{MethodSkel, MethodSkelBuilder};

/// Breakpoints that a CPU has: `BREAKPOINTS` of bpf/method.h.
pub const BREAKPOINTS: usize = 4;
/// Entries that can be armed one after the other: `MOST_ENTRIES` there.
pub const MOST_ENTRIES: u32 = 2048;

/// Parts of a power of two that times are counted in, and all of these buckets: `TIME_PARTS` and
/// `TIME_BUCKETS` there.
const TIME_PARTS: usize = 4;
const TIME_BUCKETS: usize = 40 * TIME_PARTS;

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
    /// Calls that return there are timed; 0: none.
    pub returns_to: u64,
    /// Its number.
    pub entry: u32,
    /// Number of the place that is timed.
    pub round: u32,
    /// Whether it is where calls return to.
    pub is_return: bool,
}

impl Armed {
    fn bytes(&self) -> [u8; 40] {
        let mut bytes = [0; 40];
        bytes[..8].copy_from_slice(&self.at.to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.state.to_ne_bytes());
        bytes[16..24].copy_from_slice(&self.returns_to.to_ne_bytes());
        bytes[24..28].copy_from_slice(&self.entry.to_ne_bytes());
        bytes[28..32].copy_from_slice(&self.round.to_ne_bytes());
        bytes[32..36].copy_from_slice(&u32::from(self.is_return).to_ne_bytes());
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
    /// Returns.
    pub returns: u64,
}

impl Hits {
    /// All that cost a trap.
    pub fn all(&self) -> u64 {
        self.calls + self.replaced + self.elsewhere + self.returns
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

/// How long calls took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// How many were timed.
    pub count: u64,
    /// Their sum.
    pub sum_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// How many took so many nanoseconds or more, and less than the next bucket says; those with
    /// any.
    pub buckets: Vec<(u64, u64)>,
}

impl Times {
    /// So many of a thousand took no longer, to the width of a bucket: a fifth at most. 0 where
    /// none was timed.
    pub fn per_mille(&self, of: u64) -> u64 {
        let rank = (self.count * of).div_ceil(1000).max(1);
        let mut seen = 0;
        for (i, (_, count)) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return self.buckets.get(i).map_or(0, |(from, _)| end_of(*from).min(self.max_ns));
            }
        }
        self.max_ns
    }
}

/// The first time that a bucket holds.
fn start_of(bucket: usize) -> u64 {
    let (octave, part) = (bucket / TIME_PARTS, bucket % TIME_PARTS);
    let begin = 1_u64 << octave;
    if octave >= 2 { begin + part as u64 * (begin >> 2) } else { begin }
}

/// The last time of the bucket that begins so.
fn end_of(from: u64) -> u64 {
    let width = if from >= 4 { (1 << from.ilog2()) >> 2 } else { from };
    from + width - 1
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
    /// Loads it for a process, whose stacks the unwinder knows.
    pub fn load(pid: u32, unwinder: &SharedUnwinder) -> Result<Self, Unavailable> {
        crate::bpf::silence();
        let mut open = MethodSkelBuilder::default().open(place()).map_err(refused("opening"))?;
        share_tables(open.open_object_mut(), Some(unwinder), None)
            .map_err(refused("sharing the tables of"))?;
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

    /// Sets a breakpoint on every CPU. `ENOSPC`: somebody else has taken one of theirs, a
    /// debugger, say.
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

    /// Takes a breakpoint away; how often the CPUs stopped at it, which is what the program
    /// has counted unless the kernel could not run it.
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
        Hits { calls: sum(0), replaced: sum(1), not_kept: sum(2), elsewhere: sum(3), returns: sum(4) }
    }

    /// How long calls took that were timed at a return.
    pub fn times(&self, entry: u32) -> Times {
        let bytes = self.skel.maps.entry_times.lookup(&entry.to_ne_bytes(), MapFlags::ANY);
        let Some(bytes) = bytes.ok().flatten() else { return Times::default() };
        let word = |which: usize| at(&bytes, which).unwrap_or(0);
        let buckets = (0..TIME_BUCKETS).map(|bucket| (start_of(bucket), word(3 + bucket)));
        let buckets = buckets.filter(|(_, count)| *count > 0).collect();
        Times { count: word(0), sum_ns: word(1), max_ns: word(2), buckets }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_times_is_known_to_the_width_of_a_bucket() {
        assert_eq!((start_of(0), start_of(4), start_of(8), start_of(9), start_of(11)), (1, 2, 4, 5, 7));
        assert_eq!((start_of(40), start_of(41), end_of(1024), end_of(1280)), (1024, 1280, 1279, 1535));
        // 1000 calls of 1.1 us, 10 of 5 us, one of 1 ms.
        let buckets = vec![(1024, 1000), (4096, 10), (917_504, 1)];
        let times = Times { count: 1011, sum_ns: 2_150_000, max_ns: 1_000_000, buckets };
        assert_eq!((times.per_mille(500), times.per_mille(990)), (1279, 5119));
        assert_eq!((times.per_mille(1000), Times::default().per_mille(500)), (1_000_000, 0));
    }
}
