//! Numbers and names in the records of the programs, byte by byte: what is cut off is `None`, never
//! a panic.

/// A `__u64` at an offset.
pub(crate) fn long(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|b| u64::from_ne_bytes(*b))
}

/// A `__u32` at an offset.
pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|b| u32::from_ne_bytes(*b))
}

/// A `__u16` at an offset.
pub(crate) fn short(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|b| u16::from_ne_bytes(*b))
}

/// A text that ends at the first zero, or where the bytes do: names of threads, and what probes of
/// a JVM hand over.
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    fathom_recording::jvm_text(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_off_is_none_and_a_text_ends_at_its_zero() {
        let bytes = [1, 0, 0, 0, 2, 0, 0, 0, 3];
        assert_eq!(
            (word(&bytes, 4), short(&bytes, 7), long(&bytes, 1)),
            (Some(2), Some(0x300), Some(0x0300_0000_0200_0000))
        );
        assert_eq!((word(&bytes, 6), long(&bytes, 2), short(&bytes, usize::MAX)), (None, None, None));
        assert_eq!((text(b"ab\0c"), text(b"abc"), text(b"")), ("ab".into(), "abc".into(), String::new()));
    }
}
