//! The TCP sockets of one process as they are now (`bpf/connections.h`).

use std::io;

use zerocopy::transmute;

use super::skeleton::types::connection;
use crate::bpf::iterator::OfProcess;
use crate::bpf::record::split;
use crate::network::socket_ends::Ends;

/// Sockets of one process that are read.
const MOST: usize = 65_536;

/// All of them, in the order of their descriptors.
pub(super) fn sockets(of: &OfProcess) -> io::Result<Vec<Socket>> {
    let bytes = of.read(MOST * size_of::<connection>())?;
    Ok(parse(&bytes))
}

fn parse(mut bytes: &[u8]) -> Vec<Socket> {
    let mut sockets = Vec::new();
    while let Some((read, rest)) = split::<connection>(bytes) {
        sockets.push(Socket::of(&read));
        bytes = rest;
    }
    sockets
}

/// One that listens, or a connection.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Socket {
    /// Connections that wait for it to accept them, and how many may.
    Listens { port: u16, queue: u32, most: u32 },
    /// See [`Connection`].
    Connected(Connection),
}

/// A connection.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Connection {
    /// Distinguishes it from all others that are open.
    pub(super) id: u64,
    pub(super) own_port: u16,
    /// The other end's address.
    pub(super) peer: String,
    /// What only rises.
    pub(super) so_far: SoFar,
    /// `None`: not measured yet.
    pub(super) round_trip_ms: Option<f64>,
    /// Bytes that this side offers to take.
    pub(super) window: f64,
    pub(super) unread: f64,
    pub(super) unacknowledged: f64,
}

/// What a connection has counted since it was made. Times are ticks of the kernel's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SoFar {
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) busy: u64,
    pub(super) window_full: u64,
    pub(super) buffer_short: u64,
}

impl Socket {
    fn of(read: &connection) -> Self {
        let ends = Ends::of(&transmute!(read.ends));
        if ends.listens().is_some() {
            return Self::Listens { port: read.ends.own_port, queue: read.queue, most: read.queue_most };
        }
        Self::Connected(Connection {
            id: read.socket,
            own_port: read.ends.own_port,
            peer: ends.peer("").unwrap_or_default(),
            so_far: SoFar {
                sent: read.bytes_sent,
                received: read.bytes_received,
                busy: read.busy.into(),
                window_full: read.window_limited.into(),
                buffer_short: read.buffer_limited.into(),
            },
            round_trip_ms: (read.round_trip_us > 0).then(|| f64::from(read.round_trip_us) / 1e3),
            window: read.window.into(),
            unread: read.unread.into(),
            unacknowledged: read.unsent.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use zerocopy::IntoBytes;

    use super::super::skeleton::types::socket_ends;
    use super::*;

    #[test]
    fn sockets_are_read_one_behind_the_other_and_half_a_one_is_left() {
        let mut ends =
            socket_ends { family: 2, r#type: 1, own_port: 8080, state: 10, ..socket_ends::default() };
        let listens = connection { queue: 3, queue_most: 50, ends, ..connection::default() };
        (ends.own_port, ends.state, ends.peer_port, ends.peer_known) = (40_000, 1, 5432, 1);
        ends.peer[..4].copy_from_slice(&[10, 0, 0, 7]);
        let made = connection { socket: 5, round_trip_us: 1500, busy: 7, ends, ..connection::default() };
        let bytes = [listens.as_bytes(), made.as_bytes(), &made.as_bytes()[..20]].concat();
        let sockets = parse(&bytes);
        assert_eq!(sockets.len(), 2);
        assert_eq!(sockets[0], Socket::Listens { port: 8080, queue: 3, most: 50 });
        let Socket::Connected(made) = &sockets[1] else { panic!("{sockets:?}") };
        assert_eq!((made.peer.as_str(), made.own_port, made.so_far.busy), ("10.0.0.7:5432", 40_000, 7));
        assert_eq!(made.round_trip_ms, Some(1.5));
    }
}
