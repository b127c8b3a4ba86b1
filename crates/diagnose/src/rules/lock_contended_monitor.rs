//! `lock-contended-monitor`: threads queue for a `synchronized` block or method.

use fathom_recording::ProcessId;
use fathom_recording::vocabulary::kind;

use super::lock_case::{LockWords, judge};
use super::wait_case::Waits;
use crate::waits::Category;
use crate::{Case, Judgement, Layer, Rule};

/// The rule.
pub struct LockContendedMonitor;

pub(crate) const WORDS: LockWords =
    LockWords { noun: "monitor", kind: kind::LOCK_MONITOR, category: Category::Monitor, own: &[] };

/// What threads of a JVM waited for monitors in the slow windows of a case; `None` where nobody
/// looked.
pub(crate) fn waits<'c, 'a>(case: &'c Case<'a>, jvm: ProcessId) -> Option<Waits<'c, 'a>> {
    Waits::of_locks(case, jvm, (WORDS.kind, WORDS.category), WORDS.own, |_| true)
}

impl Rule for LockContendedMonitor {
    fn id(&self) -> &'static str {
        "lock-contended-monitor"
    }

    fn layer(&self) -> Layer {
        Layer::Application
    }

    fn about(&self) -> &'static str {
        "Several threads want the same Java monitor (a `synchronized` block or method) and wait for one another.\n\n\
         **Evidence.** What the ledger of threads attributes to Java monitors: waits to enter them (JFR's \
         `jdk.JavaMonitorEnter`, or recorded live), short waits by their sums, and waits that had begun before the recording did, \
         by the stack at the switch. Time in which the whole JVM was stopped is taken out. The cost is the waiting time above the \
         baseline's, per thread that waited.\n\n\
         **Which lock.** A lock is known by its class and the first method of the application that takes it, not by an \
         address: objects move. Waits at two places are for one lock where they name one address at the same time; where waits \
         at the same time name different addresses, many objects are locked at one place.\n\n\
         **Holders.** Who held it is known from the owner at the beginning of each wait and from the thread whose wait ended, each until \
         another one is seen to hold it, it queues again or has nothing to do. What all of them did in that time, while others \
         waited, is added up. A cycle of waits that had not ended with the recording is a deadlock, and *proven*.\n\n\
         **Confounders.** A holder that is itself off the CPU (throttled, in a page fault, blocked on a disk) causes the \
         same waits: the sums of holders show it. Waits of one thread alone are not contention.\n\n\
         **Ruled out** by the waiting time found. JFR records only waits above its threshold (20 ms by default, 10 ms \
         with `profile`): many short waits stay unseen there."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::Locks]
    }

    fn judge(&self, case: &Case<'_>, jvm: ProcessId) -> Judgement {
        judge(self, (case, jvm), waits(case, jvm), &WORDS)
    }
}

#[cfg(test)]
mod tests {
    use fathom_recording::FrameType;

    use super::*;
    use crate::Confidence;
    use crate::built::{Built, judged};

    /// `threads` that hold a monitor alternately for 60 s, each waiting `wait_ms` in every 100 ms.
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
        assert_eq!((finding.named(), finding.confidence), ("shop.Cart", Confidence::Likely));
        assert!((finding.cost_ms - 48_000.0).abs() < 1.0, "{}", finding.cost_ms);
    }

    #[test]
    fn short_waits_and_waits_of_one_thread_are_ruled_out() {
        for built in [contended(8, 1.0), contended(1, 80.0)] {
            assert!(matches!(judged(&LockContendedMonitor, &built.sealed()), Judgement::RuledOut { .. }));
        }
    }

    /// A thread for each request, as virtual ones are: eight at a time, each of which waits for
    /// most of its life.
    #[test]
    fn threads_that_live_one_after_another_are_no_more_than_live_at_a_time() {
        let mut built = Built::jvm("25", "G1", 60.0);
        for request in 0..480 {
            let name = format!("virtual thread #{request}");
            let at_s = f64::from(request / 8);
            built.on_thread(kind::LOCK_MONITOR, &name, "shop.Cart", at_s, 900.0);
            built.on_thread(kind::LOCK_PARK, &name, "", at_s + 0.9, 100.0);
        }
        let Judgement::Found(finding) = judged(&LockContendedMonitor, &built.sealed()) else { panic!() };
        assert!((finding.cost_ms - 54_000.0).abs() < 100.0, "{}", finding.cost_ms);
    }

    /// Virtual threads of which each waits once and shortly: how many there are at a time nobody
    /// knows, and for most of the time none waits.
    #[test]
    fn waits_of_virtual_threads_that_may_cost_little_are_no_more_than_consistent() {
        let confidence = |each_ms: f64| {
            let mut built = Built::jvm("25", "G1", 60.0);
            built.watched("carrier", 60.0);
            for request in 0..600 {
                let name = format!("virtual thread #{request}");
                built.on_thread(kind::LOCK_MONITOR, &name, "shop.Cart", f64::from(request) / 10.0, each_ms);
            }
            match judged(&LockContendedMonitor, &built.sealed()) {
                Judgement::Found(finding) => finding.confidence,
                judgement => panic!("{judgement:?}"),
            }
        };
        assert_eq!([10.0, 60.0].map(confidence), [Confidence::ConsistentWith, Confidence::Likely]);
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

    /// A recording that begins in the middle of it: the waits that were under way then, and those
    /// that nobody read the lock of, have no record of their own.
    #[test]
    fn waits_that_only_the_stacks_of_their_threads_show_count_as_recorded_ones_do() {
        let mut built = Built::jvm("17", "G1", 60.0);
        let asleep = [("ObjectMonitor::enter", FrameType::Jvm), ("shop.Cart.add", FrameType::C2)];
        for t in 0..30 {
            let name = format!("worker-{t}");
            built.watched(&name, 60.0);
            for second in 0..60 {
                let ends = (f64::from(second), 800.0);
                built.with_stack((kind::SCHED_OFF, "sleeping"), &name, &asleep, &[], ends);
            }
        }
        for second in 0..3 {
            built.on_thread(kind::LOCK_MONITOR, "worker-1", "shop.Cart", f64::from(second), 800.0);
        }
        let recording = built.sealed();
        let Judgement::Found(finding) = judged(&LockContendedMonitor, &recording) else { panic!() };
        assert!((finding.cost_ms - 48_000.0).abs() < 500.0, "{}", finding.cost_ms);
        let diagnosis =
            crate::diagnose(&recording, &crate::Options::default()).expect("no windows were given");
        assert!(diagnosis.findings.iter().any(|f| f.rule == finding.rule), "{}", diagnosis.headline);
    }

    #[test]
    fn a_gc_log_alone_is_inconclusive() {
        assert!(matches!(
            judged(&LockContendedMonitor, &Built::jvm("17", "G1", 60.0).sealed()),
            Judgement::Inconclusive(_)
        ));
    }
}
