//! Reads files into a recording: one module per format; formats are recognised by content and not
//! by name.
//!
//! A format implements [`Format`] and is one line of [`FORMATS`]. Readers accept everything and
//! hide nothing: a line is read, known to be of no interest, or counted as unknown and kept as a
//! sample. Input is untrusted: no reader panics, hangs, or holds more than a bounded part of a
//! file.

mod access_log;
mod align;
mod detect;
mod error;
mod folded;
mod format;
mod formats;
mod inputs;
mod java_names;
mod jdk8;
mod jfr;
mod jit;
mod jvm_args;
mod jvm_warnings;
mod lines;
mod names;
mod open;
mod otlp;
mod perf_script;
mod pprof;
mod protobuf;
mod report;
mod sample_types;
mod strace;
mod table;
mod tally;
mod unified;

pub use align::leave_out_duplicates;
pub use error::IngestError;
pub use format::{Confidence, Format, Input};
pub use formats::FORMATS;
pub use inputs::{Options, read_inputs};
pub use lines::{Line, Lines, MAX_LINE};
pub use open::{Expansion, Progress};
pub use report::{InputReport, InputsError, Outcome, Report};
pub use tally::Tally;
