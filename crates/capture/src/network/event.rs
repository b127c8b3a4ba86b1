//! What the programs in the kernel send: `bpf/network.h`.

use super::skeleton::types::{self, network_kind};
use super::socket_ends::Ends;
use crate::bpf::record::text;

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
    /// As the programs send it, and keep it in a map; `None` where its kind is not known.
    pub(super) fn of(event: &types::network_event) -> Option<Self> {
        let kind = match network_kind(event.kind.into()) {
            network_kind::NETWORK_CONNECT => Kind::Connect,
            network_kind::NETWORK_LOOKUP => Kind::Lookup,
            _ => return None,
        };
        Some(Self {
            kind,
            begin_ns: event.begin_ns,
            end_ns: event.end_ns,
            stack_ns: event.stack_ns,
            pid: event.pid,
            tid: event.tid,
            result: event.result,
            nonblocking: event.nonblocking != 0,
            established: event.established != 0,
            comm: text(&event.comm),
            ends: Ends::of(&event.ends),
            host: text(&event.host),
        })
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
    use crate::bpf::record::characters;

    #[test]
    fn a_look_up_is_read_and_what_is_none_is_refused() {
        let sent = types::network_event {
            kind: 2,
            result: -3,
            host: characters("db.test"),
            ..types::network_event::default()
        };
        let event = Event::of(&sent).unwrap();
        assert_eq!((event.kind, event.host.as_str()), (Kind::Lookup, "db.test"));
        assert_eq!(lookup_error(event.result).as_deref(), Some("EAI_AGAIN"));
        assert_eq!(Event::of(&types::network_event { kind: 9, ..sent }), None);
    }
}
