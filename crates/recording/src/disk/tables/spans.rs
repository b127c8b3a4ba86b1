//! spans: one row per interval or event, with its figures and labels.

use std::ops::Range;

use arrow_array::ArrayRef;
use arrow_schema::Field;

use super::{Growth, Table, figures};
use crate::disk::columns::{self, Columns, Damage, id, long, map, optional, text};
use crate::narrow::{NONE, Sparse};
use crate::{ProcessId, Recording, SourceId};

pub(super) struct SpansTable;

/// In memory: no key.
const NO_KEY: i64 = -1;
/// In memory: no line.
const NO_LINE: u64 = 0;

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
            figures::field(),
            labels(),
        ]
    }

    fn rows(&self, recording: &Recording) -> usize {
        recording.spans.len()
    }

    fn encode(&self, recording: &Recording, rows: Range<usize>, first_id: usize) -> Vec<ArrayRef> {
        let (spans, strings) = (&recording.spans, &recording.strings);
        let lines = spans.line.rows(rows.clone());
        let lines = lines.map(|l| (l != NO_LINE).then(|| i64::try_from(l).unwrap_or(i64::MAX)));
        let keys = rows.clone().map(|i| Some(spans.key_of(i)).filter(|k| *k != NO_KEY));
        let first = (first_id + rows.start) as u32;
        vec![
            columns::ids((first..).take(rows.len())),
            columns::texts(strings, spans.kind[rows.clone()].iter().copied()),
            columns::texts(strings, spans.name[rows.clone()].iter().copied()),
            columns::longs(spans.t0_ns[rows.clone()].iter().copied()),
            columns::longs(spans.t1_ns[rows.clone()].iter().copied()),
            columns::ids(spans.origins.rows(rows.clone()).map(|(process, _)| process.0)),
            columns::optional_ids(spans.thread.rows(rows.clone())),
            columns::optional_ids(spans.stack.rows(rows.clone())),
            columns::ids(spans.origins.rows(rows.clone()).map(|(_, source)| source.0)),
            columns::optional_longs(lines),
            columns::optional_longs(keys),
            columns::optional_ids(spans.parent.rows(rows.clone())),
            figures::encode(&spans.figures, strings, rows.clone()),
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
        // A parent comes before its parts, so that walks to the outermost span end.
        if let Some(row) =
            (0..parents.len()).find(|i| parents[*i] != NONE && parents[*i] as usize >= first + i)
        {
            return Err(Damage(format!("span {} has its parent behind it", first + row)));
        }
        let (lines, keys) = (columns.optional_longs("line")?, columns.optional_longs("key")?);
        let strings = &mut recording.strings;
        let kinds = columns.texts("kind", strings)?;
        let names = columns.texts("name", strings)?;
        let figures = figures::Read::of(columns, strings)?;
        let (label_ends, label_keys, label_values) = columns.maps("labels", strings)?;
        let label_values = columns::texts_of(label_values, "labels", strings, columns::LONGEST_TEXT)?;
        let spans = &mut recording.spans;
        if u32::try_from(spans.labels.entries() + label_values.len()).is_err() {
            return Err(Damage("there are more than 2³² labels".into()));
        }
        spans.kind.extend(kinds);
        spans.name.extend(names);
        spans.t0_ns.extend_from_slice(t0s);
        spans.t1_ns.extend_from_slice(t1s);
        for (process, source) in processes.into_iter().zip(sources) {
            spans.origins.push((ProcessId(process), SourceId(source)));
        }
        let put = |to: &mut Sparse, ids: Vec<u32>| {
            ids.into_iter().enumerate().for_each(|(i, id)| to.put(first + i, id));
        };
        put(&mut spans.thread, threads);
        put(&mut spans.stack, stacks);
        put(&mut spans.parent, parents);
        let line = |l: Option<i64>| l.and_then(|l| u64::try_from(l).ok()).unwrap_or(NO_LINE);
        lines.into_iter().for_each(|l| spans.line.push(line(l)));
        keys.into_iter().for_each(|k| spans.push_key(k.unwrap_or(NO_KEY)));
        figures.push_to(&mut spans.figures);
        let mut from = 0;
        for to in label_ends {
            let keys = label_keys.get(from..to).unwrap_or_default().iter().copied();
            let values = label_values.get(from..to).unwrap_or_default().iter().copied();
            spans.labels.push(keys.zip(values));
            from = to;
        }
        Ok(())
    }

    fn clear(&self, recording: &mut Recording) {
        let spans = &mut recording.spans;
        spans.kind.clear();
        spans.name.clear();
        spans.t0_ns.clear();
        spans.t1_ns.clear();
        spans.origins.clear();
        spans.thread.clear();
        spans.stack.clear();
        spans.line.clear();
        spans.key.clear();
        spans.parent.clear();
        spans.figures.clear();
        spans.labels.clear();
    }
}

fn encode_labels(recording: &Recording, rows: Range<usize>) -> ArrayRef {
    let spans = &recording.spans;
    let list = || rows.clone().flat_map(|i| spans.labels.of(i));
    let ends = rows.clone().scan(0, |end, i| {
        *end += spans.labels.of(i).len() as u32;
        Some(*end)
    });
    columns::maps(
        ends,
        columns::texts(&recording.strings, list().map(|(key, _)| *key)),
        columns::texts(&recording.strings, list().map(|(_, value)| *value)),
        labels(),
    )
}
