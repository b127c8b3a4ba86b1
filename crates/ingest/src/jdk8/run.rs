//! One run of a JVM within a log: its source, its clock, its counters and its self-checks.

mod checks;
mod figures;

use fathom_recording::quantity::whole;
use std::collections::BTreeSet;

use fathom_recording::clock::MILLI_NS;
use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{Anchor, ClockBasis, Process, ProcessId, Sink, Source, SourceId, SpanId, SpanRow};
use rustc_hash::FxHashMap;

use super::brackets::Concurrent;
use super::header::Header;
use super::pause::{Collector, Pause};
use super::safepoints::{Safepoints, Stop};
use super::timestamp::Timestamp;
use crate::jit::print_compilation::{CompilationLine, is_code_cache_full, record};
use crate::{Tally, jvm_warnings};
use figures::{figures_of, labels_of};

/// How far uptime may fall back within one run: lines of different threads overtake each other.
const REORDER_NS: i64 = 1_000_000_000;
/// The same right after a header, where a new run is likely.
const REORDER_AFTER_HEADER_NS: i64 = 100_000_000;
/// How far "date − uptime" may change within one run when uptime falls back: clocks are set by
/// less.
const ZERO_MOVED_NS: i64 = 2_000_000_000;
/// Timestamps are truncated to milliseconds, and a record is timestamped before it is measured.
const TIMESTAMP_NS: i64 = 2_000_000;
/// The most phase names that are kept; hostile input may have as many as it has lines.
const MAX_PHASE_KEYS: usize = 4096;

/// The most missing GC ids that are kept.
const MAX_MISSING: usize = 1024;

/// Sums for the self-checks.
#[derive(Default)]
struct Sums {
    pauses: u64,
    pause_ns: i64,
    negative: u64,
    last_pause_end_ns: Option<i64>,
    /// End of a pause that no stopped line has followed yet.
    unstopped_end_ns: Option<i64>,
    overlapping: u64,
    stops: u64,
    stop_ns: i64,
    /// Pauses between the first stop and the last: a log may begin or end without its stopped
    /// lines.
    covered_by_stops: Option<Covered>,
    next_id: Option<i64>,
    /// Ids that were skipped and have not come later.
    missing_ids: BTreeSet<i64>,
    missing_uncounted: bool,
    /// The id after that of G1's last initial mark: that of the concurrent cycle that it starts.
    cycle_id: Option<i64>,
    /// Cycles that a Full GC aborted before they had written a line: their ids are in no line.
    silent_cycles: u64,
    detailed: bool,
}

impl Sums {
    /// A Full GC, or the end of the log, comes before the cycle's thread has written anything
    /// (`ConcurrentMarkThread::run` of JDK 8 writes no line of a cycle that was aborted before it
    /// began).
    fn end_cycle(&mut self) {
        if self.cycle_id.take().is_some_and(|id| self.missing_ids.remove(&id)) {
            self.silent_cycles += 1;
        }
    }
}

/// Pauses that a stopped line followed, and those that none has followed yet.
#[derive(Clone, Copy, Default)]
struct Covered {
    pauses: u64,
    pause_ns: i64,
    pauses_since: u64,
    pause_since_ns: i64,
}

/// One run.
pub(super) struct Run {
    pub source: SourceId,
    pub process: ProcessId,
    basis: ClockBasis,
    first_line: u64,
    first_byte: u64,
    /// Epoch nanoseconds of uptime zero as first seen, and how far later records disagree.
    zero: Option<(i64, i64)>,
    dated: u64,
    last_uptime_ns: Option<i64>,
    covers_ns: Option<(i64, i64)>,
    /// The time that the log has reached, for records without a timestamp.
    cursor_ns: i64,
    header: Header,
    /// Facts of a header since the last record.
    collector: Option<Collector>,
    pub safepoints: Safepoints,
    pub tally: Tally,
    sums: Sums,
    phase_keys: FxHashMap<String, String>,
    warnings: u64,
}

impl Run {
    /// Adds a run to the recording.
    pub fn new(sink: &mut dyn Sink, name: &str, basis: ClockBasis, from: (u64, u64)) -> Self {
        let process = sink.add_process(Process { name: name.to_owned(), jvm: true, ..Process::default() });
        let source = sink.add_source(Source {
            name: name.to_owned(),
            format: super::ID.to_owned(),
            process: Some(process.0),
            clock: basis,
            ..Source::default()
        });
        Self {
            source,
            process,
            basis,
            first_line: from.0,
            first_byte: from.1,
            zero: None,
            dated: 0,
            last_uptime_ns: None,
            covers_ns: None,
            cursor_ns: 0,
            header: Header::default(),
            collector: None,
            safepoints: Safepoints::default(),
            tally: Tally::default(),
            sums: Sums::default(),
            phase_keys: FxHashMap::default(),
            warnings: 0,
        }
    }

    /// Whether a record with this timestamp is one of this run, or the first of the next.
    pub fn holds(&self, stamp: Timestamp, after_header: bool) -> bool {
        let (Some(uptime), Some(last)) = (stamp.uptime_ns, self.last_uptime_ns) else { return true };
        let moved = stamp.date_ns.zip(self.zero).map(|(date, (zero, _))| {
            date.saturating_sub(uptime).saturating_sub(zero).saturating_abs() > ZERO_MOVED_NS
        });
        let allowed = if after_header { REORDER_AFTER_HEADER_NS } else { REORDER_NS };
        let fell = uptime < last.saturating_sub(allowed);
        match moved {
            Some(moved) => !(moved && (fell || (after_header && uptime < last))),
            None => !fell,
        }
    }

    /// Takes the facts of a header.
    pub fn take_header(&mut self, header: Header) {
        self.header.facts.extend(header.facts);
    }

    /// Whether anything was recorded.
    pub fn has_records(&self) -> bool {
        self.tally.records > 0
    }

    /// Records a timestamp in the order of the log and returns its time on the run's clock; without
    /// a timestamp, the time that the log has reached.
    pub fn time(&mut self, stamp: Timestamp) -> i64 {
        if let (Some(date), Some(uptime)) = (stamp.date_ns, stamp.uptime_ns) {
            let now = date.saturating_sub(uptime);
            let zero = self.zero.get_or_insert((now, 0));
            zero.1 = zero.1.max(now.saturating_sub(zero.0).saturating_abs());
            self.dated += 1;
        }
        self.reached(stamp);
        let t = self.place(stamp).unwrap_or(self.cursor_ns);
        self.covers(t);
        t
    }

    /// Records how far the log has come: a record before that is a restart. A pause is written when
    /// its details have been read, which may be after the next record began.
    pub fn reached(&mut self, stamp: Timestamp) {
        if let Some(uptime) = stamp.uptime_ns {
            self.last_uptime_ns = Some(self.last_uptime_ns.map_or(uptime, |last| last.max(uptime)));
        }
    }

    /// Time of a timestamp on the run's clock, without recording it.
    pub fn place(&self, stamp: Timestamp) -> Option<i64> {
        match self.basis {
            ClockBasis::Epoch => stamp.date_ns,
            ClockBasis::JvmUptime => {
                stamp.uptime_ns.or_else(|| Some(stamp.date_ns?.saturating_sub(self.zero?.0)))
            }
            _ => None,
        }
    }

    /// The time that the log has reached, as a timestamp; an empty one in a log without timestamps.
    pub fn current_timestamp(&self) -> Timestamp {
        let here = Some(self.cursor_ns);
        match self.basis {
            ClockBasis::Epoch => Timestamp { date_ns: here, ..Timestamp::default() },
            ClockBasis::JvmUptime => Timestamp { uptime_ns: here, ..Timestamp::default() },
            _ => Timestamp::default(),
        }
    }

    fn covers(&mut self, t: i64) {
        let (from, to) = self.covers_ns.get_or_insert((t, t));
        *from = (*from).min(t);
        *to = (*to).max(t);
        self.cursor_ns = self.cursor_ns.max(t);
    }

    /// Adds application time between two stops that carry no timestamps.
    pub fn pass(&mut self, ns: i64) {
        let t = self.cursor_ns.saturating_add(ns.max(0));
        self.covers(t);
    }

    /// Writes a pause with what is nested in it.
    pub fn pause(&mut self, sink: &mut dyn Sink, pause: &Pause) {
        let t0 = self.time(pause.stamp);
        let t1 = t0.saturating_add(pause.duration_ns.unwrap_or(0).max(0));
        self.covers(t1);
        self.count(pause, t0, t1);
        let id = self.emit(sink, pause, kind::GC_PAUSE, (t0, t1), None);
        for nested in &pause.nested {
            let n0 = self.place(nested.stamp).unwrap_or(t0).clamp(t0, t1);
            let n1 = n0.saturating_add(nested.duration_ns.unwrap_or(0).max(0)).min(t1.max(n0));
            self.emit(sink, nested, kind::GC_NESTED, (n0, n1), Some(id));
        }
    }

    fn count(&mut self, pause: &Pause, t0: i64, t1: i64) {
        let sums = &mut self.sums;
        let duration_ns = pause.duration_ns.unwrap_or(0);
        sums.pauses += 1;
        sums.negative += u64::from(duration_ns < 0);
        sums.pause_ns = sums.pause_ns.saturating_add(duration_ns.max(0));
        if sums.last_pause_end_ns.is_some_and(|end| t0 < end.saturating_sub(TIMESTAMP_NS)) {
            sums.overlapping += 1;
        }
        sums.unstopped_end_ns = Some(t1);
        sums.last_pause_end_ns = Some(sums.last_pause_end_ns.map_or(t1, |end| end.max(t1)));
        if let Some(covered) = &mut sums.covered_by_stops {
            covered.pauses_since += 1;
            covered.pause_since_ns = covered.pause_since_ns.saturating_add(duration_ns.max(0));
        }
        let parts = pause.young.is_some() || pause.old.is_some() || !pause.phases.is_empty();
        sums.detailed |= parts || pause.cause.is_some();
        if pause.full {
            sums.end_cycle();
        } else if pause.name.starts_with("GC pause") && pause.name.contains("initial-mark") {
            sums.cycle_id = pause.stamp.id.map(|id| id.saturating_add(1));
        }
        // CMS may collect the young generation as the serial collector does (-XX:-UseParNewGC).
        let is_young_of_cms = self.collector == Some(Collector::Cms)
            && pause.collector == Some(Collector::Serial)
            && !pause.full;
        if !is_young_of_cms {
            self.collector = pause.collector.or(self.collector);
        }
        self.tally.records += 1;
    }

    /// Records a GC id. Ids go up by one for every collection and every concurrent cycle; the
    /// records of a cycle repeat its id, and a record that takes long may end after one with a
    /// later id.
    pub fn id(&mut self, id: i64) {
        let sums = &mut self.sums;
        let next = sums.next_id.unwrap_or(id);
        if id < next {
            sums.missing_ids.remove(&id);
            return;
        }
        let room = MAX_MISSING.saturating_sub(sums.missing_ids.len());
        sums.missing_ids.extend((next..id).take(room));
        let gap = usize::try_from(id.abs_diff(next)).unwrap_or(usize::MAX);
        sums.missing_uncounted |= gap > room;
        sums.next_id = Some(id.saturating_add(1));
    }

    fn emit(
        &mut self,
        sink: &mut dyn Sink,
        pause: &Pause,
        kind: &str,
        (t0_ns, t1_ns): (i64, i64),
        parent: Option<SpanId>,
    ) -> SpanId {
        for (name, _) in &pause.phases {
            if !self.phase_keys.contains_key(name) && self.phase_keys.len() < MAX_PHASE_KEYS {
                self.phase_keys.insert(name.clone(), format!("{}{name}", figure::PHASE_MS_PREFIX));
            }
        }
        let mut figures: Vec<(&str, f64)> = Vec::with_capacity(32);
        figures_of(pause, &mut figures);
        for (name, ms) in &pause.phases {
            if let Some(key) = self.phase_keys.get(name) {
                figures.push((key, *ms));
            }
        }
        let qualifiers = pause.qualifiers.join(", ");
        let mut labels = labels_of(pause);
        if !qualifiers.is_empty() {
            labels.push((label::QUALIFIER, &qualifiers));
        }
        sink.span(&SpanRow {
            kind,
            name: &pause.name,
            t0_ns,
            t1_ns,
            process: self.process,
            thread: None,
            stack: None,
            source: self.source,
            line: pause.line,
            key: pause.stamp.id.unwrap_or(-1),
            parent,
            figures: &figures,
            labels: &labels,
        })
    }

    /// Writes what is known of a pause whose record was truncated.
    pub fn truncated(&self, sink: &mut dyn Sink, pause: &Pause) {
        let t = self.place(pause.stamp).unwrap_or(self.cursor_ns);
        let figures: &[(&str, f64)] = if pause.full { &[(figure::FULL, 1.0)] } else { &[] };
        let labels = labels_of(pause);
        sink.span(&SpanRow {
            labels: &labels,
            ..self.row((kind::GC_CUT, &pause.name), (t, t), pause.line, figures)
        });
    }

    /// Writes a concurrent phase; its timestamp is its end.
    pub fn concurrent(&mut self, sink: &mut dyn Sink, phase: &Concurrent) {
        let stamp_ns = self.time(phase.stamp);
        let wall_ns = phase.wall_ns.unwrap_or(0).max(0);
        // CMS and G1 timestamp the line when the phase has ended, Shenandoah when it begins.
        let t0_ns = match phase.collector {
            Collector::Shenandoah => stamp_ns,
            _ => stamp_ns.saturating_sub(wall_ns),
        };
        let t1_ns = t0_ns.saturating_add(wall_ns);
        let mut figures: Vec<(&str, f64)> = Vec::new();
        if let Some(change) = phase.change.filter(|_| phase.collector == Collector::Shenandoah) {
            figures.push((figure::HEAP_AFTER_BYTES, change.after));
            figures.extend(change.before.map(|b| (figure::HEAP_BEFORE_BYTES, b)));
        }
        self.tally.records += 1;
        self.collector = match self.collector {
            None | Some(Collector::Serial) => Some(phase.collector),
            known => known,
        };
        self.event(sink, (kind::GC_CONCURRENT, &phase.name), (t0_ns, t1_ns), phase.line, &figures);
    }

    /// Writes a line of PrintCompilation. Its timestamp is uptime; in a log on another clock it is
    /// placed at the current position. False when its message is unknown.
    pub fn compilation(&mut self, sink: &mut dyn Sink, number: u64, line: &CompilationLine<'_>) -> bool {
        let uptime_ns = line.stamp_ms.and_then(|ms| ms.checked_mul(MILLI_NS));
        let t_ns = uptime_ns.filter(|_| self.basis == ClockBasis::JvmUptime).unwrap_or(self.cursor_ns);
        let known = record(line, &self.row(("", ""), (t_ns, t_ns), number, &[]), sink);
        if known {
            self.covers(t_ns);
            self.tally.records += 1;
        }
        known
    }

    /// Writes a warning of the JVM, which it prints without a timestamp.
    pub fn warning(&mut self, sink: &mut dyn Sink, number: u64, line: &[u8]) {
        let text =
            memchr::memmem::find(line, b" VM warning: ").and_then(|at| line.get(at + 13..)).unwrap_or(line);
        self.trouble(sink, number, &jvm_warnings::text(text));
        if is_code_cache_full(line) {
            let at = (self.cursor_ns, self.cursor_ns);
            let figures = [(figure::COMPILER_DISABLED, 1.0)];
            self.event(sink, (kind::JIT_CODE_CACHE_FULL, "code cache full"), at, number, &figures);
        }
    }

    /// Writes a warning of the JVM, at the time that the log has reached.
    pub fn trouble(&mut self, sink: &mut dyn Sink, number: u64, text: &str) {
        self.warnings += 1;
        if self.warnings <= jvm_warnings::MOST {
            let at = (self.cursor_ns, self.cursor_ns);
            self.event(sink, (kind::JVM_WARNING, text), at, number, &[]);
            self.tally.records += 1;
        }
    }

    /// Takes a row of safepoint statistics. False when it cannot be placed on this run's clock.
    pub fn statistics(&mut self, line: u64, row: super::safepoints::Row) -> bool {
        let Some(t0_ns) = self.place(row.stamp) else { return false };
        self.covers(t0_ns);
        self.tally.records += 1;
        self.safepoints.row(line, t0_ns, row);
        true
    }

    /// Takes a stopped line: `stopped_ns` long, ending at `stamp`, or without one around the pause
    /// before it.
    pub fn stopped(&mut self, line: u64, stamp: Timestamp, line_of_stop: super::safepoints::StoppedLine) {
        let stamped = self.place(stamp).is_some();
        let pause_end = self.sums.unstopped_end_ns.take();
        let now = self.time(stamp);
        let (t0_ns, t1_ns) = if stamped {
            (now.saturating_sub(line_of_stop.stopped_ns), now)
        } else {
            let end = pause_end.unwrap_or_else(|| now.saturating_add(line_of_stop.stopped_ns));
            (end.saturating_sub(line_of_stop.stopped_ns), end)
        };
        self.covers(t1_ns);
        let covered = self.sums.covered_by_stops.get_or_insert_default();
        covered.pauses = covered.pauses.saturating_add(std::mem::take(&mut covered.pauses_since));
        covered.pause_ns = covered.pause_ns.saturating_add(std::mem::take(&mut covered.pause_since_ns));
        self.tally.records += 1;
        let at_ns = line_of_stop.reach_ns.map(|reach| line_of_stop.stopped_ns.saturating_sub(reach));
        let reach_ns = line_of_stop.reach_ns;
        self.safepoints.stop(Stop { line, t0_ns, t1_ns, reach_ns, at_ns, ..Stop::default() });
    }

    /// Writes the stops that are complete.
    pub fn write_stops(&mut self, sink: &mut dyn Sink) {
        for stop in std::mem::take(&mut self.safepoints.ready) {
            self.sums.stops += 1;
            self.sums.stop_ns = self.sums.stop_ns.saturating_add(stop.t1_ns.saturating_sub(stop.t0_ns));
            self.event(
                sink,
                (kind::SAFEPOINT, stop.name()),
                (stop.t0_ns, stop.t1_ns),
                stop.line,
                &stop.figures(),
            );
        }
    }

    fn event(
        &self,
        sink: &mut dyn Sink,
        name: (&str, &str),
        times_ns: (i64, i64),
        line: u64,
        figures: &[(&str, f64)],
    ) {
        sink.span(&self.row(name, times_ns, line, figures));
    }

    fn row<'a>(
        &self,
        (kind, name): (&'a str, &'a str),
        (t0_ns, t1_ns): (i64, i64),
        line: u64,
        figures: &'a [(&'a str, f64)],
    ) -> SpanRow<'a> {
        SpanRow { line, figures, ..SpanRow::new(kind, name, (t0_ns, t1_ns), self.process, self.source) }
    }

    /// Closes the run: last stops, its span, facts, anchor, counters and checks.
    pub fn finish(mut self, sink: &mut dyn Sink, to: (u64, u64), truncated: bool) {
        self.safepoints.finish();
        self.write_stops(sink);
        if let Some(covers) = self.covers_ns {
            self.event(sink, (kind::RUN, "run"), covers, self.first_line, &[]);
        }
        self.facts(sink);
        self.sums.end_cycle();
        let checks = self.checks();
        let source = sink.source_mut(self.source);
        source.lines = to.0.saturating_sub(self.first_line).saturating_add(1);
        source.bytes = to.1.saturating_sub(self.first_byte);
        source.covers_ns = self.covers_ns;
        source.cut = truncated;
        source.checks = checks;
        source.anchor =
            self.zero.filter(|_| self.basis == ClockBasis::JvmUptime).map(|(zero, spread)| Anchor {
                zero_epoch_ns: zero,
                // Dates are truncated to milliseconds.
                uncertainty_ns: spread.saturating_add(1_000_000),
                how: format!("date next to uptime in {} records", whole(self.dated)),
            });
        self.tally.add_to(source);
    }
}
