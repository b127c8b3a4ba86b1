//! What can go wrong so that nothing of an input can be used.

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
        /// What the system said.
        cause: std::io::Error,
    },
    /// No reader knows its content.
    #[error("{path}: not a format that fathom knows ({seen})", path = path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// What it looks like: "empty", "binary data", "text: first line …".
        seen: String,
    },
    /// A reader took it and found no record in it.
    #[error("{path}: looks like {format}, but holds no record that could be read", path = path.display())]
    Empty {
        /// The file.
        path: PathBuf,
        /// The reader's id.
        format: &'static str,
    },
    /// A reader knows what it is, and that it cannot be read.
    #[error("{path}: {why}", path = path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// What it is, and what would be of use instead.
        why: &'static str,
    },
}
