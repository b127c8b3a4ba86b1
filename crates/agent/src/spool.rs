//! What was made and is not yet in its place, on this host's disk: the source of truth.
//!
//! ```text
//!   SPOOL/lock                              locked by the agent that is at work
//!   SPOOL/making/                           being written; cleared at the start
//!   SPOOL/rows/2026-11-24T10-00-00.123Z-…/  rows of an interval, whole, as they lie in the place
//!   SPOOL/incidents/….fathom/               incidents, whole recordings
//!   SPOOL/gone/                             in its place, or dropped: being removed; cleared at the start
//!   SPOOL/dropped                           a line for each entry that was dropped for lack of room
//! ```
//!
//! An entry comes into being by a rename and goes by a rename, so that a kill at any time leaves
//! it whole or not at all. It goes only once its place has confirmed all of it. What was dropped is
//! written down before it is removed: an entry that is in the list and is still there is
//! removed at the next start, so that nothing is dropped without being counted, nor counted twice.

use std::collections::HashSet;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::AgentError;

/// The list of what was dropped is folded into one number when it has so many bytes.
const LONG_LIST: u64 = 64 << 10;
/// The line that has the number of recordings of a list that was folded.
const FOLDED: &str = "before";

/// How often, and how long after each other, the lock is tried.
const LOCK_TRIES: u32 = 5;
/// See [`LOCK_TRIES`].
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Which part of the spool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Thin rows.
    Rows,
    /// A whole recording.
    Incident,
}

impl Kind {
    fn dir(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Incident => "incidents",
        }
    }
}

/// Something that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub kind: Kind,
    pub name: String,
    pub path: PathBuf,
    pub bytes: u64,
}

/// How full it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fill {
    pub bytes: u64,
    pub entries: usize,
    /// Recordings dropped since the directory was made.
    pub dropped: u64,
}

#[derive(Default)]
struct State {
    /// Names of what was dropped, with those of the list on disk.
    dropped: HashSet<String>,
    /// Recordings of lists that were folded, and of this one.
    dropped_recordings: u64,
    /// What is being handed over, and is not dropped meanwhile.
    busy: Option<PathBuf>,
}

/// See the module.
pub(crate) struct Spool {
    dir: PathBuf,
    max_bytes: u64,
    state: Mutex<State>,
    _lock: File,
}

impl Spool {
    /// Takes a directory up, which is made where it is missing, and finishes what a killed agent
    /// left.
    pub fn open(dir: &Path, max_bytes: u64) -> Result<Self, AgentError> {
        for part in ["making", "rows", "incidents", "gone"] {
            let part = dir.join(part);
            DirBuilder::new().recursive(true).mode(0o700).create(&part).map_err(AgentError::io(&part))?;
        }
        let lock = dir.join("lock");
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&lock);
        let file = file.map_err(AgentError::io(&lock))?;
        // Whoever asks for the status has the lock for a short time.
        let mut tries = (0..LOCK_TRIES).map(|i| {
            std::thread::sleep(LOCK_PAUSE * u32::from(i > 0));
            file.try_lock().is_ok()
        });
        if !tries.any(|locked| locked) {
            return Err(AgentError::InUse(dir.to_path_buf()));
        }
        let spool = Self { dir: dir.to_path_buf(), max_bytes, state: Mutex::default(), _lock: file };
        spool.clear("making")?;
        spool.clear("gone")?;
        spool.take_up_list()?;
        Ok(spool)
    }

    /// Its directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn clear(&self, part: &str) -> Result<(), AgentError> {
        let part = self.dir.join(part);
        for entry in std::fs::read_dir(&part).map_err(AgentError::io(&part))?.flatten() {
            remove(&entry.path()).map_err(AgentError::io(&entry.path()))?;
        }
        Ok(())
    }

    /// A new empty directory for what is to become an entry.
    pub fn make(&self, name: &str) -> Result<PathBuf, AgentError> {
        let path = self.dir.join("making").join(name);
        if path.exists() {
            remove(&path).map_err(AgentError::io(&path))?;
        }
        DirBuilder::new().mode(0o700).create(&path).map_err(AgentError::io(&path))?;
        Ok(path)
    }

    /// Makes rows of what was made, whose files are on disk already. Then makes room, if need be.
    pub fn commit(&self, made: &Path) -> Result<(), AgentError> {
        let name = made.file_name().unwrap_or_default();
        let rows = self.dir.join(Kind::Rows.dir());
        std::fs::rename(made, rows.join(name)).map_err(AgentError::io(made))?;
        sync(&rows)?;
        self.trim()
    }

    /// Everything that waits: incidents first, then rows, the oldest first.
    pub fn entries(&self) -> Vec<Entry> {
        [Kind::Incident, Kind::Rows].into_iter().flat_map(|kind| self.entries_of(kind)).collect()
    }

    fn entries_of(&self, kind: Kind) -> Vec<Entry> {
        let listed = std::fs::read_dir(self.dir.join(kind.dir())).into_iter().flatten().flatten();
        let entry = |entry: std::fs::DirEntry| {
            let (name, path) = (entry.file_name().into_string().ok()?, entry.path());
            let is_entry = !name.starts_with('.') && entry.file_type().is_ok_and(|kind| kind.is_dir());
            is_entry.then(|| Entry { kind, name, bytes: size_of(&path), path })
        };
        let mut entries: Vec<Entry> = listed.filter_map(entry).collect();
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        entries
    }

    /// The next to be handed over. It is not dropped until [`Spool::done`] or [`Spool::release`].
    pub fn next(&self) -> Option<Entry> {
        let mut state = self.state();
        let next = self.entries().into_iter().next();
        state.busy = next.as_ref().map(|entry| entry.path.clone());
        next
    }

    /// It stays: its place did not take it.
    pub fn release(&self) {
        self.state().busy = None;
    }

    /// Its place has all of it: it goes.
    pub fn done(&self, entry: &Entry) -> Result<(), AgentError> {
        let mut state = self.state();
        state.busy = None;
        self.remove(entry)
    }

    /// In one step, whatever happens.
    fn remove(&self, entry: &Entry) -> Result<(), AgentError> {
        let gone = self.dir.join("gone").join(&entry.name);
        if gone.exists() {
            remove(&gone).map_err(AgentError::io(&gone))?;
        }
        std::fs::rename(&entry.path, &gone).map_err(AgentError::io(&entry.path))?;
        remove(&gone).map_err(AgentError::io(&gone))
    }

    /// Drops the oldest until the rest fits: rows first, incidents only when no rows are left.
    pub fn trim(&self) -> Result<(), AgentError> {
        let mut state = self.state();
        let mut bytes: u64 = self.entries().iter().map(|entry| entry.bytes).sum();
        for kind in [Kind::Rows, Kind::Incident] {
            for entry in self.entries_of(kind) {
                if bytes <= self.max_bytes {
                    return Ok(());
                }
                if state.busy.as_ref() == Some(&entry.path) {
                    continue;
                }
                self.write_down(&mut state, &entry.name, recordings_in(&entry))?;
                self.remove(&entry)?;
                bytes = bytes.saturating_sub(entry.bytes);
            }
        }
        Ok(())
    }

    /// Counts recordings that could not even be written here.
    pub fn count_lost(&self, name: &str, recordings: u64) -> Result<(), AgentError> {
        self.write_down(&mut self.state(), name, recordings)
    }

    fn write_down(&self, state: &mut State, name: &str, recordings: u64) -> Result<(), AgentError> {
        // It counts from here on, also where the disk is too full to write it down.
        if state.dropped.insert(name.to_owned()) {
            state.dropped_recordings += recordings;
        }
        let path = self.dir.join("dropped");
        let list = OpenOptions::new().append(true).create(true).mode(0o600).open(&path);
        let written = list.and_then(|mut list| {
            writeln!(list, "{recordings} {name}")?;
            list.sync_all()?;
            list.metadata()
        });
        if written.map_err(AgentError::io(&path))?.len() > LONG_LIST {
            self.fold(state)?;
        }
        Ok(())
    }

    /// Replaces the list by its sum and its last line: what that names may still be there.
    fn fold(&self, state: &mut State) -> Result<(), AgentError> {
        let (path, aside) = (self.dir.join("dropped"), self.dir.join("making").join("dropped"));
        let write = || {
            let mut file = File::create(&aside)?;
            let last = std::fs::read_to_string(&path)?;
            let last = last.lines().next_back().unwrap_or_default();
            let its: u64 = last.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
            writeln!(file, "{} {FOLDED}\n{last}", state.dropped_recordings.saturating_sub(its))?;
            file.sync_all()?;
            std::fs::rename(&aside, &path)
        };
        write().map_err(AgentError::io(&path))?;
        state.dropped.clear();
        sync(&self.dir)
    }

    /// Reads the list, and removes what it names and is still there.
    fn take_up_list(&self) -> Result<(), AgentError> {
        let path = self.dir.join("dropped");
        let mut list = String::new();
        match File::open(&path) {
            Ok(file) => {
                _ = file.take(2 * LONG_LIST).read_to_string(&mut list).map_err(AgentError::io(&path))?
            }
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {}
            Err(cause) => return Err(AgentError::io(&path)(cause)),
        }
        let mut state = self.state();
        // A line that was truncated by a kill is ignored: what it was to name is still there whole.
        for line in list.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
            let Some((recordings, name)) = line.split_once(' ').filter(|(_, name)| !name.is_empty()) else {
                continue;
            };
            if state.dropped.insert(name.to_owned()) {
                state.dropped_recordings += recordings.parse::<u64>().unwrap_or(0);
            }
        }
        if !list.is_empty() && !list.ends_with('\n') {
            // What is appended must not be read as the rest of that line.
            let mut file = OpenOptions::new().append(true).open(&path).map_err(AgentError::io(&path))?;
            file.write_all(b"\n").map_err(AgentError::io(&path))?;
        }
        for entry in self.entries() {
            if state.dropped.contains(&entry.name) {
                self.remove(&entry)?;
            }
        }
        Ok(())
    }

    /// How full it is.
    pub fn fill(&self) -> Fill {
        let entries = self.entries();
        let bytes = entries.iter().map(|entry| entry.bytes).sum();
        Fill { bytes, entries: entries.len(), dropped: self.state().dropped_recordings }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many recordings an entry has rows of.
fn recordings_in(entry: &Entry) -> u64 {
    match entry.kind {
        Kind::Incident => 1,
        Kind::Rows => files(&entry.path).iter().filter(|file| is_last(file)).count() as u64,
    }
}

/// Whether a file is the one that makes the rows of a recording whole.
pub(crate) fn is_last(file: &Path) -> bool {
    file.file_name().is_some_and(|name| name.to_string_lossy().ends_with("-recordings.parquet"))
}

/// All files below a directory, sorted.
pub(crate) fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(entry.path()),
                Ok(kind) if kind.is_file() => found.push(entry.path()),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

fn size_of(dir: &Path) -> u64 {
    files(dir).iter().filter_map(|file| file.metadata().ok()).map(|info| info.len()).sum()
}

fn remove(path: &Path) -> std::io::Result<()> {
    if path.symlink_metadata()?.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }
}

fn sync(dir: &Path) -> Result<(), AgentError> {
    File::open(dir).and_then(|dir| dir.sync_all()).map_err(AgentError::io(dir))
}

#[cfg(test)]
mod tests;
