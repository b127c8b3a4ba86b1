//! What the JVMs of a recording did over time, as far as their logs tell, to hold a table of work done against.
//!
//! - Allocation: from the heap after one collection to the heap before the next. Work allocates.
//! - Compilation: tasks queued or started. It follows a change of work and takes time from it.

use std::collections::BTreeMap;

use fathom_recording::clock::seconds;
use fathom_recording::vocabulary::{figure, kind};
use fathom_recording::{ProcessId, Recording, SpanId};

use super::correlation::Signal;

/// Signals of all processes together. `placed` tells what has been decided to add to the stamps of a source; `None`
/// leaves it out. Seconds count from `origin_ns`.
pub(super) fn signals(
    recording: &Recording,
    placed: &dyn Fn(usize) -> Option<i64>,
    origin_ns: i64,
) -> Vec<Signal> {
    let at = |t_ns: i64, offset_ns: i64| seconds(t_ns.saturating_add(offset_ns).saturating_sub(origin_ns));
    let offsets: Vec<_> = (0..recording.sources.len()).map(placed).collect();
    let mut pauses: BTreeMap<ProcessId, Vec<Pause>> = BTreeMap::new();
    let (mut queued, mut started) = (Vec::new(), Vec::new());
    for i in 0..recording.spans.len() {
        let span = recording.span_at(SpanId(i as u32));
        let Some(offset_ns) = offsets.get(span.source().index()).copied().flatten() else { continue };
        match span.kind() {
            kind::GC_PAUSE => {
                let heap = |key| span.figure(key);
                let sizes = heap(figure::HEAP_BEFORE_BYTES).zip(heap(figure::HEAP_AFTER_BYTES));
                if let Some((before, after)) = sizes {
                    let (from_s, to_s) = (at(span.t0_ns(), offset_ns), at(span.t1_ns(), offset_ns));
                    pauses.entry(span.process()).or_default().push(Pause { from_s, to_s, before, after });
                }
            }
            kind::JIT_QUEUE => queued.push(at(span.t0_ns(), offset_ns)),
            kind::JIT_COMPILE => started.push(at(span.t0_ns(), offset_ns)),
            _ => {}
        }
    }
    let allocation = sum(pauses.into_values().map(allocated).collect());
    let compiled = count(if queued.is_empty() { started } else { queued });
    let signals = [Signal { sums: allocation, sign: 1.0 }, Signal { sums: compiled, sign: -1.0 }];
    signals.into_iter().filter(|signal| signal.sums.len() > 1).collect()
}

/// A collection: when, and the heap before and after.
struct Pause {
    from_s: f64,
    to_s: f64,
    before: f64,
    after: f64,
}

/// Bytes allocated so far, at the start and the end of each pause.
fn allocated(mut pauses: Vec<Pause>) -> Vec<(f64, f64)> {
    pauses.sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
    let mut sum = 0.0;
    let mut after: Option<f64> = None;
    let mut sums = Vec::with_capacity(pauses.len() * 2);
    for pause in pauses {
        // A heap that is smaller than after the last collection was emptied in between (a concurrent cycle).
        sum += after.map_or(0.0, |after| (pause.before - after).max(0.0));
        sums.push((pause.from_s, sum));
        sums.push((pause.to_s, sum));
        after = Some(pause.after);
    }
    sums
}

/// The sum of several sums, each straight between its points and level outside.
fn sum(parts: Vec<Vec<(f64, f64)>>) -> Vec<(f64, f64)> {
    if let [only] = parts.as_slice() {
        return only.clone();
    }
    // Steps of each part's slope at its points; walking over all of them in order gives the sum's slope.
    let mut turns: Vec<(f64, f64)> = Vec::new();
    for part in &parts {
        for pair in part.windows(2) {
            let [(t0, s0), (t1, s1)] = pair else { continue };
            if t1 > t0 {
                let slope = (s1 - s0) / (t1 - t0);
                turns.push((*t0, slope));
                turns.push((*t1, -slope));
            }
        }
    }
    turns.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut slope, mut sum) = (0.0, 0.0);
    let mut sums: Vec<(f64, f64)> = Vec::with_capacity(turns.len());
    for (t, turn) in turns {
        if let Some((last, _)) = sums.last() {
            sum += slope * (t - last);
        }
        sums.push((t, sum));
        slope += turn;
    }
    sums
}

/// Events counted.
fn count(mut times: Vec<f64>) -> Vec<(f64, f64)> {
    times.sort_by(f64::total_cmp);
    times.into_iter().enumerate().map(|(i, t)| (t, i as f64)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocation_is_what_came_between_collections() {
        let pause = |from_s, before, after| Pause { from_s, to_s: from_s + 1.0, before, after };
        let sums =
            allocated(vec![pause(20.0, 300.0, 50.0), pause(10.0, 200.0, 100.0), pause(30.0, 40.0, 30.0)]);
        assert_eq!(
            sums,
            [(10.0, 0.0), (11.0, 0.0), (20.0, 200.0), (21.0, 200.0), (30.0, 200.0), (31.0, 200.0)]
        );
    }

    #[test]
    fn sums_of_several_jvms_add_up() {
        let sums = sum(vec![vec![(0.0, 0.0), (10.0, 100.0)], vec![(5.0, 0.0), (15.0, 50.0)]]);
        assert_eq!(sums, [(0.0, 0.0), (5.0, 50.0), (10.0, 125.0), (15.0, 150.0)]);
    }
}
