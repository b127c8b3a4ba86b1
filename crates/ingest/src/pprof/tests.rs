//! Real profiles compared with the output of `go tool pprof -raw`, and damaged ones.

use std::io::Cursor;

use fathom_recording::Recording;
use proptest::prelude::*;

use super::*;
use crate::Lines;

fn fixture(name: &str) -> Vec<u8> {
    let path = format!("{}/fixtures/pprof/{name}.pb.gz", env!("CARGO_MANIFEST_DIR"));
    let mut data = Vec::new();
    flate2::read::MultiGzDecoder::new(std::fs::File::open(path).unwrap()).read_to_end(&mut data).unwrap();
    data
}

fn read(data: &[u8]) -> Recording {
    let mut recording = Recording::new();
    let lines = Lines::new(Box::new(Cursor::new(data.to_vec())));
    let mut input = Input { name: "app.pb".into(), modified: None, lines };
    let _ = Pprof.read(&mut input, &mut recording);
    recording.seal();
    recording
}

fn sum(recording: &Recording, kind: &str) -> i64 {
    let id = recording.strings.find(kind);
    recording.samples.iter().filter(|s| Some(s.kind) == id).map(|s| s.weight).sum()
}

#[test]
fn totals_are_those_of_the_tool_that_the_format_comes_from() {
    // Sums over the samples of `go tool pprof -raw`.
    let cpu = read(&fixture("cpu"));
    assert_eq!((cpu.samples.len(), sum(&cpu, sample::CPU)), (9, 180_000_000));
    let heap = read(&fixture("heap"));
    assert_eq!((sum(&heap, sample::ALLOC), sum(&heap, sample::LIVE)), (3_916_262, 3_891_436));
    for recording in [&cpu, &heap] {
        assert_eq!(recording.sources[0].clock, ClockBasis::Epoch);
        assert!(recording.sources[0].checks.iter().all(|check| check.holds));
    }
}

#[test]
fn stacks_have_their_root_first_and_threads_their_label() {
    let recording = read(&fixture("cpu"));
    let name = |stack: StackId| {
        let frame = recording.frames[recording.stacks[stack.index()].frame.index()];
        recording.strings.get(frame.name)
    };
    let burning = |s: &fathom_recording::Sample| {
        let mut node = s.stack;
        let mut names = Vec::new();
        while let Some(id) = node {
            names.push(name(id));
            node = recording.stacks[id.index()].parent;
        }
        names.contains(&"main.burn") && names.last() == Some(&"runtime.main")
    };
    let burner = recording.samples.iter().find(burning).unwrap();
    let thread = &recording.threads[burner.thread.unwrap().index()];
    assert_eq!(recording.strings.get(thread.name), "burner");
}

#[test]
fn it_is_distinguished_from_other_bytes() {
    assert_eq!(Pprof.sniff(&fixture("cpu")), Confidence(75));
    for other in
        [&b""[..], b"\n\n\n", b"\n\x04text\n\x04more", b"FLR\0", b"\x0a\xff\xff\xff\xff\x0f", &[0; 64]]
    {
        assert_eq!(Pprof.sniff(other), Confidence(0), "{other:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_damage_makes_it_panic(share in 0.0..1.0_f64, flips in prop::collection::vec((0.0..1.0_f64, 0..8_u8), 0..64)) {
        let mut data = fixture("heap");
        for (at, bit) in flips {
            let at = (data.len() as f64 * at) as usize;
            data[at] ^= 1 << bit;
        }
        data.truncate((data.len() as f64 * share) as usize);
        read(&data);
        Pprof.sniff(&data);
    }
}
