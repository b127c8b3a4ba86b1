//! `gc-log-write-blocked`: the JVM waits in `write()` for its own log while all threads are stopped.
//!
//! Unified logging takes a line's stamp before it writes the line, and most lines of a collection are written inside
//! the pause. A write that blocks (dirty-page throttling, a frozen or slow file system, a pipe whose reader sleeps)
//! therefore shows as a gap between two lines in which nobody used a processor.

use fathom_recording::Span;
use fathom_recording::vocabulary::{fact, figure, kind};

use super::gc_case::{GcCase, blind, cited, remedy, stretches, windows_of};
use super::log_write::{self, Kernel};
use crate::collections::Pause;
use crate::intervals::Intervals;
use crate::{Case, Confidence, Finding, Judgement, Layer, Remedy, Rule, quantity};

/// A gap must be as long as this, milliseconds. A thread that merely waits for a processor is back within some tens
/// of milliseconds, also on a busy machine; dirty-page throttling sleeps up to 200 ms at a time (mm/page-writeback.c,
/// `MAX_PAUSE`), and blocked writes measured here took 203 ms to 19.8 s.
const GAP_MS: f64 = 200.0;
/// CPU figures are printed in steps of 10 ms, user and system each rounded: what two of them may be off, seconds.
const CPU_STEP_S: f64 = 0.02;
/// Where only the sum of the phases shows the gap, the whole pause must have used hardly any CPU: work that no phase
/// is printed for would have.
const IDLE_CPU_SHARE: f64 = 0.1;
/// Operations that go on with work of their own after a collection within them, by parts of their names.
const OWN_WORK: [&str; 2] = ["Dump", "Inspect"];
/// A write that does not block takes some tens of microseconds; stops in which the log was written for less than this have nothing
/// to tell, milliseconds.
const WRITTEN_MS: f64 = 1.0;
/// Where the kernel timed writes for as much of a gap, they are what filled it.
const FILLED: f64 = 0.5;
/// Findings cite as many pauses.
const CITED: usize = 3;

/// The rule.
pub struct GcLogWriteBlocked;

impl Rule for GcLogWriteBlocked {
    fn id(&self) -> &'static str {
        "gc-log-write-blocked"
    }

    fn layer(&self) -> Layer {
        Layer::Storage
    }

    fn about(&self) -> &'static str {
        "The JVM writes its GC log itself, most of it while all threads are stopped, and waits until the kernel has \
         taken the line. When the disk is busy or the file system frozen, the pause lasts as long as the `write()`. \
         JDK 17 and later do the same unless `-Xlog:async` is given: asynchronous logging exists there but is off by \
         default.\n\n\
         **Evidence.** A gap of 200 ms or more between two lines of one pause, for which no phase accounts and in \
         which no CPU time was used; or a safepoint that holds the threads 200 ms longer than the collection in it. \
         The pause less its phases agrees with the gap. A log without CPU figures shows no such gap. Calls that the kernel \
         timed count in pieces of any length from 1 ms a stop on.\n\n\
         **Look-alikes.** A stall of the JVM's `hsperfdata` file (a memory-mapped file, default under /tmp) prints the \
         very same lines; so does a VM thread that gets no processor, though rarely for so long, and a machine or \
         process that was stopped as a whole. From logs alone the verdict is therefore at most *consistent with*. \
         What proves it: the time of the kernel's `write()` on the log's descriptor (`strace -f -T -e trace=write`), or \
         the off-CPU stack of the VM thread (`vfs_write`, not a page fault).\n\n\
         With those recorded (an strace beside the log, or `fathom record`) the verdict is *proven*, of all stops in which \
         the VM thread is seen to write the log, whatever the log itself says; what the kernel waited for (dirty \
         throttling, a page under writeback, the journal, a frozen file system) is told from its stack. A page fault of \
         the VM thread in the write's place rules this cause out.\n\n\
         **Ruled out** by the longest gap found, or by asynchronous logging. A log of one line a pause \
         (`-Xlog:gc`) cannot tell."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::Collections]
    }

    fn judge(&self, case: &Case<'_>, jvm: fathom_recording::ProcessId) -> Judgement {
        let gc = match GcCase::of(case, jvm, self) {
            Ok(gc) => gc,
            Err(judgement) => return judgement,
        };
        if gc.fact(fact::LOG_MODE) == Some("async") {
            return gc.ruled_out("the log is written asynchronously (-Xlog:async): no pause waits for it");
        }
        if gc.slow.is_empty() && !case.has(kind::SAFEPOINT, jvm) {
            return gc.ruled_out("no pause in the slow windows");
        }
        let mut waits: Vec<Wait<'_>> = gc.slow.iter().filter_map(within_pause).collect();
        waits.extend(after_pause(&gc));
        let written = log_write::in_stops(case, jvm, &case.slow, WRITTEN_MS);
        // Where the call itself was seen, what the log leaves to guess is not needed.
        let filled = Intervals::of((written.iter()).map(|(stop, ..)| (stop.t0_ns(), stop.t1_ns())));
        let timed_ms = |w: &Wait<'_>| -> f64 {
            if !filled.touches(w.span.t0_ns(), w.span.t1_ns()) {
                return 0.0;
            }
            let its =
                |(stop, ..): &&log_write::Written<'_>| stop.overlap_ns(w.span.t0_ns(), w.span.t1_ns()) > 0;
            written.iter().filter(its).map(|(_, ms, ..)| ms).sum()
        };
        waits.retain(|w| timed_ms(w) < FILLED * w.ms);
        waits.extend(written.into_iter().map(|(span, ms, call, how)| Wait {
            span,
            ms,
            idle: true,
            how: format!(
                "the VM thread wrote the log for {} of a stop of {}",
                quantity::millis(ms),
                quantity::millis(span.duration_ns() as f64 / 1e6)
            ),
            call: Some((call, how)),
        }));
        // A gap must be long to be told from a wait for a processor; a call that was timed counts in pieces of any length.
        let counts = |w: &Wait<'_>| w.idle && (w.ms >= GAP_MS || w.call.is_some());
        let (long, short): (Vec<_>, Vec<_>) = waits.into_iter().partition(counts);
        let usual_ms =
            log_write::in_stops(case, jvm, &case.base, WRITTEN_MS).iter().map(|(_, ms, ..)| ms).sum();
        let slow_ms = long.iter().map(|w| w.ms).sum();
        let cost_ms: f64 = case.excess_ms(slow_ms, usual_ms);
        let longest = long.iter().map(|w| w.span.duration_ns() as f64 / 1e6).fold(0.0, f64::max);
        let usual = gc.usual_ms(|_| true);
        if !long.is_empty() && (case.matters(cost_ms) || Case::stands_out(longest, usual)) {
            let seen = Seen::of(&gc, &long);
            return match seen.fault {
                Some(text) if seen.fault_ms > seen.write_ms => gc.ruled_out(text),
                _ => Judgement::Found(Box::new(found(self, &gc, long, cost_ms, &seen))),
            };
        }
        match short.iter().chain(&long).max_by(|a, b| a.ms.total_cmp(&b.ms)) {
            Some(w) if w.ms >= GAP_MS && !w.idle => gc.ruled_out(format!(
                "the longest stretch of a pause outside its phases is {}, and the processor was busy in it",
                quantity::millis(w.ms)
            )),
            Some(w) if w.ms >= GAP_MS => gc.ruled_out(format!(
                "stretches of pauses in which nothing was done are {} in all, the longest {}: too little to matter",
                quantity::millis(cost_ms),
                quantity::millis(w.ms)
            )),
            Some(w) => gc.ruled_out(format!(
                "the longest stretch of a pause in which nothing was done is {}, a blocked write shows from {} on",
                quantity::millis(w.ms.max(0.0)),
                quantity::millis(GAP_MS)
            )),
            None => blind(
                self,
                "what pauses spend outside their phases: nothing tells of these pauses phase by phase",
                "-Xlog:gc*,safepoint (JDK 8: -XX:+PrintGCDetails -XX:+PrintGCApplicationStoppedTime)",
            ),
        }
    }
}

/// What the kernel says of the waits.
struct Seen<'a> {
    /// Time of waits that a write was seen to fill, milliseconds.
    write_ms: f64,
    writes: Vec<(Span<'a>, String)>,
    /// Time of waits that a page fault was seen to fill.
    fault_ms: f64,
    fault: Option<String>,
}

impl<'a> Seen<'a> {
    fn of(gc: &GcCase<'_, 'a>, waits: &[Wait<'a>]) -> Self {
        let mut seen = Self { write_ms: 0.0, writes: Vec::new(), fault_ms: 0.0, fault: None };
        for wait in waits {
            if let Some((call, text)) = &wait.call {
                seen.write_ms += wait.ms;
                seen.writes.push((*call, text.clone()));
                continue;
            }
            match log_write::during(gc.case, gc.jvm, &wait.span, wait.ms) {
                Some(Kernel::Write(call, text)) => {
                    seen.write_ms += wait.ms;
                    seen.writes.push((call, text));
                }
                Some(Kernel::Fault(_, text)) => {
                    seen.fault_ms += wait.ms;
                    seen.fault = Some(text);
                }
                None => {}
            }
        }
        seen
    }
}

/// Time in which a stop did nothing.
struct Wait<'a> {
    span: Span<'a>,
    ms: f64,
    /// Whether no CPU time was used in it.
    idle: bool,
    /// In words; empty where it is too short to be told.
    how: String,
    /// The write that filled it, where the kernel timed it, in words.
    call: Option<(Span<'a>, String)>,
}

/// The gap within a pause: between its lines where they are stamped, else what its phases leave over.
fn within_pause<'a>(pause: &Pause<'a>) -> Option<Wait<'a>> {
    let span = pause.span;
    let phases_ms = span.figure(figure::PHASES_SUM_MS);
    let beyond_ms = phases_ms.map(|sum| pause.ms() - sum);
    let cpu = pause.cpu();
    let cpu_s = cpu.map(|c| c.cpu_s());
    let cpu_text = || cpu_s.map_or("no CPU figures".to_owned(), |s| format!("{s:.2} s of CPU"));
    if let Some(gap) = span.figure(figure::IDLE_GAP_MS) {
        // All CPU time of the pause fits into the part of it that lies outside the gap.
        // Of a log that does not say how many, one: that can only understate how idle they were.
        let workers = cpu.and_then(|c| c.workers).unwrap_or(1.0);
        let rest_s = (pause.ms() - gap).max(0.0) / 1e3 * workers;
        let idle = cpu_s.is_some_and(|s| s <= rest_s + CPU_STEP_S);
        // Phases that add up to more than the rest of the pause were at work during the gap.
        let free = beyond_ms.is_none_or(|beyond| beyond >= 0.8 * gap);
        let how = || {
            let line = span.figure(figure::IDLE_GAP_LINE);
            let end = line.map_or(String::new(), |line| format!(" before line {line:.0}"));
            let (gap, pause) = (quantity::millis(gap), quantity::millis(pause.ms()));
            format!("nothing was done for {gap}{end} in a pause of {pause} with {}", cpu_text())
        };
        return Some(Wait { span, ms: gap, idle: idle && free, how: how_long(gap, how), call: None });
    }
    let beyond = beyond_ms?;
    let idle = cpu_s.is_some_and(|s| s <= IDLE_CPU_SHARE * pause.ms() / 1e3);
    let how = || {
        let (phases, pause) = (quantity::millis(phases_ms.unwrap_or(0.0)), quantity::millis(pause.ms()));
        format!("phases account for {phases} of a pause of {pause} with {}", cpu_text())
    };
    Some(Wait { span, ms: beyond, idle, how: how_long(beyond, how), call: None })
}

/// How a stretch was spent, in words, where it is long enough to be told: a log has a hundred thousand that are not.
fn how_long(ms: f64, words: impl FnOnce() -> String) -> String {
    if ms >= GAP_MS { words() } else { String::new() }
}

/// Safepoints that held the threads longer than the collections in them: the last lines of a collection are written
/// after its time is taken and before the threads run again.
fn after_pause<'a>(gc: &GcCase<'_, 'a>) -> Vec<Wait<'a>> {
    let mut waits = Vec::new();
    for stop in gc.case.spans_in(kind::SAFEPOINT, gc.jvm, &gc.case.slow) {
        let ns = |key| stop.figure(key).unwrap_or(0.0);
        let whole_ns = stop.duration_ns() as f64;
        let around_ns = ns(figure::REACH_NS) + ns(figure::CLEANUP_NS) + ns(figure::LEAVE_NS);
        let at_ms = stop.figure(figure::AT_NS).unwrap_or(whole_ns - around_ns) / 1e6;
        if at_ms < GAP_MS {
            continue;
        }
        // A heap dump goes on after the collection that begins it; that is its work.
        if OWN_WORK.iter().any(|part| stop.name().contains(part)) {
            continue;
        }
        // One that ends where the stop begins is of the stop before it.
        let is_its =
            |p: &&Pause<'_>| 2 * stop.overlap_ns(p.span.t0_ns(), p.span.t1_ns()) > p.span.duration_ns();
        let inside = gc.slow_beside(stop.t0_ns(), stop.t1_ns()).filter(is_its);
        let (count, paused_ms) = inside.fold((0, 0.0), |(n, ms), p| (n + 1, ms + p.ms()));
        if count == 0 {
            continue;
        }
        let ms = at_ms - paused_ms;
        let how = || {
            let collections = quantity::plural(count, "collection", "collections");
            format!("threads were held for {} after {collections} had ended", quantity::millis(ms))
        };
        waits.push(Wait { span: stop, ms, idle: true, how: how_long(ms, how), call: None });
    }
    waits
}

fn found(
    rule: &dyn Rule,
    gc: &GcCase<'_, '_>,
    mut waits: Vec<Wait<'_>>,
    cost_ms: f64,
    seen: &Seen<'_>,
) -> Finding {
    waits.sort_by(|a, b| b.ms.total_cmp(&a.ms));
    let timed = seen.write_ms >= cost_ms / 2.0;
    let why = "the lines fit a blocked write of the log; a stall of hsperfdata or of the whole process prints the same \
               ones. Proof: kernel write() times on the log's descriptor, or the VM thread's off-CPU stack";
    let sure = match gc.case.share(cost_ms) {
        Some(share) if timed && share >= 0.5 => {
            (Confidence::Proven, "the write() calls were timed in the kernel and fill the gaps".to_owned())
        }
        _ if timed => (
            Confidence::Likely,
            "the write() calls were timed in the kernel and fill the gaps; what they cost the application was not \
             measured, or is less than half of the loss"
                .to_owned(),
        ),
        _ => (Confidence::ConsistentWith, why.to_owned()),
    };
    let mut finding = gc.finding(rule, sure, cost_ms, &[]);
    finding.windows = stretches(waits.iter().map(|w| w.span));
    finding.acts = windows_of(waits.iter().map(|w| w.span));
    finding.stop = gc.case.longest_stop(gc.jvm, &finding.windows);
    let (first, log) = match waits.first() {
        Some(first) => (first.ms, gc.case.recording.sources.get(first.span.source().index())),
        None => (0.0, None),
    };
    let log = log.map_or("the GC log", |source| source.name.as_str());
    finding.title = format!(
        "{} waited {} without using a processor, the longest {}: the GC log's own write {}",
        quantity::plural(waits.len(), "stop", "stops"),
        quantity::millis(cost_ms),
        quantity::millis(first),
        if timed { "blocked" } else { "may have blocked" },
    );
    finding.culprit = format!("writes to {log}");
    finding.meaning = "While all threads are stopped, the JVM writes lines of its log and waits until the kernel has \
                       taken them. When the disk is busy with other writes, the whole application waits for the log."
        .into();
    // The longest stop and the longest write tell the story; what is shorter follows.
    let mut stops = waits.iter().take(CITED).map(|w| cited(&w.span, w.how.clone()));
    let mut longest: Vec<_> = seen.writes.iter().collect();
    longest.sort_by_key(|(call, _)| std::cmp::Reverse(call.duration_ns()));
    let mut writes = longest.into_iter().take(CITED).map(|(call, text)| cited(call, text.clone()));
    finding.evidence.extend(stops.next());
    finding.evidence.extend(writes.next());
    let throttled = seen.writes.iter().any(|(_, text)| text.contains(log_write::THROTTLED));
    let beside = throttled.then(|| log_write::throttled_beside(gc.case, gc.jvm)).flatten();
    finding.evidence.extend(beside);
    finding.evidence.extend(stops.chain(writes));
    finding.evidence.extend(mode(gc));
    finding.remedies = remedies(gc);
    finding.verify = vec![
        "strace -f -T -e trace=write -p PID shows write() calls on the log's descriptor as long as the gaps".into(),
        "with -Xlog:async or the log on tmpfs, no pause has a gap of 200 ms and the longest pause is as long as its phases".into(),
        "if the gaps stay: -XX:+PerfDisableSharedMem tells whether it was hsperfdata".into(),
    ];
    finding
}

fn mode(gc: &GcCase<'_, '_>) -> Option<crate::Evidence> {
    let first = gc.all.first()?;
    let text = match gc.jdk()? {
        jdk if jdk < 9.0 => return None,
        jdk if jdk >= 17.0 => "JDK 17 and later write the log synchronously unless -Xlog:async is given",
        _ => "before JDK 17 the log is always written synchronously",
    };
    Some(crate::Evidence { text: text.into(), source: first.span.position(), at_ns: None })
}

fn remedies(gc: &GcCase<'_, '_>) -> Vec<Remedy> {
    let mut remedies = Vec::new();
    if gc.jdk().is_some_and(|jdk| jdk >= 17.0) {
        let risk =
            "lines are dropped (and counted in the log) when its buffer, -XX:AsyncLogBufferSize, is full";
        remedies.push(remedy("-Xlog:async", "JDK 17 and later; off by default", risk));
    }
    remedies.push(remedy(
        "write the log to tmpfs (/dev/shm) or to a disk of its own",
        "any JDK",
        "tmpfs takes memory and is lost at a restart: rotate and copy",
    ));
    remedies.push(remedy(
        "-XX:+PerfDisableSharedMem, when it was hsperfdata",
        "any JDK",
        "jps, jstat and tools that read hsperfdata no longer see the JVM",
    ));
    remedies
}

#[cfg(test)]
mod tests {
    use fathom_recording::vocabulary::label;
    use fathom_recording::{FrameType, ProcessId, Role, Sink, Source, SpanRow};

    use super::*;
    use crate::built::{Built, judged, whole_run};
    use crate::{Loss, Window};

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
        assert!(finding.remedies[0].change.contains("-Xlog:async"));
        assert_eq!(finding.evidence[0].source, "gc.log:52");
    }

    #[test]
    fn a_stretch_that_is_long_enough_and_does_not_matter_is_ruled_out_for_that() {
        let mut built = quiet("17");
        pause(&mut built, 110.0, 390.0, 350.0, 0.06, 39.0);
        let Judgement::RuledOut { figure, .. } = judged(&GcLogWriteBlocked, &built.sealed()) else {
            panic!()
        };
        let told = "stretches of pauses in which nothing was done are 350 ms in all, the longest 350 ms: too little to matter";
        assert_eq!(figure, told);
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
    fn a_write_timed_by_the_kernel_is_told_and_a_fault_of_the_vm_thread_is_another_cause() {
        let off = &[(label::SYSCALL, "write")];
        for told in [
            stopped(kind::SYSCALL, Role::Other, &[], &[]),
            stopped(kind::SCHED_OFF, Role::Vm, &["vfs_write", "balance_dirty_pages"], off),
        ] {
            let Judgement::Found(finding) = told else { panic!("{told:?}") };
            assert!(finding.confidence >= Confidence::Likely, "{}", finding.why_confidence);
            let told = finding.evidence.iter().find(|e| e.source == "strace.txt:7");
            let told = &told.unwrap_or_else(|| panic!("{:?}", finding.evidence)).text;
            assert!(told.contains("meanwhile writeback to 254:0 (background) took"), "{told}");
            assert!(told.contains(": 1.5 GB of /srv/dump.bin, last written by dd (7)"), "{told}");
        }
        let fault = stopped(kind::SCHED_OFF, Role::Vm, &["asm_exc_page_fault", "ext4_page_mkwrite"], &[]);
        assert!(matches!(fault, Judgement::RuledOut { .. }), "{fault:?}");
        let sleeper = stopped(kind::SCHED_OFF, Role::App, &["vfs_write"], off);
        let Judgement::Found(finding) = sleeper else { panic!("{sleeper:?}") };
        assert_eq!(finding.confidence, Confidence::ConsistentWith);
    }

    /// A live recording: stops and the VM thread's switches, no log. `frames`: of the kernel, in the write.
    fn live(write_ms: i64, frames: &[&str], name: &str) -> Judgement {
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
        let thread = Some(recording.thread(process, Some(7), "VM Thread", Role::Vm));
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
        for (frame, told) in [
            ("balance_dirty_pages_ratelimited_flags", "throttled"),
            ("folio_wait_writeback", "being written back"),
            ("percpu_rwsem_wait", "thawed"),
        ] {
            let judged = live(2_550, &["vfs_write", frame], "LogFileStreamOutput::write");
            let Judgement::Found(finding) = judged else { panic!("{judged:?}") };
            assert_eq!((finding.confidence, finding.cost_ms), (Confidence::Proven, 2_550.0));
            assert!(finding.evidence.iter().any(|e| e.text.contains(told)), "{:?}", finding.evidence);
            let stop = finding.stop.unwrap();
            let log = stop.parts.iter().find(|part| part.part == crate::chain::Part::LogWrite);
            assert_eq!(log.map(|part| part.ms), Some(2_550.0), "{stop:?}");
        }
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
        assert!(finding.title.starts_with("20 stops waited 2.40 s"), "{}", finding.title);
        let starved = judged(&super::super::gc_starved_of_cpu::GcStarvedOfCpu, &recording);
        assert!(matches!(starved, Judgement::RuledOut { .. }), "{starved:?}");
    }

    #[test]
    fn a_gap_without_cpu_figures_a_heap_dump_and_a_stop_behind_its_pause_are_no_blocked_write() {
        let mut built = quiet("17");
        let gap = [(figure::PHASES_SUM_MS, 72.0), (figure::IDLE_GAP_MS, 8_700.0)];
        built.pause("Pause Young (Normal)", "G1 Evacuation Pause", 100.0, 8_790.0, &gap);
        assert!(
            !matches!(judged(&GcLogWriteBlocked, &built.sealed()), Judgement::Found(_)),
            "no CPU figures"
        );
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
        assert!(finding.remedies.iter().all(|r| !r.change.contains("async")), "{:?}", finding.remedies);
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
        let Judgement::RuledOut { figure, .. } = judged(&GcLogWriteBlocked, &built.sealed()) else {
            panic!()
        };
        assert!(figure.contains("busy"), "{figure}");
    }

    #[test]
    fn a_stop_held_on_after_its_collection_counts_too() {
        let mut built = quiet("17");
        pause(&mut built, 110.0, 40.0, 0.2, 0.06, 39.0);
        built.span(kind::SAFEPOINT, "G1CollectForAllocation", 110.0, 900.0, &[(figure::AT_NS, 899e6)], &[]);
        let Judgement::Found(finding) = judged(&GcLogWriteBlocked, &built.sealed()) else {
            panic!("not found")
        };
        assert_eq!(finding.cost_ms.round(), 859.0);
    }

    #[test]
    fn healthy_is_ruled_out_with_its_figure_and_a_brief_log_cannot_tell() {
        let Judgement::RuledOut { figure, .. } = judged(&GcLogWriteBlocked, &quiet("21").sealed()) else {
            panic!()
        };
        assert!(figure.contains("0.20 ms"), "{figure}");
        let mut brief = Built::jvm("17", "G1", 100.0);
        brief.pause("Pause Young (Normal)", "G1 Evacuation Pause", 5.0, 900.0, &[]);
        let recording = brief.sealed();
        let case = whole_run(&recording);
        let judgement = GcLogWriteBlocked.judge(&case, fathom_recording::ProcessId(0));
        assert!(matches!(judgement, Judgement::CannotTell(_)), "{judgement:?}");
    }
}
