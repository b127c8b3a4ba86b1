//! The application's progress over time: all instances of a series on one grid of ticks.
//!
//! A throughput of three clients is one value, their sum; latencies of three clients are one
//! value, their median. Of the requests of an access log those count that did not fail: a server
//! that answers nothing but errors does so quickly. Rates are already divided by the elapsed time
//! of their tick. A tick without a value is a gap and not a zero; a tick that lasted much longer
//! than usual is a stall of whoever keeps time, most often of the whole JVM.

use fathom_recording::vocabulary::{live, series};
use fathom_recording::{ProcessId, Recording, Series, SeriesInfo, SeriesKind};

use crate::facts::{Value, windows as words};
use crate::intervals::Intervals;
use crate::{Fact, Window, stats};

/// The unit of requests that a recording counts at the connections of a JVM.
pub(crate) const REQUESTS: &str = "requests/s";
/// The unit of turns that threads make between sleeps.
pub(crate) const TURNS: &str = "turns/s";

/// Ticks looked at at most; a finer grid is made coarser, so that no input can ask for unbounded
/// memory.
const MAX_TICKS: i64 = 100_000;
/// A tick lasting so many times the usual is a stall …
const PROLONGED_TIMES: i64 = 2;
/// … when it is also this much longer, nanoseconds: timers of a busy machine are late by tens of
/// milliseconds.
const PROLONGED_NS: i64 = 200_000_000;
/// Names of latency series in the order in which they are preferred: the typical operation before
/// the extreme.
const LATENCY_NAMES: [&str; 6] = ["avg", "mean", "p50", "median", "50th", "latency"];

/// Latencies of a recording that are asked one after another.
const MOST_LATENCIES: usize = 8;

/// Part of a series without operations from which on that is what it shows.
const WITHOUT_OPERATIONS: f64 = 0.5;

/// What the application got done, on a grid of ticks.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Start of the first tick, nanoseconds.
    pub from_ns: i64,
    /// Length of a tick, nanoseconds.
    pub tick_ns: i64,
    /// Progress in each tick: operations per second, or the inverse of the latency, so that less is
    /// always worse. `None` where no series has a value.
    pub values: Vec<Option<f64>>,
    /// Ticks that are part of a prolonged one.
    pub stalled: Vec<bool>,
    /// Whether the values are inverse latencies.
    pub of_latency: bool,
    /// Of latencies: how many operations each tick is of, where the same source counts them; else
    /// empty.
    pub counts: Vec<f64>,
    /// The unit that is shown: "ops/s", "ms".
    pub unit: String,
    /// "throughput of client0, client1, client2".
    pub measured_on: String,
}

impl Progress {
    /// Whether it counts the requests that a JVM answered, as the recording has them.
    pub(crate) fn are_requests(&self) -> bool {
        self.unit == REQUESTS
    }

    /// Whether it counts turns of threads that sleep between them.
    pub(crate) fn are_turns(&self) -> bool {
        self.unit == TURNS
    }

    /// Ticks from one index to another as a window.
    pub fn window(&self, from: usize, to: usize) -> Window {
        let at = |i: usize| self.from_ns.saturating_add((i as i64).saturating_mul(self.tick_ns));
        Window { from_ns: at(from), to_ns: at(to) }
    }

    /// The first ticks alone.
    pub fn first(&self, ticks: usize) -> Self {
        let mut first = self.clone();
        first.values.truncate(ticks);
        first.stalled.truncate(ticks);
        first
    }

    /// Ticks whose middle lies in any of the windows.
    pub fn ticks_within<'a>(&'a self, windows: &[Window]) -> impl Iterator<Item = usize> + use<'a> {
        let windows = Intervals::of_windows(windows);
        (0..self.values.len()).filter(move |i| {
            let middle = self.window(*i, *i + 1).from_ns.saturating_add(self.tick_ns / 2);
            windows.touches(middle, middle)
        })
    }

    /// Their values; gaps too.
    pub fn within<'a>(&'a self, windows: &[Window]) -> impl Iterator<Item = Option<f64>> + use<'a> {
        self.ticks_within(windows).map(|i| self.values[i])
    }

    /// What windows come to, as it is shown: the mean rate, gaps as none (nobody saw any progress),
    /// or the mean latency of the operations, of the ticks where nobody counts operations. The mean
    /// of inverse latencies is the inverse of their harmonic mean, which hides the slow ones.
    pub fn mean_shown(&self, windows: &[Window]) -> Option<f64> {
        if !self.of_latency {
            let rates: Vec<f64> = self.within(windows).map(|rate| rate.unwrap_or(0.0)).collect();
            return stats::mean(&rates);
        }
        let weighted = |weight: &dyn Fn(usize) -> f64| {
            let ticks = self.ticks_within(windows).filter_map(|i| Some((weight(i), 1.0 / self.values[i]?)));
            let (sum, of) = ticks.fold((0.0, 0.0), |(sum, of), (w, latency)| (sum + w * latency, of + w));
            (of > 0.0).then(|| sum / of)
        };
        let by_count = weighted(&|i| self.counts.get(i).copied().unwrap_or(0.0));
        by_count.or_else(|| weighted(&|_| 1.0))
    }

    /// That a series of throughput counts no operation in most of its time.
    pub(crate) fn without_operations(&self) -> Option<Fact> {
        let known = self.values.iter().flatten();
        let (all, none) = (known.clone().count(), known.filter(|value| **value <= 0.0).count());
        if self.of_latency || none == 0 || (none as f64) < WITHOUT_OPERATIONS * all as f64 {
            return None;
        }
        let length = |ticks: usize| Value::ms(self.window(0, ticks).length_ns() as f64 / 1e6);
        let fact = words::NO_OPERATIONS.is(length(none)).with("series", Value::name(&self.measured_on));
        Some(fact.with("of", (none < all).then(|| length(all))))
    }

    /// A value as it is shown, in [`Progress::unit`].
    pub fn shown(&self, value: f64) -> f64 {
        if self.of_latency && value > 0.0 { 1.0 / value } else { value }
    }

    /// The progress that series of a recording measure: throughput, else latency; `None` without
    /// either.
    pub fn of(recording: &Recording, usable: impl Fn(&Series) -> bool) -> Option<Self> {
        let counts = |s: &Series| usable(s) && !counts_failures(recording, s);
        let rates = named(recording, SeriesKind::Rate, counts, |_| 0);
        if !rates.is_empty() {
            return Self::on_grid(recording, &rates, false);
        }
        Self::of_latency(recording, usable)
    }

    /// The same of latency alone.
    pub fn of_latency(recording: &Recording, usable: impl Fn(&Series) -> bool) -> Option<Self> {
        let latencies = named(recording, SeriesKind::Latency, &usable, rank_of_latency);
        Self::on_grid(recording, &latencies, true)
    }

    /// How long a JVM takes to answer requests, as the recording measures it at its connections.
    pub(crate) fn of_answers(recording: &Recording, jvm: ProcessId) -> Option<Self> {
        let is_own =
            |s: &&Series| s.info.name == live::PROCESS_REQUEST_TIME.name && s.info.process == Some(jvm);
        let times = recording.series.iter().find(is_own)?;
        let measured_on = format!("the time after which {} answers", recording.process_name(jvm));
        Some(Self { measured_on, ..Self::on_grid(recording, &[times], true)? })
    }

    /// The same of each latency series, the best name first: what is slow for one request of a
    /// hundred shows in no mean or median. The largest of a tick is one request, and is left out.
    pub fn of_latencies(recording: &Recording, usable: impl Fn(&Series) -> bool) -> Vec<Self> {
        let is_latency = |s: &&Series| s.info.kind == SeriesKind::Latency && usable(s);
        let mut names: Vec<&str> = Vec::new();
        for name in recording.series.iter().filter(is_latency).map(|s| s.info.name.as_str()) {
            if !names.contains(&name) && !["max", "min"].iter().any(|one| name.contains(one)) {
                names.push(name);
            }
        }
        names.sort_by_key(|name| rank_of_latency(name));
        let of_name = |name: &str| {
            let instances =
                named(recording, SeriesKind::Latency, |s| usable(s) && s.info.name == name, |_| 0);
            Self::on_grid(recording, &instances, true)
        };
        names.into_iter().take(MOST_LATENCIES).filter_map(of_name).collect()
    }

    fn on_grid(recording: &Recording, instances: &[&Series], of_latency: bool) -> Option<Self> {
        let first = instances.first()?;
        let tick_ns = usual_tick_ns(instances)?;
        let (from_ns, to_ns) = common_range(instances)?;
        let length_ns = to_ns.checked_sub(from_ns)?;
        let tick_ns = tick_ns.max(length_ns / MAX_TICKS + 1);
        let ticks = usize::try_from(length_ns / tick_ns).ok()?;
        let mut progress = Self {
            from_ns,
            tick_ns,
            values: vec![None; ticks],
            stalled: vec![true; ticks],
            of_latency,
            counts: Vec::new(),
            unit: first.info.unit.clone(),
            measured_on: measured_on(recording, instances),
        };
        let resampled: Vec<Resampled> = instances.iter().map(|s| Resampled::of(s, &progress)).collect();
        for i in 0..ticks {
            let values: Vec<f64> = resampled.iter().filter_map(|r| r.value(i)).collect();
            progress.stalled[i] = resampled.iter().all(|r| r.value(i).is_none() || r.prolonged[i]);
            progress.values[i] = match of_latency {
                _ if values.is_empty() => None,
                true => stats::median(&stats::sorted(values)).filter(|v| *v > 0.0).map(|v| 1.0 / v),
                false => Some(values.iter().sum()),
            };
        }
        if of_latency {
            progress.counts = counts(recording, instances, &progress);
        }
        Some(progress)
    }
}

/// The place of a latency among those of a typical operation.
fn rank_of_latency(name: &str) -> usize {
    LATENCY_NAMES.iter().position(|word| name.contains(word)).unwrap_or(LATENCY_NAMES.len())
}

/// How many operations each tick of latencies is of, by the rates of the same sources and
/// instances; empty where one of them has none.
fn counts(recording: &Recording, latencies: &[&Series], grid: &Progress) -> Vec<f64> {
    let mut counts = vec![0.0; grid.values.len()];
    for latency in latencies {
        let of = |s: &&Series| {
            let table = (s.info.source, s.info.process) == (latency.info.source, latency.info.process);
            let (own, other) = (&s.info, &latency.info);
            // A table with one column of each sort may call each by its own name.
            let instance =
                own.instance == other.instance || (own.instance == own.name && other.instance == other.name);
            own.kind == SeriesKind::Rate && !live::is_live(&own.name) && table && instance
        };
        let mut rates = recording.series.iter().filter(of);
        let Some(rate) = rates.next() else { return Vec::new() };
        let resampled = Resampled::of(rate, grid);
        counts
            .iter_mut()
            .enumerate()
            .for_each(|(i, count)| *count += resampled.value(i).unwrap_or(0.0).max(0.0));
    }
    counts
}

/// A series in words: what a table calls "avg_latency(ms)" is the mean latency.
fn in_words(info: &SeriesInfo) -> String {
    if info.kind != SeriesKind::Latency {
        return info.name.clone();
    }
    let words: Vec<&str> =
        info.name.split(|c: char| !(c.is_alphanumeric() || c == '.' || c == '%')).collect();
    let has = |known: &[&str]| words.iter().any(|word| known.contains(word));
    let percentile = |word: &&&str| {
        word.strip_prefix('p')
            .is_some_and(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit() || c == '.'))
    };
    match words.iter().find(percentile) {
        Some(p) => format!("{p} latency"),
        None if has(&["avg", "mean", "average"]) => "mean latency".to_owned(),
        None if has(&["median", "50th"]) => "median latency".to_owned(),
        None if has(&["max", "maximum"]) => "maximum latency".to_owned(),
        None if has(&["min", "minimum"]) => "minimum latency".to_owned(),
        None if info.name.contains("latency") => info.name.replace('_', " "),
        None => format!("latency {}", info.name),
    }
}

/// Whether a series counts requests that failed as well, and another one of its source those that
/// did not.
fn counts_failures(recording: &Recording, counted: &Series) -> bool {
    let without = |s: &Series| {
        s.info.name == series::REQUESTS_WITHOUT_5XX
            && (s.info.source, &s.info.instance) == (counted.info.source, &counted.info.instance)
    };
    counted.info.name == series::REQUESTS && recording.series.iter().any(without)
}

/// The series of a kind that share the best name and have at least three points.
fn named(
    recording: &Recording,
    kind: SeriesKind,
    usable: impl Fn(&Series) -> bool,
    rank: impl Fn(&str) -> usize,
) -> Vec<&Series> {
    let wanted =
        |s: &&Series| s.info.kind == kind && s.t_ns.len() >= 3 && !live::is_live(&s.info.name) && usable(s);
    let all: Vec<&Series> = recording.series.iter().filter(wanted).collect();
    // Of equally good names the one with most points, then the first.
    let points = |name: &str| all.iter().filter(|s| s.info.name == name).map(|s| s.t_ns.len()).sum::<usize>();
    let best = all
        .iter()
        .enumerate()
        .min_by_key(|(i, s)| (rank(&s.info.name), std::cmp::Reverse(points(&s.info.name)), *i))
        .map(|(_, s)| s.info.name.as_str());
    all.iter().filter(|s| Some(s.info.name.as_str()) == best).copied().collect()
}

fn usual_tick_ns(instances: &[&Series]) -> Option<i64> {
    let ticks = instances.iter().flat_map(|s| (0..s.t_ns.len()).map(|i| length_ns(s, i)));
    let ticks = stats::sorted(ticks.filter(|dt| *dt > 0).map(|dt| dt as f64));
    stats::median(&ticks).map(|dt| dt as i64).filter(|dt| *dt > 0)
}

/// What a point's value covers; a value at a timestamp holds until the next.
fn length_ns(series: &Series, i: usize) -> i64 {
    match series.dt_ns[i] {
        0 => series.t_ns.get(i + 1).map_or(0, |next| next.saturating_sub(series.t_ns[i])),
        dt => dt,
    }
}

/// The interval that all instances cover, where that is most of what any of them covers (clients
/// start and stop within seconds of each other, and their first and last ticks would look like
/// dips); else all of it.
fn common_range(instances: &[&Series]) -> Option<(i64, i64)> {
    let ends = instances.iter().filter_map(|s| {
        let last = s.t_ns.len().checked_sub(1)?;
        Some((s.t_ns[0], s.t_ns[last].saturating_add(length_ns(s, last))))
    });
    let all = ends.clone().reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
    let common = ends.reduce(|a, b| (a.0.max(b.0), a.1.min(b.1)))?;
    let length = |(from, to): (i64, i64)| to.saturating_sub(from);
    Some(if length(common) > length(all) / 2 { common } else { all })
}

fn measured_on(recording: &Recording, instances: &[&Series]) -> String {
    let name = instances.first().map_or("", |s| s.info.name.as_str());
    let words = instances.first().map_or_else(String::new, |s| in_words(&s.info));
    let mut of: Vec<&str> = instances
        .iter()
        .map(|s| match s.info.instance.as_str() {
            // A table with the name of its own column: throughput.csv.
            instance if instance.is_empty() || instance == name => {
                recording.sources.get(s.info.source.index()).map_or("", |source| source.name.as_str())
            }
            instance => instance,
        })
        .collect();
    of.dedup();
    let shown = of.len().min(4);
    let more = if of.len() > shown { format!(" and {} more", of.len() - shown) } else { String::new() };
    format!("{words} of {}{more}", of[..shown].join(", "))
}

/// One instance on the grid.
struct Resampled {
    /// By tick: value × time, and the time that has a value.
    sums: Vec<(f64, f64)>,
    prolonged: Vec<bool>,
    tick_ns: f64,
}

impl Resampled {
    fn of(series: &Series, grid: &Progress) -> Self {
        let mut resampled = Self {
            sums: vec![(0.0, 0.0); grid.values.len()],
            prolonged: vec![false; grid.values.len()],
            tick_ns: grid.tick_ns as f64,
        };
        for i in 0..series.t_ns.len() {
            let (t0, value) = (series.t_ns[i], series.value[i]);
            let dt = length_ns(series, i);
            if !value.is_finite() || dt <= 0 {
                continue;
            }
            // Up to the next point: intervals that overlap would count an operation twice, and let
            // a hostile file make every point cover every tick.
            let next = series.t_ns.get(i + 1).copied().unwrap_or(i64::MAX);
            resampled.add(grid, t0, t0.saturating_add(dt).min(next), value);
        }
        resampled
    }

    fn add(&mut self, grid: &Progress, t0: i64, t1: i64, value: f64) {
        let length = t1.saturating_sub(t0);
        let prolonged = length >= grid.tick_ns.saturating_mul(PROLONGED_TIMES)
            && length.saturating_sub(grid.tick_ns) >= PROLONGED_NS;
        let index = |t: i64| {
            let i = t.saturating_sub(grid.from_ns).max(0) / grid.tick_ns;
            usize::try_from(i).unwrap_or(usize::MAX).min(self.sums.len())
        };
        for tick in index(t0)..index(t1).saturating_add(1).min(self.sums.len()) {
            let w = grid.window(tick, tick + 1);
            let overlap = t1.min(w.to_ns).saturating_sub(t0.max(w.from_ns)).max(0) as f64;
            self.sums[tick].0 += value * overlap;
            self.sums[tick].1 += overlap;
            self.prolonged[tick] |= prolonged && overlap > self.tick_ns / 2.0;
        }
    }

    /// The value of a tick, where at least half of it has one.
    fn value(&self, tick: usize) -> Option<f64> {
        let (sum, with_value) = self.sums[tick];
        (with_value >= self.tick_ns / 2.0).then(|| sum / with_value)
    }
}

#[cfg(test)]
mod tests;
