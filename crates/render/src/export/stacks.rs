//! Frames of stacks by new ids, each once, for formats that keep tables of their own.

use std::collections::HashMap;

use fathom_recording::{Frame, FrameId, FrameType, ProcessId, Recording, StackId, ThreadId};

use crate::flame::names;

/// The frames from a thread's root to the end of a stack. What is damaged has no caller.
pub(super) fn path(recording: &Recording, stack: Option<StackId>) -> Vec<FrameId> {
    let mut path = Vec::new();
    let mut at = stack.filter(|s| s.index() < recording.stacks.len());
    while let Some(id) = at {
        let node = recording.stacks[id.index()];
        path.push(node.frame);
        at = node.parent.filter(|parent| parent.0 < id.0);
    }
    path.reverse();
    path
}

/// Things by ids that count from 0 in the order in which they are first asked for.
#[derive(Debug)]
pub(super) struct Ids<T> {
    known: HashMap<T, u32>,
    /// The things, by id.
    pub(super) list: Vec<T>,
}

impl<T> Default for Ids<T> {
    fn default() -> Self {
        Self { known: HashMap::new(), list: Vec::new() }
    }
}

impl<T: std::hash::Hash + Eq + Clone> Ids<T> {
    pub(super) fn id(&mut self, thing: T) -> u32 {
        let next = self.list.len() as u32;
        let id = *self.known.entry(thing.clone()).or_insert(next);
        if id == next {
            self.list.push(thing);
        }
        id
    }
}

/// A frame's name and module as they are shown, its type and its line.
pub(super) fn described(recording: &Recording, frame: FrameId) -> (String, String, FrameType, i32) {
    let frame: Option<&Frame> = recording.frames.get(frame.index());
    match frame {
        Some(f) => (
            names::shown(recording.strings.get(f.name)),
            names::shown(recording.strings.get(f.module)),
            f.frame_type,
            f.line,
        ),
        None => ("[unknown frame]".into(), String::new(), FrameType::Unknown, -1),
    }
}

/// A thread's name as it is shown, and its id at the kernel.
pub(super) fn thread(recording: &Recording, thread: Option<ThreadId>) -> (String, Option<i64>) {
    match thread.and_then(|t| recording.threads.get(t.index())) {
        None => ("[no thread]".into(), None),
        Some(thread) => (names::shown(recording.strings.get(thread.name)), thread.tid),
    }
}

/// A process' name as it is shown, and its id at the kernel.
pub(super) fn process(recording: &Recording, process: ProcessId) -> (String, Option<i64>) {
    match recording.processes.get(process.index()) {
        None => ("?".into(), None),
        Some(process) => (names::shown(&process.name), process.pid),
    }
}
