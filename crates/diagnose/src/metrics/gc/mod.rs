//! The metrics of garbage collection and safepoints: what `fathom gc` shows (schema `fathom.gc/3`).
//!
//! A pause is a stop-the-world record, outermost only, as long as the log prints it. Shares of time
//! are taken of the interval that the log covers. What is not in a log is absent, never zero.

mod gc_work;
mod memory;
mod pauses;
mod safepoints;

use fathom_recording::vocabulary::fact;
use fathom_recording::{ProcessId, Recording, RecordingPart};
use serde::Serialize;

pub use gc_work::{ConcurrentRow, StallRow};
pub(crate) use memory::LIVE_SHARE;
pub use pauses::{CauseRow, LongestRow, PauseRow, PhaseRow};
pub use safepoints::OperationRow;

use super::{Grade, Group, Metric};
use crate::burden::{self, GC_AND_SAFEPOINTS};
use crate::collections::{self, Pause};
use crate::facts::judged as words;
use crate::limits::{LONG_MS, MATTERS_SHARE};
use crate::timeline::Timeline;
use crate::{Fact, Statement, Window, quantity, source_warnings};

/// The schema of the JSON form. A field is only added within a version, never renamed or removed.
pub const SCHEMA: &str = "fathom.gc/3";

/// The metrics of all JVMs of a recording.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GcReport {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The id of the recording; `None` of files that are none, and of several recordings.
    pub recording: Option<String>,
    /// The recordings that were read, each with its ranges of ids.
    pub recordings: Vec<RecordingPart>,
    /// The window asked for; absent for the whole run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// The timestamp that relative times count from, nanoseconds on the recording's clock.
    pub zero_ns: i64,
    /// Sums over all JVMs.
    #[serde(flatten)]
    pub total: Totals,
    /// What makes these values doubtful: self-checks that failed, lines that were not understood,
    /// records that were lost.
    pub warnings: Vec<Statement>,
    /// JVM by JVM.
    pub jvms: Vec<JvmGc>,
}

/// The metrics that every GC tool must agree on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Stop-the-world collections, outermost only.
    pub pauses: usize,
    /// Their total length, seconds.
    pub total_pause_s: f64,
    /// The longest, seconds.
    pub max_pause_s: f64,
    /// Those that the log labels as full (or that have a full collection nested in them).
    pub full_gcs: usize,
    /// Those that collected the old generation as a whole, labelled so or not.
    pub old_collections: usize,
    /// Their total length (of all that collected old), seconds.
    pub old_collections_s: f64,
}

/// The metrics of one JVM.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JvmGc {
    /// The JVM: its main class or the file that it is known from.
    pub process: String,
    /// The same as a row of the recording's processes.
    pub process_id: ProcessId,
    /// The id of the recording that it is of; `None` of files that are none.
    pub recording: Option<String>,
    /// Its pid, where it is known.
    pub pid: Option<i64>,
    /// "JDK 17.0.15, G1, 4 CPUs, heap up to 4.0 GB", as far as the log has it.
    pub description: String,
    /// The interval judged, nanoseconds on the recording's clock; absent when the log has no
    /// timestamps.
    pub covers: Option<Window>,
    /// How much of it was logged, seconds: less than its length where two recordings stand in one
    /// file.
    pub covers_s: Option<f64>,
    /// The metrics that every GC tool must agree on.
    #[serde(flatten)]
    pub totals: Totals,
    /// Judged metrics, in groups.
    pub groups: Vec<Group>,
    /// Pauses by kind.
    pub pauses_by_kind: Vec<PauseRow>,
    /// Pauses by cause.
    pub causes: Vec<CauseRow>,
    /// Where the time within pauses went.
    pub phases: Vec<PhaseRow>,
    /// The longest pauses.
    pub longest: Vec<LongestRow>,
    /// Work of the collector while the application runs.
    pub concurrent: Vec<ConcurrentRow>,
    /// Threads that waited for memory.
    pub stalls: Vec<StallRow>,
    /// Safepoints by VM operation.
    pub safepoints: Vec<OperationRow>,
}

impl JvmGc {
    /// Whether there is no record of the collector or of a stop.
    pub fn is_empty(&self) -> bool {
        self.totals.pauses == 0
            && self.concurrent.is_empty()
            && self.stalls.is_empty()
            && self.safepoints.is_empty()
    }
}

/// What the metric groups are computed from.
struct Scope<'a> {
    recording: &'a Recording,
    jvm: ProcessId,
    /// The window asked for.
    asked: Option<Window>,
    /// The timestamp that relative times count from.
    zero_ns: i64,
    /// The interval of the log that is judged, where it has timestamps.
    covers: Option<Window>,
    /// What of it was logged, nanoseconds: two recordings may stand in one file.
    covered_ns: Option<i64>,
    pauses: Vec<Pause<'a>>,
    /// Share of that interval stopped by collections; `None` where the log does not show them.
    stopped_share: Option<f64>,
}

impl<'a> Scope<'a> {
    fn new(recording: &'a Recording, jvm: ProcessId, asked: Option<Window>, zero_ns: i64) -> Self {
        let pauses = collections::pauses(recording, jvm, asked);
        let covers = match (burden::logged(recording, jvm), asked) {
            (Some(l), Some(w)) => {
                let cut = Window { from_ns: l.from_ns.max(w.from_ns), to_ns: l.to_ns.min(w.to_ns) };
                (cut.to_ns > cut.from_ns).then_some(cut)
            }
            (logged, _) => logged,
        };
        let intervals = burden::intervals(recording, jvm);
        let covered_ns = covers.map(|c| intervals.length_within_ns(c.from_ns, c.to_ns).max(1));
        let known = covers.filter(|_| burden::shows_collections(recording, jvm));
        let stopped_share = known.zip(covered_ns).map(|(c, covered_ns)| {
            let stops = pauses.iter().map(|p| (p.span.t0_ns(), p.span.t1_ns()));
            collections::covered_in_order_ns(stops, c) as f64 / covered_ns as f64
        });
        Self { recording, jvm, asked, zero_ns, covers, covered_ns, pauses, stopped_share }
    }

    /// A grade of a share of the time: of a fragment of a log none is bad.
    fn grade_share(&self, grade: Grade) -> Grade {
        let fragment = self.covered_ns.is_some_and(|ns| !burden::shows_share(ns, self.pauses.len()));
        if fragment { grade.min(Grade::Watch) } else { grade }
    }

    /// A grade of what makes collections dear: where they cost next to nothing, or the log is a
    /// fragment that does not show what they cost, it is worth an eye at most.
    fn grade_cost(&self, grade: Grade) -> Grade {
        let long = self.pauses.iter().any(|pause| pause.ms() >= LONG_MS);
        let costs = self.stopped_share.is_none_or(|share| share >= MATTERS_SHARE);
        if long || (costs && self.grade_share(Grade::Bad) == Grade::Bad) {
            grade
        } else {
            grade.min(Grade::Watch)
        }
    }

    /// Why a share of the run is not known.
    fn no_time(&self) -> Fact {
        match self.is_empty() {
            true => words::NOTHING_RECORDED.fact(),
            false => words::NO_TIMESTAMPS.fact(),
        }
    }

    /// Whether the time looked at has no record of the collector or of a stop.
    fn is_empty(&self) -> bool {
        let of_kind = |kind| collections::of_kind(self.recording, kind, self.jvm, self.asked);
        GC_AND_SAFEPOINTS.into_iter().all(|kind| of_kind(kind).next().is_none())
    }

    fn covers_s(&self) -> Option<f64> {
        self.covered_ns.map(|ns| ns as f64 / 1e9)
    }

    fn fact(&self, key: &str) -> Option<&'a str> {
        self.recording.processes.get(self.jvm.index())?.fact(key)
    }

    fn fact_number(&self, key: &str) -> Option<f64> {
        self.fact(key)?.parse().ok()
    }

    /// Whether the collector is built to stop the application for next to no time.
    fn pauseless(&self) -> bool {
        matches!(self.fact(fact::COLLECTOR), Some("Z" | "Shenandoah"))
    }
}

/// Computes the metrics of every JVM that has collections or safepoints in the recording, or of
/// which at least the collector is known: a JVM that never had to collect has no pauses, which is
/// an answer.
pub fn report(recording: &Recording, window: Option<Window>) -> GcReport {
    let mut jvms: Vec<ProcessId> = GC_AND_SAFEPOINTS
        .iter()
        .flat_map(|kind| recording.spans_of(kind))
        .map(|span| span.process())
        .collect();
    let known = recording.processes.iter().enumerate().filter(|(_, p)| p.fact(fact::COLLECTOR).is_some());
    jvms.extend(known.map(|(i, _)| ProcessId(i as u32)));
    jvms.sort_unstable();
    jvms.dedup();
    let zero_ns = Timeline::of(recording).zero_ns;
    let jvms: Vec<JvmGc> = jvms.into_iter().map(|jvm| judge(recording, jvm, window, zero_ns)).collect();
    let total = jvms.iter().fold(Totals::default(), |sum, jvm| sum.plus(&jvm.totals));
    let warnings = source_warnings::of_sources(recording);
    GcReport {
        schema: SCHEMA,
        recording: recording.identity.recording.clone(),
        recordings: recording.parts(),
        window,
        zero_ns,
        total,
        warnings,
        jvms,
    }
}

fn judge(recording: &Recording, jvm: ProcessId, window: Option<Window>, zero_ns: i64) -> JvmGc {
    let scope = Scope::new(recording, jvm, window, zero_ns);
    let process = recording.process_name(jvm).to_owned();
    JvmGc {
        process,
        process_id: jvm,
        recording: recording.recording_of(jvm).map(str::to_owned),
        pid: recording.processes.get(jvm.index()).and_then(|process| process.pid),
        description: describe(&scope),
        covers: scope.covers,
        covers_s: scope.covers_s(),
        totals: Totals::of(&scope.pauses),
        groups: groups(&scope),
        pauses_by_kind: pauses::by_kind(&scope),
        causes: pauses::causes(&scope),
        phases: pauses::phases(&scope),
        longest: pauses::longest(&scope),
        concurrent: gc_work::concurrent(&scope),
        stalls: gc_work::stalls(&scope),
        safepoints: safepoints::by_operation(&scope),
    }
}

fn groups(scope: &Scope<'_>) -> Vec<Group> {
    vec![pauses::group(scope), memory::group(scope), gc_work::group(scope), safepoints::group(scope)]
}

/// What is judged bad of a JVM over its run: what a verdict has to explain, or at least to say.
pub(crate) fn bad(recording: &Recording, jvm: ProcessId, zero_ns: i64) -> Vec<Metric> {
    let groups = groups(&Scope::new(recording, jvm, None, zero_ns));
    groups.into_iter().flat_map(|group| group.metrics).filter(|metric| metric.grade == Grade::Bad).collect()
}

/// The rules whose findings explain why a metric is bad.
pub(crate) fn explained_by(id: &str) -> &'static [&'static str] {
    match id {
        "gc_throughput" | "stop_throughput" | "pause_p50" | "pause_p99" | "max_pause" | "full_gcs" => {
            &["gc-", "jvm-", "safepoint-"]
        }
        "live_share" => &["heap-leak", "gc-heap-too-small", "out-of-memory"],
        "promoted_share" => &["gc-premature-promotion", "heap-leak"],
        "pause_cpu_efficiency" | "pause_cpus" => {
            &["gc-starved-of-cpu", "gc-first-touch", "gc-kernel-time", "gc-log-write-blocked"]
        }
        "pause_sys_share" => &["gc-first-touch", "gc-kernel-time", "gc-starved-of-cpu"],
        "evacuation_failures" => &["gc-evacuation-failure", "gc-locker"],
        "idle_gap_max" => &["gc-log-write-blocked"],
        "stalls" | "stall_max" => &["gc-allocation-stall"],
        "reach_p99" | "reach_max" => &["safepoint-slow-to-reach"],
        "operation_max" => &["safepoint-", "jvm-", "gc-log-write-blocked"],
        _ => &[],
    }
}

fn describe(scope: &Scope<'_>) -> String {
    let mut parts = Vec::new();
    if let Some(version) = scope.fact(fact::JVM_VERSION).or(scope.fact(fact::JDK)) {
        parts.push(format!("JDK {version}"));
    }
    if let Some(collector) = scope.fact(fact::COLLECTOR) {
        let generational = if scope.fact(fact::GENERATIONAL) == Some("1") { "generational " } else { "" };
        parts.push(format!("{generational}{collector}"));
    }
    if let Some(cpus) = scope.fact_number(fact::CPUS) {
        parts.push(quantity::plural(cpus.max(0.0) as usize, "CPU", "CPUs"));
    }
    if let Some(heap) = scope.fact_number(fact::HEAP_MAX_BYTES) {
        parts.push(format!("heap up to {}", quantity::bytes(heap)));
    }
    parts.join(", ")
}

impl Totals {
    fn of(pauses: &[Pause<'_>]) -> Self {
        let total_ns: i64 = pauses.iter().map(|p| p.span.duration_ns()).fold(0, i64::saturating_add);
        let max_ns = pauses.iter().map(|p| p.span.duration_ns()).max().unwrap_or(0);
        let old = pauses.iter().filter(|p| p.collected_old());
        let old_ns: i64 = old.clone().map(|p| p.span.duration_ns()).fold(0, i64::saturating_add);
        Self {
            pauses: pauses.len(),
            total_pause_s: total_ns as f64 / 1e9,
            max_pause_s: max_ns as f64 / 1e9,
            full_gcs: pauses.iter().filter(|p| p.labelled_full()).count(),
            old_collections: old.count(),
            old_collections_s: old_ns as f64 / 1e9,
        }
    }

    fn plus(self, other: &Self) -> Self {
        Self {
            pauses: self.pauses + other.pauses,
            total_pause_s: self.total_pause_s + other.total_pause_s,
            max_pause_s: self.max_pause_s.max(other.max_pause_s),
            full_gcs: self.full_gcs + other.full_gcs,
            old_collections: self.old_collections + other.old_collections,
            old_collections_s: self.old_collections_s + other.old_collections_s,
        }
    }
}

#[cfg(test)]
mod tests;
