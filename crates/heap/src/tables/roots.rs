//! The tables `roots` and `threads`.

use std::io;

use super::address;
use super::columns::{Cell, Kind, Rows};
use crate::heap::Heap;
use crate::numbers::NONE;

pub(super) const ROOTS: &[(&str, Kind)] =
    &[("object", Kind::Int), ("kind", Kind::Name), ("thread", Kind::Int), ("frame", Kind::Name)];
pub(super) const THREADS: &[(&str, Kind)] =
    &[("object", Kind::Int), ("name", Kind::Text), ("stack", Kind::Text)];

pub(super) fn roots(heap: &Heap, rows: &mut Rows) -> io::Result<()> {
    for root in &heap.roots {
        let thread = Some(root.thread).filter(|thread| *thread != NONE);
        let frame = thread.and_then(|thread| heap.frame_of(thread, root.frame));
        rows.push(&[
            Cell::Int(address(heap, root.node)),
            Cell::Text(root.kind.name()),
            Cell::maybe(thread.map(|thread| address(heap, thread))),
            Cell::text(frame.as_deref()),
        ])?;
    }
    Ok(())
}

/// The frames of a stack are lines, the innermost first.
pub(super) fn threads(heap: &Heap, rows: &mut Rows) -> io::Result<()> {
    for thread in &heap.threads {
        let name = heap.thread_name(thread.node);
        let frames: Vec<String> = thread.frames.iter().filter_map(|frame| heap.frame(*frame)).collect();
        let stack = Some(frames.join("\n")).filter(|stack| !stack.is_empty());
        let own = Cell::Int(address(heap, thread.node));
        rows.push(&[own, Cell::text(name.as_deref()), Cell::text(stack.as_deref())])?;
    }
    Ok(())
}
