//! Requests beyond those that are counted as operations: other clients ask for more, or each client
//! asks for more to do the same, as when it connects anew each time. Operations then take longer
//! though none of their requests does. Of a JVM that asks itself it is not known.
//!
//! ```text
//! requests that the JVM answers, a second     ├──── operations ────┤ others ├          usual
//!                                             ├ operations ┤───────── others ─────────┤   slow: these became more, not only a larger part
//! ```

use fathom_recording::ProcessId;
use fathom_recording::vocabulary::{kind, label, source};
use rustc_hash::FxHashSet;

use super::clients::calls_made;
use super::{Answered, FEW, peers};
use crate::confidence::Ground;
use crate::facts::{Value, checks, culprits, growth as facts, meanings, reasons, remedies};
use crate::growth::{Each, Growth, LEADS};
use crate::{Case, Evidence, Finding, Layer, Window};

/// The id of the finding.
pub const MORE_RULE: &str = "more-requests";

/// How many times as many requests there must be for each operation, …
const EACH: f64 = 2.0;
/// … and in a second in addition to one for each operation: what is asked all the time is a larger
/// part of fewer operations, and makes none of them slower …
const OTHERS: f64 = 1.5;
/// … by what part of all that is usually asked.
const OF_USUAL: f64 = 0.2;
/// What of the requests may be the JVM's own: which of the others are whose is not known then.
const ITSELF: f64 = 0.2;
/// What of the requests the answers that it gets from one address of this host may be, for them to
/// be somebody else's: where both ends are the JVM's, they are as many.
const ALIKE: f64 = 0.5;
/// How many times as many connections must be accepted in a second for requests to be those that
/// come with a new one, …
const CONNECTIONS: f64 = 3.0;
/// … and how many for each operation.
const FEW_CONNECTIONS: f64 = 0.1;
/// Calls that accept a connection.
const ACCEPTS: [&str; 2] = ["accept", "accept4"];

/// Requests and connections in some windows.
#[derive(Clone, Copy)]
struct Asked {
    /// Requests for each operation.
    each: f64,
    /// Requests a second.
    rate: f64,
    /// Those in addition to one for each operation.
    others: f64,
    /// Connections accepted for each operation.
    accepted: f64,
}

impl Asked {
    /// `rate`: operations a second.
    fn of(case: &Case<'_>, jvm: ProcessId, windows: &[Window], rate: f64) -> Option<Self> {
        let answered = Answered::of(case.recording, jvm, windows)?;
        let operations = rate * answered.counted_s;
        (operations >= FEW).then(|| Self {
            each: answered.count / operations,
            rate: answered.rate(),
            others: (answered.rate() - rate).max(0.0),
            accepted: calls_made(case, jvm, windows, &ACCEPTS) / operations,
        })
    }
}

fn is_of_this_host(peer: &str) -> bool {
    peer.starts_with("127.") || peer.starts_with("[::1]")
}

impl Growth<'_> {
    /// Whether a notable part of the requests are the JVM's own, in the slow time or before: those
    /// on its own connections, or as many as the answers that it gets from one address of this
    /// host.
    pub(crate) fn asks_itself(&self, case: &Case<'_>) -> bool {
        let calls = case.recording.spans_of(kind::SYSCALL).filter(|span| span.process() == self.jvm);
        let own: FxHashSet<&str> = calls.filter_map(|span| span.label(label::OWN)).collect();
        [&case.slow, &case.base].into_iter().any(|windows| {
            let answers = peers::answers(case.recording, self.jvm, windows);
            let all = Answered::of(case.recording, self.jvm, windows).map_or(0.0, |answered| answered.count);
            let known = answers.iter().filter(|(peer, _)| own.contains(*peer)).map(|(_, a)| a.count);
            let alike = answers.iter().filter(|(peer, _)| is_of_this_host(peer)).map(|(_, a)| a.count);
            known.sum::<f64>() > ITSELF * all || alike.fold(0.0, f64::max) > ALIKE * all
        })
    }

    /// That more is asked than the operations that are counted; `None` where requests or operations
    /// were not counted, or findings explain nearly all: `explained`, a share of the loss.
    pub(crate) fn more_requests(&self, case: &Case<'_>, explained: f64) -> Option<Finding> {
        let (slow_rate, base_rate) = case.loss.slow_rate.zip(case.loss.base_rate)?;
        if self.per.each != Each::Operation {
            return None;
        }
        let slow = Asked::of(case, self.jvm, &case.slow, slow_rate)?;
        let base = Asked::of(case, self.jvm, &case.base, base_rate)?;
        // Where fewer requests than operations are counted, as of several under way on one
        // connection, it is not known which are the others.
        let (now, before) = if base.each < 1.0 { (slow.rate, base.rate) } else { (slow.others, base.others) };
        let are_others = now >= OTHERS * before && now - before >= OF_USUAL * base.rate;
        let connects = slow.accepted >= FEW_CONNECTIONS
            && slow.accepted * slow_rate >= CONNECTIONS * base.accepted * base_rate;
        let are_more = slow.each >= EACH * base.each && (are_others || connects);
        let (took, usual) = self.worked().fold((0.0, 0.0), |sum, g| (sum.0 + g.slow, sum.1 + g.base));
        if !are_more || took <= usual || usual <= 0.0 || self.asks_itself(case) {
            return None;
        }
        // An operation takes so many times as long, for so many times as many requests that each
        // take so many times as long.
        let of_number = ((slow.each / base.each).ln() / (took / usual).ln()).clamp(0.0, 1.0);
        let lost_ms = case.loss.lost_ms;
        let cost_ms = lost_ms * of_number.min(1.0 - explained.clamp(0.0, 1.0));
        if cost_ms < LEADS * lost_ms {
            return None;
        }
        let why = &reasons::ASKERS_NOT_SEEN;
        let sure = Ground::Fits.because(case, cost_ms, why);
        let mut finding = case.finding_by(MORE_RULE, Layer::Network, self.jvm, sure, cost_ms);
        let connections = |asked: Asked| connects.then(|| Value::plain(asked.accepted));
        let title = facts::MORE_REQUESTS.is(Value::plain(slow.each)).over(Value::plain(base.each));
        let title = title.with("connections", connections(slow));
        finding.title = title.with("connections-baseline", connections(base)).into();
        finding.culprit = culprits::MORE_REQUESTS.fact().into();
        finding.meaning = meanings::MORE_REQUESTS.fact().into();
        let rates = facts::REQUESTS.is(Value::per_second(slow.rate)).over(Value::per_second(base.rate));
        let rates = rates.with("others", Value::per_second(slow.others));
        let rates = rates.with("others-baseline", Value::per_second(base.others));
        finding.evidence = vec![Evidence::summed(source::REQUESTS, rates)];
        if connects {
            let accepted = facts::ACCEPTED.is(Value::plain(slow.accepted)).over(Value::plain(base.accepted));
            finding.evidence.push(Evidence::summed(source::SYSCALLS, accepted));
            finding.remedies.push(remedies::KEEP_CONNECTIONS.remedy());
        }
        finding.remedies.push(remedies::SEE_WHO_ASKS.remedy());
        finding.verify = vec![checks::REQUESTS_AS_BEFORE.is(Value::per_second(base.rate)).into()];
        finding.windows.clone_from(&case.slow);
        Some(finding)
    }
}

#[cfg(test)]
mod tests {
    use fathom_recording::vocabulary::live;

    use super::*;
    use crate::built::{Built, whole_run};
    use crate::waits::Category;

    const S: i64 = 1_000_000_000;

    /// A service that does 100 operations a second and 20 in the second half of 40 s, in which it
    /// answers `requests` a second instead of 150 and accepts `connections`. Each operation takes
    /// threads `took_ms` instead of 1 ms.
    fn finding(requests: f64, connections: u64, took_ms: f64) -> Option<Finding> {
        asked(requests, connections, took_ms, None)
    }

    /// The same of one that gets as many answers from an address.
    fn asked(requests: f64, connections: u64, took_ms: f64, peer: Option<&str>) -> Option<Finding> {
        let mut built = Built::jvm("25", "G1", 40.0);
        built.watched("worker", 40.0);
        let jvm = Some(built.jvm);
        built.gauge(live::PROCESS_REQUESTS, "", jvm, &[(0.0, 20.0, 150.0), (20.0, 40.0, requests)]);
        built.gauge(live::PROCESS_REQUEST_TIME, "", jvm, &[(0.0, 20.0, 1.0), (20.0, 40.0, 1.5)]);
        if let Some(peer) = peer {
            built.gauge(live::PROCESS_PEER_ANSWERS, peer, jvm, &[(0.0, 20.0, 150.0), (20.0, 40.0, requests)]);
        }
        built.counted_calls("worker", "accept4", 20.0, 20_000.0, connections);
        let (jvm, recording) = (built.jvm, built.sealed());
        let window = |from_s: i64, to_s: i64| vec![Window { from_ns: from_s * S, to_ns: to_s * S }];
        let loss = crate::Loss {
            lost_ms: 16_000.0,
            slow_rate: Some(20.0),
            base_rate: Some(100.0),
            ..Default::default()
        };
        let whole = whole_run(&recording);
        let case = Case { slow: window(20, 40), base: window(0, 20), whole_run: false, loss, ..whole };
        let grown = crate::growth::tests::grew(&[(Category::C2, "shop.Orders.read", 1.0, took_ms)]);
        Growth { jvm, ..grown }.more_requests(&case, 0.0)
    }

    #[test]
    fn requests_in_addition_to_the_operations_are_why_there_are_fewer_of_these() {
        let more = finding(180.0, 400, 6.0).unwrap();
        more.title.states(
            &facts::MORE_REQUESTS,
            &[("value", "9.0"), ("baseline", "1.5"), ("connections", "1.0"), ("connections-baseline", "0.0")],
        );
        assert_eq!(more.confidence, crate::Confidence::ConsistentWith);
        assert!(more.cost_ms > 0.9 * 16_000.0, "{}", more.cost_ms);
    }

    #[test]
    fn a_jvm_that_asks_itself_is_asked_by_nobody_else() {
        assert!(asked(3_000.0, 0, 6.0, Some("127.0.0.1:18099")).is_none());
        assert!(asked(3_000.0, 0, 60.0, Some("10.0.0.7:5432")).is_some(), "it asks another one as often");
    }

    #[test]
    fn what_is_asked_all_the_time_is_only_a_larger_part_of_fewer_operations() {
        assert!(finding(70.0, 0, 6.0).is_none(), "20 and the 50 that always are");
        assert!(finding(70.0, 400, 6.0).is_some(), "each operation connects anew");
        assert!(finding(180.0, 0, 6_000.0).is_none(), "each takes a thousand times as long");
        assert!(finding(180.0, 0, 1.0).is_none(), "they take as long as ever");
    }
}
