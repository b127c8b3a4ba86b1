//! `lock-contended-juc`: threads queue for a lock of `java.util.concurrent`.

use fathom_recording::vocabulary::kind;
use fathom_recording::{ProcessId, Span};

use super::lock_case::{LockWords, judge};
use super::wait_case::Waits;
use crate::waits::{Category, record};
use crate::{Case, Judgement, Layer, Rule};

/// The rule.
pub struct LockContendedJuc;

pub(crate) const WORDS: LockWords = LockWords {
    noun: "lock",
    kind: kind::LOCK_PARK,
    category: Category::Lock,
    own: &["java.util.concurrent.", "jdk.internal.misc.", "sun.misc.Unsafe.", "java.lang.VirtualThread."],
};

/// What threads of a JVM waited for such locks in the slow windows of a case; `None` where nobody
/// looked.
pub(crate) fn waits<'c, 'a>(case: &'c Case<'a>, jvm: ProcessId) -> Option<Waits<'c, 'a>> {
    let chains = case.chains();
    let is_lock = |span: &Span<'a>| record::category(span, chains.stacks()) == Category::Lock;
    Waits::of_locks(case, jvm, (WORDS.kind, WORDS.category), WORDS.own, is_lock)
}

impl Rule for LockContendedJuc {
    fn id(&self) -> &'static str {
        "lock-contended-juc"
    }

    fn layer(&self) -> Layer {
        Layer::Application
    }

    fn about(&self) -> &'static str {
        "Several threads want the same `ReentrantLock`, `ReadWriteLock` or `Semaphore` and park until they get it. \
         A fair lock makes a convoy of them: every handover costs a context switch.\n\n\
         **Evidence.** What the ledger of threads attributes to such locks: parks whose stack leads through the acquisition of \
         a lock, or whose blocker is one (JFR's `jdk.ThreadPark`, or recorded live), and short waits by their sums. Which \
         lock and what its holders did is reported as for `lock-contended-monitor`; permits and read locks have many holders, \
         of whom only recorded owners are known. The cost is the parked time above the baseline's, per thread.\n\n\
         **Confounders.** A pool's thread without a task parks as well, and so does one that waits for a future, a \
         condition or a latch: these are recognised by their stack or by the class of the blocker and left out. So is a thread that alone waits for a \
         semaphore: others release it to announce work, and nobody holds it. An owner that is off the CPU makes the same waits.\n\n\
         **Ruled out** by the time parked for locks. JFR records only parks above its threshold (20 ms by default)."
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
    use super::*;
    use crate::built::{Built, judged};

    fn parked(blocker: &str) -> Built {
        let mut built = Built::jvm("17", "G1", 60.0);
        for t in 0..4 {
            for i in 0..60 {
                built.on_thread(kind::LOCK_PARK, &format!("worker-{t}"), blocker, f64::from(i), 700.0);
            }
        }
        built
    }

    #[test]
    fn a_worker_that_alone_waits_for_a_semaphore_is_idle() {
        use fathom_recording::FrameType::C2;
        let semaphore = "java.util.concurrent.Semaphore$NonfairSync";
        let run = |workers: &[&str]| {
            let mut built = Built::jvm("17", "G1", 60.0);
            for i in 0..60 {
                for worker in workers {
                    let frames = [("java.util.concurrent.Semaphore.acquire", C2), ("shop.Matcher.run", C2)];
                    built.with_stack(
                        (kind::LOCK_PARK, semaphore),
                        worker,
                        &frames,
                        &[],
                        (f64::from(i), 900.0),
                    );
                }
                // Another thread waits now and then for a lock of its own.
                let lock = "java.util.concurrent.locks.ReentrantLock$NonfairSync";
                built.on_thread(kind::LOCK_PARK, "server", lock, f64::from(i), 1.0);
            }
            judged(&LockContendedJuc, &built.sealed())
        };
        let idle = run(&["matcher"]);
        assert!(matches!(idle, Judgement::RuledOut { .. }), "{idle:?}");
        assert!(matches!(run(&["matcher", "other"]), Judgement::Found(_)));
    }

    #[test]
    fn parks_on_a_lock_are_found_and_those_on_a_condition_are_not() {
        let lock = parked("java.util.concurrent.locks.ReentrantLock$FairSync").sealed();
        assert!(matches!(judged(&LockContendedJuc, &lock), Judgement::Found(_)));
        let pool = parked("java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject").sealed();
        assert!(matches!(judged(&LockContendedJuc, &pool), Judgement::RuledOut { .. }));
    }
}
