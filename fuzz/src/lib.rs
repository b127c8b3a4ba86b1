//! What every fuzz target does with its bytes: read them, and hold the reader to its word.

/// Rows of live collectors from bytes, and what must hold of every judgement.
#[path = "../../crates/diagnose/tests/live_rows/mod.rs"]
mod live_rows;

use std::io::{Cursor, Write};

use fathom_ingest::{FORMATS, Input, Lines};
use fathom_recording::Recording;

/// Reads `data` with one format, whatever it is, and checks what must hold of any input.
pub fn read(format: &str, data: &[u8]) {
    let format = FORMATS.iter().find(|f| f.id() == format).expect("a format of this id is in FORMATS");
    let mut recording = Recording::new();
    let _ = format.sniff(data);
    let lines = Lines::new(Box::new(Cursor::new(data.to_vec())));
    let mut input = Input { name: "fuzz".into(), modified: None, lines };
    let _ = format.read(&mut input, &mut recording);
    holds(recording);
}

/// Hands `data` over as a file: opening, decompressing, telling the format, reading, aligning.
pub fn any_input(data: &[u8]) {
    let path = std::env::temp_dir().join(format!("fathom-fuzz-{}", std::process::id()));
    std::fs::File::create(&path)
        .and_then(|mut f| f.write_all(data))
        .expect("the temporary folder is writable");
    let mut recording = Recording::new();
    let _ = fathom_ingest::read_inputs(&[path], &Default::default(), &mut recording);
    holds(recording);
}

/// Takes `data` for rows of all kinds that collectors and readers write: windows, rules, ledgers
/// and chains see what no file that is read as bytes leads to.
pub fn live_rows(data: &[u8]) {
    holds(live_rows::recording(data));
}

/// Hands `data` over as a heap dump and asks all that is ever asked of one.
pub fn heap_dump(data: &[u8]) {
    use fathom_heap::report::{About, ObjectReport, Picture, WaysReport};
    use fathom_heap::{Kept, Paths, Referents, Summary};
    let path = std::env::temp_dir().join(format!("fathom-fuzz-{}", std::process::id()));
    std::fs::File::create(&path)
        .and_then(|mut f| f.write_all(data))
        .expect("the temporary folder is writable");
    for referents in [Referents::AsAll, Referents::LeftOut] {
        let Ok(heap) = fathom_heap::read(&path, referents, None) else { continue };
        let kept = Kept::of(&heap);
        let paths = Paths::of(&heap, &kept);
        let picture = Picture::of(&heap, &kept, About::of(&heap, &path, true));
        let screen = &picture.screen;
        assert_eq!(screen.size.objects + screen.size.unreachable_objects, u64::from(heap.len()));
        assert!(screen.holders.all.iter().all(|holder| holder.retained_bytes <= screen.size.bytes));
        for node in (0..heap.len()).take(20) {
            let _ = ObjectReport::of(&heap, &kept, node, 5, true);
            let _ = WaysReport::of(&heap, &kept, &paths, node, 5);
        }
        let _ = Summary::of(&heap, &kept);
        let _ = fathom_heap::redact(&path, &mut std::io::sink());
    }
}

/// Spans do not end before they start, ids are valid, and every judgement of it ends with values
/// that are numbers.
fn holds(mut recording: Recording) {
    recording.seal();
    let kinds: Vec<String> = recording.kinds().iter().map(|(kind, _)| kind.to_string()).collect();
    for kind in &kinds {
        for span in recording.spans_of(kind) {
            assert!(span.t1_ns() >= span.t0_ns());
            assert!(span.process().index() < recording.processes.len());
            assert!(span.source().index() < recording.sources.len());
            assert!(span.thread().is_none_or(|t| t.index() < recording.threads.len()));
            let _ = (span.name(), span.position(), span.figures().count(), span.labels().count());
        }
    }
    for series in &recording.series {
        assert!(series.value.len() == series.t_ns.len() && series.dt_ns.iter().all(|dt| *dt >= 0));
    }
    live_rows::is_judged(&recording);
}
