//! The clock of a recording as a diagnosis uses it: which sources can be compared with each other
//! in time, what they cover, and the timestamp that relative times count from.
//!
//! A source that could not be placed keeps its own timestamps (see
//! [`fathom_recording::Placement`]). Its rows must not be compared with those of others: a window
//! found on one clock means nothing on another.

use std::collections::BTreeSet;

use fathom_recording::vocabulary::{kind, live};
use fathom_recording::{ClockBasis, ProcessId, Recording, Series, SeriesKind, SourceId};

use rustc_hash::FxHashMap;

use crate::Window;
use crate::intervals::Intervals;

/// Which sources share the one clock, and where it starts.
pub(crate) struct Timeline<'a> {
    recording: &'a Recording,
    /// Sources that are on the one clock, by index.
    placed: Vec<bool>,
    /// Whether series could be compared with JVMs: both are on the clock, or only one of the two is
    /// there.
    pub(crate) series_usable: bool,
    /// First and last timestamp of what is on the clock.
    pub(crate) covers: Window,
    /// What relative times count from: of a live recording its start, whatever is given with it,
    /// so that every command counts alike; else the first tick of the series that windows are found
    /// on, else the start of the first JVM, else the first timestamp of all.
    pub(crate) zero_ns: i64,
    /// What that time is, in words.
    pub(crate) zero_is: &'static str,
    /// Whether times are wall-clock times.
    pub(crate) wall: bool,
}

/// Time between two recordings below which one goes on from the other: the JDK's flight recorder
/// needs some milliseconds from chunk to chunk.
const GAP_NS: i64 = 1_000_000_000;

/// The format of the source that a live recording is of as a whole.
const SESSION: &str = fathom_recording::vocabulary::source::SESSION;

impl<'a> Timeline<'a> {
    pub(crate) fn of(recording: &'a Recording) -> Self {
        let known = |i: usize| recording.sources[i].placement.is_known();
        // A recording whose sources say nothing of placement was written by one collector on one
        // clock.
        let any = (0..recording.sources.len()).any(known);
        let mut timeline = Self {
            recording,
            placed: (0..recording.sources.len()).map(|i| known(i) || !any).collect(),
            series_usable: true,
            covers: Window { from_ns: 0, to_ns: 0 },
            zero_ns: 0,
            zero_is: "",
            wall: true,
        };
        let all = timeline.all_jvms();
        if !all.is_empty() && !all.iter().any(|jvm| timeline.has_placed_source(*jvm)) {
            // Only a series is on the clock: judge the JVMs on theirs, without the series.
            timeline.series_usable = false;
            for (i, source) in recording.sources.iter().enumerate() {
                timeline.placed[i] = source.process.is_some();
            }
        }
        timeline.wall = (0..recording.sources.len())
            .filter(|i| timeline.placed[*i])
            .all(|i| recording.sources[i].placement.wall)
            && timeline.placed.contains(&true);
        timeline.covers = timeline.covered();
        (timeline.zero_ns, timeline.zero_is) = timeline.zero();
        timeline
    }

    pub(crate) fn is_placed(&self, source: SourceId) -> bool {
        self.placed.get(source.index()).copied().unwrap_or(true)
    }

    /// Whether a series may be used to find windows.
    pub(crate) fn usable(&self, series: &Series) -> bool {
        self.series_usable && self.is_placed(series.info.source)
    }

    /// All JVMs. Where nothing says that a process is one (an strace does not), those that waited
    /// for something.
    fn all_jvms(&self) -> Vec<ProcessId> {
        let processes = self.recording.processes.iter().enumerate();
        let jvms: Vec<_> = processes.filter(|(_, p)| p.jvm).map(|(i, _)| ProcessId(i as u32)).collect();
        if !jvms.is_empty() {
            return jvms;
        }
        let waited = crate::waits::record::WAITS.into_iter().flat_map(|kind| self.recording.spans_of(kind));
        waited.map(|span| span.process()).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// A JVM without any source of its own (a live recording names none) is taken to be on the
    /// clock.
    fn has_placed_source(&self, jvm: ProcessId) -> bool {
        let mut own = (0..self.placed.len()).filter(|i| self.recording.sources[*i].process == Some(jvm.0));
        own.clone().next().is_none() || own.any(|i| self.placed[i])
    }

    /// JVMs that can be judged, and those that cannot be put on the clock.
    pub(crate) fn jvms(&self) -> (Vec<ProcessId>, Vec<ProcessId>) {
        self.all_jvms().into_iter().partition(|jvm| self.has_placed_source(*jvm))
    }

    /// What sources cover that hold more than a series: the intervals in which anything could be
    /// seen of the JVMs.
    pub(crate) fn recorded(&self) -> Intervals {
        let mut extents: FxHashMap<SourceId, (i64, i64)> = FxHashMap::default();
        let mut runs: FxHashMap<SourceId, Vec<(i64, i64)>> = FxHashMap::default();
        let mut add = |source: SourceId, t0: i64, t1: i64| {
            let extent = extents.entry(source).or_insert((t0, t1));
            *extent = (extent.0.min(t0), extent.1.max(t1));
        };
        // An operation is of the application, as a series is, and shows nothing of a JVM; nor does
        // a mark.
        let kinds = self.recording.kinds().into_iter();
        let kinds = kinds.filter(|(kind, _)| ![kind::OPERATION, kind::MARK].contains(kind) && !of_dump(kind));
        for (kind, _) in kinds {
            for span in self.recording.spans_of(kind) {
                add(span.source(), span.t0_ns(), span.t1_ns());
                if kind == kind::RUN {
                    runs.entry(span.source()).or_default().push((span.t0_ns(), span.t1_ns()));
                }
            }
        }
        for count in self.recording.count_kinds().iter().flat_map(|(kind, _)| self.recording.counts_of(kind))
        {
            add(count.source(), count.t0_ns(), count.t1_ns());
        }
        for sample in self.recording.samples.iter() {
            add(sample.source, sample.t_ns, sample.t_ns.saturating_add(1));
        }
        let mut intervals = Vec::new();
        for (i, source) in self.recording.sources.iter().enumerate() {
            let id = SourceId(i as u32);
            let Some(extent) = extents.get(&id).filter(|_| self.is_placed(id)) else { continue };
            match (runs.remove(&id), source.covers_ns) {
                (Some(runs), _) => intervals.extend(runs),
                (None, Some(covers)) => intervals.push(covers),
                (None, None) => intervals.push(*extent),
            }
        }
        Intervals::of(intervals)
    }

    /// What a whole run is: what is on the clock, of a live recording what its sources say that
    /// they cover. A wait that began before has its real beginning, and nobody watched then. The
    /// time between two recordings in one file is no part of it.
    pub(crate) fn judged(&self) -> Vec<Window> {
        if !self.is_live() {
            return self.intervals().windows();
        }
        let said = self.recording.sources.iter().enumerate().filter(|(i, _)| self.placed[*i]);
        let said = said.filter_map(|(_, source)| source.covers_ns);
        let said = said.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        let said = said.map(|(from_ns, to_ns)| Window { from_ns, to_ns });
        vec![said.filter(|window| window.length_ns() > 0).unwrap_or(self.covers)]
    }

    fn is_live(&self) -> bool {
        self.recording.sources.iter().any(|source| source.format == SESSION)
    }

    /// Whether a source is a flight recording that says for which time it was made: a wait in it
    /// has its real beginning, which may lie days before, when nobody looked.
    fn is_flight(&self, source: SourceId) -> bool {
        let row = self.recording.sources.get(source.index());
        !self.is_live()
            && self.is_placed(source)
            && row.is_some_and(|row| row.format == "jfr" && row.covers_ns.is_some())
    }

    /// All that is on the clock, but for the time between two recordings that nothing was recorded
    /// in. A series goes on there.
    pub(crate) fn intervals(&self) -> Intervals {
        let whole = || Intervals::of_windows(&[self.covers]);
        let flights = (0..self.placed.len()).any(|i| self.is_flight(SourceId(i as u32)));
        if self.is_live()
            || !flights
            || self.recording.series.iter().any(|series| self.shows_progress(series))
        {
            return whole();
        }
        let mut intervals: Vec<(i64, i64)> = Vec::new();
        for (from, to) in self.recorded().and(&whole()).ranges() {
            match intervals.last_mut() {
                Some(last) if from.saturating_sub(last.1) < GAP_NS => last.1 = *to,
                _ => intervals.push((*from, *to)),
            }
        }
        if intervals.is_empty() { whole() } else { Intervals::of(intervals) }
    }

    /// Whether a series shows throughput or latency on the one clock.
    fn shows_progress(&self, series: &Series) -> bool {
        series.info.kind != SeriesKind::Gauge && !live::is_live(&series.info.name) && self.usable(series)
    }

    fn covered(&self) -> Window {
        let kinds = self.recording.kinds().into_iter().filter(|(kind, _)| !of_dump(kind));
        let spans = kinds.flat_map(|(kind, _)| self.recording.spans_of(kind));
        let is_flight: Vec<bool> =
            (0..self.placed.len()).map(|i| self.is_flight(SourceId(i as u32))).collect();
        let of_flight = |source: SourceId| is_flight.get(source.index()).copied().unwrap_or(false);
        let spans = spans.filter(|s| self.is_placed(s.source()) && !of_flight(s.source()));
        let spans = spans.map(|s| (s.t0_ns(), s.t1_ns()));
        let counts = self.recording.count_kinds().into_iter();
        let counts = counts.flat_map(|(kind, _)| self.recording.counts_of(kind));
        let counts = counts.filter(|c| self.is_placed(c.source())).map(|c| (c.t0_ns(), c.t1_ns()));
        let flights = self.recording.sources.iter().zip(&is_flight).filter(|(_, is_flight)| **is_flight);
        let flights = flights.filter_map(|(source, _)| source.covers_ns);
        let series = self.recording.series.iter().filter(|s| self.usable(s)).filter_map(|s| {
            let last = s.t_ns.len().checked_sub(1)?;
            Some((s.t_ns[0], s.t_ns[last].saturating_add(s.dt_ns[last])))
        });
        let samples = self.recording.samples.iter().filter(|s| self.is_placed(s.source));
        let samples = samples.map(|s| (s.t_ns, s.t_ns.saturating_add(1)));
        let covers = spans
            .chain(counts)
            .chain(flights)
            .chain(series)
            .chain(samples)
            .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
            .unwrap_or((0, 0));
        Window { from_ns: covers.0, to_ns: covers.1 }
    }

    fn zero(&self) -> (i64, &'static str) {
        // What a collector watched of a running JVM begins when it was ready, which is neither's
        // start.
        let live = self.recording.sources.iter().filter(|s| s.format == SESSION);
        if let Some((start, _)) = live.filter_map(|s| s.covers_ns).min() {
            return (start, "the start of the recording");
        }
        let ticks = self
            .recording
            .series
            .iter()
            .filter(|series| self.shows_progress(series))
            .filter_map(|s| s.t_ns.first().copied());
        if let Some(first) = ticks.min() {
            return (first, "the first tick of the series");
        }
        let runs = self.recording.spans_of(kind::RUN).filter(|s| self.is_placed(s.source()));
        let starts = runs.map(|run| {
            let source = &self.recording.sources[run.source().index()];
            match source.clock {
                ClockBasis::JvmUptime if source.placement.is_known() => source.placement.offset_ns,
                ClockBasis::JvmUptime => 0,
                _ => run.t0_ns(),
            }
        });
        match starts.min() {
            Some(start) => (start, "the start of the JVM"),
            None => (self.covers.from_ns, "the start of the recording"),
        }
    }
}

/// Whether rows of a kind are of a heap dump, which may be written hours after the last line of the
/// log that it is given with.
fn of_dump(of: &str) -> bool {
    [kind::HEAP_DUMP, kind::HEAP_HOLDER, kind::HEAP_DIRECT].contains(&of)
}

/// Where the seconds of windows count from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zero {
    /// Nanoseconds on the recording's clock.
    pub at_ns: i64,
    /// What that is, in words: "the start of the recording".
    pub is: &'static str,
    /// Whether the recording's clock is the wall clock.
    pub wall: bool,
}

/// Where the seconds of windows count from: the same for every command on the same recording.
pub fn zero(recording: &Recording) -> Zero {
    let timeline = Timeline::of(recording);
    Zero { at_ns: timeline.zero_ns, is: timeline.zero_is, wall: timeline.wall }
}

/// What a whole recording is where no window is given: the same for every command on the same
/// recording. A series that goes on beyond what was recorded is no part of it: operations of a time
/// in which nobody saw a thread would make each look cheaper than it is.
pub fn whole(recording: &Recording) -> Window {
    let timeline = Timeline::of(recording);
    let run = Intervals::of_windows(&timeline.judged());
    let recorded = timeline.recorded().and(&run);
    let of = if recorded.is_empty() { run } else { recorded };
    let (from, to) = (of.ranges().first().map(|s| s.0), of.ranges().last().map(|s| s.1));
    Window { from_ns: from.unwrap_or(0), to_ns: to.unwrap_or(0) }
}

/// The timestamp of [`zero`], nanoseconds on the recording's clock.
pub fn zero_ns(recording: &Recording) -> i64 {
    zero(recording).at_ns
}

#[cfg(test)]
mod tests {
    use fathom_recording::{Placement, SeriesInfo, Sink, Source};

    use super::*;
    use crate::built::Built;

    /// A JVM with a log and a series of a table, both placed as given.
    fn with_series(jvm_placed: Option<i64>, series_placed: Option<i64>) -> Recording {
        let mut built = Built::jvm("17", "G1", 100.0);
        let placement = |uncertainty_ns| Placement { uncertainty_ns, ..Placement::default() };
        for source in &mut built.recording.sources {
            source.placement = placement(jvm_placed);
            source.clock = ClockBasis::JvmUptime;
        }
        let table = Source {
            clock: ClockBasis::SinceStart,
            placement: placement(series_placed),
            ..Source::default()
        };
        let source = built.recording.add_source(table);
        let series = built.recording.add_series(SeriesInfo {
            name: "throughput".into(),
            unit: "ops/s".into(),
            instance: String::new(),
            kind: SeriesKind::Rate,
            process: None,
            source,
        });
        for i in 0..5_i64 {
            built.recording.point(series, 20_000_000_000 + i * 1_000_000_000, 1_000_000_000, 1.0);
        }
        built.sealed()
    }

    #[test]
    fn times_count_from_the_series_when_it_is_on_the_clock() {
        let r = with_series(Some(0), Some(0));
        let t = Timeline::of(&r);
        assert_eq!((t.zero_ns, t.series_usable), (20_000_000_000, true));
        assert_eq!(t.covers, Window { from_ns: 0, to_ns: 100_000_000_000 });
    }

    #[test]
    fn a_series_on_another_clock_is_not_held_against_the_jvm() {
        let r = with_series(Some(0), None);
        let t = Timeline::of(&r);
        assert_eq!((t.zero_ns, t.zero_is), (0, "the start of the JVM"));
        assert!(!r.series.iter().any(|s| t.usable(s)));
        let r = with_series(None, Some(0));
        let t = Timeline::of(&r);
        assert!(!t.series_usable && t.jvms().0.len() == 1);
        assert_eq!(t.covers.to_ns, 100_000_000_000);
    }

    #[test]
    fn times_of_a_live_recording_count_from_its_start_and_not_from_when_a_collector_was_ready() {
        let mut r = Recording::new();
        let process = r.add_process(fathom_recording::Process { jvm: true, ..Default::default() });
        let placement = Placement { uncertainty_ns: Some(0), wall: true, ..Placement::default() };
        let source = |name: &str| Source {
            name: name.into(),
            format: name.into(),
            clock: ClockBasis::Epoch,
            covers_ns: Some((1_000, 9_000)),
            placement: placement.clone(),
            ..Source::default()
        };
        r.add_source(source("session"));
        let source = r.add_source(source("jvm-events"));
        r.span(&fathom_recording::SpanRow::new(
            kind::RUN,
            "watched by probes",
            (3_500, 9_000),
            process,
            source,
        ));
        // A table as well, and the log of the JVM, which began before: times count alike with and
        // without them.
        let mut given_too = |name: &str, t0_ns: i64| {
            let placement = Placement { uncertainty_ns: Some(0), wall: true, ..Placement::default() };
            let row =
                Source { name: name.into(), placement, clock: ClockBasis::JvmUptime, ..Source::default() };
            let source = r.add_source(row);
            let series = r.add_series(SeriesInfo {
                name: "throughput".into(),
                unit: "ops/s".into(),
                instance: String::new(),
                kind: SeriesKind::Rate,
                process: None,
                source,
            });
            r.point(series, t0_ns, 1_000, 1.0);
        };
        given_too("clients.csv", 2_000);
        given_too("gc.log", -5_000);
        r.seal();
        let t = Timeline::of(&r);
        assert_eq!((t.zero_ns, t.zero_is), (1_000, "the start of the recording"));
    }

    #[test]
    fn what_began_before_a_file_was_recorded_and_the_time_between_two_are_not_looked_at() {
        const S: i64 = 1_000_000_000;
        const DAY: i64 = 86_400 * S;
        let window = |from_ns: i64, to_ns: i64| Window { from_ns, to_ns };
        let flight = |built: &mut Built, to_ns: i64| {
            for source in &mut built.recording.sources {
                (source.format, source.covers_ns) = ("jfr".into(), Some((0, to_ns)));
            }
        };
        let mut built = Built::jvm("21", "G1", 60.0);
        flight(&mut built, 60 * S);
        // A thread that has parked for fourteen days.
        built.on_thread(kind::LOCK_PARK, "idle", "", -14.0 * 86_400.0, 14.0 * 86_400e3 + 30e3);
        let r = built.sealed();
        let t = Timeline::of(&r);
        assert_eq!((t.covers, t.judged()), (window(0, 60 * S), vec![window(0, 60 * S)]));

        let mut built = Built::jvm("21", "G1", 60.0);
        flight(&mut built, DAY + 60 * S);
        built.span(kind::RUN, "run", 60.4, 60e3, &[], &[]);
        built.span(kind::RUN, "run", 86_400.0, 60e3, &[], &[]);
        let r = built.sealed();
        let t = Timeline::of(&r);
        // From chunk to chunk it goes on; the next one is another recording.
        assert_eq!(t.judged(), [window(0, 120_400_000_000), window(DAY, DAY + 60 * S)]);
        assert_eq!(t.covers, window(0, DAY + 60 * S));
    }

    #[test]
    fn an_empty_recording_has_a_timeline_too() {
        let r = Recording::new();
        let t = Timeline::of(&r);
        assert_eq!(t.covers.length_ns(), 0);
        assert!(!t.wall);
    }
}
