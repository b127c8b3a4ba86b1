//! Heap dumps given with logs and recordings: who keeps what, as rows of the recording.
//!
//! ```text
//!   dump ─▶ fathom-heap ─▶ heap.dump, heap.holder, heap.direct ─▶ rule heap-leak
//! ```
//!
//! A dump says when it was written, and not of which JVM: where the recording has several, it is
//! the one whose pid HotSpot put into the file's name, or the only one that was logged at that
//! time.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fathom_diagnose::clock_of;
use fathom_heap::report::{Bound, Buffers, Holder, Holders, buffers};
use fathom_heap::{Header, Kept, Paths, Referents, Summary};
use fathom_recording::vocabulary::{figure, kind, label, source};
use fathom_recording::{
    ClockBasis, Placement, ProcessId, Recording, Sink, Source, SourceId, SpanId, SpanRow,
};

/// Owners of direct buffers that are listed of a dump.
const OWNERS: usize = 20;
/// How HotSpot names a dump that it writes by itself: `java_pid4711.hprof`.
const NAMED: &str = "java_pid";

/// What is kept of a dump.
struct Read {
    name: String,
    path: PathBuf,
    written_ns: i64,
    objects: u64,
    holders: Vec<Holder>,
    buffers: Buffers,
    summary: Summary,
}

/// Reads dumps and adds what keeps most to a sealed recording. Of several, the last is compared
/// with the first. What could not be used is reported on standard error.
pub fn add(dumps: &[PathBuf], recording: &mut Recording, report_to_user: bool) -> Result<()> {
    if dumps.is_empty() {
        return Ok(());
    }
    let say = |text: &str| {
        if report_to_user {
            eprintln!("fathom: {}", fathom_render::printable(text));
        }
    };
    if recording.processes.is_empty() {
        anyhow::bail!(
            "a heap dump is read with a GC log or a recording of the same JVM; by itself: fathom heap {}",
            dumps[0].display()
        );
    }
    let mut seen = HashSet::new();
    let dumps =
        dumps.iter().filter(|path| seen.insert(path.canonicalize().unwrap_or_else(|_| path.to_path_buf())));
    let mut read = dumps.map(|path| one(path)).collect::<Result<Vec<_>>>()?;
    read.sort_by_key(|dump| dump.written_ns);
    let Some(last) = read.pop() else { return Ok(()) };
    if read.len() > 1 {
        say("of more than two heap dumps the first and the last are compared with each other");
    }
    let Some(process) = jvm_of(recording, &last) else {
        say(&format!(
            "{}: it is not known which of the JVMs it is of; a name such as java_pid4711.hprof says it",
            last.name
        ));
        return Ok(());
    };
    // A JVM that has been logged from its start has left no dump before.
    let is_before = |dump: &Read| began_ns(recording, process).is_some_and(|began| dump.written_ns < began);
    for dump in read.iter().chain([&last]).filter(|dump| is_before(dump)) {
        say(&format!(
            "{}: was written before the first record of the JVM that it is given with, and is left out",
            dump.name
        ));
    }
    if is_before(&last) {
        return Ok(());
    }
    let before = read.first().filter(|dump| !is_before(dump));
    write(recording, process, &last, before);
    recording.seal();
    Ok(())
}

fn one(path: &Path) -> Result<Read> {
    let heap = fathom_heap::read(path, Referents::AsAll, fathom_capture::memory_left())?;
    let kept = Kept::of(&heap);
    let paths = Paths::of(&heap, &kept);
    let Header { written_ms, .. } = heap.header;
    let name = path.file_name().with_context(|| path.display().to_string())?;
    Ok(Read {
        name: name.to_string_lossy().into_owned(),
        path: path.to_owned(),
        written_ns: i64::try_from(written_ms).unwrap_or(i64::MAX).saturating_mul(1_000_000),
        objects: u64::from(kept.objects()),
        holders: Holders::of(&heap, &kept, &paths).all,
        buffers: buffers(&heap, &kept, &paths, OWNERS),
        summary: Summary::of(&heap, &kept),
    })
}

/// A dump's time is that of its beginning, and clocks of files are compared to the second.
const CLOCKS_NS: i64 = 5_000_000_000;

/// Before this a JVM was not logged, where its times are those of a clock on the wall.
fn began_ns(recording: &Recording, process: ProcessId) -> Option<i64> {
    let own = recording.sources.iter().filter(|source| source.process == Some(process.0));
    let began = own.filter(|source| source.placement.wall).filter_map(|source| source.covers_ns).map(|c| c.0);
    Some(began.min()?.saturating_sub(CLOCKS_NS))
}

/// The JVM that a dump is of, where that is known.
fn jvm_of(recording: &Recording, dump: &Read) -> Option<ProcessId> {
    let jvms = || recording.processes.iter().enumerate().filter(|(_, process)| process.jvm);
    let id = |(i, _): (usize, _)| ProcessId(i as u32);
    let pid = dump.name.split_once(NAMED).and_then(|(_, rest)| {
        let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
        digits.parse::<i64>().ok()
    });
    if let Some(named) = pid.and_then(|pid| jvms().find(|(_, process)| process.pid == Some(pid))) {
        return Some(id(named));
    }
    if jvms().count() == 1 {
        return jvms().next().map(id);
    }
    let logged = |jvm: &(usize, _)| {
        let own = |source: &&Source| source.process == Some(jvm.0 as u32) && source.placement.wall;
        let covers = |source: &Source| {
            source.covers_ns.is_some_and(|(from, to)| (from..=to).contains(&dump.written_ns))
        };
        recording.sources.iter().filter(own).any(covers)
    };
    let mut there = jvms().filter(|(i, _)| logged(&(*i, ())));
    let first = there.next().map(id);
    first.filter(|_| there.next().is_none())
}

fn write(recording: &mut Recording, process: ProcessId, dump: &Read, before: Option<&Read>) {
    let clock = clock_of(recording, jiff::tz::TimeZone::UTC);
    // Without wall-clock times the dump belongs to the end: a log is looked at up to it.
    let at_ns = if clock.wall { dump.written_ns } else { clock.covers_ns.1 };
    let placed = recording.sources.iter().any(|source| source.placement.is_known());
    let how = if clock.wall { "by the time at which it was begun" } else { "at the end of the log" };
    let source = recording.add_source(Source {
        name: dump.name.clone(),
        format: source::HEAP_DUMP.to_owned(),
        clock: if clock.wall { ClockBasis::Epoch } else { ClockBasis::SinceStart },
        placement: Placement {
            wall: clock.wall,
            offset_ns: 0,
            uncertainty_ns: placed.then_some(0),
            how: how.to_owned(),
        },
        process: Some(process.0),
        records: dump.objects,
        bytes: std::fs::metadata(&dump.path).map_or(0, |about| about.len()),
        ..Source::default()
    });
    let mut rows = Rows { recording, process, source, at_ns, dump: None };
    let mut figures = vec![
        (figure::RETAINED_BYTES, dump.summary.bytes as f64),
        (figure::OBJECTS, dump.objects as f64),
        (figure::BYTES, dump.buffers.capacity_bytes as f64),
    ];
    figures.extend(before.map(|before| (figure::BEFORE_BYTES, before.summary.bytes as f64)));
    rows.dump = Some(rows.row(kind::HEAP_DUMP, &dump.name, &figures, &[]));
    for holder in &dump.holders {
        rows.holder(holder, &dump.summary, before.map(|before| &before.summary));
    }
    for (owner, count, bytes) in &dump.buffers.owners {
        let mut figures = vec![(figure::BYTES, *bytes as f64), (figure::OBJECTS, *count as f64)];
        figures.extend(before.map(|before| {
            let same = before.buffers.owners.iter().find(|(name, ..)| name == owner);
            (figure::BEFORE_BYTES, same.map_or(0, |(_, _, bytes)| *bytes) as f64)
        }));
        rows.row(kind::HEAP_DIRECT, owner, &figures, &[]);
    }
}

/// Where the rows of a dump go.
struct Rows<'a> {
    recording: &'a mut Recording,
    process: ProcessId,
    source: SourceId,
    at_ns: i64,
    dump: Option<SpanId>,
}

impl Rows<'_> {
    fn row(&mut self, kind: &str, name: &str, figures: &[(&str, f64)], labels: &[(&str, &str)]) -> SpanId {
        self.recording.span(&SpanRow {
            parent: self.dump,
            figures,
            labels,
            ..SpanRow::new(kind, name, (self.at_ns, self.at_ns), self.process, self.source)
        })
    }

    fn holder(&mut self, holder: &Holder, summary: &Summary, before: Option<&Summary>) {
        let mut figures = vec![
            (figure::RETAINED_BYTES, holder.retained_bytes as f64),
            (figure::OBJECTS, holder.objects as f64),
        ];
        figures.extend(holder.entries.as_ref().map(|entries| (figure::ENTRIES, entries.count as f64)));
        let chain = || holder.dominators.iter().map(String::as_str);
        figures.extend(before.map(|before| {
            // Of several sets with one chain of classes, the dump before has the sum.
            let share =
                holder.retained_bytes as f64 / summary.kept_at(chain()).max(holder.retained_bytes) as f64;
            (figure::BEFORE_BYTES, before.kept_at(chain()) as f64 * share)
        }));
        let dominators = holder.dominators.join("\n");
        let threads = holder.threads.join("\n");
        let held_by = held_by(holder);
        let bound = holder.bound.as_ref().map(bounded);
        let mut labels: Vec<(&str, &str)> =
            vec![(label::HELD_BY, &held_by), (label::DOMINATORS, &dominators)];
        labels.extend(holder.suspicion.as_ref().map(|suspicion| (label::SUSPICION, suspicion.id())));
        labels.extend(holder.static_field.as_deref().map(|text| (label::STATIC_FIELD, text)));
        labels.extend((!threads.is_empty()).then_some((label::HELD_BY_THREADS, threads.as_str())));
        labels.extend(holder.entries.as_ref().map(|entries| (label::ENTRY_CLASS, entries.class.as_str())));
        labels.extend(holder.accumulates_in.as_deref().map(|text| (label::ACCUMULATES_IN, text)));
        labels.extend(bound.as_deref().map(|text| (label::BOUND, text)));
        self.row(kind::HEAP_HOLDER, &holder.class, &figures, &labels);
    }
}

/// What keeps a holder: its static field, its threads, or where there is neither the holder itself.
fn held_by(holder: &Holder) -> String {
    if let Some(field) = &holder.static_field {
        return format!("{field} (static)");
    }
    match holder.threads.split_first() {
        Some((first, [])) => format!("thread {first:?}"),
        Some((first, others)) => format!("thread {first:?} and {} more", others.len()),
        None => holder.class.clone(),
    }
}

fn bounded(bound: &Bound) -> String {
    match bound {
        Bound::Field { class, name, value } => format!("{class}.{name} is {value}"),
        Bound::Evicts { class } => format!("{class} evicts the eldest"),
        Bound::Array { class, length } => format!("{class} has an array of {length}"),
        Bound::Soft { class } => format!("{class} holds it"),
    }
}
