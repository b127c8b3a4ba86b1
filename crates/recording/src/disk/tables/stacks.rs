//! stacks: one row per node of the prefix tree. A stack is its innermost node; its callers are its
//! parents.

use std::ops::Range;

use arrow_array::ArrayRef;
use arrow_schema::Field;

use super::{Growth, Table};
use crate::disk::columns::{self, Columns, Damage, id, optional};
use crate::spans::NONE;
use crate::{FrameId, Recording, StackId, StackNode};

pub(super) struct Stacks;

impl Table for Stacks {
    fn name(&self) -> &'static str {
        "stacks"
    }

    fn growth(&self) -> Growth {
        Growth::Dictionary
    }

    fn fields(&self) -> Vec<Field> {
        vec![id("stack_id"), optional(id("parent_id")), id("frame_id")]
    }

    fn rows(&self, recording: &Recording) -> usize {
        recording.stacks.len()
    }

    fn encode(&self, recording: &Recording, rows: Range<usize>, first_id: usize) -> Vec<ArrayRef> {
        let first = first_id + rows.start;
        let stacks = &recording.stacks[rows];
        vec![
            columns::ids((first as u32..).take(stacks.len())),
            columns::optional_ids(stacks.iter().map(|s| s.parent.map_or(NONE, |p| p.0))),
            columns::ids(stacks.iter().map(|s| s.frame.0)),
        ]
    }

    fn decode(&self, columns: &Columns<'_>, recording: &mut Recording) -> Result<(), Damage> {
        let first = recording.stacks.len();
        columns.counts_on_from("stack_id", first)?;
        let parents = columns.optional_ids("parent_id", first + columns.rows())?;
        let frames = columns.ids("frame_id", recording.frames.len())?;
        // A parent comes before its children, so that walks towards the root end.
        if let Some(row) =
            (0..parents.len()).find(|i| parents[*i] != NONE && parents[*i] as usize >= first + i)
        {
            return Err(Damage(format!("stack {} has its parent behind it", first + row)));
        }
        for (parent, frame) in parents.into_iter().zip(frames) {
            let parent = (parent != NONE).then_some(StackId(parent));
            recording.add_stack(StackNode { parent, frame: FrameId(frame) });
        }
        Ok(())
    }
}
