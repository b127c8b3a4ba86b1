//! A thread that begins to do something and does it while others are in a wait that nobody is known
//! to end: a lock of a library that is polled, a table that is changed, a transaction that others
//! need. That it is why they wait is not known, and where to look first.

use fathom_recording::{ProcessId, StackFrame};
use rustc_hash::FxHashMap;

use super::parts::Part;
use super::words;
use crate::attribution::{Key, segments};
use crate::facts::{Value, growth as facts};
use crate::intervals::Intervals;
use crate::own_code::OwnCode;
use crate::places::Places;
use crate::waits::Category;
use crate::{Case, Evidence, Fact};

/// What of the time in which others wait a thread must be at work.
const MOSTLY: f64 = 0.5;
/// How many times as large a part of that as of the rest of the slow time.
const TIMES: f64 = 2.0;
/// What of the baseline it may have been at work.
const HARDLY: f64 = 0.1;

/// What a thread does meanwhile.
pub(super) struct Meanwhile<'a> {
    thread: &'a str,
    key: Key<'a>,
    share: f64,
    base: f64,
}

/// Whether who ends such a wait is not known, and somebody may.
pub(super) fn may_be(category: Category) -> bool {
    matches!(category, Category::TimedWait | Category::Waiting)
}

fn works(category: Category) -> bool {
    category.is_running() || matches!(category, Category::RunQueue | Category::Disk | Category::Network)
}

/// A thread that sleeps may do so with what others wait for.
fn sleeps(category: Category) -> bool {
    category == Category::Sleep
}

impl<'a> Meanwhile<'a> {
    /// The thread that is most at work in the waits of a part, and hardly else.
    pub(super) fn of(case: &Case<'a>, jvm: ProcessId, part: &Part<'_>) -> Option<Self> {
        let slow = Intervals::of_windows(&case.slow);
        let base = Intervals::of_windows(&case.base);
        let waits = Intervals::of(part.intervals.iter().copied()).and(&slow);
        let rest = slow.without(&waits);
        let share = |did: &Intervals, of: &Intervals| did.and(of).length_ms() / of.length_ms().max(1.0);
        let chains = case.chains();
        let mut places = Places::of_recording(case.recording);
        let mut most: Option<Self> = None;
        for thread in chains.application_threads(jvm) {
            if part.threads.contains(&thread) {
                continue;
            }
            let segments = segments::of(chains, &mut places, thread);
            for is_meant in [works, sleeps] {
                let did = || segments.iter().filter(|s| !s.rests && is_meant(s.key.category));
                let at_it = Intervals::of(did().map(|s| (s.from, s.to)));
                let (within, base) = (share(&at_it, &waits), share(&at_it, &base));
                let is_one = within >= MOSTLY && within >= TIMES * share(&at_it, &rest) && base <= HARDLY;
                if !is_one || most.as_ref().is_some_and(|most| most.share >= within) {
                    continue;
                }
                let mut by: FxHashMap<Key<'a>, i64> = FxHashMap::default();
                for s in did().filter(|s| s.key.category != Category::RunQueue) {
                    *by.entry(s.key).or_default() += waits.length_within_ns(s.from, s.to);
                }
                let mut by: Vec<(Key<'a>, i64)> = by.into_iter().collect();
                by.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
                let Some((key, _)) = by.first().copied() else { continue };
                let own = own_method(case, jvm, thread, &waits).filter(|_| key.category.is_running());
                let key = Key { place: own.unwrap_or(key.place), ..key };
                most = Some(Self { thread: chains.name(thread), key, share: within, base });
            }
        }
        most
    }

    pub(super) fn in_title(&self) -> Fact {
        let fact = facts::MEANWHILE.is(Value::share(self.share)).over(Value::share(self.base));
        fact.with("thread", Value::name(self.thread)).with("doing", Value::from(words::does(&self.key)))
    }

    pub(super) fn evidence(&self) -> Evidence {
        Evidence::summed("ledger of threads", self.in_title())
    }
}

/// The application's own method that a thread is seen in most while others wait.
fn own_method<'a>(
    case: &Case<'a>,
    jvm: ProcessId,
    thread: fathom_recording::ThreadId,
    waits: &Intervals,
) -> Option<&'a str> {
    let code = OwnCode::of(case.jvm_name(jvm));
    let mut seen: FxHashMap<&'a str, i64> = FxHashMap::default();
    for sample in case.chains().samples(thread).iter().filter(|s| waits.touches(s.t_ns, s.t_ns)) {
        let mut frames = case.recording.frames_of(sample.stack()).filter(StackFrame::is_java);
        if let Some(frame) = frames.find(|frame| code.has(frame.name())) {
            *seen.entry(frame.name()).or_default() += sample.weight.max(0);
        }
    }
    seen.into_iter().max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(a.0))).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use fathom_recording::FrameType::{C2, Kernel};
    use fathom_recording::vocabulary::{kind, sample};
    use fathom_recording::{SampleRow, Sink, SourceId};

    use super::facts;
    use crate::growth::tests::{MS, SLEEP, Service, is_slow};

    /// Six workers wait for a table for most of each tenth of a second, nobody knows for whom, in
    /// which a job works from `from` to `to`, and sleeps else.
    fn title(from: i64, to: i64, before: bool) -> crate::Statement {
        let mut service = Service::of((300.0, 60.0));
        let table = [
            ("futex_wait", Kernel),
            ("java.util.concurrent.locks.LockSupport.park", C2),
            ("lib.Table.lock", C2),
        ];
        for i in 0..6 {
            let worker = service.thread(&format!("worker-{i}"));
            service.off(worker, &table, (5, 80), &[]);
        }
        let (job, sleep) = (service.thread("job"), service.stack(&SLEEP));
        let stack = Some(service.stack(&[("lib.Index.compare", C2), ("App.migrate", C2)]));
        for tenth in 0..600 {
            let at = tenth * 100;
            if !(is_slow(tenth / 10) || before) {
                service.row(kind::SCHED_OFF, job, (at, at + 100), Some(sleep), &[]);
                continue;
            }
            for (begin, end) in [(at, at + from), (at + to, at + 100)] {
                if begin < end {
                    service.row(kind::SCHED_OFF, job, (begin, end), Some(sleep), &[]);
                }
            }
            let process = service.built.jvm;
            let (kind, thread, source) = (sample::CPU, Some(job), SourceId(0));
            let (t_ns, weight) = ((at + (from + to) / 2) * MS, (to - from) * MS);
            service.built.recording.sample(&SampleRow { kind, t_ns, process, thread, stack, weight, source });
        }
        service.diagnosis().findings.remove(0).title
    }

    #[test]
    fn a_thread_that_begins_to_work_while_others_wait_for_nobody_knows_whom_is_named() {
        let named = title(0, 80, false);
        let meanwhile = named.fact().find(&facts::MEANWHILE).unwrap_or_else(|| panic!("{named}"));
        assert_eq!(meanwhile.name("thread"), Some("job"), "{named}");
        assert!(named.to_string().contains("App.migrate"), "{named}");
        assert!(title(80, 100, false).fact().find(&facts::MEANWHILE).is_none(), "it works when nobody waits");
        assert!(title(0, 80, true).fact().find(&facts::MEANWHILE).is_none(), "it always did");
    }
}
