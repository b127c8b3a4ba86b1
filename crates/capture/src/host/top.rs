//! The processes that take most of the CPUs, recorded or not: `/proc/PID/stat` of all of
//! them.
//!
//! One small read for each process of the machine. When that takes more than a fixed share of a
//! CPU, it is done less often, down to once in [`SLOWEST`].

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use fathom_recording::vocabulary::live;

use super::{HostSource, thread_cpu_ns};
use crate::clock::monotonic_ns;
use crate::growing_series::{Gauge, Points};
use crate::procfs::{self, Stat, ticks_per_second};

/// Processes written at each reading.
const TOP: usize = 10;
/// Less than this of one CPU is not worth a point, so that a quiet machine has no series.
const LEAST_CPUS: f64 = 0.01;
/// Series made at most: short-lived processes (a build) would make thousands.
const MAX_SERIES: usize = 512;
/// CPU time of a reading as a share of the time between two.
const COST_SHARE: f64 = 0.002;
const SLOWEST: Duration = Duration::from_secs(10);

/// The source.
#[derive(Default)]
pub struct Top {
    /// CPU ticks of each process and its start, at the reading before.
    last: HashMap<i32, (u64, u64)>,
    last_ns: i64,
    next: Option<Instant>,
    series: HashMap<(i32, u64), Gauge>,
}

impl HostSource for Top {
    fn read(&mut self, points: &mut Points<'_, '_>) {
        let now = Instant::now();
        if self.next.is_some_and(|next| now < next) {
            return;
        }
        let (cpu_before, now_ns) = (thread_cpu_ns(), monotonic_ns());
        let dt_ns = now_ns - std::mem::replace(&mut self.last_ns, now_ns);
        let mut stats: HashMap<i32, (u64, u64)> = HashMap::with_capacity(self.last.len() + 16);
        let mut busy: Vec<(u64, i32, u64)> = Vec::new();
        for pid in procfs::pids() {
            let Some(stat) = Stat::of(pid) else { continue };
            let (ticks, start) = (stat.cpu_ticks(), stat.start_ticks);
            // One that was not there before has used all of its time since.
            let before = self.last.get(&pid).filter(|(_, s)| *s == start).map_or(0, |(ticks, _)| *ticks);
            if ticks > before && !self.last.is_empty() {
                busy.push((ticks - before, pid, start));
            }
            stats.insert(pid, (ticks, start));
        }
        self.last = stats;
        let cpus = |ticks: u64| ticks as f64 / ticks_per_second() as f64 / (dt_ns.max(1) as f64 / 1e9);
        busy.sort_unstable_by_key(|(ticks, ..)| std::cmp::Reverse(*ticks));
        let mut written: HashSet<(i32, u64)> = HashSet::new();
        for (ticks, pid, start) in busy.iter().take(TOP).filter(|(ticks, ..)| cpus(*ticks) >= LEAST_CPUS) {
            if !self.series.contains_key(&(*pid, *start)) {
                if self.series.len() >= MAX_SERIES {
                    continue;
                }
                let process = points.process(*pid);
                let instance = format!("{} ({pid})", points.name(process));
                self.series.insert((*pid, *start), Gauge::of(live::PROCESS_CPU, &instance, process));
            }
            if let Some(gauge) = self.series.get_mut(&(*pid, *start)) {
                points.point(gauge, dt_ns, cpus(*ticks));
                written.insert((*pid, *start));
            }
        }
        // One that was among them and is not now is written as it is: a gap would look as if its
        // value were not known.
        for (key, gauge) in self.series.iter_mut().filter(|(key, _)| !written.contains(key)) {
            let ticks =
                busy.iter().find(|(_, pid, start)| (*pid, *start) == *key).map_or(0, |(ticks, ..)| *ticks);
            if self.last.get(&key.0).is_some_and(|(_, start)| *start == key.1) {
                points.point(gauge, dt_ns, cpus(ticks));
            }
        }
        let cost = Duration::from_nanos((thread_cpu_ns() - cpu_before).max(0) as u64);
        let pause = cost.div_f64(COST_SHARE).clamp(Duration::ZERO, SLOWEST);
        self.next = Some(now + pause);
    }
}
