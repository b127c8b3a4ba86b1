//! Where what threads do changes as a whole, for good: a batch job without requests that is given
//! other code to run has no part that rises far, but each of its parts is another one.
//!
//! ```text
//! running in a, b   ▇▇▇▇▇▇▇▇▁▁▁▁▁▁▁▁     the parts' means before and behind a split, from every
//! running in c, d   ▁▁▁▁▁▁▁▁▇▇▇▇▇▇▇▇     other bin; the bins between must lie on their own side
//! ```

use super::rise::LASTS;
use crate::stats;

/// What of the time must lie on either side of the split, and how many bins.
const SIDE: (f64, usize) = (0.25, 8);
/// By what share of what threads are usually doing the parts must rise together.
const RISES_SHARE: f64 = 0.2;
/// Nearly all bins of a side: what lies between the two sides, as a part of how far their means are
/// apart. Of a level that drifts it is a fifth.
const NEARLY_ALL: f64 = 0.1;
const APART: f64 = 0.5;

/// Where the mix changes.
pub(super) struct Split {
    /// The first bin behind it, and the one behind the last that was seen.
    pub(super) behind: (usize, usize),
    /// Threads at a time by which parts rise, added up.
    pub(super) rise: f64,
    /// The part that rises most, its level behind and before.
    pub(super) most: usize,
    pub(super) levels: (f64, f64),
}

/// The split with which the parts' levels (threads at a time, bin by bin) differ most, where they
/// keep to it. `busy`: threads that do something at a time.
pub(super) fn split(parts: &[Vec<f64>], seen: &[bool], least: f64, busy: f64) -> Option<Split> {
    let known: Vec<usize> = (LASTS..seen.len()).filter(|bin| seen[*bin]).collect();
    let side = SIDE.1.max((SIDE.0 * known.len() as f64).ceil() as usize);
    if known.len() < 2 * side {
        return None;
    }
    let at = best(parts, &known, side);
    // Sums of many parts that scatter differ by chance: what one half of the bins shows must hold
    // in the other.
    let halves: [Vec<f64>; 2] = [0, 1].map(|half| {
        let of = |side: &[usize], part: &[f64]| mean(side.iter().skip(half).step_by(2).map(|bin| part[*bin]));
        parts.iter().map(|part| of(&known[at..], part) - of(&known[..at], part)).collect()
    });
    for half in [0, 1] {
        let along =
            |bin: usize| parts.iter().zip(&halves[half]).map(|(part, by)| part[bin] * by).sum::<f64>();
        let other =
            |side: &[usize]| stats::sorted(side.iter().skip(1 - half).step_by(2).map(|bin| along(*bin)));
        let (before, behind) = (other(&known[..at]), other(&known[at..]));
        let between = stats::quantile(&behind, NEARLY_ALL)? - stats::quantile(&before, 1.0 - NEARLY_ALL)?;
        let means = mean(behind.iter().copied()) - mean(before.iter().copied());
        if means <= 0.0 || between < APART * means {
            return None;
        }
    }
    let rises = |part: usize| halves[0][part].min(halves[1][part]).max(0.0);
    let rise: f64 = (0..parts.len()).map(rises).sum();
    let most = (0..parts.len()).max_by(|a, b| rises(*a).total_cmp(&rises(*b)))?;
    let level = |side: &[usize]| mean(side.iter().map(|bin| parts[most][*bin]));
    let behind = (*known.get(at)?, known.last()? + 1);
    let split = Split { behind, rise, most, levels: (level(&known[at..]), level(&known[..at])) };
    (rise >= least.max(RISES_SHARE * busy)).then_some(split)
}

/// The split between which the means of all parts differ most, each by how many bins it is of.
fn best(parts: &[Vec<f64>], known: &[usize], side: usize) -> usize {
    let mut apart = vec![0.0; known.len()];
    for part in parts {
        let all: f64 = known.iter().map(|bin| part[*bin]).sum();
        let mut sum = 0.0;
        for (before, bin) in known.iter().enumerate() {
            let (n, m) = (before as f64, (known.len() - before) as f64);
            if before >= side {
                apart[before] += (sum / n - (all - sum) / m).powi(2) * n * m;
            }
            sum += part[*bin];
        }
    }
    let splits = side..=known.len() - side;
    splits.max_by(|a, b| apart[*a].total_cmp(&apart[*b])).unwrap_or(side)
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / f64::max(count, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts of two threads that run: each has a share of it, by bin, with scatter.
    fn parts(shares: impl Fn(usize) -> Vec<f64>) -> Vec<Vec<f64>> {
        let mut state = 7_u64;
        let mut scatter = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as f64 / 2_f64.powi(31)
        };
        let bins: Vec<Vec<f64>> = (0..80)
            .map(|bin| shares(bin).iter().map(|share| 2.0 * share * (0.8 + 0.4 * scatter())).collect())
            .collect();
        (0..bins[0].len()).map(|part| bins.iter().map(|bin| bin[part]).collect()).collect()
    }

    fn found(shares: impl Fn(usize) -> Vec<f64>) -> Option<Split> {
        split(&parts(shares), &[true; 80], 0.25, 2.0)
    }

    #[test]
    fn other_code_from_the_middle_on_is_a_split_though_none_of_it_takes_much() {
        let six = |bin: usize| {
            let new = if bin < 40 { 0.0 } else { 0.1 };
            [vec![1.0 - 6.0 * new], vec![new; 6]].concat()
        };
        let split = found(six).unwrap();
        assert!((39..=41).contains(&split.behind.0) && split.behind.1 == 80, "{:?}", split.behind);
        assert!((split.rise - 1.2).abs() < 0.2 && split.levels.1 == 0.0, "{}", split.rise);
    }

    #[test]
    fn scatter_drift_and_what_returns_are_none() {
        assert!(found(|_| vec![0.02; 50]).is_none(), "scatter of many parts");
        let drift = |bin: usize| vec![1.0 - bin as f64 / 80.0, bin as f64 / 80.0];
        assert!(found(drift).is_none(), "drift");
        let by_turns =
            |bin: usize| if (bin / 10).is_multiple_of(2) { vec![1.0, 0.0] } else { vec![0.0, 1.0] };
        assert!(found(by_turns).is_none(), "phases by turns");
    }
}
