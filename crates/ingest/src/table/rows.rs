//! Lines into cells, cells into numbers.

use std::borrow::Cow;

/// The delimiter between the cells of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delimiter {
    Byte(u8),
    /// Any number of blanks.
    Spaces,
}

/// Delimiters in the order in which they are tried: first those that occur in no number or date.
pub(super) const DELIMITERS: [Delimiter; 5] = [
    Delimiter::Byte(b'\t'),
    Delimiter::Byte(b';'),
    Delimiter::Byte(b','),
    Delimiter::Byte(b'|'),
    Delimiter::Spaces,
];

/// No table of series has more columns; the rest is not read.
const MAX_COLUMNS: usize = 512;

/// A line as text: bytes that are not UTF-8 are replaced; a byte order mark and the `#` of a
/// commented header are removed.
pub(super) fn text(bytes: &[u8]) -> Cow<'_, str> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(line) => Cow::Borrowed(line.trim()),
        Cow::Owned(line) => Cow::Owned(line.trim().to_owned()),
    }
}

impl Delimiter {
    /// The cells of a line, trimmed.
    pub(super) fn split(self, line: &str) -> Vec<Cow<'_, str>> {
        match self {
            Self::Spaces => line.split_whitespace().take(MAX_COLUMNS).map(Cow::Borrowed).collect(),
            Self::Byte(byte) if line.contains('"') => quoted(byte, line),
            Self::Byte(byte) => line
                .split(char::from(byte))
                .take(MAX_COLUMNS)
                .map(|cell| Cow::Borrowed(cell.trim()))
                .collect(),
        }
    }

    /// A cell as a finite number. `key=12.5` counts as one, and so does a decimal comma where
    /// commas do not separate cells.
    pub(super) fn number(self, cell: &str) -> Option<f64> {
        let cell = cell.split_once('=').map_or(cell, |(_, value)| value).trim_end_matches('%').trim();
        let first = cell.bytes().next()?;
        if !(first.is_ascii_digit() || b"+-.".contains(&first)) {
            return None;
        }
        let value = match cell.contains(',') && self != Self::Byte(b',') {
            true => cell.replacen(',', ".", 1).parse::<f64>(),
            false => cell.parse::<f64>(),
        };
        value.ok().filter(|v| v.is_finite())
    }
}

/// A line with quotes is left to the `csv` crate, one line at a time: a stray quote then spoils one
/// row and does not swallow the rest of the file.
fn quoted(delimiter: u8, line: &str) -> Vec<Cow<'_, str>> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .trim(csv::Trim::All)
        .from_reader(line.as_bytes());
    match reader.records().next() {
        Some(Ok(record)) => record.iter().take(MAX_COLUMNS).map(|cell| Cow::Owned(cell.to_owned())).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_split_trimmed_and_unquoted() {
        assert_eq!(Delimiter::Byte(b',').split("0, 66, 181.3"), ["0", "66", "181.3"]);
        assert_eq!(Delimiter::Byte(b',').split("\"a, b\",\"2\",3"), ["a, b", "2", "3"]);
        assert_eq!(Delimiter::Spaces.split("  1   2\t3 "), ["1", "2", "3"]);
        assert_eq!(Delimiter::Byte(b',').split("1,\"open").len(), 2);
    }

    #[test]
    fn numbers_are_finite_and_may_have_a_decimal_comma_or_a_key() {
        let (comma, semicolon) = (Delimiter::Byte(b','), Delimiter::Byte(b';'));
        assert_eq!(semicolon.number("12,5"), Some(12.5));
        assert_eq!(comma.number("12.5"), Some(12.5));
        assert_eq!(comma.number("avg10=0.25"), Some(0.25));
        assert_eq!(comma.number("1e3"), Some(1000.0));
        assert_eq!(comma.number("42%"), Some(42.0));
        for none in ["", "NaN", "inf", "-", "n/a", "1ms", "1 2", "1e999"] {
            assert_eq!(comma.number(none), None, "{none}");
        }
    }
}
