//! What the programs in the kernel send: `bpf/network.h`, byte by byte.

use crate::bpf::words;
use crate::socket_ends::Ends;

/// Bytes of `struct network_event`.
const EVENT: usize = 104 + 256;
/// Bytes of `struct network_again`.
const AGAIN: usize = 64;

/// What is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A connection was made, or was not.
    Connect,
    /// A name was resolved, or was not.
    Lookup,
}

/// A connection being made, or a name being resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) kind: Kind,
    pub(super) begin_ns: u64,
    /// 0: it is not over.
    pub(super) end_ns: u64,
    /// Timestamp of the stack; 0: none was taken.
    pub(super) stack_ns: u64,
    pub(super) pid: u32,
    pub(super) tid: u32,
    /// Of a connection its error as the kernel has it, of a look-up what getaddrinfo(3) returned.
    pub(super) result: i32,
    pub(super) nonblocking: bool,
    pub(super) established: bool,
    pub(super) comm: String,
    pub(super) ends: Ends,
    pub(super) host: String,
}

impl Event {
    /// From the bytes of the ring buffer or of a map; `None` when they are not one.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..EVENT)?;
        let long = |at: usize| words::long(bytes, at);
        let word = |at: usize| words::word(bytes, at);
        let text = |from: usize, to: usize| bytes.get(from..to).map(words::text);
        let kind = match bytes.get(36)? {
            1 => Kind::Connect,
            2 => Kind::Lookup,
            _ => return None,
        };
        Some(Self {
            kind,
            begin_ns: long(0)?,
            end_ns: long(8)?,
            stack_ns: long(16)?,
            pid: word(24)?,
            tid: word(28)?,
            result: word(32)?.cast_signed(),
            nonblocking: *bytes.get(37)? != 0,
            established: *bytes.get(38)? != 0,
            comm: text(40, 56)?,
            ends: Ends::parse(bytes.get(56..)?)?,
            host: text(104, EVENT)?,
        })
    }
}

/// Segments of a connection that were sent again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Again {
    pub(super) segments: u64,
    /// Of its socket; 0: its program has closed it.
    pub(super) inode: u64,
    pub(super) ends: Ends,
    /// Whose it is, while the connection is being made; 0: not known.
    pub(super) pid: u32,
}

impl Again {
    /// From the bytes of a map's value.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..AGAIN)?;
        let long = |at: usize| words::long(bytes, at);
        let pid = words::word(bytes, 60)?;
        Some(Self { segments: long(0)?, inode: long(8)?, ends: Ends::parse(bytes.get(16..)?)?, pid })
    }
}

/// What getaddrinfo(3) returned, in its words: glibc's and musl's netdb.h agree on these. `None`:
/// it succeeded.
pub(super) fn lookup_error(result: i32) -> Option<String> {
    Some(match result {
        0 => return None,
        -1 => "EAI_BADFLAGS".to_owned(),
        -2 => "EAI_NONAME".to_owned(),
        -3 => "EAI_AGAIN".to_owned(),
        -4 => "EAI_FAIL".to_owned(),
        -5 => "EAI_NODATA".to_owned(),
        -6 => "EAI_FAMILY".to_owned(),
        -7 => "EAI_SOCKTYPE".to_owned(),
        -8 => "EAI_SERVICE".to_owned(),
        -10 => "EAI_MEMORY".to_owned(),
        -11 => "EAI_SYSTEM".to_owned(),
        -12 => "EAI_OVERFLOW".to_owned(),
        other => format!("EAI {other}"),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_look_up_is_read_and_what_is_none_is_refused() {
        let mut bytes = vec![0; EVENT];
        (bytes[0], bytes[8], bytes[24], bytes[28], bytes[36]) = (5, 9, 7, 8, 2);
        bytes[32..36].copy_from_slice(&(-3_i32).to_ne_bytes());
        bytes[104..112].copy_from_slice(b"db.test\0");
        let event = Event::parse(&bytes).unwrap();
        assert_eq!(
            (event.kind, event.begin_ns, event.end_ns, event.pid, event.tid),
            (Kind::Lookup, 5, 9, 7, 8)
        );
        assert_eq!(
            (event.host.as_str(), lookup_error(event.result).as_deref()),
            ("db.test", Some("EAI_AGAIN"))
        );
        bytes[36] = 9;
        assert_eq!(Event::parse(&bytes), None);
        assert_eq!(Event::parse(&bytes[..300]), None);
        assert_eq!(Again::parse(&[0; 63]), None);
    }
}
