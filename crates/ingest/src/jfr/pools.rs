//! The constant pools of a chunk, to which its events refer by number.
//!
//! Checkpoints are written throughout the chunk, and an entry may be written again when more is
//! known (a thread that has got its name). The newest counts, so checkpoints are read from the last
//! to the first, and the first entry found for a key is kept. Only its position is kept; it is
//! decoded when something refers to it.

use rustc_hash::{FxHashMap, FxHashSet};

use super::bytes::Bytes;
use super::layout::{Clock, Layout};
use super::metadata::Types;

/// Entries for which memory is reserved at once: a damaged number must not take memory.
const AT_ONCE: usize = 1 << 14;

/// More entries than a legitimate pool has.
const MANY: usize = 1 << 20;

/// Keys are treated as consecutive when at most this many slots per key are needed.
const PLACES_EACH: u64 = 4;

/// The positions of the entries of a chunk's pools.
#[derive(Default)]
pub(super) struct Pools {
    /// By type.
    pools: Vec<Pool>,
    /// Checkpoints that could not be read to their end.
    pub(super) damaged: u64,
}

/// The position of the value of an entry in the chunk, which is smaller than 4 GB.
type Place = (u32, u32);

/// Marks a missing entry: no entry is in the header of a chunk.
const NOWHERE: Place = (0, 0);

/// The pool of a type.
#[derive(Default)]
struct Pool {
    keys: Keys,
    places: Vec<Place>,
}

/// The slot of a key.
enum Keys {
    /// Keys count up from this one, as those of stacks, classes and threads nearly do.
    From(u64),
    /// Keys with gaps, as those of methods.
    Each(FxHashMap<u64, u32>),
}

impl Default for Keys {
    fn default() -> Self {
        Self::From(0)
    }
}

impl Pool {
    /// The pool of these entries; for a repeated key the first counts.
    fn of(entries: Vec<(u64, Place)>) -> Self {
        let keys = || entries.iter().map(|(key, _)| *key);
        let Some((first, last)) = keys().min().zip(keys().max()) else { return Self::default() };
        if last - first < PLACES_EACH * entries.len() as u64 {
            let mut places = vec![NOWHERE; (last - first) as usize + 1];
            for (key, place) in entries {
                let known = &mut places[(key - first) as usize];
                if *known == NOWHERE {
                    *known = place;
                }
            }
            return Self { keys: Keys::From(first), places };
        }
        let mut index = FxHashMap::with_capacity_and_hasher(entries.len(), Default::default());
        let mut places = Vec::with_capacity(entries.len());
        for (key, place) in entries {
            index.entry(key).or_insert_with(|| {
                places.push(place);
                places.len() as u32 - 1
            });
        }
        Self { keys: Keys::Each(index), places }
    }

    /// The number of the entry with a key, and its position.
    #[inline]
    fn find(&self, key: u64) -> Option<(usize, Place)> {
        let number = match &self.keys {
            Keys::From(first) => usize::try_from(key.checked_sub(*first)?).ok()?,
            Keys::Each(index) => *index.get(&key)? as usize,
        };
        let place = *self.places.get(number)?;
        (place != NOWHERE).then_some((number, place))
    }
}

/// Entries in the order in which they are found.
#[derive(Clone)]
struct Entries {
    list: Vec<(u64, Place)>,
    /// The number of entries at which repeated ones are removed, so that a small pool that is
    /// written very often takes little memory.
    most: usize,
}

impl Entries {
    fn push(&mut self, key: u64, place: Place) {
        if self.list.len() >= self.most {
            let mut seen = FxHashSet::default();
            self.list.retain(|(key, _)| seen.insert(*key));
            self.most = MANY.max(2 * self.list.len());
        }
        self.list.push((key, place));
    }
}

/// The entries found in the checkpoints, type by type.
struct Found {
    entries: Vec<Entries>,
    layouts: Vec<Option<Option<Layout>>>,
}

impl Pools {
    /// Reads the checkpoints that begin (after size and type) and end at these offsets, in the
    /// order of the file.
    pub(super) fn read(data: &[u8], compressed: bool, types: &Types, checkpoints: &[(usize, usize)]) -> Self {
        let none = Entries { list: Vec::new(), most: MANY };
        let mut found = Found { entries: vec![none; types.classes.len()], layouts: Vec::new() };
        found.layouts.resize_with(types.classes.len(), || None);
        let mut damaged = 0;
        for (from, to) in checkpoints.iter().rev() {
            let body = Bytes::up_to(data, *from, *to, compressed);
            damaged += u64::from(found.checkpoint(body, types).is_none());
        }
        Self { pools: found.entries.into_iter().map(|of_type| Pool::of(of_type.list)).collect(), damaged }
    }

    /// Where the entry of a type with a key begins and ends.
    pub(super) fn find(&self, class: u32, key: u64) -> Option<(usize, usize)> {
        let (_, (from, to)) = self.pools.get(class as usize)?.find(key)?;
        Some((from as usize, to as usize))
    }

    /// The number of the entry of a type with a key: smaller than [`Pools::len`].
    #[inline]
    pub(super) fn number(&self, class: u32, key: u64) -> Option<usize> {
        Some(self.pools.get(class as usize)?.find(key)?.0)
    }

    /// The number of entries of a type.
    pub(super) fn len(&self, class: u32) -> usize {
        self.pools.get(class as usize).map_or(0, |pool| pool.places.len())
    }
}

/// What was found out about entries of pools, by type and key.
#[derive(Default)]
pub(super) struct ByEntry<T> {
    /// By type and number of the entry.
    lists: Vec<Vec<Option<T>>>,
    /// For keys that no pool has.
    others: FxHashMap<(u32, u64), T>,
    /// How many there are.
    pub(super) len: usize,
}

impl<T: Clone> ByEntry<T> {
    /// What is known of an entry.
    #[inline]
    pub(super) fn get(&self, pools: &Pools, class: u32, key: u64) -> Option<&T> {
        match pools.number(class, key) {
            Some(number) => self.lists.get(class as usize)?.get(number)?.as_ref(),
            None => self.others.get(&(class, key)),
        }
    }

    /// Keeps what was found out about an entry of which nothing is known yet.
    pub(super) fn set(&mut self, pools: &Pools, class: u32, key: u64, value: T) {
        self.len += 1;
        let Some(number) = pools.number(class, key) else {
            self.others.insert((class, key), value);
            return;
        };
        let class_at = class as usize;
        if class_at >= self.lists.len() {
            self.lists.resize(class_at + 1, Vec::new());
        }
        let Some(list) = self.lists.get_mut(class_at) else { return };
        if list.is_empty() {
            list.resize(pools.len(class), None);
        }
        if let Some(known) = list.get_mut(number) {
            *known = Some(value);
        }
    }
}

impl Found {
    fn checkpoint(&mut self, mut body: Bytes<'_>, types: &Types) -> Option<()> {
        // Start, duration, offset of the previous checkpoint, and its type.
        let (_, _, _, _) = (body.long()?, body.long()?, body.long()?, body.u8()?);
        // Durations do not matter while entries are skipped.
        let clock = Clock { start_ns: 0, start_ticks: 0, tick_ns: 1.0 };
        for _ in 0..body.length()? {
            let class = types.index(body.long()?)?;
            let known = self.layouts.get_mut(class as usize)?;
            let layout = known.get_or_insert_with(|| Layout::of(types, class, &[])).as_ref()?;
            let entries = self.entries.get_mut(class as usize)?;
            let count = body.length()?;
            entries.list.reserve(count.min(AT_ONCE));
            for _ in 0..count {
                let key = body.long()?;
                let from = u32::try_from(body.at).ok()?;
                // A truncated one ends where the chunk does.
                let end = layout.pass(&mut body, &clock, &mut []).map(|()| body.at);
                let to = end.and_then(|end| u32::try_from(end).ok()).unwrap_or(u32::MAX);
                entries.push(key, (from, to));
                end?;
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_pool_that_is_written_very_often_takes_little_memory() {
        let mut entries = Entries { list: Vec::new(), most: MANY };
        for i in 0..3 * MANY as u32 {
            entries.push(u64::from(i % 5), (68 + i, u32::MAX));
        }
        assert!(entries.list.len() <= MANY);
        let pool = Pool::of(entries.list);
        assert!((0..5).all(|key| pool.find(key).unwrap().1.0 == 68 + key as u32));
    }

    #[test]
    fn what_was_found_out_is_kept_for_keys_with_and_without_an_entry() {
        let pool = |keys: [u64; 3]| Pool::of(keys.map(|key| (key, (68, 69))).to_vec());
        let pools = Pools { pools: vec![pool([5, 6, 7]), pool([1, 1 << 20, 1 << 40])], damaged: 0 };
        let mut known = ByEntry::default();
        let keys = [(0, 5), (0, 7), (0, 8), (1, 1 << 40), (1, 2), (7, 5)];
        for (n, (class, key)) in keys.into_iter().enumerate() {
            assert_eq!(known.get(&pools, class, key), None);
            known.set(&pools, class, key, n);
        }
        for (n, (class, key)) in keys.into_iter().enumerate() {
            assert_eq!(known.get(&pools, class, key), Some(&n));
        }
        assert_eq!((known.get(&pools, 0, 6), known.len), (None, keys.len()));
    }

    #[test]
    fn the_first_entry_of_a_key_is_found_whatever_the_gaps_between_keys() {
        for step in [1, 3, 1 << 16, u64::MAX / 100] {
            let keys: Vec<u64> = (0..90).map(|i| i * 7 % 90 * step).collect();
            let mut entries: Vec<(u64, Place)> = Vec::new();
            for (i, key) in keys.iter().chain(&keys).enumerate() {
                entries.push((*key, (68 + i as u32, 69)));
            }
            let pool = Pool::of(entries);
            let mut seen = std::collections::HashSet::new();
            for (i, key) in keys.iter().enumerate() {
                let (number, place) = pool.find(*key).unwrap();
                assert!(number < pool.places.len() && seen.insert(number));
                assert_eq!(place.0, 68 + i as u32);
            }
            assert_eq!(pool.find(keys.iter().max().unwrap() + 1), None);
            assert!(step == 1 || pool.find(1).is_none());
        }
        assert_eq!(Pool::of(Vec::new()).find(0), None);
    }
}
