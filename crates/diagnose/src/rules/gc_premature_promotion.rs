//! `gc-premature-promotion`: objects reach the old generation before they had time to die.

use fathom_recording::vocabulary::{fact, figure};

use super::gc_case::{GcCase, blind, cited, summed};
use crate::collections::Pause;
use crate::confidence::Ground;
use crate::facts::{
    Value, checks, culprits, meanings, pauses, reasons, remedies, ruled_out, scope, switch_on, titles,
};
use crate::{Case, Finding, Judgement, Layer, Rule};

/// Share of young collections after which the survivor spaces are overrun: the threshold falls to 1
/// although more is allowed. Below one half it is a burst now and then; measured in a run built for
/// it: 77% of 985.
const COLLAPSED: f64 = 0.5;
/// Growth of the old generation in a young collection as a share of what it freed.
const PROMOTED: f64 = 0.10;
/// How much of the old generation a collection of it must free for the promoted to have been
/// garbage.
const GARBAGE: f64 = 0.5;
/// Young collections that the shares are taken of, at least.
const COLLECTIONS: usize = 10;

/// The rule.
pub struct GcPrematurePromotion;

impl Rule for GcPrematurePromotion {
    fn id(&self) -> &'static str {
        "gc-premature-promotion"
    }

    fn layer(&self) -> Layer {
        Layer::Gc
    }

    fn about(&self) -> &'static str {
        "Objects that outlive a young collection wait in the survivor spaces for some more of them; most die there. \
         When the survivor spaces are too small for what survives, objects are promoted at once, die in the old \
         generation, and it takes collections of the old generation to get rid of them.\n\n\
         **Evidence,** all of it: in at least half of the young collections the tenuring threshold falls to 1 with more \
         than the desired survivor size of age 1; the old generation grows by 10% or more of what each young \
         collection frees; and collections of the old generation free at least half of it. The cost is those.\n\n\
         **Confounders.** A cache that fills is promoted as well, but its memory stays in use. A leak too.\n\n\
         **Inconclusive** without ages in the log."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::Collections]
    }

    fn judge(&self, case: &Case<'_>, jvm: fathom_recording::ProcessId) -> Judgement {
        let gc = match GcCase::of(case, jvm, self) {
            Ok(gc) => gc,
            Err(judgement) => return judgement,
        };
        if matches!(gc.fact(fact::COLLECTOR), Some("Z" | "Shenandoah" | "Epsilon")) {
            return Judgement::NotApplicable;
        }
        let young: Vec<Pause<'_>> = gc.slow.iter().filter(|p| p.is_young()).copied().collect();
        let aged: Vec<Pause<'_>> =
            young.iter().filter(|p| p.span.figure(figure::TENURING_THRESHOLD).is_some()).copied().collect();
        if aged.is_empty() && !young.is_empty() {
            return blind(self, scope::AGES.fact(), switch_on::GC_AGES.fact());
        }
        if young.is_empty() {
            return gc.none(&ruled_out::NO_YOUNG);
        }
        let seen = Seen::of(&gc, &aged);
        let cost_ms = gc.excess_ms(cleans_old);
        if aged.len() >= COLLECTIONS && seen.holds() && gc.matters(cost_ms) {
            return Judgement::Found(Box::new(found(self, &gc, &aged, &seen, cost_ms)));
        }
        let fact = ruled_out::PROMOTION_LITTLE.is(Value::ms(cost_ms));
        let fact = fact.with("collapsed", Value::share(seen.collapsed));
        let fact = fact.with("young", Value::count(aged.len()));
        gc.ruled_out(fact.with("promoted", Value::share(seen.promoted)))
    }
}

/// Shares that make up the evidence.
struct Seen {
    /// Of young collections: those that overran the survivor spaces.
    collapsed: f64,
    /// Promoted as a share of what young collections freed.
    promoted: f64,
    /// Largest part of the old generation that one collection, or series of mixed ones, freed.
    garbage: f64,
}

impl Seen {
    fn of(gc: &GcCase<'_, '_>, aged: &[Pause<'_>]) -> Self {
        let collapsed = aged.iter().filter(|p| overran(p)).count() as f64 / aged.len().max(1) as f64;
        let grown: f64 = aged.iter().filter_map(|p| p.old_growth_bytes()).map(|g| g.max(0.0)).sum();
        let freed: f64 = aged.iter().filter_map(|p| p.freed_bytes()).map(|f| f.max(0.0)).sum();
        Self {
            collapsed,
            promoted: if freed > 0.0 { grown / freed } else { 0.0 },
            garbage: garbage(&gc.slow),
        }
    }

    fn holds(&self) -> bool {
        self.collapsed >= COLLAPSED && self.promoted >= PROMOTED && self.garbage >= GARBAGE
    }
}

/// Whether the survivor spaces were too small for what survived once.
pub(super) fn overran(pause: &Pause<'_>) -> bool {
    let f = |key| pause.span.figure(key);
    let fell = f(figure::TENURING_THRESHOLD)
        .zip(f(figure::TENURING_MAX))
        .is_some_and(|(t, max)| t <= 1.0 && max > 1.0);
    let too_much =
        f(figure::AGE1_BYTES).zip(f(figure::DESIRED_SURVIVOR_BYTES)).is_none_or(|(age1, size)| age1 > size);
    fell && too_much
}

fn cleans_old(pause: &Pause<'_>) -> bool {
    let asked = |c: &str| {
        c.starts_with("System")
            || c.starts_with("Metadata")
            || c.starts_with("Heap ")
            || c.starts_with("Diagnostic")
    };
    (pause.collected_old() || pause.is_mixed()) && !pause.cause().is_some_and(asked)
}

/// The largest share of the old generation that one collection of it, or a series of mixed ones,
/// freed.
fn garbage(pauses: &[Pause<'_>]) -> f64 {
    let old = |p: &Pause<'_>, key, heap, young| {
        p.span.figure(key).or_else(|| Some(p.span.figure(heap)? - p.span.figure(young)?))
    };
    let before = |p: &Pause<'_>| {
        old(p, figure::OLD_BEFORE_BYTES, figure::HEAP_BEFORE_BYTES, figure::YOUNG_BEFORE_BYTES)
    };
    let after =
        |p: &Pause<'_>| old(p, figure::OLD_AFTER_BYTES, figure::HEAP_AFTER_BYTES, figure::YOUNG_AFTER_BYTES);
    let mut most: f64 = 0.0;
    let mut series_began: Option<f64> = None;
    for pause in pauses {
        if !cleans_old(pause) {
            series_began = None;
            continue;
        }
        let began = series_began.or_else(|| before(pause));
        if let (Some(began), Some(left)) = (began.filter(|b| *b > 0.0), after(pause)) {
            most = most.max(1.0 - left / began);
        }
        series_began = if pause.is_mixed() { began } else { None };
    }
    most
}

fn found(rule: &dyn Rule, gc: &GcCase<'_, '_>, aged: &[Pause<'_>], seen: &Seen, cost_ms: f64) -> Finding {
    let old: Vec<Pause<'_>> = gc.slow.iter().filter(|p| cleans_old(p)).copied().collect();
    let why = &reasons::SURVIVORS_OVERRUN;
    let sure = Ground::Incomplete.because(gc.case, cost_ms, why);
    let mut finding = gc.finding(rule, sure, cost_ms, &old);
    let title = titles::GC_PREMATURE_PROMOTION.is(Value::share(seen.collapsed));
    finding.title = title.with("cost", Value::ms(cost_ms)).into();
    finding.culprit = culprits::SURVIVORS.fact().into();
    finding.meaning = meanings::PROMOTED_EARLY.fact().into();
    let fact = pauses::PROMOTED_EARLY.is(Value::share(seen.promoted));
    let fact = fact.with("collapsed", Value::share(seen.collapsed)).with("young", Value::count(aged.len()));
    finding.evidence.push(summed(gc.source(), fact.with("garbage", Value::share(seen.garbage))));
    let age1 = |p: &Pause<'_>| p.span.figure(figure::AGE1_BYTES).unwrap_or(0.0);
    finding.evidence.extend(super::gc_case::most(aged, age1).into_iter().map(|p| {
        let desired = p.span.figure(figure::DESIRED_SURVIVOR_BYTES).unwrap_or(0.0);
        cited(&p.span, pauses::AGE_1.is(Value::bytes(age1(p))).with("desired", Value::bytes(desired)))
    }));
    let young = if gc.fact(fact::COLLECTOR) == Some("G1") {
        remedies::LARGER_YOUNG_OF_G1.remedy()
    } else {
        remedies::LARGER_YOUNG.remedy()
    };
    finding.remedies = vec![young, remedies::LARGER_SURVIVOR_SPACES.remedy()];
    finding.verify = vec![checks::LOG_AGES.fact().into()];
    finding
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Confidence;
    use crate::built::{Built, judged};

    const MB: f64 = 1024.0 * 1024.0;

    fn log(threshold: f64, promoted_mb: f64, old_after_full_mb: f64) -> Built {
        let mut built = Built::jvm("17", "Parallel", 60.0);
        let mut old = 100.0;
        for i in 0..50 {
            let figures = [
                (figure::HEAP_BEFORE_BYTES, (old + 220.0) * MB),
                (figure::HEAP_AFTER_BYTES, (old + promoted_mb + 20.0) * MB),
                (figure::OLD_BEFORE_BYTES, old * MB),
                (figure::OLD_AFTER_BYTES, (old + promoted_mb) * MB),
                (figure::TENURING_THRESHOLD, threshold),
                (figure::TENURING_MAX, 15.0),
                (figure::AGE1_BYTES, 25.0 * MB),
                (figure::DESIRED_SURVIVOR_BYTES, 20.0 * MB),
            ];
            built.pause("Pause Young", "Allocation Failure", f64::from(i), 20.0, &figures);
            old += promoted_mb;
            if i % 10 == 9 {
                let figures =
                    [(figure::OLD_BEFORE_BYTES, old * MB), (figure::OLD_AFTER_BYTES, old_after_full_mb * MB)];
                built.pause("Pause Full", "Ergonomics", f64::from(i) + 0.5, 1_600.0, &figures);
                old = old_after_full_mb;
            }
        }
        built
    }

    #[test]
    fn survivors_overrun_that_die_in_the_old_generation_are_found() {
        let recording = log(1.0, 30.0, 100.0).sealed();
        let Judgement::Found(finding) = judged(&GcPrematurePromotion, &recording) else {
            panic!("not found")
        };
        assert_eq!((finding.cost_ms, finding.confidence), (8_000.0, Confidence::Likely));
    }

    #[test]
    fn promoted_memory_that_stays_in_use_is_a_cache_or_a_leak() {
        let recording = log(1.0, 30.0, 350.0).sealed();
        assert!(matches!(judged(&GcPrematurePromotion, &recording), Judgement::RuledOut { .. }));
    }

    #[test]
    fn healthy_ages_are_ruled_out_and_no_ages_are_inconclusive() {
        let Judgement::RuledOut { figure, .. } =
            judged(&GcPrematurePromotion, &log(15.0, 1.0, 100.0).sealed())
        else {
            panic!("found")
        };
        figure.states(&ruled_out::PROMOTION_LITTLE, &[("collapsed", "0%")]);
        let mut built = Built::jvm("17", "G1", 60.0);
        built.pause("Pause Young (Normal)", "G1 Evacuation Pause", 1.0, 50.0, &[]);
        assert!(matches!(judged(&GcPrematurePromotion, &built.sealed()), Judgement::Inconclusive(_)));
    }
}
