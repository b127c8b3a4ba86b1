//! counts: one row per interval and what was counted in it, with its figures.

use std::ops::Range;

use arrow_array::ArrayRef;
use arrow_schema::Field;

use super::{Growth, Table, figures};
use crate::disk::columns::{self, Columns, Damage, id, long, optional, text};
use crate::narrow::NONE;
use crate::{CountRow, ProcessId, Recording, SourceId, ThreadId};

pub(super) struct CountsTable;

/// In memory: no key.
const NO_KEY: i64 = -1;

impl Table for CountsTable {
    fn name(&self) -> &'static str {
        "counts"
    }

    fn since(&self) -> u32 {
        2
    }

    fn growth(&self) -> Growth {
        Growth::Bulk
    }

    fn fields(&self) -> Vec<Field> {
        vec![
            text("kind"),
            text("name"),
            long("t0_ns"),
            long("t1_ns"),
            id("process_id"),
            optional(id("thread_id")),
            id("source_id"),
            optional(long("key")),
            long("count"),
            optional(long("total_ns")),
            figures::field(),
        ]
    }

    fn rows(&self, recording: &Recording) -> usize {
        recording.counts.len()
    }

    fn encode(&self, recording: &Recording, rows: Range<usize>, _first_id: usize) -> Vec<ArrayRef> {
        let (counts, strings) = (&recording.counts, &recording.strings);
        let keys = rows.clone().map(|i| Some(counts.key_of(i)).filter(|key| *key != NO_KEY));
        let totals = rows.clone().map(|i| counts.total_of(i));
        let totals = totals.map(|ns| ns.map(|ns| i64::try_from(ns).unwrap_or(i64::MAX)));
        vec![
            columns::texts(strings, counts.kind[rows.clone()].iter().copied()),
            columns::texts(strings, counts.name[rows.clone()].iter().copied()),
            columns::longs(counts.t0_ns[rows.clone()].iter().copied()),
            columns::longs(counts.t1_ns[rows.clone()].iter().copied()),
            columns::ids(counts.origins.rows(rows.clone()).map(|(process, _)| process.0)),
            columns::optional_ids(counts.thread.rows(rows.clone())),
            columns::ids(counts.origins.rows(rows.clone()).map(|(_, source)| source.0)),
            columns::optional_longs(keys),
            columns::counts(rows.clone().map(|i| counts.count_of(i))),
            columns::optional_longs(totals),
            figures::encode(&counts.figures, strings, rows),
        ]
    }

    fn decode(&self, columns: &Columns<'_>, recording: &mut Recording) -> Result<(), Damage> {
        let first = recording.counts.len();
        let (t0s, t1s) = (columns.longs("t0_ns")?, columns.longs("t1_ns")?);
        if let Some(row) = (0..t0s.len()).find(|i| t1s[*i] < t0s[*i]) {
            return Err(Damage(format!("count {} ends before it starts", first + row)));
        }
        let processes = columns.ids("process_id", recording.processes.len())?;
        let threads = columns.optional_ids("thread_id", recording.threads.len())?;
        let sources = columns.ids("source_id", recording.sources.len())?;
        let (keys, numbers) = (columns.optional_longs("key")?, columns.counts("count")?);
        let totals = columns.optional_counts("total_ns")?;
        let strings = &mut recording.strings;
        let kinds = columns.texts("kind", strings)?;
        let names = columns.texts("name", strings)?;
        let figures = figures::Read::of(columns, strings)?;
        let counts = &mut recording.counts;
        for i in 0..columns.rows() {
            let row = CountRow {
                thread: (threads[i] != NONE).then_some(ThreadId(threads[i])),
                key: keys[i].unwrap_or(NO_KEY),
                total_ns: totals[i],
                ..CountRow::new(
                    strings.get(kinds[i]),
                    strings.get(names[i]),
                    (t0s[i], t1s[i]),
                    ProcessId(processes[i]),
                    SourceId(sources[i]),
                    numbers[i],
                )
            };
            counts.push_without_figures((kinds[i], names[i]), &row);
        }
        figures.push_to(&mut counts.figures);
        Ok(())
    }

    fn clear(&self, recording: &mut Recording) {
        recording.counts.clear();
    }
}
