//! Memory read a page at a time, for what is read in many small pieces and does not change.

use std::cell::RefCell;
use std::collections::HashMap;

use super::{Memory, Unreadable};

/// Bytes of a page of this cache.
const PAGE: u64 = 4096;

/// A cache of whole pages over another memory: the tables of HotSpot are some 5000 pieces in some
/// 100 pages. A page is read once, so only what the JVM does not change is read through it.
#[derive(Debug)]
pub struct Paged<M> {
    below: M,
    pages: RefCell<HashMap<u64, Box<[u8]>>>,
    /// The most pages kept; beyond that all are dropped.
    most: usize,
}

impl<M: Memory> Paged<M> {
    /// A cache of at most `most` pages (4 KiB each).
    pub fn new(below: M, most: usize) -> Self {
        Self { below, pages: RefCell::default(), most: most.max(1) }
    }
}

impl<M: Memory> Memory for Paged<M> {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        if into.len() as u64 > PAGE {
            return self.below.read(address, into);
        }
        let mut pages = self.pages.borrow_mut();
        let mut done = 0;
        while done < into.len() {
            let at = address.checked_add(done as u64).ok_or(Unreadable {
                address,
                length: into.len(),
                errno: 0,
            })?;
            let (page, offset) = (at - at % PAGE, (at % PAGE) as usize);
            if !pages.contains_key(&page) {
                if pages.len() >= self.most {
                    pages.clear();
                }
                pages.insert(page, self.below.read_bytes(page, PAGE as usize)?.into_boxed_slice());
            }
            let bytes = &pages[&page][offset..];
            let piece = bytes.len().min(into.len() - done);
            into[done..done + piece].copy_from_slice(&bytes[..piece]);
            done += piece;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Captured;

    #[test]
    fn pieces_that_cross_pages_are_whole_and_the_cache_stays_bounded() {
        let bytes: Vec<u8> = (0..4 * PAGE).map(|i| ((i * 31) >> 3) as u8).collect();
        let mut captured = Captured::default();
        captured.add(0x10_000, &bytes);
        let paged = Paged::new(captured, 2);
        for at in [0usize, 4090, 8191, 12_000] {
            assert_eq!(paged.read_bytes(0x10_000 + at as u64, 100).unwrap(), bytes[at..at + 100]);
        }
        assert!(paged.pages.borrow().len() <= 2);
        assert!(paged.read_u64(0x10_000 + 4 * PAGE - 4).is_err());
        assert!(paged.read_u64(u64::MAX - 2).is_err());
    }
}
