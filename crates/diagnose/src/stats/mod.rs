//! The little statistics that windows and rules stand on: order statistics that one wild value
//! cannot move, a rank test, a bootstrap with a fixed seed, change points. All of it is
//! deterministic: the same recording gives the same verdict.
//!
//! The functions are written here because the crate for statistics (`statrs`) has distributions and
//! moments, and neither rank tests with ties nor change points. Tests compare them with values of
//! scipy.

mod bootstrap;
mod change_points;
mod rank_test;

pub use bootstrap::{Interval, mean_interval};
pub use change_points::change_points;
pub use rank_test::mann_whitney;

/// How many standard deviations of a normal distribution one median absolute deviation is: 1 /
/// Φ⁻¹(3/4).
const MAD_TO_SIGMA: f64 = 1.482_602_218_505_602;

/// Values in ascending order, without those that are not numbers.
pub fn sorted(values: impl IntoIterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The value below which a share `q` of sorted values lies, interpolated between neighbours
/// (numpy's default); `None` without values.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = q.clamp(0.0, 1.0) * last as f64;
    let low = *sorted.get(at.floor() as usize)?;
    let high = *sorted.get(at.ceil() as usize)?;
    Some(low + (high - low) * at.fract())
}

/// The median of sorted values.
pub fn median(sorted: &[f64]) -> Option<f64> {
    quantile(sorted, 0.5)
}

/// Standard deviation as the median absolute deviation estimates it: half of the values may be wild
/// without moving it. `None` without values.
pub fn robust_sigma(values: &[f64]) -> Option<f64> {
    let values = sorted(values.iter().copied());
    let centre = median(&values)?;
    let deviations = sorted(values.iter().map(|v| (v - centre).abs()));
    Some(median(&deviations)? * MAD_TO_SIGMA)
}

/// The mean; `None` without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: [f64; 9] = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0, 100.0];

    /// Expected: `numpy.quantile(x, q)`, `scipy.stats.median_abs_deviation(x, scale='normal')`.
    #[test]
    fn order_statistics_are_those_of_numpy_and_scipy() {
        assert_eq!(quantile(&X, 0.25), Some(4.0));
        assert!((quantile(&X, 0.9).unwrap() - 27.2).abs() < 1e-12);
        assert_eq!(median(&[1.0, 2.0, 3.0, 10.0]), Some(2.5));
        assert!((robust_sigma(&X).unwrap() - 1.482_602_218_505_602).abs() < 1e-12);
    }

    #[test]
    fn nothing_has_no_median_and_wild_values_are_left_out() {
        assert_eq!(median(&[]), None);
        assert_eq!(robust_sigma(&[]), None);
        assert_eq!(mean(&[]), None);
        assert_eq!(sorted([f64::NAN, 2.0, f64::INFINITY, 1.0]), [1.0, 2.0]);
        assert_eq!(quantile(&[1.0], 7.0), Some(1.0));
    }
}
