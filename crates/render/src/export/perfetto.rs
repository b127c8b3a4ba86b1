//! Perfetto's protobuf trace: tracks by process and thread, spans as slices, series as counters,
//! stacks as samples.
//!
//! Source of the fields: google/perfetto, protos/perfetto/trace (trace_packet, track_event,
//! interned_data, profiling/profile_packet and profile_common). Slices of one track have to nest:
//! spans that overlap get a track for each row that they need. A stack sample is a point in time
//! without a weight, so weights are lost; kinds stand apart by their timebase.

use std::collections::BTreeMap;
use std::io::{self, Write};

use fathom_recording::{FrameId, ProcessId, StackId, ThreadId};
use prost::Message;

use super::stacks::{self, Ids};
use super::{Export, ExportError, Request, Written, counts, other_kinds};
use crate::flame::names;

/// See the module.
pub(super) struct Perfetto;

/// All packets are of one sequence.
const SEQUENCE: u32 = 1;
/// SEQ_INCREMENTAL_STATE_CLEARED: interned data begins here.
const CLEARED: u32 = 1;
/// SEQ_NEEDS_INCREMENTAL_STATE.
const NEEDED: u32 = 2;
/// TrackEvent.Type.
const SLICE_BEGIN: i32 = 1;
const SLICE_END: i32 = 2;
const INSTANT: i32 = 3;
const COUNTER: i32 = 4;
/// Process ids are 32 bits there; processes whose id is not known get one from here on.
const UNKNOWN_PID: i32 = 1 << 30;

#[derive(Clone, PartialEq, Message)]
pub(super) struct TracePacket {
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    #[prost(uint32, tag = "10")]
    pub trusted_packet_sequence_id: u32,
    #[prost(message, optional, tag = "11")]
    pub track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "12")]
    pub interned_data: Option<InternedData>,
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    #[prost(message, optional, tag = "60")]
    pub track_descriptor: Option<TrackDescriptor>,
    #[prost(message, optional, tag = "66")]
    pub perf_sample: Option<PerfSample>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackEvent {
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
    #[prost(int32, tag = "9")]
    pub kind: i32,
    #[prost(uint64, tag = "11")]
    pub track_uuid: u64,
    #[prost(string, repeated, tag = "22")]
    pub categories: Vec<String>,
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    #[prost(double, optional, tag = "44")]
    pub double_counter_value: Option<f64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DebugAnnotation {
    #[prost(double, optional, tag = "5")]
    pub double_value: Option<f64>,
    #[prost(string, optional, tag = "6")]
    pub string_value: Option<String>,
    #[prost(string, tag = "10")]
    pub name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackDescriptor {
    #[prost(uint64, tag = "1")]
    pub uuid: u64,
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    #[prost(message, optional, tag = "3")]
    pub process: Option<ProcessDescriptor>,
    #[prost(message, optional, tag = "4")]
    pub thread: Option<ThreadDescriptor>,
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ProcessDescriptor {
    #[prost(int32, tag = "1")]
    pub pid: i32,
    #[prost(string, tag = "6")]
    pub process_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ThreadDescriptor {
    #[prost(int32, tag = "1")]
    pub pid: i32,
    #[prost(int32, tag = "2")]
    pub tid: i32,
    #[prost(string, tag = "5")]
    pub thread_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct CounterDescriptor {
    #[prost(string, tag = "6")]
    pub unit_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct InternedData {
    #[prost(message, repeated, tag = "5")]
    pub function_names: Vec<InternedString>,
    #[prost(message, repeated, tag = "6")]
    pub frames: Vec<InternedFrame>,
    #[prost(message, repeated, tag = "7")]
    pub callstacks: Vec<Callstack>,
    #[prost(message, repeated, tag = "17")]
    pub mapping_paths: Vec<InternedString>,
    #[prost(message, repeated, tag = "19")]
    pub mappings: Vec<Mapping>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct InternedString {
    #[prost(uint64, tag = "1")]
    pub iid: u64,
    #[prost(bytes = "vec", tag = "2")]
    pub text: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct InternedFrame {
    #[prost(uint64, tag = "1")]
    pub iid: u64,
    #[prost(uint64, tag = "2")]
    pub function_name_id: u64,
    #[prost(uint64, tag = "3")]
    pub mapping_id: u64,
    #[prost(uint64, tag = "4")]
    pub rel_pc: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Callstack {
    #[prost(uint64, tag = "1")]
    pub iid: u64,
    /// The root first.
    #[prost(uint64, repeated, packed = "false", tag = "2")]
    pub frame_ids: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Mapping {
    #[prost(uint64, tag = "1")]
    pub iid: u64,
    #[prost(uint64, repeated, packed = "false", tag = "7")]
    pub path_string_ids: Vec<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PerfSample {
    #[prost(uint32, tag = "2")]
    pub pid: u32,
    #[prost(uint32, tag = "3")]
    pub tid: u32,
    #[prost(uint64, tag = "4")]
    pub callstack_iid: u64,
}

impl Export for Perfetto {
    fn id(&self) -> &'static str {
        "perfetto"
    }

    fn extension(&self) -> &'static str {
        "pftrace"
    }

    fn about(&self) -> &'static str {
        "for ui.perfetto.dev: spans, counts, series, and the first kind of samples without weights, all on one timeline"
    }

    fn write(&self, request: &Request<'_>, out: &mut (dyn Write + Send)) -> Result<Written, ExportError> {
        let mut trace =
            Trace { request, out, next_track: 1, threads: BTreeMap::new(), processes: BTreeMap::new() };
        let mut written = Written::default();
        trace.samples(&mut written)?;
        trace.spans(&mut written)?;
        trace.series(&mut written)?;
        if written == Written::default() {
            return Err(ExportError::Nothing("sample, span, count or series"));
        }
        if written.samples > 0 {
            written.left_out.push("weights of samples: Perfetto counts them".into());
        }
        Ok(written)
    }
}

/// Tracks of one thread and kind: when the last slice of each ends, and its id.
type Tracks = Vec<(i64, u64)>;

struct Trace<'a> {
    request: &'a Request<'a>,
    out: &'a mut (dyn Write + Send),
    next_track: u64,
    threads: BTreeMap<(u32, Option<u32>), u64>,
    processes: BTreeMap<u32, u64>,
}

impl Trace<'_> {
    /// A trace is its packets one after the other, each as field 1 of the message Trace.
    fn packet(&mut self, packet: TracePacket) -> io::Result<()> {
        let packet = TracePacket { trusted_packet_sequence_id: SEQUENCE, ..packet };
        let mut bytes = vec![0x0a];
        prost::encoding::encode_varint(packet.encoded_len() as u64, &mut bytes);
        packet.encode_raw(&mut bytes);
        self.out.write_all(&bytes)
    }

    fn new_track(&mut self, descriptor: TrackDescriptor) -> io::Result<u64> {
        let uuid = self.next_track;
        self.next_track += 1;
        let track_descriptor = Some(TrackDescriptor { uuid, ..descriptor });
        self.packet(TracePacket { track_descriptor, ..TracePacket::default() })?;
        Ok(uuid)
    }

    fn pid(&self, process: ProcessId) -> i32 {
        let (_, pid) = stacks::process(self.request.recording, process);
        let known = pid.and_then(|pid| i32::try_from(pid).ok());
        known.unwrap_or_else(|| UNKNOWN_PID.saturating_add(process.0 as i32))
    }

    fn tid(&self, process: ProcessId, thread: Option<ThreadId>) -> i32 {
        let (_, tid) = stacks::thread(self.request.recording, thread);
        let unknown = thread.map_or(self.pid(process), |thread| UNKNOWN_PID.saturating_add(thread.0 as i32));
        tid.and_then(|tid| i32::try_from(tid).ok()).unwrap_or(unknown)
    }

    fn process(&mut self, process: ProcessId) -> io::Result<u64> {
        if let Some(track) = self.processes.get(&process.0) {
            return Ok(*track);
        }
        let (process_name, _) = stacks::process(self.request.recording, process);
        let descriptor = ProcessDescriptor { pid: self.pid(process), process_name };
        let track =
            self.new_track(TrackDescriptor { process: Some(descriptor), ..TrackDescriptor::default() })?;
        self.processes.insert(process.0, track);
        Ok(track)
    }

    fn thread(&mut self, process: ProcessId, thread: Option<ThreadId>) -> io::Result<u64> {
        let parent = self.process(process)?;
        let key = (process.0, thread.map(|t| t.0));
        if let Some(track) = self.threads.get(&key) {
            return Ok(*track);
        }
        let Some(_) = thread else {
            self.threads.insert(key, parent);
            return Ok(parent);
        };
        let (thread_name, _) = stacks::thread(self.request.recording, thread);
        let descriptor =
            ThreadDescriptor { pid: self.pid(process), tid: self.tid(process, thread), thread_name };
        let descriptor = TrackDescriptor {
            thread: Some(descriptor),
            parent_uuid: Some(parent),
            ..TrackDescriptor::default()
        };
        let track = self.new_track(descriptor)?;
        self.threads.insert(key, track);
        Ok(track)
    }

    /// Stacks are interned in the first packet; every sample refers to them.
    fn samples(&mut self, written: &mut Written) -> Result<(), ExportError> {
        let recording = self.request.recording;
        let Ok(kinds) = self.request.all_rows() else {
            return Ok(self.packet(TracePacket { sequence_flags: Some(CLEARED), ..TracePacket::default() })?);
        };
        written.left_out = other_kinds(&kinds);
        let Some((_, rows)) = kinds.first() else { return Ok(()) };
        let mut callstacks: Ids<Option<StackId>> = Ids::default();
        let mut frames: Ids<FrameId> = Ids::default();
        let mut names: Ids<String> = Ids::default();
        let mut modules: Ids<String> = Ids::default();
        rows.rows.iter().for_each(|row| {
            callstacks.id(row.stack);
        });
        let mut interned = InternedData::default();
        for (i, stack) in callstacks.list.iter().enumerate() {
            let path = stacks::path(recording, *stack).into_iter().map(|f| u64::from(frames.id(f)) + 1);
            interned.callstacks.push(Callstack { iid: i as u64 + 1, frame_ids: path.collect() });
        }
        for (i, frame) in frames.list.iter().enumerate() {
            let (name, module, _, _) = stacks::described(recording, *frame);
            let module = if module.is_empty() { "Java".to_owned() } else { module };
            let function_name_id = u64::from(names.id(name)) + 1;
            let mapping_id = u64::from(modules.id(module)) + 1;
            // Frames of one mapping are distinguished by their place in it.
            let iid = i as u64 + 1;
            interned.frames.push(InternedFrame { iid, function_name_id, mapping_id, rel_pc: iid });
        }
        let text = |(i, text): (usize, &String)| InternedString {
            iid: i as u64 + 1,
            text: text.clone().into_bytes(),
        };
        interned.function_names = names.list.iter().enumerate().map(text).collect();
        interned.mapping_paths = modules.list.iter().enumerate().map(text).collect();
        let mapping = |i: usize| Mapping { iid: i as u64 + 1, path_string_ids: vec![i as u64 + 1] };
        interned.mappings = (0..modules.list.len()).map(mapping).collect();
        self.packet(TracePacket {
            interned_data: Some(interned),
            sequence_flags: Some(CLEARED),
            ..TracePacket::default()
        })?;
        let mut rows = rows.rows.clone();
        rows.sort_by_key(|row| row.t_ns);
        for row in rows {
            self.thread(row.process, row.thread)?;
            let sample = PerfSample {
                pid: self.pid(row.process) as u32,
                tid: self.tid(row.process, row.thread) as u32,
                callstack_iid: u64::from(callstacks.id(row.stack)) + 1,
            };
            self.packet(TracePacket {
                timestamp: Some(row.t_ns.max(0) as u64),
                perf_sample: Some(sample),
                sequence_flags: Some(NEEDED),
                ..TracePacket::default()
            })?;
            written.samples += 1;
        }
        Ok(())
    }

    fn spans(&mut self, written: &mut Written) -> Result<(), ExportError> {
        let recording = self.request.recording;
        for (kind, _) in recording.kinds() {
            let mut rows: BTreeMap<(u32, Option<u32>), Tracks> = BTreeMap::new();
            for span in recording.spans_of(kind) {
                let (from, to) = (span.t0_ns(), span.t1_ns());
                if !self.request.in_window(from, to) {
                    continue;
                }
                let key = (span.process().0, span.thread().map(|t| t.0));
                let parent = self.thread(span.process(), span.thread())?;
                let tracks = rows.entry(key).or_default();
                let track = match tracks.iter_mut().find(|(end, _)| *end <= from) {
                    Some((end, track)) => {
                        *end = to;
                        *track
                    }
                    None => {
                        let uuid = self.new_track(TrackDescriptor {
                            name: Some(names::shown(kind)),
                            parent_uuid: Some(parent),
                            ..TrackDescriptor::default()
                        })?;
                        rows.entry(key).or_default().push((to, uuid));
                        uuid
                    }
                };
                let figures = span.figures().filter(|(_, value)| value.is_finite()).map(|(key, value)| {
                    DebugAnnotation {
                        double_value: Some(value),
                        name: key.to_owned(),
                        ..DebugAnnotation::default()
                    }
                });
                let labels = span.labels().map(|(key, value)| DebugAnnotation {
                    string_value: Some(names::shown(value)),
                    name: key.to_owned(),
                    ..DebugAnnotation::default()
                });
                let event = TrackEvent {
                    debug_annotations: figures.chain(labels).collect(),
                    kind: if to > from { SLICE_BEGIN } else { INSTANT },
                    track_uuid: track,
                    categories: vec![names::shown(kind)],
                    name: Some(names::shown(span.name())),
                    double_counter_value: None,
                };
                self.event(from, event)?;
                if to > from {
                    let end = TrackEvent { kind: SLICE_END, track_uuid: track, ..TrackEvent::default() };
                    self.event(to, end)?;
                }
                written.spans += 1;
            }
        }
        Ok(())
    }

    /// Series, and counts as such.
    fn series(&mut self, written: &mut Written) -> Result<(), ExportError> {
        let request = self.request;
        let counts = counts::as_series(request.recording);
        for series in request.recording.series.iter().chain(&counts) {
            let info = &series.info;
            let mut points = series
                .t_ns
                .iter()
                .zip(&series.value)
                .filter(|(t, v)| request.in_window(**t, **t) && v.is_finite());
            let Some(first) = points.next() else { continue };
            let parent_uuid = info.process.map(|process| self.process(process)).transpose()?;
            let name = format!("{} {}", names::shown(&info.name), names::shown(&info.instance));
            let counter = Some(CounterDescriptor { unit_name: names::shown(&info.unit) });
            let name = Some(name.trim_end().to_owned());
            let track =
                self.new_track(TrackDescriptor { name, counter, parent_uuid, ..TrackDescriptor::default() })?;
            for (t_ns, value) in std::iter::once(first).chain(points) {
                let value = Some(*value);
                let event = TrackEvent {
                    kind: COUNTER,
                    track_uuid: track,
                    double_counter_value: value,
                    ..TrackEvent::default()
                };
                self.event(*t_ns, event)?;
                written.points += 1;
            }
        }
        Ok(())
    }

    fn event(&mut self, t_ns: i64, event: TrackEvent) -> io::Result<()> {
        let timestamp = Some(t_ns.max(0) as u64);
        let sequence_flags = Some(NEEDED);
        self.packet(TracePacket {
            timestamp,
            track_event: Some(event),
            sequence_flags,
            ..TracePacket::default()
        })
    }
}
