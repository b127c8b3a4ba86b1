//! `ledger`: what threads spent each minute on, by process, role and category.

use fathom_diagnose::Window;
use fathom_diagnose::thread_ledger::{By, over_time};

use super::{Input, MINUTE_NS, minute};
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
        for group in groups.into_iter().flatten() {
            for spent in &group.spent {
                rows.push([
                    minute(window.from_ns).into(),
                    group.process.as_str().into(),
                    group.name.as_str().into(),
                    spent.words.into(),
                    spent.ms.into(),
                ]);
            }
        }
    }
    rows
}
