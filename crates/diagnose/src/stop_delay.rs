//! What stops of a JVM add to the latency of requests that come whenever they come.
//!
//! ```text
//! a stop of p, one every T:   share of requests that come in one  p / T
//!                             what each of these waits for its end  p / 2 on average
//! all requests on average     Σ p² / 2T
//! ```
//!
//! Stops of 90 ms twice a second are a fifth of the time, and make requests that take half a
//! millisecond wait 8 ms each. Where as many requests as ever are answered this holds; clients that
//! wait for an answer before they ask again ask for less meanwhile.

use crate::intervals::Intervals;
use crate::verdict::Measure;
use crate::{Case, Window, thread_ledger};

/// What of the usual number of operations a second must be left.
const AS_MANY: f64 = 0.85;

/// What requests wait for stops on average, milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StopDelay {
    pub(crate) slow_ms: f64,
    pub(crate) base_ms: f64,
    /// What of their longer latency that makes up, at most 1.
    pub(crate) share: f64,
}

impl StopDelay {
    /// `None` where the loss is not measured on a latency in milliseconds, where fewer operations
    /// are done than usual, and where stops add nothing.
    pub(crate) fn of(case: &Case<'_>, stops: &Intervals) -> Option<Self> {
        let loss = &case.loss;
        let longer = loss.slow_rate? - loss.base_rate?;
        if loss.measure != Some(Measure::Latency) || loss.unit != "ms" || longer <= 0.0 {
            return None;
        }
        let rate = |windows: &[Window]| {
            let all: Option<f64> =
                windows.iter().map(|window| thread_ledger::operations(case.recording, *window)).sum();
            Some(all? / Case::length_ms(windows))
        };
        if rate(&case.slow)? < AS_MANY * rate(&case.base)? {
            return None;
        }
        let (slow_ms, base_ms) = (waits(stops, &case.slow), waits(stops, &case.base));
        let share = ((slow_ms - base_ms) / longer).min(1.0);
        (share > 0.0).then_some(Self { slow_ms, base_ms, share })
    }

    /// What of the loss stops are charged with for that, milliseconds.
    pub(crate) fn cost_ms(case: &Case<'_>, stops: &Intervals) -> f64 {
        Self::of(case, stops).map_or(0.0, |delay| delay.share * case.loss.lost_ms)
    }

    /// How much longer they wait than usual, milliseconds.
    pub(crate) fn longer_ms(&self) -> f64 {
        self.slow_ms - self.base_ms
    }
}

/// What a request that comes at any time within windows waits for the end of a stop on average,
/// milliseconds.
fn waits(stops: &Intervals, windows: &[Window]) -> f64 {
    let within = stops.and(&Intervals::of_windows(windows));
    let squares = within.ranges().iter().map(|(from, to)| (to.saturating_sub(*from) as f64 / 1e6).powi(2));
    squares.sum::<f64>() / (2.0 * Case::length_ms(windows)).max(f64::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use fathom_recording::vocabulary::series;
    use fathom_recording::{SeriesInfo, SeriesKind, Sink, Source};

    use super::*;
    use crate::built::Built;

    /// A minute in which requests take half a millisecond, and nine in the middle third, while
    /// pauses of 90 ms come every half second; `operations` of 100 a second are done meanwhile.
    fn share_of_pauses(operations: f64) -> Option<f64> {
        let mut built = Built::jvm("17", "G1", 60.0);
        let source = built.recording.add_source(Source { format: "table".into(), ..Source::default() });
        let mut column = |name: &str, unit: &str, kind, of: [f64; 2]| {
            let (name, unit) = (name.into(), unit.into());
            let info = SeriesInfo { name, unit, instance: String::new(), kind, process: None, source };
            let id = built.recording.add_series(info);
            for s in 0..60 {
                let value = of[usize::from((20..40).contains(&s))];
                built.recording.point(id, s * 1_000_000_000, 1_000_000_000, value);
            }
        };
        column(series::THROUGHPUT, "ops/s", SeriesKind::Rate, [100.0, operations]);
        column("avg_latency", "ms", SeriesKind::Latency, [0.5, 9.0]);
        for i in 0..40 {
            built.pause("Pause Full", "G1 Periodic Collection", 20.0 + f64::from(i) / 2.0, 90.0, &[]);
        }
        let diagnosis = crate::diagnose(&built.sealed(), &crate::Options::default()).unwrap();
        diagnosis.findings.first()?.share
    }

    #[test]
    fn pauses_are_charged_with_what_requests_wait_for_them_where_as_many_come() {
        assert!(share_of_pauses(100.0) > Some(0.9), "{:?}", share_of_pauses(100.0));
        assert!(share_of_pauses(30.0) < Some(0.5), "{:?}", share_of_pauses(30.0));
    }

    #[test]
    fn who_comes_in_a_stop_waits_for_half_of_it_on_average() {
        let ms = 1_000_000;
        let stops = Intervals::of((0..10).map(|i| (i * 500 * ms, (i * 500 + 100) * ms)));
        let all = [Window { from_ns: 0, to_ns: 5_000 * ms }];
        assert!((waits(&stops, &all) - 10.0).abs() < 1e-9);
        assert_eq!(waits(&stops, &[]), 0.0);
    }
}
