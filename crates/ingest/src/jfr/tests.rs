//! Real recordings, compared with the JDK's own tool, and damaged in every way.

use std::collections::BTreeMap;
use std::io::Cursor;

use fathom_recording::vocabulary::{fact, figure, kind, label, sample, series};
use fathom_recording::{FrameType, Recording, Role};
use proptest::prelude::*;

use super::*;
use crate::Lines;

fn fixture(name: &str) -> Vec<u8> {
    let path = format!("{}/fixtures/jfr/{name}.jfr.zst", env!("CARGO_MANIFEST_DIR"));
    zstd::decode_all(std::fs::File::open(path).unwrap()).unwrap()
}

fn lines(data: &[u8]) -> Lines {
    Lines::new(Box::new(Cursor::new(data.to_vec())))
}

fn try_read(data: &[u8]) -> Result<Recording, IngestError> {
    let mut recording = Recording::new();
    let mut input = Input { name: "app.jfr".into(), modified: None, lines: lines(data) };
    Jfr.read(&mut input, &mut recording)?;
    recording.seal();
    Ok(recording)
}

fn read(data: &[u8]) -> Recording {
    try_read(data).unwrap()
}

/// Events of each kind, by the iteration that everything else is based on.
fn counts(data: &[u8]) -> BTreeMap<String, u64> {
    let mut lines = lines(data);
    let mut chunks = Chunks::new(&mut lines);
    let mut counts = BTreeMap::new();
    while let Some(chunk) = chunks.next() {
        let Some(content) = Content::of(&chunk, &mut Described::default()) else { continue };
        for event in Events::of(&chunk) {
            let name = match event.class {
                METADATA => "jdk.Metadata",
                CHECKPOINT => "jdk.CheckPoint",
                id => &content.types.by_id(id).unwrap().name,
            };
            *counts.entry(name.to_owned()).or_default() += 1;
        }
    }
    counts
}

fn of_kind(recording: &Recording, kind: &str) -> Vec<fathom_recording::Sample> {
    let id = recording.strings.find(kind);
    recording.samples.iter().filter(|sample| Some(sample.kind) == id).collect()
}

/// The frames of a stack, the innermost first.
fn frames(recording: &Recording, stack: Option<fathom_recording::StackId>) -> Vec<(String, FrameType)> {
    let mut frames = Vec::new();
    let mut next = stack;
    while let Some(id) = next {
        let node = recording.stacks[id.index()];
        let frame = recording.frames[node.frame.index()];
        frames.push((recording.strings.get(frame.name).to_owned(), frame.frame_type));
        next = node.parent;
    }
    frames
}

#[test]
fn counts_of_all_kinds_are_those_of_the_jdks_own_tool() {
    for name in ["jdk11", "jdk25", "async17"] {
        let path = format!("{}/fixtures/jfr/{name}.summary", env!("CARGO_MANIFEST_DIR"));
        let expected: BTreeMap<String, u64> = std::fs::read_to_string(path)
            .unwrap()
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(name, n)| (name.replace("jdk.Checkpoint", "jdk.CheckPoint"), n.parse().unwrap()))
            .collect();
        let mut counted = counts(&fixture(name));
        counted.retain(|kind, _| expected.contains_key(kind) || kind != "jdk.CheckPoint");
        assert_eq!(counted, expected, "{name}");
    }
}

#[test]
fn every_event_of_healthy_recordings_is_understood() {
    for name in ["jdk11", "jdk25", "async17", "sync25"] {
        let recording = read(&fixture(name));
        let [source] = recording.sources.as_slice() else { panic!("{name}: one run") };
        assert!(source.checks.iter().all(|check| check.holds), "{name}: {:?}", source.checks);
        assert_eq!((source.skipped, source.lost, source.cut), (0, 0, false), "{name}: {:?}", source.unknown);
        assert!(source.records > 0);
    }
}

#[test]
fn what_is_read_of_each_recording_is_as_it_was() {
    for name in ["jdk11", "jdk25", "async17", "sync25", "killed17"] {
        let recording = read(&fixture(name));
        let mut lines = Vec::new();
        for (kind, count) in recording.kinds() {
            let first = recording.spans_of(kind).next().unwrap();
            let mut words: Vec<_> = first.figures().map(|(k, v)| format!("{k}={v}")).collect();
            words.extend(first.labels().map(|(k, v)| format!("{k}={v}")));
            words.truncate(8);
            lines.push(format!("{kind} {count}: {} {}", first.name(), words.join(" ")));
        }
        for series in &recording.series {
            let info = &series.info;
            lines.push(format!("{} {} {}: {}", info.name, info.instance, info.unit, series.value.len()));
        }
        let mut samples: BTreeMap<&str, (u64, i64)> = BTreeMap::new();
        for sample in recording.samples.iter() {
            let sum = samples.entry(recording.strings.get(sample.kind)).or_default();
            *sum = (sum.0 + 1, sum.1 + sample.weight);
        }
        lines.extend(
            samples
                .iter()
                .map(|(kind, (n, sum))| format!("sample {kind}: {n}, {sum} {}", sample::unit(kind))),
        );
        lines.sort();
        insta::assert_snapshot!(name, lines.join("\n"));
    }
}

#[test]
fn the_jvm_says_what_it_is() {
    let recording = read(&fixture("jdk25"));
    let process = &recording.processes[0];
    assert!(process.jvm && process.pid.is_some());
    let facts =
        [fact::JDK, fact::COLLECTOR, fact::CPUS, fact::MAIN, fact::HEAP_MAX_BYTES].map(|k| process.fact(k));
    assert_eq!(facts, [Some("25"), Some("G1"), Some("2"), Some("Mixed"), Some("201326592")]);
    assert!(process.fact(fact::JVM_ARGS).is_some_and(|args| args.contains("-Xmx192m")));
    assert_eq!(read(&fixture("async17")).processes[0].fact(fact::JDK), Some("17"));
}

#[test]
fn a_sample_stands_for_its_period_and_has_its_thread_and_stack() {
    // `default` samples every 20 ms, `profile` every 10 ms.
    for (name, period_ns) in [("killed17", 20_000_000), ("jdk25", 10_000_000), ("async17", 10_000_000)] {
        let recording = read(&fixture(name));
        let samples = of_kind(&recording, sample::CPU);
        assert!(!samples.is_empty(), "{name}");
        assert!(samples.iter().all(|s| s.weight == period_ns && s.thread.is_some()), "{name}");
        let burns = |s: &&fathom_recording::Sample| {
            let frames = frames(&recording, s.stack);
            frames.iter().any(|(name, _)| name == "Mixed.burn")
                && frames
                    .last()
                    .is_some_and(|(root, _)| root.contains("Thread.run") || root.contains("clone"))
        };
        if name == "killed17" {
            continue;
        }
        assert!(samples.iter().filter(burns).count() > 5, "{name}");
        let thread = &recording.threads[samples.iter().find(burns).unwrap().thread.unwrap().index()];
        assert_eq!(thread.role, Role::App);
        assert!(thread.tid.is_some());
    }
}

#[test]
fn frames_of_async_profiler_distinguish_compiled_from_native_code() {
    let recording = read(&fixture("async17"));
    let of_type =
        |frame_type: FrameType| recording.frames.iter().filter(move |f| f.frame_type == frame_type).count();
    for frame_type in
        [FrameType::Interpreted, FrameType::C1, FrameType::C2, FrameType::Jvm, FrameType::Native]
    {
        assert!(of_type(frame_type) > 0, "{frame_type:?}");
    }
    let jvm = recording.frames.iter().find(|f| f.frame_type == FrameType::Jvm).unwrap();
    assert_eq!(recording.strings.get(jvm.module), "libjvm.so");
    assert!(!recording.strings.get(jvm.name).starts_with("libjvm"));
}

#[test]
fn ids_of_types_are_those_of_their_own_chunk() {
    let recording = read(&fixture("sync25"));
    // The JDK's tool takes the profiler's samples for data-loss events.
    assert_eq!(recording.sources[0].lost, 0);
    assert!(of_kind(&recording, sample::CPU).len() > 20);
}

#[test]
fn waits_name_their_lock_and_its_owner() {
    let recording = read(&fixture("jdk25"));
    let waits: Vec<_> = recording.spans_of(kind::LOCK_MONITOR).collect();
    assert!(!waits.is_empty());
    for wait in &waits {
        assert_eq!(wait.name(), "java.lang.Object");
        assert!(wait.duration_ns() > 1_000_000);
        assert!(wait.label(label::OWNER).is_some_and(|owner| owner.starts_with("locker-")));
        let stack = frames(&recording, wait.stack());
        assert!(stack.iter().any(|(name, _)| name == "Mixed.locked"), "{stack:?}");
    }
}

#[test]
fn collections_have_heap_before_and_after() {
    let recording = read(&fixture("jdk25"));
    let pauses: Vec<_> = recording.spans_of(kind::GC_PAUSE).collect();
    let young: Vec<_> = pauses.iter().filter(|p| p.name().starts_with("Pause Young")).collect();
    assert!(!young.is_empty());
    for pause in young {
        let figure = |key| pause.figure(key).unwrap();
        assert!(figure(figure::HEAP_BEFORE_BYTES) > figure(figure::HEAP_AFTER_BYTES));
        assert!(figure(figure::YOUNG_AFTER_BYTES) <= figure(figure::HEAP_AFTER_BYTES));
        assert!(pause.label(label::CAUSE).is_some());
    }
    assert!(pauses.iter().any(|p| p.name() == "Pause Full" && p.label(label::CAUSE) == Some("System.gc()")));
}

#[test]
fn a_chunk_that_was_never_finished_is_read_as_far_as_it_goes() {
    let recording = read(&fixture("killed17"));
    let source = &recording.sources[0];
    assert!(source.cut && source.checks.iter().any(|check| !check.holds));
    let (from, to) = source.covers_ns.unwrap();
    assert!((2_000_000_000..4_000_000_000).contains(&(to - from)), "{}", to - from);
    assert!(!of_kind(&recording, sample::CPU).is_empty());
    assert!(recording.spans_of(kind::LOCK_MONITOR).len() > 5);
    assert_eq!(source.skipped, 0);
}

#[test]
fn files_put_together_are_one_source_a_run() {
    let (one, two) = (fixture("jdk11"), fixture("jdk25"));
    let recording = read(&[one.as_slice(), &two, &two].concat());
    let names: Vec<_> = recording.sources.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["app.jfr", "app.jfr #2"]);
    let jdks: Vec<_> = recording.processes.iter().map(|p| p.fact(fact::JDK)).collect();
    assert_eq!(jdks, [Some("11"), Some("25")]);
    let unfinished = read(&[fixture("killed17").as_slice(), &one].concat());
    assert_eq!(unfinished.sources.len(), 2);
}

#[test]
fn what_stands_between_chunks_is_passed_over_and_counted() {
    let one = fixture("async17");
    let recording = read(&[one.as_slice(), b"some other bytes FLR\0 and more", &one].concat());
    let whole = &recording.sources[0].checks[0];
    assert!(!whole.holds && !whole.detail.ends_with(" 0 bytes outside of chunks"), "{}", whole.detail);
    assert_eq!(recording.samples.len(), 2 * read(&one).samples.len());
}

#[test]
fn a_truncated_file_keeps_its_whole_chunks() {
    let (one, two) = (fixture("jdk11"), fixture("async17"));
    let alone = read(&one).samples.len();
    for length in [1, 10, 67, 68, 100, 5_000, two.len() - 1] {
        let recording = read(&[one.as_slice(), &two[..length]].concat());
        assert!(recording.samples.len() >= alone, "{length}");
        assert!(recording.sources.iter().any(|s| s.checks.iter().any(|check| !check.holds)), "{length}");
    }
}

#[test]
fn nothing_of_use_is_an_error_that_names_the_file() {
    for data in [&b"FLR\0"[..], b"FLR\0\0\x02\0\x01", &[b"FLR\0\0\x02\0\x01".as_slice(), &[0; 4096]].concat()]
    {
        let error = try_read(data).unwrap_err().to_string();
        assert!(error.starts_with("app.jfr: looks like jfr"), "{error}");
    }
}

#[test]
fn counts_larger_than_the_file_are_damage_and_take_no_memory() {
    let data = fixture("async17");
    // Wherever there may be a count or a length: the largest number that nine bytes hold.
    for at in (68..data.len()).step_by(997) {
        let mut damaged = data.clone();
        let to = (at + 9).min(damaged.len());
        damaged[at..to].fill(0xff);
        let _ = try_read(&damaged);
    }
}

/// Whatever the input, the recording is consistent.
fn is_sound(data: &[u8]) {
    if let Ok(recording) = try_read(data) {
        for (kind, _) in recording.kinds() {
            for span in recording.spans_of(kind) {
                assert!(span.t1_ns() >= span.t0_ns());
                assert!(span.thread().is_none_or(|t| t.index() < recording.threads.len()));
            }
        }
        assert!(recording.samples.len() + recording.spans.len() <= data.len() + 16);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_truncation_makes_it_panic(share in 0.0..1.0_f64) {
        let data = fixture("async17");
        is_sound(&data[..(data.len() as f64 * share) as usize]);
    }

    #[test]
    fn no_flipped_bits_make_it_panic(flips in prop::collection::vec((0.0..1.0_f64, 0..8_u8), 1..64)) {
        let mut data = fixture("async17");
        for (at, bit) in flips {
            let at = (data.len() as f64 * at) as usize;
            data[at] ^= 1 << bit;
        }
        is_sound(&data);
    }

    #[test]
    fn no_bytes_behind_a_header_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        let mut data = fixture("async17")[..68].to_vec();
        data.extend(bytes);
        is_sound(&data);
    }
}

/// The file with an integer written in another way, of the same length.
fn rewritten(data: &mut [u8], at: usize, from: u64, to: u64) {
    let packed = |mut n: u64| {
        let mut bytes = Vec::new();
        while n > 0x7f {
            bytes.push((n & 0x7f) as u8 | 0x80);
            n >>= 7;
        }
        bytes.push(n as u8);
        bytes
    };
    let (from, to) = (packed(from), packed(to));
    assert_eq!((data.get(at..at + from.len()), to.len()), (Some(from.as_slice()), from.len()));
    data[at..at + to.len()].copy_from_slice(&to);
}

#[test]
fn a_live_object_that_was_allocated_before_the_chunk_is_sound_if_the_jvm_ran_then() {
    let mut data = fixture("async17");
    // An event of another program, and a JVM that began 300 s before it did.
    let name = data.windows(19).position(|bytes| bytes == b"jdk.ExecutionSample").unwrap();
    data[name..name + 3].copy_from_slice(b"abc");
    let whole = read(&data);
    let start_ms: u64 =
        whole.processes[0].fact(fact::JVM_START_NS).unwrap().parse::<u64>().unwrap() / 1_000_000;
    let (event, ticks, second) = {
        let mut lines = lines(&data);
        let mut chunks = Chunks::new(&mut lines);
        let chunk = chunks.next().unwrap();
        let types = Content::of(&chunk, &mut Described::default()).unwrap().types;
        let named = |name: &str| {
            let mut events = Events::of(&chunk);
            events.find(|event| types.by_id(event.class).is_some_and(|class| &*class.name == name)).unwrap()
        };
        let (event, described) = (named("abc.ExecutionSample"), named("jdk.JVMInformation"));
        let long = |at: usize| Bytes::new(chunk.data, at, true).long().unwrap();
        let start = (described.body..described.end).find(|at| long(*at) == start_ms).unwrap();
        rewritten(&mut data, start, start_ms, start_ms - 300_000);
        (event.body, long(event.body), (1e9 / chunk.header.clock().tick_ns) as u64)
    };
    let read_at = |seconds_before: u64| {
        let mut data = data.clone();
        rewritten(&mut data, event, ticks, ticks - seconds_before * second);
        let recording = read(&data);
        let first = recording.spans_of(kind::EVENT).map(|span| span.t0_ns()).min().unwrap();
        let covers = recording.sources[0].covers_ns.unwrap();
        (recording.sources[0].skipped, (covers.0 - first) / 1_000_000_000)
    };
    let (skipped, before_s) = read_at(200);
    assert_eq!(skipped, 0);
    assert!((190..=200).contains(&before_s), "{before_s}");
    let (skipped, before_s) = read_at(400);
    assert_eq!(skipped, 1, "before the JVM began");
    assert!(before_s <= 0, "{before_s}");
}

#[test]
fn an_event_of_a_thread_that_is_described_nowhere_is_not_damaged() {
    let mut data = fixture("jdk11");
    let (at, thread) = {
        let mut lines = lines(&data);
        let mut chunks = Chunks::new(&mut lines);
        let chunk = chunks.next().unwrap();
        let types = Content::of(&chunk, &mut Described::default()).unwrap().types;
        let is_load = |class| types.by_id(class).is_some_and(|class| &*class.name == "jdk.ThreadCPULoad");
        let event = Events::of(&chunk).find(|event| is_load(event.class)).unwrap();
        let mut bytes = Bytes::new(chunk.data, event.body, true);
        bytes.long().unwrap();
        (chunk.data.len() - bytes.left(), bytes.long().unwrap())
    };
    let loads = |recording: &Recording| -> usize {
        let of_threads = recording.series.iter().filter(|s| s.info.name == series::CPU_THREAD);
        of_threads.map(|s| s.value.len()).sum()
    };
    let before = loads(&read(&data));
    rewritten(&mut data, at, thread, if thread < 0x80 { 0x7f } else { 0x3fff });
    let recording = read(&data);
    let source = &recording.sources[0];
    assert!(source.checks.iter().all(|check| check.holds), "{:?}", source.checks);
    assert!(source.checks[1].detail.contains("1 name missing"), "{:?}", source.checks);
    assert_eq!((source.skipped, loads(&recording)), (0, before - 1));
}

#[test]
fn what_a_collection_failed_at_is_named_as_its_event_names_it() {
    // There is no CMS any more: events of G1 with the number of their collection, under the names
    // of events of failures.
    let failed = |event: &str, failure: &str, by: &str| {
        assert_eq!(event.len(), by.len());
        let mut data = fixture("jdk11");
        for (from, to) in [(event, event.replace("jdk.", "old.")), (by, event.to_owned())] {
            let at = data.windows(from.len()).position(|bytes| bytes == from.as_bytes()).unwrap();
            data[at..at + to.len()].copy_from_slice(to.as_bytes());
        }
        let recording = read(&data);
        let failed = |span: &fathom_recording::Span<'_>| {
            span.labels().any(|(key, said)| key == label::FAILURE && said == failure)
                && span.figure(figure::EVACUATION_FAILURE) == Some(1.0)
        };
        recording.spans_of(kind::GC_PAUSE).filter(failed).count()
    };
    let mode = failed("jdk.ConcurrentModeFailure", "concurrent mode failure", "jdk.EvacuationInformation");
    assert!(mode > 0);
    let none = read(&fixture("jdk11"));
    assert!(none.spans_of(kind::GC_PAUSE).all(|span| span.labels().all(|(key, _)| key != label::FAILURE)));
}

/// The client made all of its 175 handshakes in full, and the server resumed sessions: of TLS 1.2
/// the JDK writes only these two.
#[test]
fn a_handshake_of_tls_1_2_is_in_full_at_the_client_and_resumed_at_the_server() {
    let resumed = |name: &str| {
        let recording = read(&fixture(name));
        let all = recording.spans_of(kind::NET_TLS);
        let mut counts: BTreeMap<(String, Option<u8>), usize> = BTreeMap::new();
        for span in all {
            let resumed = span.figure(figure::RESUMED).map(|resumed| resumed as u8);
            *counts.entry((span.name().to_owned(), resumed)).or_default() += 1;
        }
        counts.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(resumed("tls-client25"), [(("TLSv1.2".to_owned(), Some(0)), 175)]);
    assert_eq!(resumed("tls-server25"), [(("TLSv1.2".to_owned(), Some(1)), 952)]);
}

#[test]
fn a_recording_of_an_old_format_is_refused_by_its_name() {
    let old = [&b"FLR\0\0\0\0\x09"[..], &[0; 200]].concat();
    let refused = try_read(&old).unwrap_err().to_string();
    assert!(refused.contains("format 0.x") && refused.contains("too old"), "{refused}");
}
