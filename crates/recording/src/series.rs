//! Series: a number over time.

use serde::{Deserialize, Serialize};

use crate::{ProcessId, SourceId};

/// What a series' values are, which decides how instances are added up and gaps are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeriesKind {
    /// Events per second over each point's interval, already divided by the elapsed time. Adds up
    /// over instances.
    Rate,
    /// A level at a moment or over an interval (bytes, a queue's length). Adds up over instances.
    Gauge,
    /// A latency or another statistic of one instance. Does not add up; larger is worse.
    Latency,
}

/// What a series is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesInfo {
    /// The word for it: "throughput", "avg_latency", "codecache.used".
    pub name: String,
    /// Unit of the values: "ops/s", "ms", "bytes".
    pub unit: String,
    /// Which of several alike: a client, a column, a process; empty when there is one.
    pub instance: String,
    /// How values behave.
    pub kind: SeriesKind,
    /// The process that it belongs to, when known.
    pub process: Option<ProcessId>,
    /// The source that it is from.
    pub source: SourceId,
}

/// A series with its points, in time order.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What it is.
    pub info: SeriesInfo,
    /// Start of the interval that each value covers, nanoseconds.
    pub t_ns: Vec<i64>,
    /// Length of the interval, nanoseconds; 0 for a value at a moment.
    pub dt_ns: Vec<i64>,
    /// The values.
    pub value: Vec<f64>,
}
