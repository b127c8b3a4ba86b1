//! The call tree: samples whose callers are the same share a node.
//!
//! A method is one node whether it was interpreted, compiled or inlined when it was seen: otherwise
//! warm-up would split every path into two, and a comparison across a compilation would show one
//! method vanish and another appear. How much of a node's total each kind took is kept with it.

use fathom_recording::{FrameType, Recording, StackId, StrId};
use rustc_hash::FxHashMap;

use super::rows::Row;

/// How a tree is divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// By process and thread before anything else.
    pub per_thread: bool,
    /// By source line as well as by method.
    pub lines: bool,
}

/// What kind of code a node is. The order is that of the codes in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
pub enum NodeType {
    /// Java, run by the interpreter.
    #[serde(rename = "interpreted")]
    Interpreted,
    /// Java, compiled by C1.
    C1,
    /// Java, compiled by C2.
    C2,
    /// Java, inlined into its caller.
    #[serde(rename = "inlined")]
    Inlined,
    /// A stub, adapter or intrinsic of the JVM.
    #[serde(rename = "stub")]
    Stub,
    /// The JVM's own native code.
    #[serde(rename = "JVM")]
    Jvm,
    /// Native code outside the JVM.
    #[serde(rename = "native")]
    Native,
    /// The kernel.
    #[serde(rename = "kernel")]
    Kernel,
    /// Not known.
    #[serde(rename = "unknown")]
    Unknown,
    /// Stands for callers that could not be walked.
    #[serde(rename = "cut")]
    Cut,
    /// Not code: the root, a process, a thread.
    #[serde(rename = "group")]
    Group,
}

impl NodeType {
    /// All types, by code.
    pub const ALL: [Self; 11] = [
        Self::Interpreted,
        Self::C1,
        Self::C2,
        Self::Inlined,
        Self::Stub,
        Self::Jvm,
        Self::Native,
        Self::Kernel,
        Self::Unknown,
        Self::Cut,
        Self::Group,
    ];

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Interpreted => "interpreted",
            Self::C1 => "C1",
            Self::C2 => "C2",
            Self::Inlined => "inlined",
            Self::Stub => "stub",
            Self::Jvm => "JVM",
            Self::Native => "native",
            Self::Kernel => "kernel",
            Self::Unknown => "unknown",
            Self::Cut => "cut",
            Self::Group => "group",
        }
    }

    /// Whether it is Java code.
    pub fn is_java(self) -> bool {
        matches!(self, Self::Interpreted | Self::C1 | Self::C2 | Self::Inlined)
    }

    /// The type of a frame of a recording.
    pub fn of(frame_type: FrameType) -> Self {
        match frame_type {
            FrameType::Interpreted => Self::Interpreted,
            FrameType::C1 => Self::C1,
            FrameType::C2 => Self::C2,
            FrameType::Inlined => Self::Inlined,
            FrameType::Stub => Self::Stub,
            FrameType::Native => Self::Native,
            FrameType::Jvm => Self::Jvm,
            FrameType::Kernel => Self::Kernel,
            FrameType::Unknown => Self::Unknown,
        }
    }
}

/// What distinguishes a frame in a tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TreeFrame {
    /// Method or function; for groups a thread or process.
    pub name: String,
    /// Library, "kernel", or empty.
    pub module: String,
    /// Source line when the tree is divided by lines, else -1.
    pub line: i32,
}

/// Frames are compared by their strings' ids, so that no name is compared twice.
type FrameKey = (StrId, StrId, i32, u8);

/// A call tree. Node 0 is the root; parents stand before their children.
#[derive(Clone, Debug, Default)]
pub struct CallTree {
    /// Frames, each once.
    pub frames: Vec<TreeFrame>,
    /// The caller of each node; the root's is itself.
    pub parent: Vec<u32>,
    /// The frame of each node.
    pub frame: Vec<u32>,
    /// The type that took most of the node's total.
    pub node_type: Vec<NodeType>,
    /// How much of the total was interpreted, by C1, by C2, inlined; all 0 for what is not Java.
    pub java: Vec<[i64; 4]>,
    /// Weight of samples that end in the node.
    pub self_weight: Vec<i64>,
    /// Weight with all that is below.
    pub total_weight: Vec<i64>,
}

impl CallTree {
    /// How many nodes there are, the root among them.
    pub fn len(&self) -> usize {
        self.parent.len()
    }

    /// Whether there is not even a sample.
    pub fn is_empty(&self) -> bool {
        self.len() <= 1
    }

    /// A value of each node with those of all nodes below it added.
    pub fn totals<T: Copy>(&self, own: &[T], add: impl Fn(T, T) -> T) -> Vec<T> {
        let mut totals = own.to_vec();
        for i in (1..totals.len()).rev() {
            let parent = self.parent[i] as usize;
            totals[parent] = add(totals[parent], totals[i]);
        }
        totals
    }

    /// For each node whether a caller of it is the same frame, so that its total is in that one's
    /// already.
    pub fn recursive(&self) -> Vec<bool> {
        // The nearest caller with the same frame must be looked for up the path; a walk in
        // depth-first order with a count for each frame finds all of them in one pass.
        let mut recursive = vec![false; self.len()];
        let (first, child) = self.children();
        let mut on_path = vec![0_u32; self.frames.len()];
        let mut open: Vec<(u32, u32)> = Vec::new();
        let enter = |node: u32, open: &mut Vec<(u32, u32)>, on_path: &mut [u32], recursive: &mut [bool]| {
            let count = &mut on_path[self.frame[node as usize] as usize];
            recursive[node as usize] = *count > 0;
            *count += 1;
            open.push((node, first[node as usize]));
        };
        if !self.parent.is_empty() {
            enter(0, &mut open, &mut on_path, &mut recursive);
        }
        while let Some((node, next)) = open.last_mut() {
            if *next < first[*node as usize + 1] {
                let below = child[*next as usize];
                *next += 1;
                enter(below, &mut open, &mut on_path, &mut recursive);
            } else {
                on_path[self.frame[*node as usize] as usize] -= 1;
                open.pop();
            }
        }
        recursive
    }

    /// Children of node `i` are `child[first[i]..first[i + 1]]`, in the order of their numbers.
    pub fn children(&self) -> (Vec<u32>, Vec<u32>) {
        let n = self.len();
        let mut first = vec![0_u32; n + 1];
        for parent in self.parent.iter().skip(1) {
            first[*parent as usize + 1] += 1;
        }
        for i in 0..n {
            first[i + 1] += first[i];
        }
        let mut at = first.clone();
        let mut child = vec![0_u32; n.saturating_sub(1)];
        for (i, parent) in self.parent.iter().enumerate().skip(1) {
            child[at[*parent as usize] as usize] = i as u32;
            at[*parent as usize] += 1;
        }
        (first, child)
    }

    /// Nodes from the first called to a node, without the root.
    pub fn path(&self, node: usize) -> Vec<usize> {
        let mut path = Vec::new();
        let mut at = node;
        while at != 0 {
            path.push(at);
            at = self.parent[at] as usize;
        }
        path.reverse();
        path
    }
}

/// Puts rows into one tree, and says in which node each ends.
pub(super) struct Builder<'a> {
    recording: &'a Recording,
    shape: Shape,
    tree: CallTree,
    frame_ids: FxHashMap<FrameKey, u32>,
    group_ids: FxHashMap<String, u32>,
    nodes: FxHashMap<(u32, u32), u32>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(recording: &'a Recording, shape: Shape) -> Self {
        let mut builder = Self {
            recording,
            shape,
            tree: CallTree::default(),
            frame_ids: FxHashMap::default(),
            group_ids: FxHashMap::default(),
            nodes: FxHashMap::default(),
        };
        let root = builder.group("all");
        builder.push(0, root, NodeType::Group);
        builder
    }

    /// Adds rows to the tree's shape; their weights too when they `weigh`. Returns the node in
    /// which each row ends.
    pub(super) fn add(&mut self, rows: &[Row], weigh: bool) -> Vec<u32> {
        let mut ends = vec![0_u32; rows.len()];
        let mut groups: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        let mut order: Vec<u32> = Vec::new();
        for (i, row) in rows.iter().enumerate() {
            let node = self.group_of(row);
            let members = groups.entry(node).or_insert_with(|| {
                order.push(node);
                Vec::new()
            });
            members.push(i as u32);
        }
        let mut scratch = Scratch::new(self.recording.stacks.len());
        for node in order {
            self.add_group(node, &groups[&node], rows, weigh, &mut scratch, &mut ends);
        }
        ends
    }

    pub(super) fn finish(mut self) -> CallTree {
        self.tree.total_weight = self.tree.totals(&self.tree.self_weight, i64::saturating_add);
        for (java, node_type) in self.tree.java.iter().zip(&mut self.tree.node_type) {
            let most = (0..4).rev().max_by_key(|kind| java[*kind]).filter(|kind| java[*kind] > 0);
            if let Some(most) = most.filter(|_| node_type.is_java()) {
                *node_type = NodeType::ALL[most];
            }
        }
        self.tree
    }

    /// The stacks that a group of rows uses, callers first, become nodes below the group's; then
    /// weights are added up over the stacks, which gives how much of each node's total was of which
    /// kind of Java.
    fn add_group(
        &mut self,
        root: u32,
        members: &[u32],
        rows: &[Row],
        weigh: bool,
        scratch: &mut Scratch,
        ends: &mut [u32],
    ) {
        let used = scratch.begin(self.recording, members.iter().filter_map(|i| rows[*i as usize].stack));
        for stack in &used {
            let node = self.recording.stacks[*stack as usize];
            let caller = node.parent.filter(|p| p.0 < *stack).map_or(root, |p| scratch.node[p.index()]);
            let here = self.node_of_frame(caller, node.frame);
            scratch.node[*stack as usize] = here;
        }
        for i in members {
            let row = &rows[*i as usize];
            let stack = row.stack.filter(|s| s.index() < self.recording.stacks.len());
            let end = match stack {
                Some(stack) => scratch.node[stack.index()],
                None => {
                    let nothing = self.named("[no stack]", NodeType::Unknown);
                    self.push(root, nothing, NodeType::Unknown)
                }
            };
            ends[*i as usize] = end;
            if weigh {
                let own = &mut self.tree.self_weight[end as usize];
                *own = own.saturating_add(row.weight);
                if let Some(stack) = stack {
                    let sum = &mut scratch.weight[stack.index()];
                    *sum = sum.saturating_add(row.weight);
                }
            }
        }
        for stack in used.iter().rev() {
            let at = *stack as usize;
            let weight = std::mem::take(&mut scratch.weight[at]);
            let node = self.recording.stacks[at];
            if let Some(parent) = node.parent.filter(|p| p.0 < *stack) {
                let sum = &mut scratch.weight[parent.index()];
                *sum = sum.saturating_add(weight);
            }
            let frame_type =
                self.recording.frames.get(node.frame.index()).map(|f| NodeType::of(f.frame_type));
            if let Some(kind) = frame_type.filter(|t| t.is_java()) {
                let java = &mut self.tree.java[scratch.node[at] as usize][kind as usize];
                *java = java.saturating_add(weight);
            }
        }
    }

    fn node_of_frame(&mut self, caller: u32, frame: fathom_recording::FrameId) -> u32 {
        let Some(frame) = self.recording.frames.get(frame.index()).copied() else {
            let nothing = self.named("[unknown frame]", NodeType::Unknown);
            return self.push(caller, nothing, NodeType::Unknown);
        };
        let text = self.recording.strings.get(frame.name);
        let mut node_type = NodeType::of(frame.frame_type);
        if fathom_recording::vocabulary::frame::cut_reason(text).is_some() {
            node_type = NodeType::Cut;
        }
        // All kinds of Java are one.
        let kind = if node_type.is_java() { NodeType::Interpreted } else { node_type };
        let line = if self.shape.lines { frame.line } else { -1 };
        let key = (frame.name, frame.module, line, kind as u8);
        let id = match self.frame_ids.get(&key) {
            Some(id) => *id,
            None => {
                let module = self.recording.strings.get(frame.module).to_owned();
                let id = self.add_frame(TreeFrame { name: text.to_owned(), module, line });
                self.frame_ids.insert(key, id);
                id
            }
        };
        self.push(caller, id, node_type)
    }

    /// The node under which a row's stack hangs.
    fn group_of(&mut self, row: &Row) -> u32 {
        if !self.shape.per_thread {
            return 0;
        }
        let recording = self.recording;
        let mut node = 0;
        if recording.processes.len() > 1 {
            let process = recording.processes.get(row.process.index());
            let name = process.map_or("?", |_| recording.process_name(row.process));
            let text = match process.and_then(|p| p.pid) {
                // Namesakes are distinguished by it already.
                Some(pid) if !name.contains("[pid ") => format!("{name} [pid {pid}]"),
                _ => name.to_owned(),
            };
            let group = self.group(&text);
            node = self.push(node, group, NodeType::Group);
        }
        let thread = row.thread.and_then(|id| recording.threads.get(id.index()));
        let text = match thread {
            None => "[no thread]".to_owned(),
            Some(thread) => {
                let name = recording.strings.get(thread.name);
                match thread.tid {
                    Some(tid) => format!("{name} [tid {tid}]"),
                    None => name.to_owned(),
                }
            }
        };
        let group = self.group(&text);
        self.push(node, group, NodeType::Group)
    }

    fn group(&mut self, name: &str) -> u32 {
        self.named(name, NodeType::Group)
    }

    /// A frame that is not in the recording.
    fn named(&mut self, name: &str, node_type: NodeType) -> u32 {
        let key = format!("{}{name}", node_type as u8);
        if let Some(id) = self.group_ids.get(&key) {
            return *id;
        }
        let id = self.add_frame(TreeFrame { name: name.to_owned(), module: String::new(), line: -1 });
        self.group_ids.insert(key, id);
        id
    }

    fn add_frame(&mut self, frame: TreeFrame) -> u32 {
        self.tree.frames.push(frame);
        self.tree.frames.len() as u32 - 1
    }

    fn push(&mut self, parent: u32, frame: u32, node_type: NodeType) -> u32 {
        let next = self.tree.parent.len() as u32;
        let id = *self.nodes.entry((parent, frame)).or_insert(next);
        if id == next {
            self.tree.parent.push(parent);
            self.tree.frame.push(frame);
            self.tree.node_type.push(node_type);
            self.tree.java.push([0; 4]);
            self.tree.self_weight.push(0);
        }
        id
    }
}

/// What is kept for each stack while a group of rows is added; made once and used for all groups.
struct Scratch {
    seen: Vec<u32>,
    turn: u32,
    node: Vec<u32>,
    weight: Vec<i64>,
}

impl Scratch {
    fn new(stacks: usize) -> Self {
        Self { seen: vec![0; stacks], turn: 0, node: vec![0; stacks], weight: vec![0; stacks] }
    }

    /// The stacks on the way to those given, callers first.
    fn begin(&mut self, recording: &Recording, stacks: impl Iterator<Item = StackId>) -> Vec<u32> {
        self.turn += 1;
        let mut used = Vec::new();
        for stack in stacks {
            let mut at = Some(stack.0);
            while let Some(id) = at.filter(|id| (*id as usize) < self.seen.len()) {
                if std::mem::replace(&mut self.seen[id as usize], self.turn) == self.turn {
                    break;
                }
                used.push(id);
                // A caller stands before what it calls; what says otherwise is damaged and has no
                // caller.
                at = recording.stacks[id as usize].parent.map(|p| p.0).filter(|p| *p < id);
            }
        }
        used.sort_unstable();
        used
    }
}
