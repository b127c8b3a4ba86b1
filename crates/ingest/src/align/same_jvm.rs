//! Which files are of one and the same JVM.
//!
//! Evidence, any of which is enough: both name the same process id; the JVM arguments in one name
//! the other as a log file. Failing that, a single log with collections and a single one with
//! compilations in one directory are assumed to belong together, with a warning. A flight recording
//! and a log have the same collections; a trace of system calls is taken for one of the only JVM
//! that there is. Never the same: two runs in one file, different JDK versions, different ids, or
//! known starts that differ.

use std::collections::{BTreeMap, BTreeSet};

use fathom_recording::vocabulary::fact;
use fathom_recording::{ClockBasis, ProcessId, Recording, Source, SpanId};

/// How far the start of the JVM may differ between two files. Wall clocks are read once at the
/// start (LogCompilation's `time_ms`) or taken from decorations in milliseconds; a clock step in
/// between is rare.
const SAME_START_NS: i64 = 2 * fathom_recording::clock::SECOND_NS;

/// The same for a JVM that was recorded live, whose start the kernel reports: timestamps of logs
/// are rounded to milliseconds, and JVMs that a script starts one after the other are further
/// apart.
const LIVE_START_NS: i64 = 50_000_000;

/// Process ids up to this are not evidence: in containers every JVM is process 1, or a small
/// number.
const CONTAINER_PID: i64 = 32;

/// What the sources of one process have.
#[derive(Default)]
struct Content {
    /// Names of its sources.
    names: Vec<String>,
    /// Whether they have collections or safepoints, and compilations.
    gc: bool,
    jit: bool,
    /// Whether they have system calls.
    traced: bool,
    /// First and last time of those in wall-clock time.
    covers_ns: Option<(i64, i64)>,
    /// When it started, epoch nanoseconds, and the uncertainty of that.
    zero: Option<(i64, i64)>,
    /// Whether it was recorded live.
    live: bool,
}

/// The source format of a JVM that was recorded live: it has the process and its start.
const LIVE: &str = fathom_recording::vocabulary::source::JVM;

/// Merges the processes of new sources where they are the same.
pub(super) fn merge(recording: &mut Recording, first_new: usize, warnings: &mut Vec<String>) {
    for (from, into) in sampled_processes(recording, first_new) {
        recording.merge_process(from, into);
    }
    let processes: BTreeSet<u32> =
        recording.sources.iter().enumerate().filter_map(|(i, s)| process_of(i, s, first_new)).collect();
    if processes.len() < 2 {
        return;
    }
    while let Some((from, into)) = next_pair(recording, first_new) {
        recording.merge_process(from, into);
    }
    while let Some((from, into)) = same_collections(recording, first_new) {
        recording.merge_process(from, into);
    }
    if let Some((from, into, why)) = assumed_pair(recording, first_new) {
        recording.merge_process(from, into);
        warnings.push(why);
    }
    if let Some((from, into, why)) = traced_pair(recording, first_new) {
        recording.merge_process(from, into);
        warnings.push(why);
    }
}

/// Processes of which a new source has samples but that no source belongs to, paired with those of
/// the same id that a source belongs to: what `perf` saw of a whole machine, and the JVMs on it
/// that have logs.
fn sampled_processes(recording: &Recording, first_new: usize) -> Vec<(ProcessId, ProcessId)> {
    let owned: BTreeSet<u32> = recording.sources.iter().filter_map(|source| source.process).collect();
    let (mut new, mut old, mut last) = (BTreeSet::new(), BTreeSet::new(), None);
    for row in recording.samples.iter() {
        // Most have the origin of the one before them.
        if last != Some((row.process, row.source)) {
            last = Some((row.process, row.source));
            let of = if row.source.index() >= first_new { &mut new } else { &mut old };
            of.insert(row.process);
        }
    }
    let sampled = new.into_iter().filter(|process| !owned.contains(&process.0) && !old.contains(process));
    let pid = |process: ProcessId| recording.processes.get(process.index()).and_then(|p| p.pid);
    let pairs = sampled.filter_map(|process| {
        let own = pid(process).filter(|pid| *pid > CONTAINER_PID)?;
        let mut same = owned.iter().map(|id| ProcessId(*id)).filter(|other| pid(*other) == Some(own));
        // Of two runs with one id it is unknown which one it is.
        Some((process, same.next().filter(|_| same.next().is_none())?))
    });
    pairs.collect()
}

/// Two processes with evidence that they are one: the later, the earlier.
fn next_pair(recording: &Recording, first_new: usize) -> Option<(ProcessId, ProcessId)> {
    let contents = contents(recording, first_new);
    for (i, (a, in_a)) in contents.iter().enumerate() {
        for (b, in_b) in contents.iter().skip(i + 1).filter(|(_, in_b)| !(in_a.live && in_b.live)) {
            if compatible(recording, (*a, in_a), (*b, in_b)) && evidence(recording, (*a, in_a), (*b, in_b)) {
                return Some((*b, *a));
            }
        }
    }
    // A log whose JVM started when exactly one JVM that was recorded live did.
    contents.iter().filter(|(_, in_log)| !in_log.live).find_map(|(log, in_log)| {
        let started_with = |(jvm, in_jvm): &&(ProcessId, Content)| {
            in_jvm.live
                && started_together(in_jvm, in_log)
                && compatible(recording, (*jvm, in_jvm), (*log, in_log))
        };
        let mut fitting = contents.iter().filter(started_with);
        let (jvm, _) = fitting.next().filter(|_| fitting.next().is_none())?;
        Some((*log, *jvm))
    })
}

/// Whether both starts are known and agree within their uncertainty.
fn started_together(a: &Content, b: &Content) -> bool {
    a.zero.zip(b.zero).is_some_and(|((x, ux), (y, uy))| {
        x.saturating_sub(y).saturating_abs() <= LIVE_START_NS.saturating_add(ux).saturating_add(uy)
    })
}

/// Two processes with the same collections, if nothing contradicts that they are one.
fn same_collections(recording: &Recording, first_new: usize) -> Option<(ProcessId, ProcessId)> {
    let contents: BTreeMap<_, _> = contents(recording, first_new).into_iter().collect();
    let fits = |(a, b): &(ProcessId, ProcessId)| {
        contents.get(a).zip(contents.get(b)).is_some_and(|(x, y)| compatible(recording, (*a, x), (*b, y)))
    };
    super::shared_collections::pairs(recording, first_new).into_iter().find(fits)
}

/// The process of a source, if it is one that may be merged.
fn process_of(index: usize, source: &Source, first_new: usize) -> Option<u32> {
    source.process.filter(|_| source.format == LIVE || index >= first_new)
}

fn contents(recording: &Recording, first_new: usize) -> Vec<(ProcessId, Content)> {
    let mut contents: BTreeMap<u32, Content> = BTreeMap::new();
    let mut by_source = vec![(false, false, false); recording.sources.len()];
    for i in 0..recording.spans.len() {
        let span = recording.span_at(SpanId(i as u32));
        if let Some((gc, jit, traced)) = by_source.get_mut(span.source().index()) {
            let kind = span.kind();
            *gc |= kind.starts_with("gc.") || kind == fathom_recording::vocabulary::kind::SAFEPOINT;
            *jit |= kind.starts_with("jit.");
            *traced |= kind == fathom_recording::vocabulary::kind::SYSCALL;
        }
    }
    for (i, (source, (gc, jit, traced))) in recording.sources.iter().zip(by_source).enumerate() {
        let live = source.format == LIVE;
        let Some(process) = process_of(i, source, first_new) else { continue };
        let entry = contents.entry(process).or_default();
        entry.names.push(source.name.clone());
        entry.gc |= gc;
        entry.jit |= jit;
        entry.live |= live;
        entry.traced |= traced;
        if let (ClockBasis::Epoch, Some((from, to))) = (source.clock, source.covers_ns) {
            let (first, last) = entry.covers_ns.unwrap_or((from, to));
            entry.covers_ns = Some((first.min(from), last.max(to)));
        }
        // A flight recording has the time at which its JVM was ready, which takes up to a second.
        let ready = recording.processes.get(process as usize).and_then(|p| p.fact_number(fact::JVM_START_NS));
        if let (ClockBasis::Epoch, Some(ready_ns)) = (source.clock, ready) {
            entry.zero = entry.zero.or(Some((ready_ns as i64, fathom_recording::clock::SECOND_NS)));
        }
        if let (ClockBasis::JvmUptime, Some(anchor)) = (source.clock, &source.anchor) {
            entry.zero = entry.zero.or(Some((anchor.zero_epoch_ns, anchor.uncertainty_ns)));
        }
    }
    contents.into_iter().map(|(process, content)| (ProcessId(process), content)).collect()
}

/// Whether nothing contradicts that two processes are one.
fn compatible(
    recording: &Recording,
    (a, in_a): (ProcessId, &Content),
    (b, in_b): (ProcessId, &Content),
) -> bool {
    let (pa, pb) = (&recording.processes[a.index()], &recording.processes[b.index()]);
    let same_file = in_a.names.iter().any(|x| in_b.names.iter().any(|y| file(x) == file(y)));
    let other_pid = pa.pid.zip(pb.pid).is_some_and(|(x, y)| x != y);
    let differ = |key| pa.fact(key).zip(pb.fact(key)).is_some_and(|(x, y)| first_word(x) != first_word(y));
    let apart = in_a.zero.zip(in_b.zero).is_some_and(|((x, ux), (y, uy))| {
        x.saturating_sub(y).saturating_abs() > SAME_START_NS.saturating_add(ux).saturating_add(uy)
    });
    !(same_file || other_pid || differ(fact::JVM_VERSION) || differ(fact::JDK) || apart)
}

fn evidence(
    recording: &Recording,
    (a, in_a): (ProcessId, &Content),
    (b, in_b): (ProcessId, &Content),
) -> bool {
    let (pa, pb) = (&recording.processes[a.index()], &recording.processes[b.index()]);
    let same_pid = pa.pid.is_some_and(|pid| pid > CONTAINER_PID && Some(pid) == pb.pid);
    let names = |args: Option<&str>, files: &[String]| {
        args.is_some_and(|args| files.iter().any(|file| names_file(args, file)))
    };
    same_pid || names(pa.fact(fact::JVM_ARGS), &in_b.names) || names(pb.fact(fact::JVM_ARGS), &in_a.names)
}

/// One log with collections and one with compilations, both the only ones of their kind, in one
/// directory.
fn assumed_pair(recording: &Recording, first_new: usize) -> Option<(ProcessId, ProcessId, String)> {
    let contents = contents(recording, first_new);
    let one = |wanted: fn(&Content) -> bool| {
        let mut found = contents.iter().filter(|(_, t)| wanted(t));
        found.next().filter(|_| found.next().is_none())
    };
    let ((gc, in_gc), (jit, in_jit)) = (one(|t| t.gc)?, one(|t| t.jit)?);
    let directory =
        |t: &Content| t.names.first().map(|name| name.rsplit_once('/').map_or("", |(dir, _)| dir).to_owned());
    let same_directory = directory(in_gc) == directory(in_jit);
    let fits = gc != jit && same_directory && compatible(recording, (*gc, in_gc), (*jit, in_jit));
    fits.then(|| {
        let why = format!(
            "{} and {} are assumed to be of one JVM: they are in one directory, and neither names another",
            in_gc.names.join(", "),
            in_jit.names.join(", ")
        );
        (*gc.max(jit), *gc.min(jit), why)
    })
}

/// One trace of system calls and one JVM, at the same time: nothing else could have been traced.
fn traced_pair(recording: &Recording, first_new: usize) -> Option<(ProcessId, ProcessId, String)> {
    let contents = contents(recording, first_new);
    let is_jvm = |id: &ProcessId| recording.processes.get(id.index()).is_some_and(|p| p.jvm);
    let one = |wanted: &dyn Fn(&(ProcessId, Content)) -> bool| {
        let mut found = contents.iter().filter(|entry| wanted(entry));
        found.next().filter(|_| found.next().is_none())
    };
    let (trace, in_trace) = one(&|(_, t)| t.traced)?;
    let (jvm, in_jvm) = one(&|(id, t)| !t.traced && is_jvm(id))?;
    let apart = in_trace.covers_ns.zip(in_jvm.covers_ns).is_some_and(|(a, b)| a.0 > b.1 || b.0 > a.1);
    let fits = !apart && compatible(recording, (*jvm, in_jvm), (*trace, in_trace));
    fits.then(|| {
        let why = format!(
            "{} is taken for a trace of the JVM of {}: no other was given, and neither names another",
            in_trace.names.join(", "),
            in_jvm.names.join(", ")
        );
        (*trace.max(jvm), *trace.min(jvm), why)
    })
}

/// A source's file: without the number of the run in it.
pub(super) fn file(name: &str) -> &str {
    match name.rsplit_once('#') {
        Some((file, run)) if !run.is_empty() && run.bytes().all(|b| b.is_ascii_digit()) => file.trim_end(),
        _ => name,
    }
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

/// Whether JVM arguments name a file as one that the JVM writes: `-Xlog:…:file=/logs/gc.log:…`,
/// `-Xloggc:gc.log`, `-XX:LogFile=jit.xml`. `%p` and `%t` in the argument match anything;
/// extensions of compression are ignored.
fn names_file(args: &str, name: &str) -> bool {
    let name = file(name).rsplit('/').next().unwrap_or_default();
    let name = [".gz", ".zst", ".bz2"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    let of_a_log = |arg: &&str| arg.starts_with("-Xlog") || arg.starts_with("-XX:LogFile");
    let parts = args.split_whitespace().filter(of_a_log).flat_map(|arg| arg.split(['=', ':', '/', ',', '"']));
    parts.filter(|part| part.len() > 1).any(|part| matches_pattern(part, name))
}

/// Whether `name` matches `pattern`, in which `%p` and `%t` (HotSpot's process id and start time)
/// match any text.
fn matches_pattern(pattern: &str, name: &str) -> bool {
    let mut rest = name;
    let mut parts = pattern.split("%p").flat_map(|part| part.split("%t")).peekable();
    let Some(first) = parts.next() else { return false };
    let Some(after) = rest.strip_prefix(first) else { return false };
    rest = after;
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return !pattern.chars().all(|c| "%pt".contains(c)) && rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jvm_arguments_name_the_files_that_the_jvm_writes() {
        let args = "-Xmx1g -XX:LogFile=/srv/x17/jit0.xml -Xlog:gc*,safepoint:file=/srv/x17/gc0.log:uptime,level,tags \
                    -Dx=/srv/gc9.log";
        assert!(names_file(args, "data/gc0.log"));
        assert!(names_file(args, "data/jit0.xml.zst"));
        assert!(names_file(args, "gc0.log#2"));
        for other in ["gc1.log", "gc9.log", "c0.log", "gc", "jit0"] {
            assert!(!names_file(args, other), "{other}");
        }
        assert!(names_file("-Xloggc:/var/log/gc-%t-%p.log", "gc-2026-11-20_10-02-14-4711.log"));
        assert!(!names_file("-Xloggc:/var/log/gc-%t-%p.log", "jit-1-2.log"));
        assert!(!names_file("-Xlog:gc:%p", "anything.log"));
    }
}
