//! Pauses: how many, how long, how often, of which kind, for which cause, and where their time
//! went.

use std::collections::{BTreeSet, HashSet};

use fathom_recording::StrId;
use fathom_recording::vocabulary::{figure, label};
use serde::Serialize;

use super::super::by_name::ByName;
use super::super::{Distribution, Limits, Metric};
use super::{Grade, Group, Scope, Totals};
use crate::MATTERS_SHARE;
use crate::collections::Pause;
use crate::facts::{Unit, Value, judged as words};
use crate::limits::{BAD_SHARE, LONG_MS};

/// Share of time stopped: the limits of the verdict.
pub(super) const STOPPED: Limits = Limits { fine: MATTERS_SHARE, watch: BAD_SHARE };
/// Longest pause, milliseconds: G1's default goal is 200 ms; the other limit is the verdict's.
const PAUSE_MS: Limits = Limits { fine: 200.0, watch: LONG_MS };
/// The same for ZGC and Shenandoah, whose pauses do not grow with the heap and are below 1 ms on a
/// machine that is not overloaded.
const PAUSE_MS_CONCURRENT: Limits = Limits { fine: 10.0, watch: 100.0 };
/// Longest pauses listed.
const LONGEST: usize = 10;

/// Pauses of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PauseRow {
    /// What the log calls them.
    pub kind: String,
    /// Their lengths, milliseconds.
    pub length_ms: Distribution,
    /// Mean time from the end of one to the start of the next of the same kind, seconds.
    pub interval_s: Option<f64>,
}

/// Pauses of one cause.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CauseRow {
    /// The cause; "not logged" where the log names none.
    pub cause: String,
    /// How many pauses.
    pub count: usize,
    /// Their total, milliseconds.
    pub total_ms: f64,
    /// The longest, milliseconds.
    pub max_ms: f64,
    /// Share of all time paused.
    pub share: f64,
}

/// A timed phase of pauses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseRow {
    /// Its name.
    pub phase: String,
    /// Its lengths, milliseconds.
    pub length_ms: Distribution,
    /// Share of the time of the pauses that print phases.
    pub share: f64,
}

/// One of the longest pauses.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LongestRow {
    /// Start, nanoseconds on the recording's clock.
    pub at_ns: i64,
    /// Start, seconds since the report's `zero_ns`; absent when the log has no timestamps.
    pub at_s: Option<f64>,
    /// Length, milliseconds.
    pub ms: f64,
    /// Kind.
    pub kind: String,
    /// Cause.
    pub cause: Option<String>,
    /// CPU seconds that it used; far less than its length means that it waited.
    pub cpu_s: Option<f64>,
    /// Where it stands.
    pub position: String,
}

pub(super) fn by_kind(scope: &Scope<'_>) -> Vec<PauseRow> {
    let mut kinds: ByName<'_, Vec<u32>> = ByName::new(scope.recording);
    for (i, pause) in (0..).zip(&scope.pauses) {
        kinds.of(pause.span.name_id()).push(i);
    }
    let row = |(kind, members): (&str, Vec<u32>)| {
        let pauses = || members.iter().filter_map(|i| scope.pauses.get(*i as usize));
        PauseRow {
            kind: kind.to_owned(),
            length_ms: Distribution::of(pauses().map(|p| p.ms())),
            interval_s: scope.covers.and_then(|_| mean_interval_s(pauses())),
        }
    };
    let mut rows: Vec<_> = kinds.into_rows().into_iter().map(row).collect();
    rows.sort_by(|a, b| b.length_ms.total.total_cmp(&a.length_ms.total));
    rows
}

fn mean_interval_s<'a>(pauses: impl Iterator<Item = &'a Pause<'a>> + Clone) -> Option<f64> {
    let pairs = pauses.clone().zip(pauses.skip(1));
    let gaps = Distribution::of(
        pairs.map(|(a, b)| b.span.t0_ns().saturating_sub(a.span.t1_ns()).max(0) as f64 / 1e9),
    );
    (gaps.count > 0).then_some(gaps.mean)
}

pub(super) fn causes(scope: &Scope<'_>) -> Vec<CauseRow> {
    let all_ms: f64 = scope.pauses.iter().map(|p| p.ms()).sum();
    let cause = scope.recording.label_of(label::CAUSE);
    let mut causes: ByName<'_, (usize, f64, f64)> = ByName::new(scope.recording);
    let mut not_logged = (0, 0.0, 0.0_f64);
    for pause in &scope.pauses {
        let row = cause(&pause.span).map_or(&mut not_logged, |cause| causes.of(cause));
        *row = (row.0 + 1, row.1 + pause.ms(), row.2.max(pause.ms()));
    }
    let mut causes = causes.into_rows();
    if not_logged.0 > 0 {
        causes.push(("not logged", not_logged));
    }
    let mut rows: Vec<_> = causes
        .into_iter()
        .map(|(cause, (count, total_ms, max_ms))| CauseRow {
            cause: cause.to_owned(),
            count,
            total_ms,
            max_ms,
            share: if all_ms > 0.0 { total_ms / all_ms } else { 0.0 },
        })
        .collect();
    rows.sort_by(|a, b| b.total_ms.total_cmp(&a.total_ms));
    rows
}

pub(super) fn phases(scope: &Scope<'_>) -> Vec<PhaseRow> {
    let Phases { words, repeated, of_ms } = phase_words(scope);
    let row = |(phase, key): (&str, StrId)| {
        let spans = scope.pauses.iter().map(|p| p.span);
        let length_ms = if repeated.contains(&key) {
            let figures = spans.flat_map(|span| span.figures_by_id().collect::<Vec<_>>());
            Distribution::of(figures.filter(|(k, _)| *k == key).map(|(_, ms)| ms))
        } else {
            Distribution::of(spans.filter_map(|span| span.figure_by_id(key)))
        };
        let share = if of_ms > 0.0 { length_ms.total / of_ms } else { 0.0 };
        PhaseRow { phase: phase.to_owned(), length_ms, share }
    };
    let mut rows: Vec<PhaseRow> = words.into_iter().map(row).collect();
    rows.sort_by(|a, b| b.length_ms.total.total_cmp(&a.length_ms.total));
    rows
}

/// The phases that pauses print.
struct Phases<'a> {
    /// By name, with the ids of their values.
    words: BTreeSet<(&'a str, StrId)>,
    /// Those that some pause prints more than once.
    repeated: HashSet<StrId>,
    /// The time of the pauses that print any.
    of_ms: f64,
}

fn phase_words<'a>(scope: &Scope<'a>) -> Phases<'a> {
    let strings = &scope.recording.strings;
    let mut phases = Phases { words: BTreeSet::new(), repeated: HashSet::new(), of_ms: 0.0 };
    // Whether a phase is among the values of a shape: each shape is looked at once, not once a
    // pause.
    let mut shapes: Vec<Option<bool>> = Vec::new();
    for pause in &scope.pauses {
        let shape = pause.span.figures_shape();
        if shape >= shapes.len() {
            shapes.resize(shape + 1, None);
        }
        let any = *shapes[shape].get_or_insert_with(|| {
            let mut here = HashSet::new();
            for key in pause.span.figure_keys() {
                let Some(phase) = strings.get(*key).strip_prefix(figure::PHASE_MS_PREFIX) else { continue };
                phases.words.insert((phase, *key));
                if !here.insert(*key) {
                    phases.repeated.insert(*key);
                }
            }
            !here.is_empty()
        });
        phases.of_ms += if any { pause.ms() } else { 0.0 };
    }
    phases
}

pub(super) fn longest(scope: &Scope<'_>) -> Vec<LongestRow> {
    let rank = |p: &&Pause<'_>| (std::cmp::Reverse(p.span.duration_ns()), p.span.t0_ns(), p.span.id);
    let mut order: Vec<_> = scope.pauses.iter().collect();
    if order.len() > LONGEST {
        order.select_nth_unstable_by_key(LONGEST, rank);
        order.truncate(LONGEST);
    }
    order.sort_unstable_by_key(rank);
    let zero = scope.covers.map(|_| scope.zero_ns);
    let row = |p: &&Pause<'_>| LongestRow {
        at_ns: p.span.t0_ns(),
        at_s: zero.map(|z| p.span.t0_ns().saturating_sub(z) as f64 / 1e9),
        ms: p.ms(),
        kind: p.span.name().to_owned(),
        cause: p.cause().map(str::to_owned),
        cpu_s: p.cpu().map(|c| c.cpu_s()),
        position: p.span.position(),
    };
    order.iter().map(row).collect()
}

pub(super) fn group(scope: &Scope<'_>) -> Group {
    let lengths = Distribution::of(scope.pauses.iter().map(|p| p.ms()));
    let totals = Totals::of(&scope.pauses);
    let some = !scope.pauses.is_empty();
    let metrics = vec![
        throughput(scope),
        Metric::new("total_pause", "Time paused", Some(totals.total_pause_s), Unit::DurationSeconds)
            .means("All stop-the-world collections added up.")
            .because(words::BY_SHARE.fact()),
        Metric::new("pauses", "Pauses", Some(lengths.count as f64), Unit::Count)
            .means("Stop-the-world collections; one nested in another is part of it.")
            .because(words::MANY_SHORT.fact()),
        long("pause_p50", "Median pause", some.then_some(lengths.p50), scope)
            .means("Half of the pauses are not longer."),
        long("pause_p99", "99th percentile pause", some.then_some(lengths.p99), scope).means(
            "99 of 100 pauses are not longer: what a request that meets a collection may have to wait.",
        ),
        long("max_pause", "Longest pause", some.then_some(lengths.max), scope)
            .means("The longest time for which every thread of the application was stopped.")
            .at(longest(scope).first().map(|row| row.position.clone())),
        interval(scope),
        full(scope, &totals),
        old(&totals),
    ];
    Group { name: "Pauses", metrics }
}

fn throughput(scope: &Scope<'_>) -> Metric {
    let name = "Time not stopped by the collector";
    Metric::new("gc_throughput", name, scope.stopped_share.map(|s| 1.0 - s), Unit::Share)
        .means("Share of the run in which the collector did not stop the application.")
        .because(match scope.covers {
            None => scope.no_time(),
            Some(_) => words::STOPS_UNNAMED.fact(),
        })
        .judged(|running| {
            let stopped = 1.0 - running;
            let (why, limit) = match STOPPED.grade(stopped) {
                Grade::Fine => (&words::STOPPED_BELOW, STOPPED.fine),
                Grade::Watch => (&words::STOPPED_ABOVE, STOPPED.fine),
                _ => (&words::STOPPED_ABOVE, STOPPED.watch),
            };
            let why = why.is(Value::share(stopped)).with("limit", Value::share(limit));
            (scope.grade_share(STOPPED.grade(stopped)), why)
        })
}

fn long(id: &'static str, name: &'static str, ms: Option<f64>, scope: &Scope<'_>) -> Metric {
    let (limits, usual, long) = if scope.pauseless() {
        (PAUSE_MS_CONCURRENT, &words::PAUSE_USUAL_CONCURRENT, &words::PAUSE_LONG_CONCURRENT)
    } else {
        (PAUSE_MS, &words::PAUSE_USUAL, &words::PAUSE_LONG)
    };
    Metric::new(id, name, ms, Unit::Ms).because(words::NO_PAUSE.fact()).judged(|ms| match limits.grade(ms) {
        Grade::Fine => (Grade::Fine, usual.is(Value::ms(limits.fine))),
        grade => {
            let passed = if grade == Grade::Bad { limits.watch } else { limits.fine };
            (grade, long.is(Value::ms(passed)))
        }
    })
}

fn interval(scope: &Scope<'_>) -> Metric {
    let stopped = scope.stopped_share;
    Metric::new(
        "pause_interval",
        "Mean time between pauses",
        scope.covers.and_then(|_| mean_interval_s(scope.pauses.iter())),
        Unit::DurationSeconds,
    )
    .means("From the end of a pause to the start of the next.")
    .because(words::FEW_PAUSES.fact())
    .judged(|_| match stopped {
        Some(share) if share > STOPPED.fine => (Grade::Watch, words::PAUSES_OFTEN.is(Value::share(share))),
        Some(share) => (Grade::Fine, words::PAUSES_TAKE.is(Value::share(share))),
        None => (Grade::NotJudged, scope.no_time()),
    })
}

fn full(scope: &Scope<'_>, totals: &Totals) -> Metric {
    let share = scope.covers_s().map(|s| totals.old_collections_s / s);
    Metric::new("full_gcs", "Full collections, by label", Some(totals.full_gcs as f64), Unit::Count)
        .means(
            "Collections that the log calls full. The whole heap is collected while the application waits.",
        )
        .judged(|n| match share {
            _ if n == 0.0 => (Grade::Fine, words::NONE.fact()),
            Some(share) => {
                let grade = scope.grade_share(STOPPED.grade(share)).max(Grade::Watch);
                (grade, words::SEE_CAUSES.is(Value::share(share)))
            }
            None => (Grade::Watch, words::SEE_CAUSES.fact()),
        })
}

fn old(totals: &Totals) -> Metric {
    Metric::new(
        "old_collections",
        "Stops that collected the old generation",
        Some(totals.old_collections as f64),
        Unit::Count,
    )
    .means("As above, with those that are full by what they do but not by name (concurrent mode failure).")
    .judged(|n| {
        let unlabelled = n as usize - totals.full_gcs.min(n as usize);
        match unlabelled {
            0 => (Grade::NotJudged, words::SAME_AS_ABOVE.fact()),
            more => (Grade::Watch, words::UNLABELLED.is(Value::count(more))),
        }
    })
}
