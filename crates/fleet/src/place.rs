//! Rows of recordings are put into a place.
//!
//! Files are never changed. Each is written next to its final place, synced and moved there;
//! `ID-recordings.parquet` is the last one, and the directory is synced before and behind it, so
//! that where it is, the others are, after a loss of power too. Adding a recording again finds it
//! and changes nothing; after a writer that was killed the missing files are written, with the same
//! names. What a killed writer left next to its place is distinguished from what one is writing by
//! a lock, which ends with its process, and is removed.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read, Seek};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use fathom_diagnose::diagnose;
use fathom_recording::Recording;

use crate::FleetError;
use crate::slot::Slot;
use crate::tables::{Input, NAMES, TABLES, common};

/// How names of files end that are not in their place yet.
const ASIDE: &str = ".tmp";
/// Bytes that are compared at a time.
const PIECE: usize = 65_536;
/// The file that every recording has.
const META: &str = "meta.json";
/// The table whose file is the last one.
const LAST: &str = "recordings";

/// What became of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Added {
    /// Its rows were written.
    Written {
        /// Into this directory.
        place: PathBuf,
        /// How many rows.
        rows: usize,
        /// How many bytes.
        bytes: u64,
    },
    /// They were there already.
    There {
        /// In this directory.
        place: PathBuf,
    },
}

/// Adds the rows of a sealed recording to a place, which is made where it is missing.
pub fn add(recording: &Recording, place: &Path) -> Result<Added, FleetError> {
    if place.join(META).is_file() {
        return Err(FleetError::Unfit(format!(
            "{} is a recording; rows need a directory of their own",
            place.display()
        )));
    }
    let slot = Slot::of(recording)?;
    let dir = place.join(&slot.dir);
    let file = |table: &str| dir.join(slot.name(table));
    remove_left_over(&dir);
    if file(LAST).is_file() {
        return Ok(Added::There { place: dir });
    }
    DirBuilder::new().recursive(true).mode(0o700).create(&dir).map_err(FleetError::io(&dir))?;
    // The names of new directories: of the host, the service and the day.
    for made in dir.ancestors().skip(1).take(3) {
        sync(made)?;
    }
    let diagnosis = diagnose(recording, &fathom_diagnose::Options::default())
        .map_err(|error| FleetError::Unfit(error.to_string()))?;
    let Slot { id, day, covers_ns, .. } = &slot;
    let input = Input { recording, diagnosis: &diagnosis, covers_ns: *covers_ns };
    let common = common(recording, id, covers_ns.0, day);
    let (mut rows, mut bytes) = (0, 0);
    for table in &TABLES {
        let made = (table.rows)(&input);
        let to = file(made.name);
        let aside = dir.join(format!(".{id}-{}.{}{ASIDE}", made.name, std::process::id()));
        let written = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&aside);
        let written = written
            // Where there are no locks, no writer removes files of others either.
            .inspect(|out| _ = out.try_lock())
            .and_then(|out| made.write(&common, table.types, out))
            .and_then(|out| out.sync_all().map(|()| out))
            .and_then(|out| out.metadata().map(|info| (out, info)));
        if made.name == LAST {
            sync(&dir)?;
        }
        let written = written.and_then(|(out, info)| {
            // The lock is held until the file has its name.
            std::fs::rename(&aside, &to)?;
            drop(out);
            Ok(info)
        });
        let info = written.inspect_err(|_| _ = std::fs::remove_file(&aside)).map_err(FleetError::io(&to))?;
        (rows, bytes) = (rows + made.len(), bytes + info.len());
    }
    sync(&dir)?;
    Ok(Added::Written { place: dir, rows, bytes })
}

/// Adds the rows of a sealed recording to a bucket, as [`add`] does to a directory.
pub fn add_to_bucket(recording: &Recording, bucket: &crate::Bucket) -> Result<Added, FleetError> {
    let slot = Slot::of(recording)?;
    let place = Path::new(bucket.url()).join(&slot.dir);
    if bucket.has(&slot.dir.join(slot.name(LAST)))? {
        return Ok(Added::There { place });
    }
    let made = tempfile::tempdir().map_err(FleetError::io(&std::env::temp_dir()))?;
    let added = add(recording, made.path())?;
    let names = NAMES.iter().map(|table| slot.dir.join(slot.name(table)));
    let files: Vec<(PathBuf, PathBuf)> = names.map(|name| (name.clone(), made.path().join(name))).collect();
    // The last one says that the others are there.
    let (last, others): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|(name, _)| name.ends_with(slot.name(LAST)));
    bucket.put(&others)?;
    bucket.put(&last)?;
    Ok(match added {
        Added::Written { rows, bytes, .. } => Added::Written { place, rows, bytes },
        Added::There { .. } => Added::There { place },
    })
}

/// Puts a copy of a file into a place, under a name relative to it: it is there whole, and on disk,
/// or not at all. Putting it again changes nothing.
pub fn put(place: &Path, name: &Path, from: &Path) -> Result<(), FleetError> {
    let to = place.join(name);
    let dir = to.parent().unwrap_or(place);
    let mut source = File::open(from).map_err(FleetError::io(from))?;
    if is_same(&to, &mut source) {
        return Ok(());
    }
    // The place itself is not made: where it is missing, a disk may not be mounted.
    std::fs::read_dir(place).map_err(FleetError::io(place))?;
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(FleetError::io(dir))?;
    remove_left_over(dir);
    for made in dir.ancestors().skip(1).take_while(|made| made.starts_with(place)) {
        sync(made)?;
    }
    let stem = name.file_name().unwrap_or_default().to_string_lossy();
    let aside = dir.join(format!(".{stem}.{}{ASIDE}", std::process::id()));
    let written = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&aside);
    let written = written.inspect(|out| _ = out.try_lock()).and_then(|mut out| {
        std::io::copy(&mut source, &mut out)?;
        out.sync_all()?;
        // The lock is held until the file has its name.
        std::fs::rename(&aside, &to)
    });
    written.inspect_err(|_| _ = std::fs::remove_file(&aside)).map_err(FleetError::io(&to))?;
    sync(dir)
}

/// Whether a file is there with this content. Leaves the source at its beginning.
fn is_same(there: &Path, source: &mut File) -> bool {
    let mut same = || -> std::io::Result<bool> {
        let mut there = File::open(there)?;
        if there.metadata()?.len() != source.metadata()?.len() {
            return Ok(false);
        }
        let (mut ours, mut theirs) = (vec![0; PIECE], vec![0; PIECE]);
        loop {
            let read = source.read(&mut ours)?;
            if read == 0 {
                return Ok(true);
            }
            there.read_exact(&mut theirs[..read])?;
            if ours[..read] != theirs[..read] {
                return Ok(false);
            }
        }
    };
    let same = same().unwrap_or(false);
    // A source that cannot be read again fails when it is copied.
    let _ = source.rewind();
    same
}

/// Sees to it that names in a directory are on disk, where the file system can (some of FUSE
/// cannot).
fn sync(dir: &Path) -> Result<(), FleetError> {
    use std::io::ErrorKind::{InvalidInput, Unsupported};
    match File::open(dir).and_then(|dir| dir.sync_all()) {
        Err(cause) if matches!(cause.kind(), InvalidInput | Unsupported) => Ok(()),
        synced => synced.map_err(FleetError::io(dir)),
    }
}

/// Removes what killed writers left in a directory next to its place: files that nobody has locked.
/// One that cannot be looked at or removed stays, as it is in nobody's way. A writer that loses a
/// file between making and locking it cannot move it and says so.
fn remove_left_over(dir: &Path) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if !(is_file && name.starts_with('.') && name.ends_with(ASIDE)) {
            continue;
        }
        let Ok(file) = OpenOptions::new().write(true).open(entry.path()) else { continue };
        if file.try_lock().is_ok() {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Refuses a place to which no recording was added.
pub(crate) fn has_rows(place: &Path) -> Result<(), FleetError> {
    let entries = std::fs::read_dir(place).map_err(FleetError::io(place))?;
    match entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("day=")) {
        true => Ok(()),
        false => Err(FleetError::nothing_added(&place.display().to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_without_rows_and_one_that_is_a_recording_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let said = has_rows(dir.path()).unwrap_err().to_string();
        assert!(said.contains("fathom fleet add"), "{said}");
        std::fs::create_dir(dir.path().join("day=2026-11-24")).unwrap();
        assert!(has_rows(dir.path()).is_ok());
        std::fs::write(dir.path().join(META), "{}").unwrap();
        let mut recording = Recording::new();
        recording.seal();
        let said = add(&recording, dir.path()).unwrap_err().to_string();
        assert!(said.contains("is a recording"), "{said}");
    }

    #[test]
    fn what_a_killed_writer_left_is_removed_and_what_one_writes_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str| dir.path().join(name);
        let names = [".a-frames.1.tmp", ".b-frames.2.tmp", "c-frames.parquet", ".other"];
        names.iter().for_each(|name| std::fs::write(file(name), "x").unwrap());
        std::fs::create_dir(file(".d.tmp")).unwrap();
        let writes = OpenOptions::new().write(true).open(file(names[1])).unwrap();
        writes.try_lock().unwrap();
        remove_left_over(dir.path());
        assert!(!file(names[0]).exists());
        assert!(names[1..].iter().all(|name| file(name).exists()) && file(".d.tmp").exists());
        // The kernel lets go of a lock with the process that held it.
        drop(writes);
        remove_left_over(dir.path());
        assert!(!file(names[1]).exists());
    }

    #[test]
    fn a_file_that_is_put_twice_is_there_once_and_a_missing_place_is_not_made() {
        let dir = tempfile::tempdir().unwrap();
        let (from, place) = (dir.path().join("from"), dir.path().join("place"));
        let name = Path::new("day=2026-11-24/x.parquet");
        std::fs::write(&from, "rows").unwrap();
        assert!(put(&place, name, &from).is_err() && !place.exists());
        std::fs::create_dir(&place).unwrap();
        put(&place, name, &from).unwrap();
        let modified = || place.join(name).metadata().unwrap().modified().unwrap();
        let first = modified();
        put(&place, name, &from).unwrap();
        assert_eq!(modified(), first);
        std::fs::write(place.join(name), "half").unwrap();
        put(&place, name, &from).unwrap();
        assert_eq!(std::fs::read(place.join(name)).unwrap(), b"rows");
        assert_eq!(std::fs::read_dir(place.join("day=2026-11-24")).unwrap().count(), 1);
    }
}
