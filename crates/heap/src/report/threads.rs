//! What threads keep: their objects, and what only their stacks hold.

use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::heap::Heap;
use crate::kept::Kept;

/// A thread.
#[derive(Clone, Debug, Serialize)]
pub struct ThreadKeeps {
    /// Its name, as the program gave it.
    pub name: Option<String>,
    /// Its class.
    pub class: String,
    /// Its object.
    pub address: u64,
    /// Bytes that would go with it: its fields, its thread locals, what only its stack holds.
    pub retained_bytes: u64,
    /// Of that, bytes that only local variables of its stack hold.
    pub stack_bytes: u64,
    /// The frame whose local variables hold most.
    pub largest_frame: Option<String>,
    /// Bytes of that frame's.
    pub largest_frame_bytes: u64,
    /// The frame at the top of its stack: what it was doing.
    pub top_frame: Option<String>,
}

/// All threads, the one that keeps most first.
pub(crate) fn threads(heap: &Heap, kept: &Kept) -> Vec<ThreadKeeps> {
    let mut locals: Locals = FxHashMap::default();
    for root in heap.roots.iter().filter(|root| root.thread != root.node) {
        locals.entry(root.thread).or_default().push((root.node, root.frame));
    }
    let one = |thread| one(heap, kept, thread, locals.get(&thread.node).map_or(&[], Vec::as_slice));
    let mut all: Vec<ThreadKeeps> = heap.threads.iter().map(one).collect();
    all.sort_by(|a, b| b.retained_bytes.cmp(&a.retained_bytes).then(a.address.cmp(&b.address)));
    all
}

/// What is on the stack of each thread, with its frame.
type Locals = FxHashMap<u32, Vec<(u32, Option<u32>)>>;

fn one(heap: &Heap, kept: &Kept, thread: &crate::Thread, on_stack: &[(u32, Option<u32>)]) -> ThreadKeeps {
    let number = kept.number(thread.node);
    let mut locals: Vec<(u32, Option<u32>)> = Vec::new();
    for (node, frame) in on_stack {
        if let Some(local) = kept.number(*node).filter(|local| Some(kept.dominator(*local)) == number) {
            locals.push((local, *frame));
        }
    }
    locals.sort_unstable();
    locals.dedup_by_key(|(local, _)| *local);
    let mut by_frame = std::collections::BTreeMap::<Option<u32>, u64>::new();
    for (local, frame) in &locals {
        *by_frame.entry(*frame).or_default() += kept.retained(*local);
    }
    let largest = by_frame.iter().max_by_key(|(_, bytes)| **bytes);
    ThreadKeeps {
        name: heap.thread_name(thread.node),
        class: heap.class(thread.node).name.clone(),
        address: heap.address(thread.node),
        retained_bytes: number.map_or(0, |number| kept.retained(number)),
        stack_bytes: by_frame.values().sum(),
        largest_frame: largest.and_then(|(frame, _)| heap.frame_of(thread.node, *frame)),
        largest_frame_bytes: largest.map_or(0, |(_, bytes)| *bytes),
        top_frame: thread.frames.first().and_then(|frame| heap.frame(*frame)),
    }
}
