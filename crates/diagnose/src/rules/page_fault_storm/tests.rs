//! Faults at given rates, in given mappings.

use crate::facts::remedies;
use fathom_recording::vocabulary::{figure, kind};

use super::*;
use crate::built::{Built, judged};

/// Why the memory was touched.
fn cause(finding: &Finding) -> Option<&str> {
    finding.fact(&facts::RATE).name("cause")
}

/// A run of `seconds` in which a thread has so many faults a second, each of two microseconds.
fn run(mapping: &str, faults_a_second: u64, seconds: u32) -> Built {
    let mut built = Built::jvm("17", "G1", f64::from(seconds));
    for second in 0..seconds {
        let figures = [(figure::MAJOR, 0.0), (figure::PROTECT, 0.0)];
        built.counted_faults(mapping, f64::from(second), (faults_a_second, 2_000), &figures);
    }
    built
}

#[test]
fn faults_that_take_a_third_of_the_time_are_a_finding_with_mapping_and_remedy() {
    let mut built = run(fault::HEAP, 150_000, 10);
    built.fact(fact::HEAP_MAX_BYTES, "68719476736");
    let Judgement::Found(finding) = judged(&PageFaultStorm, &built.sealed()) else { panic!() };
    assert!((finding.cost_ms - 3000.0).abs() < 1.0, "{}", finding.cost_ms);
    assert_eq!(finding.culprit, fault::HEAP);
    finding.remedies[0].change.states(&remedies::PRETOUCH, &[]);
    let rate = finding.fact(&facts::RATE);
    assert_eq!((rate.number("value"), rate.name("cause")), (Some(150_000.0), Some("heap-grows")));
}

/// One fault of 800 ms a second in a mapped file.
fn waiting() -> Built {
    let mut built = Built::jvm("17", "G1", 10.0);
    for second in 0..10 {
        let figures = [(figure::MAJOR, 1.0), (figure::PROTECT, 1.0)];
        built.counted_faults("/tmp/hsperfdata_shop/7", f64::from(second), (1, 800_000_000), &figures);
    }
    built
}

#[test]
fn a_few_long_faults_waited_for_their_pages_and_copied_nothing() {
    let Judgement::Found(finding) = judged(&PageFaultStorm, &waiting().sealed()) else { panic!() };
    assert_eq!(cause(&finding), Some("waited-for-page"));
    finding.remedies[0].change.states(&remedies::MAP_ELSEWHERE, &[]);
    let mut built = waiting();
    built.on_thread(kind::MEMORY_STALL, "worker", "reclaim of the control group", 3.0, 20.0);
    let Judgement::Found(finding) = judged(&PageFaultStorm, &built.sealed()) else { panic!() };
    assert_eq!(cause(&finding), Some("memory-limit"));
    finding.remedies[0].change.states(&remedies::LARGER_MEMORY_LIMIT, &[]);
}

#[test]
fn clean_pages_of_many_mapped_files_are_not_copied_and_no_file_stands_for_all() {
    let mut built = Built::jvm("17", "G1", 10.0);
    for second in 0..10 {
        for file in ["/logs/t-0/7.index", "/logs/t-1/7.index", "/logs/t-2/7.index"] {
            built.counted_faults(file, f64::from(second), (50_000, 2_000), &[(figure::PROTECT, 45_000.0)]);
        }
    }
    let Judgement::Found(finding) = judged(&PageFaultStorm, &built.sealed()) else { panic!() };
    assert_eq!(cause(&finding), Some("clean-pages-of-files-written"));
    let mappings = finding.fact(&facts::MAPPINGS).detail("mappings").unwrap().parts();
    assert_eq!((mappings.len(), mappings[0].name("mapping")), (3, Some("/logs/t-0/7.index")));
}

#[test]
fn a_heap_that_is_fetched_more_often_than_it_has_pages_was_given_back() {
    let mut built = run(fault::HEAP, 150_000, 10);
    built.fact(fact::HEAP_MAX_BYTES, "1073741824");
    let Judgement::Found(finding) = judged(&PageFaultStorm, &built.sealed()) else { panic!() };
    assert_eq!(cause(&finding), Some("heap-returned"));
    finding.remedies[0].change.states(&remedies::KEEP_HEAP, &[]);
}

#[test]
fn few_faults_are_ruled_out_with_their_rate_and_a_log_alone_is_inconclusive() {
    let Judgement::RuledOut { figure, .. } =
        judged(&PageFaultStorm, &run(fault::ANONYMOUS, 2_000, 10).sealed())
    else {
        panic!()
    };
    assert_eq!(figure.fact().find(&facts::LITTLE).and_then(|few| few.number("rate")), Some(2_000.0));
    let log = Built::jvm("17", "G1", 60.0).sealed();
    assert!(matches!(judged(&PageFaultStorm, &log), Judgement::Inconclusive(_)));
}
