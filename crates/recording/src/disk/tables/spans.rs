//! spans: one row a thing that lasted, with its figures and labels.

use std::ops::Range;

use arrow_array::ArrayRef;
use arrow_schema::Field;

use super::{Growth, Table};
use crate::disk::columns::{self, Columns, Damage, double, id, long, map, optional, text};
use crate::spans::NONE;
use crate::{ProcessId, Recording, SourceId};

pub(super) struct SpansTable;

/// In memory, a key that is none.
const NO_KEY: i64 = -1;
/// In memory, a line that is none.
const NO_LINE: u64 = 0;

fn figures() -> Field {
    map("figures", double("value"))
}

fn labels() -> Field {
    map("labels", text("value"))
}

impl Table for SpansTable {
    fn name(&self) -> &'static str {
        "spans"
    }

    fn growth(&self) -> Growth {
        Growth::Bulk
    }

    fn fields(&self) -> Vec<Field> {
        vec![
            id("span_id"),
            text("kind"),
            text("name"),
            long("t0_ns"),
            long("t1_ns"),
            id("process_id"),
            optional(id("thread_id")),
            optional(id("stack_id")),
            id("source_id"),
            optional(long("line")),
            optional(long("key")),
            optional(id("parent_id")),
            figures(),
            labels(),
        ]
    }

    fn rows(&self, recording: &Recording) -> usize {
        recording.spans.len()
    }

    fn encode(&self, recording: &Recording, rows: Range<usize>, first_id: usize) -> Vec<ArrayRef> {
        let (spans, strings) = (&recording.spans, &recording.strings);
        let lines = spans.line[rows.clone()].iter();
        let lines = lines.map(|l| (*l != NO_LINE).then(|| i64::try_from(*l).unwrap_or(i64::MAX)));
        let first = (first_id + rows.start) as u32;
        vec![
            columns::ids((first..).take(rows.len())),
            columns::texts(strings, spans.kind[rows.clone()].iter().copied()),
            columns::texts(strings, spans.name[rows.clone()].iter().copied()),
            columns::longs(spans.t0_ns[rows.clone()].iter().copied()),
            columns::longs(spans.t1_ns[rows.clone()].iter().copied()),
            columns::ids(spans.process[rows.clone()].iter().map(|p| p.0)),
            columns::optional_ids(spans.thread[rows.clone()].iter().copied()),
            columns::optional_ids(rows.clone().map(|i| spans.stack_of(i))),
            columns::ids(spans.source[rows.clone()].iter().map(|s| s.0)),
            columns::optional_longs(lines),
            columns::optional_longs(spans.key[rows.clone()].iter().map(|k| (*k != NO_KEY).then_some(*k))),
            columns::optional_ids(spans.parent[rows.clone()].iter().copied()),
            encode_figures(recording, rows.clone()),
            encode_labels(recording, rows),
        ]
    }

    fn decode(&self, columns: &Columns<'_>, recording: &mut Recording) -> Result<(), Damage> {
        let first = recording.spans.len();
        columns.counts_on_from("span_id", first)?;
        let (t0s, t1s) = (columns.longs("t0_ns")?, columns.longs("t1_ns")?);
        if let Some(row) = (0..t0s.len()).find(|i| t1s[*i] < t0s[*i]) {
            return Err(Damage(format!("span {} ends before it starts", first + row)));
        }
        let processes = columns.ids("process_id", recording.processes.len())?;
        let threads = columns.optional_ids("thread_id", recording.threads.len())?;
        let stacks = columns.added_ids("stack_id", recording.stacks.len())?;
        let sources = columns.ids("source_id", recording.sources.len())?;
        let parents = columns.optional_ids("parent_id", first + columns.rows())?;
        // A parent comes before its parts: walks outward end.
        if let Some(row) =
            (0..parents.len()).find(|i| parents[*i] != NONE && parents[*i] as usize >= first + i)
        {
            return Err(Damage(format!("span {} has its parent behind it", first + row)));
        }
        let (lines, keys) = (columns.optional_longs("line")?, columns.optional_longs("key")?);
        let strings = &mut recording.strings;
        let kinds = columns.texts("kind", strings)?;
        let names = columns.texts("name", strings)?;
        let (figure_ends, figure_keys, figure_values) = columns.maps("figures", strings)?;
        let figure_values = columns::doubles_of(figure_values, "figures")?;
        let (label_ends, label_keys, label_values) = columns.maps("labels", strings)?;
        let label_values = columns::texts_of(label_values, "labels", strings)?;
        let spans = &mut recording.spans;
        let labels_end = ends(spans.labels.len(), &label_ends)?;
        spans.kind.extend(kinds);
        spans.name.extend(names);
        spans.t0_ns.extend_from_slice(t0s);
        spans.t1_ns.extend_from_slice(t1s);
        spans.process.extend(processes.into_iter().map(ProcessId));
        spans.thread.extend(threads);
        for (i, stack) in stacks.into_iter().enumerate() {
            spans.push_stack(first + i, stack);
        }
        spans.source.extend(sources.into_iter().map(SourceId));
        let line = |l: Option<i64>| l.and_then(|l| u64::try_from(l).ok()).unwrap_or(NO_LINE);
        spans.line.extend(lines.into_iter().map(line));
        spans.key.extend(keys.into_iter().map(|k| k.unwrap_or(NO_KEY)));
        spans.parent.extend(parents);
        let mut from = 0;
        for to in figure_ends {
            let keys = figure_keys.get(from..to).unwrap_or_default().iter().copied();
            let values = figure_values.get(from..to).unwrap_or_default().iter().copied();
            spans.figures.push(keys.zip(values));
            from = to;
        }
        spans.labels.extend(label_keys.into_iter().zip(label_values));
        spans.labels_end.extend(labels_end);
        Ok(())
    }

    fn clear(&self, recording: &mut Recording) {
        let spans = &mut recording.spans;
        spans.kind.clear();
        spans.name.clear();
        spans.t0_ns.clear();
        spans.t1_ns.clear();
        spans.process.clear();
        spans.thread.clear();
        spans.stack.clear();
        spans.source.clear();
        spans.line.clear();
        spans.key.clear();
        spans.parent.clear();
        spans.figures.clear();
        spans.labels.clear();
        spans.labels_end.clear();
    }
}

fn encode_figures(recording: &Recording, rows: Range<usize>) -> ArrayRef {
    let spans = &recording.spans;
    let list = || rows.clone().flat_map(|i| spans.figures.of(i));
    let ends = rows.clone().scan(0, |end, i| {
        *end += spans.figures.of(i).count() as u32;
        Some(*end)
    });
    columns::maps(
        ends,
        columns::texts(&recording.strings, list().map(|(key, _)| key)),
        columns::doubles(list().map(|(_, value)| value)),
        figures(),
    )
}

fn encode_labels(recording: &Recording, rows: Range<usize>) -> ArrayRef {
    let spans = &recording.spans;
    let entries = entries(&spans.labels_end, &rows);
    let list = &spans.labels[entries.clone()];
    columns::maps(
        spans.labels_end[rows].iter().map(|end| end - entries.start as u32),
        columns::texts(&recording.strings, list.iter().map(|(key, _)| *key)),
        columns::texts(&recording.strings, list.iter().map(|(_, value)| *value)),
        labels(),
    )
}

/// The entries of the flat list that some rows have.
fn entries(ends: &[u32], rows: &Range<usize>) -> Range<usize> {
    let end_of = |row: usize| row.checked_sub(1).and_then(|i| ends.get(i)).map_or(0, |end| *end as usize);
    end_of(rows.start)..end_of(rows.end)
}

/// Ends within a batch as ends within a list that has `before` entries already.
fn ends(before: usize, ends: &[usize]) -> Result<Vec<u32>, Damage> {
    let too_many = |_| Damage("there are more than 2³² labels".into());
    ends.iter().map(|end| u32::try_from(before + end).map_err(too_many)).collect()
}
