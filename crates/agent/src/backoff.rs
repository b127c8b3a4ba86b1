//! How long to wait before the next attempt: twice as long after each failure, within bounds, and
//! not the same on all hosts of a fleet whose place went away at the same time.

use std::time::Duration;

/// After the first failure.
const FIRST: Duration = Duration::from_secs(1);
/// At most.
const LONGEST: Duration = Duration::from_secs(300);

/// See the module.
#[derive(Debug)]
pub(crate) struct Backoff {
    failures: u32,
    state: u64,
}

impl Backoff {
    /// `seed`: what differs between hosts.
    pub fn new(seed: u64) -> Self {
        Self { failures: 0, state: seed | 1 }
    }

    /// It worked.
    pub fn reset(&mut self) {
        self.failures = 0;
    }

    /// How long to wait after one more failure: between half of the time and all of it.
    pub fn failed(&mut self) -> Duration {
        let doubled = FIRST.saturating_mul(1_u32.checked_shl(self.failures.min(20)).unwrap_or(u32::MAX));
        self.failures = self.failures.saturating_add(1);
        let full = doubled.min(LONGEST);
        // Xorshift: nothing hangs on these numbers but that they differ.
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        let share = (self.state % 1000) as f64 / 1000.0;
        full.mul_f64(0.5 + share / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_within_bounds_and_begin_anew_after_a_success() {
        let mut backoff = Backoff::new(7);
        let waits: Vec<Duration> = (0..40).map(|_| backoff.failed()).collect();
        for (i, wait) in waits.iter().enumerate() {
            let full = Duration::from_secs(1 << i.min(20)).min(LONGEST);
            assert!(*wait >= full / 2 && *wait <= full, "{i}: {wait:?}");
        }
        backoff.reset();
        assert!(backoff.failed() <= FIRST);
        assert_ne!(Backoff::new(1).failed(), Backoff::new(9).failed());
    }
}
