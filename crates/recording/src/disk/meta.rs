//! `meta.json`: what a recording is, whether it was finished, and what it lost, without opening a
//! table.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::parquet_file::Written;
use super::tables::{TABLES, Table};
use super::{SCHEMA_VERSION, TOOL, private_files};
use crate::{Identity, Recording, RecordingError};

/// Name of the file.
pub(super) const FILE: &str = "meta.json";
/// The value of `format`.
const FORMAT: &str = "fathom.recording";
/// A `meta.json` of ours has a few hundred bytes; a larger one is not read.
const MAX_BYTES: u64 = 1 << 20;

/// Whether a recording was finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum State {
    /// The writer is at work, or was killed: the rows are in the spool.
    Writing,
    /// All tables are there.
    Complete,
}

/// Counts of what was not read, over all sources.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Losses {
    skipped: u64,
    lost: u64,
    cut_sources: u64,
    failed_checks: u64,
}

/// The content of `meta.json`.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Meta {
    format: String,
    pub schema_version: u32,
    tool: String,
    pub state: State,
    /// Whether the spool that was turned into tables was truncated.
    #[serde(default)]
    pub cut: bool,
    clock: String,
    #[serde(default)]
    pub covers_ns: Option<(i64, i64)>,
    #[serde(default)]
    rows: BTreeMap<String, u64>,
    /// CRC-32 of each table's file, eight hexadecimal digits.
    #[serde(default)]
    crc32: BTreeMap<String, String>,
    #[serde(default)]
    losses: Losses,
    /// The identity. Recordings of the first versions do not have it.
    #[serde(default)]
    pub identity: Identity,
}

impl Meta {
    /// The content for a recording that is about to be written.
    pub fn writing(identity: Identity) -> Self {
        Self {
            format: FORMAT.into(),
            schema_version: SCHEMA_VERSION,
            tool: TOOL.into(),
            state: State::Writing,
            cut: false,
            clock: "nanoseconds since 1970-01-01T00:00:00Z".into(),
            covers_ns: None,
            rows: BTreeMap::new(),
            crc32: BTreeMap::new(),
            losses: Losses::default(),
            identity,
        }
    }

    /// The content for a recording whose tables are written: `files` in the order of [`TABLES`].
    pub fn complete(recording: &Recording, files: &[Written], covers_ns: Option<(i64, i64)>) -> Self {
        let sources = &recording.sources;
        let named = || TABLES.iter().map(|table| table.name().to_owned()).zip(files);
        Self {
            state: State::Complete,
            cut: recording.cut,
            covers_ns,
            rows: named().map(|(name, file)| (name, file.rows as u64)).collect(),
            crc32: named().map(|(name, file)| (name, file.checksum.to_string())).collect(),
            losses: Losses {
                skipped: sources.iter().map(|s| s.skipped).fold(0, u64::saturating_add),
                lost: sources.iter().map(|s| s.lost).fold(0, u64::saturating_add),
                cut_sources: sources.iter().filter(|s| s.cut).count() as u64,
                failed_checks: sources.iter().flat_map(|s| &s.checks).filter(|c| !c.holds).count() as u64,
            },
            ..Self::writing(recording.identity.clone())
        }
    }

    /// The checksum that a table's file must have, if it is recorded.
    pub fn checksum(&self, table: &dyn Table) -> Option<&str> {
        self.crc32.get(table.name()).map(String::as_str)
    }

    /// Writes it into a directory atomically: it is there whole or as it was before.
    pub fn store(&self, dir: &Path) -> Result<(), RecordingError> {
        let path = dir.join(FILE);
        let json = serde_json::to_vec_pretty(self).map_err(|e| RecordingError::io(&path)(e.into()))?;
        private_files::replace_file(&path, |file| std::io::Write::write_all(file, &json))
    }

    /// Reads it, and refuses what is not a recording or was written by a later version.
    pub fn load(dir: &Path) -> Result<Self, RecordingError> {
        let path = dir.join(FILE);
        let none = |why: String| RecordingError::NotARecording { path: dir.to_path_buf(), why };
        if !path.is_file() {
            return Err(none(format!("there is no {FILE} in it")));
        }
        let file = std::fs::File::open(&path).map_err(RecordingError::io(&path))?;
        let mut json = Vec::new();
        file.take(MAX_BYTES).read_to_end(&mut json).map_err(RecordingError::io(&path))?;
        // A later version may use another structure; format and version keep this one.
        let value: serde_json::Value =
            serde_json::from_slice(&json).map_err(|e| none(format!("{FILE}: {e}")))?;
        if value.get("format").and_then(|f| f.as_str()) != Some(FORMAT) {
            return Err(none(format!("its {FILE} does not describe one")));
        }
        let version = value.get("schema_version").and_then(serde_json::Value::as_u64).filter(|n| *n > 0);
        let version = version.ok_or_else(|| none(format!("its {FILE} names no schema version")))?;
        let found = u32::try_from(version).unwrap_or(u32::MAX);
        if found > SCHEMA_VERSION {
            let tool = value.get("tool").and_then(|t| t.as_str()).unwrap_or("an unnamed tool").to_owned();
            return Err(RecordingError::Newer {
                path: dir.to_path_buf(),
                found,
                tool,
                known: SCHEMA_VERSION,
            });
        }
        let mut meta: Self = serde_json::from_value(value).map_err(RecordingError::damaged(&path))?;
        meta.identity = meta.identity.checked().map_err(RecordingError::damaged(&path))?;
        Ok(meta)
    }
}
