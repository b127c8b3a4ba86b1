//! `gc-locker`: native code holds arrays, and collections have to wait for it or to leave regions in place.

use fathom_recording::vocabulary::{fact, figure};

use super::gc_case::{GcCase, SEVERAL, cited, most, remedy, summed};
use super::gc_evacuation_failure::only_pinned;
use crate::collections::Pause;
use crate::{Case, Finding, Judgement, Layer, Rule, quantity};

/// Share of collections that must be initiated by the locker. Now and then one is usual wherever compression or
/// native I/O runs; in a test built for it 90 % were.
const SHARE: f64 = 0.05;
/// Since then G1 pins regions instead of holding collections back (JEP 423).
const PINNING_JDK: f64 = 22.0;
/// Eden as full as this before a collection that the locker initiated means that there was nothing to collect.
const EMPTY: f64 = 0.1;

/// The rule.
pub struct GcLocker;

impl Rule for GcLocker {
    fn id(&self) -> &'static str {
        "gc-locker"
    }

    fn layer(&self) -> Layer {
        Layer::Gc
    }

    fn about(&self) -> &'static str {
        "Native code that works on a Java array directly (JNI `GetPrimitiveArrayCritical`: compression, image and \
         crypto libraries) must not have it moved. Until JDK 21 no collection can start meanwhile: threads that need \
         memory wait, and when the last one leaves, a collection follows (`GCLocker Initiated GC`), often right after \
         another. G1 of JDK 22 and later leaves such regions in place instead (`Evacuation Failure: Pinned`).\n\n\
         **Evidence.** The cause in at least 5 % of collections, or pinned failures, and what these collections cost. \
         Collections that find eden almost empty are pure loss and are counted.\n\n\
         **Look-alikes.** Other causes name themselves. The time for which threads waited for the native code itself is \
         not in the log: `-Xlog:gc+jni=debug` names the threads."
    }

    fn judge(&self, case: &Case<'_>, jvm: fathom_recording::ProcessId) -> Judgement {
        let gc = match GcCase::of(case, jvm, self) {
            Ok(gc) => gc,
            Err(judgement) => return judgement,
        };
        if matches!(gc.fact(fact::COLLECTOR), Some("Z" | "Epsilon")) {
            return Judgement::NotApplicable;
        }
        let young = gc.slow.iter().filter(|p| p.is_young() || held(p)).count();
        let by_locker: Vec<Pause<'_>> = gc.slow.iter().filter(|p| held(p)).copied().collect();
        let share = if young > 0 { by_locker.len() as f64 / young as f64 } else { 0.0 };
        let usual = gc.usual_ms(|p| p.is_young() && !held(p));
        // A pinned collection was due anyway; only what it took longer is lost.
        let cost = |pauses: &[Pause<'_>]| -> f64 {
            pauses.iter().map(|p| if only_pinned(p) { (p.ms() - usual).max(0.0) } else { p.ms() }).sum()
        };
        let cost_ms = case.excess_ms(cost(&by_locker), cost(&gc.base_of(held)));
        if share >= SHARE && by_locker.len() >= SEVERAL && case.matters(cost_ms) {
            return Judgement::Found(Box::new(found(self, &gc, &by_locker, share, cost_ms)));
        }
        gc.ruled_out(format!(
            "{} of {} because of native code that held an array, {}",
            by_locker.len(),
            quantity::plural(young, "collection was", "collections were"),
            quantity::millis(cost_ms)
        ))
    }
}

fn held(pause: &Pause<'_>) -> bool {
    pause.cause().is_some_and(|c| c.starts_with("GCLocker"))
        || (pause.flag(figure::EVACUATION_FAILURE) && only_pinned(pause))
}

/// Whether a collection found next to nothing to collect.
fn found_nothing(pause: &Pause<'_>) -> bool {
    let f = |key| pause.span.figure(key);
    let eden = f(figure::EDEN_BEFORE_BYTES).or(f(figure::YOUNG_BEFORE_BYTES));
    eden.zip(f(figure::YOUNG_CAPACITY_BYTES)).is_some_and(|(eden, capacity)| eden <= EMPTY * capacity)
}

fn found(rule: &dyn Rule, gc: &GcCase<'_, '_>, by_locker: &[Pause<'_>], share: f64, cost_ms: f64) -> Finding {
    let mut finding = gc.finding(rule, gc.named(cost_ms), cost_ms, by_locker);
    let pinned = by_locker.iter().filter(|p| only_pinned(p)).count();
    let what = if pinned * 2 > by_locker.len() { "left regions in place" } else { "had to wait" };
    finding.title = format!(
        "{} ({}) {what} because native code held an array: {}",
        quantity::plural(by_locker.len(), "collection", "collections"),
        quantity::share(share),
        quantity::millis(cost_ms),
    );
    finding.culprit = "native code in JNI critical sections (GetPrimitiveArrayCritical)".into();
    finding.meaning =
        "While native code works on a Java array, the collector cannot move it. Threads that need memory \
                       wait for that code, and an extra collection follows."
            .into();
    let empty = by_locker.iter().filter(|p| found_nothing(p)).count();
    let text = format!(
        "{} of all young collections; {empty} of them found eden less than {} full",
        quantity::share(share),
        quantity::share(EMPTY)
    );
    finding.evidence.push(summed(gc.source(), text));
    finding.evidence.extend(most(by_locker, Pause::ms).into_iter().map(|p| {
        cited(
            &p.span,
            format!(
                "{} ({}) of {}",
                p.span.name(),
                p.cause().unwrap_or("no cause logged"),
                quantity::millis(p.ms())
            ),
        )
    }));
    finding.remedies = vec![remedy(
        "shorten the critical sections: smaller buffers, or GetByteArrayRegion instead of GetPrimitiveArrayCritical",
        "any JDK",
        "copies the array",
    )];
    if gc.jdk().is_none_or(|jdk| jdk < PINNING_JDK) {
        let text =
            "JDK 22 or later with G1, which pins regions instead of holding collections back (JEP 423)";
        finding.remedies.insert(0, remedy(text, "G1", "a new JDK"));
    }
    finding.verify = vec![
        "fathom gc shows no GCLocker Initiated GC under \"Pauses by cause\"".into(),
        "-Xlog:gc+jni=debug names the threads that hold arrays".into(),
    ];
    finding
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built::{Built, judged};

    fn log(by_locker: u32, of: u32, ms: f64) -> Built {
        let mut built = Built::jvm("17", "G1", f64::from(of));
        for i in 0..of {
            let cause = if i < by_locker { "GCLocker Initiated GC" } else { "G1 Evacuation Pause" };
            let eden = [(figure::EDEN_BEFORE_BYTES, 1e6), (figure::YOUNG_CAPACITY_BYTES, 1e8)];
            built.pause("Pause Young (Normal)", cause, f64::from(i), ms, &eden);
        }
        built
    }

    #[test]
    fn collections_after_critical_sections_are_found_by_their_cause() {
        let Judgement::Found(finding) = judged(&GcLocker, &log(60, 100, 100.0).sealed()) else {
            panic!("not found")
        };
        assert!((finding.cost_ms - 6_000.0).abs() < 1e-6);
        assert!(finding.evidence[0].text.contains("60 of them found eden"), "{:?}", finding.evidence[0]);
        assert!(finding.remedies[0].change.contains("JDK 22"));
    }

    #[test]
    fn pinned_regions_cost_what_the_collection_took_longer() {
        let mut built = Built::jvm("25", "G1", 100.0);
        for i in 0..50 {
            built.pause("Pause Young (Normal)", "G1 Evacuation Pause", f64::from(i), 20.0, &[]);
            let name = "Pause Young (Normal) (Evacuation Failure: Pinned)";
            let failed = [(figure::EVACUATION_FAILURE, 1.0)];
            built.pause(name, "G1 Evacuation Pause", f64::from(i) + 0.5, 320.0, &failed);
        }
        let Judgement::Found(finding) = judged(&GcLocker, &built.sealed()) else { panic!("not found") };
        assert!((finding.cost_ms - 50.0 * 300.0).abs() < 1e-6);
        assert!(finding.remedies.iter().all(|r| !r.change.contains("JDK 22")));
    }

    #[test]
    fn a_few_or_short_ones_are_ruled_out() {
        assert!(matches!(judged(&GcLocker, &log(4, 100, 300.0).sealed()), Judgement::RuledOut { .. }));
        assert!(matches!(judged(&GcLocker, &log(60, 100, 2.0).sealed()), Judgement::RuledOut { .. }));
        assert!(matches!(judged(&GcLocker, &log(0, 100, 20.0).sealed()), Judgement::RuledOut { .. }));
    }
}
