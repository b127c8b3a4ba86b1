//! Objects with `finalize()` that wait for the one thread that calls it: until it has, the heap
//! keeps each of them with all that it refers to, whatever collections do.

use fathom_recording::vocabulary::source;
use fathom_recording::{ProcessId, ThreadId};
use rustc_hash::FxHashMap;

use super::gc_case::summed;
use crate::confidence::Ground;
use crate::facts::{Value, culprits, pauses, reasons, remedies, titles};
use crate::intervals::Intervals;
use crate::places::Places;
use crate::waits::Category;
use crate::waits::place::is_of_jdk;
use crate::{Case, Finding, Window};

/// The JVM's thread that calls `finalize()`, by the name that the JDK gives it.
const THREAD: &str = "Finalizer";
/// Share of the time for which it must have had something to do, and of what it did that must be
/// one method: it is behind where it is never done.
const BUSY: f64 = 0.8;
const MOSTLY: f64 = 0.5;

/// What the thread of finalizers does.
struct Backlog<'a> {
    /// The share of its time for which it was not idle.
    busy: f64,
    /// The method in which it spends most of that.
    method: &'a str,
}

/// Says of a heap that is full whether objects with `finalize()` fill it, as far as the thread that
/// calls it was recorded.
pub(super) fn tell(case: &Case<'_>, jvm: ProcessId, finding: &mut Finding) {
    let Some(from_ns) = finding.windows.iter().map(|w| w.from_ns).min() else { return };
    let Some(to_ns) = finding.windows.iter().map(|w| w.to_ns).max() else { return };
    // A backlog grows: while the later of the collections were made it is there, whether or not it
    // was before.
    let later = Window { from_ns: from_ns.midpoint(to_ns), to_ns };
    let Some(backlog) = Backlog::of(case, jvm, later) else { return };
    let title = titles::FINALIZERS_BEHIND.is(Value::name(backlog.method));
    finding.title = title.with("title", Value::from(&finding.title)).into();
    finding.culprit = culprits::METHOD.is(Value::name(backlog.method)).into();
    let fact = pauses::FINALIZER_BUSY.is(Value::share(backlog.busy));
    let fact = fact.with("method", Value::name(backlog.method));
    finding.evidence.insert(0, summed(source::SCHED, fact));
    // That it is behind was seen, and that the heap is full; that the one fills the other follows
    // from both and was not seen itself.
    finding.confidence = Ground::Incomplete.at_most(finding.confidence);
    finding.why_confidence.push(reasons::FINALIZERS_FILL.fact().into());
    finding.remedies.insert(0, remedies::SHORT_FINALIZER.is(Value::name(backlog.method)).into());
}

impl<'a> Backlog<'a> {
    fn of(case: &Case<'a>, jvm: ProcessId, window: Window) -> Option<Self> {
        let chains = case.chains();
        let within = Intervals::of_windows(&[window]);
        let threads = case.recording.threads.iter().enumerate();
        let mut own =
            threads.filter(|(_, row)| row.process == jvm && case.recording.strings.get(row.name) == THREAD);
        let thread = own.find_map(|(i, _)| Some(ThreadId(u32::try_from(i).ok()?)))?;
        let by_category = chains.by_category(thread)?;
        let ms = |category: Category| by_category[category.index()].shared_ns(&within) as f64 / 1e6;
        let lived: f64 = Category::ALL.into_iter().map(ms).sum();
        let busy = 1.0 - ms(Category::Idle) / lived.max(f64::MIN_POSITIVE);
        let (method, spent, all) = longest(case, thread, &within)?;
        let is_behind = lived > 0.0 && busy >= BUSY && spent >= MOSTLY * all && !is_of_jdk(method);
        is_behind.then_some(Self { busy, method })
    }
}

/// The method in which a thread spent most of its time, how much, and the time for which it is
/// known in which it was.
fn longest<'a>(case: &Case<'a>, thread: ThreadId, within: &Intervals) -> Option<(&'a str, f64, f64)> {
    let chains = case.chains();
    let mut places = Places::of_recording(case.recording);
    let mut spent: FxHashMap<&'a str, f64> = FxHashMap::default();
    chains.off_within(thread, within, |_, span, parts| {
        let ns: i64 = parts.iter().map(|(from, to)| to.saturating_sub(*from)).sum();
        *spent.entry(places.of(span.stack())).or_default() += ns as f64;
    });
    for sample in chains.samples(thread).iter().filter(|s| within.touches(s.t_ns, s.t_ns)) {
        *spent.entry(places.of(sample.stack())).or_default() += sample.weight.max(0) as f64;
    }
    spent.remove("");
    let all = spent.values().sum();
    let most = spent.into_iter().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(a.0)))?;
    Some((most.0, most.1, all))
}

#[cfg(test)]
mod tests {
    use fathom_recording::FrameType;
    use fathom_recording::vocabulary::{fact, figure, kind};

    use super::*;
    use crate::Judgement;
    use crate::built::{Built, judged};
    use crate::rules::gc_heap_too_small::GcHeapTooSmall;

    /// A heap that full collections leave full for a minute, and a thread of finalizers that is in
    /// one of the application's for a part of each second, and else waits for the next.
    fn finding(busy: f64) -> Finding {
        const MB: f64 = 1024.0 * 1024.0;
        let mut built = Built::jvm("17", "Parallel", 60.0);
        built.fact(fact::HEAP_MAX_BYTES, "1073741824");
        let sizes = [(figure::HEAP_BEFORE_BYTES, 1000.0 * MB), (figure::HEAP_AFTER_BYTES, 900.0 * MB)];
        for i in 0..30 {
            built.pause("Pause Full", "Ergonomics", f64::from(i) * 2.0, 600.0, &sizes);
        }
        built.watched(THREAD, 60.0);
        let run = ("java.lang.ref.Finalizer$FinalizerThread.run", FrameType::C2);
        let own = [
            ("java.lang.Thread.sleep", FrameType::C2),
            ("shop.Lease.finalize", FrameType::C2),
            ("java.lang.ref.Finalizer.runFinalizer", FrameType::C2),
            run,
        ];
        let next = [
            ("java.lang.Object.wait", FrameType::C2),
            ("java.lang.ref.ReferenceQueue.remove", FrameType::C2),
            run,
        ];
        for second in 0..60 {
            let at_s = f64::from(second);
            let sleeps = (kind::SCHED_OFF, "sleeping");
            built.with_stack(sleeps, THREAD, &own, &[], (at_s, busy * 1e3));
            built.with_stack(sleeps, THREAD, &next, &[], (at_s + busy, (1.0 - busy) * 1e3));
        }
        match judged(&GcHeapTooSmall, &built.sealed()) {
            Judgement::Found(finding) => *finding,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_full_heap_is_the_finalizers_where_their_thread_is_never_done() {
        let behind = finding(0.9);
        behind.title.states(&titles::FINALIZERS_BEHIND, &[("value", "shop.Lease.finalize")]);
        assert_eq!(behind.culprit.fact().metric, &culprits::METHOD);
        assert!(behind.facts(&pauses::FINALIZER_BUSY).next().is_some());
        assert_eq!(behind.confidence, crate::Confidence::Likely);
        let usual = finding(0.2);
        usual.title.states(&titles::GC_HEAP_TOO_SMALL, &[("live", "88%")]);
        assert!(usual.facts(&pauses::FINALIZER_BUSY).next().is_none());
    }
}
