//! What is done about young collections, by what they leave: larger survivor spaces help only where
//! survivors do not fit in them.

use crate::facts::remedies;
use fathom_recording::vocabulary::figure;

use crate::Remedy;
use crate::collections::Pause;
use crate::rules::gc_premature_promotion::overran;

/// Share of the pauses that must overrun the survivor spaces for that to be what is wrong.
const OVERRUN: f64 = 0.2;
/// What a collection leaves of the heap before it from which on it frees next to nothing.
const KEPT: f64 = 0.8;

/// What to do about them.
pub(super) fn remedy(pauses: &[Pause<'_>]) -> Remedy {
    let over = pauses.iter().filter(|pause| overran(pause)).count();
    if over as f64 >= OVERRUN * pauses.len().max(1) as f64 && over > 0 {
        return remedies::ROOM_FOR_SURVIVORS.remedy();
    }
    if left(pauses).is_some_and(|left| left >= KEPT) {
        return remedies::KEEP_LESS_NEW.remedy();
    }
    remedies::FEWER_OBJECTS.remedy()
}

/// What they leave of the heap before them, the median; `None` where no log says so.
fn left(pauses: &[Pause<'_>]) -> Option<f64> {
    let figure = |pause: &Pause<'_>, key| pause.span.figure(key).filter(|bytes| *bytes > 0.0);
    let left = |pause: &Pause<'_>| {
        Some(figure(pause, figure::HEAP_AFTER_BYTES)? / figure(pause, figure::HEAP_BEFORE_BYTES)?)
    };
    let mut all: Vec<f64> = pauses.iter().filter_map(left).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built::Built;
    use crate::facts::Metric;

    const MB: f64 = 1024.0 * 1024.0;

    fn advised(before: f64, after: f64, ages: &[(&str, f64)]) -> &'static Metric {
        let mut built = Built::jvm("17", "G1", 60.0);
        for i in 0..10 {
            let heap = [(figure::HEAP_BEFORE_BYTES, before * MB), (figure::HEAP_AFTER_BYTES, after * MB)];
            let figures: Vec<_> = heap.into_iter().chain(ages.iter().copied()).collect();
            built.pause("Pause Young (Normal)", "G1 Evacuation Pause", f64::from(i), 100.0, &figures);
        }
        let jvm = built.jvm;
        remedy(&crate::collections::pauses(&built.sealed(), jvm, None)).change.fact().metric
    }

    #[test]
    fn larger_survivor_spaces_are_advised_only_where_survivors_overrun_them() {
        let ages = [
            (figure::TENURING_THRESHOLD, 1.0),
            (figure::TENURING_MAX, 15.0),
            (figure::AGE1_BYTES, 30.0 * MB),
            (figure::DESIRED_SURVIVOR_BYTES, 10.0 * MB),
        ];
        assert_eq!(advised(120.0, 60.0, &ages), &remedies::ROOM_FOR_SURVIVORS);
        // Nearly nothing survives, or nearly all does.
        assert_eq!(advised(76.0, 1.5, &[]), &remedies::FEWER_OBJECTS);
        assert_eq!(advised(123.0, 122.0, &[]), &remedies::KEEP_LESS_NEW);
    }
}
