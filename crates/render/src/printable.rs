//! Text from an input, made safe to print.
//!
//! A log can hold anything: escape sequences that retitle or recolour a terminal, carriage returns
//! that overwrite the line before, direction marks that turn text around ("Trojan Source",
//! CVE-2021-42574). All text that comes from an input goes through [`printable`] on its way to a
//! terminal. JSON and HTML escape by rules of their own.

use std::borrow::Cow;

/// `text` with every character that is not simply shown replaced by a visible escape: `\n`, `\t`,
/// `\x1b`, `\u{202e}`. Text without such characters is handed back as it is. A backslash stays one:
/// the result is for reading, not for parsing.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_active) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\t' => safe.push_str("\\t"),
            c if is_active(c) && c.is_ascii() => safe.push_str(&format!("\\x{:02x}", u32::from(c))),
            c if is_active(c) => safe.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// Whether a terminal would do something other than show the character: C0 and C1 controls, the
/// line and paragraph separators, direction marks and other invisible format characters (Unicode
/// 16, category Cf, as far as they stand outside of scripts), variation tags.
pub(crate) fn is_active(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{00ad}' | '\u{061c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_of_any_language_is_untouched_and_not_copied() {
        for text in ["", "GC(12) Pause Young", "日本語のクラス", "ø ü ½ → ✓", "C:\\dir"] {
            assert!(matches!(printable(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn what_a_terminal_would_act_on_becomes_visible() {
        assert_eq!(printable("\x1b[31mred\x1b[0m\x07"), "\\x1b[31mred\\x1b[0m\\x07");
        assert_eq!(printable("a\r\nb\tc\u{7f}"), "a\\r\\nb\\tc\\x7f");
        assert_eq!(printable("\u{9b}31m evil\u{202e}txt.exe"), "\\u{9b}31m evil\\u{202e}txt.exe");
        assert_eq!(printable("zero\u{200b}width\u{feff}"), "zero\\u{200b}width\\u{feff}");
    }
}
