use fathom_recording::{Process, Recording, Sink, Source};

use super::super::record::tests::record;
use super::*;
use crate::services::Services;
use crate::target::Selection;
use crate::{Clock, Settings, Targets};

const MB: i64 = 1 << 20;

/// The recording that some records make.
fn recorded(records: &[Record]) -> Recording {
    let mut recording = Recording::new();
    let process = recording.add_process(Process { jvm: true, ..Process::default() });
    let source = recording.add_source(Source::default());
    let mut targets = Targets::find(Selection::Pids(Vec::new())).unwrap();
    let settings = Settings::default();
    let mut cx = Context {
        sink: &mut recording,
        source,
        targets: &mut targets,
        clock: Clock::now(),
        settings: &settings,
        services: &mut Services::default(),
    };
    let target = Target { pid: i32::MAX, start_ticks: 0, process, jvm: true };
    let mut assembly = Assembly::new(target);
    records.iter().for_each(|record| assembly.take(record, &mut cx));
    assembly.finish(&mut cx);
    recording.seal();
    recording
}

fn collection(at: i64) -> Vec<Record> {
    use Kind::*;
    let eden = ["G1 Young Generation", "G1 Eden Space"];
    let old = ["G1 Young Generation", "G1 Old Gen"];
    let outside = ["Metaspace", "CodeHeap 'profiled nmethods'", "Compressed Class Space"];
    let operation = ["G1CollectForAllocation"];
    let of_outside = |kind, at: i64| {
        outside.map(|pool| record(kind, at, 7, &["Metaspace Manager", pool], &[0, 7 * MB, 9 * MB, 0]))
    };
    let mut records = vec![
        record(SafepointBegin, at, 7, &[], &[]),
        record(OperationBegin, at + 100, 7, &operation, &[0]),
        record(GcBegin, at + 110, 7, &[], &[0]),
        record(PoolBegin, at + 120, 7, &eden, &[0, 50 * MB, 60 * MB, 0]),
        record(PoolBegin, at + 121, 7, &old, &[0, 10 * MB, 40 * MB, 0]),
        record(PoolEnd, at + 180, 7, &eden, &[0, 0, 60 * MB, 0]),
        record(PoolEnd, at + 181, 7, &old, &[0, 12 * MB, 40 * MB, 0]),
        record(GcEnd, at + 190, 7, &["No GC", "G1 Evacuation Pause"], &[]),
        record(OperationEnd, at + 200, 7, &operation, &[0]),
        record(SafepointEnd, at + 230, 7, &[], &[]),
    ];
    // Pools that are no part of the heap.
    records.splice(7..7, of_outside(PoolEnd, at + 182));
    records.splice(5..5, of_outside(PoolBegin, at + 122));
    records
}

#[test]
fn a_collection_is_a_pause_within_its_operation_within_its_safepoint() {
    let recording = recorded(&collection(1000));
    let pause = recording.spans_of(kind::GC_PAUSE).next().unwrap();
    assert_eq!((pause.name(), pause.duration_ns()), ("Pause Young", 80));
    assert_eq!(pause.figure(figure::HEAP_BEFORE_BYTES), Some((60 * MB) as f64));
    assert_eq!(pause.figure(figure::HEAP_AFTER_BYTES), Some((12 * MB) as f64));
    assert_eq!(pause.figure(figure::HEAP_CAPACITY_BYTES), Some((100 * MB) as f64));
    assert_eq!(pause.figure(figure::YOUNG_AFTER_BYTES), Some(0.0));
    assert_eq!(pause.label(label::CAUSE), Some("G1 Evacuation Pause"));
    let safepoint = recording.spans_of(kind::SAFEPOINT).next().unwrap();
    assert_eq!((safepoint.name(), safepoint.duration_ns()), ("G1CollectForAllocation", 230));
    let parts = [figure::REACH_NS, figure::AT_NS, figure::LEAVE_NS].map(|key| safepoint.figure(key));
    assert_eq!(parts, [Some(100.0), Some(100.0), Some(30.0)]);
    assert_eq!(recording.spans_of(kind::VM_OPERATION).count(), 1);
}

#[test]
fn a_collection_that_reports_the_young_part_alone_says_nothing_of_the_heap() {
    let mut records = collection(1000);
    records.extend(collection(2000).into_iter().filter(|r| r.text(1) != "G1 Old Gen"));
    let recording = recorded(&records);
    let heaps: Vec<_> =
        recording.spans_of(kind::GC_PAUSE).map(|p| p.figure(figure::HEAP_AFTER_BYTES).is_some()).collect();
    assert_eq!(heaps, [true, false]);
}

/// Parallel's operation: the young generation, then all of the heap.
#[test]
fn a_full_collection_within_a_young_one_is_a_pause_of_its_own() {
    use Kind::*;
    let pool = |kind, at, manager, pool, used| record(kind, at, 7, &[manager, pool], &[0, used, 90 * MB, 0]);
    let operation = ["ParallelGCFailedAllocation"];
    let (young, all) = ("PS Scavenge", "PS MarkSweep");
    let (eden, old) = ("PS Eden Space", "PS Old Gen");
    let begin = [record(OperationBegin, 100, 7, &operation, &[0]), record(GcBegin, 110, 7, &[], &[0])];
    let scavenge = [pool(PoolBegin, 120, young, eden, 50 * MB), pool(PoolEnd, 180, young, eden, 0)];
    let compact = [
        pool(PoolBegin, 190, all, eden, 0),
        pool(PoolBegin, 191, all, old, 80 * MB),
        pool(PoolEnd, 490, all, eden, 0),
        pool(PoolEnd, 491, all, old, 30 * MB),
    ];
    let end = [
        record(GcEnd, 500, 7, &["No GC", "Allocation Failure"], &[]),
        record(OperationEnd, 510, 7, &operation, &[0]),
    ];
    let pauses = |parts: &[&[Record]]| {
        let recording = recorded(&parts.concat());
        let pauses = recording.spans_of(kind::GC_PAUSE);
        let shown =
            pauses.map(|p| (p.name().to_owned(), p.duration_ns(), p.figure(figure::HEAP_AFTER_BYTES)));
        shown.collect::<Vec<_>>()
    };
    let full = |ns| ("Pause Full".to_owned(), ns, Some((30 * MB) as f64));
    let both = pauses(&[&begin, &scavenge, &compact, &end]);
    assert_eq!(both, [("Pause Young".to_owned(), 80, None), full(310)]);
    let recording = recorded(&[&begin[..], &scavenge, &compact, &end].concat());
    let causes = recording.spans_of(kind::GC_PAUSE).map(|p| p.label(label::CAUSE));
    assert!(causes.eq([Some("Allocation Failure"); 2]));
    // Where the young generation is not tried first.
    assert_eq!(pauses(&[&begin, &compact, &end]), [full(390)]);
    assert_eq!(pauses(&[&begin, &scavenge, &end]).len(), 1);
}

#[test]
fn of_a_library_without_probes_a_collection_has_its_cause_and_a_compilation_its_tier() {
    use Kind::*;
    let of_function = |mut record: Record| {
        record.of_function = true;
        record
    };
    let compile = ["c1", "shop.Orders", "total"];
    let recording = recorded(
        &[
            record(OperationBegin, 10, 7, &["GenCollectForAllocation"], &[]),
            record(OperationEnd, 30, 7, &["No GC", "Allocation Failure"], &[]),
            record(CompileBegin, 40, 8, &compile, &[0, 3, 17, 0]),
            record(CompileEnd, 90, 8, &[], &[]),
        ]
        .map(of_function),
    );
    let pause = recording.spans_of(kind::GC_PAUSE).next().unwrap();
    assert_eq!((pause.name(), pause.label(label::CAUSE)), ("Pause Young", Some("Allocation Failure")));
    let compile = recording.spans_of(kind::JIT_COMPILE).next().unwrap();
    assert_eq!((compile.name(), compile.duration_ns()), ("shop.Orders.total", 50));
    let figures = [figure::TIER, figure::OSR_BCI, figure::SUCCESS].map(|key| compile.figure(key));
    assert_eq!(figures, [Some(3.0), Some(17.0), None], "whether it succeeded is not reported");
}

#[test]
fn what_began_before_the_probes_were_there_is_left_out() {
    // Any tail of the records: ends without beginnings.
    let records = collection(1000);
    for from in 1..records.len() {
        let recording = recorded(&records[from..]);
        assert_eq!(recording.spans_of(kind::SAFEPOINT).count(), 0, "{from}");
        assert_eq!(recording.spans_of(kind::GC_PAUSE).count(), usize::from(from <= 1), "{from}");
    }
}

#[test]
fn a_cycle_reported_by_another_thread_is_no_pause_and_an_operation_known_as_one_is() {
    use Kind::*;
    let (mark, other) = (["ZMarkStartYoung"], ["ICBufferFull"]);
    let recording = recorded(&[
        record(GcBegin, 5, 99, &[], &[0]),
        record(OperationBegin, 10, 7, &mark, &[0]),
        record(OperationEnd, 30, 7, &mark, &[0]),
        record(OperationBegin, 40, 7, &other, &[0]),
        record(OperationEnd, 45, 7, &other, &[0]),
        record(GcEnd, 900, 99, &[], &[]),
    ]);
    let pauses: Vec<_> = recording.spans_of(kind::GC_PAUSE).map(|s| (s.name(), s.duration_ns())).collect();
    assert_eq!(pauses, [("Pause Mark Start", 20)]);
}

#[test]
fn a_compilation_is_reported_by_its_thread_and_one_that_does_not_end_is_cut() {
    let method = ["C2", "java/lang/String", "indexOf", "(I)I"];
    let records = [
        record(Kind::CompileBegin, 10, 21, &method, &[]),
        record(Kind::CompileBegin, 20, 22, &["C1", "a/B", "c", "()V"], &[]),
        record(Kind::CompileEnd, 50, 21, &method, &[1]),
    ];
    let recording = recorded(&records);
    let compiles: Vec<_> = recording
        .spans_of(kind::JIT_COMPILE)
        .map(|s| (s.name(), s.label(label::COMPILER), s.figure(figure::TIER), s.label(label::CUT).is_some()))
        .collect();
    let expected =
        [("java.lang.String.indexOf", Some("c2"), Some(4.0), false), ("a.B.c", Some("c1"), None, true)];
    assert_eq!(compiles, expected);
}
