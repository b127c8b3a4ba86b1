//! The roots that hold something together: a method that works on what a static field holds has it
//! in a local variable, so that neither alone keeps it. Dumps at an `OutOfMemoryError` are like
//! that.

use rustc_hash::FxHashSet;
use serde::Serialize;

use crate::edges::Edge;
use crate::heap::Heap;
use crate::kept::Kept;
use crate::records::RootKind;

/// Most of them that are reported.
const MOST: usize = 20;

/// A root that holds something.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum HeldBy {
    /// A static field.
    Static {
        /// "Sessions.OPEN".
        field: String,
    },
    /// A local variable or a stack slot.
    Local {
        /// The thread's name.
        thread: String,
        /// The method, where the dump has it: "org.example.Main.run(Main.java:7)".
        frame: Option<String>,
    },
    /// Another root.
    Root {
        /// Its kind.
        kind: RootKind,
    },
}

/// The static fields that refer to one of some objects.
fn static_fields(heap: &Heap, kept: &Kept, to: &FxHashSet<u32>) -> Vec<String> {
    let mut fields = Vec::new();
    for class in heap.mirrors.keys().filter(|class| kept.number(**class).is_some()) {
        // A class has few references; most have none of these.
        for to in heap.referred(*class).filter(|node| to.contains(node)) {
            if let Edge::Static { class, name } = heap.edge(*class, to) {
                fields.push(format!("{class}.{name}"));
            }
        }
    }
    fields.sort();
    fields.dedup();
    fields
}

/// The static field with the `ThreadLocal` whose values some objects are, or are in.
pub(crate) fn thread_local(heap: &Heap, kept: &Kept, numbers: &[u32]) -> Option<String> {
    let mut locals: FxHashSet<u32> = FxHashSet::default();
    for number in numbers.iter().take(MOST) {
        let mut at = *number;
        while at != 0 {
            let node = kept.node(at);
            if heap.class(node).name == "java.lang.ThreadLocal$ThreadLocalMap$Entry" {
                locals.extend(heap.object(node, "referent"));
                break;
            }
            at = kept.dominator(at);
        }
    }
    let one = locals.len() == 1;
    static_fields(heap, kept, &locals).into_iter().next().filter(|_| one)
}

/// The roots that refer to an object, or to what it is in, where no object alone keeps these:
/// static fields first.
pub(crate) fn held_by(heap: &Heap, kept: &Kept, number: u32) -> Vec<HeldBy> {
    let mut inside: FxHashSet<u32> = FxHashSet::default();
    let mut at = number;
    while at != 0 {
        let node = kept.node(at);
        let is_root = heap.as_class(node).is_some() || heap.threads.iter().any(|thread| thread.node == node);
        if is_root {
            return Vec::new();
        }
        inside.insert(node);
        at = kept.dominator(at);
    }
    let mut found: Vec<(u32, HeldBy)> = Vec::new();
    found.extend(static_fields(heap, kept, &inside).into_iter().map(|field| (0, HeldBy::Static { field })));
    for root in heap.roots.iter().filter(|root| inside.contains(&root.node)) {
        let is_known = heap.threads.iter().any(|thread| thread.node == root.thread);
        let by = match is_known {
            true => HeldBy::Local {
                thread: heap.thread_label(root.thread),
                frame: heap.frame_of(root.thread, root.frame),
            },
            false => HeldBy::Root { kind: root.kind },
        };
        // The method that runs comes before its callers.
        found.push((root.frame.unwrap_or(0) + 1, by));
    }
    found.sort();
    let mut held_by: Vec<HeldBy> = Vec::new();
    for (_, by) in found {
        if !held_by.contains(&by) && held_by.len() < MOST {
            held_by.push(by);
        }
    }
    held_by
}
