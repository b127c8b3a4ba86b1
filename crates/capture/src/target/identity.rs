//! What a process is: its program, its name to show, whether it is a JVM.

use std::path::PathBuf;

use fathom_hotspot::find::{CommandLine, short_main};
use fathom_recording::Process;
use fathom_recording::vocabulary::fact;

use crate::procfs::{self, Stat};

/// Characters of a name to show.
const NAME_MAX: usize = 120;

/// `PF_FORKNOEXEC` (include/linux/sched.h): forked, and no other program since.
const FORKED_WITHOUT_EXEC: u64 = 0x40;
/// `PF_KTHREAD` (include/linux/sched.h). A process that is about to end has no arguments either.
const KERNEL_THREAD: u64 = 0x20_0000;

/// What a process was when it was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// When it started, ticks since boot.
    pub start_ticks: u64,
    /// A name to show: the main class or jar of a JVM, else the command.
    pub name: String,
    /// Whether it is a JVM: maps HotSpot's library.
    pub jvm: bool,
    /// Whether its memory map may be read, without which nothing of it is known.
    pub readable: bool,
    /// Its program file, which exec changes.
    exe: Option<PathBuf>,
    /// Its command, which exec changes too (not every exec is into another file: the java launcher
    /// starts itself anew).
    arguments: Vec<String>,
}

impl Identity {
    /// Of a process; `None` when it is gone or has ended and is not reaped yet.
    pub fn of(pid: i32) -> Option<Self> {
        let line = procfs::read_to_string(procfs::path(pid, "stat"))?;
        let stat = Stat::parse(&line).filter(|stat| !matches!(stat.state, b'Z' | b'X'))?;
        let arguments = procfs::arguments(pid);
        let command = Stat::command(&line).unwrap_or_default();
        let jvm = is_jvm(pid, &stat);
        let name = match CommandLine::of(&arguments).main {
            Some(main) => short_main(&main).to_owned(),
            None if stat.flags & KERNEL_THREAD != 0 => format!("[{command}]"),
            None => command.to_owned(),
        };
        Some(Self {
            start_ticks: stat.start_ticks,
            name: name.chars().take(NAME_MAX).collect(),
            jvm,
            readable: std::fs::File::open(procfs::path(pid, "maps")).is_ok_and(|maps| readable(&maps)),
            exe: std::fs::read_link(procfs::path(pid, "exe")).ok(),
            arguments,
        })
    }

    /// Of a process that is gone, and of which no more than a name is known.
    pub fn gone(name: String) -> Self {
        Self { name, ..Self::default() }
    }

    /// Whether it still runs: of one that has ended, nothing but a name is left.
    pub fn is_there(pid: i32) -> bool {
        std::fs::read_link(procfs::path(pid, "exe")).is_ok()
    }

    /// Whether it runs another program by now.
    pub fn program_changed(&self, pid: i32) -> bool {
        let exe = std::fs::read_link(procfs::path(pid, "exe")).ok();
        // Unreadable for a short time during exec and exit: no change to report.
        exe.is_some() && (exe != self.exe || procfs::arguments(pid).first() != self.arguments.first())
    }

    /// Its row in a recording.
    pub fn row(&self, pid: i32) -> Process {
        let mut row = Process {
            pid: Some(i64::from(pid)),
            name: self.name.clone(),
            jvm: self.jvm,
            ..Process::default()
        };
        if self.name.is_empty() {
            row.name = format!("pid {pid}");
        }
        if self.jvm {
            row.facts.insert(fact::MAIN.to_owned(), self.name.clone());
            let program = CommandLine::of(&self.arguments).program;
            if !program.is_empty() {
                row.facts.insert(fact::MAIN_ARGS.to_owned(), program);
            }
        }
        row
    }
}

/// Opening another user's maps succeeds on some kernels; reading them is what is checked.
fn readable(maps: &std::fs::File) -> bool {
    use std::os::unix::fs::FileExt;
    maps.read_at(&mut [0; 64], 0).is_ok()
}

/// Whether a process is a JVM. A child that a JVM has forked and that has not replaced itself by
/// another program yet maps all that the JVM does, and is none: such children live for milliseconds
/// where programs are started.
pub fn is_jvm(pid: i32, stat: &Stat) -> bool {
    let is_copy = || stat.flags & FORKED_WITHOUT_EXEC != 0 && jvm_library(stat.ppid).is_some();
    jvm_library(pid).is_some() && !is_copy()
}

/// The HotSpot library that a process has mapped, as its map names it. OpenJ9 has a library of that
/// name too, in a folder of its own next to the one of its `libj9vm`.
pub fn jvm_library(pid: i32) -> Option<PathBuf> {
    let maps = procfs::read_to_string(procfs::path(pid, "maps"))?;
    if maps.contains("/libj9vm") {
        return None;
    }
    let line =
        maps.lines().find(|line| line.ends_with("/libjvm.so") || line.ends_with("/libjvm.so (deleted)"))?;
    let path = &line[line.find('/')?..];
    Some(PathBuf::from(path.trim_end_matches(" (deleted)")))
}
