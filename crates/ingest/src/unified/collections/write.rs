//! Writes collections: figures, concurrent phases, stalls.

use fathom_recording::vocabulary::{figure, kind, label};

use super::GcLine;
use crate::unified::out::{Entry, Out, text};
use crate::unified::pause::{At, Pause};
use crate::unified::record::{Group, Record};
use crate::unified::scan::Change;

/// What is known of a pause whose end is not in the log: that it failed, or was a full one.
pub(super) fn write_truncated(pause: &Pause, at: At, out: &mut Out<'_>) {
    if pause.announced.is_none() && pause.failures.is_empty() {
        return;
    }
    let words = text(&pause.words);
    let (name, cause) =
        pause.announced.as_ref().map_or((&*words, None), |(name, cause)| (&**name, cause.as_deref()));
    let mut labels: Vec<(&str, &str)> = cause.map(|cause| (label::CAUSE, cause)).into_iter().collect();
    labels.extend(pause.failures.iter().map(|word| (label::FAILURE, *word)));
    let figures: &[(&str, f64)] = if pause.is_full() { &[(figure::FULL, 1.0)] } else { &[] };
    let key = i64::try_from(pause.id).unwrap_or(-1);
    out.span(&Entry { key, figures, labels: &labels, ..Entry::event(kind::GC_CUT, name, at.ns, at.line) });
}

pub(super) fn push_change(figures: &mut Vec<(&str, f64)>, change: &Change) {
    figures.push((figure::HEAP_BEFORE_BYTES, change.before));
    figures.push((figure::HEAP_AFTER_BYTES, change.after));
    if let Some(capacity) = change.capacity {
        figures.push((figure::HEAP_CAPACITY_BYTES, capacity));
    }
}

/// G1's regions as bytes. Young is eden and survivors.
pub(super) fn push_regions(figures: &mut Vec<(&str, f64)>, pause: &Pause, region_bytes: f64) {
    let regions = &pause.regions;
    if let Some(eden) = &regions.eden {
        figures.push((figure::EDEN_BEFORE_BYTES, eden.before * region_bytes));
        figures.push((figure::EDEN_AFTER_BYTES, eden.after * region_bytes));
    }
    if let Some(survivor) = &regions.survivor {
        figures.push((figure::SURVIVOR_BEFORE_BYTES, survivor.before * region_bytes));
        figures.push((figure::SURVIVOR_AFTER_BYTES, survivor.after * region_bytes));
    }
    if let (Some(eden), Some(survivor)) = (&regions.eden, &regions.survivor) {
        figures.push((figure::YOUNG_BEFORE_BYTES, (eden.before + survivor.before) * region_bytes));
        figures.push((figure::YOUNG_AFTER_BYTES, (eden.after + survivor.after) * region_bytes));
        if let Some(capacity) = eden.capacity {
            figures.push((figure::YOUNG_CAPACITY_BYTES, (capacity + survivor.after) * region_bytes));
        }
    }
    if let Some(old) = &regions.old {
        figures.push((figure::OLD_BEFORE_BYTES, old.before * region_bytes));
        figures.push((figure::OLD_AFTER_BYTES, old.after * region_bytes));
    }
}

pub(super) fn write_concurrent(
    line: &GcLine<'_>,
    record: &Record<'_>,
    (t0_ns, t1_ns): (i64, i64),
    figures: &[(&str, f64)],
    out: &mut Out<'_>,
) {
    let name = text(record.name);
    let mut groups: Vec<(&str, std::borrow::Cow<'_, str>)> = Vec::new();
    for (group, said) in record.groups() {
        match group {
            Group::Cause => groups.push((label::CAUSE, text(said))),
            Group::Unknown => groups.push((label::QUALIFIER, text(said))),
            _ => {}
        }
    }
    let labels: Vec<(&str, &str)> = groups.iter().map(|(key, text)| (*key, text.as_ref())).collect();
    out.evidence.ids.done(line.id);
    out.span(&Entry {
        kind: kind::GC_CONCURRENT,
        name: &name,
        t0_ns,
        t1_ns,
        line: line.at.line,
        key: i64::try_from(line.id).unwrap_or(-1),
        parent: None,
        thread: None,
        figures,
        labels: &labels,
    });
}
