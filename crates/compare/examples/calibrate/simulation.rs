//! Comparisons of a command with itself, drawn from a series of its runs in the order in which they
//! were made.
//!
//! Each takes a segment of the series as long as it needs and hands its runs to A and B in an order
//! as a real comparison has it; the times of B are multiplied by a planted ratio. So drift, bursts
//! and outliers are those of a real machine.

use fathom_compare::Verdict;
use fathom_compare::interval::{Pair, paired};
use fathom_compare::plan::{looks, order};

/// Ratios that are planted; 1: a command against itself.
#[allow(dead_code, reason = "the test plants its own")]
pub const RATIOS: [f64; 6] = [1.0, 1.005, 1.01, 1.02, 1.05, 1.1];
/// The margin of the verdicts.
const MARGIN: f64 = 0.01;
/// The chance of a wrong claim that they state.
pub const ALPHA: f64 = 0.05;

/// What became of many comparisons, as shares of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// Faster or slower was said.
    pub claimed: f64,
    /// The wrong one of the two, or one of them where the ratio is 1.
    pub wrong: f64,
    /// No difference was said.
    pub same: f64,
    /// The interval holds the planted ratio.
    pub covered: f64,
    /// Runs of each command, on average.
    pub mean_runs: f64,
}

/// Compares many times.
pub fn rates(series: &[f64], ratio: f64, (fewest, most): (usize, usize), comparisons: usize) -> Rates {
    let looks = looks(fewest, most, ALPHA);
    let room = series.len().saturating_sub(2 * most) + 1;
    let mut rates = Rates::default();
    for number in 0..comparisons {
        // A prime, so that the segments are spread over the series.
        let segment = &series[number * 7919 % room..];
        let mut values = segment.iter();
        let mut pairs = Vec::with_capacity(most);
        for block in order(2, most, number as u64) {
            let mut pair = [0.0; 2];
            block.iter().for_each(|side| pair[*side] = values.next().copied().unwrap_or(f64::NAN));
            pairs.push(Pair { baseline: vec![pair[0]], other: vec![pair[1] * ratio] });
        }
        for look in &looks {
            let Some(estimate) = paired(&pairs[..look.blocks], look.alpha) else { continue };
            let verdict = Verdict::of(&estimate, MARGIN, false);
            if verdict == Verdict::CannotTell && look.blocks < most {
                continue;
            }
            let claimed = matches!(verdict, Verdict::Faster | Verdict::Slower);
            rates.claimed += f64::from(claimed);
            rates.wrong += f64::from(claimed && (ratio == 1.0 || verdict == Verdict::Faster));
            rates.same += f64::from(verdict == Verdict::NoDifference);
            rates.covered += f64::from(estimate.low <= ratio && ratio <= estimate.high);
            rates.mean_runs += look.blocks as f64;
            break;
        }
    }
    let all = comparisons as f64;
    let [claimed, wrong, same, covered, mean_runs] =
        [rates.claimed, rates.wrong, rates.same, rates.covered, rates.mean_runs].map(|sum| sum / all);
    Rates { claimed, wrong, same, covered, mean_runs }
}
