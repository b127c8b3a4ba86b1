//! Bounds of a recording: time, size, and what must stay free on its disk.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Ended;

/// What stays free on the disk in addition to what the end of the recording needs, bytes: others
/// write there too.
const KEEP_FREE: u64 = 256 << 20;

/// Bounds of a recording.
#[derive(Clone, Debug)]
pub struct Limits {
    /// How long it may last; `None`: until it is ended otherwise.
    pub duration: Option<Duration>,
    /// How large it may grow while it is written, bytes.
    pub max_bytes: u64,
    /// Its directory.
    pub place: PathBuf,
}

impl Limits {
    /// Size of the recording so far, bytes.
    pub fn size_bytes(&self) -> u64 {
        size_of(&self.place) + size_of(&self.place.join("spool"))
    }

    /// The bound that is reached.
    pub(super) fn reached(&self) -> Option<Ended> {
        let size = self.size_bytes();
        if size >= self.max_bytes {
            return Some(Ended::TooLarge(size));
        }
        // At the end, tables are written next to the spool that they come from, and take about its
        // size.
        let free = free_bytes(&self.place)?;
        (free < size.saturating_add(KEEP_FREE)).then_some(Ended::DiskFull(free))
    }
}

/// Bytes that are free for this user where a directory is.
pub fn free_bytes(dir: &Path) -> Option<u64> {
    let fs = rustix::fs::statvfs(dir).ok()?;
    Some(fs.f_bavail.saturating_mul(fs.f_frsize))
}

/// Sizes of the files in a directory, not below it.
fn size_of(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let files = entries.filter_map(|entry| entry.metadata().ok()).filter(|info| info.is_file());
    files.map(|info| info.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_that_has_grown_too_large_ends() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("spool")).unwrap();
        let limits = Limits { duration: None, max_bytes: 100, place: dir.path().to_path_buf() };
        std::fs::write(dir.path().join("spool/a"), [0; 60]).unwrap();
        assert_eq!((limits.size_bytes(), limits.reached()), (60, None));
        std::fs::write(dir.path().join("b"), [0; 60]).unwrap();
        assert_eq!(limits.reached(), Some(Ended::TooLarge(120)));
    }

    #[test]
    fn a_disk_that_is_nearly_full_ends_it() {
        // A recording as large as all that is free leaves no room for its tables.
        let dir = tempfile::tempdir().unwrap();
        let file = std::fs::File::create(dir.path().join("sparse")).unwrap();
        file.set_len(free_bytes(dir.path()).unwrap()).unwrap();
        let limits = Limits { duration: None, max_bytes: u64::MAX, place: dir.path().to_path_buf() };
        assert!(matches!(limits.reached(), Some(Ended::DiskFull(_))));
    }
}
