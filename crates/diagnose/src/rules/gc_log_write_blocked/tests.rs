//! Gaps in logs, and writes that the kernel timed.

use crate::facts::{remedies, titles, written as facts};
use fathom_recording::vocabulary::{figure, label};
use fathom_recording::{FrameType, ProcessId, Role, Sink, Source, SpanRow};

use super::*;
use crate::built::{Built, judged, whole_run};
use crate::{Confidence, Loss, Window};

fn pause(built: &mut Built, at_s: f64, ms: f64, gap_ms: f64, cpu_s: f64, phases_ms: f64) {
    let figures = [
        (figure::IDLE_GAP_MS, gap_ms),
        (figure::IDLE_GAP_LINE, 12.0),
        (figure::PHASES_SUM_MS, phases_ms),
        (figure::USER_S, cpu_s),
        (figure::SYS_S, 0.0),
        (figure::REAL_S, ms / 1e3),
        (figure::WORKERS, 2.0),
    ];
    built.pause("Pause Young (Normal)", "G1 Evacuation Pause", at_s, ms, &figures);
}

fn quiet(jdk: &str) -> Built {
    let mut built = Built::jvm(jdk, "G1", 120.0);
    for i in 0..50 {
        pause(&mut built, f64::from(i) * 2.0, 40.0, 0.2, 0.06, 39.0);
    }
    built
}

#[test]
fn a_pause_idle_between_two_lines_is_consistent_with_a_blocked_write() {
    let mut built = quiet("17");
    pause(&mut built, 110.0, 8_790.0, 8_700.0, 0.08, 72.0);
    let recording = built.sealed();
    let Judgement::Found(finding) = judged(&GcLogWriteBlocked, &recording) else { panic!("not found") };
    assert_eq!(finding.confidence, Confidence::ConsistentWith);
    assert_eq!(finding.cost_ms, 8_700.0);
    finding.remedies[0].change.states(&remedies::ASYNC_LOG, &[]);
    assert_eq!(finding.evidence[0].source.to_string(), "gc.log:52");
}

#[test]
fn an_interval_that_is_long_enough_and_does_not_matter_is_ruled_out_for_that() {
    let mut built = quiet("17");
    pause(&mut built, 110.0, 390.0, 350.0, 0.06, 39.0);
    let Judgement::RuledOut { figure, .. } = judged(&GcLogWriteBlocked, &built.sealed()) else { panic!() };
    let expected = "intervals of pauses in which nothing was done are 350 ms in all, the longest 350 ms: too little to matter";
    assert_eq!(figure, expected);
}

fn stopped(kind: &str, thread: Role, frames: &[&str], labels: &[(&str, &str)]) -> Judgement {
    let mut built = quiet("17");
    pause(&mut built, 110.0, 8_790.0, 8_700.0, 0.08, 72.0);
    let device = (label::DEVICE, "254:0");
    built.span(kind::DISK_WRITEBACK, "background", 110.0, 9_000.0, &[], &[device]);
    let file = [device, (label::PATH, "/srv/dump.bin"), (label::WRITER, "dd (7)")];
    let bytes = [(figure::BYTES, 1.5 * 1_073_741_824.0)];
    built.span(kind::DISK_WRITEBACK_FILE, "dump.bin", 110.1, 8_000.0, &bytes, &file);
    let (t0_ns, process) = (110_050_000_000, built.jvm);
    let recording = &mut built.recording;
    let thread = Some(recording.thread(process, Some(7), "VM Thread", thread));
    let stack = frames.iter().fold(None, |at, name| {
        let frame = recording.frame(name, "kernel", FrameType::Kernel, -1);
        Some(recording.stack(at, frame))
    });
    let source = recording.add_source(Source { name: "strace.txt".into(), ..Source::default() });
    recording.span(&SpanRow {
        kind,
        name: "write",
        t0_ns,
        t1_ns: t0_ns + 8_690_000_000,
        process,
        thread,
        stack,
        source,
        line: 7,
        key: -1,
        parent: None,
        figures: &[],
        labels,
    });
    judged(&GcLogWriteBlocked, &built.sealed())
}

#[test]
fn a_write_timed_by_the_kernel_is_reported_and_a_fault_of_the_vm_thread_is_another_cause() {
    let off = &[(label::SYSCALL, "write")];
    for judged in [
        stopped(kind::SYSCALL, Role::Other, &[], &[]),
        stopped(kind::SCHED_OFF, Role::Vm, &["vfs_write", "balance_dirty_pages"], off),
    ] {
        let Judgement::Found(finding) = judged else { panic!("{judged:?}") };
        assert!(finding.confidence >= Confidence::Likely, "{:?}", finding.why_confidence);
        let write = finding.evidence.iter().find(|e| e.source.to_string() == "strace.txt:7");
        let write = &write.unwrap_or_else(|| panic!("{:?}", finding.evidence)).fact;
        let meanwhile = write.find(&facts::WRITEBACK).unwrap_or_else(|| panic!("{write:?}"));
        assert_eq!((meanwhile.name("device"), meanwhile.name("reason")), (Some("254:0"), Some("background")));
        let file = write.find(&facts::FILE).unwrap();
        assert_eq!(file.shows("value"), "1.5 GB");
        assert_eq!((file.name("file"), file.name("writer")), (Some("/srv/dump.bin"), Some("dd (7)")));
    }
    let fault = stopped(kind::SCHED_OFF, Role::Vm, &["asm_exc_page_fault", "ext4_page_mkwrite"], &[]);
    assert!(matches!(fault, Judgement::RuledOut { .. }), "{fault:?}");
    let sleeper = stopped(kind::SCHED_OFF, Role::App, &["vfs_write"], off);
    let Judgement::Found(finding) = sleeper else { panic!("{sleeper:?}") };
    assert_eq!(finding.confidence, Confidence::ConsistentWith);
}

/// A live recording: stops and the VM thread's switches, no log. `frames`: of the kernel, in the
/// write.
fn live(write_ms: i64, frames: &[&str], name: &str) -> Judgement {
    live_by(("VM Thread", Role::Vm), write_ms, frames, name)
}

fn live_by((writer, role): (&str, Role), write_ms: i64, frames: &[&str], name: &str) -> Judgement {
    let mut built = Built::jvm("21", "G1", 120.0);
    for i in 0..50 {
        let parts = [(figure::REACH_NS, 1e5), (figure::AT_NS, 9e6)];
        built.span(kind::SAFEPOINT, "G1CollectForAllocation", f64::from(i) * 2.0, 10.0, &parts, &[]);
    }
    let parts = [(figure::REACH_NS, 1e5), (figure::AT_NS, 2_590e6)];
    built.span(kind::SAFEPOINT, "G1CollectForAllocation", 110.0, 2_600.0, &parts, &[]);
    // The pause holds the write: nothing is left over behind it.
    built.pause("Pause Young", "", 110.001, 2_590.0, &[]);
    let process = built.jvm;
    let recording = &mut built.recording;
    let thread = Some(recording.thread(process, Some(7), writer, role));
    let frame = recording.frame(name, "libjvm.so", FrameType::Jvm, -1);
    let below = Some(recording.stack(None, frame));
    let stack = frames.iter().fold(below, |at, name| {
        let frame = recording.frame(name, "kernel", FrameType::Kernel, -1);
        Some(recording.stack(at, frame))
    });
    let source = recording.add_source(Source { name: "scheduler".into(), ..Source::default() });
    recording.span(&SpanRow {
        kind: kind::SCHED_OFF,
        name: "uninterruptible",
        t0_ns: 110_020_000_000,
        t1_ns: 110_020_000_000 + write_ms * 1_000_000,
        process,
        thread,
        stack,
        source,
        line: 0,
        key: -1,
        parent: None,
        figures: &[],
        labels: &[(label::SYSCALL, "write")],
    });
    let recording = built.sealed();
    let stops = Loss { lost_ms: 2_600.0, ..Loss::default() };
    let slow = vec![Window { from_ns: 110_000_000_000, to_ns: 112_600_000_000 }];
    let case = Case { slow, whole_run: false, loss: stops, ..whole_run(&recording) };
    GcLogWriteBlocked.judge(&case, ProcessId(0))
}

#[test]
fn a_live_recording_proves_it_with_what_the_kernel_waited_for_and_the_stop_in_parts() {
    for (frame, waited_for) in [
        ("balance_dirty_pages_ratelimited_flags", "throttled"),
        ("folio_wait_writeback", "being written back"),
        ("percpu_rwsem_wait", "thawed"),
    ] {
        let judged = live(2_550, &["vfs_write", frame], "LogFileStreamOutput::write");
        let Judgement::Found(finding) = judged else { panic!("{judged:?}") };
        assert_eq!((finding.confidence, finding.cost_ms), (Confidence::Proven, 2_550.0));
        let write = finding.fact(&facts::WRITE);
        assert!(write.name("waited-for").unwrap().contains(waited_for), "{write:?}");
        let stop = finding.stop.unwrap();
        let log = stop.parts.iter().find(|part| part.part == crate::chain::Part::LogWrite);
        assert_eq!(log.map(|part| part.ms), Some(2_550.0), "{stop:?}");
    }
}

#[test]
fn a_worker_of_the_collector_writes_the_log_of_a_pause_as_well() {
    let judged =
        live_by(("GC Thread#0", Role::Gc), 2_550, &["vfs_write", "pipe_write"], "LogFileStreamOutput::write");
    let Judgement::Found(finding) = judged else { panic!("{judged:?}") };
    assert_eq!((finding.confidence, finding.cost_ms), (Confidence::Proven, 2_550.0));
}

#[test]
fn a_short_write_and_one_of_something_else_are_not_the_log() {
    for judged in [
        // Less than a twentieth of what was lost.
        live(100, &["vfs_write", "balance_dirty_pages"], "LogFileStreamOutput::write"),
        live(2_550, &["vfs_write", "balance_dirty_pages"], "DumpWriter::write_internal"),
    ] {
        assert!(!matches!(judged, Judgement::Found(_)), "{judged:?}");
    }
}

/// Twenty pauses of 160 ms on the log, in each of which a thread writes for 40 ms three times.
fn in_pieces(thread: &str, labels: &[(&str, &str)]) -> Built {
    let mut built = Built::jvm("17", "Parallel", 30.0);
    built.fact(fact::JVM_ARGS, "-Xlog:gc*:file=/var/log/gc.log");
    for i in 0..20 {
        let at = 1.0 + f64::from(i);
        let figures = [
            (figure::PHASES_SUM_MS, 155.0),
            (figure::IDLE_GAP_MS, 0.2),
            (figure::USER_S, 0.01),
            (figure::SYS_S, 0.0),
            (figure::REAL_S, 0.16),
            (figure::WORKERS, 2.0),
        ];
        built.pause("Pause Young (Allocation Failure)", "Allocation Failure", at, 160.0, &figures);
        for piece in 0..3 {
            built.call(
                thread,
                "write",
                labels.first().map_or("", |l| l.1),
                at + 0.01 + 0.05 * f64::from(piece),
                40.0,
            );
        }
    }
    built
}

#[test]
fn writes_in_pieces_of_any_length_are_added_up_and_are_no_lack_of_processors() {
    let recording = in_pieces("VM Thread", &[(label::PATH, "/var/log/gc.log")]).sealed();
    let Judgement::Found(finding) = judged(&GcLogWriteBlocked, &recording) else { panic!("not found") };
    assert!((finding.cost_ms - 20.0 * 120.0).abs() < 1.0, "{}", finding.cost_ms);
    finding.title.states(&titles::GC_LOG_WRITE_BLOCKED, &[("stops", "20"), ("value", "2.40 s")]);
    let starved = judged(&super::super::gc_starved_of_cpu::GcStarvedOfCpu, &recording);
    assert!(matches!(starved, Judgement::RuledOut { .. }), "{starved:?}");
}

#[test]
fn a_gap_without_cpu_figures_a_heap_dump_and_a_stop_behind_its_pause_are_no_blocked_write() {
    let mut built = quiet("17");
    let gap = [(figure::PHASES_SUM_MS, 72.0), (figure::IDLE_GAP_MS, 8_700.0)];
    built.pause("Pause Young (Normal)", "G1 Evacuation Pause", 100.0, 8_790.0, &gap);
    let Judgement::Inconclusive(unseen) = judged(&GcLogWriteBlocked, &built.sealed()) else {
        panic!("of a gap without CPU times nothing is known")
    };
    unseen.what.states(&scope::GAP_USE, &[("value", "8.70 s")]);
    let mut built = quiet("17");
    pause(&mut built, 110.0, 40.0, 0.2, 0.06, 39.0);
    built.span(kind::SAFEPOINT, "HeapDumper", 109.999, 1_900.0, &[(figure::AT_NS, 1_899e6)], &[]);
    assert!(!matches!(judged(&GcLogWriteBlocked, &built.sealed()), Judgement::Found(_)), "a heap dump");
    let mut built = quiet("8");
    pause(&mut built, 110.0, 50.0, 0.2, 0.06, 49.0);
    built.span(kind::SAFEPOINT, "", 110.046, 1_000.0, &[], &[]);
    assert!(!matches!(judged(&GcLogWriteBlocked, &built.sealed()), Judgement::Found(_)), "the next stop");
}

#[test]
fn before_jdk_17_there_is_no_asynchronous_log_to_recommend() {
    let mut built = quiet("11");
    pause(&mut built, 110.0, 8_790.0, 8_700.0, 0.08, 72.0);
    let recording = built.sealed();
    let Judgement::Found(finding) = judged(&GcLogWriteBlocked, &recording) else { panic!("not found") };
    assert!(!finding.advises(&remedies::ASYNC_LOG), "{:?}", finding.remedies);
}

#[test]
fn a_log_written_asynchronously_is_ruled_out_whatever_its_stamps_say() {
    let mut built = quiet("17");
    pause(&mut built, 110.0, 8_790.0, 8_700.0, 0.08, 72.0);
    built.fact(fact::LOG_MODE, "async");
    assert!(matches!(judged(&GcLogWriteBlocked, &built.sealed()), Judgement::RuledOut { .. }));
}

#[test]
fn slow_phases_without_a_gap_are_not_the_log() {
    let mut built = quiet("17");
    pause(&mut built, 110.0, 8_790.0, 1.0, 0.08, 8_780.0);
    assert!(matches!(judged(&GcLogWriteBlocked, &built.sealed()), Judgement::RuledOut { .. }));
}

#[test]
fn a_gap_full_of_cpu_time_is_work_that_no_phase_is_printed_for() {
    let mut built = quiet("17");
    pause(&mut built, 110.0, 1_000.0, 900.0, 1.7, 90.0);
    let Judgement::RuledOut { figure, .. } = judged(&GcLogWriteBlocked, &built.sealed()) else { panic!() };
    assert_eq!(figure.fact().metric, &ruled_out::GAP_BUSY);
}

#[test]
fn a_stop_held_on_after_its_collection_counts_too() {
    let mut built = quiet("17");
    pause(&mut built, 110.0, 40.0, 0.2, 0.06, 39.0);
    built.span(kind::SAFEPOINT, "G1CollectForAllocation", 110.0, 900.0, &[(figure::AT_NS, 899e6)], &[]);
    let Judgement::Found(finding) = judged(&GcLogWriteBlocked, &built.sealed()) else { panic!("not found") };
    assert_eq!(finding.cost_ms.round(), 859.0);
}

#[test]
fn healthy_is_ruled_out_with_its_figure_and_a_brief_log_is_inconclusive() {
    let Judgement::RuledOut { figure, .. } = judged(&GcLogWriteBlocked, &quiet("21").sealed()) else {
        panic!()
    };
    figure.states(&ruled_out::GAP_SHORT, &[("value", "0.20 ms")]);
    let mut brief = Built::jvm("17", "G1", 100.0);
    brief.pause("Pause Young (Normal)", "G1 Evacuation Pause", 5.0, 900.0, &[]);
    let recording = brief.sealed();
    let case = whole_run(&recording);
    let judgement = GcLogWriteBlocked.judge(&case, fathom_recording::ProcessId(0));
    assert!(matches!(judgement, Judgement::Inconclusive(_)), "{judgement:?}");
}
