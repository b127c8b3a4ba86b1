//! A JVM whose locks are watched: its threads as owners, its classes by name.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use fathom_hotspot::continuation::ContinuationConstants;
use fathom_hotspot::locks::{LockClass, LockConstants, Locks, Waiting};
use fathom_hotspot::threads::Threads;
use fathom_hotspot::{Result, Vm};

use super::event::{Event, Waited};
use super::owners::Owners;
use crate::clock::monotonic_ns;
use crate::procfs::{self, Stat};

/// Reading the threads may take this part of one CPU's time at most: the next time is so many
/// times later as it took.
const REST: u32 = 10;
/// How often where nothing shows that there are new ones.
const SELDOM: Duration = Duration::from_millis(500);
/// Names of threads that are kept when these have ended: they may have held a lock.
const MOST_NAMES: usize = 16_384;

/// See the module.
pub(super) struct Jvm {
    vm: Vm,
    threads: Threads,
    locks: Locks,
    /// Where the program finds what it reads.
    pub(super) constants: LockConstants,
    /// Where a lock of `java.util.concurrent` keeps its owner, once one was seen.
    pub(super) exclusive_owner: u32,
    /// The way to virtual threads, on JDKs before 25.
    pub(super) continuation: Option<ContinuationConstants>,
    list: Option<u64>,
    next: Instant,
    seldom: Instant,
    looked: Instant,
    /// By `JavaThread`.
    by_address: HashMap<u64, u32>,
    java: HashSet<u32>,
    owners: Owners,
    names: HashMap<u32, String>,
    /// Those of them that carry virtual threads.
    carriers: HashSet<u32>,
    /// Whether the JVM's ids of threads are those that this process has for them (not in a
    /// container of its own).
    same_ids: bool,
}

impl Jvm {
    /// Reads a JVM. An error while it starts: try again.
    pub(super) fn open(pid: u32) -> Result<Self> {
        let vm = Vm::open(pid)?;
        let mut threads = Threads::new(&vm)?;
        let mut locks = Locks::new(&vm)?;
        let addresses: Vec<u64> = threads.all(&vm)?.iter().filter_map(|thread| thread.java).collect();
        let constants = locks.constants(&vm, &addresses)?;
        Ok(Self {
            vm,
            threads,
            locks,
            constants,
            exclusive_owner: 0,
            continuation: None,
            list: None,
            next: Instant::now(),
            seldom: Instant::now(),
            looked: Instant::now(),
            by_address: HashMap::new(),
            java: HashSet::new(),
            owners: Owners::default(),
            names: HashMap::new(),
            carriers: HashSet::new(),
            same_ids: same_ids(pid),
        })
    }

    /// The JVM itself.
    pub(super) fn vm(&self) -> &Vm {
        &self.vm
    }

    /// Java threads that were not known, by id and address, when it is time to look.
    /// `asked`: there is one of which nothing is known.
    pub(super) fn new_threads(&mut self, asked: bool) -> Vec<(u32, u64)> {
        let begun = Instant::now();
        if begun < self.next {
            return Vec::new();
        }
        let list = self.locks.list_of_threads(&self.vm);
        // A list that is freed gives its address to a later one: the same address says little.
        let is_same = !asked && begun < self.seldom && (list.is_none() || list == self.list);
        if is_same {
            return Vec::new();
        }
        self.list = list;
        self.looked = begun;
        let all = self.ids();
        // One that had not run when it was seen is asked again.
        let is_new = |tid: &u32, at: &u64| self.by_address.get(at) != Some(tid) || !self.owners.knows(*tid);
        let fresh: Vec<(u32, u64)> =
            all.iter().filter(|(tid, at)| is_new(tid, at)).map(|(tid, at)| (*tid, *at)).collect();
        self.java = all.iter().map(|(tid, _)| *tid).collect();
        self.by_address = all.into_iter().map(|(tid, address)| (address, tid)).collect();
        // A list that could not be read is empty.
        if !self.java.is_empty() {
            self.owners.are(&self.java, monotonic_ns().max(0).cast_unsigned());
        }
        for (tid, address) in &fresh {
            if let Ok(keys) = self.locks.owner_keys(&self.vm, &self.constants, *address) {
                self.owners.add(*tid, keys, started_ns(*tid));
            }
            if self.names.len() >= MOST_NAMES {
                self.names.retain(|tid, _| self.java.contains(tid));
                self.owners.forget_ended(&self.java);
                self.carriers.retain(|tid| self.java.contains(tid));
            }
            if self.locks.is_carrier(&self.vm, *address).unwrap_or(false) {
                self.carriers.insert(*tid);
            } else {
                self.carriers.remove(tid);
            }
            match self.threads.java_name(&self.vm, *address) {
                Ok(name) => drop(self.names.insert(*tid, name)),
                Err(_) => drop(self.names.remove(tid)),
            }
        }
        let now = Instant::now();
        (self.next, self.seldom) = (now + begun.elapsed() * REST, now + SELDOM);
        fresh
    }

    /// Java threads by id and address.
    fn ids(&mut self) -> Vec<(u32, u64)> {
        if self.same_ids {
            let ids = self.threads.java_ids(&self.vm).unwrap_or_default();
            return ids.into_iter().map(|(address, tid)| (tid, address)).collect();
        }
        let all = self.threads.all(&self.vm).unwrap_or_default();
        all.iter().filter_map(|thread| Some((thread.tid, thread.java?))).collect()
    }

    /// What a thread waits for, which must be asleep all the while.
    pub(super) fn waiting(&self, address: u64) -> Option<Waiting> {
        self.locks.waiting(&self.vm, &self.constants, address).ok().flatten()
    }

    /// Who holds the monitor that a thread waits for and that does not say so itself. The thread
    /// must be asleep all the while.
    pub(super) fn holder(&self, waiter: u32) -> Option<u32> {
        let threads = self.threads();
        let (_, address) = threads.iter().find(|(tid, _)| *tid == waiter)?;
        self.locks.holder(&self.vm, &self.constants, *address, &threads)
    }

    /// The Java threads that are known, by id and address.
    pub(super) fn threads(&self) -> Vec<(u32, u64)> {
        self.by_address.iter().map(|(address, tid)| (*tid, *address)).collect()
    }

    /// The class of the lock of a wait; `None` when it could not be read: the object moved at that
    /// moment, or the class was unloaded.
    pub(super) fn class(&mut self, event: &Event) -> Option<LockClass> {
        if event.header == [0, 0] {
            return None;
        }
        self.locks.class(&self.vm, event.header).ok()
    }

    /// The thread that held the lock when the wait began.
    pub(super) fn owner(&self, event: &Event, class: Option<&LockClass>) -> Option<u32> {
        // What looks like a thread id is one only if there is, or was, such a thread.
        let by_tid = Some(event.owner_tid).filter(|tid| self.same_ids && self.names.contains_key(tid));
        let owner = match event.waited {
            Waited::Wait => None,
            Waited::Native => by_tid,
            Waited::Park => class?.exclusive_owner.and(by_tid),
            Waited::Monitor if Locks::is_anonymous(event.owner) => None,
            Waited::Monitor => self.owners.of_monitor(event.owner, event.off_ns).or(by_tid),
        };
        owner.filter(|tid| *tid != event.tid)
    }

    /// A thread of it has ended.
    pub(super) fn thread_ended(&mut self, tid: u32, at_ns: u64) {
        self.owners.ended(tid, at_ns);
    }

    /// Whether its threads were read since a timestamp.
    pub(super) fn has_looked_since(&self, moment: Instant) -> bool {
        self.looked > moment
    }

    /// The address of a thread that is known as one of Java's.
    pub(super) fn address(&self, tid: u32) -> Option<u64> {
        let known = || self.by_address.iter().find(|(_, known)| **known == tid);
        if self.java.contains(&tid) { known().map(|(address, _)| *address) } else { None }
    }

    /// Whether a thread carries virtual threads.
    pub(super) fn is_carrier(&self, tid: u32) -> bool {
        self.carriers.contains(&tid)
    }

    /// The thread of the platform with a number of Java's.
    pub(super) fn numbered(&self, number: u64) -> Option<u32> {
        self.owners.numbered(number)
    }

    /// The way to virtual threads, where the JDK needs one, once a thread was seen that carries
    /// one: looks for such a thread for so long.
    pub(super) fn find_continuation(&mut self, most: Duration) -> Option<ContinuationConstants> {
        let carriers: Vec<u64> = self
            .by_address
            .iter()
            .filter(|(_, tid)| self.carriers.contains(tid))
            .map(|(at, _)| *at)
            .collect();
        let begun = Instant::now();
        while self.continuation.is_none() && !carriers.is_empty() && begun.elapsed() < most {
            let found = carriers.iter().find_map(|at| self.locks.continuation(&self.vm, *at));
            self.continuation = found;
        }
        self.continuation
    }

    /// Its version: 8, 17, 25.
    pub(super) fn feature(&self) -> u32 {
        self.vm.release.feature
    }

    /// Whether there are virtual threads.
    pub(super) fn has_virtual_threads(&self) -> bool {
        !self.carriers.is_empty()
    }

    /// Name of a thread.
    pub(super) fn name(&self, tid: u32) -> Option<&str> {
        self.names.get(&tid).map(String::as_str)
    }
}

/// When a thread started, monotonic nanoseconds, rounded down to a tick; 0 when it is gone. Ticks
/// count from boot, with the time that the machine was suspended.
fn started_ns(tid: u32) -> u64 {
    let line = procfs::read_to_string(procfs::path(tid.cast_signed(), "stat"));
    let Some(stat) = line.and_then(|line| Stat::parse(&line)) else { return 0 };
    let boot = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let boot_ns = boot.tv_sec.saturating_mul(1_000_000_000).saturating_add(boot.tv_nsec);
    let suspended_ns = boot_ns.saturating_sub(monotonic_ns()).max(0).cast_unsigned();
    let ns = stat.start_ticks.saturating_mul(1_000_000_000 / procfs::ticks_per_second());
    ns.saturating_sub(suspended_ns)
}

/// Whether a process lives in no pid namespace below this one.
fn same_ids(pid: u32) -> bool {
    let status = procfs::read_to_string(procfs::path(pid.cast_signed(), "status")).unwrap_or_default();
    let ids = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    ids.is_none_or(|ids| ids.split_whitespace().count() <= 1)
}
