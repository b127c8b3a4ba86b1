//! Firefox Profiler's processed profile, version 48: samples on threads by process, spans as
//! markers, series as counters.
//!
//! Source of the fields: firefox-devtools/profiler, src/types/profile.ts and
//! docs-developer/CHANGELOG-formats.md. The version is pinned: the profiler upgrades older ones
//! when it loads them.
//!
//! A thread of the profile is a thread of the recording and holds one kind of samples, the first
//! that was chosen; samples of other kinds are markers with their stacks and weights, as spans are.
//! Samples of CPU time also say how much CPU a thread used until each. Weights in nanoseconds
//! become milliseconds. What reaches out of the chosen windows is cut there. Counters are drawn
//! from differences, so levels start at 0.

use std::collections::BTreeMap;
use std::io::Write;

use fathom_diagnose::stacks::{Row, waits};
use fathom_recording::vocabulary::sample;
use fathom_recording::{FrameId, FrameType, ProcessId, Recording, Series, StackId, ThreadId};
use serde_json::{Map, Value, json};

use super::stacks::{self, Ids};
use super::{Export, ExportError, Request, Written, counts};
use crate::flame::names;
use format::{FrameTable, FuncTable, Markers, ResourceTable, Samples, StackTable, Thread};

mod format;

/// See the module.
pub(super) struct Firefox;

/// Categories, with colours that the profiler knows.
const CATEGORIES: [(&str, &str); 9] = [
    ("Other", "grey"),
    ("Java, interpreted", "orange"),
    ("Java, C1", "lightblue"),
    ("Java, C2", "green"),
    ("Java, inlined", "blue"),
    ("Stub", "yellow"),
    ("JVM", "magenta"),
    ("Native", "purple"),
    ("Kernel", "red"),
];

fn category(frame_type: FrameType) -> u8 {
    match frame_type {
        FrameType::Unknown => 0,
        FrameType::Interpreted => 1,
        FrameType::C1 => 2,
        FrameType::C2 => 3,
        FrameType::Inlined => 4,
        FrameType::Stub => 5,
        FrameType::Jvm => 6,
        FrameType::Native => 7,
        FrameType::Kernel => 8,
    }
}

impl Export for Firefox {
    fn id(&self) -> &'static str {
        "firefox"
    }

    fn extension(&self) -> &'static str {
        "firefox.json"
    }

    fn about(&self) -> &'static str {
        "for profiler.firefox.com: samples and spans on threads by process, counts and series as counters, all on one timeline"
    }

    fn write(&self, request: &Request<'_>, out: &mut (dyn Write + Send)) -> Result<Written, ExportError> {
        let counts = counts::as_series(request.recording);
        let mut made = Made::of(request, &counts);
        if made.written == Written::default() {
            return Err(ExportError::Nothing("sample, span or series"));
        }
        let profile = json!({
            "meta": meta(made.start_ns, &made.schemas, &request.title),
            "libs": [],
            "counters": made.counters(request, &counts),
            "threads": Value::Null,
        });
        // Threads are large: they are written one by one instead of as one value in memory.
        let Value::Object(parts) = profile else { return Ok(made.written) };
        out.write_all(b"{")?;
        for (key, value) in parts.iter().filter(|(key, _)| *key != "threads") {
            write!(out, "{}:{},", Value::from(key.as_str()), value)?;
        }
        out.write_all(b"\"threads\":[")?;
        for (i, thread) in made.threads.values_mut().enumerate() {
            if i > 0 {
                out.write_all(b",")?;
            }
            serde_json::to_writer(&mut *out, &thread.finish())?;
        }
        out.write_all(b"]}")?;
        Ok(made.written)
    }
}

fn meta(start_ns: i64, schemas: &BTreeMap<String, Vec<String>>, title: &str) -> Value {
    let categories: Vec<Value> = CATEGORIES
        .iter()
        .map(|(name, color)| json!({"name": name, "color": color, "subcategories": ["Other"]}))
        .collect();
    let field = |key: &String| {
        let format = match key.as_str() {
            key if key.ends_with("_bytes") || key == "bytes" => "bytes",
            "name" | "source" => "string",
            key if key.starts_with("label ") => "string",
            _ => "decimal",
        };
        json!({"key": key, "label": key, "format": format, "searchable": true})
    };
    let schema = |(kind, keys): (&String, &Vec<String>)| {
        json!({
            "name": kind,
            "tooltipLabel": "{marker.data.name}",
            "tableLabel": "{marker.data.name}",
            "chartLabel": "{marker.data.name}",
            "display": ["marker-chart", "marker-table", "timeline-overview"],
            "data": keys.iter().map(field).collect::<Vec<_>>(),
        })
    };
    json!({
        "version": 27,
        "preprocessedProfileVersion": 48,
        "interval": 1.0,
        "startTime": start_ns as f64 / 1e6,
        "processType": 0,
        "product": crate::printable(title),
        "stackwalk": 1,
        "debug": false,
        "symbolicated": true,
        "usesOnlyOneStackType": true,
        "doesNotUseFrameImplementation": true,
        "sourceCodeIsNotOnSearchfox": true,
        "importedFrom": "fathom",
        "categories": categories,
        "markerSchema": schemas.iter().map(schema).collect::<Vec<_>>(),
        "extensions": {"length": 0, "baseURL": [], "id": [], "name": []},
        "sampleUnits": {"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
    })
}

/// Process and thread ("none": the process' own track).
type Key = (u32, Option<u32>);

struct Made<'a> {
    recording: &'a Recording,
    start_ns: i64,
    threads: BTreeMap<Key, Open<'a>>,
    /// Fields of markers, kind by kind.
    schemas: BTreeMap<String, Vec<String>>,
    written: Written,
}

impl<'a> Made<'a> {
    fn of(request: &Request<'a>, counts: &[Series]) -> Self {
        let recording = request.recording;
        let start_ns = recording.covers_ns().map_or(0, |(from, _)| from);
        let written = Written::default();
        let mut made =
            Self { recording, start_ns, threads: BTreeMap::new(), schemas: BTreeMap::new(), written };
        let mut is_first = true;
        for kind in &request.kinds {
            // The long waits are spans, and markers as such.
            let kind = match kind.as_str() {
                waits::WAITS if !is_first => waits::SHORT,
                kind => kind,
            };
            let is_span = kind == waits::WAITS || recording.spans_of(kind).next().is_some();
            if is_span && !is_first {
                continue;
            }
            let mut rows: Vec<Row> = request.rows(kind).rows;
            rows.sort_by_key(|row| row.t_ns);
            let unit = request.unit(kind);
            for row in &rows {
                let thread = made.thread((row.process.0, row.thread.map(|t| t.0)));
                if is_first {
                    thread.sample(row, kind, unit, start_ns);
                } else {
                    thread.sample_as_marker(row, kind, unit, start_ns);
                }
                made.written.samples += 1;
            }
            if !is_first && !rows.is_empty() {
                let keys = ["name", weight_key(unit)].map(str::to_owned).to_vec();
                made.schemas.insert(names::shown(kind), keys);
            }
            is_first &= rows.is_empty();
        }
        made.spans(request);
        // The profiler refuses a counter whose process has no thread, and with it the whole
        // profile.
        for series in recording.series.iter().chain(counts) {
            let process = made.home(series);
            let has_thread = made.threads.keys().any(|key| key.0 == process.0);
            if !has_thread && series.t_ns.iter().any(|t| request.in_window(*t, *t)) {
                made.thread((process.0, None));
            }
        }
        // A process without a main thread is not shown.
        let mut seen = None;
        for (key, thread) in &mut made.threads {
            thread.main = seen.replace(key.0) != Some(key.0);
        }
        made
    }

    fn thread(&mut self, key: Key) -> &mut Open<'a> {
        let recording = self.recording;
        self.threads.entry(key).or_insert_with(|| Open::new(recording, key))
    }

    fn spans(&mut self, request: &Request<'_>) {
        let recording = self.recording;
        for (kind, _) in recording.kinds() {
            let mut keys = vec!["name".to_owned(), "source".to_owned()];
            for span in recording.spans_of(kind) {
                if !request.in_window(span.t0_ns(), span.t1_ns()) {
                    continue;
                }
                let mut data = Map::new();
                data.insert("type".into(), names::shown(kind).into());
                data.insert("name".into(), names::shown(span.name()).into());
                data.insert("source".into(), names::shown(&span.position()).into());
                for (key, value) in span.figures().filter(|(_, value)| value.is_finite()) {
                    data.insert(key.to_owned(), value.into());
                }
                for (key, value) in span.labels() {
                    data.insert(format!("label {key}"), names::shown(value).into());
                }
                for key in data.keys().filter(|key| *key != "type") {
                    if !keys.contains(key) {
                        keys.push(key.clone());
                    }
                }
                let (from, to) = clipped(request, span.t0_ns(), span.t1_ns());
                let start = self.start_ns;
                let key = (span.process().0, span.thread().map(|t| t.0));
                let thread = self.thread(key);
                thread.marker(names::shown(kind), (from, to), data, span.stack(), start);
                self.written.spans += 1;
            }
            self.schemas.insert(names::shown(kind), keys);
        }
    }

    /// The process whose counter a series is; those of the machine stand with the first that there
    /// is.
    fn home(&self, series: &Series) -> ProcessId {
        let first = || self.threads.keys().next().map_or(ProcessId(0), |key| ProcessId(key.0));
        series.info.process.unwrap_or_else(first)
    }

    /// Counters hold differences from point to point.
    fn counters(&mut self, request: &Request<'_>, counts: &[Series]) -> Vec<Value> {
        let mut counters = Vec::new();
        for series in request.recording.series.iter().chain(counts) {
            let process = self.home(series);
            let at = self.threads.keys().position(|key| key.0 == process.0).unwrap_or(0);
            let (_, pid) = stacks::process(request.recording, process);
            let (mut time, mut count, mut last) = (Vec::new(), Vec::new(), 0.0);
            for (t, value) in series.t_ns.iter().zip(&series.value) {
                if request.in_window(*t, *t) && value.is_finite() {
                    time.push((t.saturating_sub(self.start_ns)) as f64 / 1e6);
                    count.push(value - last);
                    last = *value;
                }
            }
            if time.is_empty() {
                continue;
            }
            self.written.points += time.len();
            let mut name = names::shown(&series.info.name);
            if !series.info.instance.is_empty() {
                name.push_str(&format!(" {}", names::shown(&series.info.instance)));
            }
            let unit = names::shown(&series.info.unit);
            let bytes = unit == "bytes";
            // How it is drawn, as of version 62; without it every counter is called memory and
            // shown in bytes.
            let label = if unit.is_empty() || bytes { name.clone() } else { format!("{name} ({unit})") };
            counters.push(json!({
                "name": name,
                "category": if bytes { "Memory" } else { "Other" },
                "display": {
                    "graphType": "line-accumulated",
                    "unit": if bytes { "bytes" } else { "" },
                    "color": "grey",
                    "markerSchemaLocation": null,
                    "sortWeight": 50,
                    "label": label,
                },
                "description": format!("{name}, {unit}"),
                "pid": pid.map_or_else(|| format!("process {}", process.0), |pid| pid.to_string()),
                "mainThreadIndex": at,
                "samples": {"length": time.len(), "time": time, "count": count},
            }));
        }
        counters
    }
}

/// What a marker calls the weight of a sample.
fn weight_key(unit: &str) -> &'static str {
    match unit {
        "ns" => "weight_ns",
        "bytes" => "bytes",
        _ => "weight",
    }
}

/// A span cut to the chosen windows, from the first to the last that it reaches into.
fn clipped(request: &Request<'_>, from_ns: i64, to_ns: i64) -> (i64, i64) {
    let windows = request.selection.windows.iter().filter(|w| from_ns < w.to_ns && w.from_ns < to_ns);
    let ends = windows.map(|w| (w.from_ns, w.to_ns)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    ends.map_or((from_ns, to_ns), |(first, last)| (from_ns.max(first), to_ns.min(last)))
}

/// A thread as it is filled.
struct Open<'a> {
    recording: &'a Recording,
    key: Key,
    main: bool,
    samples: Samples,
    markers: Markers,
    strings: Ids<String>,
    frames: Ids<FrameId>,
    /// (caller's place plus one, frame).
    stacks: Ids<(u32, u32)>,
    known: std::collections::HashMap<StackId, u32>,
}

impl<'a> Open<'a> {
    fn new(recording: &'a Recording, key: Key) -> Self {
        Self {
            recording,
            key,
            main: false,
            samples: Samples { weight_type: "samples", ..Samples::default() },
            markers: Markers::default(),
            strings: Ids::default(),
            frames: Ids::default(),
            stacks: Ids::default(),
            known: std::collections::HashMap::new(),
        }
    }

    fn sample(&mut self, row: &Row, kind: &str, unit: &str, start_ns: i64) {
        let stack = row.stack.and_then(|stack| self.stack(stack));
        let samples = &mut self.samples;
        if kind == sample::CPU {
            samples.cpu_delta.push(row.weight);
        }
        samples.length += 1;
        samples.time.push(row.t_ns.saturating_sub(start_ns) as f64 / 1e6);
        samples.stack.push(stack);
        let (weight, weight_type) = match unit {
            "ns" => (row.weight as f64 / 1e6, "tracing-ms"),
            "bytes" => (row.weight as f64, "bytes"),
            _ => (row.weight as f64, "samples"),
        };
        samples.weight.push(weight);
        samples.weight_type = weight_type;
    }

    fn stack(&mut self, stack: StackId) -> Option<u32> {
        if let Some(known) = self.known.get(&stack) {
            return Some(*known);
        }
        let mut caller = 0;
        for frame in stacks::path(self.recording, Some(stack)) {
            let frame = self.frames.id(frame);
            caller = self.stacks.id((caller, frame)) + 1;
        }
        let place = caller.checked_sub(1)?;
        self.known.insert(stack, place);
        Some(place)
    }

    /// A sample of another kind than the thread's.
    fn sample_as_marker(&mut self, row: &Row, kind: &str, unit: &str, start_ns: i64) {
        let mut data = Map::new();
        data.insert("type".into(), names::shown(kind).into());
        data.insert("name".into(), names::shown(kind).into());
        data.insert(weight_key(unit).into(), row.weight.into());
        self.marker(names::shown(kind), (row.t_ns, row.t_ns), data, row.stack, start_ns);
    }

    fn marker(
        &mut self,
        kind: String,
        (t0_ns, t1_ns): (i64, i64),
        mut data: Map<String, Value>,
        stack: Option<StackId>,
        start_ns: i64,
    ) {
        let name = self.strings.id(kind);
        let ms = |t_ns: i64| t_ns.saturating_sub(start_ns) as f64 / 1e6;
        if let Some(stack) = stack.and_then(|stack| self.stack(stack)) {
            data.insert("cause".into(), json!({"time": ms(t0_ns), "stack": stack}));
        }
        let markers = &mut self.markers;
        markers.length += 1;
        markers.category.push(0);
        markers.data.push(Value::Object(data));
        markers.start_time.push(ms(t0_ns));
        markers.end_time.push((t1_ns > t0_ns).then(|| ms(t1_ns)));
        markers.name.push(name);
        markers.phase.push(u8::from(t1_ns > t0_ns));
    }

    fn finish(&mut self) -> Thread {
        let recording = self.recording;
        let process_id = ProcessId(self.key.0);
        let (process, pid) = stacks::process(recording, process_id);
        let (name, tid) = match self.key.1 {
            None => ("events of the process".to_owned(), None),
            Some(id) => stacks::thread(recording, Some(ThreadId(id))),
        };
        let pid = pid.map_or_else(|| format!("process {}", process_id.0), |pid| pid.to_string());
        let tid = match (tid, self.key.1) {
            (Some(tid), _) => tid.to_string(),
            (None, thread) => format!("{pid}/{thread:?}"),
        };
        let (mut frames, mut functions) = (FrameTable::default(), FuncTable::default());
        let (mut resources, mut resource_ids) = (ResourceTable::default(), Ids::<String>::default());
        let mut function_ids: Ids<(String, String)> = Ids::default();
        let mut categories = Vec::new();
        for frame in &self.frames.list {
            let (name, module, frame_type, line) = stacks::described(recording, *frame);
            let before = function_ids.list.len();
            let function = function_ids.id((name.clone(), module.clone()));
            if function_ids.list.len() > before {
                let resource = if module.is_empty() { -1 } else { i64::from(resource_ids.id(module)) };
                functions.name.push(self.strings.id(name));
                functions.is_js.push(false);
                functions.relevant_for_js.push(false);
                functions.resource.push(resource);
                functions.file_name.push(None);
                functions.line_number.push(None);
                functions.column_number.push(None);
            }
            frames.address.push(-1);
            frames.inline_depth.push(0);
            frames.category.push(category(frame_type));
            frames.subcategory.push(0);
            frames.func.push(function);
            frames.native_symbol.push(None);
            frames.inner_window.push(None);
            frames.implementation.push(None);
            frames.line.push((line >= 0).then_some(line));
            frames.column.push(None);
            frames.optimizations.push(None);
            categories.push(category(frame_type));
        }
        frames.length = frames.func.len();
        functions.length = functions.name.len();
        for module in &resource_ids.list {
            resources.lib.push(None);
            resources.name.push(self.strings.id(module.clone()));
            resources.host.push(None);
            // 1: a library.
            resources.kind.push(1);
        }
        resources.length = resources.name.len();
        let mut stack_table = StackTable { length: self.stacks.list.len(), ..StackTable::default() };
        for (caller, frame) in &self.stacks.list {
            stack_table.prefix.push(caller.checked_sub(1));
            stack_table.frame.push(*frame);
            stack_table.category.push(categories[*frame as usize]);
            stack_table.subcategory.push(0);
        }
        Thread {
            name,
            is_main_thread: self.main,
            process_type: "default",
            process_name: process,
            process_startup_time: 0.0,
            process_shutdown_time: None,
            register_time: 0.0,
            unregister_time: None,
            paused_ranges: [],
            pid,
            tid,
            samples: std::mem::take(&mut self.samples),
            markers: std::mem::take(&mut self.markers),
            stack_table,
            frame_table: frames,
            func_table: functions,
            resource_table: resources,
            native_symbols: json!({"length": 0, "address": [], "functionSize": [], "libIndex": [], "name": []}),
            string_array: std::mem::take(&mut self.strings.list),
        }
    }
}
