//! What makes two recordings hard to compare: another host, JDK, heap, other flags or load.

use std::collections::BTreeSet;

use fathom_recording::vocabulary::{fact, live};
use fathom_recording::{Process, Recording};
use serde::Serialize;

/// Something that is not the same on both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Differing {
    /// What: "JDK", "CPUs", "flags".
    pub what: &'static str,
    /// On the first side; absent where it is not known.
    pub first: Option<String>,
    /// On the second.
    pub second: Option<String>,
}

/// Something that a run depends on, as both sides have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Condition {
    /// What: "JDK", "CPUs", "flags".
    pub what: &'static str,
    /// On the first side; absent where it is not known, or of flags where there is none that the
    /// other side has not.
    pub first: Option<String>,
    /// On the second.
    pub second: Option<String>,
    /// Whether both sides are the same; absent where a side does not have it.
    pub same: Option<bool>,
}

/// Facts that are compared as they are, and what they are called.
const FACTS: [(&str, &str); 14] = [
    ("JDK", fact::JVM_VERSION),
    ("operating system", fact::OS),
    ("CPUs", fact::CPUS),
    ("memory", fact::MEMORY_BYTES),
    ("collector", fact::COLLECTOR),
    ("generational", fact::GENERATIONAL),
    ("maximum heap", fact::HEAP_MAX_BYTES),
    ("initial heap", fact::HEAP_INITIAL_BYTES),
    ("region", fact::REGION_BYTES),
    ("collector threads", fact::GC_WORKERS),
    ("concurrent collector threads", fact::GC_CONCURRENT_WORKERS),
    ("code cache", fact::CODE_CACHE_BYTES),
    ("main class", fact::MAIN),
    ("arguments of the program", fact::MAIN_ARGS),
];
/// What is listed even where neither side has it.
const ALWAYS: [&str; 5] = ["JDK", "CPUs", "memory", "collector", "maximum heap"];
/// A host whose mean load differs by more than this share of its CPUs is loaded otherwise.
const LOAD: f64 = 0.25;

/// What runs depend on, of the processes that are JVMs.
pub(super) fn conditions(recordings: [&Recording; 2]) -> Vec<Condition> {
    let mut found = Vec::new();
    let mut add = |what, [first, second]: [Option<String>; 2], same| {
        found.push(Condition { what, first, second, same });
    };
    let jvms = recordings.map(|r| r.processes.iter().filter(|p| is_jvm(p)).count());
    add("JVMs", jvms.map(|n| Some(n.to_string())), Some(jvms[0] == jvms[1]));
    for (what, key) in FACTS {
        let values = recordings.map(|r| all(r, key));
        let bytes = key.ends_with("_bytes");
        let listed = |v: BTreeSet<String>| {
            let listed = v.iter().map(|v| shown(v, bytes)).collect::<Vec<_>>().join(", ");
            (!listed.is_empty()).then_some(listed)
        };
        let values = values.map(listed);
        // What one side does not have is not a difference, and neither is what only sources round
        // otherwise: a log has memory in megabytes.
        let same = values.iter().all(Option::is_some).then(|| values[0] == values[1]);
        if same.is_some() || values.iter().any(Option::is_some) || ALWAYS.contains(&what) {
            add(what, values, same);
        }
    }
    let flags = recordings.map(options);
    let alone = |a: &BTreeSet<String>, b: &BTreeSet<String>| {
        let alone: Vec<&str> = a.difference(b).map(String::as_str).collect();
        (!alone.is_empty()).then(|| alone.join(" "))
    };
    match flags.iter().all(|f| !f.is_empty()) {
        true => {
            let alone = [alone(&flags[0], &flags[1]), alone(&flags[1], &flags[0])];
            let same = alone[0] == alone[1];
            add("flags", alone, Some(same));
        }
        false => add("flags", flags.map(|f| alone(&f, &BTreeSet::new())), None),
    }
    let limits = recordings.map(|r| mean(r, live::CGROUP_CPU_QUOTA.name));
    let known = limits.iter().any(Option::is_some);
    let processors = |l: f64| format!("{l:.1} CPUs");
    add("CPU quota", limits.map(|l| l.map(processors)), known.then(|| limits[0] == limits[1]));
    let busy = recordings.map(|r| mean(r, live::HOST_CPU_BUSY.name));
    let same = match busy {
        [Some(a), Some(b)] => Some((a - b).abs() <= LOAD * a.max(b).max(1.0)),
        _ => None,
    };
    add("host busy", busy.map(|l| l.map(processors)), same);
    found
}

/// Those that are not the same.
pub(super) fn differing(conditions: &[Condition]) -> Vec<Differing> {
    let different = conditions.iter().filter(|c| c.same == Some(false));
    different.map(|c| Differing { what: c.what, first: c.first.clone(), second: c.second.clone() }).collect()
}

/// Feature release and whole version of the JVMs, where they are of one.
pub(super) fn release(recording: &Recording) -> Option<String> {
    let versions = all(recording, fact::JVM_VERSION);
    let features = all(recording, fact::JDK);
    let mut known = if versions.is_empty() { features } else { versions }.into_iter();
    known.next().filter(|_| known.next().is_none())
}

/// The arguments of the JVMs.
pub(super) fn arguments(recording: &Recording) -> String {
    options(recording).into_iter().collect::<Vec<_>>().join(" ")
}

fn is_jvm(process: &Process) -> bool {
    process.jvm || process.fact(fact::JVM_VERSION).is_some() || process.fact(fact::COLLECTOR).is_some()
}

/// The values of a fact over all JVMs.
fn all(recording: &Recording, key: &str) -> BTreeSet<String> {
    let jvms = recording.processes.iter().filter(|p| is_jvm(p));
    jvms.filter_map(|process| process.fact(key)).map(str::to_owned).collect()
}

/// Options of all JVMs, without those that only name a file.
fn options(recording: &Recording) -> BTreeSet<String> {
    let words: Vec<String> = all(recording, fact::JVM_ARGS).into_iter().collect();
    let words = words.iter().flat_map(|args| args.split_whitespace());
    words
        .filter(|w| w.starts_with('-') && !w.contains("file=") && !of_records(w))
        .map(str::to_owned)
        .collect()
}

/// Whether an option only says where and what the JVM records of itself.
fn of_records(option: &str) -> bool {
    ["-Xlog", "-XX:StartFlightRecording", "-XX:FlightRecorderOptions"].iter().any(|o| option.starts_with(o))
}

fn shown(value: &str, bytes: bool) -> String {
    match value.parse::<f64>() {
        Ok(number) if bytes => fathom_diagnose::quantity::bytes(number),
        _ => value.to_owned(),
    }
}

/// The mean of a series.
fn mean(recording: &Recording, name: &str) -> Option<f64> {
    let values =
        recording.series.iter().filter(|s| s.info.name == name).flat_map(|s| s.value.iter().copied());
    fathom_diagnose::stats::mean(&values.filter(|v| v.is_finite()).collect::<Vec<_>>())
}
