//! Threads that begin one after the other while it is slow, and never end: a pool that is made anew
//! for each operation and not shut down, a timer or a client library that nobody closes.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::kind;
use fathom_recording::{ProcessId, ThreadId};
use rustc_hash::FxHashMap;

use crate::facts::{Value, growth as facts, remedies};
use crate::thread_ledger::pool;
use crate::{Case, Evidence, Finding};

/// How long before a slow window such threads may begin to come: what they take adds up.
const BEFORE_NS: i64 = 5_000_000_000;
/// Threads of a pool that must begin, and how many times as many as it had before.
const MANY: usize = 20;
const TIMES: usize = 3;
/// The same of a run that is looked at as a whole.
const MANY_IN_RUN: usize = 100;
/// In so many seconds some of them must begin: a pool that grows to its size does so at once.
const SECONDS: usize = 5;
/// For what of the slow time from the first of them on they must go on to begin, as a fraction.
const STILL: (i64, i64) = (1, 2);
/// Share of them that must live to the end.
const STAY: f64 = 0.95;
/// How long before the end of what was watched a thread was seen that lives to the end,
/// nanoseconds.
const END_NS: i64 = 1_000_000_000;

/// A pool of which threads begin and none end.
struct Begun {
    /// The names of its threads, with a `#` for each number.
    pool: String,
    threads: usize,
    ended: usize,
    first_ns: i64,
}

/// Adds to the first finding that threads began and did not end meanwhile, where they did.
pub(crate) fn add(case: &Case<'_>, findings: &mut [Finding]) {
    let Some(first) = findings.first_mut() else { return };
    let Some(begun) = find(case, first.process_id) else { return };
    let pool = Value::name(&begun.pool);
    let said = facts::BEGUN
        .is(Value::count(begun.threads))
        .with("ended", (begun.ended > 0).then(|| Value::count(begun.ended)));
    let said = said.with("pool", pool.clone());
    first.title = said.clone().with("title", Value::from(&first.title)).into();
    first.evidence.insert(0, Evidence::summed("threads", said).at(Some(begun.first_ns)));
    // A pool may grow because its threads are slow: what helps against that comes first.
    first.remedies.push(remedies::END_THREADS.is(pool).into());
}

/// The pool of which most threads began.
fn find(case: &Case<'_>, jvm: ProcessId) -> Option<Begun> {
    let chains = case.chains();
    let slow_ends_ns = case.slow.last()?.to_ns;
    let onset = case.slow.first()?.from_ns.saturating_sub(BEFORE_NS);
    let mut lives: FxHashMap<ThreadId, (i64, i64)> = FxHashMap::default();
    let watched = case.recording.spans_of(kind::SCHED_WATCHED).filter(|span| span.process() == jvm);
    for (thread, span) in watched.filter_map(|span| Some((span.thread()?, span))) {
        let life = lives.entry(thread).or_insert((i64::MAX, i64::MIN));
        *life = (life.0.min(span.t0_ns()), life.1.max(span.t1_ns()));
    }
    let ends_ns = lives.values().map(|life| life.1).max()?.saturating_sub(END_NS);
    let mut pools: BTreeMap<String, (Vec<(i64, i64)>, usize)> = BTreeMap::new();
    let of_kernel = |id: &ThreadId| case.recording.threads[id.index()].tid.is_some();
    for thread in chains.application_threads(jvm).into_iter().filter(of_kernel) {
        let Some(life) = lives.get(&thread) else { continue };
        let pool = pools.entry(pool(chains.name(thread))).or_default();
        match life.0 >= onset {
            true => pool.0.push(*life),
            false => pool.1 += 1,
        }
    }
    let leaks = pools.into_iter().filter_map(|(pool, (mut begun, before))| {
        begun.sort_unstable();
        let mut seconds: Vec<i64> = begun.iter().map(|life| life.0 / 1_000_000_000).collect();
        seconds.dedup();
        let ended = begun.iter().filter(|life| life.1 < ends_ns).count();
        let stay = (begun.len() - ended) as f64 >= STAY * begun.len() as f64;
        // A pool that has reached its size leaks no threads: those of a leak begin to the end.
        let from_first = |ns: i64| ns.saturating_sub(begun.first().map_or(0, |life| life.0));
        let last = begun.last().map_or(0, |life| life.0);
        let goes_on =
            from_first(last).saturating_mul(STILL.1) >= from_first(slow_ends_ns).saturating_mul(STILL.0);
        // Of a whole run it is not known which threads a pool began with.
        let many = if case.whole_run { MANY_IN_RUN } else { MANY };
        let are_many = begun.len() >= many && begun.len() >= TIMES * before;
        (are_many && stay && goes_on && seconds.len() >= SECONDS).then(|| Begun {
            pool,
            threads: begun.len(),
            ended,
            first_ns: begun[0].0,
        })
    });
    leaks.max_by_key(|begun| begun.threads)
}

#[cfg(test)]
mod tests {
    use fathom_recording::{Role, Sink};

    use super::*;
    use crate::Diagnosis;
    use crate::growth::tests::{READ, Service};

    /// Six workers wait longer for a peer from the 20th second on, and `count` threads begin from
    /// then on, one every `every_ms`, and live for `live_ms` at most.
    fn diagnosis(count: i64, every_ms: i64, live_ms: i64) -> Diagnosis {
        let mut service = Service::of((300.0, 60.0));
        for i in 0..6 {
            let worker = service.thread(&format!("worker-{i}"));
            service.off(worker, &READ, (5, 80), &[]);
        }
        let jvm = service.built.jvm;
        for i in 0..count {
            let (tid, from) = (1_000 + i, 20_000 + i * every_ms);
            let thread = service.built.recording.thread(jvm, Some(tid), &format!("watch-{i}"), Role::App);
            service.row(kind::SCHED_WATCHED, thread, (from, (from + live_ms).min(60_000)), None, &[]);
        }
        service.diagnosis()
    }

    #[test]
    fn threads_that_begin_one_after_the_other_and_never_end_are_reported() {
        let leaks = diagnosis(120, 100, 60_000);
        let first = &leaks.findings[0];
        first.title.states(&facts::BEGUN, &[("value", "120"), ("pool", "watch-#")]);
        assert!(first.advises(&remedies::END_THREADS), "{first:#?}");
        let is_reported =
            |diagnosis: Diagnosis| diagnosis.findings[0].title.fact().find(&facts::BEGUN).is_some();
        assert!(!is_reported(diagnosis(120, 100, 3_000)), "each ends");
        assert!(!is_reported(diagnosis(120, 10, 60_000)), "a pool that grows at once");
        assert!(!is_reported(diagnosis(15, 400, 60_000)), "few");
        assert!(!is_reported(diagnosis(30, 300, 60_000)), "a pool that has reached its size");
    }
}
