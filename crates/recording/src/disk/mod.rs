//! A recording on disk: `NAME.fathom/`, one Parquet file per table and `meta.json`. The format is
//! described for its users in docs/recording-format.md.
//!
//! ```text
//!   Recording ── write ───────────────────────────────▶ *.parquet + meta.json "complete" ── open ──▶ Recording
//!   rows ──▶ Writer ── batches ──▶ spool/*.arrows ── finish ──▲                               ▲
//!                                  + meta.json "writing" ── killed ────────── open, cut = true ┘
//! ```
//!
//! There is one encoding: each [`tables`] entry turns rows into Arrow batches and back, and both
//! containers (the Arrow IPC spool and Parquet) hold the same batches. A Parquet file that is
//! truncated is lost, because its index is at its end; an Arrow stream loses only the batch in
//! which it was truncated. Hence the spool.
//!
//! What is read is untrusted until checked: every id is checked against the table that it points
//! to, row counts against the size of the file, and every column's type. A page of a Parquet file
//! may claim up to 2 GiB; that is the format's own bound and the largest single allocation.

mod catch_panic;
mod checksum;
mod columns;
mod create;
mod duplicates;
mod meta;
mod open;
mod pack;
mod parquet_file;
mod private_files;
mod spool;
mod tables;
#[cfg(test)]
mod tests;
mod version_1;
mod writer;

pub use create::{Overwrite, remove, write};
pub use open::{about, is_recording, open};
pub use pack::{PACKED_EXTENSION, is_packed, pack, unpack};
pub use writer::Writer;

/// Version of the schema, in `meta.json` and in the footer of each file. It grows when a reader of
/// the version before would misread a table; a column that is only added does not make it grow.
///
/// Version 2 has the table of counts; in version 1 they are spans ([`version_1`]).
pub const SCHEMA_VERSION: u32 = 2;

/// The extension of recordings' directories.
pub const EXTENSION: &str = "fathom";

/// The program as it names itself in what it writes.
const TOOL: &str = concat!("fathom ", env!("CARGO_PKG_VERSION"));

/// Rows handled at a time. 64 Ki rows of samples are 2 MB: large enough that a batch's overhead is
/// negligible, small enough that ten of them are, too.
const BATCH_ROWS: usize = 1 << 16;
