//! The clock of one run: from the timestamps of its lines to nanoseconds, and to wall-clock time.
//!
//! Uptime is preferred: it is the zero that GC, safepoint and JIT logs share, and it does not jump
//! when somebody sets the machine's clock. With wall-clock timestamps next to it, the difference is
//! sampled over the whole log; the median is the anchor and the spread its uncertainty.

use fathom_recording::quantity::whole;
use fathom_recording::{Anchor, ClockBasis};

use super::decorators::Timestamps;

/// How many differences between wall clock and uptime are kept. Enough for a median that a stalled
/// writer does not move; when they are full, every second one is dropped and only every second is
/// added from there on.
const SAMPLES: usize = 1024;

/// `timenanos` is the machine's monotonic clock and `uptimenanos` counts from the JVM's start.
/// Where a log has only one value in nanoseconds, a first one beyond this is taken for the former:
/// it cannot be an uptime that other logs of the JVM share.
const MONOTONIC_FROM_NS: i64 = 3_600_000_000_000;

/// Converts the timestamps of a run's lines to time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock {
    basis: ClockBasis,
    /// Whether the value in nanoseconds is the uptime, once both have been seen on one line.
    nanos_are_uptime: Option<bool>,
    now_ns: i64,
    first_ns: Option<i64>,
    last_ns: i64,
    differences: Vec<i64>,
    stride: u64,
    seen: u64,
}

impl Clock {
    /// The time of a line; for a line without a timestamp, that of the line before it.
    pub(crate) fn at(&mut self, stamps: &Timestamps) -> i64 {
        let uptime = self.uptime(stamps);
        let Some(ns) = uptime.or_else(|| self.other(stamps)) else { return self.now_ns };
        if let (Some(uptime), Some(wall)) = (uptime, stamps.wall_ns) {
            self.sample(wall.saturating_sub(uptime));
        }
        self.now_ns = ns;
        self.first_ns = Some(self.first_ns.map_or(ns, |first| first.min(ns)));
        self.last_ns = self.last_ns.max(ns);
        ns
    }

    fn uptime(&mut self, stamps: &Timestamps) -> Option<i64> {
        let uptime = match (stamps.uptime_ns, stamps.nanos) {
            (Some(uptime), Some(nanos)) => {
                // Milliseconds are truncated or rounded: a difference of two is the same clock.
                let same = *self
                    .nanos_are_uptime
                    .get_or_insert(uptime.saturating_sub(nanos).saturating_abs() <= 2_000_000);
                Some(if same { nanos } else { uptime })
            }
            (Some(uptime), None) => Some(uptime),
            (None, Some(nanos))
                if self.nanos_are_uptime.is_none_or(|yes| yes) && stamps.wall_ns.is_none() =>
            {
                (self.basis != ClockBasis::SinceStart && nanos < MONOTONIC_FROM_NS || self.is_uptime())
                    .then_some(nanos)
            }
            (None, _) => None,
        }?;
        if !self.is_uptime() {
            // Timestamps of another kind came first (application output that looked like a log
            // line): start again.
            *self = Self { nanos_are_uptime: self.nanos_are_uptime, ..Self::default() };
            self.basis = ClockBasis::JvmUptime;
        }
        Some(uptime)
    }

    fn is_uptime(&self) -> bool {
        self.basis == ClockBasis::JvmUptime
    }

    /// Wall clock, or the machine's own, for logs without an uptime.
    fn other(&mut self, stamps: &Timestamps) -> Option<i64> {
        let (basis, ns) = match (stamps.wall_ns, stamps.nanos) {
            (Some(wall), _) => (ClockBasis::Epoch, wall),
            (None, Some(nanos)) => (ClockBasis::SinceStart, nanos),
            (None, None) => return None,
        };
        if self.basis == ClockBasis::None {
            self.basis = basis;
            self.now_ns = ns;
            self.last_ns = ns;
        }
        (self.basis == basis).then_some(ns)
    }

    fn sample(&mut self, difference_ns: i64) {
        self.seen += 1;
        if self.seen < self.stride {
            return;
        }
        self.seen = 0;
        if self.differences.len() == SAMPLES {
            let mut keep = false;
            self.differences.retain(|_| {
                keep = !keep;
                keep
            });
            self.stride = self.stride.max(1).saturating_mul(2);
        }
        self.differences.push(difference_ns);
    }

    /// Advances a clock without timestamps: the records of such a log follow one another.
    pub(crate) fn passes(&mut self, duration_ns: i64) {
        if self.basis == ClockBasis::None {
            self.now_ns = self.now_ns.saturating_add(duration_ns.max(0));
            self.first_ns.get_or_insert(0);
            self.last_ns = self.last_ns.max(self.now_ns);
        }
    }

    /// The time of the last line.
    pub(crate) fn now_ns(&self) -> i64 {
        self.now_ns
    }

    /// What the run's own times are.
    pub(crate) fn basis(&self) -> ClockBasis {
        self.basis
    }

    /// First and last time of the run.
    pub(crate) fn covers_ns(&self) -> Option<(i64, i64)> {
        self.first_ns.map(|first| (first, self.last_ns.max(first)))
    }

    /// Whether a line with these timestamps cannot belong to this run: its uptime lies before the
    /// current one while its wall clock does not, or, without a wall clock, in the first half of
    /// it.
    pub(crate) fn went_back(&self, stamps: &Timestamps) -> bool {
        let Some(uptime) = stamps.uptime_ns else { return false };
        if !self.is_uptime() || uptime.saturating_add(RESTART_NS) >= self.last_ns {
            return false;
        }
        match (stamps.wall_ns, self.differences.last()) {
            (Some(wall), Some(last)) => wall.saturating_sub(uptime).saturating_sub(*last) >= RESTART_NS,
            _ => uptime < self.last_ns / 2,
        }
    }

    /// Whether a timestamp is before what the run has reached, by more than lines of two threads
    /// can be out of order.
    pub(crate) fn is_earlier(&self, stamps: &Timestamps) -> bool {
        self.is_uptime()
            && stamps.uptime_ns.is_some_and(|uptime| uptime.saturating_add(DISORDER_NS) < self.last_ns)
    }

    /// Whether a timestamp is no earlier than what the run has reached.
    pub(crate) fn continues_with(&self, stamps: &Timestamps) -> bool {
        stamps.uptime_ns.is_some_and(|uptime| uptime.saturating_add(RESTART_NS) >= self.last_ns)
    }

    /// The wall-clock time of the uptime's zero.
    pub(crate) fn anchor(&self) -> Option<Anchor> {
        let mut sorted = self.differences.clone();
        sorted.sort_unstable();
        let median = *sorted.get(sorted.len() / 2)?;
        let spread = sorted.iter().map(|d| d.saturating_sub(median).saturating_abs()).max().unwrap_or(0);
        Some(Anchor {
            zero_epoch_ns: median,
            // Both timestamps have milliseconds: the uncertainty is at least one.
            uncertainty_ns: spread.max(1_000_000),
            how: format!("wall-clock time next to uptime, median over {} lines", whole(sorted.len())),
        })
    }
}

/// Lines of several threads are written a little out of order, and by tens of seconds when a write
/// is blocked; an uptime less than this before the last one means nothing.
const RESTART_NS: i64 = 1_000_000_000;
/// How far apart lines of several threads are written out of order while nothing is blocked.
const DISORDER_NS: i64 = 2_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn stamps(uptime_ms: Option<i64>, wall_ms: Option<i64>) -> Timestamps {
        Timestamps {
            uptime_ns: uptime_ms.map(|ms| ms * 1_000_000),
            wall_ns: wall_ms.map(|ms| ms * 1_000_000),
            nanos: None,
        }
    }

    #[test]
    fn uptime_is_preferred_and_anchored_by_the_median() {
        let mut clock = Clock::default();
        for i in 0..5000 {
            let late = if i == 77 { 19_000 } else { i % 2 };
            clock.at(&stamps(Some(i), Some(1_000_000 + i + late)));
        }
        assert_eq!(clock.basis(), ClockBasis::JvmUptime);
        assert_eq!(clock.covers_ns(), Some((0, 4_999_000_000)));
        let anchor = clock.anchor().unwrap();
        assert!((0..=1_000_000).contains(&(anchor.zero_epoch_ns - 1_000_000_000_000)), "{anchor:?}");
    }

    #[test]
    fn a_wall_clock_alone_is_epoch_and_nothing_is_no_clock() {
        let mut clock = Clock::default();
        assert_eq!(clock.at(&stamps(None, Some(5))), 5_000_000);
        assert_eq!((clock.basis(), clock.anchor()), (ClockBasis::Epoch, None));
        let mut none = Clock::default();
        assert_eq!(none.at(&Timestamps::default()), 0);
        none.passes(7);
        assert_eq!((none.at(&Timestamps::default()), none.basis()), (7, ClockBasis::None));
        assert_eq!(none.covers_ns(), Some((0, 7)));
    }

    #[test]
    fn nanoseconds_are_the_uptime_where_they_agree_with_it() {
        let mut clock = Clock::default();
        let both = Timestamps { uptime_ns: Some(16_000_000), wall_ns: None, nanos: Some(16_048_123) };
        assert_eq!(clock.at(&both), 16_048_123);
        let mut clock = Clock::default();
        let machine = Timestamps { nanos: Some(4_086_917_123_456), ..both };
        assert_eq!(clock.at(&machine), 16_000_000);
        let mut clock = Clock::default();
        clock.at(&Timestamps { uptime_ns: None, ..machine });
        assert_eq!(clock.basis(), ClockBasis::SinceStart);
        let mut clock = Clock::default();
        clock.at(&Timestamps { uptime_ns: None, ..both });
        assert_eq!(clock.basis(), ClockBasis::JvmUptime);
    }

    #[test]
    fn a_restart_is_distinguished_from_a_late_line() {
        let mut clock = Clock::default();
        clock.at(&stamps(Some(30_000), Some(1_030_000)));
        assert!(clock.went_back(&stamps(Some(5), Some(1_031_000))), "the wall clock went on");
        assert!(!clock.went_back(&stamps(Some(11_000), Some(1_011_000))), "a line written 19 s late");
        assert!(clock.went_back(&stamps(Some(5), None)));
        assert!(!clock.went_back(&stamps(Some(29_500), None)));
    }
}
