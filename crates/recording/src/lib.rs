//! The recording: everything that fathom sees, as samples, spans, counts and series on one
//! clock.
//!
//! | table | one row |
//! |---|---|
//! | samples | a stack taken at one time, with a weight |
//! | spans | something with a beginning and an end, on a thread, a process or the host |
//! | counts | how often and how long something happened in an interval, too often for a row each |
//! | series | a number over time |
//!
//! with the dictionaries of strings, frames, stacks, threads, processes and sources. `ingest` and
//! `capture` write one through [`Sink`]; `diagnose` and `render` read a [`Recording`]. The words
//! used in it are in [`vocabulary`]; what it is on disk is in `disk` (feature `disk`, on by
//! default).

mod append;
pub mod clock;
mod copy_rows;
mod counts;
#[cfg(feature = "disk")]
pub mod disk;
mod duplicates;
#[cfg(feature = "disk")]
mod error;
mod figures;
pub mod identity;
mod ids;
mod jvm_text;
mod labels;
mod merge_threads;
mod move_rows;
mod narrow;
mod parts;
mod process_names;
pub mod quantity;
mod recording;
mod ring;
mod roles;
mod row_origins;
mod samples;
pub mod secrets;
mod series;
mod sources;
mod span_edits;
mod spans;
mod stack_census;
mod stack_index;
mod strings;
pub mod vocabulary;

pub use clock::{Anchor, ClockBasis, Placement};
pub use counts::{CountRow, Counts};
#[cfg(feature = "disk")]
pub use disk::{Overwrite, Writer, open, pack, unpack, write};
#[cfg(feature = "disk")]
pub use error::RecordingError;
pub use identity::{Identity, ServiceFrom};
pub use ids::{FrameId, ProcessId, SeriesId, SourceId, SpanId, StackId, StrId, ThreadId};
pub use jvm_text::jvm_text;
pub use parts::{Ids, RecordingPart};
pub use recording::{Count, Recording, Sink, Span, StackFrame};
pub use ring::{Bounds, Dropped, Excerpt, Ring};
pub use roles::Role;
pub use samples::{Frame, FrameType, Sample, SampleRow, Samples, StackNode};
pub use series::{Series, SeriesInfo, SeriesKind};
pub use sources::{Check, Process, Sampling, Scope, Segment, Source, Thread, UnknownLine, Unseen};
pub use spans::{SpanRow, Spans};
pub use stack_census::StackCensus;
pub use strings::{Strings, same};
