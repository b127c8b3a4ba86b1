//! A JVM's time, split into what stopped it, without overlap, and what nobody saw: see the drawing
//! in [`crate::ledger`], which makes rows of it.

use fathom_recording::vocabulary::{self, fact, figure, kind};
use fathom_recording::{ProcessId, Recording, Span};
use rustc_hash::FxHashSet;

use crate::intervals::Intervals;
use crate::vm_operations;
use crate::waits::log_write::log_writes;

/// A JVM's time, split.
pub(crate) struct Parts {
    /// What logs that record stops cover.
    pub(crate) covered: Intervals,
    /// Collections, waits for a safepoint, leaving one, other VM operations, writes of the log.
    pub(crate) stopped: [Intervals; 5],
    pub(crate) running: Intervals,
    /// Whether any safepoint was logged; without, only collections are seen to stop the JVM.
    pub(crate) safepoints_seen: bool,
}

impl Parts {
    pub(crate) fn of(recording: &Recording, jvm: ProcessId) -> Self {
        let own = |kind: &'static str| recording.spans_of(kind).filter(move |s| s.process() == jvm);
        let pauses = Intervals::of(own(kind::GC_PAUSE).map(ends));
        let safepoints: Vec<Span<'_>> = own(kind::SAFEPOINT).collect();
        let all = Intervals::of(safepoints.iter().map(ends_of));
        let reach = Intervals::of(safepoints.iter().filter_map(|s| {
            Some((s.t0_ns(), s.t0_ns().saturating_add(nanos(s, figure::REACH_NS)?).min(s.t1_ns())))
        }));
        let leave = Intervals::of(safepoints.iter().filter_map(|s| {
            Some((s.t1_ns().saturating_sub(nanos(s, figure::LEAVE_NS)?).max(s.t0_ns()), s.t1_ns()))
        }));
        let mut named = vm_operations::Named::default();
        let collect = safepoints.iter().filter(move |s| named.of(s).is_none());
        let of_gc = Intervals::of(around_pauses(collect, &pauses));
        let covered = covered(recording, jvm);

        let writes = log_writes(recording, jvm).into_iter().map(ends);
        let log = Intervals::of(writes).and(&all.or(&pauses));
        let waiting = reach.without(&pauses);
        let leaving = leave.without(&pauses).without(&waiting);
        let gc = pauses.or(&of_gc.without(&waiting).without(&leaving));
        let other = all.without(&gc).without(&waiting).without(&leaving);
        let [gc, waiting, leaving, other] = [gc, waiting, leaving, other].map(|part| part.without(&log));
        let stopped = [gc, waiting, leaving, other, log].map(|part| part.and(&covered));
        let running = stopped.iter().fold(covered.clone(), |left, part| left.without(part));
        Self { covered, stopped, running, safepoints_seen: safepoints_seen(recording, jvm) }
    }

    pub(crate) fn is_covered(&self) -> bool {
        !self.covered.is_empty()
    }
}

pub(crate) fn ends(span: Span<'_>) -> (i64, i64) {
    (span.t0_ns(), span.t1_ns())
}

fn ends_of(span: &Span<'_>) -> (i64, i64) {
    ends(*span)
}

fn nanos(span: &Span<'_>, key: &str) -> Option<i64> {
    span.figure(key).filter(|ns| *ns >= 0.0).map(|ns| ns as i64)
}

/// Safepoints in which a collection took place: their whole operation is the collector's, unless it
/// goes on with work of its own (a heap dump). Most of a pause must lie within, because both are
/// stamped in milliseconds and neighbours touch.
fn around_pauses<'s>(
    safepoints: impl Iterator<Item = &'s Span<'s>> + 's,
    pauses: &'s Intervals,
) -> impl Iterator<Item = (i64, i64)> + 's {
    let within = |(from, to): (i64, i64)| {
        let first = pauses.ranges().partition_point(|p| p.1 <= from);
        pauses.ranges()[first..].iter().take_while(|p| p.0 < to).any(|p| {
            let shared = p.1.min(to).saturating_sub(p.0.max(from));
            shared > p.1.saturating_sub(p.0) / 2
        })
    };
    safepoints.map(ends_of).filter(move |s| within(*s))
}

/// Whether every safepoint of a JVM would have been seen: one was, or a collector watched for them
/// and there was none.
pub(crate) fn safepoints_seen(recording: &Recording, jvm: ProcessId) -> bool {
    recording.spans_of(kind::SAFEPOINT).any(|span| span.process() == jvm)
        || recording.spans_of(kind::RUN).any(|run| run.process() == jvm && watches_stops(recording, &run))
}

/// Whether a run is that of the collector which watches the JVM's own probes: it writes runs only
/// of JVMs whose collections and safepoints it sees.
fn watches_stops(recording: &Recording, run: &Span<'_>) -> bool {
    recording
        .sources
        .get(run.source().index())
        .is_some_and(|source| source.format == vocabulary::source::JVM_EVENTS)
}

/// What the logs of a JVM that record its stops cover: the runs of sources that hold collections or
/// safepoints, and of any log of a JVM whose collector is known that holds no compilations (a GC
/// log of a run without a collection).
pub(crate) fn covered(recording: &Recording, jvm: ProcessId) -> Intervals {
    let own = |kind: &'static str| recording.spans_of(kind).filter(move |s| s.process() == jvm);
    let mut with_stops: FxHashSet<_> = FxHashSet::default();
    for kind in [kind::GC_PAUSE, kind::SAFEPOINT, kind::GC_CONCURRENT] {
        with_stops.extend(own(kind).map(|s| s.source()));
    }
    let gc_log = recording.processes.get(jvm.index()).is_some_and(|p| p.fact(fact::COLLECTOR).is_some());
    let compiling: FxHashSet<_> = [kind::JIT_COMPILE, kind::JIT_QUEUE, kind::JIT_INSTALL]
        .into_iter()
        .flat_map(|kind| own(kind).map(|s| s.source()))
        .collect();
    let shows_stops = |run: &Span<'_>| {
        with_stops.contains(&run.source())
            || watches_stops(recording, run)
            || (gc_log && !compiling.contains(&run.source()))
    };
    let runs = Intervals::of(own(kind::RUN).filter(shows_stops).map(ends));
    // A record may end a little after the last timestamp of its log; without a run, its records are
    // what it covers.
    runs.or(&Intervals::of([kind::GC_PAUSE, kind::SAFEPOINT].into_iter().flat_map(own).map(ends)))
}
