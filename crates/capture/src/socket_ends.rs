//! Ends of a socket, as programs send them: `bpf/sockets.h`, byte by byte, and in words.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::bpf::words;

/// Bytes of `struct socket_ends`.
pub(crate) const ENDS_BYTES: usize = 44;

const UNIX: u16 = 1;
const INET: u16 = 2;
const INET6: u16 = 10;
/// TCP_LISTEN of include/net/tcp_states.h.
const LISTEN: u8 = 10;
/// SOCK_STREAM of include/linux/net.h.
const STREAM: u16 = 1;

/// An address as the kernel has it: an IPv4 one in the first four bytes.
pub(crate) fn address(family: u16, bytes: [u8; 16], port: u16) -> SocketAddr {
    let [a, b, c, d, ..] = bytes;
    // A dual-stack socket (the JDK's default) has an IPv4 peer within an IPv6 address.
    let ip = match family {
        INET6 => Ipv6Addr::from(bytes).to_canonical(),
        _ => IpAddr::V4(Ipv4Addr::new(a, b, c, d)),
    };
    SocketAddr::new(ip, port)
}

/// Both ends of a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ends {
    family: u16,
    kind: u16,
    state: u8,
    /// 0: not known, 2: of a Unix socket with an abstract name.
    peer_known: u8,
    peer: SocketAddr,
    own: SocketAddr,
}

impl Ends {
    /// From the bytes of an event; `None` when there are too few.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..ENDS_BYTES)?;
        let short = |at: usize| words::short(bytes, at);
        let family = short(0)?;
        let address = |at: usize, port: u16| {
            let all: [u8; 16] = *bytes.get(at..at + 16)?.first_chunk()?;
            Some(address(family, all, port))
        };
        Some(Self {
            family,
            kind: short(2)?,
            state: *bytes.get(8)?,
            peer_known: *bytes.get(9)?,
            peer: address(12, short(4)?)?,
            own: address(28, short(6)?)?,
        })
    }

    /// Whether there is a socket at all.
    pub(crate) fn is_socket(&self) -> bool {
        self.family != 0
    }

    /// The other end: "10.0.0.7:5432", "[2001:db8::1]:443", "unix:/run/x.sock", "unix:@name".
    /// `name`: what a Unix socket is called. `None`: there is none, or it is not known.
    pub(crate) fn peer(&self, name: &str) -> Option<String> {
        match (self.family, self.peer_known) {
            (INET | INET6, 1) => Some(self.peer.to_string()),
            (UNIX, 1) => Some(format!("unix:{name}")),
            (UNIX, 2) => Some(format!("unix:@{name}")),
            (UNIX, _) => Some("unix:".to_owned()),
            _ => None,
        }
    }

    /// The own end of a connection by TCP.
    pub(crate) fn own(&self) -> Option<SocketAddr> {
        let connected = matches!(self.family, INET | INET6) && self.kind == STREAM && self.peer_known == 1;
        connected.then_some(self.own)
    }

    /// The end that is known when no peer is: "listening on 0.0.0.0:8080".
    pub(crate) fn listens(&self) -> Option<String> {
        let inet = matches!(self.family, INET | INET6);
        (inet && self.kind == STREAM && self.state == LISTEN).then(|| format!("listening on {}", self.own))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn bytes(family: u16, peer: [u8; 16]) -> Vec<u8> {
        let mut bytes = vec![0; ENDS_BYTES];
        bytes[..2].copy_from_slice(&family.to_ne_bytes());
        bytes[4..6].copy_from_slice(&5432_u16.to_ne_bytes());
        bytes[9] = 1;
        bytes[12..28].copy_from_slice(&peer);
        bytes
    }

    #[test]
    fn an_ipv4_peer_of_a_dual_stack_socket_is_written_as_one() {
        let mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 0, 0, 7];
        let shown = |family, peer| Ends::parse(&bytes(family, peer)).unwrap().peer("");
        assert_eq!(shown(INET6, mapped).as_deref(), Some("10.0.0.7:5432"));
        let mut plain = [0; 16];
        plain[..4].copy_from_slice(&[10, 0, 0, 7]);
        assert_eq!(shown(INET, plain).as_deref(), Some("10.0.0.7:5432"));
        let mut six = [0; 16];
        (six[0], six[1], six[15]) = (0x20, 0x01, 1);
        assert_eq!(shown(INET6, six).as_deref(), Some("[2001::1]:5432"));
        assert_eq!(Ends::parse(&bytes(UNIX, six)).unwrap().peer("/x").as_deref(), Some("unix:/x"));
        assert_eq!(Ends::parse(&[0; 20]), None);
    }
}
