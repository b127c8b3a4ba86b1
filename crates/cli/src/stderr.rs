//! Whoever looks on while something is recorded. What is written goes to a pipe or a terminal that
//! somebody may have stopped reading: then the recording goes on, signals are heeded, and what was
//! not read in time is left out.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// A pipe that is ready takes as much without waiting: PIPE_BUF (pipe(7)).
const PIECE: usize = 4096;
/// A reader that is slow for once is waited for so long.
const PATIENCE: Duration = Duration::from_millis(100);
/// Text that waits to be read, at most.
const MOST_BYTES: usize = 16 << 20;

/// Writes a line or more to whoever reads standard error, unless they do not. That it is gone is no
/// error.
pub fn write(text: &str) {
    static STALLED: AtomicBool = AtomicBool::new(false);
    let mut out = io::stderr();
    for piece in text.as_bytes().chunks(PIECE) {
        // One that was not read before is not waited for again.
        let patience = if STALLED.load(Ordering::Relaxed) { Duration::ZERO } else { PATIENCE };
        let stalled = !is_ready(&out, patience);
        STALLED.store(stalled, Ordering::Relaxed);
        if stalled || out.write_all(piece).is_err() {
            return;
        }
    }
}

/// Whether standard error can be written to without waiting.
pub fn is_read() -> bool {
    is_ready(&io::stderr(), Duration::ZERO)
}

/// Text for standard output that is written as fast as it is read.
#[derive(Default)]
pub struct Unread {
    text: Vec<u8>,
    left_out: u64,
}

impl Unread {
    /// Adds lines; those for which there is no room are left out, and counted.
    pub fn add(&mut self, lines: &str) {
        if self.text.len() + lines.len() > MOST_BYTES {
            self.left_out += lines.lines().count() as u64;
        } else {
            self.text.extend_from_slice(lines.as_bytes());
        }
    }

    /// Adds the last lines, which sum up, whether there is room or not.
    pub fn add_last(&mut self, lines: &str) {
        self.text.extend_from_slice(lines.as_bytes());
    }

    /// Writes what is taken at once. An error: the reader went away.
    pub fn write(&mut self) -> io::Result<()> {
        self.write_to(&mut io::stdout().lock(), Duration::ZERO)
    }

    /// Writes the rest, for as long as it takes or until it is given up, which is asked for now and
    /// then.
    pub fn finish(&mut self, mut is_given_up: impl FnMut() -> bool) -> io::Result<()> {
        while !self.text.is_empty() && !is_given_up() {
            self.write_to(&mut io::stdout().lock(), PATIENCE)?;
        }
        Ok(())
    }

    /// Lines for which there was no room.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    fn write_to(&mut self, out: &mut (impl Write + AsFd), patience: Duration) -> io::Result<()> {
        let mut written = 0;
        let mut failed = None;
        while written < self.text.len() && is_ready(&*out, patience) {
            let piece = &self.text[written..self.text.len().min(written + PIECE)];
            match out.write_all(piece).and_then(|()| out.flush()) {
                Ok(()) => written += piece.len(),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        self.text.drain(..written);
        failed.map_or(Ok(()), Err)
    }
}

/// Whether something can be written without waiting, or fails at once.
fn is_ready(out: &impl AsFd, patience: Duration) -> bool {
    let mut polled = [PollFd::new(out, PollFlags::OUT)];
    let timeout = Timespec::try_from(patience).ok();
    match poll(&mut polled, timeout.as_ref()) {
        Ok(ready) => ready > 0,
        Err(Errno::INTR) => false,
        // What cannot be asked is written to, as ever.
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn what_is_not_read_waits_and_is_left_out_when_there_is_too_much() {
        let (mut reader, mut writer) = io::pipe().unwrap();
        let line = format!("{}\n", "x".repeat(999));
        let mut unread = Unread::default();
        for _ in 0..20_000 {
            unread.add(&line);
        }
        let kept = MOST_BYTES / line.len();
        assert_eq!(unread.left_out(), 20_000 - kept as u64);
        unread.write_to(&mut writer, Duration::ZERO).unwrap();
        let waits = unread.text.len();
        assert!(waits < kept * line.len() && waits > 0, "{waits}");
        let read = std::thread::spawn(move || {
            let mut text = Vec::new();
            reader.read_to_end(&mut text).map(|_| text)
        });
        while !unread.text.is_empty() {
            unread.write_to(&mut writer, PATIENCE).unwrap();
        }
        drop(writer);
        assert_eq!(read.join().unwrap().unwrap(), line.repeat(kept).into_bytes());
    }

    #[test]
    fn a_reader_that_went_away_is_an_error() {
        let (reader, mut writer) = io::pipe().unwrap();
        drop(reader);
        let mut unread = Unread::default();
        unread.add("a\n");
        assert_eq!(
            unread.write_to(&mut writer, Duration::ZERO).unwrap_err().kind(),
            io::ErrorKind::BrokenPipe
        );
    }
}
