//! What a series was within some windows.

use fathom_recording::Series;

use crate::intervals::Intervals;
use crate::{Window, stats};

/// For how long of the windows each value held, nanoseconds, and the value; those that did not are
/// left out.
pub(crate) fn values<'s>(
    series: &'s Series,
    windows: &[Window],
) -> impl Iterator<Item = (f64, f64)> + use<'s> {
    let within = Intervals::of_windows(windows);
    let points = series.t_ns.iter().zip(&series.dt_ns).zip(&series.value);
    points
        .map(move |((t, dt), value)| (within.length_within_ns(*t, t.saturating_add(*dt)) as f64, *value))
        .filter(|(ns, _)| *ns > 0.0)
}

/// The mean over time; `None`: there is no value within.
pub(crate) fn mean(series: &Series, windows: &[Window]) -> Option<f64> {
    let (ns, sum) = values(series, windows).fold((0.0, 0.0), |(all, sum), (ns, v)| (all + ns, sum + ns * v));
    (ns > 0.0).then(|| sum / ns)
}

/// The median: at the edges of a window a second has values of both sides.
pub(crate) fn median(series: &Series, windows: &[Window]) -> Option<f64> {
    stats::median(&stats::sorted(values(series, windows).map(|(_, value)| value)))
}

#[cfg(test)]
mod tests {
    use fathom_recording::vocabulary::live;

    use super::*;
    use crate::built::Built;

    #[test]
    fn values_count_for_as_long_as_they_held_within() {
        let mut built = Built::jvm("25", "G1", 10.0);
        built.gauge(live::PROCESS_NICE, "", None, &[(0.0, 1.0, 100.0), (1.0, 3.0, 4.0), (3.0, 4.0, 10.0)]);
        let recording = built.sealed();
        let within = [Window { from_ns: 1_500_000_000, to_ns: 4_000_000_000 }];
        let series = &recording.series[0];
        assert_eq!(mean(series, &within), Some((1.5 * 4.0 + 10.0) / 2.5));
        assert_eq!(median(series, &within), Some(7.0));
        assert_eq!(mean(series, &[Window { from_ns: 5_000_000_000, to_ns: 6_000_000_000 }]), None);
    }
}
