//! One run of a command: started, waited for, measured.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};

use crate::CompareError;
use crate::command::Command;

/// Bytes of what a command printed that an error quotes.
const TAIL: u64 = 2_000;

/// What one run took.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Usage {
    /// From start to end, seconds.
    pub wall_s: f64,
    /// CPU time in user mode, of the process and of all that it waited for, seconds.
    pub user_s: f64,
    /// The same in the kernel.
    pub sys_s: f64,
    /// Largest resident memory of one of its processes, bytes.
    pub max_rss_bytes: u64,
    /// How often a CPU was taken from it.
    pub preempted: u64,
}

/// Receives the user's request to stop: SIGINT, SIGTERM and SIGHUP end what runs, and nothing is
/// started any more.
#[derive(Debug)]
pub struct Stop {
    state: Arc<Mutex<State>>,
    handle: Handle,
}

#[derive(Debug, Default)]
struct State {
    asked: bool,
    running: Option<Pid>,
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stop {
    /// Watches for signals from now on.
    pub fn watch() -> Result<Self, CompareError> {
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])
            .map_err(|e| CompareError::Asked(format!("signals cannot be watched: {e}")))?;
        let (state, handle) = (Arc::new(Mutex::new(State::default())), signals.handle());
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for _ in signals.forever() {
                let mut state = locked(&shared);
                // Who asks a second time does not want to wait for a program that heeds no signal.
                let signal = if state.asked { Signal::KILL } else { Signal::TERM };
                state.asked = true;
                if let Some(group) = state.running {
                    let _ = kill_process_group(group, signal);
                }
            }
        });
        Ok(Self { state, handle })
    }

    /// Whether the end was asked for.
    pub fn asked(&self) -> bool {
        locked(&self.state).asked
    }
}

impl Drop for Stop {
    fn drop(&mut self) {
        self.handle.close();
    }
}

/// Runs a command to its end, in a process group of its own; what it prints goes into a file.
/// `None`: the end was asked for.
pub fn run(command: &Command, printed: &Path, stop: &Stop) -> Result<Option<Usage>, CompareError> {
    let io = |cause| CompareError::io(printed, cause);
    let out = File::create(printed).map_err(io)?;
    let errors = out.try_clone().map_err(io)?;
    let mut process = command.process();
    process.stdin(Stdio::null()).stdout(out).stderr(errors).process_group(0);
    let start = |cause| CompareError::Start { command: command.named(), cause };
    let began = {
        // Held while it starts: a signal meanwhile finds either nothing begun or the group of what
        // runs.
        let mut state = locked(&stop.state);
        if state.asked {
            return Ok(None);
        }
        let began = Instant::now();
        let child = process.spawn().map_err(start)?;
        state.running = Pid::from_raw(child.id() as i32);
        began
    };
    let Some(pid) = locked(&stop.state).running else {
        return Err(start(std::io::ErrorKind::Other.into()));
    };
    // It stays a zombie until it is no longer in the state: its number cannot be another's when a
    // signal is sent to it.
    while let Err(error) = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
        if error != rustix::io::Errno::INTR {
            return Err(start(error.into()));
        }
    }
    let wall_s = began.elapsed().as_secs_f64();
    let asked = {
        let mut state = locked(&stop.state);
        state.running = None;
        state.asked
    };
    let (status, mut usage) = reap(pid).map_err(start)?;
    usage.wall_s = wall_s;
    if asked {
        return Ok(None);
    }
    match failure(status) {
        None => Ok(Some(usage)),
        Some(status) => Err(CompareError::Failed { command: command.named(), status, tail: tail(printed) }),
    }
}

/// Takes the status and the usage of a process that has ended.
fn reap(pid: Pid) -> std::io::Result<(i32, Usage)> {
    let mut status = 0;
    // SAFETY: `rusage` is a structure of integers, for which all zeros are a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: both pointers are to variables of this frame, of the types that the call writes;
        // the process is a child of ours that nothing else waits for.
        let ended = unsafe { libc::wait4(pid.as_raw_nonzero().get(), &raw mut status, 0, &raw mut usage) };
        if ended >= 0 {
            break;
        }
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    let usage = Usage {
        wall_s: 0.0,
        user_s: seconds(usage.ru_utime),
        sys_s: seconds(usage.ru_stime),
        // Linux counts it in kilobytes (getrusage(2)).
        max_rss_bytes: (usage.ru_maxrss as u64).saturating_mul(1024),
        preempted: usage.ru_nivcsw as u64,
    };
    Ok((status, usage))
}

/// An exit status other than success, in words.
fn failure(status: i32) -> Option<String> {
    if libc::WIFSIGNALED(status) {
        return Some(format!("signal {}", libc::WTERMSIG(status)));
    }
    match libc::WEXITSTATUS(status) {
        0 => None,
        code => Some(format!("exit status {code}")),
    }
}

/// The end of what a command printed.
pub(crate) fn tail(printed: &Path) -> String {
    let read = || -> std::io::Result<String> {
        let mut file = File::open(printed)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
        let mut text = Vec::new();
        file.take(TAIL).read_to_end(&mut text)?;
        Ok(String::from_utf8_lossy(&text).trim_end().to_owned())
    };
    read().ok().filter(|text| !text.is_empty()).unwrap_or_else(|| "(nothing)".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_shell(text: &str) -> Result<Option<Usage>, CompareError> {
        let dir = tempfile::tempdir().unwrap();
        let words = ["sh", "-c", text].map(str::to_owned);
        run(&Command::of("A", &words).unwrap(), &dir.path().join("out"), &Stop::watch().unwrap())
    }

    #[test]
    fn time_and_processor_time_are_told_of_the_children_too() {
        let slept = run_shell("sleep 0.2").unwrap().unwrap();
        assert!(slept.wall_s >= 0.2 && slept.user_s + slept.sys_s < 0.15, "{slept:?}");
        let worked = run_shell("sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done'").unwrap().unwrap();
        assert!(worked.user_s > 0.01 && worked.max_rss_bytes > 100_000, "{worked:?}");
    }

    #[test]
    fn a_command_that_fails_is_an_error_with_what_it_said() {
        let failed = run_shell("echo no such mood >&2; exit 3").unwrap_err().to_string();
        assert!(failed.contains("exit status 3") && failed.contains("no such mood"), "{failed}");
        let killed = run_shell("kill -9 $$").unwrap_err().to_string();
        assert!(killed.contains("signal 9") && killed.contains("(nothing)"), "{killed}");
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let words = ["/no/such/program".to_owned()];
        let command = Command::of("A", &words).unwrap();
        let error = run(&command, &dir.path().join("out"), &Stop::watch().unwrap()).unwrap_err();
        assert!(error.to_string().starts_with("/no/such/program: cannot be started"), "{error}");
    }
}
