//! A fact with where it was recorded: the form in which findings have it, and JSON.

use std::collections::BTreeMap;
use std::fmt;

use fathom_recording::{Span, SpanId, StackId, ThreadId};
use serde::Serialize;
use serde::ser::Serializer;

use super::value::Bare;
use super::{Fact, Unit, Value};

/// A fact and where it was recorded.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(as = "WrittenEvidence<'static>"))]
pub struct Evidence {
    /// What was measured.
    pub fact: Fact,
    /// Where it stands.
    pub source: Origin,
    /// The timestamp that it refers to, nanoseconds on the recording's clock.
    pub at_ns: Option<i64>,
    /// The row of the recording's spans that it was read from.
    pub span: Option<SpanId>,
    /// The thread that it refers to.
    pub thread: Option<ThreadId>,
    /// The stack of that thread.
    pub stack: Option<StackId>,
}

/// A file or a collector of `fathom record`, with the line or the number of records that a fact was
/// read from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The file or collector; a file of a rotated set by its own name.
    pub name: String,
    /// The line, from 1.
    pub line: Option<u64>,
    /// Of how many records it is a summary, and what they are: 93, "pause", "pauses".
    pub records: Option<(usize, &'static str, &'static str)>,
}

impl Evidence {
    /// A fact taken over many records.
    pub fn summed(source: impl Into<Origin>, fact: impl Into<Fact>) -> Self {
        Self { fact: fact.into(), source: source.into(), ..Self::default() }
    }

    /// A fact with the span that it was read from.
    pub fn cited(span: &Span<'_>, fact: impl Into<Fact>) -> Self {
        let (name, line) = span.place();
        Self {
            fact: fact.into(),
            source: Origin { name: name.to_owned(), line, records: None },
            at_ns: Some(span.t0_ns()),
            span: Some(span.id),
            thread: span.thread(),
            stack: span.stack(),
        }
    }

    /// The same, of a timestamp.
    #[must_use]
    pub fn at(mut self, at_ns: impl Into<Option<i64>>) -> Self {
        self.at_ns = at_ns.into();
        self
    }

    /// The fact in words, values and units included.
    pub fn text(&self) -> String {
        self.fact.sentence()
    }

    /// The id of what was measured; empty for text.
    pub fn metric(&self) -> &'static str {
        self.fact.metric.id
    }
}

impl From<String> for Origin {
    fn from(name: String) -> Self {
        Self { name, ..Self::default() }
    }
}

impl From<&str> for Origin {
    fn from(name: &str) -> Self {
        name.to_owned().into()
    }
}

/// "gc.log:1234", "gc.log (93 pauses)".
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        match self.records {
            Some((n, one, many)) if !self.name.is_empty() => {
                write!(f, " ({})", crate::quantity::plural(n, one, many))
            }
            _ => Ok(()),
        }
    }
}

/// [`Evidence`] as JSON has it.
#[derive(Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
struct WrittenEvidence<'e> {
    /// What was measured, by its id in docs/evidence.md; null for text that is no metric.
    metric: Option<&'static str>,
    value: Bare<'e>,
    unit: Option<Unit>,
    baseline: Bare<'e>,
    /// Further quantities, names and lists, by their names.
    details: BTreeMap<&'static str, &'e Value>,
    /// The fact in words, figures and units included.
    text: String,
    /// Where it stands: "gc.log:1234", "gc.log (93 pauses)".
    source: String,
    file: Option<&'e str>,
    line: Option<u64>,
    /// Of how many records it is a summary.
    records: Option<usize>,
    /// The moment that it speaks of, nanoseconds on the recording's clock.
    at_ns: Option<i64>,
    span_id: Option<SpanId>,
    thread_id: Option<ThreadId>,
    stack_id: Option<StackId>,
}

impl Serialize for Evidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let measured = !self.fact.metric.id.is_empty();
        let value = self.fact.value.as_ref().filter(|_| measured);
        let written = WrittenEvidence {
            metric: measured.then_some(self.fact.metric.id),
            value: Bare(value),
            unit: value.and_then(Value::unit),
            baseline: Bare(self.fact.baseline.as_ref()),
            details: self.fact.details.iter().map(|(name, value)| (*name, value)).collect(),
            text: self.text(),
            source: self.source.to_string(),
            file: Some(self.source.name.as_str()).filter(|name| !name.is_empty()),
            line: self.source.line,
            records: self.source.records.map(|(n, ..)| n),
            at_ns: self.at_ns,
            span_id: self.span,
            thread_id: self.thread,
            stack_id: self.stack,
        };
        written.serialize(serializer)
    }
}

/// A part of a list as JSON has it: as [`WrittenEvidence`] without its place.
#[derive(Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub(super) struct WrittenFact<'f> {
    metric: Option<&'static str>,
    value: Bare<'f>,
    unit: Option<Unit>,
    baseline: Bare<'f>,
    details: BTreeMap<&'static str, &'f Value>,
    text: String,
}

impl Serialize for Fact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = WrittenFact {
            metric: Some(self.metric.id).filter(|id| !id.is_empty()),
            value: Bare(self.value.as_ref()),
            unit: self.value.as_ref().and_then(Value::unit),
            baseline: Bare(self.baseline.as_ref()),
            details: self.details.iter().map(|(name, value)| (*name, value)).collect(),
            text: self.sentence(),
        };
        written.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{Metric, TEXT};

    static RATE: Metric =
        Metric::new("test-rate", "{value} a second, {baseline} in the baseline, in {method}");

    #[test]
    fn json_has_the_data_and_the_sentence() {
        let fact = RATE.is(Value::per_second(93.04)).over(Value::per_second(3.0));
        let mut evidence = Evidence::summed("jit.xml", fact.with("method", Value::name("A.a()")));
        evidence.source.records = Some((4515, "compile task", "compile tasks"));
        let json = serde_json::to_value(&evidence).unwrap();
        assert_eq!(json["text"], "93.0 a second, 3.0 in the baseline, in A.a()");
        let data =
            ["metric", "value", "unit", "baseline", "file", "records"].map(|key| json[key].to_string());
        assert_eq!(data, ["\"test-rate\"", "93.04", "\"per-second\"", "3.0", "\"jit.xml\"", "4515"]);
        assert_eq!(json["details"]["method"]["value"], "A.a()");
        assert!(json["source"].as_str().unwrap().starts_with("jit.xml (4"));
    }

    #[test]
    fn text_that_is_no_metric_has_no_value() {
        let json =
            serde_json::to_value(Evidence::summed("gc.log", TEXT.is(Value::name("as the log has it"))))
                .unwrap();
        assert!(json["metric"].is_null() && json["value"].is_null());
        assert_eq!(json["text"], "as the log has it");
    }
}
