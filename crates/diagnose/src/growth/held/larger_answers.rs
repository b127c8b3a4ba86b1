//! Answers that became larger. Threads of the service are done when the kernel has taken what they
//! write, and clients only when they have taken it in: with more to take in for each operation they
//! do fewer, without any thread of the service that waits for it.

use fathom_recording::vocabulary::live;

use super::clients::sends;
use crate::confidence::Ground;
use crate::facts::{Value, checks, culprits, growth as facts, meanings, reasons, remedies};
use crate::growth::Growth;
use crate::intervals::Intervals;
use crate::{Case, Evidence, Finding, Layer, Window};

/// The id of the finding.
pub const LARGER_RULE: &str = "larger-answers";

/// How many times as much must be sent for each operation, …
const TIMES: f64 = 4.0;
/// … by how many bytes more, …
const LEAST_BYTES: f64 = 16.0 * 1024.0;
/// … and how many times as much in all, although there are fewer operations.
const IN_ALL: f64 = 1.5;
/// How many times as many calls that send the JVM must make for each: what the host sends may be
/// another process's.
const CALLS: f64 = 1.5;

/// What was sent in a second.
struct Sent {
    bytes: f64,
    calls: f64,
}

impl Growth<'_> {
    /// That each operation sends a good deal more; `None` where that is not known: the host's bytes
    /// or the JVM's calls were not counted, or operations were not.
    pub(crate) fn larger_answers(&self, case: &Case<'_>) -> Option<Finding> {
        let (slow_rate, base_rate) = case.loss.slow_rate.zip(case.loss.base_rate)?;
        let (slow, base) = (self.sent(case, &case.slow)?, self.sent(case, &case.base)?);
        let (each, usual) = (slow.bytes / slow_rate, base.bytes / base_rate);
        let are_larger = each >= TIMES * usual && each >= usual + LEAST_BYTES;
        let is_more = slow.bytes >= IN_ALL * base.bytes;
        let are_the_jvms = slow.calls / slow_rate >= CALLS * base.calls / base_rate;
        if !(each.is_finite() && usual > 0.0 && are_larger && is_more && are_the_jvms) {
            return None;
        }
        let lost_ms = case.loss.lost_ms;
        let why = &reasons::CLIENTS_NOT_TIMED;
        let sure = Ground::Fits.because(case, lost_ms, why);
        let mut finding = case.finding_by(LARGER_RULE, Layer::Application, self.jvm, sure, lost_ms);
        let sent = facts::LARGER_ANSWERS.is(Value::bytes(each)).over(Value::bytes(usual));
        finding.title = sent.into();
        finding.culprit = culprits::ANSWERS.fact().into();
        finding.meaning = meanings::LARGER_ANSWERS.fact().into();
        let in_all = facts::SENT_IN_ALL.is(Value::bytes(slow.bytes)).over(Value::bytes(base.bytes));
        let calls = facts::PIECES.is(Value::plain(slow.calls / slow_rate));
        let calls = calls.over(Value::plain(base.calls / base_rate));
        finding.evidence = vec![Evidence::summed("host", in_all), Evidence::summed("syscalls", calls)];
        finding.remedies = vec![remedies::SEND_LESS.remedy()];
        finding.verify = vec![checks::NET_SENT.fact().into()];
        finding.windows.clone_from(&case.slow);
        Some(finding)
    }

    /// What the host and the JVM sent in some windows; `None` where it was not counted.
    fn sent(&self, case: &Case<'_>, windows: &[Window]) -> Option<Sent> {
        let within = Intervals::of_windows(windows);
        let interfaces = case.recording.series.iter().filter(|s| s.info.name == live::NET_SENT.name);
        let (mut bytes, mut covered_ns) = (0.0, 0_i64);
        for series in interfaces {
            let mut own_ns = 0_i64;
            for (t, dt, rate) in super::points(series) {
                let ns = within.length_within_ns(t, t.saturating_add(dt));
                bytes += rate * ns as f64 / 1e9;
                own_ns = own_ns.saturating_add(ns);
            }
            covered_ns = covered_ns.max(own_ns);
        }
        let seconds = Case::length_ms(windows) / 1e3;
        (covered_ns > 0).then(|| Sent {
            bytes: bytes / (covered_ns as f64 / 1e9),
            calls: sends(case, self.jvm, windows) / seconds.max(f64::MIN_POSITIVE),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built::{Built, whole_run};
    use crate::waits::Category;

    const S: i64 = 1_000_000_000;

    /// A service that answers 20 operations a second instead of 100 in the second half of 40 s, and
    /// what it sends then: bytes a second, and calls.
    fn finding(bytes: f64, calls: u64) -> Option<Finding> {
        let mut built = Built::jvm("25", "G1", 40.0);
        built.watched("worker", 40.0);
        built.gauge(live::NET_SENT, "eth0", None, &[(0.0, 20.0, 200_000.0), (20.0, 40.0, bytes)]);
        built.counted_calls("worker", "write", 0.0, 20_000.0, 2_000);
        built.counted_calls("worker", "write", 20.0, 20_000.0, calls);
        let (jvm, recording) = (built.jvm, built.sealed());
        let window = |from_s: i64, to_s: i64| vec![Window { from_ns: from_s * S, to_ns: to_s * S }];
        let rates = (Some(20.0), Some(100.0));
        let loss =
            crate::Loss { lost_ms: 16_000.0, slow_rate: rates.0, base_rate: rates.1, ..Default::default() };
        let whole = whole_run(&recording);
        let case = Case { slow: window(20, 40), base: window(0, 20), whole_run: false, loss, ..whole };
        let grown = crate::growth::tests::grew(&[(Category::Network, "", 0.5, 0.6)]);
        Growth { jvm, ..grown }.larger_answers(&case)
    }

    #[test]
    fn operations_that_send_more_each_are_why_there_are_fewer() {
        let larger = finding(20_000_000.0, 4_000).unwrap();
        larger.title.states(&facts::LARGER_ANSWERS, &[("value", "977 kB"), ("baseline", "2.0 kB")]);
        assert_eq!(larger.confidence, crate::Confidence::ConsistentWith);
        assert!(finding(40_000.0, 400).is_none(), "as much each");
        assert!(finding(20_000_000.0, 400).is_none(), "another process may send it");
    }
}
