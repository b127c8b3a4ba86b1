//! Assembles safepoints from their events: begin, operations, end.
//!
//! ```text
//! SafepointBegin ├── reaching ──┤
//! ExecuteVMOperation            ├── G1CollectForAllocation ──┤
//! SafepointEnd                                               ├ leaving ┤     off by default
//! ```

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{figure, kind};

use super::run_writer::{Entry, RunWriter};

/// The most safepoints that wait for more of their events. Those of one are close in time, but come
/// from different threads' buffers: they may lie a whole chunk apart.
const WAITING: usize = 100_000;

/// What is known of a safepoint.
#[derive(Debug, Default)]
struct Stop {
    begin: Option<(i64, i64)>,
    /// First operation, and when the last one ended.
    operation: Option<(String, i64, i64)>,
    end: Option<(i64, i64)>,
    threads: Option<f64>,
    runnable: Option<f64>,
    /// The chunk of its last event.
    chunk: u64,
}

/// The safepoints that are not written yet, by their ids.
#[derive(Debug, Default)]
pub(super) struct Stops {
    waiting: BTreeMap<i64, Stop>,
    chunk: u64,
}

impl Stops {
    fn of(&mut self, id: i64) -> &mut Stop {
        let chunk = self.chunk;
        let stop = self.waiting.entry(id).or_default();
        stop.chunk = chunk;
        stop
    }

    /// `jdk.SafepointBegin`: from the request until all threads have stopped.
    pub(super) fn begin(&mut self, id: i64, (t0_ns, t1_ns): (i64, i64), threads: Option<f64>) {
        let stop = self.of(id);
        stop.begin = Some((t0_ns, t1_ns));
        stop.threads = threads;
    }

    /// `jdk.SafepointStateSynchronization`: how many threads ran when it was requested.
    pub(super) fn runnable(&mut self, id: i64, threads: f64) {
        self.of(id).runnable = Some(threads);
    }

    /// `jdk.ExecuteVMOperation` at a safepoint.
    pub(super) fn operation(&mut self, id: i64, name: &str, t0_ns: i64, t1_ns: i64) {
        let stop = self.of(id);
        match &mut stop.operation {
            Some((first, from, to)) => {
                if t0_ns < *from {
                    *first = name.to_owned();
                }
                (*from, *to) = ((*from).min(t0_ns), (*to).max(t1_ns));
            }
            None => stop.operation = Some((name.to_owned(), t0_ns, t1_ns)),
        }
    }

    /// `jdk.SafepointEnd`: until threads run again.
    pub(super) fn end(&mut self, id: i64, t0_ns: i64, t1_ns: i64) {
        self.of(id).end = Some((t0_ns, t1_ns));
    }

    /// A chunk ends, or everything does: writes the safepoints that are complete. Ids are not
    /// unique over JVM runs, but each run has its own writer.
    pub(super) fn write(&mut self, writer: &mut RunWriter<'_>, all: bool) {
        let (chunk, crowded) = (self.chunk, self.waiting.len() > WAITING);
        self.chunk += 1;
        for (id, stop) in std::mem::take(&mut self.waiting) {
            if all || crowded || stop.chunk < chunk {
                write(id, &stop, writer);
            } else {
                self.waiting.insert(id, stop);
            }
        }
    }
}

fn write(id: i64, stop: &Stop, writer: &mut RunWriter<'_>) {
    let operation = stop.operation.as_ref();
    // An operation alone has the time of the safepoint, except for reaching and leaving it.
    let Some(t0_ns) = stop.begin.map(|b| b.0).or(operation.map(|o| o.1)) else { return };
    let ends = [stop.begin.map(|b| b.1), operation.map(|o| o.2), stop.end.map(|e| e.1)];
    let t1_ns = ends.into_iter().flatten().max().unwrap_or(t0_ns);
    let mut figures: Vec<(&str, f64)> = Vec::new();
    let length = |from: i64, to: i64| to.saturating_sub(from).max(0) as f64;
    if let Some((from, to)) = stop.begin {
        figures.push((figure::REACH_NS, length(from, to)));
    }
    if let Some((_, from, to)) = operation {
        figures.push((figure::AT_NS, length(*from, *to)));
    }
    if let Some((from, to)) = stop.end {
        figures.push((figure::LEAVE_NS, length(from, to)));
    }
    let threshold_ns = writer.setting_ns("jdk.SafepointBegin", "threshold").filter(|ns| *ns > 0);
    figures.extend(threshold_ns.map(|ns| (figure::THRESHOLD_NS, ns as f64)));
    figures.extend(stop.threads.map(|n| (figure::THREADS, n)));
    figures.extend(stop.runnable.map(|n| (figure::THREADS_RUNNABLE, n)));
    let name = operation.map_or("stopped", |(name, ..)| name.as_str());
    writer.span(&Entry { key: id, figures: &figures, ..Entry::new(kind::SAFEPOINT, name, t0_ns, t1_ns) });
}
