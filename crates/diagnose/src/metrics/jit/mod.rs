//! The metrics of the JIT compilers: what `fathom jit` shows (schema `fathom.jit/3`).
//!
//! A LogCompilation file has everything; `-Xlog:jit+compilation=debug` and PrintCompilation show
//! which method was started when and at which tier, but no queues, lengths and reasons. What is not
//! in a log is absent.

mod compiles;
mod deoptimisations;

use fathom_recording::vocabulary::{fact, figure, kind};
use fathom_recording::{ProcessId, Recording, RecordingPart, Span};
use serde::Serialize;

pub use compiles::{MethodRow, QueueRow, TierRow};
pub use deoptimisations::{ReasonRow, RecompiledRow, is_benign};

use super::{Grade, Group};
use crate::collections::{logged_ns, of_kind};
use crate::{Statement, Window, source_warnings};

/// The schema of the JSON form. A field is only added within a version, never renamed or removed.
pub const SCHEMA: &str = "fathom.jit/3";

/// The metrics of all JVMs of a recording.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JitReport {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The id of the recording; `None` of files that are none, and of several recordings.
    pub recording: Option<String>,
    /// The recordings that were read, each with its ranges of ids.
    pub recordings: Vec<RecordingPart>,
    /// The window asked for; absent for the whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// Compilations of all JVMs.
    pub compiles: usize,
    /// What makes these values doubtful: self-checks that failed, lines that were not understood,
    /// records that were lost.
    pub warnings: Vec<Statement>,
    /// JVM by JVM.
    pub jvms: Vec<JvmJit>,
}

/// The metrics of one JVM.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JvmJit {
    /// The JVM: its main class or the file that it is known from.
    pub process: String,
    /// The same as a row of the recording's processes.
    pub process_id: ProcessId,
    /// The id of the recording that it is of; `None` of files that are none.
    pub recording: Option<String>,
    /// Its pid, where it is known.
    pub pid: Option<i64>,
    /// Version and compiler threads, as far as the log has them.
    pub description: String,
    /// The interval judged, nanoseconds on the recording's clock; absent when the log has no
    /// timestamps.
    pub covers: Option<Window>,
    /// Its length, seconds.
    pub covers_s: Option<f64>,
    /// Compilations.
    pub compiles: usize,
    /// Judged metrics, in groups.
    pub groups: Vec<Group>,
    /// Compilations by tier.
    pub tiers: Vec<TierRow>,
    /// Waits in the compile queue by tier.
    pub queues: Vec<QueueRow>,
    /// Compilations that took longest.
    pub slowest: Vec<MethodRow>,
    /// Compilations with most machine code.
    pub biggest: Vec<MethodRow>,
    /// Traps taken at run time, by reason.
    pub traps: Vec<ReasonRow>,
    /// Real invalidations of compiled code, by reason.
    pub invalidations: Vec<ReasonRow>,
    /// Failed compilations, by reason.
    pub failures: Vec<ReasonRow>,
    /// Methods compiled most often after their code had been thrown away.
    pub recompiled: Vec<RecompiledRow>,
}

/// What the metric groups are computed from.
struct Scope<'a> {
    recording: &'a Recording,
    jvm: ProcessId,
    asked: Option<Window>,
    covers: Option<Window>,
}

impl<'a> Scope<'a> {
    fn spans(&self, kind: &'static str) -> impl Iterator<Item = Span<'a>> + use<'a> {
        of_kind(self.recording, kind, self.jvm, self.asked)
    }

    fn covers_s(&self) -> Option<f64> {
        self.covers.map(|c| c.length_ns() as f64 / 1e9)
    }

    fn fact(&self, key: &str) -> Option<&'a str> {
        self.recording.processes.get(self.jvm.index())?.fact(key)
    }
}

/// The kinds of spans that record compilation.
const JIT_KINDS: [&str; 9] = [
    kind::JIT_COMPILE,
    kind::JIT_QUEUE,
    kind::JIT_INSTALL,
    kind::JIT_INVALIDATE,
    kind::JIT_TRAP,
    kind::JIT_DEPENDENCY,
    kind::JIT_FAILURE,
    kind::JIT_CODE_CACHE_FULL,
    kind::JIT_SWEEP,
];

/// Computes the metrics of every JVM that has compilations in the recording.
pub fn report(recording: &Recording, window: Option<Window>) -> JitReport {
    let mut jvms: Vec<ProcessId> =
        JIT_KINDS.iter().flat_map(|kind| recording.spans_of(kind)).map(|span| span.process()).collect();
    jvms.sort_unstable();
    jvms.dedup();
    let jvms: Vec<JvmJit> = jvms.into_iter().map(|jvm| judge(recording, jvm, window)).collect();
    let compiles = jvms.iter().map(|j| j.compiles).sum();
    let warnings = source_warnings::of_sources(recording);
    JitReport {
        schema: SCHEMA,
        recording: recording.identity.recording.clone(),
        recordings: recording.parts(),
        window,
        compiles,
        warnings,
        jvms,
    }
}

fn judge(recording: &Recording, jvm: ProcessId, asked: Option<Window>) -> JvmJit {
    let logged = JIT_KINDS
        .into_iter()
        .filter_map(|kind| logged_ns(recording, kind, jvm))
        .reduce(|a, b| Window { from_ns: a.from_ns.min(b.from_ns), to_ns: a.to_ns.max(b.to_ns) });
    let covers = match (logged, asked) {
        (Some(l), Some(w)) => {
            let cut = Window { from_ns: l.from_ns.max(w.from_ns), to_ns: l.to_ns.min(w.to_ns) };
            (cut.to_ns > cut.from_ns).then_some(cut)
        }
        (logged, _) => logged,
    };
    let scope = Scope { recording, jvm, asked, covers };
    JvmJit {
        process: recording.process_name(jvm).to_owned(),
        process_id: jvm,
        recording: recording.recording_of(jvm).map(str::to_owned),
        pid: recording.processes.get(jvm.index()).and_then(|process| process.pid),
        description: describe(&scope),
        covers,
        covers_s: scope.covers_s(),
        compiles: compiles::compilations(&scope).len(),
        groups: vec![compiles::group(&scope), compiles::code_cache(&scope), deoptimisations::group(&scope)],
        tiers: compiles::tiers(&scope),
        queues: compiles::queues(&scope),
        slowest: compiles::slowest(&scope),
        biggest: compiles::biggest(&scope),
        traps: deoptimisations::traps(&scope),
        invalidations: deoptimisations::invalidations(&scope),
        failures: deoptimisations::failures(&scope),
        recompiled: deoptimisations::recompiled(&scope),
    }
}

fn describe(scope: &Scope<'_>) -> String {
    let mut parts = Vec::new();
    if let Some(version) = scope.fact(fact::JVM_VERSION).or(scope.fact(fact::JDK)) {
        parts.push(format!("JDK {version}"));
    }
    if let Some(threads) = scope.fact(fact::COMPILER_THREADS) {
        parts.push(format!("compiler threads {threads}"));
    }
    parts.join(", ")
}

/// The tier of a compilation: 1 to 3 are C1's, 4 is C2's; 0 when it is not in the log.
fn tier(span: &Span<'_>) -> u8 {
    span.figure(figure::TIER).filter(|t| (1.0..=4.0).contains(t)).map_or(0, |t| t as u8)
}

#[cfg(test)]
mod tests;
