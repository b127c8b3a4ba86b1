//! Two dumps of one program: what grew, by class and by where it is kept.
//!
//! Objects have no identity across dumps: a collection moves them. What can be compared with each
//! other are classes, and *chains of classes* in the dominator tree: "class Sessions →
//! ConcurrentHashMap → Node[] → Node → Session".

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::heap::Heap;
use crate::kept::{Kept, Totals};
use crate::report::{Brief, is_inner};

/// Links of a chain that are followed.
const DEEPEST: usize = 16;
/// Chains that keep less than this share of the heap are not followed.
const LEAST_SHARE: f64 = 0.002;

/// So many times as many objects as one link above are what accumulates.
const FAN_OUT: u64 = 10;

/// What is kept of a heap to compare it with another one.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Bytes that can be reached.
    pub bytes: u64,
    /// Objects that can be reached.
    pub objects: u64,
    /// Objects, shallow and retained bytes by class.
    pub classes: BTreeMap<String, (u64, u64, u64)>,
    /// Objects and retained bytes by chain of classes.
    pub chains: BTreeMap<Vec<String>, (u64, u64)>,
}

/// A class in both dumps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ClassGrowth {
    /// Its name.
    pub class: String,
    /// Objects before and after.
    pub objects: [u64; 2],
    /// Bytes of the objects before and after.
    pub shallow_bytes: [u64; 2],
    /// Bytes that they keep, before and after.
    pub retained_bytes: [u64; 2],
}

/// A chain in both dumps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChainGrowth {
    /// Classes from the roots down.
    pub chain: Vec<String>,
    /// Objects at its end, before and after.
    pub objects: [u64; 2],
    /// Bytes that they keep, before and after.
    pub retained_bytes: [u64; 2],
}

/// What grew from one dump to the next.
#[derive(Clone, Debug, Serialize)]
pub struct Growth {
    /// The form of this: "fathom.heap-growth/1".
    pub schema: &'static str,
    /// Bytes that can be reached, before and after.
    pub bytes: [u64; 2],
    /// Objects that can be reached, before and after.
    pub objects: [u64; 2],
    /// Classes by how much their own bytes grew.
    pub classes: Vec<ClassGrowth>,
    /// Where growth is kept: chains down to where objects become many, or to where growth divides.
    pub chains: Vec<ChainGrowth>,
}

impl Summary {
    /// Of a heap.
    pub fn of(heap: &Heap, kept: &Kept) -> Self {
        let totals = Totals::of(heap, kept);
        let classes = totals.classes.into_iter().filter(|(_, sum)| sum.objects > 0);
        let classes =
            classes.map(|(name, sum)| (name, (sum.objects, sum.shallow_bytes, sum.retained_bytes))).collect();
        let mut summary = Self {
            bytes: kept.reachable_bytes(),
            objects: u64::from(kept.objects()),
            classes,
            chains: BTreeMap::new(),
        };
        let least = ((kept.reachable_bytes() as f64 * LEAST_SHARE) as u64).max(1);
        summary.follow(heap, kept, least);
        summary
    }

    /// Bytes that objects keep at the end of a chain of classes from the roots down, in which the
    /// nodes of a list, which keep one another, may be listed one by one. 0 where they keep too
    /// little to be followed.
    pub fn kept_at<'a>(&self, classes: impl IntoIterator<Item = &'a str>) -> u64 {
        let mut chain: Vec<String> = Vec::new();
        for class in classes {
            if chain.last().is_none_or(|last| last != class) {
                chain.push(class.to_owned());
            }
        }
        self.chains.get(&chain).map_or(0, |(_, retained)| *retained)
    }

    fn follow(&mut self, heap: &Heap, kept: &Kept, least: u64) {
        let mut left: Vec<(Vec<String>, Vec<u32>)> = vec![(Vec::new(), vec![0])];
        while let Some((chain, members)) = left.pop() {
            let mut groups: FxHashMap<String, (u64, Vec<u32>)> = FxHashMap::default();
            let mut names: FxHashMap<u32, String> = FxHashMap::default();
            for child in members.iter().flat_map(|member| kept.children(*member)) {
                let node = kept.node(child);
                let name = match heap.as_class(node) {
                    Some(_) => Brief::of(heap, kept, node).class,
                    None => {
                        let class = heap.class_number(node);
                        names.entry(class).or_insert_with(|| heap.class(node).name.clone()).clone()
                    }
                };
                let (bytes, members) = groups.entry(name).or_default();
                *bytes += kept.retained(child);
                members.push(child);
            }
            for (name, (bytes, members)) in groups.into_iter().filter(|(_, (bytes, _))| *bytes >= least) {
                // The nodes of a list keep one another: the chain does not get longer by them.
                let repeats = chain.last() == Some(&name);
                let deeper = if repeats { chain.clone() } else { [&chain[..], &[name]].concat() };
                let (objects, retained) = self.chains.entry(deeper.clone()).or_default();
                *objects += members.len() as u64;
                if !repeats {
                    *retained += bytes;
                }
                if deeper.len() < DEEPEST {
                    left.push((deeper, members));
                }
            }
        }
    }
}

impl Growth {
    /// From one to the other; `top` rows each.
    pub fn between(before: &Summary, after: &Summary, top: usize) -> Self {
        let mut classes: Vec<ClassGrowth> = before
            .classes
            .keys()
            .chain(after.classes.keys().filter(|name| !before.classes.contains_key(*name)))
            .map(|name| {
                let of = |summary: &Summary| summary.classes.get(name).copied().unwrap_or_default();
                let (a, b) = (of(before), of(after));
                let class = name.clone();
                ClassGrowth {
                    class,
                    objects: [a.0, b.0],
                    shallow_bytes: [a.1, b.1],
                    retained_bytes: [a.2, b.2],
                }
            })
            .collect();
        let by = |[a, b]: [u64; 2]| i128::from(b) - i128::from(a);
        classes.retain(|class| class.objects[0] != class.objects[1] || by(class.shallow_bytes) != 0);
        classes.sort_by_key(|class| (-by(class.shallow_bytes).abs(), class.class.clone()));
        classes.truncate(top);
        let grown = |chain: &Vec<String>| {
            let of = |summary: &Summary| summary.chains.get(chain).map_or((0, 0), |chain| *chain);
            let (a, b) = (of(before), of(after));
            ChainGrowth { chain: chain.clone(), objects: [a.0, b.0], retained_bytes: [a.1, b.1] }
        };
        let all: Vec<ChainGrowth> = after.chains.keys().map(grown).collect();
        let least = (i128::from(after.bytes) / 100).max(1);
        let mut chains: Vec<ChainGrowth> = Vec::new();
        // A chain comes before all that it is the beginning of.
        for chain in all.iter().filter(|chain| by(chain.retained_bytes) >= least) {
            if !chains.iter().any(|listed| chain.chain.starts_with(&listed.chain))
                && is_the_place(&all, chain)
            {
                chains.push(chain.clone());
            }
        }
        for chain in &mut chains {
            while let Some(value) = value_of(&all, chain) {
                chain.chain = value;
            }
        }
        chains.sort_by_key(|chain| (-by(chain.retained_bytes), chain.chain.clone()));
        chains.truncate(top);
        Self {
            schema: "fathom.heap-growth/1",
            bytes: [before.bytes, after.bytes],
            objects: [before.objects, after.objects],
            classes,
            chains,
        }
    }
}

/// Bytes that a chain's end keeps more than before.
fn growth_of(chain: &ChainGrowth) -> i128 {
    i128::from(chain.retained_bytes[1]) - i128::from(chain.retained_bytes[0])
}

/// Chains that are one link longer.
fn longer<'a>(all: &'a [ChainGrowth], chain: &'a ChainGrowth) -> impl Iterator<Item = &'a ChainGrowth> {
    let next = chain.chain.len() + 1;
    all.iter().filter(move |other| other.chain.len() == next && other.chain.starts_with(&chain.chain))
}

/// Whether growth is kept at the end of a chain: there are many more objects than one link above,
/// or no longer chain holds half of it.
fn is_the_place(all: &[ChainGrowth], chain: &ChainGrowth) -> bool {
    let above = &chain.chain[..chain.chain.len() - 1];
    let above = all.iter().find(|other| other.chain == above).map_or(1, |above| above.objects[1]);
    let fans_out = !above_is_roots(chain) && chain.objects[1] >= FAN_OUT * above.max(1);
    fans_out || !longer(all, chain).any(|longer| 2 * growth_of(longer) >= growth_of(chain))
}

fn above_is_roots(chain: &ChainGrowth) -> bool {
    chain.chain.len() < 2
}

/// What a node of a collection has for its value, where most of its bytes are there: it says more
/// than the node.
fn value_of(all: &[ChainGrowth], chain: &ChainGrowth) -> Option<Vec<String>> {
    let is_node = chain.chain.last().is_some_and(|name| is_inner(name));
    let value = longer(all, chain).max_by_key(|longer| growth_of(longer)).filter(|_| is_node)?;
    (2 * growth_of(value) >= growth_of(chain)).then(|| value.chain.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(sessions: u64) -> Summary {
        let chain = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let chains = [
            (chain(&["class S"]), (1, 500 + sessions * 100)),
            (chain(&["class S", "Map"]), (1, 400 + sessions * 100)),
            (chain(&["class S", "Map", "Session"]), (sessions, sessions * 100)),
            (chain(&["class T"]), (1, 500)),
        ];
        let classes = [("Session".to_owned(), (sessions, sessions * 10, sessions * 100))];
        Summary {
            bytes: 1000 + sessions * 100,
            objects: sessions,
            classes: classes.into(),
            chains: chains.into(),
        }
    }

    #[test]
    fn growth_is_told_where_it_is_kept_and_what_did_not_grow_is_not() {
        let growth = Growth::between(&summary(10), &summary(60), 10);
        assert_eq!(growth.classes[0].objects, [10, 60]);
        let chains: Vec<String> = growth.chains.iter().map(|chain| chain.chain.join(" → ")).collect();
        assert_eq!(chains, ["class S → Map → Session"]);
        assert_eq!(growth.chains[0].retained_bytes, [1000, 6000]);
        let none = Growth::between(&summary(10), &summary(10), 10);
        assert!(none.classes.is_empty() && none.chains.is_empty());
    }
}
