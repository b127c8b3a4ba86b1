//! How sure a finding is: one policy, by what shows its cause and how much of the loss that
//! explains.
//!
//! ```text
//! shows                                      │ half of the loss or more │ less            │ no loss was measured
//! ───────────────────────────────────────────┼──────────────────────────┼─────────────────┼─────────────────────
//! that nothing could run                     │ proven                   │ proven          │ proven
//! the cause itself                           │ proven                   │ likely          │ likely
//! the cause, but for a link not recorded     │ likely                   │ likely          │ likely
//! waits for it                               │ likely                   │ consistent with │ likely
//! its traces, as samples do                  │ likely                   │ consistent with │ consistent with
//! no more than that it fits                  │ consistent with          │ consistent with │ consistent with
//! ```
//!
//! What speaks against a cause lowers the ground that it stands on, and so do things that were not
//! recorded; nothing else makes a finding surer or less sure.

use crate::facts::{Metric, Value, reasons};
use crate::{Case, Confidence, Fact, Sure};

/// What of the loss a cause must explain to be surer than its evidence alone makes it.
const HALF: f64 = 0.5;

/// What shows a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ground {
    /// That nothing which it holds could run, whatever else was lost: a deadlock, a process that is
    /// stopped.
    Standstill,
    /// The record names it, or has timed it.
    Itself,
    /// The same but for a link that was not recorded: what it does to the application, what is
    /// behind it, what is usual, or a confounder.
    Incomplete,
    /// Threads were timed while they waited for it; that their work was waited for was not seen.
    Waits,
    /// What it leaves behind, which something else could leave, too.
    Traces,
    /// Nothing that another cause would not show as well.
    Fits,
}

impl Ground {
    /// How sure a cause is that explains so much of the loss; `None` where none was measured.
    pub(crate) fn confidence(self, share: Option<f64>) -> Confidence {
        let half = share.map(|share| share >= HALF);
        match (self, half) {
            (Self::Standstill, _) | (Self::Itself, Some(true)) => Confidence::Proven,
            (Self::Itself | Self::Incomplete, _)
            | (Self::Waits, Some(true) | None)
            | (Self::Traces, Some(true)) => Confidence::Likely,
            (Self::Waits | Self::Traces | Self::Fits, _) => Confidence::ConsistentWith,
        }
    }

    /// How sure a cause is that costs so much, and why.
    pub(crate) fn because(self, case: &Case<'_>, cost_ms: f64, why: impl Into<Fact>) -> Sure {
        (self.confidence(case.share(cost_ms)), vec![why.into().into()])
    }

    /// The same with what of the loss it explains; `shown`: what shows it.
    pub(crate) fn sure(self, case: &Case<'_>, cost_ms: f64, shown: &'static Metric) -> Sure {
        let explains = match case.share(cost_ms) {
            Some(share) if share >= HALF => &reasons::HALF,
            Some(_) => &reasons::LESS_THAN_HALF,
            None => &reasons::NO_SERIES,
        };
        self.because(case, cost_ms, explains.fact().with("shown", Value::from(shown.fact())))
    }

    /// What is left of a confidence when this is all there is to show the cause, whatever it
    /// explains.
    pub(crate) fn at_most(self, confidence: Confidence) -> Confidence {
        confidence.min(self.confidence(Some(1.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built::{Built, slow_and_base};

    const GROUNDS: [Ground; 6] =
        [Ground::Standstill, Ground::Itself, Ground::Incomplete, Ground::Waits, Ground::Traces, Ground::Fits];

    #[test]
    fn a_finding_is_as_sure_as_its_ground_and_its_part_of_the_loss_make_it() {
        let (proven, likely, fits) = (Confidence::Proven, Confidence::Likely, Confidence::ConsistentWith);
        let recording = Built::jvm("17", "G1", 100.0).sealed();
        let mut case = slow_and_base(&recording, (10, 20), (30, 70), 1.0);
        let sure =
            |case: &Case<'_>, cost_ms| GROUNDS.map(|ground| ground.sure(case, cost_ms, &reasons::NAMED).0);
        assert_eq!(sure(&case, 5_000.0), [proven, proven, likely, likely, likely, fits]);
        assert_eq!(sure(&case, 4_900.0), [proven, likely, likely, fits, fits, fits]);
        case.loss.lost_ms = 0.0;
        assert_eq!(sure(&case, 5_000.0), [proven, likely, likely, likely, fits, fits]);
    }

    #[test]
    fn what_speaks_against_a_cause_lowers_its_confidence_and_never_raises_it() {
        let all = [Confidence::ConsistentWith, Confidence::Likely, Confidence::Proven];
        let capped = |ground: Ground| all.map(|confidence| ground.at_most(confidence));
        assert_eq!(capped(Ground::Incomplete), [all[0], all[1], all[1]]);
        assert_eq!(capped(Ground::Fits), [all[0]; 3]);
        assert_eq!(capped(Ground::Itself), all);
    }
}
