//! A call of a function, of any library that the process maps, that took long: of the JVM's, the C
//! library's, a driver's.
//!
//! Java methods are no functions of a library: their calls cannot be timed from outside without
//! slowing all of them down. A USDT probe or a tracepoint is a point in time and has no length.

use fathom_recording::SpanRow;
use fathom_recording::vocabulary::kind;

use crate::probes::Spec;
use crate::slow::trigger::{Kind, Limit, Measure, Seen, Slow, Watch};

pub(super) const KIND: Kind = Kind {
    word: "uprobe",
    syntax: "uprobe:LIBRARY:FUNCTION>10ms",
    about: "a call of a function, as uprobe:libc.so.6:getaddrinfo; every call costs a trap, slow or not",
    collector: Some("probes"),
    measure: Measure::Time,
    make,
};

fn make(what: Option<&str>) -> Result<Box<dyn Watch>, String> {
    let spec: Spec = format!("uprobe:{}", what.unwrap_or_default()).parse()?;
    Ok(Box::new(Uprobe { name: spec.to_string() }))
}

struct Uprobe {
    name: String,
}

impl Watch for Uprobe {
    fn span(&mut self, row: &SpanRow<'_>, limit: Limit, seen: &Seen<'_>) -> Option<Slow> {
        if row.kind != kind::PROBE || row.name != self.name || !limit.is_passed_by(row) {
            return None;
        }
        let text = row.labels.iter().find(|(key, _)| *key == "str0").map(|(_, text)| format!(" of {text:?}"));
        let thread =
            row.thread.map(|id| format!(", thread {}", seen.ring.thread_name(id))).unwrap_or_default();
        let function = row.name.rsplit(':').next().unwrap_or(row.name);
        Some(Slow::of(row, format!("{function}(){}{thread}", text.unwrap_or_default())))
    }
}
