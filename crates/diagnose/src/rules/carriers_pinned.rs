//! `carriers-pinned`: virtual threads wait on their carriers, so that no other one gets on.

use fathom_recording::vocabulary::{fact, source};
use fathom_recording::{FrameType, ProcessId, Recording, Span, StackId, ThreadId};
use rustc_hash::FxHashMap;

use super::gc_case::{cited, summed};
use crate::confidence::Ground;
use crate::facts::{Value, checks, culprits, meanings, reasons, titles, waits as facts};
use crate::growth::carriers::is_carrier;
use crate::growth::words::let_go_of_carriers;
use crate::intervals::Intervals;
use crate::places::Places;
use crate::waits::Category;
use crate::{Case, Finding, Judgement, Layer, Rule, Sight, Window};

/// The method by which a virtual thread parks that cannot leave its carrier (JDK 21 and later).
const PINNED: &str = "java.lang.VirtualThread.parkOnCarrierThread";
/// What keeps it there: a native frame between two of Java, the initialiser of a class, or (JDK 21
/// to 23) a monitor, which shows in no frame.
const INITIALISER: &str = ".<clinit>";
/// Where the frames of a virtual thread end and those of its carrier begin.
const CONTINUATION: &str = "jdk.internal.vm.Continuation.";
/// What of the carriers' time must go to it for them to be the limit.
const MUCH: f64 = 0.5;
/// From which share on hardly anything else gets on.
const NEARLY: f64 = 0.7;
/// Carriers may be without anything to run for this share of their time at most.
const WITHOUT_WORK: f64 = 0.2;

/// The rule.
pub struct CarriersPinned;

impl Rule for CarriersPinned {
    fn id(&self) -> &'static str {
        "carriers-pinned"
    }

    fn layer(&self) -> Layer {
        Layer::Application
    }

    fn about(&self) -> &'static str {
        "A virtual thread that waits leaves its carrier to another one. It cannot where a native frame stands on its stack (a call back from a foreign \
         function), while a class is initialised, and on JDK 21 to 23 while it holds a monitor: then it parks with its carrier. There are as many carriers as CPUs, \
         so that a few such waits at a time stop all virtual threads, whatever these wait for.\n\n\
         **Evidence.** Waits of carriers with `VirtualThread.parkOnCarrierThread` on the stack, half of the carriers' time or more, while they are hardly \
         ever without work.\n\n\
         **Cost.** The share of the carriers' time that goes to such waits, beyond that of the baseline: so many carriers are missing.\n\n\
         **Confounders.** Carriers without work have time to spare, however long some are kept. Waits in which a virtual thread leaves its carrier have other frames.\n\n\
         **Ruled out** by the share of the carriers' time in which virtual threads waited on them."
    }

    fn needs(&self) -> &'static [Sight] {
        &[Sight::Switches]
    }

    fn makes_others_grow(&self) -> bool {
        true
    }

    fn judge(&self, case: &Case<'_>, jvm: ProcessId) -> Judgement {
        let Some(spent) = Spent::of(case, jvm, &case.slow) else { return Judgement::NotApplicable };
        let base = Spent::of(case, jvm, &case.base);
        let usual = base.as_ref().map_or(0.0, Spent::share);
        let [slow_ms, base_ms] = [&case.slow, &case.base].map(|windows| Case::length_ms(windows));
        let cost_ms = case.excess_ms(spent.share() * slow_ms, usual * base_ms);
        let is_limit = spent.share() >= MUCH && spent.idle / spent.lived <= WITHOUT_WORK;
        if !is_limit || !case.matters(cost_ms) {
            let fact = facts::PINNED.is(Value::share(spent.share()));
            let fact = fact.with("idle", Value::share(spent.idle / spent.lived));
            return Judgement::RuledOut { figure: fact.into(), source: source::SCHED.into() };
        }
        Judgement::Found(Box::new(spent.finding(self, case, jvm, (usual, cost_ms))))
    }
}

/// How the carriers of a JVM spent their time, milliseconds.
#[derive(Default)]
struct Spent<'a> {
    threads: usize,
    lived: f64,
    idle: f64,
    /// Virtual threads waiting on them, by the application's method.
    pinned: FxHashMap<&'a str, f64>,
    /// Of that, below a native frame, and below the initialiser of a class.
    native: f64,
    initialiser: f64,
    longest: Option<(ThreadId, Span<'a>)>,
}

impl<'a> Spent<'a> {
    /// `None` where no thread carried a virtual one.
    fn of(case: &Case<'a>, jvm: ProcessId, windows: &[Window]) -> Option<Self> {
        let chains = case.chains();
        let within = Intervals::of_windows(windows);
        let mut places = Places::of_recording(case.recording);
        let (mut carries, mut known) = (FxHashMap::default(), FxHashMap::default());
        let mut spent = Spent::default();
        for thread in chains.application_threads(jvm) {
            if !is_carrier(case, thread, &mut carries) {
                continue;
            }
            let Some(by_category) = chains.by_category(thread) else { continue };
            let ms = |category: Category| by_category[category.index()].shared_ns(&within) as f64 / 1e6;
            let lived: f64 = Category::ALL.into_iter().map(ms).sum();
            spent.threads += usize::from(lived > 0.0);
            spent.lived += lived;
            spent.idle += ms(Category::Idle);
            chains.off_within(thread, &within, |_, span, parts| {
                let kept = span
                    .stack()
                    .map(|stack| *known.entry(stack).or_insert_with(|| Kept::of(case.recording, stack)));
                let Some(kept) = kept.filter(|kept| kept.is_pinned) else { return };
                let ms = parts.iter().map(|(from, to)| to.saturating_sub(*from)).sum::<i64>() as f64 / 1e6;
                *spent.pinned.entry(places.of(span.stack())).or_default() += ms;
                spent.native += if kept.by_native { ms } else { 0.0 };
                spent.initialiser += if kept.by_initialiser { ms } else { 0.0 };
                let longer = |(_, longest): &(_, Span<'_>)| longest.duration_ns() < span.duration_ns();
                if spent.longest.as_ref().is_none_or(longer) {
                    spent.longest = Some((thread, *span));
                }
            });
        }
        (spent.threads > 0 && spent.lived > 0.0).then_some(spent)
    }

    fn all(&self) -> f64 {
        self.pinned.values().sum()
    }

    fn share(&self) -> f64 {
        self.all() / self.lived.max(f64::MIN_POSITIVE)
    }

    fn finding(
        &self,
        rule: &dyn Rule,
        case: &Case<'a>,
        jvm: ProcessId,
        (usual, cost_ms): (f64, f64),
    ) -> Finding {
        let ground = if self.share() >= NEARLY { Ground::Incomplete } else { Ground::Fits };
        let sure = ground.because(case, cost_ms, &reasons::CARRIERS_PINNED);
        let mut finding = case.finding(rule, jvm, sure, cost_ms);
        let most = self.pinned.iter().max_by(|a, b| a.1.total_cmp(b.1).then_with(|| b.0.cmp(a.0)));
        let place = most.map_or("", |(place, _)| *place);
        let title = titles::CARRIERS_PINNED.is(Value::share(self.share()));
        let title = title.over((!case.base.is_empty()).then(|| Value::share(usual)));
        let title = title.with("carriers", Value::count(self.threads)).with("place", Value::named(place));
        let below = |ms: f64, metric: &'static crate::facts::Metric| {
            (ms >= 0.5 * self.all()).then(|| Value::from(metric.fact()))
        };
        let by = below(self.native, &facts::BELOW_NATIVE)
            .or_else(|| below(self.initialiser, &facts::BELOW_INITIALISER));
        finding.title = title.with("by", by).into();
        finding.culprit = culprits::METHOD.is(Value::name(place)).into();
        finding.meaning = meanings::CARRIERS_PINNED.fact().into();
        let share = facts::PINNED.is(Value::share(self.share()));
        let share = share.with("idle", Value::share(self.idle / self.lived));
        finding.evidence.push(summed(source::SCHED, share));
        if let Some((thread, span)) = &self.longest {
            let took = Value::ms(span.duration_ns() as f64 / 1e6);
            finding.evidence.push(cited(span, facts::PINNED_LONGEST.is(took)));
            let window = Window { from_ns: span.t0_ns(), to_ns: span.t1_ns() };
            finding.chain = Some(case.chains().of_thread(*thread, window));
        }
        finding.windows.clone_from(&case.slow);
        let process = case.recording.processes.get(jvm.index());
        let jdk = process.and_then(|process| process.fact(fact::JDK)?.parse().ok());
        finding.remedies = vec![let_go_of_carriers(jdk).remedy()];
        finding.verify = vec![checks::CARRIERS_FREE.is(Value::share(usual)).into()];
        finding
    }
}

/// What a stack says of a wait of a carrier.
#[derive(Clone, Copy)]
struct Kept {
    is_pinned: bool,
    by_native: bool,
    by_initialiser: bool,
}

impl Kept {
    fn of(recording: &Recording, stack: StackId) -> Self {
        let mut kept = Self { is_pinned: false, by_native: false, by_initialiser: false };
        let (mut java, mut native_below) = (false, false);
        for frame in recording.frames_of(stack) {
            let name = frame.name();
            kept.is_pinned |= name.starts_with(PINNED);
            kept.by_initialiser |= name.contains(INITIALISER);
            // Beyond its continuation lies what runs the carrier, and that is native as well.
            if name.starts_with(CONTINUATION) {
                break;
            }
            kept.by_native |= native_below && frame.is_java();
            native_below |= java && frame.frame_type() == FrameType::Native;
            java |= frame.is_java();
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use fathom_recording::FrameType::{self, C2, Kernel, Stub};
    use fathom_recording::vocabulary::kind;

    use super::*;
    use crate::built::{Built, judged};

    const RUN: (&str, FrameType) = ("java.lang.VirtualThread.run", C2);

    /// Ten seconds of two carriers, which a virtual thread keeps for so much of each tenth of a
    /// second, and which have nothing to run for the rest of it, or run.
    fn judge(kept_ms: f64, rests: bool, parked: &'static str) -> Judgement {
        let mut built = Built::jvm("25", "G1", 10.0);
        for carrier in ["ForkJoinPool-1-worker-1", "ForkJoinPool-1-worker-2"] {
            built.watched(carrier, 10.0);
            built.on_cpu(carrier, &[("shop.Orders.find", C2), RUN], 0.0, 1.0);
            let wait = [("futex_wait", Kernel), (parked, C2), ("shop.Orders.ask", C2)];
            let keeps =
                [("upcall_stub", Stub), ("qsort_r", FrameType::Native), ("shop.Orders.sort", C2), RUN];
            let wait = [&wait[..], &keeps].concat();
            let rest = [("futex_wait", Kernel), ("java.util.concurrent.ForkJoinPool.awaitWork", C2)];
            for tenth in 0..100 {
                let at_s = f64::from(tenth) * 0.1;
                built.with_stack((kind::SCHED_OFF, "sleeping"), carrier, &wait, &[], (at_s, kept_ms));
                if rests {
                    let (from_s, ms) = (at_s + kept_ms / 1e3, 100.0 - kept_ms);
                    built.with_stack((kind::SCHED_OFF, "sleeping"), carrier, &rest, &[], (from_s, ms));
                }
            }
        }
        judged(&CarriersPinned, &built.sealed())
    }

    #[test]
    fn carriers_that_waiting_virtual_threads_keep_are_found_with_what_keeps_them() {
        let Judgement::Found(finding) = judge(95.0, true, PINNED) else {
            panic!("{:?}", judge(95.0, true, PINNED))
        };
        assert_eq!(finding.confidence, crate::Confidence::Likely, "{finding:#?}");
        finding.title.states(
            &titles::CARRIERS_PINNED,
            &[("value", "95%"), ("carriers", "2"), ("place", "shop.Orders.ask")],
        );
        assert!(finding.title.fact().find(&facts::BELOW_NATIVE).is_some(), "{finding:#?}");
        finding.culprit.states(&culprits::METHOD, &[("value", "shop.Orders.ask")]);
    }

    #[test]
    fn carriers_with_time_to_spare_or_whose_threads_leave_them_are_no_limit() {
        let is_found = |judgement| matches!(judgement, Judgement::Found(_));
        assert!(!is_found(judge(60.0, true, PINNED)), "they have nothing to run for the rest");
        assert!(is_found(judge(60.0, false, PINNED)));
        assert!(!is_found(judge(95.0, true, "java.lang.VirtualThread.parkOther")));
    }
}
