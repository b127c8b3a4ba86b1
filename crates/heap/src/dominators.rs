//! Who keeps whom: the dominator tree of a graph of objects.
//!
//! An object *a* dominates *b* when every path from the roots to *b* goes through *a*: if *a* went,
//! *b* would go. Computed by the algorithm of Lengauer and Tarjan ("A fast algorithm for finding
//! dominators in a flowgraph", TOPLAS 1979, the simple version with path compression): O(m log n)
//! whatever the graph looks like, which the variants without it (semi-NCA, iteration to a fixed
//! point) do not keep on long lists whose ends refer back.
//!
//! It is only asked about a part of the objects: what is [private](private) is kept by the one that
//! refers to it.
//!
//! Of the others each takes 20 bytes at the peak (`order`, `parent`, `semi`, `label`, `dominator`)
//! and no list of who refers to it: of those with a smaller number only the smallest matters,
//! which is noted during the walk as `semi`'s first value; noted as pairs are only references from
//! larger numbers; but a bit of those to a number's own parent, and of those to the class that the
//! parent has, too, as of the nodes of a list. Two pairs of arrays share their room:
//!
//! * `parent` becomes the forest's `ancestor`: a vertex's parent is last asked for right before it
//!   is linked;
//! * `dominator` is first a bucket's head (as long as its vertex has not been reached from behind),
//!   then the link to the next one in its bucket, then the result. Nothing recurses.

mod private;

use std::sync::Arc;
use std::thread::ScopedJoinHandle;

use rustc_hash::FxHashMap;

use self::private::{Classes, of_private, reached};
pub use self::private::{apart, private};
use crate::bits::Bits;
use crate::column::{Column, Plain, Storage};
use crate::numbers::NONE;
use crate::packed::Packed;
use crate::progress::{EVERY, Phase, Progress};

/// Objects that are looked at together where all are gone through.
pub const TOGETHER: u32 = crate::kinds::BLOCK;

/// What of an object's successors is still to come.
#[derive(Clone, Copy, Debug)]
pub struct Left {
    /// Where the graph goes on.
    pub at: u64,
    /// The last one.
    pub last: u32,
    /// One that comes before all others; [`NONE`] where there is none, or behind it.
    pub first: u32,
}

/// A graph of objects with roots.
pub trait Graph: Sync {
    /// Objects.
    fn objects(&self) -> u32;
    /// Those that are held by themselves.
    fn roots(&self) -> &[u32];
    /// What an object refers to.
    fn successors(&self, object: u32) -> Left;
    /// The same of [`TOGETHER`] objects from one on, of which the last ones may not be there.
    fn together(&self, first: u32, all: &mut Vec<Left>) {
        all.clear();
        let end = first.saturating_add(TOGETHER).min(self.objects());
        all.extend((first..end).map(|object| self.successors(object)));
    }
    /// The next one. May name an object twice.
    fn next(&self, left: &mut Left) -> Option<u32>;
    /// Whether there is one more.
    fn has_more(&self, left: &Left) -> bool;
    /// The first one of an object, in the sense of [`Left::first`]: its class.
    fn first(&self, object: u32) -> u32;
}

/// The tree. Objects are numbered from 1 on, 0 stands for all roots together.
#[derive(Debug)]
pub struct Tree {
    /// The immediate dominator of each number and one more; 0 is nobody.
    dominator: Packed,
}

impl Tree {
    /// Of a graph, of which it is known what is private. `then` goes on with the tree while `other`
    /// does what needs no more than what is reached; that is handed back, too.
    pub fn along_with<T: Send, K>(
        graph: &impl Graph,
        storage: Storage,
        private: &Bits,
        progress: &Progress,
        other: impl FnOnce(&Bits) -> T + Send,
        then: impl FnOnce(Self) -> K,
    ) -> (K, Bits, T) {
        let mut dominator = of_private(graph, storage, private);
        let graph = &Classes::of(graph, storage, private, &dominator);
        let walk = walk(graph, storage, private, progress);
        let classes = walk.classes(graph);
        let Walk { order, parent, semi, behind, back, same, number } = walk;
        drop(number);
        let order = Arc::new(order);
        std::thread::scope(|scope| {
            let of_walk = Arc::clone(&order);
            let found = scope.spawn(move || {
                let class = |w: u32| classes.get(&graph.first(of_walk[w as usize])).copied();
                let same = |w| if same.has(w) { class(w) } else { None };
                dominators(storage, parent, semi, behind, &back, same, progress)
            });
            let reached = reached(graph, storage, private, &order, &mut dominator);
            let (tree, other) = std::thread::scope(|scope| {
                let other = scope.spawn(|| other(&reached));
                let found = joined(found);
                for (object, found) in order.iter().zip(&*found).skip(1) {
                    let above = if *found == 0 { 0 } else { order[*found as usize] + 1 };
                    dominator.set(*object as usize + 1, above + 1);
                }
                drop((order, found));
                (then(Self { dominator }), joined(other))
            });
            (tree, reached, other)
        })
    }

    /// The immediate dominator of a number; nothing reaches those that have none.
    #[inline]
    pub fn dominator(&self, number: u32) -> Option<u32> {
        self.dominator.get(number as usize).checked_sub(1)
    }
}

/// What a thread found. A panic in it is one here.
pub fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Calls back for every reference, in the order of the objects.
pub fn each_reference(graph: &impl Graph, mut each: impl FnMut(u32, u32)) {
    let mut all = Vec::new();
    for first in (0..graph.objects()).step_by(TOGETHER as usize) {
        graph.together(first, &mut all);
        for (from, left) in (first..).zip(&mut all) {
            while let Some(to) = graph.next(left) {
                each(from, to);
            }
        }
    }
}

/// What the walk notes.
struct Walk {
    /// The object of each number; that of 0, which stands for all roots, is [`NONE`].
    order: Column<u32>,
    parent: Column<u32>,
    /// The smallest number that refers to each.
    semi: Column<u32>,
    /// References from larger numbers: to whom in the upper half, from whom in the lower. But for
    /// those to the number's own parent.
    behind: Column<u64>,
    /// Numbers that refer to their parent: the nodes of a list or a tree that know the one before.
    back: Bits,
    /// Numbers that refer to their class, as their parent does: the nodes of a list.
    same: Bits,
    /// The number of each object; 0: none yet.
    number: Column<u32>,
}

/// An object on the way back, of which there is more to look at.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    at: u64,
    last: u32,
    number: u32,
}

// SAFETY: it consists of numbers.
unsafe impl Plain for Waiting {}

/// Depth first from all roots over what is not private.
fn walk(graph: &impl Graph, storage: Storage, private: &Bits, progress: &Progress) -> Walk {
    let objects = graph.objects() as usize;
    let shared = f64::from(graph.objects() - private.all());
    let column = |first| {
        let mut column = Column::with_room(storage, objects + 1);
        column.push(first);
        column
    };
    let mut walk = Walk {
        order: column(NONE),
        parent: column(0),
        semi: column(0),
        behind: Column::with_room(storage, objects),
        back: Bits::none(storage, objects + 1),
        same: Bits::none(storage, objects + 1),
        number: Column::zeroed(storage, objects),
    };
    walk.number.populate();
    // What has nothing left that was not reached before waits for nobody: a list is walked without
    // a stack, whether or not its nodes know the one before.
    let mut waiting: Column<Waiting> = Column::with_room(storage, objects);
    for root in graph.roots() {
        if !walk.arrive(graph, *root, 0) {
            continue;
        }
        let mut at = walk.order.len() as u32 - 1;
        let mut left = graph.successors(*root);
        loop {
            let Some(to) = graph.next(&mut left) else {
                let Some(last) = waiting.last().copied() else { break };
                waiting.truncate(waiting.len() - 1);
                at = last.number;
                left = Left { at: last.at, last: last.last, first: NONE };
                continue;
            };
            if private.has(to) || !walk.arrive(graph, to, at) {
                continue;
            }
            let child = walk.order.len() as u32 - 1;
            while graph.has_more(&left) {
                let here = left;
                let Some(to) = graph.next(&mut left) else { break };
                if !private.has(to) && !walk.refers(graph, to, at) {
                    waiting.push(Waiting { at: here.at, last: here.last, number: at });
                    break;
                }
            }
            at = child;
            if at.is_multiple_of(EVERY) {
                progress.at(Phase::Walk, f64::from(at) / shared);
            }
            left = graph.successors(to);
        }
    }
    walk
}

impl Walk {
    /// The numbers of classes that are the same for a number and its parent.
    fn classes(&self, graph: &impl Graph) -> FxHashMap<u32, u32> {
        let mut classes = FxHashMap::default();
        for number in self.same.iter() {
            let class = graph.first(self.order[number as usize]);
            classes.entry(class).or_insert_with(|| self.number[class as usize]);
        }
        classes
    }

    /// A reference; whether it leads to what was not reached before, and now is.
    #[inline]
    fn arrive(&mut self, graph: &impl Graph, object: u32, from: u32) -> bool {
        let new = !self.refers(graph, object, from);
        if new {
            self.number[object as usize] = self.order.len() as u32;
            self.order.push(object);
            self.parent.push(from);
            self.semi.push(from);
        }
        new
    }

    /// Whether an object is the class of a number and of its parent, which is larger than the
    /// object's own.
    #[inline]
    fn is_class_of_both(&self, graph: &impl Graph, object: u32, from: u32, number: u32) -> bool {
        let is_class_of = |number: u32| graph.first(self.order[number as usize]) == object;
        let parent = self.parent[from as usize];
        is_class_of(from) && parent > number && is_class_of(parent)
    }

    /// A reference; whether it leads to what was reached before.
    #[inline]
    fn refers(&mut self, graph: &impl Graph, object: u32, from: u32) -> bool {
        let number = self.number[object as usize];
        if number == 0 {
            return false;
        }
        if from < number {
            let semi = &mut self.semi[number as usize];
            *semi = (*semi).min(from);
        } else if from > number && self.parent[from as usize] == number {
            self.back.add(from);
        } else if from > number && self.is_class_of_both(graph, object, from, number) {
            self.same.add(from);
        } else if from > number {
            let pair = u64::from(number) << 32 | u64::from(from);
            if self.behind.last() != Some(&pair) {
                self.behind.push(pair);
            }
        }
        true
    }
}

fn dominators(
    storage: Storage,
    mut ancestor: Column<u32>,
    mut semi: Column<u32>,
    mut behind: Column<u64>,
    back: &Bits,
    same: impl Fn(u32) -> Option<u32>,
    progress: &Progress,
) -> Column<u32> {
    let n = ancestor.len();
    behind.sort_unstable();
    let mut label: Column<u32> = Column::zeroed(storage, n);
    label.populate();
    label.iter_mut().zip(0..).for_each(|(value, number)| *value = number);
    let mut dominator = Column::filled(storage, n, NONE);
    let mut next_behind = behind.len();
    for w in (1..n).rev() {
        if w.is_multiple_of(EVERY as usize) {
            progress.at(Phase::Dominators, 1.0 - w as f64 / n as f64);
        }
        let mut best = semi[w];
        while let Some(pair) = next_behind.checked_sub(1).map(|at| behind[at]).filter(|p| p >> 32 == w as u64)
        {
            next_behind -= 1;
            let u = eval(pair as u32, w as u32, &mut ancestor, &mut label, &semi);
            best = best.min(semi[u as usize]);
        }
        semi[w] = best;
        let parent = ancestor[w] as usize;
        if back.has(w as u32) {
            // Nothing but `w` itself is between the two.
            semi[parent] = semi[parent].min(best);
        }
        if let Some(class) = same(w as u32) {
            // All between the two but `w` itself is between the class and the parent, too.
            let semi = &mut semi[class as usize];
            *semi = (*semi).min(best);
        }
        // From here on `w` is in the forest. Its own bucket was emptied with the last of its
        // children.
        dominator[w] = std::mem::replace(&mut dominator[best as usize], w as u32);
        let mut v = std::mem::replace(&mut dominator[parent], NONE);
        while v != NONE {
            let next = dominator[v as usize];
            let u = eval(v, w as u32 - 1, &mut ancestor, &mut label, &semi);
            dominator[v as usize] = if semi[u as usize] < semi[v as usize] { u } else { parent as u32 };
            v = next;
        }
    }
    for w in 1..n {
        if dominator[w] != semi[w] {
            dominator[w] = dominator[dominator[w] as usize];
        }
    }
    if let Some(root) = dominator.first_mut() {
        *root = 0;
    }
    dominator
}

/// The vertex with the smallest semidominator on the way from `v` up to the root of its tree in the
/// forest, which holds the numbers above `linked`. Shortens the way. On the way up each vertex is
/// made to know the one below, so that a list of millions needs no stack for the way back.
#[inline]
fn eval(v: u32, linked: u32, ancestor: &mut [u32], label: &mut [u32], semi: &[u32]) -> u32 {
    let (mut at, mut below) = (v, NONE);
    let root = loop {
        let above = ancestor[at as usize];
        if above <= linked {
            break above;
        }
        ancestor[at as usize] = below;
        (below, at) = (at, above);
    };
    // `at` hangs directly below a vertex that is not in the forest.
    while below != NONE {
        if semi[label[at as usize] as usize] < semi[label[below as usize] as usize] {
            label[below as usize] = label[at as usize];
        }
        at = below;
        below = std::mem::replace(&mut ancestor[at as usize], root);
    }
    label[v as usize]
}

#[cfg(test)]
mod tests;
