//! Counts what a reader reads and what it does not understand.

use fathom_recording::{Source, UnknownLine};

/// How many unknown lines are kept as samples per source.
const SAMPLES: usize = 5;
/// How many sorts of unknown lines are distinguished per source: what a new JDK adds is fewer.
const SORTS: usize = 12;
/// How much of each is kept, bytes.
const SAMPLE_BYTES: usize = 160;

/// The counters of one source while it is read.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// Records read.
    pub records: u64,
    /// Lines that were not understood.
    pub skipped: u64,
    /// Records known to be missing.
    pub lost: u64,
    /// Samples of the lines not understood.
    pub unknown: Vec<UnknownLine>,
    /// Those of them that represent a sort of lines, by the sort's key.
    sorts: Vec<(Vec<u8>, usize)>,
}

impl Tally {
    /// Counts a line that is not understood, and keeps the first few.
    pub fn unknown(&mut self, number: u64, bytes: &[u8]) {
        self.skipped += 1;
        if self.unknown.len() - self.sorts.len() < SAMPLES {
            self.unknown.push(sample(number, bytes));
        }
    }

    /// The same for a line whose sort is recognised: the first of each sort is kept, with the
    /// number of them.
    pub fn unknown_of(&mut self, sort: &[u8], number: u64, bytes: &[u8]) {
        self.skipped += 1;
        let known = self.sorts.iter().find(|(known, _)| known == sort);
        if let Some(sample) = known.and_then(|(_, at)| self.unknown.get_mut(*at)) {
            sample.alike += 1;
        } else if self.sorts.len() < SORTS {
            self.sorts.push((sort.to_vec(), self.unknown.len()));
            self.unknown.push(sample(number, bytes));
        }
    }

    /// Adds the counters to a source.
    pub fn add_to(self, source: &mut Source) {
        source.records += self.records;
        source.skipped += self.skipped;
        source.lost += self.lost;
        let room = (SAMPLES + SORTS).saturating_sub(source.unknown.len());
        source.unknown.extend(self.unknown.into_iter().take(room));
    }
}

/// A line as it is kept, control characters made harmless.
fn sample(number: u64, bytes: &[u8]) -> UnknownLine {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(SAMPLE_BYTES)]);
    let text = text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    UnknownLine { line: number, text, alike: 1 }
}
