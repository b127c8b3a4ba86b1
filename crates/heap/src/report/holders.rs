//! Who holds most: from the roots down the dominator tree to where memory accumulates.
//!
//! What is looked at is a *set* of objects of one class. Its children in the dominator tree are
//! grouped by their class, classes themselves one by one. Where a group of children is large and
//! about as numerous as the set, it is only a link of a chain (a map, its table) and is gone into.
//! Where many children hang below few (a table and its nodes), the set is the place of accumulation
//! and the group are its entries. Where no group is large any more, the set itself is what holds.
//!
//! A list whose nodes keep one another is a chain of children of the same class: its nodes are
//! counted as entries.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use serde::Serialize;

use super::bounds::{Bound, Place, bound};
use super::collections::{is_inner, known, wraps};
use super::held_by::{HeldBy, held_by, thread_local};
use super::loaders::{Loaders, SUSPECT_LOADERS, loaders};
use crate::heap::Heap;
use crate::kept::Kept;
use crate::paths::{Paths, Way};
use crate::records::tag;

/// A holder is reported from this share of what can be reached on.
const TOLD_SHARE: f64 = 0.05;
/// So many times as many children as there are objects above are entries, and no link of a chain.
const FAN_OUT: u64 = 10;
/// Most holders that are reported.
const MOST: usize = 12;
/// Ways to so many members of a set are looked at.
const ALIKE: usize = 5;
/// A collection may have so many fewer entries to itself than it counts, as a part of these.
const COUNTS_MORE: u64 = 10;
/// Links that are followed down: what is deeper is reported at the limit.
const DEEPEST: usize = 64;

/// What holds this share of what can be reached, and has so many entries without a bound, is a
/// suspect.
pub const SUSPECT_SHARE: f64 = 0.1;
/// See [`SUSPECT_SHARE`].
pub const SUSPECT_ENTRIES: u64 = 1000;

/// The largest holders.
#[derive(Clone, Debug, Serialize)]
pub struct Holders {
    /// Largest first.
    pub all: Vec<Holder>,
}

/// What accumulates in a place.
#[derive(Clone, Debug, Serialize)]
pub struct Entries {
    /// Their class, wrappers of the JDK left out.
    pub class: String,
    /// How many.
    pub count: u64,
    /// Bytes that they keep.
    pub retained_bytes: u64,
}

impl Suspicion {
    /// The same in one word, as in JSON.
    pub fn id(&self) -> &'static str {
        match self {
            Self::UnboundedEntries => "unbounded-entries",
            Self::RepeatedLoaders => "repeated-loaders",
            Self::ThreadLocals => "thread-locals",
            Self::Finalizers => "finalizers",
        }
    }
}

/// Why a holder is a suspect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Suspicion {
    /// Many entries, a large share, no bound seen.
    UnboundedEntries,
    /// A class was defined again and again, and the old loaders are still held.
    RepeatedLoaders,
    /// Threads that live on keep values of a `ThreadLocal`.
    ThreadLocals,
    /// Objects wait for their finalizers.
    Finalizers,
}

/// An object, or a set of objects of one class, that keeps much.
#[derive(Clone, Debug, Serialize)]
pub struct Holder {
    /// The class of what holds: the collection, or without one the object itself.
    pub class: String,
    /// How many of them.
    pub objects: u64,
    /// One of them, the largest.
    pub address: u64,
    /// Bytes that they keep.
    pub retained_bytes: u64,
    /// Of what can be reached.
    pub share: f64,
    /// Where memory accumulates: the class of the table, array or list inside.
    pub accumulates_in: Option<String>,
    /// What accumulates.
    pub entries: Option<Entries>,
    /// Class loaders that are kept with it.
    pub loaders: Option<Loaders>,
    /// Classes from the first object that keeps it down to it.
    pub dominators: Vec<String>,
    /// The static field through which it is held: "Sessions.OPEN".
    pub static_field: Option<String>,
    /// The class loader of the class of that field; none: the boot loader's.
    pub loader: Option<String>,
    /// Threads that keep it, by name.
    pub threads: Vec<String>,
    /// The static field with the `ThreadLocal` whose values they keep: "Codec.BUFFER".
    pub thread_local: Option<String>,
    /// Where nothing alone keeps it: the roots that refer to it, or to what it is in, without
    /// another object in between.
    pub held_by: Vec<HeldBy>,
    /// The shortest way from a root to one of them.
    pub way: Way,
    /// What says that it cannot grow further.
    pub bound: Option<Bound>,
    /// Why it is a suspect.
    pub suspicion: Option<Suspicion>,
}

/// A set of objects of one class and how it was come to.
#[derive(Clone)]
struct Set {
    members: Vec<u32>,
    retained: u64,
    above: Vec<String>,
}

struct Search<'a> {
    heap: &'a Heap,
    kept: &'a Kept,
    paths: &'a Paths<'a>,
    /// By class, the number of the first one of its name.
    names: Vec<u32>,
    least: u64,
    found: Vec<Holder>,
}

impl Holders {
    /// Of a heap.
    pub fn of(heap: &Heap, kept: &Kept, paths: &Paths<'_>) -> Self {
        let least = (kept.reachable_bytes() as f64 * TOLD_SHARE) as u64;
        let mut first: FxHashMap<&str, u32> = FxHashMap::default();
        let named = heap.classes.iter().map(|(number, class)| *first.entry(&class.name).or_insert(number));
        let names = named.collect();
        let mut search = Search { heap, kept, paths, names, least: least.max(1), found: Vec::new() };
        let mut left = search.groups(&[0], &[]);
        left.retain(|set| set.retained >= search.least);
        while let Some(set) = left.pop() {
            left.extend(search.go_into(set));
        }
        let mut all = search.found;
        all.sort_by(|a, b| b.retained_bytes.cmp(&a.retained_bytes).then_with(|| a.class.cmp(&b.class)));
        all.truncate(MOST);
        Self { all }
    }
}

impl Search<'_> {
    /// The children of a set in groups, largest first.
    fn groups(&self, members: &[u32], above: &[String]) -> Vec<Set> {
        let mut groups: FxHashMap<u64, (u64, u32)> = FxHashMap::default();
        // Classes of one name that several loaders defined are one group, as are their instances.
        let key = |child: u32| {
            let node = self.kept.node(child);
            match self.heap.tag(node) {
                tag::CLASS => {
                    1 << 32 | u64::from(self.heap.mirrors.get(&node).map_or(0, |class| self.named(*class)))
                }
                _ => u64::from(self.name_of(node)),
            }
        };
        for child in members.iter().flat_map(|member| self.kept.children(*member)) {
            let (retained, count) = groups.entry(key(child)).or_default();
            *retained += self.kept.retained(child);
            *count += 1;
        }
        // Only the members of groups that matter are gathered.
        let mut sets: FxHashMap<u64, Set> = FxHashMap::default();
        for (group, (retained, count)) in
            groups.into_iter().filter(|(_, (retained, _))| *retained >= self.least)
        {
            let members = Vec::with_capacity(count as usize);
            sets.insert(group, Set { members, retained, above: above.to_vec() });
        }
        if !sets.is_empty() {
            for child in members.iter().flat_map(|member| self.kept.children(*member)) {
                if let Some(set) = sets.get_mut(&key(child)) {
                    set.members.push(child);
                }
            }
        }
        let mut sets: Vec<Set> = sets.into_values().collect();
        sets.sort_by_key(|set| (std::cmp::Reverse(set.retained), set.members[0]));
        sets
    }

    fn named(&self, class: u32) -> u32 {
        self.names[class as usize]
    }

    /// What stands for the name of an object's class.
    fn name_of(&self, node: u32) -> u32 {
        self.named(self.heap.class_number(node))
    }

    fn class(&self, number: u32) -> String {
        let node = self.kept.node(number);
        self.heap
            .as_class(node)
            .map_or_else(|| self.heap.class(node).name.clone(), |class| format!("class {}", class.name))
    }

    /// What is inside of a set: further sets to go into, or a holder that is noted.
    fn go_into(&mut self, mut set: Set) -> Vec<Set> {
        // One that outweighs the others is looked at by itself.
        if set.members.len() > 1 {
            let largest =
                set.members.iter().copied().max_by_key(|member| self.kept.retained(*member)).unwrap_or(0);
            let alone = self.kept.retained(largest);
            if alone * 2 > set.retained {
                let rest = set.members.iter().copied().filter(|member| *member != largest).collect();
                let rest = Set { members: rest, retained: set.retained - alone, above: set.above.clone() };
                set = Set { members: vec![largest], retained: alone, above: set.above };
                return [Some(set), Some(rest).filter(|rest| rest.retained >= self.least)]
                    .into_iter()
                    .flatten()
                    .collect();
            }
        }
        let name = self.class(set.members[0]);
        let above = [&set.above[..], std::slice::from_ref(&name)].concat();
        let groups = self.groups(&set.members, &above);
        let inside: u64 = groups.iter().map(|group| group.retained).sum();
        if set.members.len() as u64 >= SUSPECT_LOADERS && self.is_loader(self.kept.node(set.members[0])) {
            let count = set.members.len() as u64;
            self.note(&set, &above, Some(Entries { class: name, count, retained_bytes: set.retained }));
            return Vec::new();
        }
        let fans_out = groups.first().is_some_and(|group| {
            group.retained * 2 > set.retained
                && group.members.len() as u64 >= FAN_OUT * set.members.len() as u64
        });
        if let Some(first) = groups.first().filter(|_| fans_out) {
            let entries = self.entries(first);
            self.note(&set, &above, Some(entries));
            return Vec::new();
        }
        if let Some(chain) = groups.first().filter(|group| self.class(group.members[0]) == name) {
            let nodes = self.entries(chain);
            if nodes.count >= FAN_OUT * set.members.len() as u64 {
                self.note(&set, &above, Some(nodes));
                return Vec::new();
            }
        }
        if above.len() >= DEEPEST || set.retained.saturating_sub(inside) >= self.least.max(inside) {
            self.note(&set, &above, None);
            return if above.len() >= DEEPEST { Vec::new() } else { groups };
        }
        groups
    }

    /// The entries of a group: those that others of them keep are counted, too; wrappers of the JDK
    /// are looked into.
    fn entries(&self, group: &Set) -> Entries {
        let class = self.name_of(self.kept.node(group.members[0]));
        let mut members = group.members.clone();
        let mut at = 0;
        while let Some(member) = members.get(at).copied() {
            at += 1;
            // A class that keeps other classes is one entry.
            let same = |child: &u32| {
                let node = self.kept.node(*child);
                self.name_of(node) == class && self.heap.tag(node) != tag::CLASS
            };
            members.extend(self.kept.children(member).filter(same));
        }
        let (mut count, retained_bytes) = (members.len() as u64, group.retained);
        let mut name = self.class(members[0]);
        // A node's value says more than the node.
        for _ in 0..3 {
            // A text is not its array.
            let is_wrapper =
                is_inner(&name) || self.heap.class(self.kept.node(members[0])).strength.is_some();
            if name.starts_with("class ") || !is_wrapper {
                break;
            }
            let mut inside: FxHashMap<u32, (u64, u64)> = FxHashMap::default();
            for child in members.iter().flat_map(|member| self.kept.children(*member)) {
                let child_class = self.name_of(self.kept.node(child));
                if child_class != class {
                    let (bytes, count) = inside.entry(child_class).or_default();
                    *bytes += self.kept.retained(child);
                    *count += 1;
                }
            }
            let values = inside.into_iter().filter(|(_, (_, n))| *n * 2 >= count && *n <= count + count / 4);
            let Some((value, (bytes, _))) = values.max_by_key(|(class, (bytes, _))| (*bytes, *class)) else {
                break;
            };
            if bytes * 3 < retained_bytes {
                break;
            }
            let next = members.iter().flat_map(|member| self.kept.children(*member));
            members = next.filter(|c| self.name_of(self.kept.node(*c)) == value).collect();
            name = self.heap.classes.get(value).name.clone();
            count = members.len() as u64;
        }
        Entries { class: name, count, retained_bytes }
    }

    /// Notes a holder.
    fn note(&mut self, set: &Set, above: &[String], entries: Option<Entries>) {
        let (heap, kept) = (self.heap, self.kept);
        let largest = set
            .members
            .iter()
            .copied()
            .max_by_key(|m| (kept.retained(*m), std::cmp::Reverse(*m)))
            .unwrap_or(0);
        // The collection is what one names, not its table.
        let mut named = largest;
        let mut up = 0;
        while is_inner(&self.class(named)) && kept.dominator(named) != 0 && above.len() > up + 1 {
            named = kept.dominator(named);
            up += 1;
        }
        // As is what a set has its elements in.
        while kept.dominator(named) != 0 && wraps(&self.class(kept.dominator(named))) {
            named = kept.dominator(named);
        }
        let nodes = self.way(named);
        let entries = entries.map(|entries| self.as_it_counts(named, set, entries));
        let share = set.retained as f64 / kept.reachable_bytes().max(1) as f64;
        let loaders = if share < SUSPECT_SHARE { None } else { loaders(heap, kept, &set.members) };
        let field = self.static_field(&nodes);
        // What holds one of many may not hold the others.
        let field = field.filter(|(class, name)| {
            let class = heap.as_class(*class).map_or("", |class| &class.name);
            let alike =
                |member: &u32| self.static_field(&self.way(*member)).is_some_and(|(_, of)| of == *name);
            set.members.len() == 1
                || above.iter().any(|name| name.strip_prefix("class ") == Some(class))
                || loaders.is_some() && set.members.iter().take(ALIKE).all(alike)
        });
        let loader = field.as_ref().and_then(|(class, _)| {
            let loader = heap.as_class(*class).and_then(|class| heap.find(class.loader))?;
            Some(heap.class(loader).name.clone())
        });
        let threads = self.threads(set);
        let count = entries.as_ref().map_or(0, |entries| entries.count);
        let mut inside = vec![largest];
        inside.extend(set.members.iter().copied().filter(|member| *member != largest));
        let entries_each = count.div_ceil(set.members.len().max(1) as u64);
        let place = Place { way: &nodes, inside: &inside, entries: entries_each };
        let bound = bound(heap, kept, &place);
        let bound = bound.filter(|_| loaders.is_none());
        let in_thread_local = above.iter().any(|class| class == "java.lang.ThreadLocal$ThreadLocalMap");
        let suspicion = match () {
            _ if share < SUSPECT_SHARE || bound.is_some() => None,
            _ if loaders.is_some() || self.are_loaders(entries.as_ref()) => Some(Suspicion::RepeatedLoaders),
            _ if in_thread_local && threads.len() > 1 => Some(Suspicion::ThreadLocals),
            _ if count < SUSPECT_ENTRIES => None,
            _ if above.iter().any(|class| class.ends_with("java.lang.ref.Finalizer")) => {
                Some(Suspicion::Finalizers)
            }
            _ => Some(Suspicion::UnboundedEntries),
        };
        self.found.push(Holder {
            class: self.class(named),
            objects: set.members.len() as u64,
            address: heap.address(kept.node(named)),
            retained_bytes: set.retained,
            share,
            loaders,
            accumulates_in: (named != largest).then(|| self.class(largest)),
            entries,
            dominators: above.to_vec(),
            static_field: field.map(|(_, name)| name),
            loader,
            thread_local: if in_thread_local { thread_local(heap, kept, &set.members) } else { None },
            threads,
            held_by: if set.members.len() == 1 { held_by(heap, kept, named) } else { Vec::new() },
            way: self.paths.way(named),
            bound,
            suspicion,
        });
    }

    /// The objects of the shortest way from a root.
    fn way(&self, number: u32) -> Vec<u32> {
        self.paths.to(number).into_iter().map(|number| self.kept.node(number)).collect()
    }

    /// The last static field of a way, with its class.
    fn static_field(&self, way: &[u32]) -> Option<(u32, String)> {
        way.windows(2).rev().filter(|pair| self.heap.tag(pair[0]) == tag::CLASS).find_map(|pair| {
            match self.heap.edge(pair[0], pair[1]) {
                crate::Edge::Static { class, name } => Some((pair[0], format!("{class}.{name}"))),
                _ => None,
            }
        })
    }

    fn is_loader(&self, node: u32) -> bool {
        self.heap.classes.is_a(self.heap.class_number(node), "java.lang.ClassLoader")
    }

    /// Entries that something else refers to as well are the collection's all the same: it says how
    /// many there are.
    fn as_it_counts(&self, named: u32, set: &Set, entries: Entries) -> Entries {
        let mut at = Some(named);
        // A set is counted by its map.
        while let Some(number) = at.filter(|number| wraps(&self.class(*number))) {
            at = self.kept.children(number).max_by_key(|child| self.kept.retained(*child));
        }
        let counted = at.filter(|_| set.members.len() == 1).and_then(|number| {
            let node = self.kept.node(number);
            let size = match known(self.heap, self.heap.class_number(node)) {
                Some((size, _)) => self.heap.number(node, size)?,
                // Of a LinkedBlockingDeque a number, of a LinkedBlockingQueue an AtomicInteger.
                None if !self.heap.class(node).is_of_the_jdk() => return None,
                None => self.heap.number(node, "count").or_else(|| {
                    let count = self.heap.object(node, "count")?;
                    self.heap.number(count, "value")
                })?,
            };
            u64::try_from(size).ok()
        });
        let count = entries.count;
        let is_near = |size: &u64| *size >= count && *size - count <= count / COUNTS_MORE;
        Entries { count: counted.filter(is_near).unwrap_or(count), ..entries }
    }

    /// Whether entries are class loaders, or classes of one name, which keep their loaders.
    fn are_loaders(&self, entries: Option<&Entries>) -> bool {
        let Some(entries) = entries.filter(|entries| entries.count >= SUSPECT_LOADERS) else { return false };
        let classes = &self.heap.classes;
        entries.class.starts_with("class ")
            || classes.named(&entries.class).any(|class| classes.is_a(class, "java.lang.ClassLoader"))
    }

    /// Names of the threads that keep a set, one for each of them: threads of a pool may share one,
    /// and have none in a copy without values.
    fn threads(&self, set: &Set) -> Vec<String> {
        let mut threads = BTreeSet::new();
        let mut of_class: FxHashMap<u32, bool> = FxHashMap::default();
        for member in &set.members {
            let mut at = *member;
            while at != 0 {
                let node = self.kept.node(at);
                let class = self.heap.class_number(node);
                let is_a = || self.heap.classes.is_a(class, "java.lang.Thread");
                if *of_class.entry(class).or_insert_with(is_a) {
                    threads.insert(node);
                    break;
                }
                at = self.kept.dominator(at);
            }
        }
        let mut names: Vec<String> = threads.into_iter().map(|node| self.heap.thread_label(node)).collect();
        names.sort();
        names
    }
}
