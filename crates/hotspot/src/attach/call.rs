//! Calling a JVM that does not listen yet: a file that says that it is meant, and SIGQUIT.
//!
//! Without the file the signal makes the JVM print its threads; without a handler it ends the
//! process.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, statat, unlinkat};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use super::AttachError;
use crate::proc_status::ProcStatus;

/// A call that stands. Its file goes away with it.
pub(super) struct Call<'a> {
    pid: u32,
    start_ticks: u64,
    tmp: BorrowedFd<'a>,
    name: String,
    /// The process itself, whatever its number may come to mean; `None` before Linux 5.3.
    process: Option<OwnedFd>,
    repeated: bool,
}

impl<'a> Call<'a> {
    /// Calls a JVM. To be done as its user: the JVM looks at the owner of the file.
    pub fn make(pid: u32, found: &ProcStatus, tmp: &'a impl AsFd) -> Result<Self, AttachError> {
        let raw = Pid::from_raw(pid.cast_signed()).ok_or(AttachError::Ended { pid })?;
        let process = match pidfd_open(raw, PidfdFlags::empty()) {
            Ok(process) => Some(process),
            Err(Errno::SRCH) => return Err(AttachError::Ended { pid }),
            // Also refused by filters of containers.
            Err(_) => None,
        };
        let name = file_name(found);
        let mut call =
            Self { pid, start_ticks: found.start_ticks, tmp: tmp.as_fd(), name, process, repeated: false };
        call.check()?;
        call.create()?;
        call.signal()?;
        Ok(call)
    }

    /// Calls once more, on a JVM that was too busy to see the file at once.
    pub fn repeat_once(&mut self) -> Result<(), AttachError> {
        if self.repeated {
            return Ok(());
        }
        self.repeated = true;
        self.check()?;
        self.signal()
    }

    /// Whether the signal does no harm: the same process, with a handler, able to run it.
    fn check(&self) -> Result<(), AttachError> {
        let pid = self.pid;
        let now = ProcStatus::of(pid).map_err(|_| AttachError::Ended { pid })?;
        if now.start_ticks != self.start_ticks || now.has_ended() {
            return Err(AttachError::Ended { pid });
        }
        if now.is_stopped() {
            return Err(AttachError::Stopped { pid });
        }
        if !now.catches_sigquit() {
            return Err(AttachError::DoesNotCatchSigquit { pid });
        }
        Ok(())
    }

    fn create(&mut self) -> Result<(), AttachError> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let create = || openat(self.tmp, &self.name, flags, Mode::RUSR | Mode::WUSR).map(drop);
        let created = match create() {
            // Left by somebody who was killed at this point; nobody but them needs it.
            Err(Errno::EXIST) if self.is_regular() => self.remove().and_then(|()| create()),
            created => created,
        };
        created
            .map_err(AttachError::system(format!("creating {} in the /tmp of JVM {}", self.name, self.pid)))
    }

    fn is_regular(&self) -> bool {
        is_regular(&self.tmp, &self.name)
    }

    fn remove(&self) -> rustix::io::Result<()> {
        unlinkat(self.tmp, &self.name, AtFlags::empty())
    }

    fn signal(&self) -> Result<(), AttachError> {
        let sent = match (&self.process, Pid::from_raw(self.pid.cast_signed())) {
            (Some(process), _) => pidfd_send_signal(process, Signal::QUIT),
            (None, Some(pid)) => kill_process(pid, Signal::QUIT),
            (None, None) => Err(Errno::SRCH),
        };
        sent.map_err(|errno| match errno {
            Errno::SRCH => AttachError::Ended { pid: self.pid },
            errno => AttachError::system(format!("calling JVM {} with SIGQUIT", self.pid))(errno),
        })
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        // Gone already when the /tmp of the JVM is cleaned; there is nobody to tell.
        let _ = self.remove();
    }
}

/// The file that says that a JVM is meant by its SIGQUIT.
fn file_name(found: &ProcStatus) -> String {
    format!(".attach_pid{}", found.own_pid())
}

/// Removes the file that a client which was killed has left of a JVM that listens by now: nobody
/// needs it.
pub(super) fn remove_left(tmp: &impl AsFd, found: &ProcStatus) {
    let name = file_name(found);
    if is_regular(tmp, &name) {
        let _ = unlinkat(tmp, &name, AtFlags::empty());
    }
}

fn is_regular(tmp: &impl AsFd, name: &str) -> bool {
    let stat = statat(tmp, name, AtFlags::SYMLINK_NOFOLLOW);
    stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_file())
}
