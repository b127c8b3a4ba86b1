//! A walk over a part of the heap, from object to object.

use std::collections::BTreeMap;
use std::ops::Range;

use super::classes::{Class, Classes, Sizes};
use super::{Counts, LARGE, Piece};
use crate::flags::Flags;
use crate::memory::Memory;
use crate::{Result, Vm};

/// Bytes that are read at a time: they stay in a CPU's cache, and of an array that is longer most
/// is not read at all.
const WINDOW: u64 = 256 << 10;
/// Bytes of an object that are looked at, at least where so many are there.
const HEADER: usize = 24;
/// This many objects in a row must be valid where reading begins in the middle of a range.
const IN_A_ROW: usize = 6;

pub(super) struct Walk<'a, M> {
    memory: &'a M,
    sizes: Sizes,
    classes: Classes<'a, M>,
    gaps: &'a BTreeMap<u64, u64>,
    pub(super) skipped: u64,
    pub(super) reserved: u64,
    window: Vec<u8>,
    /// How much of it was read.
    filled: usize,
    /// The last reading failed: the JVM ended, or gave the memory back.
    unreadable: bool,
    window_at: u64,
    /// Objects and bytes by the number of their class, of the piece that is being read.
    tally: Vec<(u64, u64)>,
    /// Objects of [`LARGE`] bytes and more, which are in no tally: where they are, and their class.
    pub(super) large: Vec<(Range<u64>, u64)>,
}

impl<'a, M: Memory> Walk<'a, M> {
    pub(super) fn new(vm: &'a Vm<M>, flags: &Flags, gaps: &'a BTreeMap<u64, u64>) -> Result<Self> {
        Ok(Self {
            memory: &vm.memory,
            sizes: Sizes::of(vm, flags)?,
            classes: Classes::new(vm, flags)?,
            gaps,
            skipped: 0,
            reserved: 0,
            window: vec![0; WINDOW as usize],
            filled: 0,
            unreadable: false,
            window_at: 0,
            tally: Vec::new(),
            large: Vec::new(),
        })
    }

    /// The names of the classes that occurred, by the addresses of their `Klass`.
    pub(super) fn names(self) -> impl Iterator<Item = (u64, String)> {
        self.classes.names()
    }

    /// The bytes from an address on, as far as they are in the window, which is moved if they are
    /// not.
    #[inline]
    fn bytes(&mut self, at: u64, length: usize, end: u64) -> Option<&[u8]> {
        let from = at.wrapping_sub(self.window_at) as usize;
        if from.checked_add(length).is_none_or(|behind| behind > self.filled) {
            self.move_to(at, length, end)?;
        }
        let from = (at - self.window_at) as usize;
        self.window.get(from..from + length)
    }

    #[cold]
    fn move_to(&mut self, at: u64, length: usize, end: u64) -> Option<()> {
        self.filled = 0;
        if at.checked_add(length as u64)? > end {
            return None;
        }
        self.window_at = at;
        let wanted = (end - at).min(WINDOW) as usize;
        self.unreadable = self.memory.read(at, &mut self.window[..wanted]).is_err();
        self.filled = if self.unreadable { 0 } else { wanted };
        (!self.unreadable).then_some(())
    }

    /// The class and size of the object at an address.
    #[inline]
    fn object(&mut self, at: u64, end: u64) -> Option<(Class, u64)> {
        let words = match self.bytes(at, HEADER, end) {
            Some(bytes) => <[u8; HEADER]>::try_from(bytes).ok()?,
            None => self.last_header(at, end)?,
        };
        let class = self.classes.class(&words)?;
        let more = match self.sizes.words_at(class) {
            Some(place) => {
                let bytes = self.bytes(at + place, 4, end)?;
                u32::from_le_bytes(bytes.try_into().ok()?)
            }
            None => 0,
        };
        let size = self.sizes.size(class, &words, more)?;
        (at + size <= end).then_some((class, size))
    }

    /// Of an object that is shorter than what is looked at, at the end of a range.
    #[cold]
    fn last_header(&mut self, at: u64, end: u64) -> Option<[u8; HEADER]> {
        let length = self.sizes.header_bytes().min((end - at) as usize);
        let bytes = self.bytes(at, length, end)?;
        let mut words = [0; HEADER];
        words.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(words)
    }

    /// An object that is as long as its range; with it, what was counted of its class before.
    pub(super) fn one_object(&mut self, at: &Range<u64>, before: &Counts) -> Option<(u64, (u64, u64))> {
        // It is longer than its first region.
        let found = self.object(at.start, u64::MAX >> 1);
        self.filled = 0;
        let Some((class, size)) = found else {
            self.skipped += at.end - at.start;
            return None;
        };
        let klass = self.classes.klass(class.number);
        let (objects, bytes) = before.get(&klass).copied().unwrap_or_default();
        Some((klass, (objects + 1, bytes + size)))
    }

    /// What is in a piece but for large objects; `None`: no object was found that begins in it.
    pub(super) fn piece(&mut self, piece: &Piece) -> Option<Counts> {
        // What is in it may have changed since it was read for another piece.
        self.filled = 0;
        self.unreadable = false;
        self.tally.fill((0, 0));
        let found = self.go_through(piece);
        let tally = self.tally.iter().zip(0..).filter(|((objects, _), _)| *objects > 0);
        let counts = tally.map(|(sum, number)| (self.classes.klass(number), *sum)).collect();
        found.then_some(counts)
    }

    fn go_through(&mut self, piece: &Piece) -> bool {
        let end = piece.end_of_space;
        let mut at = match piece.begins {
            true => piece.at.start,
            false => match self.next_valid(piece.at.start, piece.at.end, end) {
                Some(at) => at,
                None => return false,
            },
        };
        let mut gap = self.next_gap(at);
        while at < piece.at.end {
            if at >= gap.0 {
                if at == gap.0 {
                    self.reserved += gap.1.min(end) - at;
                    at = gap.1;
                }
                gap = self.next_gap(at);
                continue;
            }
            match self.object(at, end) {
                Some((class, size)) if size >= LARGE => {
                    self.large.push((at..at + size, self.classes.klass(class.number)));
                    at += size;
                }
                Some((class, size)) => {
                    self.add(class, size);
                    at += size;
                }
                None => {
                    let next = self.next_valid(at + 8, piece.at.end, end).unwrap_or(piece.at.end);
                    self.skipped += next - at;
                    at = next;
                }
            }
        }
        true
    }

    #[inline]
    fn add(&mut self, class: Class, size: u64) {
        let number = class.number as usize;
        if number >= self.tally.len() {
            self.tally.resize(number + 1, (0, 0));
        }
        let (objects, bytes) = &mut self.tally[number];
        (*objects, *bytes) = (*objects + 1, *bytes + size);
    }

    /// The first gap that begins at an address or behind it: its beginning and end.
    fn next_gap(&self, at: u64) -> (u64, u64) {
        self.gaps.range(at..).next().map_or((u64::MAX, u64::MAX), |(at, behind)| (*at, *behind))
    }

    /// The next address from which several objects in a row are valid.
    fn next_valid(&mut self, from: u64, until: u64, end: u64) -> Option<u64> {
        let mut at = from;
        // Memory that is gone is not tried again at each of millions of addresses.
        while at < until && !self.unreadable {
            if let Some((_, behind)) = self.gaps.range(..=at).next_back().filter(|(_, behind)| **behind > at)
            {
                at = *behind;
                continue;
            }
            let mut next = at;
            let mut sound = 0;
            while sound < IN_A_ROW && next < end {
                if let Some(behind) = self.gaps.get(&next) {
                    next = *behind;
                    continue;
                }
                let Some((_, size)) = self.object(next, end) else { break };
                next += size;
                sound += 1;
            }
            if sound == IN_A_ROW || sound > 0 && next >= end {
                return Some(at);
            }
            at += 8;
        }
        None
    }
}
