//! Ends of a socket, as programs send them (`bpf/sockets.h`), and in words.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

pub(crate) use super::skeleton::types::socket_ends;

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
    /// As programs send them.
    pub(crate) fn of(ends: &socket_ends) -> Self {
        Self {
            family: ends.family,
            kind: ends.r#type,
            state: ends.state,
            peer_known: ends.peer_known,
            peer: address(ends.family, ends.peer, ends.peer_port),
            own: address(ends.family, ends.own, ends.own_port),
        }
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
    use super::*;

    #[test]
    fn an_ipv4_peer_of_a_dual_stack_socket_is_written_as_one() {
        let mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 0, 0, 7];
        let ends = |family, peer| {
            Ends::of(&socket_ends { family, peer, peer_port: 5432, peer_known: 1, ..socket_ends::default() })
        };
        let shown = |family, peer| ends(family, peer).peer("");
        assert_eq!(shown(INET6, mapped).as_deref(), Some("10.0.0.7:5432"));
        let mut plain = [0; 16];
        plain[..4].copy_from_slice(&[10, 0, 0, 7]);
        assert_eq!(shown(INET, plain).as_deref(), Some("10.0.0.7:5432"));
        let mut six = [0; 16];
        (six[0], six[1], six[15]) = (0x20, 0x01, 1);
        assert_eq!(shown(INET6, six).as_deref(), Some("[2001::1]:5432"));
        assert_eq!(ends(UNIX, six).peer("/x").as_deref(), Some("unix:/x"));
    }
}
