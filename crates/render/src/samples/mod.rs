//! The samples of a recording as a page holds them: columns by kind of sample, with one tree of
//! stacks for all.
//!
//! ```text
//! kind "cpu": time (delta) · stack by its rank among the kind's · thread · weight (a number when all are equal)
//! ```
//!
//! A million samples are about 4 MB of page. Times are rounded to a millionth of the run, which no
//! screen shows; weights in nanoseconds to a thousandth of their mean: both only say noise beyond
//! that, and noise is what a page is full of. Of more samples than [`MAX_SAMPLES`] those of one
//! thread and one stack that lie close together become one with the sum of their weights, as
//! coarsely as it takes; the page says so.

mod index;
mod stacks;
mod thin;
mod threads;
mod waits;

use std::collections::HashMap;

use fathom_diagnose::Window;
use fathom_recording::Recording;
use fathom_recording::vocabulary::sample;
use serde::Serialize;

pub use index::SampleIndex;
pub(crate) use stacks::Stacks;
use stacks::StacksHeader;
use threads::ThreadHeader;
pub(crate) use threads::Threads;
pub(crate) use threads::thread_name;

use crate::names::short;
use crate::payload::{ColumnId, Columns};

pub(crate) const SCHEMA: &str = "fathom.samples/1";
/// Samples in one page: 8 MB, and a browser adds them up in 10 ms.
pub(crate) const MAX_SAMPLES: usize = 2_000_000;
/// Samples of the windows that a server is asked for: half a second of work on either side. Up to
/// these, none is left out.
pub(crate) const MAX_WITHIN: usize = 600_000;
/// Steps of time in a run: finer than any screen.
const STEPS: i64 = 2_000_000;

/// Kinds that the page offers first.
const FIRST: [&str; 7] = [
    sample::CPU,
    sample::CYCLES,
    sample::WALL,
    sample::OFF_CPU,
    sample::RUN_QUEUE,
    sample::LOCK,
    sample::ALLOC,
];

/// Samples with the columns that they point into.
pub(crate) struct Samples {
    pub(crate) header: Header,
    pub(crate) columns: Columns,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct Header {
    schema: &'static str,
    /// Times count in these from the origin of the lanes.
    unit_ns: i64,
    threads: Vec<ThreadHeader>,
    stacks: StacksHeader,
    kinds: Vec<Kind>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Kind {
    kind: String,
    unit: &'static str,
    /// In the recording; the page may hold fewer rows, see `note`.
    samples: usize,
    note: String,
    t: ColumnId,
    /// Nodes of the stacks that samples have, 1-based (0 is no stack), the most frequent
    /// first.
    nodes: ColumnId,
    /// Place of each sample's stack among these.
    rank: ColumnId,
    /// One too high: 0 is no thread.
    thread: ColumnId,
    /// What weights count in.
    weight_unit: i64,
    /// A number that all have, or a column of them.
    weight: Option<i64>,
    weights: Option<ColumnId>,
}

/// A sample on its way into the page.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) t: i64,
    pub(crate) node: u32,
    pub(crate) thread: u32,
    pub(crate) weight: i64,
}

/// Takes the samples of a recording, which reaches from `origin_ns` to `end_ns`; of some windows,
/// where these are named.
pub(crate) fn samples<'a>(
    recording: &'a Recording,
    index: &SampleIndex,
    (origin_ns, end_ns): (i64, i64),
    within: Option<&[Window]>,
    mut stacks: Stacks<'a>,
    mut threads: Threads<'a>,
) -> Samples {
    let unit_ns = unit_ns(end_ns.saturating_sub(origin_ns));
    let mut columns = Columns::default();
    let mut kinds = Vec::new();
    let mut found: Vec<(&str, usize, Vec<Row>)> = Vec::new();
    for of in &index.kinds {
        let places = of.within(recording, within);
        let rows = (places.into_iter().flatten())
            .filter_map(|place| recording.samples.get(*place as usize))
            .map(|s| Row {
                t: s.t_ns.saturating_sub(origin_ns) / unit_ns,
                node: stacks.node(s.stack),
                thread: threads.number(s.thread),
                weight: s.weight.max(0),
            })
            .collect();
        found.push((recording.strings.get(of.kind), of.places.len(), rows));
    }
    waits::join(recording, (origin_ns, end_ns), unit_ns, within, &mut stacks, &mut threads, &mut found);
    let total = found.iter().map(|(_, _, rows)| rows.len()).sum::<usize>().max(1);
    for (kind, count, mut rows) in found {
        let most = if within.is_some() { MAX_WITHIN } else { MAX_SAMPLES };
        let share = (most as u128 * rows.len() as u128 / total as u128).max(1) as usize;
        let note = thin::thin(&mut rows, share, unit_ns);
        let (nodes, ranks) = ranked(&rows);
        let unit = fathom_diagnose::stacks::unit(recording, kind);
        let weight_unit = weight_unit(&rows, unit);
        rows.iter_mut().for_each(|row| row.weight = row.weight.saturating_add(weight_unit / 2) / weight_unit);
        let first = rows.first().map_or(0, |row| row.weight);
        let equal = rows.iter().all(|row| row.weight == first);
        kinds.push(Kind {
            kind: short(kind),
            unit,
            samples: count,
            note,
            t: columns.delta(rows.iter().map(|row| row.t)),
            nodes: columns.small(nodes.into_iter().map(u64::from)),
            rank: columns.planes(&ranks),
            weight_unit,
            thread: columns.small(rows.iter().map(|row| u64::from(row.thread))),
            weight: equal.then_some(first),
            weights: (!equal).then(|| columns.small(rows.iter().map(|row| row.weight as u64))),
        });
    }
    let stacks = stacks.write(&mut columns);
    let header = Header { schema: SCHEMA, unit_ns, threads: threads.write(), stacks, kinds };
    Samples { header, columns }
}

/// The stacks of rows, the most frequent first, and the place of each row's among them.
fn ranked(rows: &[Row]) -> (Vec<u32>, Vec<u32>) {
    let mut counts: HashMap<u32, u32> = HashMap::new();
    rows.iter().for_each(|row| *counts.entry(row.node).or_default() += 1);
    let mut nodes: Vec<u32> = counts.keys().copied().collect();
    nodes.sort_unstable_by_key(|node| (std::cmp::Reverse(counts[node]), *node));
    let ranks: HashMap<u32, u32> = nodes.iter().enumerate().map(|(i, node)| (*node, i as u32)).collect();
    let of = rows.iter().map(|row| ranks[&row.node]).collect();
    (nodes, of)
}

/// What weights are rounded to: a power of ten below a thousandth of their mean where they are
/// times that differ.
fn weight_unit(rows: &[Row], unit: &str) -> i64 {
    let first = rows.first().map_or(0, |row| row.weight);
    if unit != "ns" || rows.iter().all(|row| row.weight == first) {
        return 1;
    }
    let sum: i128 = rows.iter().map(|row| i128::from(row.weight)).sum();
    let mean = (sum / rows.len().max(1) as i128) as i64;
    let mut unit = 1;
    while mean / unit >= 10_000 {
        unit *= 10;
    }
    unit
}

/// A round number (1, 2 or 5 times a power of ten) of which about [`STEPS`] make the run.
fn unit_ns(range_ns: i64) -> i64 {
    let mut power = 1;
    loop {
        let fits = |unit: &i64| range_ns / unit <= STEPS;
        if let Some(unit) = [power, 2 * power, 5 * power].into_iter().find(fits) {
            return unit;
        }
        power *= 10;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_of_time_is_far_finer_than_a_screen() {
        assert_eq!(unit_ns(0), 1);
        assert_eq!(unit_ns(600_000_000_000), 500_000);
        assert!(i64::MAX / unit_ns(i64::MAX) <= STEPS);
    }
}
