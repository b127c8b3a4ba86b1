//! Where a recording comes from: sources, processes, threads.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::clock::{Anchor, ClockBasis, Placement};
use crate::{ProcessId, Role, StrId};

/// A collector or a file (one JVM run within it) that fed the recording.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Source {
    /// The file as the user named it (with "#2" for the second JVM run in it), or the collector.
    pub name: String,
    /// Which reader or collector: "unified-log", "jdk8-gc-log", "log-compilation", "table" …
    pub format: String,
    /// Its process, if it belongs to one.
    pub process: Option<u32>,
    /// The clock of its own timestamps.
    pub clock: ClockBasis,
    /// Wall-clock time of its own clock's zero, if the file itself has it.
    pub anchor: Option<Anchor>,
    /// How it was put on the recording's clock; set by `ingest`'s alignment.
    pub placement: Placement,
    /// Bytes read, after decompression.
    pub bytes: u64,
    /// Lines read.
    pub lines: u64,
    /// The files of a rotated set that it was read from, in order: see [`Source::position`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<Segment>,
    /// Records that were added to the recording.
    pub records: u64,
    /// Lines or records that were not understood. Lines that are known to be of no interest do not
    /// count.
    pub skipped: u64,
    /// Records that are known to be missing (dropped by the JVM's asynchronous log, rotated away).
    pub lost: u64,
    /// A few of the lines that were not understood.
    pub unknown: Vec<UnknownLine>,
    /// Whether the input is truncated.
    pub cut: bool,
    /// Self-checks that were run on it.
    pub checks: Vec<Check>,
    /// What it should have recorded and could not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<Unseen>,
    /// What its CPU samples were triggered by, if it takes any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<Sampling>,
    /// First and last time that it covers, nanoseconds on its own clock until it is placed, then on
    /// the recording's.
    pub covers_ns: Option<(i64, i64)>,
}

/// The event that makes a source take its CPU samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sampling {
    /// Its name: "cpu-clock", "cycles".
    pub event: String,
    /// What a sample's weight counts: "ns", "cycles".
    pub unit: String,
    /// Requested samples per second per CPU while it is busy.
    pub rate_hz: u32,
    /// The period between two samples, in the unit; `None` where the kernel varies it to keep the
    /// rate.
    pub period: Option<u64>,
}

/// A file of a rotated set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// The file.
    pub name: String,
    /// Number of its first line within the whole source, 1-based.
    pub first_line: u64,
}

impl Source {
    /// The position of a line of this source, to be shown: "gc.log:1234"; the file alone for line
    /// 0.
    pub fn position(&self, line: u64) -> String {
        match self.place(line) {
            (file, Some(line)) => format!("{file}:{line}"),
            (file, None) => file.to_owned(),
        }
    }

    /// The file of a line of this source and the line within it, 1-based; no line for line 0.
    pub fn place(&self, line: u64) -> (&str, Option<u64>) {
        let segment = self.segments.iter().rev().find(|s| s.first_line <= line);
        match (line, segment) {
            (0, _) => (&self.name, None),
            (_, Some(segment)) => (&segment.name, Some(line - segment.first_line + 1)),
            (_, None) => (&self.name, Some(line)),
        }
    }
}

/// A line that no reader understood.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnknownLine {
    /// Its number, 1-based.
    pub line: u64,
    /// Its first characters.
    pub text: String,
    /// The number of similar lines in this source: that many of its skipped ones. 1 where lines are
    /// not compared.
    #[serde(default = "one")]
    pub alike: u64,
}

fn one() -> u64 {
    1
}

/// A self-check of an input: an invariant, and whether it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The invariant: "no pause is negative".
    pub claim: String,
    /// Whether it holds.
    pub holds: bool,
    /// The numbers.
    pub detail: String,
}

/// Something that a live collector should have recorded and could not: a blind spot of the
/// recording, not an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unseen {
    /// What is missing: "safepoints of the JVM (pid 4711)".
    pub what: String,
    /// Why: "its libjvm.so has no probes and no symbols".
    pub why: String,
    /// What would make it visible: a command, a flag, a package; empty if nothing would.
    pub remedy: String,
    /// Which records are missing by that; `None` where it is not said: then any of the collector's
    /// may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
}

/// Records that are missing because something could not be seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// Kinds of spans of which some are missing; `None`: of any kind that the collector records.
    pub kinds: Option<Vec<String>>,
    /// The process of which they are missing; `None`: of any.
    pub pid: Option<i64>,
    /// Whether waits of virtual threads are among them that nothing else shows: without its carrier
    /// the kernel knows nothing of such a thread. `None`: it is not about virtual threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtual_threads: Option<bool>,
}

impl Scope {
    /// No record is missing: what is recorded lacks its stack or its owner, or it is of processes
    /// that nobody records.
    pub fn nothing() -> Self {
        Self::of_kinds(&[])
    }

    /// Records of some kinds alone.
    pub fn of_kinds(kinds: &[&str]) -> Self {
        let kinds = kinds.iter().map(|kind| (*kind).to_owned()).collect();
        Self { kinds: Some(kinds), ..Self::default() }
    }

    /// Records of a process alone.
    pub fn of_process(pid: i64) -> Self {
        Self { pid: Some(pid), ..Self::default() }
    }

    /// It is about virtual threads, of whose waits nothing else shows what is missing, or something
    /// does.
    pub fn of_virtual_threads(self, hidden: bool) -> Self {
        Self { virtual_threads: Some(hidden), ..self }
    }
}

impl Unseen {
    /// Whether records of a kind and of a process may be missing because of it.
    pub fn may_hide(&self, kind: &str, pid: Option<i64>) -> bool {
        let Some(scope) = &self.scope else { return true };
        let of_another = scope.pid.zip(pid).is_some_and(|(of, pid)| of != pid);
        let of_kind = scope.kinds.as_ref().is_none_or(|kinds| kinds.iter().any(|of| of == kind));
        of_kind && !of_another
    }

    /// Whether nothing shows waits of virtual threads because of it.
    pub fn hides_virtual_threads(&self) -> bool {
        self.scope.as_ref().and_then(|scope| scope.virtual_threads) == Some(true)
    }
}

/// A process. A JVM has one row per run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// Its pid in the kernel, where that is known.
    pub pid: Option<i64>,
    /// A short name to show: main class, else the file that it is known from.
    pub name: String,
    /// Whether it is a JVM.
    pub jvm: bool,
    /// What is known of it, by the keys of [`crate::vocabulary::fact`].
    pub facts: BTreeMap<String, String>,
}

impl Process {
    /// A fact by its key of [`crate::vocabulary::fact`].
    pub fn fact(&self, key: &str) -> Option<&str> {
        self.facts.get(key).map(String::as_str)
    }

    /// A fact that is a number.
    pub fn fact_number(&self, key: &str) -> Option<f64> {
        self.fact(key)?.parse().ok()
    }
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Thread {
    /// Its process.
    pub process: ProcessId,
    /// Its tid in the kernel, where that is known.
    pub tid: Option<i64>,
    /// Its name, empty when unknown.
    pub name: StrId,
    /// Its role.
    pub role: Role,
}
