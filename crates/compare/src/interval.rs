//! The interval in which the ratio of two commands lies.
//!
//! **Paired.** Runs of one block are compared with each other, so that what a machine does slowly
//! (another program, a clock that is lowered) meets both and cancels. The value of a run is the
//! mean of what it gave; the ratio is the geometric mean of the ratios of the blocks, because noise
//! of run times is a factor and not a summand.
//!
//! **Two intervals, the wider ends of both.** A bootstrap draws blocks with replacement, and within
//! each run segments of its series (neighbours in a series depend on each other, so they are drawn
//! together); it knows of skew. With ten blocks a bootstrap is too narrow (it covers 95% some 90
//! times in 100), so Student's interval of the logarithms of the blocks' ratios is its floor: what
//! differs from block to block is never taken for less than it was.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use crate::random::Random;

/// Resamples drawn: the 0.5% quantile of 4000 is the 20th value.
const RESAMPLES: usize = 4_000;
/// Any number would do; that it is always the same makes the verdict the same every time.
const SEED: u64 = 0x9E37_79B9_7F4A_7C15;
/// Segments that the series of a run is cut into.
const SEGMENTS: usize = 24;
/// With fewer blocks nothing is said of what differs between them.
pub const FEWEST_PAIRS: usize = 3;
/// The chance of finding a difference that the number of runs is computed for.
const POWER: f64 = 0.8;

/// What the runs of one block gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// The series of the baseline's run; mostly one value.
    pub baseline: Vec<f64>,
    /// That of the other.
    pub other: Vec<f64>,
}

/// A ratio and where it lies.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Estimate {
    /// Other divided by baseline.
    pub ratio: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end; null in JSON where it is infinite.
    #[cfg_attr(feature = "typescript", ts(as = "Option<f64>"))]
    pub high: f64,
    /// Standard deviation of the logarithm of one block's ratio; of an unpaired comparison, what it
    /// would be.
    pub sigma: f64,
    /// Blocks, or forks of the side with fewer.
    pub pairs: usize,
}

/// The estimate of paired runs; the interval is wrong with the chance `alpha`. `None`: fewer than
/// [`FEWEST_PAIRS`], or a value that is not greater than zero, which has no ratio.
pub fn paired(pairs: &[Pair], alpha: f64) -> Option<Estimate> {
    let logs: Option<Vec<f64>> =
        pairs.iter().map(|p| Some(log_mean(&p.other)? - log_mean(&p.baseline)?)).collect();
    let logs = logs.filter(|logs| logs.len() >= FEWEST_PAIRS)?;
    let n = logs.len() as f64;
    let (mean, variance) = moments(&logs);
    let half = quantile_of_student(n - 1.0, alpha) * (variance / n).sqrt();
    let (baseline, other): (Vec<_>, Vec<_>) =
        pairs.iter().map(|p| (segments(&p.baseline), segments(&p.other))).unzip();
    let drawn = |random: &mut Random| -> f64 {
        let one = |random: &mut Random| {
            let i = random.below(pairs.len());
            // A single value, without a series, has nothing to be drawn from.
            if baseline[i].len() == 1 && other[i].len() == 1 {
                return logs[i];
            }
            log_of_drawn(&other[i], random) - log_of_drawn(&baseline[i], random)
        };
        (0..pairs.len()).map(|_| one(random)).sum::<f64>() / n
    };
    let (low, high) = bootstrap(drawn, alpha);
    Some(estimate(mean, low.min(mean - half), high.max(mean + half), variance.sqrt(), pairs.len()))
}

/// The estimate of runs that were not made alternately, by Welch's interval and the bootstrap.
/// `None` as of [`paired`].
pub fn unpaired(baseline: &[Vec<f64>], other: &[Vec<f64>], alpha: f64) -> Option<Estimate> {
    let logs = |runs: &[Vec<f64>]| runs.iter().map(|run| log_mean(run)).collect::<Option<Vec<f64>>>();
    let fewest = baseline.len().min(other.len());
    let (x, y) = (logs(baseline)?, logs(other)?);
    if fewest < FEWEST_PAIRS {
        return None;
    }
    let ((mean_x, var_x), (mean_y, var_y)) = (moments(&x), moments(&y));
    let (part_x, part_y) = (var_x / x.len() as f64, var_y / y.len() as f64);
    // Welch and Satterthwaite. Two sides without any spread have as many degrees as runs.
    let degrees = (part_x + part_y).powi(2)
        / (part_x.powi(2) / (x.len() as f64 - 1.0) + part_y.powi(2) / (y.len() as f64 - 1.0));
    let degrees = if degrees.is_finite() { degrees } else { fewest as f64 - 1.0 };
    let half = quantile_of_student(degrees, alpha) * (part_x + part_y).sqrt();
    let cut = |runs: &[Vec<f64>]| runs.iter().map(|run| segments(run)).collect::<Vec<_>>();
    let (baseline, other) = (cut(baseline), cut(other));
    let side = |runs: &[Vec<(f64, f64)>], random: &mut Random| -> f64 {
        let one = |random: &mut Random| {
            let i = random.below(runs.len());
            log_of_drawn(&runs[i], random)
        };
        (0..runs.len()).map(|_| one(random)).sum::<f64>() / runs.len() as f64
    };
    let (low, high) = bootstrap(|random| side(&other, random) - side(&baseline, random), alpha);
    let mean = mean_y - mean_x;
    Some(estimate(mean, low.min(mean - half), high.max(mean + half), (var_x + var_y).sqrt(), fewest))
}

/// The p-value of paired logarithms of ratios being zero, by Student's test; 1 where nothing can be
/// said.
pub fn p_value(pairs: &[Pair]) -> f64 {
    let logs: Option<Vec<f64>> =
        pairs.iter().map(|p| Some(log_mean(&p.other)? - log_mean(&p.baseline)?)).collect();
    let Some(logs) = logs.filter(|logs| logs.len() >= FEWEST_PAIRS) else { return 1.0 };
    let n = logs.len() as f64;
    let (mean, variance) = moments(&logs);
    let error = (variance / n).sqrt();
    match (mean == 0.0, error > 0.0) {
        (true, _) => 1.0,
        (false, false) => 0.0,
        _ => StudentsT::new(0.0, 1.0, n - 1.0).map_or(1.0, |t| 2.0 * t.sf((mean / error).abs())),
    }
}

/// Runs of each command with which a difference of `margin` would be found 8 times in 10.
pub fn runs_needed(sigma: f64, margin: f64, alpha: f64) -> usize {
    let per_error = sigma / margin.ln_1p();
    if !(per_error.is_finite() && per_error > 0.0) {
        return FEWEST_PAIRS;
    }
    let power = Normal::standard().inverse_cdf(POWER);
    let mut runs = FEWEST_PAIRS as f64;
    // From normal quantiles to Student's, which depend on the number that is looked for: a few
    // steps settle it.
    let mut quantile = Normal::standard().inverse_cdf(1.0 - alpha / 2.0);
    for _ in 0..8 {
        runs = ((quantile + power) * per_error).powi(2).ceil().clamp(FEWEST_PAIRS as f64, 1e9);
        quantile = quantile_of_student(runs - 1.0, alpha);
    }
    runs as usize
}

fn estimate(mean: f64, low: f64, high: f64, sigma: f64, pairs: usize) -> Estimate {
    Estimate { ratio: mean.exp(), low: low.exp(), high: high.exp(), sigma, pairs }
}

/// Half of the 95% interval of the mean of `n` values with a standard deviation; `None` for one
/// value.
pub(crate) fn half_interval(n: usize, deviation: f64) -> Option<f64> {
    let half = quantile_of_student(n.checked_sub(1).filter(|n| *n > 0)? as f64, 0.05) * deviation;
    Some(half / (n as f64).sqrt()).filter(|half| half.is_finite())
}

/// The two-sided quantile: 2.26 of 9 degrees and 5%.
fn quantile_of_student(degrees: f64, alpha: f64) -> f64 {
    StudentsT::new(0.0, 1.0, degrees).map_or(f64::INFINITY, |t| t.inverse_cdf(1.0 - alpha / 2.0))
}

/// Mean and variance of a sample.
fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0))
}

/// The logarithm of the mean; `None` where it has none.
fn log_mean(values: &[f64]) -> Option<f64> {
    let log = (values.iter().sum::<f64>() / values.len() as f64).ln();
    log.is_finite().then_some(log)
}

/// A series cut into segments, each as sum and number.
fn segments(values: &[f64]) -> Vec<(f64, f64)> {
    let length = values.len().div_ceil(SEGMENTS).max(1);
    values.chunks(length).map(|part| (part.iter().sum(), part.len() as f64)).collect()
}

/// The logarithm of the mean of a run of which segments were drawn.
fn log_of_drawn(segments: &[(f64, f64)], random: &mut Random) -> f64 {
    let (sum, number) = match segments {
        [only] => *only,
        _ => (0..segments.len()).fold((0.0, 0.0), |(sum, number), _| {
            let (s, n) = segments[random.below(segments.len())];
            (sum + s, number + n)
        }),
    };
    // A series of which some values are not above zero may be drawn so that its mean is not.
    (sum / number).max(f64::MIN_POSITIVE).ln()
}

fn bootstrap(mut drawn: impl FnMut(&mut Random) -> f64, alpha: f64) -> (f64, f64) {
    let mut random = Random::new(SEED);
    let mut drawn: Vec<f64> = (0..RESAMPLES).map(|_| drawn(&mut random)).collect();
    drawn.sort_by(f64::total_cmp);
    let at = |q: f64| fathom_diagnose::stats::quantile(&drawn, q).unwrap_or(f64::NAN);
    (at(alpha / 2.0), at(1.0 - alpha / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(baseline: &[f64], other: &[f64]) -> Vec<Pair> {
        baseline.iter().zip(other).map(|(a, b)| Pair { baseline: vec![*a], other: vec![*b] }).collect()
    }

    const A: [f64; 6] = [1.00, 1.10, 0.95, 1.05, 1.20, 1.00];
    const B: [f64; 6] = [1.05, 1.14, 1.01, 1.10, 1.24, 1.07];

    /// The floor is the mean of the logarithms and 2.5706 standard errors, Student's 97.5%
    /// quantile of 5 degrees.
    #[test]
    fn the_interval_is_never_narrower_than_that_of_student() {
        let estimate = paired(&pairs(&A, &B), 0.05).unwrap();
        let logs: Vec<f64> = A.iter().zip(B).map(|(a, b)| (b / a).ln()).collect();
        let (mean, variance) = moments(&logs);
        let half = 2.570_581_835_636_314 * (variance / 6.0).sqrt();
        assert!((estimate.ratio - mean.exp()).abs() < 1e-12);
        assert!(estimate.low <= (mean - half).exp() + 1e-12 && estimate.high >= (mean + half).exp() - 1e-12);
        assert!(estimate.low > 1.03 && estimate.high < 1.07, "{estimate:?}");
        assert!(p_value(&pairs(&A, &B)) < 0.001);
        assert_eq!(paired(&pairs(&A, &B), 0.05), Some(estimate), "the same every time");
    }

    #[test]
    fn what_meets_both_runs_of_a_block_cancels() {
        let drift = [1.0, 2.0, 1.5, 0.7, 3.0, 1.1];
        let moved = |row: &[f64]| row.iter().zip(drift).map(|(v, d)| v * d).collect::<Vec<_>>();
        let (still, moved) = (paired(&pairs(&A, &B), 0.05), paired(&pairs(&moved(&A), &moved(&B)), 0.05));
        let (still, moved) = (still.unwrap(), moved.unwrap());
        assert!((still.low - moved.low).abs() < 1e-9 && (still.high - moved.high).abs() < 1e-9);
    }

    #[test]
    fn iterations_of_one_run_do_not_make_it_certain() {
        let many = |values: &[f64]| values.iter().map(|v| vec![*v; 1000]).collect::<Vec<_>>();
        let wide: Vec<Pair> =
            many(&A).into_iter().zip(many(&B)).map(|(baseline, other)| Pair { baseline, other }).collect();
        let (one, thousand) = (paired(&pairs(&A, &B), 0.05).unwrap(), paired(&wide, 0.05).unwrap());
        assert!(thousand.high - thousand.low >= one.high - one.low - 1e-9, "{one:?} {thousand:?}");
    }

    #[test]
    fn what_has_no_ratio_has_no_interval() {
        assert_eq!(paired(&pairs(&[1.0, 1.0], &[1.0, 1.0]), 0.05), None, "two blocks say nothing");
        assert_eq!(paired(&pairs(&[1.0, 0.0, 1.0], &[1.0, 1.0, 1.0]), 0.05), None);
        assert_eq!(paired(&pairs(&[f64::NAN, 1.0, 1.0], &[1.0, 1.0, 1.0]), 0.05), None);
        assert_eq!(
            (p_value(&pairs(&[1.0; 4], &[1.0; 4])), p_value(&pairs(&[1.0; 4], &[2.0; 4]))),
            (1.0, 0.0)
        );
        let equal = paired(&pairs(&[2.0; 5], &[2.0; 5]), 0.05).unwrap();
        assert_eq!((equal.ratio, equal.low, equal.high), (1.0, 1.0, 1.0));
    }

    /// (2.262 + 0.842)² · (0.02 / ln 1.02)² = 9.8 with the 9 degrees of ten runs.
    #[test]
    fn the_number_of_runs_is_that_of_the_textbook() {
        assert_eq!(runs_needed(0.02, 0.02, 0.05), 10);
        assert!(runs_needed(0.02, 0.001, 0.05) > 3_000);
        assert_eq!((runs_needed(0.0, 0.01, 0.05), runs_needed(f64::NAN, 0.01, 0.05)), (3, 3));
    }

    #[test]
    fn unpaired_runs_have_the_interval_of_welch() {
        let runs = |values: &[f64]| values.iter().map(|v| vec![*v]).collect::<Vec<_>>();
        let estimate = unpaired(&runs(&A), &runs(&B), 0.05).unwrap();
        assert!(estimate.low < 1.0 && estimate.high > 1.1, "pairs are what made it narrow: {estimate:?}");
        assert_eq!(unpaired(&runs(&A[..2]), &runs(&B), 0.05), None);
        assert!(unpaired(&runs(&[1.0; 5]), &runs(&[2.0; 5]), 0.05).unwrap().low > 1.99);
    }
}
