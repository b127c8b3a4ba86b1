//! Bounds that the agent keeps itself to, and what it gives up when it is above.
//!
//! ```text
//!   CPU above the limit:     99 ─▶ 49 ─▶ 24 ─▶ 12 samples a second ─▶ none ─▶ paused: nothing is attached
//!   memory above the limit:  what is held is written and given back ─▶ still above: paused
//!   below half of the CPU limit for long enough: one step back; each time that was too soon, twice as long
//! ```
//!
//! It is judged by time of the monotonic clock, and by the kernel's own count of what was used.
//! What programs in the kernel take of the recorded threads' time is not in it.

use std::time::{Duration, Instant};

use crate::usage::{Meter, Usage};

/// Bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Share of one CPU: 0.01 is one percent.
    pub cpu: f64,
    /// Resident memory, bytes.
    pub memory_bytes: u64,
    /// What waits on disk, bytes.
    pub disk_bytes: u64,
}

/// Steps of the rate of samples, each half of the one before; then none, then a pause.
const HALVINGS: u32 = 4;
/// The step at which no samples are taken.
const NO_SAMPLES: u32 = HALVINGS;
/// The step at which nothing is attached.
const PAUSED: u32 = HALVINGS + 1;
/// How long it must have been well below before a step back is tried.
const CALM: Duration = Duration::from_secs(60);
/// The longest that this becomes.
const LONGEST_CALM: Duration = Duration::from_secs(3600);
/// Below this part of the limit a step back may be tried: the step doubles what samples cost.
const WELL_BELOW: f64 = 0.5;
/// How long memory may stay above after what was held was given back.
const GRACE: Duration = Duration::from_secs(10);

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing.
    Stay,
    /// What is held in memory is to be written and given back.
    GiveBack,
    /// The step has changed: see [`Governor::rate_hz`] and [`Governor::is_paused`].
    Changed,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Governor {
    limits: Limits,
    full_hz: u32,
    step: u32,
    meter: Meter,
    since: Instant,
    calm: Duration,
    too_large_since: Option<Instant>,
    why: Option<String>,
    last: Option<(Option<f64>, u64)>,
}

impl Governor {
    pub fn new(limits: Limits, full_hz: u32, now: Instant) -> Self {
        Self {
            limits,
            full_hz,
            step: 0,
            meter: Meter::default(),
            since: now,
            calm: CALM,
            too_large_since: None,
            why: None,
            last: None,
        }
    }

    /// Samples per second per CPU.
    pub fn rate_hz(&self) -> u32 {
        if self.step >= NO_SAMPLES { 0 } else { (self.full_hz >> self.step).max(1) }
    }

    /// Whether nothing is to be attached.
    pub fn is_paused(&self) -> bool {
        self.step >= PAUSED
    }

    /// Why it is below what was asked for; `None`: it is not.
    pub fn why(&self) -> Option<&str> {
        self.why.as_deref().filter(|_| self.step > 0)
    }

    /// Share of a CPU, once enough was seen of it, and resident bytes, as last measured.
    pub fn used(&self) -> Option<(Option<f64>, u64)> {
        self.last
    }

    /// What was used so far is not to be judged: a session was started or ended.
    pub fn forget(&mut self, now: Instant) {
        self.meter.forget();
        self.since = now;
        self.too_large_since = None;
    }

    /// Judges what is used now.
    pub fn judge(&mut self, used: Usage, now: Instant) -> Verdict {
        self.meter.add(now, used.cpu);
        let share = self.meter.share();
        self.last = Some((share, used.rss_bytes));
        if used.rss_bytes > self.limits.memory_bytes && !self.is_paused() {
            let first = *self.too_large_since.get_or_insert(now);
            if first == now {
                return Verdict::GiveBack;
            }
            if now.duration_since(first) >= GRACE {
                let why = format!(
                    "it had {} MB of memory, and {} are allowed",
                    used.rss_bytes >> 20,
                    self.limits.memory_bytes >> 20
                );
                return self.go_to(PAUSED, Some(why), now);
            }
        } else {
            self.too_large_since = None;
        }
        let Some(share) = share else { return Verdict::Stay };
        if share > self.limits.cpu && !self.is_paused() {
            let percent = |share: f64| format!("{:.2}%", share * 100.0);
            let why =
                format!("it took {} of a CPU, and {} are allowed", percent(share), percent(self.limits.cpu));
            return self.go_to(self.step + 1, Some(why), now);
        }
        let calm = share <= self.limits.cpu * WELL_BELOW && used.rss_bytes <= self.limits.memory_bytes;
        if self.step > 0 && calm && now.duration_since(self.since) >= self.calm {
            // If that was too soon, the next attempt comes later.
            self.calm = (self.calm * 2).min(LONGEST_CALM);
            return self.go_to(self.step - 1, None, now);
        }
        Verdict::Stay
    }

    fn go_to(&mut self, step: u32, why: Option<String>, now: Instant) -> Verdict {
        self.step = step.min(PAUSED);
        if why.is_some() {
            self.why = why;
        }
        self.forget(now);
        Verdict::Changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { cpu: 0.01, memory_bytes: 64 << 20, disk_bytes: 0 };
    const SMALL: u64 = 10 << 20;

    /// Lets time pass at a share of a CPU and a size; the steps that were taken.
    struct Passing {
        governor: Governor,
        now: Instant,
        cpu: Duration,
    }

    impl Passing {
        fn new() -> Self {
            let now = Instant::now();
            Self { governor: Governor::new(LIMITS, 99, now), now, cpu: Duration::ZERO }
        }

        fn pass(&mut self, seconds: u64, share: f64, rss_bytes: u64) -> Vec<Verdict> {
            let mut verdicts = Vec::new();
            for _ in 0..seconds {
                self.now += Duration::from_secs(1);
                self.cpu += Duration::from_secs_f64(share);
                let verdict = self.governor.judge(Usage { cpu: self.cpu, rss_bytes }, self.now);
                verdicts.extend((verdict != Verdict::Stay).then_some(verdict));
            }
            verdicts
        }

        fn pass_until_a_step(&mut self, share: f64) {
            while self.pass(1, share, SMALL).is_empty() {}
        }
    }

    #[test]
    fn above_the_cpu_limit_the_rate_is_halved_until_nothing_is_attached() {
        let mut passing = Passing::new();
        let mut rates = vec![passing.governor.rate_hz()];
        for _ in 0..200 {
            if !passing.pass(1, 0.05, SMALL).is_empty() {
                rates.push(passing.governor.rate_hz());
            }
        }
        assert_eq!(rates, [99, 49, 24, 12, 0, 0]);
        assert!(passing.governor.is_paused());
        assert_eq!(passing.governor.why(), Some("it took 5.00% of a CPU, and 1.00% are allowed"));
    }

    #[test]
    fn when_it_is_calm_the_rate_comes_back_and_later_each_time_that_was_too_soon() {
        let mut passing = Passing::new();
        passing.pass_until_a_step(0.05);
        assert_eq!(passing.governor.rate_hz(), 49);
        passing.pass(59, 0.001, SMALL);
        assert_eq!(passing.governor.rate_hz(), 49);
        passing.pass(11, 0.001, SMALL);
        assert_eq!((passing.governor.rate_hz(), passing.governor.why()), (99, None));
        passing.pass_until_a_step(0.05);
        passing.pass(100, 0.001, SMALL);
        assert_eq!(passing.governor.rate_hz(), 49);
        passing.pass(40, 0.001, SMALL);
        assert_eq!(passing.governor.rate_hz(), 99);
        // Within the limits and not well below, nothing changes.
        assert_eq!(passing.pass(500, 0.009, SMALL), []);
    }

    #[test]
    fn memory_above_its_limit_is_given_back_and_if_it_stays_nothing_is_attached() {
        let mut passing = Passing::new();
        assert_eq!(passing.pass(5, 0.001, 65 << 20), [Verdict::GiveBack]);
        assert_eq!(passing.pass(5, 0.001, SMALL), []);
        assert_eq!(passing.pass(12, 0.001, 65 << 20), [Verdict::GiveBack, Verdict::Changed]);
        assert!(passing.governor.is_paused());
        assert_eq!(passing.governor.why(), Some("it had 65 MB of memory, and 64 are allowed"));
    }
}
