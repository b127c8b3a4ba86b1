//! Fewer calls of a peer in flight at a time, while requests wait and the peer answers as soon as
//! ever: the process limits them, and what waits for its turn is no thread.
//!
//! ```text
//! calls in flight at a time = answers a second × how long each takes        (Little's law)
//!     before   1,234/s × 10.9 ms = 13      as many as there are requests
//!     now         74/s × 12.6 ms = 0.93    one after the other, and 14 requests wait
//! ```

use fathom_recording::ProcessId;
use fathom_recording::vocabulary::source;

use super::peers::{Answers, answers};
use super::{Answered, FEW, LONGER};
use crate::facts::{Value, culprits, growth as facts, remedies};
use crate::growth::TIMES;
use crate::{Case, Evidence, Fact, Remedy};

/// How many requests must be in the process at a time for each call that is in flight.
const WAITING: f64 = 2.0;
/// Calls in flight at a time where one is made after the other, and always one.
const ONE: std::ops::Range<f64> = 0.75..1.15;
/// How many there must have been at a time for one after the other to be no chance.
const SEVERAL: f64 = 2.0;

/// Calls of one peer in flight at a time, slow and in the baseline.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlight<'a> {
    address: &'a str,
    slow: f64,
    base: f64,
    /// How long an answer takes until it is read, milliseconds.
    ms: (f64, f64),
}

impl<'a> InFlight<'a> {
    /// The peer of which most calls were in flight, of those of which fewer are now. `requests`: of
    /// the process, slow and in the baseline.
    pub(super) fn of(
        case: &'a Case<'_>,
        jvm: ProcessId,
        (slow, base): (&Answered, &Answered),
    ) -> Option<Self> {
        let before = answers(case.recording, jvm, &case.base);
        let now = answers(case.recording, jvm, &case.slow).into_iter();
        let at_a_time = |answers: &Answers, windows| {
            answers.count * answers.until_read_ms() / Case::length_ms(windows).max(f64::MIN_POSITIVE)
        };
        let requests = slow.rate() * slow.ms / 1e3;
        let peers = now.filter_map(|(address, now)| {
            let before = before.get(address)?;
            let of = Self {
                address,
                slow: at_a_time(&now, &case.slow),
                base: at_a_time(before, &case.base),
                ms: (now.until_read_ms(), before.until_read_ms()),
            };
            let as_soon = of.ms.0 < LONGER * of.ms.1;
            let each = (now.count / slow.count) / (before.count / base.count);
            let as_many_each = each < TIMES && each > 1.0 / TIMES;
            let are_many = now.count >= FEW && before.count >= FEW;
            let are_fewer = of.slow * TIMES <= of.base && requests >= WAITING * of.slow;
            (are_many && as_soon && as_many_each && are_fewer).then_some(of)
        });
        peers.max_by(|a, b| a.base.total_cmp(&b.base))
    }

    /// Whether one call is made after the other, of which there were several at a time.
    pub(super) fn is_one_by_one(&self) -> bool {
        ONE.contains(&self.slow) && self.base >= SEVERAL
    }

    pub(super) fn fact(&self) -> Fact {
        let calls = facts::IN_FLIGHT.is(Value::plain(self.slow)).over(Value::plain(self.base));
        let calls = calls.with("took", Value::ms(self.ms.0)).with("took-baseline", Value::ms(self.ms.1));
        calls.with("peer", Value::name(self.address))
    }

    pub(super) fn evidence(&self) -> Evidence {
        Evidence::summed(source::REQUESTS, self.fact())
    }

    pub(super) fn culprit(&self) -> Fact {
        culprits::LIMIT_OF_CALLS.is(Value::name(self.address))
    }

    pub(super) fn remedy(&self) -> Remedy {
        remedies::FIND_LOST_PERMITS.remedy()
    }
}

#[cfg(test)]
mod tests {
    use fathom_recording::vocabulary::live;

    use super::*;
    use crate::built::{Built, whole_run};
    use crate::growth::Growth;
    use crate::waits::Category;
    use crate::{Confidence, Finding, Window};

    /// A minute of a service that asks a peer once for each request; in the middle third it answers
    /// `rate` requests a second instead of 1,000, each after 150 ms instead of 12, and the peer
    /// answers after `ms` instead of 10.
    fn found(rate: f64, ms: f64) -> Finding {
        let mut built = Built::jvm("25", "G1", 60.0);
        let jvm = built.jvm;
        let thirds = |usual: f64, slow: f64| [(0.0, 20.0, usual), (20.0, 40.0, slow), (40.0, 60.0, usual)];
        let peer = "10.0.0.7:5432";
        built.gauge(live::PROCESS_REQUESTS, "", Some(jvm), &thirds(1_000.0, rate));
        built.gauge(live::PROCESS_REQUEST_TIME, "", Some(jvm), &thirds(12.0, 150.0));
        built.gauge(live::PROCESS_PEER_ANSWERS, peer, Some(jvm), &thirds(1_000.0, rate));
        built.gauge(live::PROCESS_PEER_ANSWER_TIME, peer, Some(jvm), &thirds(10.0, ms));
        let recording = built.sealed();
        let window =
            |from_s: i64, to_s: i64| Window { from_ns: from_s * 1_000_000_000, to_ns: to_s * 1_000_000_000 };
        let loss = crate::Loss {
            lost_ms: 18_000.0,
            slow_rate: Some(rate),
            base_rate: Some(1_000.0),
            ..crate::Loss::default()
        };
        let whole = whole_run(&recording);
        let case =
            Case { slow: vec![window(20, 40)], base: vec![window(0, 20)], whole_run: false, loss, ..whole };
        let grown = crate::growth::tests::grew(&[(Category::Network, "", 0.1, 0.1)]);
        Growth { jvm, ..grown }.held_back(&case).expect("answers are held back")
    }

    #[test]
    fn calls_that_are_made_one_after_the_other_are_a_limit() {
        let one = found(98.0, 10.0);

        one.title.states(&facts::IN_FLIGHT, &[("value", "1.0"), ("baseline", "10"), ("took", "10 ms")]);
        assert_eq!(one.confidence, Confidence::Likely, "{one:#?}");
        one.culprit.states(&culprits::LIMIT_OF_CALLS, &[("value", "10.0.0.7:5432")]);
        assert!(one.advises(&remedies::FIND_LOST_PERMITS), "{one:#?}");
    }

    #[test]
    fn several_calls_at_a_time_may_be_fewer_for_another_reason() {
        let several = found(300.0, 10.0);
        assert!(several.title.fact().find(&facts::IN_FLIGHT).is_some(), "{several:#?}");
        assert_eq!(several.confidence, Confidence::ConsistentWith);
        assert_eq!(several.culprit.fact().metric, &culprits::ASYNCHRONOUS);
    }

    #[test]
    fn calls_that_take_longer_are_not_held_back_by_a_limit() {
        assert!(found(98.0, 40.0).title.fact().find(&facts::IN_FLIGHT).is_none());
        assert!(found(980.0, 10.0).title.fact().find(&facts::IN_FLIGHT).is_none(), "as many at a time");
    }
}
