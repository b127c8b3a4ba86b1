//! Events that a live collector and a log have of the same JVM count once, and so does a log that
//! was picked up while recording when it is also given as an input.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::kind;
use fathom_recording::{ProcessId, Recording, Source, SourceId, SpanId};

/// Removes the records of a log that was picked up while recording when the same log is also given
/// as an input, and merges the records that several sources have ([`Recording::merge_duplicates`]).
/// Called before the recording is sealed.
pub fn leave_out_duplicates(recording: &mut Recording) {
    leave_out_picked_up(recording);
    recording.merge_duplicates();
}

fn leave_out_picked_up(recording: &mut Recording) {
    let sources = &recording.sources;
    // For each source, the later one that is the same file of the same JVM.
    let again: Vec<Option<SourceId>> = sources
        .iter()
        .enumerate()
        .map(|(i, source)| {
            let same = |other: &Source| {
                (other.process, &other.format) == (source.process, &source.format)
                    && file_name(&other.name) == file_name(&source.name)
            };
            let is_unique = source.lines == 0 || source.process.is_none();
            let later = || sources.iter().enumerate().skip(i + 1).find(|(_, other)| same(other));
            if is_unique { None } else { later().map(|(j, _)| SourceId(j as u32)) }
        })
        .collect();
    if again.iter().all(Option::is_none) {
        return;
    }
    let mut watched: BTreeMap<(ProcessId, SourceId), Vec<(i64, i64)>> = BTreeMap::new();
    for i in 0..recording.spans.len() {
        let span = recording.span_at(SpanId(i as u32));
        if span.kind() == kind::RUN {
            watched.entry((span.process(), span.source())).or_default().push((span.t0_ns(), span.t1_ns()));
        }
    }
    recording.remove_spans(|span| {
        let Some(same) = &again[span.source().index()] else { return false };
        let middle = span.t0_ns() + span.duration_ns() / 2;
        let times = watched.get(&(span.process(), *same)).into_iter().flatten();
        times.into_iter().any(|(from, to)| (*from..=*to).contains(&middle))
    });
}

/// The last part of a path, without the number of the run in it.
fn file_name(name: &str) -> &str {
    super::same_jvm::file(name).rsplit('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_recording::{Process, Sink, Source, SpanRow};

    #[test]
    fn a_pause_that_the_log_has_is_counted_once_and_what_it_missed_stays() {
        let mut recording = Recording::new();
        let process = recording.add_process(Process { jvm: true, ..Process::default() });
        let other = recording.add_process(Process { jvm: true, ..Process::default() });
        let mut source =
            |format: &str| recording.add_source(Source { format: format.into(), ..Source::default() });
        let (live, log) = (source("jvm-events"), source("unified-log"));
        const MS: i64 = 1_000_000;
        let mut span = |kind, source, process, t0_ms: i64, t1_ms: i64| {
            recording.span(&SpanRow::new(kind, "", (t0_ms * MS, t1_ms * MS), process, source));
        };
        span(kind::RUN, log, process, 100, 200);
        span(kind::GC_PAUSE, log, process, 150, 160);
        span(kind::GC_PAUSE, live, process, 151, 161);
        span(kind::GC_PAUSE, live, process, 50, 60); // before the log begins
        span(kind::GC_PAUSE, live, other, 151, 161); // another JVM
        span(kind::SAFEPOINT, live, process, 149, 162); // the log has no safepoints
        leave_out_duplicates(&mut recording);
        recording.seal();
        let pauses: Vec<_> =
            recording.spans_of(kind::GC_PAUSE).map(|s| (s.t0_ns() / MS, s.process(), s.source())).collect();
        assert_eq!(pauses, [(50, process, live), (150, process, log), (151, other, live)]);
        assert_eq!(recording.spans_of(kind::SAFEPOINT).count(), 1);
    }

    #[test]
    fn a_log_that_was_picked_up_and_is_given_again_is_counted_once() {
        let mut recording = Recording::new();
        let process = recording.add_process(Process { jvm: true, ..Process::default() });
        let mut source = |name: &str, lines| {
            let (name, format) = (name.to_owned(), "unified-log".to_owned());
            recording.add_source(Source {
                name,
                format,
                lines,
                process: Some(process.0),
                ..Source::default()
            })
        };
        let (picked, given, other) = (source("gc.log", 9), source("logs/gc.log", 12), source("other.log", 3));
        for (kind, source, t0_ns, t1_ns) in [
            (kind::RUN, picked, 50, 100),
            (kind::GC_PAUSE, picked, 60, 70),
            (kind::RUN, given, 0, 200),
            (kind::GC_PAUSE, given, 10, 15),
            (kind::GC_PAUSE, given, 60, 70),
            (kind::GC_PAUSE, other, 61, 63),
        ] {
            recording.span(&SpanRow::new(kind, "", (t0_ns, t1_ns), process, source));
        }
        leave_out_duplicates(&mut recording);
        recording.seal();
        let pauses: Vec<_> = recording.spans_of(kind::GC_PAUSE).map(|s| (s.t0_ns(), s.source())).collect();
        assert_eq!(pauses, [(10, given), (60, given), (61, other)]);
    }
}
