//! How many faults are looked at: each of an ordinary number, some of a storm.
//!
//! To count a fault takes some 0.1 µs, and as much again to time it: nothing at ten thousand a second, and a twentieth of a
//! processor or more at three hundred thousand. In a storm one in [`ONE_IN`] is therefore counted, for all of them, and faults are
//! timed in one second of [`TIMED_OF`].

/// Faults a second of all targets from which on it is a storm, and below which it is none any more.
const STORM: f64 = 60_000.0;
const CALM: f64 = 30_000.0;
/// A storm is looked for so often: nanoseconds. Waiting for the second to end, it would take a twentieth of a processor until then.
pub(super) const SOON_NS: i64 = 100_000_000;
/// In a storm one fault in so many is counted. Odd, so that it does not fall in step with what a program does by twos.
const ONE_IN: u64 = 7;
/// In a storm they are timed in one second of so many.
const TIMED_OF: u32 = 4;

/// Which faults are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    /// One in so many is counted.
    pub(super) one_in: u64,
    /// Those are timed, too.
    pub(super) timed: bool,
}

/// Follows the number of faults.
#[derive(Debug, Default)]
pub(super) struct Pace {
    storm: bool,
    seconds: u32,
}

impl Pace {
    /// All of them.
    pub(super) const EACH: Look = Look { one_in: 1, timed: true };

    /// Whether there are so many faults a second, all of a sudden, that what to look at should be asked for at once.
    pub(super) fn is_sudden(&self, rate: f64) -> bool {
        !self.storm && rate > STORM
    }

    /// What to look at from now on, once a second or when it is sudden; `rate`: faults a second since the last time.
    pub(super) fn next(&mut self, rate: f64) -> Look {
        let was = self.storm;
        self.storm = rate > if was { CALM } else { STORM };
        self.seconds = if was && self.storm { self.seconds.wrapping_add(1) } else { 0 };
        if !self.storm {
            return Self::EACH;
        }
        Look { one_in: ONE_IN, timed: self.seconds % TIMED_OF == TIMED_OF - 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storm_is_looked_at_in_part_until_it_is_over() {
        let mut pace = Pace::default();
        let looks: Vec<Look> =
            [10_000.0, 50_000.0, 300_000.0, 40_000.0, 20_000.0].iter().map(|rate| pace.next(*rate)).collect();
        let some = Look { one_in: ONE_IN, timed: false };
        assert_eq!(looks, [Pace::EACH, Pace::EACH, some, some, Pace::EACH]);
    }

    #[test]
    fn a_storm_is_sudden_until_it_is_known() {
        let mut pace = Pace::default();
        assert!(!pace.is_sudden(50_000.0) && pace.is_sudden(70_000.0));
        pace.next(70_000.0);
        assert!(!pace.is_sudden(70_000.0));
    }

    #[test]
    fn one_second_of_four_is_timed_in_a_storm() {
        let mut pace = Pace::default();
        let timed = (0..80).filter(|_| pace.next(1e6).timed).count();
        assert_eq!(timed, 20);
    }
}
