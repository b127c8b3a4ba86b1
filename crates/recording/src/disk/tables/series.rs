//! series: one row per series; its points are rows of series_points.

use std::ops::Range;

use arrow_array::ArrayRef;
use arrow_schema::Field;

use super::{Growth, Table};
use crate::disk::columns::{self, Columns, Damage, id, optional, text};
use crate::spans::NONE;
use crate::{ProcessId, Recording, SeriesInfo, Sink, SourceId};

pub(super) struct SeriesTable;

impl Table for SeriesTable {
    fn name(&self) -> &'static str {
        "series"
    }

    fn growth(&self) -> Growth {
        Growth::Small
    }

    fn fields(&self) -> Vec<Field> {
        vec![
            id("series_id"),
            text("name"),
            text("unit"),
            text("instance"),
            text("kind"),
            optional(id("process_id")),
            id("source_id"),
        ]
    }

    fn rows(&self, recording: &Recording) -> usize {
        recording.series.len()
    }

    fn encode(&self, recording: &Recording, rows: Range<usize>, first_id: usize) -> Vec<ArrayRef> {
        let infos = recording.series[rows].iter().map(|s| &s.info);
        vec![
            columns::ids((first_id as u32..).take(infos.len())),
            columns::plain_texts(infos.clone().map(|s| &s.name)),
            columns::plain_texts(infos.clone().map(|s| &s.unit)),
            columns::plain_texts(infos.clone().map(|s| &s.instance)),
            columns::words(infos.clone().map(|s| s.kind)),
            columns::optional_ids(infos.clone().map(|s| s.process.map_or(NONE, |p| p.0))),
            columns::ids(infos.map(|s| s.source.0)),
        ]
    }

    fn decode(&self, columns: &Columns<'_>, recording: &mut Recording) -> Result<(), Damage> {
        columns.counts_on_from("series_id", recording.series.len())?;
        let (names, units) = (columns.strings("name")?, columns.strings("unit")?);
        let (instances, kinds) = (columns.strings("instance")?, columns.words("kind")?);
        let processes = columns.optional_ids("process_id", recording.processes.len())?;
        let sources = columns.ids("source_id", recording.sources.len())?;
        let owners = processes.into_iter().zip(sources);
        for ((((name, unit), instance), kind), (process, source)) in
            names.into_iter().zip(units).zip(instances).zip(kinds).zip(owners)
        {
            let process = (process != NONE).then_some(ProcessId(process));
            recording.add_series(SeriesInfo {
                name,
                unit,
                instance,
                kind,
                process,
                source: SourceId(source),
            });
        }
        Ok(())
    }
}
