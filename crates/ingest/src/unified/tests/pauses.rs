//! Pauses, those within others, and those that never end.

use super::*;

#[test]
fn a_pause_of_g1_has_its_duration_as_printed_and_all_its_figures() {
    let recording = read(G1_PAUSE);
    let pause = only(&recording, kind::GC_PAUSE);
    assert_eq!(pause.duration_ns(), 19_875_187_000);
    assert_eq!(pause.t1_ns(), 50_277_000_000);
    assert_eq!((pause.name(), pause.key(), pause.line()), ("Pause Young (Normal)", 181, 13));
    assert_eq!(pause.label(label::CAUSE), Some("G1 Evacuation Pause"));
    let region = 2.0 * 1048576.0;
    for (key, value) in [
        (figure::EDEN_BEFORE_BYTES, 464.0 * region),
        (figure::YOUNG_BEFORE_BYTES, 545.0 * region),
        (figure::YOUNG_AFTER_BYTES, 69.0 * region),
        (figure::OLD_AFTER_BYTES, 1169.0 * region),
        (figure::HUMONGOUS_BEFORE_REGIONS, 3.0),
        (figure::HEAP_BEFORE_BYTES, 3171.0 * 1048576.0),
        (figure::HEAP_CAPACITY_BYTES, 4096.0 * 1048576.0),
        (figure::USER_S, 0.06),
        (figure::REAL_S, 19.87),
        (figure::WORKERS, 2.0),
        (figure::PHASES_SUM_MS, 128.4),
        ("phase_ms:Other", 19746.3),
    ] {
        assert_eq!(pause.figure(key), Some(value), "{key}");
    }
    assert_eq!(failed(&recording), [""; 0]);
}

#[test]
fn the_idle_gap_is_what_the_phases_printed_from_there_on_do_not_explain() {
    let recording = read(G1_PAUSE);
    let pause = only(&recording, kind::GC_PAUSE);
    // 50.148 − 30.402 s, of which 128.4 ms are phases that are printed later.
    assert_eq!(pause.figure(figure::IDLE_GAP_MS), Some(19_746.0 - 128.4));
    assert_eq!(pause.figure(figure::IDLE_GAP_LINE), Some(3.0));
}

#[test]
fn concurrent_work_of_the_same_cycle_is_no_gap_of_the_pause_before_it() {
    let recording = read(
        "\
[235.501s][info][gc,start      ] GC(10) Pause Init Mark (process weakrefs) (unload classes)
[235.501s][info][gc,task       ] GC(10) Using 4 of 4 workers for init marking
[235.518s][info][gc            ] GC(10) Pause Init Mark (process weakrefs) (unload classes) 16.651ms
[235.518s][info][gc,start      ] GC(10) Concurrent marking (process weakrefs) (unload classes)
[235.518s][info][gc,task       ] GC(10) Using 2 of 4 workers for concurrent marking
[247.310s][info][gc            ] GC(10) Concurrent marking (process weakrefs) (unload classes) 11791.811ms
[247.311s][info][gc,start      ] GC(10) Concurrent precleaning
[247.311s][info][gc,task       ] GC(10) Using 1 of 4 workers for concurrent preclean
",
    );
    assert_eq!(only(&recording, kind::GC_PAUSE).figure(figure::IDLE_GAP_MS), None);
}

#[test]
fn work_before_the_closing_burst_is_no_idle_gap_where_no_phases_account_for_it() {
    let log = "\
[8.112s][info][gc,start    ] GC(0) Pause Young (Allocation Failure)
[8.434s][info][gc,heap     ] GC(0) PSYoungGen: 262144K(305664K)->33802K(305664K)
[8.434s][info][gc          ] GC(0) Pause Young (Allocation Failure) 256M->33M(981M) 322.150ms
[8.434s][info][gc,cpu      ] GC(0) User=0.08s Sys=0.02s Real=0.32s
";
    let recording = read(log);
    assert_eq!(only(&recording, kind::GC_PAUSE).figure(figure::IDLE_GAP_MS), None);
    let blocked = read(&log.replace("[8.434s][info][gc,cpu ", "[9.434s][info][gc,cpu "));
    let pause = only(&blocked, kind::GC_PAUSE);
    assert_eq!(
        (pause.figure(figure::IDLE_GAP_MS), pause.figure(figure::IDLE_GAP_LINE)),
        (Some(1000.0), Some(4.0))
    );
}

#[test]
fn a_full_collection_within_a_young_one_is_one_stop() {
    let with_starts = read(
        "\
[1.292s][info ][gc,start         ] GC(49) Pause Young (Allocation Failure)
[1.292s][info ][gc,start         ] GC(50) Pause Full (Allocation Failure)
[1.294s][info ][gc,phases        ] GC(50) Phase 1: Mark live objects 2.389ms
[1.366s][info ][gc               ] GC(50) Pause Full (Allocation Failure) 280M->38M(290M) 74.291ms
[1.366s][info ][gc               ] GC(49) Pause Young (Allocation Failure) 280M->38M(290M) 74.336ms
[1.366s][info ][gc,cpu           ] GC(49) User=0.06s Sys=0.00s Real=0.07s
",
    );
    let without = read(
        "\
[1.366s][info ][gc] GC(50) Pause Full (Allocation Failure) 280M->38M(290M) 74.291ms
[1.366s][info ][gc] GC(49) Pause Young (Allocation Failure) 280M->38M(290M) 74.336ms
",
    );
    for recording in [with_starts, without] {
        let pause = only(&recording, kind::GC_PAUSE);
        assert_eq!(
            (pause.key(), pause.duration_ns(), pause.figure(figure::FULL)),
            (49, 74_336_000, Some(1.0))
        );
        let inner = only(&recording, kind::GC_NESTED);
        assert_eq!((inner.key(), inner.parent()), (50, Some(pause.id)));
        assert_eq!(failed(&recording), [""; 0]);
    }
}

#[test]
fn a_scavenge_before_remark_is_part_of_the_remark() {
    let recording = read(
        "\
[1.0s][info][gc,start] GC(3) Pause Remark
[1.0s][info][gc,start] GC(4) Pause Young (CMS Final Remark)
[1.1s][info][gc      ] GC(4) Pause Young (CMS Final Remark) 28M->8M(90M) 4.5ms
[1.1s][info][gc      ] GC(3) Pause Remark 8M->8M(90M) 6.5ms
",
    );
    assert_eq!(only(&recording, kind::GC_PAUSE).name(), "Pause Remark");
    assert_eq!(only(&recording, kind::GC_NESTED).duration_ns(), 4_500_000);
}

#[test]
fn a_pause_that_never_closes_is_reported_and_not_invented() {
    let lost = read(
        "\
[1.0s][info][gc,start] GC(3) Pause Young (Normal) (G1 Evacuation Pause)
[2.0s][info][gc,start] GC(4) Pause Young (Normal) (G1 Evacuation Pause)
[2.1s][info][gc      ] GC(4) Pause Young (Normal) (G1 Evacuation Pause) 28M->8M(90M) 4.5ms
",
    );
    assert_eq!(only(&lost, kind::GC_PAUSE).key(), 4);
    assert_eq!(failed(&lost).len(), 1);
    assert!(failed(&lost)[0].contains("GC(3) line 1"), "{:?}", failed(&lost));
    let truncated = read("[1.0s][info][gc,start] GC(3) Pause Young (Normal) (G1 Evacuation Pause)\n");
    assert!(truncated.sources[0].cut);
    assert_eq!(failed(&truncated), [""; 0], "the end of the log accounts for it");
}

#[test]
fn a_full_collection_that_never_closes_is_reported_by_itself() {
    let recording = read(
        "\
[8.970s][info][gc,start     ] GC(2) Pause Full (Allocation Failure)
[8.970s][info][gc,phases,start] GC(2) Phase 1: Mark live objects
[9.026s][info][gc,phases      ] GC(2) Phase 1: Mark live objects 55.761ms
",
    );
    let truncated = only(&recording, kind::GC_CUT);
    assert_eq!((truncated.name(), truncated.label(label::CAUSE)), ("Pause Full", Some("Allocation Failure")));
    assert_eq!((truncated.t0_ns(), truncated.figure(figure::FULL)), (8_970_000_000, Some(1.0)));
    assert_eq!(recording.spans_of(kind::GC_PAUSE).count(), 0);
}

#[test]
fn the_operation_in_which_the_jvm_reports_that_it_has_no_memory_is_said_though_it_never_ends() {
    let recording = read(
        "\
[154.117s][info   ] Entering safepoint region: HeapDumper
[186.755s][info   ] Leaving safepoint region
[186.756s][info   ] Total time for which application threads were stopped: 32.6391481 seconds, Stopping threads took: 0.0001145 seconds
[186.759s][info   ] Entering safepoint region: ReportJavaOutOfMemory
",
    );
    assert_eq!(only(&recording, kind::JVM_WARNING).name(), "safepoint ReportJavaOutOfMemory");
    assert_eq!(only(&recording, kind::SAFEPOINT).name(), "HeapDumper");
}
