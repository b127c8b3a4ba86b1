//! What is read out of objects of the JDK: a text, a thread's name.

use crate::heap::Heap;
use crate::records::tag;

/// Longest name that is shown, in characters.
const LONGEST_NAME: usize = 200;

impl Heap {
    /// A thread's name, as `java.lang.Thread.name` has it: a name that the program gave, and no
    /// user's data.
    pub fn thread_name(&self, thread: u32) -> Option<String> {
        let holder = self.object(thread, "name")?;
        self.string(holder, LONGEST_NAME)
    }

    /// The same, or its address where it has no name, as in a copy without values.
    pub(crate) fn thread_label(&self, thread: u32) -> String {
        let name = self.thread_name(thread).filter(|name| name.chars().any(|c| c > '\0'));
        name.unwrap_or_else(|| format!("unnamed thread {:#x}", self.address(thread)))
    }

    /// The text of a `java.lang.String`, or of the array of characters that JDK 8 had in its place
    /// at first.
    pub(crate) fn string(&self, node: u32, most: usize) -> Option<String> {
        let array = if self.class(node).name == "char[]" { node } else { self.object(node, "value")? };
        if self.tag(array) != tag::PRIMITIVE_ARRAY {
            return None;
        }
        let payload = self.payload(array);
        let wide = |pair: fn([u8; 2]) -> u16| {
            let units = payload.chunks_exact(2).take(most).map(|unit| pair([unit[0], unit[1]]));
            char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
        };
        match self.class(array).name.as_str() {
            "char[]" => Some(wide(u16::from_be_bytes)),
            // UTF-16 in an array of bytes has the order of the machine that was dumped; all that
            // HotSpot runs on now are small-endian but s390x.
            "byte[]" if self.number(node, "coder") == Some(1) => Some(wide(u16::from_le_bytes)),
            "byte[]" => Some(payload.iter().take(most).map(|byte| char::from(*byte)).collect()),
            _ => None,
        }
    }
}
