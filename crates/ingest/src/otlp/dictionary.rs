//! The tables that samples refer to by index.
//!
//! An entry is remembered by its place in the message and decoded when something first refers to
//! it. In all tables the first entry is empty: an index of 0 means that there is none.

use prost::Message;

use super::wire::{AnyValue, dictionary};
use crate::protobuf::{Part, Parts};

/// Bytes of a text that are looked at. Names have at most some hundreds; a text of a megabyte that
/// every sample refers to would be read as often.
const LONGEST: usize = 4096;

/// The entries of a table.
#[derive(Default)]
struct Table {
    /// Where each begins, and its length.
    entries: Vec<(u32, u32)>,
}

/// See the module.
#[derive(Default)]
pub(super) struct Dictionary<'a> {
    message: &'a [u8],
    tables: [Table; 8],
    pub(super) damaged: bool,
}

impl<'a> Dictionary<'a> {
    /// Of a message of less than 4 GiB.
    pub(super) fn of(message: &'a [u8]) -> Self {
        let mut tables: [Table; 8] = Default::default();
        let mut parts = Parts::of(message);
        let begin = message.as_ptr().addr();
        for part in parts.by_ref() {
            let Part::Bytes(number, entry) = part else { continue };
            let table = usize::try_from(number).ok().and_then(|number| tables.get_mut(number));
            let at = u32::try_from(entry.as_ptr().addr().saturating_sub(begin));
            if let (Some(table), Ok(at), Ok(length)) = (table, at, u32::try_from(entry.len())) {
                table.entries.push((at, length));
            }
        }
        let damaged = parts.damaged;
        Self { message, tables, damaged }
    }

    fn bytes(&self, table: u32, index: i32) -> Option<&'a [u8]> {
        let (at, length) = *self.tables.get(table as usize)?.entries.get(usize::try_from(index).ok()?)?;
        self.message.get(at as usize..at as usize + length as usize)
    }

    /// An entry; `None` where there is none or it is damaged.
    pub(super) fn entry<M: Message + Default>(&self, table: u32, index: i32) -> Option<M> {
        M::decode(self.bytes(table, index)?).ok()
    }

    /// Its bytes.
    pub(super) fn size(&self) -> usize {
        self.message.len()
    }

    /// Whether an index is one of a table.
    pub(super) fn has(&self, table: u32, index: i32) -> bool {
        self.bytes(table, index).is_some()
    }

    /// A text; empty where there is none.
    pub(super) fn text(&self, index: i32) -> std::borrow::Cow<'a, str> {
        let bytes = self.bytes(dictionary::STRING, index).unwrap_or_default();
        String::from_utf8_lossy(bytes.get(..LONGEST).unwrap_or(bytes))
    }

    /// A value as text; empty where it is none.
    pub(super) fn value_text(&self, value: &AnyValue) -> String {
        if value.text.is_empty() {
            self.text(value.text_index).into_owned()
        } else {
            value.text.chars().take(LONGEST).collect()
        }
    }
}
