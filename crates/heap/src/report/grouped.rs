//! The dominator tree as one looks at it: what an object keeps is grouped by class, what is small
//! is folded, and every byte is somewhere.
//!
//! A *node* is a set of objects of one class that the node above keeps directly. One object that
//! keeps more than all others of its set together is a node by itself. Where objects of a class
//! keep others of the same class (the nodes of a list or of a tree), all of them are one node: such
//! a chain may be as long as the heap. Groups that keep less than the limit are folded into a
//! count. Of every node: retained = own + what is folded + what its children retain.
//!
//! The largest nodes are divided first, so that a limit on their number cuts what is small.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::dominators::joined;
use crate::heap::Heap;
use crate::kept::Kept;
use crate::numbers::NONE;

/// How far the tree is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Groups that keep fewer bytes are folded.
    pub least_bytes: u64,
    /// Nodes so far below the top keep all that is below them folded.
    pub deepest: u32,
    /// From so many nodes on, all that is not divided yet is folded.
    pub most: usize,
}

impl Limits {
    /// What can be seen: a two-thousandth of a picture is less than a pixel of it.
    pub fn of(kept: &Kept) -> Self {
        Self { least_bytes: kept.reachable_bytes().div_ceil(2000).max(1), deepest: 64, most: 20_000 }
    }
}

/// What sort of objects a node has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sort {
    /// All that can be reached: the top.
    All,
    /// Of a class of the application's, or of a library's.
    Application,
    /// Of a class of the JDK's: collections and their parts, above all.
    Jdk,
    /// Arrays of primitive values, and texts.
    Data,
    /// Classes, with their static fields.
    Class,
    /// Class loaders.
    Loader,
    /// Threads.
    Thread,
}

impl Sort {
    /// All sorts, by the codes that a page has for them.
    pub const ALL: [Self; 7] =
        [Self::All, Self::Application, Self::Jdk, Self::Data, Self::Class, Self::Loader, Self::Thread];
}

/// What is too small to be a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Folded {
    /// Objects that the node keeps directly.
    pub objects: u64,
    /// Their classes.
    pub classes: u64,
    /// Bytes that they keep.
    pub bytes: u64,
}

/// A set of objects of one class, kept by the node above.
#[derive(Clone, Debug, Serialize)]
pub struct Node {
    /// The node above, which stands before this one; the top names itself.
    pub parent: u32,
    /// Steps from the top.
    pub depth: u32,
    /// The class, "class C" for a class itself; empty at the top.
    pub name: String,
    /// What sort of objects they are.
    pub sort: Sort,
    /// Objects, those that others of them keep included; 0 at the top.
    pub objects: u64,
    /// Of these, objects that others of them keep.
    pub chained: u64,
    /// Bytes of the objects themselves.
    pub own_bytes: u64,
    /// Bytes that would go with them.
    pub retained_bytes: u64,
    /// What else they keep, in groups that are too small.
    pub folded: Folded,
    /// The one that keeps most, as its number in the dominator tree; 0 at the top.
    pub largest: u32,
    /// Its address; 0 at the top.
    pub address: u64,
}

/// The tree.
#[derive(Clone, Debug)]
pub struct Grouped {
    /// Nodes, each behind the one above it; the first is the top.
    pub nodes: Vec<Node>,
    /// Of the objects that were asked for, the node that each is in, where it is in one.
    pub places: Vec<Option<u32>>,
}

impl Grouped {
    /// Of a heap. `wanted` are numbers of the dominator tree whose nodes are reported.
    pub fn of(heap: &Heap, kept: &Kept, limits: Limits, wanted: &[u32]) -> Self {
        let names = heap.classes.iter().map(|(number, class)| (class.name.as_str(), number)).collect();
        let class_of_classes = heap.classes.named("java.lang.Class").next().unwrap_or(NONE);
        let mut dividing = Dividing {
            heap,
            kept,
            limits,
            names,
            class_of_classes,
            nodes: Vec::new(),
            left: BinaryHeap::new(),
            members: Vec::new(),
            places: wanted.iter().map(|number| (*number, None)).collect(),
        };
        dividing.top();
        while let Some((_, Reverse(node))) = dividing.left.pop() {
            dividing.divide(node);
        }
        let places = wanted.iter().map(|number| dividing.places.get(number).copied().flatten()).collect();
        Self { nodes: dividing.nodes, places }
    }
}

/// So many objects are looked at by several threads.
const MANY: usize = 1 << 14;
/// Threads at a time.
const AT_ONCE: usize = 2;

/// What objects are grouped by: the class, for a class its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Key {
    Of(u32),
    Class(u32),
}

/// What some objects of a node keep.
#[derive(Default)]
struct Inside {
    /// The objects, those of the same class that they keep included, and their own bytes.
    objects: u64,
    own_bytes: u64,
    /// Those of them that were asked for.
    wanted: Vec<u32>,
    /// All that they keep, of other classes; what that keeps, and how many there are, by key.
    children: Vec<u32>,
    groups: FxHashMap<Key, (u64, u64)>,
}

struct Dividing<'a> {
    heap: &'a Heap,
    kept: &'a Kept,
    limits: Limits,
    /// One number for all classes of a name.
    names: FxHashMap<&'a str, u32>,
    class_of_classes: u32,
    nodes: Vec<Node>,
    /// Nodes that are not divided yet, by what they keep.
    left: BinaryHeap<(u64, Reverse<u32>)>,
    /// Of each of these nodes, the objects that the node above keeps.
    members: Vec<Vec<u32>>,
    places: FxHashMap<u32, Option<u32>>,
}

impl Dividing<'_> {
    fn key(&self, number: u32) -> Key {
        let node = self.kept.node(number);
        let class = self.heap.class_number(node);
        if class == self.class_of_classes
            && let Some(named) = self.heap.as_class(node)
        {
            // Classes of one name that several loaders defined are one group.
            return Key::Class(self.names.get(named.name.as_str()).copied().unwrap_or(class));
        }
        Key::Of(class)
    }

    fn top(&mut self) {
        self.nodes.push(Node {
            parent: 0,
            depth: 0,
            name: String::new(),
            sort: Sort::All,
            objects: 0,
            chained: 0,
            own_bytes: 0,
            retained_bytes: self.kept.reachable_bytes(),
            folded: Folded::default(),
            largest: 0,
            address: 0,
        });
        self.members.push(vec![0]);
        self.left.push((self.kept.reachable_bytes(), Reverse(0)));
    }

    /// Gives a node its own bytes, its children and what is folded of it.
    fn divide(&mut self, at: u32) {
        let members = std::mem::take(&mut self.members[at as usize]);
        let own = if at == 0 { None } else { members.first().map(|member| self.key(*member)) };
        // A class that keeps other classes is no chain.
        let own = own.filter(|key| matches!(key, Key::Of(_)));
        // No two of them keep the same object, so that they are looked at side by side.
        let (this, all) = (&*self, members.len());
        let parts = if all < MANY { 1 } else { AT_ONCE };
        let parts: Vec<Inside> = std::thread::scope(|scope| {
            let begin = |part: &[u32]| {
                let part = part.to_vec();
                scope.spawn(move || this.inside(part, own))
            };
            match parts {
                1 => vec![this.inside(members, own)],
                _ => {
                    let begun: Vec<_> = members.chunks(all.div_ceil(parts)).map(begin).collect();
                    drop(members);
                    begun.into_iter().map(joined).collect()
                }
            }
        });
        let mut groups: FxHashMap<Key, (u64, u64)> = FxHashMap::default();
        for part in &parts {
            for (key, (retained, count)) in &part.groups {
                let sum = groups.entry(*key).or_default();
                *sum = (sum.0 + retained, sum.1 + count);
            }
            part.wanted.iter().for_each(|member| {
                self.places.insert(*member, Some(at));
            });
        }
        if at != 0 {
            let node = &mut self.nodes[at as usize];
            node.objects = parts.iter().map(|part| part.objects).sum();
            node.chained = node.objects - all as u64;
            node.own_bytes = parts.iter().map(|part| part.own_bytes).sum();
        }
        let mut folded = Folded::default();
        let mut large: Vec<(Reverse<u64>, Key, u64)> = Vec::new();
        for (key, (retained, count)) in groups {
            if retained >= self.limits.least_bytes && self.nodes[at as usize].depth < self.limits.deepest {
                large.push((Reverse(retained), key, count));
            } else {
                folded.add(retained, count);
            }
        }
        large.sort_unstable();
        let room = self.limits.most.saturating_sub(self.nodes.len());
        for (Reverse(retained), _, count) in large.drain(room.min(large.len())..) {
            folded.add(retained, count);
        }
        // Only the members of groups that become nodes are gathered.
        let mut sets: FxHashMap<Key, Vec<u32>> =
            large.iter().map(|(_, key, count)| (*key, Vec::with_capacity(*count as usize))).collect();
        let children = parts.into_iter().flat_map(|part| part.children);
        for child in children.take(if large.is_empty() { 0 } else { usize::MAX }) {
            if let Some(set) = sets.get_mut(&self.key(child)) {
                set.push(child);
            }
        }
        for (Reverse(retained), key, _) in large {
            let set = sets.remove(&key).unwrap_or_default();
            self.add(at, set, retained, &mut folded);
        }
        self.nodes[at as usize].folded = folded;
    }

    /// What some objects of a node keep, and those of the same class that they keep.
    fn inside(&self, mut members: Vec<u32>, own: Option<Key>) -> Inside {
        let kept = self.kept;
        let mut inside = Inside::default();
        // Few classes have many objects: of many, sums are in a table.
        let classes = if members.len() < MANY { 0 } else { self.heap.classes.count() };
        let mut of_classes = vec![(0_u64, 0_u64); classes];
        let mut next = 0;
        while let Some(member) = members.get(next).copied() {
            next += 1;
            if member != 0 {
                inside.own_bytes += self.heap.size(kept.node(member));
                if self.places.contains_key(&member) {
                    inside.wanted.push(member);
                }
            }
            for child in kept.children(member) {
                let key = self.key(child);
                if Some(key) == own {
                    members.push(child);
                    continue;
                }
                inside.children.push(child);
                let sum = match key {
                    Key::Of(class) if classes > 0 => &mut of_classes[class as usize],
                    _ => inside.groups.entry(key).or_default(),
                };
                *sum = (sum.0 + kept.retained(child), sum.1 + 1);
            }
        }
        let found = (0..).zip(of_classes).filter(|(_, (_, count))| *count > 0);
        inside.groups.extend(found.map(|(class, sum)| (Key::Of(class), sum)));
        inside.objects = members.len() as u64;
        inside
    }

    /// Adds a group as a node, or as several where one of its objects outweighs the others.
    fn add(&mut self, parent: u32, mut set: Vec<u32>, mut retained: u64, folded: &mut Folded) {
        while set.len() > 1 && self.nodes.len() < self.limits.most {
            let by_size = |(_, number): &(usize, &u32)| (self.kept.retained(**number), Reverse(**number));
            let Some((at, largest)) = set.iter().enumerate().max_by_key(by_size) else { break };
            let alone = self.kept.retained(*largest);
            if alone * 2 <= retained || alone < self.limits.least_bytes {
                break;
            }
            let largest = set.swap_remove(at);
            retained -= alone;
            self.push(parent, vec![largest], alone);
        }
        if retained >= self.limits.least_bytes && self.nodes.len() < self.limits.most {
            self.push(parent, set, retained);
        } else if !set.is_empty() {
            folded.add(retained, set.len() as u64);
        }
    }

    fn push(&mut self, parent: u32, set: Vec<u32>, retained: u64) {
        let largest =
            set.iter().copied().max_by_key(|number| (self.kept.retained(*number), Reverse(*number)));
        let largest = largest.unwrap_or(0);
        let (name, sort) = self.named(largest);
        let at = self.nodes.len() as u32;
        self.nodes.push(Node {
            parent,
            depth: self.nodes[parent as usize].depth + 1,
            name,
            sort,
            objects: 0,
            chained: 0,
            own_bytes: 0,
            retained_bytes: retained,
            folded: Folded::default(),
            largest,
            address: self.heap.address(self.kept.node(largest)),
        });
        self.members.push(set);
        self.left.push((retained, Reverse(at)));
    }

    fn named(&self, number: u32) -> (String, Sort) {
        let (heap, node) = (self.heap, self.kept.node(number));
        if let Some(class) = heap.as_class(node) {
            return (format!("class {}", class.name), Sort::Class);
        }
        let class = heap.class(node);
        let is_a = |name| heap.classes.is_a(heap.class_number(node), name);
        let sort = match () {
            () if class.is_array() && class.is_of_the_jdk() && !class.name.contains('.') => Sort::Data,
            () if class.name == "java.lang.String" => Sort::Data,
            () if is_a("java.lang.Thread") => Sort::Thread,
            () if is_a("java.lang.ClassLoader") => Sort::Loader,
            () if class.is_of_the_jdk() => Sort::Jdk,
            () => Sort::Application,
        };
        (class.name.clone(), sort)
    }
}

impl Folded {
    fn add(&mut self, bytes: u64, objects: u64) {
        self.bytes += bytes;
        self.objects += objects;
        self.classes += 1;
    }
}
