//! The shortest way from a root to every object.
//!
//! Found breadth first from all roots at once, twice: over strong references, then over all. So a
//! way that leads through the referent of a soft, weak, phantom or final reference is only told
//! where there is no other.

use serde::Serialize;

use crate::column::Column;
use crate::dominators::{Graph, NONE};
use crate::edges::Edge;
use crate::heap::Heap;
use crate::kept::Kept;
use crate::records::RootKind;

/// Steps of a way that are told; lists are longer.
pub(crate) const LONGEST: usize = 100;

/// The ways to all objects: four bytes for each that can be reached.
#[derive(Debug)]
pub struct Paths {
    /// By number of the dominator tree, the number before; 0: held by itself.
    before: Column<u32>,
}

/// An object on a way.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// The object, as its address.
    pub address: u64,
    /// Its class; for a class, its own name.
    pub class: String,
    /// Whether it is a class.
    pub is_class: bool,
    /// How the one before refers to it; nothing for the first.
    pub edge: Option<Edge>,
}

/// A way from a root.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Way {
    /// Why the first one is held.
    pub roots: Vec<RootKind>,
    /// The thread that is the first, or has it on its stack.
    pub thread: Option<String>,
    /// From the root to the object.
    pub steps: Vec<Step>,
    /// Steps in the middle that are left out.
    pub left_out: u64,
    /// Whether it leads through the referent of a soft, weak, phantom or final reference: there is
    /// no other.
    pub weak: bool,
}

impl Paths {
    /// To all objects.
    pub fn of(heap: &Heap, kept: &Kept) -> Self {
        let mut before = Column::filled(heap.storage, kept.len(), NONE);
        let mut queue: Column<u32> = Column::with_room(heap.storage, kept.len());
        for root in &heap.held {
            if let Some(number) = kept.number(*root).filter(|number| before[*number as usize] == NONE) {
                before[number as usize] = 0;
                queue.push(number);
            }
        }
        let mut at = 0;
        let mut later = Vec::new();
        loop {
            while let Some(from) = queue.get(at).copied() {
                at += 1;
                let node = kept.node(from);
                let referent = heap.class(node).strength.and_then(|_| heap.object(node, "referent"));
                let mut k = 0;
                while let Some(to) = heap.successor(node, k) {
                    k += 1;
                    let Some(number) = kept.number(to).filter(|number| before[*number as usize] == NONE)
                    else {
                        continue;
                    };
                    if Some(to) == referent {
                        later.push((from, number));
                        continue;
                    }
                    before[number as usize] = from;
                    queue.push(number);
                }
            }
            let strong = queue.len();
            for (from, number) in std::mem::take(&mut later) {
                if before[number as usize] == NONE {
                    before[number as usize] = from;
                    queue.push(number);
                }
            }
            if queue.len() == strong {
                break;
            }
        }
        Self { before }
    }

    /// The numbers from a root to this one.
    pub fn to(&self, number: u32) -> Vec<u32> {
        let mut way = vec![number];
        let mut at = number;
        while let Some(before) =
            self.before.get(at as usize).copied().filter(|before| !matches!(*before, 0 | NONE))
        {
            way.push(before);
            at = before;
        }
        way.reverse();
        way
    }

    /// The way to an object in words.
    pub fn way(&self, heap: &Heap, kept: &Kept, number: u32) -> Way {
        let nodes: Vec<u32> = self.to(number).into_iter().map(|number| kept.node(number)).collect();
        let weak = nodes.windows(2).any(|pair| {
            heap.class(pair[0]).strength.is_some() && heap.object(pair[0], "referent") == Some(pair[1])
        });
        let root = nodes[0];
        let mut roots: Vec<RootKind> = heap.roots.iter().filter(|r| r.node == root).map(|r| r.kind).collect();
        roots.sort_unstable();
        roots.dedup();
        let thread =
            heap.threads.iter().any(|thread| thread.node == root).then(|| heap.thread_name(root)).flatten();
        let mut steps = Vec::new();
        let mut left_out = 0;
        for (i, node) in nodes.iter().enumerate() {
            if i >= LONGEST / 2 && i + LONGEST / 2 < nodes.len() {
                left_out += 1;
                continue;
            }
            let edge = i.checked_sub(1).map(|before| heap.edge(nodes[before], *node));
            let is = heap.as_class(*node);
            let class = is.unwrap_or_else(|| heap.class(*node)).name.clone();
            steps.push(Step { address: heap.address(*node), class, is_class: is.is_some(), edge });
        }
        Way { roots, thread, steps, left_out, weak }
    }
}
