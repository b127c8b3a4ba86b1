//! What is done about a heap that is too small, or one that something fills.

use fathom_recording::vocabulary::{fact, figure};

use crate::collections::Pause;
use crate::rules::gc_case::{GcCase, remedy};
use crate::{Remedy, quantity};

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

/// What to do about it, by what there is too little room in; see [`super::Room`].
pub(super) fn remedies(
    gc: &GcCase<'_, '_>,
    tight: Option<(f64, f64)>,
    old: Option<(f64, f64)>,
) -> Vec<Remedy> {
    if let (None, Some((left, _))) = (tight, old) {
        let room = format!(
            "an old generation of {} or more: a larger -Xmx, or less of it for the young one (-Xmn, -XX:NewRatio)",
            quantity::bytes(2.0 * left)
        );
        return vec![
            remedy(room, "any JDK", "memory; a smaller young generation is collected more often"),
            remedy(
                "-Xms equal to -Xmx, where the heap has not grown to its limit",
                "any JDK",
                "takes the memory at the start",
            ),
        ];
    }
    let Some((live, _)) = tight else {
        let change = match gc.fact(fact::COLLECTOR) {
            Some("G1") => {
                "no -Xmn or -XX:NewSize (G1 then sizes the young generation itself), a longer -XX:MaxGCPauseMillis"
            }
            _ => "a larger young generation: -Xmn, or -XX:NewRatio=1",
        };
        return vec![remedy(change, "any JDK", "longer young pauses, less room for the old generation")];
    };
    if let Some(before) = kept_in_base(gc).filter(|before| live >= FILLS * before) {
        // Twice of what grows is soon used up as well.
        return vec![
            remedy(
                format!(
                    "find what fills it (jcmd PID GC.class_histogram, or a heap dump: fathom heap): at most {} stayed in use in the baseline, \
                     and {} do now",
                    quantity::bytes(before),
                    quantity::bytes(live)
                ),
                "any JDK",
                "a dump stops the JVM and is as large as what is in use",
            ),
            remedy(
                "a larger -Xmx only where what is kept stops growing: until then it puts off an OutOfMemoryError",
                "any JDK",
                "memory",
            ),
        ];
    }
    let mut change = format!("-Xmx of {} or more: twice the live set", quantity::bytes(2.0 * live));
    let mut risk = "memory; a container's limit must allow for it".to_owned();
    if let Some(memory) = gc.fact_number(fact::MEMORY_BYTES).filter(|m| *m < 2.5 * live) {
        change = "a larger -Xmx, on a machine or in a container with more memory".into();
        risk = format!("this one has {}", quantity::bytes(memory));
    }
    vec![
        remedy(change, "any JDK", risk),
        remedy("keep less in use: caches with limits, smaller representations", "any JDK", "code change"),
    ]
}
