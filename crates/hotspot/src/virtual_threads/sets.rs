//! Where the JDK keeps its virtual threads: sets of the root container and of the executors that
//! are registered.
//!
//! ```text
//!   ThreadContainers$RootContainer$TrackingRootContainer.VTHREADS ──▶ KeySetView ──map──▶ ConcurrentHashMap ──table──▶ Node ──key──▶ it
//!   ThreadContainers.CONTAINER_REGISTRY ──▶ … ──key──▶ WeakReference ──referent──▶ ThreadPerTaskExecutor ──threads──▶ KeySetView ──▶ …
//! ```
//! The same names in JDK 21 to 25. A map that is resized meanwhile leaves forwarding nodes, which
//! are followed.

use std::collections::HashSet;

use super::objects::Objects;
use crate::memory::Memory;
use crate::{Result, Vm};

pub(super) const CONTAINERS: &str = "jdk/internal/vm/ThreadContainers";
pub(super) const ROOT: &str = "jdk/internal/vm/ThreadContainers$RootContainer$TrackingRootContainer";
const MAP: &str = "java/util/concurrent/ConcurrentHashMap";
const VIEW: &str = "java/util/concurrent/ConcurrentHashMap$CollectionView";
const NODE: &str = "java/util/concurrent/ConcurrentHashMap$Node";
const TREE_BIN: &str = "java/util/concurrent/ConcurrentHashMap$TreeBin";
const FORWARDING: &str = "java/util/concurrent/ConcurrentHashMap$ForwardingNode";
/// A class that has threads, and the field with the set of them.
const SETS: [(&str, &str); 3] = [
    ("java/util/concurrent/ThreadPerTaskExecutor", "threads"),
    ("jdk/internal/vm/SharedThreadContainer", "virtualThreads"),
    ("jdk/internal/misc/ThreadFlock", "threads"),
];
/// The most threads that are listed: each costs a read.
const MOST: usize = 1 << 17;
/// The most nodes of one bin: all nodes, if it is a tree.
const MOST_OF_BIN: usize = 1 << 16;
/// The most tables that forward to each other.
const MOST_TABLES: usize = 4;

/// A thread by where it lies, and its number as far as the hash of a map has it
/// (`VirtualThread.hashCode` is the number).
pub(super) struct Listed {
    pub(super) at: u64,
    pub(super) hash: u32,
}

/// What was found, and how often something unexpected lay there.
#[derive(Default)]
pub(super) struct Found {
    pub(super) threads: Vec<Listed>,
    pub(super) skipped: u64,
    /// There were more than are listed.
    pub(super) is_cut: bool,
}

/// All virtual threads that the JDK keeps.
pub(super) fn list<M: Memory>(
    vm: &Vm<M>,
    objects: &mut Objects,
    [containers, root]: [u64; 2],
) -> Result<Found> {
    let memory = &vm.memory;
    let mut found = Found::default();
    // Without tracking (-Djdk.trackAllThreads=false) only executors keep theirs.
    if root != 0 {
        let set = objects.static_reference(memory, root, "VTHREADS")?;
        let threads = keys(memory, objects, set, &mut found);
        found.threads = threads;
    }
    let registry = objects.static_reference(memory, containers, "CONTAINER_REGISTRY")?;
    for key in keys(memory, objects, registry, &mut found) {
        let of = (|| {
            let reference = objects.object(memory, key.at)?;
            let at = objects.reference(memory, &reference, ("java/lang/ref/Reference", "referent"))?;
            Some(at)
        })();
        match of {
            Some(0) => {}
            Some(at) => match set_of(memory, objects, at) {
                Some(0) => {}
                Some(set) => {
                    let threads = keys(memory, objects, set, &mut found);
                    found.threads.extend(threads);
                }
                None => {}
            },
            None => found.skipped += 1,
        }
    }
    let mut seen = HashSet::new();
    found.threads.retain(|thread| seen.insert(thread.at));
    found.is_cut |= found.threads.len() > MOST;
    found.threads.truncate(MOST);
    Ok(found)
}

/// The set of threads of a container; `None` where it is of a class that has none.
fn set_of(memory: &impl Memory, objects: &mut Objects, container: u64) -> Option<u64> {
    let object = objects.object(memory, container)?;
    let (class, field) = SETS.into_iter().find(|(class, _)| *class == &*object.class)?;
    objects.reference(memory, &object, (class, field))
}

/// The keys of a `ConcurrentHashMap.KeySetView`.
fn keys(memory: &impl Memory, objects: &mut Objects, set: u64, found: &mut Found) -> Vec<Listed> {
    let mut all = Vec::new();
    let table = (|| {
        let view = objects.object(memory, set)?;
        let map = objects.reference(memory, &view, (VIEW, "map"))?;
        let map = objects.object(memory, map)?;
        objects.reference(memory, &map, (MAP, "table"))
    })();
    match table {
        // Nothing was ever put there.
        Some(0) => {}
        Some(table) => keys_of_table(memory, objects, table, None, &mut (&mut all, found), MOST_TABLES),
        None => found.skipped += 1,
    }
    all
}

/// The keys of a table, or of some of its bins.
fn keys_of_table(
    memory: &impl Memory,
    objects: &mut Objects,
    table: u64,
    bins: Option<&HashSet<usize>>,
    into: &mut (&mut Vec<Listed>, &mut Found),
    deep: usize,
) {
    let elements = objects.object(memory, table).and_then(|table| objects.elements(memory, &table));
    let Some(elements) = elements.filter(|_| deep > 0) else {
        into.1.skipped += 1;
        return;
    };
    // Bins of a table that is being left, and where they are now.
    let mut moved: (u64, Vec<usize>) = (0, Vec::new());
    for (bin, first) in elements.into_iter().filter(|(bin, _)| bins.is_none_or(|bins| bins.contains(bin))) {
        let mut at = first;
        for _ in 0..MOST_OF_BIN {
            if at == 0 {
                break;
            }
            if into.0.len() >= MOST {
                into.1.is_cut = true;
                return;
            }
            let Some(node) = objects.object(memory, at).filter(|node| node.class.starts_with(NODE_LIKE))
            else {
                into.1.skipped += 1;
                break;
            };
            at = match &*node.class {
                FORWARDING => {
                    moved.0 = objects.reference(memory, &node, (FORWARDING, "nextTable")).unwrap_or(0);
                    moved.1.push(bin);
                    0
                }
                TREE_BIN => objects.reference(memory, &node, (TREE_BIN, "first")).unwrap_or(0),
                _ => {
                    let hash = objects.int(memory, &node, (NODE, "hash"));
                    let key = objects.reference(memory, &node, (NODE, "key"));
                    let (Some(hash), Some(key)) = (hash, key) else {
                        into.1.skipped += 1;
                        break;
                    };
                    if key != 0 {
                        into.0.push(Listed { at: key, hash: hash.cast_unsigned() });
                    }
                    objects.reference(memory, &node, (NODE, "next")).unwrap_or(0)
                }
            };
        }
    }
    if moved.0 == 0 {
        return;
    }
    // A bin is split in two: its number, and that beyond the length of the old table.
    let length = objects.object(memory, table).and_then(|table| objects.length(&table)).unwrap_or(0);
    let bins: HashSet<usize> = moved.1.iter().flat_map(|bin| [*bin, *bin + length]).collect();
    keys_of_table(memory, objects, moved.0, Some(&bins), into, deep - 1);
}

/// How the names of all nodes begin.
const NODE_LIKE: &str = "java/util/concurrent/ConcurrentHashMap$";
