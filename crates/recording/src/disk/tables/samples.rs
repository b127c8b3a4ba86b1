//! samples: one row per sampled stack.

use std::ops::Range;

use arrow_array::ArrayRef;
use arrow_schema::Field;

use super::{Growth, Table};
use crate::disk::columns::{self, Columns, Damage, id, long, optional, text};
use crate::{ProcessId, Recording, SourceId};

pub(super) struct SamplesTable;

impl Table for SamplesTable {
    fn name(&self) -> &'static str {
        "samples"
    }

    fn growth(&self) -> Growth {
        Growth::Bulk
    }

    fn fields(&self) -> Vec<Field> {
        vec![
            long("t_ns"),
            text("kind"),
            id("process_id"),
            optional(id("thread_id")),
            optional(id("stack_id")),
            long("weight"),
            id("source_id"),
        ]
    }

    fn rows(&self, recording: &Recording) -> usize {
        recording.samples.len()
    }

    fn encode(&self, recording: &Recording, rows: Range<usize>, _first_id: usize) -> Vec<ArrayRef> {
        let samples = &recording.samples;
        let origins = samples.origins.rows(rows.clone());
        vec![
            columns::longs(samples.t_ns[rows.clone()].iter().copied()),
            columns::texts(&recording.strings, origins.clone().map(|(kind, ..)| kind)),
            columns::ids(origins.clone().map(|(_, process, _)| process.0)),
            columns::optional_ids(samples.thread[rows.clone()].iter().copied()),
            columns::optional_ids(samples.stack[rows.clone()].iter().copied()),
            columns::longs(samples.weight.rows(rows).map(|weight| weight as i64)),
            columns::ids(origins.map(|(.., source)| source.0)),
        ]
    }

    fn decode(&self, columns: &Columns<'_>, recording: &mut Recording) -> Result<(), Damage> {
        let (times, weights) = (columns.longs("t_ns")?, columns.longs("weight")?);
        let processes = columns.ids("process_id", recording.processes.len())?;
        let threads = columns.optional_ids("thread_id", recording.threads.len())?;
        let stacks = columns.optional_ids("stack_id", recording.stacks.len())?;
        let sources = columns.ids("source_id", recording.sources.len())?;
        let kinds = columns.texts("kind", &mut recording.strings)?;
        let samples = &mut recording.samples;
        samples.t_ns.extend_from_slice(times);
        for ((kind, process), source) in kinds.into_iter().zip(processes).zip(sources) {
            samples.origins.push((kind, ProcessId(process), SourceId(source)));
        }
        samples.thread.extend(threads);
        samples.stack.extend(stacks);
        weights.iter().for_each(|weight| samples.weight.push(*weight as u64));
        Ok(())
    }

    fn clear(&self, recording: &mut Recording) {
        let samples = &mut recording.samples;
        samples.t_ns.clear();
        samples.origins.clear();
        samples.thread.clear();
        samples.stack.clear();
        samples.weight.clear();
    }
}
