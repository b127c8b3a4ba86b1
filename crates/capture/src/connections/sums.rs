//! What the connections of a process to one peer did between two readings.

use std::collections::{BTreeMap, HashMap, HashSet};

use fathom_recording::vocabulary::live;

use super::sample::{Connection, SoFar, Socket};

/// Peers of one process that have a sum of their own.
const MOST_PEERS: usize = 24;

/// Connections to one peer, or accepted at one port.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sum {
    pub(super) connections: f64,
    pub(super) unread: f64,
    pub(super) unacknowledged: f64,
    /// Seconds, added up over connections.
    pub(super) busy_s: f64,
    pub(super) window_full_s: f64,
    pub(super) buffer_short_s: f64,
    /// Means, of those over which something was sent, or came.
    pub(super) round_trip_ms: Option<f64>,
    pub(super) window: Option<f64>,
}

/// A mean that grows.
#[derive(Default)]
struct Mean(f64, f64);

impl Mean {
    fn add(&mut self, value: f64) {
        (self.0, self.1) = (self.0 + value, self.1 + 1.0);
    }

    fn get(&self) -> Option<f64> {
        (self.1 > 0.0).then(|| self.0 / self.1)
    }
}

/// The connections of one process, from reading to reading.
#[derive(Default)]
pub(super) struct Connections {
    /// By connection, at the reading before; `None`: there was none.
    before: Option<HashMap<u64, SoFar>>,
    peers: HashSet<String>,
}

impl Connections {
    /// Takes a reading; `tick_s`: seconds of a tick, `dt_s`: since the reading before. What rose
    /// since then, by peer.
    pub(super) fn take(&mut self, sockets: &[Socket], tick_s: f64, dt_s: f64) -> BTreeMap<String, Sum> {
        let listening: HashSet<u16> = sockets.iter().filter_map(Socket::listens_at).collect();
        let connected = sockets.iter().filter_map(|socket| match socket {
            Socket::Connected(connection) => Some(connection),
            Socket::Listens { .. } => None,
        });
        let (mut sums, mut means) = (BTreeMap::<String, Sum>::new(), BTreeMap::<String, (Mean, Mean)>::new());
        let before = self.before.take();
        let mut now = HashMap::new();
        for connection in connected {
            // A socket may have several descriptors.
            if now.insert(connection.id, connection.so_far).is_some() {
                continue;
            }
            let peer = self.peer(connection, &listening);
            let sum = sums.entry(peer.clone()).or_default();
            sum.connections += 1.0;
            sum.unread += connection.unread;
            sum.unacknowledged += connection.unacknowledged;
            let Some(before) = &before else { continue };
            // One that is new was made since then.
            let rose = connection.so_far.since(before.get(&connection.id).copied().unwrap_or_default());
            // A tick may have begun before.
            let seconds = |ticks: u64| (ticks as f64 * tick_s).min(dt_s);
            sum.busy_s += seconds(rose.busy);
            sum.window_full_s += seconds(rose.window_full);
            sum.buffer_short_s += seconds(rose.buffer_short);
            let (round_trip, window) = means.entry(peer).or_default();
            if let Some(ms) = connection.round_trip_ms.filter(|_| rose.sent > 0) {
                round_trip.add(ms);
            }
            if rose.received > 0 {
                window.add(connection.window);
            }
        }
        for (peer, (round_trip, window)) in means {
            let sum = sums.entry(peer).or_default();
            (sum.round_trip_ms, sum.window) = (round_trip.get(), window.get());
        }
        self.before = Some(now);
        sums
    }

    /// The instance of the series that a connection is counted in.
    fn peer(&mut self, connection: &Connection, listening: &HashSet<u16>) -> String {
        let peer = match listening.contains(&connection.own_port) {
            true => format!("{}{}", live::CLIENTS_OF, connection.own_port),
            false => connection.peer.clone(),
        };
        if self.peers.contains(&peer) {
            return peer;
        }
        if self.peers.len() == MOST_PEERS {
            return live::OTHER_PEERS.to_owned();
        }
        self.peers.insert(peer.clone());
        peer
    }
}

impl Socket {
    fn listens_at(&self) -> Option<u16> {
        match self {
            Self::Listens { port, .. } => Some(*port),
            Self::Connected(_) => None,
        }
    }
}

impl SoFar {
    /// What rose. The kernel may use the place of a socket that was closed for another one, which
    /// has counted less.
    fn since(self, before: Self) -> Self {
        let before =
            if self.received < before.received || self.busy < before.busy { Self::default() } else { before };
        Self {
            sent: self.sent.saturating_sub(before.sent),
            received: self.received.saturating_sub(before.received),
            busy: self.busy.saturating_sub(before.busy),
            window_full: self.window_full.saturating_sub(before.window_full),
            buffer_short: self.buffer_short.saturating_sub(before.buffer_short),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(id: u64, own_port: u16, peer: &str, so_far: SoFar) -> Socket {
        let round_trip_ms = Some(id as f64);
        let peer = peer.to_owned();
        let window = 1000.0 * id as f64;
        Socket::Connected(Connection {
            id,
            own_port,
            peer,
            so_far,
            round_trip_ms,
            window,
            ..Connection::default()
        })
    }

    const LISTENS: Socket = Socket::Listens { port: 8080, queue: 0, most: 50 };

    #[test]
    fn what_rose_since_the_reading_before_is_summed_up_by_peer() {
        let at = |busy, sent| SoFar { busy, sent, received: sent, window_full: busy / 2, ..SoFar::default() };
        let mut connections = Connections::default();
        let first = [
            LISTENS,
            connection(1, 8080, "10.0.0.1:50000", at(100, 10)),
            connection(2, 40_000, "db:1", at(50, 5)),
        ];
        let sums = connections.take(&first, 0.01, 1.0);
        assert_eq!(sums.keys().collect::<Vec<_>>(), ["clients of :8080", "db:1"]);
        assert_eq!((sums["db:1"].connections, sums["db:1"].busy_s), (1.0, 0.0), "nothing to compare with");
        let second = [
            LISTENS,
            connection(1, 8080, "10.0.0.1:50000", at(100, 10)),
            connection(2, 40_000, "db:1", at(150, 6)),
            connection(4, 40_001, "db:1", at(20, 7)),
            connection(4, 40_001, "db:1", at(20, 7)),
        ];
        let sums = connections.take(&second, 0.01, 1.0);
        let db = &sums["db:1"];
        assert!((db.busy_s - 1.2).abs() < 1e-9 && (db.window_full_s - 0.6).abs() < 1e-9, "{db:?}");
        assert_eq!((db.connections, db.round_trip_ms, db.window), (2.0, Some(3.0), Some(3000.0)), "of both");
        assert_eq!(sums["clients of :8080"].round_trip_ms, None, "nothing was sent over it");
    }

    #[test]
    fn a_socket_in_the_place_of_another_one_has_risen_by_what_it_counts() {
        let at = |busy| SoFar { busy, received: busy, ..SoFar::default() };
        assert_eq!(at(5).since(at(9)), at(5));
        assert_eq!(at(9).since(at(5)), at(4));
    }

    #[test]
    fn peers_beyond_the_most_share_one_sum() {
        let mut connections = Connections::default();
        let many: Vec<Socket> =
            (0..100).map(|i| connection(i, 40_000, &format!("10.0.0.1:{i}"), SoFar::default())).collect();
        let sums = connections.take(&many, 0.01, 1.0);
        assert_eq!(sums.len(), MOST_PEERS + 1);
        assert_eq!(sums[live::OTHER_PEERS].connections, (100 - MOST_PEERS) as f64);
    }
}
