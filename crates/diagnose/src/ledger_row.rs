//! A row of the ledger of JVMs, and what it is of, by id and in words.

use fathom_recording::ProcessId;
use serde::Serialize;

use crate::waits::Category;

/// Time of one process (or of all) attributed to one category, in the slow windows and in the
/// baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct LedgerRow {
    /// The process, in words that no other JVM of the recording goes by.
    pub process: String,
    /// The process, as a row of the recording's processes; `None` for progress.
    pub process_id: Option<ProcessId>,
    /// The id of the recording that the process is of; `None` of files that are none.
    pub recording: Option<String>,
    /// Its pid, where it is known.
    pub pid: Option<i64>,
    /// What it is of.
    pub category_id: LedgerCategory,
    /// Of compilers: which, "c1" or "c2", where the log says it.
    pub compiler: Option<String>,
    /// The same in words: "stopped: GC", "stopped: other VM operations", "stopped: time to
    /// safepoint", "not stopped", "compiler threads busy: C2", "unknown".
    pub category: String,
    /// Whether rows of this category are part of the sum that makes up the window (compiler time is
    /// not).
    pub in_sum: bool,
    /// Milliseconds in the slow windows; `None` when not seen.
    pub slow_ms: Option<f64>,
    /// Milliseconds in the baseline windows.
    pub base_ms: Option<f64>,
    /// As a share of the slow windows' length (can pass 1 for compiler threads).
    pub slow_share: Option<f64>,
    /// As a share of the baseline windows' length.
    pub base_share: Option<f64>,
}

/// What a row of the ledger is of. Stops are those of the ledger of threads ([`Category`]), with
/// the same ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum LedgerCategory {
    /// Stopped for a collection.
    StoppedByGc,
    /// Stopped, and waiting for the last thread to stop.
    StoppedToReach,
    /// Stopped until threads ran again after the operation. Of no thread: each runs as it is let
    /// go.
    StoppedToLeave,
    /// Stopped for another VM operation.
    Stopped,
    /// Stopped, and the VM thread writes the JVM's log.
    StoppedByLog,
    /// Stopped as a whole from outside.
    Frozen,
    /// What the logs cover and no stop takes.
    NotStopped,
    /// What no source of stops covers.
    Unknown,
    /// Time of compiler threads, not part of the sum.
    Compilers,
    /// The application's progress as time, not part of the sum.
    Progress,
}

impl LedgerCategory {
    /// In words; those of compilers name the compiler in addition.
    pub const fn words(self) -> &'static str {
        match self {
            Self::StoppedByGc => Category::StoppedByGc.words(),
            Self::StoppedToReach => Category::StoppedToReach.words(),
            Self::StoppedToLeave => "stopped: leaving a safepoint",
            Self::Stopped => Category::Stopped.words(),
            Self::StoppedByLog => Category::StoppedByLog.words(),
            Self::Frozen => Category::Frozen.words(),
            Self::NotStopped => "not stopped",
            Self::Unknown => "unknown",
            Self::Compilers => "compiler threads busy",
            Self::Progress => "application progress",
        }
    }

    /// The category of a stop in the ledger of threads; `None` of what is no stop.
    pub(crate) fn of_threads(self) -> Option<Category> {
        match self {
            Self::StoppedByGc => Some(Category::StoppedByGc),
            Self::StoppedToReach => Some(Category::StoppedToReach),
            Self::StoppedToLeave | Self::Stopped => Some(Category::Stopped),
            Self::StoppedByLog => Some(Category::StoppedByLog),
            Self::Frozen => Some(Category::Frozen),
            Self::NotStopped | Self::Unknown | Self::Compilers | Self::Progress => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_have_the_ids_of_the_ledger_of_threads() {
        use LedgerCategory::{Frozen, Stopped, StoppedByGc, StoppedByLog, StoppedToReach};
        for category in [StoppedByGc, StoppedToReach, Stopped, StoppedByLog, Frozen] {
            let of_threads = serde_json::to_value(category.of_threads().unwrap()).unwrap();
            assert_eq!(serde_json::to_value(category).unwrap(), of_threads);
        }
    }
}
