//! Real output of perf, with several sets of fields, and damaged.

use std::io::Cursor;

use fathom_recording::Recording;
use proptest::prelude::*;

use super::*;
use crate::Lines;

fn fixture(name: &str) -> Vec<u8> {
    let path = format!("{}/fixtures/perf-script/{name}.txt.zst", env!("CARGO_MANIFEST_DIR"));
    zstd::decode_all(std::fs::File::open(path).unwrap()).unwrap()
}

fn read(data: &[u8]) -> Recording {
    let mut recording = Recording::new();
    let lines = Lines::new(Box::new(Cursor::new(data.to_vec())));
    let mut input = Input { name: "perf.txt".into(), modified: None, lines };
    let _ = PerfScript.read(&mut input, &mut recording);
    recording.seal();
    recording
}

/// Frames by name, with how often a stack begins with them.
fn leaves(recording: &Recording) -> BTreeMap<String, u64> {
    let mut leaves = BTreeMap::new();
    for sample in recording.samples.iter() {
        let frame = recording.frames[recording.stacks[sample.stack.unwrap().index()].frame.index()];
        *leaves.entry(recording.strings.get(frame.name).to_owned()).or_default() += 1;
    }
    leaves
}

#[test]
fn every_sample_of_real_output_is_read_with_its_stack() {
    let text = fixture("lock17");
    let recording = read(&text);
    let text = String::from_utf8(text).unwrap();
    let samples = text.lines().filter(|l| l.contains("cpu-clock")).count();
    assert_eq!(recording.samples.len(), samples);
    assert_eq!(recording.sources[0].skipped, 0, "{:?}", recording.sources[0].unknown);
    assert!(recording.samples.iter().all(|s| s.weight == 5_025_125));
    assert!(leaves(&recording).contains_key("LockStorm.hotSection"));
    let jvm = recording.processes.iter().find(|p| p.jvm).unwrap();
    assert_eq!(jvm.pid, Some(32656));
    assert_eq!(recording.sources[0].clock, ClockBasis::SinceStart);
}

#[test]
fn the_same_recording_with_other_fields_has_the_same_stacks() {
    let plain = read(&fixture("mixed17-default"));
    for name in ["mixed17-pid", "mixed17-ns"] {
        let other = read(&fixture(name));
        assert_eq!(leaves(&other), leaves(&plain), "{name}");
        assert_eq!(other.sources[0].skipped, 0, "{name}: {:?}", other.sources[0].unknown);
    }
    let with_pid = read(&fixture("mixed17-pid"));
    let thread = with_pid.threads.iter().find(|t| with_pid.strings.get(t.name) == "C2 CompilerThre");
    assert_eq!(thread.map(|t| t.role), Some(fathom_recording::Role::Jit));
}

#[test]
fn it_is_distinguished_from_other_text() {
    for name in ["lock17", "mixed17-default", "mixed17-pid", "mixed17-ns"] {
        assert_eq!(PerfScript.sniff(&fixture(name)), Confidence(85), "{name}");
    }
    for other in
        [&b"a;b 1\n"[..], b"time,ops\n1,2\n", b"[0.1s][info][gc] GC(1) Pause Young 1.2ms\n", b"1.000000: 5\n"]
    {
        assert_eq!(PerfScript.sniff(other), Confidence(0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_damage_makes_it_panic(share in 0.0..1.0_f64, flips in prop::collection::vec((0.0..1.0_f64, 0..8_u8), 0..64)) {
        let mut data = fixture("mixed17-pid");
        for (at, bit) in flips {
            let at = (data.len() as f64 * at) as usize;
            data[at] ^= 1 << bit;
        }
        data.truncate((data.len() as f64 * share) as usize);
        read(&data);
    }
}
