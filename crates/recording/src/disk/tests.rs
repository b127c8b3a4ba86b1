//! What is written is what is read; what is damaged is reported.

use std::path::Path;

use arrow_array::cast::AsArray;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use proptest::prelude::*;

use super::{Overwrite, Writer, open, pack, unpack, write};
use crate::*;

/// Everything in a recording as text, whatever the ids of its strings.
fn rows_of(recording: &Recording) -> Vec<String> {
    let mut lines = Vec::new();
    let text = |id: StrId| recording.strings.get(id);
    lines.extend(recording.processes.iter().map(|p| format!("{p:?}")));
    lines.extend(recording.sources.iter().map(|s| format!("{s:?}")));
    lines.extend(recording.threads.iter().map(|t| format!("{t:?} {}", text(t.name))).map(without_ids));
    let frame = |f: &Frame| format!("{:?} {} {} {}", f.frame_type, text(f.name), text(f.module), f.line);
    lines.extend(recording.frames.iter().map(frame));
    lines.extend(recording.stacks.iter().map(|s| format!("{s:?}")));
    lines.extend(recording.series.iter().map(|s| format!("{s:?}")));
    for i in 0..recording.spans.len() {
        let span = recording.span_at(SpanId(i as u32));
        lines.push(format!(
            "{} {} {} {} {:?} {:?} {:?} {} {} {:?} {:?} {:?}",
            span.kind(),
            span.name(),
            span.t0_ns(),
            span.t1_ns(),
            span.process(),
            span.thread(),
            span.source(),
            span.line(),
            span.key(),
            span.parent(),
            span.figures().collect::<Vec<_>>(),
            span.labels().collect::<Vec<_>>(),
        ));
    }
    for s in recording.samples.iter() {
        let row = (s.t_ns, text(s.kind), s.process, s.thread, s.stack, s.weight, s.source);
        lines.push(format!("{row:?}"));
    }
    lines.push(format!("{:?} {:?}", recording.kinds(), recording.covers_ns()));
    lines
}

fn without_ids(line: String) -> String {
    let digits = |c: char| !c.is_ascii_digit();
    match line.split_once("StrId(") {
        Some((head, tail)) => format!("{head}{}", tail.trim_start_matches(|c| !digits(c))),
        None => line,
    }
}

/// One row for any table; numbers are taken modulo the rows that there are.
#[derive(Clone, Debug)]
enum Row {
    Process(Option<i64>, String, bool, Vec<(String, String)>),
    Source(String, Option<i64>, u64),
    Thread(u32, Option<i64>, String),
    Frame(String, i32),
    Stack(Option<u32>, u32),
    Series(String, Option<u32>),
    Point(u32, i64, f64),
    Sample(i64, Option<u32>, Option<u32>, i64),
    Span(i64, i64, u64, Option<u32>, Vec<(u8, f64)>, Vec<(u8, String)>),
}

fn row() -> impl Strategy<Value = Row> {
    use proptest::option::of;
    let figures = prop::collection::vec((any::<u8>(), -1e300..1e300), 0..4);
    let labels = prop::collection::vec((any::<u8>(), ".{0,8}"), 0..3);
    let facts = prop::collection::vec(("[a-z]{1,4}", ".{0,8}"), 0..4);
    prop_oneof![
        1 => (of(any::<i64>()), ".{0,8}", any::<bool>(), facts).prop_map(|(a, b, c, d)| Row::Process(a, b, c, d)),
        1 => (".{0,8}", of(any::<i64>()), any::<u64>()).prop_map(|(a, b, c)| Row::Source(a, b, c)),
        2 => (any::<u32>(), of(any::<i64>()), ".{0,8}").prop_map(|(a, b, c)| Row::Thread(a, b, c)),
        3 => ("[a-z.]{0,9}", any::<i32>()).prop_map(|(a, b)| Row::Frame(a, b)),
        3 => (of(any::<u32>()), any::<u32>()).prop_map(|(a, b)| Row::Stack(a, b)),
        1 => (".{0,8}", of(any::<u32>())).prop_map(|(a, b)| Row::Series(a, b)),
        4 => (any::<u32>(), any::<i64>(), any::<f64>()).prop_map(|(a, b, c)| Row::Point(a, b, c)),
        5 => (any::<i64>(), of(any::<u32>()), of(any::<u32>()), any::<i64>())
            .prop_map(|(a, b, c, d)| Row::Sample(a, b, c, d)),
        8 => (any::<i64>(), any::<i64>(), 0..i64::MAX as u64, of(any::<u32>()), figures, labels)
            .prop_map(|(a, b, c, d, e, f)| Row::Span(a, b, c, d, e, f)),
    ]
}

/// How many rows of each table there are, so that references can be made valid.
#[derive(Default)]
struct Counts {
    threads: u32,
    frames: u32,
    stacks: u32,
    series: u32,
    spans: u32,
}

const WORDS: [&str; 5] = ["gc.pause", "safepoint", "jit.compile", "", "ünïcode"];

/// Plays rows into a sink that has a process and a source.
fn play(rows: &[Row], sink: &mut dyn Sink) {
    let process = sink.add_process(Process { name: "Main".into(), jvm: true, ..Process::default() });
    let source = sink.add_source(Source { name: "gc.log".into(), process: Some(0), ..Source::default() });
    let mut n = Counts::default();
    let modulo = |id: Option<u32>, rows: u32| id.filter(|_| rows > 0).map(|id| id % rows);
    for row in rows {
        match row {
            Row::Process(pid, name, jvm, facts) => {
                let facts = facts.iter().cloned().collect();
                sink.add_process(Process { pid: *pid, name: name.clone(), jvm: *jvm, facts });
            }
            Row::Source(name, offset, count) => add_source(sink, name, *offset, *count),
            Row::Thread(role, tid, name) => {
                let role = [Role::App, Role::Gc, Role::Jit, Role::Vm, Role::Other][*role as usize % 5];
                n.threads = n.threads.max(sink.thread(process, *tid, name, role).0 + 1);
            }
            Row::Frame(name, line) => {
                n.frames = n.frames.max(sink.frame(name, "libjvm.so", FrameType::C2, *line).0 + 1);
            }
            Row::Stack(parent, frame) => {
                if let Some(frame) = modulo(Some(*frame), n.frames) {
                    let parent = modulo(*parent, n.stacks).map(StackId);
                    n.stacks = n.stacks.max(sink.stack(parent, FrameId(frame)).0 + 1);
                }
            }
            Row::Series(name, of) => {
                let process = of.map(|_| process);
                let (unit, instance) = ("ops/s".into(), "1".into());
                let info = SeriesInfo {
                    name: name.clone(),
                    unit,
                    instance,
                    kind: SeriesKind::Rate,
                    process,
                    source,
                };
                n.series = sink.add_series(info).0 + 1;
            }
            Row::Point(series, t_ns, value) => {
                if let Some(series) = modulo(Some(*series), n.series) {
                    sink.point(SeriesId(series), *t_ns, 1000, *value);
                }
            }
            Row::Sample(t_ns, thread, stack, weight) => sink.sample(&SampleRow {
                kind: "cpu",
                t_ns: *t_ns,
                process,
                thread: modulo(*thread, n.threads).map(ThreadId),
                stack: modulo(*stack, n.stacks).map(StackId),
                weight: *weight,
                source,
            }),
            Row::Span(t0_ns, t1_ns, line, link, figures, labels) => {
                let names: Vec<String> = (0..4).map(|i| format!("key{i}")).collect();
                let figures: Vec<_> = figures.iter().zip(&names).map(|(f, k)| (k.as_str(), f.1)).collect();
                let labels: Vec<_> =
                    labels.iter().zip(&names).map(|(l, k)| (k.as_str(), l.1.as_str())).collect();
                n.spans =
                    sink.span(&SpanRow {
                        kind: WORDS[*line as usize % WORDS.len()],
                        name: WORDS[*t0_ns as usize % WORDS.len()],
                        t0_ns: *t0_ns,
                        t1_ns: *t1_ns,
                        process,
                        thread: modulo(*link, n.threads).map(ThreadId),
                        stack: modulo(*link, n.stacks).map(StackId),
                        source,
                        line: *line,
                        key: *t1_ns % 7 - 1,
                        parent: modulo(*link, n.spans).map(SpanId),
                        figures: &figures,
                        labels: &labels,
                    })
                    .0 + 1;
            }
        }
    }
}

fn add_source(sink: &mut dyn Sink, name: &str, offset: Option<i64>, count: u64) {
    let checks = vec![Check { claim: name.into(), holds: count > 7, detail: "\"quoted\"".into() }];
    let unknown = vec![UnknownLine { line: count, text: name.into(), alike: count }];
    let anchor = offset.map(|zero_epoch_ns| Anchor { zero_epoch_ns, uncertainty_ns: 1, how: name.into() });
    let how = format!("how {name}");
    let id = sink.add_source(Source {
        name: name.into(),
        format: "unified-log".into(),
        clock: ClockBasis::JvmUptime,
        placement: Placement { wall: true, offset_ns: offset.unwrap_or(0), uncertainty_ns: offset, how },
        segments: vec![Segment { name: name.into(), first_line: 1 }],
        cut: offset.is_some(),
        covers_ns: offset.map(|o| (o, o)),
        ..Source::default()
    });
    let source = sink.source_mut(id);
    (source.records, source.checks, source.unknown, source.anchor) = (count >> 1, checks, unknown, anchor);
}

fn recording_of(rows: &[Row]) -> Recording {
    let mut recording = Recording::new();
    play(rows, &mut recording);
    recording.seal();
    recording
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_recording_reads_back_as_it_was_written(rows in prop::collection::vec(row(), 0..80)) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.fathom");
        let recording = recording_of(&rows);
        write(&recording, &path, Overwrite::Never).unwrap();
        prop_assert_eq!(rows_of(&open(&path).unwrap()), rows_of(&recording));
    }

    #[test]
    fn a_stream_of_rows_reads_back_as_the_same_rows_in_memory(
        rows in prop::collection::vec(row(), 0..80),
        flush_every in 1usize..30,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.fathom");
        let mut writer = Writer::create(&path, Overwrite::Never).unwrap();
        play_flushing(&rows, &mut writer, flush_every);
        prop_assert_eq!(&rows_of(&open(&path).unwrap()), &rows_of(&recording_of(&rows)), "cut");
        writer.finish().unwrap();
        prop_assert_eq!(rows_of(&open(&path).unwrap()), rows_of(&recording_of(&rows)));
    }
}

/// Plays rows and flushes after every few of them and at the end.
fn play_flushing(rows: &[Row], writer: &mut Writer, every: usize) {
    struct Flushing<'a>(&'a mut Writer, usize, usize);
    impl Flushing<'_> {
        fn count(&mut self) {
            self.1 += 1;
            if self.1.is_multiple_of(self.2) {
                self.0.flush().unwrap();
            }
        }
    }
    impl Sink for Flushing<'_> {
        fn add_source(&mut self, source: Source) -> SourceId {
            self.0.add_source(source)
        }
        fn source_mut(&mut self, id: SourceId) -> &mut Source {
            self.0.source_mut(id)
        }
        fn add_process(&mut self, process: Process) -> ProcessId {
            self.0.add_process(process)
        }
        fn process_mut(&mut self, id: ProcessId) -> &mut Process {
            self.0.process_mut(id)
        }
        fn thread(&mut self, process: ProcessId, tid: Option<i64>, name: &str, role: Role) -> ThreadId {
            self.0.thread(process, tid, name, role)
        }
        fn rename_thread(&mut self, id: ThreadId, name: &str, role: Role) {
            self.0.rename_thread(id, name, role);
        }
        fn span(&mut self, row: &SpanRow<'_>) -> SpanId {
            self.count();
            self.0.span(row)
        }
        fn add_series(&mut self, info: SeriesInfo) -> SeriesId {
            self.0.add_series(info)
        }
        fn point(&mut self, series: SeriesId, t_ns: i64, dt_ns: i64, value: f64) {
            self.count();
            self.0.point(series, t_ns, dt_ns, value);
        }
        fn frame(&mut self, name: &str, module: &str, frame_type: FrameType, line: i32) -> FrameId {
            self.0.frame(name, module, frame_type, line)
        }
        fn stack(&mut self, parent: Option<StackId>, frame: FrameId) -> StackId {
            self.0.stack(parent, frame)
        }
        fn sample(&mut self, row: &SampleRow<'_>) {
            self.count();
            self.0.sample(row);
        }
    }
    play(rows, &mut Flushing(writer, 0, every));
    writer.flush().unwrap();
}

/// A recording with something in each table.
pub(super) fn some_recording() -> Recording {
    let rows: Vec<Row> = (0..400_i64)
        .flat_map(|i| {
            [
                Row::Source(format!("file{i}"), (i % 2 == 0).then_some(i), 9),
                Row::Thread(i as u32, Some(i), format!("thread {i}")),
                Row::Frame(format!("a.B.c{i}"), i as i32 - 1),
                Row::Stack((i % 3 > 0).then_some(i as u32), i as u32),
                Row::Series(format!("series {}", i % 5), None),
                Row::Point(i as u32, i * 1_000, 0.5),
                Row::Sample(i * 999, Some(i as u32), Some(i as u32), 10),
                Row::Span(
                    i * 10,
                    i * 10 + 5,
                    i as u64,
                    Some(i as u32),
                    vec![(1, 0.5)],
                    vec![(1, "x".into())],
                ),
            ]
        })
        .collect();
    recording_of(&rows)
}

fn written(dir: &Path) -> std::path::PathBuf {
    let path = dir.join("some.fathom");
    write(&some_recording(), &path, Overwrite::Never).unwrap();
    path
}

#[test]
fn packing_and_unpacking_gives_the_same_recording_and_a_packed_one_opens_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let path = written(dir.path());
    let packed = dir.path().join("any name");
    pack(&path, std::fs::File::create(&packed).unwrap(), &packed).unwrap();
    assert_eq!(rows_of(&open(&packed).unwrap()), rows_of(&some_recording()));
    let to = dir.path().join("other.fathom");
    assert_eq!(unpack(&packed, Some(&to), Overwrite::Never).unwrap(), to);
    assert_eq!(rows_of(&open(&to).unwrap()), rows_of(&some_recording()));
    assert!(matches!(unpack(&packed, Some(&to), Overwrite::Never), Err(RecordingError::Exists { .. })));
    unpack(&packed, Some(&to), Overwrite::Recording).unwrap();
}

#[test]
fn appending_a_recording_to_another_keeps_the_rows_of_both_and_all_that_they_point_to() {
    let dir = tempfile::tempdir().unwrap();
    let (one, path) = (some_recording(), dir.path().join("both.fathom"));
    let mut both = some_recording();
    both.append(one.clone());
    both.seal();
    write(&both, &path, Overwrite::Never).unwrap();
    let both = open(&path).unwrap();
    assert_eq!(both.spans.len(), 2 * one.spans.len());
    assert_eq!(both.samples.len(), 2 * one.samples.len());
    let thread =
        |r: &Recording, id: Option<ThreadId>| id.map(|t| r.strings.get(r.threads[t.index()].name).to_owned());
    for (i, span) in (0..one.spans.len() as u32).map(|i| (i, one.span_at(SpanId(i)))) {
        let copy = both.span_at(SpanId(i + one.spans.len() as u32));
        assert_eq!((copy.kind(), copy.name(), copy.t0_ns()), (span.kind(), span.name(), span.t0_ns()));
        assert_eq!(copy.figures().collect::<Vec<_>>(), span.figures().collect::<Vec<_>>());
        assert_eq!(copy.labels().collect::<Vec<_>>(), span.labels().collect::<Vec<_>>());
        assert_eq!(thread(&both, copy.thread()), thread(&one, span.thread()));
        assert_eq!(copy.parent().map(|p| p.0), span.parent().map(|p| p.0 + one.spans.len() as u32));
        assert_eq!(copy.position(), span.position());
    }
    assert_eq!(both.series.iter().map(|s| s.value.len()).sum::<usize>(), 800);
}

#[test]
fn what_the_probes_and_a_log_have_of_the_same_pauses_is_in_the_table_once() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("r.fathom");
    let mut writer = Writer::create(&place, Overwrite::Never).unwrap();
    let process = writer.add_process(Process { jvm: true, ..Process::default() });
    let mut source = |format: &str| {
        let (name, format) = (format.to_owned(), format.to_owned());
        writer.add_source(Source { name, format, records: 4, process: Some(process.0), ..Source::default() })
    };
    let (probes, log) = (source("jvm-events"), source("unified-log"));
    let span = |writer: &mut Writer, kind, source, (t0_ms, t1_ms): (i64, i64), parent, figure| {
        writer.span(&SpanRow {
            parent,
            figures: &[(figure, t0_ms as f64)],
            ..SpanRow::new(kind, "", (t0_ms * 1_000_000, t1_ms * 1_000_000), process, source)
        })
    };
    let inner = |writer: &mut Writer, parent| span(writer, "other", probes, (1, 2), Some(parent), "x");
    let pause = |writer: &mut Writer, source, at, figure| {
        span(writer, "gc.pause", source, (at, at + 10), None, figure)
    };
    let twice = pause(&mut writer, probes, 101, "eden");
    inner(&mut writer, twice);
    let alone = pause(&mut writer, probes, 50_000, "eden");
    // Parts in a later batch than the whole: its number changes, and it must still be found.
    writer.flush().unwrap();
    inner(&mut writer, alone);
    inner(&mut writer, twice);
    writer.flush().unwrap();
    span(&mut writer, "run", log, (0, 10_000), None, "x");
    pause(&mut writer, log, 100, "user_s");
    writer.finish().unwrap();

    let read = crate::open(&place).unwrap();
    let pauses: Vec<_> = read.spans_of("gc.pause").map(|p| (p.source(), p.t0_ns() / 1_000_000)).collect();
    assert_eq!(pauses, [(log, 100), (probes, 50_000)]);
    let first = read.spans_of("gc.pause").next().unwrap();
    assert_eq!((first.figure("user_s"), first.figure("eden")), (Some(100.0), Some(101.0)));
    assert_eq!(first.label("also_in"), Some("jvm-events"));
    let wholes: Vec<_> =
        read.spans_of("other").map(|s| s.parent().map(|p| read.span_at(p).t0_ns() / 1_000_000)).collect();
    assert_eq!(wholes, [None, Some(50_000), None]);
    assert_eq!(read.sources[probes.index()].records, 3);
}

/// A recording with this many frames, whose names have this many bytes.
fn with_names(dir: &Path, count: usize, bytes: usize) -> std::path::PathBuf {
    let mut recording = Recording::default();
    for i in 0..count {
        recording.frame(&format!("{i} {}", "a".repeat(bytes)), "", FrameType::Native, -1);
    }
    let place = dir.join("names.fathom");
    write(&recording, &place, Overwrite::Never).unwrap();
    place
}

#[test]
fn a_few_bytes_that_would_unpack_to_the_memory_of_their_reader_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let place = with_names(dir.path(), 80, 1 << 20);
    assert!(place.join("frames.parquet").metadata().unwrap().len() < 64 << 10);
    let error = open(&place).unwrap_err().to_string();
    assert!(error.contains("frames.parquet") && error.contains("would unpack to"), "{error}");
}

#[test]
fn a_name_of_megabytes_is_read_up_to_what_a_page_can_show() {
    let dir = tempfile::tempdir().unwrap();
    let recording = open(&with_names(dir.path(), 3, 2 << 20)).unwrap();
    let lengths: Vec<usize> = recording.frames.iter().map(|f| recording.strings.get(f.name).len()).collect();
    assert_eq!(lengths, [64 << 10; 3]);
}

#[test]
fn what_a_recording_is_of_is_kept_and_a_recording_that_does_not_say_it_is_not_given_an_id() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("a.fathom");
    let given = Identity {
        host: Some("web-1".into()),
        service: Some("shop".into()),
        service_from: Some(ServiceFrom::Given),
        version: Some("2.3".into()),
        labels: [("zone".to_owned(), "b".to_owned())].into(),
        ..Identity::default()
    };
    let mut writer = Writer::create(&place, Overwrite::Never).unwrap();
    writer.identify(given.clone()).unwrap();
    // The identity is on disk even if the writer is killed from here on.
    let unfinished = open(&place).unwrap().identity;
    let id = unfinished.recording.clone().unwrap();
    assert!(Identity::is_recording_id(&id));
    assert_eq!(Identity { recording: None, ..unfinished }, given);
    writer.add_process(Process::default());
    writer.finish().unwrap();
    let whole = open(&place).unwrap();
    assert_eq!(whole.identity, Identity { recording: Some(id.clone()), ..given });
    // Written again it is the same recording; written from rows without an id it is a new one.
    let again = dir.path().join("b.fathom");
    write(&whole, &again, Overwrite::Never).unwrap();
    assert_eq!(open(&again).unwrap().identity.recording, Some(id.clone()));
    write(&Recording::new(), &again, Overwrite::Recording).unwrap();
    assert_ne!(open(&again).unwrap().identity.recording.unwrap(), id);

    // Rows of each say of which recording they are.
    let mut rows = 0;
    for place in [&place, &again] {
        let expected = open(place).unwrap().identity.recording.unwrap();
        for table in super::tables::TABLES {
            let file = std::fs::File::open(place.join(super::parquet_file::file_name(table))).unwrap();
            let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
            assert!(reader.schema().column_with_name("recording").is_some(), "{}", table.name());
            for batch in reader.build().unwrap() {
                let batch = batch.unwrap();
                rows += batch.num_rows();
                let ids = batch.column_by_name("recording").unwrap().as_string::<i32>();
                assert!(ids.iter().all(|id| id == Some(&*expected)), "{}", table.name());
            }
        }
    }
    assert_eq!(rows, 1);

    let file = again.join("meta.json");
    let mut meta: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    meta["identity"]["recording"] = "../../../../tmp/x".into();
    std::fs::write(&file, meta.to_string()).unwrap();
    assert!(open(&again).unwrap_err().to_string().contains("32 hexadecimal digits"));
    meta.as_object_mut().unwrap().remove("identity");
    std::fs::write(&file, meta.to_string()).unwrap();
    assert_eq!(open(&again).unwrap().identity, Identity::default());
}
