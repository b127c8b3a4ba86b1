//! Calls that a peer never answers: the process closes their connections when its time-out is over,
//! and most often asks again.
//!
//! ```text
//! asked ──▶ … no answer … ──▶ closed after the time-out ──▶ asked again ──▶ answered      an operation takes the time-out longer
//! ```

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{live, source};
use fathom_recording::{ProcessId, Recording};

use super::clients::operations;
use super::peers::{PEER_RULE, answers};
use super::{Answered, FEW, points};
use crate::confidence::Ground;
use crate::facts::{Value, checks, culprits, growth as facts, meanings, reasons, remedies};
use crate::growth::{Growth, LEADS, MOST, latencies_ms};
use crate::intervals::Intervals;
use crate::{Case, Evidence, Finding, Layer, Window};

/// What of the calls must go unanswered, and how many times of the usual share that must be.
const UNANSWERED: f64 = 0.03;
const TIMES: f64 = 3.0;

/// Calls of a peer that were given up in some windows.
#[derive(Clone, Copy, Debug, Default)]
struct GivenUp {
    count: f64,
    /// For how long in all, milliseconds.
    waited_ms: f64,
}

/// Those of each peer.
fn given_up<'a>(recording: &'a Recording, jvm: ProcessId, windows: &[Window]) -> BTreeMap<&'a str, GivenUp> {
    let of = |word: live::Word| {
        recording.series.iter().filter(move |s| s.info.name == word.name && s.info.process == Some(jvm))
    };
    let within = Intervals::of_windows(windows);
    let mut all: BTreeMap<&str, GivenUp> = BTreeMap::new();
    for series in of(live::PROCESS_PEER_GIVEN_UP) {
        let peer = series.info.instance.as_str();
        let after = of(live::PROCESS_PEER_GIVEN_UP_TIME).find(|s| s.info.instance == peer);
        let after: BTreeMap<i64, f64> =
            after.into_iter().flat_map(points).map(|(t, _, ms)| (t, ms)).collect();
        for (t, dt, rate) in points(series) {
            let count = rate * within.length_within_ns(t, t.saturating_add(dt)) as f64 / 1e9;
            let sum = all.entry(peer).or_default();
            sum.count += count;
            sum.waited_ms += count * after.get(&t).copied().unwrap_or(0.0);
        }
    }
    all
}

impl Growth<'_> {
    /// That a peer leaves calls unanswered; `None` where none does, or no more than usual, or that
    /// explains little of how much longer operations take.
    pub(crate) fn unanswered(&self, case: &Case<'_>) -> Option<Finding> {
        let slow = given_up(case.recording, self.jvm, &case.slow);
        let base = given_up(case.recording, self.jvm, &case.base);
        let [answered, usually] =
            [&case.slow, &case.base].map(|windows| answers(case.recording, self.jvm, windows));
        let (peer, given) = slow.into_iter().max_by(|a, b| a.1.waited_ms.total_cmp(&b.1.waited_ms))?;
        let usual = base.get(peer).copied().unwrap_or_default();
        let share = |given: &GivenUp, answered: Option<&super::peers::Answers>| {
            given.count / (given.count + answered.map_or(0.0, |of| of.count)).max(f64::MIN_POSITIVE)
        };
        let (now, before) = (share(&given, answered.get(peer)), share(&usual, usually.get(peer)));
        if given.count < FEW || now < UNANSWERED || now < TIMES * before {
            return None;
        }
        let explains = self.explains(case, &given)?;
        let cost_ms = case.loss.lost_ms * explains.min(1.0);
        if cost_ms < LEADS * case.loss.lost_ms {
            return None;
        }
        let ground = if explains >= MOST { Ground::Incomplete } else { Ground::Fits };
        let sure = ground.because(case, cost_ms, &reasons::GIVEN_UP);
        let mut finding = case.finding_by(PEER_RULE, Layer::Network, self.jvm, sure, cost_ms);
        let after = Value::ms(given.waited_ms / given.count);
        let seconds = Case::length_ms(&case.slow).max(f64::MIN_POSITIVE) / 1e3;
        let title = facts::UNANSWERED_CALLS.is(Value::share(now)).over(Value::share(before));
        let title = title.with("peer", Value::name(peer)).with("after", after);
        let title = title.with("rate", Value::per_second(given.count / seconds));
        finding.title = title.clone().into();
        finding.culprit = culprits::PEER.is(Value::name(peer)).into();
        finding.meaning = meanings::GIVEN_UP.fact().into();
        finding.evidence = vec![Evidence::summed(source::REQUESTS, title)];
        finding.remedies = vec![
            remedies::LOOK_AT_PEER_AND_NETWORK.is(Value::name(peer)).into(),
            remedies::SHORTER_TIME_OUT.remedy(),
        ];
        let answered = checks::CALLS_ANSWERED.is(Value::share(before));
        finding.verify = vec![answered.with("peer", Value::name(peer)).into()];
        finding.windows.clone_from(&case.slow);
        Some(finding)
    }

    /// What of how much longer operations take such calls make up; `None` where it is not known how
    /// much longer that is.
    fn explains(&self, case: &Case<'_>, given: &GivenUp) -> Option<f64> {
        let answered = |windows: &[Window]| Answered::of(case.recording, self.jvm, windows);
        let by_requests = answered(&case.slow).zip(answered(&case.base));
        let (longer_ms, count) = match (latencies_ms(case), by_requests) {
            (Some((slow, base)), _) => (slow - base, operations(case, &case.slow)?),
            (None, Some((slow, base))) => (slow.ms - base.ms, slow.count),
            (None, None) => return None,
        };
        (longer_ms > 0.0).then(|| given.waited_ms / count.max(f64::MIN_POSITIVE) / longer_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built::{Built, whole_run};
    use crate::waits::Category;
    use crate::{Confidence, Loss};

    /// A minute of a service of 100 requests a second, each of which asks a peer; in the middle
    /// third `given_up` a second of these calls are given up after 400 ms, and requests take `ms`
    /// instead of 5.
    fn found(given_up: f64, ms: f64) -> Option<Finding> {
        let mut built = Built::jvm("25", "G1", 60.0);
        let jvm = Some(built.jvm);
        let thirds = |usual: f64, slow: f64| [(0.0, 20.0, usual), (20.0, 40.0, slow), (40.0, 60.0, usual)];
        let peer = "10.0.0.7:443";
        built.gauge(live::PROCESS_REQUESTS, "", jvm, &thirds(100.0, 100.0));
        built.gauge(live::PROCESS_REQUEST_TIME, "", jvm, &thirds(5.0, ms));
        built.gauge(live::PROCESS_PEER_ANSWERS, peer, jvm, &thirds(100.0, 100.0));
        built.gauge(live::PROCESS_PEER_ANSWER_TIME, peer, jvm, &thirds(4.0, 4.0));
        built.gauge(live::PROCESS_PEER_GIVEN_UP, peer, jvm, &[(20.0, 40.0, given_up)]);
        built.gauge(live::PROCESS_PEER_GIVEN_UP_TIME, peer, jvm, &[(20.0, 40.0, 400.0)]);
        let (jvm, recording) = (built.jvm, built.sealed());
        let second = 1_000_000_000;
        let window = |from_s: i64, to_s: i64| vec![Window { from_ns: from_s * second, to_ns: to_s * second }];
        let loss = Loss { lost_ms: 19_000.0, ..Loss::default() };
        let whole = whole_run(&recording);
        let case = Case { slow: window(20, 40), base: window(0, 20), whole_run: false, loss, ..whole };
        let grown = crate::growth::tests::grew(&[(Category::Network, "", 0.1, 0.1)]);
        Growth { jvm, ..grown }.unanswered(&case)
    }

    #[test]
    fn calls_that_are_given_up_explain_as_much_as_they_made_requests_wait() {
        let finding = found(30.0, 125.0).expect("a peer that answers nothing");
        finding.title.states(
            &facts::UNANSWERED_CALLS,
            &[("value", "23%"), ("peer", "10.0.0.7:443"), ("after", "400 ms")],
        );
        assert_eq!((finding.rule, finding.confidence), (PEER_RULE, Confidence::Likely));
        assert!(finding.share.is_some_and(|share| share > 0.99), "{finding:#?}");
    }

    #[test]
    fn few_calls_or_little_of_the_time_are_no_cause() {
        assert!(found(1.0, 9.0).is_none(), "a call of a hundred");
        assert!(found(30.0, 5_000.0).is_none(), "120 of 4,995 ms");
    }
}
