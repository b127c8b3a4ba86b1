//! The JVMs of a machine, found from outside: no request is sent to them and nothing is changed.
//!
//! A JVM is a process that has libjvm.so mapped, whatever its program is called: launchers,
//! application servers and databases embed one. What it runs comes from the counters that it
//! publishes (see [`crate::perf_data`]), otherwise from its command line. Secrets in command lines
//! are masked.

mod about;
mod command_line;
mod container;
mod kind;

use crate::proc_status::{ProcStatus, uptime_s};
use crate::{Error, Result, maps};

pub use about::{About, Collector};
pub use command_line::{CommandLine, arguments, short_main};
pub use container::Confinement;
pub use kind::Kind;

/// A JVM, or another runtime of Java, that was found.
#[derive(Clone, Debug)]
pub struct Jvm {
    /// Its process.
    pub pid: u32,
    /// What the kernel reports of it.
    pub status: ProcStatus,
    /// Which runtime it is.
    pub kind: Kind,
    /// What it runs and on what.
    pub about: About,
    /// How long it has run, seconds.
    pub uptime_s: f64,
    /// Its container and control group.
    pub confinement: Confinement,
    /// Whether its mount namespace differs from ours: paths that it names are then not ours.
    pub own_mounts: bool,
}

impl Jvm {
    /// Looks at one process. `Ok(None)`: it is not a runtime of Java.
    pub fn of(pid: u32) -> Result<Option<Self>> {
        let mappings = maps::read(pid)?;
        let kind = Kind::among(pid, &mappings);
        if kind == Kind::Other {
            return Ok(None);
        }
        let status = ProcStatus::of(pid)?;
        if status.has_ended() {
            return Err(Error::NoProcess { pid });
        }
        Ok(Some(Self {
            pid,
            about: About::of(pid, &status, &kind),
            uptime_s: uptime_s(status.start_ticks),
            confinement: Confinement::of(pid),
            own_mounts: namespace(pid, "mnt") != namespace(std::process::id(), "mnt"),
            kind,
            status,
        }))
    }

    /// Whether it lives in a container, or in namespaces of its own.
    pub fn is_contained(&self) -> bool {
        self.confinement.container.is_some() || self.own_mounts || self.status.in_pid_namespace()
    }
}

/// A process that looks like a JVM by what everybody may see of it, but may not be inspected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hidden {
    /// The process.
    pub pid: u32,
    /// Its effective user.
    pub uid: u32,
    /// What it runs according to its command line, where that may be read.
    pub main: Option<String>,
}

/// What was found on a machine.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// JVMs and other runtimes of Java, by process.
    pub jvms: Vec<Jvm>,
    /// Processes called "java" that belong to somebody else.
    pub hidden: Vec<Hidden>,
    /// All processes that may not be inspected, those included: a JVM may be among them under
    /// another name.
    pub closed: usize,
}

/// Finds all JVMs of this machine, or of the pid namespace that fathom runs in.
pub fn all() -> Result<Found> {
    let failed = |source| Error::Proc { path: "/proc".to_owned(), why: source };
    let mut found = Found::default();
    let entries = std::fs::read_dir("/proc").map_err(failed)?;
    let mut pids: Vec<u32> = entries.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).collect();
    pids.sort_unstable();
    for pid in pids {
        match Jvm::of(pid) {
            Ok(jvm) => found.jvms.extend(jvm),
            Err(Error::NotAllowed { .. }) => {
                found.closed += 1;
                found.hidden.extend(hidden(pid));
            }
            // It ended in the meantime.
            Err(_) => {}
        }
    }
    Ok(found)
}

/// A process that may not be inspected, if it is called "java".
fn hidden(pid: u32) -> Option<Hidden> {
    let status = ProcStatus::of(pid).ok()?;
    let arguments = arguments(pid);
    let launcher = arguments.first().map_or(status.command.as_str(), |program| short_main(program));
    let main = CommandLine::of(&arguments).main.map(|main| short_main(&main).to_owned());
    (launcher == "java").then_some(Hidden { pid, uid: status.uid, main })
}

/// Identity of a namespace of a process, where it may be read.
fn namespace(pid: u32, kind: &str) -> Option<std::path::PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/ns/{kind}")).ok()
}
