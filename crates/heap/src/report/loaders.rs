//! Class loaders that are kept though what they loaded was loaded again: by a list of plug-ins, by
//! what wraps one, by threads that a plug-in began.

use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

use crate::heap::Heap;
use crate::kept::Kept;

/// So many loaders that define a class of the same name are a suspect.
pub const SUSPECT_LOADERS: u64 = 3;
/// Objects of a set that are looked at, and what each of them keeps.
const MEMBERS: usize = 1000;
const INSIDE: usize = 200;

/// Loaders of one class that defined a class of the same name each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Loaders {
    /// Their class.
    pub class: String,
    /// How many.
    pub count: u64,
    /// A class that each of them, or most of them, defined.
    pub repeated: String,
}

/// The loaders that go with the objects of a set: what these are, are instances of, keep, or are
/// kept by.
pub(crate) fn loaders(heap: &Heap, kept: &Kept, members: &[u32]) -> Option<Loaders> {
    let mut found: FxHashMap<&str, FxHashSet<u32>> = FxHashMap::default();
    // What a list keeps is looked at as much as what several of them do.
    let each = INSIDE.max(MEMBERS * INSIDE / members.len().max(1) / 10);
    for member in members.iter().take(MEMBERS) {
        for loader in of(heap, kept, *member, each) {
            found.entry(&heap.class(loader).name).or_default().insert(loader);
        }
    }
    let largest = found.into_iter().max_by_key(|(class, loaders)| (loaders.len(), *class));
    let (class, loaders) = largest.filter(|(_, loaders)| loaders.len() as u64 >= SUSPECT_LOADERS)?;
    let mut defined: FxHashMap<&str, u64> = FxHashMap::default();
    for loader in &loaders {
        let classes = heap.extra(*loader).iter().filter_map(|node| heap.as_class(*node));
        let names: FxHashSet<&str> =
            classes.filter(|class| !class.hidden).map(|class| class.name.as_str()).collect();
        names.into_iter().for_each(|name| *defined.entry(name).or_default() += 1);
    }
    let most = defined.into_iter().max_by(|(a, n), (b, m)| n.cmp(m).then(b.cmp(a)));
    let (repeated, times) = most.filter(|(_, times)| *times >= SUSPECT_LOADERS)?;
    // Applications that run side by side may have a library in common.
    (times * 2 > loaders.len() as u64).then(|| Loaders {
        class: class.to_owned(),
        count: loaders.len() as u64,
        repeated: repeated.to_owned(),
    })
}

/// The loaders that go with an object.
fn of(heap: &Heap, kept: &Kept, number: u32, most: usize) -> Vec<u32> {
    let is_loader = |node: u32| heap.classes.is_a(heap.class_number(node), "java.lang.ClassLoader");
    let of_class = |node: u32| {
        let class = heap.as_class(node).unwrap_or_else(|| heap.class(node));
        heap.find(class.loader)
    };
    let mut found: Vec<u32> = Vec::new();
    let mut at = number;
    while at != 0 {
        let node = kept.node(at);
        found.extend(of_class(node).into_iter().chain(Some(node).filter(|node| is_loader(*node))));
        at = kept.dominator(at);
    }
    let mut inside = vec![number];
    let mut next = 0;
    while let Some(at) = inside.get(next).copied() {
        next += 1;
        for child in kept.children(at).take(most) {
            let node = kept.node(child);
            if is_loader(node) {
                found.push(node);
            } else if inside.len() < most {
                inside.push(child);
            }
        }
    }
    found
}
