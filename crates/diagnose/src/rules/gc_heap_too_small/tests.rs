//! Heaps that are too small, those that are not, and logs that do not show it.

use super::*;
use crate::Confidence;
use crate::built::{Built, judged};
use crate::facts::{remedies, switch_on, titles};

const MB: f64 = 1024.0 * 1024.0;

fn log(live_mb: f64, full_ms: f64, cause: &str) -> Built {
    let mut built = Built::jvm("17", "Parallel", 60.0);
    built.fact(fact::HEAP_MAX_BYTES, "1073741824");
    for i in 0..30 {
        let wobble = if i % 2 == 0 { 3.0 } else { -3.0 };
        let figures =
            [(figure::HEAP_BEFORE_BYTES, 1000.0 * MB), (figure::HEAP_AFTER_BYTES, (live_mb + wobble) * MB)];
        built.pause("Pause Full", cause, f64::from(i) * 2.0, full_ms, &figures);
    }
    built
}

#[test]
fn a_live_set_that_fills_the_heap_keeps_the_collector_running() {
    let Judgement::Found(finding) = judged(&GcHeapTooSmall, &log(900.0, 600.0, "Ergonomics").sealed()) else {
        panic!("not found")
    };
    assert_eq!(finding.confidence, Confidence::Likely);
    finding.title.states(&titles::GC_HEAP_TOO_SMALL, &[("value", "30%"), ("live", "88%")]);
    finding.remedies[0].change.states(&remedies::TWICE_THE_LIVE_SET, &[("value", "1.8 GB")]);
}

#[test]
fn a_heap_that_was_full_is_too_small_although_what_filled_it_is_gone_in_the_end() {
    let mut built = log(900.0, 600.0, "Ergonomics");
    for i in 0..6 {
        let figures = [
            (figure::HEAP_BEFORE_BYTES, 1000.0 * MB),
            (figure::HEAP_AFTER_BYTES, (100.0 + f64::from(i % 2)) * MB),
        ];
        built.pause("Pause Full", "System.gc()", 59.0 + 0.1 * f64::from(i), 10.0, &figures);
    }
    let Judgement::Found(finding) = judged(&GcHeapTooSmall, &built.sealed()) else { panic!("not found") };
    finding.title.states(&titles::GC_HEAP_TOO_SMALL, &[("live", "88%")]);
}

#[test]
fn collections_that_were_asked_for_and_a_roomy_heap_are_ruled_out() {
    for (live, ms, cause) in
        [(900.0, 600.0, "System.gc()"), (300.0, 600.0, "Ergonomics"), (900.0, 30.0, "Ergonomics")]
    {
        let judgement = judged(&GcHeapTooSmall, &log(live, ms, cause).sealed());
        assert!(matches!(judgement, Judgement::RuledOut { .. }), "{live} {ms} {cause}");
    }
}

/// A Parallel heap of 1 GB at most whose full collections leave the old generation full, each at
/// the capacity that `room_mb` gives.
fn old_full_log(full: u32, committed_mb: f64, room_mb: impl Fn(u32) -> f64) -> Built {
    let mut built = Built::jvm("8", "Parallel", f64::from(full) * 2.0);
    built.fact(fact::HEAP_MAX_BYTES, "1073741824");
    for i in 0..full {
        let room = room_mb(i);
        let figures = [
            (figure::HEAP_AFTER_BYTES, 0.998 * room * MB),
            (figure::HEAP_CAPACITY_BYTES, committed_mb * MB),
            (figure::OLD_AFTER_BYTES, 0.998 * room * MB),
            (figure::OLD_CAPACITY_BYTES, room * MB),
            (figure::FULL, 1.0),
        ];
        built.pause("Full GC", "Ergonomics", f64::from(i) * 2.0, 600.0, &figures);
    }
    built
}

#[test]
fn an_old_generation_that_full_collections_leave_full_is_too_small_in_a_large_heap() {
    // A heap that is as large as it may be, and one whose old generation hundreds of full
    // collections do not make larger.
    for built in [old_full_log(30, 1_000.0, |_| 175.1), old_full_log(300, 251.0, |_| 175.1)] {
        let Judgement::Found(finding) = judged(&GcHeapTooSmall, &built.sealed()) else { panic!("not found") };
        finding.title.states(&titles::GC_HEAP_TOO_SMALL, &[("old-left", "175 MB"), ("old", "175 MB")]);
    }
}

#[test]
fn full_collections_that_follow_each_other_closely_are_made_before_the_old_generation_is_full() {
    let log = |every_s: f64| {
        let mut built = Built::jvm("17", "Parallel", 60.0);
        built.fact(fact::HEAP_MAX_BYTES, "100663296");
        for i in 0..100 {
            let figures = [
                (figure::HEAP_AFTER_BYTES, 55.0 * MB),
                (figure::HEAP_CAPACITY_BYTES, 85.0 * MB),
                (figure::OLD_AFTER_BYTES, 55.0 * MB),
                (figure::OLD_CAPACITY_BYTES, 64.0 * MB),
                (figure::FULL, 1.0),
            ];
            built.pause("Pause Full", "Ergonomics", f64::from(i) * every_s, 100.0 * every_s, &figures);
        }
        // What filled it is let go in the end, and the heap made smaller.
        let emptied = [
            (figure::HEAP_AFTER_BYTES, 1.0 * MB),
            (figure::HEAP_CAPACITY_BYTES, 61.0 * MB),
            (figure::OLD_AFTER_BYTES, 1.0 * MB),
            (figure::OLD_CAPACITY_BYTES, 40.0 * MB),
            (figure::FULL, 1.0),
        ];
        built.pause("Pause Full", "Ergonomics", 100.0 * every_s, 10.0, &emptied);
        judged(&GcHeapTooSmall, &built.sealed())
    };
    let Judgement::Found(finding) = log(0.3) else { panic!("not found") };
    finding.title.states(&titles::GC_HEAP_TOO_SMALL, &[("old-left", "55.0 MB"), ("old", "64.0 MB")]);
    assert!(!matches!(log(0.6), Judgement::Found(_)), "these leave room enough");
}

#[test]
fn a_full_old_generation_of_a_heap_that_may_still_grow_is_not_known_to_be_too_small() {
    let growing = |i: u32| 100.0 + 0.3 * f64::from(i);
    for built in [
        old_full_log(30, 251.0, |_| 175.1),
        old_full_log(30, 251.0, |i| 100.0 + 5.0 * f64::from(i)),
        old_full_log(300, 251.0, growing),
    ] {
        let Judgement::Inconclusive(spot) = judged(&GcHeapTooSmall, &built.sealed()) else {
            panic!("decided")
        };
        spot.what.states(&scope::HEAP_GROWS, &[("taken", "251 MB"), ("heap", "1.0 GB")]);
        spot.remedy.states(&switch_on::HEAP_AT_ITS_SIZE, &[]);
    }
}

#[test]
fn of_a_full_old_generation_full_collections_are_charged_and_not_the_young_ones_between_them() {
    let judged = |full_ms: f64| {
        let mut built = Built::jvm("17", "Parallel", 150.0);
        built.fact(fact::HEAP_MAX_BYTES, "394264576");
        for i in 0..140 {
            let young =
                [(figure::YOUNG_CAPACITY_BYTES, 80.0 * MB), (figure::HEAP_CAPACITY_BYTES, 376.0 * MB)];
            built.pause("Pause Young", "Allocation Failure", f64::from(i), 80.0, &young);
        }
        for i in 0..3 {
            let figures = [
                (figure::HEAP_AFTER_BYTES, 163.0 * MB),
                (figure::HEAP_CAPACITY_BYTES, 376.0 * MB),
                (figure::OLD_AFTER_BYTES, 163.0 * MB),
                (figure::OLD_CAPACITY_BYTES, 171.0 * MB),
            ];
            built.pause("Pause Full", "Ergonomics", 141.0 + f64::from(i) * 3.0, full_ms, &figures);
        }
        judged(&GcHeapTooSmall, &built.sealed())
    };
    let Judgement::RuledOut { figure, .. } = judged(60.0) else { panic!("found") };
    figure.states(&ruled_out::FULL_FOR_ROOM_LITTLE, &[("value", "0.1%")]);
    let Judgement::Found(finding) = judged(3_000.0) else { panic!("not found") };
    assert!((finding.cost_ms - 9_000.0).abs() < 1e-3, "{}", finding.cost_ms);
    finding
        .title
        .states(&titles::GC_HEAP_TOO_SMALL, &[("value", "6.0%"), ("old-left", "163 MB"), ("old", "171 MB")]);
}

#[test]
fn pauses_that_hardly_ran_are_not_the_heaps() {
    let mut built = Built::jvm("17", "Parallel", 60.0);
    built.fact(fact::HEAP_MAX_BYTES, "1073741824");
    for i in 0..30 {
        let figures = [
            (figure::HEAP_AFTER_BYTES, 900.0 * MB),
            (figure::USER_S, 0.02),
            (figure::SYS_S, 0.01),
            (figure::REAL_S, 0.6),
        ];
        built.pause("Pause Full", "Ergonomics", f64::from(i) * 2.0, 600.0, &figures);
    }
    assert!(matches!(judged(&GcHeapTooSmall, &built.sealed()), Judgement::RuledOut { .. }));
}

#[test]
fn a_fragment_of_a_log_is_inconclusive_about_the_heaps_size() {
    let mut built = Built::jvm("8", "CMS", 0.1);
    built.fact(fact::HEAP_MAX_BYTES, "1073741824");
    for i in 0..10 {
        let figures = [(figure::YOUNG_CAPACITY_BYTES, 9.6 * MB)];
        built.pause("GC", "Allocation Failure", f64::from(i) * 0.01, 6.0, &figures);
    }
    let Judgement::Inconclusive(spot) = judged(&GcHeapTooSmall, &built.sealed()) else { panic!("decided") };
    spot.what.states(&scope::TOO_FEW_PAUSES, &[("pauses", "10"), ("value", "60 ms")]);
}

#[test]
fn stops_that_were_picked_for_being_stops_are_no_share_of_the_time() {
    // Twenty full collections of a full heap in 13 hours: all of the windows, and 0.1% of the run.
    let mut built = Built::jvm("6", "Parallel", 48_000.0);
    built.fact(fact::HEAP_MAX_BYTES, "1073741824");
    for i in 0..400 {
        let (name, ms, left) = if i % 20 == 0 { ("Full GC", 2_400.0, 900.0) } else { ("GC", 20.0, 950.0) };
        built.pause(name, "", f64::from(i) * 120.0, ms, &[(figure::HEAP_AFTER_BYTES, left * MB)]);
    }
    let d = crate::diagnose(&built.sealed(), &crate::Options::default()).unwrap();
    assert!(d.findings.iter().all(|finding| finding.rule != "gc-heap-too-small"), "{}", d.headline);
    let row = d.ruled_out.iter().find(|row| row.rule == "gc-heap-too-small").expect("ruled out");
    row.figure.states(&ruled_out::FOR_ROOM_LITTLE, &[("value", "0.1%")]);
}

#[test]
fn pauses_that_touch_leave_no_time_between_them_and_never_less() {
    let mut built = Built::jvm("8", "Parallel", 60.0);
    built.fact(fact::HEAP_MAX_BYTES, "1073741824");
    for i in 0..600 {
        let figures = [(figure::YOUNG_CAPACITY_BYTES, 10.0 * MB), (figure::HEAP_AFTER_BYTES, 100.0 * MB)];
        built.pause("GC", "Allocation Failure", f64::from(i) * 0.1, 100.17, &figures);
    }
    let Judgement::Found(finding) = judged(&GcHeapTooSmall, &built.sealed()) else { panic!("not found") };
    finding.title.states(&titles::GC_HEAP_TOO_SMALL, &[("young", "10.0 MB"), ("interval", "0 ms")]);
}

#[test]
fn what_is_not_in_the_log_rules_nothing_out() {
    let full = [(figure::HEAP_AFTER_BYTES, 100.0 * MB)];
    let young = [(figure::YOUNG_CAPACITY_BYTES, 300.0 * MB)];
    let log = |seconds: u32, full: &[(&str, f64)], young: &[(&str, f64)]| {
        let mut built = Built::jvm("8", "Parallel", f64::from(seconds));
        built.fact(fact::HEAP_MAX_BYTES, "1073741824");
        for i in 0..seconds {
            let (name, figures) = if i % 3 == 0 { ("Full GC", full) } else { ("GC", young) };
            built.pause(name, "Allocation Failure", f64::from(i), 300.0, figures);
        }
        judged(&GcHeapTooSmall, &built.sealed())
    };
    let unknown = |judgement| match judgement {
        Judgement::Inconclusive(spot) => spot.what,
        other => panic!("{other:?}"),
    };
    let Judgement::RuledOut { figure, .. } = log(60, &full, &young) else { panic!("both are in the log") };
    figure.states(
        &ruled_out::HAS_ROOM,
        &[("value", "30%"), ("live", "9.8%"), ("young", "300 MB"), ("interval", "700 ms")],
    );
    let no_live = unknown(log(60, &[], &young));
    no_live.states(&scope::HEAP_NOT_JUDGED, &[("value", "30%")]);
    no_live.states(&scope::FEW_OLD_COLLECTIONS, &[]);
    let no_young = unknown(log(60, &full, &[]));
    no_young.states(&scope::NO_YOUNG_SIZE, &[]);
    let mut built = Built::jvm("6", "CMS", 60.0);
    built.fact(fact::HEAP_MAX_BYTES, "83886080");
    for i in 0..2_400 {
        let (name, figures) = if i % 100 == 0 {
            ("Full GC", [(figure::HEAP_AFTER_BYTES, 8.0 * MB)])
        } else {
            ("GC", [(figure::YOUNG_CAPACITY_BYTES, 18.0 * MB)])
        };
        built.pause(name, "", f64::from(i) * 0.025, 5.0, &figures);
    }
    let close = unknown(judged(&GcHeapTooSmall, &built.sealed()));
    close.states(&scope::FILLS_FAST, &[]);
    let short = unknown(log(9, &full, &young));
    short.states(&scope::SHORT_LOG, &[]);
}

#[test]
fn a_growing_live_set_is_left_to_the_leak() {
    let mut built = Built::jvm("17", "Parallel", 60.0);
    built.fact(fact::HEAP_MAX_BYTES, "1073741824");
    for i in 0..30 {
        let figures = [(figure::HEAP_AFTER_BYTES, (400.0 + 20.0 * f64::from(i)) * MB)];
        built.pause("Pause Full", "Ergonomics", f64::from(i) * 2.0, 600.0, &figures);
    }
    let Judgement::RuledOut { figure, .. } = judged(&GcHeapTooSmall, &built.sealed()) else {
        panic!("found")
    };
    assert_eq!(figure.fact().metric, &ruled_out::GROWS);
}

#[test]
fn a_tiny_young_generation_is_the_other_way_to_be_too_small() {
    let mut built = Built::jvm("17", "Serial", 60.0);
    built.fact(fact::HEAP_MAX_BYTES, "1073741824");
    for i in 0..500 {
        let figures = [(figure::YOUNG_CAPACITY_BYTES, 16.0 * MB)];
        built.pause("Pause Young", "Allocation Failure", f64::from(i) * 0.1, 20.0, &figures);
    }
    let Judgement::Found(finding) = judged(&GcHeapTooSmall, &built.sealed()) else { panic!("not found") };
    finding.culprit.states(&culprits::SIZE, &[("value", "young generation")]);
    finding.title.states(&titles::GC_HEAP_TOO_SMALL, &[("young", "16.0 MB")]);
}

#[test]
fn long_full_collections_that_leave_the_heap_full_are_its_size_in_a_run_of_hours_too() {
    let judged = |left_mb: f64, ms: f64| {
        let mut built = Built::jvm("8", "Parallel", 40_000.0);
        for i in 0..400 {
            let sizes = [(figure::HEAP_AFTER_BYTES, 200.0 * MB), (figure::HEAP_CAPACITY_BYTES, 1000.0 * MB)];
            built.pause("GC", "", 10.0 + f64::from(i) * 90.0, 20.0, &sizes);
        }
        for i in 0..20 {
            let sizes = [
                (figure::FULL, 1.0),
                (figure::HEAP_AFTER_BYTES, left_mb * MB),
                (figure::HEAP_CAPACITY_BYTES, 1000.0 * MB),
            ];
            built.pause("Full GC", "", 200.0 + f64::from(i) * 4.0, ms, &sizes);
        }
        let recording = built.sealed();
        crate::diagnose(&recording, &crate::Options::default()).unwrap()
    };
    let found = judged(880.0, 2_500.0);
    let first = &found.findings[0];
    assert_eq!(first.rule, GcHeapTooSmall.id(), "{}", found.headline);
    assert_eq!(first.fact(&pauses::LIVE_SET).number("value"), Some(880.0 * MB));
    for (left_mb, ms) in [(400.0, 2_500.0), (880.0, 500.0)] {
        let d = judged(left_mb, ms);
        assert!(d.findings.iter().all(|f| f.rule != GcHeapTooSmall.id()), "{}", d.headline);
    }
}

/// CMS of JDK 8 without -Xmn begins with a young generation of 1 MB, and has collected it 150 times
/// when it makes it larger.
#[test]
fn the_young_generation_is_judged_as_it_was_when_its_collections_took_their_time() {
    let judged = |later_mb: f64| {
        let mut built = Built::jvm("8", "CMS", 40.0);
        built.fact(fact::HEAP_MAX_BYTES, "4294967296");
        let of = |mb: f64| [(figure::YOUNG_CAPACITY_BYTES, mb * MB), (figure::HEAP_AFTER_BYTES, 100.0 * MB)];
        for i in 0..150 {
            built.pause("GC", "Allocation Failure", 0.1 + f64::from(i) * 0.009, 8.0, &of(1.1));
        }
        let failed = [(figure::FULL, 1.0), (figure::HEAP_AFTER_BYTES, 100.0 * MB)];
        built.pause("GC", "Allocation Failure", 2.0, 3_000.0, &failed);
        for i in 0..60 {
            built.pause("GC", "Allocation Failure", 6.0 + f64::from(i) * 0.5, 200.0, &of(later_mb));
        }
        judged(&GcHeapTooSmall, &built.sealed())
    };
    let Judgement::Found(finding) = judged(400.0) else { panic!("not found") };
    finding.title.states(&titles::GC_HEAP_TOO_SMALL, &[("young", "400 MB"), ("interval", "300 ms")]);
    assert!((finding.cost_ms - 13_200.0).abs() < 10.0, "without the full one: {} ms", finding.cost_ms);
    assert!(!matches!(judged(800.0), Judgement::Found(_)), "a fifth of the heap");
}

#[test]
fn twice_the_live_set_is_not_advised_for_a_heap_that_something_fills() {
    let advised = |before_mb: f64| {
        let mut built = Built::jvm("17", "Parallel", 60.0);
        built.fact(fact::HEAP_MAX_BYTES, "1073741824");
        for i in 0..60 {
            let left = if i < 30 { before_mb } else { 900.0 };
            let figures = [(figure::HEAP_BEFORE_BYTES, 1000.0 * MB), (figure::HEAP_AFTER_BYTES, left * MB)];
            let ms = if i < 30 { 5.0 } else { 600.0 };
            built.pause("Pause Full", "Ergonomics", f64::from(i), ms, &figures);
        }
        let jvm = built.jvm;
        let recording = built.sealed();
        let case = crate::built::slow_and_base(&recording, (30, 60), (0, 30), 0.6);
        match GcHeapTooSmall.judge(&case, jvm) {
            Judgement::Found(finding) => finding,
            other => panic!("{other:?}"),
        }
    };
    let fills = advised(90.0);
    fills.remedies[0].change.states(&remedies::FIND_WHAT_FILLS, &[]);
    fills.title.states(&titles::GC_HEAP_TOO_SMALL, &[("before", "90.0 MB")]);
    fills.culprit.states(&culprits::NO_HEAP, &[]);
    assert!(!fills.advises(&remedies::TWICE_THE_LIVE_SET), "{:?}", fills.remedies);
    assert!(advised(850.0).advises(&remedies::TWICE_THE_LIVE_SET));
}
