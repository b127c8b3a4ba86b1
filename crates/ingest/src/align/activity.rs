//! What the JVMs of a recording did over time, as evidence of when the work of a table was done.
//!
//! - Allocation: from the heap after one collection to the heap before the next. Work allocates.
//! - What happens about once for each unit of work: waits for locks, system calls, packets, samples
//!   on a CPU.
//! - CPU time and traffic, as a live recording or a flight recording has them from second to
//!   second.
//! - Compilation: tasks queued or started. It follows a change of work, and takes time from it:
//!   either sign.

use std::collections::BTreeMap;

use fathom_recording::clock::seconds;
use fathom_recording::vocabulary::{figure, kind, live, sample, series};
use fathom_recording::{ProcessId, Recording, SpanId};

use super::correlation::Witness;

/// Spans that work causes: their number rises and falls with it.
const WORK: [&str; 14] = [
    kind::SYSCALL,
    kind::LOCK_MONITOR,
    kind::LOCK_WAIT,
    kind::LOCK_PARK,
    kind::LOCK_NATIVE,
    kind::SCHED_OFF,
    kind::IO_FILE,
    kind::IO_SOCKET,
    kind::NET_CONNECT,
    kind::NET_TLS,
    kind::NET_DNS,
    kind::THREAD_START,
    kind::EXCEPTION,
    kind::EVENT,
];
/// Series that rise and fall with work.
const BUSY: [&str; 12] = [
    series::CPU_JVM_USER,
    series::CPU_JVM_SYSTEM,
    series::CPU_MACHINE,
    series::CONTEXT_SWITCHES,
    live::PROCESS_CPU_USER.name,
    live::PROCESS_CPU_KERNEL.name,
    live::PROCESS_SWITCHES_VOLUNTARY.name,
    live::PROCESS_READ.name,
    live::PROCESS_WRITTEN.name,
    live::HOST_CPU_BUSY.name,
    live::NET_SENT.name,
    live::TCP_SEGMENTS.name,
];
/// The most witnesses that are used: those of the first processes.
const MOST: usize = 128;

/// The key by which one kind of event is counted.
type Key = (&'static str, ProcessId);

/// Witnesses of all processes. `placed` gives the offset of a source as decided so far; `None`
/// leaves it out. Seconds count from `origin_ns`; events are counted in steps of `step_s`.
pub(super) fn witnesses(
    recording: &Recording,
    placed: &dyn Fn(usize) -> Option<i64>,
    origin_ns: i64,
    step_s: f64,
) -> Vec<Witness> {
    let at = |t_ns: i64, offset_ns: i64| seconds(t_ns.saturating_add(offset_ns).saturating_sub(origin_ns));
    let offsets: Vec<_> = (0..recording.sources.len()).map(placed).collect();
    let offset = |source: usize| offsets.get(source).copied().flatten();
    let mut pauses: BTreeMap<ProcessId, Vec<Pause>> = BTreeMap::new();
    let mut counts: BTreeMap<Key, Counts> = BTreeMap::new();
    let mut count = |key: Key, t_s: f64, n: f64| {
        *counts.entry(key).or_default().entry((t_s / step_s).floor() as i64).or_default() += n;
    };
    for i in 0..recording.spans.len() {
        let span = recording.span_at(SpanId(i as u32));
        let Some(offset_ns) = offset(span.source().index()) else { continue };
        let (from_s, process) = (at(span.t0_ns(), offset_ns), span.process());
        match span.kind() {
            kind::GC_PAUSE => {
                let sizes = span.figure(figure::HEAP_BEFORE_BYTES).zip(span.figure(figure::HEAP_AFTER_BYTES));
                if let Some((before, after)) = sizes {
                    pauses.entry(process).or_default().push(Pause { from_s, before, after });
                }
            }
            kind::JIT_QUEUE => count((kind::JIT_QUEUE, process), from_s, 1.0),
            kind::JIT_COMPILE => count((kind::JIT_COMPILE, process), from_s, 1.0),
            other => {
                if let Some(kind) = WORK.into_iter().find(|kind| *kind == other) {
                    count((kind, process), from_s, 1.0);
                }
            }
        }
    }
    let cpu = recording.strings.find(sample::CPU);
    for row in recording.samples.iter() {
        let Some(offset_ns) = offset(row.source.index()) else { continue };
        if cpu == Some(row.kind) {
            count((sample::CPU, row.process), at(row.t_ns, offset_ns), row.weight as f64);
        }
    }
    // Where both are known, the time at which it was queued says more than when a compiler started
    // it.
    let queued: Vec<ProcessId> =
        counts.keys().filter(|(kind, _)| *kind == kind::JIT_QUEUE).map(|key| key.1).collect();
    counts.retain(|(kind, process), _| *kind != kind::JIT_COMPILE || !queued.contains(process));
    let allocation = pauses.into_iter().map(|(process, pauses)| Witness {
        what: "allocation",
        process: Some(process),
        either_way: false,
        sums: allocated(pauses),
    });
    let counted = counts.into_iter().map(|((what, process), counts)| Witness {
        what: if what.starts_with("jit.") { "compilation" } else { what },
        process: Some(process),
        either_way: what.starts_with("jit."),
        sums: counted(&counts, step_s),
    });
    let busy = recording.series.iter().filter_map(|series| {
        let what = BUSY.into_iter().find(|name| *name == series.info.name)?;
        let offset_ns = offset(series.info.source.index())?;
        let points = series.t_ns.iter().zip(&series.dt_ns).zip(&series.value);
        let points = points.map(|((t, dt), v)| (at(*t, offset_ns), seconds(*dt), *v));
        Some(Witness { what, process: series.info.process, either_way: false, sums: integral(points) })
    });
    let all = allocation.chain(counted).chain(busy).filter(|witness| witness.sums.len() > 1);
    all.take(MOST).collect()
}

/// A witness in words that follow "the changes of".
pub(super) fn in_words(what: &'static str) -> &'static str {
    match what {
        kind::SYSCALL => "its system calls",
        kind::LOCK_MONITOR | kind::LOCK_WAIT | kind::LOCK_PARK | kind::LOCK_NATIVE => "its waits",
        kind::SCHED_OFF => "its context switches",
        kind::EVENT => "its events",
        kind::EXCEPTION => "its exceptions",
        kind::THREAD_START => "its starts of threads",
        sample::CPU => "its CPU samples",
        other => other,
    }
}

/// A collection: when, and the heap before and after.
struct Pause {
    from_s: f64,
    before: f64,
    after: f64,
}

/// Events by the number of the step in which they happened.
type Counts = BTreeMap<i64, f64>;

/// Bytes allocated so far, at the start of each pause.
fn allocated(mut pauses: Vec<Pause>) -> Vec<(f64, f64)> {
    pauses.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
    let mut sum = 0.0;
    let mut after: Option<f64> = None;
    let mut sums: Vec<(f64, f64)> = Vec::with_capacity(pauses.len());
    for pause in pauses {
        // A heap that is smaller than after the last collection was emptied in between (by a
        // concurrent cycle).
        sum += after.map_or(0.0, |after| (pause.before - after).max(0.0));
        sums.push((pause.from_s, sum));
        after = Some(pause.after);
    }
    sums
}

/// Events so far, at the edges of all steps in which there were some.
fn counted(counts: &Counts, step_s: f64) -> Vec<(f64, f64)> {
    let mut sums: Vec<(f64, f64)> = Vec::with_capacity(counts.len() * 2);
    let mut sum = 0.0;
    for (step, n) in counts {
        let from_s = *step as f64 * step_s;
        if sums.last().is_none_or(|(t, _)| *t < from_s - 0.5 * step_s) {
            sums.push((from_s, sum));
        }
        sum += n;
        sums.push(((*step + 1) as f64 * step_s, sum));
    }
    sums
}

/// A rate that is known for intervals, summed up. Where nothing is known it continues as in the
/// interval before.
pub(super) fn integral(points: impl Iterator<Item = (f64, f64, f64)>) -> Vec<(f64, f64)> {
    let mut sums: Vec<(f64, f64)> = Vec::new();
    for (from_s, length_s, rate) in points {
        let to_s = from_s + length_s;
        let (last_s, sum) = sums.last().copied().unwrap_or((from_s, 0.0));
        if !rate.is_finite() || to_s <= last_s {
            continue;
        }
        if sums.is_empty() {
            sums.push((from_s, 0.0));
        }
        sums.push((to_s, sum + rate * (to_s - last_s)));
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocation_is_what_came_between_collections() {
        let pause = |from_s, before, after| Pause { from_s, before, after };
        let sums =
            allocated(vec![pause(20.0, 300.0, 50.0), pause(10.0, 200.0, 100.0), pause(30.0, 40.0, 30.0)]);
        assert_eq!(sums, [(10.0, 0.0), (20.0, 200.0), (30.0, 200.0)]);
    }

    #[test]
    fn events_add_up_and_nothing_happens_where_there_are_none() {
        let counts = BTreeMap::from([(2, 3.0), (3, 1.0), (10, 5.0)]);
        let sums = counted(&counts, 0.5);
        assert_eq!(sums, [(1.0, 0.0), (1.5, 3.0), (2.0, 4.0), (5.0, 4.0), (5.5, 9.0)]);
    }

    #[test]
    fn rates_add_up() {
        let points = [(0.0, 1.0, 2.0), (1.0, 1.0, 4.0), (3.0, 1.0, f64::NAN), (3.0, 1.0, 1.0)];
        assert_eq!(integral(points.into_iter()), [(0.0, 0.0), (1.0, 2.0), (2.0, 6.0), (4.0, 8.0)]);
    }
}
