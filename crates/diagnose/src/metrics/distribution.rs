//! How lengths are distributed: count, total, mean and percentiles.
//!
//! Percentiles are by **nearest rank**: the smallest value that at least that share of all values
//! does not exceed. Every percentile shown is therefore a pause that took place and can be looked
//! up, and p99.9 of a hundred pauses is the longest one rather than a number between two of them.

use serde::Serialize;

/// A distribution of lengths, in the unit they were given in.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Distribution {
    /// How many.
    pub count: usize,
    /// Their sum.
    pub total: f64,
    /// Their mean; 0 when there is none.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// Nine of ten are not longer.
    pub p90: f64,
    /// 95 of a hundred are not longer.
    pub p95: f64,
    /// 99 of a hundred are not longer.
    pub p99: f64,
    /// 999 of a thousand are not longer.
    pub p999: f64,
    /// The longest.
    pub max: f64,
}

impl Distribution {
    /// The distribution of some values; those that are not numbers are left out.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let sorted = sorted(values.into_iter().filter(|v| v.is_finite()));
        let total: f64 = sorted.iter().sum();
        let rank = |permille| nearest_rank(&sorted, permille);
        Self {
            count: sorted.len(),
            total,
            mean: if sorted.is_empty() { 0.0 } else { total / sorted.len() as f64 },
            p50: rank(500),
            p90: rank(900),
            p95: rank(950),
            p99: rank(990),
            p999: rank(999),
            max: rank(1000),
        }
    }
}

/// Values in order. Whole numbers are compared in one instruction each, and the bits of
/// floating-point numbers are in the order of their values when those of negative ones are turned
/// around, as `f64::total_cmp` does for each comparison.
fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let turn = |bits: i64| bits ^ ((bits >> 63) as u64 >> 1) as i64;
    let mut keys: Vec<i64> = values.map(|value| turn(value.to_bits() as i64)).collect();
    keys.sort_unstable();
    keys.into_iter().map(|key| f64::from_bits(turn(key) as u64)).collect()
}

/// The value at a rank given in thousandths, so that no rounding of 0.95 × 20 decides; 0 without
/// values.
fn nearest_rank(sorted: &[f64], permille: usize) -> f64 {
    let rank = (sorted.len() * permille).div_ceil(1000);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_by_nearest_rank() {
        let d = Distribution::of((1..=100).rev().map(f64::from));
        assert_eq!([d.p50, d.p90, d.p95, d.p99, d.p999, d.max], [50.0, 90.0, 95.0, 99.0, 100.0, 100.0]);
        assert_eq!((d.count, d.total, d.mean), (100, 5050.0, 50.5));
        let d = Distribution::of([15.0, 20.0, 35.0, 40.0, 50.0]);
        assert_eq!([d.p50, d.p90, d.max], [35.0, 50.0, 50.0]);
        let d = Distribution::of((1..=20).map(f64::from));
        assert_eq!([d.p50, d.p95], [10.0, 19.0]);
    }

    #[test]
    fn order_is_that_of_the_values_whatever_their_sign() {
        let values = [3.5, -0.0, 0.0, -1e300, 7.0, -2.5, f64::MIN_POSITIVE, 1e300, -f64::MIN_POSITIVE];
        let mut expected = values;
        expected.sort_unstable_by(f64::total_cmp);
        let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&sorted(values.into_iter())), bits(&expected));
    }

    #[test]
    fn nothing_and_one_value_are_distributions_too() {
        assert_eq!(Distribution::of([]), Distribution::default());
        let one = Distribution::of([7.5, f64::NAN]);
        assert_eq!([one.p50, one.p999, one.max, one.mean], [7.5; 4]);
    }
}
