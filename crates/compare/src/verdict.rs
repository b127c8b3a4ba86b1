//! A comparison: its four words, and when each may be said.

use serde::{Deserialize, Serialize};

use crate::interval::Estimate;

/// What is said of one thing compared with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is better, beyond noise.
    Faster,
    /// It is worse, beyond noise.
    Slower,
    /// The interval lies within the margin: whatever difference there is, it is smaller than what
    /// matters.
    NoDifference,
    /// Neither: the interval reaches over what matters.
    CannotTell,
}

/// A command against the baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Comparison {
    /// The baseline.
    pub base: String,
    /// The other.
    pub other: String,
    /// Benchmark; empty where a run gives one value.
    pub figure: String,
    /// Whether more is better.
    pub higher_is_better: bool,
    /// The ratio other / baseline with its interval; absent with too few runs.
    pub estimate: Option<Estimate>,
    /// The word.
    pub verdict: Verdict,
    /// Runs of each with which a difference as large as the margin would show 8 times in 10; only
    /// where that cannot be known.
    pub runs_needed: Option<usize>,
    /// The same in one sentence.
    pub sentence: String,
}

impl Verdict {
    /// The verdict on a ratio that is above 1 where the other takes longer; of a metric that is
    /// better when it is larger, the other way round. `margin`: the share of difference that does
    /// not matter.
    pub fn of(estimate: &Estimate, margin: f64, higher_is_better: bool) -> Self {
        let within = estimate.low >= 1.0 / (1.0 + margin) && estimate.high <= 1.0 + margin;
        match (within, estimate.low > 1.0, estimate.high < 1.0) {
            (true, ..) => Self::NoDifference,
            (_, true, _) if higher_is_better => Self::Faster,
            (_, true, _) => Self::Slower,
            (_, _, true) if higher_is_better => Self::Slower,
            (_, _, true) => Self::Faster,
            _ => Self::CannotTell,
        }
    }

    /// As it is written in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::NoDifference => "no_difference",
            Self::CannotTell => "cannot_tell",
        }
    }

    /// As it is reported.
    pub fn said(self) -> &'static str {
        match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::NoDifference => "no difference",
            Self::CannotTell => "cannot tell",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(low: f64, high: f64, higher_is_better: bool) -> Verdict {
        let estimate = Estimate { ratio: (low * high).sqrt(), low, high, sigma: 0.1, pairs: 10 };
        Verdict::of(&estimate, 0.01, higher_is_better)
    }

    #[test]
    fn a_difference_is_claimed_beyond_noise_and_no_difference_within_the_margin() {
        assert_eq!(verdict(1.031, 1.056, false), Verdict::Slower);
        assert_eq!(verdict(1.031, 1.056, true), Verdict::Faster);
        assert_eq!(verdict(0.90, 0.98, false), Verdict::Faster);
        assert_eq!(verdict(0.995, 1.006, false), Verdict::NoDifference);
        assert_eq!(verdict(1.001, 1.006, false), Verdict::NoDifference, "what differs does not matter");
        assert_eq!(verdict(0.98, 1.02, false), Verdict::CannotTell);
        assert_eq!(verdict(1.0, 1.02, false), Verdict::CannotTell);
    }
}
