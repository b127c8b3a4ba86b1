//! What the agent itself takes, as the kernel counts it.

use std::time::{Duration, Instant};

use fathom_capture::procfs;

/// Measured at a point in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Usage {
    /// CPU time of all its threads since it began.
    pub cpu: Duration,
    /// Resident memory, bytes.
    pub rss_bytes: u64,
}

impl Usage {
    /// Now; `None` without `/proc`.
    pub fn now() -> Option<Self> {
        let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        let cpu = Duration::new(u64::try_from(cpu.tv_sec).ok()?, u32::try_from(cpu.tv_nsec).ok()?);
        let statm = procfs::read_to_string("/proc/self/statm")?;
        let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
        Some(Self { cpu, rss_bytes: pages * rustix::param::page_size() as u64 })
    }
}

/// CPU time over the last minute.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    seen: std::collections::VecDeque<(Instant, Duration)>,
}

/// Over how long CPU time is averaged: what is written at once every minute counts as what it is on
/// average.
const WINDOW: Duration = Duration::from_secs(60);
/// Less says nothing yet.
const LEAST: Duration = Duration::from_secs(20);

impl Meter {
    /// Takes in how much was used so far.
    pub fn add(&mut self, now: Instant, cpu: Duration) {
        self.seen.push_back((now, cpu));
        while self.seen.get(1).is_some_and(|(at, _)| now.duration_since(*at) >= WINDOW) {
            self.seen.pop_front();
        }
    }

    /// Share of one CPU; `None` while too little was seen.
    pub fn share(&self) -> Option<f64> {
        let ((from, before), (to, after)) = (self.seen.front()?, self.seen.back()?);
        let over = to.duration_since(*from);
        (over >= LEAST).then(|| after.saturating_sub(*before).as_secs_f64() / over.as_secs_f64())
    }

    /// Begins anew: what was used so far was used otherwise.
    pub fn forget(&mut self) {
        self.seen.clear();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test panics where it fails")]
    use super::*;

    #[test]
    fn this_process_takes_memory_and_time() {
        let before = Usage::now().unwrap();
        let mut sum = 0_u64;
        while Usage::now().unwrap().cpu < before.cpu + Duration::from_millis(20) {
            sum = sum.wrapping_mul(31).wrapping_add(7);
        }
        assert!(before.rss_bytes > 100_000, "{sum}");
    }

    #[test]
    fn a_share_is_that_of_the_last_minute() {
        let (start, mut meter) = (Instant::now(), Meter::default());
        let second = Duration::from_secs;
        for s in 0..=10 {
            meter.add(start + second(s), second(s));
        }
        assert_eq!(meter.share(), None);
        for s in 11..=200 {
            meter.add(start + second(s), second(10));
        }
        assert_eq!(meter.share(), Some(0.0));
    }
}
