//! Does a collection have a bound? One dump cannot show whether something grows; it can show what
//! says that it must not.

use serde::Serialize;

use crate::classes::Strength;
use crate::heap::{Heap, number};
use crate::kept::Kept;
use crate::records::tag;

/// Parts of a field's name that speak of a bound.
const PARTS: [&str; 5] = ["max", "limit", "capacity", "bound", "evict"];
/// Words of its own that do.
const WORDS: [&str; 3] = ["cap", "quota", "slots"];
/// Words of a field's name that speak of a time, an identifier, or the most that there ever was:
/// they bound no number of entries.
const OTHERS: [&str; 13] = [
    "age", "millis", "ms", "nanos", "seconds", "secs", "time", "timeout", "ttl", "idle", "id", "active",
    "delay",
];
/// Words of names of numbers that follow what was put in, or count something else: of any other
/// name, a round number that the entries come near to is a bound.
const COUNTS: [&str; 34] = [
    "count",
    "counter",
    "counts",
    "total",
    "sum",
    "num",
    "number",
    "n",
    "next",
    "seq",
    "sequence",
    "created",
    "opened",
    "closed",
    "added",
    "removed",
    "loaded",
    "puts",
    "gets",
    "hits",
    "misses",
    "requests",
    "version",
    "mod",
    "generation",
    "index",
    "hash",
    "seed",
    "peak",
    "highest",
    "largest",
    "threshold",
    "mask",
    "ever",
];
/// Words of names of places in an array that is written in a circle.
const PLACES: [&str; 19] = [
    "head", "tail", "next", "index", "idx", "pos", "position", "cursor", "write", "writer", "read", "first",
    "last", "start", "end", "put", "take", "ptr", "at",
];
/// What a number without a name that says so must be filled to, in tenths.
const FILLED: u64 = 9;
/// A smaller number may be anything.
const FEWEST: i64 = 100;
/// Objects next to a collection whose numbers are looked at.
const AROUND: usize = 4;
/// Steps down from a collection at which softly held values are looked for.
const SOFT_STEPS: usize = 4;
/// The share of what a collection keeps that must be held softly, in tenths: the references and
/// their places stay.
const SOFT: u64 = 5;

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
    /// It is as long as its array, which is not replaced by a longer one.
    Array {
        /// The class that has the array.
        class: String,
        /// Elements of the array.
        length: u64,
    },
    /// Soft references hold what is in it: it goes where memory runs short.
    Soft {
        /// The class of the references.
        class: String,
    },
}

/// A collection: what holds it.
pub(crate) struct Place<'a> {
    /// The way from a root to it, itself the last.
    pub way: &'a [u32],
    /// Where its entries are: the array, or the object itself; and others of its class.
    pub inside: &'a [u32],
    /// How many entries it has.
    pub entries: u64,
}

/// What bounds a collection, looked for in itself and in those that hold it.
pub(crate) fn bound(heap: &Heap, kept: &Kept, place: &Place<'_>) -> Option<Bound> {
    let Place { way, inside, entries } = *place;
    let array = kept.node(*inside.first()?);
    let above = kept.dominator(*inside.first()?);
    let owner = (above != 0).then(|| kept.node(above)).filter(|_| heap.tag(array) == tag::OBJECT_ARRAY);
    let mut around: Vec<u32> = way.iter().rev().take(AROUND).copied().collect();
    around.extend(owner.filter(|owner| !around.contains(owner)));
    // What a synchronized or unmodifiable view wraps is named by the view.
    let wrapped = Some(array).filter(|node| owner.is_none() && !around.contains(node));
    around.extend(wrapped);
    let each = |look: &dyn Fn(u32) -> Option<Bound>| around.iter().find_map(|node| look(*node));
    each(&|node| evicts(heap, node))
        .or_else(|| {
            each(&|node| {
                let (class, values) = numbers(heap, node);
                let mut values = values.into_iter();
                let found = values.find(|(name, value)| speaks_of_bound(name) && is_near(*value, entries));
                found.map(|(name, value)| Bound::Field { class, name, value })
            })
        })
        .or_else(|| of_array(heap, owner?, array, entries))
        .or_else(|| each(&|node| round_number(heap, node, owner == Some(node) || node == array, entries)))
        .or_else(|| softly(heap, kept, way, inside))
}

/// A queue of the JDK's that is as long as its array; or an array that is full, and in which the
/// one that has it keeps a place: what comes next is written over what is there.
fn of_array(heap: &Heap, owner: u32, array: u32, entries: u64) -> Option<Bound> {
    let length = heap.length(array);
    let class = heap.class(owner);
    let bound = Bound::Array { class: class.name.clone(), length };
    if heap.classes.is_a(heap.class_number(owner), "java.util.concurrent.ArrayBlockingQueue") {
        return is_near(length.cast_signed(), entries).then_some(bound);
    }
    if class.is_of_the_jdk() || length < FEWEST.unsigned_abs() {
        return None;
    }
    let is_place = |(name, value): &(String, i64)| {
        let value = value.unsigned_abs();
        value > 0 && value != length && words(name).any(|word| PLACES.contains(&&*word))
    };
    let id_size = heap.header.id_size;
    let full = || heap.payload(array).chunks_exact(id_size).all(|id| id.iter().any(|byte| *byte != 0));
    (numbers(heap, owner).1.iter().any(is_place) && full()).then_some(bound)
}

/// A round number that the entries come close to. The one that has the array may have nothing but
/// the number of its entries there: that alone bounds nothing.
fn round_number(heap: &Heap, node: u32, has_array: bool, entries: u64) -> Option<Bound> {
    let (class, values) = numbers(heap, node);
    let count = i64::try_from(entries).ok()?;
    let counts_itself = has_array && values.iter().filter(|(_, value)| *value == count).count() == 1;
    let found = values.iter().find(|(name, value)| {
        let is_count = counts_itself && *value == count;
        let is_filled = *value >= count && entries * 10 >= value.unsigned_abs().saturating_mul(FILLED);
        is_filled && !is_count && is_round(*value) && may_bound(name)
    });
    found.map(|(name, value)| Bound::Field { class, name: name.clone(), value: *value })
}

/// Whether somebody chose it: two digits and zeros, or a power of two, one and a half of one, …
fn is_round(value: i64) -> bool {
    let mut digits = value;
    while digits > 0 && digits % 10 == 0 {
        digits /= 10;
    }
    value >= FEWEST && (digits < 100 || value >> value.trailing_zeros() < 8)
}

fn may_bound(name: &str) -> bool {
    words(name).all(|word| !OTHERS.contains(&&*word) && !COUNTS.contains(&&*word))
}

/// Soft references on the way to it, or to most of what it keeps.
fn softly(heap: &Heap, kept: &Kept, way: &[u32], inside: &[u32]) -> Option<Bound> {
    let is_soft = |node: u32| heap.class(node).strength == Some(Strength::Soft);
    let referent = |node: u32| heap.object(node, "referent").filter(|_| is_soft(node));
    let soft = |node: u32| Some(Bound::Soft { class: heap.class(node).name.clone() });
    let above = way.windows(2).rev().find(|pair| referent(pair[0]) == Some(pair[1])).map(|pair| pair[0]);
    let all: u64 = inside.iter().map(|number| kept.retained(*number)).sum();
    let (mut level, mut bytes, mut found) = (inside.to_vec(), 0, None);
    for _ in 0..SOFT_STEPS {
        let below = level.iter().flat_map(|number| kept.children(*number));
        let (of_soft, rest): (Vec<u32>, Vec<u32>) = below.partition(|number| is_soft(kept.node(*number)));
        let held = |number: &u32| {
            let held = kept.number(referent(kept.node(*number))?)?;
            (kept.dominator(held) == *number).then(|| kept.retained(held))
        };
        bytes += of_soft.iter().filter_map(held).sum::<u64>();
        found = found.or(of_soft.first().copied());
        level = rest;
    }
    let held = found.filter(|_| bytes * 10 >= all * SOFT).map(|number| kept.node(number));
    above.or(held).and_then(soft)
}

fn evicts(heap: &Heap, node: u32) -> Option<Bound> {
    let class = heap.class_number(node);
    let own = !heap.class(node).is_of_the_jdk() && heap.classes.is_a(class, "java.util.LinkedHashMap");
    own.then(|| Bound::Evicts { class: heap.class(node).name.clone() })
}

fn speaks_of_bound(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let speaks =
        PARTS.iter().any(|part| lower.contains(part)) || words(name).any(|word| WORDS.contains(&&*word));
    speaks && !words(name).any(|word| OTHERS.contains(&&*word))
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
        assert!(speaks_of_bound("cap") && !speaks_of_bound("capture"));
    }

    #[test]
    fn somebody_chose_a_round_number_and_names_of_counts_bound_nothing() {
        assert!([100, 1000, 2500, 60_000, 4096, 6144, 3072].into_iter().all(is_round));
        assert!(![64, 4231, 12_345, 60_001, 4095, 0, -100].into_iter().any(is_round));
        assert!(["size", "entries", "keep", "window"].into_iter().all(may_bound));
        let others = ["count", "nextId", "totalOpened", "modCount", "created", "maxAge", "peak"];
        assert!(!others.into_iter().any(may_bound));
    }
}
