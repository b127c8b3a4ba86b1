//! One span of a recording.

use super::Recording;
use crate::spans::{NONE, Spans};
use crate::{ProcessId, SourceId, SpanId, StackId, StrId, ThreadId};

/// A span of a recording, read in place.
#[derive(Clone, Copy)]
pub struct Span<'a> {
    pub(super) recording: &'a Recording,
    /// Its id.
    pub id: SpanId,
}

impl<'a> Span<'a> {
    #[inline]
    pub(super) fn spans(&self) -> &'a Spans {
        &self.recording.spans
    }

    /// Start, nanoseconds.
    #[inline]
    pub fn t0_ns(&self) -> i64 {
        self.spans().t0_ns[self.id.index()]
    }

    /// End, nanoseconds.
    #[inline]
    pub fn t1_ns(&self) -> i64 {
        self.spans().t1_ns[self.id.index()]
    }

    /// How long it lasted, nanoseconds.
    #[inline]
    pub fn duration_ns(&self) -> i64 {
        self.t1_ns().saturating_sub(self.t0_ns())
    }

    /// Its kind.
    #[inline]
    pub fn kind(&self) -> &'a str {
        self.recording.strings.get(self.spans().kind[self.id.index()])
    }

    /// The id of its kind.
    #[cfg(feature = "disk")]
    pub(crate) fn kind_id(&self) -> StrId {
        self.spans().kind[self.id.index()]
    }

    /// Its name.
    #[inline]
    pub fn name(&self) -> &'a str {
        self.recording.strings.get(self.spans().name[self.id.index()])
    }

    /// The id of its name, which is cheaper to compare than the name.
    #[inline]
    pub fn name_id(&self) -> StrId {
        self.spans().name[self.id.index()]
    }

    /// Its process.
    #[inline]
    pub fn process(&self) -> ProcessId {
        self.spans().origins.of(self.id.index()).0
    }

    /// Its thread.
    #[inline]
    pub fn thread(&self) -> Option<ThreadId> {
        let id = self.spans().thread.get(self.id.index());
        (id != NONE).then_some(ThreadId(id))
    }

    /// Its stack.
    #[inline]
    pub fn stack(&self) -> Option<StackId> {
        let id = self.spans().stack.get(self.id.index());
        (id != NONE).then_some(StackId(id))
    }

    /// Its source.
    #[inline]
    pub fn source(&self) -> SourceId {
        self.spans().origins.of(self.id.index()).1
    }

    /// Its line in the source, 1-based; 0 when there is none.
    pub fn line(&self) -> u64 {
        self.spans().line.get(self.id.index())
    }

    /// Its own number in the source (GC id, compile id), or -1.
    pub fn key(&self) -> i64 {
        self.spans().key_of(self.id.index())
    }

    /// The span that it is part of.
    pub fn parent(&self) -> Option<SpanId> {
        let id = self.spans().parent.get(self.id.index());
        (id != NONE).then_some(SpanId(id))
    }

    /// A figure by its key.
    pub fn figure(&self, key: &str) -> Option<f64> {
        if self.figure_keys().is_empty() {
            return None;
        }
        let key = self.recording.strings.find(key)?;
        self.spans().figures.get(self.id.index(), key)
    }

    /// A figure by the id of its key.
    pub fn figure_by_id(&self, key: StrId) -> Option<f64> {
        self.spans().figures.get(self.id.index(), key)
    }

    /// A label by its key.
    pub fn label(&self, key: &str) -> Option<&'a str> {
        let id = self.label_id(key)?;
        Some(self.recording.strings.get(id))
    }

    /// A label, or another one if the span does not have it.
    pub fn first_label(&self, key: &str, or: &str) -> Option<&'a str> {
        let strings = &self.recording.strings;
        let mut other = None;
        for (word, text) in self.spans().labels.of(self.id.index()) {
            if strings.is(*word, key) {
                return Some(strings.get(*text));
            }
            if other.is_none() && strings.is(*word, or) {
                other = Some(*text);
            }
        }
        other.map(|text| strings.get(text))
    }

    /// The id of a label's text by the label's key: cheaper to compare than the text.
    pub fn label_id(&self, key: &str) -> Option<StrId> {
        // Spans have few labels: comparing their keys is quicker than a look-up.
        let strings = &self.recording.strings;
        let mut labels = self.spans().labels.of(self.id.index()).iter();
        labels.find(|(word, _)| strings.is(*word, key)).map(|(_, text)| *text)
    }

    /// All figures.
    pub fn figures(&self) -> impl Iterator<Item = (&'a str, f64)> + use<'a> {
        let strings = &self.recording.strings;
        self.spans().figures.of(self.id.index()).map(|(key, value)| (strings.get(key), value))
    }

    /// All figures, with the ids of their keys.
    pub fn figures_by_id(&self) -> impl Iterator<Item = (StrId, f64)> + use<'a> {
        self.spans().figures.of(self.id.index())
    }

    /// A number that spans share if they have the same figure keys in the same order, whatever the
    /// values. There are few such shapes: what depends on the keys of a shape is computed once.
    pub fn figures_shape(&self) -> usize {
        self.spans().figures.shape(self.id.index())
    }

    /// The ids of the keys of all figures.
    pub fn figure_keys(&self) -> &'a [StrId] {
        self.spans().figures.keys_of(self.id.index())
    }

    /// Its labels by the ids of their keys.
    pub(crate) fn labels_by_id(&self) -> impl Iterator<Item = (StrId, StrId)> + use<'a> {
        self.spans().labels.of(self.id.index()).iter().copied()
    }

    /// All labels.
    pub fn labels(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let strings = &self.recording.strings;
        self.spans().labels.of(self.id.index()).iter().map(|(k, v)| (strings.get(*k), strings.get(*v)))
    }

    /// The part of it that lies in `[from_ns, to_ns)`, nanoseconds.
    pub fn overlap_ns(&self, from_ns: i64, to_ns: i64) -> i64 {
        self.t1_ns().min(to_ns).saturating_sub(self.t0_ns().max(from_ns)).max(0)
    }

    /// Its position in the source, to be shown: "gc.log:1234".
    pub fn position(&self) -> String {
        self.recording.sources[self.source().index()].position(self.line())
    }

    /// Its file or collector, and its line there, 1-based.
    pub fn place(&self) -> (&'a str, Option<u64>) {
        self.recording.sources[self.source().index()].place(self.line())
    }
}
