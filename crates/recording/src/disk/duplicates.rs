//! Removes duplicates while a recording's spool becomes tables: see [`crate::duplicates`]. Two
//! passes over the spans, a batch at a time: the first keeps the spans of kinds that two sources
//! may both have, which are few; the second removes and extends.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch};

use super::columns::{Columns, Damage};
use super::parquet_file::{ParquetFile, Written};
use super::spool;
use super::tables::{self, SPANS, Table};
use crate::duplicates::{Change, Fact, changes as decide, kinds};
use crate::spans::NONE;
use crate::{Recording, RecordingError, SpanId};

/// The table that this is about.
pub(super) const TABLE: &dyn Table = SPANS;

/// How many spans are removed.
pub(super) fn removed(changes: &BTreeMap<SpanId, Change>) -> usize {
    changes.values().filter(|change| matches!(change, Change::Remove)).count()
}

/// Decides for the spans of a spool that two sources have. Subtracts those that are removed from
/// the records of their sources.
pub(super) fn changes(
    buffer: &mut Recording,
    dir: &Path,
) -> Result<BTreeMap<SpanId, Change>, RecordingError> {
    let kinds = kinds(&buffer.sources);
    let mut facts: Vec<Fact> = Vec::new();
    if kinds.is_empty() {
        return Ok(BTreeMap::new());
    }
    let mut first = 0;
    for batch in spool::batches(TABLE, dir) {
        load(&batch, buffer).map_err(|damage| damaged(dir, damage))?;
        let spans = (0..buffer.spans.len()).map(|i| (i, buffer.span_at(SpanId(i as u32))));
        facts.extend(spans.filter_map(|(i, span)| Fact::of(&span, first + i, &kinds)));
        first += batch.num_rows();
    }
    TABLE.clear(buffer);
    let changes = decide(&facts, &buffer.sources, &mut buffer.strings);
    for fact in facts.iter().filter(|fact| matches!(changes.get(&fact.id()), Some(Change::Remove))) {
        let source = &mut buffer.sources[fact.source().index()];
        source.records = source.records.saturating_sub(1);
    }
    Ok(changes)
}

/// Writes the table from the spool, with the changes.
pub(super) fn convert(
    changes: &BTreeMap<SpanId, Change>,
    buffer: &mut Recording,
    dir: &Path,
) -> Result<Written, RecordingError> {
    let gone: Vec<u32> =
        changes.iter().filter(|(_, change)| matches!(change, Change::Remove)).map(|(id, _)| id.0).collect();
    // The number of a span that stays: less the number of removed ones before it.
    let new_id = |old: u32| {
        let before = gone.partition_point(|id| *id < old);
        let stays = old != NONE && gone.get(before) != Some(&old);
        if stays { old - before as u32 } else { NONE }
    };
    let mut file = ParquetFile::create(TABLE, buffer.identity.recording.as_deref(), dir)?;
    let (mut first, mut written) = (0, 0);
    for batch in spool::batches(TABLE, dir) {
        let parents = load(&batch, buffer).map_err(|damage| damaged(dir, damage))?;
        let id = |i: usize| SpanId((first + i) as u32);
        let stay = |i: &usize| !matches!(changes.get(&id(*i)), Some(Change::Remove));
        let parents: Vec<u32> = (0..parents.len()).filter(stay).map(|i| new_id(parents[i])).collect();
        buffer.edit_spans(|local| changes.get(&id(local.index())));
        parents.into_iter().enumerate().for_each(|(i, parent)| buffer.spans.parent.put(i, parent));
        let rows = buffer.spans.len();
        let amended = tables::batch(TABLE, buffer, 0..rows, written);
        file.write(&amended.map_err(|e| RecordingError::io(dir)(std::io::Error::other(e)))?)?;
        first += batch.num_rows();
        written += rows;
    }
    TABLE.clear(buffer);
    file.finish()
}

/// Puts a batch into the buffer as if it were the first and had no parents, which are returned:
/// parents in earlier batches are not in memory.
fn load(batch: &RecordBatch, buffer: &mut Recording) -> Result<Vec<u32>, Damage> {
    let parents = Columns(batch).optional_ids("parent_id", i32::MAX as usize)?;
    let rows = batch.num_rows();
    let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
    let mut put = |name: &str, column: Int32Array| {
        let at = batch.schema().index_of(name).map_err(|e| Damage(e.to_string()))?;
        columns[at] = Arc::new(column);
        Ok::<(), Damage>(())
    };
    put("span_id", (0..rows as i32).map(Some).collect::<Int32Array>())?;
    put("parent_id", Int32Array::new_null(rows))?;
    let alone = RecordBatch::try_new(batch.schema(), columns).map_err(|e| Damage(e.to_string()))?;
    TABLE.clear(buffer);
    TABLE.decode(&Columns(&alone), buffer)?;
    Ok(parents)
}

fn damaged(dir: &Path, damage: Damage) -> RecordingError {
    let path = dir.join(spool::DIR).join(spool::file_name(TABLE));
    RecordingError::Damaged { path, detail: damage.0 }
}
