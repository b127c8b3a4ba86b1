//! The writer of one run's records: the recording, with the run's source and process, and the
//! counts that the self-checks need.

use std::borrow::Cow;

use fathom_recording::vocabulary::kind;
use fathom_recording::{ProcessId, Role, Sink, SourceId, SpanId, SpanRow, ThreadId};

use super::checks::Evidence;
use crate::Tally;

/// Bytes as text, with invalid UTF-8 replaced. Nearly all of it is valid, which is quicker to check
/// at once.
pub(crate) fn text(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Writes a run into the recording.
pub(crate) struct Out<'a> {
    /// The recording.
    pub(crate) sink: &'a mut dyn Sink,
    /// The run's source.
    pub(crate) source: SourceId,
    /// The run's process.
    pub(crate) process: ProcessId,
    /// Counters.
    pub(crate) tally: Tally,
    /// What the self-checks need.
    pub(crate) evidence: Evidence,
}

/// A span without what is the same for all of a run.
pub(crate) struct Entry<'a> {
    pub(crate) kind: &'a str,
    pub(crate) name: &'a str,
    pub(crate) t0_ns: i64,
    pub(crate) t1_ns: i64,
    pub(crate) line: u64,
    pub(crate) key: i64,
    pub(crate) parent: Option<SpanId>,
    pub(crate) thread: Option<ThreadId>,
    pub(crate) figures: &'a [(&'a str, f64)],
    pub(crate) labels: &'a [(&'a str, &'a str)],
}

impl<'a> Entry<'a> {
    /// An event.
    pub(crate) fn event(kind: &'a str, name: &'a str, ns: i64, line: u64) -> Self {
        Self {
            kind,
            name,
            t0_ns: ns,
            t1_ns: ns,
            line,
            key: -1,
            parent: None,
            thread: None,
            figures: &[],
            labels: &[],
        }
    }
}

impl Out<'_> {
    /// Writes a span and counts it.
    pub(crate) fn span(&mut self, entry: &Entry<'_>) -> SpanId {
        if entry.kind != kind::RUN {
            self.tally.records += 1;
        }
        let row = self.row(entry);
        self.sink.span(&row)
    }

    /// A span as a row of the recording.
    pub(crate) fn row<'e>(&self, entry: &Entry<'e>) -> SpanRow<'e> {
        SpanRow {
            kind: entry.kind,
            name: entry.name,
            t0_ns: entry.t0_ns,
            t1_ns: entry.t1_ns,
            process: self.process,
            thread: entry.thread,
            stack: None,
            source: self.source,
            line: entry.line,
            key: entry.key,
            parent: entry.parent,
            figures: entry.figures,
            labels: entry.labels,
        }
    }

    /// A thread of the run by its name.
    pub(crate) fn thread(&mut self, name: &str, role: Role) -> ThreadId {
        self.sink.thread(self.process, None, name, role)
    }

    /// Sets a fact of the process; the first one counts.
    pub(crate) fn fact(&mut self, key: &str, value: impl Into<String>) {
        self.sink.process_mut(self.process).facts.entry(key.to_owned()).or_insert_with(|| value.into());
    }

    /// Sets a fact of the process, replacing an earlier one.
    pub(crate) fn fact_anew(&mut self, key: &str, value: impl Into<String>) {
        self.sink.process_mut(self.process).facts.insert(key.to_owned(), value.into());
    }
}
