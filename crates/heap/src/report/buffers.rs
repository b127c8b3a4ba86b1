//! Memory outside of the heap that direct buffers stand for, by who keeps them.

use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::classes::is_of_the_jdk;
use crate::heap::Heap;
use crate::kept::Kept;
use crate::paths::Paths;
use crate::records::tag;

/// Direct buffers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Buffers {
    /// Buffers that own memory: slices and duplicates of others are not counted.
    pub count: u64,
    /// Bytes of that memory, which are not in the heap.
    pub capacity_bytes: u64,
    /// Bytes of mapped files and of memory that native code gave, which no buffer has allocated;
    /// not in the others.
    pub mapped_bytes: u64,
    /// Of the capacity, bytes of buffers that nothing reaches; they are given back when these are
    /// collected.
    pub unreachable_bytes: u64,
    /// By who keeps them: the static field, thread, or class of the application on the way from a
    /// root.
    pub owners: Vec<(String, u64, u64)>,
}

/// Direct buffers of a heap, with the first `top` of those who keep them.
pub fn buffers(heap: &Heap, kept: &Kept, paths: &Paths<'_>, top: usize) -> Buffers {
    let is_direct = |class| heap.classes.is_a(class, "java.nio.DirectByteBuffer");
    let direct: Vec<bool> = heap.kinds.table().iter().map(|kind| is_direct(kind.class)).collect();
    let mut found = Buffers::default();
    let mut owners: FxHashMap<String, (u64, u64)> = FxHashMap::default();
    for node in (0..heap.len()).filter(|node| direct[heap.kinds.number(*node)]) {
        // A view has what it is a view of in `att`.
        if heap.tag(node) != tag::INSTANCE || heap.object(node, "att").is_some() {
            continue;
        }
        let bytes = heap.number(node, "capacity").and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0);
        // What `allocateDirect` gave has a cleaner; a mapped file has one, too, and a descriptor.
        if heap.object(node, "cleaner").is_none() || heap.object(node, "fd").is_some() {
            found.mapped_bytes += bytes;
            continue;
        }
        found.count += 1;
        found.capacity_bytes += bytes;
        let Some(number) = kept.number(node) else {
            found.unreachable_bytes += bytes;
            continue;
        };
        let (count, sum) = owners.entry(owner(heap, kept, paths, number)).or_default();
        *count += 1;
        *sum += bytes;
    }
    found.owners = owners.into_iter().map(|(owner, (count, bytes))| (owner, count, bytes)).collect();
    found.owners.sort_by(|a, b| b.2.cmp(&a.2).then_with(|| a.0.cmp(&b.0)));
    found.owners.truncate(top);
    found
}

/// Who keeps an object: the last static field on its way, or the last object of the application's,
/// or its thread, or its root.
fn owner(heap: &Heap, kept: &Kept, paths: &Paths<'_>, number: u32) -> String {
    let nodes: Vec<u32> = paths.to(number).into_iter().map(|number| kept.node(number)).collect();
    for pair in nodes.windows(2).rev() {
        if heap.tag(pair[0]) == tag::CLASS
            && let crate::Edge::Static { class, name } = heap.edge(pair[0], pair[1])
        {
            return format!("{class}.{name} (static)");
        }
        let class = heap.class(pair[0]);
        if !is_of_the_jdk(&class.name) {
            return class.name.clone();
        }
    }
    let root = nodes[0];
    match heap.thread_name(root) {
        Some(name) if heap.threads.iter().any(|thread| thread.node == root) => format!("thread {name:?}"),
        _ => heap.class(root).name.clone(),
    }
}
