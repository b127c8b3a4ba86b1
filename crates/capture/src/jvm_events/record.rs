//! A record as the eBPF program writes it (`bpf/jvm_events.h`).

use super::probes::Kind;
use crate::bpf::words;

/// Sizes in `bpf/jvm_events.h`.
const STRINGS: usize = 4;
const STRING_BYTES: usize = 128;
const NUMBERS: usize = 4;
/// Where the parts lie.
const LENGTHS_AT: usize = 20;
const NUMBERS_AT: usize = 32;
const STRINGS_AT: usize = NUMBERS_AT + NUMBERS * 8;
/// Size of a record.
const BYTES: usize = STRINGS_AT + STRINGS * STRING_BYTES;

/// What a probe reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// When, monotonic clock.
    pub t_ns: i64,
    /// Of which JVM.
    pub slot: u32,
    /// On which thread.
    pub tid: i32,
    /// Which probe.
    pub kind: Kind,
    /// Whether a function reported it in the place of the probe: it reports less, and other things.
    pub of_function: bool,
    strings: [(u16, [u8; STRING_BYTES]); STRINGS],
    /// Numbers, 0 where the probe has none.
    pub numbers: [i64; NUMBERS],
}

impl Record {
    /// Of the bytes of the ring buffer; `None` when they are not ours.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..BYTES)?;
        let (long, word) = (|at| words::long(bytes, at), |at| words::word(bytes, at));
        let mut record = Self {
            t_ns: long(0)?.cast_signed(),
            slot: word(8)?,
            tid: word(12)?.cast_signed(),
            kind: Kind::of(*bytes.get(16)?)?,
            of_function: false,
            strings: [(0, [0; STRING_BYTES]); STRINGS],
            numbers: [0; NUMBERS],
        };
        for (i, (length, text)) in record.strings.iter_mut().enumerate() {
            let at = LENGTHS_AT + 2 * i;
            *length = words::short(bytes, at)?;
            let at = STRINGS_AT + i * STRING_BYTES;
            text.copy_from_slice(bytes.get(at..at + STRING_BYTES)?);
        }
        for (i, number) in record.numbers.iter_mut().enumerate() {
            *number = long(NUMBERS_AT + 8 * i)?.cast_signed();
        }
        Some(record)
    }

    /// The bytes of the first string: of an object, where a function was called with one; empty
    /// when they could not be read.
    pub fn object(&self) -> &[u8] {
        let (length, bytes) = &self.strings[0];
        &bytes[..usize::from(*length).min(STRING_BYTES)]
    }

    /// Sets a string that was found out later.
    pub fn set_text(&mut self, i: usize, text: &str) {
        let Some((length, bytes)) = self.strings.get_mut(i) else { return };
        *length = u16::try_from(text.len()).unwrap_or(u16::MAX);
        bytes.iter_mut().zip(text.bytes()).for_each(|(to, from)| *to = from);
    }

    /// A string of the probe; one that was cut ends in "…".
    pub fn text(&self, i: usize) -> String {
        let Some((length, bytes)) = self.strings.get(i) else { return String::new() };
        let kept = usize::from(*length).min(STRING_BYTES - 1);
        let mut text = String::from_utf8_lossy(&bytes[..kept]).into_owned();
        if usize::from(*length) > kept {
            text.push('…');
        }
        text
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A record as a probe would send it.
    pub fn record(kind: Kind, t_ns: i64, tid: i32, texts: &[&str], numbers: &[i64]) -> Record {
        let mut record = Record {
            t_ns,
            slot: 0,
            tid,
            kind,
            of_function: false,
            strings: [(0, [0; STRING_BYTES]); STRINGS],
            numbers: [0; NUMBERS],
        };
        for ((length, bytes), text) in record.strings.iter_mut().zip(texts) {
            *length = text.len() as u16;
            bytes.iter_mut().zip(text.bytes()).for_each(|(to, from)| *to = from);
        }
        record.numbers.iter_mut().zip(numbers).for_each(|(to, from)| *to = *from);
        record
    }

    #[test]
    fn bytes_are_read_by_their_places_and_short_ones_refused() {
        let mut bytes = vec![0_u8; BYTES];
        bytes[..8].copy_from_slice(&77_u64.to_ne_bytes());
        bytes[8..12].copy_from_slice(&3_u32.to_ne_bytes());
        bytes[12..16].copy_from_slice(&4711_u32.to_ne_bytes());
        bytes[16] = Kind::OperationBegin as u8;
        bytes[LENGTHS_AT..LENGTHS_AT + 2].copy_from_slice(&300_u16.to_ne_bytes());
        bytes[STRINGS_AT..STRINGS_AT + STRING_BYTES].fill(b'a');
        bytes[NUMBERS_AT..NUMBERS_AT + 8].copy_from_slice(&(-5_i64).to_ne_bytes());
        let record = Record::parse(&bytes).unwrap();
        assert_eq!((record.t_ns, record.slot, record.tid), (77, 3, 4711));
        assert_eq!((record.kind, record.numbers[0]), (Kind::OperationBegin, -5));
        assert_eq!(record.text(0), format!("{}…", "a".repeat(STRING_BYTES - 1)));
        assert_eq!(Record::parse(&bytes[..BYTES - 1]), None);
        bytes[16] = 200;
        assert_eq!(Record::parse(&bytes), None);
    }
}
