//! Who keeps whom: the dominator tree of a graph of objects.
//!
//! An object *a* dominates *b* when every path from the roots to *b* goes through *a*: if *a* went,
//! *b* would go. Computed by the algorithm of Lengauer and Tarjan ("A fast algorithm for finding
//! dominators in a flowgraph", TOPLAS 1979, the simple version with path compression): O(m log n)
//! whatever the graph looks like, which the variants without it (semi-NCA, iteration to a fixed
//! point) do not keep on long lists whose ends refer back.
//!
//! Nothing recurses. All arrays are indexed by the number of the depth-first walk, and two pairs of
//! them share their room:
//!
//! * `parent` becomes the forest's `ancestor`: a vertex's parent is last asked for right before it
//!   is linked;
//! * `dominator` is first a bucket's head (as long as its vertex has not been reached from behind),
//!   then the link to the next one in its bucket, then the result.
//!
//! So the peak is `order`, `parent`, `semi`, `label`, `dominator`, each four bytes a reachable
//! object, beside the graph backwards.

use crate::column::{Column, Storage};
use crate::offsets::Offsets;

/// Nothing.
pub const NONE: u32 = u32::MAX;

/// A graph of objects with roots.
pub trait Graph {
    /// Objects.
    fn objects(&self) -> u32;
    /// Those that are held by themselves.
    fn roots(&self) -> &[u32];
    /// The `k`-th object that this one refers to; `None` behind the last one.
    fn successor(&self, object: u32, k: u32) -> Option<u32>;
}

/// The tree. Numbers are those of the walk: 0 stands for all roots together, dominators have
/// smaller numbers than what they dominate.
#[derive(Debug)]
pub struct Tree {
    /// The object of each number; that of 0 is [`NONE`].
    pub order: Column<u32>,
    /// The immediate dominator of each number; that of 0 is 0.
    pub dominator: Column<u32>,
}

impl Tree {
    /// Of a graph.
    pub fn of(graph: &impl Graph, storage: Storage) -> Self {
        let (order, mut parent, number) = walk(graph, storage);
        let (offsets, predecessors) = backwards(graph, storage, &order, &number);
        drop(number);
        let dominator = dominators(storage, &mut parent, &offsets, &predecessors);
        Self { order, dominator }
    }
}

/// Depth first from all roots: objects in their order, the parent of each number, the number of
/// each object.
fn walk(graph: &impl Graph, storage: Storage) -> (Column<u32>, Column<u32>, Column<u32>) {
    let objects = graph.objects() as usize;
    let mut number = Column::filled(storage, objects, NONE);
    let column = |first| {
        let mut column = Column::with_room(storage, objects + 1);
        column.push(first);
        column
    };
    let (mut order, mut parent) = (column(NONE), column(0));
    // How many successors of each number have been looked at: with `parent` this is the stack.
    let mut looked: Column<u32> = column(0);
    let mut at = 0_usize;
    loop {
        let k = looked[at];
        let next = match at {
            0 => graph.roots().get(k as usize).copied(),
            _ => graph.successor(order[at], k),
        };
        let Some(next) = next else {
            if at == 0 {
                return (order, parent, number);
            }
            at = parent[at] as usize;
            continue;
        };
        looked[at] = k.saturating_add(1);
        if number[next as usize] == NONE {
            number[next as usize] = order.len() as u32;
            order.push(next);
            parent.push(at as u32);
            looked.push(0);
            at = order.len() - 1;
        }
    }
}

/// All references between what was reached, backwards, in numbers.
fn backwards(graph: &impl Graph, storage: Storage, order: &[u32], number: &[u32]) -> (Offsets, Column<u32>) {
    Offsets::fill(storage, order.len(), |add| {
        for root in graph.roots() {
            add(number[*root as usize], 0);
        }
        for (from, object) in order.iter().enumerate().skip(1) {
            let mut k = 0;
            while let Some(to) = graph.successor(*object, k) {
                add(number[to as usize], from as u32);
                k += 1;
            }
        }
    })
}

fn dominators(
    storage: Storage,
    ancestor: &mut [u32],
    offsets: &Offsets,
    predecessors: &[u32],
) -> Column<u32> {
    let n = ancestor.len();
    let each = || {
        let mut column = Column::zeroed(storage, n);
        column.iter_mut().zip(0..).for_each(|(value, number)| *value = number);
        column
    };
    let (mut semi, mut label): (Column<u32>, Column<u32>) = (each(), each());
    let mut dominator = Column::filled(storage, n, NONE);
    let mut path = Vec::new();
    for w in (1..n).rev() {
        let mut best = w as u32;
        for v in &predecessors[offsets.row(w)] {
            // What has a smaller number is not yet in the forest and speaks for itself.
            let u = if *v as usize <= w {
                *v
            } else {
                eval(*v, w as u32, ancestor, &mut label, &semi, &mut path)
            };
            best = best.min(semi[u as usize]);
        }
        semi[w] = best;
        let parent = ancestor[w] as usize;
        // From here on `w` is in the forest. Its own bucket was emptied with the last of its
        // children.
        dominator[w] = std::mem::replace(&mut dominator[best as usize], w as u32);
        let mut v = std::mem::replace(&mut dominator[parent], NONE);
        while v != NONE {
            let next = dominator[v as usize];
            let u = eval(v, w as u32 - 1, ancestor, &mut label, &semi, &mut path);
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
/// forest, which holds the numbers above `linked`. Shortens the way.
#[inline]
fn eval(
    v: u32,
    linked: u32,
    ancestor: &mut [u32],
    label: &mut [u32],
    semi: &[u32],
    path: &mut Vec<u32>,
) -> u32 {
    path.clear();
    let mut at = v;
    while ancestor[at as usize] > linked {
        path.push(at);
        at = ancestor[at as usize];
    }
    // `at` hangs directly below a vertex that is not in the forest.
    while let Some(below) = path.pop() {
        let above = ancestor[below as usize];
        if semi[label[above as usize] as usize] < semi[label[below as usize] as usize] {
            label[below as usize] = label[above as usize];
        }
        ancestor[below as usize] = ancestor[above as usize];
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
    }

    impl Graph for Small {
        fn objects(&self) -> u32 {
            self.edges.len() as u32
        }
        fn roots(&self) -> &[u32] {
            &self.roots
        }
        fn successor(&self, object: u32, k: u32) -> Option<u32> {
            self.edges[object as usize].get(k as usize).copied()
        }
    }

    impl Small {
        /// What can be reached when one object is taken away.
        fn reached_without(&self, removed: Option<u32>) -> Vec<bool> {
            let mut reached = vec![false; self.edges.len()];
            let mut left = self.roots.clone();
            while let Some(object) = left.pop() {
                if Some(object) != removed && !std::mem::replace(&mut reached[object as usize], true) {
                    left.extend(&self.edges[object as usize]);
                }
            }
            reached
        }
    }

    fn small() -> impl Strategy<Value = Small> {
        (1_u32..24).prop_flat_map(|n| {
            let edges = prop::collection::vec((0..n, 0..n), 0..(n as usize * 3));
            (prop::collection::vec(0..n, 1..4), edges).prop_map(move |(roots, pairs)| {
                let mut edges = vec![Vec::new(); n as usize];
                pairs.iter().for_each(|(from, to)| edges[*from as usize].push(*to));
                Small { roots, edges }
            })
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]
        #[test]
        fn what_an_object_dominates_is_what_goes_when_it_is_taken_away(graph in small()) {
            let tree = Tree::of(&graph, Storage::Memory);
            let all = graph.reached_without(None);
            prop_assert_eq!(tree.order.len() - 1, all.iter().filter(|reached| **reached).count());
            for (number, object) in tree.order.iter().enumerate().skip(1) {
                prop_assert!((tree.dominator[number] as usize) < number);
                let without = graph.reached_without(Some(*object));
                for (other, below) in tree.order.iter().enumerate().skip(1) {
                    let mut up = other as u32;
                    while up as usize > number {
                        up = tree.dominator[up as usize];
                    }
                    prop_assert_eq!(up as usize == number, !without[*below as usize]);
                }
            }
        }
    }

    #[test]
    fn a_long_list_whose_end_refers_to_what_others_hold_takes_no_quadratic_time() {
        // A list of 200,000, whose end refers to 200,000 objects that a root holds, too.
        let n = 200_000;
        let mut edges: Vec<Vec<u32>> = (1..n).map(|next| vec![next]).collect();
        edges.push((n..2 * n).collect());
        edges.extend((0..n).map(|_| Vec::new()));
        edges.push((n..2 * n).collect());
        let graph = Small { roots: vec![0, 2 * n], edges };
        let tree = Tree::of(&graph, Storage::Memory);
        assert_eq!(tree.dominator.iter().filter(|dominator| **dominator == 0).count() as u32, n + 3);
    }
}
