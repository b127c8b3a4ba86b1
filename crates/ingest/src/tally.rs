//! Counting what a reader takes and what it does not understand.

use fathom_recording::{Source, UnknownLine};

/// How many unknown lines are kept as samples per source.
const SAMPLES: usize = 5;
/// How much of each is kept, bytes.
const SAMPLE_BYTES: usize = 160;

/// The counters of one source while it is read.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Records taken.
    pub records: u64,
    /// Lines that were not understood.
    pub skipped: u64,
    /// Records known to be missing.
    pub lost: u64,
    /// Samples of the lines not understood.
    pub unknown: Vec<UnknownLine>,
}

impl Tally {
    /// Counts a line that nobody understands, and keeps the first few, with control characters made harmless.
    pub fn unknown(&mut self, number: u64, bytes: &[u8]) {
        self.skipped += 1;
        if self.unknown.len() < SAMPLES {
            let text = String::from_utf8_lossy(&bytes[..bytes.len().min(SAMPLE_BYTES)]);
            let text = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
            self.unknown.push(UnknownLine { line: number, text });
        }
    }

    /// Adds the counters to a source.
    pub fn add_to(self, source: &mut Source) {
        source.records += self.records;
        source.skipped += self.skipped;
        source.lost += self.lost;
        let room = SAMPLES.saturating_sub(source.unknown.len());
        source.unknown.extend(self.unknown.into_iter().take(room));
    }
}
