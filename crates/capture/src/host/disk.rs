//! Disks: `/proc/diskstats` (Documentation/admin-guide/iostats.rst).
//!
//! Whole devices only: a partition's numbers are within its device's. Devices that never had a
//! request are left out.

use std::collections::BTreeMap;
use std::path::Path;

use fathom_recording::vocabulary::live;

use super::{HostSource, Unavailable};
use crate::growing_series::{Counter, Gauge, Points};
use crate::procfs::Repeated;

/// Devices that have series, at most.
const MAX_DEVICES: usize = 64;
/// A sector of diskstats, whatever the device's own is.
const SECTOR: f64 = 512.0;

/// The source.
#[derive(Default)]
pub struct Disks {
    stats: Option<Repeated>,
    devices: BTreeMap<String, Option<Device>>,
}

struct Device {
    busy: Counter,
    queue: Counter,
    await_ms: Gauge,
    read: Counter,
    written: Counter,
    requests: Counter,
    /// Requests completed and the milliseconds that they took, at the reading before.
    last: Option<(u64, u64)>,
}

impl Device {
    fn new(name: &str) -> Self {
        let counter = |word, step| Counter::new(Gauge::new(word, name), step);
        Self {
            busy: counter(live::DISK_BUSY, 1e-3),
            queue: counter(live::DISK_QUEUE, 1e-3),
            await_ms: Gauge::new(live::DISK_AWAIT, name),
            read: counter(live::DISK_READ, SECTOR),
            written: counter(live::DISK_WRITTEN, SECTOR),
            requests: counter(live::DISK_REQUESTS, 1.0),
            last: None,
        }
    }
}

impl HostSource for Disks {
    fn start(&mut self) -> Result<(), Unavailable> {
        self.stats = Repeated::open("/proc/diskstats");
        self.stats.is_some().then_some(()).ok_or_else(|| Unavailable {
            scope: None,
            what: "disks of the machine".into(),
            why: "/proc/diskstats cannot be read".into(),
            remedy: "mount /proc where fathom runs".into(),
        })
    }

    fn read(&mut self, points: &mut Points<'_, '_>) {
        let text = self.stats.as_mut().and_then(Repeated::read).unwrap_or_default();
        for line in text.lines() {
            // major minor name, then: reads, merged, sectors, ms; writes, merged, sectors, ms; in
            // flight, busy ms, weighted ms; discards (4.18), flushes (5.5).
            let mut words = line.split_ascii_whitespace().skip(2);
            let Some(name) = words.next() else { continue };
            let mut n = [0_u64; 17];
            n.iter_mut().zip(words).for_each(|(n, word)| *n = word.parse().unwrap_or(0));
            let [
                reads,
                _,
                read_sectors,
                read_ms,
                writes,
                _,
                written_sectors,
                written_ms,
                _,
                busy_ms,
                weighted_ms,
                ..,
            ] = n;
            if reads + writes == 0 {
                continue;
            }
            if !self.devices.contains_key(name) && self.devices.len() < MAX_DEVICES {
                let device = is_device(name).then(|| Device::new(name));
                self.devices.insert(name.to_owned(), device);
            }
            let Some(Some(device)) = self.devices.get_mut(name) else { continue };
            points.counter(&mut device.busy, busy_ms);
            points.counter(&mut device.queue, weighted_ms);
            points.counter(&mut device.read, read_sectors);
            points.counter(&mut device.written, written_sectors);
            points.counter(&mut device.requests, reads + writes);
            let now = (reads + writes, read_ms + written_ms);
            if let Some(last) = device.last.replace(now) {
                let (done, took_ms) = (now.0.saturating_sub(last.0), now.1.saturating_sub(last.1));
                // A second without a request has no latency, which is not one of zero.
                if done > 0 {
                    points.gauge(&mut device.await_ms, took_ms as f64 / done as f64);
                }
            }
        }
    }
}

/// Whether it is a device and no partition: those have a directory of their own. Slashes in names
/// are '!' there.
fn is_device(name: &str) -> bool {
    let skipped = name.starts_with("ram") || name.starts_with("zram");
    !skipped && Path::new("/sys/block").join(name.replace('/', "!")).is_dir()
}
