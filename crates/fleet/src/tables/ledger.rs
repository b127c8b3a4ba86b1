//! `ledger`: what threads spent each minute on, by process, role and category.

use std::collections::BTreeMap;

use fathom_diagnose::Window;
use fathom_diagnose::thread_ledger::{By, over_time};

use super::{Input, MINUTE_NS, minute, process};
use crate::columns::Rows;

const COLUMNS: &[&str] = &["minute_ns", "process", "role", "category", "ms"];

pub(super) fn rows(input: &Input<'_>) -> Rows {
    let (from, to) = input.covers_ns;
    let windows: Vec<Window> = (minute(from)..to.max(from + 1))
        .step_by(MINUTE_NS as usize)
        .map(|m| Window { from_ns: m.max(from), to_ns: (m + MINUTE_NS).min(to) })
        .collect();
    let mut rows = Rows::new("ledger", COLUMNS);
    for (window, groups) in windows.iter().zip(over_time(input.recording, &windows, &[By::Role])) {
        let mut sums: BTreeMap<_, f64> = BTreeMap::new();
        for group in groups.iter().flatten() {
            for spent in &group.spent {
                let of = (process(input.recording, group.process_id), &group.name, spent.category);
                *sums.entry(of).or_default() += spent.ms;
            }
        }
        for ((process, role, category), ms) in sums {
            let minute = minute(window.from_ns).into();
            rows.push([minute, process.into(), role.as_str().into(), category.words().into(), ms.into()]);
        }
    }
    rows
}
