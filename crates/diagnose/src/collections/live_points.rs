//! The heap that stays in use after collections of the old generation.

use std::collections::HashMap;

use fathom_recording::vocabulary::{figure, kind};
use fathom_recording::{ProcessId, Recording, Span, StrId};

use super::{Pause, of_kind, pauses};
use crate::Window;

/// Readings that an estimate of the live set is the median of, so that one odd collection does not
/// decide.
const READINGS: usize = 5;

/// The heap in use after a collection of the old generation: what the application really holds on
/// to.
#[derive(Clone, Copy)]
pub struct LivePoint<'a> {
    /// When the collection ended, nanoseconds.
    pub t_ns: i64,
    /// Heap in use, bytes.
    pub bytes: f64,
    /// The collection.
    pub span: Span<'a>,
}

/// Heap after each collection that also cleaned the old generation, in order of time: full
/// collections, the last mixed collection of each series (G1; where a cycle is followed by none,
/// the young collection after it; where names do not tell them apart, the last of those after a
/// cycle that made the old generation smaller), whole cycles of ZGC and Shenandoah, and for CMS the
/// old generation as the first young collection after a sweep finds it, with the young generation's
/// survivors.
///
/// Heap after a young collection alone is not used: it rises between old collections in every
/// healthy program.
pub fn live_points<'a>(
    recording: &'a Recording,
    jvm: ProcessId,
    window: Option<Window>,
) -> Vec<LivePoint<'a>> {
    live_points_of(&pauses(recording, jvm, window), recording, jvm, window)
}

/// [`live_points`] for one who has the [`pauses`] already: of a large log they are many megabytes.
pub fn live_points_of<'a>(
    all: &[Pause<'a>],
    recording: &'a Recording,
    jvm: ProcessId,
    window: Option<Window>,
) -> Vec<LivePoint<'a>> {
    let after = |span: Span<'a>| {
        let bytes = span.figure(figure::HEAP_AFTER_BYTES)?;
        Some(LivePoint { t_ns: span.t1_ns(), bytes, span })
    };
    let mut points: Vec<LivePoint<'a>> = Vec::new();
    for (i, pause) in all.iter().enumerate() {
        let last_mixed = pause.is_mixed() && !all.get(i + 1).is_some_and(Pause::is_mixed);
        if pause.collected_old() || last_mixed {
            points.extend(after(pause.span));
        }
        // A cycle of G1 that found nothing worth a mixed collection: all that is old is in use, but
        // for what was allocated there since (a humongous object).
        if pause.called.cleanup
            && let Some(next) = all.get(i + 1).filter(|p| p.is_young() && !p.called.prepares_mixed)
        {
            let left = pause.span.figure(figure::HEAP_AFTER_BYTES).unwrap_or(f64::INFINITY);
            let mixed = all.iter().skip(i + 2).take_while(|p| p.is_mixed_unnamed());
            let last = if next.called.unnamed { mixed.last().unwrap_or(next) } else { next };
            points.extend(after(last.span).map(|point| LivePoint { bytes: point.bytes.min(left), ..point }));
        }
    }
    let mut cycles: HashMap<StrId, Cycle> = HashMap::new();
    for span in of_kind(recording, kind::GC_CONCURRENT, jvm, window) {
        let cycle = *cycles.entry(span.name_id()).or_insert_with(|| Cycle::of(span.name()));
        if cycle == Cycle::Whole {
            points.extend(after(span));
        } else if cycle == Cycle::Sweep {
            let behind = all.partition_point(|p| p.span.t0_ns() < span.t1_ns());
            let next = all[behind..].iter().find(|p| p.is_young());
            points.extend(next.and_then(|p| live_before(p, span)));
        }
    }
    points.sort_by_key(|p| p.t_ns);
    points
}

/// The live set, bytes: the median of the last readings, of two in the middle the lower one, as a
/// concurrent cycle counts as live what was promoted while it ran. `None` without readings.
pub fn live_estimate(points: &[LivePoint<'_>]) -> Option<f64> {
    let mut last: Vec<f64> = points.iter().rev().take(READINGS).map(|p| p.bytes).collect();
    last.sort_by(f64::total_cmp);
    last.get(last.len().saturating_sub(1) / 2).copied()
}

/// What the name of concurrent work says of the old generation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cycle {
    /// A cycle that looked at the whole heap: ZGC's collections, the major ones where it is
    /// generational, and the last concurrent clean-up of Shenandoah, the only line of its cycle
    /// with sizes.
    Whole,
    /// CMS gave back what it found dead.
    Sweep,
    /// Neither.
    Other,
}

impl Cycle {
    fn of(name: &str) -> Self {
        let whole = (name.starts_with("Garbage Collection") || name.starts_with("Major Collection"))
            || (name.starts_with("Concurrent cleanup") && !name.contains("Young"));
        let sweep = name.contains("oncurrent-sweep") || name.contains("oncurrent Sweep");
        match (whole, sweep) {
            (true, _) => Self::Whole,
            (false, true) => Self::Sweep,
            (false, false) => Self::Other,
        }
    }
}

/// After a sweep of CMS: old generation as the next young collection finds it, plus what survives
/// that.
fn live_before<'a>(next: &Pause<'a>, sweep: Span<'a>) -> Option<LivePoint<'a>> {
    let f = |key| next.span.figure(key);
    let old = f(figure::OLD_BEFORE_BYTES)
        .or_else(|| Some(f(figure::HEAP_BEFORE_BYTES)? - f(figure::YOUNG_BEFORE_BYTES)?))?;
    let bytes = old + f(figure::YOUNG_AFTER_BYTES).unwrap_or(0.0);
    Some(LivePoint { t_ns: sweep.t1_ns(), bytes, span: next.span })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built::Built;

    const MB: f64 = 1_048_576.0;

    #[test]
    fn of_a_jvm_watched_from_outside_the_last_collection_that_made_the_old_generation_smaller_counts() {
        let mut built = Built::jvm("17", "G1", 20.0);
        let sizes = |heap: (f64, f64)| {
            let old = (heap.0 - 20.0, heap.1 - 4.0);
            [
                (figure::HEAP_BEFORE_BYTES, heap.0 * MB),
                (figure::HEAP_AFTER_BYTES, heap.1 * MB),
                (figure::OLD_BEFORE_BYTES, old.0 * MB),
                (figure::OLD_AFTER_BYTES, old.1 * MB),
            ]
        };
        built.pause("Pause Young", "G1 Evacuation Pause", 1.0, 20.0, &sizes((500.0, 495.0)));
        built.pause("Pause Cleanup", "G1 Evacuation Pause", 2.0, 1.0, &[]);
        // The first one after the cycle prepares the mixed ones; the last one is a young one again.
        for (i, heap) in
            [(503.0, 502.0), (520.0, 470.0), (490.0, 354.0), (375.0, 370.0)].into_iter().enumerate()
        {
            built.pause("Pause Young", "G1 Evacuation Pause", 3.0 + i as f64, 20.0, &sizes(heap));
        }
        built.pause("Pause Full", "G1 Compaction Pause", 9.0, 900.0, &sizes((511.0, 80.0)));
        let jvm = built.jvm;
        let recording = built.sealed();
        let points = live_points(&recording, jvm, None);
        assert_eq!(points.iter().map(|p| p.bytes / MB).collect::<Vec<_>>(), [354.0, 80.0]);
        assert_eq!(live_estimate(&points), Some(80.0 * MB));
    }
}
