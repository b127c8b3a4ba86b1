//! The ledger of threads: what every thread spent a window on, attributed without overlap and
//! without a rest.
//!
//! ```text
//! thread alive ─┬─ switches seen ─┬─ on the run queue ─────────────▶ waiting for a CPU
//!               │                 ├─ off the CPU ─▶ by its stack, else by the record around it, else "cause not seen"
//!               │                 └─ the rest ─┬─ short waits, by their sums
//!               │                              ├─ running, as long as the samples allow
//!               │                              └─ unknown
//!               └─ not seen ──────┬─ in a record (JFR, strace, a safepoint) ──▶ what it shows
//!                                 ├─ CPU samples ──▶ running
//!                                 └─ the rest ─────▶ unknown
//! ```
//!
//! All time is attributed once ([`charge`]), so that the categories of a group add up to threads
//! × time to the nanosecond. What samples move from one category to another never exceeds what is
//! there. What ran for longer than samples allow, than the kernel accounts to its process or than
//! the machine has CPUs did not run: nobody saw what it did ([`gaps`], [`bounds`]).

mod bounds;
mod charge;
mod gaps;
mod groups;
mod layers;
mod rank;
#[cfg(test)]
mod tests;
mod thread_records;
mod watched;

use fathom_recording::vocabulary::series;
use fathom_recording::{ProcessId, Recording, RecordingPart, SeriesKind};
use serde::Serialize;

pub(crate) use charge::{ByCategory, ThreadIntervals};
pub use groups::By;
pub(crate) use groups::pool;
pub use rank::{Slice, SlowRank, SlowWeight, Weight};
pub(crate) use rank::{growth, parts};
pub(crate) use thread_records::Taken;
pub use watched::{Watched, watched};

use crate::Window;
use crate::intervals::Intervals;
use crate::waits::Category;
use crate::waits::stack::ByStack;

/// What groups of threads spent a window on.
#[derive(Clone, Debug, Serialize)]
pub struct ThreadLedger {
    /// Format of this value.
    pub schema: &'static str,
    /// The id of the recording; `None` of files that are none.
    pub recording: Option<String>,
    /// The recordings that were read, each with its ranges of ids.
    pub recordings: Vec<RecordingPart>,
    /// The window.
    pub window: Window,
    /// What it is compared with.
    pub base: Option<Window>,
    /// Operations completed in the window, where they were counted.
    pub operations: Option<f64>,
    /// What was counted as operations, in words; `None` where nothing was.
    pub operations_of: Option<String>,
    /// The same of the baseline.
    pub base_operations: Option<f64>,
    /// By what threads are grouped: "process", "role", "pool", "thread".
    pub by: &'static str,
    /// The groups, the one first that lost most: that grew most above the baseline, or whose
    /// waiting changed most over the window. Idle time does not count.
    pub groups: Vec<GroupLedger>,
}

/// What a group of threads spent the windows on.
#[derive(Clone, Debug, Serialize)]
pub struct GroupLedger {
    /// Process, role, pool or thread.
    pub name: String,
    /// The process that it belongs to, with its pid where another has the same name.
    pub process: String,
    /// The same as a row of the recording's processes.
    pub process_id: ProcessId,
    /// The id of the recording that the process is of; `None` of files that are none.
    pub recording: Option<String>,
    /// Threads that lived in the window.
    pub threads: usize,
    /// Their time in the window, milliseconds.
    pub thread_ms: f64,
    /// Their time in the baseline, milliseconds.
    pub base_thread_ms: f64,
    /// CPU samples in the window: the layers of running time are shares of these.
    pub cpu_samples: u64,
    /// What it was spent on: categories with time in either window, in the order of
    /// [`Category::ALL`].
    pub spent: Vec<Spent>,
}

/// A category's time.
#[derive(Clone, Debug, Serialize)]
pub struct Spent {
    /// The category.
    pub category: Category,
    /// In words.
    pub words: &'static str,
    /// In the window, milliseconds.
    pub ms: f64,
    /// As a share of the group's time in the window.
    pub share: f64,
    /// In the baseline, milliseconds; `None` without a baseline.
    pub base_ms: Option<f64>,
    /// As a share of the group's time in the baseline.
    pub base_share: Option<f64>,
    /// Milliseconds per operation in the window, where operations are known.
    pub ms_per_operation: Option<f64>,
    /// The same in the baseline.
    pub base_ms_per_operation: Option<f64>,
    /// Half of the 95% interval of a share that comes from samples, as a share of the group's time.
    pub sampling_error: Option<f64>,
    /// What of it was waited for, where a record names it: files, peers, hosts, the most costly
    /// first; parts of `ms`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub on: Vec<Target>,
}

/// A file, a peer or a host that threads waited for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Target {
    /// Its path, address or name.
    pub name: String,
    /// How long, milliseconds.
    pub ms: f64,
}

/// Spans that are operations: each that ends in a window is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Per {
    /// Their kind: "probe", "syscall", "net.connect".
    pub kind: String,
    /// Their name; any, without one.
    pub name: Option<String>,
}

impl std::str::FromStr for Per {
    type Err = String;

    /// "KIND" or "KIND=NAME": names have colons of their own ("probe=uprobe:libshop.so:serve").
    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, name) = text.split_once('=').map_or((text, None), |(kind, name)| (kind, Some(name)));
        if kind.is_empty() || name == Some("") {
            return Err("write a kind of spans, or KIND=NAME".into());
        }
        Ok(Self { kind: kind.to_owned(), name: name.map(str::to_owned) })
    }
}

impl Per {
    fn count(&self, recording: &Recording, window: Window) -> Option<f64> {
        let is_meant = |name: &str| self.name.as_deref().is_none_or(|wanted| wanted == name);
        let ends_in = |t_ns: i64| (window.from_ns..window.to_ns).contains(&t_ns);
        let count = (recording.spans_of(&self.kind))
            .filter(|span| ends_in(span.t1_ns()) && is_meant(span.name()))
            .count();
        (count > 0).then_some(count as f64)
    }

    fn words(&self) -> String {
        match &self.name {
            Some(name) => format!("spans {}, {name}", self.kind),
            None => format!("spans {}", self.kind),
        }
    }
}

/// Version of the JSON.
pub const SCHEMA: &str = "fathom.ledger/2";

/// The ledger of a window, and of a baseline to compare it with. The whole recording, without a
/// window. Operations are those of the series of throughput.
pub fn thread_ledger(
    recording: &Recording,
    window: Option<Window>,
    base: Option<Window>,
    by: By,
) -> ThreadLedger {
    thread_ledger_per(recording, window, base, by, None)
}

/// The same, with spans as operations.
pub fn thread_ledger_per(
    recording: &Recording,
    window: Option<Window>,
    base: Option<Window>,
    by: By,
    per: Option<&Per>,
) -> ThreadLedger {
    let window = window.unwrap_or_else(|| crate::whole(recording));
    let count = |window| match per {
        Some(per) => per.count(recording, window),
        None => operations(recording, window),
    };
    let (operations, base_operations) = (count(window), base.and_then(count));
    let any = operations.or(base_operations).is_some();
    let operations_of = any.then(|| per.map_or_else(|| "series of throughput".to_owned(), Per::words));
    let parts = if base.is_some() { Vec::new() } else { parts(window) };
    let all: Vec<Window> = std::iter::once(window).chain(base).chain(parts.iter().copied()).collect();
    let mut all = accounts(recording, &all).into_iter();
    let accounts = all.next().unwrap_or_default();
    let base_accounts = base.and_then(|_| all.next());
    let parts: Vec<_> = parts.iter().map(|part| part.length_ns() as f64 / 1e6).zip(all).collect();
    let mut groups =
        groups::group(recording, by, &accounts, base_accounts.as_deref(), (operations, base_operations));
    let scale = base.map(|base| window.length_ns() as f64 / base.length_ns().max(1) as f64);
    groups::rank(&mut groups, recording, by, &parts, scale);
    ThreadLedger {
        schema: SCHEMA,
        recording: recording.identity.recording.clone(),
        recordings: recording.parts(),
        window,
        base,
        operations,
        operations_of,
        base_operations,
        by: by.word(),
        groups,
    }
}

/// The groups of many windows, without a baseline, by each of several groupings: what the ledger is
/// over time. `[window][grouping]` is a list of groups.
pub fn over_time(recording: &Recording, windows: &[Window], by: &[By]) -> Vec<Vec<Vec<GroupLedger>>> {
    grouped(recording, &accounts(recording, windows), by)
}

/// The same of a recording whose threads were looked at before.
pub(crate) fn over_time_of(
    recording: &Recording,
    (intervals, stacks): (&ThreadIntervals<'_>, &ByStack),
    windows: &[Window],
    by: &[By],
) -> Vec<Vec<Vec<GroupLedger>>> {
    grouped(recording, &charge::accounts(intervals, stacks, windows), by)
}

fn accounts<'a>(recording: &'a Recording, windows: &[Window]) -> Vec<Vec<charge::Account<'a>>> {
    charge::accounts(&ThreadIntervals::of(recording), &ByStack::of(recording), windows)
}

fn grouped(
    recording: &Recording,
    accounts: &[Vec<charge::Account<'_>>],
    by: &[By],
) -> Vec<Vec<Vec<GroupLedger>>> {
    let group =
        |of: &Vec<charge::Account<'_>>, by: &By| groups::group(recording, *by, of, None, (None, None));
    accounts.iter().map(|of| by.iter().map(|by| group(of, by)).collect()).collect()
}

/// The name of the series that counts operations: the throughput that clients report, else the
/// requests of an access log. Never both, as they count the same.
pub(crate) fn counted_as(recording: &Recording) -> &'static str {
    let is_throughput =
        |s: &fathom_recording::Series| s.info.kind == SeriesKind::Rate && s.info.name == series::THROUGHPUT;
    if recording.series.iter().any(is_throughput) { series::THROUGHPUT } else { series::REQUESTS }
}

/// Operations that a series of throughput counted in a window.
pub(crate) fn operations(recording: &Recording, window: Window) -> Option<f64> {
    let within = Intervals::of_windows(&[window]);
    let counted = (recording.series.iter())
        .filter(|s| s.info.kind == SeriesKind::Rate && s.info.name == counted_as(recording))
        .flat_map(|s| (0..s.t_ns.len()).map(move |i| (s.t_ns[i], s.dt_ns[i], s.value[i])))
        .map(|(t, dt, rate)| rate * Intervals::of([(t, t.saturating_add(dt))]).and(&within).length_ms() / 1e3)
        .fold(None, |sum, n| Some(sum.unwrap_or(0.0) + n))?;
    (counted > 0.0).then_some(counted)
}
