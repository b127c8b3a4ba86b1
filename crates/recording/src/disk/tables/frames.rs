//! frames: one row per method, function or address that was seen on a stack.

use std::ops::Range;

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field};

use super::{Growth, Table};
use crate::disk::columns::{self, Columns, Damage, id, optional, text};
use crate::{Frame, Recording};

pub(super) struct Frames;

/// In memory: an unknown line.
const NO_LINE: i32 = -1;

impl Table for Frames {
    fn name(&self) -> &'static str {
        "frames"
    }

    fn growth(&self) -> Growth {
        Growth::Dictionary
    }

    fn fields(&self) -> Vec<Field> {
        let line = Field::new("line", DataType::Int32, false);
        vec![id("frame_id"), text("type"), text("name"), text("module"), optional(line)]
    }

    fn rows(&self, recording: &Recording) -> usize {
        recording.frames.len()
    }

    fn encode(&self, recording: &Recording, rows: Range<usize>, first_id: usize) -> Vec<ArrayRef> {
        let first = first_id + rows.start;
        let frames = &recording.frames[rows];
        let lines: arrow_array::Int32Array =
            frames.iter().map(|f| (f.line != NO_LINE).then_some(f.line)).collect();
        vec![
            columns::ids((first as u32..).take(frames.len())),
            columns::words(frames.iter().map(|f| f.frame_type)),
            columns::texts(&recording.strings, frames.iter().map(|f| f.name)),
            columns::texts(&recording.strings, frames.iter().map(|f| f.module)),
            std::sync::Arc::new(lines),
        ]
    }

    fn decode(&self, columns: &Columns<'_>, recording: &mut Recording) -> Result<(), Damage> {
        columns.counts_on_from("frame_id", recording.frames.len())?;
        let types = columns.words("type")?;
        let lines = columns.optional_ints("line")?;
        let names = columns.texts("name", &mut recording.strings)?;
        let modules = columns.texts("module", &mut recording.strings)?;
        for (((frame_type, name), module), line) in types.into_iter().zip(names).zip(modules).zip(lines) {
            recording.add_frame(Frame { frame_type, name, module, line: line.unwrap_or(NO_LINE) });
        }
        Ok(())
    }
}
