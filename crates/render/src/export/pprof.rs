//! pprof's profile.proto, gzipped: what `go tool pprof`, Pyroscope, Parca, Perfetto and speedscope
//! read.
//!
//! Source of the fields: google/pprof, proto/profile.proto. Each kind of sample is a value of its
//! own, with a count; threads are labels. No time of single samples, no spans, no series.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;

use fathom_recording::{FrameId, ProcessId, StackId, ThreadId};
use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;

use super::stacks::{self, Ids};
use super::{Export, ExportError, Request, Written};

/// See the module.
pub(super) struct Pprof;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Profile {
    #[prost(message, repeated, tag = "1")]
    pub sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    pub sample: Vec<Sample>,
    #[prost(message, repeated, tag = "3")]
    pub mapping: Vec<Mapping>,
    #[prost(message, repeated, tag = "4")]
    pub location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    pub function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    pub string_table: Vec<String>,
    #[prost(int64, tag = "9")]
    pub time_nanos: i64,
    #[prost(int64, tag = "10")]
    pub duration_nanos: i64,
    #[prost(int64, tag = "14")]
    pub default_sample_type: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct ValueType {
    #[prost(int64, tag = "1")]
    pub kind: i64,
    #[prost(int64, tag = "2")]
    pub unit: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Sample {
    /// The leaf first.
    #[prost(uint64, repeated, tag = "1")]
    pub location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    pub value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    pub label: Vec<Label>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Label {
    #[prost(int64, tag = "1")]
    pub key: i64,
    #[prost(int64, tag = "2")]
    pub str: i64,
    #[prost(int64, tag = "3")]
    pub num: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Mapping {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(int64, tag = "5")]
    pub filename: i64,
    #[prost(bool, tag = "7")]
    pub has_functions: bool,
    #[prost(bool, tag = "8")]
    pub has_filenames: bool,
    #[prost(bool, tag = "9")]
    pub has_line_numbers: bool,
    #[prost(bool, tag = "10")]
    pub has_inline_frames: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Location {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(uint64, tag = "2")]
    pub mapping_id: u64,
    #[prost(message, repeated, tag = "4")]
    pub line: Vec<Line>,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Line {
    #[prost(uint64, tag = "1")]
    pub function_id: u64,
    #[prost(int64, tag = "2")]
    pub line: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(super) struct Function {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(int64, tag = "2")]
    pub name: i64,
    #[prost(int64, tag = "3")]
    pub system_name: i64,
    #[prost(int64, tag = "4")]
    pub filename: i64,
}

impl Export for Pprof {
    fn id(&self) -> &'static str {
        "pprof"
    }

    fn extension(&self) -> &'static str {
        "pb.gz"
    }

    fn about(&self) -> &'static str {
        "for go tool pprof, Pyroscope, Parca: all kinds of samples, threads as labels, no time"
    }

    fn write(&self, request: &Request<'_>, out: &mut (dyn Write + Send)) -> Result<Written, ExportError> {
        let (profile, samples) = profile(request)?;
        let mut packed = GzEncoder::new(out, Compression::default());
        packed.write_all(&profile.encode_to_vec())?;
        packed.finish()?;
        Ok(Written { samples, ..Written::default() })
    }
}

/// The profile, and how many samples are in it.
pub(super) fn profile(request: &Request<'_>) -> Result<(Profile, usize), ExportError> {
    let recording = request.recording;
    let rows = request.all_rows()?;
    let mut strings: Ids<String> = Ids::default();
    strings.id(String::new());
    let mut frames: Ids<FrameId> = Ids::default();
    let mut profile = Profile::default();
    let text = |strings: &mut Ids<String>, text: &str| i64::from(strings.id(text.to_owned()));
    for (kind, _) in &rows {
        let unit = match request.unit(kind) {
            "ns" => "nanoseconds",
            unit => unit,
        };
        let count = ValueType {
            kind: text(&mut strings, &format!("{kind} samples")),
            unit: text(&mut strings, "count"),
        };
        profile
            .sample_type
            .extend([count, ValueType { kind: text(&mut strings, kind), unit: text(&mut strings, unit) }]);
    }
    profile.default_sample_type = profile.sample_type[1].kind;
    let mut places: HashMap<(Option<StackId>, Option<ThreadId>), usize> = HashMap::new();
    let values = profile.sample_type.len();
    let mut samples = 0;
    for (at, (_, rows)) in rows.iter().enumerate() {
        for row in &rows.rows {
            let place = *places.entry((row.stack, row.thread)).or_insert_with(|| {
                let path = stacks::path(recording, row.stack);
                // Ids of pprof count from 1.
                let location_id =
                    path.into_iter().rev().map(|frame| u64::from(frames.id(frame)) + 1).collect();
                let (name, tid) = stacks::thread(recording, row.thread);
                let mut label =
                    vec![Label { key: text(&mut strings, "thread"), str: text(&mut strings, &name), num: 0 }];
                label.extend(tid.map(|num| Label { key: text(&mut strings, "tid"), str: 0, num }));
                profile.sample.push(Sample { location_id, value: vec![0; values], label });
                profile.sample.len() - 1
            });
            let value = &mut profile.sample[place].value;
            value[2 * at] += 1;
            value[2 * at + 1] = value[2 * at + 1].saturating_add(row.weight);
            samples += 1;
        }
    }
    let mut functions: Ids<(i64, i64)> = Ids::default();
    let mut mappings: Ids<i64> = Ids::default();
    // pprof calls the whole by the first of them: the program, not whatever was sampled first.
    let mut by_process: BTreeMap<ProcessId, usize> = BTreeMap::new();
    rows.iter()
        .flat_map(|(_, rows)| &rows.rows)
        .for_each(|row| *by_process.entry(row.process).or_default() += 1);
    if let Some((process, _)) = by_process.into_iter().max_by_key(|(_, count)| *count) {
        let name = stacks::process(recording, process).0;
        mappings.id(text(&mut strings, &name));
    }
    for (i, frame) in frames.list.iter().enumerate() {
        let (name, module, _, line) = stacks::described(recording, *frame);
        let (name, module) = (text(&mut strings, &name), text(&mut strings, &module));
        let function_id = u64::from(functions.id((name, module))) + 1;
        let mapping_id = u64::from(mappings.id(module)) + 1;
        let line = vec![Line { function_id, line: i64::from(line.max(0)) }];
        profile.location.push(Location { id: i as u64 + 1, mapping_id, line });
    }
    let function = |(i, (name, filename)): (usize, &(i64, i64))| Function {
        id: i as u64 + 1,
        name: *name,
        system_name: *name,
        filename: *filename,
    };
    profile.function = functions.list.iter().enumerate().map(function).collect();
    let mapping = |(i, filename): (usize, &i64)| Mapping {
        id: i as u64 + 1,
        filename: *filename,
        has_functions: true,
        has_filenames: true,
        has_line_numbers: true,
        has_inline_frames: true,
    };
    profile.mapping = mappings.list.iter().enumerate().map(mapping).collect();
    let covered: Vec<_> = rows.iter().flat_map(|(_, rows)| rows.covered.iter()).collect();
    profile.time_nanos = covered.iter().map(|w| w.from_ns).min().unwrap_or(0);
    profile.duration_nanos = rows.iter().map(|(_, rows)| rows.covered_ns()).max().unwrap_or(0);
    profile.string_table = strings.list;
    Ok((profile, samples))
}
