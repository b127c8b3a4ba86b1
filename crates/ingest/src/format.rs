//! What a format is.

use std::time::SystemTime;

use fathom_recording::Sink;

use crate::{IngestError, Lines};

/// How sure a format is that some content is its own: 0 not at all, 100 a magic number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Confidence(pub u8);

/// An opened input: decompressed, rotated segments joined, in reading order.
pub struct Input {
    /// Its name as the user gave it; for a member of an archive or a directory,
    /// "archive.zip/member".
    pub name: String,
    /// When the file was last written, where the file system reports that and the content is not
    /// from an archive.
    pub modified: Option<SystemTime>,
    /// Its content: line by line, or, through [`Lines::content`], as bytes.
    pub lines: Lines,
}

/// A format of files.
pub trait Format: Sync {
    /// Its id, as `fathom info` shows it: "unified-log".
    fn id(&self) -> &'static str;

    /// One line for the documentation: what it reads, and of which JDKs.
    fn about(&self) -> &'static str;

    /// How sure it is that content beginning with `head` (at most some 256 kB, possibly truncated
    /// within a line) is its own.
    fn sniff(&self, head: &[u8]) -> Confidence;

    /// Whether files of this format are written as rotated sets ("gc.log.0", "gc.log.1" …), which
    /// are then read as one input. Numbered files of other formats are independent.
    fn rotates(&self) -> bool {
        false
    }

    /// Whether JVMs write it while they run: `fathom record` takes such files of a recorded JVM
    /// into its recording.
    fn written_by_jvms(&self) -> bool {
        false
    }

    /// Whether it is a binary format. Text within binary content that looks like another format is
    /// not one.
    fn reads_bytes(&self) -> bool {
        false
    }

    /// Reads everything. Adds a source per JVM run found, with process, counters and self-checks.
    /// Damage is counted and shown in the source; an error means that nothing could be used.
    fn read(&self, input: &mut Input, sink: &mut dyn Sink) -> Result<(), IngestError>;
}
