//! How the agent is getting on: one JSON file in the spool (schema `fathom.agent/1`), replaced as a
//! whole, and read by `fathom agent --status`.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use fathom_recording::Unseen;
use serde::{Deserialize, Serialize};

use crate::AgentError;

/// The schema.
pub const SCHEMA: &str = "fathom.agent/1";
/// Name of the file.
const FILE: &str = "status.json";
/// A status has some kilobytes; a larger file is not one.
const MOST_BYTES: u64 = 4 << 20;

/// See the module. Times are seconds since the epoch; what is not known is null.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Status {
    /// [`SCHEMA`].
    pub schema: String,
    /// Id of the process that wrote it.
    pub pid: u32,
    /// Whether that still runs; set by whoever reads it.
    pub running: bool,
    /// When it began.
    pub started_s: i64,
    /// When this was written.
    pub written_s: i64,
    /// "starting", "recording", "reduced", "paused" or "cannot record".
    pub state: String,
    /// Why it is not recording as it was asked to.
    pub why: Option<String>,
    /// Samples per second per CPU that it was asked for.
    pub asked_hz: u32,
    /// Those that it takes.
    pub rate_hz: u32,
    /// CPU time over the last minute, percent of one CPU.
    pub cpu_percent: Option<f64>,
    /// The limit of it.
    pub cpu_limit_percent: f64,
    /// Resident memory, bytes.
    pub rss_bytes: Option<u64>,
    /// The limit of it.
    pub rss_limit_bytes: u64,
    /// What waits on disk.
    pub spool: SpoolStatus,
    /// Where it goes.
    pub place: PlaceStatus,
    /// JVMs that are recorded.
    pub jvms: Vec<JvmStatus>,
    /// What may not or cannot be seen.
    pub unseen: Vec<Unseen>,
    /// What was slow.
    pub incidents: IncidentStatus,
    /// Intervals whose rows are written.
    #[serde(rename = "stretches")]
    pub intervals: u64,
}

/// What waits on disk.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SpoolStatus {
    /// Bytes that wait.
    pub bytes: u64,
    /// The limit of them.
    pub limit_bytes: u64,
    /// Intervals and incidents that wait.
    pub entries: usize,
    /// Recordings dropped for lack of room since the directory was made.
    pub dropped_recordings: u64,
    /// Why something could not be written there, the last time.
    pub error: Option<String>,
}

/// Where rows and incidents go.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PlaceStatus {
    /// As it was written.
    pub place: String,
    /// Whether the last attempt worked; null before the first.
    pub works: Option<bool>,
    /// Intervals and incidents that it has taken.
    pub taken: u64,
    /// Attempts in a row that failed.
    pub failures: u64,
    /// Why the last one did.
    pub why: Option<String>,
    /// How long after it the next attempt is made, seconds.
    pub retry_after_s: Option<f64>,
}

impl PlaceStatus {
    pub(crate) fn worked(&mut self) {
        let taken = self.taken + 1;
        let place = std::mem::take(&mut self.place);
        *self = Self { place, works: Some(true), taken, ..Self::default() };
    }

    pub(crate) fn failed(&mut self, why: &str, wait: Duration) {
        self.works = Some(false);
        self.failures += 1;
        self.why = Some(why.to_owned());
        self.retry_after_s = Some(wait.as_secs_f64());
    }
}

/// A JVM that is recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JvmStatus {
    /// Its id.
    pub pid: i64,
    /// Main class or jar.
    pub name: String,
    /// The service that its rows have; null: its name.
    pub service: Option<String>,
    /// Its container.
    pub container: Option<String>,
}

/// What was slow.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct IncidentStatus {
    /// Written since the start.
    pub written: u64,
    /// Not written since the start.
    pub failed: u64,
    /// Why not, the last time.
    pub why: Option<String>,
}

impl Status {
    /// The one that an agent has left in its spool.
    pub fn of(spool: &Path) -> Result<Self, AgentError> {
        use std::io::Read;
        let none = |why: String| AgentError::NoStatus { dir: spool.to_path_buf(), why };
        let path = spool.join(FILE);
        let mut json = Vec::new();
        let read = std::fs::File::open(&path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut json));
        read.map_err(|cause| none(cause.to_string()))?;
        let mut status: Self = serde_json::from_slice(&json).map_err(|cause| none(cause.to_string()))?;
        // Whoever has the lock is at work; without a right to the file the process shows it.
        let lock = std::fs::OpenOptions::new().write(true).open(spool.join("lock"));
        status.running = match lock {
            Ok(lock) => lock.try_lock().is_err(),
            Err(_) => Path::new(&format!("/proc/{}", status.pid)).exists(),
        };
        Ok(status)
    }

    /// Replaces the file.
    pub(crate) fn store(&self, spool: &Path) -> Result<(), AgentError> {
        let (path, aside) = (spool.join(FILE), spool.join("making").join(FILE));
        let json = serde_json::to_vec_pretty(self).unwrap_or_default();
        // Not synced: after a loss of power the agent that wrote it is gone too.
        std::fs::write(&aside, json).map_err(AgentError::io(&aside))?;
        std::fs::rename(&aside, &path).map_err(AgentError::io(&path))
    }
}

/// The status, which several threads write to.
#[derive(Debug, Default)]
pub(crate) struct Shared(Mutex<Status>);

impl Shared {
    pub fn new(status: Status) -> Self {
        Self(Mutex::new(status))
    }

    /// Changes it, or takes something out of it.
    pub fn with<R>(&self, change: impl FnOnce(&mut Status) -> R) -> R {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
