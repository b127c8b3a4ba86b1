//! A wait for a lock that somebody holds: a monitor, a lock of `java.util.concurrent`, a mutex. Not
//! the waits of a thread that has nothing to do: for work in a queue, a condition, a latch.

use fathom_recording::SpanRow;
use fathom_recording::vocabulary::lock::is_lock;
use fathom_recording::vocabulary::{kind, label, source};

use crate::slow::trigger::{Kind, Limit, Measure, Seen, Slow, Watch};

pub(super) const KIND: Kind = Kind {
    word: "lock",
    syntax: "lock>50ms or lock:CLASS>50ms",
    about: "a thread waited for a monitor, a java.util.concurrent lock or a mutex; CLASS: a part of the lock's class",
    collector: Some(source::LOCKS),
    measure: Measure::Time,
    make: |what| Ok(Box::new(Lock { class: what.map(str::to_owned) })),
};

struct Lock {
    class: Option<String>,
}

impl Watch for Lock {
    fn span(&mut self, row: &SpanRow<'_>, limit: Limit, seen: &Seen<'_>) -> Option<Slow> {
        let is_lock = match row.kind {
            kind::LOCK_MONITOR | kind::LOCK_NATIVE => true,
            kind::LOCK_PARK => is_lock(row.name),
            _ => false,
        };
        if !is_lock || !limit.is_passed_by(row) {
            return None;
        }
        if self.class.as_ref().is_some_and(|class| !row.name.contains(class.as_str())) {
            return None;
        }
        let owner = row.labels.iter().find(|(key, _)| *key == label::OWNER);
        let owner = owner.map(|(_, owner)| format!(", held by {owner}")).unwrap_or_default();
        let thread = row.thread.map(|id| format!(", waited for by {}", seen.ring.thread_name(id)));
        let class = if row.name.is_empty() { "a lock of unknown class" } else { row.name };
        Some(Slow::of(row, format!("{class}{owner}{}", thread.unwrap_or_default())))
    }
}
