//! The collector itself: its concurrent work, the threads it held up, its failures, and the
//! CPU it got.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{figure, kind};
use fathom_recording::{Span, ThreadId};
use serde::Serialize;

use super::super::by_name::ByName;
use super::super::{Distribution, Limits, Metric};
use super::{Grade, Group, Scope};
use crate::collections::{self, Pause, Worked};
use crate::facts::{Unit, Value, judged as words};

/// CPU used in pauses as a share of wall time × workers. A quiet machine gives 0.6 to 0.95; below
/// one half the workers waited for more than they worked. Measured on two CPUs with a load of
/// 20: 0.15.
const EFFICIENCY: (f64, f64) = (0.5, 0.25);
/// Kernel mode as a share of the CPU used in pauses: the collector hardly needs the kernel.
const SYS_SHARE: Limits = Limits { fine: 0.25, watch: 0.5 };
/// Gap between lines of one pause in which no work was printed, milliseconds. Lines of one pause
/// follow each other within microseconds; 20 ms is two time slices of a busy CPU.
const IDLE_GAP_MS: Limits = Limits { fine: 20.0, watch: 200.0 };
/// One stall of one thread, milliseconds; the same as a pause for the request that the thread
/// serves.
const STALL_MS: f64 = 10.0;

/// Concurrent work by name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConcurrentRow {
    /// What the log calls it.
    pub name: String,
    /// Lengths, milliseconds.
    pub length_ms: Distribution,
}

/// What one thread waited for memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StallRow {
    /// The thread.
    pub thread: String,
    /// What the log calls the stall.
    pub kind: String,
    /// Lengths, milliseconds.
    pub length_ms: Distribution,
}

pub(super) fn concurrent(scope: &Scope<'_>) -> Vec<ConcurrentRow> {
    let mut names: ByName<'_, Vec<f64>> = ByName::new(scope.recording);
    for span in collections::of_kind(scope.recording, kind::GC_CONCURRENT, scope.jvm, scope.asked) {
        names.of(span.name_id()).push(span.duration_ns() as f64 / 1e6);
    }
    let row = |(name, lengths): (&str, Vec<f64>)| ConcurrentRow {
        name: name.to_owned(),
        length_ms: Distribution::of(lengths),
    };
    let mut rows: Vec<_> = names.into_rows().into_iter().map(row).collect();
    rows.sort_by(|a, b| b.length_ms.total.total_cmp(&a.length_ms.total));
    rows
}

pub(super) fn stalls(scope: &Scope<'_>) -> Vec<StallRow> {
    let mut threads: BTreeMap<(Option<ThreadId>, &str), Vec<f64>> = BTreeMap::new();
    for span in stall_spans(scope) {
        threads.entry((span.thread(), span.name())).or_default().push(span.duration_ns() as f64 / 1e6);
    }
    let name = |thread: Option<ThreadId>| {
        let thread = thread.and_then(|t| scope.recording.threads.get(t.index()));
        thread.map_or("not named", |t| scope.recording.strings.get(t.name)).to_owned()
    };
    let mut rows: Vec<_> = threads
        .into_iter()
        .map(|((thread, kind), lengths)| StallRow {
            thread: name(thread),
            kind: kind.to_owned(),
            length_ms: Distribution::of(lengths),
        })
        .collect();
    rows.sort_by(|a, b| b.length_ms.total.total_cmp(&a.length_ms.total));
    rows
}

fn stall_spans<'a>(scope: &Scope<'a>) -> impl Iterator<Item = Span<'a>> {
    collections::of_kind(scope.recording, kind::GC_STALL, scope.jvm, scope.asked)
}

pub(super) fn group(scope: &Scope<'_>) -> Group {
    let worked = Worked::of(scope.pauses.iter());
    let mut metrics: Vec<Metric> = efficiency(scope, worked).into();
    metrics.extend([kernel(scope, worked), failures(scope), idle_gap(scope)]);
    metrics.extend(cycles(scope));
    metrics.extend(stall_metrics(scope));
    metrics.extend(host_load(scope));
    Group { name: "Collector", metrics }
}

fn efficiency(scope: &Scope<'_>, worked: Option<Worked>) -> [Metric; 2] {
    let grade = |s: f64| scope.grade_cost(if s >= EFFICIENCY.1 { Grade::Watch } else { Grade::Bad });
    let share = worked.and_then(|w| w.efficiency);
    let unknown = if worked.is_some() { &words::NO_WORKERS } else { &words::NO_CPU };
    let cpus = worked.map(|w| w.cpu.cpu_s() / w.cpu.real_s);
    [
        Metric::new("pause_cpu_efficiency", "CPU used in pauses of what the workers could use", share, Unit::Share)
            .means("CPU ÷ (wall × workers) over pauses of 50 ms or more. Little CPU in a long pause: the collector waited.")
            .because(unknown.fact())
            .judged(|s| match s {
                s if s >= EFFICIENCY.0 => (Grade::Fine, words::USUAL_FROM.is(Value::share(EFFICIENCY.0))),
                s => (grade(s), words::WORKERS_WAITED.fact()),
            }),
        Metric::new("pause_cpus", "CPUs at work in pauses", cpus, Unit::Cpus)
            .means("CPU ÷ wall over pauses of 50 ms or more. At least one worker has work all along.")
            .because(words::NO_CPU.fact())
            .judged(|n| match n {
                n if n < EFFICIENCY.0 => (grade(n), words::WORKERS_WAITED.fact()),
                _ if share.is_some() => (Grade::NotJudged, words::BY_WORKERS.fact()),
                _ => (Grade::NotJudged, words::NO_MOST_CPUS.fact()),
            }),
    ]
}

fn kernel(scope: &Scope<'_>, worked: Option<Worked>) -> Metric {
    let share = worked.map(|w| w.cpu).filter(|c| c.cpu_s() > 0.0).map(|c| c.sys_s / c.cpu_s());
    Metric::new("pause_sys_share", "Kernel share of the CPU used in pauses", share, Unit::Share)
        .means("The collector hardly needs the kernel. Much kernel time: memory touched for the first time, huge pages, swap.")
        .because(words::NO_CPU.fact())
        .judged(|s| match SYS_SHARE.grade(s) {
            Grade::Fine => (Grade::Fine, words::USUAL_UP_TO.is(Value::share(SYS_SHARE.fine))),
            grade => (scope.grade_cost(grade), words::KERNEL_MEMORY.fact()),
        })
}

fn failures(scope: &Scope<'_>) -> Metric {
    let failure = scope.recording.figure_of(figure::EVACUATION_FAILURE);
    let has_failed = |p: &&collections::Pause<'_>| failure(&p.span).is_some_and(|v| v > 0.0);
    let failed: Vec<_> = scope.pauses.iter().filter(has_failed).collect();
    let metric = Metric::new(
        "evacuation_failures",
        "Failures to evacuate or promote",
        Some(failed.len() as f64),
        Unit::Count,
    )
    .means("Collections that ran out of room for survivors, or CMS cycles overtaken by allocation.")
    .judged(|n| match n {
        0.0 => (Grade::Fine, words::NONE.fact()),
        _ => (Grade::Bad, words::NO_ROOM.fact()),
    });
    metric.at(failed.first().map(|p| p.span.position()))
}

fn idle_gap(scope: &Scope<'_>) -> Metric {
    let gap = scope.recording.figure_of(figure::IDLE_GAP_MS);
    let gap = |p: &&collections::Pause<'_>| gap(&p.span);
    let longest = scope
        .pauses
        .iter()
        .filter(|p| gap(p).is_some())
        .max_by(|a, b| gap(a).unwrap_or(0.0).total_cmp(&gap(b).unwrap_or(0.0)));
    Metric::new(
        "idle_gap_max",
        "Longest gap between lines of one pause",
        longest.and_then(|p| gap(&p)),
        Unit::Ms,
    )
    .means("Time within a pause in which no work was done, between two lines of its log.")
    .because(words::NO_LINES.fact())
    .judged(|ms| match IDLE_GAP_MS.grade(ms) {
        Grade::Fine => (Grade::Fine, words::LINES_FOLLOW.fact()),
        // The rule asks the same of it.
        Grade::Bad if longest.and_then(Pause::gap).is_none_or(|gap| !gap.idle) => {
            (Grade::Watch, words::GAP_UNKNOWN.fact())
        }
        grade => (grade, words::GAP_OF_LOG.fact()),
    })
    .at(longest.map(|p| p.span.position()))
}

fn cycles(scope: &Scope<'_>) -> Option<Metric> {
    let (covers, covered_ns) = scope.covers.zip(scope.covered_ns)?;
    let ranges: Vec<_> = collections::of_kind(scope.recording, kind::GC_CONCURRENT, scope.jvm, scope.asked)
        .map(|s| (s.t0_ns(), s.t1_ns()))
        .collect();
    if ranges.is_empty() {
        return None;
    }
    let share = collections::covered_ns(ranges, covers) as f64 / covered_ns as f64;
    let metric = Metric::new("concurrent_share", "Time with concurrent collector work", Some(share), Unit::Share)
        .means("Share of the run in which the collector worked concurrently with the application, on CPUs it then lacks.")
        .judged(|s| match s {
            s if s <= 0.5 => (Grade::Fine, words::RESTS.fact()),
            _ => (Grade::Watch, words::RARELY_RESTS.fact()),
        });
    Some(metric)
}

fn stall_metrics(scope: &Scope<'_>) -> Vec<Metric> {
    let longest = stall_spans(scope).max_by_key(|s| s.duration_ns());
    if longest.is_none() && !scope.pauseless() {
        return Vec::new();
    }
    let lengths = Distribution::of(stall_spans(scope).map(|s| s.duration_ns() as f64 / 1e6));
    let count = Metric::new("stalls", "Allocation stalls", Some(lengths.count as f64), Unit::Count)
        .means("A thread waited because the collector had not freed memory in time. Others ran on, so it is no pause.")
        .judged(|n| match n {
            0.0 => (Grade::Fine, words::NONE.fact()),
            _ if lengths.max < STALL_MS => (Grade::Watch, words::ALL_BELOW.is(Value::ms(STALL_MS))),
            _ => (Grade::Bad, words::STALLED.fact()),
        });
    let total = Metric::new(
        "stall_total",
        "Allocation stalls, all threads",
        Some(lengths.total / 1e3),
        Unit::DurationSeconds,
    )
    .means("Added up over threads; can exceed the length of the run.")
    .because(words::BY_LONGEST.fact());
    let max = Metric::new("stall_max", "Longest allocation stall", longest.map(|_| lengths.max), Unit::Ms)
        .means("For the request that the thread served, the same as a pause.")
        .because(words::NONE.fact())
        .judged(|ms| {
            if ms < STALL_MS {
                (Grade::Watch, words::SHORT.fact())
            } else {
                (Grade::Bad, words::LONGER_THAN_PAUSE.fact())
            }
        })
        .at(longest.map(|s| s.position()));
    vec![count, total, max]
}

fn host_load(scope: &Scope<'_>) -> Option<Metric> {
    let spans = collections::of_kind(scope.recording, kind::GC_CONCURRENT, scope.jvm, scope.asked)
        .chain(scope.pauses.iter().map(|p| p.span));
    let load = scope.recording.figure_of(figure::HOST_LOAD);
    let load = spans.filter_map(|s| load(&s)).reduce(f64::max)?;
    let cpus = scope.fact_number(fathom_recording::vocabulary::fact::CPUS);
    let metric = Metric::new("host_load_max", "Highest load of the machine", Some(load), Unit::Load)
        .means("Running and runnable threads of the whole machine, as ZGC prints it.")
        .judged(|load| match cpus.filter(|c| *c >= 1.0) {
            Some(cpus) if load > cpus => (Grade::Watch, words::LOAD_HIGH.is(Value::counted(cpus))),
            Some(cpus) => (Grade::Fine, words::LOAD_LOW.is(Value::counted(cpus))),
            None => (Grade::NotJudged, words::NO_CPUS.fact()),
        });
    Some(metric)
}
