//! Who held the permits of a semaphore, which names no owner: a thread whose wait for one ended has
//! got it, and holds it until it asks for the next one or has nothing to do. Where in between it
//! gives the permit back is not known.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::label;
use fathom_recording::{Span, ThreadId};

use crate::intervals::Intervals;
use crate::rules::lock_identity::Lock;
use crate::rules::wait_case::Waits;
use crate::waits::Category;

/// The class of the JDK whose permits several threads hold at once.
const SEMAPHORE: &str = "Semaphore";

/// When each thread held a permit while another one waited for one; empty for other locks.
pub(super) fn holders(lock: &Lock, waits: &Waits<'_, '_>) -> BTreeMap<ThreadId, Vec<(i64, i64)>> {
    let mut held: BTreeMap<ThreadId, Vec<(i64, i64)>> = BTreeMap::new();
    if !lock.class.contains(SEMAPHORE) || lock.several {
        return held;
    }
    let chains = waits.case.chains();
    let wanted = Intervals::of(lock.spans(waits).map(|span| (span.t0_ns(), span.t1_ns())));
    let end = wanted.ranges().last().map_or(0, |range| range.1);
    let mut by_thread: BTreeMap<ThreadId, Vec<Span<'_>>> = BTreeMap::new();
    for span in lock.spans(waits) {
        if let Some(thread) = span.thread() {
            by_thread.entry(thread).or_default().push(span);
        }
    }
    for (thread, spans) in by_thread {
        // A virtual thread is seen only where it waits: what it did with its permit is not known.
        let Some(waiting) = chains.under(thread, Category::Lock) else { continue };
        let mut own = Vec::new();
        for (i, span) in spans.iter().enumerate().filter(|(_, span)| span.label(label::CUT).is_none()) {
            let (from, next) = (span.t1_ns(), spans.get(i + 1).map_or(end, |next| next.t0_ns()));
            own.push((from, chains.idle_after(thread, from, next).unwrap_or(next)));
        }
        // Who waits for one does not hold one, also where no record shows that wait.
        let own = Intervals::of(own).and(&wanted).without(&waiting);
        held.insert(thread, own.ranges().to_vec());
    }
    held
}

#[cfg(test)]
mod tests {
    use fathom_recording::FrameType::{C2, Kernel};
    use fathom_recording::vocabulary::kind;

    use crate::built::{Built, did_by_holders, judged, spent_in};
    use crate::rules::lock_contended_juc::LockContendedJuc;
    use crate::{Category, Judgement};

    /// Three threads share one permit of a bulkhead: each gets it in turn, and asks a slow peer.
    #[test]
    fn what_threads_do_that_got_a_permit_is_what_the_others_wait_for() {
        let mut built = Built::jvm("17", "G1", 60.0);
        let names = ["a", "b", "c"];
        for name in names {
            built.watched(name, 60.0);
        }
        let take = [
            ("futex_wait", Kernel),
            ("java.util.concurrent.Semaphore.tryAcquire", C2),
            ("lib.Bulkhead.enter", C2),
            ("shop.Quotes.ask", C2),
        ];
        let read = [("tcp_recvmsg", Kernel), ("sun.nio.ch.NioSocketImpl.read", C2), ("shop.Quotes.ask", C2)];
        for i in 0..57_usize {
            let at = i as f64;
            let holder = names[i % 3];
            built.with_stack((kind::SCHED_OFF, "sleeping"), holder, &read, &[], (at, 990.0));
            // Each waits for the two turns of the others.
            let waits = (at + 1.0, 1_990.0);
            built.with_stack((kind::SCHED_OFF, "sleeping"), holder, &take, &[], waits);
            let class = (kind::LOCK_PARK, "java.util.concurrent.Semaphore$FairSync");
            built.with_stack(class, holder, &take[1..], &[], waits);
        }
        let judgement = judged(&LockContendedJuc, &built.sealed());
        let Judgement::Found(finding) = judgement else { panic!("{judgement:?}") };
        let did = did_by_holders(&finding);
        assert_eq!(did[0].0, spent_in(Category::Network, "shop.Quotes.ask"));
        assert!(did[0].1 > 0.9, "{did:?}");
    }
}
