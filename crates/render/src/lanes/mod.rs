//! The lanes of the report's timeline: which there are, and their data taken from a recording.
//!
//! Bounded, whatever the recording holds: of more spans than [`MAX_SPANS`] the longest are kept, of more points than
//! [`MAX_POINTS`] the lowest and highest of each stretch, and each lane says so in its `note`.

mod ledger;
mod lines;
mod spans;

use std::collections::HashMap;

use fathom_diagnose::{Diagnosis, quantity};
use fathom_recording::vocabulary::fact;
use fathom_recording::{Process, ProcessId, Recording, Span};
use serde::Serialize;

use crate::payload::{ColumnId, Columns};
use crate::samples::{Stacks, Threads};

/// Spans in one lane. A browser pans over these at full speed, and a page of them stays below 4 MB.
pub(crate) const MAX_SPANS: usize = 200_000;
/// Spans in all lanes together.
const MAX_SPANS_IN_ALL: usize = 400_000;
/// Points of one line: ten for each pixel of a wide screen's first look.
pub(crate) const MAX_POINTS: usize = 20_000;
/// Characters of a name; method names with signatures pass 200, and an input may hold a megabyte.
const MAX_NAME: usize = 300;

/// What the page calls the lanes of no particular process.
const APPLICATION: &str = "Application";

/// All lanes, with the columns that they point into.
pub(crate) struct Timeline {
    pub(crate) header: Header,
    pub(crate) columns: Columns,
}

#[derive(Serialize)]
pub(crate) struct Header {
    schema: &'static str,
    origin_ns: i64,
    from: i64,
    to: i64,
    strings: Vec<String>,
    sources: Vec<String>,
    groups: Vec<Group>,
    ledger: Option<ledger::OverTime>,
}

#[derive(Serialize)]
struct Group {
    name: String,
    detail: String,
    lanes: Vec<Lane>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Lane {
    Lines(LineLane),
    Spans(SpanLane),
}

#[derive(Serialize)]
struct LineLane {
    id: String,
    title: String,
    unit: String,
    steps: bool,
    note: String,
    lines: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    name: String,
    main: bool,
    t: ColumnId,
    v: ColumnId,
}

#[derive(Serialize)]
struct SpanLane {
    id: String,
    title: String,
    note: String,
    classes: Vec<String>,
    rows: Vec<String>,
    t0: ColumnId,
    duration: ColumnId,
    cls: ColumnId,
    row: ColumnId,
    name: ColumnId,
    parts: Vec<Named>,
    facts: Vec<Named>,
    labels: Vec<Named>,
    source: ColumnId,
    line: ColumnId,
    /// Nodes of the stacks of fathom-samples, one too high; absent when no span has one.
    stack: Option<ColumnId>,
    /// Threads of fathom-samples, one too high; absent when no span has one.
    thread: Option<ColumnId>,
}

#[derive(Serialize)]
struct Named {
    name: String,
    unit: &'static str,
    values: ColumnId,
}

/// Takes the lanes from a sealed recording. Processes with a finding come first.
pub(crate) fn timeline<'a>(
    diagnosis: &Diagnosis,
    recording: &'a Recording,
    (from_ns, to_ns): (i64, i64),
    stacks: &mut Stacks<'a>,
    threads: &mut Threads<'a>,
) -> Timeline {
    let mut builder = Builder {
        recording,
        origin_ns: from_ns,
        end_ns: to_ns,
        max_spans: MAX_SPANS,
        columns: Columns::default(),
        strings: Vec::new(),
        string_ids: HashMap::new(),
        stacks,
        threads,
    };
    let mut processes: Vec<ProcessId> = (0..recording.processes.len()).map(|i| ProcessId(i as u32)).collect();
    let lanes = processes.len().max(1) * spans::SPECS.len();
    builder.max_spans = (MAX_SPANS_IN_ALL / lanes).max(2_000);
    if recording.spans.len() <= MAX_SPANS_IN_ALL {
        builder.max_spans = MAX_SPANS;
    }
    let accused = |p: &ProcessId| {
        let name = &recording.processes[p.index()].name;
        diagnosis.findings.iter().position(|f| &f.process == name).unwrap_or(usize::MAX)
    };
    processes.sort_by_key(accused);
    let mut groups =
        vec![Group { name: APPLICATION.into(), detail: String::new(), lanes: builder.series_lanes(None) }];
    for process in processes {
        let mut lanes: Vec<Lane> = builder.heap_lane(process).into_iter().collect();
        lanes.extend(builder.span_lanes(process));
        lanes.extend(builder.series_lanes(Some(process)));
        let told = &recording.processes[process.index()];
        groups.push(Group { name: name_of(told, process), detail: detail(told), lanes });
    }
    groups.retain(|group| !group.lanes.is_empty());
    let ledger = ledger::over_time(diagnosis, recording, (from_ns, to_ns), &mut builder.columns);
    let header = Header {
        schema: "fathom.lanes/1",
        origin_ns: from_ns,
        from: 0,
        to: to_ns.saturating_sub(from_ns),
        strings: builder.strings,
        sources: recording.sources.iter().map(|s| short(&s.name)).collect(),
        groups,
        ledger,
    };
    Timeline { header, columns: builder.columns }
}

/// Everything that the lanes share while they are made.
struct Builder<'a, 'b> {
    recording: &'a Recording,
    stacks: &'b mut Stacks<'a>,
    threads: &'b mut Threads<'a>,
    origin_ns: i64,
    end_ns: i64,
    max_spans: usize,
    columns: Columns,
    strings: Vec<String>,
    string_ids: HashMap<&'a str, u64>,
}

impl<'a> Builder<'a, '_> {
    fn string(&mut self, text: &'a str) -> u64 {
        let strings = &mut self.strings;
        *self.string_ids.entry(text).or_insert_with(|| {
            strings.push(short(text));
            strings.len() as u64 - 1
        })
    }

    fn spans_of(&self, kind: &str, process: ProcessId) -> Vec<Span<'a>> {
        self.recording.spans_of(kind).filter(|s| s.process() == process).collect()
    }

    /// Nanoseconds from the origin of the page.
    fn since(&self, t_ns: i64) -> i64 {
        t_ns.saturating_sub(self.origin_ns)
    }
}

/// The name of a process, or what stands for it.
pub(crate) fn name_of(process: &Process, id: ProcessId) -> String {
    match (process.name.is_empty(), process.pid) {
        (false, _) => short(&process.name),
        (true, Some(pid)) => format!("process {pid}"),
        (true, None) => format!("process {}", id.index() + 1),
    }
}

/// What is known of a process, in a few words.
fn detail(process: &Process) -> String {
    let version = process.fact(fact::JVM_VERSION).or(process.fact(fact::JDK)).map(|v| format!("JDK {v}"));
    let collector = process.fact(fact::COLLECTOR).map(str::to_owned);
    let heap = process.fact_number(fact::HEAP_MAX_BYTES).map(|b| format!("heap {}", quantity::bytes(b)));
    let cpus = process.fact(fact::CPUS).map(|n| format!("{n} CPUs"));
    let known: Vec<String> = [version, collector, heap, cpus].into_iter().flatten().collect();
    short(&known.join(" · "))
}

/// A text of an input, cut to a length that a page can hold many of.
pub(crate) fn short(text: &str) -> String {
    match text.char_indices().nth(MAX_NAME) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
