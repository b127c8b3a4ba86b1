//! processes: one row per process; for JVMs one per run.

use std::ops::Range;

use arrow_array::ArrayRef;
use arrow_schema::Field;

use super::{Growth, Table};
use crate::disk::columns::{self, Columns, Damage, flag, id, long, map, optional, text};
use crate::{Process, Recording, Strings};

pub(super) struct Processes;

fn facts() -> Field {
    map("facts", text("value"))
}

impl Table for Processes {
    fn name(&self) -> &'static str {
        "processes"
    }

    fn growth(&self) -> Growth {
        Growth::Small
    }

    fn fields(&self) -> Vec<Field> {
        vec![id("process_id"), optional(long("pid")), text("name"), flag("jvm"), facts()]
    }

    fn rows(&self, recording: &Recording) -> usize {
        recording.processes.len()
    }

    fn encode(&self, recording: &Recording, rows: Range<usize>, first_id: usize) -> Vec<ArrayRef> {
        let processes = &recording.processes[rows];
        let mut end = 0;
        let ends = processes.iter().map(|p| {
            end += p.facts.len() as u32;
            end
        });
        let all_facts = || processes.iter().flat_map(|p| &p.facts);
        vec![
            columns::ids((first_id as u32..).take(processes.len())),
            columns::optional_longs(processes.iter().map(|p| p.pid)),
            columns::plain_texts(processes.iter().map(|p| &p.name)),
            columns::flags(processes.iter().map(|p| p.jvm)),
            columns::maps(
                ends,
                columns::plain_texts(all_facts().map(|(key, _)| key)),
                columns::plain_texts(all_facts().map(|(_, value)| value)),
                facts(),
            ),
        ]
    }

    fn decode(&self, columns: &Columns<'_>, recording: &mut Recording) -> Result<(), Damage> {
        columns.counts_on_from("process_id", recording.processes.len())?;
        let pids = columns.optional_longs("pid")?;
        let names = columns.strings("name")?;
        let jvms = columns.flags("jvm")?;
        let mut strings = Strings::default();
        let (ends, keys, values) = columns.maps("facts", &mut strings)?;
        let values = columns::texts_of(values, "facts", &mut strings, columns::LONGEST_TEXT)?;
        let mut facts =
            keys.iter().zip(&values).map(|(k, v)| (strings.get(*k).into(), strings.get(*v).into()));
        let mut from = 0;
        for (((pid, name), jvm), end) in pids.into_iter().zip(names).zip(jvms).zip(ends) {
            let facts = facts.by_ref().take(end - from).collect();
            recording.processes.push(Process { pid, name, jvm, facts });
            from = end;
        }
        Ok(())
    }
}
