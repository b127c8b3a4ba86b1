//! `gc-evacuation-failure`: a collection finds no room to copy survivors to, or CMS is overtaken by allocation.

use fathom_recording::vocabulary::{fact, figure, label};

use super::gc_case::{GcCase, cited, most, remedy, summed};
use crate::collections::Pause;
use crate::{Case, Finding, Judgement, Layer, Remedy, Rule, quantity};

/// Failures as close as this belong to one squeeze, seconds.
const TOGETHER_S: f64 = 60.0;
/// A full collection that starts within this many pauses after a failure is its consequence.
const NEXT: usize = 2;

/// The rule.
pub struct GcEvacuationFailure;

impl Rule for GcEvacuationFailure {
    fn id(&self) -> &'static str {
        "gc-evacuation-failure"
    }

    fn layer(&self) -> Layer {
        Layer::Gc
    }

    fn about(&self) -> &'static str {
        "A young collection copies what survives. When there is no free region (G1: to-space exhausted, evacuation \
         failure) or no room in the old generation (promotion failed), it has to leave objects where they are and \
         clean up after itself, which takes many times as long; a full collection often follows. CMS: the old \
         generation fills before the concurrent cycle has ended (concurrent mode failure).\n\n\
         **Evidence.** What the log prints with the pause (`To-space exhausted` up to JDK 20, `(Evacuation Failure: \
         Allocation)` since 21, JDK 8 `to-space exhausted`, `promotion failed`, `concurrent mode failure`): two \
         within a minute, or one followed by a full collection. The cost is what these pauses took above the usual \
         young pause, and the full collections.\n\n\
         **Look-alikes.** `(Evacuation Failure: Pinned)` of JDK 22 and later is no lack of room: native code holds an \
         array (`gc-locker`). A single failure at a peak of the load is no finding."
    }

    fn judge(&self, case: &Case<'_>, jvm: fathom_recording::ProcessId) -> Judgement {
        let gc = match GcCase::of(case, jvm, self) {
            Ok(gc) => gc,
            Err(judgement) => return judgement,
        };
        if matches!(gc.fact(fact::COLLECTOR), Some("Z" | "Shenandoah" | "Epsilon")) {
            return Judgement::NotApplicable;
        }
        let failed: Vec<Pause<'_>> = gc.slow.iter().filter(|p| ran_out(p)).copied().collect();
        if failed.is_empty() {
            return gc.ruled_out(format!(
                "none of {} failed to evacuate or promote",
                quantity::plural(gc.slow.len(), "pause", "pauses")
            ));
        }
        let usual = gc.usual_ms(|p| p.is_young() && !ran_out(p));
        let full = following_full(&gc.slow);
        let beyond: f64 = failed.iter().map(|p| (p.ms() - usual).max(0.0)).sum();
        let base: f64 = gc.base_of(ran_out).iter().map(|p| (p.ms() - usual).max(0.0)).sum();
        let cost_ms = case.excess_ms(beyond, base) + full.iter().map(Pause::ms).sum::<f64>();
        let longest = failed.iter().chain(&full).map(Pause::ms).fold(0.0, f64::max);
        let squeezed = !full.is_empty() || together(&failed);
        if squeezed && (gc.matters(cost_ms) || gc.stands_out(longest, usual)) {
            return Judgement::Found(Box::new(found(self, &gc, &failed, &full, cost_ms, usual)));
        }
        gc.ruled_out(format!(
            "{} to evacuate or promote cost {}",
            quantity::plural(failed.len(), "failure", "failures"),
            quantity::millis(cost_ms)
        ))
    }
}

/// Whether a pause failed for lack of room, and not only because objects were pinned.
pub(super) fn ran_out(pause: &Pause<'_>) -> bool {
    pause.flag(figure::EVACUATION_FAILURE) && !only_pinned(pause)
}

/// Whether a pause left regions in place only because native code holds an array in them.
pub(super) fn only_pinned(pause: &Pause<'_>) -> bool {
    let named = |text: &str| text.contains("Pinned") && !text.contains("Allocation");
    named(pause.span.name()) || pause.span.label(label::QUALIFIER).is_some_and(named)
}

fn together(failed: &[Pause<'_>]) -> bool {
    failed.windows(2).any(|pair| match pair {
        [a, b] => b.span.t0_ns().saturating_sub(a.span.t1_ns()) as f64 / 1e9 <= TOGETHER_S,
        _ => false,
    })
}

/// Full collections for lack of room right after a failure.
fn following_full<'a>(pauses: &[Pause<'a>]) -> Vec<Pause<'a>> {
    let for_room = |p: &Pause<'_>| {
        let asked = |c: &str| c.starts_with("System") || c.starts_with("Metadata") || c.starts_with("Heap ");
        p.labelled_full() && !ran_out(p) && !p.cause().is_some_and(asked)
    };
    let follows = |i: usize| pauses.iter().take(i).rev().take(NEXT).any(ran_out);
    pauses.iter().enumerate().filter(|(i, p)| for_room(p) && follows(*i)).map(|(_, p)| *p).collect()
}

fn found(
    rule: &dyn Rule,
    gc: &GcCase<'_, '_>,
    failed: &[Pause<'_>],
    full: &[Pause<'_>],
    cost_ms: f64,
    usual_ms: f64,
) -> Finding {
    let both = [failed, full].concat();
    let mut finding = gc.finding(rule, gc.named(cost_ms), cost_ms, &both);
    finding.title = format!(
        "{} ran out of room for survivors, {} followed: {} lost",
        quantity::plural(failed.len(), "collection", "collections"),
        quantity::plural(full.len(), "full collection", "full collections"),
        quantity::millis(cost_ms),
    );
    finding.culprit = "too little free heap when a collection starts".into();
    finding.meaning =
        "A collection copies what survives and found no free memory to copy it to. Cleaning up after \
                       that takes many times as long as the collection."
            .into();
    let text = format!("a usual young pause of this run takes {}", quantity::millis(usual_ms));
    finding.evidence.push(summed(gc.source(), text));
    finding.evidence.extend(most(&both, Pause::ms).into_iter().map(|p| {
        let after = p.span.figure(figure::HEAP_AFTER_BYTES).zip(gc.heap_max_bytes());
        let filled = after.map_or(String::new(), |(after, heap)| {
            format!(", heap {} full after it", quantity::share(after / heap))
        });
        cited(&p.span, format!("{} of {}{filled}", p.span.name(), quantity::millis(p.ms())))
    }));
    finding.remedies = remedies(gc);
    finding.verify = vec![
        "fathom gc shows 0 under \"Failures to evacuate or promote\"".into(),
        "the heap after collections stays below 85 % of the largest heap".into(),
    ];
    finding
}

fn remedies(gc: &GcCase<'_, '_>) -> Vec<Remedy> {
    let mut remedies = vec![remedy("a larger -Xmx", "any JDK", "memory")];
    match gc.fact(fact::COLLECTOR) {
        Some("G1") => {
            remedies.push(remedy(
                "-XX:G1ReservePercent=20 (default 10)",
                "G1",
                "that much of the heap stays free for survivors and not for use",
            ));
            remedies.push(remedy(
                "-XX:InitiatingHeapOccupancyPercent=35 (default 45)",
                "G1; since JDK 9 only the start value of an adaptive one (-XX:-G1UseAdaptiveIHOP holds it)",
                "concurrent cycles run more often and take processor time",
            ));
        }
        Some("CMS") => remedies.push(remedy(
            "-XX:CMSInitiatingOccupancyFraction=60 -XX:+UseCMSInitiatingOccupancyOnly",
            "CMS, JDK 13 and before",
            "concurrent cycles run more often and take processor time",
        )),
        _ => {}
    }
    remedies.push(remedy(
        "a smaller live set: see what the heap holds (jcmd PID GC.class_histogram)",
        "any JDK",
        "the histogram stops the application",
    ));
    remedies
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Confidence;
    use crate::built::{Built, judged};

    const FAILED: [(&str, f64); 1] = [(figure::EVACUATION_FAILURE, 1.0)];

    fn healthy() -> Built {
        let mut built = Built::jvm("17", "G1", 60.0);
        for i in 0..50 {
            built.pause("Pause Young (Normal)", "G1 Evacuation Pause", f64::from(i), 20.0, &[]);
        }
        built
    }

    #[test]
    fn failures_followed_by_full_collections_are_found_with_what_they_cost_above_the_usual() {
        let mut built = healthy();
        built.pause("Pause Young (Normal)", "G1 Evacuation Pause", 50.0, 1_020.0, &FAILED);
        built.pause("Pause Full", "G1 Compaction Pause", 51.1, 3_000.0, &[]);
        let Judgement::Found(finding) = judged(&GcEvacuationFailure, &built.sealed()) else {
            panic!("not found")
        };
        assert_eq!((finding.cost_ms, finding.confidence), (4_000.0, Confidence::Likely));
        assert!(finding.remedies.iter().any(|r| r.change.contains("G1ReservePercent")));
    }

    #[test]
    fn a_single_failure_is_no_squeeze() {
        let mut built = healthy();
        built.pause("Pause Young (Normal)", "G1 Evacuation Pause", 50.0, 5_020.0, &FAILED);
        assert!(matches!(judged(&GcEvacuationFailure, &built.sealed()), Judgement::RuledOut { .. }));
    }

    #[test]
    fn pinned_objects_are_no_lack_of_room() {
        let mut built = healthy();
        for i in 0..5 {
            let name = "Pause Young (Normal) (Evacuation Failure: Pinned)";
            built.pause(name, "G1 Evacuation Pause", 50.0 + f64::from(i) * 2.0, 1_500.0, &FAILED);
        }
        assert!(matches!(judged(&GcEvacuationFailure, &built.sealed()), Judgement::RuledOut { .. }));
    }

    #[test]
    fn a_full_collection_that_was_asked_for_is_not_its_consequence() {
        let mut built = healthy();
        built.pause("Pause Young (Normal)", "G1 Evacuation Pause", 50.0, 30.0, &FAILED);
        built.pause("Pause Full", "System.gc()", 51.1, 5_000.0, &[]);
        assert!(matches!(judged(&GcEvacuationFailure, &built.sealed()), Judgement::RuledOut { .. }));
    }

    #[test]
    fn healthy_is_ruled_out() {
        let Judgement::RuledOut { figure, .. } = judged(&GcEvacuationFailure, &healthy().sealed()) else {
            panic!()
        };
        assert_eq!(figure, "none of 50 pauses failed to evacuate or promote");
    }
}
