//! The rows that were added within about a second.

use std::sync::{Arc, Mutex};

use super::names::Names;
use crate::{CountRow, Recording, SampleRow, SeriesId, Sink, SpanRow};

/// A point of a series.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub series: SeriesId,
    pub t_ns: i64,
    pub dt_ns: i64,
    pub value: f64,
}

/// See the module. Ids in it are the ring's.
pub(super) struct Segment {
    /// The generation of its stacks.
    pub names: Arc<Mutex<Names>>,
    /// Spans, counts and samples with their strings.
    pub rows: Recording,
    pub points: Vec<Point>,
    /// Id of its first span.
    pub first_span: u32,
    /// The earliest time at which its first row was added.
    pub began_ns: i64,
    /// When its last row was added, or the latest end of a row; for the open segment so far.
    pub ended_ns: i64,
    /// Records that each source had lost when it began, of the sources that had lost any.
    pub lost: Vec<(u32, u64)>,
}

impl Segment {
    pub fn new(names: &Arc<Mutex<Names>>, began_ns: i64, first_span: u32, lost: Vec<(u32, u64)>) -> Self {
        Self {
            names: Arc::clone(names),
            rows: Recording::new(),
            points: Vec::new(),
            first_span,
            began_ns,
            ended_ns: began_ns,
            lost,
        }
    }

    pub fn point(&mut self, series: SeriesId, t_ns: i64, dt_ns: i64, value: f64) {
        self.ended_ns = self.ended_ns.max(t_ns);
        self.points.push(Point { series, t_ns, dt_ns: dt_ns.max(0), value });
    }

    pub fn span(&mut self, row: &SpanRow<'_>) {
        self.ended_ns = self.ended_ns.max(row.t1_ns);
        self.rows.span(row);
    }

    pub fn count(&mut self, row: &CountRow<'_>) {
        self.ended_ns = self.ended_ns.max(row.t1_ns);
        self.rows.count(row);
    }

    pub fn sample(&mut self, row: &SampleRow<'_>) {
        self.ended_ns = self.ended_ns.max(row.t_ns);
        self.rows.sample(row);
    }

    pub fn len(&self) -> usize {
        self.rows.spans.len() + self.rows.counts.len() + self.rows.samples.len() + self.points.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Closes it: no more rows are added.
    pub fn close(&mut self, now_ns: i64) {
        self.ended_ns = self.ended_ns.max(now_ns);
        self.rows.shrink();
        self.points.shrink_to_fit();
    }

    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.rows.bytes() + self.points.capacity() * size_of::<Point>()
    }
}
