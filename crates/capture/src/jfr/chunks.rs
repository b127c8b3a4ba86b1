//! Flight recordings put together: the chunks of several files, each once, in one file.
//!
//! A recording is a row of chunks, each of which can be read alone (JDK's `ChunkHeader`): magic,
//! version, size, positions, then when it began, nanoseconds since the epoch. Two recordings that
//! run at the same time hold the same chunks for that time, byte for byte.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// "FLR\0".
const MAGIC: [u8; 4] = *b"FLR\0";
/// Bytes of a chunk's header.
const HEADER: u64 = 68;

/// A file of chunks in the making.
#[derive(Debug)]
pub(crate) struct Chunks {
    file: File,
    bytes: u64,
    /// Starts of the chunks that are in it.
    seen: BTreeSet<i64>,
    most_bytes: u64,
    /// Chunks that found no room.
    pub refused: u64,
}

impl Chunks {
    /// An empty one in a file that has no name and goes away with its last descriptor, also when
    /// fathom is killed.
    pub fn new(most_bytes: u64) -> io::Result<Self> {
        Ok(Self { file: tempfile::tempfile()?, bytes: 0, seen: BTreeSet::new(), most_bytes, refused: 0 })
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.seen.len() as u64
    }

    /// Appends the chunks of a file that are not there yet. What is no chunk ends it. A chunk that
    /// was never finished, because its JVM was killed, is taken when `unfinished` ones are, as far
    /// as it goes.
    pub fn append(&mut self, from: &mut File, unfinished: bool) -> io::Result<()> {
        let end = from.seek(SeekFrom::End(0))?;
        let mut at = 0;
        while at + HEADER <= end {
            from.seek(SeekFrom::Start(at))?;
            let mut head = [0; HEADER as usize];
            from.read_exact(&mut head)?;
            let long = |at: usize| i64::from_be_bytes(std::array::from_fn(|i| head[at + i]));
            if head[..4] != MAGIC {
                break;
            }
            let (size, began) = (u64::try_from(long(8)).unwrap_or(0), long(32));
            let whole = size >= HEADER && at.checked_add(size).is_some_and(|behind| behind <= end);
            if !whole && !unfinished {
                break;
            }
            let length = if whole { size } else { end - at };
            if self.bytes + length > self.most_bytes {
                self.refused += 1;
            } else if self.seen.insert(began) {
                from.seek(SeekFrom::Start(at))?;
                self.bytes += io::copy(&mut from.take(length), &mut self.file)?;
            }
            at += length;
        }
        Ok(())
    }

    /// What came since the last time, in a file from its beginning; `None`: nothing. What was given
    /// is not taken again.
    pub fn since(&mut self) -> io::Result<Option<File>> {
        let file = std::mem::replace(&mut self.file, tempfile::tempfile()?);
        let fresh = Self {
            file,
            bytes: std::mem::take(&mut self.bytes),
            seen: BTreeSet::new(),
            most_bytes: self.most_bytes,
            refused: 0,
        };
        fresh.finish()
    }

    /// The file, from its beginning; `None` when it is empty.
    pub fn finish(mut self) -> io::Result<Option<File>> {
        self.file.flush()?;
        self.file.rewind()?;
        Ok((self.bytes > 0).then_some(self.file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(began: i64, body: &[u8], size: Option<i64>) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([0, 2, 0, 1]);
        bytes.extend(size.unwrap_or(HEADER as i64 + body.len() as i64).to_be_bytes());
        bytes.resize(32, 0);
        bytes.extend(began.to_be_bytes());
        bytes.resize(HEADER as usize, 0);
        bytes.extend(body);
        bytes
    }

    fn file(parts: &[Vec<u8>]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        parts.iter().for_each(|part| file.write_all(part).unwrap());
        file
    }

    fn content(chunks: Chunks) -> Vec<u8> {
        let mut bytes = Vec::new();
        chunks.finish().unwrap().unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_chunk_that_two_recordings_share_is_kept_once() {
        let (a, b, c) = (chunk(1, b"first", None), chunk(2, b"both", None), chunk(3, b"last", None));
        let mut chunks = Chunks::new(1 << 20).unwrap();
        chunks.append(&mut file(&[a.clone(), b.clone()]), false).unwrap();
        chunks.append(&mut file(&[b.clone(), c.clone()]), false).unwrap();
        assert_eq!(chunks.count(), 3);
        assert_eq!(content(chunks), [a, b, c].concat());
    }

    #[test]
    fn what_was_given_is_not_given_again() {
        let (a, b) = (chunk(1, b"first", None), chunk(2, b"both", None));
        let mut chunks = Chunks::new(1 << 20).unwrap();
        chunks.append(&mut file(&[a.clone(), b.clone()]), false).unwrap();
        let mut bytes = Vec::new();
        chunks.since().unwrap().unwrap().read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, [a, b.clone()].concat());
        chunks.append(&mut file(&[b]), false).unwrap();
        assert!(chunks.since().unwrap().is_none());
    }

    #[test]
    fn an_unfinished_chunk_is_taken_when_it_is_the_last_that_there_will_be() {
        for size in [0, -1, i64::MAX, 1 << 40] {
            let cut = chunk(1, b"the JVM was killed he", Some(size));
            let mut chunks = Chunks::new(1 << 20).unwrap();
            chunks.append(&mut file(std::slice::from_ref(&cut)), false).unwrap();
            assert_eq!(chunks.count(), 0);
            chunks.append(&mut file(std::slice::from_ref(&cut)), true).unwrap();
            assert_eq!(content(chunks), cut);
        }
    }

    #[test]
    fn what_is_no_chunk_and_what_has_no_room_is_left_out() {
        let mut chunks = Chunks::new(100).unwrap();
        chunks.append(&mut file(&[b"nonsense".repeat(100)]), true).unwrap();
        chunks.append(&mut file(&[chunk(1, &[7; 50], None)]), true).unwrap();
        assert_eq!((chunks.count(), chunks.refused), (0, 1));
        assert!(chunks.finish().unwrap().is_none());
    }
}
