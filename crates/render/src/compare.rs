//! `fathom compare` in the terminal: verdicts first, then what they are of.

use fathom_compare::judge::{Report, Row, percent};
use fathom_diagnose::quantity;

use crate::printable;
use crate::tables::{section, shortened, table};
use crate::text::wrap;

/// Columns of a text.
const WIDTH: usize = 98;
/// Columns for the text of a command.
const COMMAND: usize = 44;

/// The verdicts on commands that were run, as text of at most 100 columns.
pub fn runs(report: &Report) -> String {
    let mut out = String::new();
    for comparison in &report.comparisons {
        paragraph(&mut out, &printable(&comparison.sentence), "");
    }
    let mut rows = table(&["", "command", "runs", "mean", "smallest", "largest", "spread", "CPU"], &[1]);
    for row in &report.commands {
        let [mean, min, max] = [row.mean, row.min, row.max].map(|value| figure(value, &row.unit));
        rows.add_row([
            printable(&row.label).into_owned(),
            shortened(&named(row), COMMAND),
            row.runs.to_string(),
            mean,
            min,
            max,
            quantity::share(row.spread),
            quantity::seconds(row.cpu_s),
        ]);
    }
    let title = printable(&report.metric).into_owned();
    section(&mut out, &format!("{title} (spread: standard deviation between runs)"), &rows);
    out.push('\n');
    for note in notes(report) {
        paragraph(&mut out, &note, "  ");
    }
    out
}

fn named(row: &Row) -> String {
    if row.figure.is_empty() { row.text.clone() } else { row.figure.clone() }
}

/// What else is to be known of the verdicts.
fn notes(report: &Report) -> Vec<String> {
    let mut notes = Vec::new();
    let host = &report.host;
    let warm = match report.warmup {
        0 => String::new(),
        n => format!("; the first {} of each not counted", quantity::plural(n, "run", "runs")),
    };
    notes.push(format!(
        "Intervals are wrong at most {} of the time, all verdicts together; less than {} is no difference{warm}.",
        percent(report.alpha),
        percent(report.margin)
    ));
    if report.looks.len() > 1 {
        let looks: Vec<String> = report.looks.iter().map(|l| l.blocks.to_string()).collect();
        notes.push(format!(
            "It could end after {} runs of each; that chance of error is divided among these looks.",
            looks.join(", ")
        ));
    }
    if !host.kernel.is_empty() {
        let cpus = quantity::plural(host.cpus, "processor", "processors");
        notes.push(format!("On {} with {cpus}, Linux {}.", printable(&host.name), printable(&host.kernel)));
    }
    for row in &report.commands {
        let (runs, values) = row.warming_up;
        if runs > 0 {
            notes.push(format!(
                "{}: {runs} of {} runs warm up; up to {values} values before that are left out.",
                printable(&row.label),
                row.runs
            ));
        }
        if row.never_steady > 0 {
            notes.push(format!(
                "{}: {} of {} runs never get steady, so that their mean depends on how long they run.",
                printable(&row.label),
                row.never_steady,
                row.runs
            ));
        }
    }
    notes
}

/// A figure in its unit.
fn figure(value: f64, unit: &str) -> String {
    match unit {
        "s" => quantity::seconds(value),
        _ => format!("{} {}", significant(value), printable(unit)).trim_end().to_owned(),
    }
}

/// Four digits of a figure.
fn significant(value: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = 3 - value.abs().max(1e-9).log10().floor() as i32;
    format!("{value:.*}", digits.clamp(0, 9) as usize)
}

/// A text in lines, those behind the first one indented.
pub(crate) fn paragraph(out: &mut String, text: &str, indent: &str) {
    for (i, line) in wrap(text, WIDTH - indent.len() - 2).iter().enumerate() {
        let further = if i == 0 { "" } else { "  " };
        out.push_str(&format!("{indent}{further}{line}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_four_digits() {
        assert_eq!([1234.56, 12.3456, 0.0012345].map(significant), ["1235", "12.35", "0.001234"]);
        assert_eq!((significant(f64::NAN), significant(0.0)), ("–".to_owned(), "0".to_owned()));
        assert_eq!(
            (figure(2.0, "ns/op"), figure(0.25, "s")),
            ("2.000 ns/op".to_owned(), "250 ms".to_owned())
        );
    }
}
