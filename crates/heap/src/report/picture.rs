//! All that a page shows of a dump: the first screen with whole tables, the dominator tree by
//! class, and the shortest ways to what is large in it.

use super::grouped::{Grouped, Limits, Node};
use super::screen::{About, Screen};
use super::steps::{WayStep, ways};
use super::waste::Waste;
use crate::heap::Heap;
use crate::kept::Kept;
use crate::paths::Paths;

/// So many nodes, the largest ones, have a way of their own. The others are reached through one
/// above them.
const MOST_WAYS: usize = 1000;

/// See the module.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The first screen, no table of it cut.
    pub screen: Screen,
    /// From how many bytes on something is a node.
    pub limits: Limits,
    /// The dominator tree; the first node is the top.
    pub nodes: Vec<Node>,
    /// Steps of the ways, each behind the one before it.
    pub steps: Vec<WayStep>,
    /// Of each node, the last step of the way to the largest of its objects.
    pub way_of_node: Vec<Option<u32>>,
    /// Of each holder of the screen, its node and the last step of its way.
    pub holders: Vec<(Option<u32>, Option<u32>)>,
    /// Of each thread of the screen, its node.
    pub threads: Vec<Option<u32>>,
}

impl Picture {
    /// Of a heap of which nothing is known yet.
    pub fn of_heap(heap: &Heap, about: About) -> Self {
        let (kept, waste) = Screen::kept(heap);
        Self::put_together(heap, &kept, Some(waste), about)
    }

    /// Of a heap.
    pub fn of(heap: &Heap, kept: &Kept, about: About) -> Self {
        Self::put_together(heap, kept, None, about)
    }

    fn put_together(heap: &Heap, kept: &Kept, waste: Option<Waste>, about: About) -> Self {
        let paths = Paths::of(heap, kept);
        let screen = Screen::put_together(heap, kept, &paths, waste, about, usize::MAX);
        let number = |address| heap.find(address).and_then(|node| kept.number(node)).unwrap_or(0);
        let held = screen.holders.all.iter().map(|holder| number(holder.address));
        let wanted: Vec<u32> =
            held.chain(screen.threads.iter().map(|thread| number(thread.address))).collect();
        let limits = Limits::of(kept);
        let Grouped { nodes, places } = Grouped::of(heap, kept, limits, &wanted);
        let (held, threads) = places.split_at(screen.holders.all.len());

        let mut largest: Vec<u32> = (1..nodes.len() as u32).collect();
        largest.sort_by_key(|node| std::cmp::Reverse(nodes[*node as usize].retained_bytes));
        largest.truncate(MOST_WAYS);
        let holders = wanted.iter().take(held.len()).copied();
        let with_way: Vec<(Option<u32>, u32)> = largest
            .iter()
            .map(|node| (Some(*node), nodes[*node as usize].largest))
            .chain(holders.map(|number| (None, number)))
            .filter(|(_, number)| *number != 0)
            .collect();
        let numbers: Vec<u32> = with_way.iter().map(|(_, number)| *number).collect();
        let (steps, last) = ways(heap, kept, &paths, &numbers);
        let mut way_of_node = vec![None; nodes.len()];
        let mut way_of_number = std::collections::BTreeMap::new();
        for ((node, number), step) in with_way.into_iter().zip(last) {
            way_of_number.insert(number, step);
            if let Some(node) = node {
                way_of_node[node as usize] = Some(step);
            }
        }
        let holders =
            held.iter().zip(&wanted).map(|(node, number)| (*node, way_of_number.get(number).copied()));
        let (holders, threads) = (holders.collect(), threads.to_vec());
        Self { screen, limits, nodes, steps, way_of_node, holders, threads }
    }
}
