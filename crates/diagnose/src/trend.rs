//! A straight line through points, with how sure its slope is, and whether the rise flattens.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Confidence of the interval around a slope. 95% is the custom of the field; nothing hangs on it
/// alone, because a rule that uses a slope also asks how much it amounts to.
const CONFIDENCE: f64 = 0.95;

/// A line fitted by least squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// How many points it was fitted to.
    pub points: usize,
    /// Slope: units of y per unit of x.
    pub slope: f64,
    /// Lower end of the slope's 95% confidence interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The line's value at the last point.
    pub last: f64,
}

impl Trend {
    /// Fits a line to `(x, y)`. `None` with fewer than three points or without spread in x: then no
    /// interval can be given, and a slope without one is worth nothing.
    pub fn fit(points: &[(f64, f64)]) -> Option<Self> {
        let n = points.len();
        if n < 3 {
            return None;
        }
        let count = n as f64;
        let mean_x = points.iter().map(|p| p.0).sum::<f64>() / count;
        let mean_y = points.iter().map(|p| p.1).sum::<f64>() / count;
        let sxx: f64 = points.iter().map(|p| (p.0 - mean_x).powi(2)).sum();
        if !(sxx > 0.0 && sxx.is_finite()) {
            return None;
        }
        let sxy: f64 = points.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum();
        let slope = sxy / sxx;
        let residual: f64 = points.iter().map(|p| (p.1 - mean_y - slope * (p.0 - mean_x)).powi(2)).sum();
        let error = (residual / (count - 2.0) / sxx).sqrt();
        let t = StudentsT::new(0.0, 1.0, count - 2.0).ok()?.inverse_cdf(0.5 + CONFIDENCE / 2.0);
        let last_x = points.iter().map(|p| p.0).fold(f64::NEG_INFINITY, f64::max);
        Some(Self {
            points: n,
            slope,
            low: slope - t * error,
            high: slope + t * error,
            last: mean_y + slope * (last_x - mean_x),
        })
    }

    /// The lines through the earlier and the later half of the points, given in order of x: what a
    /// rise that flattens (a cache filling up) looks like compared with one that goes on (a leak).
    /// Split by number, because the readings of a leak crowd together towards its end.
    pub fn halves(points: &[(f64, f64)]) -> Option<(Self, Self)> {
        let (early, late) = points.split_at(points.len() / 2);
        Some((Self::fit(early)?, Self::fit(late)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected values: `scipy.stats.linregress` and `t.ppf(0.975, 3)`.
    #[test]
    fn slope_and_interval_are_those_of_scipy() {
        let trend = Trend::fit(&[(0.0, 1.0), (1.0, 3.0), (2.0, 2.0), (3.0, 5.0), (4.0, 4.0)]).unwrap();
        assert!((trend.slope - 0.8).abs() < 1e-12);
        // stderr 0.346410161513775, t 3.182446305284263
        assert!((trend.high - trend.slope - 1.102_431_738).abs() < 1e-6, "{trend:?}");
        assert!((trend.last - 4.6).abs() < 1e-12);
    }

    #[test]
    fn without_spread_or_points_there_is_no_slope() {
        assert_eq!(Trend::fit(&[(0.0, 1.0), (1.0, 2.0)]), None);
        assert_eq!(Trend::fit(&[(5.0, 1.0), (5.0, 2.0), (5.0, 3.0)]), None);
        assert_eq!(
            Trend::fit(&[(0.0, f64::NAN), (1.0, 2.0), (2.0, 3.0)]).map(|t| t.slope.is_nan()),
            Some(true)
        );
    }

    #[test]
    fn halves_show_a_rise_that_flattens() {
        let filling: Vec<_> = (0..40).map(|i| (i as f64, 100.0 * (1.0 - (-i as f64 / 5.0).exp()))).collect();
        let (early, late) = Trend::halves(&filling).unwrap();
        assert!(late.slope < early.slope / 20.0, "{early:?} {late:?}");
        let leaking: Vec<_> = (0..40).map(|i| (i as f64, 3.0 * i as f64)).collect();
        let (early, late) = Trend::halves(&leaking).unwrap();
        assert!((late.slope - early.slope).abs() < 1e-9);
    }
}
