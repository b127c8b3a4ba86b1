//! `heap-leak`: what the application holds on to grows without end.

use fathom_recording::vocabulary::{fact, figure, kind};

use super::gc_case::{GcCase, blind, cited, remedy, summed};
use crate::collections::{LivePoint, Pause, live_points};
use crate::live_set::{Growth, READINGS, Rise};
use crate::{Case, Confidence, Finding, Judgement, Layer, Rule, quantity};

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
         of a series, whole concurrent cycles), over the whole run: its slope is above zero with its whole 95 % \
         confidence interval, it amounts to a fifth of the heap or more, the later half rises at least half as fast as \
         the earlier, and the live set has passed 70 % of the heap. The time until the heap is full follows from the \
         slope.\n\n\
         **Look-alikes.** Heap after *young* collections rises in every healthy program and is not used. A cache that \
         warms up flattens. A heap too small for a steady live set does not rise.\n\n\
         **Ruled out** by the slope. With too few collections of the old generation, or a growth that has cost \
         nothing yet, it is not known. Proof: \
         two class histograms some time apart, or a heap dump."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::Collections]
    }

    fn judge(&self, case: &Case<'_>, jvm: fathom_recording::ProcessId) -> Judgement {
        let gc = match GcCase::of(case, jvm, self) {
            Ok(gc) => gc,
            Err(judgement) => return judgement,
        };
        let points = live_points(case.recording, jvm, None);
        let Some(heap) = gc.heap_max_bytes() else {
            return blind(self, "the size of the heap", "-Xlog:gc* (JDK 8: -XX:+PrintGCDetails)");
        };
        if points.len() < READINGS {
            return self.not_known(
                &gc,
                &format!(
                    "{} of the old generation are too few to tell, {READINGS} are needed",
                    quantity::plural(points.len(), "collection", "collections")
                ),
            );
        }
        let Some(rise) = Rise::of(&points, heap) else {
            return self
                .not_known(&gc, "the collections of the old generation are not far enough apart in time");
        };
        match rise.growth() {
            Growth::None(why_not) => return gc.ruled_out(why_not),
            // A growth that goes on is not ruled out by having cost little so far.
            Growth::Unsure(why) | Growth::Early(why) => return self.not_known(&gc, &why),
            Growth::Leak => {}
        }
        let cost_ms = gc.excess_ms(|p| p.collected_old() || p.is_mixed());
        if !case.matters(cost_ms) && !exhausted(&rise, heap) {
            return self.not_known(
                &gc,
                &format!(
                    "it grows by {} an hour, and collections of the old generation took {} so far",
                    quantity::bytes(rise.all.slope * 3600.0),
                    quantity::millis(cost_ms)
                ),
            );
        }
        Judgement::Found(Box::new(found(self, &gc, &points, &rise, heap, cost_ms)))
    }
}

impl HeapLeak {
    fn not_known(&self, gc: &GcCase<'_, '_>, why: &str) -> Judgement {
        let what = format!("whether the live set of {} goes on growing: {why}", gc.case.jvm_name(gc.jvm));
        blind(self, what, "a longer log, or jcmd PID GC.class_histogram twice, some time apart")
    }
}

/// Whether the live set has reached what an application cannot go on with.
fn exhausted(rise: &Rise, heap: f64) -> bool {
    rise.last >= EXHAUSTED * heap
}

fn found(
    rule: &dyn Rule,
    gc: &GcCase<'_, '_>,
    points: &[LivePoint<'_>],
    rise: &Rise,
    heap: f64,
    cost_ms: f64,
) -> Finding {
    let error = gc.case.recording.spans_of(kind::JVM_WARNING).find(|w| {
        w.process() == gc.jvm && w.name().contains("OutOfMemoryError") && !w.name().contains("Metaspace")
    });
    let sure = if error.is_some() || exhausted(rise, heap) {
        (
            Confidence::Likely,
            "the growth goes on until the heap is full; what holds the objects is not in a GC log".to_owned(),
        )
    } else {
        (
            Confidence::ConsistentWith,
            "a cache without a limit that is still filling looks the same until it stops".to_owned(),
        )
    };
    let old: Vec<Pause<'_>> = gc.slow.iter().filter(|p| p.collected_old() || p.is_mixed()).copied().collect();
    let mut finding = gc.finding(rule, sure, cost_ms, &old);
    let left = if exhausted(rise, heap) {
        "and is at its end".to_owned()
    } else {
        format!("and fills it in {}", quantity::seconds(rise.seconds_left()))
    };
    let minute = |slope: f64| quantity::bytes(slope * 60.0);
    let flattens = match rise.late.slope < STEADY * rise.early.slope {
        true => format!(
            " (more slowly of late: {}, before that {})",
            minute(rise.late.slope),
            minute(rise.early.slope)
        ),
        false => " without flattening".to_owned(),
    };
    finding.title = format!(
        "the live set grows by {} a minute{flattens}, has reached {} of the heap {left}",
        minute(rise.all.slope),
        quantity::share((rise.last / heap).min(1.0)),
    );
    finding.culprit = "objects that the application keeps referring to".into();
    finding.meaning =
        "After each collection more memory stays in use. Collections come more often and free less, \
                       until the application does little else or fails with an OutOfMemoryError."
            .into();
    let text = format!(
        "heap after {} of the old generation: {} to {}, {} a minute (95 % between {} and {}); {} in the earlier half, {} in the later",
        quantity::plural(points.len(), "collection", "collections"),
        quantity::bytes(rise.first.max(0.0)),
        quantity::bytes(rise.last),
        quantity::bytes(rise.all.slope * 60.0),
        quantity::bytes(rise.all.low * 60.0),
        quantity::bytes(rise.all.high * 60.0),
        quantity::bytes(rise.early.slope * 60.0),
        quantity::bytes(rise.late.slope * 60.0),
    );
    finding.evidence.push(summed(gc.source(), text));
    for point in points.first().into_iter().chain(points.last()) {
        finding.evidence.push(cited(
            &point.span,
            format!("{} in use after {}", quantity::bytes(point.bytes), point.span.name()),
        ));
    }
    finding.evidence.extend(error.map(|e| cited(&e, e.name().to_owned())));
    finding.remedies = remedies(gc);
    finding.verify = vec![
        "jcmd PID GC.class_histogram twice, some time apart: the classes whose numbers only rise are what leaks".into(),
        "after the fix, fathom gc shows no sure growth of the live set".into(),
    ];
    finding
}

fn remedies(gc: &GcCase<'_, '_>) -> Vec<crate::Remedy> {
    let mut remedies = vec![
        remedy(
            "find what holds the objects: -XX:+HeapDumpOnOutOfMemoryError, or jcmd PID GC.heap_dump FILE, opened in Eclipse MAT (dominator tree)",
            "any JDK",
            "a dump stops the application while it is written and holds its data",
        ),
        remedy(
            "a limit for caches, maps and queues that only grow; listeners and thread locals removed",
            "any JDK",
            "code change",
        ),
    ];
    if gc.jdk().is_none_or(|jdk| jdk >= 11.0) {
        remedies.push(remedy(
            "JFR with jdk.OldObjectSample (path-to-gc-roots=true)",
            "JDK 11 and later",
            "a stop when the recording ends",
        ));
    }
    let growable =
        gc.fact_number(fact::MEMORY_BYTES).zip(gc.heap_max_bytes()).is_some_and(|(m, heap)| m > 2.0 * heap);
    if growable {
        remedies.push(remedy("a larger -Xmx only buys time", "any JDK", "longer collections before the end"));
    }
    remedies
}

/// The share of the largest heap that stays in use: the median of the last readings.
pub(super) fn live_share(gc: &GcCase<'_, '_>) -> Option<(f64, f64)> {
    let points = live_points(gc.case.recording, gc.jvm, None);
    let last = points.iter().rev().take(READINGS).map(|p| p.bytes);
    let heap = gc.heap_max_bytes()?;
    (!points.is_empty()).then(|| (super::gc_case::median(last), heap))
}

/// Whether the live set rises as a leak does.
pub(super) fn leaks(gc: &GcCase<'_, '_>) -> bool {
    let points = live_points(gc.case.recording, gc.jvm, None);
    let rise = gc.heap_max_bytes().and_then(|heap| Rise::of(&points, heap));
    rise.is_some_and(|rise| rise.growth() == Growth::Leak)
}

/// What a pause left in use, as a share of the heap, to be told beside it.
pub(super) fn left_share(pause: &Pause<'_>, heap: f64) -> Option<f64> {
    Some(pause.span.figure(figure::HEAP_AFTER_BYTES)? / heap)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built::{Built, judged};

    const MB: f64 = 1024.0 * 1024.0;

    /// Twenty full collections a minute apart, with the live set of `live` at each.
    fn log(live: impl Fn(f64) -> f64, ms: f64) -> Built {
        let mut built = Built::jvm("17", "Parallel", 1_200.0);
        built.fact(fact::HEAP_MAX_BYTES, "1073741824");
        for i in 0..20 {
            let wobble = if i % 3 == 0 { 7.0 } else { -4.0 };
            let figures = [(figure::HEAP_AFTER_BYTES, (live(f64::from(i)) + wobble) * MB)];
            built.pause("Pause Full", "Ergonomics", 30.0 + f64::from(i) * 60.0, ms, &figures);
        }
        built
    }

    #[test]
    fn a_live_set_that_rises_to_the_end_is_a_leak_with_its_slope_and_time_left() {
        let recording = log(|i| 200.0 + 35.0 * i, 4_000.0).sealed();
        let Judgement::Found(finding) = judged(&HeapLeak, &recording) else { panic!("not found") };
        assert_eq!(finding.confidence, Confidence::ConsistentWith);
        assert!(
            finding.title.contains("grows by 35.") || finding.title.contains("grows by 34."),
            "{}",
            finding.title
        );
        assert!(finding.title.contains("fills it in"), "{}", finding.title);
        let full = log(|i| 100.0 + 48.0 * i, 4_000.0).sealed();
        let Judgement::Found(finding) = judged(&HeapLeak, &full) else { panic!("not found") };
        assert_eq!(finding.confidence, Confidence::Likely);
    }

    #[test]
    fn a_growth_that_slows_down_is_not_said_to_go_on_without_flattening() {
        let slower = |i: f64| 200.0 + if i < 10.0 { 50.0 * i } else { 500.0 + 28.0 * (i - 10.0) };
        let Judgement::Found(finding) = judged(&HeapLeak, &log(slower, 4_000.0).sealed()) else {
            panic!("not found")
        };
        assert!(finding.title.contains("more slowly of late"), "{}", finding.title);
        let Judgement::Found(finding) = judged(&HeapLeak, &log(|i| 200.0 + 35.0 * i, 4_000.0).sealed())
        else {
            panic!("not found")
        };
        assert!(finding.title.contains("without flattening"), "{}", finding.title);
    }

    #[test]
    fn a_leak_that_cost_nothing_where_the_jvm_was_slow_is_told_without_a_cost() {
        // The heap is full at its end, and what is slow is a stop of another sort.
        let mut built = log(|i| 100.0 + 48.0 * i, 5.0);
        built.span(fathom_recording::vocabulary::kind::SAFEPOINT, "ThreadDump", 605.0, 4_000.0, &[], &[]);
        let d = crate::diagnose(&built.sealed(), &crate::Options::default()).unwrap();
        let leak = d.findings.iter().find(|finding| finding.rule == "heap-leak").expect("the leak");
        assert_eq!((leak.cost_ms, leak.share), (0.0, None), "{}", leak.title);
        let json = serde_json::to_value(leak).unwrap();
        assert!(json["cost_ms"].is_null(), "{json}");
    }

    #[test]
    fn a_cache_that_fills_flattens() {
        let recording = log(|i| 100.0 + 750.0 * (1.0 - (-i / 4.0).exp()), 4_000.0).sealed();
        let Judgement::RuledOut { figure, .. } = judged(&HeapLeak, &recording) else { panic!("found") };
        assert!(figure.contains("flattens"), "{figure}");
    }

    #[test]
    fn a_steady_live_set_is_ruled_out_with_its_interval() {
        let Judgement::RuledOut { figure, .. } = judged(&HeapLeak, &log(|_| 900.0, 4_000.0).sealed()) else {
            panic!("found")
        };
        assert!(figure.contains("95 % between -"), "{figure}");
    }

    #[test]
    fn a_rise_after_young_collections_alone_is_no_reading_at_all() {
        let mut built = Built::jvm("17", "Parallel", 1_200.0);
        built.fact(fact::HEAP_MAX_BYTES, "1073741824");
        for i in 0..100 {
            let figures = [(figure::HEAP_AFTER_BYTES, f64::from(i) * 9.0 * MB)];
            built.pause("Pause Young", "Allocation Failure", f64::from(i) * 10.0, 2_000.0, &figures);
        }
        let Judgement::CannotTell(spot) = judged(&HeapLeak, &built.sealed()) else { panic!("told") };
        assert!(spot.what.contains("0 collections of the old generation are too few"), "{}", spot.what);
    }

    #[test]
    fn a_slow_growth_far_from_the_end_is_no_finding_and_not_ruled_out() {
        let Judgement::CannotTell(spot) = judged(&HeapLeak, &log(|i| 100.0 + 15.0 * i, 400.0).sealed())
        else {
            panic!("told")
        };
        assert!(spot.what.contains("if that goes on"), "{}", spot.what);
    }

    #[test]
    fn readings_that_scatter_too_much_rule_nothing_out() {
        let scattered = log(|i| 500.0 + if (i as u32).is_multiple_of(2) { 350.0 } else { -350.0 }, 4_000.0);
        let Judgement::CannotTell(spot) = judged(&HeapLeak, &scattered.sealed()) else { panic!("told") };
        assert!(spot.what.contains("too uncertain"), "{}", spot.what);
    }
}
