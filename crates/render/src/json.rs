//! A diagnosis as JSON, the form for machines (`--json`; the schema is described in
//! docs/diagnosis-json.md).
//!
//! Nothing is lost: characters that a terminal or a page would obey are written as `\u` escapes,
//! which every reader of JSON turns back. The same form, with `<`, `>` and `&` escaped as well,
//! stands inside the HTML report.

use std::io::{self, Write};

use fathom_diagnose::Diagnosis;
use serde::Serialize;
use serde_json::ser::{CharEscape, Formatter, PrettyFormatter};

use crate::printable::is_active;

/// The diagnosis as indented JSON with a line end at its end.
pub fn json(diagnosis: &Diagnosis) -> String {
    let mut out = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(
        &mut out,
        Safe { within: PrettyFormatter::new(), markup: false },
    );
    diagnosis.serialize(&mut serializer).expect("a diagnosis has string keys and a Vec takes every write");
    out.push(b'\n');
    String::from_utf8(out).expect("JSON is UTF-8")
}

/// Any value as indented JSON, by the same rules.
pub fn json_indented(value: &impl Serialize) -> serde_json::Result<String> {
    written(value, PrettyFormatter::new())
}

/// Any value as JSON in one line, by the same rules.
pub fn json_line(value: &impl Serialize) -> serde_json::Result<String> {
    written(value, serde_json::ser::CompactFormatter)
}

fn written(value: &impl Serialize, within: impl Formatter) -> serde_json::Result<String> {
    let mut out = Vec::new();
    value.serialize(&mut serde_json::Serializer::with_formatter(&mut out, Safe { within, markup: false }))?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// Writes a value as compact JSON that may stand inside a `<script>` element of HTML.
pub(crate) fn write_inside_html<T: Serialize>(value: &T, out: &mut impl Write) -> io::Result<()> {
    let formatter = Safe { within: serde_json::ser::CompactFormatter, markup: true };
    value.serialize(&mut serde_json::Serializer::with_formatter(out, formatter)).map_err(io::Error::from)
}

/// Writes as `within` does, but escapes characters of strings that are not safe to show.
struct Safe<F> {
    within: F,
    /// Whether `<`, `>` and `&` are escaped too, so that no string can end a script element or open
    /// a comment.
    markup: bool,
}

impl<F: Formatter> Formatter for Safe<F> {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, c)) =
            rest.char_indices().find(|(_, c)| is_active(*c) || (self.markup && matches!(c, '<' | '>' | '&')))
        {
            let (before, after) = rest.split_at(at);
            self.within.write_string_fragment(out, before)?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(out, "\\u{unit:04x}")?;
            }
            rest = after.get(c.len_utf8()..).unwrap_or_default();
        }
        self.within.write_string_fragment(out, rest)
    }

    fn write_char_escape<W: ?Sized + Write>(&mut self, out: &mut W, escape: CharEscape) -> io::Result<()> {
        self.within.write_char_escape(out, escape)
    }

    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.within.begin_array(out)
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.within.end_array(out)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.within.begin_array_value(out, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.within.end_array_value(out)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.within.begin_object(out)
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.within.end_object(out)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.within.begin_object_key(out, first)
    }

    fn end_object_key<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.within.end_object_key(out)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.within.begin_object_value(out)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.within.end_object_value(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "</script><!--\u{2028}\u{202e}\x1b[2J\u{e0041}&\"\\ é";

    #[test]
    fn nothing_in_a_string_can_end_the_script_that_holds_it() {
        let mut out = Vec::new();
        write_inside_html(&HOSTILE, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(!text.contains(['<', '>', '&', '\u{2028}', '\u{202e}', '\x1b']), "{text}");
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), HOSTILE, "and nothing is lost");
    }

    #[test]
    fn the_machine_form_has_no_character_that_a_terminal_obeys() {
        let mut diagnosis = crate::fixture::burst();
        diagnosis.headline = crate::fixture::said(HOSTILE).into();
        let text = json(&diagnosis);
        assert!(text.chars().all(|c| c == '\n' || !is_active(c)));
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["headline"]["text"], HOSTILE);
        assert_eq!(read["schema"], "fathom.diagnosis/8");
    }
}
