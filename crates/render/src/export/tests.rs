//! Every format holds the same totals. Their own programs' readers are asked in
//! crates/cli/tests/files/exports.rs.

use std::io::Read;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use fathom_diagnose::Window;
use fathom_recording::vocabulary::{count, figure, kind, label, sample};
use fathom_recording::{
    CountRow, FrameType, Process, ProcessId, Recording, Role, SampleRow, SeriesInfo, SeriesKind, Sink,
    Source, SourceId, SpanRow,
};
use prost::Message;

use super::*;

const S: i64 = 1_000_000_000;
const EVIL: &str = "a;b\n</script>\u{202e}\x1b[2J\"'=1+1";

/// 100 s: two processes, CPU samples and allocations on two threads each, overlapping spans, a
/// series. Every second row is in the window 50 s to 100 s.
pub(super) fn recording() -> Recording {
    let mut r = Recording::new();
    let source = Source { name: EVIL.into(), covers_ns: Some((0, 100 * S)), ..Source::default() };
    let source = r.add_source(source);
    for p in 0..2_i64 {
        let pid = (p == 0).then_some(77);
        let process = r.add_process(Process { name: EVIL.into(), pid, jvm: true, ..Process::default() });
        for t in 0..2_i64 {
            let tid = (t == 0).then_some(78 + p);
            let thread = Some(r.thread(process, tid, &format!("worker-{t}{EVIL}"), Role::App));
            for i in 0..100_i64 {
                let mut stack = None;
                let frames = [
                    ("org.example.Main.main", FrameType::Interpreted),
                    (["org.example.A.a", "org.example.B.b", EVIL][i as usize % 3], FrameType::C2),
                    ("ksys_write", FrameType::Kernel),
                ];
                for (name, frame_type) in frames.iter().take(1 + i as usize % 3) {
                    let frame = r.frame(
                        name,
                        if *frame_type == FrameType::Kernel { "kernel" } else { "" },
                        *frame_type,
                        9,
                    );
                    stack = Some(r.stack(stack, frame));
                }
                for (kind, weight) in [(sample::CPU, 10_000_000), (sample::ALLOC, 4_096)] {
                    r.sample(&SampleRow { kind, t_ns: i * S, process, thread, stack, weight, source });
                }
                r.span(&SpanRow {
                    kind: kind::LOCK_MONITOR,
                    name: EVIL,
                    t0_ns: i * S,
                    t1_ns: i * S + if i % 5 == 0 { 0 } else { 2 * S },
                    process,
                    thread: thread.filter(|_| i % 2 == 0),
                    stack,
                    source,
                    line: 3,
                    key: i,
                    parent: None,
                    figures: &[(figure::BYTES, 5.0)],
                    labels: &[(label::OWNER, EVIL)],
                });
            }
        }
    }
    let info = SeriesInfo {
        name: "throughput".into(),
        unit: "ops/s".into(),
        instance: EVIL.into(),
        kind: SeriesKind::Rate,
        process: None,
        source,
    };
    let series = r.add_series(info);
    for i in 0..100 {
        r.point(series, i * S, S, 100.0 + i as f64);
    }
    r.seal();
    r
}

/// CPU of all of it, nanoseconds: 2 processes × 2 threads × 100 × 10 ms.
const CPU: i64 = 4_000_000_000;

fn request(recording: &Recording) -> Request<'_> {
    Request {
        recording,
        kinds: vec![sample::CPU.into(), sample::ALLOC.into()],
        selection: Selection::default(),
        per_thread: false,
        annotated: false,
        table: Table::Samples,
        title: EVIL.into(),
    }
}

fn export(id: &str, request: &Request<'_>) -> (Vec<u8>, Written) {
    let export = EXPORTS.iter().find(|e| e.id() == id).unwrap();
    let mut out = Vec::new();
    let written = export.write(request, &mut out).unwrap();
    (out, written)
}

fn half(recording: &Recording) -> Request<'_> {
    let windows = vec![Window { from_ns: 50 * S, to_ns: 100 * S }];
    Request { selection: Selection { windows, ..Selection::default() }, ..request(recording) }
}

#[test]
fn a_flat_table_of_several_kinds_of_time_says_not_to_add_them_up() {
    let recording = recording();
    let note = |kinds: &[&str]| {
        let kinds = kinds.iter().map(|kind| (*kind).to_owned()).collect();
        export("csv", &Request { kinds, ..request(&recording) }).1.notes.join("")
    };
    let several = note(&[sample::CPU, fathom_diagnose::stacks::waits::WAITS, kind::LOCK_MONITOR]);
    assert!(several.contains("cpu") && several.contains("one kind at a time"), "{several}");
    assert_eq!(note(&[sample::CPU, sample::ALLOC]), "", "bytes are no time");
}

#[test]
fn every_format_is_listed_once_and_says_what_reads_it() {
    let ids: std::collections::BTreeSet<_> = EXPORTS.iter().map(|e| e.id()).collect();
    assert_eq!(ids.len(), EXPORTS.len());
    assert!(EXPORTS.iter().all(|e| e.about().len() > 10 && !e.extension().is_empty()));
}

#[test]
fn nothing_to_write_is_an_error_in_every_format() {
    let mut empty = Recording::new();
    empty.seal();
    for export in EXPORTS {
        assert!(export.write(&request(&empty), &mut Vec::new()).is_err(), "{}", export.id());
    }
}

#[test]
fn folded_stacks_sum_up_and_keep_one_line_each() {
    let recording = recording();
    for (made, expected) in [(request(&recording), CPU), (half(&recording), CPU / 2)] {
        let (out, written) = export("folded", &Request { annotated: true, ..made });
        let text = String::from_utf8(out).unwrap();
        let sum: i64 = text.lines().map(|l| l.rsplit_once(' ').unwrap().1.parse::<i64>().unwrap()).sum();
        assert_eq!(sum, expected);
        assert!(text.lines().all(|l| l.split(';').count() <= 3), "{text}");
        assert!(text.contains("Main.main_[0];org.example.B.b_[j] "), "{text}");
        assert_eq!(written.left_out, ["samples of kind alloc"]);
    }
}

#[test]
fn kinds_that_are_left_out_are_one_sentence() {
    assert_eq!(
        other_kinds(&[("cpu", ()), ("waits", ()), ("lock.wait", ())]),
        ["samples of the kinds waits, lock.wait"]
    );
    assert!(other_kinds(&[("cpu", ())]).is_empty());
}

#[test]
fn pprof_has_every_kind_as_a_value() {
    let recording = recording();
    let (out, written) = export("pprof", &request(&recording));
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(&out[..]).read_to_end(&mut bytes).unwrap();
    let profile = pprof::Profile::decode(&bytes[..]).unwrap();
    let sum = |i: usize| profile.sample.iter().map(|s| s.value[i]).sum::<i64>();
    assert_eq!([sum(0), sum(1), sum(2), sum(3)], [400, CPU, 400, 400 * 4_096]);
    assert_eq!((written.samples, profile.duration_nanos), (800, 100 * S));
    assert_eq!(profile.string_table[0], "");
    let text = |id: i64| profile.string_table[id as usize].as_str();
    assert_eq!(
        profile.sample_type.iter().map(|t| text(t.kind)).collect::<Vec<_>>(),
        ["cpu samples", "cpu", "alloc samples", "alloc"]
    );
    for sample in &profile.sample {
        assert!(sample.location_id.iter().all(|id| (1..=profile.location.len() as u64).contains(id)));
    }
    let leaf = profile.sample.iter().find(|s| s.location_id.len() == 3).unwrap().location_id[0];
    let function = profile.location[leaf as usize - 1].line[0].function_id;
    assert_eq!(text(profile.function[function as usize - 1].name), "ksys_write");
    // `pprof` prints the first mapping as the file that the profile is of.
    let (program, _) = stacks::process(&recording, fathom_recording::ProcessId(0));
    assert_eq!(text(profile.mapping[0].filename), program);
}

#[test]
fn speedscope_has_the_same_totals_merged_and_thread_by_thread() {
    let recording = recording();
    for (per_thread, profiles) in [(false, 2), (true, 8)] {
        let (out, _) = export("speedscope", &Request { per_thread, ..request(&recording) });
        let file: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let frames = file["shared"]["frames"].as_array().unwrap().len() as u64;
        let list = file["profiles"].as_array().unwrap();
        assert_eq!(list.len(), profiles);
        let mut sum = 0;
        for profile in list.iter().filter(|p| p["unit"] == "nanoseconds") {
            let weights = profile["weights"].as_array().unwrap();
            let samples = profile["samples"].as_array().unwrap();
            assert_eq!(weights.len(), samples.len());
            let own: i64 = weights.iter().map(|w| w.as_i64().unwrap()).sum();
            assert_eq!(profile["endValue"], own);
            assert!(samples.iter().flat_map(|s| s.as_array().unwrap()).all(|f| f.as_u64().unwrap() < frames));
            sum += own;
        }
        assert_eq!(sum, CPU);
    }
}

#[test]
fn firefox_has_samples_markers_and_counters_with_indices_that_hold() {
    let recording = recording();
    let (out, written) = export("firefox", &request(&recording));
    assert_eq!((written.samples, written.spans, written.points), (800, 400, 100));
    let profile: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let (mut cpu_ms, mut used_ms, mut markers) = (0.0, 0.0, 0);
    let length = |v: &serde_json::Value| v["length"].as_u64().unwrap();
    let below = |column: &serde_json::Value, limit: u64, what: &str| {
        let values = column.as_array().unwrap().iter().filter_map(serde_json::Value::as_u64);
        assert!(values.into_iter().all(|v| v < limit), "{what}");
    };
    for thread in profile["threads"].as_array().unwrap() {
        let (stacks, frames) = (&thread["stackTable"], &thread["frameTable"]);
        let strings = thread["stringArray"].as_array().unwrap().len() as u64;
        below(&thread["samples"]["stack"], length(stacks), "stack");
        below(&stacks["prefix"], length(stacks), "prefix");
        below(&stacks["frame"], length(frames), "frame");
        below(&frames["func"], length(&thread["funcTable"]), "func");
        below(&thread["funcTable"]["name"], strings, "name");
        below(&thread["markers"]["name"], strings, "marker");
        for table in ["samples", "markers", "stackTable", "frameTable", "funcTable", "resourceTable"] {
            let n = length(&thread[table]);
            let columns =
                thread[table].as_object().unwrap().iter().filter_map(|(k, v)| Some((k, v.as_array()?)));
            columns.for_each(|(key, column)| assert_eq!(column.len() as u64, n, "{table}.{key}"));
        }
        if thread["samples"]["weightType"] == "tracing-ms" {
            let weights = thread["samples"]["weight"].as_array().unwrap();
            cpu_ms += weights.iter().map(|w| w.as_f64().unwrap()).sum::<f64>();
            let deltas = thread["samples"]["threadCPUDelta"].as_array().unwrap();
            used_ms += deltas.iter().map(|ns| ns.as_i64().unwrap()).sum::<i64>() as f64 / 1e6;
        }
        markers += length(&thread["markers"]);
        let causes = thread["markers"]["data"].as_array().unwrap().iter().map(|data| &data["cause"]["stack"]);
        causes.filter_map(serde_json::Value::as_u64).for_each(|stack| assert!(stack < length(stacks)));
    }
    let names: Vec<_> =
        profile["threads"].as_array().unwrap().iter().map(|t| (&t["pid"], &t["tid"])).collect();
    assert_eq!(names.len(), 6, "one track a thread, and one for each process: {names:?}");
    assert_eq!(used_ms, cpu_ms, "the CPU that the profiler shows is that of the samples");
    assert!((cpu_ms - CPU as f64 / 1e6).abs() < 1e-6);
    assert_eq!(markers, 400 + 400, "spans, and samples of the second kind");
    let counter = &profile["counters"][0]["samples"]["count"];
    let level: f64 = counter.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).sum();
    assert!((level - 199.0).abs() < 1e-9, "differences add up to the last level");
    assert_eq!(profile["meta"]["preprocessedProfileVersion"], 48);
}

#[test]
fn firefox_has_nothing_outside_of_the_window() {
    let recording = recording();
    let mut request = request(&recording);
    request.selection.windows = vec![Window { from_ns: 50 * S + S / 2, to_ns: 60 * S }];
    let (out, _) = export("firefox", &request);
    let profile: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let mut markers = 0;
    for thread in profile["threads"].as_array().unwrap() {
        let times = |table: &str, column: &str| -> Vec<f64> {
            thread[table][column].as_array().unwrap().iter().filter_map(serde_json::Value::as_f64).collect()
        };
        let all =
            [times("samples", "time"), times("markers", "startTime"), times("markers", "endTime")].concat();
        assert!(all.iter().all(|ms| (50_500.0..=60_000.0).contains(ms)), "{all:?}");
        markers += times("markers", "startTime").len();
    }
    assert!(markers > 0);
}

#[test]
fn perfetto_slices_of_a_track_end_before_the_next_begins() {
    let recording = recording();
    let (out, written) = export("perfetto", &request(&recording));
    let mut rest = &out[..];
    let mut packets = Vec::new();
    while !rest.is_empty() {
        assert_eq!(rest[0], 0x0a);
        rest = &rest[1..];
        let length = prost::encoding::decode_varint(&mut rest).unwrap() as usize;
        packets.push(perfetto::TracePacket::decode(&rest[..length]).unwrap());
        rest = &rest[length..];
    }
    assert_eq!(packets.iter().filter(|p| p.perf_sample.is_some()).count(), written.samples);
    let (mut slices, mut instants, mut points) = (0, 0, 0);
    let mut tracks: std::collections::BTreeMap<u64, Vec<(u64, i32)>> = std::collections::BTreeMap::new();
    for packet in &packets {
        let Some(event) = &packet.track_event else { continue };
        match event.kind {
            1 => slices += 1,
            2 => {}
            3 => instants += 1,
            _ => points += 1,
        }
        if event.kind <= 2 {
            tracks.entry(event.track_uuid).or_default().push((packet.timestamp.unwrap(), event.kind));
        }
    }
    assert_eq!((slices, instants, points), (320, 80, 100));
    for events in tracks.values_mut() {
        // Readers sort by time and keep the order of the file where times are equal.
        events.sort_by_key(|(t, _)| *t);
        assert!(events.iter().map(|(_, kind)| *kind).eq([1, 2].into_iter().cycle().take(events.len())));
    }
}

/// The same with a count of each second.
fn with_counts() -> Recording {
    let mut recording = recording();
    for i in 0..100 {
        let interval = (i * S, (i + 1) * S);
        let (process, source) = (ProcessId(0), SourceId(0));
        let count = CountRow::new(count::SYSCALL_TOTALS, EVIL, interval, process, source, 7);
        recording.count(&CountRow { total_ns: Some(9), figures: &[("failed", 1.0)], ..count });
    }
    recording.seal();
    recording
}

#[test]
fn counts_are_lines_in_formats_that_have_no_rows_of_that_sort() {
    let recording = with_counts();
    for id in ["firefox", "perfetto"] {
        assert_eq!(export(id, &request(&recording)).1.points, 200, "{id}");
        assert_eq!(export(id, &half(&recording)).1.points, 100, "{id}");
    }
}

#[test]
fn flat_tables_have_a_row_for_each_sample_span_count_and_point() {
    let recording = with_counts();
    for (table, rows, all) in [
        (Table::Samples, 400, 800),
        (Table::Spans, 204, 400),
        (Table::Counts, 50, 100),
        (Table::Series, 50, 100),
    ] {
        for (made, expected) in [(half(&recording), rows), (request(&recording), all)] {
            let made = Request { table, ..made };
            let (out, _) = export("csv", &made);
            let mut reader = ::csv::Reader::from_reader(&out[..]);
            let columns = reader.headers().unwrap().len();
            let records: Vec<_> = reader.records().map(Result::unwrap).collect();
            assert!(records.iter().all(|r| r.len() == columns));
            assert_eq!(records.len(), expected, "{table:?}");
            if table == Table::Counts {
                assert!(records.iter().all(|r| (&r[9], &r[10], &r[12]) == ("7", "9", "{\"failed\":1.0}")));
            }
            let (out, _) = export("parquet", &made);
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&out).unwrap();
            let reader = ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file);
            let batches: Vec<_> = reader.unwrap().build().unwrap().map(Result::unwrap).collect();
            assert_eq!(batches.iter().map(arrow_array::RecordBatch::num_rows).sum::<usize>(), expected);
            if table == Table::Samples && expected == all {
                let weight = |b: &arrow_array::RecordBatch| -> i64 {
                    b.column_by_name("weight").unwrap().as_primitive::<Int64Type>().iter().flatten().sum()
                };
                assert_eq!(batches.iter().map(weight).sum::<i64>(), CPU + 400 * 4_096);
                let weights = records.iter().map(|r| r[2].parse::<i64>().unwrap());
                assert_eq!(weights.sum::<i64>(), CPU + 400 * 4_096);
            }
        }
    }
}
