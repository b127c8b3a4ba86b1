//! When a lock was let go, as the scheduler shows it: whoever lets it go wakes the next one in its
//! queue, which may wait for a CPU until it has the lock. Nobody holds it meanwhile.
//!
//! Sources: HotSpot's `ObjectMonitor::exit` and `AbstractQueuedSynchronizer.release` give the lock
//! up first, and wake a successor then.

use fathom_recording::Span;
use fathom_recording::vocabulary::figure;

use crate::chain::Chains;

/// When a lock was let go for a thread that waited for it and got it, nanoseconds; `None` where
/// nobody is seen to have woken it. A thread that was woken and waits on has not got it: the one
/// that let it go may have taken it again at once.
pub(super) fn let_go_ns(chains: &Chains<'_>, wait: &Span<'_>) -> Option<i64> {
    let (thread, from, to) = (wait.thread()?, wait.t0_ns(), wait.t1_ns());
    let last = chains.off_between(thread, from, to).last()?;
    let queued_ns = last.figure(figure::RUNQ_NS).unwrap_or(0.0).max(0.0) as i64;
    let at_ns = last.t1_ns().saturating_sub(queued_ns);
    chains.woke(last).filter(|waker| *waker != thread)?;
    (at_ns > from.max(last.t0_ns()) && at_ns <= to).then_some(at_ns)
}

#[cfg(test)]
mod tests {
    use fathom_recording::FrameType::{C2, Jvm};
    use fathom_recording::vocabulary::{figure, kind, label};
    use fathom_recording::{Role, Sink, SourceId, SpanRow};

    use crate::Judgement;
    use crate::built::{Built, did_by_holders, judged};
    use crate::facts::links;
    use crate::rules::lock_contended_monitor::LockContendedMonitor;

    /// Two threads hold it alternately, for 500 ms each, and then sleep in the method that took it,
    /// after they have woken the next one, which waits for a CPU for 200 ms.
    #[test]
    fn who_has_woken_the_next_one_has_let_go() {
        const MS: i64 = 1_000_000;
        let mut built = Built::jvm("17", "G1", 60.0);
        let threads = [(1, "a"), (2, "b")]
            .map(|(tid, name)| built.recording.thread(built.jvm, Some(tid), name, Role::App));
        let asleep = built.stack(&[("java.lang.Thread.sleep", C2), ("shop.Tokens.issue", C2)]);
        let enters = built.stack(&[("ObjectMonitor::enter", Jvm), ("shop.Tokens.issue", C2)]);
        let issues = built.stack(&[("shop.Tokens.issue", C2)]);
        let row = |kind, thread: usize, ends: (i64, i64)| SpanRow {
            thread: Some(threads[thread]),
            ..SpanRow::new(kind, "", (ends.0 * MS, ends.1 * MS), built.jvm, SourceId(0))
        };
        let recording = &mut built.recording;
        for thread in [0, 1] {
            recording.span(&row(kind::SCHED_WATCHED, thread, (0, 60_000)));
        }
        for i in 0..58_i64 {
            let at = 1_000 * i;
            let (holder, next) = ((i % 2) as usize, ((i + 1) % 2) as usize);
            let [waker, owner] = [["a (1)", "b (2)"][holder], ["a", "b"][holder]];
            recording.span(&SpanRow { stack: asleep, ..row(kind::SCHED_OFF, holder, (at + 500, at + 900)) });
            recording.span(&SpanRow {
                stack: enters,
                labels: &[(label::WAKER, waker)],
                figures: &[(figure::RUNQ_NS, (200 * MS) as f64)],
                ..row(kind::SCHED_OFF, next, (at, at + 700))
            });
            recording.span(&SpanRow {
                name: "shop.Random",
                stack: issues,
                labels: &[(label::ADDRESS, "0x1"), (label::OWNER, owner)],
                ..row(kind::LOCK_MONITOR, next, (at, at + 701))
            });
        }
        let judgement = judged(&LockContendedMonitor, &built.sealed());
        let Judgement::Found(finding) = judgement else { panic!("{judgement:?}") };
        assert_eq!(did_by_holders(&finding), [(links::RUNNING.fact(), 1.0)]);
    }
}
