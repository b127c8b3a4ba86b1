//! Compilations: how many, at which tier, how long they waited and took, and where their code went.

use std::collections::BTreeMap;

use fathom_recording::Span;
use fathom_recording::vocabulary::{figure, kind, label, series};
use serde::Serialize;

use super::super::{Distribution, Limits, Metric};
use super::{Grade, Group, Scope, tier};
use crate::facts::{self, Fact, Unit, Value, judged as words};
use crate::{Window, collections};

/// The format of LogCompilation files, as their reader names it.
const LOG_COMPILATION: &str = "log-compilation";
/// Methods listed in a table.
const LISTED: usize = 10;
/// Wait of a C2 task, 95th percentile, milliseconds. Until it is compiled a hot method runs C1
/// code, two to three times slower; beyond a second users see it. Measured while javac started on
/// two CPUs: 5.1 s.
const QUEUE_MS: Limits = Limits { fine: 1_000.0, watch: 5_000.0 };
/// Share of the busiest compiler thread's time.
const BUSY: Limits = Limits { fine: 0.5, watch: 0.9 };
/// Share of the code cache left free. Below a twentieth HotSpot begins to slow compilation down
/// (`StartAggressiveSweepingAt` 10%, tier thresholds scaled by fullness).
const CACHE_FREE: (f64, f64) = (0.10, 0.05);

/// Compilations of one tier.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TierRow {
    /// The tier; 0 when it is not in the log.
    pub tier: u8,
    /// The compiler, "c1" or "c2", where the log names it alone.
    pub compiler: Option<String>,
    /// Compilations.
    pub count: usize,
    /// On-stack replacements among them, where the log marks them.
    pub osr: Option<usize>,
    /// Compilations per second of the log.
    pub per_s: Option<f64>,
    /// Time to compile, milliseconds, where the log has it.
    pub length_ms: Option<Distribution>,
    /// Machine code made, bytes, where the log has it.
    pub nmethod_bytes: Option<f64>,
}

/// Waits in the compile queue of one tier.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueRow {
    /// The tier.
    pub tier: u8,
    /// Waits, milliseconds.
    pub wait_ms: Distribution,
}

/// One compilation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MethodRow {
    /// The method.
    pub method: String,
    /// The tier; 0 when it is not in the log.
    pub tier: u8,
    /// The compiler, "c1" or "c2", where the log names it alone.
    pub compiler: Option<String>,
    /// Whether it is an on-stack replacement.
    pub osr: bool,
    /// Time to compile, milliseconds.
    pub ms: f64,
    /// Bytecodes of the method.
    pub bytecodes: Option<f64>,
    /// Bytecodes inlined.
    pub inlined_bytes: Option<f64>,
    /// Machine code, bytes.
    pub nmethod_bytes: Option<f64>,
    /// Where it stands.
    pub position: String,
}

/// The compilations of a scope. Of a log that has only what was installed, these stand for the
/// compilations.
pub(super) fn compilations<'a>(scope: &Scope<'a>) -> Vec<Span<'a>> {
    let compiled: Vec<_> = scope.spans(kind::JIT_COMPILE).collect();
    if compiled.is_empty() { scope.spans(kind::JIT_INSTALL).collect() } else { compiled }
}

/// Whether the log records how long compilations took.
fn timed(compiled: &[Span<'_>]) -> bool {
    compiled.iter().any(|span| span.duration_ns() > 0)
}

fn ms(span: &Span<'_>) -> f64 {
    span.duration_ns() as f64 / 1e6
}

/// The compiler of a compilation whose tier was not recorded.
fn compiler(span: &Span<'_>) -> Option<String> {
    span.label(label::COMPILER).filter(|_| tier(span) == 0).map(str::to_owned)
}

pub(super) fn tiers(scope: &Scope<'_>) -> Vec<TierRow> {
    let compiled = compilations(scope);
    let timed = timed(&compiled);
    // A source without tiers (a JVM's probes name the compiler alone) does not mark on-stack
    // replacements either.
    let osr_known = compiled.iter().all(|span| span.figure(figure::TIER).is_some());
    let mut tiers: BTreeMap<(u8, Option<String>), Vec<Span<'_>>> = BTreeMap::new();
    for span in compiled {
        tiers.entry((tier(&span), compiler(&span))).or_default().push(span);
    }
    let row = |((tier, compiler), spans): ((u8, Option<String>), Vec<Span<'_>>)| TierRow {
        tier,
        compiler,
        count: spans.len(),
        osr: osr_known.then(|| spans.iter().filter(|s| s.figure(figure::OSR_BCI).is_some()).count()),
        per_s: scope.covers_s().map(|s| spans.len() as f64 / s),
        length_ms: timed.then(|| Distribution::of(spans.iter().map(ms))),
        nmethod_bytes: spans.iter().filter_map(|s| s.figure(figure::NMETHOD_BYTES)).reduce(|a, b| a + b),
    };
    tiers.into_iter().map(row).collect()
}

pub(super) fn queues(scope: &Scope<'_>) -> Vec<QueueRow> {
    let mut tiers: BTreeMap<u8, Vec<f64>> = BTreeMap::new();
    for span in scope.spans(kind::JIT_QUEUE).filter(|s| s.figure(figure::WAIT_KNOWN) != Some(0.0)) {
        tiers.entry(tier(&span)).or_default().push(ms(&span));
    }
    tiers.into_iter().map(|(tier, waits)| QueueRow { tier, wait_ms: Distribution::of(waits) }).collect()
}

pub(super) fn slowest(scope: &Scope<'_>) -> Vec<MethodRow> {
    let compiled = compilations(scope);
    if timed(&compiled) { top(compiled, ms) } else { Vec::new() }
}

pub(super) fn biggest(scope: &Scope<'_>) -> Vec<MethodRow> {
    let compiled = compilations(scope);
    let sized = compiled.into_iter().filter(|s| s.figure(figure::NMETHOD_BYTES).is_some()).collect();
    top(sized, |span| span.figure(figure::NMETHOD_BYTES).unwrap_or(0.0))
}

fn top(mut spans: Vec<Span<'_>>, by: impl Fn(&Span<'_>) -> f64) -> Vec<MethodRow> {
    spans.sort_by(|a, b| by(b).total_cmp(&by(a)));
    let row = |span: &Span<'_>| MethodRow {
        method: span.name().to_owned(),
        tier: tier(span),
        compiler: compiler(span),
        osr: span.figure(figure::OSR_BCI).is_some(),
        ms: ms(span),
        bytecodes: span.figure(figure::BYTECODES),
        inlined_bytes: span.figure(figure::INLINED_BYTES),
        nmethod_bytes: span.figure(figure::NMETHOD_BYTES),
        position: span.position(),
    };
    spans.iter().take(LISTED).map(row).collect()
}

pub(super) fn group(scope: &Scope<'_>) -> Group {
    let compiled = compilations(scope);
    let timed = timed(&compiled);
    let total_s = timed.then(|| compiled.iter().map(ms).sum::<f64>() / 1e3);
    let count = compiled.len() as f64;
    let metrics = vec![
        Metric::new("compiles", "Compilations", Some(count), Unit::Count)
            .means("Methods and loops turned into machine code; a method counts once for each tier.")
            .because(words::THOUSANDS.fact()),
        Metric::new(
            "compiles_per_s",
            "Compilations per second",
            scope.covers_s().map(|s| count / s),
            Unit::PerSecond,
        )
        .means("Over the whole log. The verdict compares slow windows with normal ones.")
        .because(words::BY_WAITS.fact()),
        Metric::new("compile_time", "Time spent compiling", total_s, Unit::DurationSeconds)
            .means("Over all compiler threads.")
            .because(if timed { words::BY_BUSIEST.fact() } else { unknown(scope, &words::NO_ENDS) }),
        busiest(scope, &compiled, timed),
        queue_wait(scope),
    ];
    Group { name: "Compilation", metrics }
}

/// Why nothing is known of lengths and waits: the log is of another kind, or its tasks are not in
/// it yet.
fn unknown(scope: &Scope<'_>, of_other_logs: &'static facts::Metric) -> Fact {
    let sources = &scope.recording.sources;
    let of_tasks =
        |s: &Span<'_>| sources.get(s.source().index()).is_some_and(|s| s.format == LOG_COMPILATION);
    let has_tasks = scope.spans(kind::JIT_COMPILE).next().is_some();
    let lacks_tasks = !has_tasks && scope.spans(kind::JIT_INSTALL).any(|s| of_tasks(&s));
    if lacks_tasks { words::NO_TASKS.fact() } else { of_other_logs.fact() }
}

fn busiest(scope: &Scope<'_>, compiled: &[Span<'_>], timed: bool) -> Metric {
    let mut threads: BTreeMap<_, Vec<(i64, i64)>> = BTreeMap::new();
    for span in compiled {
        if let Some(thread) = span.thread() {
            threads.entry(thread).or_default().push((span.t0_ns(), span.t1_ns()));
        }
    }
    let busy = |covers: Window| {
        let share = |s: Vec<_>| collections::covered_ns(s, covers) as f64 / covers.length_ns() as f64;
        threads.into_values().map(share).reduce(f64::max)
    };
    Metric::new(
        "compiler_busy",
        "Busiest compiler thread",
        scope.covers.filter(|_| timed).and_then(busy),
        Unit::Share,
    )
    .means("Share of the run in which the busiest compiler thread was compiling.")
    .because(unknown(scope, &words::NO_ENDS))
    .judged(|s| match BUSY.grade(s) {
        Grade::Fine => (Grade::Fine, words::RESTS.fact()),
        grade => (grade, words::COMPILES_ON.fact()),
    })
}

fn queue_wait(scope: &Scope<'_>) -> Metric {
    let waits = queues(scope);
    let c2 = waits.iter().find(|row| row.tier == 4).map(|row| row.wait_ms.p95);
    Metric::new("c2_queue_wait_p95", "95th percentile wait for C2", c2, Unit::Ms)
        .means("How long a hot method waits for its best code and meanwhile runs slower code.")
        .because(unknown(scope, &words::NO_QUEUES))
        .judged(|ms| match QUEUE_MS.grade(ms) {
            Grade::Fine => (Grade::Fine, words::USUAL_UP_TO.is(Value::ms(QUEUE_MS.fine))),
            grade => (grade, words::CANNOT_KEEP_UP.fact()),
        })
}

pub(super) fn code_cache(scope: &Scope<'_>) -> Group {
    let full = scope.spans(kind::JIT_CODE_CACHE_FULL).collect::<Vec<_>>();
    let disabled = full.iter().find(|s| s.figure(figure::COMPILER_DISABLED).is_some_and(|d| d > 0.0));
    let sweeps = scope.spans(kind::JIT_SWEEP).count();
    let in_window = |t: i64| scope.asked.is_none_or(|w| (w.from_ns..w.to_ns).contains(&t));
    let used = scope
        .recording
        .series
        .iter()
        .filter(|s| s.info.name == series::CODE_CACHE_USED && s.info.process == Some(scope.jvm))
        .flat_map(|s| s.t_ns.iter().zip(&s.value))
        .filter(|(t, _)| in_window(**t))
        .map(|(_, v)| *v)
        .reduce(f64::max);
    let metrics = vec![
        free_share(scope),
        Metric::new("code_cache_used_max", "Most code cache in use", used, Unit::Bytes)
            .means("Machine code, adapters and stubs.")
            .because(if used.is_some() { words::BY_FREE.fact() } else { words::NOT_LOGGED.fact() }),
        Metric::new("code_cache_full", "Code cache full", Some(full.len() as f64), Unit::Count)
            .means("Times that no room was left for new machine code.")
            .judged(|n| match (n, disabled.is_some()) {
                (_, true) => (Grade::Bad, words::COMPILER_OFF.fact()),
                (0.0, _) => (Grade::Fine, words::NEVER.fact()),
                _ => (Grade::Bad, words::THROWN_AWAY.fact()),
            })
            .at(disabled.or(full.first()).map(|s| s.position())),
        Metric::new("code_cache_sweeps", "Sweeps of the code cache", Some(sweeps as f64), Unit::Count)
            .means("Searches for machine code that is no longer used (JDK 19 and before).")
            .because(words::HARMLESS.fact()),
    ];
    Group { name: "Code cache", metrics }
}

fn free_share(scope: &Scope<'_>) -> Metric {
    let kinds = [kind::JIT_COMPILE, kind::JIT_CODE_CACHE_FULL, kind::JIT_SWEEP];
    let size = || {
        let fact = scope.fact(fathom_recording::vocabulary::fact::CODE_CACHE_BYTES);
        fact.and_then(|f| f.parse::<f64>().ok()).filter(|s| *s > 0.0)
    };
    let share = |span: Span<'_>| {
        let free = span.figure(figure::CODE_CACHE_FREE_BYTES)?;
        let size = span.figure(figure::CODE_CACHE_SIZE_BYTES).filter(|s| *s > 0.0).or_else(size)?;
        Some((free / size, span.position()))
    };
    let least = kinds.into_iter().flat_map(|kind| scope.spans(kind)).filter_map(share);
    let least = least.min_by(|a, b| a.0.total_cmp(&b.0));
    Metric::new("code_cache_free_min", "Least code cache left free", least.as_ref().map(|l| l.0), Unit::Share)
        .means("When it is used up, compilation stops or code is thrown away.")
        .because(words::NO_CACHE_SIZE.fact())
        .judged(|s| match s {
            s if s >= CACHE_FREE.0 => (Grade::Fine, words::AT_LEAST.is(Value::share(CACHE_FREE.0))),
            s if s >= CACHE_FREE.1 => (Grade::Watch, words::GETTING_FULL.fact()),
            _ => (Grade::Bad, words::NEARLY_FULL.fact()),
        })
        .at(least.map(|l| l.1))
}
