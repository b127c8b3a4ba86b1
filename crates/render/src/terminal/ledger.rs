//! Where the time went, at the foot of a verdict.

use fathom_diagnose::quantity;
use fathom_diagnose::{Diagnosis, LedgerRow, Part};

use super::page::{Ink, Page};
use crate::printable::printable;
use crate::text::{cut, left, right};
use crate::units;

/// Share of the time below which a row is left out where not all are asked for.
const WORTH_A_ROW: f64 = 0.01;

/// A line of the table.
struct Row {
    name: String,
    slow: String,
    base: String,
    grew: bool,
}

impl Page {
    /// Where the time went, slow and baseline in columns: first what application threads did, then
    /// the stops process by process, each named once. The process of the first finding comes first.
    pub(super) fn ledger(&mut self, diagnosis: &Diagnosis, limit: usize) {
        let all = limit == usize::MAX;
        let seen = |row: &&LedgerRow| row.slow_ms.is_some() || row.base_ms.is_some();
        let first = diagnosis.findings.first().map(|f| f.process_id);
        let (own, others): (Vec<_>, Vec<_>) =
            diagnosis.ledger.iter().filter(seen).partition(|row| first.is_none() || row.process_id == first);
        let threads = &diagnosis.seen.threads;
        let total = threads.len() + own.len() + others.len();
        let left = limit.saturating_sub(threads.len());
        let mut rows = grown_most(own, left);
        rows.extend(others);
        let is_worth = |row: &&LedgerRow| {
            all || threads.is_empty()
                || row.slow_share.unwrap_or(0.0).max(row.base_share.unwrap_or(0.0)) >= WORTH_A_ROW
        };
        let rows: Vec<&LedgerRow> = rows.into_iter().filter(is_worth).take(left).collect();
        if threads.is_empty() && rows.is_empty() {
            return;
        }
        let shown = threads.len().min(limit) + rows.len();
        self.heading("Where the time went", total, shown);
        let has_base = !diagnosis.windows.base.is_empty();
        let mut of: Option<String> = None;
        for part in threads.iter().take(limit) {
            let each = if part.per_operation_ms.is_some() { "per operation" } else { "without idle time" };
            let whose = format!("application threads of {}, {each}", part.process);
            self.group(&mut of, whose, has_base);
            self.row(&thread_row(part, has_base));
        }
        for row in rows {
            self.group(&mut of, row.process.clone(), has_base);
            self.row(&stop_row(row, has_base));
        }
    }

    /// The name of what the next rows are about, where it is another one than before; the first
    /// is in the line of the names of the columns, which saves one.
    fn group(&mut self, of: &mut Option<String>, name: String, has_base: bool) {
        if of.as_ref() == Some(&name) {
            return;
        }
        let columns = match (of.is_none(), has_base) {
            (true, true) => format!("{:>18}{:>18}", "slow", "baseline"),
            (true, false) => format!("{:>18}", "time"),
            (false, _) => String::new(),
        };
        let room = if of.is_none() { self.name_width(has_base) } else { self.options.width - 3 };
        let text = left(&cut(&printable(&name), room, self.ellipsis()), room);
        self.line(&[(Ink::Plain, "   "), (Ink::Strong, &text), (Ink::Faint, &columns)]);
        *of = Some(name);
    }

    fn row(&mut self, row: &Row) {
        let room = self.name_width(!row.base.is_empty());
        let name = left(&cut(&printable(&format!("  {}", row.name)), room, self.ellipsis()), room);
        let mark = match (row.grew, self.options.unicode) {
            (true, true) => " ▲",
            (true, false) => " ^",
            _ => "",
        };
        self.line(&[
            (Ink::Plain, "   "),
            (Ink::Plain, &name),
            (if row.grew { Ink::Strong } else { Ink::Plain }, &row.slow),
            (Ink::Faint, &row.base),
            (Ink::Accent, mark),
        ]);
    }

    fn name_width(&self, has_base: bool) -> usize {
        self.options.width.saturating_sub(if has_base { 42 } else { 24 })
    }
}

fn thread_row(part: &Part, has_base: bool) -> Row {
    let base = match (part.base_per_operation_ms, part.base_share) {
        (None, Some(share)) => right(&units::share(share), 18),
        (ms, share) => amount(ms, share),
    };
    let (grew_by, of) = match (part.per_operation_ms, part.base_per_operation_ms) {
        (Some(slow), Some(base)) => (slow > 2.0 * base, part.share),
        _ => (grew(Some(part.share), part.base_share), 1.0),
    };
    Row {
        name: part.what.to_string(),
        slow: amount(Some(part.per_operation_ms.unwrap_or(part.ms)), Some(part.share)),
        base: if has_base { base } else { String::new() },
        grew: has_base && grew_by && of >= WORTH_A_ROW,
    }
}

fn stop_row(row: &LedgerRow, has_base: bool) -> Row {
    let apart = if row.in_sum { "" } else { " (not in sum)" };
    Row {
        name: format!("{}{apart}", row.category),
        slow: amount(row.slow_ms, row.slow_share),
        base: if has_base { amount(row.base_ms, row.base_share) } else { String::new() },
        grew: has_base && grew(row.slow_share, row.base_share),
    }
}

/// Twice the share and at least a hundredth of the time: enough to be worth the eye.
fn grew(slow: Option<f64>, base: Option<f64>) -> bool {
    matches!((slow, base), (Some(slow), Some(base)) if slow > 2.0 * base && slow - base > 0.01)
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
            // A part of an operation may take microseconds.
            let time = if ms > 0.0 && ms < 0.1 { quantity::of_one(ms) } else { units::duration_ms(ms) };
            format!("{}{}", right(&time, 10), right(&share, 8))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::terminal::{TerminalOptions, terminal};
    use fathom_diagnose::{Category, PartOf};

    fn part(what: &str, (ms, share): (f64, f64), per: (f64, f64), base_share: f64) -> Part {
        Part {
            process: "server2".into(),
            process_id: fathom_recording::ProcessId(0),
            recording: None,
            of: PartOf::ApplicationThreads,
            category: Category::Running,
            what: fixture::said(what).into(),
            ms,
            share,
            base_share: Some(base_share),
            per_operation_ms: Some(per.0),
            base_per_operation_ms: Some(per.1),
            details: Vec::new(),
        }
    }

    #[test]
    fn what_threads_did_for_each_operation_comes_before_the_stops() {
        let mut diagnosis = fixture::burst();
        diagnosis.seen.threads = vec![
            part("running", (30_000.0, 0.75), (10.0, 2.0), 0.5),
            part("blocked: network", (10_000.0, 0.25), (0.0033, 0.002), 0.5),
        ];
        let options = TerminalOptions { width: 100, colour: false, unicode: true, all: false };
        let text = terminal(&diagnosis, options);
        let table = text.lines().skip_while(|line| !line.starts_with("Where the time went"));
        let table: Vec<&str> = table.skip(1).take_while(|line| !line.is_empty()).map(str::trim_end).collect();
        insta::assert_snapshot!(table.join("\n"));
    }
}
