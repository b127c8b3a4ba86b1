//! The reader of JDK 6–8 GC logs: golden tests on logs of a real JDK 8 and on a written one full of
//! special cases, and invariants for any input.

use std::fmt::Write as _;
use std::path::PathBuf;

use fathom_ingest::{FORMATS, Format, Input, Lines};
use fathom_recording::vocabulary::{fact, figure, kind, label};
use fathom_recording::{Recording, Span};
use proptest::prelude::*;

fn reader() -> &'static dyn Format {
    *FORMATS.iter().find(|f| f.id() == "jdk8-gc-log").expect("the reader is registered")
}

fn read(bytes: &[u8]) -> Recording {
    let lines = Lines::new(Box::new(std::io::Cursor::new(bytes.to_vec())));
    let mut input = Input { name: "gc.log".to_owned(), modified: None, lines };
    let mut recording = Recording::new();
    // An error means that there was no record; the recording is then empty, and the test judges
    // that.
    let _ = reader().read(&mut input, &mut recording);
    recording.seal();
    recording
}

fn fixture(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/jdk8").join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The two orders in which such a log may begin.
#[test]
fn a_cms_that_collects_young_generations_as_the_serial_collector_does_is_cms() {
    let young = "0.536: [GC 0.537: [DefNew: 3967K->0K(4032K), 0.0389152 secs] 3967K->3656K(16320K), 0.0391856 secs]\n";
    let mark = "0.057: [CMS-concurrent-mark: 0.051/0.051 secs]\n";
    let full = "1.5: [Full GC 1.5: [Tenured: 3656K->300K(12288K), 0.02 secs] 4649K->300K(16320K), [Perm : 100K->100K(12288K)], 0.02 secs]\n";
    let collector = |log: &str| read(log.as_bytes()).processes[0].fact(fact::COLLECTOR).map(str::to_owned);
    assert_eq!(collector(&format!("{mark}{young}")).as_deref(), Some("CMS"));
    assert_eq!(collector(&format!("{young}{mark}{young}")).as_deref(), Some("CMS"));
    assert_eq!(collector(&format!("{young}{full}")).as_deref(), Some("Serial"));
}

/// All that was read, in lines that a person can check against the log.
fn summary(recording: &Recording, spans_of_a_kind: usize) -> String {
    let mut text = String::new();
    for (source, process) in recording.sources.iter().zip(&recording.processes) {
        let _ = writeln!(
            text,
            "{} {:?} lines={} records={} skipped={} lost={} cut={}",
            source.name, source.clock, source.lines, source.records, source.skipped, source.lost, source.cut
        );
        if let Some(anchor) = &source.anchor {
            let _ = writeln!(
                text,
                "  anchor: {} ± {} ns, {}",
                anchor.zero_epoch_ns, anchor.uncertainty_ns, anchor.how
            );
        }
        for unknown in &source.unknown {
            let _ = writeln!(text, "  unknown {}: {}", unknown.line, unknown.text);
        }
        for check in &source.checks {
            let _ = writeln!(
                text,
                "  {}: {} ({})",
                if check.holds { "ok" } else { "FAILED" },
                check.claim,
                check.detail
            );
        }
        for (key, value) in &process.facts {
            let _ = writeln!(text, "  {key} = {value}");
        }
    }
    for (kind, count) in recording.kinds() {
        let _ = writeln!(text, "{kind}: {count}");
        for span in recording.spans_of(kind).take(spans_of_a_kind) {
            let _ = writeln!(text, "  {}", line_of(&span));
        }
    }
    text
}

fn line_of(span: &Span<'_>) -> String {
    let mut line =
        format!("{}: {} ns + {} ns {:?}", span.line(), span.t0_ns(), span.duration_ns(), span.name());
    if span.key() >= 0 {
        let _ = write!(line, " #{}", span.key());
    }
    for (key, value) in span.labels() {
        let _ = write!(line, " {key}={value:?}");
    }
    for (key, value) in span.figures() {
        let _ = write!(line, " {key}={value}");
    }
    line
}

#[test]
fn every_trap_of_the_written_log_is_read_as_its_notes_say() {
    insta::assert_snapshot!(summary(&read(&fixture("traps.log")), 100));
}

#[test]
fn logs_of_a_real_jdk_8_are_read_as_before() {
    for name in [
        "serial-uptime",
        "parallel-both-policy-heap",
        "parallel-bare",
        "cms-both-fls-stopped",
        "cms-brief-compilation",
        "icms-date",
        "g1-both-id-stopped-statistics",
        "g1-uptime-ergonomics",
        "statistics-only",
    ] {
        let recording = read(&fixture(&format!("{name}.log")));
        insta::assert_snapshot!(name, summary(&recording, 12));
        for source in &recording.sources {
            assert_eq!(source.unknown, [], "{name}: every line of a real log is known");
            assert!(source.checks.iter().all(|c| c.holds), "{name}: {:?}", source.checks);
        }
    }
}

#[test]
fn a_scavenge_before_remark_is_one_stop() {
    let recording = read(&fixture("traps.log"));
    let nested: Vec<_> = recording.spans_of(kind::GC_NESTED).collect();
    let [nested] = nested.as_slice() else { panic!("one nested collection") };
    let outer = recording.span_at(nested.parent().expect("it has a parent"));
    assert_eq!((outer.name(), outer.duration_ns()), ("CMS-remark", 10_000_000));
    assert_eq!(nested.duration_ns(), 5_100_000);
    assert!(nested.t0_ns() >= outer.t0_ns() && nested.t1_ns() <= outer.t1_ns());
}

fn failures(span: &fathom_recording::Span<'_>) -> Vec<String> {
    span.labels().filter(|(key, _)| *key == label::FAILURE).map(|(_, word)| word.to_owned()).collect()
}

#[test]
fn what_a_scavenge_within_a_remark_failed_at_the_stop_failed_at() {
    let recording = read(
        b"2833.756: [GC[YG occupancy: 1600484 K (1887488 K)]2833.756: [GC 2833.757: [ParNew (promotion failed): \
          1600484K->1600484K(1887488K), 2.2601630 secs] 19739658K->20165811K(20761856K), 2.2605170 secs] [Times: user=10.47 \
          sys=0.11, real=2.26 secs] \n2836.017: [Rescan (parallel) , 2.2167670 secs] [1 CMS-remark: 18565327K(18874368K)] \
          20165811K(20761856K), 5.1880910 secs] [Times: user=42.02 sys=0.20, real=5.18 secs] \n",
    );
    let pauses: Vec<_> = recording.spans_of(kind::GC_PAUSE).collect();
    let [remark] = pauses.as_slice() else { panic!("one stop: {}", pauses.len()) };
    assert_eq!((remark.name(), failures(remark)), ("CMS-remark", vec!["promotion failed".to_owned()]));
}

#[test]
fn the_rest_of_a_record_shows_that_it_failed_or_was_full_and_it_is_no_pause() {
    let recording = read(
        b"455.096: [GC 455.096: [ParNew (promotion failed): 153344K->153344K(153344K), 0.6818450 secs]455.778: \
          [CMS459.090: [CMS-concurrent-mark: 3.439/4.155 secs] [Times: user=8.27 sys=0.17, real=4.16 secs]\n\
          467.891: [GC 467.892: [ParNew: 136320K->17024K(153344K), 0.1523790 secs] 2387283K->2279303K(4590976K), \
          0.1526740 secs] [Times: user=0.25 sys=0.00, real=0.15 secs]\n\
          468.000: [GC 468.000: [ParNew: 136320K->17024K(153344K), 0.1523\n\
          469.451: [Full GC (Allocation Failure) 469.451: [CMS470.427: [CMS-concurrent-mark: 0.976/0.982 secs] \n",
    );
    assert_eq!(recording.spans_of(kind::GC_PAUSE).count(), 1);
    let truncated: Vec<_> = recording
        .spans_of(kind::GC_CUT)
        .map(|c| (c.t0_ns() / 1_000_000, c.name().to_owned(), failures(&c), c.figure(figure::FULL)))
        .collect();
    let failed = (455_096, "GC".to_owned(), vec!["promotion failed".to_owned()], None);
    assert_eq!(truncated, [failed, (469_451, "Full GC".to_owned(), vec![], Some(1.0))]);
    assert_eq!(recording.sources[0].lost, 3);
}

#[test]
fn an_unknown_cause_is_still_a_pause_and_said_to_be_unknown() {
    let recording = read(b"1.0: [GC (A Cause Of Tomorrow) 10K->5K(20K), 0.0100000 secs]\n");
    let pause = recording.spans_of(kind::GC_PAUSE).next().expect("a pause");
    assert_eq!(pause.label(label::QUALIFIER), Some("A Cause Of Tomorrow"));
    assert_eq!(pause.duration_ns(), 10_000_000);
    assert_eq!(pause.figure(figure::HEAP_AFTER_BYTES), Some(5.0 * 1024.0));
}

#[test]
fn a_second_run_in_the_file_is_a_source_and_a_process_of_its_own() {
    let log = "10.000: [GC 10K->5K(20K), 0.0100000 secs]\n0.500: [GC 10K->5K(20K), 0.0200000 secs]\n";
    let recording = read(log.as_bytes());
    let names: Vec<_> = recording.sources.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["gc.log", "gc.log #2"]);
    assert_eq!(recording.processes.len(), 2);
    assert_eq!(recording.spans_of(kind::RUN).len(), 2);
}

#[test]
fn timestamps_of_two_threads_before_an_application_time_are_not_an_unknown_line() {
    let date = "2026-11-21T04:48:47.562+0000";
    let log = format!(
        "{date}: 0.132: [GC 10K->5K(20K), 0.0100000 secs]\n\
         {date}: 0.150: {date}: 0.150: Application time: 0.0003793 seconds\n\
         {date}: 0.151: {date}: Application time: 0.0015055 seconds\n"
    );
    assert_eq!(read(log.as_bytes()).sources[0].unknown, []);
}

#[test]
fn lines_that_overtake_each_other_are_no_second_run() {
    let log = "10.000: [GC 10K->5K(20K), 0.0100000 secs]\n9.990: [CMS-concurrent-mark: 0.1/0.2 secs]\n";
    assert_eq!(read(log.as_bytes()).sources.len(), 1);
}

#[test]
fn dates_alone_are_wall_clock_time_and_without_timestamps_there_is_no_time() {
    use fathom_recording::ClockBasis;
    let recording = read(b"2015-05-13T13:28:51.504-0400: [GC 10K->5K(20K), 0.0100000 secs]\n");
    assert_eq!(recording.sources[0].clock, ClockBasis::Epoch);
    let pause = recording.spans_of(kind::GC_PAUSE).next().expect("a pause");
    assert_eq!(pause.t0_ns(), 1_431_538_131_504_000_000);
    let recording = read(b"[GC 10K->5K(20K), 0.0100000 secs]\n[GC 10K->5K(20K), 0.0200000 secs]\n");
    assert_eq!(recording.sources[0].clock, ClockBasis::None);
    let order: Vec<_> = recording.spans_of(kind::GC_PAUSE).map(|p| (p.t0_ns(), p.t1_ns())).collect();
    assert_eq!(order, [(0, 10_000_000), (10_000_000, 30_000_000)]);
}

#[test]
fn other_programs_logs_are_refused() {
    for text in [
        "<af type=\"tenured\" id=\"1\" timestamp=\"Wed Sep 24 13:54:44 2008\" intervalms=\"0.000\">\n",
        "[memory ] 0.123-0.125: GC 12345K->6789K (65536K), 2.000 ms\n",
        "gc 1 @0.038s 1%: 0.05+0.39+0.04 ms clock, 0.10+0.3/0.2/0.1+0.09 ms cpu, 4->4->0 MB, 5 MB goal, 2 P\n",
        "[0.123s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 3.210ms\n",
        "time,ops\n1,200\n2,210\n",
        "",
    ] {
        assert_eq!(reader().sniff(text.as_bytes()).0, 0, "{text}");
    }
}

#[test]
fn a_record_that_never_closes_is_given_up_after_a_bounded_number_of_lines() {
    let mut log = b"1.0: [GC [ParNew\n".to_vec();
    for _ in 0..60_000 {
        log.extend_from_slice(b"[Part\n");
    }
    log.extend_from_slice(b"\n2.0: [GC 10K->5K(20K), 0.0100000 secs]\n");
    let recording = read(&log);
    assert_eq!(recording.spans_of(kind::GC_PAUSE).len(), 1);
}

#[test]
fn the_id_of_a_cycle_that_a_full_gc_gave_up_before_it_wrote_a_line_is_not_missing() {
    let log = "\
0.085: #4: [GC pause (G1 Evacuation Pause) (young) (initial-mark), 0.0013217 secs]
0.087: #6: [GC pause (G1 Evacuation Pause) (young), 0.0015004 secs]
0.091: #7: [Full GC (Allocation Failure) 0.092: #4294967295: [GC concurrent-mark-end, 0.0029389 secs]
 31744K->11145K(32768K), 0.0055607 secs]
0.104: #9: [GC pause (G1 Evacuation Pause) (young), 0.0015004 secs]
0.109: #11: [Full GC (Allocation Failure)  31744K->11145K(32768K), 0.0055607 secs]
";
    let recording = read(log.as_bytes());
    let checks = &recording.sources[0].checks;
    let ids = checks.iter().find(|c| c.claim.contains("GC id")).expect("a check of ids");
    assert!(!ids.holds, "8 and 10 follow no initial mark");
    assert_eq!(
        ids.detail,
        "2 missing below 12, the first is 8, 1 of a cycle that was aborted before it wrote a line"
    );
}

#[test]
fn a_heap_dump_after_the_rest_of_its_timestamps_is_not_an_unknown_line() {
    let log = "\
0.104: #9: [GC pause (G1 Evacuation Pause) (young), 0.0015004 secs]
2026-11-23T02:03:44.297+0000 concurrent mark-sweep generation:  total 21888K, used 11947K [0x00000000feaa0000)
0.156  class space    used 406K, capacity 460K, committed 512K, reserved 1048576K
2026-11-23T02:04:25.228+0000: 0.216: #7: {Heap before GC invocations=9 (full 0):
:  Metaspace       used 3723K, capacity 4638K, committed 4864K, reserved 1056768K
0.156: nobody knows this
";
    let unknown = &read(log.as_bytes()).sources[0].unknown;
    assert_eq!(unknown.iter().map(|u| u.line).collect::<Vec<_>>(), [6]);
}

#[test]
fn a_pause_whose_timestamp_another_thread_tore_is_where_its_line_is() {
    let log = "\
0.181: [GC pause (G1 Evacuation Pause) (young) (initial-mark)-- 31744K->31744K(32768K), 0.0025525 secs]
0.183: [GC concurrent-root-region-scan-start]
0.1830.183: : [Full GC (Allocation Failure) [GC concurrent-root-region-scan-end, 0.0000522 secs]
0.183: [GC concurrent-mark-start]
 31744K->11299K(32768K), 0.0061054 secs]
0.189: [GC concurrent-mark-abort]
0.191: [GC pause (G1 Evacuation Pause) (young) 27783K->11318K(32768K), 0.0022622 secs]
";
    let recording = read(log.as_bytes());
    let full = recording.spans_of(kind::GC_PAUSE).find(|p| p.name().starts_with("Full")).expect("a full GC");
    assert!((183_000_000..184_000_000).contains(&full.t0_ns()), "{}", full.t0_ns());
    assert!(recording.sources[0].checks.iter().all(|c| c.holds), "{:?}", recording.sources[0].checks);
}

#[test]
fn a_full_collection_whose_timestamp_went_to_the_line_before_is_no_detail_of_the_last_pause() {
    let log = "\
2026-11-29T08:28:43.583+0000: 0.380: #19: [GC pause (G1 Evacuation Pause) (young) (initial-mark) 31M->31M(32M), 0.0020000 secs]
   [Parallel Time: 1.1 ms, GC Workers: 2]
2026-11-29T08:28:43.585+0000: 0.384: #20: [GC concurrent-root-region-scan-start]
2026-11-29T08:28:43.585+0000: 2026-11-29T08:28:43.586+0000: 0.3840.384: #20: : #21: [GC concurrent-root-region-scan-end, 0.0017897 secs]
[Full GC (Allocation Failure) 2026-11-29T08:28:43.586+0000: 0.384: #4294967295: [GC concurrent-mark-start]
2026-11-29T08:28:43.587+0000: 0.385: #21: [SoftReference, 0 refs, 0.0000070 secs] 31732K->11844K(32768K), 0.0130000 secs]
   [Eden: 0.0B(5120.0K)->0.0B(13312.0K) Survivors: 0.0B->0.0B Heap: 31732.1K(32768.0K)->11844.9K(32768.0K)]
";
    let recording = read(log.as_bytes());
    let full: Vec<i64> = recording
        .spans_of(kind::GC_PAUSE)
        .filter(|p| p.name().starts_with("Full"))
        .map(|p| p.duration_ns())
        .collect();
    assert_eq!(full, [13_000_000]);
    assert!(recording.sources[0].unknown.is_empty(), "{:?}", recording.sources[0].unknown);
}

/// Invariants of every recording, whatever the input was.
fn holds(recording: &Recording) {
    for kind in [kind::GC_PAUSE, kind::GC_NESTED, kind::GC_CONCURRENT, kind::SAFEPOINT, kind::RUN] {
        for span in recording.spans_of(kind) {
            assert!(span.duration_ns() >= 0);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_log_truncated_anywhere_is_read_up_to_there(share in 0.0f64..1.0, which in 0usize..4) {
        let name = ["traps", "cms-both-fls-stopped", "g1-both-id-stopped-statistics", "icms-date"][which];
        let whole = fixture(&format!("{name}.log"));
        let part = &whole[..(whole.len() as f64 * share) as usize];
        let (part, whole) = (read(part), read(&whole));
        holds(&part);
        prop_assert!(part.spans_of(kind::GC_PAUSE).len() <= whole.spans_of(kind::GC_PAUSE).len());
    }

    #[test]
    fn flipped_bytes_never_break_the_reader(flips in prop::collection::vec((0.0f64..1.0, any::<u8>()), 1..60), which in 0usize..4) {
        let name = ["traps", "cms-both-fls-stopped", "g1-both-id-stopped-statistics", "parallel-both-policy-heap"][which];
        let mut bytes = fixture(&format!("{name}.log"));
        for (share, byte) in flips {
            let at = (bytes.len() as f64 * share) as usize;
            bytes[at] = byte;
        }
        holds(&read(&bytes));
    }

    #[test]
    fn any_mixture_of_its_own_tokens_is_survived(tokens in prop::collection::vec(prop::sample::select(vec![
        "[GC ", "[Full GC ", "]", "[", "\n", "1.5: ", "2015-05-13T13:28:51.504-0400: ", "#7: ", "(young)", "(", ")", "->",
        "10K", "10K->5K(20K)", ", 0.01 secs]", "9999999999999999999.9 secs]", "[Times: user=0.1 sys=0.1, real=0.1 secs]",
        "[CMS-concurrent-mark: 0.1/0.2 secs]", "[YG occupancy: 1 K (2 K)]", "[0x00", "   [Other: 1.0 ms]\n", "[ParNew",
        "Total time for which application threads were stopped: 0.1 seconds, Stopping threads took: 0.1 seconds\n",
        "Application time: 1.0 seconds\n", "0.1: X [ 1 2 3 ] [ 1 2 3 4 5 ] 0\n", "--", ",", "[Pause Full ", " ms]",
    ]), 0..200)) {
        holds(&read(tokens.concat().as_bytes()));
    }
}

#[test]
fn compilations_and_warnings_between_the_records_are_read_as_well() {
    let log = "\
1.000: [GC 10K->5K(20K), 0.0100000 secs]
   1100   45       3       java.lang.String::hashCode (55 bytes)
OpenJDK 64-Bit Server VM warning: CodeCache is full. Compiler has been disabled.
1.200: [GC 10K->5K(20K), 0.0100000 secs]
";
    let recording = read(log.as_bytes());
    let compilation = recording.spans_of(kind::JIT_COMPILE).next().expect("a compilation");
    assert_eq!((compilation.t0_ns(), compilation.key()), (1_100_000_000, 45));
    let full = recording.spans_of(kind::JIT_CODE_CACHE_FULL).next().expect("a full code cache");
    assert_eq!(full.t0_ns(), 1_100_000_000);
    let warning = recording.spans_of(kind::JVM_WARNING).next().expect("a warning");
    assert_eq!(warning.name(), "CodeCache is full. Compiler has been disabled.");
}

/// The labels of a key, of all spans of a kind that have any, in order.
fn labels(recording: &Recording, kind: &str, key: &str) -> Vec<String> {
    let of = |span: Span<'_>| span.labels().filter(|(k, _)| *k == key).map(|(_, v)| v.to_owned()).collect();
    recording.spans_of(kind).map(of).map(|found: Vec<String>| found.join(", ")).collect()
}

/// A phase of the concurrent thread ends within the full collection that takes its place, and
/// prints a later timestamp there.
const CONCURRENT_MODE_FAILURE: &str = "\
100.000: [GC 100.001: [ParNew: 18874K->2096K(18874K), 0.2000000 secs] 109623K->98424K(207618K), 0.2001000 secs] [Times: user=0.9 sys=0.01, real=0.2 secs]
200.000: [Full GC 200.000: [CMS210.500: [CMS-concurrent-sweep: 12.000/14.000 secs] [Times: user=41.93 sys=0.01, real=14.0 secs]
 (concurrent mode failure): 170748K->48424K(188743K), 41.9426500 secs] 189623K->48424K(207618K), [CMS Perm : 65645K->65265K(109292K)], 41.9429740 secs] [Times: user=41.93 sys=0.01, real=41.94 secs]
300.000: [GC 300.001: [ParNew: 18874K->2096K(18874K), 0.2000000 secs] 109623K->98424K(207618K), 0.2001000 secs] [Times: user=0.9 sys=0.01, real=0.2 secs]
";

#[test]
fn a_phase_that_ends_within_a_full_collection_is_no_restart() {
    let recording = read(CONCURRENT_MODE_FAILURE.as_bytes());
    assert_eq!(recording.processes.len(), 1);
    let pauses: Vec<_> = recording
        .spans_of(kind::GC_PAUSE)
        .map(|p| (p.t0_ns() / 1_000_000, p.duration_ns() / 1_000))
        .collect();
    assert_eq!(pauses, [(100_000, 200_100), (200_000, 41_942_974), (300_000, 200_100)]);
    let phase = recording.spans_of(kind::GC_CONCURRENT).next().expect("the sweep");
    assert_eq!(phase.t1_ns(), 210_500_000_000);
}

#[test]
fn a_restart_is_detected_after_a_truncated_record() {
    let end = CONCURRENT_MODE_FAILURE.find(" (concurrent mode failure)").expect("it is there");
    let log = format!("{}\n{CONCURRENT_MODE_FAILURE}", &CONCURRENT_MODE_FAILURE[..end]);
    let recording = read(log.as_bytes());
    let of_run =
        |run: usize| recording.spans_of(kind::GC_PAUSE).filter(|p| p.process().index() == run).count();
    assert_eq!((recording.processes.len(), of_run(0), of_run(1)), (2, 1, 3));
}

#[test]
fn what_a_collection_failed_at_is_named_whatever_the_log_calls_it() {
    let log = "\
1.0: [GC 1.0: [ParNew (promotion failed): 10K->10K(10K), 0.01 secs]1.0: [CMS (concurrent mode failure): 8K->5K(20K), 0.1 secs] 18K->5K(30K), 0.11 secs]
2.0: [Full GC (System) 2.0: [CMS (concurrent mode interrupted): 8K->5K(20K), 0.1 secs] 18K->5K(30K), 0.11 secs]
3.0: [GC-- [PSYoungGen: 10K->10K(10K)] 18K->28K(30K), 0.1 secs]
4.0: [GC pause (G1 Evacuation Pause) (young)-- 15M->10M(20M), 0.1 secs]
5.0: [GC pause (young) (to-space overflow), 0.1 secs]
6.0: [GC pause (G1 Evacuation Pause) (mixed) (to-space exhausted), 0.1 secs]
7.0: [GC 10K->5K(20K), 0.01 secs]
";
    let recording = read(log.as_bytes());
    assert_eq!(
        labels(&recording, kind::GC_PAUSE, label::FAILURE),
        [
            "promotion failed, concurrent mode failure",
            "concurrent mode interrupted",
            "promotion failed",
            "evacuation failure",
            "evacuation failure",
            "evacuation failure",
            "",
        ]
    );
    let failed = |p: Span<'_>| p.figure(figure::EVACUATION_FAILURE).is_some();
    let failed: Vec<_> = recording.spans_of(kind::GC_PAUSE).map(failed).collect();
    assert_eq!(failed, [true, false, true, true, true, true, false]);
}

#[test]
fn what_the_jvm_complains_of_between_records_is_a_warning() {
    let log = "\
1.0: [GC 10K->5K(20K), 0.01 secs]
GC locker: Trying a full collection because scavenge failed
1.1: [Full GC 10K->5K(20K), 0.01 secs]
java.lang.OutOfMemoryError: GC overhead limit exceeded
2026-01-01 12:00:00 ERROR Caused by: java.lang.OutOfMemoryError: Java heap space
1.2: [GC 10K->5K(20K), 0.01 secs]
";
    let recording = read(log.as_bytes());
    let warnings: Vec<_> = recording.spans_of(kind::JVM_WARNING).map(|w| w.name().to_owned()).collect();
    assert_eq!(
        warnings,
        [
            "GC locker: Trying a full collection because scavenge failed",
            "java.lang.OutOfMemoryError: GC overhead limit exceeded",
            "java.lang.OutOfMemoryError: Java heap space",
        ]
    );
    assert_eq!(recording.sources[0].skipped, 0);
}

/// G1 counts the objects of each class after the record of a full collection, and within its stop:
/// the CPU line, which comes last, covers both.
#[test]
fn a_class_histogram_after_a_full_collection_is_part_of_its_stop() {
    let log = "2021-10-07T10:05:34.135+0100: 69302.241: [Full GC (System.gc()) 2021-10-07T10:05:34.135+0100: 69302.241: \
         [Class Histogram (before full gc):\n num     #instances         #bytes  class name\n\
         ----------------------------------------------\n   1:      98460990     7018731456  [I\n\
         Total     159091427    12666890520\n, 4.0000000 secs]\n 8185M->7616M(31G), 10.0000000 secs]\n   \
         [Eden: 448.0M(7936.0M)->0.0B(7936.0M) Survivors: 0.0B->0.0B Heap: 8185.5M(31.0G)->7616.3M(31.0G)]\n\
         2021-10-07T10:05:44.135+0100: 69312.241: [Class Histogram (after full gc):\n\
         num     #instances         #bytes  class name\n----------------------------------------------\n   \
         1:       5496741      891370560  [C\nTotal      42041911     3128779880\n, 2.5000000 secs]\n \
         [Times: user=13.00 sys=0.05, real=12.50 secs]\n\
         69400.0: [GC pause (young) 8000M->7700M(31G), 0.1000000 secs]\n";
    let recording = read(log.as_bytes());
    let pauses: Vec<_> = recording.spans_of(kind::GC_PAUSE).collect();
    let lengths: Vec<_> = pauses.iter().map(|pause| pause.duration_ns() / 1_000_000).collect();
    assert_eq!(lengths, [12_500, 100]);
    let counted = format!("{}Class Histogram (after full gc)", figure::PHASE_MS_PREFIX);
    assert_eq!((pauses[0].figure(&counted), pauses[0].figure(figure::REAL_S)), (Some(2_500.0), Some(12.5)));
    assert_eq!(recording.sources[0].skipped, 0, "{:?}", recording.sources[0].unknown);
}
