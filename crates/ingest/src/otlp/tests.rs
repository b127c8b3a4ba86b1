//! Real profiles of other programs, and damaged ones. What `fathom export` writes is read in
//! crates/cli/tests/files/otlp.rs.

use std::collections::BTreeMap;
use std::io::Cursor;

use fathom_recording::Recording;
use fathom_recording::vocabulary::{fact, sample};
use proptest::prelude::*;
use prost::Message;

use super::*;
use crate::Lines;

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/fixtures/otlp/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn read(data: &[u8]) -> Recording {
    let mut recording = Recording::new();
    let lines = Lines::new(Box::new(Cursor::new(data.to_vec())));
    let mut input = Input { name: "app.otlp".into(), modified: None, lines };
    let _ = Otlp.read(&mut input, &mut recording);
    recording.seal();
    recording
}

/// Weights by kind.
fn sums(recording: &Recording) -> BTreeMap<&str, i64> {
    let mut sums = BTreeMap::new();
    for sample in recording.samples.iter() {
        *sums.entry(recording.strings.get(sample.kind)).or_default() += sample.weight;
    }
    sums
}

#[test]
fn time_and_bytes_of_async_profiler_are_read_once() {
    // It writes the count of samples and their time; its own summary says 3.06 s and so on.
    for (name, kind) in [("async-cpu.otlp", sample::CPU), ("async-alloc.otlp", sample::ALLOC)] {
        let recording = read(&fixture(name));
        let sums = sums(&recording);
        assert_eq!(sums.len(), 1, "{sums:?}");
        assert!(sums[kind] > 1_000_000, "{sums:?}");
        let source = &recording.sources[0];
        assert_eq!(
            (source.skipped, source.cut, source.clock),
            (0, false, fathom_recording::ClockBasis::Epoch)
        );
        assert!(source.checks.iter().all(|check| check.holds), "{:?}", source.checks);
        assert!(recording.processes[0].jvm);
        let thread = recording.threads.iter().find(|t| recording.strings.get(t.name) == "allocator");
        assert!(thread.unwrap().tid.is_some());
        assert!(recording.frames.iter().any(|f| recording.strings.get(f.name) == "Burn.alloc"));
    }
}

#[test]
fn it_is_distinguished_from_other_bytes() {
    for name in ["async-cpu.otlp", "async-alloc.otlp"] {
        assert_eq!(Otlp.sniff(&fixture(name)), Confidence(75));
    }
    let pprof =
        std::fs::File::open(format!("{}/fixtures/pprof/cpu.pb.gz", env!("CARGO_MANIFEST_DIR"))).unwrap();
    let mut plain = Vec::new();
    flate2::read::MultiGzDecoder::new(pprof).read_to_end(&mut plain).unwrap();
    for other in
        [&plain[..], b"", b"\n\n\n", b"\n\x04text\n\x04more", b"FLR\0", b"\x0a\xff\xff\xff\xff\x0f", &[0; 64]]
    {
        assert_eq!(Otlp.sniff(other), Confidence(0), "{other:?}");
    }
}

/// A message of these fields.
fn message(fields: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, field) in fields {
        bytes.push(number << 3 | 2);
        prost::encoding::encode_varint(field.len() as u64, &mut bytes);
        bytes.extend_from_slice(field);
    }
    bytes
}

/// What OpenTelemetry's eBPF profiler writes: counts with a period, times without values, a
/// resource for each container, process and thread as attributes of samples.
fn counted() -> Vec<u8> {
    let texts = [
        "",
        "samples",
        "count",
        "cpu",
        "nanoseconds",
        "void A.run()",
        "thread.name",
        "process.pid",
        "container.id",
        "abc",
        "profile.frame.type",
        "jvm",
        "process.executable.name",
        "java",
        "w-1",
    ];
    let attribute = |key: i32, text: &str, number: i64| {
        let value = Some(wire::AnyValue { text: text.into(), number, ..Default::default() });
        (6, wire::KeyValueAndUnit { key, value }.encode_to_vec())
    };
    let mut dictionary: Vec<(u8, Vec<u8>)> = texts.iter().map(|text| (5, text.as_bytes().to_vec())).collect();
    dictionary.extend([1, 2, 3, 4, 6, 7].map(|table| (table, Vec::new())));
    dictionary.push((3, wire::Function { name: 5, system_name: 0 }.encode_to_vec()));
    let lines = vec![wire::Line { function: 1, line: 7 }];
    dictionary.push((2, wire::Location { lines, attributes: vec![1], ..Default::default() }.encode_to_vec()));
    dictionary.push((7, wire::Stack { locations: vec![1, 1] }.encode_to_vec()));
    dictionary.extend([
        attribute(10, "jvm", 0),
        attribute(6, "w-1", 0),
        attribute(7, "", 4711),
        attribute(12, "java", 0),
    ]);
    let one = wire::Sample {
        stack: 1,
        attributes: vec![2, 3, 4],
        timestamps: vec![1_700_000_000_000_000_000; 3],
        ..Default::default()
    };
    let mut profile = message(&[
        (1, wire::ValueType { name: 1, unit: 2 }.encode_to_vec()),
        (2, one.encode_to_vec()),
        (5, wire::ValueType { name: 3, unit: 4 }.encode_to_vec()),
    ]);
    profile.extend([6 << 3, 100]); // period: 100 ns
    let value = Some(wire::AnyValue { text_index: 9, ..Default::default() });
    let container = wire::KeyValue { key: String::new(), key_index: 8, value }.encode_to_vec();
    let scope = message(&[(2, profile)]);
    let resource = message(&[(1, message(&[(1, container)])), (2, scope)]);
    message(&[(1, resource), (2, message(&dictionary))])
}

#[test]
fn a_count_of_samples_stands_for_its_periods() {
    let mut framed = (counted().len() as u32).to_be_bytes().to_vec();
    framed.extend(counted());
    for bytes in [counted(), framed] {
        assert_eq!(Otlp.sniff(&bytes), Confidence(75));
        let recording = read(&bytes);
        assert_eq!(sums(&recording), BTreeMap::from([(sample::CPU, 300)]));
        assert_eq!(recording.samples.len(), 3);
        let process = &recording.processes[0];
        assert_eq!((process.pid, process.name.as_str(), process.jvm), (Some(4711), "java", true));
        assert_eq!(process.fact(fact::CONTAINER), Some("abc"));
        assert_eq!(recording.strings.get(recording.frames[0].name), "A.run");
        assert_eq!((recording.frames[0].line, recording.stacks.len()), (7, 2));
        assert_eq!(recording.strings.get(recording.threads[0].name), "w-1");
    }
}

#[test]
fn what_refers_to_nothing_is_counted() {
    let bytes = counted();
    let whole = read(&bytes);
    assert!(whole.sources[0].checks.iter().all(|check| check.holds));
    // Without the dictionary nothing is known, and nothing is read.
    let resources = Parts::of(&bytes).next();
    let Some(Part::Bytes(1, resources)) = resources else { panic!("{resources:?}") };
    let alone = read(&message(&[(1, resources.to_vec())]));
    assert_eq!(sums(&alone), BTreeMap::from([(sample::EVENT, 3)]));
    assert!(!alone.sources[0].checks[0].holds);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_damage_makes_it_panic(share in 0.0..1.0_f64, flips in prop::collection::vec((0.0..1.0_f64, 0..8_u8), 0..64)) {
        for mut data in [counted(), fixture("async-cpu.otlp")] {
            for (at, bit) in &flips {
                let at = (data.len() as f64 * at) as usize;
                data[at] ^= 1 << bit;
            }
            data.truncate((data.len() as f64 * share) as usize);
            read(&data);
            Otlp.sniff(&data);
        }
    }
}
