//! Stacks as a page holds them: a prefix tree of the frames that something refers to, and no
//! others.
//!
//! Frames are distinguished by name, module and type; lines are left out, because a method that was
//! seen at a hundred lines is one box of a flame graph. Parents get their numbers before their
//! children, so that the page adds up a whole tree in one pass backwards.

use fathom_diagnose::stacks::NodeType;
use fathom_recording::vocabulary::frame;
use fathom_recording::{FrameId, Recording, StackId, StrId};
use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::names::short;
use crate::payload::{ColumnId, Columns};

/// Frames of one stack: what is above is not followed. Deeper than any JVM's stack, shallower than
/// a hostile file's.
const DEEPEST: usize = 4_096;

/// A node: its caller (1-based, 0 is none), name and the code of its type, as [`NodeType`] has
/// it.
type Node = (u32, u32, u8);

/// The tree, grown as it is asked for.
pub(crate) struct Stacks<'a> {
    recording: &'a Recording,
    /// Node of each stack of the recording, 1-based; 0 is not asked for yet.
    known: Vec<u32>,
    nodes: Vec<Node>,
    node_ids: FxHashMap<Node, u32>,
    names: Vec<(StrId, StrId)>,
    name_ids: FxHashMap<(StrId, StrId), u32>,
    /// Name and type of each frame of the recording that a node has had: few frames have very many
    /// nodes.
    frames: Vec<Option<(u32, u8)>>,
}

/// What of it is in the header.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct StacksHeader {
    names: Vec<String>,
    modules: Vec<String>,
    module_of: ColumnId,
    parent: ColumnId,
    name: ColumnId,
    #[serde(rename = "type")]
    frame_type: ColumnId,
}

impl<'a> Stacks<'a> {
    pub(crate) fn new(recording: &'a Recording) -> Self {
        Self {
            recording,
            known: vec![0; recording.stacks.len()],
            nodes: Vec::new(),
            node_ids: FxHashMap::default(),
            names: Vec::new(),
            name_ids: FxHashMap::default(),
            frames: vec![None; recording.frames.len()],
        }
    }

    /// The node of a stack, 1-based; 0 for none.
    pub(crate) fn node(&mut self, stack: Option<StackId>) -> u32 {
        let Some(stack) = stack.filter(|s| s.index() < self.known.len()) else { return 0 };
        let mut path = Vec::new();
        let mut at = Some(stack);
        let mut caller = 0;
        while let Some(id) = at {
            if self.known[id.index()] > 0 {
                caller = self.known[id.index()];
                break;
            }
            path.push(id);
            // A caller stands before its callee; a file in which it does not is damaged there.
            let parent = self.recording.stacks[id.index()].parent;
            at = parent.filter(|p| p.index() < id.index() && path.len() < DEEPEST);
        }
        for id in path.into_iter().rev() {
            caller = self.add(caller, id);
            self.known[id.index()] = caller;
        }
        caller
    }

    fn add(&mut self, caller: u32, id: StackId) -> u32 {
        let Some((name, kind)) = self.frame(self.recording.stacks[id.index()].frame) else { return caller };
        let node = (caller, name, kind);
        let nodes = &mut self.nodes;
        *self.node_ids.entry(node).or_insert_with(|| {
            nodes.push(node);
            nodes.len() as u32
        })
    }

    /// The number of a frame's name, and the code of its type.
    fn frame(&mut self, id: FrameId) -> Option<(u32, u8)> {
        let known = self.frames.get_mut(id.index())?;
        if known.is_none() {
            let row = self.recording.frames.get(id.index())?;
            let names = &mut self.names;
            let name = *self.name_ids.entry((row.name, row.module)).or_insert_with(|| {
                names.push((row.name, row.module));
                names.len() as u32 - 1
            });
            let text = self.recording.strings.get(row.name);
            let is_cut = frame::cut_reason(text).is_some();
            let kind = if is_cut { NodeType::Cut } else { NodeType::of(row.frame_type) };
            *known = Some((name, kind as u8));
        }
        *known
    }

    /// Writes the tree into columns.
    pub(crate) fn write(&self, columns: &mut Columns) -> StacksHeader {
        let strings = &self.recording.strings;
        let mut modules: Vec<String> = Vec::new();
        let mut module_ids: FxHashMap<StrId, u64> = FxHashMap::default();
        let module_of: Vec<u64> = (self.names.iter())
            .map(|(_, module)| {
                *module_ids.entry(*module).or_insert_with(|| {
                    modules.push(short(strings.get(*module)));
                    modules.len() as u64 - 1
                })
            })
            .collect();
        StacksHeader {
            names: self.names.iter().map(|(name, _)| short(strings.get(*name))).collect(),
            modules,
            module_of: columns.small(module_of.into_iter()),
            // Most callers are the node before: the distance to it is small.
            parent: columns
                .small(self.nodes.iter().enumerate().map(|(i, n)| (i as u64 + 1) - u64::from(n.0))),
            name: columns.small(self.nodes.iter().map(|n| u64::from(n.1))),
            frame_type: columns.small(self.nodes.iter().map(|n| u64::from(n.2))),
        }
    }
}

#[cfg(test)]
mod tests {
    use fathom_recording::{FrameType, Sink};

    use super::*;

    #[test]
    fn stacks_that_differ_in_lines_alone_are_one() {
        let mut r = Recording::new();
        let mut stack = |line: i32| {
            let main = r.frame("Main.main", "", FrameType::C2, 1);
            let work = r.frame("Main.work", "", FrameType::C1, line);
            let root = r.stack(None, main);
            r.stack(Some(root), work)
        };
        let (a, b) = (stack(10), stack(11));
        let mut stacks = Stacks::new(&r);
        assert_eq!(stacks.node(Some(a)), 2, "behind its caller");
        assert_eq!(stacks.node(Some(b)), 2);
        assert_eq!(stacks.node(None), 0);
        assert_eq!(stacks.nodes, [(0, 0, 2), (1, 1, 1)]);
    }

    #[test]
    fn a_stack_whose_caller_is_itself_ends_there() {
        let mut r = Recording::new();
        let frame = r.frame("f", "", FrameType::Native, -1);
        r.stacks.push(fathom_recording::StackNode { parent: Some(StackId(0)), frame });
        r.stacks.push(fathom_recording::StackNode { parent: Some(StackId(77)), frame });
        r.stacks.push(fathom_recording::StackNode {
            parent: Some(StackId(1)),
            frame: fathom_recording::FrameId(99),
        });
        let mut stacks = Stacks::new(&r);
        assert_eq!([0, 1, 2].map(|i| stacks.node(Some(StackId(i)))), [1, 1, 1]);
    }
}
