//! Where the counters of a JVM lie: `/tmp/hsperfdata_USER/PID`, in its own mount namespace and by
//! its own pid.
//!
//! HotSpot always uses `/tmp`, whatever `java.io.tmpdir` says (`os::get_temp_directory` on Linux).
//! The folder has the user's name as the container knows it, so all folders are looked at, and the
//! file's owner decides.

use std::io::Read;
use std::os::fd::OwnedFd;

use rustix::fs::{Dir, Mode, OFlags, fstat};

use super::PerfData;
use crate::proc_status::ProcStatus;
use crate::root::Root;
use crate::{Error, Result};

/// Largest file read. HotSpot reserves 32 kB, and more only where `PerfDataMemorySize` requests it.
const LARGEST: u64 = 8 << 20;
/// Entries of `/tmp` looked at.
const MOST_ENTRIES: usize = 1 << 17;

/// The counters of a live JVM. `Ok(None)`: it publishes none (`-XX:-UsePerfData`, or its `/tmp` was
/// cleaned).
pub fn read(pid: u32, status: &ProcStatus) -> Result<Option<PerfData>> {
    let tmp = Root::of(pid)?.tmp()?;
    let name = status.own_pid().to_string();
    let failed =
        |errno: rustix::io::Errno| Error::Proc { path: format!("/proc/{pid}/root/tmp"), why: errno.into() };
    for entry in Dir::read_from(&tmp).map_err(failed)?.flatten().take(MOST_ENTRIES) {
        if !entry.file_name().to_bytes().starts_with(b"hsperfdata_") {
            continue;
        }
        // Anybody may put anything into /tmp: links are not followed, pipes are not waited for, and
        // the owner must be right.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(&tmp, entry.file_name(), flags | OFlags::DIRECTORY, Mode::empty());
        let file = folder.and_then(|folder| rustix::fs::openat(folder, &name, flags, Mode::empty()));
        let Ok(file) = file else { continue };
        if let Some(bytes) = regular_file_of(file, status.uid)
            && let Ok(data) = PerfData::parse(&bytes)
        {
            return Ok(Some(data));
        }
    }
    Ok(None)
}

/// The bytes of a file if it is a regular one of this user.
fn regular_file_of(file: OwnedFd, uid: u32) -> Option<Vec<u8>> {
    let stat = fstat(&file).ok()?;
    let regular = rustix::fs::FileType::from_raw_mode(stat.st_mode).is_file();
    if !regular || stat.st_uid != uid {
        return None;
    }
    // Read, not mapped: a file that is truncated while it is mapped ends the reader.
    let mut bytes = Vec::new();
    std::fs::File::from(file).take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
