//! One count of a recording.

use super::Recording;
use crate::counts::Counts;
use crate::narrow::NONE;
use crate::{ProcessId, SourceId, StrId, ThreadId};

/// A count of a recording, read in place.
#[derive(Clone, Copy)]
pub struct Count<'a> {
    pub(super) recording: &'a Recording,
    pub(super) row: usize,
}

impl<'a> Count<'a> {
    fn counts(&self) -> &'a Counts {
        &self.recording.counts
    }

    /// Its kind.
    pub fn kind(&self) -> &'a str {
        self.recording.strings.get(self.counts().kind[self.row])
    }

    /// What was counted.
    pub fn name(&self) -> &'a str {
        self.recording.strings.get(self.counts().name[self.row])
    }

    /// Start of the interval, nanoseconds.
    pub fn t0_ns(&self) -> i64 {
        self.counts().t0_ns[self.row]
    }

    /// End of the interval, nanoseconds.
    pub fn t1_ns(&self) -> i64 {
        self.counts().t1_ns[self.row]
    }

    /// Length of the interval, nanoseconds.
    pub fn interval_ns(&self) -> i64 {
        self.t1_ns().saturating_sub(self.t0_ns())
    }

    /// The process in which it happened.
    pub fn process(&self) -> ProcessId {
        self.counts().origins.of(self.row).0
    }

    /// The thread in which it happened, where it was counted by thread.
    pub fn thread(&self) -> Option<ThreadId> {
        let id = self.counts().thread.get(self.row);
        (id != NONE).then_some(ThreadId(id))
    }

    /// Its source.
    pub fn source(&self) -> SourceId {
        self.counts().origins.of(self.row).1
    }

    /// The number that what was counted has at the kernel, or -1.
    pub fn key(&self) -> i64 {
        self.counts().key_of(self.row)
    }

    /// How often it happened.
    pub fn count(&self) -> u64 {
        self.counts().count_of(self.row)
    }

    /// How long all of it took, nanoseconds, where that is known.
    pub fn total_ns(&self) -> Option<u64> {
        self.counts().total_of(self.row)
    }

    /// A figure by its key.
    pub fn figure(&self, key: &str) -> Option<f64> {
        let key = self.recording.strings.find(key)?;
        self.counts().figures.get(self.row, key)
    }

    /// All figures.
    pub fn figures(&self) -> impl Iterator<Item = (&'a str, f64)> + use<'a> {
        let strings = &self.recording.strings;
        self.figures_by_id().map(|(key, value)| (strings.get(key), value))
    }

    /// All figures, with the ids of their keys.
    pub fn figures_by_id(&self) -> impl Iterator<Item = (StrId, f64)> + use<'a> {
        self.counts().figures.of(self.row)
    }
}

impl std::fmt::Debug for Count<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let numbers: Vec<_> = self.figures().collect();
        f.debug_struct(self.kind())
            .field("name", &self.name())
            .field("ns", &(self.t0_ns(), self.t1_ns()))
            .field("of", &(self.process(), self.thread(), self.source(), self.key()))
            .field("count", &(self.count(), self.total_ns()))
            .field("figures", &numbers)
            .finish()
    }
}
