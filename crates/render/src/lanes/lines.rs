//! Lanes of lines that are made of spans: the heap around collections, the compiler's activity.

use std::collections::BTreeMap;

use fathom_recording::ProcessId;
use fathom_recording::clock::{SECOND_NS, seconds};
use fathom_recording::vocabulary::{figure, kind};

use super::spans::compiler;
use super::{Builder, Lane, Line, LineLane, MAX_POINTS, short};

/// Steps in which events are counted over a whole run: about one for each pixel of the first look.
const STEPS: i64 = 1_200;

/// Points of a line: time from the page's origin and value; a value that is not a number is a gap.
pub(super) type Points = Vec<(i64, f64)>;

impl Builder<'_, '_> {
    /// Heap in use before and after collections.
    pub(super) fn heap_lane(&mut self, process: ProcessId) -> Option<Lane> {
        let mut used: Points = Vec::new();
        let mut after: Points = Vec::new();
        let mut capacity: Points = Vec::new();
        for kind in [kind::GC_PAUSE, kind::GC_CONCURRENT] {
            for span in self.spans_of(kind, &[process]) {
                let (t0, t1) = (self.since(span.t0_ns()), self.since(span.t1_ns()));
                used.extend(span.figure(figure::HEAP_BEFORE_BYTES).map(|b| (t0, b)));
                if let Some(bytes) = span.figure(figure::HEAP_AFTER_BYTES) {
                    used.push((t1, bytes));
                    after.push((t1, bytes));
                }
                capacity.extend(span.figure(figure::HEAP_CAPACITY_BYTES).map(|b| (t1, b)));
            }
        }
        let mut lines = Vec::new();
        let mut note = String::new();
        for (name, main, points) in
            [("after GC", true, after), ("in use", false, used), ("size", false, capacity)]
        {
            let mut points = points;
            points.sort_by_key(|p| p.0);
            if !points.is_empty() {
                lines.push(self.line(name, main, points, &mut note));
            }
        }
        (!lines.is_empty()).then(|| {
            Lane::Lines(LineLane {
                id: format!("p{}-heap", process.index()),
                title: "Heap".into(),
                unit: "bytes".into(),
                steps: false,
                open: true,
                note,
                lines,
            })
        })
    }

    /// Compilations a second by compiler, and the length of the queue.
    pub(super) fn compile_lanes(&mut self, process: ProcessId) -> Vec<Lane> {
        let step = step_ns(self.end_ns.saturating_sub(self.origin_ns));
        // Logs that do not record when a compilation began still record when its code was
        // installed.
        let kind = [kind::JIT_COMPILE, kind::JIT_INSTALL]
            .into_iter()
            .find(|k| self.recording.spans_of(k).any(|s| s.process() == process));
        let Some(kind) = kind else { return Vec::new() };
        let mut counts = [BTreeMap::new(), BTreeMap::new(), BTreeMap::new()];
        for span in self.spans_of(kind, &[process]) {
            let bin = self.since(span.t0_ns()) / step;
            *counts[compiler(&span)].entry(bin).or_insert(0_u64) += 1;
        }
        let coarse = if step == SECOND_NS {
            String::new()
        } else {
            format!("counted in steps of {} s", seconds(step))
        };
        let mut note = coarse.clone();
        let mut lines = Vec::new();
        for (name, count) in ["C1", "C2", "compiler unknown"].into_iter().zip(counts) {
            if !count.is_empty() {
                let points = stepped(&count, step, |n| *n as f64 / seconds(step));
                lines.push(self.line(name, false, points, &mut note));
            }
        }
        let lane = |id: &str, title: &str, unit: &str, note: String, lines: Vec<Line>| {
            Lane::Lines(LineLane {
                id: format!("p{}-{id}", process.index()),
                title: title.into(),
                unit: unit.into(),
                steps: true,
                open: true,
                note,
                lines,
            })
        };
        let mut lanes = vec![lane("compiles", "Compilations", "/s", note, lines)];
        let queue = self.queue(process);
        if !queue.is_empty() {
            let mut note = String::new();
            let lines = vec![self.line("waiting to be compiled", false, queue, &mut note)];
            lanes.push(lane("queue", "Compile queue", "methods", note, lines));
        }
        lanes
    }

    /// How many tasks wait, at each change.
    fn queue(&self, process: ProcessId) -> Points {
        let mut changes: Vec<(i64, i64)> = Vec::new();
        for span in self.spans_of(kind::JIT_QUEUE, &[process]) {
            if span.figure(figure::WAIT_KNOWN) != Some(0.0) && span.duration_ns() > 0 {
                changes.push((self.since(span.t0_ns()), 1));
                changes.push((self.since(span.t1_ns()), -1));
            }
        }
        changes.sort_unstable();
        let mut points: Points = Vec::new();
        let mut waiting = 0_i64;
        for (t, change) in changes {
            waiting += change;
            match points.last_mut() {
                Some(last) if last.0 == t => last.1 = waiting as f64,
                _ => points.push((t, waiting as f64)),
            }
        }
        points
    }

    /// A line from points in order of time, thinned where there are too many; says so in the note.
    pub(super) fn line(&mut self, name: &str, main: bool, points: Points, note: &mut String) -> Line {
        let total = points.len();
        let points = thinned(points);
        if points.len() < total && !note.contains("lowest and highest") {
            let sep = if note.is_empty() { "" } else { "; " };
            note.push_str(&format!("{sep}lowest and highest of each interval of {total} points"));
        }
        let t = self.columns.delta(points.iter().map(|p| p.0));
        let v = self.columns.figures(points.iter().map(|p| p.1));
        Line { name: short(name), main, t, v }
    }
}

/// A round step for counting over a range: a tenth of a second, a second, ten, a minute, ten …
fn step_ns(range_ns: i64) -> i64 {
    const NICE_S: [i64; 6] = [1, 10, 60, 600, 3_600, 86_400];
    if range_ns / (SECOND_NS / 10) <= STEPS / 4 {
        return SECOND_NS / 10;
    }
    let fits = |s: &&i64| range_ns / (**s * SECOND_NS) <= STEPS;
    NICE_S.iter().find(fits).map_or_else(|| range_ns / STEPS, |s| s * SECOND_NS)
}

/// Counts as points of a line that holds each value for a step, with zeros where nothing was
/// counted.
fn stepped(counts: &BTreeMap<i64, u64>, step: i64, value: impl Fn(&u64) -> f64) -> Points {
    let mut points = Points::new();
    let mut free = i64::MIN;
    for (bin, n) in counts {
        if *bin != free {
            if free != i64::MIN {
                points.push((free.saturating_mul(step), 0.0));
            }
            points.push(((bin - 1).saturating_mul(step), 0.0));
        }
        points.push((bin.saturating_mul(step), value(n)));
        free = bin + 1;
    }
    points.push((free.saturating_mul(step), 0.0));
    points
}

/// At most about [`MAX_POINTS`]: of each interval the lowest, the highest and a gap, in order of
/// time.
fn thinned(points: Points) -> Points {
    if points.len() <= MAX_POINTS {
        return points;
    }
    let interval = points.len().div_ceil(MAX_POINTS / 2);
    let mut kept = Points::with_capacity(MAX_POINTS + MAX_POINTS / 2);
    for points in points.chunks(interval) {
        let numbers = || points.iter().enumerate().filter(|(_, p)| !p.1.is_nan());
        let low = numbers().min_by(|a, b| a.1.1.total_cmp(&b.1.1)).map(|(i, _)| i);
        let high = numbers().max_by(|a, b| a.1.1.total_cmp(&b.1.1)).map(|(i, _)| i);
        let gap = points.iter().position(|p| p.1.is_nan());
        let mut of_interval: Vec<usize> = [low, high, gap].into_iter().flatten().collect();
        of_interval.sort_unstable();
        of_interval.dedup();
        kept.extend(of_interval.into_iter().map(|i| points[i]));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_spike_the_dip_and_the_gap() {
        let mut points: Points = (0..1_000_000).map(|i| (i, 1.0)).collect();
        points[123_456].1 = 99.0;
        points[654_321].1 = -99.0;
        points[777_777].1 = f64::NAN;
        let thin = thinned(points);
        assert!(thin.len() <= MAX_POINTS + 1, "{}", thin.len());
        assert!(thin.contains(&(123_456, 99.0)) && thin.contains(&(654_321, -99.0)));
        assert!(thin.iter().any(|p| p.0 == 777_777 && p.1.is_nan()));
        assert!(thin.is_sorted_by_key(|p| p.0));
    }

    #[test]
    fn counts_fall_back_to_zero_where_nothing_was_counted() {
        let points = stepped(&BTreeMap::from([(2, 5), (3, 1), (7, 2)]), 10, |n| *n as f64);
        assert_eq!(points, [(10, 0.0), (20, 5.0), (30, 1.0), (40, 0.0), (60, 0.0), (70, 2.0), (80, 0.0)]);
    }

    #[test]
    fn counting_steps_are_round_and_never_too_many() {
        assert_eq!(step_ns(20 * SECOND_NS), SECOND_NS / 10);
        assert_eq!(step_ns(240 * SECOND_NS), SECOND_NS);
        assert_eq!(step_ns(3 * 3_600 * SECOND_NS), 10 * SECOND_NS);
        assert!(i64::MAX / step_ns(i64::MAX) <= STEPS);
    }
}
