//! What is private: it takes no part in the walk.
//!
//! *Private* is what one object alone refers to and what refers to nothing but private objects, its
//! class apart: a text's array, a text in one place, a session with its basket. The one that refers
//! to it keeps it, and it needs no number in the walk. In most heaps that is most of the objects.
//!
//! What is private refers to its class, and may alone keep it. But a class that its loader holds,
//! where a way leads to the loader through nothing that is private and through no such class
//! ([`apart`]), is kept by none that is not on this way. So it is kept by nothing private, and it
//! is enough that the nearest object above that is not private counts as one that refers to it
//! ([`Classes`]).

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::Ordering;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Graph, Left, TOGETHER, joined};
use crate::bits::Bits;
use crate::column::{Column, Storage, shared};
use crate::numbers::NONE;
use crate::packed::Packed;

/// How often all objects are gone through for private ones, from the end and from the beginning in
/// turn: what refers to an object mostly lies on one side of it.
const PASSES: u32 = 3;
/// Ranges of objects at a time, at most, and blocks of them at least.
const MOST_AT_ONCE: usize = 4;
const FEWEST_AT_ONCE: u32 = 1 << 12;
/// Objects near the roots among which ways to loaders are looked for, at most.
const MOST_ASKED: usize = 1 << 17;

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
pub(super) fn of_private(graph: &impl Graph, storage: Storage, private: &Bits) -> Packed {
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
pub(super) struct Classes<'a, G> {
    graph: &'a G,
    /// Objects that do.
    have: Bits,
    /// Which classes: the object in the upper half, the class in the lower, sorted.
    pairs: Column<u64>,
}

/// In place of where a row goes on: a pair of [`Classes`].
const PAIR: u64 = 1 << 63;

impl<'a, G: Graph> Classes<'a, G> {
    pub(super) fn of(graph: &'a G, storage: Storage, private: &Bits, dominator: &Packed) -> Self {
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
pub(super) fn reached(
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
