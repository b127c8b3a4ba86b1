//! The shortest ways from the roots to many objects at once: a way is a step with the steps before
//! it, and what two ways have in common is there once.

use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::edges::Edge;
use crate::heap::Heap;
use crate::kept::Kept;
use crate::paths::{LONGEST, Paths};
use crate::records::RootKind;

/// An object on a way, and how it is come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WayStep {
    /// The step before, which stands before this one; none: it is held by itself.
    pub before: Option<u32>,
    /// Steps between the one before and this one that are left out.
    pub left_out: u64,
    /// The object.
    pub address: u64,
    /// Its class, "class C" for a class itself.
    pub class: String,
    /// How the one before refers to it; not known behind steps that are left out.
    pub edge: Option<Edge>,
    /// Whether that is the referent of a soft, weak, phantom or final reference.
    pub weak: bool,
    /// Why it is held, where it is the first one.
    pub roots: Vec<RootKind>,
    /// The thread that it is, where it is the first one.
    pub thread: Option<String>,
}

/// The ways to some numbers of the dominator tree: all steps, and the last step of each.
pub(crate) fn ways(heap: &Heap, kept: &Kept, paths: &Paths<'_>, to: &[u32]) -> (Vec<WayStep>, Vec<u32>) {
    let mut roots: FxHashMap<u32, Vec<RootKind>> = FxHashMap::default();
    for root in &heap.roots {
        roots.entry(root.node).or_default().push(root.kind);
    }
    let mut ways = Ways { heap, kept, roots, steps: Vec::new(), known: FxHashMap::default() };
    let last = to.iter().map(|number| ways.add(&paths.to(*number))).collect();
    (ways.steps, last)
}

struct Ways<'a> {
    heap: &'a Heap,
    kept: &'a Kept,
    roots: FxHashMap<u32, Vec<RootKind>>,
    steps: Vec<WayStep>,
    /// The step of a number whose whole way is there.
    known: FxHashMap<u32, u32>,
}

impl Ways<'_> {
    /// Adds a way of numbers, of which there is at least one, and returns its last step.
    fn add(&mut self, way: &[u32]) -> u32 {
        let (first, last) = match way.len() {
            0..=LONGEST => (way, &[][..]),
            long => (&way[..LONGEST / 2], &way[long - LONGEST / 2..]),
        };
        let mut before: Option<(u32, u32)> = None;
        for number in first {
            let step = match self.known.get(number) {
                Some(step) => *step,
                None => {
                    let step = self.push(*number, before, 0);
                    self.known.insert(*number, step);
                    step
                }
            };
            before = Some((*number, step));
        }
        let mut left_out = (way.len() - first.len() - last.len()) as u64;
        for number in last {
            let step = self.push(*number, before, std::mem::take(&mut left_out));
            before = Some((*number, step));
        }
        before.map_or(0, |(_, step)| step)
    }

    fn push(&mut self, number: u32, before: Option<(u32, u32)>, left_out: u64) -> u32 {
        let (heap, node) = (self.heap, self.kept.node(number));
        let from = before.filter(|_| left_out == 0).map(|(number, _)| self.kept.node(number));
        let by_referent =
            |from: u32| heap.class(from).strength.is_some() && heap.object(from, "referent") == Some(node);
        let class = match heap.as_class(node) {
            Some(class) => format!("class {}", class.name),
            None => heap.class(node).name.clone(),
        };
        let mut roots = Vec::new();
        let mut thread = None;
        if before.is_none() {
            roots = self.roots.get(&node).cloned().unwrap_or_default();
            roots.sort_unstable();
            roots.dedup();
            let is_thread = heap.threads.iter().any(|thread| thread.node == node);
            thread = if is_thread { heap.thread_name(node) } else { None };
        }
        self.steps.push(WayStep {
            before: before.map(|(_, step)| step),
            left_out,
            address: heap.address(node),
            class,
            edge: from.map(|from| heap.edge(from, node)),
            weak: from.is_some_and(by_referent),
            roots,
            thread,
        });
        self.steps.len() as u32 - 1
    }
}
