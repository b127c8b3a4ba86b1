//! `gc-humongous`: objects of half a G1 region or more drive the collector.

use fathom_recording::vocabulary::{fact, figure};

use super::gc_case::{GcCase, blind, cited, most, summed};
use crate::collections::Pause;
use crate::confidence::Ground;
use crate::facts::{
    Value, checks, culprits, meanings, pauses, remedies, ruled_out, scope, switch_on, titles,
};
use crate::{Case, Finding, Judgement, Layer, Remedy, Rule};

/// Share of the concurrent cycles that must be started by humongous allocation. A healthy mix of
/// objects starts cycles by occupancy; in a run built for it 85 of 85 were started so.
const STARTS: f64 = 0.3;
/// From how many cycles on a share is reported.
const CYCLES: usize = 3;
/// Largest region size, bytes: 32 MB, and 512 MB since JDK 18.
const REGION_MAX: (f64, f64) = (32.0 * 1048576.0, 512.0 * 1048576.0);
/// First release with the larger maximum.
const LARGE_REGIONS_JDK: f64 = 18.0;

/// The rule.
pub struct GcHumongous;

impl Rule for GcHumongous {
    fn id(&self) -> &'static str {
        "gc-humongous"
    }

    fn layer(&self) -> Layer {
        Layer::Gc
    }

    fn about(&self) -> &'static str {
        "G1 puts an object of half a region or more into regions of its own, straight in the old generation. Each such \
         allocation checks whether a concurrent cycle is due; many of them start cycle after cycle, waste the rest of \
         their last region, and need regions side by side, for lack of which a full collection follows.\n\n\
         **Evidence.** At least 30% of the concurrent cycles have the cause `G1 Humongous Allocation`; the cost is the \
         pauses with that cause, the remark, cleanup and mixed pauses of these cycles in proportion, and full \
         collections while humongous objects hold regions.\n\n\
         **Confounders.** Cycles started by occupancy (`G1 Evacuation Pause`) or by `System.gc()` name themselves. \
         Humongous objects that live long start no cycles and are ruled out.\n\n\
         **Inconclusive** from a log without causes."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::Collections]
    }

    fn judge(&self, case: &Case<'_>, jvm: fathom_recording::ProcessId) -> Judgement {
        let gc = match GcCase::of(case, jvm, self) {
            Ok(gc) => gc,
            Err(judgement) => return judgement,
        };
        if gc.is_other_than("G1") {
            return Judgement::NotApplicable;
        }
        if !gc.slow.is_empty() && gc.slow.iter().all(|p| p.cause().is_none()) {
            return blind(self, scope::CAUSES.fact(), switch_on::GC_CAUSES.fact());
        }
        let starts: Vec<_> = gc.slow.iter().filter(|p| starts_cycle(p)).collect();
        let caused = gc.slow.iter().filter(|p| is_humongous(p)).count();
        let share = starts.iter().filter(|p| is_humongous(p)).count() as f64 / starts.len().max(1) as f64;
        let cycle_ms = gc.excess_ms(|p| belongs_to_cycle(p) && !is_humongous(p)) * share;
        let cost_ms = gc.excess_ms(|p| is_humongous(p) || is_full_of_them(p)) + cycle_ms;
        if caused >= CYCLES && share >= STARTS && gc.matters(cost_ms) {
            return Judgement::Found(Box::new(found(self, &gc, share, starts.len(), cost_ms)));
        }
        let fact = ruled_out::HUMONGOUS_LITTLE.is(Value::ms(cost_ms)).with("caused", Value::count(caused));
        let fact = fact.with("pauses", Value::count(gc.slow.len()));
        gc.ruled_out_among(gc.slow.len(), fact.with("share", Value::share(share)))
    }
}

fn is_humongous(pause: &Pause<'_>) -> bool {
    pause.cause() == Some("G1 Humongous Allocation")
}

/// The young collection that a concurrent cycle begins with; JDK 8 calls it "initial-mark".
fn starts_cycle(pause: &Pause<'_>) -> bool {
    let name = pause.span.name();
    name.contains("Concurrent Start") || name.contains("Initial Mark") || name.contains("initial-mark")
}

fn belongs_to_cycle(pause: &Pause<'_>) -> bool {
    let name = pause.span.name();
    pause.is_mixed() || name.contains("emark") || name.contains("leanup") || name.contains("Prepare Mixed")
}

/// A full collection for lack of room while there are humongous objects.
fn is_full_of_them(pause: &Pause<'_>) -> bool {
    let for_room = pause.cause().is_none_or(|c| c.starts_with("G1") || c == "Allocation Failure");
    pause.labelled_full() && for_room && pause.flag(figure::HUMONGOUS_BEFORE_REGIONS)
}

fn found(rule: &dyn Rule, gc: &GcCase<'_, '_>, share: f64, starts: usize, cost_ms: f64) -> Finding {
    let caused: Vec<Pause<'_>> = gc.slow.iter().filter(|p| is_humongous(p)).copied().collect();
    let (confidence, why) = gc.named(cost_ms);
    // Of the cycles' other pauses a share is attributed, which is an estimate.
    let is_theirs = |p: &&Pause<'_>| is_humongous(p) || is_full_of_them(p);
    let charged: Vec<Pause<'_>> = gc.slow.iter().filter(is_theirs).copied().collect();
    let mut finding = gc.finding(rule, (Ground::Incomplete.at_most(confidence), why), cost_ms, &charged);
    let title = titles::GC_HUMONGOUS.is(Value::ms(cost_ms)).with("share", Value::share(share));
    finding.title = title.with("cycles", Value::count(starts)).into();
    finding.culprit = culprits::LARGE_ARRAYS.fact().into();
    finding.meaning = meanings::HUMONGOUS.fact().into();
    let region = gc.fact_number(fact::REGION_BYTES).filter(|r| *r > 0.0);
    let size = region.map(|r| Value::bytes(r / 2.0));
    let fact = pauses::HUMONGOUS.is(Value::count(caused.len())).with("size", size);
    finding.evidence.push(summed(gc.source(), fact));
    let freed = |p: &Pause<'_>| {
        let f = |key| p.span.figure(key).unwrap_or(0.0);
        f(figure::HUMONGOUS_BEFORE_REGIONS) - f(figure::HUMONGOUS_AFTER_REGIONS)
    };
    finding.evidence.extend(most(&caused, freed).into_iter().map(|p| {
        let regions = |key| p.span.figure(key).map(Value::counted);
        let before = regions(figure::HUMONGOUS_BEFORE_REGIONS);
        // Logs of JDK 8 and before do not count them.
        match before.zip(regions(figure::HUMONGOUS_AFTER_REGIONS)) {
            Some((before, after)) => {
                cited(&p.span, pauses::HUMONGOUS_REGIONS.is(before).with("after", after))
            }
            None => cited(&p.span, pauses::with_cause(p)),
        }
    }));
    finding.remedies = remedies(gc, region);
    finding.verify = vec![checks::NO_HUMONGOUS_CAUSE.fact().into(), checks::WHO_ALLOCATES.fact().into()];
    finding
}

fn remedies(gc: &GcCase<'_, '_>, region: Option<f64>) -> Vec<Remedy> {
    let max = if gc.jdk().is_some_and(|jdk| jdk >= LARGE_REGIONS_JDK) { REGION_MAX.1 } else { REGION_MAX.0 };
    let larger = match region {
        Some(region) if region < max => {
            let next = (region * 4.0).min(max);
            let larger = remedies::LARGER_REGIONS.is(Value::plain(next / 1048576.0));
            Some(larger.with("limit", Value::bytes(next / 2.0)))
        }
        Some(_) => None,
        None => Some(remedies::LARGER_REGIONS.fact()),
    };
    let mut remedies: Vec<Remedy> = larger.into_iter().map(Into::into).collect();
    remedies.push(remedies::SMALLER_ARRAYS.remedy());
    if gc.jdk().is_some_and(|jdk| jdk <= 8.0) {
        remedies.push(remedies::JDK_8U60.remedy());
    }
    remedies
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built::{Built, judged};

    fn log(humongous: u32, other: u32, ms: f64) -> Built {
        let mut built = Built::jvm("17", "G1", 60.0);
        built.fact(fact::REGION_BYTES, "1048576");
        let figures = [(figure::HUMONGOUS_BEFORE_REGIONS, 40.0), (figure::HUMONGOUS_AFTER_REGIONS, 4.0)];
        for i in 0..humongous + other {
            let cause = if i < humongous { "G1 Humongous Allocation" } else { "G1 Evacuation Pause" };
            built.pause("Pause Young (Concurrent Start)", cause, f64::from(i), ms, &figures);
            built.pause("Pause Remark", "", f64::from(i) + 0.5, ms / 10.0, &figures);
        }
        built
    }

    #[test]
    fn cycles_started_by_large_objects_are_charged_with_their_pauses() {
        let Judgement::Found(finding) = judged(&GcHumongous, &log(40, 10, 100.0).sealed()) else {
            panic!("not found")
        };
        assert!((finding.cost_ms - (40.0 * 100.0 + 0.8 * 50.0 * 10.0)).abs() < 1e-6, "{}", finding.cost_ms);
        finding.remedies[0].change.states(&remedies::LARGER_REGIONS, &[("value", "4.0")]);
    }

    #[test]
    fn regions_that_the_log_does_not_count_are_not_said_to_be_none() {
        let mut built = Built::jvm("8", "G1", 60.0);
        for i in 0..40 {
            let (name, cause) = ("GC pause (young) (initial-mark)", "G1 Humongous Allocation");
            built.pause(name, cause, f64::from(i), 100.0, &[]);
        }
        let Judgement::Found(finding) = judged(&GcHumongous, &built.sealed()) else { panic!("not found") };
        let cited: Vec<_> = finding.evidence[1..].iter().map(|e| e.metric()).collect();
        assert!(!cited.is_empty() && cited.iter().all(|metric| *metric == "pause"), "{cited:?}");
    }

    #[test]
    fn full_collections_that_are_charged_are_among_its_windows() {
        let mut built = log(40, 10, 100.0);
        let figures = [(figure::HUMONGOUS_BEFORE_REGIONS, 40.0), (figure::HUMONGOUS_AFTER_REGIONS, 4.0)];
        built.pause("Pause Full", "G1 Compaction Pause", 55.0, 2_000.0, &figures);
        let Judgement::Found(finding) = judged(&GcHumongous, &built.sealed()) else { panic!("not found") };
        let last = finding.windows.last().unwrap();
        assert!(last.to_ns >= 57_000_000_000, "{:?}", finding.windows);
    }

    #[test]
    fn cycles_started_by_occupancy_are_not_it() {
        let Judgement::RuledOut { figure, .. } = judged(&GcHumongous, &log(4, 46, 100.0).sealed()) else {
            panic!()
        };
        assert!((figure.fact().number("share").unwrap() - 0.08).abs() < 1e-9, "{figure}");
    }

    #[test]
    fn cheap_ones_do_not_matter_and_other_collectors_have_none() {
        let Judgement::RuledOut { figure, .. } = judged(&GcHumongous, &log(40, 0, 2.0).sealed()) else {
            panic!()
        };
        assert_eq!(figure.fact().number("caused"), Some(40.0), "{figure}");
        let mut parallel = Built::jvm("17", "Parallel", 60.0);
        parallel.pause("Pause Full", "Ergonomics", 1.0, 9_000.0, &[]);
        assert_eq!(judged(&GcHumongous, &parallel.sealed()), Judgement::NotApplicable);
    }

    #[test]
    fn a_log_without_causes_is_inconclusive() {
        let mut built = Built::jvm("17", "G1", 60.0);
        built.pause("Pause Young", "", 1.0, 50.0, &[]);
        assert!(matches!(judged(&GcHumongous, &built.sealed()), Judgement::Inconclusive(_)));
    }
}
