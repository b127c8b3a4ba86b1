//! Calling a JVM that does not listen yet: a file in its directory that announces the request, and
//! SIGQUIT. Without the file the signal makes the JVM print its threads; without a handler for the
//! signal it ends the process.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, openat, statat, unlinkat};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use super::AttachError;
use crate::proc_status::ProcStatus;

/// A call in progress. Its file is removed when it is dropped.
pub(super) struct Call<'a> {
    pid: u32,
    start_ticks: u64,
    tmp: BorrowedFd<'a>,
    name: String,
    /// A descriptor of the process itself, which stays right when the pid is reused; `None` before
    /// Linux 5.3.
    process: Option<OwnedFd>,
    repeated: bool,
}

impl<'a> Call<'a> {
    /// Calls a JVM. Must run as the JVM's user, because the JVM checks the owner of the file.
    pub fn make(pid: u32, found: &ProcStatus, tmp: &'a impl AsFd) -> Result<Self, AttachError> {
        let raw = Pid::from_raw(pid.cast_signed()).ok_or(AttachError::Ended { pid })?;
        let process = match pidfd_open(raw, PidfdFlags::empty()) {
            Ok(process) => Some(process),
            Err(Errno::SRCH) => return Err(AttachError::Ended { pid }),
            // Some containers' seccomp filters refuse it, too.
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

    /// Whether the signal is safe to send: it is the same process, it has a handler, and it can
    /// run.
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
            // Left by a client that was killed at this point; nobody else needs it.
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
        // It may be gone already when the JVM's /tmp was cleaned; that is no error.
        let _ = self.remove();
    }
}

/// The file that shows the JVM that its SIGQUIT is a request to attach.
fn file_name(found: &ProcStatus) -> String {
    format!(".attach_pid{}", found.own_pid())
}

/// Removes the file that a killed client has left, once the JVM listens and nobody needs it any
/// more.
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
