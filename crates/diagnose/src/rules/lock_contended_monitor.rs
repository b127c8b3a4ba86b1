//! `lock-contended-monitor`: threads queue for a `synchronized` block or method.

use fathom_recording::ProcessId;
use fathom_recording::vocabulary::kind;

use super::lock_case::{LockWords, judge};
use crate::{Case, Judgement, Layer, Rule};

/// The rule.
pub struct LockContendedMonitor;

const WORDS: LockWords = LockWords {
    noun: "monitor",
    own: &[],
    remedies: &[
        (
            "do less while holding it: move I/O, logging and allocation out of the synchronized block",
            "any JDK",
            "what was atomic together no longer is",
        ),
        (
            "split it: one lock a key or stripe, a ConcurrentHashMap or LongAdder in its place",
            "any JDK",
            "operations over all keys need another way",
        ),
        (
            "fewer threads than now, where the lock is the limit anyway",
            "any JDK",
            "none for throughput; waits move to the pool's queue",
        ),
    ],
};

impl Rule for LockContendedMonitor {
    fn id(&self) -> &'static str {
        "lock-contended-monitor"
    }

    fn layer(&self) -> Layer {
        Layer::Application
    }

    fn about(&self) -> &'static str {
        "Several threads want the same Java monitor (a `synchronized` block or method) and wait for one another.\n\n\
         **Evidence.** Waits to enter monitors (JFR's `jdk.JavaMonitorEnter`, or recorded live): class of the lock \
         object, its identity where it is told, the method that waits, the thread that held it. Time in which the \
         whole JVM was stopped is taken out of each wait. The cost is the waiting time above the base's, per thread \
         that waited.\n\n\
         **Look-alikes.** An owner that is itself off the CPU (throttled, in a page fault, blocked on a disk) makes the \
         same waits; without its stack the verdict is at most *likely*. Waits of one thread alone are not contention.\n\n\
         **Ruled out** by the waiting time found. JFR records only waits above its threshold (20 ms by default, 10 ms \
         with `profile`): many short waits stay unseen there."
    }

    fn judge(&self, case: &Case<'_>, jvm: ProcessId) -> Judgement {
        judge(self, case, jvm, kind::LOCK_MONITOR, &WORDS, |_| true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Confidence;
    use crate::built::{Built, judged};

    /// `threads` that take turns on a monitor for 60 s, each waiting `wait_ms` in every 100 ms.
    fn contended(threads: usize, wait_ms: f64) -> Built {
        let mut built = Built::jvm("17", "G1", 60.0);
        for t in 0..threads {
            for i in 0..600 {
                built.on_thread(
                    kind::LOCK_MONITOR,
                    &format!("worker-{t}"),
                    "shop.Cart",
                    f64::from(i) / 10.0,
                    wait_ms,
                );
            }
        }
        built
    }

    #[test]
    fn threads_that_wait_most_of_their_time_for_one_monitor_are_a_finding() {
        let Judgement::Found(finding) = judged(&LockContendedMonitor, &contended(8, 80.0).sealed()) else {
            panic!()
        };
        assert_eq!((finding.culprit.as_str(), finding.confidence), ("shop.Cart", Confidence::Likely));
        assert!((finding.cost_ms - 48_000.0).abs() < 1.0, "{}", finding.cost_ms);
    }

    #[test]
    fn short_waits_and_waits_of_one_thread_are_ruled_out() {
        for built in [contended(8, 1.0), contended(1, 80.0)] {
            assert!(matches!(judged(&LockContendedMonitor, &built.sealed()), Judgement::RuledOut { .. }));
        }
    }

    #[test]
    fn a_wait_during_a_stop_of_the_jvm_is_not_the_locks() {
        let mut built = contended(2, 0.01);
        for t in 0..2 {
            built.on_thread(kind::LOCK_MONITOR, &format!("worker-{t}"), "shop.Cart", 30.0, 9_000.0);
        }
        built.pause("Pause Full", "Allocation Failure", 30.0, 9_000.0, &[]);
        assert!(matches!(judged(&LockContendedMonitor, &built.sealed()), Judgement::RuledOut { .. }));
    }

    #[test]
    fn a_gc_log_alone_cannot_tell() {
        assert!(matches!(
            judged(&LockContendedMonitor, &Built::jvm("17", "G1", 60.0).sealed()),
            Judgement::CannotTell(_)
        ));
    }
}
