//! Statistics of pairs of number series.

use super::CLIPPED_AT;

/// Clips changes at a few times their usual size. False when hardly anything changes.
pub(super) fn clip(changes: &mut [f64]) -> bool {
    let mut sizes: Vec<f64> = changes.iter().map(|c| c.abs()).collect();
    let middle = sizes.len() / 2;
    if sizes.is_empty() {
        return false;
    }
    let (_, median, _) = sizes.select_nth_unstable_by(middle, f64::total_cmp);
    // 1.4826: the deviation of a normal distribution whose median size is 1.
    let most = CLIPPED_AT * 1.4826 * *median;
    changes.iter_mut().for_each(|c| *c = c.clamp(-most, most));
    most > 0.0 && most.is_finite()
}

/// The rotations of `n` values that are far enough from no rotation.
pub(super) fn shifts(n: usize) -> std::ops::Range<usize> {
    let apart = (n / 20).max(10);
    apart..n.saturating_sub(apart).max(apart)
}

pub(super) fn turned(values: &[f64], by: usize) -> Vec<f64> {
    let (head, tail) = values.split_at(by.min(values.len()));
    [tail, head].concat()
}

pub(super) fn fisher(r: f64) -> f64 {
    r.clamp(-0.999, 0.999).atanh()
}

/// Mean, standard deviation and maximum.
pub(super) fn spread(values: impl Iterator<Item = f64>) -> (f64, f64, f64) {
    let values: Vec<f64> = values.collect();
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n;
    (mean, variance.sqrt(), values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

/// Pearson's correlation; 0 when one side does not vary.
pub(super) fn pearson(x: &[f64], y: &[f64]) -> f64 {
    let n = x.len().min(y.len()).max(1) as f64;
    let (mx, my) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
    let (mut xy, mut xx, mut yy) = (0.0, 0.0, 0.0);
    for (x, y) in x.iter().zip(y) {
        xy += (x - mx) * (y - my);
        xx += (x - mx).powi(2);
        yy += (y - my).powi(2);
    }
    if xx * yy > 0.0 { xy / (xx * yy).sqrt() } else { 0.0 }
}
