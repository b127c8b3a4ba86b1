//! What a JVM runs, and on what: from the counters that it publishes, otherwise from what the
//! kernel reports of it.

use std::fs;
use std::io::Read;

use fathom_recording::secrets::{masked, masked_argument};
use rustix::fs::OFlags;

use super::{CommandLine, Kind, arguments, short_main};
use crate::perf_data::{self, PerfData};
use crate::proc_status::ProcStatus;
use crate::root::Root;

/// Threads of a JVM whose names are looked at.
const MOST_THREADS: usize = 4096;
/// Longest `release` file of a JDK read, bytes.
const LONGEST_RELEASE: u64 = 64 << 10;

/// A garbage collector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collector {
    /// One thread, stop-the-world.
    Serial,
    /// Several threads, stop-the-world.
    Parallel,
    /// Concurrent mark-sweep (until JDK 13).
    Cms,
    /// Garbage first.
    G1,
    /// ZGC.
    Z,
    /// Shenandoah.
    Shenandoah,
    /// None at all.
    Epsilon,
}

impl Collector {
    /// As recordings name it (the word of `fact::COLLECTOR`).
    pub fn name(self) -> &'static str {
        match self {
            Self::Serial => "Serial",
            Self::Parallel => "Parallel",
            Self::Cms => "CMS",
            Self::G1 => "G1",
            Self::Z => "Z",
            Self::Shenandoah => "Shenandoah",
            Self::Epsilon => "Epsilon",
        }
    }

    /// By the counter `sun.gc.policy.name`: each collector's own constructor of `GCPolicyCounters`;
    /// Epsilon and old releases of others have none.
    fn of_policy(policy: &str) -> Option<Self> {
        Some(match policy {
            "GarbageFirst" => Self::G1,
            "ParNew:CMS" | "ParNew:CMS_foreground" => Self::Cms,
            _ if policy.starts_with("ParScav") => Self::Parallel,
            _ if policy.starts_with("Copy") => Self::Serial,
            _ if policy.starts_with('Z') => Self::Z,
            _ if policy.starts_with("Shenandoah") => Self::Shenandoah,
            _ => return None,
        })
    }

    /// By the names of threads that only one of them has. G1 has Parallel's as well, so those are
    /// looked at last.
    fn of_threads(names: &[String]) -> Option<Self> {
        const OWN: [(&str, Collector); 8] = [
            ("G1 ", Collector::G1),
            ("ZDirector", Collector::Z),
            ("ZDriver", Collector::Z),
            ("XDirector", Collector::Z),
            ("Shenandoah", Collector::Shenandoah),
            ("CMS Main", Collector::Cms),
            ("Concurrent Mark", Collector::Cms),
            ("GC Thread#", Collector::Parallel),
        ];
        OWN.iter()
            .find(|(start, _)| names.iter().any(|n| n.starts_with(start)))
            .map(|(_, collector)| *collector)
    }

    /// By the option that asks for it.
    fn of_options(options: &[String]) -> Option<Self> {
        options.iter().rev().find_map(|option| {
            Some(match option.strip_prefix("-XX:+Use")? {
                "SerialGC" => Self::Serial,
                "ParallelGC" | "ParallelOldGC" => Self::Parallel,
                "ConcMarkSweepGC" => Self::Cms,
                "G1GC" => Self::G1,
                "ZGC" => Self::Z,
                "ShenandoahGC" => Self::Shenandoah,
                "EpsilonGC" => Self::Epsilon,
                _ => return None,
            })
        })
    }
}

/// What is known of a JVM. What is not known is absent, never guessed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// Main class or jar, short: "com.example.Main", "service.jar".
    pub main: Option<String>,
    /// Options of the JVM, secrets masked.
    pub options: Vec<String>,
    /// Version of Java: "17.0.15", "1.8.0_452".
    pub java_version: Option<String>,
    /// Version of HotSpot: "17.0.15+6-Debian-1deb12u1".
    pub vm_version: Option<String>,
    /// Who built it: "Eclipse Adoptium".
    pub vendor: Option<String>,
    /// Its collector.
    pub collector: Option<Collector>,
    /// Home of its JDK, as the process names it.
    pub home: Option<String>,
    /// Whether it publishes its counters.
    pub publishes: bool,
}

impl About {
    /// Describes a process.
    pub fn of(pid: u32, status: &ProcStatus, kind: &Kind) -> Self {
        let line = CommandLine::of(&arguments(pid));
        if !matches!(kind, Kind::HotSpot { .. } | Kind::ThirtyTwoBit) {
            let main = (*kind != Kind::NativeImage).then_some(line.main).flatten();
            return Self { main: main.as_deref().map(|m| short_main(m).to_owned()), ..Self::default() };
        }
        let counters = perf_data::read(pid, status).ok().flatten();
        let mut about = counters.as_ref().map(Self::of_counters).unwrap_or_default();
        about.publishes = counters.is_some();
        let main = about.main.take().or(line.main);
        about.main = main.map(|main| short_main(&main).to_owned()).filter(|main| !main.is_empty());
        if about.options.is_empty() {
            about.options = line.options;
        }
        if let Kind::HotSpot { libjvm, .. } = kind {
            about.home = home(libjvm).map(str::to_owned);
        }
        if about.java_version.is_none() {
            about.read_release_file(pid);
        }
        about.collector = about
            .collector
            .or_else(|| Collector::of_threads(&thread_names(pid)))
            .or_else(|| Collector::of_options(&about.options));
        about
    }

    /// Reads it from the counters of a JVM.
    fn of_counters(counters: &PerfData) -> Self {
        let text = |name: &str| counters.text(name).map(str::to_owned);
        // "com.example.Main arguments…": what follows the first word is the program's own.
        let main = counters.text("sun.rt.javaCommand").and_then(|command| command.split_whitespace().next());
        let options = counters.text("java.rt.vmArgs").map(masked).unwrap_or_default();
        Self {
            main: main.map(str::to_owned),
            options: options.split_whitespace().map(masked_argument).collect(),
            java_version: text("java.property.java.version"),
            vm_version: text("java.property.java.vm.version"),
            vendor: text("java.property.java.vm.vendor"),
            collector: counters.text("sun.gc.policy.name").and_then(Collector::of_policy),
            ..Self::default()
        }
    }

    /// Feature release: 8, 11, 17 …
    pub fn feature(&self) -> Option<u32> {
        let version = self.java_version.as_ref().or(self.vm_version.as_ref())?;
        let mut parts = version.split(['.', '_', '-', '+']);
        match parts.next()?.parse().ok()? {
            1 => parts.next()?.parse().ok(),
            feature => Some(feature),
        }
    }

    /// Reads the file `release` of its JDK, which exists since JDK 7. If the JDK was updated under
    /// the running JVM, the file has the wrong version and is not read.
    fn read_release_file(&mut self, pid: u32) {
        let Some(home) = &self.home else { return };
        let replaced = fs::read_to_string(format!("/proc/{pid}/maps"))
            .is_ok_and(|maps| maps.lines().any(|line| line.ends_with("libjvm.so (deleted)")));
        if replaced {
            return;
        }
        let opened = Root::of(pid).and_then(|root| root.open(&format!("{home}/release"), OFlags::RDONLY));
        let mut text = String::new();
        let read = opened.map(|fd| fs::File::from(fd).take(LONGEST_RELEASE).read_to_string(&mut text));
        if !matches!(read, Ok(Ok(_))) {
            return;
        }
        let value = |key: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
            Some(line.trim().trim_matches('"').to_owned())
        };
        self.java_version = value("JAVA_VERSION");
        self.vendor = self.vendor.take().or_else(|| value("IMPLEMENTOR"));
    }
}

/// "/opt/jdk" of "/opt/jdk/lib/server/libjvm.so"; of JDK 8 the runtime's home, "…/jre".
fn home(libjvm: &str) -> Option<&str> {
    libjvm.rsplit_once("/lib/").map(|(home, _)| home)
}

/// Names of the threads of a process, as the kernel has them (15 bytes).
fn thread_names(pid: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten().take(MOST_THREADS);
    tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collectors_are_recognised_by_policy_threads_and_options() {
        assert_eq!(Collector::of_policy("ParScav:MSC"), Some(Collector::Parallel));
        assert_eq!(Collector::of_policy("Copy:MSC"), Some(Collector::Serial));
        assert_eq!(Collector::of_policy("ParNew:CMS"), Some(Collector::Cms));
        let names = ["GC Thread#0\n".to_owned(), "G1 Main Marker\n".to_owned()];
        assert_eq!(Collector::of_threads(&names), Some(Collector::G1));
        assert_eq!(Collector::of_threads(&names[..1]), Some(Collector::Parallel));
        let options = ["-XX:+UseG1GC".to_owned(), "-XX:+UseSerialGC".to_owned()];
        assert_eq!(Collector::of_options(&options), Some(Collector::Serial));
        assert_eq!(Collector::of_options(&[]), None);
    }

    #[test]
    fn homes_and_releases_are_found_in_old_and_new_layouts() {
        assert_eq!(home("/usr/lib/jvm/jdk/lib/server/libjvm.so"), Some("/usr/lib/jvm/jdk"));
        assert_eq!(home("/opt/jdk8/jre/lib/amd64/server/libjvm.so"), Some("/opt/jdk8/jre"));
        let of =
            |version: &str| About { java_version: Some(version.to_owned()), ..About::default() }.feature();
        assert_eq!((of("1.8.0_452"), of("17.0.15"), of("25"), of("?")), (Some(8), Some(17), Some(25), None));
    }
}
