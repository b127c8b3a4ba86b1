//! speedscope's own JSON: sampled profiles. Source: jlfwong/speedscope,
//! src/lib/file-format-spec.ts.
//!
//! One profile for each kind with all threads together, each stack once; or, thread by thread, one
//! for each with its samples in the order of time. No spans, no series.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;

use fathom_diagnose::stacks::Row;
use fathom_recording::{FrameId, StackId};
use serde::Serialize;

use super::stacks::{self, Ids};
use super::{Export, ExportError, Request, Written};

/// See the module.
pub(super) struct Speedscope;

#[derive(Serialize)]
struct File {
    #[serde(rename = "$schema")]
    schema: &'static str,
    shared: Shared,
    profiles: Vec<Profile>,
    name: String,
    #[serde(rename = "activeProfileIndex")]
    active: usize,
    exporter: String,
}

#[derive(Serialize)]
struct Shared {
    frames: Vec<Frame>,
}

#[derive(Serialize)]
struct Frame {
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<i32>,
}

#[derive(Serialize)]
struct Profile {
    #[serde(rename = "type")]
    kind: &'static str,
    name: String,
    unit: &'static str,
    #[serde(rename = "startValue")]
    start: i64,
    #[serde(rename = "endValue")]
    end: i64,
    samples: Vec<Vec<u32>>,
    weights: Vec<i64>,
}

impl Export for Speedscope {
    fn id(&self) -> &'static str {
        "speedscope"
    }

    fn extension(&self) -> &'static str {
        "speedscope.json"
    }

    fn about(&self) -> &'static str {
        "for speedscope.app: all kinds of samples; with --per-thread in the order of time"
    }

    fn write(&self, request: &Request<'_>, out: &mut (dyn Write + Send)) -> Result<Written, ExportError> {
        let recording = request.recording;
        let mut frames: Ids<FrameId> = Ids::default();
        let mut profiles = Vec::new();
        let mut samples = 0;
        for (kind, rows) in request.all_rows()? {
            samples += rows.rows.len();
            let unit = match request.unit(kind) {
                "ns" => "nanoseconds",
                "bytes" => "bytes",
                _ => "none",
            };
            let mut groups: BTreeMap<Option<u32>, Vec<&Row>> = BTreeMap::new();
            for row in &rows.rows {
                let thread = row.thread.filter(|_| request.per_thread).map(|t| t.0);
                groups.entry(thread).or_default().push(row);
            }
            for (thread, mut group) in groups {
                let mut name = kind.to_owned();
                if request.per_thread {
                    group.sort_by_key(|row| row.t_ns);
                    let (thread, tid) = stacks::thread(recording, thread.map(fathom_recording::ThreadId));
                    name = format!("{kind}: {thread}");
                    name.extend(tid.map(|tid| format!(" [tid {tid}]")));
                }
                let merged = if request.per_thread { in_order(&group) } else { each_once(&group) };
                let stack = |(stack, _): &(Option<StackId>, i64)| {
                    let path = stacks::path(recording, *stack);
                    path.into_iter().map(|frame| frames.id(frame)).collect()
                };
                let end = merged.iter().fold(0, |sum: i64, (_, weight)| sum.saturating_add(*weight));
                profiles.push(Profile {
                    kind: "sampled",
                    name,
                    unit,
                    start: 0,
                    end,
                    samples: merged.iter().map(stack).collect(),
                    weights: merged.iter().map(|(_, weight)| *weight).collect(),
                });
            }
        }
        let described = |frame: &FrameId| {
            let (name, file, _, line) = stacks::described(recording, *frame);
            Frame { name, file, line: (line >= 0).then_some(line) }
        };
        let file = File {
            schema: "https://www.speedscope.app/file-format-schema.json",
            shared: Shared { frames: frames.list.iter().map(described).collect() },
            profiles,
            name: crate::printable(&request.title).into_owned(),
            active: 0,
            exporter: format!("fathom {}", env!("CARGO_PKG_VERSION")),
        };
        serde_json::to_writer(out, &file)?;
        Ok(Written { samples, ..Written::default() })
    }
}

/// Stacks in the order of time; neighbours that are the same are one.
fn in_order(rows: &[&Row]) -> Vec<(Option<StackId>, i64)> {
    let mut merged: Vec<(Option<StackId>, i64)> = Vec::new();
    for row in rows {
        match merged.last_mut() {
            Some((stack, weight)) if *stack == row.stack => *weight = weight.saturating_add(row.weight),
            _ => merged.push((row.stack, row.weight)),
        }
    }
    merged
}

/// Each stack once, in the order in which they first come.
fn each_once(rows: &[&Row]) -> Vec<(Option<StackId>, i64)> {
    let mut places: HashMap<Option<StackId>, usize> = HashMap::new();
    let mut merged: Vec<(Option<StackId>, i64)> = Vec::new();
    for row in rows {
        let place = *places.entry(row.stack).or_insert(merged.len());
        match merged.get_mut(place) {
            Some((_, weight)) => *weight = weight.saturating_add(row.weight),
            None => merged.push((row.stack, row.weight)),
        }
    }
    merged
}
