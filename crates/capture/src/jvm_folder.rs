//! The folder in a JVM's `/tmp` into which it writes for us: 0700, of the JVM's user, gone when the
//! recording is over.
//!
//! Its lock is held as long as fathom lives, and goes with it however it ends: a folder that nobody
//! holds was left by a fathom that was killed, and the next one clears it away. Locks work across
//! namespaces, process ids do not.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;

use fathom_hotspot::attach::Attach;
use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, flock, fstat, mkdirat, mkfifoat, openat, unlinkat,
};
use rustix::io::Errno;

/// What a folder is for: it begins its name, before the JVM's own pid.
#[derive(Clone, Copy, Debug)]
pub(crate) enum For {
    /// What the flight recorder writes.
    Flight,
    /// The agent that counts calls.
    Calls,
}

impl For {
    fn prefix(self) -> &'static str {
        match self {
            Self::Flight => ".fathom-jfr-",
            Self::Calls => ".fathom-calls-",
        }
    }
}

/// Names in a folder that are looked at.
const MOST_NAMES: usize = 1 << 17;

/// A folder of ours.
#[derive(Debug)]
pub(crate) struct Folder {
    tmp: OwnedFd,
    fd: OwnedFd,
    name: String,
    token: String,
    uid: u32,
}

impl Folder {
    /// Makes one for a JVM, locked.
    pub fn create(attach: &Attach, purpose: For) -> std::io::Result<Self> {
        let mut random = [0; 8];
        File::open("/dev/urandom")?.read_exact(&mut random)?;
        let token = format!("{:016x}", u64::from_ne_bytes(random));
        let name = format!("{}{}-{token}", purpose.prefix(), attach.status().own_pid());
        let tmp = attach.tmp()?;
        let made = attach.as_its_user(|| {
            mkdirat(&tmp, &name, Mode::RWXU)?;
            open_locked(&tmp, &name)
        });
        let fd = made.map_err(std::io::Error::other)??;
        let fd = fd.ok_or_else(|| std::io::Error::other("somebody else took the folder"))?;
        Ok(Self { tmp, fd, name, token, uid: attach.status().uid })
    }

    /// What distinguishes this one's recordings from others'.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The path of a file in it, as the JVM names it.
    pub fn path(&self, file: &str) -> String {
        format!("/tmp/{}/{file}", self.name)
    }

    /// The path of the folder, as the JVM names it.
    pub fn place(&self) -> String {
        format!("/tmp/{}", self.name)
    }

    /// Makes a pipe in it, and opens both of its ends: it opens at once, and closes with this
    /// process however that ends.
    pub fn pipe(&self, attach: &Attach, file: &str) -> std::io::Result<File> {
        let made = attach.as_its_user(|| mkfifoat(&self.fd, file, Mode::RUSR | Mode::WUSR));
        made.map_err(std::io::Error::other)??;
        let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(&self.fd, file, flags, Mode::empty())?;
        if FileType::from_raw_mode(fstat(&fd)?.st_mode) != FileType::Fifo {
            return Err(std::io::Error::other("somebody else took the name of the pipe"));
        }
        Ok(fd.into())
    }

    /// Writes a file for the JVM to read.
    pub fn write(&self, attach: &Attach, file: &str, content: &[u8]) -> std::io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = attach.as_its_user(|| openat(&self.fd, file, flags, Mode::RUSR | Mode::WUSR));
        File::from(opened.map_err(std::io::Error::other)??).write_all(content)
    }

    /// A file that the JVM wrote. `None`: there is none, or it is not the JVM's.
    pub fn open(&self, file: &str) -> Option<File> {
        open_written(&self.fd, file, self.uid)
    }

    /// Removes a file from it.
    pub fn remove(&self, file: &str) {
        let _ = unlinkat(&self.fd, file, AtFlags::empty());
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        clear(&self.tmp, &self.fd, &self.name);
    }
}

/// Tokens of the folders of a JVM that somebody holds; those that nobody does are removed.
pub(crate) fn clear_left(attach: &Attach, purpose: For) -> std::io::Result<Vec<String>> {
    let tmp = attach.tmp()?;
    let own = format!("{}{}-", purpose.prefix(), attach.status().own_pid());
    let mut held = Vec::new();
    for name in names(&tmp) {
        let Some(token) = name.strip_prefix(&own) else { continue };
        match open_locked(&tmp, &name) {
            Ok(Some(fd)) => {
                if fstat(&fd).is_ok_and(|stat| stat.st_uid == attach.status().uid) {
                    clear(&tmp, &fd, &name);
                }
            }
            Ok(None) => held.push(token.to_owned()),
            Err(_) => {}
        }
    }
    Ok(held)
}

/// A file that a JVM wrote into a folder: a regular one of its own user, with no other name, no
/// link followed.
pub(crate) fn open_written(folder: &OwnedFd, file: &str, uid: u32) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let fd = openat(folder, file, flags, Mode::empty()).ok()?;
    let stat = fstat(&fd).ok()?;
    let own = FileType::from_raw_mode(stat.st_mode).is_file() && stat.st_uid == uid && stat.st_nlink == 1;
    own.then(|| fd.into())
}

/// Names in a folder.
pub(crate) fn names(folder: &OwnedFd) -> Vec<String> {
    let entries = Dir::read_from(folder).into_iter().flat_map(|dir| dir.flatten().take(MOST_NAMES));
    entries.filter_map(|entry| Some(entry.file_name().to_str().ok()?.to_owned())).collect()
}

/// Opens a folder and locks it. `None`: somebody holds it.
fn open_locked(tmp: &OwnedFd, name: &str) -> rustix::io::Result<Option<OwnedFd>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = openat(tmp, name, flags, Mode::empty())?;
    match flock(&fd, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(fd)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Removes a folder and its files; it has no folders within.
fn clear(tmp: &OwnedFd, fd: &OwnedFd, name: &str) {
    for file in names(fd).iter().filter(|file| *file != "." && *file != "..") {
        let _ = unlinkat(fd, file.as_str(), AtFlags::empty());
    }
    let _ = unlinkat(tmp, name, AtFlags::REMOVEDIR);
}
