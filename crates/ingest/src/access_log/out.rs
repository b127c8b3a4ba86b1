//! Writes requests into a recording: an operation for each whose duration is known, and series per
//! tick: how many requests there were, how many of them succeeded (no server error), and how long
//! they took.
//!
//! A request counts when it ended. Ticks are a tenth of a second when timestamps are precise enough
//! and there are many requests, otherwise a second, ten or sixty: the shortest in which enough
//! requests end on average that chance alone makes no dip. A tick without any between the first and
//! the last request is a zero, as a server logs every request. The first and the last tick are left
//! out, because the log holds only a part of them.

use fathom_recording::quantity::whole;
use std::path::Path;

use fathom_recording::clock::{MILLI_NS, SECOND_NS, seconds};
use fathom_recording::vocabulary::{figure, kind, series};
use fathom_recording::{
    Anchor, Check, ClockBasis, Process, ProcessId, SeriesInfo, SeriesKind, Sink, Source, SourceId, SpanRow,
    Unseen,
};
use rustc_hash::FxHashMap;

use super::clock_set_back::ClockSetBack;
use super::decide::{Decision, TimestampOf};
use super::template::Templates;
use super::unit::Unit;
use super::{ID, Row};
use crate::Tally;

/// Lengths of ticks, nanoseconds, and how many requests must end in one on average.
const TICKS: [(i64, f64); 4] =
    [(100 * MILLI_NS, 50.0), (SECOND_NS, 2.0), (10 * SECOND_NS, 2.0), (60 * SECOND_NS, 0.0)];
/// Ticks without a request are written one by one up to this many for each with one; a longer
/// interval of them is one point.
const MOST_EMPTY: i64 = 10;

/// What ended in a tick.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    requests: u64,
    server_errors: u64,
    timed: u64,
    sum_ms: f64,
    longest_ms: f64,
}

impl Bin {
    fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.server_errors += other.server_errors;
        self.timed += other.timed;
        self.sum_ms += other.sum_ms;
        self.longest_ms = self.longest_ms.max(other.longest_ms);
    }
}

/// Writes requests.
pub(super) struct Out<'s> {
    sink: &'s mut dyn Sink,
    name: String,
    source: SourceId,
    process: ProcessId,
    decision: Decision,
    resolution_ns: i64,
    /// The fine ticks in which requests are counted; they are merged when all is read.
    fine_ns: i64,
    bins: FxHashMap<i64, Bin>,
    covers_ns: Option<(i64, i64)>,
    untimed: u64,
    back: ClockSetBack,
}

impl<'s> Out<'s> {
    pub(super) fn new(sink: &'s mut dyn Sink, name: &str, decision: Decision, resolution_ns: i64) -> Self {
        let process = sink.add_process(Process { name: name.to_owned(), ..Process::default() });
        let source = sink.add_source(Source {
            name: name.to_owned(),
            format: ID.to_owned(),
            clock: ClockBasis::Epoch,
            anchor: Some(Anchor {
                zero_epoch_ns: 0,
                uncertainty_ns: resolution_ns,
                how: format!("its timestamps are wall-clock time, truncated to {} s", seconds(resolution_ns)),
            }),
            ..Source::default()
        });
        let fine_ns = if resolution_ns <= 100 * MILLI_NS { 100 * MILLI_NS } else { SECOND_NS };
        Self {
            sink,
            name: name.to_owned(),
            source,
            process,
            decision,
            resolution_ns,
            fine_ns,
            bins: FxHashMap::default(),
            covers_ns: None,
            untimed: 0,
            back: ClockSetBack::default(),
        }
    }

    pub(super) fn request(&mut self, row: &Row, templates: &Templates) {
        let unit = row.took.and_then(|took| took.unit).or(self.decision.unit);
        let took_ns = unit.zip(row.took).map(|(unit, took)| unit.of(took.value));
        self.untimed += u64::from(took_ns.is_none());
        self.back.stamp(row.line, row.at_ns);
        let (t0_ns, t1_ns) = match self.decision.stamp {
            TimestampOf::Start => (row.at_ns, row.at_ns.saturating_add(took_ns.unwrap_or(0))),
            TimestampOf::End => (row.at_ns.saturating_sub(took_ns.unwrap_or(0)), row.at_ns),
        };
        let covers = self.covers_ns.get_or_insert((t0_ns, t1_ns));
        *covers = (covers.0.min(t0_ns), covers.1.max(t1_ns));
        // A start that is truncated to its second was half a second later on average.
        let middle_ns = if self.decision.stamp == TimestampOf::Start { self.resolution_ns / 2 } else { 0 };
        let tick = t1_ns.saturating_add(middle_ns).div_euclid(self.fine_ns);
        let ms = took_ns.map(|ns| ns as f64 / MILLI_NS as f64);
        self.bins.entry(tick).or_default().add(&Bin {
            requests: 1,
            server_errors: u64::from(row.status >= 500),
            timed: u64::from(ms.is_some()),
            sum_ms: ms.unwrap_or(0.0),
            longest_ms: ms.unwrap_or(0.0),
        });
        if took_ns.is_some() {
            self.sink.span(&SpanRow {
                line: row.line,
                figures: &[(figure::STATUS, f64::from(row.status))],
                ..SpanRow::new(
                    kind::OPERATION,
                    templates.name(row.name),
                    (t0_ns, t1_ns),
                    self.process,
                    self.source,
                )
            });
        }
    }

    /// Writes the series and the checks of the log.
    pub(super) fn finish(mut self, durations: &str, tally: Tally, truncated: bool) {
        let tick_ns = self.series();
        let requests = tally.records;
        let decision = &self.decision;
        let resolution = seconds(self.resolution_ns);
        let timed = requests.saturating_sub(self.untimed);
        let unit = match timed {
            0 => String::new(),
            _ => format!(
                "{durations}: {}; {} of {} requests have none",
                decision.unit_is,
                whole(self.untimed),
                whole(requests)
            ),
        };
        let timestamps = format!(
            "timestamps are the {} of requests, {}; truncated to {resolution} s; requests count where they end, one point every {} s",
            if decision.stamp == TimestampOf::Start { "start" } else { "end" },
            decision.stamp_is,
            seconds(tick_ns),
        );
        let mut checks: Vec<Check> = Vec::new();
        // Many formats have no duration, the combined one of Apache and nginx among them: that is
        // not an error.
        let no_duration = Unseen { scope: None,
            what: "the durations of requests".to_owned(),
            why: format!("{durations}: {}", decision.unit_is),
            remedy: "a duration in the format: %D (Apache httpd, Tomcat, Jetty), $request_time (nginx), %DURATION% (Envoy)"
                .to_owned(),
        };
        if timed > 0 {
            let claim = "the log has the durations of requests".to_owned();
            checks.push(Check { claim, holds: true, detail: unit });
        }
        checks.extend([Check {
            claim: "the log shows what its timestamps mark".to_owned(),
            // Without durations nothing depends on it.
            holds: decision.stamp_known || timed == 0,
            detail: timestamps,
        }]);
        if let Some(detail) = self.back.message() {
            checks.push(Check {
                claim: "the clock of the log only goes forward".to_owned(),
                holds: false,
                detail,
            });
        }
        let covers_ns = self.covers_ns;
        let source = self.sink.source_mut(self.source);
        source.covers_ns = covers_ns;
        source.checks = checks;
        source.unseen.extend((timed == 0).then_some(no_duration));
        source.cut = truncated;
        tally.add_to(source);
    }

    /// The series; the length of their ticks.
    fn series(&mut self) -> i64 {
        let mut fine: Vec<(i64, Bin)> = std::mem::take(&mut self.bins).into_iter().collect();
        fine.sort_unstable_by_key(|(tick, _)| *tick);
        let (Some((first, _)), Some((last, _))) = (fine.first(), fine.last()) else { return self.fine_ns };
        let length_ns = last.saturating_sub(*first).saturating_add(1).saturating_mul(self.fine_ns);
        let requests: u64 = fine.iter().map(|(_, bin)| bin.requests).sum();
        let enough =
            |tick_ns: i64, least: f64| requests as f64 / (length_ns as f64 / tick_ns as f64) >= least;
        let mut fitting = TICKS.iter().filter(|(tick_ns, _)| *tick_ns >= self.fine_ns);
        let tick_ns = fitting
            .find(|(tick_ns, least)| enough(*tick_ns, *least))
            .map_or(self.fine_ns, |(tick_ns, _)| *tick_ns);
        let mut bins: Vec<(i64, Bin)> = Vec::new();
        for (tick, bin) in fine {
            let tick = tick.div_euclid(tick_ns / self.fine_ns);
            match bins.last_mut() {
                Some((at, sum)) if *at == tick => sum.add(&bin),
                _ => bins.push((tick, bin)),
            }
        }
        let mut until = bins.last().map_or(0, |(tick, _)| tick.saturating_add(1));
        // Of three ticks the one in the middle is whole.
        if bins.len() >= 3 {
            until = bins.pop().map_or(until, |(tick, _)| tick);
            bins.remove(0);
        }
        self.points(&bins, until, tick_ns);
        tick_ns
    }

    /// Writes ticks, and zeros between them and up to `until`.
    fn points(&mut self, bins: &[(i64, Bin)], until: i64, tick_ns: i64) {
        let requests = self.add_series(series::REQUESTS, "requests/s", SeriesKind::Rate);
        let served = self.add_series(series::REQUESTS_WITHOUT_5XX, "requests/s", SeriesKind::Rate);
        let errors = self.add_series(series::SERVER_ERRORS, "share", SeriesKind::Gauge);
        let timed = bins.iter().any(|(_, bin)| bin.timed > 0);
        let latency = timed.then(|| {
            let mean = self.add_series(series::AVG_LATENCY, "ms", SeriesKind::Latency);
            (mean, self.add_series(series::MAX_LATENCY, "ms", SeriesKind::Latency))
        });
        let first = bins.first().map_or(until, |(tick, _)| *tick);
        let one_by_one = until.saturating_sub(first) <= (bins.len() as i64).saturating_mul(MOST_EMPTY);
        let at = |tick: i64| tick.saturating_mul(tick_ns);
        let empty = |sink: &mut dyn Sink, from: i64, to: i64| {
            for series in [requests, served] {
                if one_by_one {
                    (from..to).for_each(|tick| sink.point(series, at(tick), tick_ns, 0.0));
                } else if from < to {
                    sink.point(series, at(from), at(to).saturating_sub(at(from)), 0.0);
                }
            }
        };
        let mut expected = first;
        for (tick, bin) in bins {
            empty(self.sink, expected, *tick);
            expected = tick.saturating_add(1);
            let t_ns = at(*tick);
            let without = bin.requests.saturating_sub(bin.server_errors);
            self.sink.point(requests, t_ns, tick_ns, bin.requests as f64 / seconds(tick_ns));
            self.sink.point(served, t_ns, tick_ns, without as f64 / seconds(tick_ns));
            self.sink.point(errors, t_ns, tick_ns, bin.server_errors as f64 / bin.requests.max(1) as f64);
            if let Some((mean, longest)) = latency.filter(|_| bin.timed > 0) {
                self.sink.point(mean, t_ns, tick_ns, bin.sum_ms / bin.timed as f64);
                self.sink.point(longest, t_ns, tick_ns, bin.longest_ms);
            }
        }
        empty(self.sink, expected, until);
    }

    fn add_series(&mut self, name: &str, unit: &str, kind: SeriesKind) -> fathom_recording::SeriesId {
        let stem = Path::new(&self.name).file_stem().map(|s| s.to_string_lossy().into_owned());
        self.sink.add_series(SeriesInfo {
            name: name.to_owned(),
            unit: unit.to_owned(),
            instance: stem.unwrap_or_default(),
            kind,
            process: None,
            source: self.source,
        })
    }
}

/// The unit of all durations of these requests, where any of them has one.
pub(super) fn written_unit(rows: &[Row]) -> Option<Unit> {
    rows.iter().find_map(|row| row.took?.unit)
}
