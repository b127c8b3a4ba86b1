//! Comparing short texts, which nearly every line asks for several times.

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
