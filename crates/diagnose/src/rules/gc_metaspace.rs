//! `gc-metaspace`: collections because class memory reached its threshold, though the heap had
//! room.

use fathom_recording::vocabulary::{fact, figure, kind};

use super::gc_case::{GcCase, cited, most, several_or_long, summed};
use crate::collections::Pause;
use crate::facts::{Value, checks, culprits, meanings, pauses, remedies, ruled_out, titles, written};
use crate::trend::Trend;
use crate::{Case, Finding, Judgement, Layer, Remedy, Rule};

/// Collections with a metaspace reading that growth is judged by.
const READINGS: usize = 4;
/// Growth of metaspace over its readings that is more than an application finishing its start.
const GROWN: f64 = 0.10;

/// The rule.
pub struct GcMetaspace;

impl Rule for GcMetaspace {
    fn id(&self) -> &'static str {
        "gc-metaspace"
    }

    fn layer(&self) -> Layer {
        Layer::Gc
    }

    fn about(&self) -> &'static str {
        "Classes live outside the heap, in metaspace (JDK 7 and before: the permanent generation). When it grows past a \
         threshold, the whole heap is collected in the hope that classes can be unloaded. It starts at some 21 MB \
         (`MetaspaceSize`), so an application with many classes pays a few such collections at its start; one that \
         keeps loading classes, or leaks class loaders, pays them again and again.\n\n\
         **Evidence.** The causes `Metadata GC Threshold` and `Metadata GC Clear Soft References` and their cost. \
         Metaspace in use after each of them shows whether it is a leak: it rises although every one unloaded what it \
         could.\n\n\
         **Confounders.** Full collections for lack of heap have other causes. A few of these collections at the start \
         cost little and are ruled out by what they cost."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::Collections]
    }

    fn judge(&self, case: &Case<'_>, jvm: fathom_recording::ProcessId) -> Judgement {
        let gc = match GcCase::of(case, jvm, self) {
            Ok(gc) => gc,
            Err(judgement) => return judgement,
        };
        let asked: Vec<Pause<'_>> = gc.slow.iter().filter(|p| for_metaspace(p)).copied().collect();
        let cost_ms = gc.excess_ms(for_metaspace);
        let longest = asked.iter().map(Pause::ms).fold(0.0, f64::max);
        let full = asked.iter().any(is_last_resort) && gc.on_stops();
        if full
            || several_or_long(&asked)
                && (gc.matters(cost_ms) || gc.stands_out(longest, gc.usual_ms(|p| !for_metaspace(p))))
        {
            return Judgement::Found(Box::new(found(self, &gc, &asked, cost_ms)));
        }
        let fact = ruled_out::METASPACE_LITTLE.is(Value::ms(cost_ms));
        let fact = fact.with("collections", Value::count(asked.len()));
        gc.ruled_out_among(gc.slow.len(), fact.with("pauses", Value::count(gc.slow.len())))
    }
}

/// JDK 7 and before name the permanent generation.
fn for_metaspace(pause: &Pause<'_>) -> bool {
    let causes = ["Metadata GC", "Permanent Generation", "Last ditch"];
    pause.cause().is_some_and(|cause| causes.iter().any(|begins| cause.starts_with(begins)))
}

/// Whether class memory was at its limit, so that even soft references were cleared for it; an
/// OutOfMemoryError is next.
fn is_last_resort(pause: &Pause<'_>) -> bool {
    let causes = ["Metadata GC Clear Soft References", "Last ditch", "Permanent Generation Full"];
    pause.cause().is_some_and(|cause| causes.iter().any(|begins| cause.starts_with(begins)))
}

/// Growth of metaspace over the run, as it is after each collection for it.
fn growth(gc: &GcCase<'_, '_>) -> Option<(Trend, f64, f64)> {
    let readings = gc.all.iter().filter(|p| for_metaspace(p));
    let points: Vec<_> = readings
        .filter_map(|p| Some((p.span.t1_ns() as f64 / 1e9, p.span.figure(figure::METASPACE_AFTER_BYTES)?)))
        .collect();
    let (first, last) = (points.first()?.1, points.last()?.1);
    let trend = Trend::fit(&points).filter(|t| t.points >= READINGS)?;
    Some((trend, first, last))
}

fn found(rule: &dyn Rule, gc: &GcCase<'_, '_>, asked: &[Pause<'_>], cost_ms: f64) -> Finding {
    let growth = growth(gc);
    let leaks = growth.is_some_and(|(trend, first, last)| trend.low > 0.0 && last > first * (1.0 + GROWN));
    let mut finding = gc.finding(rule, gc.named(cost_ms), cost_ms, asked);
    let last = asked.iter().filter(|p| is_last_resort(p)).count();
    let title = titles::GC_METASPACE.is(Value::ms(cost_ms)).with("collections", Value::count(asked.len()));
    let title = title.with("last-resort", (last > 0).then(|| Value::count(last)));
    let growing = growth.filter(|_| leaks).map(|(trend, ..)| Value::growth(trend.slope));
    finding.title = title.with("growth", growing).into();
    finding.culprit =
        if leaks { culprits::CLASS_LOADERS.fact() } else { culprits::METASPACE_SIZE.fact() }.into();
    finding.meaning = meanings::CLASSES_UNLOADED.fact().into();
    if let Some((trend, first, last)) = growth {
        let fact = pauses::METASPACE_GROWTH.is(Value::growth(trend.slope));
        let fact = fact.with("first", Value::bytes(first)).with("last", Value::bytes(last));
        let fact = fact.with("low", Value::growth(trend.low)).with("high", Value::growth(trend.high));
        finding.evidence.push(summed(gc.source(), fact));
    }
    finding.evidence.extend(most(asked, Pause::ms).into_iter().map(|p| {
        let heap = p.span.figure(figure::HEAP_BEFORE_BYTES).zip(gc.heap_max_bytes());
        let fact = pauses::with_cause(p);
        cited(&p.span, fact.with("heap-before", heap.map(|(used, max)| Value::share(used / max))))
    }));
    let exhausted = gc
        .case
        .recording
        .spans_of(kind::JVM_WARNING)
        .find(|w| w.process() == gc.jvm && w.name().contains("Metaspace"));
    finding.evidence.extend(exhausted.map(|w| cited(&w, written::LINE.is(Value::name(w.name())))));
    finding.remedies = remedies(gc, leaks);
    finding.verify =
        vec![checks::NO_METASPACE_COLLECTIONS.fact().into(), checks::CLASS_LOADER_STATS.fact().into()];
    finding
}

fn remedies(gc: &GcCase<'_, '_>, leaks: bool) -> Vec<Remedy> {
    let permanent = gc.jdk().is_some_and(|jdk| jdk < 8.0);
    let used = gc.all.iter().filter_map(|p| p.span.figure(figure::METASPACE_AFTER_BYTES)).fold(0.0, f64::max);
    let size = if permanent { &remedies::PERM_SIZE } else { &remedies::METASPACE_SIZE };
    let raise = if used > 0.0 { size.is(Value::bytes(used)) } else { size.fact() }.into();
    let concurrent =
        matches!(gc.fact(fact::COLLECTOR), Some("CMS")).then(|| remedies::CMS_CLASS_UNLOADING.remedy());
    let fix = remedies::FIND_CLASS_MAKERS.remedy();
    let mut remedies = if leaks { vec![fix, raise] } else { vec![raise] };
    remedies.extend(concurrent);
    remedies
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built::{Built, judged};

    const MB: f64 = 1024.0 * 1024.0;

    fn log(growth_mb: f64, every_s: f64, ms: f64) -> Built {
        let mut built = Built::jvm("17", "G1", 60.0);
        for i in 0..10 {
            let wobble = if i % 2 == 0 { 0.1 } else { -0.1 };
            let after = (20.0 + growth_mb * f64::from(i) + wobble) * MB;
            let figures = [(figure::METASPACE_AFTER_BYTES, after)];
            built.pause("Pause Full", "Metadata GC Threshold", 1.0 + f64::from(i) * every_s, ms, &figures);
        }
        built
    }

    #[test]
    fn growing_class_memory_is_a_leak_of_loaders() {
        let Judgement::Found(finding) = judged(&GcMetaspace, &log(5.0, 5.0, 400.0).sealed()) else {
            panic!("not found")
        };
        assert!(finding.says(&titles::GC_METASPACE).detail("growth").is_some(), "{}", finding.title);
        assert_eq!(finding.culprit.fact().metric, &culprits::CLASS_LOADERS);
        let grew = finding.fact(&pauses::METASPACE_GROWTH);
        let mb = ["first", "last"].map(|name| (grew.number(name).unwrap() / 1048576.0 * 10.0).round() / 10.0);
        assert_eq!(mb, [20.1, 64.9]);
    }

    #[test]
    fn class_memory_that_stays_needs_a_higher_threshold() {
        let Judgement::Found(finding) = judged(&GcMetaspace, &log(0.0, 5.0, 400.0).sealed()) else {
            panic!("not found")
        };
        finding.title.states(&titles::GC_METASPACE, &[("growth", "")]);
        finding.remedies[0].change.states(&remedies::METASPACE_SIZE, &[("value", "20.1 MB")]);
    }

    #[test]
    fn a_few_at_the_start_cost_little_and_other_causes_are_not_it() {
        assert!(matches!(judged(&GcMetaspace, &log(1.0, 0.5, 20.0).sealed()), Judgement::RuledOut { .. }));
        let mut built = Built::jvm("17", "G1", 60.0);
        built.pause("Pause Full", "G1 Compaction Pause", 1.0, 9_000.0, &[]);
        let Judgement::RuledOut { figure, .. } = judged(&GcMetaspace, &built.sealed()) else {
            panic!("found")
        };
        figure.states(&ruled_out::METASPACE_LITTLE, &[("collections", "0"), ("pauses", "1")]);
    }
}
