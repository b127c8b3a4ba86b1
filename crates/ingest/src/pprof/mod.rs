//! pprof: the profiles of Go, of Pyroscope and Parca, of async-profiler's converter and many
//! others; compressed with gzip, as they usually are, or not.
//!
//! A sample has a value for each type that the profile lists; a type whose meaning is known becomes
//! samples of its kind, and where none is known the last one, which is the profile's default,
//! becomes samples of kind "event". Samples have no time of their own: all have the profile's.

mod wire;

use fathom_recording::quantity::whole;
use std::io::Read;

use fathom_recording::vocabulary::sample;
use fathom_recording::{
    Check, ClockBasis, FrameId, FrameType, Process, ProcessId, Role, SampleRow, Sink, Source, SourceId,
    StackId, ThreadId,
};
use prost::Message;
use rustc_hash::FxHashMap;

use self::wire::{Function, Location, Mapping, Sample, ValueType, field};
use crate::folded::frame_of;
use crate::protobuf::{Part, Parts};
use crate::sample_types::kind_of;
use crate::{Confidence, Format, IngestError, Input, java_names};

/// The reader of pprof.
pub(crate) struct Pprof;

const ID: &str = "pprof";

/// How many fields of the head are looked at to recognise the format.
const SNIFFED: usize = 12;
/// The largest profile that is read, decompressed. Its strings come last, so that all of it is in
/// memory.
const LARGEST: u64 = 512 << 20;
/// Frames of a stack that are kept, the innermost ones.
const DEEPEST: usize = 4096;
/// Functions inlined at one address that are kept. Compilers stop at some ten.
const INLINED: usize = 128;

impl Format for Pprof {
    fn id(&self) -> &'static str {
        ID
    }

    fn about(&self) -> &'static str {
        "pprof (profile.proto, gzip or plain): CPU, wall, allocation, live heap and lock profiles with their threads"
    }

    fn reads_bytes(&self) -> bool {
        true
    }

    fn sniff(&self, head: &[u8]) -> Confidence {
        // There is no magic number, and no order of the fields: the first ones must all be those of
        // a profile, and the types of its values, two numbers each, among them.
        let mut types = 0;
        for part in Parts::of(head).take(SNIFFED) {
            match part {
                Part::Bytes(field::SAMPLE_TYPE, bytes) => {
                    let decoded = ValueType::decode(bytes);
                    let honest = |t: &ValueType| t.name > 0 && t.unit > 0 && t.name.max(t.unit) < 1 << 24;
                    match decoded.ok().filter(|t| bytes.len() <= 16 && honest(t)) {
                        Some(_) => types += 1,
                        None => return Confidence(0),
                    }
                }
                Part::Bytes(field::SAMPLE..=field::STRING | 11 | 13, _) => {}
                Part::Number(7..=10 | 12 | 14, _) => {}
                Part::Bytes(..) | Part::Number(..) => return Confidence(0),
            }
        }
        Confidence(if types > 0 { 75 } else { 0 })
    }

    fn read(&self, input: &mut Input, sink: &mut dyn Sink) -> Result<(), IngestError> {
        let mut data = Vec::new();
        // A failure is kept by the lines: what was read up to there counts.
        let _ = input.lines.content().take(LARGEST).read_to_end(&mut data);
        let profile = Profile::of(&data);
        let samples = || {
            Parts::of(&data).filter_map(|part| match part {
                Part::Bytes(field::SAMPLE, bytes) => Sample::decode(bytes).ok(),
                _ => None,
            })
        };
        if samples().next().is_none() {
            return Err(IngestError::Empty { path: input.name.clone().into(), format: ID });
        }
        let mut out = Out::new(sink, &input.name, &profile);
        for sample in samples() {
            out.sample(&sample);
        }
        out.finish(data.len() as u64);
        Ok(())
    }
}

/// What samples refer to.
struct Profile<'a> {
    strings: Vec<&'a [u8]>,
    types: Vec<ValueType>,
    mappings: FxHashMap<u64, i64>,
    functions: FxHashMap<u64, i64>,
    /// The position of the message of each location.
    locations: FxHashMap<u64, &'a [u8]>,
    time_ns: i64,
    duration_ns: i64,
    damaged: bool,
}

impl<'a> Profile<'a> {
    fn of(data: &'a [u8]) -> Self {
        let mut profile = Self {
            strings: Vec::new(),
            types: Vec::new(),
            mappings: FxHashMap::default(),
            functions: FxHashMap::default(),
            locations: FxHashMap::default(),
            time_ns: 0,
            duration_ns: 0,
            damaged: false,
        };
        let mut parts = Parts::of(data);
        for part in parts.by_ref() {
            match part {
                Part::Bytes(field::STRING, bytes) => profile.strings.push(bytes),
                Part::Bytes(field::SAMPLE_TYPE, bytes) => profile.types.extend(ValueType::decode(bytes)),
                Part::Bytes(field::MAPPING, bytes) => {
                    profile.mappings.extend(Mapping::decode(bytes).map(|m| (m.id, m.file)));
                }
                Part::Bytes(field::FUNCTION, bytes) => {
                    profile.functions.extend(Function::decode(bytes).map(|f| (f.id, f.name)));
                }
                Part::Bytes(field::LOCATION, bytes) => {
                    // Its lines are decoded when a stack first needs them.
                    profile.locations.extend(Location::decode(bytes).map(|l| (l.id, bytes)));
                }
                Part::Number(field::TIME_NANOS, ns) => profile.time_ns = ns.max(0),
                Part::Number(field::DURATION_NANOS, ns) => profile.duration_ns = ns.max(0),
                Part::Bytes(..) | Part::Number(..) => {}
            }
        }
        profile.damaged = parts.damaged;
        profile
    }

    fn text(&self, index: i64) -> std::borrow::Cow<'a, str> {
        let bytes = usize::try_from(index).ok().and_then(|i| self.strings.get(i));
        String::from_utf8_lossy(bytes.copied().unwrap_or_default())
    }

    /// Which values become samples of which kind.
    fn kinds(&self) -> Vec<(usize, &'static str)> {
        let mut kinds: Vec<(usize, &'static str)> = Vec::new();
        for (i, value_type) in self.types.iter().enumerate() {
            let (name, unit) = (self.text(value_type.name), self.text(value_type.unit));
            if let Some(kind) = kind_of(&name, &unit).filter(|(_, scale)| *scale == 1).map(|(kind, _)| kind)
                && !kinds.iter().any(|(_, known)| *known == kind)
            {
                kinds.push((i, kind));
            }
        }
        if kinds.is_empty() {
            kinds.push((self.types.len().saturating_sub(1), sample::EVENT));
        }
        kinds
    }
}

/// Writes samples.
struct Out<'s, 'p> {
    sink: &'s mut dyn Sink,
    profile: &'p Profile<'p>,
    kinds: Vec<(usize, &'static str)>,
    source: SourceId,
    process: ProcessId,
    /// Frames of each location, the innermost first.
    frames: FxHashMap<u64, Vec<FrameId>>,
    threads: FxHashMap<(i64, i64), ThreadId>,
    java: bool,
    records: u64,
    missing: u64,
}

impl<'s, 'p> Out<'s, 'p> {
    fn new(sink: &'s mut dyn Sink, name: &str, profile: &'p Profile<'p>) -> Self {
        let process = sink.add_process(Process { name: name.to_owned(), ..Process::default() });
        let source = sink.add_source(Source {
            name: name.to_owned(),
            format: ID.to_owned(),
            process: Some(process.0),
            ..Source::default()
        });
        Self {
            sink,
            profile,
            kinds: profile.kinds(),
            source,
            process,
            frames: FxHashMap::default(),
            threads: FxHashMap::default(),
            java: false,
            records: 0,
            missing: 0,
        }
    }

    fn sample(&mut self, sample: &Sample) {
        let mut frames: Vec<FrameId> = Vec::new();
        for id in &sample.location {
            if frames.len() >= DEEPEST {
                break;
            }
            if !self.frames.contains_key(id) {
                let of_location = self.location(*id);
                self.frames.insert(*id, of_location);
            }
            frames.extend(self.frames.get(id).into_iter().flatten());
        }
        let mut stack: Option<StackId> = None;
        for frame in frames.into_iter().rev() {
            stack = Some(self.sink.stack(stack, frame));
        }
        let thread = self.thread(sample);
        for i in 0..self.kinds.len() {
            let Some((at, kind)) = self.kinds.get(i).copied() else { continue };
            let weight = sample.value.get(at).copied().unwrap_or(0);
            if weight > 0 {
                self.records += 1;
                self.sink.sample(&SampleRow {
                    kind,
                    t_ns: self.profile.time_ns,
                    process: self.process,
                    thread,
                    stack,
                    weight,
                    source: self.source,
                });
            }
        }
    }

    fn location(&mut self, id: u64) -> Vec<FrameId> {
        let Some(location) = self.profile.locations.get(&id).and_then(|bytes| Location::decode(*bytes).ok())
        else {
            self.missing += 1;
            return vec![self.sink.frame("[unknown]", "", FrameType::Unknown, -1)];
        };
        let file = self.profile.mappings.get(&location.mapping).map(|file| self.profile.text(*file));
        let file = file.unwrap_or_default();
        let module = file.rsplit('/').next().unwrap_or_default();
        if location.line.is_empty() {
            let name = format!("{:#x}", location.address);
            return vec![self.sink.frame(&name, module, FrameType::Unknown, -1)];
        }
        let mut frames = Vec::new();
        for line in location.line.iter().take(INLINED) {
            let name = self.profile.functions.get(&line.function).map(|name| self.profile.text(*name));
            let name = name.unwrap_or_default();
            let (name, frame_type) = if module.starts_with("[kernel") {
                (name.into_owned(), FrameType::Kernel)
            } else if module == "libjvm.so" {
                (java_names::native(&name).into_owned(), FrameType::Jvm)
            } else {
                frame_of(&name)
            };
            self.java |= !matches!(frame_type, FrameType::Native | FrameType::Kernel | FrameType::Jvm);
            let module = if frame_type == FrameType::Kernel { "kernel" } else { module };
            let number = i32::try_from(line.line).ok().filter(|n| *n > 0).unwrap_or(-1);
            frames.push(self.sink.frame(&name, module, frame_type, number));
        }
        frames
    }

    /// The thread, where labels name one.
    fn thread(&mut self, sample: &Sample) -> Option<ThreadId> {
        let (mut name, mut tid) = (0, 0);
        for label in &sample.label {
            match &*self.profile.text(label.key) {
                "thread" | "thread_name" | "thread name" | "comm" if label.text > 0 => name = label.text,
                "tid" | "thread_id" | "thread id" => tid = label.number,
                _ => {}
            }
        }
        if name == 0 && tid <= 0 {
            return None;
        }
        if let Some(known) = self.threads.get(&(name, tid)) {
            return Some(*known);
        }
        let text = self.profile.text(name);
        let role = Role::of_named(&text, Some(false));
        let thread = self.sink.thread(self.process, (tid > 0).then_some(tid), &text, role);
        self.threads.insert((name, tid), thread);
        Some(thread)
    }

    fn finish(self, bytes: u64) {
        let profile = self.profile;
        self.sink.process_mut(self.process).jvm = self.java;
        let check = Check {
            claim: "locations of samples are described".to_owned(),
            holds: self.missing == 0,
            detail: format!("{} of {} are missing", whole(self.missing), whole(self.frames.len())),
        };
        let source = self.sink.source_mut(self.source);
        source.clock = if profile.time_ns > 0 { ClockBasis::Epoch } else { ClockBasis::None };
        source.covers_ns = (profile.time_ns > 0)
            .then(|| (profile.time_ns, profile.time_ns.saturating_add(profile.duration_ns)));
        source.bytes = bytes;
        source.records = self.records;
        source.cut = profile.damaged || bytes >= LARGEST;
        source.checks = vec![check];
    }
}

#[cfg(test)]
mod tests;
