//! The kinds of events that are read: one row per kind, with the fields that it needs and its
//! handler.
//!
//! Events are recognised by the full name of their type. A field that a JDK does not have is
//! absent; a handler returns `None` when it lacks what it needs, and the event is counted as not
//! understood.

mod facts;
mod gc;
mod io;
mod jit;
mod load;
mod methods;
mod samples;
mod threads;

use fathom_recording::{StackId, ThreadId};

use super::layout::Value;
use super::names::{Name, Names};
use super::run_writer::{Entry, RunWriter};

pub(super) use self::samples::Counted;

/// Fields that every kind has first: start, duration, thread, stack.
pub(super) const STANDARD: [&str; 4] = ["startTime", "duration", "eventThread", "stackTrace"];
/// The most fields that a kind needs, including the standard ones.
pub(super) const MOST_FIELDS: usize = 20;

/// A kind of event.
pub(super) struct Kind {
    /// The name of its type.
    pub(super) name: &'static str,
    /// Fields it needs besides the standard ones.
    pub(super) fields: &'static [&'static str],
    /// Its handler.
    pub(super) read: Read,
}

/// Handles an event. `None`: it lacks what it needs.
pub(super) type Read = for<'a> fn(&mut Reader<'_, 'a, '_>, &Event<'_, 'a>) -> Option<()>;

/// All kinds that are read, by group.
pub(super) const GROUPS: &[&[Kind]] = &[
    facts::KINDS,
    samples::KINDS,
    gc::KINDS,
    jit::KINDS,
    threads::KINDS,
    io::KINDS,
    load::KINDS,
    methods::KINDS,
];

/// The kind with a name.
pub(super) fn kind_of(name: &str) -> Option<&'static Kind> {
    GROUPS.iter().flat_map(|group| group.iter()).find(|kind| kind.name == name)
}

/// An event's fields.
pub(super) struct Event<'e, 'a> {
    /// The name of its type.
    pub(super) name: &'e str,
    /// Its values, the standard ones first.
    pub(super) values: &'e [Value<'a>],
}

impl<'a> Event<'_, 'a> {
    fn standard(&self, at: usize) -> Value<'a> {
        self.values.get(at).copied().unwrap_or_default()
    }

    /// A field by its index among those requested.
    fn field(&self, at: usize) -> Value<'a> {
        self.standard(STANDARD.len() + at)
    }

    /// Its start, nanoseconds since the epoch.
    fn t0_ns(&self) -> Option<i64> {
        match self.standard(0) {
            Value::Integer(ns) => Some(ns),
            _ => None,
        }
    }

    /// Its start and end.
    fn times(&self) -> Option<(i64, i64)> {
        let t0_ns = self.t0_ns()?;
        let length = if let Value::Integer(ns) = self.standard(1) { ns.max(0) } else { 0 };
        Some((t0_ns, t0_ns.saturating_add(length)))
    }

    /// An integer field.
    fn integer(&self, at: usize) -> Option<i64> {
        if let Value::Integer(n) = self.field(at) { Some(n) } else { None }
    }

    /// A numeric field. Some writers use the smallest integer for "unknown".
    fn number(&self, at: usize) -> Option<f64> {
        match self.field(at) {
            Value::Integer(i64::MIN) => None,
            Value::Integer(n) => Some(n as f64),
            Value::Real(x) if x.is_finite() => Some(x),
            _ => None,
        }
    }

    /// A boolean field.
    fn is(&self, at: usize) -> bool {
        self.integer(at).is_some_and(|n| n != 0)
    }
}

/// The context in which events are handled.
pub(super) struct Reader<'r, 'a, 's> {
    pub(super) names: Names<'a>,
    pub(super) writer: &'r mut RunWriter<'s>,
}

impl<'a> Reader<'_, 'a, '_> {
    /// The name that a field refers to.
    fn text(&mut self, value: Value<'a>) -> Option<Name<'a>> {
        self.names.text(value)
    }

    /// The thread that a field refers to.
    fn thread_of(&mut self, value: Value<'a>) -> Option<ThreadId> {
        self.names.thread(value, self.writer.process, self.writer.sink)
    }

    /// The event's thread.
    fn thread(&mut self, event: &Event<'_, 'a>) -> Option<ThreadId> {
        self.thread_of(event.standard(2))
    }

    /// The event's stack.
    fn stack(&mut self, event: &Event<'_, 'a>) -> Option<StackId> {
        self.names.stack(event.standard(3), self.writer.sink)
    }

    /// Writes a span with the event's time, thread and stack.
    fn span(
        &mut self,
        event: &Event<'_, 'a>,
        kind: &str,
        name: &str,
        figures: &[(&str, f64)],
        labels: &[(&str, &str)],
    ) -> Option<()> {
        self.span_with_key(event, kind, name, -1, figures, labels)
    }

    /// Like [`Reader::span`], with a key of its own.
    fn span_with_key(
        &mut self,
        event: &Event<'_, 'a>,
        kind: &str,
        name: &str,
        key: i64,
        figures: &[(&str, f64)],
        labels: &[(&str, &str)],
    ) -> Option<()> {
        let (t0_ns, t1_ns) = event.times()?;
        let (thread, stack) = (self.thread(event), self.stack(event));
        let entry = Entry::new(kind, name, t0_ns, t1_ns);
        self.writer.span(&Entry { key, thread, stack, figures, labels, ..entry });
        Some(())
    }
}

/// Any event of an application or a library: its name, time, thread and stack.
pub(super) fn custom<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    reader.span(event, fathom_recording::vocabulary::kind::EVENT, event.name, &[], &[])
}

/// Figures that are known.
fn known<const N: usize>(figures: [(&'static str, Option<f64>); N]) -> Vec<(&'static str, f64)> {
    figures.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_unique_and_ask_for_no_more_fields_than_there_is_room() {
        let mut seen = std::collections::HashSet::new();
        for kind in GROUPS.iter().flat_map(|group| group.iter()) {
            assert!(seen.insert(kind.name), "{}", kind.name);
            assert!(STANDARD.len() + kind.fields.len() <= MOST_FIELDS, "{}", kind.name);
            assert!(kind.fields.iter().all(|field| !STANDARD.contains(field)), "{}", kind.name);
        }
    }
}
