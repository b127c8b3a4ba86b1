//! OpenTelemetry's profiles (OTLP, `ProfilesData` in protobuf): what its collector, Pyroscope and
//! other backends take.
//!
//! Each process is a resource, each kind of sample a profile of it, each stack of a thread a sample
//! with all its times and values. What a frame is beyond OpenTelemetry's own words (`jvm`,
//! `native`, `kernel`) and its library stand in attributes of fathom, so that nothing is lost when
//! fathom reads it again. No spans, no series.

mod format;

use std::collections::{BTreeMap, HashMap};
use std::io::Write;

use fathom_diagnose::stacks::{Row, Rows, waits};
use fathom_recording::vocabulary::{fact, sample};
use fathom_recording::{FrameId, FrameType, ProcessId, Recording, StackId, ThreadId};
use prost::Message;

pub(super) use self::format::*;
use super::stacks::{self, Ids};
use super::{Export, ExportError, Request, Written};
use crate::flame::names;

/// See the module.
pub(super) struct Otlp;

impl Export for Otlp {
    fn id(&self) -> &'static str {
        "otlp"
    }

    fn extension(&self) -> &'static str {
        "otlp"
    }

    fn about(&self) -> &'static str {
        "for OpenTelemetry (ProfilesData, protobuf): all kinds of samples with their times, by process"
    }

    fn write(&self, request: &Request<'_>, out: &mut (dyn Write + Send)) -> Result<Written, ExportError> {
        let (data, written) = data(request)?;
        out.write_all(&data.encode_to_vec())?;
        Ok(written)
    }
}

/// The tables that samples refer to; the first entry of each is empty.
struct Tables {
    strings: Ids<String>,
    functions: Ids<Function>,
    locations: Ids<Location>,
    stacks: Ids<Stack>,
    attributes: Ids<KeyValueAndUnit>,
    /// What was made of stacks, frames and threads of the recording.
    of_stacks: HashMap<StackId, i32>,
    of_frames: HashMap<FrameId, i32>,
    of_threads: HashMap<ThreadId, Vec<i32>>,
}

impl Tables {
    fn new() -> Self {
        fn begun<T: std::hash::Hash + Eq + Clone + Default>() -> Ids<T> {
            let mut ids = Ids::default();
            ids.id(T::default());
            ids
        }
        Self {
            strings: begun(),
            functions: begun(),
            locations: begun(),
            stacks: begun(),
            attributes: begun(),
            of_stacks: HashMap::new(),
            of_frames: HashMap::new(),
            of_threads: HashMap::new(),
        }
    }

    fn text(&mut self, text: &str) -> i32 {
        index(self.strings.id(text.to_owned()))
    }

    fn value_type(&mut self, name: &str, unit: &str) -> ValueType {
        ValueType { type_strindex: self.text(name), unit_strindex: self.text(unit) }
    }

    fn attribute(&mut self, key: &str, value: Value) -> i32 {
        let attribute = KeyValueAndUnit { key_strindex: self.text(key), value: Some(value.into()) };
        index(self.attributes.id(attribute))
    }

    fn thread(&mut self, recording: &Recording, thread: Option<ThreadId>) -> Vec<i32> {
        let Some(id) = thread else { return Vec::new() };
        if let Some(known) = self.of_threads.get(&id) {
            return known.clone();
        }
        let (name, tid) = stacks::thread(recording, thread);
        let mut attributes = Vec::new();
        if !name.is_empty() {
            attributes.push(self.attribute("thread.name", Value::Text(name)));
        }
        if let Some(tid) = tid {
            attributes.push(self.attribute("thread.id", Value::Number(tid)));
        }
        self.of_threads.insert(id, attributes.clone());
        attributes
    }

    fn stack(&mut self, recording: &Recording, stack: Option<StackId>) -> i32 {
        let Some(id) = stack else { return 0 };
        if let Some(known) = self.of_stacks.get(&id) {
            return *known;
        }
        let path = stacks::path(recording, stack).into_iter().rev();
        let location_indices = path.map(|frame| self.frame(recording, frame)).collect();
        let made = index(self.stacks.id(Stack { location_indices }));
        self.of_stacks.insert(id, made);
        made
    }

    fn frame(&mut self, recording: &Recording, frame: FrameId) -> i32 {
        if let Some(known) = self.of_frames.get(&frame) {
            return *known;
        }
        let (name, module, frame_type, line) = stacks::described(recording, frame);
        let function = Function { name_strindex: self.text(&name) };
        let function_index = index(self.functions.id(function));
        let (theirs, ours) = words(frame_type);
        let mut attribute_indices = Vec::new();
        if let Some(word) = theirs {
            attribute_indices.push(self.attribute("profile.frame.type", Value::Text(word.into())));
        }
        attribute_indices.push(self.attribute("fathom.frame.type", Value::Text(ours.into())));
        if !module.is_empty() {
            attribute_indices.push(self.attribute("fathom.module", Value::Text(module)));
        }
        let lines = vec![Line { function_index, line: i64::from(line.max(0)) }];
        let made = index(self.locations.id(Location { lines, attribute_indices }));
        self.of_frames.insert(frame, made);
        made
    }

    fn dictionary(self) -> ProfilesDictionary {
        ProfilesDictionary {
            mapping_table: vec![Nothing {}],
            location_table: self.locations.list,
            function_table: self.functions.list,
            link_table: vec![Nothing {}],
            string_table: self.strings.list,
            attribute_table: self.attributes.list,
            stack_table: self.stacks.list,
        }
    }
}

/// Tables of a recording in memory have fewer entries than 2³¹.
fn index(id: u32) -> i32 {
    i32::try_from(id).unwrap_or(0)
}

/// What runs a frame in OpenTelemetry's words, and in those of fathom, which say more.
fn words(frame_type: FrameType) -> (Option<&'static str>, &'static str) {
    match frame_type {
        FrameType::Interpreted => (Some("jvm"), "interpreted"),
        FrameType::C1 => (Some("jvm"), "c1"),
        FrameType::C2 => (Some("jvm"), "c2"),
        FrameType::Inlined => (Some("jvm"), "inlined"),
        FrameType::Stub => (Some("jvm"), "stub"),
        FrameType::Native => (Some("native"), "native"),
        FrameType::Jvm => (Some("native"), "jvm"),
        FrameType::Kernel => (Some("kernel"), "kernel"),
        FrameType::Unknown => (None, "unknown"),
    }
}

/// The type of a kind, as OpenTelemetry's own examples name it where they do.
fn type_of(kind: &str) -> String {
    match kind {
        waits::WAITS | sample::OFF_CPU => "off_cpu".into(),
        sample::ALLOC => "allocated_space".into(),
        sample::LIVE => "inuse_space".into(),
        other => names::shown(other).replace('-', "_"),
    }
}

/// All of it, and what is in it.
pub(super) fn data(request: &Request<'_>) -> Result<(ProfilesData, Written), ExportError> {
    let recording = request.recording;
    let mut written = Written::default();
    let rows = request.all_rows()?;
    let wall = is_wall(recording);
    if !wall {
        written.left_out.push("the time of samples: the recording has no wall-clock time".into());
    }
    let mut tables = Tables::new();
    let mut types: Vec<String> = Vec::new();
    let mut by_process: BTreeMap<ProcessId, Vec<Profile>> = BTreeMap::new();
    for (kind, rows) in &rows {
        written.samples += rows.rows.len();
        // Of two kinds of one name the second keeps its own: no reader is to add them up.
        let name =
            Some(type_of(kind)).filter(|name| !types.contains(name)).unwrap_or_else(|| names::shown(kind));
        types.push(name.clone());
        let unit = match request.unit(kind) {
            "ns" => "nanoseconds",
            unit => unit,
        };
        let sample_type = tables.value_type(&name, unit);
        let (period_type, period) = period(recording, kind, &mut tables);
        for (process, samples) in samples(recording, rows, wall, &mut tables) {
            let mut profile = Profile {
                sample_type: Some(sample_type),
                samples,
                period_type,
                period,
                ..Profile::default()
            };
            if wall {
                (profile.time_unix_nano, profile.duration_nano) = time(rows, &profile.samples);
            }
            by_process.entry(process).or_default().push(profile);
        }
    }
    let scope = Scope { name: "fathom".into(), version: env!("CARGO_PKG_VERSION").into() };
    let resource_profiles = by_process.into_iter().map(|(process, profiles)| ResourceProfiles {
        resource: Some(Resource { attributes: resource(recording, process) }),
        scope_profiles: vec![ScopeProfiles { scope: Some(scope.clone()), profiles }],
    });
    let resource_profiles = resource_profiles.collect();
    written.notes.push(format!("OTLP profiles of opentelemetry-proto {VERSION}, v1development"));
    Ok((ProfilesData { resource_profiles, dictionary: Some(tables.dictionary()) }, written))
}

/// Whether all samples are in wall-clock time.
fn is_wall(recording: &Recording) -> bool {
    let mut has_samples = vec![false; recording.sources.len()];
    for sample in recording.samples.iter() {
        if let Some(seen) = has_samples.get_mut(sample.source.index()) {
            *seen = true;
        }
    }
    let none = !has_samples.contains(&true);
    recording.sources.iter().zip(&has_samples).all(|(source, seen)| source.placement.wall || !(none || *seen))
}

/// What samples of a kind are taken by, where all sources that have it agree.
fn period(recording: &Recording, kind: &str, tables: &mut Tables) -> (Option<ValueType>, i64) {
    let (name, unit) = match kind {
        sample::CPU => ("cpu", "ns"),
        sample::CYCLES => ("cycles", "cycles"),
        _ => return (None, 0),
    };
    let sampling = recording.sources.iter().filter_map(|source| source.sampling.as_ref());
    let mut periods = sampling.filter(|sampling| sampling.unit == unit).map(|sampling| {
        let rate = i64::from(sampling.rate_hz.max(1));
        let of_rate = (unit == "ns").then_some(1_000_000_000 / rate);
        sampling.period.and_then(|period| i64::try_from(period).ok()).or(of_rate)
    });
    let first = periods.next().flatten();
    match first.filter(|first| periods.all(|period| period == Some(*first))) {
        Some(period) => {
            let unit = if unit == "ns" { "nanoseconds" } else { unit };
            (Some(tables.value_type(name, unit)), period)
        }
        None => (None, 0),
    }
}

/// The samples of each process: one for each stack of each thread, with all its times and values.
fn samples(
    recording: &Recording,
    rows: &Rows,
    wall: bool,
    tables: &mut Tables,
) -> BTreeMap<ProcessId, Vec<Sample>> {
    let mut places: HashMap<(ProcessId, i32, Vec<i32>), usize> = HashMap::new();
    let mut of_processes: BTreeMap<ProcessId, Vec<Sample>> = BTreeMap::new();
    for Row { t_ns, process, thread, stack, weight } in &rows.rows {
        let stack_index = tables.stack(recording, *stack);
        let attribute_indices = tables.thread(recording, *thread);
        let samples = of_processes.entry(*process).or_default();
        let place = *places.entry((*process, stack_index, attribute_indices)).or_insert_with_key(|key| {
            samples.push(Sample { stack_index, attribute_indices: key.2.clone(), ..Sample::default() });
            samples.len() - 1
        });
        let Some(sample) = samples.get_mut(place) else { continue };
        if wall {
            sample.values.push(*weight);
            sample.timestamps_unix_nano.push(u64::try_from(*t_ns).unwrap_or(0));
        } else {
            let total = sample.values.first().copied().unwrap_or(0).saturating_add(*weight);
            sample.values = vec![total];
        }
    }
    of_processes
}

/// Begin and length of a profile. All times of its samples lie within, the end excluded.
fn time(rows: &Rows, samples: &[Sample]) -> (u64, u64) {
    let times = || samples.iter().flat_map(|sample| sample.timestamps_unix_nano.iter().copied());
    let ns = |ns: i64| u64::try_from(ns).unwrap_or(0);
    let from = rows.covered.iter().map(|w| ns(w.from_ns)).chain(times()).min().unwrap_or(0);
    let to = rows.covered.iter().map(|w| ns(w.to_ns)).chain(times().map(|t| t.saturating_add(1))).max();
    (from, to.unwrap_or(from).saturating_sub(from))
}

/// What a process is, by OpenTelemetry's semantic conventions. What is unknown is left out.
fn resource(recording: &Recording, process: ProcessId) -> Vec<KeyValue> {
    let Some(process) = recording.processes.get(process.index()) else { return Vec::new() };
    let identity = &recording.identity;
    let fact = |key: &str| process.fact(key).map(str::to_owned);
    // A recording's service is that of its JVMs.
    let of_jvm = |text: &Option<String>| text.clone().filter(|_| process.jvm);
    let texts = [
        ("service.name", fact(fact::SERVICE).or_else(|| of_jvm(&identity.service))),
        ("service.version", fact(fact::SERVICE_VERSION).or_else(|| of_jvm(&identity.version))),
        ("host.name", fact(fact::HOST).or_else(|| identity.host.clone())),
        ("container.id", fact(fact::CONTAINER).or_else(|| of_jvm(&identity.container))),
        ("process.title", Some(process.name.clone())),
        ("process.runtime.version", fact(fact::JVM_VERSION)),
    ];
    let texts = texts.into_iter().filter_map(|(key, text)| {
        let text = text.map(|text| names::shown(&text)).filter(|text| !text.is_empty())?;
        Some((key, Value::Text(text)))
    });
    let pid = process.pid.map(|pid| ("process.pid", Value::Number(pid)));
    texts.chain(pid).map(|(key, value)| KeyValue { key: key.into(), value: Some(value.into()) }).collect()
}

#[cfg(test)]
mod tests;
