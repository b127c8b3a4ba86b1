//! Change points of a series: the ticks at which its distribution changes.
//!
//! E-divisive (Matteson, James, JASA 2014): the split with the greatest energy distance between
//! both sides, kept when a test says so, then both sides again. Significance by Mann–Whitney and
//! not by permutations, so that the result is the same every time (Hunter, ICPE 2023, made the same
//! choice with a t-test).
//!
//! A dip in the middle has two ends, and a split at one of them leaves the other side mixed: halves
//! that differ too little for the test. Where no split is significant, the interval that differs
//! most from what is around it is looked for (circular binary segmentation, Olshen et al.,
//! Biostatistics 2004), by ranks.

use super::mann_whitney;

/// Shortest interval between change points, ticks. Below five, a rank test cannot distinguish
/// change from chance at [`P_MAX`].
const MIN_INTERVAL: usize = 5;
/// p-value up to which a split is kept. Much below 5%, because every split is the best of many and
/// neighbouring ticks are not independent.
const P_MAX: f64 = 0.001;
/// The same for an interval with two ends: it is the best of the square of as many.
const P_MAX_WITHIN: f64 = 1e-6;
/// Values that the search looks at; it needs their square in steps.
const MAX_VALUES: usize = 2_000;

/// Indices at which a new level begins, ascending. Long series are looked at in groups of
/// neighbours, so that a change is found to within `len / 2000` ticks.
pub fn change_points(values: &[f64]) -> Vec<usize> {
    let group = values.len().div_ceil(MAX_VALUES).max(1);
    let grouped: Vec<f64> =
        values.chunks(group).map(|chunk| chunk.iter().sum::<f64>() / chunk.len() as f64).collect();
    let mut found = Vec::new();
    let mut todo = vec![(0, grouped.len())];
    while let Some((from, to)) = todo.pop() {
        let Some(split) = best_split(&grouped[from..to]) else { continue };
        let at = from + split;
        if mann_whitney(&grouped[from..at], &grouped[at..to]) <= P_MAX {
            found.push(at);
            todo.extend([(from, at), (at, to)]);
        } else if let Some((first, last)) = best_within(&grouped[from..to]) {
            let (first, last) = (from + first, from + last);
            let around: Vec<f64> = grouped[from..first].iter().chain(&grouped[last..to]).copied().collect();
            if mann_whitney(&grouped[first..last], &around) <= P_MAX_WITHIN {
                found.extend([first, last]);
                todo.extend([(from, first), (first, last), (last, to)]);
            }
        }
    }
    found.sort_unstable();
    found.iter().map(|at| at * group).collect()
}

/// The split with the greatest energy distance, weighted by the lengths of both sides; `None` when
/// too short.
fn best_split(values: &[f64]) -> Option<usize> {
    let n = values.len();
    if n < 2 * MIN_INTERVAL {
        return None;
    }
    // Sums of |a - b| over pairs: within the left side, within the right side, across. Moving one
    // value from right to left changes each by that value's distances to both sides.
    let distance = |i: usize, range: std::ops::Range<usize>| -> f64 {
        values[range].iter().map(|v| (v - values[i]).abs()).sum()
    };
    let (mut left, mut across) = (0.0, 0.0);
    let mut right: f64 = (0..n).map(|i| distance(i, i + 1..n)).sum();
    let mut best: Option<(f64, usize)> = None;
    for i in 0..n - 1 {
        let (to_left, to_right) = (distance(i, 0..i), distance(i, i + 1..n));
        left += to_left;
        right -= to_right;
        across += to_right - to_left;
        let split = i + 1;
        if split < MIN_INTERVAL || n - split < MIN_INTERVAL {
            continue;
        }
        let (m, k) = (split as f64, (n - split) as f64);
        let energy = 2.0 * across / (m * k)
            - 2.0 * left / (m * (m - 1.0)).max(1.0)
            - 2.0 * right / (k * (k - 1.0)).max(1.0);
        let weighted = energy * m * k / (m + k);
        if best.is_none_or(|(b, _)| weighted > b) {
            best = Some((weighted, split));
        }
    }
    best.map(|(_, split)| split)
}

/// The interval within, with something before and behind it, whose ranks differ most from those
/// around it; `None` when too short.
fn best_within(values: &[f64]) -> Option<(usize, usize)> {
    let n = values.len();
    if n < 3 * MIN_INTERVAL {
        return None;
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    // Sums of ranks from the first on, each above the mean rank: an interval's is the difference of
    // two. Ties get ranks in the order of time, which moves a sum by little; the test has them
    // right.
    let mut ranks = vec![0.0; n];
    for (rank, i) in order.iter().enumerate() {
        ranks[*i] = rank as f64 - (n - 1) as f64 / 2.0;
    }
    let mut sums = vec![0.0; n + 1];
    for i in 0..n {
        sums[i + 1] = sums[i] + ranks[i];
    }
    let mut best: Option<(f64, (usize, usize))> = None;
    for from in MIN_INTERVAL..n - 2 * MIN_INTERVAL + 1 {
        for to in from + MIN_INTERVAL..n - MIN_INTERVAL + 1 {
            let inside = (to - from) as f64;
            let differs = (sums[to] - sums[from]).abs() / (inside * (n as f64 - inside)).sqrt();
            if best.is_none_or(|(most, _)| differs > most) {
                best = Some((differs, (from, to)));
            }
        }
    }
    best.map(|(_, ends)| ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Noise without a seed to choose: the fractional parts of multiples of the golden ratio.
    fn noise(i: usize) -> f64 {
        (i as f64 * 0.618_033_988_749_895).fract() - 0.5
    }

    #[test]
    fn levels_are_separated_where_they_meet() {
        let level = |i: usize| match i {
            0..60 => 100.0,
            60..90 => 70.0,
            _ => 100.0,
        };
        let values: Vec<f64> = (0..200).map(|i| level(i) + 20.0 * noise(i)).collect();
        assert_eq!(change_points(&values), [60, 90]);
    }

    #[test]
    fn noise_has_no_change_points() {
        let values: Vec<f64> = (0..500).map(|i| 100.0 + 60.0 * noise(i)).collect();
        assert!(change_points(&values).is_empty());
        assert!(change_points(&[]).is_empty());
        assert!(change_points(&[3.0; 300]).is_empty());
    }

    #[test]
    fn a_long_series_is_looked_at_in_groups() {
        let values: Vec<f64> = (0..50_000).map(|i| if i < 20_000 { 10.0 } else { 5.0 } + noise(i)).collect();
        let found = change_points(&values);
        assert!(found.len() == 1 && found[0].abs_diff(20_000) <= 25, "{found:?}");
    }
}
