//! Whether the other end of a connection is on this host, so that who answers is a thread that may
//! have been recorded.

use fathom_recording::Recording;
use fathom_recording::vocabulary::{kind, label};
use rustc_hash::FxHashSet;

/// Ends of connections that recorded threads hold.
pub(crate) struct Ends<'a> {
    own: FxHashSet<&'a str>,
}

impl<'a> Ends<'a> {
    pub(crate) fn of(recording: &'a Recording) -> Self {
        Self { own: recording.spans_of(kind::SYSCALL).filter_map(|span| span.label(label::OWN)).collect() }
    }

    /// Whether whoever sends from an address does so on this host. There the sender itself hands
    /// the segment to the receiver and wakes it up; from elsewhere an interrupt does, in whichever
    /// thread it meets.
    pub(crate) fn is_here(&self, peer: &str) -> bool {
        let loopback = ["127.", "[::1]:", "unix:"];
        loopback.iter().any(|begin| peer.starts_with(begin)) || self.own.contains(peer)
    }
}
