//! What was lost in slow windows, by a series or by stops of the JVM.

use fathom_recording::{ProcessId, Recording};

use super::progress::Progress;
use crate::intervals::Intervals;
use crate::known::Known;
use crate::{Loss, Measure, Window, Windows, stats};

/// See [`noise`].
const LEAST_LOST: f64 = 0.02;
/// Share of the slow windows that stops must take to be the measure of what was lost: a fifth, as
/// for a dip.
const STOPS_SHARE: f64 = 0.2;

/// What was lost in the slow windows to stops of the JVM that was stopped most. Where the stops are
/// but a small part of the windows (a user gave them for another reason), they are no measure of
/// what was lost, and nothing is.
pub(super) fn lost_to_stops(
    recording: &Recording,
    jvms: &[ProcessId],
    windows: &Windows,
    known: &Known<'_>,
) -> Loss {
    let slow = Intervals::of_windows(&windows.slow);
    let base = Intervals::of_windows(&windows.base);
    let stacks = known.stacks();
    let excess = |jvm: &ProcessId| {
        let stops = crate::stops::standstills(recording, stacks, *jvm);
        let usual = match base.length_ms() {
            0.0 => 0.0,
            length => stops.and(&base).length_ms() / length,
        };
        (stops.and(&slow).length_ms() - usual * slow.length_ms()).max(0.0)
    };
    let worst = jvms.iter().map(|jvm| (excess(jvm), *jvm)).max_by(|a, b| a.0.total_cmp(&b.0));
    let enough = |ms: f64| ms > 0.0 && ms >= STOPS_SHARE * slow.length_ms();
    let Some((lost_ms, jvm)) = worst.filter(|(ms, _)| enough(*ms)) else { return Loss::default() };
    let name = recording.process_name(jvm);
    let measured_on = format!("stops of {name}");
    Loss { lost_ms, measure: Some(Measure::Stops), measured_on, ..Loss::default() }
}

pub(super) fn lost_progress(progress: &Progress, slow: &[Window], base: &[Window]) -> Option<Loss> {
    let rate = |windows: &[Window]| {
        // A gap counts as no progress: nobody saw any.
        let values: Vec<f64> = progress.within(windows).map(|v| v.unwrap_or(0.0)).collect();
        stats::mean(&values)
    };
    let length_ms: f64 = slow.iter().map(|w| w.length_ns() as f64 / 1e6).sum();
    let noise = noise(progress, slow, base);
    // What a tick lost is a share of it, by speeds; what is shown of a latency is its mean.
    let (slow_rate, base_rate) = (progress.mean_shown(slow), progress.mean_shown(base));
    let (slow, base) = (rate(slow)?, rate(base).filter(|rate| *rate > 0.0)?);
    let lost = 1.0 - slow / base;
    Some(Loss {
        lost_ms: if lost > noise { length_ms * lost } else { 0.0 },
        slow_rate,
        base_rate,
        unit: progress.unit.clone(),
        measure: None,
        measured_on: progress.measured_on.clone(),
    })
}

/// How much lower slow windows may be than the baseline by chance, as a share of it: two standard
/// deviations of a mean of so many ticks, and 2% at least, for ticks of a steady load are not
/// independent of each other.
fn noise(progress: &Progress, slow: &[Window], base: &[Window]) -> f64 {
    let ticks = progress.ticks_within(slow).count().max(1) as f64;
    let values: Vec<f64> = progress.within(base).flatten().collect();
    let usual = stats::mean(&values).filter(|mean| *mean > 0.0);
    let sigma = stats::robust_sigma(&values).zip(usual).map_or(0.0, |(sigma, mean)| sigma / mean);
    (2.0 * sigma / ticks.sqrt()).max(LEAST_LOST)
}

/// The loss of each tick whose middle lies in a slow window.
pub(super) fn lost_by(progress: &Progress, slow: &[Window], base: &[Window]) -> Vec<(Window, f64)> {
    let base: Vec<f64> = progress.within(base).map(|v| v.unwrap_or(0.0)).collect();
    let Some(base) = stats::mean(&base).filter(|rate| *rate > 0.0) else { return Vec::new() };
    let tick_ms = progress.tick_ns as f64 / 1e6;
    progress
        .ticks_within(slow)
        .map(|i| (progress.window(i, i + 1), tick_ms * (1.0 - progress.values[i].unwrap_or(0.0) / base)))
        .collect()
}
