use fathom_recording::vocabulary::{figure, kind, label};

use super::*;
use crate::built::Built;
use crate::metrics::Metric;

fn metric<'a>(jvm: &'a JvmJit, id: &str) -> &'a Metric {
    jvm.groups
        .iter()
        .flat_map(|g| &g.metrics)
        .find(|m| m.id == id)
        .unwrap_or_else(|| panic!("no metric {id}"))
}

#[test]
fn compilations_are_counted_by_tier_with_replacements_on_the_stack() {
    let mut built = Built::jvm("17", "G1", 10.0);
    built.span(
        kind::JIT_COMPILE,
        "A.a()",
        1.0,
        5.0,
        &[(figure::TIER, 3.0), (figure::NMETHOD_BYTES, 900.0)],
        &[],
    );
    built.span(
        kind::JIT_COMPILE,
        "A.a()",
        2.0,
        50.0,
        &[(figure::TIER, 4.0), (figure::NMETHOD_BYTES, 400.0)],
        &[],
    );
    built.span(kind::JIT_COMPILE, "B.b()", 3.0, 20.0, &[(figure::TIER, 4.0), (figure::OSR_BCI, 7.0)], &[]);
    built.span(kind::JIT_QUEUE, "B.b()", 1.0, 2_000.0, &[(figure::TIER, 4.0)], &[]);
    built.span(kind::JIT_QUEUE, "C.c()", 1.0, 0.0, &[(figure::TIER, 4.0), (figure::WAIT_KNOWN, 0.0)], &[]);
    let report = report(&built.sealed(), None);
    let jvm = &report.jvms[0];
    assert_eq!(report.compiles, 3);
    let tiers: Vec<_> = jvm.tiers.iter().map(|t| (t.tier, t.count, t.osr, t.per_s)).collect();
    assert_eq!(tiers, [(3, 1, Some(0), Some(0.1)), (4, 2, Some(1), Some(0.2))]);
    assert_eq!((jvm.slowest[0].method.as_str(), jvm.biggest[0].nmethod_bytes), ("A.a()", Some(900.0)));
    assert_eq!(jvm.queues[0].wait_ms.count, 1, "a wait that is not known is not a wait of nothing");
    assert_eq!(metric(jvm, "c2_queue_wait_p95").grade, Grade::Watch);
    assert!((metric(jvm, "compile_time").value.unwrap() - 0.075).abs() < 1e-9);
}

#[test]
fn where_probes_name_the_compiler_alone_tiers_and_replacements_are_unknown() {
    let mut built = Built::jvm("17", "G1", 10.0);
    built.span(kind::JIT_COMPILE, "A.a()", 1.0, 5.0, &[], &[(label::COMPILER, "c1")]);
    built.span(kind::JIT_COMPILE, "A.a()", 2.0, 50.0, &[(figure::TIER, 4.0)], &[(label::COMPILER, "c2")]);
    let report = report(&built.sealed(), None);
    let jvm = &report.jvms[0];
    let tiers: Vec<_> = jvm.tiers.iter().map(|t| (t.tier, t.compiler.as_deref(), t.osr)).collect();
    assert_eq!(tiers, [(0, Some("c1"), None), (4, None, None)]);
    assert_eq!(jvm.slowest[1].compiler.as_deref(), Some("c1"));
}

#[test]
fn a_log_without_ends_gives_counts_and_no_lengths() {
    let mut built = Built::jvm("17", "G1", 10.0);
    built.span(kind::JIT_COMPILE, "A.a()", 1.0, 0.0, &[(figure::TIER, 3.0)], &[]);
    let report = report(&built.sealed(), None);
    let jvm = &report.jvms[0];
    assert_eq!((jvm.tiers[0].count, jvm.tiers[0].length_ms.clone()), (1, None));
    assert_eq!(metric(jvm, "compile_time").value, None);
    assert!(jvm.slowest.is_empty());
}

#[test]
fn code_replaced_by_better_code_is_no_real_invalidation() {
    let mut built = Built::jvm("17", "G1", 100.0);
    let tier = |t| [(figure::TIER, t)];
    built.span(kind::JIT_INSTALL, "A.a()", 5.0, 0.0, &tier(4.0), &[]);
    built.span(kind::JIT_INVALIDATE, "A.a()", 5.001, 0.0, &tier(3.0), &[]);
    built.span(kind::JIT_INVALIDATE, "A.a()", 60.0, 0.0, &tier(4.0), &[]);
    built.span(kind::JIT_INSTALL, "A.a()", 60.01, 0.0, &tier(3.0), &[]);
    built.span(kind::JIT_INSTALL, "A.a()", 70.0, 0.0, &tier(4.0), &[]);
    built.span(kind::JIT_INVALIDATE, "B.b()", 30.0, 0.0, &tier(3.0), &[(label::REASON, "not used")]);
    let osr = [(label::REASON, "OSR invalidation of lower level")];
    built.span(kind::JIT_INVALIDATE, "B.b()", 30.0, 0.0, &tier(3.0), &osr);
    built.span(kind::JIT_INVALIDATE, "C.c()", 30.0, 0.0, &tier(4.0), &[(label::REASON, "uncommon trap")]);
    let report = report(&built.sealed(), None);
    let jvm = &report.jvms[0];
    assert_eq!(metric(jvm, "invalidations").value, Some(5.0));
    assert_eq!(metric(jvm, "invalidations_real").value, Some(2.0));
    let reasons: Vec<_> = jvm.invalidations.iter().map(|r| (r.reason.as_str(), r.count)).collect();
    assert_eq!(reasons, [("not logged", 1), ("uncommon trap", 1)]);
    assert_eq!((jvm.recompiled[0].method.as_str(), jvm.recompiled[0].compiled), ("A.a()", 3));
}

#[test]
fn a_disabled_compiler_is_bad() {
    let mut built = Built::jvm("17", "G1", 100.0);
    let figures = [
        (figure::COMPILER_DISABLED, 1.0),
        (figure::CODE_CACHE_FREE_BYTES, 1e4),
        (figure::CODE_CACHE_SIZE_BYTES, 4e6),
    ];
    built.span(kind::JIT_CODE_CACHE_FULL, "CodeHeap", 50.0, 0.0, &figures, &[]);
    let report = report(&built.sealed(), None);
    assert_eq!(metric(&report.jvms[0], "code_cache_full").grade, Grade::Bad);
    assert_eq!(metric(&report.jvms[0], "code_cache_free_min").grade, Grade::Bad);
    for metric in report.jvms[0].groups.iter().flat_map(|g| &g.metrics) {
        assert!(!metric.meaning.is_empty() && !metric.why.sentence().is_empty(), "{metric:?}");
    }
}

#[test]
fn a_log_whose_tasks_are_not_in_it_yet_is_not_told_to_be_made_as_it_was() {
    let why = |format: &str| {
        let mut built = Built::jvm("17", "G1", 10.0);
        built.recording.sources[0].format = format.into();
        built.span(kind::JIT_INSTALL, "A.a()", 1.0, 0.0, &[(figure::TIER, 4.0)], &[]);
        let report = report(&built.sealed(), None);
        let ids = ["compile_time", "compiler_busy", "c2_queue_wait_p95"];
        ids.map(|id| metric(&report.jvms[0], id).why.metric.id)
    };
    assert_eq!(why("log-compilation"), ["tasks-not-in-log"; 3]);
    assert_eq!(why("jvm-events"), ["ends-not-in-log", "ends-not-in-log", "queues-not-in-log"]);
}
