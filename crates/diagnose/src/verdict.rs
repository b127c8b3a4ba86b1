//! What a diagnosis says: the types behind `--json` (schema `fathom.diagnosis/8`,
//! docs/diagnosis-json.md).
//!
//! `render` shows these and computes nothing of its own.

use fathom_recording::{ProcessId, RecordingPart};
use serde::Serialize;

use crate::chain::{Chain, Stop};
use crate::ledger_row::LedgerRow;
use crate::waits::Category;
use crate::{Charge, Evidence, Remedy, Sight, Statement, Window};

/// The schema of the JSON form. A field is only added within a version, never renamed or removed.
pub const SCHEMA: &str = "fathom.diagnosis/8";

/// A verdict with all that stands behind it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Diagnosis {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Version of fathom.
    pub version: &'static str,
    /// The id of the recording; `None` of files that are none, and of several recordings.
    pub recording: Option<String>,
    /// The recordings that were read, each with its ranges of ids.
    pub recordings: Vec<RecordingPart>,
    /// What it comes to.
    pub status: Status,
    /// One sentence: what took the time, or what was looked at without a cause being found.
    pub headline: Statement,
    /// What was looked at, for how long, and what the largest parts of the time were.
    pub seen: Seen,
    /// What was read, and how it was put on the clock.
    pub inputs: Vec<Input>,
    /// Whether times are wall-clock times; otherwise they count from `zero_ns`.
    pub wall_clock: bool,
    /// The time that relative times ("at 145 s") count from, nanoseconds on the recording's clock.
    pub zero_ns: i64,
    /// The windows compared.
    pub windows: Windows,
    /// What people or their tools did meanwhile, in order of time.
    pub marks: Vec<Mark>,
    /// What was lost in the slow windows.
    pub loss: Loss,
    /// The loss attributed to findings and to what is left: adds up to `loss.lost_ms`. Empty where
    /// no loss was measured.
    pub account: Vec<Charge>,
    /// Where the time went in the slow windows and in the baseline, per process.
    pub ledger: Vec<LedgerRow>,
    /// Causes found, the one that explains most lost time first.
    pub findings: Vec<Finding>,
    /// Causes that were looked for and not found, with the value that says so. What they rest on
    /// covers
    /// [`crate::COVERED`] of the slow windows or more.
    pub ruled_out: Vec<RuledOut>,
    /// What could not be seen, and what to switch on to see it.
    pub blind_spots: Vec<BlindSpot>,
    /// Self-checks of the inputs that failed, alignments that are only offered, and other warnings.
    pub warnings: Vec<Statement>,
}

/// What a diagnosis comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// A cause was found: `findings` is not empty.
    Found,
    /// Time was lost, and no rule explains it.
    NotExplained,
    /// No loss was measured and no cause found. That is no all-clear: loss may not have been looked
    /// for at all.
    NoCauseFound,
    /// Loss was looked for with the means to see it, and there is none that matters: a series of
    /// progress covers the run without a dip, and the stops of every JVM were seen and take less
    /// than [`crate::MATTERS_SHARE`]. Findings, if there are any, act all along and are no more
    /// than consistent with the evidence.
    Healthy,
    /// Neither a JVM nor a series was read.
    NothingToJudge,
}

/// What was looked at.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Seen {
    /// The slow windows, or the whole run where there are none, milliseconds.
    pub judged_ms: f64,
    /// Slow time that no source but the series covers, milliseconds: it is left out of the windows
    /// and of the loss.
    pub unrecorded_ms: f64,
    /// Whether a loss was looked for: on a series, or on stops.
    pub loss_measured: bool,
    /// What was seen of the JVMs.
    pub sights: Vec<Sighted>,
    /// The stops of the JVM that was stopped most, where those of all JVMs were seen and take less
    /// than what matters: then the collectors are healthy.
    pub few_stops: Option<FewStops>,
    /// The largest parts of the time, those that grew most above the baseline first. Empty where
    /// the findings explain half of the loss or more.
    pub largest: Vec<Part>,
    /// What application threads did but for having no work, whatever the findings explain: of the
    /// process in which most changed, those parts first that grew most above the baseline. Empty
    /// where the context switches were not seen.
    pub threads: Vec<Part>,
}

/// Stops that take less of the time than what matters, none of them long.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct FewStops {
    /// As a share of the time, 0 to 1.
    pub share: f64,
    /// The longest, milliseconds.
    pub longest_ms: f64,
}

/// Something that was seen of the JVMs.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Sighted {
    /// What: "collections", "waits for locks".
    #[cfg_attr(feature = "typescript", ts(as = "String"))]
    pub what: Sight,
    /// The sources that show it.
    pub sources: Vec<String>,
    /// How much of `judged_ms` they cover, 0 to 1, of the JVM of which they cover most.
    pub share: f64,
}

/// A part of the time.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Part {
    /// The process.
    pub process: String,
    /// The same as a row of the recording's processes.
    pub process_id: ProcessId,
    /// The id of the recording that the process is of; `None` of files that are none.
    pub recording: Option<String>,
    /// Whose time.
    pub of: PartOf,
    /// What it was spent on, as in the ledger of threads; all running time is `running`.
    pub category: Category,
    /// The same with what is known of it: "blocked: Java monitor", "waiting for the network at
    /// db:5432 in shop.Orders.load", "stopped: GC".
    pub what: Statement,
    /// Milliseconds in the slow windows, added up over threads.
    pub ms: f64,
    /// As a share of that time.
    pub share: f64,
    /// The share in the baseline windows; `None` without a baseline.
    pub base_share: Option<f64>,
    /// Milliseconds for each operation; `None` where operations are not counted, and of stops.
    pub per_operation_ms: Option<f64>,
    /// The same in the baseline windows.
    pub base_per_operation_ms: Option<f64>,
    /// What it was in particular, where that is known: "2 × Pause Young (Normal), G1 Humongous
    /// Allocation"; of the largest part of the application threads' time, that a pool of threads
    /// always had work.
    pub details: Vec<Statement>,
}

/// Whose time a part is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum PartOf {
    /// The application's threads, without the time in which they were idle.
    ApplicationThreads,
    /// The JVM, which was stopped.
    Jvm,
}

/// One input as it was read.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Its format.
    pub format: String,
    /// The process that it is of.
    pub process: Option<String>,
    /// The same as a row of the recording's processes.
    pub process_id: Option<ProcessId>,
    /// The id of the recording that it is of; `None` of files that are none.
    pub recording: Option<String>,
    /// Records taken, skipped and lost.
    pub records: u64,
    /// Lines not understood.
    pub skipped: u64,
    /// Records known to be missing.
    pub lost: u64,
    /// How it was put on the clock, as the recording has it.
    pub placed: String,
    /// To within how many nanoseconds; `None` where it could not be put on the clock.
    pub uncertainty_ns: Option<i64>,
}

/// The windows that are compared.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Windows {
    /// Slow ones, in order of time.
    pub slow: Vec<Window>,
    /// Normal ones.
    pub base: Vec<Window>,
    /// What they were found on.
    pub found_on: FoundOn,
    /// How they were found, or that the user gave them, and what times count from.
    pub how: Vec<Statement>,
}

/// What slow windows were found on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum FoundOn {
    /// None was found: the whole run is judged.
    #[default]
    WholeRun,
    /// The user gave them, or the baseline.
    Given,
    /// A series of throughput or latency.
    Series,
    /// Requests, calls or turns that the recording counts itself.
    Exchanges,
    /// What threads spend their time on.
    Change,
    /// Stops of JVMs.
    Stops,
    /// The recording was kept for them (`fathom record --on-slow`).
    Kept,
}

/// Something that people or their tools did: a deploy, a migration.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Mark {
    /// When, nanoseconds on the recording's clock.
    pub at_ns: i64,
    /// What they say it was.
    pub text: String,
    /// What the last digit of its time stands for, nanoseconds.
    pub precision_ns: i64,
    /// Where it stands: "--mark", "deploys.csv:12".
    pub source: String,
    /// The slow window that begins with it: a fact, and not a cause.
    pub began: Option<Began>,
}

/// A slow window that begins with a mark.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Began {
    /// Where the window begins, nanoseconds on the recording's clock.
    pub from_ns: i64,
    /// How long before that the mark is, milliseconds; negative: after.
    pub before_ms: f64,
    /// How far apart they may be without being distinguished, by the series' ticks and the clocks,
    /// and where the mark is the earlier one by its precision.
    pub within_ms: f64,
}

/// What was lost.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Loss {
    /// Lost time over all slow windows, milliseconds: each window's length × (1 − rate / baseline
    /// rate), or the stopped time above the baseline's where there is no series of progress.
    pub lost_ms: f64,
    /// Progress per second in the slow windows, in `unit`.
    pub slow_rate: Option<f64>,
    /// Progress per second in the baseline windows.
    pub base_rate: Option<f64>,
    /// Unit of the rates, "ops/s".
    pub unit: String,
    /// What it was measured on; `None` where it was not.
    pub measure: Option<Measure>,
    /// The same in words: "throughput of client0, client1, client2", "stops of the JVM".
    pub measured_on: String,
}

/// What a loss is measured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// A series of throughput.
    Throughput,
    /// A series of latency.
    Latency,
    /// Requests, calls or turns that the recording counts itself.
    Exchanges,
    /// Time in which JVMs were stopped, where no series of progress was given.
    Stops,
}

/// How sure a finding is. The words are explained in docs/diagnosis.md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// The evidence fits, and so would another cause.
    ConsistentWith,
    /// Mechanism and timing fit, most of the loss is explained, a confounder is not excluded.
    Likely,
    /// Mechanism seen, at least half of the loss explained, confounders rejected.
    Proven,
}

impl Confidence {
    /// The word shown to people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Proven => "proven",
            Self::Likely => "likely",
            Self::ConsistentWith => "consistent with",
        }
    }
}

/// How sure a cause is, and why: what shows it, and what speaks against it.
pub type Sure = (Confidence, Vec<Statement>);

/// The layer that a cause lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// The application's Java code.
    Application,
    /// The JIT compiler and the code cache.
    Jit,
    /// The garbage collector and the heap.
    Gc,
    /// Safepoints and VM operations.
    Safepoint,
    /// Scheduler and CPUs.
    Cpu,
    /// Memory of the machine.
    Memory,
    /// Disk and file systems.
    Storage,
    /// Peers, names, connections.
    Network,
}

/// A cause.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Finding {
    /// Rule id: "jit-compile-burst".
    pub rule: &'static str,
    /// One line: what it is, with its main metric.
    pub title: Statement,
    /// The layer that it lies in.
    pub layer: Layer,
    /// How sure.
    pub confidence: Confidence,
    /// Why it is not surer, or what makes it sure.
    pub why_confidence: Vec<Statement>,
    /// Lost time that it explains, milliseconds; 0, and null in JSON, where that is not known or
    /// none.
    #[serde(serialize_with = "known_cost")]
    #[cfg_attr(feature = "typescript", ts(as = "Option<f64>"))]
    pub cost_ms: f64,
    /// The same as a share of the loss, 0 to 1; `None` where the loss could not be measured.
    pub share: Option<f64>,
    /// How much of the slow windows the sources cover that it rests on, 0 to 1. Where that is not
    /// all of them, `share` is of the loss in the part that is covered.
    pub covered_share: f64,
    /// Who: method, thread, lock, process, file, device.
    pub culprit: Statement,
    /// The process in which it was seen, in words that no other JVM of the recording goes by.
    pub process: String,
    /// The process, as a row of the recording's processes: what findings of one process are known
    /// by.
    pub process_id: ProcessId,
    /// The id of the recording that the process is of; `None` of files that are none.
    pub recording: Option<String>,
    /// Its pid, where it is known.
    pub pid: Option<i64>,
    /// When it started, nanoseconds on the recording's clock, where that is known.
    pub started_ns: Option<i64>,
    /// What it means, for somebody who does not know it.
    pub meaning: Statement,
    /// What was measured, and where.
    pub evidence: Vec<Evidence>,
    /// What to change.
    pub remedies: Vec<Remedy>,
    /// How to see that it helped.
    pub verify: Vec<Statement>,
    /// The intervals in which it acted, for the timeline.
    pub windows: Vec<Window>,
    /// The same one by one, where [`Self::windows`] joins many that lie close together; empty where
    /// they are the same.
    #[serde(skip)]
    pub acts: Vec<Window>,
    /// Rules whose findings explain the same time and are named in this one's evidence.
    #[serde(skip)]
    pub also: Vec<&'static str>,
    /// Of a finding about waits: what the thread that waited longest waited for, link by link.
    pub chain: Option<Chain>,
    /// Of a finding about stops of the JVM: the longest of them, cut into its parts.
    pub stop: Option<Stop>,
}

#[cfg(test)]
impl Finding {
    /// The first evidence of a metric; panics where there is none.
    pub(crate) fn fact(&self, metric: &crate::facts::Metric) -> &crate::Fact {
        let found = self.facts(metric).next();
        found.unwrap_or_else(|| panic!("no {} in {:?}", metric.id, self.evidence))
    }

    /// Whom its culprit names; empty where nobody is named.
    pub(crate) fn named(&self) -> &str {
        self.culprit.fact().name("value").unwrap_or_default()
    }

    /// Whether a remedy is among its remedies.
    pub(crate) fn advises(&self, remedy: &crate::facts::Metric) -> bool {
        self.remedies.iter().any(|of| of.change.fact().metric == remedy)
    }

    /// What the title states, or a part of it; panics where it states something else.
    pub(crate) fn says(&self, metric: &crate::facts::Metric) -> &crate::Fact {
        let found = self.title.fact().find(metric);
        found.unwrap_or_else(|| panic!("no {} in {:?}", metric.id, self.title))
    }

    /// All evidence of a metric.
    pub(crate) fn facts(&self, metric: &crate::facts::Metric) -> impl Iterator<Item = &crate::Fact> {
        self.evidence.iter().map(|e| &e.fact).filter(move |fact| fact.metric.id == metric.id)
    }
}

fn known_cost<S: serde::Serializer>(cost_ms: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    let known = Some(*cost_ms).filter(|ms| *ms > 0.0);
    known.serialize(serializer)
}

/// A cause that was looked for and not found.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct RuledOut {
    /// Rule id, or the name of a group ("gc").
    pub rule: String,
    /// The process whose metric it is, as a row of the recording's processes.
    pub process_id: ProcessId,
    /// The id of the recording that the process is of; `None` of files that are none.
    pub recording: Option<String>,
    /// The metric that says so.
    pub figure: Statement,
    /// Where the value comes from.
    pub source: String,
}

/// Something that could not be seen.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct BlindSpot {
    /// What.
    pub what: Statement,
    /// Which rules are inconclusive because of it.
    pub rules: Vec<String>,
    /// What to switch on to see it; empty where nothing would show more.
    pub remedy: Statement,
}
