//! Counts: how often something happened in an interval, and how long all of it took. They are drawn
//! as lines by name, and listed as tables that add up the intervals of a window.

use std::collections::BTreeMap;

use fathom_recording::clock::SECOND_NS;
use fathom_recording::vocabulary::count;
use fathom_recording::{Count, ProcessId};
use serde::Serialize;

use super::lines::Points;
use super::{Builder, Lane, LineLane};
use crate::payload::ColumnId;

/// A kind of counts.
struct Spec {
    kind: &'static str,
    title: &'static str,
    /// What its lines show; none where a collector writes series as well.
    lines: Option<Lines>,
    /// Whether there is a table: where it is known how long all of it took.
    table: bool,
}

/// What lines show.
#[derive(Clone, Copy, PartialEq)]
enum Lines {
    /// How many threads were in it on average.
    Time,
    /// How often it happened in a second.
    Rate,
}

const SPECS: [Spec; 3] = [
    Spec { kind: count::SYSCALL_TOTALS, title: "All system calls", lines: Some(Lines::Time), table: true },
    Spec { kind: count::PAGE_FAULTS, title: "All page faults", lines: None, table: true },
    Spec {
        kind: count::MEMORY_FOREIGN,
        title: "Address space locked by others",
        lines: Some(Lines::Rate),
        table: false,
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
    fn counts_of(&self, kind: &str, process: ProcessId) -> Vec<Count<'a>> {
        self.recording.counts_of(kind).filter(|count| count.process() == process).collect()
    }

    /// The counts of a process as lanes.
    pub(super) fn counted_lanes(&mut self, process: ProcessId) -> Vec<Lane> {
        let mut lanes = Vec::new();
        for (spec, shows) in SPECS.iter().filter_map(|spec| Some((spec, spec.lines?))) {
            let counts = self.counts_of(spec.kind, process);
            let mut by_name: BTreeMap<&str, f64> = BTreeMap::new();
            for count in &counts {
                *by_name.entry(count.name()).or_default() += shows.of(count);
            }
            let mut names: Vec<&str> = by_name.keys().copied().collect();
            names.sort_by(|a, b| by_name[b].total_cmp(&by_name[a]));
            let mut note = String::new();
            if names.len() > MOST_LINES {
                note = format!("the {MOST_LINES} with {} of {}", shows.most(), names.len());
                names.truncate(MOST_LINES);
            }
            let mut lines = Vec::new();
            for name in names {
                // Intervals of several threads begin together; their middles stand for the time.
                let mut at: BTreeMap<i64, f64> = BTreeMap::new();
                for count in counts.iter().filter(|c| c.name() == name && c.interval_ns() > 0) {
                    let bin = self.since(count.t0_ns()).div_euclid(SECOND_NS);
                    *at.entry(bin).or_default() += shows.of(count) / count.interval_ns() as f64;
                }
                let points: Points =
                    at.into_iter().map(|(bin, value)| (bin.saturating_mul(SECOND_NS), value)).collect();
                lines.push(self.line(name, false, points, &mut note));
            }
            if !lines.is_empty() {
                lanes.push(Lane::Lines(LineLane {
                    id: format!("p{}-{}", process.index(), spec.kind),
                    title: format!("{}{}", spec.title, shows.words()),
                    unit: shows.unit().into(),
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
        for spec in SPECS.iter().filter(|spec| spec.table) {
            for process in processes {
                let mut counts = self.counts_of(spec.kind, *process);
                let total = counts.len();
                if total == 0 {
                    continue;
                }
                let mut note = String::new();
                if total > MOST_ROWS {
                    counts.sort_by_key(|count| std::cmp::Reverse(count.total_ns()));
                    counts.truncate(MOST_ROWS);
                    note = format!("the {MOST_ROWS} counts with most time of {total}");
                }
                counts.sort_by_key(Count::t0_ns);
                let names: Vec<u64> = counts.iter().map(|c| self.string(c.name())).collect();
                let threads: Vec<u64> =
                    counts.iter().map(|c| u64::from(self.threads.number(c.thread()))).collect();
                let origin = self.origin_ns;
                let columns = &mut self.columns;
                tables.push(Counted {
                    id: format!("p{}-{}", process.index(), spec.kind),
                    title: spec.title.into(),
                    process: crate::names::name_of(self.recording, *process),
                    note,
                    t0: columns.delta(counts.iter().map(|c| c.t0_ns().saturating_sub(origin))),
                    duration: columns.small(counts.iter().map(|c| c.interval_ns().max(0) as u64)),
                    name: columns.small(names.into_iter()),
                    thread: columns.small(threads.into_iter()),
                    count: columns.small(counts.iter().map(Count::count)),
                    time: columns.small(counts.iter().map(|c| c.total_ns().unwrap_or(0))),
                });
            }
        }
        tables
    }
}

impl Lines {
    /// What a nanosecond of the interval adds up to over all of it.
    fn of(self, count: &Count<'_>) -> f64 {
        match self {
            Self::Time => count.total_ns().unwrap_or(0) as f64,
            Self::Rate => count.count() as f64 * SECOND_NS as f64,
        }
    }

    fn unit(self) -> &'static str {
        if self == Self::Time { "threads" } else { "1/s" }
    }

    /// Behind the title.
    fn words(self) -> &'static str {
        if self == Self::Time { ", time in them" } else { "" }
    }

    /// What those have that are drawn.
    fn most(self) -> &'static str {
        if self == Self::Time { "most time" } else { "most of them" }
    }
}
