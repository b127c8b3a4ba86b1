//! Spans that are counts: how often something happened in an interval, and how long all of it
//! took. They are no waits, so they are drawn as lines by name, and listed as tables that add up
//! the intervals of a window.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{figure, kind};
use fathom_recording::{ProcessId, Span};
use serde::Serialize;

use super::lines::Points;
use super::{Builder, Lane, LineLane};
use crate::payload::ColumnId;

/// A kind of counts.
struct Spec {
    kind: &'static str,
    title: &'static str,
    /// The key of how often.
    count: &'static str,
    /// The key of how long, nanoseconds.
    time: &'static str,
    /// Whether lines are drawn; of some kinds a collector writes series as well.
    drawn: bool,
}

const SPECS: [Spec; 2] = [
    Spec {
        kind: kind::SYSCALL_TOTALS,
        title: "All system calls",
        count: figure::CALLS,
        time: figure::TOTAL_NS,
        drawn: true,
    },
    Spec {
        kind: kind::PAGE_FAULTS,
        title: "All page faults",
        count: figure::FAULTS,
        time: figure::FAULT_NS,
        drawn: false,
    },
];

/// Names that have a line of their own, those with most time; the others are not drawn, and all are
/// in the table.
const MOST_LINES: usize = 8;
/// Rows of one table; the ones with least time are left out, and the note says so.
const MOST_ROWS: usize = 100_000;

/// A table of counts in the header.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct Counted {
    id: String,
    title: String,
    process: String,
    note: String,
    t0: ColumnId,
    duration: ColumnId,
    name: ColumnId,
    /// Threads of fathom-samples, 1-based.
    thread: ColumnId,
    count: ColumnId,
    /// Nanoseconds.
    time: ColumnId,
}

impl<'a> Builder<'a, '_> {
    /// The counts of a process as lanes: how many threads were in each on average.
    pub(super) fn counted_lanes(&mut self, process: ProcessId) -> Vec<Lane> {
        let mut lanes = Vec::new();
        for spec in SPECS.iter().filter(|spec| spec.drawn) {
            let spans = self.spans_of(spec.kind, &[process]);
            let mut by_name: BTreeMap<&str, f64> = BTreeMap::new();
            for span in &spans {
                *by_name.entry(span.name()).or_default() += time(span, spec);
            }
            let mut names: Vec<&str> = by_name.keys().copied().collect();
            names.sort_by(|a, b| by_name[b].total_cmp(&by_name[a]));
            let mut note = String::new();
            if names.len() > MOST_LINES {
                note = format!("the {MOST_LINES} with most time of {}", names.len());
                names.truncate(MOST_LINES);
            }
            let mut lines = Vec::new();
            for name in names {
                // Intervals of several threads begin together; their middles stand for the time.
                let mut at: BTreeMap<i64, f64> = BTreeMap::new();
                for span in spans.iter().filter(|s| s.name() == name && s.duration_ns() > 0) {
                    let step = span.duration_ns().max(1);
                    let bin = self.since(span.t0_ns()).div_euclid(1_000_000_000);
                    *at.entry(bin).or_default() += time(span, spec) / step as f64;
                }
                let points: Points = at
                    .into_iter()
                    .map(|(bin, threads)| (bin.saturating_mul(1_000_000_000), threads))
                    .collect();
                lines.push(self.line(name, false, points, &mut note));
            }
            if !lines.is_empty() {
                lanes.push(Lane::Lines(LineLane {
                    id: format!("p{}-{}", process.index(), spec.kind),
                    title: format!("{}, time in them", spec.title),
                    unit: "threads".into(),
                    steps: false,
                    open: true,
                    note,
                    lines,
                }));
            }
        }
        lanes
    }

    /// The counts of all processes as tables.
    pub(super) fn counted_tables(&mut self, processes: &[ProcessId]) -> Vec<Counted> {
        let mut tables = Vec::new();
        for spec in &SPECS {
            for process in processes {
                let mut spans = self.spans_of(spec.kind, &[*process]);
                let total = spans.len();
                if total == 0 {
                    continue;
                }
                let mut note = String::new();
                if total > MOST_ROWS {
                    spans.sort_by(|a, b| time(b, spec).total_cmp(&time(a, spec)));
                    spans.truncate(MOST_ROWS);
                    note = format!("the {MOST_ROWS} counts with most time of {total}");
                }
                spans.sort_by_key(Span::t0_ns);
                let names: Vec<u64> = spans.iter().map(|s| self.string(s.name())).collect();
                let threads: Vec<u64> =
                    spans.iter().map(|s| u64::from(self.threads.number(s.thread()))).collect();
                let origin = self.origin_ns;
                let columns = &mut self.columns;
                let number = |word: &str, s: &Span<'_>| s.figure(word).unwrap_or(0.0).max(0.0) as u64;
                tables.push(Counted {
                    id: format!("p{}-{}", process.index(), spec.kind),
                    title: spec.title.into(),
                    process: crate::names::name_of(self.recording, *process),
                    note,
                    t0: columns.delta(spans.iter().map(|s| s.t0_ns().saturating_sub(origin))),
                    duration: columns.small(spans.iter().map(|s| s.duration_ns().max(0) as u64)),
                    name: columns.small(names.into_iter()),
                    thread: columns.small(threads.into_iter()),
                    count: columns.small(spans.iter().map(|s| number(spec.count, s))),
                    time: columns.small(spans.iter().map(|s| number(spec.time, s))),
                });
            }
        }
        tables
    }
}

fn time(span: &Span<'_>, spec: &Spec) -> f64 {
    span.figure(spec.time).unwrap_or(0.0).max(0.0)
}
