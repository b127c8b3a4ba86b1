//! The ledger of threads over time: what each group spent each slice of the run on, so that the
//! page can add up the slices of whatever window is brushed.
//!
//! Slices are as long as one another, and end also where the verdict's windows do: these are exact,
//! others to a slice.

use std::collections::BTreeMap;

use fathom_diagnose::thread_ledger::{By, Weight, over_time as ledgers};
use fathom_diagnose::{Diagnosis, Window};
use fathom_recording::Recording;
use serde::Serialize;

use super::short;
use crate::payload::{ColumnId, Columns};

/// Slices of a run: a few pixels each on a wide screen, on which the page also draws what each
/// thread did.
const SLICES: i64 = 240;
/// Slices of all threads together; this many take about a second, and a page holds what the busiest
/// did in each.
const MOST_CELLS: usize = 200_000;
/// Groups of one grouping, those that rank first; the rest are one.
const MOST_GROUPS: usize = 40;

const GROUPINGS: [(By, &str); 3] = [(By::Role, "role"), (By::Pool, "pool"), (By::Thread, "thread")];

/// What stands in the header.
#[derive(Serialize)]
pub(super) struct OverTime {
    /// Where slices begin and end, from the origin: one more than there are slices.
    edges: ColumnId,
    /// Headings in words, in their order.
    headings: Vec<&'static str>,
    groupings: Vec<Grouping>,
}

#[derive(Serialize)]
struct Grouping {
    by: &'static str,
    groups: Vec<Group>,
    /// Microseconds: `spent[(slice * groups + group) * headings + heading]`.
    spent: ColumnId,
}

#[derive(Serialize)]
struct Group {
    name: String,
    process: String,
}

/// `None` when nothing tells what threads did.
pub(super) fn over_time(
    diagnosis: &Diagnosis,
    recording: &Recording,
    (from_ns, to_ns): (i64, i64),
    columns: &mut Columns,
) -> Option<OverTime> {
    let edges = edges(diagnosis, recording, (from_ns, to_ns));
    let windows: Vec<Window> =
        edges.windows(2).map(|pair| Window { from_ns: pair[0], to_ns: pair[1] }).collect();
    let slices = ledgers(recording, &windows, &GROUPINGS.map(|(by, _)| by));
    let mut headings = BTreeMap::new();
    for group in slices.iter().flatten().flatten() {
        headings.extend(group.spent.iter().map(|spent| (spent.heading, spent.words)));
    }
    if headings.is_empty() {
        return None;
    }
    let place: BTreeMap<_, usize> = headings.keys().enumerate().map(|(i, heading)| (*heading, i)).collect();
    let mut groupings = Vec::new();
    for (at, (_, by)) in GROUPINGS.iter().enumerate() {
        // Those first that lost most; what waits the same all the time may be without work.
        let lengths: Vec<f64> = windows.iter().map(|w| w.length_ns() as f64 / 1e6).collect();
        let mut weights: BTreeMap<(&str, &str), Weight> = BTreeMap::new();
        for (slice, group) in slices.iter().enumerate().flat_map(|(i, s)| s[at].iter().map(move |g| (i, g))) {
            let weight = weights.entry((&group.process, &group.name));
            let weight = weight.or_insert_with(|| Weight::of(lengths.iter().copied()));
            group.spent.iter().for_each(|spent| weight.add(slice, spent.heading, spent.ms));
        }
        let busy = weights.into_iter().map(|(key, weight)| (key, weight.value()));
        let mut order: Vec<_> = busy.collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1));
        let many = order.len() > MOST_GROUPS;
        order.truncate(if many { MOST_GROUPS - 1 } else { MOST_GROUPS });
        let number: BTreeMap<(&str, &str), usize> =
            order.iter().enumerate().map(|(i, (key, _))| (*key, i)).collect();
        let mut groups: Vec<Group> = (order.iter())
            .map(|((process, name), _)| Group { name: short(name), process: short(process) })
            .collect();
        if many {
            groups.push(Group { name: "all others".into(), process: String::new() });
        }
        let mut spent = vec![0_u64; slices.len() * groups.len() * headings.len()];
        for (s, slice) in slices.iter().enumerate() {
            for group in &slice[at] {
                let key = (group.process.as_str(), group.name.as_str());
                let g = number.get(&key).copied().unwrap_or(MOST_GROUPS - 1);
                for one in &group.spent {
                    let cell = (s * groups.len() + g) * headings.len() + place[&one.heading];
                    spent[cell] += (one.ms * 1e3).round() as u64;
                }
            }
        }
        groupings.push(Grouping { by, groups, spent: columns.small(spent.into_iter()) });
    }
    Some(OverTime {
        edges: columns.delta(edges.iter().map(|t| t.saturating_sub(from_ns))),
        headings: headings.into_values().collect(),
        groupings,
    })
}

fn edges(diagnosis: &Diagnosis, recording: &Recording, (from_ns, to_ns): (i64, i64)) -> Vec<i64> {
    let slices = ((MOST_CELLS / recording.threads.len().max(1)) as i64).clamp(20, SLICES);
    let step = to_ns.saturating_sub(from_ns) / slices;
    let regular = (0..slices).map(|i| from_ns.saturating_add(step.saturating_mul(i)));
    let windows = diagnosis.windows.slow.iter().chain(&diagnosis.windows.base);
    // Many windows would make many slices.
    let theirs = windows.take(8).flat_map(|w| [w.from_ns, w.to_ns]);
    let mut edges: Vec<i64> = regular.chain([to_ns]).chain(theirs).collect();
    edges.retain(|t| (from_ns..=to_ns).contains(t));
    edges.sort_unstable();
    edges.dedup();
    edges
}
