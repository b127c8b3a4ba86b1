//! Series: a number over time.

use serde::{Deserialize, Serialize};

use crate::{ProcessId, SourceId};

/// What the values of a series are, which decides how instances are summed and gaps are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeriesKind {
    /// Events per second over each point's interval, already divided by the elapsed time. Adds up
    /// over instances.
    Rate,
    /// A level at one time or over an interval (bytes, a queue's length). Adds up over instances.
    Gauge,
    /// A latency or another statistic of one instance. Does not add up; larger is worse.
    Latency,
}

/// What a series is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeriesInfo {
    /// Its key: "throughput", "avg_latency", "codecache.used".
    pub name: String,
    /// Unit of the values: "ops/s", "ms", "bytes".
    pub unit: String,
    /// Which of several instances: a client, a column, a process; empty if there is only one.
    pub instance: String,
    /// How values behave.
    pub kind: SeriesKind,
    /// The process that it belongs to, where that is known.
    pub process: Option<ProcessId>,
    /// Its source.
    pub source: SourceId,
}

/// A series with its points, in time order.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What it is.
    pub info: SeriesInfo,
    /// Start of the interval that each value covers, nanoseconds.
    pub t_ns: Vec<i64>,
    /// Length of the interval, nanoseconds; 0 for a value at one time.
    pub dt_ns: Vec<i64>,
    /// The values.
    pub value: Vec<f64>,
}
