//! Compiled code thrown away, traps taken, compilations that failed.
//!
//! Most code is thrown away in health: C1's code when C2's is there, an on-stack replacement when
//! the method itself is compiled. Only the rest costs time, because the method runs slower code
//! until it is compiled again. JDK 25 logs the reason; before, the newer code of the same method
//! of the same time shows that it only made room ([`is_benign`]).

use std::collections::{BTreeMap, HashMap};

use fathom_recording::Span;
use fathom_recording::vocabulary::{kind, label};
use serde::Serialize;

use super::super::Metric;
use super::{Grade, Group, Scope, tier};
use crate::facts::{Unit, Value, judged as words};

/// Rows of a table.
const LISTED: usize = 10;
/// How close the installation of better code must be for it to be the reason, nanoseconds. Both are
/// logged within one registration of the new code, stamped in milliseconds; 100 ms allows for a
/// descheduled compiler thread.
const REPLACED_WITHIN_NS: i64 = 100_000_000;
/// Real invalidations per second over the whole log. While javac ran, 14 of a hundred were real,
/// some five a second; a storm has more than twenty.
const STORM_PER_S: f64 = 20.0;
/// A method whose code was thrown away as often as this loops rather than warms up.
const LOOP: usize = 5;

/// Reasons of JDK 25 that mean that better code is there, or that a stub was linked (nmethod.hpp,
/// `InvalidationReason`).
const BENIGN: [&str; 4] = ["not used", "OSR invalidation", "set native function", "relocated"];

/// Events of one reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReasonRow {
    /// The reason; "not logged" where the log names none.
    pub reason: String,
    /// How many.
    pub count: usize,
    /// The methods that it happened to most often, with counts.
    pub methods: Vec<(String, usize)>,
}

/// A method whose code was thrown away and made again.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecompiledRow {
    /// The method.
    pub method: String,
    /// Real invalidations of its code.
    pub invalidated: usize,
    /// Compilations of it in all.
    pub compiled: usize,
    /// The reason named most often.
    pub reason: Option<String>,
}

/// Whether an invalidation is of no concern. `installs` are the installations of the same method.
pub fn is_benign(invalidation: &Span<'_>, installs: &[Span<'_>]) -> bool {
    if let Some(reason) = invalidation.label(label::REASON) {
        return BENIGN.iter().any(|benign| reason.starts_with(benign));
    }
    let old = tier(invalidation);
    installs.iter().any(|new| {
        let apart = new.t0_ns().saturating_sub(invalidation.t0_ns()).saturating_abs();
        apart <= REPLACED_WITHIN_NS && new.key() != invalidation.key() && tier(new) > old
    })
}

fn real<'a>(scope: &Scope<'a>) -> Vec<Span<'a>> {
    let mut installs: HashMap<&str, Vec<Span<'a>>> = HashMap::new();
    for span in scope.spans(kind::JIT_INSTALL) {
        installs.entry(span.name()).or_default().push(span);
    }
    let none = Vec::new();
    let benign = |span: &Span<'a>| is_benign(span, installs.get(span.name()).unwrap_or(&none));
    scope.spans(kind::JIT_INVALIDATE).filter(|span| !benign(span)).collect()
}

fn by_reason<'a>(spans: impl Iterator<Item = Span<'a>>) -> Vec<ReasonRow> {
    let mut reasons: BTreeMap<&str, (usize, HashMap<&str, usize>)> = BTreeMap::new();
    for span in spans {
        let (count, methods) = reasons.entry(span.label(label::REASON).unwrap_or("not logged")).or_default();
        *count += 1;
        *methods.entry(span.name()).or_default() += 1;
    }
    let mut rows: Vec<_> = reasons
        .into_iter()
        .map(|(reason, (count, methods))| ReasonRow {
            reason: reason.to_owned(),
            count,
            methods: most(methods),
        })
        .collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.count));
    rows
}

fn most(methods: HashMap<&str, usize>) -> Vec<(String, usize)> {
    let mut methods: Vec<_> = methods.into_iter().map(|(m, n)| (m.to_owned(), n)).collect();
    methods.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    methods.truncate(3);
    methods
}

pub(super) fn traps(scope: &Scope<'_>) -> Vec<ReasonRow> {
    by_reason(scope.spans(kind::JIT_TRAP))
}

pub(super) fn invalidations(scope: &Scope<'_>) -> Vec<ReasonRow> {
    by_reason(real(scope).into_iter())
}

pub(super) fn failures(scope: &Scope<'_>) -> Vec<ReasonRow> {
    by_reason(scope.spans(kind::JIT_FAILURE))
}

pub(super) fn recompiled(scope: &Scope<'_>) -> Vec<RecompiledRow> {
    let mut methods: BTreeMap<&str, (usize, HashMap<&str, usize>)> = BTreeMap::new();
    for span in real(scope) {
        let (count, reasons) = methods.entry(span.name()).or_default();
        *count += 1;
        if let Some(reason) = span.label(label::REASON) {
            *reasons.entry(reason).or_default() += 1;
        }
    }
    let mut compiled: HashMap<&str, usize> = HashMap::new();
    for span in super::compiles::compilations(scope) {
        *compiled.entry(span.name()).or_default() += 1;
    }
    let mut rows: Vec<_> = methods
        .into_iter()
        .map(|(method, (invalidated, reasons))| RecompiledRow {
            method: method.to_owned(),
            invalidated,
            compiled: compiled.get(method).copied().unwrap_or(0),
            reason: most(reasons).into_iter().next().map(|(reason, _)| reason),
        })
        .filter(|row| row.compiled > 1)
        .collect();
    rows.sort_by(|a, b| b.invalidated.cmp(&a.invalidated).then_with(|| a.method.cmp(&b.method)));
    rows.truncate(LISTED);
    rows
}

pub(super) fn group(scope: &Scope<'_>) -> Group {
    let all = scope.spans(kind::JIT_INVALIDATE).count();
    let real = real(scope).len();
    let worst = recompiled(scope).into_iter().next();
    let gone =
        scope.spans(kind::JIT_TRAP).filter(|s| s.label(label::ACTION) == Some("make_not_compilable")).count();
    let failed = scope.spans(kind::JIT_FAILURE).count();
    let metrics = vec![
        Metric::new("invalidations", "Compiled code thrown away", Some(all as f64), Unit::Count)
            .means("Most of it because better code had been made.")
            .because(words::BY_REAL.fact()),
        Metric::new(
            "invalidations_real",
            "of that, without better code there",
            Some(real as f64),
            Unit::Count,
        )
        .means("The method runs slower code again until it is compiled anew.")
        .judged(|n| match scope.covers_s().map(|s| n / s) {
            Some(rate) if rate > STORM_PER_S => (Grade::Bad, words::STORM.is(Value::per_second(rate))),
            Some(rate) => (
                Grade::Fine,
                words::NO_STORM.is(Value::per_second(rate)).with("limit", Value::per_second(STORM_PER_S)),
            ),
            None => (Grade::NotJudged, words::NO_TIMESTAMPS.fact()),
        }),
        Metric::new(
            "recompiled_most",
            "Most often thrown away of one method",
            worst.as_ref().map(|w| w.invalidated as f64),
            Unit::Count,
        )
        .means("The same method compiled, thrown away and compiled again: a loop, when it goes on.")
        .because(words::NONE_AGAIN.fact())
        .judged(|n| match worst.as_ref() {
            Some(w) if n >= LOOP as f64 => (Grade::Watch, words::IN_LOOP.is(Value::name(&w.method))),
            _ => (Grade::Fine, words::WARM_UP.is(Value::count(LOOP))),
        }),
        Metric::new(
            "traps",
            "Traps taken at run time",
            Some(scope.spans(kind::JIT_TRAP).count() as f64),
            Unit::Count,
        )
        .means("An assumption of the compiled code failed and the thread went on in the interpreter.")
        .judged(|_| match gone {
            0 => (Grade::NotJudged, words::SEE_TABLE.fact()),
            n => (Grade::Watch, words::GIVEN_UP.is(Value::count(n))),
        }),
        Metric::new("compile_failures", "Failed compilations", Some(failed as f64), Unit::Count)
            .means("The method stays at a lower tier or in the interpreter, or is tried again.")
            .judged(|n| {
                if n == 0.0 {
                    (Grade::Fine, words::NONE.fact())
                } else {
                    (Grade::NotJudged, words::SEE_TABLE_FEW.fact())
                }
            }),
    ];
    Group { name: "Deoptimisation", metrics }
}
