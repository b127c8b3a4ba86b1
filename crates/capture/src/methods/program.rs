//! The program in the kernel, and the breakpoints that it runs at.
//!
//! A breakpoint is an event of each CPU and not of each thread: a new thread is watched from
//! its first instruction on, a thousand of them cost no more than one, and nothing is written into
//! the context of the target's threads. What another process executes at the same address is seen
//! too, and filtered out by the program; code caches lie where the kernel's randomness put them, so
//! that in practice only a child that the JVM has just forked could.

use std::io;
use std::os::fd::{AsFd, AsRawFd, IntoRawFd, OwnedFd};

use libbpf_rs::Link;

use crate::Unavailable;
use crate::bpf::kit::Kit;
use crate::bpf::object::skeleton;
use crate::bpf::record::{self, text};
use crate::perf_event;
use crate::unwind::samples::Walked;
use crate::unwind::{SharedUnwinder, share_tables};

skeleton!("method");
use skeleton::types::{armed, call_count, call_key, entry_counts, method_hit, method_limit, times};
use skeleton::{MethodSkel, MethodSkelBuilder};

/// Breakpoints that a CPU has.
pub const BREAKPOINTS: usize = method_limit::BREAKPOINTS.0 as usize;
/// Entries that can be armed one after the other.
pub const MOST_ENTRIES: u32 = method_limit::MOST_ENTRIES.0;
/// Parts of a power of two that times are counted in.
const TIME_PARTS: usize = method_limit::TIME_PARTS.0 as usize;

/// What is seen without the program.
pub const WHAT: &str = "calls of compiled Java methods";

/// An address that is watched.
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
    fn sent(&self) -> armed {
        let Self { at, state, returns_to, entry, round, is_return } = *self;
        armed { at, state, returns_to, entry, round, is_return: is_return.into(), pad: 0 }
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

impl Program {
    /// Loads it for a process, whose stacks the unwinder knows.
    pub fn load(pid: u32, unwinder: &SharedUnwinder) -> Result<Self, Unavailable> {
        let mut open = Kit::alone(WHAT)
            .shares(|object| share_tables(object, Some(unwinder), None))
            .open(MethodSkelBuilder::default())?;
        open.constants().watched_pid = pid;
        let skel = open.load()?.skel;
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
        record::put(&self.skel.maps.armed, &(slot as u32), &armed.sent()).map_err(io::Error::other)
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
        let counts: Vec<entry_counts> = record::of_cpus(&self.skel.maps.entry_hits, entry);
        let sum = |which: method_hit| counts.iter().map(|counts| counts.hits[which.0 as usize]).sum();
        Hits {
            calls: sum(method_hit::HIT_CALL),
            replaced: sum(method_hit::HIT_REPLACED),
            not_kept: sum(method_hit::HIT_NOT_KEPT),
            elsewhere: sum(method_hit::HIT_ELSEWHERE),
            returns: sum(method_hit::HIT_RETURN),
        }
    }

    /// How long calls took that were timed at a return.
    pub fn times(&self, entry: u32) -> Times {
        let times: times = record::value(&self.skel.maps.entry_times, &entry).unwrap_or_default();
        let buckets = times.bucket.iter().enumerate().filter(|(_, count)| **count > 0);
        let buckets = buckets.map(|(bucket, count)| (start_of(bucket), *count)).collect();
        Times { count: times.count, sum_ns: times.sum_ns, max_ns: times.max_ns, buckets }
    }

    /// All calls so far, by caller and thread.
    pub fn calls(&self) -> Vec<Calls> {
        let calls = |(key, count): (call_key, call_count)| Calls {
            caller: Walked::of(key.caller.low, key.caller.high),
            is_walked: (key.caller.low, key.caller.high) != (0, 0),
            entry: key.entry,
            tid: key.tid,
            comm: text(&count.comm),
            count: count.count,
        };
        record::all(&self.skel.maps.calls).into_iter().map(calls).collect()
    }
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
