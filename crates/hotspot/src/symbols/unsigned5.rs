//! UNSIGNED5: the variable-length numbers of debug information
//! (src/hotspot/share/utilities/unsigned5.hpp, until JDK 19 code/compressedStream.hpp).
//!
//! One to five bytes, each counted 64 times as much as the one before. A byte below the limit ends
//! the number. Since JDK 20 (JDK-8292758) no byte is zero: each carries an excess of one.

/// Bits by which a byte counts more than the one before.
const SHIFT: u32 = 6;
/// Bytes of a number at most.
const LONGEST: u32 = 5;

/// Reads numbers out of bytes. Never beyond them: after the last one there is nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unsigned5<'a> {
    bytes: &'a [u8],
    position: usize,
    excess: u32,
}

impl<'a> Unsigned5<'a> {
    /// Numbers of a release from a position on.
    pub(crate) fn new(bytes: &'a [u8], position: usize, feature: u32) -> Self {
        Self { bytes, position, excess: u32::from(feature >= 20) }
    }

    /// The next byte as it is.
    pub(crate) fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.position)?;
        self.position += 1;
        Some(byte)
    }

    /// The next number; `None` where the bytes end or a byte cannot be of a number.
    pub(crate) fn number(&mut self) -> Option<u32> {
        // Bytes from here on say that more come.
        let limit = 256 - (1 << SHIFT) - self.excess;
        let mut sum = 0u32;
        for i in 0..LONGEST {
            let byte = u32::from(self.byte()?);
            let value = byte.checked_sub(self.excess)?;
            sum = sum.wrapping_add(value << (SHIFT * i));
            if byte < limit + self.excess {
                return Some(sum);
            }
        }
        Some(sum)
    }

    /// The next number with its sign in the lowest bit.
    pub(crate) fn signed(&mut self) -> Option<i32> {
        let value = self.number()?;
        Some((value >> 1) as i32 ^ -((value & 1) as i32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Writes a number as the JVM does.
    fn write(mut value: u32, excess: u32, to: &mut Vec<u8>) {
        let limit = 192 - excess;
        for i in 0..LONGEST {
            if value < limit || i == LONGEST - 1 {
                to.push((value + excess) as u8);
                return;
            }
            let low = limit + (value - limit) % 64;
            to.push((low + excess) as u8);
            value = (value - low) / 64;
        }
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(values in prop::collection::vec(any::<u32>(), 1..50), feature in 8u32..26) {
            let mut bytes = Vec::new();
            for value in &values {
                write(*value, u32::from(feature >= 20), &mut bytes);
            }
            prop_assert!(feature < 20 || !bytes.contains(&0));
            let mut stream = Unsigned5::new(&bytes, 0, feature);
            for value in &values {
                prop_assert_eq!(stream.number(), Some(*value));
            }
            prop_assert_eq!(stream.number(), None);
        }
    }

    #[test]
    fn a_truncated_number_is_refused() {
        assert_eq!(Unsigned5::new(&[200], 0, 8).number(), None);
        assert_eq!(Unsigned5::new(&[0], 0, 25).number(), None, "no byte is zero since JDK 20");
        assert_eq!(Unsigned5::new(&[7], 5, 8).number(), None);
        assert_eq!(Unsigned5::new(&[3], 0, 8).signed(), Some(-2));
    }
}
