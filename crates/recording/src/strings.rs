//! The dictionary: each distinct string once, referred to by a dense id.
//!
//! Stored in one arena, so that a hundred thousand method names cost their bytes and not a hundred
//! thousand allocations.

use rustc_hash::FxHasher;
use std::hash::Hasher;

use crate::StrId;

/// Strings of one recording, deduplicated.
#[derive(Clone, Debug, Default)]
pub struct Strings {
    arena: String,
    /// End of each string in the arena; string `i` starts where string `i - 1` ends.
    ends: Vec<u32>,
    /// Open addressing over string ids; `u32::MAX` is a free slot. Its length is a power of two.
    slots: Vec<u32>,
}

const FREE: u32 = u32::MAX;

impl Strings {
    /// The id of `text`, which is added if it is new.
    ///
    /// The arena holds at most 4 GiB; a string that would exceed that is mapped to the empty
    /// string's id, so that untrusted input cannot grow it without bound.
    pub fn intern(&mut self, text: &str) -> StrId {
        if (self.ends.len() + 1) * 4 > self.slots.len() * 3 {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut at = hash(text) & mask;
        loop {
            match self.slots[at] {
                FREE => break,
                id if self.is(StrId(id), text) => return StrId(id),
                _ => at = (at + 1) & mask,
            }
        }
        if self.arena.len() + text.len() >= u32::MAX as usize {
            return if text.is_empty() { StrId(0) } else { self.intern("") };
        }
        let id = self.ends.len() as u32;
        self.arena.push_str(text);
        self.ends.push(self.arena.len() as u32);
        self.slots[at] = id;
        StrId(id)
    }

    /// The id of `text` when it is already known.
    pub fn find(&self, text: &str) -> Option<StrId> {
        if self.slots.is_empty() {
            return None;
        }
        let mask = self.slots.len() - 1;
        let mut at = hash(text) & mask;
        loop {
            match self.slots[at] {
                FREE => return None,
                id if self.is(StrId(id), text) => return Some(StrId(id)),
                _ => at = (at + 1) & mask,
            }
        }
    }

    /// The string behind an id of this dictionary.
    #[inline]
    pub fn get(&self, id: StrId) -> &str {
        let i = id.index();
        let from = if i == 0 { 0 } else { self.ends[i - 1] as usize };
        &self.arena[from..self.ends[i] as usize]
    }

    /// Whether an id is that of `text`: cheaper than to get the string and compare.
    #[inline]
    pub(crate) fn is(&self, id: StrId, text: &str) -> bool {
        let i = id.index();
        let from = if i == 0 { 0 } else { self.ends[i - 1] as usize };
        same(&self.arena.as_bytes()[from..self.ends[i] as usize], text.as_bytes())
    }

    /// The number of distinct strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Memory in use, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.arena.capacity() + 4 * (self.ends.capacity() + self.slots.capacity())
    }

    /// Releases reserved memory.
    pub(crate) fn shrink(&mut self) {
        self.arena.shrink_to_fit();
        self.ends.shrink_to_fit();
    }

    /// Whether there is no string yet.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn grow(&mut self) {
        let len = (self.slots.len() * 2).max(64);
        let mut slots = vec![FREE; len];
        for id in 0..self.ends.len() as u32 {
            let mut at = hash(self.get(StrId(id))) & (len - 1);
            while slots[at] != FREE {
                at = (at + 1) & (len - 1);
            }
            slots[at] = id;
        }
        self.slots = slots;
    }
}

/// Whether two texts are equal, by their first and last few bytes, which overlap in between: for
/// the twenty bytes of a key or a tag of a log that is quicker than a call.
#[inline]
pub fn same(a: &[u8], b: &[u8]) -> bool {
    fn ends<const N: usize>(a: &[u8], b: &[u8]) -> bool {
        a.first_chunk::<N>() == b.first_chunk::<N>() && a.last_chunk::<N>() == b.last_chunk::<N>()
    }
    a.len() == b.len()
        && match a.len() {
            4..=7 => ends::<4>(a, b),
            8..=16 => ends::<8>(a, b),
            17..=32 => ends::<16>(a, b),
            _ => a == b,
        }
}

fn hash(text: &str) -> usize {
    let mut hasher = FxHasher::default();
    hasher.write(text.as_bytes());
    hasher.finish() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interning_twice_gives_one_id() {
        let mut strings = Strings::default();
        let ids: Vec<_> = (0..1000).map(|i| strings.intern(&format!("method{i}"))).collect();
        for (i, id) in ids.iter().enumerate() {
            assert_eq!(strings.get(*id), format!("method{i}"));
            assert_eq!(strings.intern(&format!("method{i}")), *id);
        }
        assert_eq!(strings.len(), 1000);
        assert_eq!(strings.find("method7"), Some(ids[7]));
        assert_eq!(strings.find("never seen"), None);
    }

    #[test]
    fn texts_are_the_same_when_every_byte_is() {
        let text: Vec<u8> = (0..40).collect();
        for n in 0..text.len() {
            assert!(same(&text[..n], &text.clone()[..n]) && !same(&text[..n], &text[..n + 1]));
            for at in 0..n {
                let mut other = text[..n].to_vec();
                other[at] ^= 1;
                assert!(!same(&text[..n], &other), "{n} bytes, byte {at}");
            }
        }
    }
}
