//! Files into a recording: one module a format, formats told by content and not by name.
//!
//! A format implements [`Format`] and stands in [`FORMATS`], one line each. Readers are strict
//! about nothing and honest about everything: a line is taken, known to be of no interest, or
//! counted as unknown and kept as a sample. Input is hostile: no reader panics, hangs, or holds
//! more than a bounded part of a file.

mod access_log;
mod align;
mod detect;
mod error;
mod folded;
mod format;
mod inputs;
mod java_names;
mod jdk8;
mod jfr;
mod jit;
mod jvm_args;
mod lines;
mod names;
mod open;
mod perf_script;
mod pprof;
mod strace;
mod table;
mod tally;
mod trouble;
mod unified;

pub use align::leave_out_duplicates;
pub use error::IngestError;
pub use format::{Confidence, FORMATS, Format, Input};
pub use inputs::{InputReport, InputsError, Options, Outcome, Report, read_inputs};
pub use lines::{Line, Lines, MAX_LINE};
pub use open::{Expansion, Progress};
pub use tally::Tally;
