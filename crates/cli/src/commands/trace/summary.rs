//! What was seen, summed up: for each thing (a lock, a call, a cause) how often and how long, in
//! which threads, held by whom, from where.

use std::collections::HashMap;
use std::hash::Hash;

use fathom_recording::StackId;
use serde_json::{Value, json};

/// Things that are listed separately, and threads, owners and stacks of each: what comes later is
/// put together. A trace may run for days.
const MOST_THINGS: usize = 4096;
const MOST_WITHIN: usize = 256;
/// Powers of two of microseconds: the last one begins at 38 hours.
const BUCKETS: usize = 38;

/// Counts and times of something.
#[derive(Clone, Debug)]
pub struct Tally {
    /// How often.
    pub count: u64,
    /// How long in all, nanoseconds.
    pub total_ns: i64,
    /// The longest, nanoseconds.
    pub max_ns: i64,
    /// How many took less than 1 µs, 1–2, 2–4, 4–8 µs and so on.
    buckets: [u64; BUCKETS],
}

impl Default for Tally {
    fn default() -> Self {
        Self { count: 0, total_ns: 0, max_ns: 0, buckets: [0; BUCKETS] }
    }
}

impl Tally {
    /// Adds so many that took so long.
    pub fn add(&mut self, count: u64, took_ns: i64) {
        let took_ns = took_ns.max(0);
        self.count += count;
        self.total_ns = self.total_ns.saturating_add(took_ns);
        self.max_ns = self.max_ns.max(took_ns);
        let us = took_ns.unsigned_abs() / 1000;
        let bucket = (u64::BITS - us.leading_zeros()) as usize;
        self.buckets[bucket.min(BUCKETS - 1)] += count;
    }

    /// The buckets from the first to the last that is not empty: from, to (microseconds) and count.
    pub fn histogram(&self) -> Vec<(u64, u64, u64)> {
        let used = |(_, count): &(usize, &u64)| **count > 0;
        let mut filled = self.buckets.iter().enumerate().filter(used).map(|(i, _)| i);
        let Some(first) = filled.next() else { return Vec::new() };
        let last = filled.next_back().unwrap_or(first);
        let edge = |i: usize| if i == 0 { 0 } else { 1_u64 << (i - 1) };
        (first..=last).map(|i| (edge(i), edge(i + 1), self.buckets[i])).collect()
    }

    /// For machines.
    pub fn json(&self) -> Value {
        json!({ "count": self.count, "total_ns": self.total_ns, "max_ns": self.max_ns })
    }
}

/// One thing with what is known of it.
#[derive(Clone, Debug, Default)]
pub struct Thing {
    /// All of it.
    pub all: Tally,
    /// By thread.
    pub threads: HashMap<String, Tally>,
    /// By who held it or woke the one that waited.
    pub owners: HashMap<String, Tally>,
    /// By stack.
    pub stacks: HashMap<StackId, Tally>,
    /// Parts of it, in their order.
    pub parts: Vec<(&'static str, Tally)>,
}

/// All that was seen.
#[derive(Debug, Default)]
pub struct Summary {
    /// All together.
    pub all: Tally,
    things: HashMap<String, Thing>,
}

/// What is put together for lack of room.
const OTHERS: &str = "(others)";

impl Summary {
    /// Adds an event that stands for so many.
    pub fn add(
        &mut self,
        (by, thread, owner): (&str, &str, Option<&str>),
        stack: Option<StackId>,
        (count, took_ns): (u64, i64),
    ) {
        self.all.add(count, took_ns);
        let by = if self.things.contains_key(by) || self.things.len() < MOST_THINGS { by } else { OTHERS };
        let thing = self.things.entry(by.to_owned()).or_default();
        thing.all.add(count, took_ns);
        add(&mut thing.threads, thread.to_owned(), OTHERS.to_owned(), (count, took_ns));
        if let Some(owner) = owner {
            add(&mut thing.owners, owner.to_owned(), OTHERS.to_owned(), (count, took_ns));
        }
        if let Some(stack) =
            stack.filter(|s| thing.stacks.contains_key(s) || thing.stacks.len() < MOST_WITHIN)
        {
            thing.stacks.entry(stack).or_default().add(count, took_ns);
        }
    }

    /// Adds a part of an event that was added before.
    pub fn add_part(&mut self, by: &str, what: &'static str, took_ns: i64) {
        let by = if self.things.contains_key(by) { by } else { OTHERS };
        let Some(thing) = self.things.get_mut(by) else { return };
        match thing.parts.iter_mut().find(|(known, _)| *known == what) {
            Some((_, tally)) => tally.add(1, took_ns),
            None => {
                let mut tally = Tally::default();
                tally.add(1, took_ns);
                thing.parts.push((what, tally));
            }
        }
    }

    /// The things, those that took most first; where none took time, the most frequent.
    pub fn things(&self) -> Vec<(&str, &Thing)> {
        let mut things: Vec<_> = self.things.iter().map(|(name, thing)| (name.as_str(), thing)).collect();
        things.sort_by(|a, b| order(&a.1.all, &b.1.all).then(a.0.cmp(b.0)));
        things
    }
}

/// The same order for whatever has tallies.
pub fn dearest<K: Clone + Ord>(tallies: &HashMap<K, Tally>) -> Vec<(K, &Tally)> {
    let mut list: Vec<_> = tallies.iter().map(|(key, tally)| (key.clone(), tally)).collect();
    list.sort_by(|a, b| order(a.1, b.1).then(a.0.cmp(&b.0)));
    list
}

fn order(a: &Tally, b: &Tally) -> std::cmp::Ordering {
    (b.total_ns, b.count).cmp(&(a.total_ns, a.count))
}

fn add<K: Eq + Hash>(map: &mut HashMap<K, Tally>, key: K, others: K, (count, took_ns): (u64, i64)) {
    let key = if map.contains_key(&key) || map.len() < MOST_WITHIN { key } else { others };
    map.entry(key).or_default().add(count, took_ns);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_powers_of_two_of_microseconds() {
        let mut tally = Tally::default();
        for ns in [0, 999, 1000, 1999, 2000, 3999, 4000, 1_000_000_000] {
            tally.add(1, ns);
        }
        let histogram = tally.histogram();
        assert_eq!(histogram[..4], [(0, 1, 2), (1, 2, 2), (2, 4, 2), (4, 8, 1)]);
        assert_eq!(histogram.last(), Some(&(524_288, 1_048_576, 1)));
        assert_eq!((tally.count, tally.max_ns), (8, 1_000_000_000));
        tally.add(1, i64::MAX);
        assert_eq!(tally.histogram().iter().map(|(_, _, n)| n).sum::<u64>(), 9);
    }

    #[test]
    fn memory_does_not_grow_with_what_is_different() {
        let mut summary = Summary::default();
        for i in 0..10_000_u32 {
            summary.add((&i.to_string(), &i.to_string(), None), Some(StackId(i)), (1, 1));
            summary.add(("one", &i.to_string(), Some(&i.to_string())), Some(StackId(i)), (1, 1));
        }
        assert_eq!(summary.all.count, 20_000);
        let things = summary.things();
        assert_eq!(things.iter().map(|(_, thing)| thing.all.count).sum::<u64>(), 20_000);
        assert!(things.len() <= MOST_THINGS + 1);
        let (_, one) = things.iter().find(|(name, _)| *name == "one").unwrap();
        assert_eq!(one.all.count, 10_000);
        assert!(one.threads.len() <= MOST_WITHIN + 1 && one.stacks.len() <= MOST_WITHIN);
    }
}
