//! How many faults are looked at: each of an ordinary number, some of a storm.
//!
//! To count a fault takes some 0.1 µs, and as much again to time it: nothing at ten thousand a
//! second, and a twentieth of a CPU or more at three hundred thousand. In a storm one in so
//! many is therefore counted that some [`COUNTED`] a second are, for all of them, and faults are
//! timed in one second of [`TIMED_OF`].

/// Faults a second of all targets from which on it is a storm, and below which it is none any more.
const STORM: f64 = 60_000.0;
const CALM: f64 = 30_000.0;
/// A storm is looked for so often: nanoseconds. Waiting for the second to end, it would take a
/// twentieth of a CPU until then.
pub(super) const SOON_NS: i64 = 100_000_000;
/// Faults a second that are counted in a storm, give or take a factor of two.
const COUNTED: f64 = 20_000.0;
/// One in so many is counted at most.
const MOST_ONE_IN: u64 = 1023;
/// In a storm they are timed in one second of so many, the first time soon: what they took before
/// it is known.
const TIMED_OF: u32 = 8;
const FIRST_TIMED: u32 = 3;

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
    /// In a storm, one in so many is counted; 0: there is none.
    one_in: u64,
    seconds: u32,
}

impl Pace {
    /// All of them.
    pub(super) const EACH: Look = Look { one_in: 1, timed: true };

    /// Whether there are so many faults a second, all of a sudden, that what to look at should be
    /// asked for at once.
    pub(super) fn is_sudden(&self, rate: f64) -> bool {
        self.one_in == 0 && rate > STORM
    }

    /// What to look at from now on, once a second or when it is sudden; `rate`: faults a second
    /// since the last time.
    pub(super) fn next(&mut self, rate: f64) -> Look {
        let was = self.one_in > 0;
        if rate <= if was { CALM } else { STORM } {
            self.one_in = 0;
            return Self::EACH;
        }
        self.seconds = if was { self.seconds.wrapping_add(1) } else { 0 };
        let counted = rate / self.one_in.max(1) as f64;
        if !(COUNTED / 2.0..COUNTED * 2.0).contains(&counted) {
            // Odd, so that it does not fall in step with what a program does by twos.
            let about = (rate / COUNTED).ceil().clamp(3.0, MOST_ONE_IN as f64) as u64;
            self.one_in = about.next_power_of_two() - 1;
        }
        Look { one_in: self.one_in, timed: self.seconds % TIMED_OF == FIRST_TIMED }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storm_is_looked_at_in_part_until_it_is_over() {
        let mut pace = Pace::default();
        let rates = [10_000.0, 50_000.0, 300_000.0, 350_000.0, 250_000.0, 40_000.0, 20_000.0];
        let looks: Vec<(u64, bool)> =
            rates.iter().map(|rate| pace.next(*rate)).map(|l| (l.one_in, l.timed)).collect();
        let expected = [(1, true), (1, true), (15, false), (15, false), (15, false), (3, true), (1, true)];
        assert_eq!(looks, expected);
    }

    #[test]
    fn however_many_there_are_about_as_many_are_counted() {
        for rate in [61e3, 90e3, 150e3, 300e3, 1e6, 5e6] {
            let counted = rate / Pace::default().next(rate).one_in as f64;
            assert!((COUNTED / 2.0..=COUNTED * 2.1).contains(&counted), "{rate}: {counted}");
        }
        assert_eq!(Pace::default().next(1e12).one_in, MOST_ONE_IN);
    }

    #[test]
    fn a_storm_is_sudden_until_it_is_known() {
        let mut pace = Pace::default();
        assert!(!pace.is_sudden(50_000.0) && pace.is_sudden(70_000.0));
        pace.next(70_000.0);
        assert!(!pace.is_sudden(70_000.0));
    }

    #[test]
    fn one_second_of_eight_is_timed_in_a_storm() {
        let mut pace = Pace::default();
        let timed = (0..80).filter(|_| pace.next(1e6).timed).count();
        assert_eq!(timed, 10);
    }
}
