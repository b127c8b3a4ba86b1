//! `gc-evacuation-failure`: a collection finds no room to copy survivors to, or CMS is overtaken by
//! allocation.

use fathom_recording::vocabulary::{fact, figure};

use super::gc_case::{GcCase, cited, median, most, summed};
use super::{finalizer_backlog, gc_heap_too_small};
use crate::collections::Pause;
use crate::confidence::Ground;
use crate::facts::{Value, checks, culprits, meanings, pauses, reasons, remedies, ruled_out, titles};
use crate::limits::cost_little;
use crate::{Case, Fact, Finding, Judgement, Layer, Remedy, Rule, failures};

/// A full collection that starts within this many pauses after a failure is its consequence.
const NEXT: usize = 2;

/// Share of the heap below which a full collection had another reason than a lack of room.
const ROOM: f64 = 0.5;

/// Share of the heap that full collections leave in use, from which on it is full of what is kept …
const FULL: f64 = 0.9;
/// … where this many of them leave it so.
const SEVERAL_FULL: usize = 3;

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
         Allocation)` since 21, JDK 8 `to-space exhausted` and `(young)--`, `promotion failed`, `concurrent mode failure`, \
         `concurrent mode interrupted`), or a full collection of G1 or CMS, which are built to do without, that nobody \
         asked for. One is a finding, for the next one may take as long as the heap is large. The cost is what these \
         pauses took above the usual young pause, and the full collections; where a series shows what was lost, that must \
         be a good part of it.\n\n\
         **Confounders.** `(Evacuation Failure: Pinned)` of JDK 22 and later is no lack of room: native code holds an \
         array (`gc-locker`). A full collection that was asked for is `gc-explicit`, one for class memory `gc-metaspace`."
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
        let collector = gc.collector();
        let failed: Vec<Pause<'_>> =
            gc.judged().filter(|p| !failures::of(p, collector).is_empty()).copied().collect();
        let mut cut = gc.judged_cut_off();
        cut.retain(|p| !failures::of(p, collector).is_empty());
        if failed.is_empty() && cut.is_empty() {
            let pauses = gc.judged().count();
            return gc.ruled_out_among(pauses, ruled_out::NO_FAILURE.is(Value::count(pauses)));
        }
        let has_failed = |p: &Pause<'_>| !failures::of(p, collector).is_empty();
        let usual = gc.usual_ms(|p| p.is_young() && !has_failed(p));
        let full = following_full(gc.judged(), collector);
        let above = |p: &Pause<'_>| if p.labelled_full() { p.ms() } else { (p.ms() - usual).max(0.0) };
        let beyond: f64 = gc.slow.iter().filter(|p| has_failed(p)).map(above).sum();
        let base: f64 = gc.base_of(has_failed).iter().map(above).sum();
        let then: f64 = full.iter().filter(|p| gc.is_slow(p)).map(Pause::ms).sum();
        let cost_ms = case.excess_ms(beyond, base) + then;
        let longest = failed.iter().chain(&full).map(Pause::ms).fold(0.0, f64::max);
        if gc.on_stops() || gc.matters(cost_ms) || (cost_ms > 0.0 && gc.stands_out(longest, usual)) {
            let seen = Seen { failed: &failed, cut: &cut, full: &full };
            return Judgement::Found(Box::new(found(self, &gc, &seen, cost_ms, usual)));
        }
        let fact = pauses::FAILURES.is(Value::ms(cost_ms));
        gc.ruled_out(fact.with("failures", counted(failed.iter().chain(&cut), collector)))
    }
}

/// "2 × promotion failed, 1 × concurrent mode failure": in the words of the logs.
fn counted<'p, 'a: 'p>(failed: impl Iterator<Item = &'p Pause<'a>>, collector: Option<&str>) -> Value {
    let mut times: Vec<(&str, usize)> = Vec::new();
    for word in failed.flat_map(|p| failures::of(p, collector)) {
        match times.iter_mut().find(|(known, _)| *known == word) {
            Some((_, n)) => *n += 1,
            None => times.push((word, 1)),
        }
    }
    times.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let one = |(word, n)| titles::GC_FAILURE.is(Value::count(n)).with("failure", Value::name(word));
    Value::list(times.into_iter().map(one))
}

/// Full collections for lack of room right after a failure, beyond those that are one themselves.
fn following_full<'a, 'p>(
    pauses: impl Iterator<Item = &'p Pause<'a>>,
    collector: Option<&str>,
) -> Vec<Pause<'a>>
where
    'a: 'p,
{
    let mut full = Vec::new();
    let mut left = 0;
    for pause in pauses {
        if !failures::of(pause, collector).is_empty() {
            left = NEXT;
        } else if left > 0 {
            left -= 1;
            if pause.labelled_full() && !failures::was_asked_for(pause) {
                full.push(*pause);
            }
        }
    }
    full
}

/// What failed.
struct Seen<'s, 'a> {
    failed: &'s [Pause<'a>],
    /// Records that are truncated: how long these took is not known.
    cut: &'s [Pause<'a>],
    /// Full collections that followed.
    full: &'s [Pause<'a>],
}

fn found(
    rule: &dyn Rule,
    gc: &GcCase<'_, '_>,
    &Seen { failed, cut, full }: &Seen<'_, '_>,
    cost_ms: f64,
    usual_ms: f64,
) -> Finding {
    let collector = gc.collector();
    let both = [failed, full].concat();
    let mut finding = gc.finding(rule, gc.named(cost_ms), cost_ms, &both);
    // A young collection that failed and became a full one; those that are called full say so
    // themselves.
    let became = |p: &&Pause<'_>| {
        let said = failures::of(p, collector).contains(&failures::FULL) || p.span.name().contains("Full");
        p.labelled_full() && !said
    };
    let within = failed.iter().filter(became).count();
    let some = |n: usize| (n > 0).then(|| Value::count(n));
    let lost = (cost_ms > 0.0).then(|| Value::ms(gc.case.explained_ms(cost_ms)));
    let title = Fact { value: lost, ..titles::GC_EVACUATION_FAILURE.fact() };
    let title = title.with("failures", counted(failed.iter().chain(cut), collector));
    let title = title.with("within", some(within)).with("followed", some(full.len()));
    finding.title = title.with("truncated", some(cut.len())).into();
    finding.culprit = culprits::NO_ROOM.fact().into();
    finding.meaning = meanings::NO_ROOM_IN_COLLECTION.fact().into();
    let had_room = cut.is_empty() && had_room(gc, &both);
    if had_room {
        // The log names no failure, and the heap had room: what was full is something else, as the
        // permanent generation.
        let why = &reasons::HAD_ROOM;
        (finding.confidence, finding.why_confidence) = Ground::Fits.because(gc.case, cost_ms, why);
        finding.culprit = culprits::NOT_NAMED.fact().into();
        finding.meaning = meanings::FULL_WITH_ROOM.fact().into();
    }
    // It happened, which the log names, and slows nothing down that anybody would notice.
    if gc.case.whole_run && cut.is_empty() && cost_little(cost_ms, Case::length_ms(&gc.case.slow)) {
        finding.confidence = Ground::Fits.at_most(finding.confidence);
        finding.why_confidence.push(reasons::COST_TOO_LITTLE.fact().into());
    }
    if usual_ms > 0.0 {
        finding.evidence.push(summed(gc.source(), pauses::USUAL_YOUNG.is(Value::ms(usual_ms))));
    }
    finding.evidence.extend(most(&both, Pause::ms).into_iter().map(|p| {
        let after = p.span.figure(figure::HEAP_AFTER_BYTES).zip(gc.heap_max_bytes());
        let failed = Some(failures::of(p, collector)).filter(|failed| !failed.is_empty());
        let fact = pauses::pause(p).with("failed", failed.map(|failed| Value::name(failed.join(", "))));
        cited(&p.span, fact.with("heap-after", after.map(|(after, heap)| Value::share(after / heap))))
    }));
    finding.evidence.extend(cut.first().map(|p| {
        let failed = Value::name(failures::of(p, collector).join(", "));
        cited(&p.span, pauses::PAUSE_CUT_OFF.is(Value::name(p.span.name())).with("failed", failed))
    }));
    if had_room {
        finding.remedies = vec![remedies::LOOK_BESIDES_THE_HEAP.remedy()];
        finding.verify = vec![checks::NO_FULL_WITH_ROOM.fact().into()];
        return finding;
    }
    finding.remedies = remedies(gc, full_of_live(gc, &both));
    finding.verify = vec![checks::NO_FAILURES.fact().into(), checks::HEAP_BELOW_LIMIT.fact().into()];
    if !had_room {
        finalizer_backlog::tell(gc.case, gc.jvm, &mut finding);
    }
    finding
}

/// Whether no collection names a failure of its own, and the heap was known to have room before
/// each of them.
fn had_room(gc: &GcCase<'_, '_>, pauses: &[Pause<'_>]) -> bool {
    let has_room = |p: &Pause<'_>| {
        let before = p.span.figure(figure::HEAP_BEFORE_BYTES).zip(gc.heap_max_bytes());
        let unnamed = failures::of(p, gc.collector()).iter().all(|failure| *failure == failures::FULL);
        unnamed && before.is_some_and(|(before, heap)| before < ROOM * heap)
    };
    !pauses.is_empty() && pauses.iter().all(has_room)
}

/// What full collections leave in use, bytes, in the median, where that fills the heap: objects
/// that are reachable, for which a later start of collections makes no room.
fn full_of_live(gc: &GcCase<'_, '_>, pauses: &[Pause<'_>]) -> Option<f64> {
    let heap = gc.heap_max_bytes()?;
    let full = pauses.iter().filter(|p| p.labelled_full());
    let left: Vec<f64> = full.filter_map(|p| p.span.figure(figure::HEAP_AFTER_BYTES)).collect();
    let middle = median(left.iter().copied());
    (left.len() >= SEVERAL_FULL && middle >= FULL * heap).then_some(middle)
}

fn remedies(gc: &GcCase<'_, '_>, live: Option<f64>) -> Vec<Remedy> {
    if let Some(live) = live {
        return match gc_heap_too_small::remedies::less_before(gc, live) {
            Some(before) => vec![
                remedies::FIND_WHAT_FILLS.is(Value::bytes(live)).over(Value::bytes(before)).into(),
                remedies::LARGER_HEAP_DELAYS.remedy(),
            ],
            None => vec![remedies::SMALLER_LIVE_SET.remedy(), remedies::LARGER_HEAP_UNLESS_IT_GROWS.remedy()],
        };
    }
    let mut remedies = vec![remedies::LARGER_HEAP.remedy()];
    match gc.fact(fact::COLLECTOR) {
        Some("G1") => {
            remedies.push(remedies::G1_RESERVE.remedy());
            remedies.push(remedies::EARLIER_CYCLES_OF_G1.remedy());
        }
        Some("CMS") => remedies.push(remedies::EARLIER_CYCLES_OF_CMS.remedy()),
        _ => {}
    }
    remedies.push(remedies::SMALLER_LIVE_SET.remedy());
    remedies
}

#[cfg(test)]
mod tests {
    use crate::Confidence;
    use fathom_recording::vocabulary::{failure, kind, label};

    use super::*;
    use crate::built::{Built, judged, slow_and_base};

    const FAILED: [(&str, f64); 1] = [(figure::EVACUATION_FAILURE, 1.0)];

    fn healthy() -> Built {
        let mut built = Built::jvm("17", "G1", 60.0);
        for i in 0..50 {
            built.pause("Pause Young (Normal)", "G1 Evacuation Pause", f64::from(i), 20.0, &[]);
        }
        built
    }

    /// How collections failed, and how often each way.
    fn failed(finding: &Finding) -> Vec<(String, f64)> {
        let failures = finding.says(&titles::GC_EVACUATION_FAILURE).detail("failures").unwrap().parts();
        let one = |part: &Fact| Some((part.name("failure")?.to_owned(), part.number("value")?));
        failures.iter().map(|part| one(part).unwrap()).collect()
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
        assert!(finding.advises(&remedies::G1_RESERVE), "{:?}", finding.remedies);
    }

    /// An earlier start of concurrent cycles makes no room among objects that are reachable.
    #[test]
    fn a_heap_full_of_what_is_kept_wants_to_be_looked_into() {
        let mut built = healthy();
        built.fact(fact::HEAP_MAX_BYTES, "1000000000");
        let left = [(figure::HEAP_BEFORE_BYTES, 999e6), (figure::HEAP_AFTER_BYTES, 990e6)];
        for i in 0..5 {
            built.pause("Pause Full", "G1 Compaction Pause", 50.5 + f64::from(i), 400.0, &left);
        }
        let Judgement::Found(finding) = judged(&GcEvacuationFailure, &built.sealed()) else {
            panic!("not found")
        };
        assert!(
            std::ptr::eq(finding.remedies[0].change.fact().metric, &remedies::SMALLER_LIVE_SET),
            "{:?}",
            finding.remedies
        );
        assert!(!finding.advises(&remedies::EARLIER_CYCLES_OF_G1), "{:?}", finding.remedies);
    }

    /// What other stops take in as much time as usual was not lost by the full collections that
    /// fill the slow windows.
    #[test]
    fn no_more_is_said_to_be_lost_than_was() {
        let mut built = healthy();
        built.pause("Pause Full", "G1 Compaction Pause", 55.0, 300.0, &[]);
        built.pause("Pause Full", "G1 Compaction Pause", 55.31, 400.0, &[]);
        let diagnosis = crate::diagnose(&built.sealed(), &crate::Options::default()).unwrap();
        let finding = &diagnosis.findings[0];
        let said = finding.says(&titles::GC_EVACUATION_FAILURE).number("value").unwrap();
        assert!(
            diagnosis.loss.lost_ms > 0.0 && said <= diagnosis.loss.lost_ms,
            "{said} of {:?}",
            diagnosis.loss
        );
    }

    #[test]
    fn a_failure_that_cost_milliseconds_is_reported_and_no_likely_cause() {
        let mut built = healthy();
        built.pause("Pause Young (Normal)", "G1 Evacuation Pause", 50.0, 24.0, &FAILED);
        let Judgement::Found(finding) = judged(&GcEvacuationFailure, &built.sealed()) else {
            panic!("not found")
        };
        assert_eq!((finding.cost_ms, finding.confidence), (4.0, Confidence::ConsistentWith));
    }

    #[test]
    fn a_failure_before_the_window_is_reported_with_the_full_collection_that_it_caused() {
        let judged = |failed_at: f64| {
            let mut built = healthy();
            built.pause("Pause Young (Normal)", "G1 Evacuation Pause", failed_at, 800.0, &FAILED);
            built.pause("Pause Full", "G1 Compaction Pause", 52.0, 5_000.0, &[]);
            let (jvm, recording) = (built.jvm, built.sealed());
            GcEvacuationFailure.judge(&slow_and_base(&recording, (52, 58), (0, 40), 0.9), jvm)
        };
        let title = |judgement| match judgement {
            Judgement::Found(finding) => failed(&finding),
            other => panic!("{other:?}"),
        };
        let once = |failure: &str| (failure.to_owned(), 1.0);
        let full = once(failures::FULL);
        assert_eq!(title(judged(50.5)), [once(failure::EVACUATION_FAILURE), full.clone()]);
        assert_eq!(title(judged(41.0)), [full]);
    }

    #[test]
    fn one_failure_is_named_with_what_it_cost_however_little() {
        for (ms, cost) in [(5_020.0, 5_000.0), (30.0, 10.0), (5.0, 0.0)] {
            let mut built = healthy();
            built.pause("Pause Young (Normal)", "G1 Evacuation Pause", 50.0, ms, &FAILED);
            let Judgement::Found(finding) = judged(&GcEvacuationFailure, &built.sealed()) else {
                panic!("not found")
            };
            assert_eq!(failed(&finding), [(failure::EVACUATION_FAILURE.to_owned(), 1.0)]);
            assert_eq!(finding.cost_ms, cost);
        }
    }

    #[test]
    fn a_failure_is_called_what_the_log_calls_it() {
        for word in [
            failure::CONCURRENT_MODE_FAILURE,
            failure::CONCURRENT_MODE_INTERRUPTED,
            failure::PROMOTION_FAILED,
            failure::EVACUATION_FAILURE,
        ] {
            let mut built = healthy();
            built.fact(fact::COLLECTOR, "CMS");
            built.span(kind::GC_PAUSE, "GC", 50.0, 90.0, &[], &[(label::FAILURE, word)]);
            let Judgement::Found(finding) = judged(&GcEvacuationFailure, &built.sealed()) else {
                panic!("{word} not found")
            };
            assert_eq!(failed(&finding), [(word.to_owned(), 1.0)]);
        }
    }

    #[test]
    fn a_failure_in_a_record_that_is_cut_off_is_named_without_a_cost() {
        let mut built = healthy();
        built.fact(fact::COLLECTOR, "CMS");
        let labels = [(label::FAILURE, failure::PROMOTION_FAILED)];
        built.span(kind::GC_CUT, "GC", 50.0, 0.0, &[], &labels);
        built.span(
            kind::GC_CUT,
            "Full GC",
            51.0,
            0.0,
            &[(figure::FULL, 1.0)],
            &[(label::CAUSE, "System.gc()")],
        );
        let Judgement::Found(finding) = judged(&GcEvacuationFailure, &built.sealed()) else {
            panic!("not found")
        };
        finding.title.states(
            &titles::GC_EVACUATION_FAILURE,
            &[("failures", "1 × promotion failed"), ("truncated", "1")],
        );
        assert_eq!(finding.facts(&pauses::PAUSE_CUT_OFF).count(), 1, "{:?}", finding.evidence);
        let json = serde_json::to_value(&finding).unwrap();
        assert!(json["cost_ms"].is_null(), "{json}");
    }

    #[test]
    fn a_failed_scavenge_that_became_a_full_collection_is_said_to_be_one() {
        let mut built = healthy();
        built.fact(fact::COLLECTOR, "CMS");
        let labels = [(label::FAILURE, failure::PROMOTION_FAILED)];
        let outer = built.span(kind::GC_PAUSE, "Pause Young", 50.0, 90.0, &[], &labels);
        built.nested("Pause Full", 50.02, 60.0, outer);
        let Judgement::Found(finding) = judged(&GcEvacuationFailure, &built.sealed()) else {
            panic!("not found")
        };
        finding
            .title
            .states(&titles::GC_EVACUATION_FAILURE, &[("failures", "1 × promotion failed"), ("within", "1")]);
        let mut built = healthy();
        built.fact(fact::COLLECTOR, "CMS");
        let outer = built.span(kind::GC_PAUSE, "Pause Young", 50.0, 90.0, &[], &[]);
        built.nested("Pause Full", 50.02, 60.0, outer);
        let Judgement::Found(finding) = judged(&GcEvacuationFailure, &built.sealed()) else {
            panic!("not found")
        };
        finding.title.states(&titles::GC_EVACUATION_FAILURE, &[("within", "")]);
    }

    #[test]
    fn a_full_collection_of_a_collector_that_does_without_is_a_failure_and_one_of_another_is_not() {
        for (collector, cause, is) in [
            ("CMS", "", true),
            ("G1", "G1 Compaction Pause", true),
            ("CMS", "System.gc()", false),
            ("G1", "Metadata GC Threshold", false),
            ("Parallel", "Ergonomics", false),
        ] {
            let mut built = healthy();
            built.fact(fact::COLLECTOR, collector);
            built.pause("Full GC", cause, 50.0, 90.0, &[]);
            let found = matches!(judged(&GcEvacuationFailure, &built.sealed()), Judgement::Found(_));
            assert_eq!(found, is, "{collector} {cause}");
        }
    }

    #[test]
    fn a_full_collection_of_a_heap_with_room_is_not_said_to_lack_it() {
        let of = |before: f64| {
            let mut built = healthy();
            built.fact(fact::COLLECTOR, "CMS");
            built.fact(fact::HEAP_MAX_BYTES, "1000000000");
            built.pause("Full GC", "", 50.0, 2_000.0, &[(figure::HEAP_BEFORE_BYTES, before)]);
            let Judgement::Found(finding) = judged(&GcEvacuationFailure, &built.sealed()) else { panic!() };
            (finding.culprit.fact().metric, finding.confidence)
        };
        assert_eq!(of(3e8), (&culprits::NOT_NAMED, Confidence::ConsistentWith));
        assert_eq!(of(9e8), (&culprits::NO_ROOM, Confidence::Likely));
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
        let Judgement::Found(finding) = judged(&GcEvacuationFailure, &built.sealed()) else {
            panic!("not found")
        };
        assert_eq!(finding.cost_ms, 10.0);
    }

    #[test]
    fn healthy_is_ruled_out() {
        let Judgement::RuledOut { figure, .. } = judged(&GcEvacuationFailure, &healthy().sealed()) else {
            panic!()
        };
        figure.states(&ruled_out::NO_FAILURE, &[("value", "50")]);
    }
}
