//! Recognises the format of some content: every format is asked, by content and never by name.

use crate::lines::is_text;
use crate::{Confidence, FORMATS, Format};

/// How much of the first line of unknown content is shown, characters.
const SHOWN: usize = 60;

/// The formats that recognise `head` as their own, the surest first; of equals the one that is
/// first in the list.
pub(crate) fn candidates(head: &[u8]) -> Vec<&'static dyn Format> {
    let mut sure: Vec<_> = FORMATS.iter().map(|f| (f.sniff(head), *f)).collect();
    sure.retain(|(confidence, _)| *confidence > Confidence(0));
    sure.sort_by_key(|(confidence, _)| std::cmp::Reverse(*confidence));
    sure.into_iter().map(|(_, format)| format).collect()
}

/// Whether content is not text: a reader of text may still find a line in it that looks like one of
/// its own.
pub(crate) fn is_binary(head: &[u8]) -> bool {
    head.contains(&0) || by_magic(head).is_some()
}

/// What unknown content looks like, in words: "empty", "binary data", "text: …".
pub(crate) fn looks_like(head: &[u8]) -> String {
    if head.is_empty() {
        return "empty".to_owned();
    }
    if let Some(kind) = by_magic(head) {
        return kind.to_owned();
    }
    if let Some(kind) = by_text(head) {
        return kind.to_owned();
    }
    // Text has no zero bytes; UTF-16, which has, was converted before.
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

/// Well-known kinds of files that people pass by mistake, with what to do.
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

/// Profiles in formats that fathom does not read, with what to use instead.
fn by_text(head: &[u8]) -> Option<&'static str> {
    let holds = |words: &[u8]| memchr::memmem::find(head, words).is_some();
    if holds(b"speedscope.app/file-format-schema.json") {
        return Some("a speedscope profile: pass the profile that it was made from, or folded stacks");
    }
    if is_of_gperftools(head) {
        return Some(
            "a profile in the old format of gperftools: convert it to pprof (pprof -proto PROGRAM PROFILE)",
        );
    }
    is_perf_without_time(head).then_some(
        "the output of perf script without the time: print it with -F comm,pid,tid,cpu,time,period,event,ip,sym,dso",
    )
}

/// `gperftools/docs/cpuprofile-fileformat.html`: machine words, 0, 3, 0, the period, 0; a heap
/// profile is text.
fn is_of_gperftools(head: &[u8]) -> bool {
    let word =
        |i: usize| head.get(8 * i..).and_then(<[u8]>::first_chunk).map(|b: &[u8; 8]| u64::from_le_bytes(*b));
    let cpu = [word(0), word(1), word(2), word(4)] == [Some(0), Some(3), Some(0), Some(0)];
    cpu || head.starts_with(b"heap profile: ") || head.starts_with(b"--- contention")
}

/// Whether lines begin as frames of `perf script` do, indented and with an address: `\t    7f286c93872f Foo+0x3 (lib.so)`.
fn is_perf_without_time(head: &[u8]) -> bool {
    let lines = head.split(|b| *b == b'\n').filter(|line| !line.trim_ascii().is_empty()).take(SHOWN);
    let (mut frames, mut all) = (0, 0);
    for line in lines {
        let address = line.trim_ascii_start().split(|b| *b == b' ').next().unwrap_or_default();
        let indented = line.first().is_some_and(u8::is_ascii_whitespace);
        frames += u32::from(indented && address.len() >= 5 && address.iter().all(u8::is_ascii_hexdigit));
        all += 1;
    }
    frames >= 2 && frames * 2 >= all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_in_forms_that_are_not_read_are_named() {
        let speedscope =
            b"{\"version\":\"0.0.1\",\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",";
        assert!(looks_like(speedscope).starts_with("a speedscope profile"));
        let words = [0u64, 3, 0, 10_000, 0, 1, 1, 0x7f00_1234];
        let cpu: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert!(looks_like(&cpu).contains("gperftools"));
        assert!(looks_like(b"heap profile: 1: 2 [3: 4] @ heap_v2/524288\n").contains("gperftools"));
        let perf =
            b"java 23821 cpu-clock:pppH: \n\t    7f286c93872f a+0x3 (x.so)\n\t    7f286c93872e b (x.so)\n\n";
        assert!(looks_like(perf).contains("without the time"));
        assert_eq!(looks_like(b"{\"$schema\": 1}"), "text: {\"$schema\": 1}");
    }

    #[test]
    fn unknown_content_is_described_in_words() {
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
