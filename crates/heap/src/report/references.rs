//! References of `java.lang.ref`: how many of each strength, and what waits for its finalizer.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::classes::Strength;
use crate::heap::{Heap, number};
use crate::kept::Kept;
use crate::kinds::Kind;
use crate::records::tag;

/// Reference objects, and finalizers in particular.
#[derive(Clone, Debug, Default, Serialize)]
pub struct References {
    /// How many reference objects of each strength can be reached.
    pub by_strength: BTreeMap<String, u64>,
    /// Objects with a `finalize()` method, by class, most first: each is kept until the method has
    /// run.
    pub finalizable: Vec<(String, u64)>,
    /// Objects in the queue of finalizers: they are dead, and wait for the finalizer thread.
    pub finalizer_queue: Option<u64>,
}

pub(crate) fn references(heap: &Heap, kept: &Kept, top: usize) -> References {
    let mut found = References::default();
    let mut finalizable: BTreeMap<u32, u64> = BTreeMap::new();
    let of_kind = |kind: &Kind| heap.classes.get(kind.class).strength.filter(|_| kind.tag == tag::INSTANCE);
    let strengths: Vec<Option<Strength>> = heap.kinds.table().iter().map(of_kind).collect();
    for node in 0..heap.len() {
        let Some(strength) = strengths[heap.kinds.number(node)].filter(|_| kept.number(node).is_some())
        else {
            continue;
        };
        let name = match strength {
            Strength::Soft => "soft",
            Strength::Weak => "weak",
            Strength::Phantom => "phantom",
            Strength::Final => "final",
        };
        *found.by_strength.entry(name.to_owned()).or_default() += 1;
        if strength == Strength::Final
            && let Some(referent) = heap.object(node, "referent")
        {
            *finalizable.entry(heap.class_number(referent)).or_default() += 1;
        }
    }
    let named = finalizable.into_iter().map(|(class, count)| (heap.classes.get(class).name.clone(), count));
    found.finalizable = named.collect();
    found.finalizable.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    found.finalizable.truncate(top);
    found.finalizer_queue = queue(heap);
    found
}

/// The length of `java.lang.ref.Finalizer.queue`.
fn queue(heap: &Heap) -> Option<u64> {
    let class = heap.classes.named("java.lang.ref.Finalizer").next()?;
    let statics = heap.statics(heap.classes.get(class).node);
    let (_, _, bytes) = statics.iter().find(|(name, kind, _)| *kind == 2 && heap.text_is(*name, "queue"))?;
    let queue = heap.find(crate::cursor::ids(bytes, heap.header.id_size).next()?)?;
    let (kind, bytes) = heap.field(queue, "queueLength")?;
    number(kind, bytes).and_then(|length| u64::try_from(length).ok())
}
