//! Who keeps how much: the dominator tree with sizes, and its totals by class, package and loader.
//!
//! The tree is three columns of as many bits as a number needs: whom each object is kept by, the
//! next one that the same keeps, and, of those that keep any, the first of them. What an object
//! keeps is only noted of those, too: of all others it is their own size. Objects are gone through
//! from their first child to the next of them and back up, without a stack.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::bits::Bits;
use crate::column::{Column, Storage};
use crate::dominators::Tree;
use crate::heap::Heap;
use crate::kinds::Kinds;
use crate::numbers::NONE;
use crate::packed::{EIGHT, Packed};
use crate::progress::Phase;

/// The dominator tree of a heap. Objects are identified by their number in it, which is that of the
/// object and one more; 0 stands for all roots together.
#[derive(Debug)]
pub struct Kept {
    kinds: Arc<Kinds>,
    tree: Tree,
    next: Packed,
    /// Numbers that keep others.
    keeps: Bits,
    /// Of those, the first that they keep.
    first: Packed,
    /// Of those, bytes that would go with them, in units of eight.
    retained: Column<u32>,
    /// Where 32 bits do not hold it.
    large: FxHashMap<u32, u64>,
    /// Objects that are reached.
    reached: Bits,
    objects: u32,
    /// Objects that only the one that keeps them refers to, and that refer to nothing but such,
    /// their class apart.
    pub(crate) private: Arc<Bits>,
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
        Self::along_with(heap, |_| ()).0
    }

    /// The same, while something else is done that needs no more than what is reached.
    pub(crate) fn along_with<T: Send>(heap: &Heap, other: impl FnOnce(&Bits) -> T + Send) -> (Self, T) {
        let (private, progress) = (&heap.private, &heap.progress);
        let (kept, reached, other) =
            Tree::along_with(heap, heap.storage, private, progress, other, |tree| Self::with(heap, tree));
        let objects = reached.all();
        (Self { reached, objects, ..kept }, other)
    }

    fn with(heap: &Heap, tree: Tree) -> Self {
        let storage = heap.storage;
        let numbers = heap.len() + 1;
        let mut keeps = Bits::none(storage, numbers as usize);
        (1..numbers).filter_map(|number| tree.dominator(number)).for_each(|above| keeps.add(above));
        let keepers = keeps.count() as usize;
        let mut first = Packed::zeroed(storage, keepers, heap.len()).populated();
        let mut next = Packed::zeroed(storage, numbers as usize, heap.len()).populated();
        // From the end, so that each one's children are in their order.
        for eight in (0..numbers).step_by(EIGHT).rev() {
            let mut behind = [0; EIGHT];
            for (number, behind) in
                (eight..numbers.min(eight.saturating_add(EIGHT as u32))).zip(&mut behind).rev()
            {
                if let Some(above) = tree.dominator(number) {
                    let keeper = keeps.before(above) as usize;
                    *behind = first.get(keeper);
                    first.set(keeper, number);
                }
            }
            next.set_eight(eight as usize, behind);
        }
        let mut kept = Self {
            kinds: Arc::clone(&heap.kinds),
            tree,
            next,
            keeps,
            first,
            retained: Column::zeroed(storage, keepers),
            large: FxHashMap::default(),
            reached: Bits::none(storage, 0),
            objects: 0,
            private: Arc::clone(&heap.private),
        };
        heap.progress.at(Phase::Sizes, 0.5);
        kept.sum_up(storage, numbers as usize);
        heap.progress.at(Phase::Sizes, 1.0);
        kept
    }

    /// Sums up what each one keeps.
    fn sum_up(&mut self, storage: Storage, numbers: usize) {
        let mut retained: Column<u32> = Column::zeroed(storage, self.retained.len());
        retained.populate();
        let mut large = FxHashMap::default();
        // What those above have summed up so far, and the one that is looked at.
        let mut above: Column<u32> = Column::with_room(storage, numbers);
        let mut large_above: Vec<u64> = Vec::new();
        let mut sum = 0_u64;
        self.walk(|number, step| match step {
            Step::Before => {
                // Where 32 bits do not hold it, it is on top of the others.
                above.push(u32::try_from(sum).unwrap_or(u32::MAX));
                if sum >= u64::from(u32::MAX) {
                    large_above.push(sum);
                }
                sum = self.own_units(number);
            }
            Step::Alone => sum += self.own_units(number),
            Step::Behind => {
                match u32::try_from(sum) {
                    Ok(sum) => retained[self.keeps.before(number) as usize] = sum,
                    Err(_) => {
                        retained[self.keeps.before(number) as usize] = u32::MAX;
                        large.insert(number, sum);
                    }
                }
                let last = above.len() - 1;
                sum += match above[last] {
                    u32::MAX => large_above.pop().unwrap_or(0),
                    before => u64::from(before),
                };
                above.truncate(last);
            }
        });
        (self.retained, self.large) = (retained, large);
    }

    /// Bytes that it takes itself, in units of eight; 0 takes nothing.
    #[inline]
    fn own_units(&self, number: u32) -> u64 {
        number.checked_sub(1).map_or(0, |node| u64::from(self.kinds.units(node)))
    }

    /// Goes over all that can be reached, depth first.
    fn walk(&self, mut each: impl FnMut(u32, Step)) {
        let mut number = 0;
        loop {
            while let Some(child) = self.first(number) {
                each(number, Step::Before);
                number = child;
            }
            each(number, Step::Alone);
            loop {
                if number == 0 {
                    return;
                }
                match self.next.get(number as usize) {
                    0 => {
                        number = self.dominator(number);
                        each(number, Step::Behind);
                    }
                    next => {
                        number = next;
                        break;
                    }
                }
            }
        }
    }

    #[inline]
    fn first(&self, number: u32) -> Option<u32> {
        self.keeps.has(number).then(|| self.first.get(self.keeps.before(number) as usize))
    }

    /// Objects that can be reached.
    pub fn objects(&self) -> u32 {
        self.objects
    }

    /// The numbers of all of them.
    pub fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        (1..=self.kinds.objects() as u32).filter(|number| self.reached.has(number - 1))
    }

    /// Whether nothing is reachable.
    pub fn is_empty(&self) -> bool {
        self.objects == 0
    }

    /// Bytes that can be reached.
    pub fn reachable_bytes(&self) -> u64 {
        self.retained(0)
    }

    /// The object of a number; not for 0.
    #[inline]
    pub fn node(&self, number: u32) -> u32 {
        number - 1
    }

    /// The number of an object that can be reached.
    #[inline]
    pub fn number(&self, node: u32) -> Option<u32> {
        let is_one = (node as usize) < self.kinds.objects();
        (is_one && self.reached.has(node)).then(|| node + 1)
    }

    /// How many objects of smaller numbers are private.
    #[inline]
    pub(crate) fn privately(&self, node: u32) -> u32 {
        self.private.before(node)
    }

    /// The number that keeps this one.
    #[inline]
    pub fn dominator(&self, number: u32) -> u32 {
        self.tree.dominator(number).unwrap_or(0)
    }

    /// Bytes that would go with it.
    #[inline]
    pub fn retained(&self, number: u32) -> u64 {
        if self.keeps.has(number) {
            let units = u64::from(self.retained[self.keeps.before(number) as usize]);
            let beyond = units == u64::from(u32::MAX);
            return 8 * if beyond { self.large.get(&number).copied().unwrap_or(units) } else { units };
        }
        if number == 0 { 0 } else { self.kinds.size(number - 1) }
    }

    /// The numbers that it keeps directly.
    #[inline]
    pub fn children(&self, number: u32) -> impl Iterator<Item = u32> + '_ {
        let next = |number: &u32| Some(self.next.get(*number as usize)).filter(|next| *next != 0);
        std::iter::successors(self.first(number), next)
    }

    /// Totals by group. `group` gives each class's groups; an object counts in each of them.
    /// Retained counts an object only where none of its dominators is of the same group.
    pub fn sums<const N: usize>(&self, group: &[[u32; N]], groups: usize) -> Vec<Sum> {
        let mut sums = vec![Sum::default(); groups];
        let table = self.kinds.table();
        // By kind, objects and bytes of those that are not reached and of those that are.
        let mut of_kinds = vec![[(0_u64, 0_u64); 2]; table.len()];
        for node in 0..self.kinds.objects() as u32 {
            let sum = &mut of_kinds[self.kinds.number(node)][usize::from(self.reached.has(node))];
            *sum = (sum.0 + 1, sum.1 + self.kinds.size(node));
        }
        for (kind, [unreached, reached]) in table.iter().zip(of_kinds) {
            for group in group[kind.class as usize] {
                let sum = &mut sums[group as usize];
                sum.objects += reached.0;
                sum.shallow_bytes += reached.1;
                sum.unreachable_objects += unreached.0;
                sum.unreachable_bytes += unreached.1;
            }
        }
        let of = |number: u32| &group[self.kinds.of(number - 1).class as usize];
        // How many of the objects above are of each group.
        let mut above = vec![0_u32; groups];
        self.walk(|number, step| {
            if number == 0 {
                return;
            }
            if step == Step::Behind {
                of(number).iter().for_each(|group| above[*group as usize] -= 1);
                return;
            }
            let mut retained = None;
            for group in of(number) {
                let above = &mut above[*group as usize];
                if *above == 0 {
                    let retained = *retained.get_or_insert_with(|| self.retained(number));
                    sums[*group as usize].retained_bytes += retained;
                }
                *above += u32::from(step == Step::Before);
            }
        });
        sums
    }
}

/// A step of the walk over the tree.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    /// One that keeps others, before them.
    Before,
    /// The same behind them.
    Behind,
    /// One that keeps nobody.
    Alone,
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
        let sums = kept.sums(&groups, next as usize);
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
