//! A part of a thread's start, as the program in the kernel sends it: `bpf/starts.h`, byte by byte.

use crate::bpf::words;
use crate::starts::Child;

/// Bytes of a `struct start_event`.
const SIZE: usize = 56;

/// Which part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The parent was in `clone`; the timestamp of its stack, 0: none, and whether a wait has the
    /// same one.
    Cloned { stack_ns: u64, is_shared: bool },
    /// The child ran for the first time.
    Ran,
    /// The parent was off the CPU until the child woke it.
    Waited,
}

/// A part of a start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StartEvent {
    pub(super) part: Part,
    /// From when to when it lasted, monotonic nanoseconds.
    pub(super) ends_ns: (u64, u64),
    /// Process, threads and birth.
    pub(super) of: Child,
}

impl StartEvent {
    /// From the bytes of the ring buffer; `None` when they are not one.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..SIZE)?;
        let long = |at: usize| words::long(bytes, at);
        let word = |at: usize| words::word(bytes, at);
        let part = match word(32)? {
            1 => Part::Cloned { stack_ns: long(24)?, is_shared: word(48)? != 0 },
            2 => Part::Ran,
            3 => Part::Waited,
            _ => return None,
        };
        let of = Child { born_ns: long(16)?, pid: word(36)?, tid: word(40)?, parent: word(44)? };
        Some(Self { part, ends_ns: (long(0)?, long(8)?), of })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_read_by_its_places_and_others_are_refused() {
        let mut bytes = vec![0_u8; SIZE];
        for (at, value) in [(0, 10_u64), (8, 20), (16, 15), (24, 99)] {
            bytes[at..at + 8].copy_from_slice(&value.to_ne_bytes());
        }
        for (at, value) in [(32, 1_u32), (36, 4), (40, 7), (44, 5), (48, 1)] {
            bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        let of = Child { pid: 4, tid: 7, parent: 5, born_ns: 15 };
        let part = Part::Cloned { stack_ns: 99, is_shared: true };
        assert_eq!(StartEvent::parse(&bytes), Some(StartEvent { part, ends_ns: (10, 20), of }));
        assert_eq!(StartEvent::parse(&bytes[1..]), None);
        bytes[32] = 9;
        assert_eq!(StartEvent::parse(&bytes), None);
    }
}
