//! The frames of a chunk, recognised by their bytes.
//!
//! A chunk has a few thousand distinct frames and names them millions of times, in some seven to
//! ten bytes each. Where a frame ends can be found without decoding its integers; it is then looked
//! up by its bytes, and decoded only when they are new.

use std::hash::{Hash, Hasher};

use fathom_recording::FrameId;

use super::bytes::{Bytes, HIGH_BITS, marked};
use super::layout::Integers;

/// The most frames that are kept by their bytes; more than any chunk has. The others are decoded
/// each time.
const MOST: usize = 1 << 16;

/// The identity of a frame: keys into the pools of methods and of frame types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameKey {
    pub(super) method: u64,
    pub(super) sort: u32,
    pub(super) line: i32,
}

impl Hash for FrameKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.method);
        state.write_u64(u64::from(self.sort) << 32 | u64::from(self.line as u32));
    }
}

impl FrameKey {
    fn read(bytes: &mut Bytes<'_>, fields: &Integers<3>) -> Option<Self> {
        let mut read = [0; 3];
        for at in 0..fields.each {
            let integer = bytes.long()?;
            for (read, place) in read.iter_mut().zip(fields.places) {
                if place == at {
                    *read = integer;
                }
            }
        }
        let [method, line, sort] = read;
        Some(Self { method, sort: u32::try_from(sort).ok()?, line: line as i32 })
    }
}

/// The frames of a chunk that were decoded.
#[derive(Default)]
pub(super) struct Frames {
    /// Open addressing by a frame's bytes; the length is a power of two, and at least half of the
    /// slots are free.
    places: Vec<Place>,
    /// Each frame.
    known: Vec<FrameKey>,
    /// The id of each in the recording once that was needed, before that [`NO_ID`]: a column of
    /// its own, as all frames of all stacks are looked up there.
    ids: Vec<FrameId>,
    /// How many of these are found by their bytes; those after them belong to the current stack.
    kept: usize,
}

/// Bytes, and the frame that they encode.
#[derive(Clone, Copy)]
struct Place {
    bytes: u128,
    frame: u32,
}

/// No frame of a recording has this id.
pub(super) const NO_ID: FrameId = FrameId(u32::MAX);

const FREE: Place = Place { bytes: 0, frame: u32::MAX };

impl Frames {
    /// A stack begins: frames of earlier stacks that are not kept are dropped.
    pub(super) fn begin(&mut self) {
        self.known.truncate(self.kept);
        self.ids.truncate(self.kept);
    }

    /// The number of the next frame. `None`: it is truncated or damaged.
    #[inline]
    pub(super) fn next(&mut self, bytes: &mut Bytes<'_>, fields: &Integers<3>) -> Option<u32> {
        let Some((raw, size)) = raw(bytes, fields.each) else { return self.add(bytes, fields) };
        match self.places.get(self.find(raw)).filter(|place| place.frame != FREE.frame) {
            Some(place) => {
                bytes.pass(size)?;
                Some(place.frame)
            }
            None => self.keep(raw, bytes, fields),
        }
    }

    /// Decodes a frame whose bytes are not kept.
    #[cold]
    fn add(&mut self, bytes: &mut Bytes<'_>, fields: &Integers<3>) -> Option<u32> {
        let frame = u32::try_from(self.known.len()).ok()?;
        self.known.push(FrameKey::read(bytes, fields)?);
        self.ids.push(NO_ID);
        Some(frame)
    }

    /// Decodes a frame and keeps its bytes, while there is room and the stack has no frame yet that
    /// is not kept.
    #[cold]
    fn keep(&mut self, raw: u128, bytes: &mut Bytes<'_>, fields: &Integers<3>) -> Option<u32> {
        let frame = self.add(bytes, fields)?;
        if self.kept < MOST && self.kept == frame as usize {
            if (self.kept + 1) * 2 > self.places.len() {
                self.grow();
            }
            let at = self.find(raw);
            self.places[at] = Place { bytes: raw, frame };
            self.kept += 1;
        }
        Some(frame)
    }

    /// The slot of some bytes, or the free one that they belong in; 0 while there is none.
    #[inline]
    fn find(&self, raw: u128) -> usize {
        let Some(mask) = self.places.len().checked_sub(1) else { return 0 };
        let key = raw as u64 ^ ((raw >> 64) as u64).rotate_left(23);
        let mut at = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize & mask;
        loop {
            match self.places.get(at) {
                Some(place) if place.bytes != raw && place.frame != FREE.frame => at = (at + 1) & mask,
                _ => return at,
            }
        }
    }

    fn grow(&mut self) {
        let room = (self.places.len() * 2).max(1 << 10);
        let old = std::mem::replace(&mut self.places, vec![FREE; room]);
        for place in old.into_iter().filter(|place| place.frame != FREE.frame) {
            let at = self.find(place.bytes);
            self.places[at] = place;
        }
    }

    /// A frame by its number.
    pub(super) fn get(&self, frame: u32) -> Option<FrameKey> {
        self.known.get(frame as usize).copied()
    }

    /// Its id in the recording; [`NO_ID`] before that is set.
    #[inline]
    pub(super) fn id(&self, frame: u32) -> FrameId {
        self.ids.get(frame as usize).copied().unwrap_or(NO_ID)
    }

    /// Sets the id of a frame in the recording.
    pub(super) fn resolve(&mut self, frame: u32, id: FrameId) {
        if let Some(known) = self.ids.get_mut(frame as usize) {
            *known = id;
        }
    }
}

/// The bytes of the next frame of this many integers, and their length. `None`: they are too many,
/// an integer may have nine, or the chunk ends.
#[inline]
fn raw(bytes: &Bytes<'_>, integers: usize) -> Option<(u128, usize)> {
    let mut left = u32::try_from(integers).ok()?.checked_sub(1)?;
    let (low, high) = bytes.sixteen()?;
    let (mut last, behind) = (!low & HIGH_BITS, !high & HIGH_BITS);
    let ends = marked(last);
    if left < ends {
        (0..left).for_each(|_| last &= last - 1);
        let mask = last ^ (last - 1);
        return Some((u128::from(low & mask), last.trailing_zeros() as usize / 8 + 1));
    }
    left -= ends;
    // Eight bytes in a row without the end of an integer: a ninth always follows.
    if left >= marked(behind) || last.leading_zeros() + behind.trailing_zeros() >= u64::BITS {
        return None;
    }
    last = behind;
    (0..left).for_each(|_| last &= last - 1);
    let mask = last ^ (last - 1);
    Some((u128::from(high & mask) << 64 | u128::from(low), 8 + last.trailing_zeros() as usize / 8 + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compressed integers in sequence.
    fn written(integers: &[u64]) -> Vec<u8> {
        let mut data = Vec::new();
        for integer in integers {
            let mut rest = *integer;
            for place in 0..9 {
                let last = place == 8 || rest < 0x80;
                data.push(if last { rest as u8 } else { rest as u8 | 0x80 });
                rest >>= 7;
                if last {
                    break;
                }
            }
        }
        data
    }

    #[test]
    fn frames_are_found_by_their_bytes_as_they_are_read() {
        let fields = Integers { each: 4, places: [0, 1, 3] };
        // Integers of all lengths in changing order, by a fixed generator; some frames come again.
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        let mut expected = Vec::new();
        let mut data = Vec::new();
        for i in 0..20_000 {
            let of = if i % 3 == 0 { next() % 50 } else { i };
            let bits = |n: u64| (n + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (n * 7 % 64);
            let frame = [bits(of), bits(of + 1) & 0x7fff_ffff, bits(of + 2), of % 7];
            data.extend(written(&frame));
            expected.push((
                FrameKey { method: frame[0], sort: frame[3] as u32, line: frame[1] as i32 },
                data.len(),
            ));
        }
        let mut frames = Frames::default();
        let mut bytes = Bytes::new(&data, 0, true);
        for (i, (key, end)) in expected.iter().enumerate() {
            // In a stack with a frame that is too long, those after it are not kept.
            if i % 3 == 0 {
                frames.begin();
            }
            let number = frames.next(&mut bytes, &fields).unwrap();
            assert_eq!((frames.get(number).unwrap(), bytes.at), (*key, *end), "frame {i}");
        }
        assert!(frames.kept > 500 && frames.kept < expected.len());
        assert_eq!(frames.next(&mut bytes, &fields), None);
        // A truncated one is not a frame, even if its bytes are known.
        let mut truncated = Bytes::up_to(&data, 0, expected[0].1 - 1, true);
        assert_eq!(frames.next(&mut truncated, &fields), None);
    }
}
