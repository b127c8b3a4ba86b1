//! From record to record, and past what is damaged.
//!
//! A record has a length, a sub-record of a segment has none. Where one cannot be read, the places
//! behind it are tried one by one until records or sub-records follow one another again:
//!
//! * A record is believed when another one begins behind it, or the file ends there. Where that is
//!   not so, reading goes on at the next place from which three records in a row are believed: what
//!   HotSpot writes begins with a known tag, four bytes of zero and a length that fits.
//! * A segment is read to its end where a record begins there; else, as far as sub-records go: a
//!   dump whose JVM ended early leaves the length of its last segment at 0 (`DumpWriter` patches it
//!   at the segment's end), and `HEAP_DUMP` of 4 GB and more did not fit its field before segments
//!   existed.
//! * Within a segment reading goes on at the next place from which eight sub-records in a row can
//!   be read, of which four are objects of classes that were loaded, or at which the segment's end
//!   is reached so.
//!
//! Trying is bounded by the bytes of the dump, whatever is in it.

use std::ops::Range;

use crate::cursor::Cursor;
use crate::damage::{Damage, DamagedPart, FirstDamage};
use crate::records::{ClassKey, Header, RootRecord, SubRecord, Visit, may_follow, record, sub_record, tag};

/// Records in a row that are believed.
const RECORDS: usize = 3;
/// Sub-records in a row that are believed, and how many of them are objects at least.
const SUB_RECORDS: usize = 8;
const OBJECTS: u64 = 4;
/// The longest text that is believed: names have 65,535 bytes at most.
const LONGEST_TEXT: usize = 1 << 24;
/// Bytes before a record's body.
const HEAD: usize = 9;
/// Steps of trying for each byte of a dump.
const STEPS: u64 = 8;

/// Walks over all records.
pub fn walk(data: &[u8], header: &Header, visit: &mut impl Visit) -> Damage {
    let mut walk = Walk::new(data, header.id_size, visit);
    let mut at = header.first;
    while at < data.len() {
        at = walk.record(at);
    }
    walk.damage
}

/// Reads the sub-records of a segment that was put off.
pub fn segment_put_off(
    data: &[u8],
    body: Range<usize>,
    header: &Header,
    visit: &mut impl Visit,
    damage: &mut Damage,
) {
    let mut walk = Walk::new(data, header.id_size, visit);
    walk.sub_records(body.start, body.end, true);
    damage.skipped_bytes += walk.damage.skipped_bytes;
    damage.damaged_segments += walk.damage.damaged_segments;
}

/// Whether every record ends where the next one begins, so that each segment can be read by itself.
pub fn all_are_whole(data: &[u8], header: &Header) -> bool {
    let id_size = header.id_size;
    let mut at = header.first;
    while at < data.len() {
        match head(data, at) {
            Some(head) if head.end <= data.len() && !head.is_open() && begins(data, head.end, id_size) => {
                at = head.end;
            }
            _ => return false,
        }
    }
    true
}

/// The beginning of a record.
#[derive(Clone, Copy)]
struct Head {
    tag: u8,
    length: u32,
    body: usize,
    /// Where it ends as it says, which may be behind the file's end.
    end: usize,
}

impl Head {
    fn is_segment(self) -> bool {
        matches!(self.tag, 0x0c | 0x1c)
    }

    /// Its length was never written.
    fn is_open(self) -> bool {
        self.is_segment() && self.length == 0
    }

    fn of(self, at: usize, went_on_at: Option<usize>) -> FirstDamage {
        let part = if self.is_segment() { DamagedPart::Segment } else { DamagedPart::Record };
        let went_on_at = went_on_at.map(|at| at as u64);
        FirstDamage { at: at as u64, part, tag: self.tag, length: Some(self.length.into()), went_on_at }
    }
}

fn head(data: &[u8], at: usize) -> Option<Head> {
    let mut c = Cursor::new(data, at);
    let (tag, _, length) = (c.u8()?, c.u32()?, c.u32()?);
    Some(Head { tag, length, body: c.at(), end: c.at().saturating_add(length as usize) })
}

/// Whether a record of a known kind begins at a place, or the file ends there.
fn begins(data: &[u8], at: usize, id_size: usize) -> bool {
    let Some(head) = head(data, at) else {
        // The file may end in it.
        return data.get(at).map_or(at == data.len(), |tag| matches!(tag, 1..=7 | 0x0a..=0x0e | 0x1c | 0x2c));
    };
    let length = head.length as usize;
    match head.tag {
        0x01 => (id_size..=LONGEST_TEXT).contains(&length),
        0x02 => length == 8 + 2 * id_size,
        0x03 => length == 4,
        0x04 => length == 8 + 4 * id_size,
        0x05 => length >= 12 && (length - 12).is_multiple_of(id_size),
        0x06 => length >= 34 && (length - 34).is_multiple_of(25),
        0x07 => length == 24,
        0x0a => length == 8 + 4 * id_size,
        0x0b => length == 4,
        0x0d => length >= 8 && length.is_multiple_of(8),
        0x0e => length == 6,
        0x0c | 0x1c => data.get(head.body).is_none_or(|tag| may_follow(*tag)),
        0x2c => length == 0,
        _ => false,
    }
}

struct Walk<'a, 'v, V> {
    data: &'a [u8],
    id_size: usize,
    visit: &'v mut V,
    damage: Damage,
    /// Steps of trying that are left.
    steps: u64,
}

impl<'a, 'v, V: Visit> Walk<'a, 'v, V> {
    fn new(data: &'a [u8], id_size: usize, visit: &'v mut V) -> Self {
        let steps = (data.len() as u64).saturating_mul(STEPS);
        Self { data, id_size, visit, damage: Damage::default(), steps }
    }

    /// One record; where to read on.
    fn record(&mut self, at: usize) -> usize {
        let (data, end) = (self.data, self.data.len());
        let Some(head) = head(data, at) else {
            self.damage.truncated = true;
            self.damage.skip(at, end - at);
            return end;
        };
        if head.is_segment() {
            return self.segment(at, head);
        }
        let known = begins(data, at, self.id_size);
        let fits = head.end <= end;
        if fits && begins(data, head.end, self.id_size) && (known || self.follow(head.end, RECORDS)) {
            return self.whole(at, head);
        }
        let next = self.next_record(at + 1);
        // What is behind it is damaged, and not its own length.
        if known && fits && next.is_none_or(|next| next >= head.end) {
            return self.whole(at, head);
        }
        self.damage.skip(at, next.unwrap_or(end) - at);
        self.damage.parts_of_heap |= next.is_none() || !matches!(head.tag, 0x01..=0x07);
        if next.is_none() && known {
            self.damage.truncated = true;
        } else {
            self.damage.add(head.of(at, next));
        }
        next.unwrap_or(end)
    }

    fn whole(&mut self, at: usize, head: Head) -> usize {
        let body = &self.data[..head.end];
        if head.tag != 0x2c && record(body, head.tag, head.body, self.id_size, self.visit).is_none() {
            self.damage.unknown_records += 1;
            self.damage.first_at.get_or_insert(at as u64);
        }
        head.end
    }

    /// A segment; where to read on.
    fn segment(&mut self, at: usize, head: Head) -> usize {
        let end = self.data.len();
        let is_told = !head.is_open() && head.end <= end && begins(self.data, head.end, self.id_size);
        if is_told {
            if !self.visit.put_off(head.body..head.end) {
                self.sub_records(head.body, head.end, true);
            }
            return head.end;
        }
        let before = self.damage.skipped_bytes;
        let reached = self.sub_records(head.body, end, false);
        if !head.is_open() {
            // Of a file that is cut off, the last segment is as long as it says.
            if reached == end && head.end > end {
                self.damage.truncated = true;
            } else if before == self.damage.skipped_bytes {
                self.damage.add(head.of(at, Some(reached).filter(|reached| *reached < end)));
            }
        }
        reached
    }

    /// The sub-records from a place on; where they end. `closed`: at the end that is given, else
    /// where the next record begins.
    fn sub_records(&mut self, from: usize, end: usize, closed: bool) -> usize {
        let data = &self.data[..end];
        let mut at = from;
        while at < end {
            if !closed && matches!(data[at], 0x1c | 0x2c) && begins(data, at, self.id_size) {
                return at;
            }
            if let Some(next) = sub_record(data, at, self.id_size, true, self.visit) {
                at = next;
                continue;
            }
            let found = self.next(at + 1, end, closed);
            // It can be read, and what is behind it cannot.
            let mut trial = Trial::of(self.visit);
            let whole = sub_record(data, at, self.id_size, false, &mut trial);
            if let Some(next) = whole.filter(|next| found.is_none_or(|found| found >= *next)) {
                sub_record(data, at, self.id_size, false, self.visit);
                at = next;
                if found == Some(at) {
                    continue;
                }
            }
            let Some(tag) = data.get(at).copied() else { return end };
            self.damage.skip(at, found.unwrap_or(end) - at);
            self.damage.parts_of_heap = true;
            if !closed && found.is_none() && may_follow(tag) {
                self.damage.truncated = true;
            } else {
                let part = DamagedPart::SubRecord;
                let went_on_at = found.map(|found| found as u64);
                self.damage.add(FirstDamage { at: at as u64, part, tag, length: None, went_on_at });
            }
            at = found.unwrap_or(end);
        }
        at
    }

    /// The next place from which records follow one another.
    fn next_record(&mut self, from: usize) -> Option<usize> {
        (from..self.data.len().saturating_sub(HEAD - 1)).find(|at| self.is_record(*at))
    }

    fn is_record(&mut self, at: usize) -> bool {
        let no_time = self.data.get(at + 1..at + 5) == Some(&[0; 4]);
        no_time && self.follow(at, RECORDS)
    }

    /// Whether so many records follow one another from a place on.
    fn follow(&self, mut at: usize, records: usize) -> bool {
        for _ in 0..records {
            if !begins(self.data, at, self.id_size) {
                return false;
            }
            match head(self.data, at) {
                Some(head) if head.is_segment() && (head.is_open() || head.end > self.data.len()) => {
                    return true;
                }
                Some(head) if head.end <= self.data.len() => at = head.end,
                // The file ends within it.
                head => return head.is_none() && at == self.data.len(),
            }
        }
        true
    }

    /// The next place in a segment from which it can be read on, or, where its end is not known, at
    /// which the next record begins.
    fn next(&mut self, from: usize, end: usize, closed: bool) -> Option<usize> {
        for at in from..end {
            self.steps = self.steps.checked_sub(1)?;
            let tag = self.data[at];
            if !closed && matches!(tag, 0x1c | 0x2c) && self.is_record(at)
                || tag != 0x1c && tag != 0x2c && may_follow(tag) && self.is_run(at, end, closed)
            {
                return Some(at);
            }
        }
        None
    }

    /// Whether sub-records follow one another from a place on.
    fn is_run(&mut self, from: usize, end: usize, closed: bool) -> bool {
        let data = &self.data[..end];
        let (mut at, mut trial) = (from, Trial::of(self.visit));
        for _ in 0..SUB_RECORDS {
            if at == end || !closed && matches!(data[at], 0x1c | 0x2c) && self.follow(at, RECORDS) {
                return trial.objects > 0;
            }
            let next = sub_record(data, at, self.id_size, true, &mut trial);
            let Some(next) = next.filter(|_| !trial.unknown) else { return false };
            // A record of a class is read field by field.
            let steps = if data[at] == tag::CLASS { next - at } else { 1 };
            self.steps = self.steps.saturating_sub(steps as u64);
            at = next;
        }
        trial.objects >= OBJECTS
    }
}

/// Looks at sub-records without taking them.
struct Trial<'v, V> {
    visit: &'v V,
    objects: u64,
    /// One is of a class that is not known.
    unknown: bool,
}

impl<'v, V: Visit> Trial<'v, V> {
    fn of(visit: &'v V) -> Self {
        Self { visit, objects: 0, unknown: false }
    }
}

impl<V: Visit> Visit for Trial<'_, V> {
    fn text(&mut self, _: u64, _: usize, _: usize) {}
    fn class_loaded(&mut self, _: u32, _: u64, _: u64) {}
    fn frame(&mut self, _: u64, _: u64, _: u64, _: u32, _: i32) {}
    fn stack(&mut self, _: u32, _: u32, _: usize, _: u32) {}
    fn root(&mut self, _: RootRecord) {}

    fn object(&mut self, id: u64, class: ClassKey, _: SubRecord) {
        let known = match class {
            ClassKey::Id(class) => self.visit.knows_class(class),
            ClassKey::Class => self.visit.knows_class(id),
            // Of a class that needs no record.
            ClassKey::Primitive(_) => id != 0,
        };
        self.unknown |= !known;
        self.objects += u64::from(known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::header;

    #[derive(Default)]
    struct Seen(Vec<u64>);
    impl Visit for Seen {
        fn text(&mut self, _: u64, _: usize, _: usize) {}
        fn class_loaded(&mut self, _: u32, _: u64, _: u64) {}
        fn frame(&mut self, _: u64, _: u64, _: u64, _: u32, _: i32) {}
        fn stack(&mut self, _: u32, _: u32, _: usize, _: u32) {}
        fn root(&mut self, _: RootRecord) {}
        fn object(&mut self, id: u64, _: ClassKey, _: SubRecord) {
            self.0.push(id);
        }
    }

    fn bytes_array(id: u32, payload: &[u8]) -> Vec<u8> {
        let head =
            [&[tag::PRIMITIVE_ARRAY][..], &id.to_be_bytes(), &[0; 4], &(payload.len() as u32).to_be_bytes()];
        [&head.concat()[..], &[8], payload].concat()
    }

    fn dump(segments: &[(u32, Vec<u8>)]) -> Vec<u8> {
        let mut data = b"JAVA PROFILE 1.0.2\0\0\0\0\x04\0\0\0\0\0\0\0\x2a".to_vec();
        for (length, body) in segments {
            data.extend([&[0x1c, 0, 0, 0, 0][..], &length.to_be_bytes(), body].concat());
        }
        data
    }

    fn read(data: &[u8]) -> (Vec<u64>, Damage) {
        let mut seen = Seen::default();
        let damage = walk(data, &header(data).unwrap(), &mut seen);
        (seen.0, damage)
    }

    #[test]
    fn a_segment_whose_length_was_never_patched_is_read_to_the_next_record() {
        let one = bytes_array(1, b"abc");
        let two = bytes_array(2, b"");
        let data = dump(&[(0, one.clone()), (two.len() as u32, two)]);
        assert_eq!(header(&data).unwrap().written_ms, 42);
        assert_eq!(read(&data), (vec![1, 2], Damage::default()));
    }

    #[test]
    fn behind_damage_the_next_segment_is_read_and_the_loss_is_counted() {
        let bad = [bytes_array(1, b"abc"), vec![0x77; 20]].concat();
        let good = bytes_array(2, b"xy");
        let data = dump(&[(bad.len() as u32, bad), (good.len() as u32, good)]);
        let (seen, damage) = read(&data);
        assert_eq!((seen, damage.damaged_segments, damage.skipped_bytes), (vec![1, 2], 1, 20));
    }

    #[test]
    fn wherever_a_dump_is_cut_the_objects_before_are_kept_and_the_cut_is_told() {
        let body = [bytes_array(1, b"abc"), bytes_array(2, b"defg")].concat();
        let first = bytes_array(1, b"abc").len();
        let data = dump(&[(body.len() as u32, body)]);
        let begin = header(&data).unwrap().first;
        for cut in begin + 1..data.len() {
            let (seen, damage) = read(&data[..cut]);
            assert!(damage.truncated, "{cut}");
            let expected = if cut >= begin + 9 + first { vec![1] } else { vec![] };
            assert_eq!(seen, expected, "{cut}");
        }
    }
}
