//! `heap-leak`: what the application holds on to grows without end; with a heap dump given with the
//! log, who holds it, and with samples of allocations, where it is allocated.

mod allocated;
mod between;
mod direct;
mod keeper;
#[cfg(test)]
mod tests;

use fathom_recording::vocabulary::{fact, figure, kind, label};

use self::allocated::Place;
use self::keeper::{By, Dump, Keeper};
use super::finalizer_backlog;
use super::gc_case::{GcCase, blind, cited, summed};
use crate::collections::{LivePoint, Pause, live_estimate, live_points};
use crate::confidence::Ground;
use crate::facts::{
    Fact, Value, checks, culprits, live_set, meanings, pauses, reasons, remedies, scope, switch_on, titles,
    written,
};
use crate::live_set::{Growth, READINGS, Rise};
use crate::{Case, Finding, Judgement, Layer, Rule, Sure};

/// The rise in the later half must keep this share of that in the earlier half to be called steady.
const STEADY: f64 = 0.9;
/// The live set as a share of the heap that an application cannot go on with.
const EXHAUSTED: f64 = 0.9;

/// The rule.
pub struct HeapLeak;

impl Rule for HeapLeak {
    fn id(&self) -> &'static str {
        "heap-leak"
    }

    fn layer(&self) -> Layer {
        Layer::Application
    }

    fn about(&self) -> &'static str {
        "The application keeps references to objects that it no longer needs. The heap left after a collection grows, \
         collections come closer together and free less, and in the end the application does nothing else, or fails \
         with an `OutOfMemoryError`.\n\n\
         **Evidence.** The heap in use after collections that cleaned the old generation (full ones, the last mixed one \
         of a series, whole concurrent cycles), over the whole run: its slope is above zero with its whole 95% \
         confidence interval, it amounts to a fifth of the heap or more, the later half rises at least half as fast as \
         the earlier, and the live set has passed 70% of the heap. The time until the heap is full follows from the \
         slope.\n\n\
         **Confounders.** Heap after *young* collections rises in every healthy program and is not used. A cache that \
         warms up flattens. A heap too small for a steady live set does not rise.\n\n\
         **Ruled out** by the slope. With too few collections of the old generation, or a growth that has cost \
         nothing yet, it is not known.\n\n\
         ***With a heap dump of the same JVM** (`fathom diagnose gc.log dump.hprof`) the finding names who holds what grows: of \
         those that keep half of the growth or more and for which nothing speaks of a bound, the largest suspect; with two \
         dumps the one that grew most, if that is half of what all grew by, and it is reported though the growth has cost nothing yet. \
         Where the log shows too little to judge by, two dumps are a finding when one without a bound grew by a fifth of \
         the largest heap and to one and a half times what it was. A dump alone proves no growth: where the log shows \
         none, its largest holder is not called a leak. With samples of allocations (a flight recording, the allocation \
         probe) it names the method that allocates what stays. Direct buffers, which no log shows, are reported when two dumps \
         have them grow by a fifth of their limit."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::Collections]
    }

    fn is_about_stops(&self) -> bool {
        true
    }

    /// A heap that is full of what is kept. Where its collections wait for CPUs as well, there
    /// would be few of them without it.
    fn brings_about(&self) -> &'static [&'static str] {
        &[
            "gc-evacuation-failure",
            "gc-heap-too-small",
            "gc-allocation-stall",
            "gc-starved-of-cpu",
            "out-of-memory",
            "jvm-stopped",
        ]
    }

    fn judge(&self, case: &Case<'_>, jvm: fathom_recording::ProcessId) -> Judgement {
        let gc = match GcCase::of(case, jvm, self) {
            Ok(gc) => gc,
            Err(judgement) => return judgement,
        };
        let dump = Dump::of(case.recording, jvm);
        let judgement = self.of_heap(&gc, dump.as_ref());
        // The heap may be healthy all the same, and the log too short for what dumps show.
        let is_open = matches!(judgement, Judgement::Inconclusive(_));
        let by_dumps = || {
            let dump = dump.as_ref()?;
            let inside = if is_open { between::found(self, &gc, dump) } else { None };
            inside.or_else(|| direct::found(self, &gc, dump))
        };
        match judgement {
            Judgement::Found(_) | Judgement::NotApplicable => judgement,
            other => by_dumps().map_or(other, |finding| Judgement::Found(Box::new(finding))),
        }
    }
}

impl HeapLeak {
    fn of_heap(&self, gc: &GcCase<'_, '_>, dump: Option<&Dump<'_>>) -> Judgement {
        let (case, jvm) = (gc.case, gc.jvm);
        let points = live_points(case.recording, jvm, None);
        let Some(heap) = gc.heap_max_bytes() else {
            return blind(self, scope::HEAP_SIZE.fact(), switch_on::GC_SIZES.fact());
        };
        if points.len() < READINGS {
            return self.not_known(
                (gc, dump),
                live_set::TOO_FEW.is(Value::count(points.len())).with("needed", Value::count(READINGS)),
            );
        }
        let Some(rise) = Rise::of(&points, heap) else {
            return self.not_known((gc, dump), live_set::TOO_CLOSE.fact());
        };
        // What two dumps show growing as well is reported before it costs anything.
        let of_this = dump.filter(|dump| dump.is_of_another(&points).is_none());
        let keeper = of_this.and_then(|dump| dump.keeper(rise.last - rise.first));
        let grew = keeper.is_some_and(|keeper| matches!(keeper.by, By::Grew(_)));
        match rise.growth() {
            Growth::None(why_not) => return gc.ruled_out(no_leak(why_not, dump)),
            Growth::Unsure(why) => return self.not_known((gc, dump), why),
            // A growth that goes on is not ruled out by having cost little so far.
            Growth::Early(why) if !grew => return self.not_known((gc, dump), why),
            Growth::Early(_) | Growth::Leak => {}
        }
        let cost_ms = gc.excess_ms(|p| p.collected_old() || p.is_mixed());
        if !grew && !case.matters(cost_ms) && !exhausted(&rise, heap) {
            return self.not_known(
                (gc, dump),
                live_set::COSTS_LITTLE.is(Value::growth(rise.all.slope)).with("cost", Value::ms(cost_ms)),
            );
        }
        Judgement::Found(Box::new(found(self, gc, (&points, &rise, heap), cost_ms, dump)))
    }

    fn not_known(&self, (gc, dump): (&GcCase<'_, '_>, Option<&Dump<'_>>), why: Fact) -> Judgement {
        let what = live_set::NOT_KNOWN.fact().with("jvm", Value::name(gc.case.jvm_name(gc.jvm)));
        let what = with_keeper(what.with("why", Value::list([why])), dump);
        blind(self, what, switch_on::LONGER_LOG_OR_HISTOGRAMS.fact())
    }
}

/// Whether the live set has reached what an application cannot go on with.
fn exhausted(rise: &Rise, heap: f64) -> bool {
    rise.last >= EXHAUSTED * heap
}

/// Why nothing grows, and what keeps most where a dump shows it: it looks like a leak there.
fn no_leak(why: Fact, dump: Option<&Dump<'_>>) -> Fact {
    match dump.and_then(Dump::largest) {
        Some(_) => with_keeper(live_set::NO_LEAK.fact().with("why", Value::list([why])), dump),
        None => why,
    }
}

/// With what keeps most of a dump, its share of the heap, and the dump's name.
fn with_keeper(fact: Fact, dump: Option<&Dump<'_>>) -> Fact {
    let Some((dump, most)) = dump.and_then(|dump| Some((dump, dump.largest()?))) else { return fact };
    let fact = fact.with("keeper", most.name()).with("share", Value::share(most.share));
    fact.with("file", Value::name(dump.span.name()))
}

/// How sure it is, and why.
fn sure(gc: &GcCase<'_, '_>, keeper: Option<&Keeper<'_>>, at_its_end: bool, cost_ms: f64) -> Sure {
    let (ground, why) = match (keeper.map(|keeper| keeper.by), at_its_end) {
        (Some(By::Grew(_)), true) => (Ground::Itself, &reasons::FULL_AND_TWO_DUMPS),
        (Some(By::Grew(_)), false) => (Ground::Incomplete, &reasons::LOG_AND_DUMPS),
        (Some(By::Suspicion), _) => (Ground::Incomplete, &reasons::ONE_DUMP),
        (_, true) => (Ground::Incomplete, &reasons::GROWS_UNTIL_FULL),
        (_, false) => (Ground::Fits, &reasons::MAY_BE_A_CACHE),
    };
    ground.because(gc.case, cost_ms, why)
}

fn found(
    rule: &dyn Rule,
    gc: &GcCase<'_, '_>,
    (points, rise, heap): (&[LivePoint<'_>], &Rise, f64),
    cost_ms: f64,
    dump: Option<&Dump<'_>>,
) -> Finding {
    let error = gc.case.recording.spans_of(kind::JVM_WARNING).find(|w| {
        w.process() == gc.jvm && w.name().contains("OutOfMemoryError") && !w.name().contains("Metaspace")
    });
    let other = dump.and_then(|dump| dump.is_of_another(points));
    let dump = dump.filter(|_| other.is_none());
    let keeper = dump.and_then(|dump| dump.keeper(rise.last - rise.first));
    let place = keeper.as_ref().and_then(|keeper| allocated::place(gc.case.recording, gc.jvm, keeper));
    let sure = sure(gc, keeper.as_ref(), error.is_some() || exhausted(rise, heap), cost_ms);
    let old: Vec<Pause<'_>> = gc.slow.iter().filter(|p| p.collected_old() || p.is_mixed()).copied().collect();
    let mut finding = gc.finding(rule, sure, cost_ms, &old);
    let left_s = (!exhausted(rise, heap)).then(|| rise.seconds_left());
    let is_slowing = rise.late.slope < STEADY * rise.early.slope;
    let slowing = |slope: f64| is_slowing.then(|| Value::bytes(slope * 60.0));
    let title = titles::HEAP_LEAK.is(Value::growth(rise.all.slope));
    let title = title.with("late", slowing(rise.late.slope)).with("early", slowing(rise.early.slope));
    let title = title.with("share", Value::share((rise.last / heap).min(1.0)));
    let title = title.with("left", left_s.map(Value::seconds));
    let title = title.with("keeper", keeper.as_ref().map(|keeper| keeper.name()));
    let title = title.with("kept", keeper.as_ref().map(|keeper| Value::share(keeper.share)));
    let class = keeper.as_ref().and_then(|keeper| keeper.entry_class());
    let title = title.with("class", class.map(Value::name));
    finding.title = title.with("method", place.as_ref().map(|place| Value::name(&place.method))).into();
    let by = keeper.as_ref().map(|keeper| keeper.name());
    finding.culprit = Fact { value: by, ..culprits::KEEPER.fact() }.into();
    finding.meaning = meanings::LIVE_SET_GROWS.fact().into();
    let fact = pauses::LIVE_SET_GROWTH.is(Value::growth(rise.all.slope));
    let fact = fact
        .with("collections", Value::count(points.len()))
        .with("first", Value::bytes(rise.first.max(0.0)))
        .with("last", Value::bytes(rise.last))
        .with("low", Value::growth(rise.all.low))
        .with("high", Value::growth(rise.all.high))
        .with("early", Value::growth(rise.early.slope))
        .with("late", Value::growth(rise.late.slope))
        .with("pace", Value::name(if is_slowing { "slowing" } else { "steady" }))
        .with("left", left_s.map(Value::seconds));
    finding.evidence.push(summed(gc.source(), fact));
    if let (Some(keeper), Some(dump)) = (&keeper, dump) {
        finding.evidence.extend(keeper.evidence(dump));
    }
    finding.evidence.extend(place.as_ref().map(|place| summed("samples of allocations", place.fact())));
    finding.evidence.extend(other.map(|why| summed("heap dump", why)));
    for point in points.first().into_iter().chain(points.last()) {
        finding.evidence.push(cited(
            &point.span,
            pauses::IN_USE_AFTER.is(Value::bytes(point.bytes)).with("pause", Value::name(point.span.name())),
        ));
    }
    finding.evidence.extend(error.map(|e| cited(&e, written::LINE.is(Value::name(e.name())))));
    finding.remedies = remedies(gc, keeper.as_ref(), place.as_ref());
    let verify = match keeper.as_ref().map(|keeper| keeper.by) {
        Some(By::Grew(_)) => None,
        Some(_) => Some(&checks::SECOND_DUMP),
        None => Some(&checks::HISTOGRAM_TWICE),
    };
    finding.verify =
        verify.into_iter().chain([&checks::NO_GROWTH_OF_LIVE_SET]).map(|check| check.fact().into()).collect();
    if keeper.is_none() {
        finalizer_backlog::tell(gc.case, gc.jvm, &mut finding);
    }
    finding
}

fn remedies(gc: &GcCase<'_, '_>, keeper: Option<&Keeper<'_>>, place: Option<&Place>) -> Vec<crate::Remedy> {
    let Some(keeper) = keeper else { return unknown_keeper(gc) };
    let limit = match keeper.span.label(label::SUSPICION) {
        Some("thread-locals") => remedies::REMOVE_THREAD_LOCALS.fact(),
        Some("repeated-loaders") => remedies::LET_LOADERS_GO.is(keeper.name()),
        Some("finalizers") => remedies::NO_FINALIZERS.fact(),
        _ => remedies::LIMIT_KEEPER.is(keeper.name()),
    };
    let mut remedies = vec![limit.into()];
    if place.is_none() {
        remedies.push(remedies::RECORD_ALLOCATIONS.remedy());
    }
    remedies
}

/// What helps to find out who keeps what grows.
fn unknown_keeper(gc: &GcCase<'_, '_>) -> Vec<crate::Remedy> {
    let mut remedies = vec![remedies::DUMP_WITH_LOG.remedy(), remedies::LIMIT_WHAT_GROWS.remedy()];
    if gc.jdk().is_none_or(|jdk| jdk >= 11.0) {
        remedies.push(remedies::OLD_OBJECT_SAMPLES.remedy());
    }
    let growable =
        gc.fact_number(fact::MEMORY_BYTES).zip(gc.heap_max_bytes()).is_some_and(|(m, heap)| m > 2.0 * heap);
    if growable {
        remedies.push(remedies::LARGER_HEAP_BUYS_TIME.remedy());
    }
    remedies
}

/// The share of the largest heap that stays in use: the median of the last readings.
pub(super) fn live_share(gc: &GcCase<'_, '_>) -> Option<(f64, f64)> {
    let points = live_points(gc.case.recording, gc.jvm, None);
    Some((live_estimate(&points)?, gc.heap_max_bytes()?))
}

/// Whether the live set rises as a leak does.
pub(super) fn leaks(gc: &GcCase<'_, '_>) -> bool {
    let points = live_points(gc.case.recording, gc.jvm, None);
    let rise = gc.heap_max_bytes().and_then(|heap| Rise::of(&points, heap));
    rise.is_some_and(|rise| rise.growth() == Growth::Leak)
}

/// What a pause left in use, as a share of the heap, to be shown with it.
pub(super) fn left_share(pause: &Pause<'_>, heap: f64) -> Option<f64> {
    Some(pause.span.figure(figure::HEAP_AFTER_BYTES)? / heap)
}
