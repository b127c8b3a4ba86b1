//! What can be traced, one line each: which collectors see it, which of their rows are shown, and
//! by what they are summed up.

use fathom_capture::COLLECTORS;
use fathom_capture::probes::Spec;
use fathom_recording::SpanRow;
use fathom_recording::vocabulary::lock::is_lock;
use fathom_recording::vocabulary::{figure, kind, label, sample};

/// Something that can be traced by its name.
pub struct Probe {
    /// Its name.
    pub id: &'static str,
    /// What it shows, for the help.
    pub about: &'static str,
    /// What its argument is, where it asks for one.
    pub argument: Option<&'static str>,
    /// Whether only a JVM has it.
    pub jvm: bool,
    /// What is shorter is not shown unless `--min` says so, nanoseconds: ordinary events would
    /// drown the slow ones.
    pub min_ns: i64,
    /// The collectors that see it.
    pub collectors: &'static [&'static str],
    /// Rows that are shown.
    pub shows: &'static [Shown],
    /// Kinds of samples that are shown, each with its weight.
    pub samples: &'static [&'static str],
    /// What the collector `probes` is asked for.
    pub specs: fn() -> Vec<Spec>,
}

/// A function, a USDT probe or a tracepoint that is named on the command line.
pub static NAMED: Probe = Probe {
    id: "probe",
    about: "",
    argument: None,
    jvm: false,
    min_ns: 0,
    collectors: &["probes"],
    shows: &[whole(kind::PROBE, name)],
    samples: &[],
    specs: Vec::new,
};

/// A kind of spans that a probe shows.
pub struct Shown {
    /// One of [`kind`].
    pub kind: &'static str,
    /// How long it took, nanoseconds; `None`: it is not shown.
    pub took_ns: fn(&SpanRow<'_>) -> Option<i64>,
    /// What it is summed up by.
    pub by: fn(&SpanRow<'_>) -> String,
    /// Values that are summed up as well, each with its meaning.
    pub parts: &'static [(&'static str, &'static str)],
}

/// What of a thread's start took how long; they overlap.
const PARTS_OF_STARTS: [(&str, &str); 5] = [
    (figure::CALL_NS, "its caller was in Thread.start (call)"),
    (figure::CLONE_NS, "of it in the system call that makes a thread (clone)"),
    (figure::WAITED_NS, "of it off the CPU until the new thread was up (waited)"),
    (figure::RUNQ_NS, "the new thread waited for a CPU at first (runq)"),
    (figure::TO_JAVA_NS, "from when the kernel had made it until it ran Java (to_java)"),
];

const fn whole(kind: &'static str, by: fn(&SpanRow<'_>) -> String) -> Shown {
    Shown { kind, took_ns: length, by, parts: &[] }
}

/// All of them, in the order of the help.
pub static PROBES: &[Probe] = &[
    Probe {
        id: "offcpu",
        about: "waits of threads: state, system call, who woke them",
        argument: None,
        jvm: false,
        min_ns: 10_000_000,
        collectors: &["sched"],
        shows: &[whole(kind::SCHED_OFF, state_and_syscall)],
        samples: &[],
        specs: Vec::new,
    },
    Probe {
        id: "runq",
        about: "threads that could run and had no CPU",
        argument: None,
        jvm: false,
        min_ns: 1_000_000,
        collectors: &["sched"],
        shows: &[Shown { took_ns: on_run_queue, ..whole(kind::SCHED_OFF, name) }],
        samples: &[],
        specs: Vec::new,
    },
    Probe {
        id: "lock",
        about: "contended monitors, java.util.concurrent locks and mutexes: class, address, who held it",
        argument: None,
        jvm: false,
        min_ns: 1_000_000,
        collectors: &["locks"],
        shows: &[
            whole(kind::LOCK_MONITOR, lock),
            Shown { took_ns: length_for_a_lock, ..whole(kind::LOCK_PARK, lock) },
            whole(kind::LOCK_NATIVE, lock),
        ],
        samples: &[],
        specs: Vec::new,
    },
    Probe {
        id: "safepoint",
        about: "stops of all Java threads: time to safepoint, the operation, until they ran; the longest by their parts",
        argument: None,
        jvm: true,
        min_ns: 0,
        // What threads did in a stop, and in the VM thread's log write, is shown by the others.
        collectors: &["jvm-events", "sched", "syscalls"],
        shows: &[whole(kind::SAFEPOINT, name), whole(kind::SAFEPOINT_LATE, name)],
        samples: &[],
        specs: Vec::new,
    },
    Probe {
        id: "gc",
        about: "collections: cause, heap before and after",
        argument: None,
        jvm: true,
        min_ns: 0,
        collectors: &["jvm-events"],
        shows: &[whole(kind::GC_PAUSE, name), whole(kind::GC_CONCURRENT, name), whole(kind::GC_STALL, name)],
        samples: &[],
        specs: Vec::new,
    },
    Probe {
        id: "jit",
        about: "compilations: method, compiler, tier",
        argument: None,
        jvm: true,
        min_ns: 0,
        collectors: &["jvm-events"],
        shows: &[whole(kind::JIT_COMPILE, compiler), whole(kind::JIT_QUEUE, compiler)],
        samples: &[],
        specs: Vec::new,
    },
    Probe {
        id: "threads",
        about: "threads that start: who started them, with its stack, and what took how long; threads that end",
        argument: None,
        jvm: true,
        min_ns: 0,
        collectors: &["jvm-events", "sched"],
        shows: &[
            Shown { parts: &PARTS_OF_STARTS, ..whole(kind::THREAD_STARTUP, start) },
            whole(kind::THREAD_END, end),
        ],
        samples: &[],
        specs: Vec::new,
    },
    Probe {
        id: "dns",
        about: "names being resolved through the C library: host, server, error",
        argument: None,
        jvm: false,
        min_ns: 0,
        collectors: &["network"],
        shows: &[whole(kind::NET_DNS, name)],
        samples: &[],
        specs: Vec::new,
    },
    Probe {
        id: "connect",
        about: "connections being made: peer, error",
        argument: None,
        jvm: false,
        min_ns: 0,
        collectors: &["network"],
        shows: &[whole(kind::NET_CONNECT, peer)],
        samples: &[],
        specs: Vec::new,
    },
    Probe {
        id: "io",
        about: "system calls on files and sockets: path or peer, bytes",
        argument: None,
        jvm: false,
        min_ns: 1_000_000,
        collectors: &["syscalls"],
        shows: &[Shown { took_ns: length_on_a_file, ..whole(kind::SYSCALL, call_and_file) }],
        samples: &[],
        specs: Vec::new,
    },
    Probe {
        id: "syscall",
        about: "one system call by its name: arguments that matter, result",
        argument: Some("a system call"),
        jvm: false,
        min_ns: 1_000_000,
        collectors: &["syscalls"],
        shows: &[whole(kind::SYSCALL, call_and_file)],
        samples: &[],
        specs: Vec::new,
    },
    Probe {
        id: "faults",
        about: "page faults, one in some: method, mapping; long ones each",
        argument: None,
        jvm: false,
        min_ns: 0,
        collectors: &["memory"],
        shows: &[
            whole(kind::PAGE_FAULT, name),
            whole(kind::MEMORY_STALL, name),
            whole(kind::MEMORY_MAP_LOCK, name),
        ],
        samples: &[sample::PAGE_FAULT],
        specs: Vec::new,
    },
    Probe {
        id: "alloc",
        about: "allocations that need a new buffer for the thread, or none: class, bytes",
        argument: None,
        jvm: true,
        min_ns: 0,
        collectors: &["probes"],
        shows: &[whole(kind::PROBE, name)],
        samples: &[],
        specs: || vec![Spec::Alloc],
    },
];

impl Probe {
    /// The probe of a name, when its collectors are built in.
    pub fn find(id: &str) -> Option<&'static Self> {
        Self::all().find(|probe| probe.id == id)
    }

    /// All whose collectors are built in.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        let is_there = |id: &&str| COLLECTORS.iter().any(|entry| entry.id == *id);
        PROBES.iter().filter(move |probe| probe.collectors.iter().all(&is_there))
    }

    /// How a span is shown, if it is.
    pub fn shows(&self, span: &SpanRow<'_>) -> Option<&'static Shown> {
        self.shows.iter().find(|shown| shown.kind == span.kind)
    }
}

fn length(span: &SpanRow<'_>) -> Option<i64> {
    Some(span.t1_ns.saturating_sub(span.t0_ns))
}

fn on_run_queue(span: &SpanRow<'_>) -> Option<i64> {
    span.figures.iter().find(|(key, _)| *key == figure::RUNQ_NS).map(|(_, ns)| *ns as i64)
}

/// Parks for a lock, and not for a condition, a latch, a future or work.
fn length_for_a_lock(span: &SpanRow<'_>) -> Option<i64> {
    length(span).filter(|_| is_lock(span.name))
}

/// Calls whose descriptor or path stands for something.
fn length_on_a_file(span: &SpanRow<'_>) -> Option<i64> {
    let is_io = [label::PATH, label::PEER].iter().any(|key| of_label(span, key).is_some());
    length(span).filter(|_| is_io)
}

fn call_and_file(span: &SpanRow<'_>) -> String {
    match of_label(span, label::PATH).or_else(|| of_label(span, label::PEER)) {
        Some(what) => format!("{} {what}", span.name),
        None => span.name.to_owned(),
    }
}

fn peer(span: &SpanRow<'_>) -> String {
    of_label(span, label::PEER).unwrap_or("an unknown peer").to_owned()
}

/// "shop.Cart @ 0x7f…".
fn lock(span: &SpanRow<'_>) -> String {
    let class = if span.name.is_empty() { "an object of unknown class" } else { span.name };
    format!("{class} @ {}", of_label(span, label::ADDRESS).unwrap_or("?"))
}

fn name(span: &SpanRow<'_>) -> String {
    span.name.to_owned()
}

fn state_and_syscall(span: &SpanRow<'_>) -> String {
    match of_label(span, label::SYSCALL) {
        Some(syscall) => format!("{} in {syscall}", span.name),
        None => span.name.to_owned(),
    }
}

fn compiler(span: &SpanRow<'_>) -> String {
    let what = if span.kind == kind::JIT_QUEUE { "queued for " } else { "" };
    format!("{what}{}", of_label(span, label::COMPILER).unwrap_or("a compiler"))
}

/// Those that Java asked for, and the JVM's own.
fn start(span: &SpanRow<'_>) -> String {
    let is_called = span.figures.iter().any(|(key, _)| *key == figure::CALL_NS);
    if is_called { "start, from Thread.start to Java" } else { "start, from clone on" }.into()
}

fn end(_: &SpanRow<'_>) -> String {
    "end".into()
}

fn of_label<'a>(span: &SpanRow<'a>, wanted: &str) -> Option<&'a str> {
    span.labels.iter().find(|(key, _)| *key == wanted).map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_once_and_their_collectors_exist() {
        for (i, probe) in PROBES.iter().enumerate() {
            assert!(PROBES[..i].iter().all(|before| before.id != probe.id), "{}", probe.id);
            assert!(Probe::find(probe.id).is_some(), "{}: {:?}", probe.id, probe.collectors);
        }
    }
}
