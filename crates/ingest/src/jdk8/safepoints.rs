//! Stops of all threads, reported in two ways that must not be counted twice.
//!
//! `PrintGCApplicationStoppedTime` prints a line at the end of every stop, to the nanosecond,
//! without the reason. `PrintSafepointStatistics` prints a row for each (most of them), in
//! milliseconds, with the VM operation, the threads and the parts of the stop; rows come in batches
//! of 300 (PrintSafepointStatisticsCount), long after.
//!
//! Where both are there, a row gives its name and parts to the stopped line of the same stop, and
//! makes no span of its own. For that the last stopped lines are held back. A row without a line
//! becomes a span when it lies before the first or after the last line; between them it is dropped,
//! because the line of its stop was too long ago to be held.
//!
//! JDK 9 to 12 have the same two (`Total time for which …` in unified logs, where the operation is
//! named on a line of its own); their reader joins them here as well.
//!
//! Columns (`SafepointSynchronize` of HotSpot 8 to 12, `update_statistics_on_*`): `spin` and
//! `block` are parts of `sync`, which lasts from the request until all threads have stopped;
//! `cleanup` and `vmop` follow it.

use std::collections::VecDeque;

use fathom_recording::clock::MILLI_NS;
use fathom_recording::vocabulary::figure;
use memchr::memmem;

use super::numbers::seconds_ns;
use super::timestamp::Timestamp;

/// How many stops and rows are held back: more than the 300 rows of a batch, with room for what
/// lies between.
const HELD: usize = 1024;

/// How much a row's start may differ from that of its stop: both timestamps are truncated to
/// milliseconds.
const TOLERANCE_NS: i64 = 5 * MILLI_NS;

/// A stop as it is recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Stop {
    pub line: u64,
    pub t0_ns: i64,
    pub t1_ns: i64,
    pub operation: Option<String>,
    pub reach_ns: Option<i64>,
    pub cleanup_ns: Option<i64>,
    pub at_ns: Option<i64>,
    pub threads: Option<i64>,
    pub runnable: Option<i64>,
    /// How long the application ran before it.
    pub since_last_ns: Option<i64>,
}

impl Stop {
    /// The reason for it.
    pub fn name(&self) -> &str {
        self.operation.as_deref().unwrap_or("stopped")
    }

    /// Its figures by the recording's keys.
    pub fn figures(&self) -> Vec<(&'static str, f64)> {
        let all = [
            (figure::REACH_NS, self.reach_ns),
            (figure::SINCE_LAST_NS, self.since_last_ns),
            (figure::CLEANUP_NS, self.cleanup_ns),
            (figure::AT_NS, self.at_ns),
            (figure::THREADS, self.threads),
            (figure::THREADS_RUNNABLE, self.runnable),
        ];
        all.into_iter().filter_map(|(key, value)| Some((key, value? as f64))).collect()
    }
}

/// "Total time for which application threads were stopped: 0.03 seconds, Stopping threads took:
/// 0.00002 seconds".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StoppedLine {
    pub stopped_ns: i64,
    pub reach_ns: Option<i64>,
}

impl StoppedLine {
    /// Parses the text after the timestamps.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let rest = text.strip_prefix(b"Total time for which application threads were stopped:")?;
        let reach = memmem::find(rest, b", Stopping");
        let stopped = rest.get(..reach.unwrap_or(rest.len()))?;
        let reach = reach.and_then(|at| rest.get(at..));
        Some(Self { stopped_ns: seconds_ns(stopped)?, reach_ns: reach.and_then(seconds_ns) })
    }
}

/// Seconds of "Application time: 1.23 seconds".
pub(super) fn application_ns(text: &[u8]) -> Option<i64> {
    seconds_ns(text.strip_prefix(b"Application time:")?)
}

/// A row of PrintSafepointStatistics.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Row {
    pub stamp: Timestamp,
    pub operation: String,
    pub threads: i64,
    pub runnable: i64,
    pub sync_ns: i64,
    pub cleanup_ns: i64,
    pub operation_ns: i64,
}

impl Row {
    /// "0.412: G1IncCollectionPause  [ 10 0 0 ] [ 0 0 0 0 5 ] 0".
    pub fn parse(line: &[u8]) -> Option<Self> {
        let (stamp, rest) = Timestamp::leading(line);
        let open = memchr::memchr(b'[', rest)?;
        let (name, rest) = rest.split_at(open);
        let (threads, rest) = numbers(rest)?;
        let (times, _) = numbers(rest)?;
        let &[threads, runnable, _] = threads.as_slice() else { return None };
        let &[_spin, _block, sync, cleanup, operation] = times.as_slice() else { return None };
        let name = name.trim_ascii();
        if name.is_empty() || name.len() > 80 {
            return None;
        }
        Some(Self {
            stamp,
            operation: String::from_utf8_lossy(name).into_owned(),
            threads,
            runnable,
            sync_ns: sync.checked_mul(MILLI_NS)?,
            cleanup_ns: cleanup.checked_mul(MILLI_NS)?,
            operation_ns: operation.checked_mul(MILLI_NS)?,
        })
    }

    /// The row as a stop of its own that begins at `t0_ns`.
    fn stop(self, line: u64, t0_ns: i64) -> Stop {
        let parts = [self.sync_ns, self.cleanup_ns, self.operation_ns];
        let lasts_ns = parts.iter().fold(0i64, |sum, ns| sum.saturating_add(*ns));
        Stop {
            line,
            t0_ns,
            t1_ns: t0_ns.saturating_add(lasts_ns),
            operation: Some(self.operation),
            reach_ns: Some(self.sync_ns),
            cleanup_ns: Some(self.cleanup_ns),
            at_ns: Some(self.operation_ns),
            threads: Some(self.threads),
            runnable: Some(self.runnable),
            since_last_ns: None,
        }
    }
}

/// The whole numbers of a bracketed group at the start of `text`, and what follows it.
fn numbers(text: &[u8]) -> Option<(Vec<i64>, &[u8])> {
    let text = text.trim_ascii_start().strip_prefix(b"[")?;
    let end = memchr::memchr(b']', text)?;
    let (group, rest) = text.split_at(end);
    let words = group.split(u8::is_ascii_whitespace).filter(|w| !w.is_empty());
    let numbers: Option<Vec<i64>> = words
        .map(|w| w.iter().all(u8::is_ascii_digit).then(|| super::numbers::leading_integer(w)).flatten())
        .collect();
    Some((numbers.filter(|n| !n.is_empty() && n.len() <= 8)?, rest.get(1..)?))
}

/// Holds stops back until their rows have come.
#[derive(Default)]
pub(crate) struct Safepoints {
    stops: VecDeque<Stop>,
    rows: VecDeque<Stop>,
    /// Start of the first and end of the last stopped line.
    covered_ns: Option<(i64, i64)>,
    /// Stops that are complete, in order; the reader drains it.
    pub ready: Vec<Stop>,
    /// Rows that add nothing.
    pub doubled: u64,
}

impl Safepoints {
    /// Takes a stopped line.
    pub fn stop(&mut self, mut stop: Stop) {
        let covered = self.covered_ns.get_or_insert((stop.t0_ns, stop.t1_ns));
        covered.1 = covered.1.max(stop.t1_ns);
        // With PrintSafepointStatisticsCount=1 the row is printed just before the line.
        if let Some(at) = self.rows.iter().position(|row| same(&stop, row))
            && let Some(row) = self.rows.remove(at)
        {
            name(&mut stop, row);
            self.doubled += 1;
        }
        self.stops.push_back(stop);
        if self.stops.len() > HELD {
            self.ready.extend(self.stops.pop_front());
        }
    }

    /// Takes a row that begins at `t0_ns`.
    pub fn row(&mut self, line: u64, t0_ns: i64, row: Row) {
        let row = row.stop(line, t0_ns);
        let near = self.stops.partition_point(|s| s.t0_ns < row.t0_ns.saturating_sub(TOLERANCE_NS));
        let held = self.stops.range_mut(near.min(self.stops.len())..).find(|s| same(s, &row));
        if let Some(stop) = held {
            name(stop, row);
            self.doubled += 1;
            return;
        }
        self.rows.push_back(row);
        if self.rows.len() > HELD
            && let Some(row) = self.rows.pop_front()
        {
            self.release(row);
        }
    }

    /// Nothing more comes: releases what is held.
    pub fn finish(&mut self) {
        self.ready.extend(self.stops.drain(..));
        for row in std::mem::take(&mut self.rows) {
            self.release(row);
        }
    }

    fn release(&mut self, row: Stop) {
        let covered = self.covered_ns.is_some_and(|(from, to)| (from..=to).contains(&row.t0_ns));
        if covered {
            self.doubled += 1;
        } else {
            self.ready.push(row);
        }
    }
}

/// Whether a row adds to a stop that has no row yet.
fn same(stop: &Stop, row: &Stop) -> bool {
    let name_fits = stop.operation.is_none() || stop.operation == row.operation;
    stop.threads.is_none() && name_fits && (stop.t0_ns.saturating_sub(row.t0_ns)).abs() <= TOLERANCE_NS
}

/// Adds to a stop what its row knows better.
fn name(stop: &mut Stop, row: Stop) {
    stop.operation = row.operation;
    stop.reach_ns = stop.reach_ns.or(row.reach_ns);
    stop.cleanup_ns = row.cleanup_ns;
    // What the line has to the nanosecond stays, without the cleanup, which only the row has.
    stop.at_ns = match (stop.at_ns, row.cleanup_ns) {
        (Some(at), Some(cleanup)) => Some(at.saturating_sub(cleanup).max(0)),
        _ => row.at_ns,
    };
    stop.threads = row.threads;
    stop.runnable = row.runnable;
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &[u8] =
        b"0.412: G1IncCollectionPause             [      10          2              0    ]      \
                         [     1     2     3     4     5    ]  0   ";

    #[test]
    fn a_stopped_line_is_read_in_both_generations() {
        assert_eq!(
            StoppedLine::parse(
                b"Total time for which application threads were stopped: 0.0561304 seconds, Stopping threads took: \
                  0.0000251 seconds"
            ),
            Some(StoppedLine { stopped_ns: 56_130_400, reach_ns: Some(25_100) })
        );
        assert_eq!(
            StoppedLine::parse(b"Total time for which application threads were stopped: 0,0003060 seconds"),
            Some(StoppedLine { stopped_ns: 306_000, reach_ns: None })
        );
        assert_eq!(application_ns(b"Application time: 1.5000000 seconds"), Some(1_500_000_000));
    }

    #[test]
    fn a_row_alone_is_a_stop_that_names_its_operation() {
        let row = Row::parse(ROW).unwrap();
        let mut safepoints = Safepoints::default();
        safepoints.row(7, 412_000_000, row);
        safepoints.finish();
        let [stop] = safepoints.ready.as_slice() else { panic!("one stop") };
        assert_eq!(stop.operation.as_deref(), Some("G1IncCollectionPause"));
        assert_eq!(stop.t1_ns - stop.t0_ns, 12 * MILLI_NS);
        assert_eq!((stop.reach_ns, stop.runnable), (Some(3 * MILLI_NS), Some(2)));
    }

    #[test]
    fn a_row_and_a_stopped_line_of_one_stop_are_one_stop_in_either_order() {
        for row_first in [true, false] {
            let mut safepoints = Safepoints::default();
            let stop =
                || Stop { t0_ns: 412_700_000, t1_ns: 425_000_000, reach_ns: Some(77), ..Stop::default() };
            if row_first {
                safepoints.row(7, 412_000_000, Row::parse(ROW).unwrap());
                safepoints.stop(stop());
            } else {
                safepoints.stop(stop());
                safepoints.row(7, 412_000_000, Row::parse(ROW).unwrap());
            }
            safepoints.finish();
            let [stop] = safepoints.ready.as_slice() else { panic!("one stop") };
            assert_eq!(stop.operation.as_deref(), Some("G1IncCollectionPause"));
            assert_eq!(stop.reach_ns, Some(77), "the exact value stays");
        }
    }

    #[test]
    fn lines_that_are_no_rows_are_refused() {
        for line in [
            "0.1: [GC 1K->2K(3K), 0.1 secs]",
            "x [1 2 3]",
            "x [a b c] [1 2 3 4 5]",
            "[ 1 2 3 ] [ 1 2 3 4 5 ]",
        ] {
            assert_eq!(Row::parse(line.as_bytes()), None, "{line}");
        }
    }
}
