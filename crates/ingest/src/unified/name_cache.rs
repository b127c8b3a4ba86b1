//! A cache of names that occur again and again: of pauses, causes, operations. A log has a few
//! dozen of them and hundreds of thousands of records; a recent one is not allocated again.

use std::rc::Rc;

use super::out::text;

/// How many are cached. A pause of G1 has a name, a cause and its operation.
const KEPT: usize = 4;

/// The last few names.
#[derive(Clone, Debug)]
pub(crate) struct NameCache {
    kept: [Rc<str>; KEPT],
    oldest: usize,
}

impl Default for NameCache {
    fn default() -> Self {
        Self { kept: std::array::from_fn(|_| Rc::from("")), oldest: 0 }
    }
}

impl NameCache {
    /// Bytes as text, what is not UTF-8 in them replaced.
    pub(crate) fn of(&mut self, bytes: &[u8]) -> Rc<str> {
        if let Some(known) = self.kept.iter().find(|known| same(known.as_bytes(), bytes)) {
            return known.clone();
        }
        let new: Rc<str> = Rc::from(text(bytes));
        if let Some(oldest) = self.kept.get_mut(self.oldest) {
            *oldest = new.clone();
        }
        self.oldest = (self.oldest + 1) % KEPT;
        new
    }
}

/// Whether two texts are equal, by their first and last few bytes, which overlap in between: for
/// some twenty bytes that is quicker than a call.
#[inline]
pub(crate) fn same(a: &[u8], b: &[u8]) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_itself_however_many_came_between() {
        let mut names = NameCache::default();
        for i in (0..40).map(|i| i * i % 7) {
            let name = format!("Pause Young (Sort {i})");
            assert_eq!(*names.of(name.as_bytes()), *name);
        }
        assert_eq!(*names.of(b"a\xffb"), *"a\u{fffd}b");
        assert_eq!(*names.of(b"a\xffb"), *"a\u{fffd}b");
        assert_eq!(*names.of(b""), *"");
    }

    #[test]
    fn texts_are_the_same_when_every_byte_is() {
        let text: Vec<u8> = (0..40).collect();
        let copy = text.clone();
        for n in 0..text.len() {
            assert!(same(&text[..n], &copy[..n]));
            assert!(!same(&text[..n], &text[..n + 1]));
            for at in 0..n {
                let mut other = text[..n].to_vec();
                other[at] ^= 1;
                assert!(!same(&text[..n], &other), "{n} bytes, byte {at}");
            }
        }
    }
}
