//! What the program in the kernel sends: `bpf/probe.h`, byte by byte.

use crate::bpf::words;

const ARGUMENTS: usize = 8;
const TEXTS: usize = 2;
const TEXT_BYTES: usize = 64;
const RAW_BYTES: usize = 256;
const TEXTS_AT: usize = 112;
const RAW_AT: usize = TEXTS_AT + TEXTS * TEXT_BYTES;
/// Bytes of an event.
const SIZE: usize = RAW_AT + RAW_BYTES;
/// A text is one from so many characters on: less may be any bytes.
const SHORTEST: usize = 3;

/// A hit of a probe.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) t0_ns: u64,
    pub(super) t1_ns: u64,
    /// Timestamp of its stack; 0: none.
    pub(super) stack_ns: u64,
    /// What a function returned.
    pub(super) result: Option<u64>,
    pub(super) arguments: Vec<u64>,
    pub(super) pid: u32,
    pub(super) tid: u32,
    /// Which probe.
    pub(super) probe: u32,
    /// What the first arguments point to, where that is text.
    pub(super) texts: [Option<String>; TEXTS],
    /// The record of a tracepoint.
    pub(super) raw: Box<[u8]>,
}

impl Event {
    /// An event from the bytes of the ring buffer; `None` when they are not one.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..SIZE)?;
        let long = |at: usize| words::long(bytes, at);
        let word = |at: usize| words::word(bytes, at);
        let short = |at: usize| words::short(bytes, at);
        let count = usize::from(short(108)?).min(ARGUMENTS);
        let text = |i: usize| {
            let at = TEXTS_AT + i * TEXT_BYTES;
            bytes.get(at..at + TEXT_BYTES).and_then(text)
        };
        Some(Self {
            t0_ns: long(0)?,
            t1_ns: long(8)?,
            stack_ns: long(16)?,
            result: long(24).filter(|_| short(110).is_some_and(|returned| returned != 0)),
            arguments: (0..count).filter_map(|i| long(32 + 8 * i)).collect(),
            pid: word(96)?,
            tid: word(100)?,
            probe: word(104)?,
            texts: [text(0), text(1)],
            raw: bytes[RAW_AT..].into(),
        })
    }
}

/// Bytes that look like text.
fn text(bytes: &[u8]) -> Option<String> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let text = std::str::from_utf8(&bytes[..end]).ok()?;
    (end >= SHORTEST && !text.chars().any(char::is_control)).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_by_their_places() {
        let mut bytes = [0_u8; SIZE];
        for (at, value) in [(0, 1_u64), (8, 2), (16, 3), (24, 4), (32, 5), (40, 6)] {
            bytes[at..at + 8].copy_from_slice(&value.to_ne_bytes());
        }
        bytes[96..100].copy_from_slice(&7_u32.to_ne_bytes());
        bytes[108..110].copy_from_slice(&2_u16.to_ne_bytes());
        bytes[110] = 1;
        bytes[TEXTS_AT..TEXTS_AT + 5].copy_from_slice(b"/etc\0");
        bytes[TEXTS_AT + TEXT_BYTES..TEXTS_AT + TEXT_BYTES + 4].copy_from_slice(&[b'a', 0xff, b'b', 0]);
        let event = Event::parse(&bytes).unwrap();
        assert_eq!((event.t0_ns, event.t1_ns, event.result, event.pid), (1, 2, Some(4), 7));
        assert_eq!(event.arguments, [5, 6]);
        assert_eq!(event.texts, [Some("/etc".into()), None]);
        assert!(Event::parse(&bytes[1..]).is_none());
    }
}
