//! A record as the eBPF program writes it (`bpf/jvm_events.h`).

use zerocopy::IntoBytes;

use super::probes::Kind;
use super::probes::skeleton::types::{jvm_event, jvm_string};

/// What is kept of a string.
const KEPT: usize = size_of::<jvm_string>();

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
    /// Numbers, 0 where the probe has none.
    pub numbers: [i64; 4],
    /// Whole length of each string, and what is kept of it.
    length: [u16; 4],
    string: [jvm_string; 4],
}

impl Record {
    /// As the program sends it; `None` where its kind is not known.
    pub fn of(event: &jvm_event) -> Option<Self> {
        Some(Self {
            t_ns: event.t_ns.cast_signed(),
            slot: event.slot,
            tid: event.tid.cast_signed(),
            kind: Kind::of(event.kind)?,
            of_function: false,
            numbers: event.number,
            length: event.length,
            string: event.string,
        })
    }

    /// The bytes of the first string: of an object, where a function was called with one; empty
    /// when they could not be read.
    pub fn object(&self) -> &[u8] {
        let bytes = self.string[0].bytes.as_bytes();
        &bytes[..usize::from(self.length[0]).min(bytes.len())]
    }

    /// Sets a string that was found out later.
    pub fn set_text(&mut self, i: usize, text: &str) {
        let (Some(length), Some(kept)) = (self.length.get_mut(i), self.string.get_mut(i)) else { return };
        *length = u16::try_from(text.len()).unwrap_or(u16::MAX);
        kept.bytes.iter_mut().zip(text.bytes()).for_each(|(to, from)| *to = from.cast_signed());
    }

    /// A string of the probe; one that was cut ends in "…".
    pub fn text(&self, i: usize) -> String {
        let (Some(length), Some(bytes)) = (self.length.get(i), self.string.get(i)) else {
            return String::new();
        };
        let kept = usize::from(*length).min(KEPT - 1);
        let mut text = String::from_utf8_lossy(&bytes.as_bytes()[..kept]).into_owned();
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
        let sent = jvm_event { kind: kind as u8, t_ns: t_ns as u64, tid: tid as u32, ..jvm_event::default() };
        let mut record = Record::of(&sent).unwrap();
        texts.iter().enumerate().for_each(|(i, text)| record.set_text(i, text));
        record.numbers[..numbers.len()].copy_from_slice(numbers);
        record
    }

    #[test]
    fn a_string_that_is_longer_than_what_is_kept_ends_in_an_ellipsis() {
        let mut sent = jvm_event { kind: Kind::OperationBegin as u8, ..jvm_event::default() };
        (sent.length[0], sent.string[0].bytes) = (300, [97; KEPT]);
        let record = Record::of(&sent).unwrap();
        assert_eq!(record.text(0), format!("{}…", "a".repeat(KEPT - 1)));
        assert_eq!((record.object().len(), record.text(4)), (KEPT, String::new()));
        assert_eq!(Record::of(&jvm_event { kind: 200, ..sent }), None);
    }
}
