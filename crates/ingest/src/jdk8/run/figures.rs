//! Labels and figures of a pause.

use fathom_recording::vocabulary::failure::is_evacuation_failure;
use fathom_recording::vocabulary::{figure, label};

use crate::jdk8::pause::Pause;

/// A pause's labels: its cause and how it failed.
pub(super) fn labels_of(pause: &Pause) -> Vec<(&'static str, &str)> {
    let mut labels: Vec<(&str, &str)> = Vec::with_capacity(2);
    labels.extend(pause.cause.map(|cause| (label::CAUSE, cause)));
    labels.extend(pause.failures.iter().map(|word| (label::FAILURE, *word)));
    labels
}

pub(super) fn figures_of(pause: &Pause, figures: &mut Vec<(&str, f64)>) {
    let changes = [
        (pause.heap, figure::HEAP_BEFORE_BYTES, figure::HEAP_AFTER_BYTES, Some(figure::HEAP_CAPACITY_BYTES)),
        (
            pause.young,
            figure::YOUNG_BEFORE_BYTES,
            figure::YOUNG_AFTER_BYTES,
            Some(figure::YOUNG_CAPACITY_BYTES),
        ),
        (pause.old, figure::OLD_BEFORE_BYTES, figure::OLD_AFTER_BYTES, Some(figure::OLD_CAPACITY_BYTES)),
        (pause.eden, figure::EDEN_BEFORE_BYTES, figure::EDEN_AFTER_BYTES, None),
        (pause.survivor, figure::SURVIVOR_BEFORE_BYTES, figure::SURVIVOR_AFTER_BYTES, None),
        (
            pause.metaspace,
            figure::METASPACE_BEFORE_BYTES,
            figure::METASPACE_AFTER_BYTES,
            Some(figure::METASPACE_COMMITTED_BYTES),
        ),
    ];
    for (change, before, after, capacity) in changes {
        let Some(change) = change else { continue };
        // "used(capacity)" of a mark or remark: it frees nothing.
        figures.push((before, change.before.unwrap_or(change.after)));
        figures.push((after, change.after));
        figures.extend(capacity.zip(change.capacity));
    }
    let old = pause.heap.zip(pause.young).filter(|_| pause.old.is_none());
    if let Some((heap, young)) = old {
        // Where only the young generation is printed, the rest of the heap is the old one.
        if let (Some(h), Some(y)) = (heap.before, young.before) {
            figures.push((figure::OLD_BEFORE_BYTES, (h - y).max(0.0)));
            figures.push((figure::OLD_AFTER_BYTES, (heap.after - young.after).max(0.0)));
        }
    }
    if let Some(times) = pause.times {
        figures.push((figure::USER_S, times.user_s));
        figures.push((figure::SYS_S, times.sys_s));
        figures.push((figure::REAL_S, times.real_s));
    }
    figures.extend(pause.workers.map(|w| (figure::WORKERS, w)));
    figures.extend(pause.phases_sum_ms().map(|ms| (figure::PHASES_SUM_MS, ms)));
    figures.extend(pause.idle_ms().map(|ms| (figure::IDLE_GAP_MS, ms)));
    if let Some((threshold, max)) = pause.tenuring {
        figures.push((figure::TENURING_THRESHOLD, threshold));
        figures.push((figure::TENURING_MAX, max));
    }
    figures.extend(pause.desired_survivor.map(|b| (figure::DESIRED_SURVIVOR_BYTES, b)));
    figures.extend(pause.age1.map(|b| (figure::AGE1_BYTES, b)));
    if pause.failures.iter().any(|word| is_evacuation_failure(word)) {
        figures.push((figure::EVACUATION_FAILURE, 1.0));
    }
    if pause.full {
        figures.push((figure::FULL, 1.0));
    }
}
