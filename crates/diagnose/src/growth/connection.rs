//! What the kernel's figures of a peer's connections say of a wait for that peer: a receive window
//! that is too small, a peer that does not read, a long way to it, or a way that is short, so that
//! the peer itself takes the time.
//!
//! Source: tcp_info of Linux (include/uapi/linux/tcp.h), as the collector `connections` writes it.
//! Linux may hold an acknowledgement back for 40 ms (TCP_DELACK_MIN, include/net/tcp.h) while the
//! peer has nothing to send: a round trip of less says nothing of the way where answers take as
//! long.

use fathom_recording::vocabulary::{live, source};
use fathom_recording::{ProcessId, Recording, Series};

use crate::facts::{Value, culprits, growth as facts, remedies};
use crate::{Case, Evidence, Fact, Finding, Remedy, Window, series_within};

/// A window of fewer bytes holds up a peer on the same host, and one that has shrunk to this part
/// of the usual is no matter of what is sent.
const SMALL_WINDOW: f64 = 32_768.0;
const SHRUNK: f64 = 0.25;
/// Without a usual window to compare with: Linux begins with 64 KB (net.ipv4.tcp_rmem).
const TINY_WINDOW: f64 = 8_192.0;
/// What of the time in which there was something to send the peer's window must be full, and how
/// many times as much of it as usual.
const FULL: f64 = 0.5;
const FULLER: f64 = 2.0;
/// Fewer connections that send at a time, on average, do not count.
const SENDING: f64 = 0.05;
/// A round trip that no acknowledgement held back explains, milliseconds, and how many times the
/// usual.
const LONG_WAY_MS: f64 = 55.0;
const LONGER: f64 = 3.0;
/// What of an answer's time a round trip may take for the peer to be what takes it.
const SHORT_WAY: f64 = 0.25;

/// What is said of the connections to a peer.
pub(super) struct Limited {
    title: Option<Fact>,
    row: Fact,
    remedy: Option<Remedy>,
    culprit: Option<Fact>,
}

impl Limited {
    /// Of a wait of a JVM for a peer; `sends`: for room to send to it. `peer` is empty where it is
    /// not one of those that it connected to; `took_ms`: after how long its answers were read.
    pub(super) fn of(
        case: &Case<'_>,
        jvm: ProcessId,
        peer: &str,
        sends: bool,
        took_ms: Option<f64>,
    ) -> Option<Self> {
        let side = |windows| Figures { recording: case.recording, jvm, windows };
        let (slow, base) = (side(&case.slow), side(&case.base));
        if sends {
            return full_window(&slow, &base, peer);
        }
        if peer.is_empty() {
            return None;
        }
        small_window(&slow, &base, peer).or_else(|| long_way(&slow, &base, peer)).or_else(|| {
            let took = took_ms?;
            let way = short_way(&slow, peer, took)?;
            let row = facts::WAY_TO_PEER.is(way).with("peer", Value::name(peer));
            let row =
                row.over(base.usual(live::ROUND_TRIP, peer).map(Value::ms)).with("took", Value::ms(took));
            Some(Self { title: None, row, remedy: None, culprit: None })
        })
    }

    /// Of calls that read more often, whichever peer they read from: the one with the most
    /// connections of those whose window is too small.
    pub(super) fn of_reads(case: &Case<'_>, jvm: ProcessId) -> Option<Self> {
        let side = |windows| Figures { recording: case.recording, jvm, windows };
        let (slow, base) = (side(&case.slow), side(&case.base));
        let peers = slow.recording.series.iter().filter(|series| slow.is_of(series, live::RECEIVE_WINDOW));
        let peers = peers
            .map(|series| series.info.instance.as_str())
            .filter(|peer| !peer.starts_with(live::CLIENTS_OF) && *peer != live::OTHER_PEERS);
        let open = |peer: &str| slow.mean(live::CONNECTIONS, peer).unwrap_or(0.0);
        let small = peers.filter_map(|peer| Some((open(peer), small_window(&slow, &base, peer)?)));
        small.max_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, limited)| limited)
    }

    pub(super) fn in_title(&self) -> Option<Fact> {
        self.title.clone()
    }

    pub(super) fn evidence(&self) -> Evidence {
        Evidence::summed(source::CONNECTIONS, self.row.clone())
    }

    /// Adds it to a finding that threads make more calls to the peer.
    pub(super) fn explain(self, finding: &mut Finding) {
        finding.evidence.insert(1.min(finding.evidence.len()), self.evidence());
        let Some(why) = self.title else { return };
        finding.title = facts::MORE_CALLS_AS
            .fact()
            .with("title", Value::from(&finding.title))
            .with("why", Value::from(why))
            .into();
        // What makes many calls of one is no matter of how they are made.
        finding.remedies = self.remedy.into_iter().collect();
    }

    pub(super) fn culprit(&self) -> Option<Fact> {
        self.culprit.clone()
    }

    pub(super) fn remedy(self) -> Option<Remedy> {
        self.remedy
    }
}

/// The way to a peer and back, where it takes so little of the time after which answers come that
/// the peer itself is slow.
pub(super) fn way_of_slow_peer(case: &Case<'_>, jvm: ProcessId, peer: &str, took_ms: f64) -> Option<Value> {
    short_way(&Figures { recording: case.recording, jvm, windows: &case.slow }, peer, took_ms)
}

fn short_way(slow: &Figures<'_>, peer: &str, took_ms: f64) -> Option<Value> {
    slow.usual(live::ROUND_TRIP, peer).filter(|way| *way <= SHORT_WAY * took_ms).map(Value::ms)
}

/// The process offers the peer a window of few bytes: the peer sends so many, and waits.
fn small_window(slow: &Figures<'_>, base: &Figures<'_>, peer: &str) -> Option<Limited> {
    let window = slow.usual(live::RECEIVE_WINDOW, peer)?;
    let usual = base.usual(live::RECEIVE_WINDOW, peer);
    let is_small = match usual {
        Some(usual) => window <= SMALL_WINDOW && window <= SHRUNK * usual,
        None => window <= TINY_WINDOW,
    };
    let fact = facts::SMALL_WINDOW.is(Value::bytes(window)).over(usual.map(Value::bytes));
    // What is not read fills the window as well: that is no matter of the buffer.
    let unread = slow.mean(live::UNREAD, peer).unwrap_or(0.0) / slow.mean(live::CONNECTIONS, peer)?.max(1.0);
    (is_small && unread <= TINY_WINDOW).then(|| Limited {
        title: Some(fact.clone()),
        row: fact.with("peer", Value::name(peer)),
        remedy: Some(remedies::LET_WINDOW_GROW.remedy()),
        culprit: None,
    })
}

/// The peer's window is full: it does not read what is sent to it. Without a `peer` that of the
/// connections that were accepted is meant, and of those the ones that were held up most.
fn full_window(slow: &Figures<'_>, base: &Figures<'_>, peer: &str) -> Option<Limited> {
    let of = |side: &Figures<'_>, peer: &str| {
        let sending = side.mean(live::SENDING, peer).filter(|sending| *sending >= SENDING)?;
        Some(side.mean(live::PEER_WINDOW_FULL, peer)? / sending)
    };
    let accepted = slow.recording.series.iter().filter(|series| slow.is_of(series, live::PEER_WINDOW_FULL));
    let accepted = accepted
        .map(|series| series.info.instance.as_str())
        .filter(|peer| peer.starts_with(live::CLIENTS_OF));
    let most = accepted.max_by(|a, b| {
        let full = |peer: &str| slow.mean(live::PEER_WINDOW_FULL, peer).unwrap_or(0.0);
        full(a).total_cmp(&full(b))
    });
    let peer = if peer.is_empty() { most? } else { peer };
    let (full, usual) = (of(slow, peer)?, of(base, peer));
    let fact = facts::PEER_WINDOW_FULL.is(Value::share(full)).over(usual.map(Value::share));
    (full >= FULL && full >= FULLER * usual.unwrap_or(0.0)).then(|| Limited {
        title: Some(fact.clone()),
        row: fact.with("peer", Value::name(peer)),
        remedy: None,
        culprit: None,
    })
}

/// The way to the peer takes long, and the peer may be as fast as ever.
fn long_way(slow: &Figures<'_>, base: &Figures<'_>, peer: &str) -> Option<Limited> {
    let (way, usual) = (slow.usual(live::ROUND_TRIP, peer)?, base.usual(live::ROUND_TRIP, peer)?);
    let fact = facts::LONG_WAY.is(Value::ms(way)).over(Value::ms(usual));
    (way >= LONG_WAY_MS && way >= LONGER * usual).then(|| Limited {
        title: Some(fact.clone()),
        row: fact.with("peer", Value::name(peer)),
        remedy: Some(remedies::LOOK_AT_THE_WAY.remedy()),
        culprit: Some(culprits::WAY.is(Value::name(peer))),
    })
}

/// What was written of the connections of a JVM within some windows.
struct Figures<'a> {
    recording: &'a Recording,
    jvm: ProcessId,
    windows: &'a [Window],
}

impl Figures<'_> {
    fn is_of(&self, series: &Series, word: live::Word) -> bool {
        series.info.name == word.name && series.info.process == Some(self.jvm)
    }

    /// What was written of a peer.
    fn of(&self, word: live::Word, peer: &str) -> Option<&Series> {
        self.recording.series.iter().find(|s| self.is_of(s, word) && s.info.instance == peer)
    }

    /// The mean over time of a value; `None`: it was not written in these windows.
    fn mean(&self, word: live::Word, peer: &str) -> Option<f64> {
        series_within::mean(self.of(word, peer)?, self.windows)
    }

    /// Its median.
    fn usual(&self, word: live::Word, peer: &str) -> Option<f64> {
        series_within::median(self.of(word, peer)?, self.windows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Statement;
    use crate::built::{Built, slow_and_base};

    const PEER: &str = "10.0.0.9:5432";

    /// What is said of waits for the peer, of figures that usually are the one and in the slow
    /// windows the other; its answers take `took_ms` there.
    fn said(sends: bool, figures: &[(live::Word, &str, f64, f64)], took_ms: f64) -> Option<Statement> {
        let mut built = Built::jvm("25", "G1", 60.0);
        let jvm = built.jvm;
        for (word, peer, usual, slow) in figures {
            let values = [(0.0, 20.0, *usual), (20.0, 40.0, *slow), (40.0, 60.0, *usual)];
            built.gauge(*word, peer, Some(jvm), &values);
        }
        let recording = built.sealed();
        let case = slow_and_base(&recording, (20, 40), (0, 20), 10_000.0);
        let peer = if sends { "" } else { PEER };
        Limited::of(&case, jvm, peer, sends, Some(took_ms)).map(|limited| limited.row.into())
    }

    #[test]
    fn a_window_that_is_small_limits_what_the_peer_may_send() {
        let window = |usual, slow, unread| {
            let open = (live::CONNECTIONS, PEER, 4.0, 4.0);
            said(
                false,
                &[(live::RECEIVE_WINDOW, PEER, usual, slow), (live::UNREAD, PEER, 0.0, unread), open],
                1.0,
            )
        };
        let small = window(65_536.0, 600.0, 0.0).unwrap();
        small.states(&facts::SMALL_WINDOW, &[("peer", PEER), ("value", "600 B")]);
        assert!(window(65_536.0, 60_000.0, 0.0).is_none(), "it is as ever");
        assert!(window(1_000.0, 600.0, 0.0).is_none(), "it was small before");
        assert!(window(65_536.0, 0.0, 400_000.0).is_none(), "what has come fills it: nobody reads");
    }

    #[test]
    fn a_peer_that_does_not_read_has_a_full_window() {
        let full = |usual, slow| {
            let clients = "clients of :8080";
            said(
                true,
                &[(live::SENDING, clients, 4.0, 4.0), (live::PEER_WINDOW_FULL, clients, usual, slow)],
                1.0,
            )
        };
        full(0.1, 3.8)
            .unwrap()
            .states(&facts::PEER_WINDOW_FULL, &[("value", "95%"), ("peer", "clients of :8080")]);
        assert!(full(0.1, 0.2).is_none(), "hardly ever");
        assert!(full(3.0, 3.8).is_none(), "as ever");
    }

    #[test]
    fn the_way_to_a_peer_is_told_from_the_peer() {
        let way = |ms: f64, answers_ms: f64| said(false, &[(live::ROUND_TRIP, PEER, 0.2, ms)], answers_ms);
        way(90.0, 92.0).unwrap().states(&facts::LONG_WAY, &[("value", "90 ms"), ("peer", PEER)]);
        way(0.4, 92.0).unwrap().states(&facts::WAY_TO_PEER, &[("value", "0.40 ms"), ("took", "92 ms")]);
        assert!(way(40.0, 42.0).is_none(), "an acknowledgement may have been held back");
    }
}
