//! Tables of the first screen other than classes: threads, waste, references, direct buffers.

use fathom_diagnose::quantity;
use fathom_heap::report::Screen;

use crate::tables::{section, shortened, table};

fn bytes(n: u64) -> String {
    quantity::bytes(n as f64)
}

fn count(n: u64) -> String {
    quantity::count(n as f64)
}

/// Threads by what they keep.
pub(super) fn threads(out: &mut String, screen: &Screen, top: usize) {
    let mut rows = table(&["thread", "retained", "stack alone", "frame that retains most"], &[3]);
    for thread in screen.threads.iter().take(top) {
        let name = thread.name.as_deref().unwrap_or("?");
        let frame = thread.largest_frame.as_deref().map_or(String::new(), |frame| shortened(frame, 44));
        rows.add_row([shortened(name, 28), bytes(thread.retained_bytes), bytes(thread.stack_bytes), frame]);
    }
    section(out, "Threads (stack alone: held by local variables and by nothing else)", &rows);
}

/// What could be saved: what, how many, bytes, what is meant.
pub(super) fn waste_rows(screen: &Screen) -> Vec<(&'static str, u64, u64, &'static str)> {
    let waste = &screen.waste;
    let all = [
        (
            "duplicate texts",
            waste.duplicate_arrays,
            waste.duplicate_bytes,
            "arrays of Strings with the content of another",
        ),
        (
            "empty collections",
            waste.empty_collections,
            waste.empty_bytes,
            "maps and lists without an element",
        ),
        (
            "sparse collections",
            waste.sparse_collections,
            waste.sparse_bytes,
            "less than a quarter of 16 or more slots used",
        ),
        ("boxed numbers", waste.boxed, waste.boxed_bytes, "Integer, Long, Double … as objects"),
    ];
    all.into_iter().filter(|(_, n, ..)| *n > 0).collect()
}

/// The same as a table.
pub(super) fn waste(out: &mut String, screen: &Screen) {
    let mut rows = table(&["what", "count", "bytes", "meaning"], &[3]);
    for (what, n, size, meaning) in waste_rows(screen) {
        rows.add_row([what.to_owned(), count(n), bytes(size), meaning.to_owned()]);
    }
    section(out, "Waste (what the same content does not need)", &rows);
}

/// Reference objects and finalizers: what, how many; `most` classes with `finalize()`.
pub(super) fn reference_rows(screen: &Screen, most: usize) -> Vec<(String, u64)> {
    let references = &screen.references;
    let by_strength = references.by_strength.iter();
    let mut rows: Vec<(String, u64)> =
        by_strength.map(|(strength, n)| (format!("{strength} references"), *n)).collect();
    let waiting = "waiting in the finalizer's queue (dead, kept until finalize() has run)";
    rows.extend(references.finalizer_queue.map(|queue| (waiting.to_owned(), queue)));
    let finalizable = references.finalizable.iter().take(most);
    rows.extend(finalizable.map(|(class, n)| (format!("with finalize(): {}", shortened(class, 50)), *n)));
    rows
}

/// What direct buffers take, in words.
pub(super) fn buffers_title(screen: &Screen) -> String {
    let buffers = &screen.buffers;
    let mapped = match buffers.mapped_bytes {
        0 => String::new(),
        n => format!(" (and {} of mapped files or native code)", bytes(n)),
    };
    format!("Direct buffers: {} outside of the heap{mapped}", bytes(buffers.capacity_bytes))
}

/// Reference objects, finalizers, direct buffers.
pub(super) fn references(out: &mut String, screen: &Screen) {
    let mut rows = table(&["what", "count"], &[]);
    for (what, n) in reference_rows(screen, 3) {
        rows.add_row([what, count(n)]);
    }
    section(out, "References and finalizers", &rows);
    let buffers = &screen.buffers;
    let mut rows = table(&["kept by", "buffers", "capacity"], &[]);
    for (owner, n, capacity) in &buffers.owners {
        rows.add_row([shortened(owner, 60), count(*n), bytes(*capacity)]);
    }
    if buffers.unreachable_bytes > 0 {
        rows.add_row([
            "(nothing: freed when collected)".to_owned(),
            "–".to_owned(),
            bytes(buffers.unreachable_bytes),
        ]);
    }
    section(out, &buffers_title(screen), &rows);
}
