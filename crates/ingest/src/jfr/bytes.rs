//! The primitives of a chunk: bounded integers, floating-point numbers and strings.
//!
//! Integers are big-endian, or, in chunks with the feature "compressed integers" (all of JDK 11 and
//! later and of async-profiler), little-endian base 128 with at most nine bytes, of which the ninth
//! holds eight bits (`JfrCheckpointWriter`, `CompressedRecordingInput` of JDK 17). Reading past the
//! end gives `None`, never a panic.

use std::borrow::Cow;

/// The bit of each of eight bytes that says whether an integer goes on behind it.
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// The low seven bits of each of eight bytes, one behind the other.
#[inline]
fn seven_bits_each(eight: u64) -> u64 {
    let pairs = (eight & 0x007f_007f_007f_007f) | (eight & 0x7f00_7f00_7f00_7f00) >> 1;
    let fours = (pairs & 0x0000_3fff_0000_3fff) | (pairs & 0x3fff_0000_3fff_0000) >> 2;
    (fours & 0x0fff_ffff) | (fours & 0x0fff_ffff_0000_0000) >> 4
}

/// A view of a chunk with a position.
#[derive(Clone, Copy)]
pub(super) struct Bytes<'a> {
    pub(super) data: &'a [u8],
    pub(super) at: usize,
    /// Whether integers are compressed.
    pub(super) compressed: bool,
}

/// A string as a field holds it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Text<'a> {
    /// No string.
    Null,
    /// A key into the constant pool of strings.
    Pool(u64),
    /// Bytes of UTF-8.
    Utf8(&'a [u8]),
    /// One byte a character.
    Latin1(&'a [u8]),
    /// UTF-16 units, each written as an integer.
    Units(&'a [u8], bool),
}

impl<'a> Bytes<'a> {
    /// The bytes of `data`.
    pub(super) fn new(data: &'a [u8], at: usize, compressed: bool) -> Self {
        Self { data, at, compressed }
    }

    /// Bytes that are left.
    pub(super) fn left(&self) -> usize {
        self.data.len().saturating_sub(self.at)
    }

    #[inline]
    pub(super) fn u8(&mut self) -> Option<u8> {
        let byte = *self.data.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    /// The next `n` bytes.
    #[inline]
    pub(super) fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(n)?;
        let taken = self.data.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn fixed<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    /// An integer that takes `width` bytes where integers are not compressed.
    #[inline(always)]
    pub(super) fn integer(&mut self, width: u8) -> Option<u64> {
        if self.compressed {
            return self.varint();
        }
        Some(match width {
            2 => u64::from(u16::from_be_bytes(self.fixed()?)),
            4 => u64::from(u32::from_be_bytes(self.fixed()?)),
            _ => u64::from_be_bytes(self.fixed()?),
        })
    }

    /// A 32-bit integer.
    #[inline]
    pub(super) fn int(&mut self) -> Option<u64> {
        self.integer(4)
    }

    /// A 64-bit integer.
    #[inline]
    pub(super) fn long(&mut self) -> Option<u64> {
        self.integer(8)
    }

    #[inline(always)]
    fn varint(&mut self) -> Option<u64> {
        let Some(eight) = self.eight() else { return self.varint_at_the_end() };
        if eight & 0x80 == 0 {
            self.at += 1;
            return Some(eight & 0x7f);
        }
        let last_bytes = !eight & HIGH_BITS;
        if last_bytes == 0 {
            // Eight bytes of seven bits, and all bits of the ninth.
            let ninth = *self.data.get(self.at + 8)?;
            self.at += 9;
            return Some(seven_bits_each(eight) | u64::from(ninth) << 56);
        }
        self.at += last_bytes.trailing_zeros() as usize / 8 + 1;
        // Up to the lowest bit that is set in `last_bytes`.
        Some(seven_bits_each(eight & (last_bytes ^ (last_bytes - 1))))
    }

    /// The next eight bytes, little-endian.
    #[inline(always)]
    fn eight(&self) -> Option<u64> {
        let eight: &[u8; 8] = self.data.get(self.at..)?.first_chunk()?;
        Some(u64::from_le_bytes(*eight))
    }

    /// A compressed integer that may end within the last eight bytes of the data.
    #[cold]
    fn varint_at_the_end(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in [0, 7, 14, 21, 28, 35, 42, 49] {
            let byte = self.u8()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        Some(value | u64::from(self.u8()?) << 56)
    }

    /// Goes over `count` compressed integers. Most are of one or two bytes, so that several are
    /// passed at once.
    #[inline]
    pub(super) fn skip_varints(&mut self, count: usize) -> Option<()> {
        let mut left = count as u32;
        if left as usize != count {
            return None;
        }
        while left > 0 {
            let Some(eight) = self.eight() else {
                for _ in 0..left {
                    self.varint_at_the_end()?;
                }
                return Some(());
            };
            let mut last_bytes = !eight & HIGH_BITS;
            let ends = last_bytes.count_ones();
            if ends == 0 {
                (self.at + 8 < self.data.len()).then_some(())?;
                self.at += 9;
                left -= 1;
            } else if ends <= left {
                // The next eight bytes begin where an integer begins, so that a ninth byte is
                // always seen as one.
                self.at += 8 - last_bytes.leading_zeros() as usize / 8;
                left -= ends;
            } else {
                for _ in 1..left {
                    last_bytes &= last_bytes - 1;
                }
                self.at += last_bytes.trailing_zeros() as usize / 8 + 1;
                left = 0;
            }
        }
        Some(())
    }

    pub(super) fn float(&mut self) -> Option<f64> {
        Some(f64::from(f32::from_be_bytes(self.fixed()?)))
    }

    pub(super) fn double(&mut self) -> Option<f64> {
        Some(f64::from_be_bytes(self.fixed()?))
    }

    /// A string in one of its six encodings (`jdk.jfr.internal.consumer.StringParser`).
    #[inline]
    pub(super) fn text(&mut self) -> Option<Text<'a>> {
        Some(match self.u8()? {
            0 => Text::Null,
            1 => Text::Utf8(b""),
            2 => Text::Pool(self.long()?),
            3 => {
                let size = self.length()?;
                Text::Utf8(self.take(size)?)
            }
            4 => {
                let units = self.length()?;
                let from = self.at;
                for _ in 0..units {
                    self.integer(2)?;
                }
                Text::Units(self.data.get(from..self.at)?, self.compressed)
            }
            5 => {
                let size = self.length()?;
                Text::Latin1(self.take(size)?)
            }
            _ => return None,
        })
    }

    /// How many of something follow; each takes a byte or more, so that there are never more than
    /// bytes left.
    pub(super) fn length(&mut self) -> Option<usize> {
        let n = usize::try_from(self.int()?).ok()?;
        (n <= self.left()).then_some(n)
    }
}

impl<'a> Text<'a> {
    /// The characters of a string that stands in place; `None` for one of the pool or none.
    pub(super) fn in_place(self) -> Option<Cow<'a, str>> {
        match self {
            Text::Null | Text::Pool(_) => None,
            Text::Utf8(bytes) => Some(String::from_utf8_lossy(bytes)),
            Text::Latin1(bytes) if bytes.is_ascii() => Some(String::from_utf8_lossy(bytes)),
            Text::Latin1(bytes) => Some(bytes.iter().map(|b| char::from(*b)).collect::<String>().into()),
            Text::Units(bytes, compressed) => {
                let mut reader = Bytes::new(bytes, 0, compressed);
                let units = std::iter::from_fn(|| reader.integer(2)).map(|unit| unit as u16);
                let read = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER));
                Some(read.collect::<String>().into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(data: &[u8]) -> Option<String> {
        Bytes::new(data, 0, true).text()?.in_place().map(Cow::into_owned)
    }

    #[test]
    fn integers_of_one_to_nine_bytes() {
        let read = |data: &[u8]| Bytes::new(data, 0, true).long();
        assert_eq!(read(&[0x7f]), Some(127));
        assert_eq!(read(&[0x80, 0x01]), Some(128));
        assert_eq!(read(&[0xff; 9]), Some(u64::MAX));
        assert_eq!(read(&[0x80; 8]), None);
        assert_eq!(Bytes::new(&[1, 2, 3, 4], 0, false).int(), Some(0x0102_0304));
    }

    #[test]
    fn integers_are_read_and_passed_alike_wherever_the_data_ends() {
        // Integers of all lengths in changing order, by a generator of fixed numbers; ninth bytes
        // with the high bit set too.
        let mut state = 1u64;
        let mut values = Vec::new();
        let mut data = Vec::new();
        for _ in 0..500 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let value = state.rotate_left(17) >> (state >> 58);
            values.push((value, data.len()));
            let mut rest = value;
            for place in 0..9 {
                let last = place == 8 || rest < 0x80;
                data.push(if last { rest as u8 } else { rest as u8 | 0x80 });
                rest >>= 7;
                if last {
                    break;
                }
            }
        }
        values.push((0, data.len()));
        for cut in [data.len(), data.len() - 1, data.len() - 5, data.len() / 2] {
            let whole = values.iter().filter(|(_, at)| *at <= cut).count() - 1;
            let mut bytes = Bytes::new(&data[..cut], 0, true);
            for (value, at) in &values[..whole] {
                assert_eq!((bytes.at, bytes.long()), (*at, Some(*value)));
            }
            for from in (0..whole).step_by(7) {
                for count in [0, 1, 2, 3, 9, 40, whole - from] {
                    let mut bytes = Bytes::new(&data[..cut], values[from].1, true);
                    let passed = bytes.skip_varints(count);
                    if from + count <= whole {
                        assert_eq!((passed, bytes.at), (Some(()), values[from + count].1));
                    } else {
                        assert_eq!(passed, None);
                    }
                }
            }
            let mut bytes = Bytes::new(&data[..cut], 0, true);
            assert_eq!(bytes.skip_varints(whole + 1), None);
        }
    }

    #[test]
    fn strings_in_all_six_encodings() {
        assert_eq!(text(&[0]), None);
        assert_eq!(text(&[1]).as_deref(), Some(""));
        assert!(matches!(Bytes::new(&[2, 9], 0, true).text(), Some(Text::Pool(9))));
        assert_eq!(text(&[3, 3, b'g', 0xc3, 0xb6]).as_deref(), Some("gö"));
        assert_eq!(text(&[4, 2, b'a', 0xac, 0x41]).as_deref(), Some("a€"));
        assert_eq!(text(&[5, 2, b'a', 0xf6]).as_deref(), Some("aö"));
        assert_eq!(text(&[6]), None);
        // A length beyond the end is no string.
        assert_eq!(text(&[3, 200, b'a']), None);
        assert_eq!(text(&[4, 0xff, 0xff, 0xff, 0xff, 0x0f, b'a']), None);
    }
}
