//! Errors after which nothing of an input can be used.

use std::path::PathBuf;

/// An input that could not be used at all. Damage within a file is not an error: it is counted in
/// its source.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// It could not be opened or read.
    #[error("{path}: {cause}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        cause: std::io::Error,
    },
    /// No reader recognises its content.
    #[error("{path}: not a format that fathom knows ({seen})", path = path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// What it looks like: "empty", "binary data", "text: first line …".
        seen: String,
    },
    /// A reader recognised it and found no record in it.
    #[error("{path}: looks like {format}, but holds no record that could be read", path = path.display())]
    Empty {
        /// The file.
        path: PathBuf,
        /// The reader's id.
        format: &'static str,
    },
    /// A reader recognised it, and cannot read it.
    #[error("{path}: {why}", path = path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// What it is, and what to use instead.
        why: &'static str,
    },
}
