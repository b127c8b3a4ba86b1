//! What recordings of version 1 have otherwise: counts were spans among the others, with how often
//! and how long among their figures.

use crate::vocabulary::count;
use crate::{CountRow, Recording, SpanId};

/// Kinds that are counts now, with the figures that were how often, and how long in nanoseconds.
const COUNTS: [(&str, &str, &str); 4] = [
    (count::SYSCALL_TOTALS, "calls", "total_ns"),
    (count::PAGE_FAULTS, "faults", "fault_ns"),
    (count::PAGE_FAULT_OFFSETS, "", ""),
    (count::MEMORY_FOREIGN, "locks", ""),
];

/// Makes counts of the spans that were counts.
pub(super) fn counts_of_spans(recording: &mut Recording) {
    let known = |kind: &str| COUNTS.iter().find(|(known, ..)| *known == kind);
    let mut counts = std::mem::take(&mut recording.counts);
    for i in 0..recording.spans.len() {
        let span = recording.span_at(SpanId(i as u32));
        let Some((_, often, long)) = known(span.kind()) else { continue };
        let is_column = |id| [*often, *long].contains(&recording.strings.get(id));
        let figures: Vec<_> = span.figures_by_id().filter(|(key, _)| !is_column(*key)).collect();
        // Offsets of faults are counted one by one alone.
        let sum = || figures.iter().map(|(_, number)| number).sum();
        let count = span.figure(often).unwrap_or_else(sum);
        let row = CountRow {
            thread: span.thread(),
            key: span.key(),
            total_ns: span.figure(long).map(|ns| ns as u64),
            ..CountRow::new(
                span.kind(),
                span.name(),
                (span.t0_ns(), span.t1_ns()),
                span.process(),
                span.source(),
                count as u64,
            )
        };
        counts.push_without_figures((span.kind_id(), span.name_id()), &row);
        counts.figures.push(figures.into_iter());
    }
    recording.counts = counts;
    recording.remove_spans(|span| known(span.kind()).is_some());
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::vocabulary::kind;
    use crate::{Overwrite, Process, Role, Sink, Source, SpanRow, open, write};

    /// A recording as version 1 wrote it: all that was counted is among the spans, and there is no
    /// table of counts.
    fn write_version_1(path: &Path) {
        let mut recording = Recording::new();
        let process = recording.add_process(Process::default());
        let source = recording.add_source(Source::default());
        let thread = Some(recording.thread(process, Some(7), "worker", Role::App));
        let mut row = |row: SpanRow<'_>| recording.span(&row);
        let new = |kind, name, ns| SpanRow::new(kind, name, ns, process, source);
        row(SpanRow {
            figures: &[("locks", 4.0), ("locks_written", 1.0)],
            ..new(count::MEMORY_FOREIGN, "ps", (1, 5))
        });
        let parent = Some(row(new(kind::GC_PAUSE, "Pause Full", (0, 9))));
        row(SpanRow {
            thread,
            key: 3,
            figures: &[("calls", 10.0), ("total_ns", 2e9), ("failed", 1.0)],
            ..new(count::SYSCALL_TOTALS, "read", (1, 5))
        });
        row(SpanRow {
            figures: &[("faults", -1.0), ("fault_ns", f64::NAN)],
            ..new(count::PAGE_FAULTS, "heap", (1, 5))
        });
        row(SpanRow { parent, ..new(kind::GC_NESTED, "", (2, 3)) });
        row(SpanRow { figures: &[("0", 3.0), ("64", 2.0)], ..new(count::PAGE_FAULT_OFFSETS, "", (1, 5)) });
        write(&recording, path, Overwrite::Never).unwrap();
        std::fs::remove_file(path.join("counts.parquet")).unwrap();
        let meta = path.join("meta.json");
        let mut json: serde_json::Value = serde_json::from_slice(&std::fs::read(&meta).unwrap()).unwrap();
        json["schema_version"] = 1.into();
        for of_tables in ["rows", "crc32"] {
            assert!(json[of_tables].as_object_mut().unwrap().remove("counts").is_some());
        }
        std::fs::write(&meta, json.to_string()).unwrap();
    }

    #[test]
    fn what_version_1_has_as_spans_that_are_counts_are_counts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("old.fathom");
        write_version_1(&path);
        let recording = open(&path).unwrap();
        let numbers = |kind| {
            let count = recording.counts_of(kind).next().unwrap();
            (count.name(), count.count(), count.total_ns(), count.figures().collect::<Vec<_>>())
        };
        assert_eq!(numbers(count::SYSCALL_TOTALS), ("read", 10, Some(2_000_000_000), vec![("failed", 1.0)]));
        assert_eq!(numbers(count::PAGE_FAULTS), ("heap", 0, Some(0), vec![]));
        assert_eq!(numbers(count::PAGE_FAULT_OFFSETS), ("", 5, None, vec![("0", 3.0), ("64", 2.0)]));
        assert_eq!(numbers(count::MEMORY_FOREIGN), ("ps", 4, None, vec![("locks_written", 1.0)]));
        let calls = recording.counts_of(count::SYSCALL_TOTALS).next().unwrap();
        assert_eq!(
            (calls.t0_ns(), calls.t1_ns(), calls.thread(), calls.key()),
            (1, 5, Some(crate::ThreadId(0)), 3)
        );
        // The spans that are left are those that lasted, and still belong together.
        assert_eq!(recording.kinds(), [(kind::GC_NESTED, 1), (kind::GC_PAUSE, 1)]);
        let nested = recording.spans_of(kind::GC_NESTED).next().unwrap();
        assert_eq!(nested.parent().map(|id| recording.span_at(id).name()), Some("Pause Full"));
        // Written again, it is of this version.
        let again = dir.path().join("again.fathom");
        write(&recording, &again, Overwrite::Never).unwrap();
        let again = open(&again).unwrap();
        assert_eq!((again.spans.len(), again.counts.len()), (2, 4));
    }
}
