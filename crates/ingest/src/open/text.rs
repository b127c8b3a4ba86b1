//! Text as every reader expects it: bytes of one encoding, lines that end with a line feed.
//!
//! | content | who writes it |
//! |---|---|
//! | UTF-16 | PowerShell's `>` and `Out-File` (up to version 5), Notepad's "Unicode"; with or without the mark in front |
//! | lines that end with a carriage return alone | old Macs, and tools that convert line ends twice |
//!
//! It is recognised by the beginning of the content; anything else is passed on byte by byte.

use std::io::{self, Cursor, Read};

/// Bytes of the beginning that are looked at. A log's line has some hundred bytes.
const HEAD: usize = 4096;

/// Bytes that are converted at a time.
const CHUNK: usize = 64 << 10;

/// The content of `raw`, as UTF-8 with line feeds where it is text that has neither.
pub(crate) fn plain(mut raw: Box<dyn Read + Send>) -> Box<dyn Read + Send> {
    let mut head = Vec::with_capacity(HEAD);
    let failure = Failure(raw.by_ref().take(HEAD as u64).read_to_end(&mut head).err());
    let writing = Writing::of(&head);
    let whole = Cursor::new(head).chain(failure).chain(raw);
    match writing {
        Writing::AsItIs => Box::new(whole),
        Writing::CarriageReturns => Box::new(LineFeeds(whole)),
        Writing::Utf16 { big } => Box::new(FromUtf16::new(whole, big)),
    }
}

/// Returns an error after what could be read before it; nothing if there was none.
#[derive(Default)]
struct Failure(Option<io::Error>);

impl Read for Failure {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writing {
    AsItIs,
    CarriageReturns,
    Utf16 { big: bool },
}

impl Writing {
    fn of(head: &[u8]) -> Self {
        match head {
            [0xff, 0xfe, ..] => return Self::Utf16 { big: false },
            [0xfe, 0xff, ..] => return Self::Utf16 { big: true },
            _ => {}
        }
        if is_ascii_in_pairs(head, 0) {
            return Self::Utf16 { big: false };
        }
        if is_ascii_in_pairs(head, 1) {
            return Self::Utf16 { big: true };
        }
        let returns = memchr::memchr_iter(b'\r', head).take(2).count();
        if returns == 2 && memchr::memchr2(b'\n', 0, head).is_none() {
            Self::CarriageReturns
        } else {
            Self::AsItIs
        }
    }
}

/// Whether the first pairs of bytes each have an ASCII character at `place` and a zero: UTF-16
/// without its mark. Binary formats begin with lengths and numbers; none has so many letters with a
/// zero next to each.
fn is_ascii_in_pairs(head: &[u8], place: usize) -> bool {
    let mut pairs = head.chunks_exact(2).take(16).peekable();
    let ascii = |b: u8| b.is_ascii_graphic() || b.is_ascii_whitespace();
    head.len() >= 32 && pairs.all(|pair| ascii(pair[place]) && pair[1 - place] == 0)
}

/// Carriage returns as line feeds.
struct LineFeeds<R>(R);

impl<R: Read> Read for LineFeeds<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.0.read(buffer)?;
        let read = buffer.get_mut(..n).unwrap_or_default();
        read.iter_mut().filter(|b| **b == b'\r').for_each(|b| *b = b'\n');
        Ok(n)
    }
}

/// UTF-16 as UTF-8. What is invalid becomes the replacement character.
struct FromUtf16<R> {
    inner: R,
    big: bool,
    /// Read and not converted: half a character.
    raw: Vec<u8>,
    converted: Cursor<Vec<u8>>,
    /// An error, returned after what was read before it.
    failure: Failure,
    begun: bool,
}

impl<R: Read> FromUtf16<R> {
    fn new(inner: R, big: bool) -> Self {
        let (raw, converted) = (Vec::with_capacity(CHUNK), Cursor::default());
        Self { inner, big, raw, converted, failure: Failure::default(), begun: false }
    }

    /// Converts what comes next. False: there is nothing.
    fn convert(&mut self) -> io::Result<bool> {
        self.failure.0.take().map_or(Ok(()), Err)?;
        let room = (CHUNK - self.raw.len()) as u64;
        let read = self.inner.by_ref().take(room).read_to_end(&mut self.raw);
        let ends = matches!(read, Ok(0));
        self.failure = Failure(read.err());
        let unit = |pair: &[u8]| match (pair, self.big) {
            ([high, low], true) | ([low, high], false) => u16::from_be_bytes([*high, *low]),
            _ => u16::from(b'?'),
        };
        let mut units: Vec<u16> = self.raw.chunks_exact(2).map(unit).collect();
        // The first half of a pair waits for the second.
        if !ends && units.last().is_some_and(|last| (0xd800..0xdc00).contains(last)) {
            units.pop();
        }
        self.raw.drain(..2 * units.len());
        if !std::mem::replace(&mut self.begun, true) && units.first() == Some(&0xfeff) {
            units.remove(0);
        }
        let text: String = char::decode_utf16(units).map(|c| c.unwrap_or('\u{fffd}')).collect();
        let more = !ends || !text.is_empty();
        self.converted = Cursor::new(text.into_bytes());
        Ok(more)
    }
}

impl<R: Read> Read for FromUtf16<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let n = self.converted.read(buffer)?;
            if n > 0 || buffer.is_empty() || !self.convert()? {
                return Ok(n);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: Vec<u8>) -> Vec<u8> {
        let mut out = Vec::new();
        plain(Box::new(Cursor::new(bytes))).read_to_end(&mut out).unwrap();
        out
    }

    fn utf16(text: &str, big: bool) -> Vec<u8> {
        text.encode_utf16()
            .flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() })
            .collect()
    }

    #[test]
    fn utf16_is_read_as_utf8_with_and_without_its_mark() {
        let text: String = (0..20_000).map(|i| format!("[{i}.0s][info][gc] größer 😀\r\n")).collect();
        for big in [false, true] {
            assert_eq!(read(utf16(&format!("\u{feff}{text}"), big)), text.as_bytes());
            assert_eq!(read(utf16(&text, big)), text.as_bytes());
        }
    }

    #[test]
    fn carriage_returns_alone_end_lines() {
        assert_eq!(read(b"one\rtwo\rthree".to_vec()), b"one\ntwo\nthree");
    }

    #[test]
    fn anything_else_is_left_as_it_is() {
        for bytes in [
            &b""[..],
            b"a",
            b"one\r\ntwo\r\n",
            b"a progress bar\r and no more",
            b"FLR\0\0\x02\0\0\0\r\0\r\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
            &[0; 64],
            b"\0a\rb\r",
        ] {
            assert_eq!(read(bytes.to_vec()), bytes);
        }
    }

    #[test]
    fn half_a_character_at_the_end_is_no_reason_to_stop() {
        let mut bytes = utf16("\u{feff}one\ntwo 😀", false);
        bytes.pop();
        for _ in 0..3 {
            assert!(read(bytes.clone()).starts_with(b"one\ntwo "));
            bytes.pop();
        }
    }
}
