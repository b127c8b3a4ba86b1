//! Threads that had worked all along and ended as the slow time began: an exception left their
//! `run()`, or somebody shut their pool down. What they did nobody does any more.

use fathom_recording::vocabulary::kind;
use fathom_recording::{ProcessId, Role, ThreadId};

use crate::facts::{Metric, Value, growth as facts, remedies};
use crate::waits::Category;
use crate::{Case, Evidence, Finding};

/// How long before a slow window a thread may end, and how long after its beginning, to be what it
/// began with: what it did may be missed at once, or when a queue is full.
const BEFORE_NS: i64 = 1_500_000_000;
const AFTER_NS: i64 = 1_000_000_000;
/// For how long such a thread must have lived in the recording, and for which share of the time
/// before.
const LONG_NS: i64 = 3_000_000_000;
const ALL_ALONG: f64 = 0.8;
/// Threads that end at once at most: more are a pool that shrinks.
const FEW: usize = 3;
/// Times off the CPU that a thread must have had to have done something: one that slept until it
/// ended did nothing that is missed.
const WORKED: usize = 3;
/// The same of one that slept for nearly all of its life: it looked for something now and then.
const ONLY_LOOKED: f64 = 0.95;

/// Adds to the first finding that threads ended as the slow time began, where threads that live
/// long end at no other time before.
pub(super) fn add(case: &Case<'_>, jvm: ProcessId, findings: &mut [Finding]) {
    let Some(first) = findings.first_mut() else { return };
    let Some((ended, at_ns)) = as_it_began(case, jvm) else { return };
    let chains = case.chains();
    let names: Vec<&str> = ended.iter().map(|thread| chains.name(*thread)).collect();
    let (threads, names) = (Value::count(names.len()), names.join(", "));
    let said = |metric: &'static Metric| metric.is(threads.clone()).with("names", Value::name(&names));
    first.title = said(&facts::ENDED_MEANWHILE).with("title", Value::from(&first.title)).into();
    first.evidence.insert(0, Evidence::summed("ends of threads", said(&facts::ENDED)).at(Some(at_ns)));
    first.remedies.insert(0, remedies::WHY_THREADS_ENDED.is(Value::name(names)).into());
}

/// Threads that ended as the first slow window began, and when the first of them did.
fn as_it_began(case: &Case<'_>, jvm: ProcessId) -> Option<(Vec<ThreadId>, i64)> {
    let onset = case.slow.first()?.from_ns;
    let recording = case.recording;
    // A table may begin long before the recording of threads does.
    let watched = recording.spans_of(kind::SCHED_WATCHED).filter(|span| span.process() == jvm);
    let first_ns = watched.map(|span| span.t0_ns()).min().or_else(|| Some(recording.covers_ns()?.0))?;
    let mut ended: Vec<(i64, ThreadId)> = Vec::new();
    for span in recording.spans_of(kind::THREAD_END).filter(|span| span.process() == jvm) {
        let Some(thread) = span.thread() else { continue };
        let row = &recording.threads[thread.index()];
        let at_ns = span.t0_ns();
        if row.role != Role::App || row.tid.is_none() || at_ns > onset.saturating_add(AFTER_NS) {
            continue;
        }
        let Some(by_category) = case.chains().by_category(thread) else { continue };
        let lived: i64 = by_category.iter().map(|c| c.length_ns()).sum();
        let rested = [Category::Sleep, Category::TimedWait].map(|c| by_category[c.index()].length_ns());
        let before = at_ns.saturating_sub(first_ns);
        let looked = rested.iter().sum::<i64>() as f64 >= ONLY_LOOKED * lived as f64;
        if looked || case.chains().off_between(thread, first_ns, at_ns).count() < WORKED {
            continue;
        }
        if lived >= LONG_NS && lived as f64 >= ALL_ALONG * before as f64 {
            ended.push((at_ns, thread));
        }
    }
    ended.sort_unstable();
    ended.dedup_by_key(|(_, thread)| *thread);
    let began = ended.first()?.0 >= onset.saturating_sub(BEFORE_NS);
    let at_ns = ended[0].0;
    (began && ended.len() <= FEW).then(|| (ended.into_iter().map(|(_, thread)| thread).collect(), at_ns))
}

#[cfg(test)]
mod tests {
    use fathom_recording::vocabulary::kind;
    use fathom_recording::{FrameType, Role, Sink};

    use super::facts;
    use crate::growth::tests::{READ, SLEEP, Service};

    /// Six workers back off from the 20th second on; a consumer, which reads a message every
    /// `every_ms`, ends at `ends_ms`.
    fn ended(every_ms: i64, ends_ms: i64) -> Option<String> {
        ended_in(&READ, every_ms, ends_ms)
    }

    /// The same of one that waits in `stack`.
    fn ended_in(stack: &[(&str, FrameType)], every_ms: i64, ends_ms: i64) -> Option<String> {
        let mut service = Service::of((300.0, 60.0));
        for i in 0..6 {
            let worker = service.thread(&format!("worker-{i}"));
            service.off(worker, &SLEEP, (0, 80), &[]);
        }
        let jvm = service.built.jvm;
        let consumer = service.built.recording.thread(jvm, Some(77), "consumer-2", Role::App);
        service.row(kind::SCHED_WATCHED, consumer, (0, ends_ms), None, &[]);
        let read = service.stack(stack);
        for at in (0..ends_ms - 5).step_by(every_ms as usize) {
            let ends = (at + every_ms - 5).min(ends_ms - 5);
            service.row(kind::SCHED_OFF, consumer, (at, ends), Some(read), &[]);
        }
        service.row(kind::THREAD_END, consumer, (ends_ms, ends_ms), None, &[]);
        let diagnosis = service.diagnosis();
        let ended = diagnosis.findings[0].title.fact().find(&facts::ENDED_MEANWHILE)?;
        ended.name("names").map(str::to_owned)
    }

    #[test]
    fn a_thread_that_ends_as_it_becomes_slow_is_named_and_one_that_ended_before_is_not() {
        assert_eq!(ended(1_000, 20_200).as_deref(), Some("consumer-2"));
        assert_eq!(ended(1_000, 12_000), None);
        assert_eq!(ended_in(&SLEEP, 1_000, 20_200), None, "it looked for something every second");
        assert_eq!(ended(1_000, 30_000), None);
        assert_eq!(ended(60_000, 20_200), None, "a thread that only slept does nothing for anybody");
    }
}
