//! The kernel's monotonic clock, that eBPF programs take timestamps from, related to wall-clock
//! time.
//!
//! The relation is taken once, at the start, and kept: durations are then exact, and a step of the
//! wall clock during the recording moves nothing. How far the two have drifted apart is measured at
//! the end and said.

use fathom_recording::{ClockBasis, Placement, Source};
use rustix::time::{ClockId, clock_gettime};

/// Readings of both clocks of which the closest pair is taken: each costs some 50 ns, and one of
/// them is rarely interrupted.
const READINGS: usize = 16;

/// Relates CLOCK_MONOTONIC (`bpf_ktime_get_ns`) to the recording's clock, nanoseconds since the
/// epoch.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Epoch nanoseconds at which the monotonic clock showed zero.
    zero_epoch_ns: i64,
    /// Half of the time between the two readings that enclose the one of the wall clock.
    uncertainty_ns: i64,
}

impl Clock {
    /// Relates the two clocks as they are now.
    pub fn now() -> Self {
        let reading = |_| {
            let before = monotonic_ns();
            let epoch = nanos(ClockId::Realtime);
            let after = monotonic_ns();
            let half = (after - before) / 2;
            Self { zero_epoch_ns: epoch - before - half, uncertainty_ns: half + 1 }
        };
        let closest = (0..READINGS).map(reading).min_by_key(|clock| clock.uncertainty_ns);
        closest.unwrap_or(Self { zero_epoch_ns: 0, uncertainty_ns: i64::MAX })
    }

    /// A timestamp of the monotonic clock on the recording's clock.
    pub fn epoch_ns(&self, monotonic_ns: i64) -> i64 {
        self.zero_epoch_ns.saturating_add(monotonic_ns)
    }

    /// Now, on the recording's clock.
    pub fn epoch_now_ns(&self) -> i64 {
        self.epoch_ns(monotonic_ns())
    }

    /// How far the relation may be off, nanoseconds.
    pub fn uncertainty_ns(&self) -> i64 {
        self.uncertainty_ns
    }

    /// A source whose rows are stamped by the monotonic clock.
    pub(crate) fn source(&self, name: &str, format: &str) -> Source {
        Source {
            name: name.to_owned(),
            format: format.to_owned(),
            clock: ClockBasis::Epoch,
            placement: Placement {
                wall: true,
                offset_ns: 0,
                uncertainty_ns: Some(self.uncertainty_ns),
                how: "recorded live, timestamped by the machine's clock".into(),
            },
            ..Source::default()
        }
    }

    /// How far the wall clock has moved away from this relation since, nanoseconds: by steering (a
    /// few tens of microseconds a second) or by a step.
    pub fn drift_ns(&self) -> i64 {
        Self::now().zero_epoch_ns - self.zero_epoch_ns
    }
}

/// The monotonic clock, nanoseconds.
pub fn monotonic_ns() -> i64 {
    nanos(ClockId::Monotonic)
}

/// Time since the machine booted, suspended or not, nanoseconds: the clock of `starttime` in
/// `/proc/PID/stat`.
pub fn boottime_ns() -> i64 {
    nanos(ClockId::Boottime)
}

/// The time of a clock, nanoseconds.
pub(crate) fn nanos(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_monotonic_stamp_lands_on_the_wall_clock() {
        let clock = Clock::now();
        let before = nanos(ClockId::Realtime);
        let stamp = clock.epoch_ns(monotonic_ns());
        let after = nanos(ClockId::Realtime);
        let slack = clock.uncertainty_ns() + 1_000_000;
        assert!(before - slack <= stamp && stamp <= after + slack, "{before} {stamp} {after}");
    }
}
