//! How sure a finding is: one policy, by what shows its cause and how much of the loss that
//! explains.
//!
//! ```text
//! shows                        │ half of the loss or more │ less            │ no loss was measured
//! ─────────────────────────────┼──────────────────────────┼─────────────────┼─────────────────────
//! the cause itself             │ proven                   │ likely          │ likely
//! its traces, as samples do    │ likely                   │ consistent with │ consistent with
//! ```
//!
//! What only fits is consistent with, however much it explains.

use crate::{Case, Confidence};

/// What of the loss a cause must explain to be surer than its evidence alone makes it.
const HALF: f64 = 0.5;

/// What shows a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ground {
    /// The record names it, or has timed it.
    Itself,
    /// What it leaves behind, which something else could leave, too.
    Traces,
}

impl Ground {
    /// How sure a cause is that costs so much, and why; `shown`: what shows it.
    pub(crate) fn sure(self, case: &Case<'_>, cost_ms: f64, shown: &str) -> (Confidence, String) {
        let share = case.share(cost_ms);
        let is_half = share.is_some_and(|share| share >= HALF);
        let confidence = match (self, is_half) {
            (Self::Itself, true) => Confidence::Proven,
            (Self::Itself, false) | (Self::Traces, true) => Confidence::Likely,
            (Self::Traces, false) => Confidence::ConsistentWith,
        };
        let explains = match share {
            Some(_) if is_half => ", and it explains half of the loss or more",
            Some(_) => ", but it explains less than half of the loss",
            None => "; no series shows what it cost the application",
        };
        (confidence, format!("{shown}{explains}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built::{Built, slow_and_base};

    #[test]
    fn what_shows_itself_is_surer_than_its_traces_and_half_of_the_loss_surer_than_less() {
        let recording = Built::jvm("17", "G1", 100.0).sealed();
        let mut case = slow_and_base(&recording, (10, 20), (30, 70), 1.0);
        let sure = |case: &Case<'_>, cost_ms| {
            [Ground::Itself, Ground::Traces].map(|ground| ground.sure(case, cost_ms, "").0)
        };
        assert_eq!(sure(&case, 5_000.0), [Confidence::Proven, Confidence::Likely]);
        assert_eq!(sure(&case, 4_900.0), [Confidence::Likely, Confidence::ConsistentWith]);
        case.loss.lost_ms = 0.0;
        assert_eq!(sure(&case, 5_000.0), [Confidence::Likely, Confidence::ConsistentWith]);
    }
}
