//! Rows into points: which interval a row covers, and what its counts are per second.
//!
//! A row's counts are what was done in one tick, and the tick's real length follows from the
//! timestamps: a ticker stalls with its program, so the row after a two-second stop holds three
//! seconds' work. Dividing by the nominal tick hides the stop; dividing by the elapsed time shows
//! it. Two conventions are in use:
//!
//! - a ticker writes a row when the tick is over: it covers [previous timestamp, timestamp). This
//!   is the default.
//! - a table of buckets starts with second 0: a row covers [timestamp, next timestamp). A table is
//!   read in this way if it counts from a start and its first timestamp is less than half a tick.
//!
//! Rows with equal timestamps (a tick shorter than the timestamps' resolution) are merged.

use std::rc::Rc;

use fathom_recording::clock::seconds;
use fathom_recording::{SeriesId, SeriesKind, Sink};

use super::column_names::{Cells, Measure};

/// Which side of its timestamp a row covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Convention {
    /// [previous timestamp, timestamp)
    Before,
    /// [timestamp, next timestamp)
    After,
}

/// A column of one instance while it is read into a series.
#[derive(Debug)]
pub(super) struct Out {
    pub(super) series: SeriesId,
    pub(super) measure: Rc<Measure>,
    /// The last value of a counter.
    counter: Option<f64>,
}

impl Out {
    pub(super) fn new(series: SeriesId, measure: Rc<Measure>) -> Self {
        Self { series, measure, counter: None }
    }

    /// What a cell adds to its row: the step of a counter, otherwise the cell itself.
    fn take(&mut self, value: f64) -> Option<f64> {
        if self.measure.cells != Cells::Counter {
            return Some(value);
        }
        let last = self.counter.replace(value)?;
        (value >= last).then_some(value - last)
    }
}

/// A row that is not written yet, because rows with the same or the next timestamp may still belong
/// to it.
#[derive(Debug)]
struct Pending {
    previous_ns: i64,
    stamp_ns: i64,
    /// Sum of the cells of each column, and how many there were.
    cells: Vec<(f64, u32)>,
}

/// The rows of one instance.
#[derive(Debug)]
pub(super) struct Ticks {
    convention: Convention,
    tick_ns: i64,
    pub(super) outs: Vec<Out>,
    pending: Option<Pending>,
}

/// A row whose timestamp is before that of the row above it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct GoesBack;

impl Ticks {
    pub(super) fn new(convention: Convention, tick_ns: i64, outs: Vec<Out>) -> Self {
        Self { convention, tick_ns, outs, pending: None }
    }

    /// Takes a row: its timestamp and the value of each column.
    pub(super) fn row(
        &mut self,
        stamp_ns: i64,
        values: &[Option<f64>],
        sink: &mut dyn Sink,
    ) -> Result<(), GoesBack> {
        let previous_ns = match &self.pending {
            Some(pending) if stamp_ns < pending.stamp_ns => return Err(GoesBack),
            Some(pending) if stamp_ns == pending.stamp_ns => None,
            Some(pending) => Some(pending.stamp_ns),
            None => Some(stamp_ns.saturating_sub(self.tick_ns)),
        };
        if let Some(previous_ns) = previous_ns {
            self.flush(stamp_ns, sink);
            self.pending = Some(Pending { previous_ns, stamp_ns, cells: vec![(0.0, 0); self.outs.len()] });
        }
        let Some(pending) = &mut self.pending else { return Ok(()) };
        for ((out, cell), value) in self.outs.iter_mut().zip(&mut pending.cells).zip(values) {
            if let Some(value) = value.and_then(|v| out.take(v)) {
                *cell = match out.measure.kind {
                    SeriesKind::Latency if cell.1 > 0 => (cell.0.max(value), 1),
                    _ => (cell.0 + value, cell.1 + 1),
                };
            }
        }
        Ok(())
    }

    /// Whether a row with a later timestamp has come.
    pub(super) fn is_beyond(&self, stamp_ns: i64) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.stamp_ns > stamp_ns)
    }

    /// Writes the last row.
    pub(super) fn finish(&mut self, sink: &mut dyn Sink) {
        let end = self.pending.as_ref().map(|p| p.stamp_ns.saturating_add(self.tick_ns));
        if let Some(end) = end {
            self.flush(end, sink);
        }
    }

    fn flush(&mut self, next_ns: i64, sink: &mut dyn Sink) {
        let Some(pending) = self.pending.take() else { return };
        let (from_ns, to_ns) = match self.convention {
            Convention::Before => (pending.previous_ns, pending.stamp_ns),
            Convention::After => (pending.stamp_ns, next_ns),
        };
        let dt_ns = to_ns.saturating_sub(from_ns);
        for (out, (sum, cells)) in self.outs.iter().zip(pending.cells) {
            if cells == 0 {
                continue;
            }
            let value = match out.measure.cells {
                Cells::Count | Cells::Counter => sum / seconds(dt_ns),
                Cells::AsIs => sum / f64::from(cells),
            };
            let value = value * out.measure.scale;
            match out.measure.kind {
                SeriesKind::Gauge => sink.point(out.series, pending.stamp_ns, 0, value),
                _ => sink.point(out.series, from_ns, dt_ns, value),
            }
        }
    }
}
