//! The tables, one file each, and the one list of them.

use std::ops::Range;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};

use super::columns::{Columns, Damage};
use crate::Recording;

mod counts;
mod figures;
mod frames;
mod older_unseen;
mod processes;
mod samples;
mod series;
mod series_points;
mod sources;
mod spans;
mod stacks;
mod threads;

/// How a table grows while a recording is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    /// A few rows, any of which may change until the end: rewritten at each flush.
    Small,
    /// Rows are added and needed until the end, to distinguish old from new.
    Dictionary,
    /// Rows are added by the million and leave memory at each flush.
    Bulk,
}

/// A table of a recording.
pub(super) trait Table: Sync {
    /// Its name, which is that of its file.
    fn name(&self) -> &'static str;

    /// The first version of the schema that has it.
    fn since(&self) -> u32 {
        1
    }

    /// How it grows.
    fn growth(&self) -> Growth;

    /// Its columns.
    fn fields(&self) -> Vec<Field>;

    /// The number of its rows that a recording holds in memory.
    fn rows(&self, recording: &Recording) -> usize;

    /// The columns of some rows in memory, the first of which has id `first_id`.
    fn encode(&self, recording: &Recording, rows: Range<usize>, first_id: usize) -> Vec<ArrayRef>;

    /// Adds a batch to a recording; a batch that is wrong adds nothing. Tables that it refers to
    /// were read before.
    fn decode(&self, columns: &Columns<'_>, recording: &mut Recording) -> Result<(), Damage>;

    /// Drops the rows in memory; for bulk tables only.
    fn clear(&self, _recording: &mut Recording) {}
}

/// The table of spans.
pub(super) const SPANS: &dyn Table = &spans::SpansTable;

/// All tables; each refers only to tables before it (and to earlier rows of its own).
pub(super) const TABLES: [&dyn Table; 10] = [
    &processes::Processes,
    &sources::Sources,
    &threads::Threads,
    &frames::Frames,
    &stacks::Stacks,
    &series::SeriesTable,
    &spans::SpansTable,
    &counts::CountsTable,
    &samples::SamplesTable,
    &series_points::SeriesPoints,
];

/// The Arrow schema of a table.
pub(super) fn schema(table: &dyn Table) -> SchemaRef {
    SchemaRef::new(Schema::new(table.fields()))
}

/// A batch of some rows in memory.
pub(super) fn batch(
    table: &dyn Table,
    recording: &Recording,
    rows: Range<usize>,
    first_id: usize,
) -> Result<RecordBatch, ArrowError> {
    RecordBatch::try_new(schema(table), table.encode(recording, rows, first_id))
}
