//! Errors of recordings on disk.

use std::path::{Path, PathBuf};

/// A recording that could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The operating system refused.
    #[error("{path}: {cause}", path = path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The operating system's error.
        cause: std::io::Error,
    },
    /// What was to be opened is not a recording.
    #[error("{path}: not a fathom recording ({why})", path = path.display())]
    NotARecording {
        /// The file or directory.
        path: PathBuf,
        /// What is missing or different.
        why: String,
    },
    /// It was written by a later version.
    #[error(
        "{path}: written with recording schema {found} by {tool}; this fathom reads up to {known}: use a newer one",
        path = path.display()
    )]
    Newer {
        /// The recording.
        path: PathBuf,
        /// Its schema version.
        found: u32,
        /// The program that wrote it, as it names itself.
        tool: String,
        /// The newest version that is known here.
        known: u32,
    },
    /// A file of it cannot be read or contradicts itself.
    #[error("{path}: damaged recording: {detail}", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong, in which column or row.
        detail: String,
    },
    /// It holds more than can be loaded or written.
    #[error("{path}: {detail}", path = path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// What is too large, and for which limit.
        detail: String,
    },
    /// There is something already where it was to be written.
    #[error("{path}: {why}", path = path.display())]
    Exists {
        /// The path.
        path: PathBuf,
        /// What is there, and what the user can do about it.
        why: &'static str,
    },
}

impl RecordingError {
    /// Wraps an error of the operating system, for `map_err`.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        |cause| Self::Io { path: path.to_path_buf(), cause }
    }

    /// Wraps damage, for `map_err`.
    pub(crate) fn damaged<E: std::fmt::Display>(path: &Path) -> impl FnOnce(E) -> Self + '_ {
        |detail| Self::Damaged { path: path.to_path_buf(), detail: detail.to_string() }
    }
}
