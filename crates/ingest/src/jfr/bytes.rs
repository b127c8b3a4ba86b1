//! The primitives of a chunk: bounded integers, floating-point numbers and strings.
//!
//! Integers are big-endian, or, in chunks with the feature "compressed integers" (all of JDK 11 and
//! later and of async-profiler), little-endian base 128 with at most nine bytes, of which the ninth
//! holds eight bits (`JfrCheckpointWriter`, `CompressedRecordingInput` of JDK 17). Reading past the
//! end gives `None`, never a panic.

use std::borrow::Cow;

/// The continuation bits of eight bytes of integers.
pub(super) const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// Bytes that are skipped at once.
const BLOCK: usize = 32;

/// The low seven bits of each of eight bytes, packed.
#[inline]
fn seven_bits_each(eight: u64) -> u64 {
    let pairs = (eight & 0x007f_007f_007f_007f) | (eight & 0x7f00_7f00_7f00_7f00) >> 1;
    let fours = (pairs & 0x0000_3fff_0000_3fff) | (pairs & 0x3fff_0000_3fff_0000) >> 2;
    (fours & 0x0fff_ffff) | (fours & 0x0fff_ffff_0000_0000) >> 4
}

/// How many of eight bytes have their highest bit set.
#[inline]
pub(super) fn marked(high_bits: u64) -> u32 {
    ((high_bits >> 7).wrapping_mul(0x0101_0101_0101_0101) >> 56) as u32
}

/// A view of a chunk with a position.
#[derive(Clone, Copy)]
pub(super) struct Bytes<'a> {
    /// The chunk: also what follows the end of the view, so that eight bytes can be read at once
    /// before it.
    pub(super) data: &'a [u8],
    pub(super) at: usize,
    /// Where the view ends, within the data.
    end: usize,
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
    /// One byte per character.
    Latin1(&'a [u8]),
    /// UTF-16 units, each written as an integer.
    Units(&'a [u8], bool),
}

impl<'a> Bytes<'a> {
    /// The bytes of `data`.
    pub(super) fn new(data: &'a [u8], at: usize, compressed: bool) -> Self {
        Self { data, at, end: data.len(), compressed }
    }

    /// The bytes of `data` up to an end.
    #[inline]
    pub(super) fn up_to(data: &'a [u8], at: usize, end: usize, compressed: bool) -> Self {
        Self { data, at, end: end.min(data.len()), compressed }
    }

    /// Bytes that are left.
    pub(super) fn left(&self) -> usize {
        self.end.saturating_sub(self.at)
    }

    #[inline]
    pub(super) fn u8(&mut self) -> Option<u8> {
        let byte = *self.data.get(self.at).filter(|_| self.at < self.end)?;
        self.at += 1;
        Some(byte)
    }

    /// The next `n` bytes.
    #[inline]
    pub(super) fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let from = self.at;
        self.pass(n)?;
        self.data.get(from..self.at)
    }

    /// All bytes up to the end.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.data.get(self.at..self.end).unwrap_or_default()
    }

    /// Skips `n` bytes.
    #[inline]
    pub(super) fn pass(&mut self, n: usize) -> Option<()> {
        let at = self.at.checked_add(n).filter(|at| *at <= self.end)?;
        self.at = at;
        Some(())
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
            self.pass(1)?;
            return Some(eight & 0x7f);
        }
        if eight & 0x8000 == 0 {
            self.pass(2)?;
            return Some(eight & 0x7f | (eight >> 1) & 0x3f80);
        }
        let last_bytes = !eight & HIGH_BITS;
        if last_bytes == 0 {
            // Eight bytes of seven bits, and all bits of the ninth.
            let ninth = *self.data.get(self.at + 8)?;
            self.pass(9)?;
            return Some(seven_bits_each(eight) | u64::from(ninth) << 56);
        }
        self.pass(last_bytes.trailing_zeros() as usize / 8 + 1)?;
        // Up to the lowest bit that is set in `last_bytes`.
        Some(seven_bits_each(eight & (last_bytes ^ (last_bytes - 1))))
    }

    /// Two compressed integers of at most two bytes each: size and type of nearly all events.
    /// `None`: others, of which nothing is read then.
    #[inline(always)]
    pub(super) fn two_short(&mut self) -> Option<(u64, u64)> {
        let eight = self.eight().filter(|_| self.compressed)?;
        let short = |at: u64| match at & 0x8080 {
            0 | 0x8000 => Some((at & 0x7f, 1)),
            0x80 => Some((at & 0x7f | (at >> 1) & 0x3f80, 2)),
            _ => None,
        };
        let (first, bytes) = short(eight)?;
        let (second, more) = short(eight >> (8 * bytes))?;
        self.pass(bytes + more)?;
        Some((first, second))
    }

    /// The next eight bytes, little-endian.
    #[inline(always)]
    fn eight(&self) -> Option<u64> {
        let eight: &[u8; 8] = self.data.get(self.at..)?.first_chunk()?;
        Some(u64::from_le_bytes(*eight))
    }

    /// The next sixteen bytes, the first eight before the others.
    #[inline]
    pub(super) fn sixteen(&self) -> Option<(u64, u64)> {
        let sixteen: &[u8; 16] = self.data.get(self.at..)?.first_chunk()?;
        let all = u128::from_le_bytes(*sixteen);
        Some((all as u64, (all >> 64) as u64))
    }

    /// A compressed integer within the last eight bytes of the chunk.
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

    /// Skips `count` compressed integers. Most have one or two bytes, so that several are skipped
    /// at once.
    #[inline]
    pub(super) fn skip_varints(&mut self, count: usize) -> Option<()> {
        let mut left = u32::try_from(count).ok()?;
        while left > 0 {
            if left >= BLOCK as u32
                && let Some((integers, bytes)) = self.block()
            {
                self.pass(bytes)?;
                left -= integers;
                continue;
            }
            let Some(eight) = self.eight() else {
                for _ in 0..left {
                    self.varint_at_the_end()?;
                }
                return Some(());
            };
            let mut last_bytes = !eight & HIGH_BITS;
            let ends = marked(last_bytes);
            if ends == 0 {
                self.data.get(self.at + 8)?;
                self.pass(9)?;
                left -= 1;
            } else if ends <= left {
                // The next eight bytes begin where an integer begins, so that a ninth byte is
                // always recognised as one.
                self.pass(8 - last_bytes.leading_zeros() as usize / 8)?;
                left -= ends;
            } else {
                for _ in 1..left {
                    last_bytes &= last_bytes - 1;
                }
                self.pass(last_bytes.trailing_zeros() as usize / 8 + 1)?;
                left = 0;
            }
        }
        Some(())
    }

    /// How many integers end within the next block, and where the last of them does. `None`: one of
    /// them has nine bytes, or the chunk ends.
    #[inline]
    fn block(&self) -> Option<(u32, usize)> {
        let block: &[u8; BLOCK] = self.data.get(self.at..)?.first_chunk()?;
        let last_bytes = |word: &[u8; 8]| !u64::from_le_bytes(*word) & HIGH_BITS;
        let (mut ends, mut four_in_a_row, mut last) = (0, false, 0);
        for word in block.as_chunks().0 {
            last = last_bytes(word);
            ends += last >> 7;
            four_in_a_row |= last as u32 == 0 || last >> 32 == 0;
        }
        // A nine-byte integer has four such bytes in a row without an end.
        if four_in_a_row {
            let mut open = 0;
            for last in block.as_chunks().0.iter().map(last_bytes) {
                if open + last.trailing_zeros() >= u64::BITS {
                    return None;
                }
                open = last.leading_zeros();
            }
        }
        let integers = (ends.wrapping_mul(0x0101_0101_0101_0101) >> 56) as u32;
        Some((integers, BLOCK - last.leading_zeros() as usize / 8))
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
                if self.compressed {
                    self.skip_varints(units)?;
                } else {
                    self.pass(units.checked_mul(2)?)?;
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

    /// The number of elements that follow; each takes a byte or more, so that there are never more
    /// than bytes left.
    pub(super) fn length(&mut self) -> Option<usize> {
        let n = usize::try_from(self.int()?).ok()?;
        (n <= self.left()).then_some(n)
    }
}

/// Nearly all text is valid, which is quicker to check than to convert.
fn utf8(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

impl<'a> Text<'a> {
    /// The characters of an inline string; `None` for one of the pool or null.
    pub(super) fn in_place(self) -> Option<Cow<'a, str>> {
        match self {
            Text::Null | Text::Pool(_) => None,
            Text::Utf8(bytes) => Some(utf8(bytes)),
            Text::Latin1(bytes) if bytes.is_ascii() => Some(utf8(bytes)),
            Text::Latin1(bytes) => Some(bytes.iter().map(|b| char::from(*b)).collect::<String>().into()),
            Text::Units(bytes, compressed) => {
                let mut reader = Bytes::new(bytes, 0, compressed);
                // An integer below 128 is one byte.
                if compressed && bytes.is_ascii() {
                    return Some(utf8(bytes));
                }
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
        // Integers of all lengths in changing order, by a fixed generator; ninth bytes with the
        // high bit set, too.
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
        for length in [data.len(), data.len() - 1, data.len() - 5, data.len() / 2] {
            let whole = values.iter().filter(|(_, at)| *at <= length).count() - 1;
            let mut bytes = Bytes::new(&data[..length], 0, true);
            for (value, at) in &values[..whole] {
                assert_eq!((bytes.at, bytes.long()), (*at, Some(*value)));
            }
            for (pair, at) in values[..whole].windows(2).zip(values.iter().map(|(_, at)| *at)) {
                let mut bytes = Bytes::new(&data[..length], at, true);
                let short = pair.iter().all(|(value, _)| *value < 1 << 14) && at + 8 <= length;
                let expected = short.then_some((pair[0].0, pair[1].0));
                assert_eq!(bytes.two_short(), expected);
                assert_eq!(bytes.at == at, expected.is_none());
            }
            for from in (0..whole).step_by(7) {
                for count in [0, 1, 2, 3, 9, 40, whole - from] {
                    let mut bytes = Bytes::new(&data[..length], values[from].1, true);
                    let passed = bytes.skip_varints(count);
                    if from + count <= whole {
                        assert_eq!((passed, bytes.at), (Some(()), values[from + count].1));
                    } else {
                        assert_eq!(passed, None);
                    }
                }
            }
            let mut bytes = Bytes::new(&data[..length], 0, true);
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
        // A length beyond the end is not a string.
        assert_eq!(text(&[3, 200, b'a']), None);
        assert_eq!(text(&[4, 0xff, 0xff, 0xff, 0xff, 0x0f, b'a']), None);
    }
}
