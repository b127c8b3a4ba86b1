//! Mann–Whitney's U test: whether one sample tends to be larger than another, whatever their
//! distributions.

use statrs::distribution::{ContinuousCDF, Normal};

/// Two-sided p-value of Mann–Whitney's U by the normal approximation with correction for ties and
/// continuity (scipy's `mannwhitneyu(method="asymptotic")`). 1 where nothing can be said: an empty
/// side, or all values equal.
///
/// The approximation is good from about eight values on each side; below that it is conservative
/// enough for our thresholds, which also ask for a minimum effect.
pub fn mann_whitney(x: &[f64], y: &[f64]) -> f64 {
    let (n1, n2) = (x.len() as f64, y.len() as f64);
    let mut all: Vec<(f64, bool)> =
        x.iter().map(|v| (*v, true)).chain(y.iter().map(|v| (*v, false))).collect();
    if x.is_empty() || y.is_empty() {
        return 1.0;
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut rank_sum, mut ties, mut i) = (0.0, 0.0, 0);
    while i < all.len() {
        let equal = all[i..].iter().take_while(|v| v.0 == all[i].0).count().max(1);
        let rank = i as f64 + (equal as f64 + 1.0) / 2.0;
        rank_sum += rank * all[i..i + equal].iter().filter(|v| v.1).count() as f64;
        ties += (equal as f64).powi(3) - equal as f64;
        i += equal;
    }
    let n = n1 + n2;
    let u = rank_sum - n1 * (n1 + 1.0) / 2.0;
    let variance = n1 * n2 / 12.0 * ((n + 1.0) - ties / (n * (n - 1.0)).max(1.0));
    if !(variance > 0.0 && variance.is_finite()) {
        return 1.0;
    }
    let larger = u.max(n1 * n2 - u);
    let z = (larger - n1 * n2 / 2.0 - 0.5) / variance.sqrt();
    (2.0 * Normal::standard().sf(z)).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected: `scipy.stats.mannwhitneyu(x, y, method="asymptotic").pvalue`.
    #[test]
    fn p_values_are_those_of_scipy() {
        let males = [19.0, 22.0, 16.0, 29.0, 24.0];
        let females = [20.0, 11.0, 17.0, 12.0];
        assert!((mann_whitney(&males, &females) - 0.111_346_886_533_140_41).abs() < 1e-9);
        let x = [1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 4.0, 9.0];
        let y = [3.0, 4.0, 5.0, 5.0, 6.0, 7.0, 8.0, 10.0, 11.0];
        assert!((mann_whitney(&x, &y) - 0.013_378_892_477_412_75).abs() < 1e-9, "{}", mann_whitney(&x, &y));
    }

    #[test]
    fn equal_or_missing_samples_do_not_differ() {
        assert_eq!(mann_whitney(&[], &[1.0]), 1.0);
        assert_eq!(mann_whitney(&[5.0; 9], &[5.0; 9]), 1.0);
        assert!(mann_whitney(&[1.0; 20], &[2.0; 20]) < 1e-6);
    }
}
