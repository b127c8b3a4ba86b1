//! All waits of threads as one kind of stacks: the long ones, which are spans, and the sums of the
//! short ones, which are samples.
//!
//! ```text
//! sched.off-cpu   ▐██████████████▒▒▌   asleep, then waiting for a CPU: the first part is a wait for something
//! off-cpu         ·  ·    ·      ·     short waits, recorded together once they add up to something
//! ```
//!
//! Either alone says the opposite of the truth where long waits replace short ones. Where no
//! switches were recorded, the waits that JFR and others record one by one are taken.

use fathom_recording::vocabulary::{figure, kind, sample};
use fathom_recording::{Recording, Span};

/// The kind's name.
pub const WAITS: &str = "waits";

/// Kinds of spans that are waits one by one where no switches were seen; none lies within another.
const RECORDED_WAITS: [&str; 6] = [
    kind::LOCK_MONITOR,
    kind::LOCK_WAIT,
    kind::LOCK_PARK,
    kind::THREAD_SLEEP,
    kind::IO_FILE,
    kind::IO_SOCKET,
];

/// The kinds of spans that are waits in a recording.
pub(super) fn span_kinds(recording: &Recording) -> &'static [&'static str] {
    if recording.spans_of(kind::SCHED_OFF).next().is_some() { &[kind::SCHED_OFF] } else { &RECORDED_WAITS }
}

/// The kind of samples that are sums of waits.
pub const SHORT: &str = sample::OFF_CPU;

/// Whether a kind is a part of this one, which says less than the whole.
pub(super) fn is_part(name: &str) -> bool {
    [kind::SCHED_OFF, SHORT].contains(&name)
}

/// Waits with stacks, spans and samples, of a recording whose switches were watched: of another,
/// what there is one by one is a kind of its own each.
pub(super) fn count(recording: &Recording) -> usize {
    let spans = recording.spans_of(kind::SCHED_OFF);
    let short = recording.sample_kinds().into_iter().find(|(name, _)| *name == SHORT);
    spans.filter(|span| span.stack().is_some() && span.t1_ns() > span.t0_ns()).count()
        + short.map_or(0, |(_, rows)| rows)
}

/// From when to when a thread waited, without the time in which it could run and waited for a CPU.
pub fn of_span(span: &Span<'_>) -> (i64, i64) {
    let queued = span.figure(figure::RUNQ_NS).unwrap_or(0.0).max(0.0) as i64;
    (span.t0_ns(), span.t1_ns().saturating_sub(queued).max(span.t0_ns()))
}

/// Long waits of a recording whose switches were watched, with stacks.
pub fn long(recording: &Recording) -> impl Iterator<Item = Span<'_>> {
    recording.spans_of(kind::SCHED_OFF).filter(|span| span.stack().is_some())
}
