//! CPU time of each recorded JVM's threads by what they are for: application, GC, JIT, VM.
//!
//! Only the JVM's own threads are read one by one, some tens; what is left of the process' time is
//! the application's, however many threads it has. Threads that end between two readings count as
//! the application's.

use std::collections::{BTreeMap, HashMap, HashSet};

use fathom_recording::vocabulary::live;
use fathom_recording::{ProcessId, Role};

use super::HostSource;
use crate::TargetEvent;
use crate::growing_series::{Counter, Gauge, Points};
use crate::procfs::{self, Repeated, Stat, tasks, ticks_per_second};
use crate::target::{Change, Target};

/// JVMs that have series, at most.
const MAX_JVMS: usize = 16;
/// Threads whose names are asked for at a reading: a JVM with thousands is found out over some
/// readings.
const NAMES_AT_ONCE: usize = 256;
/// Readings after which names are asked for again.
const NAMES_AGAIN: u32 = 8;
/// Threads of the JVM itself that are read.
const MAX_OWN: usize = 256;

/// The roles that are read, in the order of the counters; then the application's.
const OWN: [(Role, &str); 3] = [(Role::Gc, "gc"), (Role::Jit, "jit"), (Role::Vm, "vm")];

/// The source.
#[derive(Default)]
pub struct Roles {
    jvms: BTreeMap<i32, Jvm>,
}

struct Jvm {
    process: ProcessId,
    stat: Option<Repeated>,
    /// Threads of the JVM's own.
    own: HashMap<i32, Own>,
    /// All threads whose names are known.
    known: HashSet<i32>,
    readings: u32,
    /// Ticks so far by role, then in all.
    used: [u64; OWN.len()],
    counters: Option<[Counter; OWN.len() + 1]>,
    app: u64,
    total: Option<u64>,
}

/// A thread of the JVM's own. Its file is opened at each reading: on a machine with many CPUs
/// a JVM has as many threads as a recording has descriptors in all.
struct Own {
    /// The place of its role in [`OWN`].
    role: usize,
    /// When it started: ids are used again.
    start_ticks: u64,
    /// What it had used at the last reading.
    ticks: u64,
}

fn stat_of(pid: i32, tid: i32) -> Option<Stat> {
    Stat::parse(&procfs::read_to_string(format!("/proc/{pid}/task/{tid}/stat"))?)
}

impl Jvm {
    fn new(target: &Target) -> Self {
        Self {
            process: target.process,
            stat: Repeated::open(procfs::path(target.pid, "stat")),
            own: HashMap::new(),
            known: HashSet::new(),
            readings: 0,
            used: [0; OWN.len()],
            counters: None,
            app: 0,
            total: None,
        }
    }

    fn read(&mut self, pid: i32, points: &mut Points<'_, '_>) -> Option<()> {
        self.find_threads(pid);
        let total = Stat::parse(self.stat.as_mut()?.read()?)?.cpu_ticks();
        let mut own_rise = 0;
        let used = &mut self.used;
        self.own.retain(|tid, own| {
            let stat = stat_of(pid, *tid).filter(|stat| stat.start_ticks == own.start_ticks);
            let Some(ticks) = stat.map(|stat| stat.cpu_ticks()) else { return false };
            let rise = ticks.saturating_sub(std::mem::replace(&mut own.ticks, ticks));
            used[own.role] += rise;
            own_rise += rise;
            true
        });
        let rise = self.total.replace(total).map_or(0, |last| total.saturating_sub(last));
        self.app += rise.saturating_sub(own_rise);
        let process = self.process;
        let counters = self.counters.get_or_insert_with(|| {
            let name = points.name(process);
            let roles = OWN.map(|(_, word)| word);
            let [gc, jit, vm] = roles;
            [gc, jit, vm, "app"].map(|word| {
                let gauge = Gauge::of(live::PROCESS_CPU_ROLE, &format!("{name} ({pid}) {word}"), process);
                Counter::new(gauge, 1.0 / ticks_per_second() as f64)
            })
        });
        let values = self.used.iter().chain(std::iter::once(&self.app));
        counters.iter_mut().zip(values).for_each(|(counter, ticks)| points.counter(counter, *ticks));
        Some(())
    }

    /// Looks for threads that are new, and forgets those that are gone.
    fn find_threads(&mut self, pid: i32) {
        let tids = tasks(pid);
        // A thread gets its name some time after its start; ids are used again.
        self.readings += 1;
        if self.readings.is_multiple_of(NAMES_AGAIN) {
            self.known.clear();
        }
        let new: Vec<i32> =
            tids.into_iter().filter(|tid| !self.known.contains(tid)).take(NAMES_AT_ONCE).collect();
        for tid in new {
            let Some(name) = procfs::read_to_string(format!("/proc/{pid}/task/{tid}/comm")) else { continue };
            self.known.insert(tid);
            let role = Role::of_named(name.trim_end(), None);
            let Some(role) = OWN.iter().position(|(r, _)| *r == role) else { continue };
            if self.own.contains_key(&tid) || self.own.len() >= MAX_OWN {
                continue;
            }
            let Some(stat) = stat_of(pid, tid) else { continue };
            self.own.insert(tid, Own { role, start_ticks: stat.start_ticks, ticks: stat.cpu_ticks() });
        }
    }
}

impl HostSource for Roles {
    fn read(&mut self, points: &mut Points<'_, '_>) {
        self.jvms.retain(|pid, jvm| jvm.read(*pid, points).is_some());
    }

    fn target(&mut self, event: &TargetEvent) {
        let target = &event.target;
        match event.change {
            Change::Gone => {
                self.jvms.remove(&target.pid);
            }
            _ if target.jvm && self.jvms.len() < MAX_JVMS => {
                self.jvms.insert(target.pid, Jvm::new(target));
            }
            _ => {}
        }
    }
}
