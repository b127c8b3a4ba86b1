//! Files into a recording: one module a format, formats told by content and not by name.
//!
//! A format implements [`Format`] and stands in [`FORMATS`], one line each. Readers are strict about nothing and
//! honest about everything: a line is taken, known to be of no interest, or counted as unknown and kept as a sample.
//! Input is hostile: no reader panics, hangs, or holds more than a bounded part of a file.

mod error;
mod format;
mod jit;
mod lines;
mod tally;

pub use error::IngestError;
pub use format::{Confidence, FORMATS, Format, Input};
pub use lines::{Line, Lines, MAX_LINE};
pub use tally::Tally;
