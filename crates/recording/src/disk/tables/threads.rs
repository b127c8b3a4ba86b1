//! threads: one row per thread.

use std::ops::Range;

use arrow_array::ArrayRef;
use arrow_schema::Field;

use super::{Growth, Table};
use crate::disk::columns::{self, Columns, Damage, id, long, optional, text};
use crate::{ProcessId, Recording, Thread};

pub(super) struct Threads;

impl Table for Threads {
    fn name(&self) -> &'static str {
        "threads"
    }

    fn growth(&self) -> Growth {
        Growth::Dictionary
    }

    fn fields(&self) -> Vec<Field> {
        vec![id("thread_id"), id("process_id"), optional(long("tid")), text("name"), text("role")]
    }

    fn rows(&self, recording: &Recording) -> usize {
        recording.threads.len()
    }

    fn encode(&self, recording: &Recording, rows: Range<usize>, first_id: usize) -> Vec<ArrayRef> {
        let first = first_id + rows.start;
        let threads = &recording.threads[rows];
        vec![
            columns::ids((first as u32..).take(threads.len())),
            columns::ids(threads.iter().map(|t| t.process.0)),
            columns::optional_longs(threads.iter().map(|t| t.tid)),
            columns::texts(&recording.strings, threads.iter().map(|t| t.name)),
            columns::words(threads.iter().map(|t| t.role)),
        ]
    }

    fn decode(&self, columns: &Columns<'_>, recording: &mut Recording) -> Result<(), Damage> {
        columns.counts_on_from("thread_id", recording.threads.len())?;
        let processes = columns.ids("process_id", recording.processes.len())?;
        let tids = columns.optional_longs("tid")?;
        let names = columns.texts("name", &mut recording.strings)?;
        let roles = columns.words("role")?;
        for (((process, tid), name), role) in processes.into_iter().zip(tids).zip(names).zip(roles) {
            recording.add_thread(Thread { process: ProcessId(process), tid, name, role });
        }
        Ok(())
    }
}
