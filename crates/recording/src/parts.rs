//! Which rows of what was read together are of which recording: ids are dense over all of them, and
//! those of a recording follow each other.

use std::ops::Range;

use serde::Serialize;

/// Ids of one table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Ids {
    /// The first one: the row 0 of that recording's table.
    pub from: u32,
    /// One behind the last.
    pub to: u32,
}

/// A recording among those that were read together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RecordingPart {
    /// Its id; `None` of one of an older version.
    pub recording: Option<String>,
    /// The host that it was made on.
    pub host: Option<String>,
    /// The service that is recorded.
    pub service: Option<String>,
    /// Its processes.
    pub processes: Ids,
    /// Its sources.
    pub sources: Ids,
    /// Its threads.
    pub threads: Ids,
    /// Its stacks.
    pub stacks: Ids,
}

impl From<Range<usize>> for Ids {
    fn from(rows: Range<usize>) -> Self {
        Self { from: rows.start as u32, to: rows.end as u32 }
    }
}

impl Ids {
    fn moved(self, by: u32) -> Self {
        Self { from: self.from + by, to: self.to + by }
    }
}

impl RecordingPart {
    /// The same where others stand before it: so many processes, sources, threads and stacks.
    pub(crate) fn behind(mut self, [processes, sources, threads, stacks]: [u32; 4]) -> Self {
        self.processes = self.processes.moved(processes);
        self.sources = self.sources.moved(sources);
        self.threads = self.threads.moved(threads);
        self.stacks = self.stacks.moved(stacks);
        self
    }
}
