//! Which operations are reported, with what, and together with which others.

use super::super::gc_explicit::GcExplicit;
use super::*;
use crate::Confidence;
use crate::built::{Built, judged};
use crate::facts::remedies;
use crate::{Options, Status, diagnose};

/// A minute with a young pause of 10 ms each second, and what somebody asks for at 30.5 s.
fn minute(jdk: &str) -> Built {
    let mut built = Built::jvm(jdk, "G1", 60.0);
    for i in 0..60 {
        built.span(kind::SAFEPOINT, "G1CollectForAllocation", f64::from(i), 10.2, &[], &[]);
        built.pause("Pause Young (Normal)", "G1 Evacuation Pause", f64::from(i), 10.0, &[]);
    }
    built
}

fn dump(built: &mut Built) {
    built.span(kind::SAFEPOINT, "HeapDumper", 30.5, 338.0, &[(figure::AT_NS, 338e6)], &[]);
    built.span(kind::VM_OPERATION, "HeapDumper", 30.5, 338.0, &[], &[(label::CALLER, "Worker-2")]);
    built.pause("Pause Full", "Heap Dump Initiated GC", 30.501, 73.0, &[]);
}

#[test]
fn a_heap_dump_of_a_third_of_a_second_is_named_with_who_asked_and_nothing_else_is_ruled_out() {
    let mut built = minute("11");
    dump(&mut built);
    let d = diagnose(&built.sealed(), &Options::default()).unwrap();
    assert_eq!(d.status, Status::Found, "{}", d.headline);
    let first = &d.findings[0];
    assert_eq!((first.rule, first.confidence), ("safepoint-operation", Confidence::Proven));
    first.title.states(
        &titles::SAFEPOINT_OPERATION,
        &[("operations", "1"), ("noun", "heap dump"), ("value", "338 ms"), ("asked-by", "Worker-2")],
    );
    let operations = first.fact(&facts::VM_OPERATIONS);
    let shown =
        ["operations", "operation", "value", "collections", "asked-by"].map(|name| operations.shows(name));
    assert_eq!(shown, ["1", "HeapDumper", "338 ms", "73 ms", "Worker-2"]);
    first.remedies[0].change.states(&remedies::DUMPS_ASIDE, &[]);
    let out = |rule: &str| d.ruled_out.iter().any(|row| row.rule == rule);
    assert!(!out("gc-explicit") && !out("jvm-stopped"), "{:?}", d.ruled_out);
    // The ledger has the dump apart from its collection.
    let slow =
        |category: &str| d.ledger.iter().find(|row| row.category == category).and_then(|row| row.slow_ms);
    assert_eq!(slow("stopped: GC").map(f64::round), Some(73.0));
    assert_eq!(slow("stopped: other VM operations").map(f64::round), Some(265.0));
}

#[test]
fn a_stop_that_the_log_does_not_name_is_a_heap_dump_where_its_collection_was_asked_for_by_one() {
    let mut built = minute("8");
    built.span(kind::SAFEPOINT, "stopped", 30.5, 9_000.0, &[], &[]);
    built.pause("Full GC", "Heap Dump Initiated GC", 30.501, 700.0, &[]);
    let Judgement::Found(found) = judged(&SafepointOperation, &built.sealed()) else { panic!("not found") };
    found.title.states(&titles::SAFEPOINT_OPERATION, &[("noun", "heap dump"), ("value", "9.00 s")]);
    assert_eq!(found.culprit.fact().name("by"), vm_operations::known("HeapDumper").map(|dump| dump.by));
}

#[test]
fn a_collection_that_was_asked_for_and_no_operation_around_it_is_left_to_its_own_rule() {
    let mut built = minute("17");
    built.pause("Pause Full", "Heap Dump Initiated GC", 30.5, 900.0, &[]);
    let recording = built.sealed();
    assert!(matches!(judged(&SafepointOperation, &recording), Judgement::RuledOut { .. }));
    assert!(!matches!(judged(&GcExplicit, &recording), Judgement::NotApplicable));
}

#[test]
fn thread_dumps_that_add_up_are_found_with_their_number() {
    let mut built = minute("17");
    for i in 0..40 {
        let at = 0.3 + f64::from(i);
        built.span(kind::SAFEPOINT, "ThreadDump", at, 121.0, &[(figure::REACH_NS, 1e6)], &[]);
        built.span(kind::VM_OPERATION, "ThreadDump", at, 120.0, &[], &[(label::CALLER, ATTACH)]);
    }
    let d = diagnose(&built.sealed(), &Options::default()).unwrap();
    let first = &d.findings[0];
    assert_eq!(first.rule, "safepoint-operation", "{}", d.headline);
    first.title.states(
        &titles::SAFEPOINT_OPERATION,
        &[("operations", "40"), ("noun", "thread dumps"), ("value", "4.80 s"), ("longest", "120 ms")],
    );
    let asked = first.culprit.fact().find(&facts::ASKED_BY_TOOL).unwrap();
    assert_eq!(asked.name("value"), Some(ATTACH), "{}", first.culprit);
}

#[test]
fn short_operations_in_a_fragment_are_no_finding() {
    let mut built = Built::jvm("9", "G1", 1.0);
    for i in 0..4 {
        built.span(kind::SAFEPOINT, "RedefineClasses", 0.2 * f64::from(i), 30.0, &[], &[]);
    }
    assert!(matches!(judged(&SafepointOperation, &built.sealed()), Judgement::RuledOut { .. }));
}

#[test]
fn an_operation_that_does_little_and_one_that_is_not_known_are_named_and_no_more_than_consistent() {
    for (operation, noun, named) in [
        ("BulkRevokeBias", "revocation of biased locks", ""),
        ("JVMCIResizeCounters", "VM operation", "JVMCIResizeCounters"),
    ] {
        let mut built = minute("11");
        built.span(kind::SAFEPOINT, operation, 30.5, 400.0, &[], &[]);
        let Judgement::Found(found) = judged(&SafepointOperation, &built.sealed()) else {
            panic!("{operation}")
        };
        found.title.states(
            &titles::SAFEPOINT_OPERATION,
            &[("operations", "1"), ("noun", noun), ("operation", named), ("value", "400 ms")],
        );
        assert_eq!(found.confidence, Confidence::ConsistentWith);
    }
}

#[test]
fn what_takes_long_around_an_operation_is_not_its_doing() {
    let out = |figures: &[(&str, f64)], name: &str| {
        let mut built = minute("11");
        built.span(kind::SAFEPOINT, name, 30.5, 400.0, figures, &[]);
        match judged(&SafepointOperation, &built.sealed()) {
            Judgement::RuledOut { figure, .. } => figure,
            other => panic!("{name}: {other:?}"),
        }
    };
    let late = out(&[(figure::REACH_NS, 395e6)], "HeapDumper");
    late.states(
        &ruled_out::OPERATIONS_LITTLE,
        &[("value", "5.00 ms"), ("longest", "5.00 ms"), ("operation", "HeapDumper")],
    );
    assert_eq!(out(&[], "Cleanup").fact().metric, &ruled_out::NO_OPERATION);
    assert_eq!(out(&[], "G1CollectFull").fact().metric, &ruled_out::NO_OPERATION);
}

#[test]
fn a_log_without_safepoints_says_nothing_of_operations() {
    let mut built = Built::jvm("17", "G1", 60.0);
    built.pause("Pause Young (Normal)", "G1 Evacuation Pause", 1.0, 10.0, &[]);
    assert!(matches!(judged(&SafepointOperation, &built.sealed()), Judgement::NotApplicable));
}
