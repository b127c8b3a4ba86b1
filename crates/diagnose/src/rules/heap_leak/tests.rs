//! What is a leak and what is not, and what a heap dump and samples of allocations add.

use super::*;
use crate::Confidence;
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
    let growth = finding.fact(&pauses::LIVE_SET_GROWTH);
    assert!((growth.number("value").unwrap() / MB - 35.0).abs() < 0.5, "{growth:?}");
    assert!(growth.number("left").unwrap() > 0.0, "{growth:?}");
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
    let growth = finding.fact(&pauses::LIVE_SET_GROWTH);
    let halves = ["early", "late"].map(|half| (growth.number(half).unwrap() / MB).round());
    assert_eq!((halves, growth.name("pace")), ([50.0, 28.0], Some("slowing")));
    let Judgement::Found(finding) = judged(&HeapLeak, &log(|i| 200.0 + 35.0 * i, 4_000.0).sealed()) else {
        panic!("not found")
    };
    assert_eq!(finding.fact(&pauses::LIVE_SET_GROWTH).name("pace"), Some("steady"));
}

#[test]
fn a_leak_that_cost_nothing_where_the_jvm_was_slow_is_reported_without_a_cost() {
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
    let halves = figure.fact().find(&live_set::FLATTENS).expect("it flattens");
    assert!(halves.number("value") < halves.number("baseline"), "{halves:?}");
}

#[test]
fn a_steady_live_set_is_ruled_out_with_its_interval() {
    let Judgement::RuledOut { figure, .. } = judged(&HeapLeak, &log(|_| 900.0, 4_000.0).sealed()) else {
        panic!("found")
    };
    let change = figure.fact().find(&live_set::NOT_SURELY).expect("no growth");
    assert!(change.number("low") < Some(0.0) && change.number("high") > Some(0.0), "{change:?}");
}

#[test]
fn a_rise_after_young_collections_alone_is_no_reading_at_all() {
    let mut built = Built::jvm("17", "Parallel", 1_200.0);
    built.fact(fact::HEAP_MAX_BYTES, "1073741824");
    for i in 0..100 {
        let figures = [(figure::HEAP_AFTER_BYTES, f64::from(i) * 9.0 * MB)];
        built.pause("Pause Young", "Allocation Failure", f64::from(i) * 10.0, 2_000.0, &figures);
    }
    let Judgement::Inconclusive(spot) = judged(&HeapLeak, &built.sealed()) else { panic!("decided") };
    let readings = spot.what.fact().find(&live_set::TOO_FEW).expect("too few readings");
    assert_eq!(readings.number("value"), Some(0.0));
}

#[test]
fn a_slow_growth_far_from_the_end_is_no_finding_and_not_ruled_out() {
    let Judgement::Inconclusive(spot) = judged(&HeapLeak, &log(|i| 100.0 + 15.0 * i, 400.0).sealed()) else {
        panic!("decided")
    };
    let grows = spot.what.fact().find(&live_set::FAR_FROM_FULL).expect("it grows");
    assert!(grows.number("share") < Some(0.7), "{grows:?}");
}

/// Adds a dump at the end, with holders: field, bytes, bytes in the dump before, entries, bound.
fn with_dump(built: &mut Built, all: f64, holders: &[(&str, f64, Option<f64>, &str)]) {
    let before: f64 = holders.iter().filter_map(|(_, _, before, _)| *before).sum();
    let mut figures = vec![(figure::RETAINED_BYTES, all * MB)];
    figures.extend((before > 0.0).then_some((figure::BEFORE_BYTES, before * MB)));
    built.span(kind::HEAP_DUMP, "late.hprof", 1_195.0, 0.0, &figures, &[]);
    for (field, bytes, before, bound) in holders {
        let mut figures = vec![(figure::RETAINED_BYTES, bytes * MB), (figure::ENTRIES, 5_000.0)];
        figures.extend(before.map(|before| (figure::BEFORE_BYTES, before * MB)));
        let held_by = format!("{field} (static)");
        let mut labels = vec![(label::HELD_BY, held_by.as_str()), (label::ENTRY_CLASS, "app.Session")];
        match bound.is_empty() {
            true => labels.push((label::SUSPICION, "unbounded-entries")),
            false => labels.push((label::BOUND, bound)),
        }
        built.span(kind::HEAP_HOLDER, "java.util.HashMap", 1_195.0, 0.0, &figures, &labels);
    }
}

fn growing() -> Built {
    log(|i| 200.0 + 35.0 * i, 4_000.0)
}

#[test]
fn the_largest_holder_without_a_bound_is_named_where_it_keeps_half_of_the_growth() {
    let mut built = growing();
    let holders = [("Table.BOUNDED", 450.0, None, "Table.maxSize is 5000"), ("Web.OPEN", 400.0, None, "")];
    with_dump(&mut built, 880.0, &holders);
    let Judgement::Found(finding) = judged(&HeapLeak, &built.sealed()) else { panic!("not found") };
    assert_eq!(finding.named(), "Web.OPEN (static)");
    assert_eq!(finding.confidence, Confidence::Likely);
    let mut built = growing();
    with_dump(&mut built, 880.0, &[("Web.OPEN", 200.0, None, "")]);
    let Judgement::Found(finding) = judged(&HeapLeak, &built.sealed()) else { panic!("not found") };
    finding.culprit.states(&culprits::KEEPER, &[("value", "")]);
    assert_eq!(finding.confidence, Confidence::ConsistentWith);
}

#[test]
fn of_two_dumps_what_grew_is_named_and_not_what_is_larger() {
    let mut built = growing();
    let holders = [("Table.ALL", 500.0, Some(500.0), ""), ("Web.OPEN", 300.0, Some(20.0), "")];
    with_dump(&mut built, 860.0, &holders);
    let Judgement::Found(finding) = judged(&HeapLeak, &built.sealed()) else { panic!("not found") };
    assert_eq!(finding.named(), "Web.OPEN (static)");
    assert_eq!(finding.fact(&pauses::RETAINED_MORE).number("value"), Some(280.0 * MB));
}

#[test]
fn a_dump_of_another_heap_names_nobody() {
    let mut built = growing();
    with_dump(&mut built, 100.0, &[("Other.TABLE", 95.0, None, "")]);
    let Judgement::Found(finding) = judged(&HeapLeak, &built.sealed()) else { panic!("not found") };
    finding.culprit.states(&culprits::KEEPER, &[("value", "")]);
    assert_eq!(finding.fact(&live_set::OTHER_DUMP).number("value"), Some(100.0 * MB));
}

#[test]
fn a_heap_that_rises_to_the_end_by_a_tenth_may_have_been_watched_for_too_short() {
    let judge = |mb: f64| judged(&HeapLeak, &log(|i| 200.0 + mb * i, 4_000.0).sealed());
    assert!(matches!(judge(6.0), Judgement::Inconclusive(_)));
    assert!(matches!(judge(0.5), Judgement::RuledOut { .. }), "next to nothing");
}

#[test]
fn a_suspect_in_a_heap_that_does_not_grow_is_no_leak() {
    let mut built = log(|_| 900.0, 4_000.0);
    with_dump(&mut built, 900.0, &[("Table.ALL", 800.0, None, "")]);
    let Judgement::RuledOut { figure, .. } = judged(&HeapLeak, &built.sealed()) else { panic!("found") };
    let no_leak = figure.fact().find(&live_set::NO_LEAK).expect("the dump is said to show no leak");
    assert_eq!(no_leak.name("keeper"), Some("Table.ALL (static)"));
    assert!((no_leak.number("share").unwrap() - 800.0 / 900.0).abs() < 1e-9, "{no_leak:?}");
}

#[test]
fn what_a_dump_keeps_is_said_where_it_is_not_known_whether_the_heap_grows() {
    let mut built = log(|i| 100.0 + 15.0 * i, 400.0);
    with_dump(&mut built, 400.0, &[("Shop.CACHE", 380.0, None, "")]);
    let Judgement::Inconclusive(spot) = judged(&HeapLeak, &built.sealed()) else { panic!("decided") };
    let not_known = spot.what.fact();
    assert_eq!(
        ["keeper", "file"].map(|name| not_known.name(name)),
        [Some("Shop.CACHE (static)"), Some("late.hprof")]
    );
    assert_eq!(not_known.number("share"), Some(0.95));
}

#[test]
fn readings_that_scatter_too_much_rule_nothing_out() {
    let scattered = log(|i| 500.0 + if (i as u32).is_multiple_of(2) { 350.0 } else { -350.0 }, 4_000.0);
    let Judgement::Inconclusive(spot) = judged(&HeapLeak, &scattered.sealed()) else { panic!("decided") };
    assert!(spot.what.fact().find(&live_set::UNCERTAIN).is_some(), "{:?}", spot.what);
}

#[test]
fn what_two_dumps_show_growing_is_reported_though_it_costs_nothing_yet() {
    let grew = [("Web.OPEN", 300.0, Some(20.0), "")];
    // Collections that take next to nothing, and a heap that is far from full.
    for (mb, ms) in [(35.0, 5.0), (15.0, 400.0)] {
        let mut built = log(|i| 100.0 + mb * i, ms);
        with_dump(&mut built, 500.0, &grew);
        let Judgement::Found(finding) = judged(&HeapLeak, &built.sealed()) else { panic!("not found: {mb}") };
        assert_eq!(finding.named(), "Web.OPEN (static)");
        assert_eq!(finding.confidence, Confidence::Likely);
        assert_eq!(finding.fact(&pauses::RETAINED_MORE).number("value"), Some(280.0 * MB));
        // One dump alone shows no growth.
        let mut built = log(|i| 100.0 + mb * i, ms);
        with_dump(&mut built, 500.0, &[("Web.OPEN", 300.0, None, "")]);
        assert!(matches!(judged(&HeapLeak, &built.sealed()), Judgement::Inconclusive(_)), "{mb}");
    }
}

#[test]
fn where_the_log_has_too_little_to_judge_by_two_dumps_are_a_finding() {
    let with = |holder: (&str, f64, Option<f64>, &str)| {
        let mut built = Built::jvm("17", "G1", 1_200.0);
        built.fact(fact::HEAP_MAX_BYTES, "1073741824");
        for i in 0..100 {
            let figures = [(figure::HEAP_AFTER_BYTES, f64::from(i) * 5.0 * MB)];
            built.pause("Pause Young", "Allocation Failure", f64::from(i) * 10.0, 2.0, &figures);
        }
        with_dump(&mut built, 500.0, &[holder]);
        judged(&HeapLeak, &built.sealed())
    };
    let Judgement::Found(finding) = with(("Web.OPEN", 400.0, Some(100.0), "")) else { panic!("not found") };
    assert_eq!((finding.named(), finding.confidence), ("Web.OPEN (static)", Confidence::ConsistentWith));
    assert!(finding.title.to_string().contains("300 MB"), "{}", finding.title);
    for (bytes, before, bound) in
        [(400.0, 300.0, ""), (400.0, 100.0, "Web.maxOpen is 5000"), (200.0, 100.0, "")]
    {
        assert!(
            matches!(with(("Web.OPEN", bytes, Some(before), bound)), Judgement::Inconclusive(_)),
            "{bytes}"
        );
    }
}
