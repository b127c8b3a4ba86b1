//! Faults at given rates, in given mappings.

use fathom_recording::vocabulary::{figure, kind};

use super::*;
use crate::built::{Built, judged};

/// A run of `seconds` in which a thread has so many faults a second, each of two microseconds.
fn run(mapping: &str, faults_a_second: f64, seconds: u32) -> Built {
    let mut built = Built::jvm("17", "G1", f64::from(seconds));
    for second in 0..seconds {
        let figures = [
            (figure::FAULTS, faults_a_second),
            (figure::MAJOR, 0.0),
            (figure::PROTECT, 0.0),
            (figure::FAULT_NS, faults_a_second * 2000.0),
        ];
        built.span(kind::PAGE_FAULTS, mapping, f64::from(second), 1000.0, &figures, &[]);
    }
    built
}

#[test]
fn faults_that_take_a_third_of_the_time_are_a_finding_with_mapping_and_remedy() {
    let mut built = run(fault::HEAP, 150_000.0, 10);
    built.fact(fact::HEAP_MAX_BYTES, "68719476736");
    let Judgement::Found(finding) = judged(&PageFaultStorm, &built.sealed()) else { panic!() };
    assert!((finding.cost_ms - 3000.0).abs() < 1.0, "{}", finding.cost_ms);
    assert!(finding.title.contains("the Java heap"), "{}", finding.title);
    assert!(finding.remedies[0].change.contains("AlwaysPreTouch"));
    assert!(finding.evidence[0].text().contains("150,000"), "{:?}", finding.evidence[0]);
}

/// One fault of 800 ms a second in a mapped file.
fn waiting() -> Built {
    let mut built = Built::jvm("17", "G1", 10.0);
    for second in 0..10 {
        let figures =
            [(figure::FAULTS, 1.0), (figure::MAJOR, 1.0), (figure::PROTECT, 1.0), (figure::FAULT_NS, 800e6)];
        built.span(kind::PAGE_FAULTS, "/tmp/hsperfdata_shop/7", f64::from(second), 1000.0, &figures, &[]);
    }
    built
}

#[test]
fn a_few_long_faults_waited_for_their_pages_and_copied_nothing() {
    let Judgement::Found(finding) = judged(&PageFaultStorm, &waiting().sealed()) else { panic!() };
    assert!(finding.title.contains("each waited for its page"), "{}", finding.title);
    assert!(finding.remedies[0].change.contains("PerfDisableSharedMem"), "{:?}", finding.remedies);
    assert!(!finding.meaning.contains("copies"), "{}", finding.meaning);
    let mut built = waiting();
    built.on_thread(kind::MEMORY_STALL, "worker", "reclaim of the control group", 3.0, 20.0);
    let Judgement::Found(finding) = judged(&PageFaultStorm, &built.sealed()) else { panic!() };
    assert!(finding.title.contains("control group has no memory left"), "{}", finding.title);
    assert!(finding.remedies[0].change.contains("memory.max"), "{:?}", finding.remedies);
}

#[test]
fn clean_pages_of_many_mapped_files_are_not_copied_and_no_file_stands_for_all() {
    let mut built = Built::jvm("17", "G1", 10.0);
    for second in 0..10 {
        for file in ["/logs/t-0/7.index", "/logs/t-1/7.index", "/logs/t-2/7.index"] {
            let faults = 50_000.0;
            let figures = [
                (figure::FAULTS, faults),
                (figure::PROTECT, 0.9 * faults),
                (figure::FAULT_NS, faults * 2000.0),
            ];
            built.span(kind::PAGE_FAULTS, file, f64::from(second), 1000.0, &figures, &[]);
        }
    }
    let Judgement::Found(finding) = judged(&PageFaultStorm, &built.sealed()) else { panic!() };
    let end = "in 3 mappings, most in /logs/t-0/7.index: clean pages of mapped files are written to";
    assert!(finding.title.ends_with(end), "{}", finding.title);
    let forks = finding.remedies.iter().any(|remedy| remedy.change.contains("fork"));
    assert!(!forks, "{:?}", finding.remedies);
}

#[test]
fn a_heap_that_is_fetched_more_often_than_it_has_pages_was_given_back() {
    let mut built = run(fault::HEAP, 150_000.0, 10);
    built.fact(fact::HEAP_MAX_BYTES, "1073741824");
    let Judgement::Found(finding) = judged(&PageFaultStorm, &built.sealed()) else { panic!() };
    assert!(finding.remedies[0].change.contains("-Xms"), "{:?}", finding.remedies);
}

#[test]
fn few_faults_are_ruled_out_with_their_rate_and_a_log_alone_is_inconclusive() {
    let Judgement::RuledOut { figure, .. } =
        judged(&PageFaultStorm, &run(fault::ANONYMOUS, 2000.0, 10).sealed())
    else {
        panic!()
    };
    assert!(figure.contains("2,000 faults a second"), "{figure}");
    let log = Built::jvm("17", "G1", 60.0).sealed();
    assert!(matches!(judged(&PageFaultStorm, &log), Judgement::Inconclusive(_)));
}
