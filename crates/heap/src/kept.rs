//! Who keeps how much: the dominator tree with sizes, and its totals by class, package and loader.

use rustc_hash::FxHashMap;

use crate::column::Column;
use crate::dominators::{NONE, Tree};
use crate::heap::Heap;
use crate::offsets::Offsets;

/// The dominator tree of a heap. Objects are told by their number in it; 0 stands for all roots
/// together.
#[derive(Debug)]
pub struct Kept {
    tree: Tree,
    /// The number of each object; [`NONE`] for what nothing reaches.
    number: Column<u32>,
    retained: Column<u64>,
    offsets: Offsets,
    children: Column<u32>,
}

/// What a group of objects takes and keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Sum {
    /// Objects that can be reached.
    pub objects: u64,
    /// Bytes that they take themselves.
    pub shallow_bytes: u64,
    /// Bytes that would go if any one of them went and took what it keeps along: what several keep
    /// together only is not in it.
    pub retained_bytes: u64,
    /// Objects of the group that nothing reaches.
    pub unreachable_objects: u64,
    /// Bytes that these take.
    pub unreachable_bytes: u64,
}

impl Kept {
    /// Of a heap.
    pub fn of(heap: &Heap) -> Self {
        let storage = heap.storage;
        let tree = Tree::of(heap, storage);
        let mut retained: Column<u64> = Column::zeroed(storage, tree.order.len());
        for number in (1..tree.order.len()).rev() {
            retained[number] += heap.size(tree.order[number]);
            retained[tree.dominator[number] as usize] += retained[number];
        }
        let (offsets, children) = Offsets::fill(storage, tree.order.len(), |add| {
            for (number, dominator) in tree.dominator.iter().enumerate().skip(1) {
                add(*dominator, number as u32);
            }
        });
        let mut number = Column::filled(storage, heap.len() as usize, NONE);
        for (at, node) in tree.order.iter().enumerate().skip(1) {
            number[*node as usize] = at as u32;
        }
        Self { tree, number, retained, offsets, children }
    }

    /// Numbers, that of the roots included.
    pub fn len(&self) -> usize {
        self.tree.order.len()
    }

    /// Whether nothing is reachable.
    pub fn is_empty(&self) -> bool {
        self.len() < 2
    }

    /// Bytes that can be reached.
    pub fn reachable_bytes(&self) -> u64 {
        self.retained[0]
    }

    /// The object of a number; not for 0.
    #[inline]
    pub fn node(&self, number: u32) -> u32 {
        self.tree.order[number as usize]
    }

    /// The number of an object that can be reached.
    #[inline]
    pub fn number(&self, node: u32) -> Option<u32> {
        self.number.get(node as usize).copied().filter(|number| *number != NONE)
    }

    /// The number that keeps this one.
    #[inline]
    pub fn dominator(&self, number: u32) -> u32 {
        self.tree.dominator[number as usize]
    }

    /// Bytes that would go with it.
    #[inline]
    pub fn retained(&self, number: u32) -> u64 {
        self.retained[number as usize]
    }

    /// The numbers that it keeps directly.
    #[inline]
    pub fn children(&self, number: u32) -> &[u32] {
        &self.children[self.offsets.row(number as usize)]
    }

    /// Totals by group. `group` gives each class's groups; an object counts in each of them.
    /// Retained counts an object only where none of its dominators is of the same group.
    pub fn sums<const N: usize>(&self, heap: &Heap, group: &[[u32; N]], groups: usize) -> Vec<Sum> {
        let mut sums = vec![Sum::default(); groups];
        for node in 0..heap.len() {
            let reachable = self.number[node as usize] != NONE;
            for group in group[heap.class_number(node) as usize] {
                let sum = &mut sums[group as usize];
                if reachable {
                    sum.objects += 1;
                    sum.shallow_bytes += heap.size(node);
                } else {
                    sum.unreachable_objects += 1;
                    sum.unreachable_bytes += heap.size(node);
                }
            }
        }
        // How many of the objects above are of each group, while the tree is walked depth first.
        let mut above = vec![0_u32; groups];
        let mut stack: Vec<(u32, u32)> = vec![(0, 0)];
        while let Some((number, next)) = stack.last_mut() {
            if let Some(child) = self.children(*number).get(*next as usize) {
                *next += 1;
                let child = *child;
                for group in group[heap.class_number(self.node(child)) as usize] {
                    if above[group as usize] == 0 {
                        sums[group as usize].retained_bytes += self.retained(child);
                    }
                    above[group as usize] += 1;
                }
                stack.push((child, 0));
                continue;
            }
            if *number != 0 {
                for group in group[heap.class_number(self.node(*number)) as usize] {
                    above[group as usize] -= 1;
                }
            }
            stack.pop();
        }
        sums
    }
}

/// Classes, packages and loaders with their totals, largest retained first.
#[derive(Debug)]
pub struct Totals {
    /// By the name of a class.
    pub classes: Vec<(String, Sum)>,
    /// By package; "" is the one without a name.
    pub packages: Vec<(String, Sum)>,
    /// By the object of a loader; [`NONE`] is the boot loader.
    pub loaders: Vec<(u32, Sum)>,
}

impl Totals {
    /// Of a heap.
    pub fn of(heap: &Heap, kept: &Kept) -> Self {
        let mut names: FxHashMap<String, u32> = FxHashMap::default();
        let mut packages: FxHashMap<String, u32> = FxHashMap::default();
        let mut loaders: FxHashMap<u32, u32> = FxHashMap::default();
        let mut next = 0;
        let mut new = || {
            next += 1;
            next - 1
        };
        let mut groups = Vec::with_capacity(heap.classes.count());
        for (_, class) in heap.classes.iter() {
            let by_name = *names.entry(class.name.clone()).or_insert_with(&mut new);
            let by_package = *packages.entry(class.package().to_owned()).or_insert_with(&mut new);
            let loader = heap.find(class.loader).unwrap_or(NONE);
            groups.push([by_name, by_package, *loaders.entry(loader).or_insert_with(&mut new)]);
        }
        let sums = kept.sums(heap, &groups, next as usize);
        Self {
            classes: ranked(names, &sums),
            packages: ranked(packages, &sums),
            loaders: ranked(loaders, &sums),
        }
    }
}

fn ranked<K: Ord>(keys: FxHashMap<K, u32>, sums: &[Sum]) -> Vec<(K, Sum)> {
    let mut all: Vec<(K, Sum)> = keys.into_iter().map(|(key, group)| (key, sums[group as usize])).collect();
    all.retain(|(_, sum)| sum.objects + sum.unreachable_objects > 0);
    all.sort_by(|(a, x), (b, y)| y.retained_bytes.cmp(&x.retained_bytes).then_with(|| a.cmp(b)));
    all
}
