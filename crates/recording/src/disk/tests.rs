//! What is written is what is read; what is damaged is reported.

mod any_rows;

use std::path::Path;

use any_rows::{Row, play_flushing, recording_of, row, rows_of};
use arrow_array::cast::AsArray;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use proptest::prelude::*;

use super::{Overwrite, Writer, open, pack, unpack, write};
use crate::*;

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
                Row::Count(
                    i * 10,
                    i * 10 + 10,
                    i as u64,
                    (i % 2 == 0).then_some(7),
                    Some(i as u32),
                    vec![0.5],
                ),
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
    assert_eq!(both.counts.len(), 2 * one.counts.len());
    for row in 0..one.counts.len() {
        let (count, copy) = (one.count_at(row), both.count_at(row + one.counts.len()));
        assert_eq!((copy.kind(), copy.name(), copy.t1_ns()), (count.kind(), count.name(), count.t1_ns()));
        assert_eq!((copy.count(), copy.total_ns()), (count.count(), count.total_ns()));
        assert_eq!(copy.figures().collect::<Vec<_>>(), count.figures().collect::<Vec<_>>());
        assert_eq!(thread(&both, copy.thread()), thread(&one, count.thread()));
        assert_eq!(copy.process().0, count.process().0 + one.processes.len() as u32);
        assert_eq!(copy.source().0, count.source().0 + one.sources.len() as u32);
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
