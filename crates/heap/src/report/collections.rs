//! Collections of the JDK: where their elements are and how many they say they have.

use crate::heap::Heap;

/// A collection's class, the field with its size, the field with its array.
const KNOWN: [(&str, &str, &str); 12] = [
    ("java.util.ArrayList", "size", "elementData"),
    ("java.util.Vector", "elementCount", "elementData"),
    ("java.util.HashMap", "size", "table"),
    ("java.util.Hashtable", "count", "table"),
    ("java.util.IdentityHashMap", "size", "table"),
    ("java.util.WeakHashMap", "size", "table"),
    ("java.util.PriorityQueue", "size", "queue"),
    ("java.util.concurrent.PriorityBlockingQueue", "size", "queue"),
    ("java.util.concurrent.ArrayBlockingQueue", "count", "items"),
    ("java.util.LinkedList", "size", ""),
    ("java.util.TreeMap", "size", ""),
    ("java.util.concurrent.ConcurrentHashMap", "baseCount", "table"),
];

/// What a class is as a collection: its size's field and its array's.
pub(crate) fn known(heap: &Heap, class: u32) -> Option<(&'static str, &'static str)> {
    heap.classes.chain(class).find_map(|(_, class)| {
        KNOWN.iter().find(|(name, ..)| *name == class.name).map(|(_, size, array)| (*size, *array))
    })
}

/// Whether a class is a part of a collection and not what one would name: an array, a node, an
/// entry, a segment.
pub(crate) fn is_inner(name: &str) -> bool {
    if name.ends_with("[]") {
        return true;
    }
    let inner = name.rsplit(['$', '.']).next().unwrap_or(name);
    let jdk = crate::classes::is_of_the_jdk(name);
    jdk && ["Node", "Entry", "Segment", "Item", "TreeNode", "Map$Entry"]
        .iter()
        .any(|part| inner.ends_with(part))
}

/// Whether a class of the JDK has its elements in another collection, and is what one would name.
pub(crate) fn wraps(name: &str) -> bool {
    let sets = ["HashSet", "LinkedHashSet", "TreeSet", "concurrent.ConcurrentSkipListSet"];
    let others =
        ["concurrent.CopyOnWriteArraySet", "concurrent.ConcurrentHashMap$KeySetView", "Collections$"];
    let Some(name) = name.strip_prefix("java.util.") else { return false };
    sets.contains(&name) || others.iter().any(|start| name.starts_with(start))
}
