//! Slow windows of a latency: of a service of which as much is asked as ever.

use fathom_recording::{Recording, Series};

use super::dips::{self, Found};
use super::lost::lost_progress;
use super::progress::Progress;
use crate::facts::{Value, windows as words};
use crate::{Fact, Window};

/// How many times as much as throughput a latency must have lost to be what is judged: in a closed
/// loop both show the same.
pub(super) const MOST_OF_IT: f64 = 2.0;
/// How many times as many operations as usual are a larger load.
const MORE_ASKED: f64 = 1.25;

/// A latency with its slow windows, where throughput has none, or none that cost as much. `rate`:
/// what was found on throughput, or on a latency already.
pub(super) fn slower(
    recording: &Recording,
    usable: impl Fn(&Series) -> bool,
    rate: Option<(&Progress, &Found)>,
) -> Option<(Progress, Found)> {
    let lost_ms = |progress: &Progress, found: &Found| {
        lost_progress(progress, &found.slow, &found.base).map_or(0.0, |loss| loss.lost_ms)
    };
    let is_latency = rate.is_some_and(|(progress, found)| progress.of_latency && !found.slow.is_empty());
    let lost = rate.map_or(0.0, |(progress, found)| lost_ms(progress, found));
    let all = Progress::of_latencies(recording, usable).into_iter();
    all.filter(|_| !is_latency).find_map(|latency| {
        let slower = dips::find(&latency).filter(|slower| !slower.slow.is_empty())?;
        (lost <= 0.0 || lost_ms(&latency, &slower) > MOST_OF_IT * lost).then_some((latency, slower))
    })
}

/// That so many more operations were made in slow windows than in their baseline that the load
/// explains why each took longer.
pub(super) fn more_asked(rate: &Progress, (slow, base): (&[Window], &[Window])) -> Option<Fact> {
    let (slow, base) = (rate.mean_shown(slow)?, rate.mean_shown(base)?);
    let is_more = !rate.of_latency && base > 0.0 && slow >= MORE_ASKED * base;
    is_more.then(|| words::MORE_ASKED.is(Value::plain(slow / base)))
}

#[cfg(test)]
mod tests {
    use fathom_recording::{SeriesInfo, SeriesKind, Sink, SourceId, vocabulary};

    use super::*;

    const S: i64 = 1_000_000_000;

    /// What is found on a throughput that dips for `dip_s` seconds, and a latency that rises for
    /// the last 30 of 60.
    fn found(dip_s: i64) -> Option<Found> {
        let mut recording = Recording::new();
        let mut add = |name: &str, kind: SeriesKind, of: &dyn Fn(i64) -> f64| {
            let info = SeriesInfo {
                name: name.into(),
                unit: String::new(),
                instance: String::new(),
                kind,
                process: None,
                source: SourceId(0),
            };
            let series = recording.add_series(info);
            (0..60).for_each(|s| recording.point(series, s * S, S, of(s) * (1.0 + 0.01 * (s % 3) as f64)));
        };
        let dips = |s: i64| if (35..35 + dip_s).contains(&s) { 20.0 } else { 300.0 };
        add(vocabulary::series::THROUGHPUT, SeriesKind::Rate, &dips);
        add("avg_latency", SeriesKind::Latency, &|s| if s < 30 { 10.0 } else { 150.0 });
        recording.seal();
        let rate = Progress::of(&recording, |_| true)?;
        let dips = dips::find(&rate)?;
        slower(&recording, |_| true, Some((&rate, &dips))).map(|(_, found)| found)
    }

    #[test]
    fn a_latency_that_lost_much_more_than_throughput_is_what_is_judged() {
        let slow = found(4).expect("a latency").slow;
        let seconds: i64 = slow.iter().map(crate::Window::length_ns).sum::<i64>() / S;
        assert_eq!(seconds, 30);
        assert!(found(25).is_none(), "both show the same");
    }
}
