//! What every fuzz target does with its bytes: read them, and hold the reader to its word.

use std::io::{Cursor, Write};

use fathom_diagnose::thread_ledger::{By, thread_ledger};
use fathom_diagnose::{Diagnosis, Options, diagnose, metrics};
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
    std::fs::File::create(&path).and_then(|mut f| f.write_all(data)).expect("the temporary folder is writable");
    let mut recording = Recording::new();
    let _ = fathom_ingest::read_inputs(&[path], &Default::default(), &mut recording);
    holds(recording);
}

/// Hands `data` over as a heap dump and asks all that is ever asked of one.
pub fn heap_dump(data: &[u8]) {
    use fathom_heap::report::{About, ObjectReport, Picture, WaysReport};
    use fathom_heap::{Kept, Paths, Referents, Summary};
    let path = std::env::temp_dir().join(format!("fathom-fuzz-{}", std::process::id()));
    std::fs::File::create(&path).and_then(|mut f| f.write_all(data)).expect("the temporary folder is writable");
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
    let diagnosis = diagnose(&recording, &Options::default()).expect("only windows that a user gave can be refused");
    is_sound(&diagnosis);
    let _ = metrics::gc::report(&recording, None);
    let _ = metrics::jit::report(&recording, None);
    let _ = thread_ledger(&recording, diagnosis.windows.slow.first().copied(), None, By::Role);
}

/// Shares lie between 0 and 1 and add up to at most the loss; costs are numbers.
fn is_sound(diagnosis: &Diagnosis) {
    let mut shares = 0.0;
    for finding in &diagnosis.findings {
        assert!(finding.cost_ms.is_finite() && finding.cost_ms >= 0.0, "{}: {}", finding.rule, finding.cost_ms);
        let share = finding.share.unwrap_or(0.0);
        assert!((0.0..=1.0).contains(&share), "{}: {share}", finding.rule);
        shares += share;
    }
    assert!(shares <= 1.0 + 1e-6, "{shares}");
    assert!(diagnosis.loss.lost_ms.is_finite() && diagnosis.loss.lost_ms >= 0.0);
}
