//! A series that goes on beyond the recording, at a level that the recording never shows: all of
//! the recording is then slow, and nothing in it can be compared. What changed within it is.
//!
//! ```text
//! series     ▇▇▇▇▇▇▇▇▇▇▅▅▅▅▅▁▁▁▁▁▅▅▅▅▅
//! recording            ├─────────────┤   slow as a whole; a dip in it, next to which there is a baseline
//! ```

use super::dips::{self, Found};
use super::progress::Progress;
use crate::facts::{Value, windows as words};
use crate::intervals::Intervals;

/// What of the recording must be in the baseline for it to be compared with.
const COMPARED: f64 = 0.1;
/// What a dip within the recording must have lost at least of its own baseline: nothing less is
/// worth leaving the usual level for.
const FELL: f64 = 0.3;

/// The series as far as it was recorded, with the dips in it, where those that were found on the
/// whole leave the recording without a baseline.
pub(super) fn instead(progress: &Progress, found: &Found, recorded: &Intervals) -> Option<(Progress, Found)> {
    let base = Intervals::of_windows(&found.base).and(recorded);
    let has_base = base.length_ns() as f64 >= COMPARED * recorded.length_ns() as f64;
    if found.slow.is_empty() || has_base || recorded.is_empty() {
        return None;
    }
    let own = of_recorded(progress, recorded)?;
    let mut dips = dips::find(&own).filter(|dips| !dips.slow.is_empty() && !dips.base.is_empty())?;
    let (slow, base) = (own.mean_shown(&dips.slow)?, own.mean_shown(&dips.base)?);
    let fell = if own.of_latency { 1.0 - base / slow } else { 1.0 - slow / base };
    let usual = words::RECORDED_ALONE.is(Value::plain(base)).with("unit", Value::name(&own.unit));
    dips.how.push(usual.into());
    (fell >= FELL).then_some((own, dips))
}

/// The ticks that were recorded; `None` where that is all of them.
fn of_recorded(progress: &Progress, recorded: &Intervals) -> Option<Progress> {
    let ticks: Vec<usize> = progress.ticks_within(&recorded.windows()).collect();
    let (first, last) = (*ticks.first()?, *ticks.last()?);
    let part = |all: &[f64]| all.get(first..=last).map(<[f64]>::to_vec).unwrap_or_default();
    (last + 1 - first < progress.values.len()).then(|| Progress {
        from_ns: progress.window(first, last).from_ns,
        values: progress.values[first..=last].to_vec(),
        stalled: progress.stalled[first..=last].to_vec(),
        counts: part(&progress.counts),
        ..progress.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Window;

    const S: i64 = 1_000_000_000;

    /// A series of a minute, recorded from the 20th second on.
    fn of(rate: impl Fn(i64) -> f64) -> Option<Vec<Window>> {
        let noise = |s: i64| 1.0 + 0.01 * (s * 7 % 5) as f64;
        let progress = Progress {
            from_ns: 0,
            tick_ns: S,
            values: (0..60).map(|s| Some(rate(s) * noise(s))).collect(),
            stalled: vec![false; 60],
            of_latency: false,
            counts: Vec::new(),
            unit: "ops/s".into(),
            measured_on: "throughput".into(),
        };
        let recorded = Intervals::of([(20 * S, 60 * S)]);
        instead(&progress, &dips::find(&progress).unwrap(), &recorded).map(|(_, found)| found.slow)
    }

    #[test]
    fn what_changed_within_the_recording_is_compared_where_all_of_it_is_below_the_usual_level() {
        let before = |s: i64, then: f64| if s < 20 { 1_000.0 } else { then };
        let fell = of(|s| before(s, if (32..44).contains(&s) { 40.0 } else { 480.0 }));
        assert_eq!(fell, Some(vec![Window { from_ns: 32 * S, to_ns: 44 * S }]));
        // Nothing in it changed; and what has a baseline is left as it is.
        assert_eq!(of(|s| before(s, 480.0)), None);
        assert_eq!(of(|s| if (32..44).contains(&s) { 40.0 } else { 1_000.0 }), None);
    }
}
