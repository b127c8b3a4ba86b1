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
//! Ranges are read by two threads. Of a large heap as much is read as there is time for: ranges in
//! random order, from which the whole is estimated with a confidence interval. Large objects are
//! counted by themselves: where no object begins in a piece, it may lie in one whose beginning was
//! not drawn, so that the pieces before it are read until there is one.

mod classes;
mod spaces;
mod walk;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use self::spaces::{Extent, Spaces};
use self::walk::Walk;
use crate::flags::Flags;
use crate::memory::Memory;
use crate::{Error, Result, Vm};

/// Heaps up to this size are read whole.
const WHOLE: u64 = 1 << 30;
/// The fewest bytes that are read of a larger one.
const SAMPLED: u64 = 768 << 20;
/// More of it is read for so long: with what comes before and behind, two seconds.
const TIME: Duration = Duration::from_millis(1700);
/// Where large objects begin is looked for so much longer.
const FOR_BEGINNINGS: Duration = Duration::from_millis(100);
/// Threads that read: more would take CPUs from the program that is looked at.
const AT_ONCE: usize = 2;
/// The unit of sampling where a space is not made of regions.
const PIECE: u64 = 4 << 20;
/// Objects from so many bytes on are not estimated but counted: a few of them may be a share of the
/// heap that a sample has twice or not at all.
const LARGE: u64 = PIECE;
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

/// Objects and bytes by class, which the address of its `Klass` identifies.
type Counts = BTreeMap<u64, (u64, u64)>;

/// What was read.
struct Counted {
    /// Of each piece that was read, its number and content; none where no object begins.
    pieces: Vec<(usize, Option<Counts>)>,
    /// Objects that are in none of these, and their class.
    large: Vec<(Range<u64>, u64)>,
    names: BTreeMap<u64, String>,
    skipped: u64,
    reserved: u64,
}

/// Reads the content of the heap. `seed` selects the ranges of a large one.
pub fn read<M: Memory + Sync>(vm: &Vm<M>, seed: u64) -> Result<Histogram> {
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
fn once<M: Memory + Sync>(
    vm: &Vm<M>,
    flags: &Flags,
    spaces: Spaces,
    seed: u64,
) -> Result<(Histogram, Spaces)> {
    let ranges = &spaces.ranges;
    let used: u64 = ranges.iter().map(|range| length(&range.at)).sum();
    let mut first = Walk::new(vm, flags, &spaces.gaps)?;
    let mut whole = Counts::new();
    // Bytes that were read of each range.
    let mut read = vec![0; ranges.len()];
    for (number, range) in ranges.iter().enumerate().filter(|(_, range)| range.one_object) {
        read[number] = length(&range.at);
        whole.extend(first.one_object(&range.at, &whole));
    }
    let parted = || ranges.iter().enumerate().filter(|(_, range)| !range.one_object);
    let mut pieces: Vec<Piece> = parted().flat_map(|(number, range)| pieces_of(number, range)).collect();
    let all: u64 = pieces.iter().map(|piece| length(&piece.at)).sum();
    let until = (used > WHOLE && all > SAMPLED).then(|| Instant::now() + TIME);
    if until.is_some() {
        shuffle(&mut pieces, seed);
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
    let walks = (1..AT_ONCE).map(|_| Walk::new(vm, flags, &spaces.gaps)).collect::<Result<Vec<_>>>()?;
    let mut counted = count(std::iter::once(first).chain(walks), &pieces, until);
    for (piece, _) in &counted.pieces {
        read[pieces[*piece].range] += length(&pieces[*piece].at);
    }
    // What is left without the large objects is what was sampled, and what it stands for.
    let large = Large::of(std::mem::take(&mut counted.large));
    let none = Counts::new();
    let of_pieces: Vec<(u64, &Counts)> = counted
        .pieces
        .iter()
        .map(|(piece, counts)| {
            let at = &pieces[*piece].at;
            (length(at) - large.within(at), counts.as_ref().unwrap_or(&none))
        })
        .filter(|(bytes, _)| *bytes > 0)
        .collect();
    let all: u64 = pieces.iter().map(|piece| length(&piece.at) - large.within(&piece.at)).sum();
    large.add_to(&mut whole);
    let sampled: u64 = of_pieces.iter().map(|(bytes, _)| bytes).sum();
    let rows = rows(&counted.names, &whole, &of_pieces, (sampled < all).then_some((all, sampled)));
    let later = Spaces::read(vm, flags)?;
    let moved = spaces.moved(&later).into_iter().zip(&read).filter_map(|(moved, read)| moved.then_some(read));
    let histogram = Histogram {
        collector: spaces.collector,
        used_bytes: used,
        read_bytes: read.iter().sum(),
        skipped_bytes: counted.skipped,
        reserved_bytes: counted.reserved,
        moved_bytes: moved.sum(),
        walks: 1,
        rows,
    };
    Ok((histogram, later))
}

fn length(at: &Range<u64>) -> u64 {
    at.end - at.start
}

/// Reads pieces in their order, side by side: all of them, or at least [`SAMPLED`] bytes and no new
/// one when time is up.
fn count<'a, M: Memory + Sync + 'a>(
    walks: impl Iterator<Item = Walk<'a, M>>,
    pieces: &[Piece],
    until: Option<Instant>,
) -> Counted {
    let (next, begun) = (AtomicUsize::new(0), AtomicU64::new(0));
    // Numbers of the pieces by where they begin.
    let by_place: BTreeMap<u64, usize> =
        pieces.iter().zip(0..).map(|(piece, number)| (piece.at.start, number)).collect();
    let run = |mut walk: Walk<'a, M>| {
        let mut of_pieces = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = pieces.get(number) else { break };
            let enough = begun.fetch_add(length(&piece.at), Ordering::Relaxed) >= SAMPLED;
            if enough && until.is_some_and(|until| Instant::now() >= until) {
                break;
            }
            of_pieces.push((number, walk.piece(piece)));
        }
        (of_pieces, walk)
    };
    let mut counted =
        Counted { pieces: Vec::new(), large: Vec::new(), names: BTreeMap::new(), skipped: 0, reserved: 0 };
    let mut done = Vec::new();
    std::thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = walks.map(|walk| scope.spawn(move || run(walk))).collect();
        for thread in threads {
            // A panic in one is a panic here.
            let (of_pieces, walk) = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            counted.pieces.extend(of_pieces);
            counted.skipped += walk.skipped;
            counted.reserved += walk.reserved;
            done.push(walk);
        }
    });
    if let (Some(walk), Some(until)) = (done.first_mut(), until) {
        find_beginnings(pieces, &by_place, &counted.pieces, |piece| {
            (Instant::now() < until + FOR_BEGINNINGS).then(|| walk.piece(piece).is_some())
        });
    }
    for mut walk in done {
        counted.large.append(&mut walk.large);
        counted.names.extend(walk.names());
    }
    counted
}

/// Looks at the pieces before those in which no object begins, until one does in each, for large
/// objects that begin there. `look` says whether one does; nothing when time is up.
fn find_beginnings(
    pieces: &[Piece],
    by_place: &BTreeMap<u64, usize>,
    read: &[(usize, Option<Counts>)],
    mut look: impl FnMut(&Piece) -> Option<bool>,
) {
    let mut begins: BTreeMap<usize, bool> =
        read.iter().map(|(piece, found)| (*piece, found.is_some())).collect();
    for (piece, _) in read.iter().filter(|(_, found)| found.is_none()) {
        let mut at = *piece;
        while begins.get(&at) == Some(&false) && !pieces[at].begins {
            let Some((_, before)) = by_place.range(..pieces[at].at.start).next_back() else { break };
            at = *before;
            if let Entry::Vacant(unknown) = begins.entry(at) {
                let Some(found) = look(&pieces[at]) else { return };
                unknown.insert(found);
            }
        }
    }
}

/// Large objects, each once, by where they begin: their end and class.
struct Large(BTreeMap<u64, (u64, u64)>);

impl Large {
    fn of(found: Vec<(Range<u64>, u64)>) -> Self {
        Self(found.into_iter().map(|(at, class)| (at.start, (at.end, class))).collect())
    }

    /// Bytes of a range that lie in them.
    fn within(&self, range: &Range<u64>) -> u64 {
        // One that overlaps begins less than the longest before.
        let over = |(start, (end, _)): (&u64, &(u64, u64))| {
            (*end).min(range.end).saturating_sub((*start).max(range.start))
        };
        let sum: u64 = self.0.range(..range.end).rev().map(over).take_while(|bytes| *bytes > 0).sum();
        // Where objects move meanwhile, two of them may seem to overlap.
        sum.min(length(range))
    }

    fn add_to(&self, counts: &mut Counts) {
        for (start, (end, class)) in &self.0 {
            let sum = counts.entry(*class).or_default();
            *sum = (sum.0 + 1, sum.1 + (end - start));
        }
    }
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
fn rows(
    names: &BTreeMap<u64, String>,
    whole: &Counts,
    counted: &[(u64, &Counts)],
    part: Option<(u64, u64)>,
) -> Vec<Row> {
    let mut sums: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
    for (class, (instances, bytes)) in counted.iter().flat_map(|(_, counts)| *counts) {
        let sum = sums.entry(*class).or_default();
        *sum = (sum.0 + *instances as f64, sum.1 + *bytes as f64);
    }
    let (all, sampled) = part.unwrap_or((1, 1));
    let scale = all as f64 / sampled.max(1) as f64;
    let n = counted.len() as f64;
    let error = |class: u64, bytes: f64| {
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
                class: names.get(&class).map_or("?", String::as_str).to_owned(),
                instances: instances * scale + more as f64,
                bytes: bytes * scale + more_bytes as f64,
                bytes_within: if part.is_some() { error(class, bytes) } else { 0.0 },
            }
        })
        .collect();
    rows.sort_by(|a, b| b.bytes.total_cmp(&a.bytes).then_with(|| a.class.cmp(&b.class)));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_objects_are_counted_once_and_are_no_part_of_the_sample() {
        let found = vec![(100..900, 7), (100..900, 7), (900..1000, 8), (2000..2600, 7)];
        let large = Large::of(found);
        let within = |range: Range<u64>| large.within(&range);
        assert_eq!([within(0..100), within(0..150), within(800..950), within(0..5000)], [0, 50, 150, 1500]);
        assert_eq!([within(300..400), within(2500..2700), within(1000..2000)], [100, 100, 0]);
        let mut counts = Counts::from([(7, (1, 10))]);
        large.add_to(&mut counts);
        assert_eq!(counts, Counts::from([(7, (3, 1410)), (8, (1, 100))]));
    }

    #[test]
    fn before_a_piece_without_a_beginning_all_are_looked_at_up_to_the_next_one() {
        // Ten pieces, of which numbers 3, 6 and 9 were read; objects begin in all but 4 to 8.
        let range = Extent { at: 0..10 * PIECE, one_object: false, young: false, sort: 0 };
        let pieces: Vec<Piece> = pieces_of(0, &range).collect();
        let by_place = pieces.iter().zip(0..).map(|(piece, number)| (piece.at.start, number)).collect();
        let read = [(3, Some(Counts::new())), (6, None), (9, Some(Counts::new()))];
        let mut looked = Vec::new();
        find_beginnings(&pieces, &by_place, &read, |piece| {
            looked.push(piece.at.start / PIECE);
            Some(false)
        });
        assert_eq!(looked, [5, 4]);
        let read = [(6, None), (8, None)];
        let mut looked = Vec::new();
        find_beginnings(&pieces, &by_place, &read, |piece| {
            looked.push(piece.at.start / PIECE);
            Some(piece.at.start / PIECE < 4)
        });
        assert_eq!(looked, [5, 4, 3, 7]);
    }
}
