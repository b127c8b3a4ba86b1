//! Ports on which a process' network namespace listens: a connection whose own port is one of them
//! was accepted, for the kernel gives none of them to a connection that is made.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader};

/// Sockets read at most: listening ones come first, and a server may have a million others.
const MOST: usize = 4096;
/// TCP_LISTEN of include/net/tcp_states.h, as /proc/net/tcp prints it.
const LISTEN: &str = "0A";

/// The ports of `/proc/PID/net/tcp` and `tcp6` that are listened on; none where these cannot be
/// read.
pub fn ports(pid: i32) -> HashSet<u16> {
    let mut ports = HashSet::new();
    for name in ["net/tcp", "net/tcp6"] {
        let Ok(file) = File::open(super::path(pid, name)) else { continue };
        let lines = BufReader::new(file).lines().map_while(Result::ok).skip(1).take(MOST);
        ports.extend(lines.map_while(|line| port(&line)));
    }
    ports
}

/// The port of a line of a listening socket: "0: 0100007F:1F90 00000000:0000 0A …".
fn port(line: &str) -> Option<u16> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let (own, state) = (fields.next()?, fields.nth(1)?);
    let (_, port) = own.rsplit_once(':')?;
    (state == LISTEN).then(|| u16::from_str_radix(port, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_port_is_listened_on_as_long_as_its_socket_lives() {
        let own = std::process::id().cast_signed();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let client = std::net::TcpStream::connect(at).unwrap();
        let listened = ports(own);
        assert!(listened.contains(&at.port()), "{listened:?}");
        assert!(!listened.contains(&client.local_addr().unwrap().port()), "a connection that was made");
        drop(listener);
        assert!(!ports(own).contains(&at.port()));
    }
}
