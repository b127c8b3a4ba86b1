//! The lanes of the report's timeline: which there are, and their data taken from a recording.
//!
//! Bounded, whatever the recording holds: of more spans than [`MAX_SPANS`] the longest are kept, of
//! more points than
//! [`MAX_POINTS`] the lowest and highest of each interval, and each lane says so in its `note`.

mod counted;
mod families;
mod ledger;
mod lines;
mod series;
mod spans;

use std::collections::HashMap;

use fathom_diagnose::{Causes, Diagnosis, Window, quantity};
use fathom_recording::vocabulary::fact;
use fathom_recording::{Process, ProcessId, Recording, Span};
use serde::Serialize;

use crate::names::{name_of, short};
use crate::payload::{ColumnId, Columns};
use crate::samples::{Stacks, Threads};

pub(crate) const SCHEMA: &str = "fathom.lanes/1";
/// Spans in one lane. A browser pans over these at full speed, and a page of them stays below 4 MB.
pub(crate) const MAX_SPANS: usize = 200_000;
/// Spans in all lanes together.
const MAX_SPANS_IN_ALL: usize = 400_000;
/// Points of one line: ten for each pixel of a wide screen's first look.
pub(crate) const MAX_POINTS: usize = 20_000;

/// Processes that are open at first when none of them is blamed.
const OPEN_PROCESSES: usize = 2;
/// Processes that are no JVMs and have a group of their own all the same.
const MOST_PROCESSES: usize = 8;

/// What the page calls the lanes of no particular process.
const APPLICATION: &str = "Application";

/// All lanes, with the columns that they point into.
pub(crate) struct Timeline {
    pub(crate) header: Header,
    pub(crate) columns: Columns,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct Header {
    schema: &'static str,
    origin_ns: i64,
    from: i64,
    to: i64,
    /// When somebody looked, from the origin: a span may have begun before, and a series go on
    /// after.
    recorded: [i64; 2],
    strings: Vec<String>,
    sources: Vec<String>,
    groups: Vec<Group>,
    counted: Vec<counted::Counted>,
    ledger: Option<ledger::OverTime>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Group {
    name: String,
    detail: String,
    /// Whether it is open before anybody folds or unfolds it.
    open: bool,
    lanes: Vec<Lane>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(tag = "type", rename_all = "lowercase")]
enum Lane {
    Lines(LineLane),
    Spans(SpanLane),
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct LineLane {
    id: String,
    title: String,
    unit: String,
    steps: bool,
    /// As of the group.
    open: bool,
    note: String,
    lines: Vec<Line>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Line {
    name: String,
    main: bool,
    t: ColumnId,
    v: ColumnId,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
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
    /// Nodes of the stacks of fathom-samples, 1-based; absent when no span has one.
    stack: Option<ColumnId>,
    /// Threads of fathom-samples, 1-based; absent when no span has one.
    thread: Option<ColumnId>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
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
        causes: Causes::of(recording),
    };
    let processes: Vec<ProcessId> = (0..recording.processes.len()).map(|i| ProcessId(i as u32)).collect();
    let (mut own, others) = apart(recording, &processes);
    let lanes = (own.len() + 1) * spans::SPECS.len();
    builder.max_spans = (MAX_SPANS_IN_ALL / lanes).max(2_000);
    if recording.spans.len() <= MAX_SPANS_IN_ALL {
        builder.max_spans = MAX_SPANS;
    }
    let accused =
        |p: &ProcessId| diagnosis.findings.iter().position(|f| f.process_id == *p).unwrap_or(usize::MAX);
    own.sort_by_key(accused);
    let blamed = own.iter().filter(|p| accused(p) < usize::MAX).count();
    let mut groups = vec![Group {
        name: APPLICATION.into(),
        detail: String::new(),
        open: true,
        lanes: builder.application_lanes(),
    }];
    for (i, process) in own.iter().enumerate() {
        let mut lanes: Vec<Lane> = builder.heap_lane(*process).into_iter().collect();
        lanes.extend(builder.span_lanes(&[*process]));
        lanes.extend(builder.counted_lanes(*process));
        lanes.extend(builder.process_lanes(*process));
        let row = &recording.processes[process.index()];
        let open = if blamed > 0 { i < blamed } else { i < OPEN_PROCESSES };
        groups.push(Group { name: name_of(recording, *process), detail: detail(row), open, lanes });
    }
    groups.extend(builder.machine_groups());
    let mut lanes = builder.other_process_lanes(&others);
    lanes.extend(builder.span_lanes(&others));
    let detail = format!("{} of the machine, not observed", others.len());
    // Before what fathom itself took, which nobody asks for first.
    let at = groups.len() - usize::from(groups.last().is_some_and(|g| g.name == "fathom itself"));
    groups.insert(at, Group { name: "Other processes".into(), detail, open: true, lanes });
    groups.retain(|group| !group.lanes.is_empty());
    let counted = builder.counted_tables(&own);
    let within = |t: i64| t.clamp(from_ns, to_ns);
    let whole = fathom_diagnose::whole(recording);
    let recorded = Window { from_ns: within(whole.from_ns), to_ns: within(whole.to_ns) };
    let ledger = ledger::over_time(diagnosis, recording, recorded, (from_ns, to_ns), &mut builder.columns);
    let header = Header {
        schema: SCHEMA,
        origin_ns: from_ns,
        from: 0,
        to: to_ns.saturating_sub(from_ns),
        recorded: [recorded.from_ns, recorded.to_ns].map(|t| t.saturating_sub(from_ns)),
        strings: builder.strings,
        sources: recording.sources.iter().map(|s| short(&s.name)).collect(),
        groups,
        counted,
        ledger,
    };
    Timeline { header, columns: builder.columns }
}

/// Processes with a group of lanes each, and those that share one: of a machine that was recorded
/// as a whole there may be hundreds, of which little more is known than their CPU time.
fn apart(recording: &Recording, processes: &[ProcessId]) -> (Vec<ProcessId>, Vec<ProcessId>) {
    let mut sampled = vec![false; recording.processes.len()];
    for sample in recording.samples.iter() {
        if let Some(seen) = sampled.get_mut(sample.process.index()) {
            *seen = true;
        }
    }
    let any_jvm = recording.processes.iter().any(|p| p.jvm);
    let mut own = 0;
    processes.iter().partition(|p| {
        let row = &recording.processes[p.index()];
        let alone =
            row.jvm || (!any_jvm && own < MOST_PROCESSES) || (sampled[p.index()] && own < MOST_PROCESSES);
        own += usize::from(alone);
        alone
    })
}

/// Everything that the lanes share while they are made.
struct Builder<'a, 'b> {
    recording: &'a Recording,
    stacks: &'b mut Stacks<'a>,
    threads: &'b mut Threads<'a>,
    causes: Causes<'a>,
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

    fn spans_of(&self, kind: &str, processes: &[ProcessId]) -> Vec<Span<'a>> {
        let mut wanted = vec![false; self.recording.processes.len()];
        processes.iter().for_each(|p| wanted[p.index()] = true);
        let of_these = |s: &Span<'_>| wanted.get(s.process().index()).copied().unwrap_or(false);
        self.recording.spans_of(kind).filter(of_these).collect()
    }

    /// Nanoseconds from the origin of the page.
    fn since(&self, t_ns: i64) -> i64 {
        t_ns.saturating_sub(self.origin_ns)
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
