//! Does a collection have a bound? One dump cannot show whether something grows; it can show what
//! says that it must not.

use serde::Serialize;

use crate::heap::{Heap, number};
use crate::records::tag;

/// Parts of a field's name that speak of a bound.
const WORDS: [&str; 5] = ["max", "limit", "capacity", "bound", "evict"];
/// Words of a field's name that speak of a time, an identifier, or the most that there ever was:
/// they bound no number of entries.
const OTHERS: [&str; 13] = [
    "age", "millis", "ms", "nanos", "seconds", "secs", "time", "timeout", "ttl", "idle", "id", "active",
    "delay",
];
/// A bound that is more than this many times the size of what it bounds does not show itself.
const FARTHEST: i64 = 4;

/// What says that a collection is bounded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum Bound {
    /// A number in the same object, with such a name, that it does not exceed and comes near to.
    Field {
        /// The class that has the field.
        class: String,
        /// The field.
        name: String,
        /// Its value.
        value: i64,
    },
    /// Its class is one's own below `java.util.LinkedHashMap`, as is made to override
    /// `removeEldestEntry`.
    Evicts {
        /// The class.
        class: String,
    },
}

/// What bounds a collection of so many entries, looked for in itself and in those that hold it.
pub(crate) fn bound(heap: &Heap, around: &[u32], entries: u64) -> Option<Bound> {
    around.iter().find_map(|node| evicts(heap, *node)).or_else(|| {
        around.iter().find_map(|node| {
            let (class, values) = numbers(heap, *node);
            let found =
                values.into_iter().find(|(name, value)| speaks_of_bound(name) && is_near(*value, entries));
            found.map(|(name, value)| Bound::Field { class, name, value })
        })
    })
}

fn evicts(heap: &Heap, node: u32) -> Option<Bound> {
    let class = heap.class_number(node);
    let own = !heap.class(node).is_of_the_jdk() && heap.classes.is_a(class, "java.util.LinkedHashMap");
    own.then(|| Bound::Evicts { class: heap.class(node).name.clone() })
}

fn speaks_of_bound(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    WORDS.iter().any(|word| lower.contains(word)) && !words(name).any(|word| OTHERS.contains(&&*word))
}

/// The words of "maxEntries" or "MAX_ENTRIES", in lower case.
fn words(name: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut before = '_';
    for c in name.chars() {
        if c == '_' || (c.is_uppercase() && before.is_lowercase()) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c != '_') {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.into_iter()
}

fn is_near(value: i64, entries: u64) -> bool {
    let entries = i64::try_from(entries).unwrap_or(i64::MAX);
    value >= entries && value / FARTHEST <= entries
}

/// Whole numbers of an instance, or the static ones of a class.
fn numbers(heap: &Heap, node: u32) -> (String, Vec<(String, i64)>) {
    let id_size = heap.header.id_size;
    if heap.tag(node) == tag::CLASS {
        let statics = heap.statics(node);
        let values =
            statics.iter().filter_map(|(name, kind, bytes)| Some((heap.text(*name), number(*kind, bytes)?)));
        let class = heap.as_class(node).map_or_else(String::new, |class| class.name.clone());
        return (class, values.collect());
    }
    let class = heap.class(node);
    if heap.tag(node) != tag::INSTANCE {
        return (class.name.clone(), Vec::new());
    }
    let payload = heap.payload(node);
    let fields = heap.classes.fields(heap.class_number(node), id_size);
    let values = fields.filter_map(|(at, field, declared)| {
        // Fields of the JDK's own collections are tables' sizes and thresholds, which follow what
        // is put in.
        if heap.classes.get(declared).is_of_the_jdk() && !BOUNDED_OF_THE_JDK.contains(&class.name.as_str()) {
            return None;
        }
        let width = crate::records::width(field.kind, id_size)?;
        Some((heap.text(field.name), number(field.kind, payload.get(at..at + width)?)?))
    });
    (class.name.clone(), values.collect())
}

/// Collections of the JDK with a capacity that they do not exceed.
const BOUNDED_OF_THE_JDK: [&str; 2] =
    ["java.util.concurrent.LinkedBlockingQueue", "java.util.concurrent.LinkedBlockingDeque"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_near_and_not_below_what_it_bounds() {
        assert!(is_near(1000, 1000) && is_near(1000, 300));
        assert!(!is_near(999, 1000) && !is_near(i64::from(i32::MAX), 1000) && !is_near(-1, 0));
        assert!(speaks_of_bound("maxEntries") && speaks_of_bound("MAX_SIZE") && !speaks_of_bound("size"));
        for other in ["maxAgeMillis", "MAX_AGE_MILLIS", "maxId", "maxActive", "idleTimeoutLimit", "limit_ms"]
        {
            assert!(!speaks_of_bound(other), "{other}");
        }
        assert!(speaks_of_bound("maxImages") && speaks_of_bound("messageLimit"));
    }
}
