//! Incidents on disk: written on a thread of its own, so that collectors are drained meanwhile; the
//! oldest give way.
//!
//! ```text
//!   NAME/2026-11-21T20-15-03Z-stop.fathom      whole incidents only
//!   NAME/.unfinished/                          the one that is being written; locked by the fathom that writes
//! ```
//!
//! An incident is moved to its place when it is whole and there is room for it: a fathom that is
//! killed leaves whole ones and what the next one clears away. Nothing is removed but incidents,
//! known by their names and by being recordings.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, channel, sync_channel};
use std::thread::JoinHandle;

use fathom_recording::{Excerpt, Identity, Overwrite, disk};
use rustix::fs::FlockOperation;

use crate::error::CaptureError;
use crate::session::free_bytes;

/// Where the incident is that is being written.
const UNFINISHED: &str = ".unfinished";
/// What stays free on the disk, bytes: others write there too.
const KEEP_FREE: u64 = 256 << 20;
/// Incidents of one second and kind are distinguished by a number up to this.
const MOST_ALIKE: u32 = 1000;

/// An incident to be written.
pub(super) struct Job {
    pub excerpt: Excerpt,
    /// Its name, without the extension.
    pub name: String,
    pub what: String,
    pub t0_ns: i64,
    /// What is recorded; each incident gets an id of its own.
    pub identity: Identity,
}

/// What became of it.
pub(super) enum Done {
    Written { path: PathBuf, bytes: u64, t0_ns: i64, what: String, dropped: usize },
    Failed { what: String, why: String },
}

/// See the module.
pub(super) struct Store {
    jobs: Option<SyncSender<Job>>,
    done: Receiver<Done>,
    thread: Option<JoinHandle<()>>,
    /// Given and not reported yet.
    given: usize,
}

impl Store {
    /// Makes the directory, or takes up one that is there.
    pub fn open(place: &Path, max_bytes: u64, keep: Option<usize>) -> Result<Self, CaptureError> {
        let shelf = Shelf::open(place, max_bytes, keep)?;
        // One at a time: what waits to be written keeps its rows in memory.
        let (jobs, taken) = sync_channel::<Job>(1);
        let (finished, done) = channel();
        let write = move || {
            for job in taken {
                let done = shelf.write(&job);
                // Its rows go before anybody hears that there is room for the next.
                drop(job);
                if finished.send(done).is_err() {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("incidents".into()).spawn(write);
        let thread = thread.map_err(|cause| CaptureError::System { what: "a thread", cause })?;
        Ok(Self { jobs: Some(jobs), done, thread: Some(thread), given: 0 })
    }

    /// Whether nothing is being written.
    pub fn is_idle(&self) -> bool {
        self.given == 0
    }

    /// Has an incident written. `wait`: until there is room for it.
    pub fn write(&mut self, job: Job, wait: bool) -> Result<(), String> {
        let Some(jobs) = &self.jobs else { return Err("nothing is written any more".into()) };
        let given = if wait {
            jobs.send(job).map_err(|_| "the thread that writes has ended")
        } else {
            jobs.try_send(job).map_err(|_| "the one before is still being written")
        };
        given?;
        self.given += 1;
        Ok(())
    }

    /// What has been written since the last call.
    pub fn done(&mut self) -> Vec<Done> {
        let mut all = Vec::new();
        loop {
            match self.done.try_recv() {
                Ok(done) => all.push(done),
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Disconnected) => {
                    // It panicked; what was given to it is lost, and further incidents are refused.
                    if self.given > all.len() {
                        let (what, why) =
                            ("an incident".to_owned(), "the thread that writes has ended".into());
                        all.push(Done::Failed { what, why });
                        self.given = all.len();
                    }
                    break;
                }
            }
        }
        self.given -= all.len().min(self.given);
        all
    }

    /// Waits for the last one.
    pub fn finish(&mut self) -> Vec<Done> {
        self.jobs = None;
        // One that panicked has reported what it could.
        let _ = self.thread.take().map(JoinHandle::join);
        self.done()
    }
}

/// The directory.
struct Shelf {
    place: PathBuf,
    max_bytes: u64,
    keep: usize,
    /// Locked as long as it is open.
    _lock: File,
}

impl Shelf {
    fn open(place: &Path, max_bytes: u64, keep: Option<usize>) -> Result<Self, CaptureError> {
        let failed = |cause| CaptureError::Place { place: place.to_path_buf(), cause };
        let unfinished = place.join(UNFINISHED);
        if disk::is_recording(place) {
            return Err(failed(std::io::Error::other(
                "is a recording: --on-slow writes a directory of recordings",
            )));
        }
        DirBuilder::new().recursive(true).mode(0o700).create(&unfinished).map_err(failed)?;
        let lock = File::open(&unfinished).map_err(failed)?;
        if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            return Err(failed(std::io::Error::other("another fathom writes its incidents there")));
        }
        // What one that was killed has left.
        for entry in std::fs::read_dir(&unfinished).map_err(failed)?.flatten() {
            let _ = disk::remove(&entry.path());
        }
        Ok(Self { place: place.to_path_buf(), max_bytes, keep: keep.unwrap_or(usize::MAX), _lock: lock })
    }

    fn write(&self, job: &Job) -> Done {
        let what = job.what.clone();
        match self.try_write(job) {
            Ok((path, bytes, dropped)) => Done::Written { path, bytes, t0_ns: job.t0_ns, what, dropped },
            Err(why) => Done::Failed { what, why },
        }
    }

    /// Writes it aside, makes room, and moves it to its place.
    fn try_write(&self, job: &Job) -> Result<(PathBuf, u64, usize), String> {
        let free = free_bytes(&self.place).unwrap_or(u64::MAX);
        if free < KEEP_FREE {
            return Err(format!("the disk is nearly full: {} MB are free", free >> 20));
        }
        let mut recording = job.excerpt.recording();
        recording.identity = job.identity.clone();
        let aside = self.place.join(UNFINISHED).join(format!("{}.{}", job.name, disk::EXTENSION));
        fathom_recording::write(&recording, &aside, Overwrite::Recording).map_err(|e| e.to_string())?;
        drop(recording);
        let bytes = size_of(&aside);
        let placed = self.make_room(bytes).and_then(|dropped| {
            let path = self.free_name(&job.name).ok_or("there are too many of its second")?;
            std::fs::rename(&aside, &path).map_err(|cause| cause.to_string())?;
            Ok((path, bytes, dropped))
        });
        if placed.is_err() {
            // Best effort: the error that matters is the one at hand, and the next start clears up.
            let _ = disk::remove(&aside);
        }
        placed
    }

    /// Removes the oldest until one more of so many bytes fits; how many.
    fn make_room(&self, bytes: u64) -> Result<usize, String> {
        if bytes > self.max_bytes {
            return Err(format!(
                "it has {} MB by itself, and --max-size allows {}",
                bytes >> 20,
                self.max_bytes >> 20
            ));
        }
        let mut all = self.incidents();
        all.reverse();
        let mut total: u64 = all.iter().map(|(_, bytes)| *bytes).sum();
        let mut dropped = 0;
        while total.saturating_add(bytes) > self.max_bytes || all.len() >= self.keep {
            let Some((oldest, its)) = all.pop() else { break };
            disk::remove(&oldest).map_err(|error| error.to_string())?;
            total -= its;
            dropped += 1;
        }
        Ok(dropped)
    }

    /// All incidents that are there, the oldest first, with their sizes.
    fn incidents(&self) -> Vec<(PathBuf, u64)> {
        let entries = std::fs::read_dir(&self.place).into_iter().flatten().flatten();
        let paths = entries.map(|entry| entry.path());
        let mut found: Vec<PathBuf> = paths.filter(|path| is_incident(path)).collect();
        found.sort();
        found.into_iter().map(|path| (path.clone(), size_of(&path))).collect()
    }

    fn free_name(&self, name: &str) -> Option<PathBuf> {
        let numbered = |n: u32| if n < 2 { name.to_owned() } else { format!("{name}-{n}") };
        let path = |n| self.place.join(format!("{}.{}", numbered(n), disk::EXTENSION));
        (1..MOST_ALIKE).map(path).find(|path| path.symlink_metadata().is_err())
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        // Only when nothing is in it.
        let _ = std::fs::remove_dir(self.place.join(UNFINISHED));
    }
}

/// Whether something was written here: a recording that is named so.
fn is_incident(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    // "2026-11-21T20-15-03Z-": a figure at each 0.
    let shape = "0000-00-00T00-00-00Z-";
    let fits = |(at, byte): (usize, u8)| match byte {
        b'0' => name.as_bytes().get(at).is_some_and(u8::is_ascii_digit),
        other => name.as_bytes().get(at) == Some(&other),
    };
    let named = shape.bytes().enumerate().all(fits) && name.ends_with(&format!(".{}", disk::EXTENSION));
    named && disk::is_recording(path)
}

/// Sizes of the files of a recording.
fn size_of(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.metadata().ok())
        .filter(|info| info.is_file())
        .map(|info| info.len())
        .sum()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::PermissionsExt;

    use fathom_recording::{Bounds, Ring, Sink, Source};

    use super::*;

    fn job(name: &str) -> Job {
        let mut ring = Ring::new(Bounds { bytes: 1 << 20, age_ns: 1 << 40 }, 0);
        ring.add_source(Source::default());
        let identity = Identity::default();
        Job { excerpt: ring.excerpt((0, 10)), name: name.into(), what: "a test".into(), t0_ns: 0, identity }
    }

    fn names(place: &Path) -> Vec<String> {
        let mut names: Vec<String> = (std::fs::read_dir(place).unwrap().flatten())
            .map(|entry| entry.file_name().into_string().unwrap())
            .filter(|name| name != UNFINISHED)
            .collect();
        names.sort();
        names
    }

    #[test]
    fn the_oldest_give_way_and_nothing_else_does() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("slow");
        std::fs::create_dir(&place).unwrap();
        let mine = "2026-01-01T00-00-00Z-mine.fathom";
        std::fs::create_dir(place.join(mine)).unwrap();
        std::fs::write(place.join(mine).join("x"), "no recording").unwrap();
        std::fs::write(place.join("2020-notes.txt"), "notes").unwrap();
        let mut store = Store::open(&place, 1 << 30, Some(2)).unwrap();
        for second in 1..=4 {
            store.write(job(&format!("2026-11-21T20-15-0{second}Z-stop")), true).unwrap();
        }
        store.write(job("2026-11-21T20-15-04Z-stop"), true).unwrap();
        let done = store.finish();
        assert!(done.iter().all(|done| matches!(done, Done::Written { .. })));
        let left = [
            "2020-notes.txt",
            mine,
            "2026-11-21T20-15-04Z-stop-2.fathom",
            "2026-11-21T20-15-04Z-stop.fathom",
        ];
        assert_eq!(names(&place), left);
        let written = place.join(left[3]);
        assert!(fathom_recording::open(&written).is_ok());
        assert_eq!(std::fs::metadata(&written).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn all_together_stay_below_their_size() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(dir.path(), 1 << 30, None).unwrap();
        store.write(job("2026-11-21T20-15-01Z-stop"), true).unwrap();
        let Some(Done::Written { bytes, .. }) = store.finish().pop() else { panic!("not written") };
        let mut store = Store::open(dir.path(), bytes * 3 + bytes / 2, None).unwrap();
        for second in 2..=8 {
            store.write(job(&format!("2026-11-21T20-15-0{second}Z-stop")), true).unwrap();
        }
        assert_eq!(store.finish().len(), 7);
        let left: u64 = names(dir.path()).iter().map(|name| size_of(&dir.path().join(name))).sum();
        assert_eq!((names(dir.path()).len(), left <= bytes * 7 / 2), (3, true));
        // One that does not fit alone is refused, and the others stay.
        let mut store = Store::open(dir.path(), bytes / 2, None).unwrap();
        store.write(job("2026-11-21T20-15-09Z-stop"), true).unwrap();
        assert!(matches!(store.finish()[..], [Done::Failed { .. }]));
        assert_eq!(names(dir.path()).len(), 3);
    }

    #[test]
    fn two_do_not_share_a_directory_and_what_a_killed_one_left_is_cleared_away() {
        let dir = tempfile::tempdir().unwrap();
        let mut store = Store::open(dir.path(), 1 << 30, None).unwrap();
        let second = Store::open(dir.path(), 1 << 30, None);
        assert!(second.err().unwrap().to_string().contains("another fathom"));
        store.write(job("2026-11-21T20-15-01Z-stop"), true).unwrap();
        drop(store.finish());
        let whole = dir.path().join("2026-11-21T20-15-01Z-stop.fathom");
        let left = dir.path().join(UNFINISHED);
        std::fs::create_dir(&left).unwrap();
        std::fs::rename(&whole, left.join(".x.tmp")).unwrap();
        drop(Store::open(dir.path(), 1 << 30, None).unwrap().finish());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
