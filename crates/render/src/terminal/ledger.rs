//! Where the time went, at the foot of a verdict.

use fathom_diagnose::{Diagnosis, LedgerRow};

use super::page::{Ink, Page};
use crate::printable::printable;
use crate::text::{cut, left, right};
use crate::units;

impl Page {
    /// Where the time went, slow windows against the baseline, process by process, each named once.
    /// The process of the first finding comes first.
    pub(super) fn ledger(&mut self, diagnosis: &Diagnosis, limit: usize) {
        let seen = |row: &&LedgerRow| row.slow_ms.is_some() || row.base_ms.is_some();
        let first = diagnosis.findings.first().map(|f| f.process.as_str());
        let (own, others): (Vec<_>, Vec<_>) =
            diagnosis.ledger.iter().filter(seen).partition(|row| first.is_none_or(|p| p == row.process));
        let total = own.len() + others.len();
        let mut rows = grown_most(own, limit);
        rows.extend(others);
        if rows.is_empty() {
            return;
        }
        self.heading("Where the time went", total, limit);
        let has_base = !diagnosis.windows.base.is_empty();
        let name_width = self.options.width.saturating_sub(if has_base { 42 } else { 24 });
        let columns =
            if has_base { format!("{:>18}{:>18}", "slow", "base") } else { format!("{:>18}", "time") };
        // The first process stands in the line of the columns' names, which saves a line.
        let mut process = rows.first().map(|row| &row.process);
        let name = process.map_or(String::new(), |name| format!("   {}", printable(name)));
        let name = left(&cut(&name, name_width + 3, self.ellipsis()), name_width + 3);
        self.line(&[(Ink::Strong, &name), (Ink::Faint, &columns)]);
        for row in rows.iter().take(limit) {
            if process.replace(&row.process) != Some(&row.process) {
                let name = printable(&row.process);
                let room = self.options.width.saturating_sub(3);
                self.line(&[(Ink::Plain, "   "), (Ink::Strong, &cut(&name, room, self.ellipsis()))]);
            }
            let apart = if row.in_sum { "" } else { " (not in sum)" };
            let name = printable(&format!("  {}{apart}", row.heading)).into_owned();
            let name = left(&cut(&name, name_width, self.ellipsis()), name_width);
            let slow = amount(row.slow_ms, row.slow_share);
            let base = if has_base { amount(row.base_ms, row.base_share) } else { String::new() };
            let grew = match (row.slow_share, row.base_share) {
                // Twice the share and at least a hundredth of the time: enough to be worth the eye.
                (Some(slow), Some(base)) => has_base && slow > 2.0 * base && slow - base > 0.01,
                _ => false,
            };
            let mark = match (grew, self.options.unicode) {
                (true, true) => " ▲",
                (true, false) => " ^",
                _ => "",
            };
            self.line(&[
                (Ink::Plain, "   "),
                (Ink::Plain, &name),
                (if grew { Ink::Strong } else { Ink::Plain }, &slow),
                (Ink::Faint, &base),
                (Ink::Accent, mark),
            ]);
        }
    }
}

/// The rows of which most is to be seen, in their own order: those whose share grew most, when not
/// all fit.
fn grown_most(mut rows: Vec<&LedgerRow>, limit: usize) -> Vec<&LedgerRow> {
    let grown = |row: &LedgerRow| row.slow_share.unwrap_or(0.0) - row.base_share.unwrap_or(0.0);
    let mut shares: Vec<f64> = rows.iter().map(|row| grown(row)).collect();
    shares.sort_by(|a, b| b.total_cmp(a));
    if let Some(least) = limit.checked_sub(1).and_then(|last| shares.get(last)).copied() {
        rows.retain(|row| grown(row) >= least);
    }
    rows
}

/// A ledger entry: time and share in eighteen columns.
fn amount(ms: Option<f64>, share: Option<f64>) -> String {
    match ms {
        None => right("not seen", 18),
        Some(ms) => {
            let share = share.map_or(String::new(), units::share);
            format!("{}{}", right(&units::duration_ms(ms), 10), right(&share, 8))
        }
    }
}
