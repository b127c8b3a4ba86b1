//! A cache of records by their beginning: `Pause Young (Normal) (G1 Evacuation Pause)` occurs a
//! hundred thousand times, each time followed by other sizes and another duration. What was parsed
//! once is recognised by its bytes.

use super::name_cache::same;
use super::record::{GROUPS, Group, Record};
use super::scan::{self, Change};

/// How many are cached, each in a slot given by some of its bytes, or in a neighbouring one when
/// others have taken that. A log of G1 has some thirty.
const HEADS: usize = 128;
/// How many slots are tried for one.
const NEIGHBOURS: usize = 4;
/// The longest that is cached.
const LONGEST: usize = 128;

/// The beginnings of records so far.
#[derive(Clone, Debug)]
pub(crate) struct RecordCache {
    kept: Vec<Head>,
}

impl Default for RecordCache {
    fn default() -> Self {
        Self { kept: vec![Head::default(); HEADS] }
    }
}

/// A record without sizes and duration, as lengths and positions in its text.
#[derive(Clone, Debug, Default)]
struct Head {
    text: Vec<u8>,
    words: usize,
    name: usize,
    groups: [Option<(Group, usize, usize)>; GROUPS],
}

impl RecordCache {
    /// Parses a body: the same result as [`Record::parse`].
    pub(crate) fn record<'a>(&mut self, body: &'a [u8]) -> Record<'a> {
        let (text, change, duration_ns) = tail(body);
        let Some(place) = place(text) else { return Record::parse(body) };
        let at = |place: usize| self.kept.get(place).filter(|head| same(&head.text, text));
        if let Some(head) = at(place).or_else(|| (1..NEIGHBOURS).find_map(|other| at(place ^ other))) {
            return head.record(text, change, duration_ns);
        }
        let is_free = |place: &usize| self.kept.get(*place).is_some_and(|head| head.text.is_empty());
        let place = (0..NEIGHBOURS).map(|other| place ^ other).find(is_free).unwrap_or(place);
        let Some(head) = self.kept.get_mut(place) else { return Record::parse(body) };
        if head.keep(text) { head.record(text, change, duration_ns) } else { Record::parse(body) }
    }
}

impl Head {
    /// Caches a beginning. False: sizes or a duration are in it, or a parenthesis that is closed
    /// after it, if at all.
    fn keep(&mut self, text: &[u8]) -> bool {
        let record = Record::parse(text);
        if record.change.is_some() || record.duration_ns.is_some() || !is_closed(text) {
            return false;
        }
        // Groups are slices of the text.
        let at = |group: &[u8]| (group.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
        self.groups = [None; GROUPS];
        for (slot, (kind, group)) in self.groups.iter_mut().zip(record.groups()) {
            *slot = Some((kind, at(group), at(group) + group.len()));
        }
        (self.words, self.name) = (record.words.len(), record.name.len());
        self.text.clear();
        self.text.extend_from_slice(text);
        true
    }

    /// The record that begins with `text`, which is this one's.
    fn record<'a>(&self, text: &'a [u8], change: Option<Change>, duration_ns: Option<i64>) -> Record<'a> {
        let head = |length: usize| text.get(..length).unwrap_or_default();
        let mut record = Record::new(head(self.words), head(self.name));
        for (kind, from, to) in self.groups.iter().map_while(|group| *group) {
            record.add_group(kind, text.get(from..to).unwrap_or_default());
        }
        (record.change, record.duration_ns) = (change, duration_ns);
        record
    }
}

/// Parses sizes and duration at the end.
fn tail(body: &[u8]) -> (&[u8], Option<Change>, Option<i64>) {
    let (before, word) = last_word(body);
    let duration_ns = match scan::billionths(word) {
        Some((value, b"ms")) => value / 1_000,
        Some((value, b"s")) => value,
        _ => return (body, None, None),
    };
    let (head, word) = last_word(before);
    match word.first().filter(|b| b.is_ascii_digit()).and_then(|_| scan::change(word)) {
        Some((change, b"")) => (head, Some(change), Some(duration_ns)),
        _ => (before, None, Some(duration_ns)),
    }
}

fn last_word(text: &[u8]) -> (&[u8], &[u8]) {
    let blank = text.iter().rposition(|b| *b == b' ');
    blank.map_or((b"", text), |at| {
        (text.get(..at).unwrap_or_default(), text.get(at + 1..).unwrap_or_default())
    })
}

/// Whether every parenthesis is closed: then what follows is in none of them.
fn is_closed(text: &[u8]) -> bool {
    let depth = text.iter().try_fold(0u32, |depth, byte| match byte {
        b'(' => depth.checked_add(1),
        b')' => depth.checked_sub(1),
        _ => Some(depth),
    });
    depth == Some(0)
}

/// The slot of a beginning: given by its length, its first and its last bytes.
fn place(text: &[u8]) -> Option<usize> {
    let word = |bytes: Option<&[u8; 8]>| bytes.copied().map(u64::from_le_bytes);
    // "Pause " and "Concurrent" begin too many.
    let first = word(text.get(6..).and_then(<[u8]>::first_chunk)).unwrap_or_default();
    let last = word(text.last_chunk())?;
    let mix = |mixed: u64, word: u64| (mixed ^ mixed >> 32 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = mix(mix(mix(0, first), last), text.len() as u64);
    (text.len() <= LONGEST).then_some((mixed >> 57) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever a line contains, damaged or not, the second result is the same as the first.
    #[test]
    fn a_record_is_what_it_is_without_a_memory() {
        let heads = [
            "Pause Young (Normal) (G1 Evacuation Pause)",
            "Pause Young (Mixed) (G1 Evacuation Pause) (Evacuation Failure: Pinned)",
            "Pause Full (System.gc())",
            "Pause Full (System.gc(",
            "Pause Young (Norm",
            "Pause Young )( Normal",
            "Concurrent Mark",
            "Concurrent Mark From Roots (0.101s, 0.104s)",
            "Minor Collection (Allocation Rate) 12M->3M(4M)",
            "Pause Remark 3 (odd) word",
            "Pause  Init Mark  (unload classes) ",
            "Pause",
            "",
        ];
        let tails = [
            "",
            " 205M->52M(4096M) 42.700ms",
            " 122M(41%)->54M(18%) 0.012s",
            " 5.2ms",
            " 3M->",
            "  7ms",
            " 9.1ms x",
            " (tail) 1s",
        ];
        let mut known = RecordCache::default();
        for _ in 0..2 {
            for body in heads.iter().flat_map(|head| tails.iter().map(move |tail| format!("{head}{tail}"))) {
                let (cached, parsed) = (known.record(body.as_bytes()), Record::parse(body.as_bytes()));
                assert_eq!(format!("{cached:?}"), format!("{parsed:?}"), "{body}");
            }
        }
    }
}
