//! Control groups of the recorded processes: CPU quota and throttling, memory and its limit.
//!
//! A limit may stand on any group above the process' own (a pod's, a slice's), and its throttling
//! is counted where it stands: the process' own group has series, and every one above it that
//! limits something. Both hierarchies, v1 and v2 (Documentation/admin-guide/cgroup-v1,
//! cgroup-v2.rst); what a group does not have is left out.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use fathom_recording::vocabulary::live;

use super::HostSource;
use crate::TargetEvent;
use crate::growing_series::{Counter, Gauge, Points};
use crate::procfs::{self, Repeated};
use crate::target::Change;

/// Groups that have series, at most.
const MAX_GROUPS: usize = 64;
/// Controllers whose files are read; "": those of v2.
const CONTROLLERS: [&str; 4] = ["", "cpu", "cpuacct", "memory"];
/// Limits beyond this are none: v1 prints the largest number of pages as bytes.
const NO_LIMIT: u64 = 1 << 60;

/// The source.
#[derive(Default)]
pub struct Cgroups {
    /// By directory, with the processes that are in or below it.
    groups: BTreeMap<PathBuf, (Group, Vec<i32>)>,
    mounts: Option<Mounts>,
}

/// Where hierarchies are mounted: the unified one under "", v1 ones by controller.
pub(super) struct Mounts(HashMap<String, PathBuf>);

impl Mounts {
    pub(super) fn read() -> Self {
        let mut mounts = HashMap::new();
        // "36 35 0:31 / /sys/fs/cgroup/cpu rw,… - cgroup cgroup rw,cpu,cpuacct"
        // (proc_pid_mountinfo(5)).
        for line in procfs::read_to_string("/proc/self/mountinfo").unwrap_or_default().lines() {
            let Some((mount, options)) = line.split_once(" - ") else { continue };
            let Some(place) = mount.split(' ').nth(4) else { continue };
            let mut options = options.split(' ');
            match options.next() {
                Some("cgroup2") => drop(mounts.insert(String::new(), PathBuf::from(place))),
                Some("cgroup") => {
                    for controller in options.nth(1).unwrap_or_default().split(',') {
                        mounts.insert(controller.to_owned(), PathBuf::from(place));
                    }
                }
                _ => {}
            }
        }
        Self(mounts)
    }

    /// Directories of a process' groups that have one of these controllers, below the mounts: its
    /// own (`true`) and those above, without the roots.
    pub(super) fn groups_of(&self, pid: i32, controllers: &[&str]) -> Vec<(PathBuf, bool)> {
        let mut found = Vec::new();
        let text = procfs::read_to_string(procfs::path(pid, "cgroup")).unwrap_or_default();
        for line in text.lines() {
            // "0::/path", "4:cpu,cpuacct:/path"
            let mut parts = line.splitn(3, ':').skip(1);
            let (Some(own), Some(path)) = (parts.next(), parts.next()) else { continue };
            let wanted = own.split(',').find(|controller| controllers.contains(controller));
            let Some(mount) = wanted.and_then(|controller| self.0.get(controller)) else { continue };
            let own = mount.join(path.trim_start_matches('/'));
            let above = own.ancestors().take_while(|dir| *dir != mount && dir.starts_with(mount));
            found.extend(above.enumerate().map(|(i, dir)| (dir.to_path_buf(), i == 0)));
        }
        found
    }
}

/// A group's files and series; each is there or not.
#[derive(Default)]
struct Group {
    files: Vec<(Repeated, File)>,
    usage: Option<Counter>,
    throttled: Option<Counter>,
    periods: Option<Counter>,
    quota: Option<Gauge>,
    weight: Option<Gauge>,
    memory: Option<Gauge>,
    memory_max: Option<Gauge>,
    limit_hits: Option<Counter>,
    oom_kills: Option<Counter>,
    /// Microseconds of a v1 quota's period.
    period_us: f64,
}

/// What a file holds.
#[derive(Clone, Copy, PartialEq)]
enum File {
    /// Lines of a name and a number.
    Table,
    /// v2: "max 100000" or "50000 100000", microseconds.
    CpuMax,
    /// v1: microseconds of the period; stands before the quota.
    PeriodUs,
    /// v1: microseconds a period, -1 without a quota.
    QuotaUs,
    /// A weight, and the one that is the default.
    Weight(f64),
    /// v1: nanoseconds of CPU time.
    UsageNs,
    /// Bytes, or "max".
    Memory,
    MemoryMax,
    /// v1: how often the limit was hit.
    FailCount,
}

/// Files by name, v2 and v1.
const FILES: [(&str, File); 14] = [
    ("cpu.stat", File::Table),
    ("cpu.max", File::CpuMax),
    ("cpu.weight", File::Weight(100.0)),
    ("cpu.shares", File::Weight(1024.0)),
    ("memory.current", File::Memory),
    ("memory.max", File::MemoryMax),
    ("memory.events", File::Table),
    ("cpu.cfs_period_us", File::PeriodUs),
    ("cpu.cfs_quota_us", File::QuotaUs),
    ("cpuacct.usage", File::UsageNs),
    ("memory.usage_in_bytes", File::Memory),
    ("memory.limit_in_bytes", File::MemoryMax),
    ("memory.failcnt", File::FailCount),
    ("memory.oom_control", File::Table),
];

impl Group {
    fn open(dir: &Path) -> Self {
        let instance = dir.strip_prefix("/sys/fs/cgroup").unwrap_or(dir).display().to_string();
        let gauge = |word| Gauge::new(word, &instance);
        let counter = |word, step| Some(Counter::new(gauge(word), step));
        let open = |(name, file): &(&str, File)| Some((Repeated::open(dir.join(name))?, *file));
        Self {
            files: FILES.iter().filter_map(open).collect(),
            usage: counter(live::CGROUP_CPU, 1e-9),
            throttled: counter(live::CGROUP_THROTTLED, 1e-9),
            periods: counter(live::CGROUP_THROTTLED_PERIODS, 1.0),
            quota: Some(gauge(live::CGROUP_CPU_QUOTA)),
            weight: Some(gauge(live::CGROUP_CPU_WEIGHT)),
            memory: Some(gauge(live::CGROUP_MEMORY)),
            memory_max: Some(gauge(live::CGROUP_MEMORY_MAX)),
            limit_hits: counter(live::CGROUP_MEMORY_LIMIT_HITS, 1.0),
            oom_kills: counter(live::CGROUP_OOM_KILLS, 1.0),
            period_us: 0.0,
        }
    }

    /// Whether anything is limited in it.
    fn limits(dir: &Path) -> bool {
        let read = |name: &str| procfs::read_to_string(dir.join(name)).unwrap_or_default();
        let is_limit = |text: &str| text.trim().parse::<u64>().is_ok_and(|n| n < NO_LIMIT);
        let v2 = read("cpu.max").split(' ').next().is_some_and(is_limit) || is_limit(&read("memory.max"));
        v2 || is_limit(&read("cpu.cfs_quota_us")) || is_limit(&read("memory.limit_in_bytes"))
    }

    fn read(&mut self, points: &mut Points<'_, '_>) {
        let mut files = std::mem::take(&mut self.files);
        let mut hits = None;
        for (file, what) in &mut files {
            let text = file.read().unwrap_or_default().trim_end();
            let number = || text.parse::<u64>().ok();
            match what {
                File::Table => hits = self.table(text, points).or(hits),
                File::CpuMax => {
                    let (quota, period) = text.split_once(' ').unwrap_or_default();
                    self.write_quota(quota.parse().ok().zip(period.parse().ok()), points);
                }
                File::PeriodUs => self.period_us = number().unwrap_or(0) as f64,
                File::QuotaUs => self.write_quota(number().map(|n| (n as f64, self.period_us)), points),
                File::Weight(usual) => gauged(&mut self.weight, number().map(|n| n as f64 / *usual), points),
                File::UsageNs => counted(&mut self.usage, number(), points),
                File::Memory => gauged(&mut self.memory, number().map(|n| n as f64), points),
                File::MemoryMax => {
                    let limit = number().filter(|n| *n < NO_LIMIT).map(|n| n as f64);
                    gauged(&mut self.memory_max, limit, points);
                }
                File::FailCount => hits = number(),
            }
        }
        counted(&mut self.limit_hits, hits, points);
        self.files = files;
    }

    /// Lines of a name and a number. How often a limit of memory was hit, where they have it.
    fn table(&mut self, text: &str, points: &mut Points<'_, '_>) -> Option<u64> {
        let mut hits = None;
        for line in text.lines() {
            let Some((name, value)) = line.split_once(' ') else { continue };
            let Ok(value) = value.trim().parse::<u64>() else { continue };
            match name {
                "usage_usec" => counted(&mut self.usage, Some(value.saturating_mul(1000)), points),
                "throttled_usec" => counted(&mut self.throttled, Some(value.saturating_mul(1000)), points),
                "throttled_time" => counted(&mut self.throttled, Some(value), points),
                "nr_throttled" => counted(&mut self.periods, Some(value), points),
                "oom_kill" => counted(&mut self.oom_kills, Some(value), points),
                "high" | "max" => hits = Some(hits.unwrap_or(0) + value),
                _ => {}
            }
        }
        hits
    }

    fn write_quota(&mut self, quota: Option<(f64, f64)>, points: &mut Points<'_, '_>) {
        let cpus = quota.filter(|(_, period)| *period > 0.0).map(|(quota, period)| quota / period);
        gauged(&mut self.quota, cpus, points);
    }
}

fn counted(counter: &mut Option<Counter>, value: Option<u64>, points: &mut Points<'_, '_>) {
    if let (Some(counter), Some(value)) = (counter, value) {
        points.counter(counter, value);
    }
}

fn gauged(gauge: &mut Option<Gauge>, value: Option<f64>, points: &mut Points<'_, '_>) {
    if let (Some(gauge), Some(value)) = (gauge, value) {
        points.gauge(gauge, value);
    }
}

impl HostSource for Cgroups {
    fn read(&mut self, points: &mut Points<'_, '_>) {
        self.groups.values_mut().for_each(|(group, _)| group.read(points));
    }

    fn target(&mut self, event: &TargetEvent) {
        let pid = event.target.pid;
        match event.change {
            Change::Appeared => {
                let mounts = self.mounts.get_or_insert_with(Mounts::read);
                for (dir, own) in mounts.groups_of(pid, &CONTROLLERS) {
                    if let Some((_, members)) = self.groups.get_mut(&dir) {
                        members.push(pid);
                    } else if self.groups.len() < MAX_GROUPS && (own || Group::limits(&dir)) {
                        self.groups.insert(dir.clone(), (Group::open(&dir), vec![pid]));
                    }
                }
            }
            Change::Gone => self.groups.retain(|_, (_, members)| {
                members.retain(|member| *member != pid);
                !members.is_empty()
            }),
            Change::Exec | Change::BecameJvm => {}
        }
    }
}
