//! What is done about a heap that is too small, or one that something fills.

use fathom_recording::vocabulary::{fact, figure};

use crate::Remedy;
use crate::collections::Pause;
use crate::facts::{Value, remedies};
use crate::rules::gc_case::GcCase;

/// How many times as much stays in use as in the baseline for the heap to be one that something
/// fills, rather than one that is too small for what the application needs.
const FILLS: f64 = 2.0;

/// The most that a collection of the baseline windows left in use, bytes; `None` without one.
fn kept_in_base(gc: &GcCase<'_, '_>) -> Option<f64> {
    let in_base = |p: &&Pause<'_>| {
        let at = p.span.t0_ns();
        gc.case.base.iter().any(|w| (w.from_ns..w.to_ns).contains(&at))
    };
    gc.all.iter().filter(in_base).filter_map(|p| p.span.figure(figure::HEAP_AFTER_BYTES)).reduce(f64::max)
}

/// The most that was left in use in the baseline, bytes, where what is in use now, `live`, is so
/// many times as much that something fills the heap.
pub(in crate::rules) fn less_before(gc: &GcCase<'_, '_>, live: f64) -> Option<f64> {
    kept_in_base(gc).filter(|before| live >= FILLS * before)
}

/// What to do about it, by what there is too little room in; see [`super::Room`].
pub(super) fn remedies(
    gc: &GcCase<'_, '_>,
    tight: Option<(f64, f64)>,
    old: Option<(f64, f64)>,
) -> Vec<Remedy> {
    if let (None, Some((left, _))) = (tight, old) {
        return vec![
            remedies::OLD_OF_SIZE.is(Value::bytes(2.0 * left)).into(),
            remedies::HEAP_AT_FULL_SIZE.remedy(),
        ];
    }
    let Some((live, _)) = tight else {
        let young = match gc.fact(fact::COLLECTOR) {
            Some("G1") => &remedies::YOUNG_SIZED_BY_G1,
            _ => &remedies::YOUNG_BY_RATIO,
        };
        return vec![young.remedy()];
    };
    if let Some(before) = less_before(gc, live) {
        // Twice of what grows is soon used up as well.
        return vec![
            remedies::FIND_WHAT_FILLS.is(Value::bytes(live)).over(Value::bytes(before)).into(),
            remedies::LARGER_HEAP_DELAYS.remedy(),
        ];
    }
    let larger = match gc.fact_number(fact::MEMORY_BYTES).filter(|m| *m < 2.5 * live) {
        Some(memory) => remedies::MORE_MEMORY.is(Value::bytes(memory)),
        None => remedies::TWICE_THE_LIVE_SET.is(Value::bytes(2.0 * live)),
    };
    vec![larger.into(), remedies::KEEP_LESS.remedy()]
}
