//! What the kernel reports of a process: `/proc/PID/status` and `stat` (proc_pid_status(5),
//! proc_pid_stat(5)).

use std::fs;
use std::io;

use crate::{Error, Result};

/// SIGQUIT's bit in the signal masks of `status`: bit n-1 is signal n.
const SIGQUIT_BIT: u64 = 1 << (libc::SIGQUIT - 1);

/// The status of a process. Any user may read it, unless `/proc` is mounted with `hidepid`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcStatus {
    /// Name of its main thread, truncated to 15 bytes by the kernel: "java".
    pub command: String,
    /// 'R', 'S', 'T' (stopped), 'Z' (ended, not yet waited for) …
    pub state: char,
    /// Effective user, as numbered in our user namespace.
    pub uid: u32,
    /// Effective group.
    pub gid: u32,
    /// Its id in each pid namespace that it is in, ours first, its own last.
    pub ns_pids: Vec<u32>,
    /// Signals that it catches, one bit each.
    pub caught_signals: u64,
    /// Its threads.
    pub threads: u32,
    /// When it started, clock ticks since boot: together with the pid it identifies the process.
    pub start_ticks: u64,
}

impl ProcStatus {
    /// Reads it for a process.
    pub fn of(pid: u32) -> Result<Self> {
        let status = read(pid, "status")?;
        let mut status_of = Self::parse(&status).ok_or(Error::NoProcess { pid })?;
        status_of.start_ticks = start_ticks(&read(pid, "stat")?).ok_or(Error::NoProcess { pid })?;
        if status_of.ns_pids.is_empty() {
            // Kernels before 4.1 do not report it.
            status_of.ns_pids.push(pid);
        }
        Ok(status_of)
    }

    /// Parses the text of a `status` file; `None`: it is not one.
    fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
            Some(line.trim())
        };
        // Real, effective, saved, file system.
        let effective = |name| field(name)?.split_whitespace().nth(1)?.parse().ok();
        Some(Self {
            command: field("Name")?.to_owned(),
            state: field("State")?.chars().next()?,
            uid: effective("Uid")?,
            gid: effective("Gid")?,
            ns_pids: field("NSpid").map_or_else(Vec::new, |pids| {
                pids.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
            }),
            caught_signals: u64::from_str_radix(field("SigCgt")?, 16).ok()?,
            threads: field("Threads")?.parse().ok()?,
            start_ticks: 0,
        })
    }

    /// Its id as it knows itself: that of its own pid namespace.
    pub fn own_pid(&self) -> u32 {
        self.ns_pids.last().copied().unwrap_or(0)
    }

    /// Whether it lives in a pid namespace below ours.
    pub fn in_pid_namespace(&self) -> bool {
        self.ns_pids.len() > 1
    }

    /// Whether it has a handler for SIGQUIT. The signal ends a process that has none.
    pub fn catches_sigquit(&self) -> bool {
        self.caught_signals & SIGQUIT_BIT != 0
    }

    /// Whether it has ended and only waits for its parent.
    pub fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }

    /// Whether it is stopped, by a signal or a debugger.
    pub fn is_stopped(&self) -> bool {
        matches!(self.state, 'T' | 't')
    }
}

/// How long a process has run, seconds, from when it started.
pub fn uptime_s(start_ticks: u64) -> f64 {
    // SAFETY: asks for a constant.
    let ticks_per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as f64;
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let now_s = now.tv_sec as f64 + now.tv_nsec as f64 / 1e9;
    (now_s - start_ticks as f64 / ticks_per_second).max(0.0)
}

/// Field 22 of `stat`. The command, field 2, may hold blanks and parentheses: what follows its last
/// ')' counts.
fn start_ticks(stat: &str) -> Option<u64> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// A small file of a process.
fn read(pid: u32, file: &str) -> Result<String> {
    let path = format!("/proc/{pid}/{file}");
    match fs::read(&path) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(source) => Err(proc_error(pid, path, source)),
    }
}

/// What an error on a file of `/proc/PID` means.
pub(crate) fn proc_error(pid: u32, path: String, source: io::Error) -> Error {
    match source.kind() {
        io::ErrorKind::NotFound => Error::NoProcess { pid },
        _ if source.raw_os_error() == Some(libc::ESRCH) => Error::NoProcess { pid },
        io::ErrorKind::PermissionDenied => Error::NotAllowed { pid, why: source },
        _ => Error::Proc { path, why: source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_in_a_container_is_reported_with_both_of_its_ids() {
        let text = "Name:\tjava\nState:\tS (sleeping)\nTgid:\t4711\nUid:\t0\t100999\t0\t0\nGid:\t0\t99\t0\t0\n\
                    NSpid:\t4711\t1\nThreads:\t29\nSigCgt:\t2000000181005cef\n";
        let status = ProcStatus::parse(text).unwrap();
        assert_eq!(
            (status.command.as_str(), status.uid, status.gid, status.threads),
            ("java", 100_999, 99, 29)
        );
        assert_eq!((status.own_pid(), status.in_pid_namespace(), status.catches_sigquit()), (1, true, true));
        assert!(ProcStatus::parse("nonsense").is_none() && ProcStatus::parse("").is_none());
    }

    #[test]
    fn a_command_with_parentheses_does_not_move_the_start_time() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 9876543 1 2";
        assert_eq!(start_ticks(stat), Some(9_876_543));
        assert_eq!(start_ticks("7 (a"), None);
    }

    #[test]
    fn this_process_is_alive_and_does_not_catch_sigquit() {
        let status = ProcStatus::of(std::process::id()).unwrap();
        assert!(!status.has_ended() && !status.is_stopped() && !status.catches_sigquit());
        assert!((0.0..86_400.0).contains(&uptime_s(status.start_ticks)));
        assert!(matches!(ProcStatus::of(u32::MAX >> 1), Err(Error::NoProcess { .. })));
    }
}
