//! The ledger of threads over time: what each group spent each slice of the run on, so that the
//! page can add up the slices of whatever window is brushed.
//!
//! Slices of what was recorded are as long as one another, and end also where the verdict's windows
//! do: these are exact, others to a slice. What lies outside, as the beginning of a wait of long
//! before, is a slice on either side.

use std::collections::BTreeMap;

use fathom_diagnose::thread_ledger::{By, Slice, SlowWeight, over_time as ledgers};
use fathom_diagnose::{Diagnosis, Window};
use fathom_recording::{ProcessId, Recording};
use serde::Serialize;

use crate::names::short;
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

/// What is in the header.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct OverTime {
    /// Where slices begin and end, from the origin: one more than there are slices.
    edges: ColumnId,
    /// Categories in words, in their order.
    categories: Vec<&'static str>,
    groupings: Vec<Grouping>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Grouping {
    by: &'static str,
    /// Those first that changed most in the slow windows, then those that lost or ran most.
    groups: Vec<ThreadGroup>,
    /// How many of the first ran or waited in the slow windows; the rest were idle.
    active: usize,
    /// Microseconds: `spent[(slice * groups + group) * categories + category]`.
    spent: ColumnId,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct ThreadGroup {
    name: String,
    process: String,
    /// The same as a row of the recording's processes; `None` of what several have.
    process_id: Option<ProcessId>,
}

/// `None` when nothing shows what threads did.
pub(super) fn over_time(
    diagnosis: &Diagnosis,
    recording: &Recording,
    recorded: Window,
    (from_ns, to_ns): (i64, i64),
    columns: &mut Columns,
) -> Option<OverTime> {
    let most = (MOST_CELLS / recording.threads.len().max(1)) as i64;
    let edges = edges(diagnosis, recorded, (from_ns, to_ns), most);
    let windows: Vec<Window> =
        edges.windows(2).map(|pair| Window { from_ns: pair[0], to_ns: pair[1] }).collect();
    let slices = ledgers(recording, &windows, &GROUPINGS.map(|(by, _)| by));
    let mut categories = BTreeMap::new();
    let mut names: BTreeMap<ProcessId, &str> = BTreeMap::new();
    for group in slices.iter().flatten().flatten() {
        names.insert(group.process_id, &group.process);
        categories.extend(group.spent.iter().map(|spent| (spent.category, spent.words)));
    }
    if categories.is_empty() {
        return None;
    }
    let place: BTreeMap<_, usize> =
        categories.keys().enumerate().map(|(i, category)| (*category, i)).collect();
    let parts: Vec<Slice> = windows.iter().map(|window| slice(diagnosis, *window)).collect();
    let mut groupings = Vec::new();
    for (at, (_, by)) in GROUPINGS.iter().enumerate() {
        let mut weights: BTreeMap<(ProcessId, &str), SlowWeight> = BTreeMap::new();
        for (slice, group) in slices.iter().enumerate().flat_map(|(i, s)| s[at].iter().map(move |g| (i, g))) {
            let weight = weights.entry((group.process_id, &group.name));
            let weight = weight.or_insert_with(|| SlowWeight::of(&parts));
            group.spent.iter().for_each(|spent| weight.add(slice, spent.category, spent.ms));
        }
        let mut order: Vec<_> = weights.into_iter().map(|(key, weight)| (key, weight.rank())).collect();
        order.sort_by(|a, b| a.1.order(&b.1));
        let many = order.len() > MOST_GROUPS;
        order.truncate(if many { MOST_GROUPS - 1 } else { MOST_GROUPS });
        let active = order.iter().take_while(|(_, rank)| rank.is_active()).count();
        let number: BTreeMap<(ProcessId, &str), usize> =
            order.iter().enumerate().map(|(i, (key, _))| (*key, i)).collect();
        let mut groups: Vec<ThreadGroup> = (order.iter())
            .map(|((process, name), _)| ThreadGroup {
                name: short(name),
                process: short(names[process]),
                process_id: Some(*process),
            })
            .collect();
        if many {
            groups.push(ThreadGroup { name: "all others".into(), process: String::new(), process_id: None });
        }
        let mut spent = vec![0_u64; slices.len() * groups.len() * categories.len()];
        for (s, slice) in slices.iter().enumerate() {
            for group in &slice[at] {
                let key = (group.process_id, group.name.as_str());
                let g = number.get(&key).copied().unwrap_or(MOST_GROUPS - 1);
                for one in &group.spent {
                    let cell = (s * groups.len() + g) * categories.len() + place[&one.category];
                    spent[cell] += (one.ms * 1e3).round() as u64;
                }
            }
        }
        groupings.push(Grouping { by, groups, active, spent: columns.small(spent.into_iter()) });
    }
    Some(OverTime {
        edges: columns.delta(edges.iter().map(|t| t.saturating_sub(from_ns))),
        categories: categories.into_values().collect(),
        groupings,
    })
}

/// A slice as groups rank by it. One that a window cuts is of that window when its middle is. Where
/// no window is slow, all of the run is looked at.
fn slice(diagnosis: &Diagnosis, of: Window) -> Slice {
    let middle = of.from_ns + of.length_ns() / 2;
    let within = |windows: &[Window]| windows.iter().any(|w| (w.from_ns..w.to_ns).contains(&middle));
    let windows = &diagnosis.windows;
    Slice {
        length: of.length_ns() as f64 / 1e6,
        is_slow: windows.slow.is_empty() || within(&windows.slow),
        is_base: within(&windows.base),
    }
}

fn edges(diagnosis: &Diagnosis, recorded: Window, (from_ns, to_ns): (i64, i64), most: i64) -> Vec<i64> {
    let slices = most.clamp(20, SLICES);
    let Window { from_ns: first, to_ns: last } =
        if recorded.length_ns() > 0 { recorded } else { Window { from_ns, to_ns } };
    let step = last.saturating_sub(first) / slices;
    let regular = (0..slices).map(|i| first.saturating_add(step.saturating_mul(i))).chain([from_ns, last]);
    let windows = diagnosis.windows.slow.iter().chain(&diagnosis.windows.base);
    // Many windows would make many slices.
    let theirs = windows.take(8).flat_map(|w| [w.from_ns, w.to_ns]);
    let mut edges: Vec<i64> = regular.chain([to_ns]).chain(theirs).collect();
    edges.retain(|t| (from_ns..=to_ns).contains(t));
    edges.sort_unstable();
    edges.dedup();
    edges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_minute_in_an_hour_of_a_series_has_as_many_slices_as_the_minute_alone() {
        const S: i64 = 1_000_000_000;
        let (minute, hour) = (Window { from_ns: 100 * S, to_ns: 160 * S }, (0, 3600 * S));
        let slices = edges(&fixture::healthy(), minute, hour, 10_000);
        let within = |t: &&i64| (minute.from_ns..=minute.to_ns).contains(*t);
        assert!(slices.iter().filter(within).count() as i64 > SLICES, "{}", slices.len());
        assert_eq!((slices.first(), slices.last()), (Some(&0), Some(&(3600 * S))));
    }
}
