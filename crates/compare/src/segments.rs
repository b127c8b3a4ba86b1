//! A metric of two runs, each divided into segments of equal length: whether it differs by more
//! than it varies within them.
//!
//! Segments of one process depend on each other more than processes do, so that this says what
//! differs between these two runs, and not what differs between what was run. The tests are
//! Welch's, of the difference of two means; of many at once those are called different that
//! Benjamini and Hochberg (1995) let through: 5% of them may be wrong.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::interval::Estimate;

/// Share of wrongly called differences among those that are called.
pub const FALSE_DISCOVERIES: f64 = 0.05;

/// A metric of one side compared with the other.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Held {
    /// Mean over the segments of the first.
    pub first: f64,
    /// Mean over those of the second.
    pub second: f64,
    /// Second divided by first, where both are above zero.
    pub ratio: Option<Estimate>,
    /// Second less first lies between these, by Welch's interval; absent where the test is of
    /// another kind.
    pub difference: Option<[f64; 2]>,
    /// Chance of a difference as large by accident.
    pub p_value: f64,
}

/// Holds segments against each other; `None` with fewer than two on a side.
pub fn held(first: &[f64], second: &[f64], alpha: f64) -> Option<Held> {
    let (n, m) = (first.len() as f64, second.len() as f64);
    if first.len() < 2 || second.len() < 2 {
        return None;
    }
    let ((a, var_a), (b, var_b)) = (moments(first), moments(second));
    let (part_a, part_b) = (var_a / n, var_b / m);
    let error = (part_a + part_b).sqrt();
    let p_value = match (a == b, error > 0.0) {
        (true, _) => 1.0,
        (false, false) => 0.0,
        _ => student(degrees((part_a, n), (part_b, m))).map_or(1.0, |t| 2.0 * t.sf(((b - a) / error).abs())),
    };
    let ratio = (a > 0.0 && b > 0.0).then(|| {
        // The variance of the logarithm of a mean is that of the mean, divided by its square (the
        // delta method).
        let (log_a, log_b) = (part_a / (a * a), part_b / (b * b));
        let quantile = student(degrees((log_a, n), (log_b, m)))
            .map_or(f64::INFINITY, |t| t.inverse_cdf(1.0 - alpha / 2.0));
        let error = (log_a + log_b).sqrt();
        let half = if error > 0.0 { quantile * error } else { 0.0 };
        let pairs = first.len().min(second.len());
        let sigma = error * (pairs as f64).sqrt();
        Estimate { ratio: b / a, low: b / a * (-half).exp(), high: b / a * half.exp(), sigma, pairs }
    });
    let degrees = student(degrees((part_a, n), (part_b, m)));
    let quantile = degrees.map_or(f64::INFINITY, |t| t.inverse_cdf(1.0 - alpha / 2.0));
    let half = if error > 0.0 { quantile * error } else { 0.0 };
    let difference = half.is_finite().then_some([b - a - half, b - a + half]);
    Some(Held { first: a, second: b, ratio, difference, p_value })
}

/// Which of many tests are differences (Benjamini and Hochberg).
pub fn discoveries(p_values: &[f64]) -> Vec<bool> {
    let mut sorted: Vec<f64> = p_values.iter().copied().filter(|p| p.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let tests = sorted.len() as f64;
    let passes = |(rank, p): (usize, &f64)| *p <= (rank + 1) as f64 / tests * FALSE_DISCOVERIES;
    let limit = sorted.iter().enumerate().rposition(passes).map(|last| sorted[last]);
    p_values.iter().map(|p| limit.is_some_and(|limit| *p <= limit)).collect()
}

fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0))
}

/// Welch and Satterthwaite.
fn degrees((a, n): (f64, f64), (b, m): (f64, f64)) -> f64 {
    let degrees = (a + b).powi(2) / (a * a / (n - 1.0) + b * b / (m - 1.0));
    if degrees.is_finite() { degrees } else { n.min(m) - 1.0 }
}

fn student(degrees: f64) -> Option<StudentsT> {
    StudentsT::new(0.0, 1.0, degrees).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// t = 7.27324 of 6.6528 degrees; its tail by numerical integration of Student's density: p =
    /// 2.12503e-4.
    #[test]
    fn the_test_is_that_of_welch() {
        let (a, b) = ([1.0, 1.1, 0.9, 1.0, 1.05], [1.5, 1.6, 1.3, 1.55, 1.4]);
        let held = held(&a, &b, 0.05).unwrap();
        assert!((held.p_value - 2.12503e-4).abs() < 1e-8, "{held:?}");
        // Student's 97.5% quantile of 6.6528 degrees is 2.38991; the error is 0.0632456.
        let [low, high] = held.difference.unwrap();
        assert!((low - 0.308_85).abs() < 1e-4 && (high - 0.611_15).abs() < 1e-4, "{held:?}");
        let ratio = held.ratio.unwrap();
        assert!((ratio.ratio - 1.455_445).abs() < 1e-5 && ratio.low > 1.25 && ratio.high < 1.70, "{ratio:?}");
    }

    #[test]
    fn what_only_one_side_has_differs_without_a_ratio() {
        let held = held(&[0.0; 8], &[1.0, 1.1, 0.9, 1.0, 1.2, 0.8, 1.0, 1.0], 0.05).unwrap();
        assert!(held.ratio.is_none() && held.p_value < 1e-6, "{held:?}");
        let same = super::held(&[2.0; 4], &[2.0; 4], 0.05).unwrap();
        assert_eq!((same.p_value, same.ratio.unwrap().low), (1.0, 1.0));
        assert_eq!(super::held(&[1.0], &[1.0, 2.0], 0.05), None);
    }

    /// In order 0.001, 0.01, 0.03, 0.04, 0.5; the limits are 0.01, 0.02, 0.03, 0.04, 0.05.
    #[test]
    fn discoveries_are_those_of_benjamini_and_hochberg() {
        assert_eq!(discoveries(&[0.01, 0.04, 0.03, 0.5, 0.001]), [true, true, true, false, true]);
        assert_eq!(discoveries(&[0.04, 0.9, 0.9]), [false, false, false]);
        assert_eq!(discoveries(&[]), Vec::<bool>::new());
    }
}
