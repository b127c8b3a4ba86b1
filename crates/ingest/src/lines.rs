//! Lines of a stream, in bounded memory.
//!
//! One buffer, no allocation per line. A line longer than [`MAX_LINE`] is truncated and its rest
//! skipped: a file that is one gigabyte without a line break costs one buffer.

use std::io::{self, Read};

/// The longest line that is not truncated. LogCompilation's `<args>` with a long class path is the
/// longest legitimate line that we know (some 100 kB).
pub const MAX_LINE: usize = 1 << 20;

/// How much is read at a time. 256 kB keeps system calls below 1% of the time at 1 GB/s and stays
/// in L2.
const CHUNK: usize = 256 << 10;

/// A line without its line break.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// Its number, 1-based.
    pub number: u64,
    /// Its bytes; not necessarily UTF-8.
    pub bytes: &'a [u8],
    /// Whether it was longer than [`MAX_LINE`] and truncated.
    pub truncated: bool,
}

/// Returns the lines of a stream one by one.
pub struct Lines {
    input: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// The unread part of the buffer.
    from: usize,
    to: usize,
    number: u64,
    bytes: u64,
    ended: bool,
    ends_in_line: bool,
    failure: Option<io::Error>,
}

impl Lines {
    /// Lines of `input`.
    pub fn new(input: Box<dyn Read + Send>) -> Self {
        Self {
            input,
            buffer: vec![0; CHUNK],
            from: 0,
            to: 0,
            number: 0,
            bytes: 0,
            ended: false,
            ends_in_line: false,
            failure: None,
        }
    }

    /// The next line; `None` at the end. A read error ends the lines and is kept in
    /// [`Lines::failure`]: what was read before it counts.
    #[allow(clippy::should_implement_trait, reason = "a lending iterator cannot be an Iterator")]
    pub fn next(&mut self) -> Option<Line<'_>> {
        let mut searched = 0;
        loop {
            if let Some(at) = memchr::memchr(b'\n', &self.buffer[self.from + searched..self.to]) {
                let end = self.from + searched + at;
                let line = self.from..end;
                self.from = end + 1;
                return Some(self.hand_over(line, false));
            }
            searched = self.to - self.from;
            if searched > MAX_LINE {
                let line = self.from..self.from + MAX_LINE;
                self.skip_rest_of_line();
                return Some(self.hand_over(line, true));
            }
            if !self.fill() {
                if searched == 0 {
                    return None;
                }
                self.ends_in_line = true;
                let line = self.from..self.to;
                self.from = self.to;
                return Some(self.hand_over(line, false));
            }
        }
    }

    /// The content as bytes, from the current position. A read error ends it like its end and is
    /// kept in [`Lines::failure`].
    pub fn content(&mut self) -> impl Read + use<'_> {
        Content(self)
    }

    /// Number of the last line returned; 0 before the first.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the last line had no line break: the file may be truncated there.
    pub fn ends_in_line(&self) -> bool {
        self.ends_in_line
    }

    /// The read error that ended the lines early (a broken archive, say).
    pub fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }

    /// Takes the read error, to be reported as the reason why nothing was read.
    pub(crate) fn take_failure(&mut self) -> Option<io::Error> {
        self.failure.take()
    }

    /// Up to `CHUNK` bytes of what comes next, without consuming them.
    pub fn peek(&mut self) -> &[u8] {
        while self.to - self.from < CHUNK / 2 && self.fill() {}
        &self.buffer[self.from..self.to]
    }

    fn hand_over(&mut self, line: std::ops::Range<usize>, truncated: bool) -> Line<'_> {
        self.number += 1;
        let mut bytes = &self.buffer[line];
        if let [head @ .., b'\r'] = bytes {
            bytes = head;
        }
        Line { number: self.number, bytes, truncated }
    }

    /// Reads more after the unread part. False at the end of the stream.
    fn fill(&mut self) -> bool {
        if self.ended {
            return false;
        }
        if self.from > 0 && (self.from == self.to || self.buffer.len() - self.to < CHUNK / 2) {
            self.buffer.copy_within(self.from..self.to, 0);
            self.to -= self.from;
            self.from = 0;
        }
        if self.buffer.len() - self.to < CHUNK / 2 {
            self.buffer.resize(self.buffer.len() + CHUNK, 0);
        }
        loop {
            match self.input.read(&mut self.buffer[self.to..]) {
                Ok(0) => break,
                Ok(n) => {
                    self.to += n;
                    self.bytes += n as u64;
                    return true;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failure = Some(error);
                    break;
                }
            }
        }
        self.ended = true;
        false
    }

    /// Keeps the returned part of an overlong line in place and discards what follows it.
    fn skip_rest_of_line(&mut self) {
        let keep_end = self.from + MAX_LINE;
        if let Some(at) = memchr::memchr(b'\n', &self.buffer[keep_end..self.to]) {
            self.from = keep_end + at + 1;
            return;
        }
        let mut chunk = vec![0; CHUNK];
        self.to = keep_end;
        self.from = keep_end;
        while !self.ended {
            match self.input.read(&mut chunk) {
                Ok(0) => self.ended = true,
                Ok(n) => {
                    self.bytes += n as u64;
                    if let Some(at) = memchr::memchr(b'\n', &chunk[..n]) {
                        let rest = &chunk[at + 1..n];
                        self.buffer.truncate(keep_end);
                        self.buffer.extend_from_slice(rest);
                        self.to = self.buffer.len();
                        return;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.failure = Some(error);
                    self.ended = true;
                }
            }
        }
    }
}

/// See [`Lines::content`].
struct Content<'l>(&'l mut Lines);

impl Read for Content<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let lines = &mut *self.0;
        let held = &lines.buffer[lines.from..lines.to];
        if !held.is_empty() {
            let n = held.len().min(buffer.len());
            buffer[..n].copy_from_slice(&held[..n]);
            lines.from += n;
            return Ok(n);
        }
        while !lines.ended && !buffer.is_empty() {
            match lines.input.read(buffer) {
                Ok(0) => lines.ended = true,
                Ok(n) => {
                    lines.bytes += n as u64;
                    return Ok(n);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    lines.failure = Some(error);
                    lines.ended = true;
                }
            }
        }
        Ok(0)
    }
}

/// Whether a line was written as text: at most a tenth of it are control characters or invalid
/// UTF-8. A line of text may hold a name from memory that was overwritten.
pub(crate) fn is_text(line: &str) -> bool {
    let strange = line.chars().filter(|c| *c == '\u{fffd}' || (c.is_control() && !c.is_whitespace())).count();
    strange * 10 <= line.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Vec<(u64, usize, bool)> {
        let mut lines = Lines::new(Box::new(io::Cursor::new(bytes.to_vec())));
        let mut seen = Vec::new();
        while let Some(line) = lines.next() {
            seen.push((line.number, line.bytes.len(), line.truncated));
        }
        seen
    }

    #[test]
    fn lines_end_with_line_feed_with_or_without_carriage_return_or_with_the_file() {
        assert_eq!(all(b"ab\r\nc\n\nlast"), [(1, 2, false), (2, 1, false), (3, 0, false), (4, 4, false)]);
        assert_eq!(all(b""), []);
    }

    #[test]
    fn an_overlong_line_is_truncated_and_the_next_one_is_whole() {
        let mut bytes = vec![b'x'; 3 * MAX_LINE + 17];
        bytes.extend_from_slice(b"\nnext\nand");
        assert_eq!(all(&bytes), [(1, MAX_LINE, true), (2, 4, false), (3, 3, false)]);
        let endless = vec![b'x'; 3 * MAX_LINE];
        assert_eq!(all(&endless), [(1, MAX_LINE, true)]);
    }

    #[test]
    fn many_lines_are_the_lines_of_the_standard_library() {
        let text: String = (0..200_000).map(|i| format!("line {i} {}\n", "y".repeat(i % 97))).collect();
        let expected: Vec<_> =
            text.lines().enumerate().map(|(i, l)| (i as u64 + 1, l.len(), false)).collect();
        assert_eq!(all(text.as_bytes()), expected);
    }

    #[test]
    fn content_can_be_read_as_bytes_after_a_look_at_its_head() {
        let content: Vec<u8> = (0..3 * CHUNK).map(|i| (i * 31 % 251) as u8).collect();
        let mut lines = Lines::new(Box::new(io::Cursor::new(content.clone())));
        assert!(content.starts_with(lines.peek()));
        let mut read = Vec::new();
        lines.content().read_to_end(&mut read).unwrap();
        assert!(read == content && lines.bytes() == content.len() as u64);
    }

    #[test]
    fn peeking_takes_nothing() {
        let mut lines = Lines::new(Box::new(&b"one\ntwo\n"[..]));
        assert!(lines.peek().starts_with(b"one\ntwo"));
        assert_eq!(lines.next().unwrap().bytes, b"one");
    }
}
