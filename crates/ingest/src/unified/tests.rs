//! Whole logs through the reader.

use std::io::Cursor;

use fathom_recording::{ClockBasis, Recording};

use super::*;

fn read(text: &str) -> Recording {
    let mut recording = Recording::new();
    let lines = Lines::new(Box::new(Cursor::new(text.as_bytes().to_vec())));
    let mut input = Input { name: "gc.log".into(), modified: None, lines };
    UnifiedLog.read(&mut input, &mut recording).unwrap();
    recording.seal();
    recording
}

#[test]
fn one_pause() {
    let recording =
        read("[0.1s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 2M->1M(4M) 1.500ms\n");
    assert_eq!(recording.spans_of("gc.pause").len(), 1);
    assert_eq!(recording.sources[0].clock, ClockBasis::JvmUptime);
}
