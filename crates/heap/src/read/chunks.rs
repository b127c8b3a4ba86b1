//! How large the stacks of virtual threads are: objects of one class of which no two need be of
//! one size.
//!
//! A `StackChunk` has words of a stack behind its fields, as many as its field `size` says, and
//! behind these a bitmap of them: a bit for every place where a reference may begin
//! (`InstanceStackChunkKlass::instance_size`, `instanceStackChunkKlass.inline.hpp` of JDK 21 to
//! 25). A dump has the fields alone.

use super::Build;
use crate::cursor::Cursor;
use crate::heap::number;
use crate::layout::{Layout, STACK_CHUNK, round};

/// Bytes of a word of a stack.
const WORD: u64 = 8;

impl Build<'_> {
    /// Gives each of them the size that it has. The distance to its neighbour comes with each: no
    /// object reaches into the next one, whatever a damaged dump says.
    pub(super) fn measure_stack_chunks(&mut self, layout: &Layout, chunks: &[(u32, u64)]) {
        let Some(class) = self.scan.classes.named(STACK_CHUNK).next() else { return };
        let mut fields = self.scan.classes.fields(class, self.id_size);
        let is_size = |name| self.scan.texts.bytes(self.data, name) == Some(b"size");
        let Some((at, ..)) = fields.find(|(_, field, _)| field.kind == 10 && is_size(field.name)) else {
            return;
        };
        drop(fields);
        let fixed = self.scan.classes.get(class).instance_bytes;
        let per_word = WORD / layout.reference_bytes;
        let sizes = chunks.iter().filter_map(|(node, distance)| {
            let mut c = Cursor::new(self.data, self.place(*node) + 1 + 2 * self.id_size + 8 + at);
            let words = u64::try_from(number(10, c.take(4)?)?).ok()?;
            let bitmap = (words * per_word).div_ceil(64) * WORD;
            let bytes = round(fixed + words * WORD + bitmap, layout.alignment);
            Some((*node, bytes.min(*distance)))
        });
        let sizes: Vec<(u32, u64)> = sizes.collect();
        self.scan.kinds.resize(&sizes);
    }
}
