//! Time in which a stop did nothing: between the lines of a pause, and behind its collection.

use fathom_recording::Span;
use fathom_recording::vocabulary::{figure, kind};

use super::super::gc_case::GcCase;
use super::super::log_write::{self, Kernel};
use crate::Fact;
use crate::collections::{Gap, Pause};
use crate::facts::{Value, written as facts};

/// A gap must be at least this long, milliseconds. A thread that merely waits for a CPU is back
/// within some tens of milliseconds, also on a busy machine; dirty-page throttling sleeps up to 200
/// ms at a time (mm/page-writeback.c, `MAX_PAUSE`), and blocked writes measured here took 203 ms to
/// 19.8 s.
pub(super) const GAP_MS: f64 = 200.0;

/// Operations that go on with work of their own after a collection within them, by parts of their
/// names.
pub(super) const OWN_WORK: [&str; 2] = ["Dump", "Inspect"];

/// Time in which a stop did nothing.
pub(super) struct Wait<'a> {
    pub(super) span: Span<'a>,
    pub(super) ms: f64,
    /// Whether no CPU time was used in it.
    pub(super) idle: bool,
    /// Whether something is known to have been at work in it.
    pub(super) busy: bool,
    /// How it was spent.
    pub(super) how: Fact,
    /// The write that filled it, where the kernel timed it, and what is known of it.
    pub(super) call: Option<(Span<'a>, Fact)>,
}

/// The gap within a pause ([`Pause::gap`]). How it was spent is known of long ones alone.
pub(super) fn within_pause<'a>(pause: &Pause<'a>) -> Option<Wait<'a>> {
    let gap = pause.gap()?;
    let how = if gap.ms < GAP_MS { facts::GAP.fact() } else { how(pause, &gap) };
    Some(Wait { span: pause.span, ms: gap.ms, idle: gap.idle, busy: gap.busy, how, call: None })
}

fn how(pause: &Pause<'_>, gap: &Gap) -> Fact {
    let figure = |key| pause.span.figure(key);
    let ms = Value::ms(gap.ms);
    let how = match gap.between_lines {
        true => facts::GAP.is(ms).with("line", figure(figure::IDLE_GAP_LINE).map(Value::counted)),
        false => facts::PHASES.is(ms).with("phases", figure(figure::PHASES_SUM_MS).map(Value::ms)),
    };
    let cpu = pause.cpu().map(|cpu| Value::seconds(cpu.cpu_s()));
    how.with("pause", Value::ms(pause.ms())).with("cpu", cpu)
}

/// Safepoints that held the threads longer than the collections in them: the last lines of a
/// collection are written after its time is taken and before the threads run again.
pub(super) fn after_pause<'a>(gc: &GcCase<'_, 'a>) -> Vec<Wait<'a>> {
    let mut waits = Vec::new();
    let long = |stop: &Span<'_>| stop.duration_ns() as f64 / 1e6 >= GAP_MS;
    for stop in gc.case.spans_in(kind::SAFEPOINT, gc.jvm, &gc.case.slow).filter(long) {
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
        waits.push(Wait { span: stop, ms, idle: true, busy: false, how, call: None });
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
