//! A stop of all Java threads: a collection's pause or another safepoint, from the request until
//! they run again.

use fathom_recording::SpanRow;
use fathom_recording::vocabulary::{figure, kind};

use crate::slow::trigger::{Kind, Limit, Measure, Seen, Slow, Watch};

pub(super) const KIND: Kind = Kind {
    word: "stop",
    syntax: "stop>200ms",
    about: "all Java threads of a JVM were stopped: a collection or another safepoint, asked for until they ran again",
    collector: Some("jvm-events"),
    measure: Measure::Time,
    make: |what| match what {
        None => Ok(Box::new(Stop)),
        Some(what) => Err(format!("a stop is of a whole JVM, and has no {what:?}")),
    },
};

struct Stop;

impl Watch for Stop {
    fn span(&mut self, row: &SpanRow<'_>, limit: Limit, _seen: &Seen<'_>) -> Option<Slow> {
        if row.kind != kind::SAFEPOINT || !limit.is_passed_by(row) {
            return None;
        }
        let part = |key: &str| row.figures.iter().find(|(k, _)| *k == key).map(|(_, ns)| ns / 1e6);
        let parts =
            [("reached in", figure::REACH_NS), ("at it for", figure::AT_NS), ("left in", figure::LEAVE_NS)];
        let parts = parts.iter().filter_map(|(word, key)| Some(format!("{word} {:.1} ms", part(key)?)));
        let parts = parts.collect::<Vec<_>>().join(", ");
        let parts = if parts.is_empty() { parts } else { format!(" ({parts})") };
        Some(Slow::of(row, format!("{}{parts}", row.name)))
    }
}
