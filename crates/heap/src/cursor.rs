//! Big-endian numbers out of bytes that may end anywhere.

/// A place in some bytes, from which it reads forward. Every read may say that there is nothing
/// left.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    data: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// At an offset; behind the end there is nothing to read.
    pub fn new(data: &'a [u8], at: usize) -> Self {
        Self { data, at: at.min(data.len()) }
    }

    /// The offset.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The next bytes.
    pub fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(bytes)?;
        let taken = self.data.get(self.at..end)?;
        self.at = end;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    /// One byte.
    pub fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Two bytes.
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    /// Four bytes.
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// Eight bytes.
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// An identifier of four or eight bytes.
    pub fn id(&mut self, size: usize) -> Option<u64> {
        if size == 4 { self.u32().map(u64::from) } else { self.u64() }
    }
}

/// Elements of an array of references.
pub fn ids(bytes: &[u8], size: usize) -> impl Iterator<Item = u64> + '_ {
    bytes.chunks_exact(size.max(1)).map(|id| id.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_not_read() {
        let mut cursor = Cursor::new(&[0, 0, 0, 7, 1, 2], 0);
        assert_eq!((cursor.u32(), cursor.u32(), cursor.at()), (Some(7), None, 4));
        assert_eq!((cursor.u16(), cursor.u8()), (Some(0x0102), None));
        assert_eq!(Cursor::new(&[], usize::MAX).take(usize::MAX), None);
        assert_eq!(ids(&[0, 0, 0, 1, 0, 0, 0, 2, 9], 4).collect::<Vec<_>>(), [1, 2]);
    }
}
