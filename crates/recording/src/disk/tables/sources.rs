//! sources: one row per collector or file (one JVM run within it) that fed the recording.

use std::ops::Range;

use arrow_array::ArrayRef;
use arrow_schema::Field;

use super::{Growth, Table, older_unseen};
use crate::disk::columns::{self, Columns, Damage, flag, id, long, optional, text};
use crate::spans::NONE;
use crate::{Placement, Recording, Source};

pub(super) struct Sources;

impl Table for Sources {
    fn name(&self) -> &'static str {
        "sources"
    }

    fn growth(&self) -> Growth {
        Growth::Small
    }

    fn fields(&self) -> Vec<Field> {
        vec![
            id("source_id"),
            text("name"),
            text("format"),
            optional(id("process_id")),
            optional(long("from_ns")),
            optional(long("to_ns")),
            long("records"),
            long("skipped"),
            long("lost"),
            long("lines"),
            long("bytes"),
            flag("cut"),
            text("clock"),
            flag("wall"),
            long("offset_ns"),
            optional(long("uncertainty_ns")),
            text("placed_by"),
            text("anchor"),
            text("segments"),
            text("unknown"),
            text("checks"),
            text("unseen"),
            text("sampling"),
        ]
    }

    fn rows(&self, recording: &Recording) -> usize {
        recording.sources.len()
    }

    fn encode(&self, recording: &Recording, rows: Range<usize>, first_id: usize) -> Vec<ArrayRef> {
        let sources = &recording.sources[rows];
        let all = || sources.iter();
        vec![
            columns::ids((first_id as u32..).take(sources.len())),
            columns::plain_texts(all().map(|s| &s.name)),
            columns::plain_texts(all().map(|s| &s.format)),
            columns::optional_ids(all().map(|s| s.process.unwrap_or(NONE))),
            columns::optional_longs(all().map(|s| s.covers_ns.map(|c| c.0))),
            columns::optional_longs(all().map(|s| s.covers_ns.map(|c| c.1))),
            columns::counts(all().map(|s| s.records)),
            columns::counts(all().map(|s| s.skipped)),
            columns::counts(all().map(|s| s.lost)),
            columns::counts(all().map(|s| s.lines)),
            columns::counts(all().map(|s| s.bytes)),
            columns::flags(all().map(|s| s.cut)),
            columns::words(all().map(|s| s.clock)),
            columns::flags(all().map(|s| s.placement.wall)),
            columns::longs(all().map(|s| s.placement.offset_ns)),
            columns::optional_longs(all().map(|s| s.placement.uncertainty_ns)),
            columns::plain_texts(all().map(|s| &s.placement.how)),
            columns::json(all().map(|s| &s.anchor)),
            columns::json(all().map(|s| &s.segments)),
            columns::json(all().map(|s| &s.unknown)),
            columns::json(all().map(|s| &s.checks)),
            columns::json(all().map(|s| &s.unseen)),
            columns::json(all().map(|s| &s.sampling)),
        ]
    }

    fn decode(&self, columns: &Columns<'_>, recording: &mut Recording) -> Result<(), Damage> {
        columns.counts_on_from("source_id", recording.sources.len())?;
        let mut sources = vec![Source::default(); columns.rows()];
        let processes = columns.optional_ids("process_id", recording.processes.len())?;
        let froms = columns.optional_longs("from_ns")?;
        let tos = columns.optional_longs("to_ns")?;
        let (clocks, anchors) = (columns.words("clock")?, columns.json("anchor")?);
        let placements = placements(columns)?;
        let (walls, flags) = (columns.flags("wall")?, columns.flags("cut")?);
        for (i, source) in sources.iter_mut().enumerate() {
            source.process = (processes[i] != NONE).then_some(processes[i]);
            source.covers_ns = froms[i].zip(tos[i]);
            source.clock = clocks[i];
            source.placement = Placement { wall: walls[i], ..placements[i].clone() };
            source.cut = flags[i];
        }
        let mut set = |name: &str, field: fn(&mut Source) -> &mut u64| -> Result<(), Damage> {
            let counts = columns.counts(name)?;
            sources.iter_mut().zip(counts).for_each(|(source, count)| *field(source) = count);
            Ok(())
        };
        set("records", |s| &mut s.records)?;
        set("skipped", |s| &mut s.skipped)?;
        set("lost", |s| &mut s.lost)?;
        set("lines", |s| &mut s.lines)?;
        set("bytes", |s| &mut s.bytes)?;
        fill(&mut sources, columns.strings("name")?, |s| &mut s.name);
        fill(&mut sources, columns.strings("format")?, |s| &mut s.format);
        fill(&mut sources, anchors, |s| &mut s.anchor);
        fill(&mut sources, columns.json("segments")?, |s| &mut s.segments);
        fill(&mut sources, columns.json("unknown")?, |s| &mut s.unknown);
        fill(&mut sources, columns.json("checks")?, |s| &mut s.checks);
        fill(&mut sources, columns.added_json("unseen")?, |s| &mut s.unseen);
        sources.iter_mut().for_each(older_unseen::scopes);
        fill(&mut sources, columns.added_json("sampling")?, |s| &mut s.sampling);
        recording.sources.extend(sources);
        Ok(())
    }
}

/// How each source was placed; `wall` is filled in by the caller.
fn placements(columns: &Columns<'_>) -> Result<Vec<Placement>, Damage> {
    let offsets = columns.longs("offset_ns")?;
    let uncertainties = columns.optional_longs("uncertainty_ns")?;
    let hows = columns.strings("placed_by")?;
    let rows = offsets.iter().zip(uncertainties).zip(hows);
    let placements = rows.map(|((offset_ns, uncertainty_ns), how)| Placement {
        wall: false,
        offset_ns: *offset_ns,
        uncertainty_ns,
        how,
    });
    Ok(placements.collect())
}

fn fill<T>(sources: &mut [Source], values: Vec<T>, field: fn(&mut Source) -> &mut T) {
    sources.iter_mut().zip(values).for_each(|(source, value)| *field(source) = value);
}
