//! Who keeps whom: the dominator tree of a graph of objects.
//!
//! An object *a* dominates *b* when every path from the roots to *b* goes through *a*: if *a* went,
//! *b* would go. Computed by the algorithm of Lengauer and Tarjan ("A fast algorithm for finding
//! dominators in a flowgraph", TOPLAS 1979, the simple version with path compression): O(m log n)
//! whatever the graph looks like, which the variants without it (semi-NCA, iteration to a fixed
//! point) do not keep on long lists whose ends refer back.
//!
//! It is only asked about a part of the objects. *Private* is what one object alone refers to and
//! what refers to nothing but private objects, its class apart: a text's array, a text in one place,
//! a session with its basket. The one that refers to it keeps it, and it needs no number in the
//! walk. In most heaps that is most of the objects.
//!
//! What is private refers to its class, and may alone keep it. But a class that its loader holds,
//! where a way leads to the loader through nothing that is private and through no such class
//! ([`apart`]), is kept by none that is not on this way. So it is kept by nothing private, and it
//! is enough that the nearest object above that is not private counts as one that refers to it
//! ([`Classes`]).
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

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::ScopedJoinHandle;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::bits::Bits;
use crate::column::{Column, Plain, Storage, shared};
use crate::numbers::NONE;
use crate::packed::Packed;
use crate::progress::{EVERY, Phase, Progress};

/// Objects that are looked at together where all are gone through.
pub const TOGETHER: u32 = crate::kinds::BLOCK;
/// How often all objects are gone through for private ones, from the end and from the beginning in
/// turn: what refers to an object mostly lies on one side of it.
const PASSES: u32 = 3;
/// Ranges of objects at a time, at most, and blocks of them at least.
const MOST_AT_ONCE: usize = 4;
const FEWEST_AT_ONCE: u32 = 1 << 12;
/// Objects near the roots among which ways to loaders are looked for, at most.
const MOST_ASKED: usize = 1 << 17;

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

/// Objects in ranges, side by side.
fn in_ranges<T: Send>(objects: u32, look: impl Fn(Range<u32>) -> T + Sync) -> Vec<T> {
    let blocks = objects.div_ceil(TOGETHER);
    let at_once = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_AT_ONCE) as u32;
    let each = blocks.div_ceil(at_once).max(FEWEST_AT_ONCE) * TOGETHER;
    std::thread::scope(|scope| {
        let look = &look;
        let begin = |from: u32| scope.spawn(move || look(from..from.saturating_add(each).min(objects)));
        let begun: Vec<_> = (0..objects).step_by(each as usize).map(begin).collect();
        begun.into_iter().map(joined).collect()
    })
}

/// Who refers to what is private.
fn of_private(graph: &impl Graph, storage: Storage, private: &Bits) -> Packed {
    let objects = graph.objects();
    let mut dominator = Packed::zeroed(storage, objects as usize + 1, objects + 1);
    // Memory is taken for those that there are, where they are few.
    if private.all() > objects / 4 {
        dominator = dominator.populated();
    }
    let shared = dominator.shared();
    in_ranges(objects, |range| {
        let mut all = Vec::new();
        for first in range.step_by(TOGETHER as usize) {
            graph.together(first, &mut all);
            for (from, left) in (first..).zip(&mut all) {
                while let Some(to) = graph.next(left) {
                    if private.has(to) {
                        shared.put(to as usize + 1, from + 2);
                    }
                }
            }
        }
    });
    dominator
}

/// Classes of which it is known that nothing private keeps them. `of_loaders` are loaders, each
/// with a class that it refers to and that the class's objects hold, too; `alone` as for
/// [`private`].
pub fn apart(graph: &impl Graph, storage: Storage, of_loaders: &[(u32, u32)], alone: &Bits) -> Bits {
    let mut apart = Bits::none(storage, graph.objects() as usize);
    let classes: FxHashSet<u32> = of_loaders.iter().map(|(_, class)| *class).collect();
    let mut left: FxHashSet<u32> = of_loaders.iter().map(|(loader, _)| *loader).collect();
    // From the roots on, no further than to some objects: loaders are near.
    let mut found: FxHashSet<u32> = graph.roots().iter().copied().collect();
    let mut queue: VecDeque<u32> = graph.roots().iter().copied().collect();
    let most = found.len() + MOST_ASKED;
    let mut near = FxHashSet::default();
    while let Some(from) = queue.pop_front().filter(|_| !left.is_empty()) {
        if left.remove(&from) {
            near.insert(from);
        }
        let mut successors = graph.successors(from);
        while let Some(to) = graph.next(&mut successors) {
            if found.len() < most && !alone.has(to) && !classes.contains(&to) && found.insert(to) {
                queue.push_back(to);
            }
        }
    }
    of_loaders.iter().filter(|(loader, _)| near.contains(loader)).for_each(|(_, class)| apart.add(*class));
    apart
}

/// A graph in which an object refers to the classes of all that is private below it, too.
struct Classes<'a, G> {
    graph: &'a G,
    /// Objects that do.
    have: Bits,
    /// Which classes: the object in the upper half, the class in the lower, sorted.
    pairs: Column<u64>,
}

/// In place of where a row goes on: a pair of [`Classes`].
const PAIR: u64 = 1 << 63;

impl<'a, G: Graph> Classes<'a, G> {
    fn of(graph: &'a G, storage: Storage, private: &Bits, dominator: &Packed) -> Self {
        let objects = graph.objects();
        // Of each private object that was asked for, the nearest one above that is not, and one
        // more.
        let mut nearest: Column<u32> = Column::zeroed(storage, objects as usize);
        nearest.populate();
        let nearest = shared(&mut nearest);
        let above = |object: u32, way: &mut Vec<u32>| {
            let mut at = object;
            let found = loop {
                match nearest[at as usize].load(Ordering::Relaxed) {
                    0 => way.push(at),
                    known => break known,
                }
                match dominator.get(at as usize + 1).checked_sub(2) {
                    Some(from) if private.has(from) => at = from,
                    from => break from.map_or(0, |from| from + 1),
                }
            };
            way.drain(..).for_each(|at| nearest[at as usize].store(found, Ordering::Relaxed));
            found.checked_sub(1)
        };
        let parts = in_ranges(objects, |range| {
            let mut pairs: Column<u64> = Column::with_room(storage, range.len());
            let mut last: FxHashMap<u32, u32> = FxHashMap::default();
            let mut way = Vec::new();
            for first in range.step_by(TOGETHER as usize) {
                let mut open = private.sixteen(first);
                while open != 0 {
                    let object = first + open.trailing_zeros();
                    open &= open - 1;
                    let class = graph.first(object);
                    if class == NONE {
                        continue;
                    }
                    let Some(above) = above(object, &mut way) else { continue };
                    if last.insert(class, above) != Some(above) {
                        pairs.push(u64::from(above) << 32 | u64::from(class));
                    }
                }
            }
            pairs
        });
        let mut pairs: Column<u64> = Column::with_room(storage, parts.iter().map(|part| part.len()).sum());
        parts.iter().for_each(|part| pairs.extend_from_slice(part));
        pairs.sort_unstable();
        let mut have = Bits::none(storage, objects as usize);
        pairs.iter().for_each(|pair| have.add((pair >> 32) as u32));
        Self { graph, have, pairs }
    }
}

impl<G: Graph> Graph for Classes<'_, G> {
    fn objects(&self) -> u32 {
        self.graph.objects()
    }

    fn roots(&self) -> &[u32] {
        self.graph.roots()
    }

    #[inline]
    fn successors(&self, object: u32) -> Left {
        if !self.have.has(object) {
            return self.graph.successors(object);
        }
        let at = self.pairs.partition_point(|pair| pair >> 32 < u64::from(object)) as u64;
        Left { at: PAIR | at, last: object, first: self.graph.first(object) }
    }

    fn together(&self, first: u32, all: &mut Vec<Left>) {
        self.graph.together(first, all);
    }

    #[inline]
    fn next(&self, left: &mut Left) -> Option<u32> {
        if left.at & PAIR != 0 && left.at != u64::MAX && left.first == NONE {
            let pair = self.pairs.get((left.at & !PAIR) as usize).copied();
            if let Some(pair) = pair.filter(|pair| pair >> 32 == u64::from(left.last)) {
                left.at += 1;
                return Some(pair as u32);
            }
            *left = Left { first: NONE, ..self.graph.successors(left.last) };
        }
        self.graph.next(left)
    }

    #[inline]
    fn has_more(&self, left: &Left) -> bool {
        left.at & PAIR != 0 && left.at != u64::MAX || self.graph.has_more(left)
    }

    fn first(&self, object: u32) -> u32 {
        self.graph.first(object)
    }
}

/// All that is reached: the objects of the walk and what is private below them. What is private
/// below others has nobody who keeps it.
fn reached(
    graph: &impl Graph,
    storage: Storage,
    private: &Bits,
    order: &[u32],
    dominator: &mut Packed,
) -> Bits {
    let objects = graph.objects();
    let mut reached = Bits::none(storage, objects as usize);
    order.iter().skip(1).for_each(|object| reached.add(*object));
    let all_are = order.len() as u32 - 1 == objects - private.all();
    if all_are {
        reached.add_all(private);
        return reached;
    }
    let mut lost = Bits::none(storage, objects as usize);
    below(
        graph,
        private,
        |first| !reached.sixteen(first),
        |_, to| {
            dominator.set(to as usize + 1, 0);
            lost.add(to);
        },
    );
    reached.add_all(private);
    reached.take_out(&lost);
    reached
}

/// Calls back for what is private below objects that are not, with who refers to it. `open` says of
/// which objects, in sixteens.
fn below(graph: &impl Graph, private: &Bits, open: impl Fn(u32) -> u16, mut each: impl FnMut(u32, u32)) {
    let objects = graph.objects();
    let (mut all, mut within) = (Vec::new(), Vec::new());
    for first in (0..objects).step_by(TOGETHER as usize) {
        let there = u16::MAX >> (TOGETHER - (objects - first).min(TOGETHER));
        let mut open = open(first) & !private.sixteen(first) & there;
        if open == 0 {
            continue;
        }
        graph.together(first, &mut all);
        while open != 0 {
            let at = open.trailing_zeros();
            open &= open - 1;
            let (mut from, mut left) = (first + at, all[at as usize]);
            loop {
                while let Some(to) = graph.next(&mut left) {
                    if private.has(to) {
                        each(from, to);
                        within.push(to);
                    }
                }
                let Some(next) = within.pop() else { break };
                (from, left) = (next, graph.successors(next));
            }
        }
    }
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

/// Objects that one alone refers to, and that refer to nothing but such. Ranges of objects are
/// looked at side by side. What one thread finds another may see a pass later: then there are some
/// fewer, which take part in the walk like others. `alone` are those that one reference alone leads
/// to and that are not held by themselves; one may be missing there, too. `apart` are classes that
/// may be referred to.
pub fn private(graph: &impl Graph, storage: Storage, alone: &Bits, apart: &Bits) -> Bits {
    let objects = graph.objects();
    let mut found = Bits::none(storage, objects as usize);
    let private = found.shared();
    let look = |blocks: Range<u32>, backwards: bool| {
        let mut all: Vec<Left> = Vec::new();
        for at in 0..blocks.len() as u32 {
            let first = TOGETHER * if backwards { blocks.end - 1 - at } else { blocks.start + at };
            let mut open = alone.sixteen(first) & !private.sixteen(first);
            if open == 0 {
                continue;
            }
            graph.together(first, &mut all);
            while open != 0 {
                let at = if backwards { u16::BITS - 1 - open.leading_zeros() } else { open.trailing_zeros() };
                open &= !(1 << at);
                let mut left = all[at as usize];
                let mut privately = left.first == NONE || apart.has(left.first);
                left.first = NONE;
                while let Some(to) = graph.next(&mut left).filter(|_| privately) {
                    privately = private.has(to);
                }
                if privately {
                    private.add(first + at);
                }
            }
        }
    };
    for pass in 0..PASSES {
        in_ranges(objects, |range| {
            look(range.start / TOGETHER..range.end.div_ceil(TOGETHER), pass % 2 == 0);
        });
    }
    found.count();
    found
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
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug)]
    struct Small {
        roots: Vec<u32>,
        edges: Vec<Vec<u32>>,
        /// The class of each object, where its objects hold it.
        classes: Vec<u32>,
        of_loaders: Vec<(u32, u32)>,
        alone: Bits,
    }

    impl Graph for Small {
        fn objects(&self) -> u32 {
            self.edges.len() as u32
        }
        fn roots(&self) -> &[u32] {
            &self.roots
        }
        fn successors(&self, object: u32) -> Left {
            Left { at: 0, last: object, first: self.first(object) }
        }
        fn first(&self, object: u32) -> u32 {
            self.classes[object as usize]
        }
        fn next(&self, left: &mut Left) -> Option<u32> {
            if left.first != NONE {
                return Some(std::mem::replace(&mut left.first, NONE));
            }
            let next = self.edges[left.last as usize].get(left.at as usize).copied();
            left.at += u64::from(next.is_some());
            next
        }
        fn has_more(&self, left: &Left) -> bool {
            left.first != NONE || (left.at as usize) < self.edges[left.last as usize].len()
        }
    }

    impl Small {
        fn new(roots: Vec<u32>, edges: Vec<Vec<u32>>) -> Self {
            let classes = vec![NONE; edges.len()];
            Self::with_classes(roots, edges, classes, Vec::new())
        }

        fn with_classes(
            roots: Vec<u32>,
            mut edges: Vec<Vec<u32>>,
            classes: Vec<u32>,
            of_loaders: Vec<(u32, u32)>,
        ) -> Self {
            of_loaders.iter().for_each(|(loader, class)| edges[*loader as usize].push(*class));
            let alone = Bits::none(Storage::Memory, edges.len());
            let mut graph = Self { roots, edges, classes, of_loaders, alone };
            let mut count = vec![0; graph.edges.len()];
            graph.classes.iter().filter(|class| **class != NONE).for_each(|class| count[*class as usize] = 2);
            graph.roots.iter().for_each(|root| count[*root as usize] = 2);
            graph.edges.iter().flatten().for_each(|to| count[*to as usize] += 1);
            (0..).zip(count).filter(|(_, count)| *count == 1).for_each(|(object, _)| graph.alone.add(object));
            graph
        }

        fn private(&self) -> Bits {
            let apart = apart(self, Storage::Memory, &self.of_loaders, &self.alone);
            private(self, Storage::Memory, &self.alone, &apart)
        }

        fn tree(&self) -> Tree {
            let (tree, reached, is_reached) = Tree::along_with(
                self,
                Storage::Memory,
                &self.private(),
                &Progress::default(),
                |reached| (0..self.objects()).map(|object| reached.has(object)).collect::<Vec<_>>(),
                |tree| tree,
            );
            assert_eq!(is_reached, self.reached_without(None));
            assert_eq!(reached.all() as usize, is_reached.iter().filter(|is| **is).count());
            tree
        }

        /// What can be reached when one object is taken away.
        fn reached_without(&self, removed: Option<u32>) -> Vec<bool> {
            let mut reached = vec![false; self.edges.len()];
            let mut left = self.roots.clone();
            while let Some(object) = left.pop() {
                if Some(object) != removed && !std::mem::replace(&mut reached[object as usize], true) {
                    left.extend(&self.edges[object as usize]);
                    left.extend(Some(self.first(object)).filter(|class| *class != NONE));
                }
            }
            reached
        }
    }

    fn small() -> impl Strategy<Value = Small> {
        (1_u32..24).prop_flat_map(|n| {
            let edges = prop::collection::vec((0..n, 0..n), 0..(n as usize * 3));
            // Some objects are classes, with a loader each that refers to them.
            let classes = prop::collection::btree_map(0..n, 0..n, 0..4);
            let of = prop::collection::vec(any::<prop::sample::Index>(), n as usize);
            (prop::collection::vec(0..n, 1..4), edges, classes, of, 0_u32..3).prop_map(
                move |(roots, pairs, of_loaders, of, plain)| {
                    let mut edges = vec![Vec::new(); n as usize];
                    pairs.iter().for_each(|(from, to)| edges[*from as usize].push(*to));
                    let of_loaders: Vec<(u32, u32)> = of_loaders
                        .into_iter()
                        .filter(|(class, loader)| class != loader && !roots.contains(class))
                        .map(|(class, loader)| (loader, class))
                        .collect();
                    // What is a root is no class that instances hold.
                    let class = |(object, of): (u32, prop::sample::Index)| {
                        if of_loaders.is_empty() || object % 3 < plain {
                            return NONE;
                        }
                        of_loaders[of.index(of_loaders.len())].1
                    };
                    let classes = (0..).zip(of).map(class).collect();
                    Small::with_classes(roots, edges, classes, of_loaders)
                },
            )
        })
    }

    impl Tree {
        /// The dominators of a number that can be reached, from itself up; 0 is not among them.
        fn above(&self, number: u32) -> Vec<u32> {
            let above = |number: &u32| self.dominator(*number).filter(|above| *above != 0);
            std::iter::successors(Some(number), above).collect()
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]
        #[test]
        fn what_an_object_dominates_is_what_goes_when_it_is_taken_away(graph in small()) {
            let tree = graph.tree();
            let all = graph.reached_without(None);
            for object in 0..graph.objects() {
                if !all[object as usize] {
                    prop_assert_eq!(tree.dominator(object + 1), None);
                    continue;
                }
                let without = graph.reached_without(Some(object));
                for other in (0..graph.objects()).filter(|other| all[*other as usize]) {
                    let dominates = tree.above(other + 1).contains(&(object + 1));
                    prop_assert_eq!(dominates, !without[other as usize], "{} {}", object, other);
                }
            }
        }
    }

    #[test]
    fn what_one_alone_refers_to_takes_no_part_in_the_walk() {
        // A root with a list of texts, and a text that two of its entries share.
        let edges = vec![vec![1, 2], vec![3, 5], vec![4, 5], vec![], vec![6], vec![7], vec![], vec![]];
        let graph = Small::new(vec![0], edges);
        let private = graph.private();
        let found: Vec<u32> = (0..8).filter(|object| private.has(*object)).collect();
        assert_eq!(found, [3, 4, 6, 7]);
        assert_eq!(walk(&graph, Storage::Memory, &private, &Progress::default()).order.len(), 5);
        assert_eq!(graph.tree().above(8), [8, 6, 1]);
    }

    #[test]
    fn what_refers_to_its_class_is_private_where_the_loader_holds_the_class() {
        // A root 0 with a loader 1 and a list 2; the loader has a class 3; the list has two
        // instances 4, 5 of it with a text each. Another root 8 has an object 9 of its own.
        let edges =
            vec![vec![1, 2], vec![], vec![4, 5], vec![1], vec![6], vec![7], vec![], vec![], vec![9], vec![]];
        let of = |holders: &[u32], roots: Vec<u32>, edges: &[Vec<u32>], of_loaders: Vec<(u32, u32)>| {
            let classes = (0..10).map(|object| if holders.contains(&object) { 3 } else { NONE }).collect();
            Small::with_classes(roots, edges.to_vec(), classes, of_loaders)
        };
        let private = |graph: &Small| {
            let private = graph.private();
            (0..10).filter(|object| private.has(*object)).collect::<Vec<u32>>()
        };
        let graph = of(&[4, 5], vec![0, 8], &edges, vec![(1, 3)]);
        assert_eq!(private(&graph), [2, 4, 5, 6, 7, 9]);
        assert_eq!(graph.tree().above(4), [4, 1]);
        // An instance below another root keeps the class, too: nobody does.
        let graph = of(&[4, 5, 9], vec![0, 8], &edges, vec![(1, 3)]);
        assert_eq!(graph.tree().above(4), [4]);
        // A loader that is only reached through an instance: it is the instance that keeps all.
        let mut kept = edges;
        kept[0] = vec![2];
        kept[6] = vec![1];
        let graph = of(&[4, 5], vec![0, 8], &kept, vec![(1, 3)]);
        assert_eq!(private(&graph), [7, 9]);
        assert_eq!(graph.tree().above(4), [4, 3, 1]);
    }

    #[test]
    fn a_long_list_whose_end_refers_to_what_others_hold_takes_no_quadratic_time() {
        // A list of 200,000, whose end refers to 200,000 objects that a root holds, too.
        let n = 200_000;
        let mut edges: Vec<Vec<u32>> = (1..n).map(|next| vec![next]).collect();
        edges.push((n..2 * n).collect());
        edges.extend((0..n).map(|_| Vec::new()));
        edges.push((n..2 * n).collect());
        let graph = Small::new(vec![0, 2 * n], edges);
        let tree = graph.tree();
        let of_roots = (1..=2 * n + 1).filter(|number| tree.dominator(*number) == Some(0)).count();
        assert_eq!(of_roots as u32, n + 2);
    }
}
