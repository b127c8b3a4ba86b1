//! Tables of the terminal: one look, and never wider than the terminal, from 60 columns on. A table
//! whose columns do not fit is written row by row, each value with its name.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table};
use fathom_diagnose::facts::Unit;
use fathom_diagnose::metrics::{Distribution, Grade, Group, Metric};
use fathom_diagnose::{Statement, quantity};

use crate::printable;
use crate::text::{left, right, width, wrap};

/// Columns that a text may take: what a mail and a ticket hold; on a narrower terminal as many as
/// it has, and never fewer than a name and its value need.
pub const WIDEST: usize = 100;
const NARROWEST: usize = 60;
/// Columns of a metric's name and of its value; the rest is for what it means.
const NAME: usize = 28;
const VALUE: usize = 10;
/// What is left for the meaning of a metric must be so many columns to stand next to it.
const LEAST_MEANING: usize = 30;
/// Columns of a name or a text in a table, below which it is written row by row.
const LEAST_TEXT: usize = 14;

/// A text under way, with the columns that it may take.
pub(crate) struct Sheet {
    text: String,
    pub(crate) width: usize,
}

impl Sheet {
    /// Of at most so many columns.
    pub(crate) fn new(columns: usize) -> Self {
        Self { text: String::new(), width: columns.clamp(NARROWEST, WIDEST) }
    }

    /// What makes the values that follow doubtful.
    pub(crate) fn warnings(&mut self, warnings: &[Statement]) {
        for warning in warnings {
            for (i, line) in wrap(&printable(warning), self.width - 3).iter().enumerate() {
                self.push_str(if i == 0 { " ! " } else { "   " });
                self.push_str(line);
                self.push_str("\n");
            }
        }
        if !warnings.is_empty() {
            self.push_str("\n");
        }
    }

    pub(crate) fn push_str(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(crate) fn push(&mut self, sign: char) {
        self.text.push(sign);
    }

    /// The text, fitted.
    pub(crate) fn finish(self) -> String {
        fit(&self.text, self.width)
    }
}

/// A text whose lines that are longer than so many columns (60 at least) go on below their
/// beginning.
pub fn fit(text: &str, columns: usize) -> String {
    let columns = columns.max(NARROWEST);
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        if width(line) <= columns {
            out.push_str(line);
            out.push('\n');
            continue;
        }
        let indent = line.chars().take_while(|c| *c == ' ').count().min(columns / 2);
        let room = columns - indent - 4;
        for (i, part) in wrap(line.trim_start(), room).iter().enumerate() {
            out.push_str(&" ".repeat(indent + if i == 0 { 0 } else { 4 }));
            out.push_str(part);
            out.push('\n');
        }
    }
    out
}

/// A table with a header. The first column is text, those named in `left` are too, the others are
/// values.
pub(crate) fn table(header: &[&str], left: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
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
pub(crate) fn section(out: &mut impl Text, title: &str, table: &Table) {
    if table.row_count() == 0 {
        return;
    }
    out.add(&format!("\n{title}\n"));
    let room = out.columns() - 2;
    let lines = next_to_it_each_other(table, room).unwrap_or_else(|| row_by_row(table, room));
    for line in lines {
        out.add("  ");
        out.add(line.trim_end());
        out.add("\n");
    }
}

/// What a section is added to.
pub(crate) trait Text {
    /// Columns that it may take.
    fn columns(&self) -> usize;
    /// Adds some text.
    fn add(&mut self, text: &str);
}

impl Text for Sheet {
    fn columns(&self) -> usize {
        self.width
    }

    fn add(&mut self, text: &str) {
        self.text.push_str(text);
    }
}

/// A text that is fitted to the terminal when it is whole.
impl Text for String {
    fn columns(&self) -> usize {
        WIDEST
    }

    fn add(&mut self, text: &str) {
        self.push_str(text);
    }
}

/// The lines of a table with its columns side by side; `None` where they do not fit, or leave too
/// little for a text.
fn next_to_it_each_other(table: &Table, room: usize) -> Option<Vec<String>> {
    let mut table = table.clone();
    table.set_width(u16::try_from(room).unwrap_or(u16::MAX));
    let lines: Vec<String> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    let is_squeezed = (table.column_iter().zip(table.column_max_content_widths()).enumerate())
        .filter(|(_, (column, _))| column.constraint().is_none())
        .any(|(i, (_, longest))| {
            let figures: usize = (table.column_iter().zip(table.column_max_content_widths()).enumerate())
                .filter(|(j, (column, _))| *j != i && column.constraint().is_some())
                .map(|(_, (_, own))| usize::from(own) + 2)
                .sum();
            let texts = table.column_iter().filter(|column| column.constraint().is_none()).count();
            room.saturating_sub(figures) / texts.max(1) < usize::from(longest).min(LEAST_TEXT) + 2
        });
    (!is_squeezed && lines.iter().all(|line| width(line) <= room)).then_some(lines)
}

/// The rows of a table one below the other: the first cell, and below it the others with their
/// names.
fn row_by_row(table: &Table, room: usize) -> Vec<String> {
    let names: Vec<String> =
        table.header().into_iter().flat_map(|row| row.cell_iter().map(|c| c.content())).collect();
    let mut lines = Vec::new();
    for row in table.row_iter() {
        let mut cells = row.cell_iter().map(|cell| cell.content());
        lines.extend(wrap(&cells.next().unwrap_or_default(), room));
        let named = cells.zip(names.iter().skip(1)).filter(|(cell, _)| !cell.is_empty());
        // A value and its name stay together.
        let mut line = String::new();
        for named in named.map(|(cell, name)| if name.is_empty() { cell } else { format!("{name} {cell}") }) {
            if !line.is_empty() && width(&line) + 2 + width(&named) > room - 2 {
                lines.push(format!("  {}", std::mem::take(&mut line)));
            }
            if width(&named) > room - 2 {
                lines.extend(wrap(&named, room - 4).into_iter().map(|part| format!("  {part}")));
                continue;
            }
            line = if line.is_empty() { named } else { format!("{line}, {named}") };
        }
        lines.extend((!line.is_empty()).then(|| format!("  {line}")));
    }
    lines
}

/// A group of judged metrics: mark, name, value, what it means and why it is judged so.
pub(crate) fn group(out: &mut Sheet, group: &Group) {
    if group.metrics.is_empty() {
        return;
    }
    out.push_str(&format!("\n{}\n", group.name));
    let next_to_it = out.width.saturating_sub(2 + (1 + 2) + (NAME + 2) + (VALUE + 2));
    for metric in &group.metrics {
        let why = match word(metric.grade) {
            Some(word) => format!("{word}: {}", printable(&metric.why.sentence())),
            None => format!("({})", printable(&metric.why.sentence())),
        };
        let (indent, room) = if next_to_it >= LEAST_MEANING {
            (out.width - next_to_it, next_to_it)
        } else {
            (5, out.width - 5)
        };
        let mut lines: Vec<String> = wrap(metric.meaning, room);
        lines.extend(wrap(&why, room));
        lines.extend(metric.position.iter().map(|position| shortened(position, room)));
        let names = wrap(metric.name, NAME);
        let head = |i: usize| {
            let mark = if i == 0 { mark(metric.grade) } else { "" };
            let value = if i == 0 { value(metric) } else { String::new() };
            let name = names.get(i).map_or("", String::as_str);
            format!("  {}  {}  {}", left(mark, 1), left(name, NAME), right(&value, VALUE))
        };
        if next_to_it >= LEAST_MEANING {
            for i in 0..lines.len().max(names.len()) {
                let line = format!("{}  {}", head(i), lines.get(i).map_or("", String::as_str));
                out.push_str(&format!("{}\n", line.trim_end()));
            }
            continue;
        }
        for i in 0..names.len() {
            out.push_str(&format!("{}\n", head(i).trim_end()));
        }
        for line in lines {
            out.push_str(&format!("{}{line}\n", " ".repeat(indent)));
        }
    }
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

/// The judgement in a word; empty without a judgement.
fn word(grade: Grade) -> Option<&'static str> {
    match grade {
        Grade::Fine => Some("Fine"),
        Grade::Watch => Some("Watch"),
        Grade::Bad => Some("Bad"),
        Grade::NotJudged => None,
    }
}

/// A metric's value in its unit.
fn value(metric: &Metric) -> String {
    let Some(value) = metric.value else { return "–".into() };
    match metric.unit {
        Unit::DurationSeconds => quantity::seconds(value),
        Unit::Ms => quantity::millis(value),
        Unit::Bytes => quantity::bytes(value),
        Unit::BytesPerSecond => format!("{}/s", quantity::bytes(value)),
        Unit::Share => quantity::share(value),
        Unit::PerSecond => format!("{value:.2}/s"),
        Unit::Load => format!("{value:.2}"),
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

/// Text from an input, shortened in its middle to `limit` characters: a method keeps its class's
/// beginning and its name, which are at the ends.
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

    /// Every value and word of a table, in whatever shape.
    fn words(text: &str) -> Vec<&str> {
        text.split([' ', '\n', ',']).filter(|word| !word.is_empty()).collect()
    }

    #[test]
    fn a_table_fits_the_terminal_and_leaves_nothing_out() {
        let mut rows = table(&["method", "count", "p50", "p95", "p99", "p99.9", "longest", "why"], &[7]);
        let name = "org.example.orders.totals.PriceCalculatorFactory.of";
        let why = "a rather long reason why this is so that needs its room";
        rows.add_row([name, "123456", "1.11ms", "2.22ms", "3.33ms", "4.44ms", "5.55ms", why]);
        for columns in [0, 60, 80, 100, 400] {
            let mut sheet = Sheet::new(columns);
            section(&mut sheet, "A table", &rows);
            let text = sheet.finish();
            let limit = columns.clamp(NARROWEST, WIDEST);
            assert!(text.lines().all(|line| width(line) <= limit), "{columns}\n{text}");
            for word in ["123456", "1.11ms", "5.55ms"].into_iter().chain(why.split(' ')) {
                assert!(words(&text).contains(&word), "{columns}: {word}\n{text}");
            }
            // Broken where it is longer than its column, and whole where it is not.
            let whole: String = text.split_whitespace().collect();
            assert!(columns > 60 || whole.contains(name), "{columns}\n{text}");
        }
        let mut sheet = Sheet::new(60);
        section(&mut sheet, "A table", &rows);
        let text = sheet.finish();
        assert!(text.contains("count 123456, p50 1.11ms, p95 2.22ms"), "each with its name\n{text}");
    }

    #[test]
    fn a_long_line_goes_on_below_its_beginning() {
        let line = format!("  ! a source: {}", "words ".repeat(30));
        let text = fit(&line, 60);
        assert!(
            text.lines().all(|line| width(line) <= 60)
                && text.lines().nth(1).unwrap().starts_with("      words")
        );
        assert_eq!(fit("short\n\nlines\n", 60), "short\n\nlines\n");
    }

    #[test]
    fn a_long_name_keeps_both_ends_and_hostile_text_is_made_visible() {
        assert_eq!(shortened("com.example.Orders.totalPriceOf(java.util.List)", 21), "com.exampl…util.List)");
        assert_eq!(shortened("short", 21), "short");
        assert!(!shortened("a\u{1b}[31mred", 40).contains('\u{1b}'));
    }
}
