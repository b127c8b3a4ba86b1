//! Metrics of a JVM, each with what it means and whether it is fine here.
//!
//! Other tools print sixty metrics and leave it to the reader to know which one to look at. Here a
//! metric carries one line on its meaning and a [`Grade`] with its reason; where a grade would be a
//! guess it is
//! [`Grade::NotJudged`], with the reason for that. A metric describes; it never names a cause. That
//! is what rules do.

mod by_name;
mod distribution;
pub mod gc;
pub mod jit;

pub use distribution::Distribution;

use serde::Serialize;

use crate::Fact;
use crate::facts::{Unit, Value, doubts, judged as words};

/// Whether a metric is fine in this run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// No judgement: the metric says nothing by itself, or what is needed to judge it was not
    /// logged.
    NotJudged,
    /// Nothing to do.
    Fine,
    /// Worth an eye: near a limit, or costly only for some applications.
    Watch,
    /// Costs the application time or endangers it.
    Bad,
}

/// One value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metric {
    /// Its id in the JSON form: "gc_throughput".
    pub id: &'static str,
    /// What it is called.
    pub name: &'static str,
    /// Its value; `None` when it is not in the log.
    pub value: Option<f64>,
    /// Its unit.
    pub unit: Unit,
    /// What it means, for somebody who does not know it.
    pub meaning: &'static str,
    /// Whether it is fine here.
    pub grade: Grade,
    /// Why it is judged so, or why not.
    pub why: Fact,
    /// Where the value stands, when it is that of one record: "gc.log:1234".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
}

impl Metric {
    /// It, its value, and why it is judged as it is.
    pub(crate) fn stated(&self) -> Fact {
        let value = self.value.map(|value| Value::Number(value, self.unit));
        let stated = Fact { value, ..doubts::BAD_METRIC.fact() }.with("id", Value::name(self.id));
        stated.with("metric", Value::name(self.name)).with("why", Value::from(self.why.clone()))
    }

    /// A metric that is not judged yet.
    fn new(id: &'static str, name: &'static str, value: Option<f64>, unit: Unit) -> Self {
        Self {
            id,
            name,
            value: value.filter(|v| v.is_finite()),
            unit,
            meaning: "",
            grade: Grade::NotJudged,
            why: words::NOT_LOGGED.fact(),
            position: None,
        }
    }

    /// With what it means.
    fn means(mut self, meaning: &'static str) -> Self {
        self.meaning = meaning;
        self
    }

    /// With a judgement, where there is a value to judge.
    fn judged(mut self, judge: impl FnOnce(f64) -> (Grade, Fact)) -> Self {
        if let Some(value) = self.value {
            (self.grade, self.why) = judge(value);
        }
        self
    }

    /// With the reason why it is not judged, or why there is no value.
    fn because(mut self, why: Fact) -> Self {
        self.why = why;
        self
    }

    /// With the place of its record.
    fn at(mut self, position: Option<String>) -> Self {
        self.position = position;
        self
    }
}

/// Two limits: up to the first a metric is fine, up to the second worth an eye, beyond it bad.
#[derive(Clone, Copy)]
struct Limits {
    fine: f64,
    watch: f64,
}

impl Limits {
    /// Where a value lies; more is worse.
    fn grade(self, value: f64) -> Grade {
        if value <= self.fine {
            Grade::Fine
        } else if value <= self.watch {
            Grade::Watch
        } else {
            Grade::Bad
        }
    }
}

/// A group of metrics that belong together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// What it is about: "Pauses".
    pub name: &'static str,
    /// The metrics, the most informative first.
    pub metrics: Vec<Metric>,
}
