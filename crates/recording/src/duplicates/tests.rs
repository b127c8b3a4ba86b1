//! Which records stay of events that two sources have.

use super::*;
use crate::{Process, Sink, SpanRow};

/// A JVM with sources of some formats; spans are added with [`Made::span`].
struct Made {
    recording: Recording,
    process: ProcessId,
    sources: Vec<SourceId>,
}

impl Made {
    fn new(formats: &[&str]) -> Self {
        let mut recording = Recording::new();
        let process = recording.add_process(Process { jvm: true, ..Process::default() });
        let source = |format: &&str| {
            let (name, format) = ((*format).to_owned(), (*format).to_owned());
            recording.add_source(Source { name, format, process: Some(process.0), ..Source::default() })
        };
        let sources = formats.iter().map(source).collect();
        Self { recording, process, sources }
    }

    fn span(
        &mut self,
        kind: &str,
        source: usize,
        (t0_ms, t1_ms): (i64, i64),
        key: i64,
        figures: &[(&str, f64)],
    ) {
        self.recording.span(&SpanRow {
            key,
            figures,
            ..SpanRow::new(
                kind,
                "",
                (t0_ms * 1_000_000, t1_ms * 1_000_000),
                self.process,
                self.sources[source],
            )
        });
    }

    /// (source, start in milliseconds) of all spans of a kind.
    fn left(&mut self, kind: &str) -> Vec<(usize, i64)> {
        self.recording.merge_duplicates();
        self.recording.seal();
        let of = self.recording.spans_of(kind);
        of.map(|s| (s.source().index(), s.t0_ns() / 1_000_000)).collect()
    }
}

#[test]
fn a_pause_in_the_log_and_from_the_probes_is_one_with_what_both_know() {
    let mut made = Made::new(&["unified-log", "jvm-events"]);
    made.span(kind::RUN, 0, (0, 10_000), -1, &[]);
    made.span(kind::GC_PAUSE, 0, (100, 110), 7, &[("user_s", 0.5)]);
    made.span(kind::GC_PAUSE, 1, (101, 111), -1, &[("user_s", 9.0), ("eden_before_bytes", 3.0)]);
    made.span(kind::GC_PAUSE, 1, (20_000, 20_010), -1, &[]);
    assert_eq!(made.left(kind::GC_PAUSE), [(0, 100), (1, 20_000)]);
    let pause = made.recording.spans_of(kind::GC_PAUSE).next().unwrap();
    assert_eq!((pause.figure("user_s"), pause.figure("eden_before_bytes")), (Some(0.5), Some(3.0)));
    assert_eq!((pause.key(), pause.label(label::ALSO_IN)), (7, Some("jvm-events")));
}

#[test]
fn a_flight_recording_gives_way_where_another_has_the_same_and_stays_where_none_has() {
    let mut made = Made::new(&["jfr", "unified-log", "locks"]);
    made.span(kind::RUN, 1, (0, 10_000), -1, &[]);
    for (at, key) in [(100, 1), (300, 2)] {
        made.span(kind::GC_PAUSE, 0, (at, at + 2), key, &[]);
    }
    // The timestamp of the log is off; the number of the collection is not.
    made.span(kind::GC_PAUSE, 1, (104, 106), 1, &[]);
    made.span(kind::LOCK_MONITOR, 0, (500, 540), -1, &[]);
    made.span(kind::LOCK_MONITOR, 2, (501, 541), -1, &[]);
    made.span(kind::LOCK_PARK, 0, (600, 640), -1, &[]);
    assert_eq!(made.left(kind::GC_PAUSE), [(1, 104), (0, 300)]);
    assert_eq!(made.left(kind::LOCK_MONITOR), [(2, 501)]);
    assert_eq!(made.left(kind::LOCK_PARK), [(0, 600)]);
}

#[test]
fn compilations_are_the_same_by_their_number() {
    let mut made = Made::new(&["jvm-events", "jfr"]);
    for (source, at, key) in [(0, 100, 5), (0, 105, 6), (1, 100, 5), (1, 101, 9)] {
        made.span(kind::JIT_COMPILE, source, (at, at + 50), key, &[]);
    }
    assert_eq!(made.left(kind::JIT_COMPILE), [(0, 100), (1, 101), (0, 105)]);
}

#[test]
fn a_stop_that_hung_where_the_logs_clock_does_not_run_stays_as_the_probes_saw_it() {
    let mut made = Made::new(&["jvm-events", "unified-log"]);
    made.span(kind::RUN, 1, (0, 10_000), -1, &[]);
    for stop in [(100, 130), (1_000, 4_000), (6_000, 6_010)] {
        made.span(kind::SAFEPOINT, 0, stop, -1, &[]);
    }
    for stop in [(101, 129), (3_990, 3_999), (6_001, 6_009)] {
        made.span(kind::SAFEPOINT, 1, stop, -1, &[]);
    }
    assert_eq!(made.left(kind::SAFEPOINT), [(1, 101), (0, 1_000), (1, 6_001)]);
}

#[test]
fn one_source_alone_is_left_as_it_is() {
    for formats in [&["jfr"][..], &["unified-log"], &["jvm-events", "locks"]] {
        assert_eq!(kinds(&Made::new(formats).recording.sources), Vec::<&str>::new());
    }
}
