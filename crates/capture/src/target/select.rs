//! Which processes are recorded.

use std::path::{Path, PathBuf};

use fathom_hotspot::find::{CommandLine, Kind, short_main};
use rustix::process::{geteuid, getuid};

use super::{Command, Identity, JvmFilter};
use crate::error::CaptureError;
use crate::procfs::{self, Stat};

/// Where cgroups are mounted.
const CGROUPS: &str = "/sys/fs/cgroup";
/// Groups below a cgroup that are looked into.
const MAX_GROUPS: usize = 4096;

/// Which processes are recorded.
#[derive(Debug)]
pub enum Selection {
    /// These and their descendants.
    Pids(Vec<i32>),
    /// Those whose name matches, now or later.
    Name(NamePattern),
    /// Those in a cgroup or below it, now or later; its directory.
    Cgroup(PathBuf),
    /// JVMs that fit a filter, now or later.
    Jvms(JvmFilter),
    /// All.
    All,
    /// A command that fathom started.
    Command(Command),
}

/// A pattern over names of processes.
#[derive(Clone, Debug)]
pub struct NamePattern(regex_lite::Regex);

impl NamePattern {
    /// Of a regular expression; the error says where it is wrong.
    pub fn new(pattern: &str) -> Result<Self, String> {
        regex_lite::Regex::new(pattern).map(Self).map_err(|e| e.to_string())
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Whether a process has such a main class, jar or command.
    pub(super) fn matches(&self, pid: i32) -> bool {
        let line = procfs::read_to_string(procfs::path(pid, "stat")).unwrap_or_default();
        let by_command = Stat::command(&line).is_some_and(|command| self.0.is_match(command));
        let main = || CommandLine::of(&procfs::arguments(pid)).main;
        by_command || main().is_some_and(|main| self.0.is_match(short_main(&main)))
    }
}

impl Selection {
    /// A cgroup by its directory, or by its path below `/sys/fs/cgroup` (of any controller on
    /// cgroup v1).
    pub fn cgroup(path: &Path) -> Result<Self, CaptureError> {
        let relative = path.strip_prefix("/").unwrap_or(path);
        let controllers =
            std::fs::read_dir(CGROUPS).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut places = vec![path.to_path_buf(), Path::new(CGROUPS).join(relative)];
        let mut controllers: Vec<_> = controllers.collect();
        controllers.sort();
        places.extend(controllers.into_iter().map(|controller| controller.join(relative)));
        let found = places.into_iter().find(|place| place.join("cgroup.procs").is_file());
        found.map(Self::Cgroup).ok_or_else(|| CaptureError::NoMatch {
            what: format!("cgroup {} under {CGROUPS}", path.display()),
        })
    }

    /// In words.
    pub fn description(&self) -> String {
        match self {
            Self::Pids(pids) => {
                let pids: Vec<String> = pids.iter().map(i32::to_string).collect();
                format!("pid {}", pids.join(", "))
            }
            Self::Name(pattern) => format!("processes named {}", pattern.as_str()),
            Self::Cgroup(path) => format!("cgroup {}", path.display()),
            Self::Jvms(filter) => filter.description(),
            Self::All => "the whole host".into(),
            Self::Command(command) => format!("command {}", command.program()),
        }
    }

    /// Whether every process is meant.
    pub fn is_whole_host(&self) -> bool {
        matches!(self, Self::All)
    }

    /// Whether nothing can join but descendants.
    pub(super) fn is_closed(&self) -> bool {
        matches!(self, Self::Pids(_) | Self::Command(_))
    }

    /// Those that it names itself; `None` when every process has to be looked at.
    pub(super) fn members(&self) -> Option<Vec<i32>> {
        match self {
            Self::Pids(pids) => Some(pids.clone()),
            Self::Command(command) => Some(vec![command.pid()]),
            Self::Cgroup(path) => Some(members_of(path)),
            Self::Name(_) | Self::Jvms(_) | Self::All => None,
        }
    }

    /// Whether a process belongs to it by itself.
    pub(super) fn matches(&self, pid: i32) -> bool {
        match self {
            Self::Pids(_) | Self::Command(_) | Self::Cgroup(_) => true,
            Self::All => !procfs::arguments(pid).is_empty(),
            Self::Jvms(filter) => filter.matches(pid),
            Self::Name(pattern) => pattern.matches(pid),
        }
    }
}

/// Processes of a cgroup and of those below it.
fn members_of(path: &Path) -> Vec<i32> {
    let mut groups = vec![path.to_path_buf()];
    let mut pids = Vec::new();
    let mut looked_at = 0;
    while let Some(group) = groups.pop() {
        looked_at += 1;
        if looked_at > MAX_GROUPS {
            break;
        }
        let text = procfs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
        pids.extend(text.lines().filter_map(|pid| pid.parse::<i32>().ok()));
        let below = std::fs::read_dir(&group).into_iter().flatten().flatten();
        groups.extend(below.filter(|e| e.file_type().is_ok_and(|t| t.is_dir())).map(|e| e.path()));
    }
    pids
}

/// Whether a process that was named by its id can be recorded by this user.
pub(super) fn check_recordable(pid: i32) -> Result<(), CaptureError> {
    let stat = Stat::of(pid).filter(|_| pid > 0).ok_or(CaptureError::NoProcess { pid })?;
    let not = |why| Err(CaptureError::NotRecordable { pid, why });
    if pid == std::process::id() as i32 {
        return not("it is this fathom itself");
    }
    if stat.state == b'Z' {
        return not("it has ended, and only its parent has not noticed yet");
    }
    let status = procfs::read_to_string(procfs::path(pid, "status")).unwrap_or_default();
    if procfs::number(&status, "Tgid:").is_some_and(|tgid| tgid != pid as u64) {
        return not("it is a thread of another process (ps -L shows them): give the process' id");
    }
    let identity = Identity::of(pid).ok_or(CaptureError::NoProcess { pid })?;
    if procfs::arguments(pid).is_empty() && !identity.readable && stat.rss_pages == 0 {
        return not("it is a thread of the kernel; -a records the whole host");
    }
    if !identity.readable {
        if geteuid().is_root() {
            return Err(CaptureError::Closed { pid });
        }
        let owner = procfs::owner(pid);
        let own = owner == Some(geteuid().as_raw()) || owner == Some(getuid().as_raw());
        let owner = match owner {
            Some(_) if own => "this user but may not be looked into (it runs with other rights)".into(),
            Some(0) => "root".into(),
            Some(uid) => format!("another user (uid {uid})"),
            None => "somebody else".into(),
        };
        return Err(CaptureError::NotYours { pid, owner });
    }
    // Recorded as if it were a native program it would be a half-silent recording of a JVM.
    let foreign = match Kind::of(pid.cast_unsigned()) {
        Ok(Kind::OpenJ9) => Some("OpenJ9"),
        Ok(Kind::ThirtyTwoBit) => Some("a 32-bit JVM"),
        _ => None,
    };
    foreign.map_or(Ok(()), |what| Err(CaptureError::Foreign { pid, what }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_not_there_is_said_to_be_gone() {
        let error = check_recordable(i32::MAX).unwrap_err();
        assert!(error.to_string().contains("there is no process 2147483647"), "{error}");
        assert!(matches!(check_recordable(-1), Err(CaptureError::NoProcess { .. })));
    }

    #[test]
    fn fathom_does_not_record_itself() {
        let error = check_recordable(std::process::id() as i32).unwrap_err();
        assert!(error.to_string().contains("itself"), "{error}");
    }

    #[test]
    fn a_cgroup_that_is_not_there_is_an_error() {
        assert!(Selection::cgroup(Path::new("/no/such/group")).is_err());
    }
}
