//! Several runs in one file, and what is printed between.

use super::*;

#[test]
fn runs_in_one_file_are_apart() {
    let run = "[0.008s][info][gc] Using G1\n[5.1s][info][gc] GC(0) Pause Young (Normal) 2M->1M(4M) 1.5ms\n";
    let recording = read(&format!("{run}{run}"));
    let names: Vec<_> = recording.sources.iter().map(|s| s.name.as_str()).collect();
    assert_eq!((names, recording.processes.len()), (vec!["gc.log", "gc.log #2"], 2));
    assert_eq!(recording.spans_of(kind::GC_PAUSE).map(|p| p.source().0).collect::<Vec<_>>(), [0, 1]);
    let without_stamps = "Using Serial\nGC(0) Pause Young (Allocation Failure) 2M->1M(4M) 1.5ms\n";
    assert_eq!(read(&format!("{without_stamps}{without_stamps}")).sources.len(), 2);
}

#[test]
fn what_a_second_run_says_before_its_collector_is_its_own() {
    // JDK 11 with G1, JDK 25: neither begins with "Using G1", and runs of half a second are too
    // short for timestamps that go back to show it.
    for first in ["Heap region size: 2M", "CardTable entry size: 512"] {
        let run = format!(
            "[0.004s][info][gc,init] {first}\n[0.005s][info][gc] Using G1\n[0.008s][info][gc,init] Version: 25\n\
             [0.5s][info][gc] GC(0) Pause Young (Normal) 2M->1M(4M) 1.5ms\n"
        );
        let recording = read(&format!("{run}{run}"));
        let lines: Vec<_> = recording.sources.iter().map(|s| s.lines).collect();
        assert_eq!(lines, [4, 4], "{first}");
        let ids: Vec<_> = recording.spans_of(kind::GC_PAUSE).map(|p| (p.source().0, p.line())).collect();
        assert_eq!(ids, [(0, 4), (1, 8)]);
    }
}

#[test]
fn a_line_out_of_order_begins_no_run_without_a_banner_behind_it() {
    let recording = read(
        "\
[0.005s][info][gc] Using G1
[0.500s][info][gc] GC(0) Pause Young (Normal) 2M->1M(4M) 1.5ms
[0.490s][info][gc] GC(1) Concurrent Mark 1.5ms
[0.501s][info][gc] GC(2) Pause Young (Normal) 2M->1M(4M) 0.5ms
[0.006s][info][gc] Using G1
[0.007s][info][gc] GC(0) Pause Young (Normal) 2M->1M(4M) 0.5ms
",
    );
    assert_eq!(recording.sources.iter().map(|s| s.lines).collect::<Vec<_>>(), [4, 2]);
}

#[test]
fn a_line_written_late_is_no_restart() {
    let recording = read(
        "\
[10.1s][info][gc] GC(0) Pause Young (Normal) 2M->1M(4M) 1.5ms
[30.0s][info][gc] GC(2) Pause Young (Normal) 2M->1M(4M) 1.5ms
[10.2s][info][gc] GC(1) Concurrent Mark 1.5ms
[30.1s][info][gc] GC(3) Pause Young (Normal) 2M->1M(4M) 1.5ms
",
    );
    assert_eq!(recording.sources.len(), 1);
}

#[test]
fn other_output_is_counted_with_a_sample_and_a_line_that_it_runs_into_is_found() {
    let recording = read(
        "\
[0.1s][info][gc] GC(0) Pause Young (Normal) 2M->1M(4M) 1.5ms
hello from the application
progress 50% [0.2s][info][gc] GC(1) Pause Young (Normal) 2M->1M(4M) 1.5ms
OpenJDK 64-Bit Server VM warning: CodeCache is full. Compiler has been disabled.
",
    );
    assert_eq!(recording.spans_of(kind::GC_PAUSE).len(), 2);
    assert_eq!(recording.sources[0].skipped, 1);
    assert_eq!(recording.sources[0].unknown[0].line, 2);
    let full = only(&recording, kind::JIT_CODE_CACHE_FULL);
    assert_eq!(full.figure(figure::COMPILER_DISABLED), Some(1.0));
}

#[test]
fn dropped_messages_of_the_asynchronous_log_are_lost_and_said() {
    let recording = try_read(&fixture("async-dropped.log.zst")).unwrap();
    assert_eq!(recording.sources[0].lost, 3403);
    assert_eq!(recording.processes[0].fact(fact::LOG_MODE), Some("async"));
}

#[test]
fn the_jits_lines_are_read() {
    let recording = try_read(&fixture("codecache-25.log.zst")).unwrap();
    assert!(recording.spans_of(kind::JIT_COMPILE).len() > 50);
    let trap = recording.spans_of(kind::JIT_TRAP).next().unwrap();
    assert_eq!(trap.name(), "java.lang.String.hashCode");
    assert_eq!(
        (trap.label(label::REASON), trap.label(label::ACTION)),
        (Some("unstable_if"), Some("reinterpret"))
    );
    assert!(
        recording
            .spans_of(kind::JIT_INVALIDATE)
            .any(|s| s.label(label::REASON) == Some("marked for deoptimization"))
    );
    assert!(recording.series.iter().any(|s| s.info.name == "codecache.used" && s.value.len() > 50));
    assert_eq!(recording.sources[0].skipped, 0);
    let seventeen = try_read(&fixture("codecache-17.log.zst")).unwrap();
    assert!(seventeen.spans_of(kind::JIT_SWEEP).len() > 0);
}

/// A log that is decorated as no JVM is known to does not show its pauses: what is missing is said.
#[test]
fn lines_of_collections_that_cannot_be_read_are_lost() {
    let recording = read(
        "[0.1s][info][gc] Using G1\n\
         [0.1s][?2][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 2M->1M(4M) 900.5ms\n\
         [0.1s][?2][info][app] no GC(1) at all\n\
         an array[3] GC(1) of something\n",
    );
    let source = &recording.sources[0];
    assert_eq!((source.skipped, source.lost), (3, 1), "{:?}", source.unknown);
}
