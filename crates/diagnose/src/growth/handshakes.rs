//! Handshakes of the JVM with all threads (JEP 312, JDK 10 and later), as closing a shared arena of
//! memory or asking for a thread's stack makes. Who asks waits until every thread has answered; no
//! record of safepoints has them.

use std::collections::BTreeMap;

use fathom_recording::ProcessId;
use fathom_recording::vocabulary::kind;

use super::TIMES;
use crate::facts::{Metric, Value, growth as facts};
use crate::intervals::Intervals;
use crate::{Case, Evidence, Fact};

/// What the names of such operations begin with (vmOperations.hpp).
const HANDSHAKE: &str = "Handshake";
/// How often a second they must be made to be what threads wait for.
const OFTEN_PER_S: f64 = 10.0;

/// Handshakes that are made more often than in the baseline.
pub(crate) struct Handshakes<'a> {
    pub(crate) name: &'a str,
    /// How often in the slow windows.
    pub(crate) count: usize,
    /// How often a second, slow and in the baseline.
    pub(crate) per_s: (f64, f64),
}

/// The handshakes that are made most often in the slow windows, where they are made much more often
/// than in the baseline.
pub(crate) fn made_more<'a>(case: &Case<'a>, jvm: ProcessId) -> Option<Handshakes<'a>> {
    let (slow, base) = (Intervals::of_windows(&case.slow), Intervals::of_windows(&case.base));
    let mut counts: BTreeMap<&'a str, (usize, usize)> = BTreeMap::new();
    let of_jvm = case.recording.spans_of(kind::VM_OPERATION).filter(|span| span.process() == jvm);
    for span in of_jvm.filter(|span| span.name().starts_with(HANDSHAKE)) {
        let count = counts.entry(span.name()).or_default();
        count.0 += usize::from(slow.touches(span.t0_ns(), span.t0_ns()));
        count.1 += usize::from(base.touches(span.t0_ns(), span.t0_ns()));
    }
    let rate = |count: usize, length: &Intervals| {
        let seconds = length.length_ms() / 1e3;
        if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
    };
    let made = counts.into_iter().map(|(name, (count, usual))| Handshakes {
        name,
        count,
        per_s: (rate(count, &slow), rate(usual, &base)),
    });
    let more = made.filter(|made| made.per_s.0 >= OFTEN_PER_S && made.per_s.0 >= TIMES * made.per_s.1);
    more.max_by_key(|made| made.count)
}

impl Handshakes<'_> {
    pub(super) fn in_title(&self) -> Fact {
        self.fact(&facts::HANDSHAKES)
    }

    pub(super) fn evidence(&self) -> Evidence {
        let fact = self.fact(&facts::HANDSHAKES_COUNTED).with("count", Value::count(self.count));
        Evidence::summed("probes of the JVM", fact)
    }

    fn fact(&self, metric: &'static Metric) -> Fact {
        let fact = metric.is(Value::per_second(self.per_s.0)).over(Value::per_second(self.per_s.1));
        fact.with("handshake", Value::name(self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::made_more;
    use crate::built::{Built, slow_and_base};
    use fathom_recording::ProcessId;
    use fathom_recording::vocabulary::kind;

    #[test]
    fn handshakes_that_are_made_more_often_than_usual_are_counted() {
        let run = |usual: usize| {
            let mut built = Built::jvm("25", "G1", 60.0);
            for i in 0..2_000 {
                let at = 20.0 + f64::from(i) * 0.005;
                built.on_thread(kind::VM_OPERATION, "VM Thread", "HandshakeAllThreads", at, 0.2);
            }
            for i in 0..usual {
                let at = 30.0 + i as f64 * 0.005;
                built.on_thread(kind::VM_OPERATION, "VM Thread", "HandshakeAllThreads", at, 0.2);
            }
            built.on_thread(kind::VM_OPERATION, "VM Thread", "G1CollectForAllocation", 25.0, 20.0);
            let recording = built.sealed();
            let case = slow_and_base(&recording, (20, 30), (30, 60), 0.5);
            made_more(&case, ProcessId(0)).map(|made| (made.name.to_owned(), made.count, made.per_s))
        };
        assert_eq!(run(0), Some(("HandshakeAllThreads".into(), 2_000, (200.0, 0.0))));
        assert_eq!(run(6_000), None, "as many a second as ever");
    }
}
