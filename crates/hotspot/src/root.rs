//! Files of a process as it sees them: through `/proc/PID/root`, in its mount namespace and below
//! its root.
//!
//! A container is not trusted. Its `/tmp` may be a link to `/etc`, which must mean the container's
//! and never ours: paths are resolved within the root (`openat2` with `RESOLVE_IN_ROOT`, Linux
//! 5.6); where that is missing, links are not followed.

use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat, openat2};
use rustix::io::Errno;

use crate::proc_status::proc_error;
use crate::{Error, Result};

/// The root directory of a process.
#[derive(Debug)]
pub struct Root {
    pid: u32,
    fd: OwnedFd,
}

impl Root {
    /// Opens it for a process. Needs the right to trace it (ptrace(2), PTRACE_MODE_READ).
    pub fn of(pid: u32) -> Result<Self> {
        let path = format!("/proc/{pid}/root");
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match rustix::fs::open(&path, flags, Mode::empty()) {
            Ok(fd) => Ok(Self { pid, fd }),
            Err(errno) => Err(proc_error(pid, path, errno.into())),
        }
    }

    /// Opens one of its files or folders, by its absolute path in the process' view. Devices are
    /// not opened and pipes are not waited for.
    pub fn open(&self, path: &str, flags: OFlags) -> Result<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let inside = path.trim_start_matches('/');
        let opened = match openat2(&self.fd, inside, flags, Mode::empty(), ResolveFlags::IN_ROOT) {
            // Old kernels have no openat2, and some containers' filters refuse unknown system
            // calls.
            Err(Errno::NOSYS | Errno::PERM) => self.open_without_links(inside, flags),
            opened => opened,
        };
        opened.map_err(|errno| Error::Proc {
            path: format!("/proc/{}/root/{inside}", self.pid),
            why: errno.into(),
        })
    }

    /// Its `/tmp`, where HotSpot keeps what other processes look for.
    pub fn tmp(&self) -> Result<OwnedFd> {
        self.open("/tmp", OFlags::RDONLY | OFlags::DIRECTORY)
    }

    fn open_without_links(&self, path: &str, flags: OFlags) -> rustix::io::Result<OwnedFd> {
        let step = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let (folders, last) = path.rsplit_once('/').unwrap_or(("", path));
        let mut at = openat(&self.fd, ".", step, Mode::empty())?;
        for part in folders.split('/').filter(|part| !part.is_empty() && *part != ".") {
            if part == ".." {
                return Err(Errno::INVAL);
            }
            at = openat(&at, part, step, Mode::empty())?;
        }
        if last == ".." {
            return Err(Errno::INVAL);
        }
        openat(&at, last, flags | OFlags::NOFOLLOW, Mode::empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_opened_below_the_root_with_and_without_openat2() {
        let root = Root::of(std::process::id()).unwrap();
        assert!(root.tmp().is_ok() && root.open("/no/such/file", OFlags::RDONLY).is_err());
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        assert!(root.open_without_links("proc/version", flags).is_ok());
        // A link: /proc/self is one.
        assert!(root.open_without_links("proc/self/status", flags).is_err());
        assert_eq!(root.open_without_links("proc/..", flags).unwrap_err(), Errno::INVAL);
    }
}
