//! Limits of what control groups may read from and write to block devices, and how near they are
//! to them: `io.max` and `io.stat` of v2, `blkio.throttle.*` of v1
//! (Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/blkio-controller.rst).
//!
//! A request above a limit waits in the kernel before it is one to the device, which is idle
//! meanwhile. A limit may come, and a process be moved into a group, at any time, so that both are
//! looked for each second; what has no limit has no series.

use std::collections::HashMap;
use std::path::Path;

use fathom_recording::vocabulary::live;

use super::HostSource;
use super::cgroup::Mounts;
use crate::TargetEvent;
use crate::growing_series::{Counter, Gauge, Points};
use crate::procfs;
use crate::target::Change;

/// Processes that are looked at, and limits of one of them that have series.
const MOST_PROCESSES: usize = 64;
const MOST_LIMITS: usize = 16;

/// What is limited: requests or bytes, of reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Kind {
    reads: bool,
    bytes: bool,
}

/// A limit: the device's number, what is limited, and to how much a second.
type Limit = (String, Kind, f64);

/// v2: names in io.max and io.stat; v1: the file of the limit, and the one that counts.
const KINDS: [(Kind, &str, &str, &str, &str); 4] = [
    (
        Kind { reads: true, bytes: false },
        "riops",
        "rios",
        "blkio.throttle.read_iops_device",
        "blkio.throttle.io_serviced_recursive",
    ),
    (
        Kind { reads: false, bytes: false },
        "wiops",
        "wios",
        "blkio.throttle.write_iops_device",
        "blkio.throttle.io_serviced_recursive",
    ),
    (
        Kind { reads: true, bytes: true },
        "rbps",
        "rbytes",
        "blkio.throttle.read_bps_device",
        "blkio.throttle.io_service_bytes_recursive",
    ),
    (
        Kind { reads: false, bytes: true },
        "wbps",
        "wbytes",
        "blkio.throttle.write_bps_device",
        "blkio.throttle.io_service_bytes_recursive",
    ),
];

/// The limits of a group.
fn limits(group: &Path) -> Vec<Limit> {
    let read = |name: &str| procfs::read_to_string(group.join(name)).unwrap_or_default();
    let mut limits = of_io_max(&read("io.max"));
    for (kind, _, _, file, _) in KINDS {
        // "254:0 150"
        let lines = read(file);
        let limit = |line: &str| {
            let (device, value) = line.split_once(' ')?;
            Some((device.to_owned(), kind, value.trim().parse().ok()?))
        };
        limits.extend(lines.lines().filter_map(limit));
    }
    limits
}

/// "8:16 rbps=2097152 wbps=max riops=max wiops=120"
fn of_io_max(text: &str) -> Vec<Limit> {
    let of_line = |line: &str| -> Option<Vec<Limit>> {
        let (device, values) = line.split_once(' ')?;
        let limit = |(kind, name, ..): &(Kind, &str, &str, &str, &str)| {
            Some((device.to_owned(), *kind, value(values, name)?.parse().ok()?))
        };
        Some(KINDS.iter().filter_map(limit).collect())
    };
    text.lines().filter_map(of_line).flatten().collect()
}

/// The value of `name=value` among words.
fn value<'a>(words: &'a str, name: &str) -> Option<&'a str> {
    words.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

/// What a group has done so far of what is limited.
fn done(group: &Path, device: &str, kind: Kind) -> Option<u64> {
    let (.., counted, _, file) = KINDS.into_iter().find(|(of, ..)| *of == kind)?;
    let stat = procfs::read_to_string(group.join("io.stat")).unwrap_or_default();
    let of_device = |line: &&str| line.strip_prefix(device).is_some_and(|rest| rest.starts_with(' '));
    if let Some(line) = stat.lines().find(of_device) {
        return value(line, counted)?.parse().ok();
    }
    // "254:0 Read 1419840"
    let direction = if kind.reads { "Read" } else { "Write" };
    let counts = procfs::read_to_string(group.join(file)).unwrap_or_default();
    let mut lines = counts.lines().filter(of_device);
    lines.find_map(|line| line[device.len()..].trim().strip_prefix(direction)?.trim().parse().ok())
}

/// "vda" of "254:0"; the number where it has no name.
fn name_of(device: &str) -> String {
    let link = std::fs::read_link(Path::new("/sys/dev/block").join(device)).ok();
    let name = link.and_then(|link| Some(link.file_name()?.to_str()?.to_owned()));
    name.unwrap_or_else(|| device.to_owned())
}

/// The series of a limit.
struct Limited {
    limit: Gauge,
    done: Counter,
}

/// The source.
#[derive(Default)]
pub struct CgroupIo {
    processes: HashMap<i32, HashMap<(String, Kind), Limited>>,
    mounts: Option<Mounts>,
}

impl HostSource for CgroupIo {
    fn read(&mut self, points: &mut Points<'_, '_>) {
        let mounts = self.mounts.get_or_insert_with(Mounts::read);
        for (pid, series) in &mut self.processes {
            for (group, _) in mounts.groups_of(*pid, &["", "blkio"]) {
                let path = group.strip_prefix("/sys/fs/cgroup").unwrap_or(&group).display().to_string();
                for (device, kind, limit) in limits(&group) {
                    let direction = if kind.reads { "read" } else { "write" };
                    let instance = format!("{path} {} {direction}", name_of(&device));
                    let key = (instance, kind);
                    if series.len() >= MOST_LIMITS && !series.contains_key(&key) {
                        continue;
                    }
                    let process = points.process(*pid);
                    let limited = series.entry(key).or_insert_with_key(|(instance, kind)| {
                        let gauge = |word| Gauge::of(word, instance, process);
                        let (limit, done) = match kind.bytes {
                            true => (gauge(live::CGROUP_IO_BYTES_MAX), gauge(live::CGROUP_IO_BYTES)),
                            false => (gauge(live::CGROUP_IO_REQUESTS_MAX), gauge(live::CGROUP_IO_REQUESTS)),
                        };
                        Limited { limit, done: Counter::new(done, 1.0) }
                    });
                    points.gauge(&mut limited.limit, limit);
                    if let Some(done) = done(&group, &device, kind) {
                        points.counter(&mut limited.done, done);
                    }
                }
            }
        }
    }

    fn target(&mut self, event: &TargetEvent) {
        let pid = event.target.pid;
        match event.change {
            Change::Gone => drop(self.processes.remove(&pid)),
            _ if self.processes.len() < MOST_PROCESSES => {
                self.processes.entry(pid).or_default();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const READS: Kind = Kind { reads: true, bytes: false };

    #[test]
    fn limits_are_read_of_both_hierarchies_and_max_is_none() {
        let v2 = of_io_max("8:16 rbps=2097152 wbps=max riops=max wiops=120\n");
        let writes = Kind { reads: false, bytes: false };
        let bytes = Kind { reads: true, bytes: true };
        assert_eq!(v2, [("8:16".to_owned(), writes, 120.0), ("8:16".to_owned(), bytes, 2_097_152.0)]);
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| std::fs::write(dir.path().join(name), text).unwrap();
        put("blkio.throttle.read_iops_device", "254:0 150\n");
        put("blkio.throttle.io_serviced_recursive", "254:0 Read 7\n254:0 Write 9\n254:16 Read 3\nTotal 19\n");
        assert_eq!(limits(dir.path()), [("254:0".to_owned(), READS, 150.0)]);
        assert_eq!(done(dir.path(), "254:0", READS), Some(7));
        assert_eq!(done(dir.path(), "254:1", READS), None, "no other device");
        put("io.stat", "254:0 rbytes=1 wbytes=2 rios=11 wios=4\n");
        assert_eq!(done(dir.path(), "254:0", READS), Some(11));
    }
}
