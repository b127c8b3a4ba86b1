//! The shortest way from a root to every object.
//!
//! Found breadth first from all roots at once, three times: over strong references without those of
//! threads' stacks, with them, then over all. So a way that leads through a local variable is only
//! reported where there is no other but through the referent of a soft, weak, phantom or final
//! reference, and that only where there is none at all: a method that works on what a static field
//! holds, as in a dump at an `OutOfMemoryError`, is not why it is kept.

use std::cell::RefCell;
use std::collections::VecDeque;

use rustc_hash::FxHashSet;
use serde::Serialize;

use crate::edges::Edge;
use crate::heap::Heap;
use crate::kept::Kept;
use crate::packed::Packed;
use crate::records::RootKind;

/// Most steps of a path that are listed; linked lists are longer.
pub(crate) const LONGEST: usize = 100;

/// The shortest ways to objects, as many bits as a number needs for each that is not private: to
/// those there is one way, through whom they are kept by. They are looked for from the roots on, no
/// further than what is asked for: what keeps most mostly lies near a root.
#[derive(Debug)]
pub struct Paths<'a> {
    heap: &'a Heap,
    kept: &'a Kept,
    search: RefCell<Search>,
}

/// How far the ways are known.
#[derive(Debug)]
struct Search {
    /// Of what is not private, in the order of numbers, the number before and one more; 1: held by
    /// itself, 0: no way is known.
    before: Packed,
    /// What is still to be looked at: of those found, no more than the outermost are here.
    queue: VecDeque<u32>,
    /// Threads, whose objects refer to what is on their stacks.
    threads: FxHashSet<u32>,
    /// References of stacks, which are followed where nothing else is left.
    of_stacks: Vec<(u32, u32)>,
    /// References that are followed behind them.
    later: Vec<(u32, u32)>,
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

impl<'a> Paths<'a> {
    /// To all objects.
    pub fn of(heap: &'a Heap, kept: &'a Kept) -> Self {
        let shared = heap.len() - kept.privately(heap.len());
        let before = Packed::zeroed(heap.storage, shared as usize, heap.len() + 1);
        let threads = heap.threads.iter().map(|thread| thread.node).collect();
        let (of_stacks, later) = (Vec::new(), Vec::new());
        let paths = RefCell::new(Search { before, queue: VecDeque::new(), threads, of_stacks, later });
        let paths = Self { heap, kept, search: paths };
        for root in &heap.held {
            if paths.search.borrow_mut().find(kept, *root, 0) {
                paths.search.borrow_mut().queue.push_back(*root);
            }
        }
        paths
    }

    /// The number before this one; 0 for a root.
    fn before(&self, number: u32) -> u32 {
        let (kept, node) = (self.kept, self.kept.node(number));
        if kept.private.has(node) {
            return kept.dominator(number);
        }
        let at = (node - kept.privately(node)) as usize;
        let mut search = self.search.borrow_mut();
        while search.before.get(at) == 0 {
            if !search.go_on(self.heap, kept) {
                return 0;
            }
        }
        search.before.get(at) - 1
    }

    /// The numbers from a root to this one.
    pub fn to(&self, number: u32) -> Vec<u32> {
        let mut way = vec![number];
        let mut at = number;
        while let Some(before) = Some(self.before(at)).filter(|before| *before != 0) {
            way.push(before);
            at = before;
        }
        way.reverse();
        way
    }

    /// The way to an object in words.
    pub fn way(&self, number: u32) -> Way {
        let (heap, kept) = (self.heap, self.kept);
        let nodes: Vec<u32> = self.to(number).into_iter().map(|number| kept.node(number)).collect();
        let weak = nodes.windows(2).any(|pair| {
            heap.class(pair[0]).strength.is_some() && heap.object(pair[0], "referent") == Some(pair[1])
        });
        let root = nodes[0];
        let mut roots: Vec<RootKind> = heap.roots.iter().filter(|r| r.node == root).map(|r| r.kind).collect();
        roots.sort_unstable();
        roots.dedup();
        // Held because nothing refers to it in a dump that is cut off.
        if roots.is_empty() {
            roots.push(RootKind::Unknown);
        }
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

impl Search {
    /// Notes where an object that is not private is come to from; whether it was not known before.
    #[inline]
    fn find(&mut self, kept: &Kept, node: u32, from: u32) -> bool {
        let at = (node - kept.privately(node)) as usize;
        let new = self.before.get(at) == 0;
        if new {
            self.before.set(at, from + 1);
        }
        new
    }

    /// Looks at one more object; whether there was one.
    fn go_on(&mut self, heap: &Heap, kept: &Kept) -> bool {
        while self.queue.is_empty() && !(self.of_stacks.is_empty() && self.later.is_empty()) {
            let next = if self.of_stacks.is_empty() { &mut self.later } else { &mut self.of_stacks };
            for (from, to) in std::mem::take(next) {
                if self.find(kept, to, from + 1) {
                    self.queue.push_back(to);
                }
            }
        }
        let Some(node) = self.queue.pop_front() else { return false };
        let referent = heap.class(node).strength.and_then(|_| heap.object(node, "referent"));
        let on_stack: FxHashSet<u32> = match self.threads.contains(&node) {
            true => heap.extra(node).iter().copied().collect(),
            false => FxHashSet::default(),
        };
        let in_field = |to| matches!(heap.edge(node, to), Edge::Field { .. });
        for to in heap.referred(node).filter(|to| !kept.private.has(*to)) {
            if on_stack.contains(&to) && !in_field(to) {
                self.of_stacks.push((node, to));
            } else if Some(to) == referent {
                self.later.push((node, to));
            } else if self.find(kept, to, node + 1) {
                self.queue.push_back(to);
            }
        }
        true
    }
}
