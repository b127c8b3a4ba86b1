//! Whether sleeps became longer: only then do threads wait for them.

use crate::stats;

/// Sleeps from which on their length is known.
const FEWEST: usize = 5;
/// By how much the lengths may differ, relatively: timers of a busy machine are late.
const ALIKE: f64 = 0.25;
/// The short ones among the sleeps, which no summing up leaves out without all others.
const SHORT: f64 = 0.1;

/// Whether lengths in order are as long as others, or shorter, by the short ones among them; false
/// where either are too few to say so.
pub(super) fn are_no_longer(lengths: &[f64], others: &[f64]) -> bool {
    let short = |of: &[f64]| stats::quantile(of, SHORT).filter(|_| of.len() >= FEWEST);
    short(lengths).zip(short(others)).is_some_and(|(length, other)| length <= (1.0 + ALIKE) * other)
}

#[cfg(test)]
mod tests {
    use super::are_no_longer;

    #[test]
    fn sleeps_are_compared_by_the_short_ones_and_where_there_are_enough() {
        let (short, long) = ([5.0, 5.1, 5.1, 5.2, 40.0], [8.0; 9]);
        assert!(are_no_longer(&short, &long) && !are_no_longer(&long, &short));
        assert!(are_no_longer(&[6.0; 5], &short), "timers are late");
        assert!(!are_no_longer(&short[..4], &long), "too few");
    }
}
