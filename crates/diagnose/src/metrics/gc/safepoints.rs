//! Safepoints: every stop of all threads, whoever asked for it, and how long the threads took to
//! stop.

use fathom_recording::Span;
use fathom_recording::vocabulary::{figure, kind};
use serde::Serialize;

use super::super::by_name::ByName;
use super::super::{Distribution, Limits, Metric};
use super::pauses::STOPPED;
use super::{Grade, Group, Scope};
use crate::collections;
use crate::facts::{Unit, Value, judged as words};
use crate::limits::LONG_MS;
use crate::vm_operations::{self, Operation};
use crate::{Fact, LONG_STOP_MS};

/// Time for all threads to stop, milliseconds. Compiled code polls within microseconds; a thread
/// that was not running at all needs a CPU first, some milliseconds on a busy machine.
const REACH_MS: Limits = Limits { fine: 20.0, watch: 200.0 };
/// One operation, milliseconds: as for a pause of the collector.
const OPERATION_MS: Limits = Limits { fine: LONG_STOP_MS, watch: LONG_MS };

/// Stops for one VM operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OperationRow {
    /// The operation: "G1CollectForAllocation"; "stopped" where the log does not name it.
    pub operation: String,
    /// Whole stops, milliseconds.
    pub length_ms: Distribution,
    /// From the request until all threads stopped, milliseconds, where the log has it.
    pub reach_ms: Option<Distribution>,
}

fn spans<'a>(scope: &Scope<'a>) -> impl Iterator<Item = Span<'a>> {
    collections::of_kind(scope.recording, kind::SAFEPOINT, scope.jvm, scope.asked)
}

fn reach_ms(scope: &Scope<'_>) -> impl Fn(&Span<'_>) -> Option<f64> + Copy + use<> {
    let reach_ns = scope.recording.figure_of(figure::REACH_NS);
    move |span| Some(reach_ns(span)? / 1e6)
}

pub(super) fn by_operation(scope: &Scope<'_>) -> Vec<OperationRow> {
    let reach_ms = reach_ms(scope);
    let mut operations: ByName<'_, (Vec<f64>, Vec<f64>)> = ByName::new(scope.recording);
    for span in spans(scope) {
        let (lengths, reaches) = operations.of(span.name_id());
        lengths.push(span.duration_ns() as f64 / 1e6);
        reaches.extend(reach_ms(&span));
    }
    let mut rows: Vec<_> = operations
        .into_rows()
        .into_iter()
        .map(|(operation, (lengths, reaches))| OperationRow {
            operation: operation.to_owned(),
            length_ms: Distribution::of(lengths),
            reach_ms: (!reaches.is_empty()).then(|| Distribution::of(reaches)),
        })
        .collect();
    rows.sort_by(|a, b| b.length_ms.total.total_cmp(&a.length_ms.total));
    rows
}

pub(super) fn group(scope: &Scope<'_>) -> Group {
    let reach_ms = reach_ms(scope);
    let lengths = Distribution::of(spans(scope).map(|s| s.duration_ns() as f64 / 1e6));
    let reaches = Distribution::of(spans(scope).filter_map(|s| reach_ms(&s)));
    let worst = spans(scope).filter_map(|s| Some((reach_ms(&s)?, s))).max_by(|a, b| a.0.total_cmp(&b.0));
    let some = lengths.count > 0;
    let metrics = vec![
        stopped(scope, some),
        Metric::new("safepoints", "Safepoints", some.then_some(lengths.count as f64), Unit::Count)
            .means("Stops of all threads, for collections and for anything else.")
            .because(if some { words::NUMBER_ALONE.fact() } else { words::SWITCH_ON.fact() }),
        reach("reach_p99", "99th percentile time to stop", (reaches.count > 0).then_some(reaches.p99)).means(
            "From the request until the last thread stopped. Part of every stop, and not the collector's.",
        ),
        reach("reach_max", "Longest time to stop", worst.map(|(ms, _)| ms))
            .means("The worst case of the same.")
            .at(worst.map(|(_, span)| span.position())),
        longest_operation(scope, some),
    ];
    Group { name: "Safepoints", metrics }
}

fn stopped(scope: &Scope<'_>, some: bool) -> Metric {
    let share = scope.covers.zip(scope.covered_ns).filter(|_| some).map(|(covers, covered_ns)| {
        let pauses = scope.pauses.iter().map(|p| (p.span.t0_ns(), p.span.t1_ns()));
        let stops =
            collections::in_order(spans(scope).map(|s| (s.t0_ns(), s.t1_ns())), pauses, |stop| stop.0);
        1.0 - collections::covered_in_order_ns(stops, covers) as f64 / covered_ns as f64
    });
    Metric::new("stop_throughput", "Time not stopped at all", share, Unit::Share)
        .means("Share of the run in which no safepoint held the application, whoever asked for it.")
        .because(if some { words::NO_TIMESTAMPS.fact() } else { words::SWITCH_ON.fact() })
        .judged(|running| {
            let stopped = 1.0 - running;
            let beyond = scope.stopped_share.map_or(0.0, |gc| (stopped - gc).max(0.0));
            let why = words::STOPPED_BEYOND.is(Value::share(stopped)).with("beyond", Value::share(beyond));
            (scope.grade_share(STOPPED.grade(stopped)), why)
        })
}

/// What holds the JVM besides collections: whoever asks for it can ask less often.
fn longest_operation(scope: &Scope<'_>, some: bool) -> Metric {
    let mut named = vm_operations::Named::default();
    let operations = spans(scope).filter_map(|span| Some((named.of(&span)?, span)));
    let longest = operations.max_by_key(|(_, span)| span.duration_ns());
    let ms = longest.map(|(_, span)| span.duration_ns() as f64 / 1e6);
    Metric::new("operation_max", "Longest operation that is no collection", ms, Unit::Ms)
        .means("A heap dump, a dump of the threads' stacks and their like hold the application as a collection does.")
        .because(if some { words::NO_OPERATION.fact() } else { words::SWITCH_ON.fact() })
        .judged(|ms| match OPERATION_MS.grade(ms) {
            Grade::Fine => (Grade::Fine, words::NOT_NOTICED.is(Value::ms(OPERATION_MS.fine))),
            grade => (grade, named_operation(longest)),
        })
        .at(longest.map(|(_, span)| span.position()))
}

fn named_operation(longest: Option<(&Operation, Span<'_>)>) -> Fact {
    match longest {
        Some((of, _)) if !of.name().is_empty() => words::OPERATION.is(Value::name(of.words.0)),
        other => words::OPERATION_LOGGED.is(Value::name(other.map_or("", |(_, span)| span.name()))),
    }
}

fn reach(id: &'static str, name: &'static str, ms: Option<f64>) -> Metric {
    Metric::new(id, name, ms, Unit::Ms).because(words::NO_REACH.fact()).judged(|ms| {
        match REACH_MS.grade(ms) {
            Grade::Fine => (Grade::Fine, words::USUAL_UP_TO.is(Value::ms(REACH_MS.fine))),
            grade => (grade, words::SLOW_TO_STOP.fact()),
        }
    })
}
