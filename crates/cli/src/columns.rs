//! Plain tables on standard output: columns as wide as their widest cell, two blanks between,
//! nothing else.

/// Rows, the first of which is the header. The last column is not padded; all text is made
/// safe to print.
pub fn columns(rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(|c| fathom_render::printable(c).into_owned()).collect())
        .collect();
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |i: usize| rows.iter().filter_map(|row| row.get(i)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..count).map(|i| width(i).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        format!("{}\n", line.trim_end())
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other_and_controls_are_shown() {
        let rows = [["PID", "MAIN"], ["7", "a\u{1b}[2J"], ["4711", "b"]];
        let rows: Vec<Vec<String>> =
            rows.iter().map(|r| r.iter().map(ToString::to_string).collect()).collect();
        assert_eq!(columns(&rows), "PID   MAIN\n7     a\\x1b[2J\n4711  b\n");
    }
}
