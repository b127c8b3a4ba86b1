//! Who let a lock go that names no owner: a read-write lock or a `StampedLock`.
//!
//! Whoever ends a wait has let the lock go, or has got it just before and passes it on to the next
//! one in the queue. In the second case the thread that woke that one is looked for, and so on.

use std::collections::BTreeMap;

use fathom_recording::{Span, ThreadId};
use rustc_hash::FxHashMap;

use super::lock_identity::Lock;
use super::wait_case::Waits;
use crate::intervals::Intervals;

/// Locks that several may hold and that name none of them.
const SHARED: [&str; 2] = ["ReadWriteLock", "StampedLock"];
/// Threads that pass a lock on, one after another, at most.
const PASSED_ON: usize = 64;

/// Threads that let a lock go, with the times in which they are taken to have held it: the waits
/// that they ended. Empty for a lock that names its owner.
pub(super) fn releasers(lock: &Lock, waits: &Waits<'_, '_>) -> Vec<(ThreadId, Intervals)> {
    if !SHARED.iter().any(|class| lock.class.contains(class)) {
        return Vec::new();
    }
    let chains = waits.case.chains();
    let mut by_thread: FxHashMap<ThreadId, Vec<Span<'_>>> = FxHashMap::default();
    for span in lock.spans(waits) {
        if let Some(thread) = span.thread() {
            by_thread.entry(thread).or_default().push(span);
        }
    }
    by_thread.values_mut().for_each(|spans| spans.sort_by_key(Span::t1_ns));
    // The wait of a thread for this lock that ended last before a time, and not before another one.
    let ended_within = |thread: ThreadId, from: i64, to: i64| {
        let spans = by_thread.get(&thread)?;
        let before = &spans[..spans.partition_point(|span| span.t1_ns() <= to)];
        before.last().copied().filter(|span| span.t1_ns() > from)
    };
    let mut held: BTreeMap<ThreadId, Vec<(i64, i64)>> = BTreeMap::new();
    for (thread, spans) in &by_thread {
        for wait in spans {
            let (from, to) = (wait.t0_ns(), wait.t1_ns());
            let (mut waiter, mut span, mut until) = (*thread, *wait, to);
            for _ in 0..PASSED_ON {
                let Some(waker) = chains.woken_by(waiter, &span).filter(|waker| waker != thread) else {
                    break;
                };
                match ended_within(waker, from, until) {
                    Some(passed_on) => (waiter, span, until) = (waker, passed_on, passed_on.t1_ns()),
                    None => {
                        held.entry(waker).or_default().push((from, until));
                        break;
                    }
                }
            }
        }
    }
    held.into_iter().map(|(thread, list)| (thread, Intervals::of(list))).collect()
}

#[cfg(test)]
mod tests {
    use fathom_recording::FrameType::{C2, Kernel};
    use fathom_recording::vocabulary::{kind, label, sample};
    use fathom_recording::{Role, SampleRow, Sink, SourceId, SpanRow, ThreadId};

    use crate::facts::locks as facts;
    use crate::growth::tests::{MS, Service, is_slow};

    /// A compactor holds the lock for 40 of each 100 ms while it is slow. It wakes one reader, who
    /// wakes the next one.
    #[test]
    fn who_ends_the_waits_for_a_lock_without_an_owner_held_it() {
        let mut service = Service::of((300.0, 150.0));
        let park = service.stack(&[
            ("futex_wait", Kernel),
            ("java.util.concurrent.locks.StampedLock.acquireRead", C2),
            ("shop.Index.floor", C2),
        ]);
        let compact = service.stack(&[("shop.Index.compact", C2)]);
        let rest = service.stack(&[("do_nanosleep", Kernel), ("java.lang.Thread.sleep0", C2)]);
        let named = |service: &mut Service, tid: i64, name: &str| {
            let thread = service.built.recording.thread(service.built.jvm, Some(tid), name, Role::App);
            service.row(kind::SCHED_WATCHED, thread, (0, 60_000), None, &[]);
            thread
        };
        let compactor = named(&mut service, 70, "compactor");
        let readers = [named(&mut service, 71, "reader-1"), named(&mut service, 72, "reader-2")];
        for tenth in 0..600 {
            let (at, slow) = (tenth * 100, is_slow(tenth / 10));
            service.row(kind::SCHED_OFF, compactor, (at + 41, at + 100), Some(rest), &[]);
            service.built.recording.sample(&SampleRow {
                kind: sample::CPU,
                t_ns: (at + 10) * MS,
                process: service.built.jvm,
                thread: Some(compactor),
                stack: Some(compact),
                weight: 40 * MS,
                source: SourceId(0),
            });
            let wakers = ["compactor (70)", "reader-1 (71)"];
            for (thread, waker) in readers.into_iter().zip(wakers).filter(|_| slow) {
                service.row(kind::SCHED_OFF, thread, (at, at + 40), Some(park), &[(label::WAKER, waker)]);
                waits(&mut service, thread, (at, at + 40), park);
            }
        }
        let diagnosis = service.diagnosis();
        let finding = diagnosis.findings.iter().find(|finding| finding.rule == "lock-contended-juc");
        let finding = finding.unwrap_or_else(|| panic!("{diagnosis:#?}"));
        let holders = finding.evidence.iter().find_map(|row| row.fact.find(&facts::HOLDERS));
        let held_ms = holders.and_then(|fact| fact.number("value"));
        assert!(held_ms.is_some_and(|ms| (7_900.0..8_100.0).contains(&ms)), "{finding:#?}");
    }

    /// The record of a wait for the lock.
    fn waits(service: &mut Service, thread: ThreadId, ms: (i64, i64), stack: fathom_recording::StackId) {
        service.built.recording.span(&SpanRow {
            kind: kind::LOCK_PARK,
            name: "java.util.concurrent.locks.StampedLock",
            t0_ns: ms.0 * MS,
            t1_ns: ms.1 * MS,
            process: service.built.jvm,
            thread: Some(thread),
            stack: Some(stack),
            source: SourceId(0),
            line: 1,
            key: -1,
            parent: None,
            figures: &[],
            labels: &[],
        });
    }
}
