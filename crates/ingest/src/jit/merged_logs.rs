//! Merges what several logs have of one JVM's compilations.
//!
//! A compilation may be in a LogCompilation log, in unified logging and in PrintCompilation, with
//! one compile id and on one clock. It counts once: from the log with the most details. And where
//! the log of the queue does not have the start of a task (it was truncated by `kill -9`), the
//! others do: the compiler threads' own files, or any line that reports the start of the
//! compilation.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{figure, kind};
use fathom_recording::{ClockBasis, ProcessId, Recording, SourceId, SpanId};
use rustc_hash::FxHashMap;

/// Kinds of spans that more than one format has.
const SHARED: [&str; 4] = [kind::JIT_COMPILE, kind::JIT_INSTALL, kind::JIT_INVALIDATE, kind::JIT_FAILURE];

/// Merges what the sources of each process have. Call it when files of one JVM have become one
/// process, and before they are placed: the timestamps of the sources from `first_new` on then have
/// one zero.
pub(crate) fn join(recording: &mut Recording, first_new: usize) {
    let new = recording.sources.get(first_new..).unwrap_or_default();
    if new.len() < 2 || !new.iter().any(|source| detail(&source.format) != Detail::Some) {
        return;
    }
    merge_by_compilations(recording, first_new);
    if !is_worth_while(recording) {
        return;
    }
    drop_repeated(recording);
    end_waits(recording, first_new);
}

/// Compilations that two logs must at least have in common to be matched by them alone. The first
/// compilations are much the same in all JVMs.
const IN_COMMON: usize = 50;
/// How far the timestamps of one compilation may be apart in two logs: a compiler thread may wait
/// for a CPU between the two, which happens on a busy machine.
const APART_NS: i64 = 200_000_000;
/// The most compilations of a process that are compared.
const LOOKED_AT: usize = 2_000;

/// Compile id → start and method.
type Compilations = FxHashMap<i64, (i64, String)>;

/// PrintCompilation does not name its process. Where it has the same compilations at the same times
/// as another log, both are of one JVM.
fn merge_by_compilations(recording: &mut Recording, first_new: usize) {
    let mut of_process: BTreeMap<u32, Compilations> = BTreeMap::new();
    for i in 0..recording.spans.len() {
        let span = recording.span_at(SpanId(i as u32));
        if span.kind() == kind::JIT_COMPILE && is_on_uptime(recording, span.source(), first_new) {
            let known = of_process.entry(span.process().0).or_default();
            if known.len() < LOOKED_AT {
                known.insert(span.key(), (span.t0_ns(), span.name().to_owned()));
            }
        }
    }
    let processes: Vec<u32> = of_process.keys().copied().collect();
    for (i, a) in processes.iter().enumerate() {
        for b in &processes[i + 1..] {
            let pids = [*a, *b].map(|p| recording.processes.get(p as usize).and_then(|p| p.pid));
            let is_unnamed = pids.contains(&None);
            if is_unnamed && of_process.get(a).zip(of_process.get(b)).is_some_and(|(a, b)| are_one(a, b)) {
                recording.merge_process(ProcessId(*b), ProcessId(*a));
                of_process.remove(b);
            }
        }
    }
}

fn are_one(a: &Compilations, b: &Compilations) -> bool {
    let common = a.iter().filter_map(|(id, one)| Some((one, b.get(id)?)));
    let (mut all, mut same) = (0, 0);
    for ((at, method), (also_at, also_method)) in common {
        all += 1;
        same +=
            usize::from(method == also_method && at.saturating_sub(*also_at).saturating_abs() <= APART_NS);
    }
    all >= IN_COMMON && same * 20 >= all * 19
}

/// Whether some process has a JIT log and another source that may have compilations.
fn is_worth_while(recording: &Recording) -> bool {
    let mut of_process: FxHashMap<u32, (u32, bool)> = FxHashMap::default();
    for source in recording.sources.iter().filter(|source| source.clock == ClockBasis::JvmUptime) {
        if let Some(process) = source.process {
            let (sources, has_jit_log) = of_process.entry(process).or_default();
            *sources += 1;
            *has_jit_log |= detail(&source.format) != Detail::Some;
        }
    }
    of_process.values().any(|(sources, has_jit_log)| *sources > 1 && *has_jit_log)
}

/// How many details a format has of a compilation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Detail {
    /// PrintCompilation: whole milliseconds.
    Least,
    /// Unified logging.
    Some,
    /// LogCompilation.
    Most,
}

fn detail(format: &str) -> Detail {
    match format {
        super::log_compilation::ID => Detail::Most,
        super::print_compilation::ID => Detail::Least,
        _ => Detail::Some,
    }
}

/// One compilation's start, installation, invalidation or failure.
type EventId = (u32, usize, i64);

fn drop_repeated(recording: &mut Recording) {
    let details: Vec<_> = recording.sources.iter().map(|source| detail(&source.format)).collect();
    let of = |source: SourceId| details.get(source.index()).copied().unwrap_or(Detail::Some);
    let mut most: FxHashMap<EventId, Detail> = FxHashMap::default();
    for i in 0..recording.spans.len() {
        let span = recording.span_at(SpanId(i as u32));
        if let Some(event) = event_id(&span) {
            let best = most.entry(event).or_insert(Detail::Least);
            *best = (*best).max(of(span.source()));
        }
    }
    recording.remove_spans(|span| {
        event_id(span).and_then(|event| most.get(&event)).is_some_and(|best| of(span.source()) < *best)
    });
}

fn event_id(span: &fathom_recording::Span<'_>) -> Option<EventId> {
    let kind = SHARED.iter().position(|kind| *kind == span.kind())?;
    (span.key() >= 0).then(|| (span.process().0, kind, span.key()))
}

/// Ends waits of unknown length at the start of their compilation, where some source has it.
fn end_waits(recording: &mut Recording, first_new: usize) {
    let mut open: FxHashMap<(u32, bool, i64), SpanId> = FxHashMap::default();
    let mut starts: Vec<((u32, bool, i64), i64)> = Vec::new();
    for i in 0..recording.spans.len() {
        let span = recording.span_at(SpanId(i as u32));
        let is_osr = || span.figure(figure::OSR_BCI).is_some();
        let key = || (span.process().0, is_osr(), span.key());
        match span.kind() {
            _ if !is_on_uptime(recording, span.source(), first_new) => {}
            kind::JIT_QUEUE if span.figure(figure::WAIT_KNOWN) == Some(0.0) => {
                open.insert(key(), span.id);
            }
            kind::JIT_COMPILE => starts.push((key(), span.t0_ns())),
            _ => {}
        }
    }
    for (key, start_ns) in starts {
        let Some(wait) = open.get(&key).copied() else { continue };
        if start_ns >= recording.span_at(wait).t0_ns() {
            recording.end_span(wait, start_ns);
            recording.set_figure(wait, figure::WAIT_KNOWN, 1.0);
        }
    }
}

/// Whether a source's timestamps are still seconds since the start of its JVM.
fn is_on_uptime(recording: &Recording, source: SourceId, first_new: usize) -> bool {
    let clock = recording.sources.get(source.index()).map(|source| source.clock);
    source.index() >= first_new && clock == Some(ClockBasis::JvmUptime)
}
