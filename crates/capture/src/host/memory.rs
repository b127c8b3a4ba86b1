//! Memory: `/proc/meminfo`, `/proc/vmstat` (mm/vmstat.c).

use fathom_recording::vocabulary::live;

use super::{HostSource, Unavailable};
use crate::growing_series::{Counter, Gauge, Points};
use crate::procfs::Repeated;

/// The source.
#[derive(Default)]
pub struct Memory {
    files: Option<(Repeated, Option<Repeated>)>,
    levels: Vec<(&'static str, Gauge)>,
    counters: Vec<(&'static str, Counter)>,
    swap_used: Option<Gauge>,
}

impl HostSource for Memory {
    fn start(&mut self) -> Result<(), Unavailable> {
        let Some(meminfo) = Repeated::open("/proc/meminfo") else {
            return Err(Unavailable {
                scope: None,
                what: "memory of the machine".into(),
                why: "/proc/meminfo cannot be read".into(),
                remedy: "mount /proc where fathom runs".into(),
            });
        };
        self.files = Some((meminfo, Repeated::open("/proc/vmstat")));
        let level = |label, word| (label, Gauge::new(word, ""));
        self.levels = vec![
            level("MemAvailable:", live::HOST_MEMORY_AVAILABLE),
            level("Dirty:", live::HOST_MEMORY_DIRTY),
            level("Writeback:", live::HOST_MEMORY_WRITEBACK),
        ];
        let page = rustix::param::page_size() as f64;
        let counter = |label, word, step| (label, Counter::new(Gauge::new(word, ""), step));
        self.counters = vec![
            counter("pswpin", live::HOST_SWAP_IN, page),
            counter("pswpout", live::HOST_SWAP_OUT, page),
            counter("pgmajfault", live::HOST_MAJOR_FAULTS, 1.0),
            counter("pgscan_direct", live::HOST_DIRECT_RECLAIM, 1.0),
            counter("compact_stall", live::HOST_COMPACTION_STALLS, 1.0),
            counter("oom_kill", live::HOST_OOM_KILLS, 1.0),
        ];
        self.swap_used = Some(Gauge::new(live::HOST_SWAP_USED, ""));
        Ok(())
    }

    fn read(&mut self, points: &mut Points<'_, '_>) {
        let Some((meminfo, vmstat)) = &mut self.files else { return };
        let (mut swap_total, mut swap_free) = (0, 0);
        for line in meminfo.read().unwrap_or_default().lines() {
            let mut words = line.split_ascii_whitespace();
            let (Some(label), Some(kb)) = (words.next(), words.next().and_then(|n| n.parse::<u64>().ok()))
            else {
                continue;
            };
            let bytes = kb.saturating_mul(1024);
            match label {
                "SwapTotal:" => swap_total = bytes,
                "SwapFree:" => swap_free = bytes,
                _ => {
                    if let Some((_, gauge)) = self.levels.iter_mut().find(|(l, _)| *l == label) {
                        points.gauge(gauge, bytes as f64);
                    }
                }
            }
        }
        if let Some(gauge) = self.swap_used.as_mut().filter(|_| swap_total > 0) {
            points.gauge(gauge, swap_total.saturating_sub(swap_free) as f64);
        }
        let text = vmstat.as_mut().and_then(Repeated::read).unwrap_or_default();
        for line in text.lines() {
            let Some((label, value)) = line.split_once(' ') else { continue };
            let Some((_, counter)) = self.counters.iter_mut().find(|(l, _)| *l == label) else { continue };
            value.parse().into_iter().for_each(|value| points.counter(counter, value));
        }
    }
}
