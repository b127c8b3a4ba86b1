//! Tables of the terminal: one look, and never wider than a terminal that is 100 columns wide.

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, Width};
use fathom_diagnose::metrics::{Distribution, Grade, Group, Metric};
use fathom_diagnose::quantity;

use crate::printable;

/// Columns that a table may take: what fits a terminal beside nothing else, a mail and a ticket.
const WIDTH: u16 = 100;
/// Columns of a figure's name and of its value; the rest is for what it means.
const NAME: u16 = 28;
const VALUE: u16 = 10;
const MEANING: u16 = WIDTH - 2 - (1 + 2) - (NAME + 2) - (VALUE + 2);

/// A table with a header. The first column is text, those named in `left` are too, the others are figures.
pub(crate) fn table(header: &[&str], left: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH - 2);
    table.set_header(header.iter().map(|h| h.to_string()));
    for (i, column) in table.column_iter_mut().enumerate() {
        let text = i == 0 || left.contains(&i);
        column.set_cell_alignment(if text { CellAlignment::Left } else { CellAlignment::Right });
        column.set_padding((0, 2));
        if !text {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    table
}

/// A titled table, indented; nothing when it has no row.
pub(crate) fn section(out: &mut String, title: &str, table: &Table) {
    if table.row_count() == 0 {
        return;
    }
    out.push_str(&format!("\n{title}\n"));
    for line in table.lines() {
        out.push_str("  ");
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

/// A group of judged figures: mark, name, value, what it means and why it is judged so.
pub(crate) fn group(out: &mut String, group: &Group) {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_width(WIDTH - 2);
    for metric in &group.metrics {
        let mut why = match word(metric.grade) {
            Some(word) => format!("{word}: {}", printable(&metric.why)),
            None => format!("({})", printable(&metric.why)),
        };
        if let Some(position) = &metric.position {
            why.push_str(&format!("\n{}", shortened(position, usize::from(MEANING))));
        }
        table.add_row([
            Cell::new(mark(metric.grade)),
            Cell::new(metric.name),
            Cell::new(value(metric)).set_alignment(CellAlignment::Right),
            Cell::new(format!("{}\n{why}", metric.meaning)),
        ]);
    }
    let widths = [(0, 1), (1, NAME), (2, VALUE), (3, MEANING)];
    for (i, width) in widths {
        if let Some(column) = table.column_mut(i) {
            column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width + 2)));
        }
    }
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    section(out, group.name, &table);
}

/// A mark that stands out without colour.
fn mark(grade: Grade) -> &'static str {
    match grade {
        Grade::Fine => "✓",
        Grade::Watch => "!",
        Grade::Bad => "✗",
        Grade::NotJudged => "·",
    }
}

/// The judgement in a word; none where there is none.
fn word(grade: Grade) -> Option<&'static str> {
    match grade {
        Grade::Fine => Some("Fine"),
        Grade::Watch => Some("Watch"),
        Grade::Bad => Some("Bad"),
        Grade::NotJudged => None,
    }
}

/// A figure's value in its unit.
fn value(metric: &Metric) -> String {
    let Some(value) = metric.value else { return "–".into() };
    match metric.unit {
        "s" => quantity::seconds(value),
        "ms" => quantity::millis(value),
        "bytes" => quantity::bytes(value),
        "bytes/s" => format!("{}/s", quantity::bytes(value)),
        "share" => quantity::share(value),
        "1/s" => format!("{value:.2}/s"),
        "load" => format!("{value:.2}"),
        _ => quantity::count(value),
    }
}

/// Header of the columns that [`lengths`] fills.
pub(crate) const LENGTHS: [&str; 6] = ["count", "total", "p50", "p95", "p99", "max"];

/// Count, total, median, p95, p99 and maximum of lengths in milliseconds.
pub(crate) fn lengths(d: &Distribution) -> [String; 6] {
    let [total, p50, p95, p99, max] = [d.total, d.p50, d.p95, d.p99, d.max].map(quantity::millis);
    [quantity::count(d.count as f64), total, p50, p95, p99, max]
}

/// Text from an input, shortened in its middle to `limit` characters: a method keeps its class's beginning and its
/// name, which are at the ends.
pub(crate) fn shortened(text: &str, limit: usize) -> String {
    let shown = printable(text);
    let length = shown.chars().count();
    if length <= limit {
        return shown.into_owned();
    }
    let head = limit.saturating_sub(1) / 2;
    let tail = limit.saturating_sub(1) - head;
    let start: String = shown.chars().take(head).collect();
    let end: String = shown.chars().skip(length - tail).collect();
    format!("{start}…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_keeps_both_ends_and_hostile_text_is_made_visible() {
        assert_eq!(shortened("com.example.Orders.totalPriceOf(java.util.List)", 21), "com.exampl…util.List)");
        assert_eq!(shortened("short", 21), "short");
        assert!(!shortened("a\u{1b}[31mred", 40).contains('\u{1b}'));
    }
}
