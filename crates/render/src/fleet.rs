//! An engine's answer as a table, and as a page.

mod page;

use serde_json::Value;

pub use page::{Page, Rows, page};

use crate::tables::{Sheet, section, shortened, table};

/// Characters of a cell that are shown.
const CELL: usize = 60;

/// The rows as text of at most so many columns.
pub fn text(names: &[String], rows: &[Vec<Value>], columns: usize) -> String {
    let mut out = Sheet::new(columns);
    if rows.is_empty() {
        out.push_str("no rows\n");
        return out.finish();
    }
    let header: Vec<&str> = names.iter().map(String::as_str).collect();
    let texts: Vec<usize> = (0..names.len())
        .filter(|i| rows.iter().any(|row| matches!(row.get(*i), Some(Value::String(_)))))
        .collect();
    let mut sheet = table(&header, &texts);
    for row in rows {
        sheet.add_row(row.iter().map(|value| match value {
            Value::Null => "–".to_owned(),
            Value::String(text) => shortened(text, CELL),
            other => other.to_string(),
        }));
    }
    section(&mut out, "Answer", &sheet);
    out.finish()
}
