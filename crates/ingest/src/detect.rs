//! Which format some content is: asked of every format, told by content and never by name.

use crate::{Confidence, FORMATS, Format};

/// How much of the first line is shown of content that nobody knows, characters.
const SHOWN: usize = 60;

/// The formats that take `head` for their own, the surest first; of equals the one that stands first in the list.
pub(crate) fn candidates(head: &[u8]) -> Vec<&'static dyn Format> {
    let mut sure: Vec<_> = FORMATS.iter().map(|f| (f.sniff(head), *f)).collect();
    sure.retain(|(confidence, _)| *confidence > Confidence(0));
    sure.sort_by_key(|(confidence, _)| std::cmp::Reverse(*confidence));
    sure.into_iter().map(|(_, format)| format).collect()
}

/// Whether content is no text: a reader of text may still find a line in it that looks like one of its own.
pub(crate) fn is_binary(head: &[u8]) -> bool {
    head.contains(&0) || by_magic(head).is_some()
}

/// Whether a line was written as text: at most a tenth of it are control characters or were no UTF-8. A name from
/// memory that was overwritten may stand in a line of text.
pub(crate) fn is_text(line: &str) -> bool {
    let strange = line.chars().filter(|c| *c == '\u{fffd}' || (c.is_control() && !c.is_whitespace())).count();
    strange * 10 <= line.chars().count()
}

/// What unknown content looks like, in words: "empty", "binary data", "text: …".
pub(crate) fn looks_like(head: &[u8]) -> String {
    if head.is_empty() {
        return "empty".to_owned();
    }
    if let Some(kind) = by_magic(head) {
        return kind.to_owned();
    }
    // Text has no zero bytes; UTF-16, which has, is not written by any JVM.
    if head.contains(&0) {
        return "binary data".to_owned();
    }
    let line = head.split(|b| *b == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    let line = String::from_utf8_lossy(line.get(..SHOWN * 4).unwrap_or(line));
    if !is_text(&line) {
        return "binary data".to_owned();
    }
    let shown: String =
        line.trim().chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if shown.is_empty() { "blank lines only".to_owned() } else { format!("text: {shown}") }
}

/// Well-known kinds of files that people hand over by mistake, with what to do.
fn by_magic(head: &[u8]) -> Option<&'static str> {
    Some(match head {
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => "an xz archive: unpack it first",
        [b'7', b'z', 0xbc, 0xaf, ..] => "a 7z archive: unpack it first",
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd, ..] | [b'B', b'Z', b'h', ..] => {
            "an archive within an archive"
        }
        [b'P', b'K', 3, 4, ..] => "a zip archive within an archive",
        [b'J', b'A', b'V', b'A', b' ', b'P', b'R', b'O', ..] => "a heap dump",
        [0x7f, b'E', b'L', b'F', ..] => "an ELF program or core dump",
        [b'F', b'L', b'R', 0, ..] => "a flight recording that is damaged at its start",
        [0xca, 0xfe, 0xba, 0xbe, ..] => "a Java class file",
        _ if head.get(257..262) == Some(b"ustar") => "a tar archive: unpack it first",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_content_is_told_in_words() {
        assert_eq!(looks_like(b""), "empty");
        assert_eq!(looks_like(b"\n\n"), "blank lines only");
        assert_eq!(looks_like(b"\nhello world\nmore"), "text: hello world");
        assert_eq!(looks_like(&[0, 1, 2, 3, 200]), "binary data");
        assert_eq!(looks_like(&[0xff, 0x91, 0xfe, 0x80, 0xe1, b'a']), "binary data");
        assert_eq!(looks_like("größer\n".as_bytes()), "text: größer");
        let mut tar = vec![b'a'; 257];
        tar.extend_from_slice(b"ustar\0");
        assert_eq!(looks_like(&tar), "a tar archive: unpack it first");
        assert_eq!(
            looks_like("a terminal \u{1b}[2J is left in peace".as_bytes()),
            "text: a terminal  [2J is left in peace"
        );
    }
}
