//! The heap of a running JVM by class, read from outside: the JVM is not stopped and no request is
//! sent to it.
//!
//! Regions and spaces are read object by object between their bottom and their top: the header
//! names the class, the class gives the size. Their content changes meanwhile, so everything is
//! checked: a class pointer must be a class whose superclasses end at `java.lang.Object`; where it
//! is not, reading goes on at the next address from which several objects in a row are valid, and
//! the bytes in between are counted as skipped. Dead objects count until they are collected, as in
//! `jcmd GC.class_histogram -all`.
//!
//! A collection moves objects while they are read: those that were copied into a part that is read
//! later would count twice. So the bounds of all regions are read again after a pass, and where
//! more than a hundredth of what was read lay in regions whose objects moved, the heap is read
//! again.
//!
//! Of a large heap a part is read: ranges drawn at random, from which the whole is estimated with a
//! confidence interval.

mod classes;
mod spaces;

use std::collections::BTreeMap;
use std::ops::Range;

use self::classes::{Classes, Sizes};
use self::spaces::{Extent, Spaces};
use crate::flags::Flags;
use crate::memory::Memory;
use crate::{Error, Result, Vm};

/// Bytes that are read at a time.
const WINDOW: u64 = 8 << 20;
/// The most bytes that are read of a large heap.
const SAMPLED: u64 = 768 << 20;
/// Heaps up to this size are read whole.
const WHOLE: u64 = 1 << 30;
/// The unit of sampling where a space is not made of regions.
const PIECE: u64 = 4 << 20;
/// This many objects in a row must be valid where reading begins in the middle of a range.
const IN_A_ROW: usize = 6;
/// The most passes over a heap: in one that collects all the time, more passes do not help.
const MOST_WALKS: u32 = 3;
/// A pass is good when at most one in this many bytes moved meanwhile.
const MAY_MOVE: u64 = 100;
/// 95% of a normal distribution lie within this many standard errors.
const WITHIN: f64 = 1.96;

/// A class in the heap.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Its name, as it is written in Java.
    pub class: String,
    /// Its objects; estimated where the heap was read in part.
    pub instances: f64,
    /// Their bytes.
    pub bytes: f64,
    /// Half of the 95% confidence interval of the bytes; 0 where the heap was read whole.
    pub bytes_within: f64,
}

/// The content of a heap.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// "G1", "Parallel", "Serial".
    pub collector: &'static str,
    /// Bytes between bottom and top of all regions and spaces.
    pub used_bytes: u64,
    /// Bytes of them that were read.
    pub read_bytes: u64,
    /// Of these, bytes in which no valid object was found: moved meanwhile, or dead together with
    /// their class.
    pub skipped_bytes: u64,
    /// Of these, bytes that threads had reserved and not used.
    pub reserved_bytes: u64,
    /// Of these, bytes in regions and spaces that a collection emptied or moved objects out of
    /// meanwhile: what was there may be counted twice, or not at all.
    pub moved_bytes: u64,
    /// How many passes were made; this is the pass during which the fewest bytes moved.
    pub walks: u32,
    /// Largest first.
    pub rows: Vec<Row>,
}

/// A range that is sampled as one unit.
struct Piece {
    at: Range<u64>,
    /// The range that it is part of.
    range: usize,
    /// Whether an object begins at its first byte.
    begins: bool,
    end_of_space: u64,
}

/// The content of one piece by class: objects and bytes.
type Counts = BTreeMap<u32, (u64, u64)>;

struct Walk<'a, M> {
    memory: &'a M,
    sizes: Sizes,
    classes: Classes<'a, M>,
    gaps: &'a BTreeMap<u64, u64>,
    skipped: u64,
    reserved: u64,
    window: Vec<u8>,
    window_at: u64,
}

/// Reads the content of the heap. `seed` selects the ranges of a large one.
pub fn read<M: Memory>(vm: &Vm<M>, seed: u64) -> Result<Histogram> {
    let flags = Flags::read(vm)?;
    let mut spaces = Spaces::read(vm, &flags)?;
    let mut best: Option<Histogram> = None;
    for walks in 1..=MOST_WALKS {
        let (histogram, later) = once(vm, &flags, spaces, seed)?;
        if best.as_ref().is_none_or(|best| moved_share(&histogram) < moved_share(best)) {
            best = Some(histogram);
        }
        let Some(best) = &mut best else { break };
        best.walks = walks;
        if best.moved_bytes <= best.read_bytes / MAY_MOVE {
            break;
        }
        spaces = later;
    }
    best.ok_or(Error::NotWalked)
}

fn moved_share(histogram: &Histogram) -> f64 {
    histogram.moved_bytes as f64 / histogram.read_bytes.max(1) as f64
}

/// One pass over the ranges, and the state of the regions and spaces after it.
fn once<M: Memory>(vm: &Vm<M>, flags: &Flags, spaces: Spaces, seed: u64) -> Result<(Histogram, Spaces)> {
    let length = |at: &Range<u64>| at.end - at.start;
    let ranges = &spaces.ranges;
    let used: u64 = ranges.iter().map(|range| length(&range.at)).sum();
    let mut walk = Walk {
        memory: &vm.memory,
        sizes: Sizes::of(vm, flags)?,
        classes: Classes::new(vm, flags)?,
        gaps: &spaces.gaps,
        skipped: 0,
        reserved: 0,
        window: Vec::new(),
        window_at: 0,
    };
    let mut whole = Counts::new();
    // Bytes that were read of each range.
    let mut read = vec![0; ranges.len()];
    for (number, range) in ranges.iter().enumerate().filter(|(_, range)| range.one_object) {
        read[number] = length(&range.at);
        walk.one_object(&range.at, &mut whole);
    }
    let parted = || ranges.iter().enumerate().filter(|(_, range)| !range.one_object);
    let mut pieces: Vec<Piece> = parted().flat_map(|(number, range)| pieces_of(number, range)).collect();
    let parted_bytes: u64 = pieces.iter().map(|piece| length(&piece.at)).sum();
    let part = used > WHOLE && parted_bytes > SAMPLED;
    if part {
        shuffle(&mut pieces, seed);
        let mut sum = 0;
        let enough = pieces.iter().position(|piece| {
            sum += length(&piece.at);
            sum > SAMPLED
        });
        pieces.truncate(enough.unwrap_or(pieces.len()).max(2));
    } else {
        // Whole spaces, of which the next begins where the one before ends.
        let piece = |(number, range): (usize, &Extent)| Piece {
            at: range.at.clone(),
            range: number,
            begins: true,
            end_of_space: range.at.end,
        };
        pieces = parted().map(piece).collect();
    }
    let mut counted: Vec<(u64, Counts)> = Vec::with_capacity(pieces.len());
    for piece in &pieces {
        let mut counts = Counts::new();
        walk.piece(piece, &mut counts);
        read[piece.range] += length(&piece.at);
        counted.push((length(&piece.at), counts));
    }
    let sampled: u64 = counted.iter().map(|(bytes, _)| bytes).sum();
    let rows = rows(&walk.classes, &whole, &counted, part.then_some((parted_bytes, sampled)));
    let (skipped_bytes, reserved_bytes) = (walk.skipped, walk.reserved);
    let later = Spaces::read(vm, flags)?;
    let moved = spaces.moved(&later).into_iter().zip(&read).filter_map(|(moved, read)| moved.then_some(read));
    let histogram = Histogram {
        collector: spaces.collector,
        used_bytes: used,
        read_bytes: read.iter().sum(),
        skipped_bytes,
        reserved_bytes,
        moved_bytes: moved.sum(),
        walks: 1,
        rows,
    };
    Ok((histogram, later))
}

/// Divides a range into pieces.
fn pieces_of(number: usize, range: &Extent) -> impl Iterator<Item = Piece> {
    let (start, end) = (range.at.start, range.at.end);
    (start..end).step_by(PIECE as usize).map(move |from| Piece {
        at: from..(from + PIECE).min(end),
        range: number,
        begins: from == start,
        end_of_space: end,
    })
}

/// Shuffle by Fisher and Yates, with the generator of Steele, Lea and Flood (SplitMix64).
fn shuffle(pieces: &mut [Piece], seed: u64) {
    let mut state = seed;
    for last in (1..pieces.len()).rev() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        pieces.swap(last, ((z ^ z >> 31) % (last as u64 + 1)) as usize);
    }
}

/// Classes by bytes; where a part of the heap was read, the whole is estimated by its size, and the
/// interval from the variance between the pieces.
fn rows<M: Memory>(
    classes: &Classes<'_, M>,
    whole: &Counts,
    counted: &[(u64, Counts)],
    part: Option<(u64, u64)>,
) -> Vec<Row> {
    let mut sums: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for (class, (instances, bytes)) in counted.iter().flat_map(|(_, counts)| counts) {
        let sum = sums.entry(*class).or_default();
        *sum = (sum.0 + *instances as f64, sum.1 + *bytes as f64);
    }
    let (all, sampled) = part.unwrap_or((1, 1));
    let scale = all as f64 / sampled.max(1) as f64;
    let n = counted.len() as f64;
    let error = |class: u32, bytes: f64| {
        // A ratio estimate: bytes of the class to bytes of the piece (Cochran, Sampling Techniques,
        // 6.4).
        let ratio = bytes / sampled.max(1) as f64;
        let of = |counts: &Counts| counts.get(&class).map_or(0.0, |(_, bytes)| *bytes as f64);
        let squares: f64 =
            counted.iter().map(|(length, counts)| (of(counts) - ratio * *length as f64).powi(2)).sum();
        let left = (1.0 - sampled as f64 / all.max(1) as f64).max(0.0);
        WITHIN * scale * (n * squares / (n - 1.0).max(1.0) * left).sqrt()
    };
    for class in whole.keys() {
        sums.entry(*class).or_default();
    }
    let mut rows: Vec<Row> = sums
        .into_iter()
        .map(|(class, (instances, bytes))| {
            let (more, more_bytes) = whole.get(&class).copied().unwrap_or_default();
            Row {
                class: classes.name(class).to_owned(),
                instances: instances * scale + more as f64,
                bytes: bytes * scale + more_bytes as f64,
                bytes_within: if part.is_some() { error(class, bytes) } else { 0.0 },
            }
        })
        .collect();
    rows.sort_by(|a, b| b.bytes.total_cmp(&a.bytes).then_with(|| a.class.cmp(&b.class)));
    rows
}

impl<M: Memory> Walk<'_, M> {
    /// The bytes from an address on, as far as they are in the window, which is moved if they are
    /// not.
    fn bytes(&mut self, at: u64, length: usize, end: u64) -> Option<&[u8]> {
        let from = at.checked_sub(self.window_at).map(|from| from as usize);
        if from.is_none_or(|from| from + length > self.window.len()) {
            if at + length as u64 > end {
                return None;
            }
            self.window_at = at;
            self.window.resize((end - at).min(WINDOW) as usize, 0);
            if self.memory.read(at, &mut self.window).is_err() {
                self.window.clear();
                return None;
            }
        }
        let from = (at - self.window_at) as usize;
        self.window.get(from..from + length)
    }

    /// The class and size of the object at an address.
    fn object(&mut self, at: u64, end: u64) -> Option<(u32, u64)> {
        let header = self.sizes.header_bytes();
        let bytes = self.bytes(at, header.min((end - at) as usize), end)?;
        let mut words = [0; 24];
        words.get_mut(..bytes.len())?.copy_from_slice(bytes);
        let class = self.classes.class(&words)?;
        let mirror = match self.classes.is_mirror(class) {
            true => {
                let bytes = self.bytes(at + self.sizes.mirror_size_at, 4, end)?;
                Some(u32::from_le_bytes(bytes.try_into().ok()?))
            }
            false => None,
        };
        let size = self.sizes.size(self.classes.layout_helper(class), &words, mirror)?;
        (at + size <= end).then_some((class, size))
    }

    fn one_object(&mut self, at: &Range<u64>, counts: &mut Counts) {
        // It is longer than its first region.
        match self.object(at.start, u64::MAX >> 1) {
            Some((class, size)) => add(counts, class, size),
            None => self.skipped += at.end - at.start,
        }
        self.window.clear();
    }

    fn piece(&mut self, piece: &Piece, counts: &mut Counts) {
        let end = piece.end_of_space;
        // What is in it may have changed since it was read for another piece.
        self.window.clear();
        let mut at = match piece.begins {
            true => piece.at.start,
            false => match self.next_valid(piece.at.start, piece.at.end, end) {
                Some(at) => at,
                None => return,
            },
        };
        while at < piece.at.end {
            if let Some(behind) = self.gaps.get(&at).copied() {
                self.reserved += behind.min(end) - at;
                at = behind;
                continue;
            }
            match self.object(at, end) {
                Some((class, size)) => {
                    add(counts, class, size);
                    at += size;
                }
                None => {
                    let next = self.next_valid(at + 8, piece.at.end, end).unwrap_or(piece.at.end);
                    self.skipped += next - at;
                    at = next;
                }
            }
        }
    }

    /// The next address from which several objects in a row are valid.
    fn next_valid(&mut self, from: u64, until: u64, end: u64) -> Option<u64> {
        let mut at = from;
        while at < until {
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

fn add(counts: &mut Counts, class: u32, size: u64) {
    let sum = counts.entry(class).or_default();
    *sum = (sum.0 + 1, sum.1 + size);
}
