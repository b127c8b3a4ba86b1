//! A bounded cache that drops what was not used lately.

use std::collections::HashMap;
use std::hash::Hash;

/// Two generations: what is used moves to the young one; when that has half of the allowed weight,
/// it becomes the old one and the old one is dropped. At most the allowed weight is held, and a
/// lookup costs one or two hashes, without the list that a strict LRU needs.
#[derive(Debug)]
pub(crate) struct Cache<K, V> {
    young: HashMap<K, (V, usize)>,
    old: HashMap<K, (V, usize)>,
    weight: usize,
    most: usize,
}

impl<K: Hash + Eq, V: Clone> Cache<K, V> {
    /// A cache of at most this weight.
    pub(crate) fn new(most: usize) -> Self {
        Self { young: HashMap::new(), old: HashMap::new(), weight: 0, most: most.max(2) }
    }

    /// What is kept under a key.
    pub(crate) fn get(&mut self, key: &K) -> Option<V> {
        if let Some((value, _)) = self.young.get(key) {
            return Some(value.clone());
        }
        let (key, (value, weight)) = self.old.remove_entry(key)?;
        self.put(key, value.clone(), weight);
        Some(value)
    }

    /// Keeps a value of some weight.
    pub(crate) fn put(&mut self, key: K, value: V, weight: usize) {
        if weight > self.most / 2 {
            return;
        }
        if self.weight + weight > self.most / 2 {
            self.old = std::mem::take(&mut self.young);
            self.weight = 0;
        }
        self.weight += weight;
        if let Some((_, before)) = self.young.insert(key, (value, weight)) {
            self.weight -= before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_stays_and_the_weight_is_bounded() {
        let mut cache = Cache::new(20);
        for key in 0..1000u32 {
            cache.put(key, key * 2, 1);
            assert_eq!(cache.get(&0), Some(0), "used all the time");
            assert!(cache.young.len() + cache.old.len() <= 20);
        }
        assert_eq!(cache.get(&999), Some(1998));
        assert_eq!(cache.get(&500), None);
        cache.put(5000, 1, 11);
        assert_eq!(cache.get(&5000), None, "too heavy to be kept");
    }
}
