//! What a process is: its program, its name to show, whether it is a JVM.

use std::path::PathBuf;

use fathom_recording::Process;
use fathom_recording::vocabulary::fact;

use crate::procfs::{self, Stat};

/// Characters of a name to show.
const NAME_MAX: usize = 120;

/// What a process was when it was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// When it started, ticks since boot.
    pub start_ticks: u64,
    /// A name to show: the main class or jar of a JVM, else the command.
    pub name: String,
    /// Whether it is a JVM: maps HotSpot's library.
    pub jvm: bool,
    /// Whether its memory map may be read, without which nothing of it can be told.
    pub readable: bool,
    /// Its program file, which exec changes.
    exe: Option<PathBuf>,
    /// Its command, which exec changes too (not every exec is into another file: the java launcher starts itself anew).
    arguments: Vec<String>,
}

impl Identity {
    /// Of a process; `None` when it is gone.
    pub fn of(pid: i32) -> Option<Self> {
        let line = procfs::read_to_string(procfs::path(pid, "stat"))?;
        let stat = Stat::parse(&line)?;
        let arguments = procfs::arguments(pid);
        let command = Stat::command(&line).unwrap_or_default();
        let jvm = jvm_library(pid).is_some();
        let java = jvm || arguments.first().is_some_and(|program| program.ends_with("java"));
        let main = java.then(|| main_of(&arguments)).flatten();
        let name = match main {
            Some(main) => main,
            None if arguments.is_empty() => format!("[{command}]"),
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

    /// Whether it runs another program by now.
    pub fn program_changed(&self, pid: i32) -> bool {
        let exe = std::fs::read_link(procfs::path(pid, "exe")).ok();
        // Unreadable for a moment during exec and exit: no change to tell of.
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
        }
        row
    }
}

/// Opening another user's maps succeeds on some kernels; reading them is what is checked.
fn readable(maps: &std::fs::File) -> bool {
    use std::os::unix::fs::FileExt;
    maps.read_at(&mut [0; 64], 0).is_ok()
}

/// The HotSpot library that a process has mapped, as its map names it. OpenJ9 has a library of that name too, in a
/// folder of its own beside the one of its `libj9vm`.
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

/// The main class, module or jar in the arguments of a java launcher (JDK's launcher, `java -help`): the first
/// argument that is no option, or what follows `-jar` or `-m`.
pub fn main_of(arguments: &[String]) -> Option<String> {
    /// Options whose value is the next argument.
    const WITH_VALUE: [&str; 15] = [
        "-cp",
        "-classpath",
        "--class-path",
        "-p",
        "--module-path",
        "--upgrade-module-path",
        "--add-modules",
        "--limit-modules",
        "--add-exports",
        "--add-opens",
        "--add-reads",
        "--patch-module",
        "--enable-native-access",
        "--illegal-native-access",
        "--source",
    ];
    let mut arguments = arguments.iter().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "-jar" | "-m" | "--module" => return arguments.next().map(|main| short(main)),
            option if WITH_VALUE.contains(&option) => {
                arguments.next();
            }
            option if option.starts_with('-') || option.starts_with('@') => {}
            main => return Some(short(main)),
        }
    }
    None
}

/// A jar without its folders; "module/class" without the module.
fn short(main: &str) -> String {
    main.rsplit('/').next().unwrap_or(main).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn main(line: &str) -> Option<String> {
        main_of(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn the_main_class_or_jar_is_found_behind_options() {
        assert_eq!(main("java -Xmx1g -cp a.jar:b com.example.Main x").as_deref(), Some("com.example.Main"));
        assert_eq!(main("/usr/bin/java -jar /opt/app/service.jar --port 1").as_deref(), Some("service.jar"));
        assert_eq!(main("java --add-opens java.base/java.lang=ALL-UNNAMED -m m/a.B").as_deref(), Some("a.B"));
        assert_eq!(main("java @args -version"), None);
    }
}
