//! The young generation of a heap, as its collections show it.

use fathom_recording::vocabulary::figure;

use super::super::gc_case::GcCase;
use super::super::gc_cpu::Ready;
use super::{FEW_YOUNG, for_room};
use crate::collections::Pause;
use crate::failures::ran_out;

/// Young collections closer together than this, seconds, are too many for any pause to be short
/// enough …
pub(super) const CLOSE_S: f64 = 0.5;
/// … and the young generation is to blame when it is no larger than this share of the heap: the
/// default is a third (`NewRatio=2`), G1 gives 5 to 60%.
const YOUNG: f64 = 0.15;

/// The young generation as it was while its collections took most of their time: it begins small
/// and grows, and a hundred short collections of the first second say nothing of the long ones
/// after it.
pub(super) struct Young {
    /// Its capacity, bytes.
    pub(super) size: f64,
    /// Its share of the heap.
    pub(super) share: f64,
    /// The interval of its collections, seconds.
    pub(super) interval_s: f64,
    /// Whether its collections ran out of room: a full heap leaves none for a young generation
    /// (`gc-evacuation-failure`).
    ran_out: bool,
    /// Whether G1 made it small itself, as it does where pauses are longer than it is asked for:
    /// those of a collector that has no CPU are.
    shrunk: bool,
}

impl Young {
    /// As far as its collections show it; `None` where there are few, or they have no sizes.
    pub(super) fn of(gc: &GcCase<'_, '_>) -> Option<Self> {
        let young: Vec<_> = gc.slow.iter().filter(|p| p.is_young() && for_room(p)).collect();
        let gaps = young.windows(2).filter_map(|pair| match pair {
            [a, b] => Some((b.span.t0_ns().saturating_sub(a.span.t1_ns()).max(0) as f64 / 1e9, b.ms())),
            _ => None,
        });
        let interval_s = median_of_time(gaps);
        let size = median_of_time(young.iter().filter_map(|p| Some((size_of_young(p)?, p.ms()))));
        let share = size / gc.heap_max_bytes()?;
        let ran_out = young.iter().filter(|p| ran_out(p)).count() * 10 > young.len();
        let is_g1 = || gc.collector().is_some_and(|collector| collector == "G1");
        let shrunk = is_g1() && Ready::of(gc, young.iter().copied()).is_some_and(|ready| ready.is_starved());
        (size > 0.0 && young.len() > FEW_YOUNG).then_some(Self { size, share, interval_s, ran_out, shrunk })
    }

    pub(super) fn is_small(&self) -> bool {
        !self.ran_out && !self.shrunk && self.interval_s <= CLOSE_S && self.share <= YOUNG
    }
}

fn size_of_young(pause: &Pause<'_>) -> Option<f64> {
    let f = |key| pause.span.figure(key);
    f(figure::YOUNG_CAPACITY_BYTES).or_else(|| f(figure::YOUNG_BEFORE_BYTES))
}

/// The value of which half of the pauses' time has no more; 0 without values.
///
/// `values`: each with the length of its pause, milliseconds.
fn median_of_time(values: impl Iterator<Item = (f64, f64)>) -> f64 {
    let mut values: Vec<(f64, f64)> = values.filter(|(value, _)| value.is_finite()).collect();
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = values.iter().map(|(_, ms)| ms).sum::<f64>() / 2.0;
    let mut before_ms = 0.0;
    let middle = values.iter().find(|(_, ms)| {
        before_ms += ms;
        before_ms >= half
    });
    middle.map_or(0.0, |(value, _)| *value)
}
