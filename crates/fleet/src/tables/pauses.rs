//! `pauses`: collections and stops of the JVM, by minute, name and cause.

use fathom_recording::vocabulary::{kind, label};

use super::{Input, process, sums};
use crate::columns::{Cell, Rows};

const COLUMNS: &[&str] =
    &["minute_ns", "kind", "process", "name", "cause", "count", "total_ns", "longest_ns"];

pub(super) fn rows(input: &Input<'_>) -> Rows {
    let recording = input.recording;
    let mut rows = Rows::new("pauses", COLUMNS);
    for (of, word) in [(kind::GC_PAUSE, "gc"), (kind::SAFEPOINT, "safepoint")] {
        let all = sums(recording, &[of], |span| {
            (process(recording, span.process()), span.name(), span.label(label::CAUSE))
        });
        for (((process, name, cause), minute), sum) in all {
            rows.push([
                minute.into(),
                word.into(),
                process.into(),
                name.into(),
                Cell::Text(cause.map(str::to_owned)),
                sum.count.into(),
                sum.total_ns.into(),
                sum.longest_ns.into(),
            ]);
        }
    }
    rows
}
