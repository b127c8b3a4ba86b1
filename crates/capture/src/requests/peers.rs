//! How long the peers of a JVM take to answer over the connections that it made, whether or not a
//! thread waits for them: an asynchronous call to a slow service is nobody's wait.
//!
//! The first [`MOST_PEERS`] peers of a JVM have series of their own, by their address; what more
//! there are share one.

use std::collections::{BTreeMap, HashMap};

use fathom_recording::ProcessId;
use fathom_recording::vocabulary::live;
use libbpf_rs::MapCore;

use super::skeleton::types::{peer, peer_answers};
use crate::bpf::whole;
use crate::growing_series::{Gauge, Points};
use crate::network::socket_ends::address;

/// Peers of one JVM that have series of their own.
const MOST_PEERS: usize = 24;

/// Takes what there is out of the kernel: process and address of the peer.
pub(super) fn take(map: &impl MapCore) -> Vec<((i32, String), peer_answers)> {
    let Ok(taken) = whole::taken(map) else { return Vec::new() };
    taken.map(|(peer, answers)| (key(&peer), answers)).collect()
}

fn key(peer: &peer) -> (i32, String) {
    (peer.pid.cast_signed(), address(peer.family, peer.address, peer.port).to_string())
}

/// The series of a peer.
struct Gauges {
    answers: Gauge,
    time: Gauge,
    unread: Gauge,
    given_up: Gauge,
    given_up_after: Gauge,
}

impl Gauges {
    fn of(process: ProcessId, peer: &str) -> Self {
        let gauge = |word| Gauge::of(word, peer, process);
        Self {
            answers: gauge(live::PROCESS_PEER_ANSWERS),
            time: gauge(live::PROCESS_PEER_ANSWER_TIME),
            unread: gauge(live::PROCESS_PEER_UNREAD_TIME),
            given_up: gauge(live::PROCESS_PEER_GIVEN_UP),
            given_up_after: gauge(live::PROCESS_PEER_GIVEN_UP_TIME),
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
        taken: Vec<((i32, String), peer_answers)>,
    ) {
        let mut answered: BTreeMap<(i32, String), peer_answers> = BTreeMap::new();
        for ((pid, peer), answers) in taken.into_iter().filter(|(_, of)| of.count + of.unanswered > 0) {
            let known = self.of.entry(pid).or_default();
            let peer = match known.contains_key(&peer) || known.len() < MOST_PEERS {
                true => peer,
                false => live::OTHER_PEERS.to_owned(),
            };
            if !known.contains_key(&peer) {
                known.insert(peer.clone(), Gauges::of(points.process(pid), &peer));
            }
            let sum = answered.entry((pid, peer)).or_default();
            sum.count += answers.count;
            sum.total_ns += answers.total_ns;
            sum.unread_ns += answers.unread_ns;
            sum.unanswered += answers.unanswered;
            sum.unanswered_ns += answers.unanswered_ns;
        }
        let peers = self.of.iter_mut().flat_map(|(pid, peers)| peers.iter_mut().map(move |p| (*pid, p)));
        for (pid, (peer, gauges)) in peers {
            // One that answered before and answers nothing now has a rate of 0.
            let of = answered.get(&(pid, peer.clone())).copied().unwrap_or_default();
            let (rate, mean) = (
                |count: u64| count as f64 / (dt_ns as f64 / 1e9),
                |sum: u64, count: u64| sum as f64 / count as f64 / 1e6,
            );
            points.point(&mut gauges.answers, dt_ns, rate(of.count));
            if of.count > 0 {
                points.point(&mut gauges.time, dt_ns, mean(of.total_ns, of.count));
                points.point(&mut gauges.unread, dt_ns, mean(of.unread_ns, of.count));
            }
            if of.unanswered > 0 {
                points.point(&mut gauges.given_up, dt_ns, rate(of.unanswered));
                points.point(&mut gauges.given_up_after, dt_ns, mean(of.unanswered_ns, of.unanswered));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_those_of_a_process_and_the_address_of_its_peer() {
        let mut sent = peer { pid: 7, family: 2, port: 5432, ..peer::default() };
        sent.address[..4].copy_from_slice(&[10, 0, 0, 9]);
        assert_eq!(key(&sent), (7, "10.0.0.9:5432".to_owned()));
    }
}
