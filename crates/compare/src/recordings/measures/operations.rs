//! Operations of a side, segment by segment, and what is divided by them.

use fathom_diagnose::Window;
use fathom_recording::vocabulary::series;
use fathom_recording::{Recording, Series, SeriesKind};

/// A segment of which operations were counted for less than this share says nothing of them.
const LEAST_COUNTED: f64 = 0.5;

/// Operations per second in each segment.
pub(super) struct Operations {
    per_s: Vec<f64>,
    counted: Vec<bool>,
}

/// The series that count operations: those of clients, else requests that a server answered.
fn counting(recording: &Recording) -> Vec<&Series> {
    let named = |name: &str| {
        let of = recording.series.iter().filter(|s| s.info.kind == SeriesKind::Rate && s.info.name == name);
        of.collect::<Vec<_>>()
    };
    let clients = named(series::THROUGHPUT);
    if clients.is_empty() { named(series::REQUESTS) } else { clients }
}

/// From the first to the last timestamp at which operations were counted.
pub(in super::super) fn counted(recording: &Recording) -> Option<Window> {
    let series = counting(recording);
    let ends =
        series.iter().flat_map(|s| s.t_ns.iter().zip(&s.dt_ns)).map(|(t, dt)| (*t, t.saturating_add(*dt)));
    let (from_ns, to_ns) = ends.reduce(|(a, b), (from, to)| (a.min(from), b.max(to)))?;
    (from_ns < to_ns).then_some(Window { from_ns, to_ns })
}

impl Operations {
    /// `None` where nobody counts them.
    pub(super) fn of(recording: &Recording, segments: &[Window]) -> Option<Self> {
        let mut done = vec![0.0; segments.len()];
        let mut covered = vec![0.0_f64; segments.len()];
        for series in counting(recording) {
            // Several clients count at the same time: a segment is counted as long as one of them
            // does.
            let mut covers = vec![0.0; segments.len()];
            for ((t, dt), value) in series.t_ns.iter().zip(&series.dt_ns).zip(&series.value) {
                let end = t.saturating_add(*dt);
                let first = segments.partition_point(|w| w.to_ns <= *t);
                for (i, window) in segments.iter().enumerate().skip(first) {
                    let (from, to) = ((*t).max(window.from_ns), end.min(window.to_ns));
                    if from >= to {
                        break;
                    }
                    if value.is_finite() {
                        let seconds = (to - from) as f64 / 1e9;
                        done[i] += value.max(0.0) * seconds;
                        covers[i] += seconds;
                    }
                }
            }
            covered.iter_mut().zip(covers).for_each(|(most, seconds)| *most = most.max(seconds));
        }
        let length = |w: &Window| w.length_ns() as f64 / 1e9;
        let counted = |(w, covered): (&Window, &f64)| *covered > 0.0 && *covered >= LEAST_COUNTED * length(w);
        let counted: Vec<bool> = segments.iter().zip(&covered).map(counted).collect();
        let per_s = done.iter().zip(&covered).map(|(done, covered)| done / covered.max(f64::MIN_POSITIVE));
        let found = Self { per_s: per_s.collect(), counted };
        found.counted.contains(&true).then_some(found)
    }

    /// Those of the segments in which they were counted.
    pub(super) fn rates(&self) -> Vec<f64> {
        self.of_counted(&self.per_s)
    }

    /// A rate per second as a value per operation. The mean is that of all operations together: the
    /// value of a segment is its part of a ratio estimator (Cochran, Sampling Techniques, ch. 6).
    /// Otherwise a segment with few operations would weigh as much as one with many. `None` where
    /// no operation was done.
    pub(super) fn per_operation(&self, per_s: &[f64]) -> Option<Vec<f64>> {
        let (figure, done) = (self.of_counted(per_s), self.rates());
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let (of_figure, of_done) = (mean(&figure), mean(&done));
        let whole = of_figure / of_done;
        let each = figure.iter().zip(&done).map(|(figure, done)| whole + (figure - whole * done) / of_done);
        (of_done > 0.0).then(|| each.collect())
    }

    fn of_counted(&self, values: &[f64]) -> Vec<f64> {
        values.iter().zip(&self.counted).filter(|(_, counted)| **counted).map(|(value, _)| *value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_without_operations_or_with_few_makes_none_more_expensive() {
        let counted = vec![true, true, true, false];
        let operations = Operations { per_s: vec![100.0, 2.0, 98.0, 0.0], counted };
        let each = operations.per_operation(&[50.0, 10.0, 40.0, 99.0]).unwrap();
        let mean = each.iter().sum::<f64>() / each.len() as f64;
        assert_eq!(each.len(), 3, "the last one was not counted");
        assert!((mean - 0.5).abs() < 1e-12, "100 of 200: {mean}");
        let idle = Operations { per_s: vec![0.0; 2], counted: vec![true; 2] };
        assert_eq!(idle.per_operation(&[1.0, 1.0]), None);
    }
}
