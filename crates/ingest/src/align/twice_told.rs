//! What a live collector and a log tell of the same JVM is told once.
//!
//! A log says more of a collection than the JVM's probes do (phases, sizes, CPU time), and where both are there every
//! figure would be doubled: the log's records stay.

use std::collections::{BTreeMap, BTreeSet};

use fathom_recording::vocabulary::kind;
use fathom_recording::{ProcessId, Recording, Source, SourceId, SpanId};

/// The source format of the collector that reads the JVM's probes.
const LIVE: &str = "jvm-events";
/// A stop that was longer than the log knows of by as much stays as the probes tell of it, and not as the log does: before JDK 13
/// the log's clock starts behind the first line of a stop and ends before the last, and it is in writing those that the JVM may
/// hang (`RuntimeService`, runtimeService.cpp). Stamps and probes differ by less than a time slice.
const LONGER_NS: i64 = 20_000_000;
/// What both tell of.
const KINDS: [&str; 3] = [kind::GC_PAUSE, kind::SAFEPOINT, kind::JIT_COMPILE];

/// Takes the live records out that a log tells of as well, and those of a log that was picked up while recording when
/// the same log is given beside the recording. Before the recording is sealed.
pub fn leave_out_twice_told(recording: &mut Recording) {
    let sources = &recording.sources;
    let live: Vec<bool> = sources.iter().map(|source| source.format == LIVE).collect();
    // For each source, the later one that is the same file of the same JVM.
    let again: Vec<Option<SourceId>> = sources
        .iter()
        .enumerate()
        .map(|(i, source)| {
            let same = |other: &Source| {
                (other.process, &other.format) == (source.process, &source.format)
                    && file_name(&other.name) == file_name(&source.name)
            };
            let told_once = source.lines == 0 || source.process.is_none();
            let later = || sources.iter().enumerate().skip(i + 1).find(|(_, other)| same(other));
            if told_once { None } else { later().map(|(j, _)| SourceId(j as u32)) }
        })
        .collect();
    if !live.contains(&true) && again.iter().all(Option::is_none) {
        return;
    }
    let mut tellers: BTreeSet<(&'static str, ProcessId, SourceId)> = BTreeSet::new();
    let mut watched: BTreeMap<(ProcessId, SourceId), Vec<(i64, i64)>> = BTreeMap::new();
    for i in 0..recording.spans.len() {
        let span = recording.span_at(SpanId(i as u32));
        let (process, source) = (span.process(), span.source());
        if live[source.index()] {
            continue;
        }
        match KINDS.iter().find(|kind| **kind == span.kind()) {
            Some(kind) => {
                tellers.insert((kind, process, source));
            }
            None if span.kind() == kind::RUN => {
                watched.entry((process, source)).or_default().push((span.t0_ns(), span.t1_ns()));
            }
            None => {}
        }
    }
    let longer = longer_than_logged(recording, &live);
    recording.remove_spans(|span| {
        if span.kind() == kind::SAFEPOINT {
            let own = longer.get(&span.process()).into_iter().flatten();
            let is_in = |(from, to): &(i64, i64)| 2 * span.overlap_ns(*from, *to) > span.duration_ns();
            if own.into_iter().any(is_in) {
                return !live[span.source().index()];
            }
        }
        let middle = span.t0_ns() + span.duration_ns() / 2;
        let covers = |source: &SourceId| {
            let stretches = watched.get(&(span.process(), *source)).into_iter().flatten();
            stretches.into_iter().any(|(from, to)| (*from..=*to).contains(&middle))
        };
        if let Some(same) = &again[span.source().index()] {
            return covers(same);
        }
        let Some(kind) = KINDS.iter().find(|kind| **kind == span.kind()) else { return false };
        let of = tellers.iter().filter(|(k, process, _)| k == kind && *process == span.process());
        live[span.source().index()] && of.into_iter().any(|(_, _, source)| covers(source))
    });
}

/// Stops, by JVM, that the probes saw last longer than a log of the same JVM says.
fn longer_than_logged(recording: &Recording, live: &[bool]) -> BTreeMap<ProcessId, Vec<(i64, i64)>> {
    let mut logged: BTreeMap<ProcessId, Vec<(i64, i64)>> = BTreeMap::new();
    let mut probed: BTreeMap<ProcessId, Vec<(i64, i64)>> = BTreeMap::new();
    for i in 0..recording.spans.len() {
        let span = recording.span_at(SpanId(i as u32));
        if span.kind() == kind::SAFEPOINT {
            let of = if live[span.source().index()] { &mut probed } else { &mut logged };
            of.entry(span.process()).or_default().push((span.t0_ns(), span.t1_ns()));
        }
    }
    for (process, stops) in &mut probed {
        let mut known = logged.remove(process).unwrap_or_default();
        known.sort_unstable();
        stops.retain(|(from, to)| {
            // A log's stops follow one another; one may begin a little before the probe's.
            let first = known.partition_point(|(_, end)| end <= from);
            let within = known[first..].iter().take_while(|(begin, _)| begin < to);
            let told: i64 = within.map(|(a, b)| b.min(to).saturating_sub(*a.max(from)).max(0)).sum();
            to.saturating_sub(*from).saturating_sub(told) >= LONGER_NS
        });
    }
    probed
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
    fn a_stop_that_hung_where_the_logs_clock_does_not_run_stays_as_the_probes_saw_it() {
        let mut recording = Recording::new();
        let process = recording.add_process(Process { jvm: true, ..Process::default() });
        let mut source =
            |format: &str| recording.add_source(Source { format: format.into(), ..Source::default() });
        let (live, log) = (source(LIVE), source("unified-log"));
        let mut span = |kind, source, t0_ms: i64, t1_ms: i64| {
            recording.span(&SpanRow {
                kind,
                name: "",
                t0_ns: t0_ms * 1_000_000,
                t1_ns: t1_ms * 1_000_000,
                process,
                thread: None,
                stack: None,
                source,
                line: 0,
                key: -1,
                parent: None,
                figures: &[],
                labels: &[],
            });
        };
        span(kind::RUN, log, 0, 10_000);
        for (t0, t1) in [(100, 130), (1_000, 4_000), (6_000, 6_010)] {
            span(kind::SAFEPOINT, live, t0, t1);
        }
        for (t0, t1) in [(101, 129), (3_990, 3_999), (6_001, 6_009)] {
            span(kind::SAFEPOINT, log, t0, t1);
        }
        leave_out_twice_told(&mut recording);
        recording.seal();
        let kept: Vec<_> = recording
            .spans_of(kind::SAFEPOINT)
            .map(|s| (s.source() == live, s.t0_ns() / 1_000_000))
            .collect();
        assert_eq!(kept, [(false, 101), (true, 1_000), (false, 6_001)]);
    }

    #[test]
    fn a_pause_that_the_log_tells_of_is_counted_once_and_what_it_missed_stays() {
        let mut recording = Recording::new();
        let process = recording.add_process(Process { jvm: true, ..Process::default() });
        let other = recording.add_process(Process { jvm: true, ..Process::default() });
        let mut source =
            |format: &str| recording.add_source(Source { format: format.into(), ..Source::default() });
        let (live, log) = (source(LIVE), source("unified-log"));
        let mut span = |kind, source, process, t0_ns, t1_ns| {
            recording.span(&SpanRow {
                kind,
                name: "",
                t0_ns,
                t1_ns,
                process,
                thread: None,
                stack: None,
                source,
                line: 0,
                key: -1,
                parent: None,
                figures: &[],
                labels: &[],
            });
        };
        span(kind::RUN, log, process, 100, 200);
        span(kind::GC_PAUSE, log, process, 150, 160);
        span(kind::GC_PAUSE, live, process, 151, 161);
        span(kind::GC_PAUSE, live, process, 50, 60); // before the log begins
        span(kind::GC_PAUSE, live, other, 151, 161); // another JVM
        span(kind::SAFEPOINT, live, process, 149, 162); // the log tells of no safepoints
        leave_out_twice_told(&mut recording);
        recording.seal();
        let pauses: Vec<_> =
            recording.spans_of(kind::GC_PAUSE).map(|s| (s.t0_ns(), s.process(), s.source())).collect();
        assert_eq!(pauses, [(50, process, live), (150, process, log), (151, other, live)]);
        assert_eq!(recording.spans_of(kind::SAFEPOINT).count(), 1);
    }

    #[test]
    fn a_log_that_was_picked_up_and_is_given_again_is_told_once() {
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
            recording.span(&SpanRow {
                kind,
                name: "",
                t0_ns,
                t1_ns,
                process,
                thread: None,
                stack: None,
                source,
                line: 0,
                key: -1,
                parent: None,
                figures: &[],
                labels: &[],
            });
        }
        leave_out_twice_told(&mut recording);
        recording.seal();
        let pauses: Vec<_> = recording.spans_of(kind::GC_PAUSE).map(|s| (s.t0_ns(), s.source())).collect();
        assert_eq!(pauses, [(10, given), (60, given), (61, other)]);
    }
}
