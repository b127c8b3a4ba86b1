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
    /// The process that it is of, when it is one.
    pub process: Option<u32>,
    /// The clock of its own stamps.
    pub clock: ClockBasis,
    /// Wall-clock time of its own clock's zero, when the file itself says it.
    pub anchor: Option<Anchor>,
    /// How it was put on the recording's clock; set by `ingest`'s alignment.
    pub placement: Placement,
    /// Bytes read, after decompression.
    pub bytes: u64,
    /// Lines read.
    pub lines: u64,
    /// Files that it was put together from, in order, when it is a rotated set: see
    /// [`Source::position`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub segments: Vec<Segment>,
    /// Records taken into the recording.
    pub records: u64,
    /// Lines or records that were not understood. Known to be of no interest is not skipped.
    pub skipped: u64,
    /// Records that are known to be missing (dropped by the JVM's asynchronous log, rotated away).
    pub lost: u64,
    /// A few of the lines that were not understood.
    pub unknown: Vec<UnknownLine>,
    /// Whether the input ends in the middle of something.
    pub cut: bool,
    /// Self-checks that were run on it.
    pub checks: Vec<Check>,
    /// What it was asked for and could not see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<Unseen>,
    /// What its CPU samples were taken by, when it takes any.
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
    /// Samples a second that were asked for, of each processor while it is busy.
    pub rate_hz: u32,
    /// What lies between two samples, in the unit; `None` where the kernel keeps the rate by moving
    /// it.
    pub period: Option<u64>,
}

/// A file of a rotated set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// The file.
    pub name: String,
    /// Number of its first line within the whole source, from 1.
    pub first_line: u64,
}

impl Source {
    /// Where a line of this source stands, to be shown: "gc.log:1234"; the file alone for line 0.
    pub fn position(&self, line: u64) -> String {
        match self.place(line) {
            (file, Some(line)) => format!("{file}:{line}"),
            (file, None) => file.to_owned(),
        }
    }

    /// The file of a line of this source and the line within it, from 1; no line for line 0.
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
    /// Its number, from 1.
    pub line: u64,
    /// Its first characters.
    pub text: String,
    /// How many lines of this source are like it: that many of its skipped ones. 1 where lines are
    /// not compared.
    #[serde(default = "one")]
    pub alike: u64,
}

fn one() -> u64 {
    1
}

/// A self-check of an input: what must hold of it, and whether it does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// What must hold: "no pause is negative".
    pub claim: String,
    /// Whether it does.
    pub holds: bool,
    /// The figures.
    pub detail: String,
}

/// Something that a live collector was asked for and could not see: a blind spot of the recording,
/// not an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unseen {
    /// What is missing: "safepoints of the JVM (pid 4711)".
    pub what: String,
    /// Why: "its libjvm.so has no probes and no symbols".
    pub why: String,
    /// What would let it be seen: a command, a flag, a package; empty when nothing would.
    pub remedy: String,
}

/// A process. For JVMs one row is one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// Its id at the kernel, when known.
    pub pid: Option<i64>,
    /// A short name to show: main class, else the file that it is known from.
    pub name: String,
    /// Whether it is a JVM.
    pub jvm: bool,
    /// What is known of it, by the words of [`crate::vocabulary::fact`].
    pub facts: BTreeMap<String, String>,
}

impl Process {
    /// A fact by its word of [`crate::vocabulary::fact`].
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
    /// Its id at the kernel, when known.
    pub tid: Option<i64>,
    /// Its name, empty when unknown.
    pub name: StrId,
    /// What it is for.
    pub role: Role,
}
