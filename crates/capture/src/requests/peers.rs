//! How long the peers of a JVM take to answer over the connections that it made, whether or not a
//! thread waits for them: an asynchronous call to a slow service is nobody's wait.
//!
//! The first [`MOST_PEERS`] peers of a JVM have series of their own, by their address; what more
//! there are share one.

use std::collections::{BTreeMap, HashMap};

use fathom_recording::ProcessId;
use fathom_recording::vocabulary::live;
use libbpf_rs::MapCore;

use crate::bpf::{whole, words};
use crate::growing_series::{Gauge, Points};
use crate::socket_ends::address;

/// Peers of one JVM that have series of their own.
const MOST_PEERS: usize = 24;
/// The instance of the series of all others.
const OTHERS: &str = "other peers";

/// What a peer answered since the last time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Answers {
    count: u64,
    total_ns: u64,
    unread_ns: u64,
}

impl Answers {
    fn add(&mut self, other: Self) {
        self.count += other.count;
        self.total_ns += other.total_ns;
        self.unread_ns += other.unread_ns;
    }
}

/// Takes what there is out of the kernel: process and address of the peer.
pub(super) fn take(map: &impl MapCore) -> Vec<((i32, String), Answers)> {
    let Ok(taken) = whole::taken(map) else { return Vec::new() };
    taken.filter_map(|(key, value)| parse(&key, &value)).collect()
}

/// `struct peer` and `struct peer_answers` of bpf/requests.h.
fn parse(key: &[u8], value: &[u8]) -> Option<((i32, String), Answers)> {
    let pid = i32::from_ne_bytes(*key.first_chunk()?);
    let bytes: [u8; 16] = *key.get(8..24)?.first_chunk()?;
    let peer = address(words::short(key, 4)?, bytes, words::short(key, 6)?);
    let answers = Answers {
        count: words::long(value, 0)?,
        total_ns: words::long(value, 8)?,
        unread_ns: words::long(value, 16)?,
    };
    Some(((pid, peer.to_string()), answers))
}

/// The series of a peer.
struct Gauges {
    answers: Gauge,
    time: Gauge,
    unread: Gauge,
}

impl Gauges {
    fn of(process: ProcessId, peer: &str) -> Self {
        let gauge = |word| Gauge::of(word, peer, process);
        Self {
            answers: gauge(live::PROCESS_PEER_ANSWERS),
            time: gauge(live::PROCESS_PEER_ANSWER_TIME),
            unread: gauge(live::PROCESS_PEER_UNREAD_TIME),
        }
    }
}

/// The series of all peers, by process and address.
#[derive(Default)]
pub(super) struct Peers {
    of: HashMap<i32, BTreeMap<String, Gauges>>,
}

impl Peers {
    /// Writes what the peers answered in the last `dt_ns` nanoseconds.
    pub(super) fn write(
        &mut self,
        points: &mut Points<'_, '_>,
        dt_ns: i64,
        taken: Vec<((i32, String), Answers)>,
    ) {
        let mut answered: BTreeMap<(i32, String), Answers> = BTreeMap::new();
        for ((pid, peer), answers) in taken.into_iter().filter(|(_, answers)| answers.count > 0) {
            let known = self.of.entry(pid).or_default();
            let peer = match known.contains_key(&peer) || known.len() < MOST_PEERS {
                true => peer,
                false => OTHERS.to_owned(),
            };
            if !known.contains_key(&peer) {
                known.insert(peer.clone(), Gauges::of(points.process(pid), &peer));
            }
            answered.entry((pid, peer)).or_default().add(answers);
        }
        let peers = self.of.iter_mut().flat_map(|(pid, peers)| peers.iter_mut().map(move |p| (*pid, p)));
        for (pid, (peer, gauges)) in peers {
            match answered.get(&(pid, peer.clone())) {
                Some(answers) => {
                    let count = answers.count as f64;
                    points.point(&mut gauges.answers, dt_ns, count / (dt_ns as f64 / 1e9));
                    points.point(&mut gauges.time, dt_ns, answers.total_ns as f64 / count / 1e6);
                    points.point(&mut gauges.unread, dt_ns, answers.unread_ns as f64 / count / 1e6);
                }
                // One that answered before and answers nothing now.
                None => points.point(&mut gauges.answers, dt_ns, 0.0),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test panics where it fails")]

    use super::*;

    #[test]
    fn answers_are_those_of_a_process_and_the_address_of_its_peer() {
        let mut key = Vec::from(7_u32.to_ne_bytes());
        key.extend(2_u16.to_ne_bytes());
        key.extend(5432_u16.to_ne_bytes());
        key.extend([10, 0, 0, 9]);
        key.extend([0; 12]);
        let value: Vec<u8> = [3_u64, 60, 5].iter().flat_map(|number| number.to_ne_bytes()).collect();
        let answers = Answers { count: 3, total_ns: 60, unread_ns: 5 };
        assert_eq!(parse(&key, &value), Some(((7, "10.0.0.9:5432".to_owned()), answers)));
        assert_eq!(parse(&key[..20], &value), None);
    }
}
