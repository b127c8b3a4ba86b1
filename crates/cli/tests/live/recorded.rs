//! What came of a recording.

use std::path::Path;

use fathom_recording::{Count, Recording, Span, StackId, ThreadId};
use serde_json::Value;

/// A recording, ready to be asked.
#[track_caller]
pub fn open(dir: &Path, name: &str) -> Recording {
    let mut recording = fathom_recording::open(&dir.join(name)).unwrap();
    recording.seal();
    recording
}

/// How many spans of a kind there are.
pub fn count(recording: &Recording, kind: &str) -> usize {
    recording.spans_of(kind).count()
}

/// The name of a span's thread; empty where it has none.
pub fn thread_name<'a>(recording: &'a Recording, span: &Span<'_>) -> &'a str {
    name_of(recording, span.thread())
}

fn name_of(recording: &Recording, thread: Option<ThreadId>) -> &str {
    let thread = thread.map(|id| recording.threads[id.index()].name);
    thread.map_or("", |name| recording.strings.get(name))
}

/// Spans of a kind and a thread.
pub fn of_thread<'a>(recording: &'a Recording, kind: &str, thread: &str) -> Vec<Span<'a>> {
    recording.spans_of(kind).filter(|span| thread_name(recording, span) == thread).collect()
}

/// Counts of a kind and a thread.
pub fn counts_of_thread<'a>(recording: &'a Recording, kind: &str, thread: &str) -> Vec<Count<'a>> {
    recording.counts_of(kind).filter(|count| name_of(recording, count.thread()) == thread).collect()
}

/// Names of a stack, leaf first.
pub fn names(recording: &Recording, stack: Option<StackId>) -> Vec<&str> {
    let mut names = Vec::new();
    let mut at = stack;
    while let Some(node) = at.map(|id| recording.stacks[id.index()]) {
        names.push(recording.strings.get(recording.frames[node.frame.index()].name));
        at = node.parent;
    }
    names
}

/// The ledger of x.fathom by thread, in which every thread's time adds up to how long it lived.
#[track_caller]
pub fn ledger(dir: &Path, shown: &str) -> Value {
    let ledger = super::json(dir, &["ledger", "x.fathom", "--by", "thread"]);
    for group in ledger["groups"].as_array().unwrap() {
        let spent = group["spent"].as_array().unwrap().iter();
        let sum: f64 = spent.map(|spent| spent["ms"].as_f64().unwrap()).sum();
        let whole = group["thread_ms"].as_f64().unwrap();
        assert!((sum - whole).abs() <= whole * 0.001, "{shown}: {group}");
    }
    ledger
}
