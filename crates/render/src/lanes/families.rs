//! Which part of the machine a live series is about, what it is called on the page, and what is
//! looked at first.

/// A part of the machine, a group of lanes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    Processors,
    Pressure,
    Memory,
    Disks,
    Network,
    ControlGroups,
    Fathom,
    /// Words of live collectors that are in none of the others.
    Rest,
}

impl Family {
    /// From top to bottom.
    pub(super) const ALL: [Self; 8] = [
        Self::Processors,
        Self::Pressure,
        Self::Disks,
        Self::Memory,
        Self::Network,
        Self::ControlGroups,
        Self::Fathom,
        Self::Rest,
    ];

    /// How the names of its series begin. The earliest family that fits has it.
    fn beginnings(self) -> &'static [&'static str] {
        match self {
            Self::Processors => &["host.cpu.", "host.tasks.", "host.load", "host.switches", "host.forks"],
            Self::Pressure => &["host.pressure."],
            Self::Memory => &["host."],
            Self::Disks => &["disk."],
            Self::Network => &["net.", "tcp."],
            Self::ControlGroups => &["cgroup."],
            Self::Fathom => &["fathom."],
            Self::Rest => &["process.", "jvm."],
        }
    }

    /// Whether a series is of this family.
    pub(super) fn holds(self, name: &str) -> bool {
        let of = Self::ALL.into_iter().filter(|f| *f != Self::Memory).chain([Self::Memory]);
        let fits = |family: &Self| family.beginnings().iter().any(|b| name.starts_with(b));
        of.into_iter().find(fits) == Some(self)
    }

    /// What all names of the family begin with, so that titles need not say it again.
    pub(super) fn prefix(self, name: &str) -> &'static str {
        match self {
            Self::Processors | Self::Memory => "host.",
            Self::Pressure => "host.pressure.",
            Self::Disks => "disk.",
            Self::Network if name.starts_with("net.") => "net.",
            Self::Network | Self::Rest => "",
            Self::ControlGroups => "cgroup.",
            Self::Fathom => "fathom.",
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Processors => "CPUs",
            Self::Pressure => "Pressure",
            Self::Memory => "Memory",
            Self::Disks => "Disks",
            Self::Network => "Network",
            Self::ControlGroups => "Control groups",
            Self::Fathom => "fathom itself",
            Self::Rest => "Other figures",
        }
    }

    /// Whether it is open at first: what most slow minutes show something in.
    pub(super) fn is_open(self) -> bool {
        matches!(self, Self::Processors | Self::Pressure | Self::Disks)
    }
}

/// Live series in the order in which people ask for them; those that are open at first are before
/// the dash.
const ORDER: [&str; 37] = [
    "process.requests",
    "process.request-time",
    "process.cpu.role",
    "process.cpu",
    "process.faults",
    "host.cpu.busy",
    "host.cpu.steal",
    "host.pressure.io",
    "host.pressure.cpu",
    "disk.busy",
    "disk.await",
    "-",
    "host.cpu.kernel",
    "host.cpu.iowait",
    "host.tasks.runnable",
    "host.tasks.blocked",
    "host.pressure.memory",
    "host.memory.available",
    "host.memory.dirty",
    "host.memory.writeback",
    "disk.queue",
    "disk.written",
    "disk.read",
    "net.received",
    "net.sent",
    "tcp.retransmits",
    "cgroup.cpu",
    "cgroup.cpu.throttled",
    "process.rss",
    "process.cpu.user",
    "process.cpu.kernel",
    "process.run-queue",
    "process.fault-time",
    "process.request-time.longest",
    "process.memory-stalls",
    "jvm.heap.used",
    "jvm.gc.time",
];

/// Place of a series among others: unnamed ones come last.
pub(super) fn rank(name: &str) -> usize {
    ORDER.iter().position(|n| *n == name).unwrap_or(ORDER.len())
}

/// Whether its lane is open before anybody folds or unfolds it.
pub(super) fn open_at_first(name: &str) -> bool {
    rank(name) < rank("-") || !fathom_recording::vocabulary::live::is_live(name)
}

/// Words that are written in another way than they are named.
const WRITTEN: [(&str, &str); 13] = [
    ("cpu", "CPU"),
    ("gc", "GC"),
    ("jvm", "JVM"),
    ("tcp", "TCP"),
    ("io", "I/O"),
    ("iowait", "I/O wait"),
    ("oom-kills", "OOM kills"),
    ("rss", "resident memory"),
    ("fds", "file descriptors"),
    ("load1", "load average, 1 min"),
    ("role", "by role"),
    ("await", "request time"),
    ("codecache", "code cache"),
];

/// The title of a lane: the name without what all of its group begin with, in words.
pub(super) fn title(name: &str, prefix: &str) -> String {
    let rest = name.strip_prefix(prefix).filter(|rest| !rest.is_empty()).unwrap_or(name);
    let word = |word: &str| {
        let known = WRITTEN.iter().find(|(w, _)| *w == word);
        known.map_or_else(|| word.replace('-', " "), |(_, written)| (*written).to_owned())
    };
    let words: Vec<String> = rest.split(['.', '_']).filter(|w| !w.is_empty()).map(word).collect();
    let text = words.join(" ");
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use fathom_recording::vocabulary::live;

    use super::*;

    #[test]
    fn every_live_word_is_of_one_family_and_has_a_title() {
        let of = |name: &str| {
            Family::ALL.into_iter().filter(|f| f.holds(name)).map(Family::name).collect::<Vec<_>>()
        };
        assert_eq!(of(live::HOST_CPU_BUSY.name), ["CPUs"]);
        assert_eq!(of(live::HOST_PRESSURE_IO.name), ["Pressure"]);
        assert_eq!(of(live::HOST_SWAP_OUT.name), ["Memory"]);
        assert_eq!(of(live::TCP_RETRANSMITS.name), ["Network"]);
        assert_eq!(of("fathom.cpu"), ["fathom itself"]);
        assert_eq!(of("throughput"), [""; 0]);
        assert_eq!(title("host.cpu.iowait", "host."), "CPU I/O wait");
        assert_eq!(title("net.received", "net."), "Received");
        assert_eq!(title("lat_p99_ms", ""), "Lat p99 ms");
        assert_eq!(title("", ""), "");
    }

    #[test]
    fn the_list_names_words_that_collectors_write() {
        let words = [live::PROCESS_CPU_ROLE, live::HOST_PRESSURE_CPU, live::DISK_AWAIT, live::HOST_CPU_STEAL];
        assert!(words.iter().all(|w| open_at_first(w.name)));
        assert!(!open_at_first(live::FATHOM_CPU.name) && open_at_first("throughput"));
    }
}
