//! What can go wrong with a heap dump as a whole. What is wrong inside of one is counted in
//! [`Damage`](crate::Damage).

use std::io;
use std::path::PathBuf;

/// Why a heap dump could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HeapError {
    /// The file could not be opened, mapped or unpacked.
    #[error("{}: {cause}", .path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// It does not begin as a heap dump does.
    #[error("{}: this is not an HPROF heap dump (it does not begin with \"JAVA PROFILE 1.0.1\" or \"1.0.2\")", .path.display())]
    NotHprof {
        /// The file.
        path: PathBuf,
    },
    /// Identifiers have a size that no JVM writes.
    #[error("{}: identifiers of {size} bytes; a JVM writes 4 or 8", .path.display())]
    IdSize {
        /// The file.
        path: PathBuf,
        /// What the header says.
        size: u32,
    },
    /// It is to be copied without its values, and a part of it cannot be read.
    #[error("{}: a part of it, from byte {at} on, cannot be read: what is not understood may be data, and is not copied", .path.display())]
    NotUnderstood {
        /// The file.
        path: PathBuf,
        /// Where the first of it is.
        at: u64,
    },
    /// There is no object in it.
    #[error("{}: no object in it{}{}", .path.display(), if *.truncated { "; the file is truncated" } else { "" }, damaged(*.damaged_at))]
    Empty {
        /// The file.
        path: PathBuf,
        /// Whether the file ends within a record.
        truncated: bool,
        /// Where something else is damaged.
        damaged_at: Option<u64>,
    },
    /// It is larger than what is counted with.
    #[error("{}: more than {limit} {what}, which is more than fathom can hold apart", .path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Of what: "objects", "classes", "bytes".
        what: &'static str,
        /// How many can be distinguished.
        limit: u64,
    },
}

fn damaged(at: Option<u64>) -> String {
    at.map_or_else(String::new, |at| format!("; what is at byte {at} is damaged"))
}
