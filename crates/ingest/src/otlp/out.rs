//! Writes the samples of profiles.

use std::rc::Rc;

use fathom_recording::quantity::whole;
use fathom_recording::vocabulary::sample;
use fathom_recording::{
    Check, ClockBasis, Process, ProcessId, Role, SampleRow, Sink, Source, SourceId, StackId, ThreadId,
};
use prost::Message;
use rustc_hash::FxHashMap;

use super::ID;
use super::dictionary::Dictionary;
use super::resource::Resource;
use super::stacks::Stacks;
use super::wire::{KeyValueAndUnit, Sample, VERSION, ValueType, dictionary, of_resource, of_scope, profile};
use crate::folded;
use crate::protobuf::{Part, Parts};
use crate::sample_types::kind_of;

/// Bytes of a sample that are decoded at once. One with a million times has 10 MB.
const LARGEST_SAMPLE: usize = 32 << 20;
/// Processes that are distinguished; a host has some thousands. All others are the last one.
const MOST_PROCESSES: usize = 20_000;
/// Attributes of a sample that are looked at.
const MOST_ATTRIBUTES: usize = 64;

/// See the module.
pub(super) struct Out<'s> {
    sink: &'s mut dyn Sink,
    name: String,
    source: SourceId,
    processes: FxHashMap<(usize, i64, i32), ProcessId>,
    last: Option<ProcessId>,
    resources: usize,
    covers_ns: Option<(i64, i64)>,
    samples: u64,
    records: u64,
    skipped: u64,
    /// Samples whose times and values are not as many as each other.
    odd: u64,
    missing: u64,
    /// The first type of values that is not known, as it is written, and how many samples have one.
    unknown: Option<String>,
    of_unknown: u64,
}

/// A profile of the resource that is being read.
#[derive(Clone, Copy)]
struct Head {
    /// The type of its values.
    value: ValueType,
    kind: Option<&'static str>,
    /// What a value is multiplied with.
    scale: i64,
    /// Whether it counts samples, each of which stands for its period.
    counted: bool,
    time_ns: i64,
}

/// What attributes of samples say, each read once.
#[derive(Clone)]
enum Known {
    ThreadName(Rc<str>),
    ThreadId(i64),
    Pid(i64),
    Executable(Rc<str>),
    Other,
}

/// What the samples of one message have in common, and the resource that is being read.
pub(super) struct Reading<'d, 'a> {
    tables: &'d Dictionary<'a>,
    resource: Resource,
    number: usize,
    stacks: Stacks,
    known: FxHashMap<i32, Known>,
    threads: FxHashMap<(ProcessId, i32, i32), ThreadId>,
}

impl<'d, 'a> Reading<'d, 'a> {
    pub(super) fn of(tables: &'d Dictionary<'a>) -> Self {
        Self {
            tables,
            resource: Resource::default(),
            number: 0,
            stacks: Stacks::new(tables.size()),
            known: FxHashMap::default(),
            threads: FxHashMap::default(),
        }
    }
}

impl<'s> Out<'s> {
    pub(super) fn new(sink: &'s mut dyn Sink, name: &str) -> Self {
        let source =
            sink.add_source(Source { name: name.to_owned(), format: ID.to_owned(), ..Source::default() });
        Self {
            sink,
            name: name.to_owned(),
            source,
            processes: FxHashMap::default(),
            last: None,
            resources: 0,
            covers_ns: None,
            samples: 0,
            records: 0,
            skipped: 0,
            odd: 0,
            missing: 0,
            unknown: None,
            of_unknown: 0,
        }
    }

    /// Reads the profiles of a resource.
    pub(super) fn resource(&mut self, reading: &mut Reading<'_, '_>, message: &[u8]) {
        let tables = reading.tables;
        let of_resource = |part| match part {
            Part::Bytes(of_resource::RESOURCE, bytes) => Some(bytes),
            _ => None,
        };
        let profiles = || profiles(message);
        let resource = Parts::of(message).find_map(of_resource).unwrap_or_default();
        (reading.resource, reading.number) = (Resource::of(tables, resource), self.resources);
        self.resources += 1;
        let mut by_value: Vec<&str> = Vec::new();
        let (mut knows_one, mut first) = (false, None);
        for bytes in profiles() {
            let head = self.head(tables, bytes);
            by_value.extend(head.kind.filter(|kind| !head.counted && !by_value.contains(kind)));
            knows_one |= head.kind.is_some();
            first = first.or(Some(head.value));
        }
        for bytes in profiles() {
            let mut head = self.head(tables, bytes);
            if head.counted && head.kind.is_some_and(|kind| by_value.contains(&kind)) {
                continue;
            }
            if !knows_one && Some(head.value) == first {
                head.kind = Some(sample::EVENT);
            }
            if head.kind.is_none() && self.unknown.is_none() {
                let (name, unit) = (tables.text(head.value.name), tables.text(head.value.unit));
                self.unknown = Some(format!("{name} ({unit})"));
            }
            self.profile(reading, head, bytes);
        }
        self.missing += std::mem::take(&mut reading.stacks.missing);
    }

    /// What a profile is of.
    fn head(&mut self, tables: &Dictionary<'_>, message: &[u8]) -> Head {
        let (mut value, mut period_type) = (ValueType::default(), ValueType::default());
        let (mut time_ns, mut duration_ns, mut period) = (0_i64, 0_i64, 0_i64);
        for part in Parts::of(message) {
            match part {
                Part::Bytes(profile::SAMPLE_TYPE, bytes) => {
                    value = ValueType::decode(bytes).unwrap_or_default()
                }
                Part::Bytes(profile::PERIOD_TYPE, bytes) => {
                    period_type = ValueType::decode(bytes).unwrap_or_default();
                }
                Part::Number(profile::TIME_UNIX_NANO, ns) => time_ns = ns.max(0),
                Part::Number(profile::DURATION_NANO, ns) => duration_ns = ns.max(0),
                Part::Number(profile::PERIOD, number) => period = number.max(0),
                Part::Bytes(..) | Part::Number(..) => {}
            }
        }
        if time_ns > 0 {
            self.cover(time_ns, time_ns.saturating_add(duration_ns));
        }
        let known = |of: ValueType| kind_of(&tables.text(of.name), &tables.text(of.unit));
        if let Some((kind, scale)) = known(value) {
            return Head { value, kind: Some(kind), scale, counted: false, time_ns };
        }
        let is_count = &*tables.text(value.unit) == "count";
        match known(period_type).filter(|_| is_count && period > 0) {
            Some((kind, scale)) => {
                let scale = scale.saturating_mul(period);
                Head { value, kind: Some(kind), scale, counted: true, time_ns }
            }
            None => Head { value, kind: None, scale: 1, counted: false, time_ns },
        }
    }

    fn cover(&mut self, from_ns: i64, to_ns: i64) {
        let (from, to) = self.covers_ns.unwrap_or((from_ns, to_ns));
        self.covers_ns = Some((from.min(from_ns), to.max(to_ns)));
    }

    fn profile(&mut self, reading: &mut Reading<'_, '_>, head: Head, message: &[u8]) {
        let tables = reading.tables;
        for part in Parts::of(message) {
            let Part::Bytes(profile::SAMPLES, bytes) = part else { continue };
            self.samples += 1;
            let decoded = Some(bytes).filter(|bytes| bytes.len() <= LARGEST_SAMPLE);
            let Some(one) = decoded.and_then(|bytes| Sample::decode(bytes).ok()) else {
                self.skipped += 1;
                continue;
            };
            let Some(kind) = head.kind else {
                self.of_unknown += 1;
                continue;
            };
            let (stack, java) = reading.stacks.stack(self.sink, tables, one.stack);
            let (process, thread) = self.place(reading, &one.attributes);
            if java {
                self.sink.process_mut(process).jvm = true;
            }
            self.rows(head, kind, &one, (process, thread, stack));
        }
    }

    /// A row for each time of a sample, or one where it has none.
    fn rows(
        &mut self,
        head: Head,
        kind: &'static str,
        one: &Sample,
        (process, thread, stack): (ProcessId, Option<ThreadId>, Option<StackId>),
    ) {
        let mut row = |t_ns: i64, value: i64| {
            let weight = value.saturating_mul(head.scale);
            if weight > 0 {
                self.records += 1;
                let source = self.source;
                self.sink.sample(&SampleRow { kind, t_ns, process, thread, stack, weight, source });
            }
        };
        let time = |ns: u64| i64::try_from(ns).unwrap_or(head.time_ns);
        let total = || one.values.iter().fold(0_i64, |sum, value| sum.saturating_add(*value));
        match (one.values.len(), one.timestamps.len()) {
            (_, 0) => row(head.time_ns, total()),
            (0, _) => one.timestamps.iter().for_each(|ns| row(time(*ns), 1)),
            (values, times) if values == times => {
                one.timestamps.iter().zip(&one.values).for_each(|(ns, value)| row(time(*ns), *value));
            }
            _ => {
                row(head.time_ns, total());
                self.odd += 1;
            }
        }
        let times = one.timestamps.iter().filter_map(|ns| i64::try_from(*ns).ok());
        if let Some((first, last)) = times.clone().min().zip(times.max()) {
            self.cover(first, last.saturating_add(1));
        }
    }

    /// Process and thread of a sample, by its attributes and those of the resource.
    fn place(&mut self, reading: &mut Reading<'_, '_>, attributes: &[i32]) -> (ProcessId, Option<ThreadId>) {
        let (mut pid, mut tid) = (reading.resource.pid.unwrap_or(0), (0_i64, 0));
        let mut name: (Option<Rc<str>>, i32) = (None, 0);
        let mut executable: (Option<Rc<str>>, i32) = (None, 0);
        for index in attributes.iter().take(MOST_ATTRIBUTES) {
            let tables = reading.tables;
            match reading.known.entry(*index).or_insert_with(|| known(tables, *index)) {
                Known::ThreadName(text) => name = (Some(Rc::clone(text)), *index),
                Known::ThreadId(number) => tid = (*number, *index),
                Known::Pid(number) => pid = *number,
                Known::Executable(text) => executable = (Some(Rc::clone(text)), *index),
                Known::Other => {}
            }
        }
        let process = self.process(reading, pid, executable.0.as_deref(), executable.1);
        if name.0.is_none() && tid.0 <= 0 {
            return (process, None);
        }
        let key = (process, name.1, tid.1);
        if let Some(thread) = reading.threads.get(&key) {
            return (process, Some(*thread));
        }
        let text = name.0.as_deref().unwrap_or_default();
        // async-profiler has the id within the name.
        let (text, named) = folded::thread(text).unwrap_or((text, None));
        let tid = Some(tid.0).filter(|tid| *tid > 0).or(named);
        let thread = self.sink.thread(process, tid, text, Role::of_named(text, Some(false)));
        reading.threads.insert(key, thread);
        (process, Some(thread))
    }

    fn process(
        &mut self,
        reading: &Reading<'_, '_>,
        pid: i64,
        executable: Option<&str>,
        executable_index: i32,
    ) -> ProcessId {
        let key = (reading.number, pid, executable_index);
        if let Some(known) = self.processes.get(&key) {
            return *known;
        }
        if let Some(last) = self.last.filter(|_| self.processes.len() >= MOST_PROCESSES) {
            return last;
        }
        let process = self.sink.add_process(Process {
            name: reading.resource.name(executable).unwrap_or_else(|| self.name.clone()),
            pid: Some(pid).filter(|pid| *pid > 0),
            facts: reading.resource.facts(),
            ..Process::default()
        });
        self.processes.insert(key, process);
        self.last = Some(process);
        process
    }

    pub(super) fn finish(self, bytes: u64, cut: bool) {
        let check = |claim: &str, wrong: u64, detail: String| Check {
            claim: claim.to_owned(),
            holds: wrong == 0,
            detail,
        };
        let (missing, odd, of_all) = (whole(self.missing), whole(self.odd), whole(self.samples));
        let mut checks = vec![
            check(
                "what samples refer to is described",
                self.missing,
                format!("{missing} entries are missing"),
            ),
            check("a sample has as many values as times", self.odd, format!("{odd} of {of_all} have not")),
        ];
        if self.skipped > 0 {
            let claim = format!("samples are those of opentelemetry-proto {VERSION}");
            let detail = format!("{} of {of_all} cannot be decoded", whole(self.skipped));
            checks.push(check(&claim, self.skipped, detail));
        }
        if let Some(unknown) = self.unknown {
            let detail = format!(
                "{} of {of_all} samples are not read, the first of type {unknown}",
                whole(self.of_unknown)
            );
            checks.push(check("the type of each profile is known", self.of_unknown, detail));
        }
        let one = self.last.filter(|_| self.processes.len() == 1);
        let source = self.sink.source_mut(self.source);
        source.process = one.map(|process| process.0);
        source.clock = if self.covers_ns.is_some() { ClockBasis::Epoch } else { ClockBasis::None };
        source.covers_ns = self.covers_ns;
        source.bytes = bytes;
        source.records = self.records;
        source.skipped = self.skipped + self.of_unknown;
        source.cut = cut;
        source.checks = checks;
    }
}

/// The profiles of a resource.
fn profiles(resource: &[u8]) -> impl Iterator<Item = &[u8]> {
    let scopes = Parts::of(resource).filter_map(|part| match part {
        Part::Bytes(of_resource::SCOPE_PROFILES, bytes) => Some(Parts::of(bytes)),
        _ => None,
    });
    scopes.flatten().filter_map(|part| match part {
        Part::Bytes(of_scope::PROFILES, bytes) => Some(bytes),
        _ => None,
    })
}

/// Whether a resource has a sample.
pub(super) fn has_samples(resource: &[u8]) -> bool {
    let is_sample = |part| matches!(part, Part::Bytes(profile::SAMPLES, _));
    profiles(resource).any(|profile| Parts::of(profile).any(is_sample))
}

fn known(tables: &Dictionary<'_>, index: i32) -> Known {
    let Some(attribute) = tables.entry::<KeyValueAndUnit>(dictionary::ATTRIBUTE, index) else {
        return Known::Other;
    };
    let value = attribute.value.unwrap_or_default();
    let text = || Rc::from(tables.value_text(&value));
    match &*tables.text(attribute.key) {
        "thread.name" => Known::ThreadName(text()),
        "thread.id" => Known::ThreadId(value.number),
        "process.pid" => Known::Pid(value.number),
        "process.executable.name" => Known::Executable(text()),
        _ => Known::Other,
    }
}
