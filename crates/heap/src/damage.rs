//! What of a dump could not be read.

use serde::Serialize;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// The file ends within a record.
    pub truncated: bool,
    /// Records whose length cannot be right: reading went on where the next record begins.
    pub damaged_records: u64,
    /// Places in segments where a sub-record could not be read: reading went on behind it.
    pub damaged_segments: u64,
    /// Bytes that were passed over for both.
    pub skipped_bytes: u64,
    /// Whether objects or roots may be among them.
    pub parts_of_heap: bool,
    /// Where the first of it is.
    pub first_at: Option<u64>,
    /// What the first of it is, where it is not the end of the file.
    pub first: Option<FirstDamage>,
    /// Records of a kind that is not known.
    pub unknown_records: u64,
    /// Objects that were listed twice; the first one counts.
    pub duplicate_objects: u64,
    /// Instances whose class is not in the dump: their fields cannot be read.
    pub without_class: u64,
    /// References to what is not in the dump.
    pub dangling_references: u64,
}

/// The first thing that is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FirstDamage {
    /// Where it begins.
    pub at: u64,
    /// What it is.
    pub part: DamagedPart,
    /// The byte that says its kind.
    pub tag: u8,
    /// The length that a record says it has.
    pub length: Option<u64>,
    /// Where reading went on; nothing: the rest could not be read.
    pub went_on_at: Option<u64>,
}

/// See [`FirstDamage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DamagedPart {
    /// A record: texts, classes, stacks.
    Record,
    /// A segment of the heap.
    Segment,
    /// An object, a class or a root in a segment.
    SubRecord,
}

impl Damage {
    /// Notes bytes that are passed over.
    pub(crate) fn skip(&mut self, at: usize, bytes: usize) {
        self.skipped_bytes += bytes as u64;
        self.first_at.get_or_insert(at as u64);
    }

    /// Notes what is damaged.
    pub(crate) fn add(&mut self, found: FirstDamage) {
        match found.part {
            DamagedPart::SubRecord => self.damaged_segments += 1,
            DamagedPart::Record | DamagedPart::Segment => self.damaged_records += 1,
        }
        self.first_at.get_or_insert(found.at);
        self.first.get_or_insert(found);
    }

    /// Whether objects or roots may be missing.
    pub fn is_incomplete(&self) -> bool {
        self.truncated || self.parts_of_heap
    }
}
