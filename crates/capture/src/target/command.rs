//! A command that is started stopped, so that it is recorded from its first instruction.
//!
//! ```text
//!   fathom ─ thread: spawn ─ fork ─ child: send pid, wait for a byte ─────────▶ exec ─▶ runs
//!          ◀────────────── pid ──────────┘         ▲
//!          attach everything ── release ───────────┘
//! ```
//!
//! `std::process::Command::spawn` returns only after exec, hence the thread. The child holds the
//! same signals and descriptors as if it had been started by a shell.

use std::ffi::{OsStr, OsString};
use std::io::{Error, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ExitStatus};
use std::thread::JoinHandle;

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, kill_process};

use crate::error::CaptureError;

/// A command that was started by fathom.
#[derive(Debug)]
pub struct Command {
    program: String,
    pid: i32,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Stands before its exec.
    Held { go: std::fs::File, spawning: JoinHandle<std::io::Result<Child>> },
    /// Was released.
    Running(Child),
    /// Ended, or could not be started.
    Over(Option<ExitStatus>),
}

impl Command {
    /// Forks the command and holds it before its exec.
    pub fn hold(program: &OsStr, arguments: &[OsString]) -> Result<Self, CaptureError> {
        let shown = program.to_string_lossy().into_owned();
        let failed = |cause: Error| CaptureError::Command { command: shown.clone(), cause };
        let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(|errno| failed(errno.into()));
        let (read_pid, write_pid) = pipe()?;
        let (wait_go, go) = pipe()?;
        let mut command = std::process::Command::new(program);
        command.args(arguments);
        let parents_end = go.as_raw_fd();
        // SAFETY: between fork and exec only async-signal-safe calls are made: close, getpid,
        // write, read, and the construction of an error from a code. The closure owns the child's
        // ends; `parents_end` is open in the child, as this process keeps it until the child was
        // released.
        unsafe {
            command.pre_exec(move || hold_here(parents_end, &write_pid, &wait_go));
        }
        // The command owns copies of the child's ends until it is dropped with the thread.
        let spawning = std::thread::Builder::new()
            .name("fathom-spawn".into())
            .spawn(move || command.spawn())
            .map_err(failed)?;
        let mut pid = [0; 4];
        if let Err(cause) = std::fs::File::from(read_pid).read_exact(&mut pid) {
            let spawned =
                spawning.join().unwrap_or_else(|_| Err(Error::other("the thread that starts it failed")));
            return Err(failed(spawned.err().unwrap_or(cause)));
        }
        let state = State::Held { go: go.into(), spawning };
        Ok(Self { program: shown, pid: i32::from_ne_bytes(pid), state })
    }

    /// The program as it was named.
    pub fn program(&self) -> &str {
        &self.program
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// Whether it still stands before its exec.
    pub fn is_held(&self) -> bool {
        matches!(self.state, State::Held { .. })
    }

    /// Lets it run. Fails when it cannot be executed (not found, not executable).
    pub fn release(&mut self) -> Result<(), CaptureError> {
        let State::Held { mut go, spawning } = std::mem::replace(&mut self.state, State::Over(None)) else {
            return Ok(());
        };
        let released = go.write_all(&[1]);
        drop(go);
        let spawned =
            spawning.join().unwrap_or_else(|_| Err(Error::other("the thread that starts it failed")));
        let child = released.and(spawned);
        self.state = State::Running(
            child.map_err(|cause| CaptureError::Command { command: self.program.clone(), cause })?,
        );
        Ok(())
    }

    /// Its exit status when it has ended. Does not wait.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        match &mut self.state {
            State::Running(child) => {
                let status = child.try_wait().ok().flatten()?;
                self.state = State::Over(Some(status));
                Some(status)
            }
            State::Over(status) => *status,
            State::Held { .. } => None,
        }
    }

    /// Passes a signal on to it.
    pub fn signal(&self, signal: Signal) {
        if let (State::Running(_), Some(pid)) = (&self.state, Pid::from_raw(self.pid)) {
            // It may have ended meanwhile; it is not reaped before `ended`, so the id is still its
            // own.
            let _ = kill_process(pid, signal);
        }
    }
}

impl Drop for Command {
    /// A command that was never released never runs: its pipe closes, and it ends before its exec.
    fn drop(&mut self) {
        if let State::Held { go, spawning } = std::mem::replace(&mut self.state, State::Over(None)) {
            drop(go);
            let _ = spawning.join();
        }
    }
}

/// In the child: sends its id and waits for the byte that lets it go on, or for the end of the
/// parent.
fn hold_here(parents_end: i32, write_pid: &OwnedFd, wait_go: &OwnedFd) -> std::io::Result<()> {
    // SAFETY: `parents_end` is the child's copy of the pipe's writing end, which nothing else in
    // the child uses; with it open, the end of the parent would not be noticed. The buffers are
    // alive and of the given length.
    let released = unsafe {
        libc::close(parents_end);
        let pid = libc::getpid().to_ne_bytes();
        if libc::write(write_pid.as_raw_fd(), pid.as_ptr().cast(), pid.len()) != pid.len() as isize {
            return Err(Error::last_os_error());
        }
        let mut byte = 0_u8;
        loop {
            match libc::read(wait_go.as_raw_fd(), (&raw mut byte).cast(), 1) {
                1 => break true,
                -1 if Error::last_os_error().kind() == ErrorKind::Interrupted => {}
                _ => break false,
            }
        }
    };
    if released { Ok(()) } else { Err(Error::from_raw_os_error(libc::ECANCELED)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(program: &str, arguments: &[&str]) -> Result<Command, CaptureError> {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        Command::hold(OsStr::new(program), &arguments)
    }

    fn wait(command: &mut Command) -> ExitStatus {
        loop {
            if let Some(status) = command.ended() {
                return status;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    #[test]
    fn a_held_command_runs_nothing_until_it_is_released() {
        let dir = tempfile::tempdir().unwrap();
        let mark = dir.path().join("ran");
        let mut command = hold("touch", &[mark.to_str().unwrap()]).unwrap();
        let comm = std::fs::read_to_string(format!("/proc/{}/comm", command.pid())).unwrap();
        assert!(!comm.starts_with("touch") && !mark.exists(), "{comm}");
        command.release().unwrap();
        assert!(wait(&mut command).success() && mark.exists());
    }

    #[test]
    fn a_command_that_cannot_be_executed_is_an_error_that_names_it() {
        let mut command = hold("/no/such/program", &[]).unwrap();
        let error = command.release().unwrap_err();
        assert!(error.to_string().starts_with("/no/such/program: "), "{error}");
    }

    #[test]
    fn a_command_that_is_dropped_while_held_never_runs() {
        let dir = tempfile::tempdir().unwrap();
        let mark = dir.path().join("ran");
        let command = hold("touch", &[mark.to_str().unwrap()]).unwrap();
        let pid = command.pid();
        drop(command);
        assert!(!mark.exists() && !std::path::Path::new(&format!("/proc/{pid}")).exists());
    }

    #[test]
    fn the_exit_status_is_passed_on() {
        let mut command = hold("sh", &["-c", "exit 7"]).unwrap();
        command.release().unwrap();
        assert_eq!(wait(&mut command).code(), Some(7));
    }
}
