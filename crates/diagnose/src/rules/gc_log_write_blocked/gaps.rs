//! Time in which a stop did nothing: between the lines of a pause, and behind its collection.

use fathom_recording::Span;
use fathom_recording::vocabulary::{figure, kind};

use super::super::gc_case::GcCase;
use super::super::log_write::{self, Kernel};
use crate::Fact;
use crate::collections::Pause;
use crate::facts::{Value, written as facts};

/// A gap must be at least this long, milliseconds. A thread that merely waits for a CPU is back
/// within some tens of milliseconds, also on a busy machine; dirty-page throttling sleeps up to 200
/// ms at a time (mm/page-writeback.c, `MAX_PAUSE`), and blocked writes measured here took 203 ms to
/// 19.8 s.
pub(super) const GAP_MS: f64 = 200.0;

/// CPU times are printed in steps of 10 ms, user and system each rounded: what two of them may be
/// off, seconds.
pub(super) const CPU_STEP_S: f64 = 0.02;

/// Where only the sum of the phases shows the gap, the whole pause must have used hardly any CPU:
/// work that no phase is printed for would have.
pub(super) const IDLE_CPU_SHARE: f64 = 0.1;

/// Operations that go on with work of their own after a collection within them, by parts of their
/// names.
pub(super) const OWN_WORK: [&str; 2] = ["Dump", "Inspect"];

/// Time in which a stop did nothing.
pub(super) struct Wait<'a> {
    pub(super) span: Span<'a>,
    pub(super) ms: f64,
    /// Whether no CPU time was used in it.
    pub(super) idle: bool,
    /// How it was spent.
    pub(super) how: Fact,
    /// The write that filled it, where the kernel timed it, and what is known of it.
    pub(super) call: Option<(Span<'a>, Fact)>,
}

/// The gap within a pause: between its lines where they are stamped, else what its phases leave
/// over.
pub(super) fn within_pause<'a>(pause: &Pause<'a>) -> Option<Wait<'a>> {
    let span = pause.span;
    let phases_ms = span.figure(figure::PHASES_SUM_MS);
    let beyond_ms = phases_ms.map(|sum| pause.ms() - sum);
    let cpu = pause.cpu();
    let cpu_s = cpu.map(|c| c.cpu_s());
    let in_pause =
        |fact: Fact| fact.with("pause", Value::ms(pause.ms())).with("cpu", cpu_s.map(Value::seconds));
    if let Some(gap) = span.figure(figure::IDLE_GAP_MS) {
        // All CPU time of the pause fits into the part of it that lies outside the gap.
        // Of a log that does not say how many, one: that can only understate how idle they were.
        let workers = cpu.and_then(|c| c.workers).unwrap_or(1.0);
        let rest_s = (pause.ms() - gap).max(0.0) / 1e3 * workers;
        let idle = cpu_s.is_some_and(|s| s <= rest_s + CPU_STEP_S);
        // Phases that add up to more than the rest of the pause were at work during the gap.
        let free = beyond_ms.is_none_or(|beyond| beyond >= 0.8 * gap);
        let line = span.figure(figure::IDLE_GAP_LINE).map(Value::counted);
        let how = in_pause(facts::GAP.is(Value::ms(gap)).with("line", line));
        return Some(Wait { span, ms: gap, idle: idle && free, how, call: None });
    }
    let beyond = beyond_ms?;
    let idle = cpu_s.is_some_and(|s| s <= IDLE_CPU_SHARE * pause.ms() / 1e3);
    let how = facts::PHASES.is(Value::ms(beyond)).with("phases", phases_ms.map(Value::ms));
    Some(Wait { span, ms: beyond, idle, how: in_pause(how), call: None })
}

/// Safepoints that held the threads longer than the collections in them: the last lines of a
/// collection are written after its time is taken and before the threads run again.
pub(super) fn after_pause<'a>(gc: &GcCase<'_, 'a>) -> Vec<Wait<'a>> {
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
        let inside = gc.slow_during(stop.t0_ns(), stop.t1_ns()).filter(is_its);
        let (count, paused_ms) = inside.fold((0, 0.0), |(n, ms), p| (n + 1, ms + p.ms()));
        if count == 0 {
            continue;
        }
        let ms = at_ms - paused_ms;
        let how = facts::AFTER.is(Value::ms(ms)).with("collections", Value::count(count));
        waits.push(Wait { span: stop, ms, idle: true, how, call: None });
    }
    waits
}

/// What the kernel says of the waits.
pub(super) struct Seen<'a> {
    /// Time of waits that a write was seen to fill, milliseconds.
    pub(super) write_ms: f64,
    pub(super) writes: Vec<(Span<'a>, Fact)>,
    /// Time of waits that a page fault was seen to fill.
    pub(super) fault_ms: f64,
    pub(super) fault: Option<Fact>,
}

impl<'a> Seen<'a> {
    pub(super) fn of(gc: &GcCase<'_, 'a>, waits: &[Wait<'a>]) -> Self {
        let mut seen = Self { write_ms: 0.0, writes: Vec::new(), fault_ms: 0.0, fault: None };
        for wait in waits {
            if let Some((call, fact)) = &wait.call {
                seen.write_ms += wait.ms;
                seen.writes.push((*call, fact.clone()));
                continue;
            }
            match log_write::during(gc.case, gc.jvm, &wait.span, wait.ms) {
                Some(Kernel::Write(call, fact)) => {
                    seen.write_ms += wait.ms;
                    seen.writes.push((call, fact));
                }
                Some(Kernel::Fault(_, fact)) => {
                    seen.fault_ms += wait.ms;
                    seen.fault = Some(fact);
                }
                None => {}
            }
        }
        seen
    }
}
