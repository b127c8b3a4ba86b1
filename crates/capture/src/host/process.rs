//! The recorded processes: `/proc/PID/{stat,status,io,schedstat,fd}` (fs/proc/array.c,
//! fs/proc/base.c).

use std::collections::BTreeMap;

use fathom_recording::ProcessId;
use fathom_recording::vocabulary::live;

use super::HostSource;
use crate::growing_series::{Counter, Gauge, Points};
use crate::procfs::{self, Repeated, Stat, ticks_per_second};
use crate::{Target, TargetEvent, target::Change};

/// Processes with series of their own, those that joined first; the others are in `process.cpu`
/// when they take much.
const MAX_PROCESSES: usize = 64;

/// The source.
#[derive(Default)]
pub struct Processes {
    followed: BTreeMap<i32, One>,
}

/// A process with its open files.
struct One {
    process: ProcessId,
    pid: i32,
    stat: Option<Repeated>,
    status: Option<Repeated>,
    io: Option<Repeated>,
    series: Option<Series>,
}

struct Series {
    user: Counter,
    kernel: Counter,
    rss: Gauge,
    swap: Gauge,
    minor: Counter,
    major: Counter,
    voluntary: Counter,
    involuntary: Counter,
    threads: Gauge,
    nice: Gauge,
    fds: Gauge,
    read: Counter,
    written: Counter,
}

impl Series {
    fn new(instance: &str, process: ProcessId) -> Self {
        let gauge = |word| Gauge::of(word, instance, process);
        let counter = |word, step| Counter::new(gauge(word), step);
        let tick = 1.0 / ticks_per_second() as f64;
        Self {
            user: counter(live::PROCESS_CPU_USER, tick),
            kernel: counter(live::PROCESS_CPU_KERNEL, tick),
            rss: gauge(live::PROCESS_RSS),
            swap: gauge(live::PROCESS_SWAP),
            minor: counter(live::PROCESS_MINOR_FAULTS, 1.0),
            major: counter(live::PROCESS_MAJOR_FAULTS, 1.0),
            voluntary: counter(live::PROCESS_SWITCHES_VOLUNTARY, 1.0),
            involuntary: counter(live::PROCESS_SWITCHES_INVOLUNTARY, 1.0),
            threads: gauge(live::PROCESS_THREADS),
            nice: gauge(live::PROCESS_NICE),
            fds: gauge(live::PROCESS_FDS),
            read: counter(live::PROCESS_READ, 1.0),
            written: counter(live::PROCESS_WRITTEN, 1.0),
        }
    }
}

impl One {
    fn open(target: &Target) -> Self {
        let open = |name| Repeated::open(procfs::path(target.pid, name));
        Self {
            process: target.process,
            pid: target.pid,
            stat: open("stat"),
            status: open("status"),
            io: open("io"),
            series: None,
        }
    }

    /// `None` when it is gone.
    fn read(&mut self, points: &mut Points<'_, '_>) -> Option<()> {
        let stat = Stat::parse(self.stat.as_mut()?.read()?)?;
        let (process, pid) = (self.process, self.pid);
        let series = self
            .series
            .get_or_insert_with(|| Series::new(&format!("{} ({pid})", points.name(process)), process));
        points.counter(&mut series.user, stat.user_ticks);
        points.counter(&mut series.kernel, stat.sys_ticks);
        points.gauge(&mut series.rss, (stat.rss_pages as f64) * rustix::param::page_size() as f64);
        points.counter(&mut series.minor, stat.minor_faults);
        points.counter(&mut series.major, stat.major_faults);
        points.gauge(&mut series.threads, stat.threads as f64);
        points.gauge(&mut series.nice, stat.nice as f64);
        // The size of a process' fd directory is the number of its descriptors from 6.2 on
        // (fs/proc/fd.c).
        let fds = std::fs::metadata(procfs::path(pid, "fd")).ok().map(|info| info.len()).filter(|n| *n > 0);
        fds.into_iter().for_each(|fds| points.gauge(&mut series.fds, fds as f64));
        for line in self.status.as_mut().and_then(Repeated::read).unwrap_or_default().lines() {
            let Some((label, value)) = line.split_once(':') else { continue };
            let number = || value.split_ascii_whitespace().next()?.parse::<u64>().ok();
            match label {
                "VmSwap" => {
                    number().into_iter().for_each(|kb| points.gauge(&mut series.swap, kb as f64 * 1024.0))
                }
                "voluntary_ctxt_switches" => {
                    number().into_iter().for_each(|n| points.counter(&mut series.voluntary, n));
                }
                "nonvoluntary_ctxt_switches" => {
                    number().into_iter().for_each(|n| points.counter(&mut series.involuntary, n));
                }
                _ => {}
            }
        }
        for line in self.io.as_mut().and_then(Repeated::read).unwrap_or_default().lines() {
            let Some((label, value)) = line.split_once(": ") else { continue };
            let counter = match label {
                "read_bytes" => &mut series.read,
                "write_bytes" => &mut series.written,
                _ => continue,
            };
            value.parse().into_iter().for_each(|bytes| points.counter(counter, bytes));
        }
        Some(())
    }
}

impl HostSource for Processes {
    fn read(&mut self, points: &mut Points<'_, '_>) {
        self.followed.retain(|_, one| one.read(points).is_some());
    }

    fn target(&mut self, event: &TargetEvent) {
        let target = &event.target;
        match event.change {
            Change::Gone => {
                self.followed.remove(&target.pid);
            }
            Change::Appeared | Change::Exec if self.followed.len() < MAX_PROCESSES => {
                self.followed.insert(target.pid, One::open(target));
            }
            Change::Appeared | Change::Exec | Change::BecameJvm => {}
        }
    }
}
