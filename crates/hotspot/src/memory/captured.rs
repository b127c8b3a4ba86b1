//! Memory captured from a process: what a test reads when there is no JVM.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use super::{Memory, Unreadable};

/// Bytes of a page of a capture. Small, so that a capture holds little more than what was asked
/// for.
const PAGE: u64 = 256;
/// Pages that a capture read from a file may have (64 MiB).
const MOST_PAGES: usize = 1 << 18;
/// First bytes of a capture on disk.
const MAGIC: &[u8; 8] = b"fthmmem1";

/// Captured memory: ranges by address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// Page number to its bytes.
    pages: BTreeMap<u64, [u8; PAGE as usize]>,
}

impl Captured {
    /// Adds a range. The rest of its first and last page is zero unless it was there before.
    pub fn add(&mut self, address: u64, bytes: &[u8]) {
        for (i, byte) in bytes.iter().enumerate() {
            let at = address.wrapping_add(i as u64);
            self.pages.entry(at / PAGE).or_insert([0; PAGE as usize])[(at % PAGE) as usize] = *byte;
        }
    }

    /// Writes all of it: "fthmmem1", then for each page its number (8 bytes, little-endian) and its
    /// 256 bytes.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(MAGIC)?;
        for (number, bytes) in &self.pages {
            to.write_all(&number.to_le_bytes())?;
            to.write_all(bytes)?;
        }
        Ok(())
    }

    /// Reads what [`Captured::write`] wrote.
    pub fn read_from(from: &mut impl Read) -> io::Result<Self> {
        let mut magic = [0; 8];
        from.read_exact(&mut magic)?;
        if &magic != MAGIC {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a capture of memory"));
        }
        let mut captured = Self::default();
        loop {
            let mut number = [0; 8];
            match from.read_exact(&mut number) {
                Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(captured),
                other => other?,
            }
            let mut bytes = [0; PAGE as usize];
            from.read_exact(&mut bytes)?;
            captured.pages.insert(u64::from_le_bytes(number), bytes);
            if captured.pages.len() > MOST_PAGES {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "too many pages in a capture of memory",
                ));
            }
        }
    }
}

impl Memory for Captured {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        let unreadable = Unreadable { address, length: into.len(), errno: 0 };
        let mut done = 0;
        while done < into.len() {
            let at = address.checked_add(done as u64).ok_or(unreadable)?;
            let bytes = &self.pages.get(&(at / PAGE)).ok_or(unreadable)?[(at % PAGE) as usize..];
            let piece = bytes.len().min(into.len() - done);
            into[done..done + piece].copy_from_slice(&bytes[..piece]);
            done += piece;
        }
        Ok(())
    }
}

/// A memory that records every page that is read from it, to make a [`Captured`] of what a reader
/// needs.
#[derive(Debug)]
pub struct Capture<M> {
    below: M,
    kept: RefCell<Captured>,
}

impl<M: Memory> Capture<M> {
    /// Keeps what is read from `below`.
    pub fn new(below: M) -> Self {
        Self { below, kept: RefCell::default() }
    }

    /// What was read.
    pub fn into_captured(self) -> Captured {
        self.kept.into_inner()
    }
}

impl<M: Memory> Memory for Capture<M> {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        self.below.read(address, into)?;
        self.kept.borrow_mut().add(address, into);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_gives_back_what_was_read_and_nothing_else() {
        let mut whole = Captured::default();
        whole.add(1000, &[7; 1000]);
        let capture = Capture::new(&whole);
        assert_eq!(capture.read_u32(1500).unwrap(), 0x0707_0707);
        assert!(capture.read_u32(5000).is_err());
        let mut file = Vec::new();
        capture.into_captured().write(&mut file).unwrap();
        let captured = Captured::read_from(&mut file.as_slice()).unwrap();
        assert_eq!(captured.read_u32(1500).unwrap(), 0x0707_0707);
        assert!(captured.read_u32(1900).is_err(), "another page");
        file.truncate(file.len() - 1);
        assert!(Captured::read_from(&mut file.as_slice()).is_err());
    }
}
