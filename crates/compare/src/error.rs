//! What can go wrong when things are compared.

use std::path::PathBuf;

/// An error that names its object.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// A file could not be read or written.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why not.
        cause: std::io::Error,
    },
    /// A file does not hold what it should.
    #[error("{}: {why}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A command could not be started.
    #[error("{command}: cannot be started: {cause}")]
    Start {
        /// The command.
        command: String,
        /// Why not.
        cause: std::io::Error,
    },
    /// A command failed.
    #[error("{command}: ended with {status}; it printed last:\n{tail}")]
    Failed {
        /// The command.
        command: String,
        /// "exit status 1", "signal 9".
        status: String,
        /// The end of what it printed.
        tail: String,
    },
    /// A run did not give the value that is compared.
    #[error("{command}: {why}")]
    NoFigure {
        /// The command.
        command: String,
        /// What is missing.
        why: String,
    },
    /// What was asked for cannot be done.
    #[error("{0}")]
    Asked(String),
}

impl CompareError {
    /// An error of a file.
    pub fn io(path: &std::path::Path, cause: std::io::Error) -> Self {
        Self::Io { path: path.to_owned(), cause }
    }

    /// What is wrong with a file's content.
    pub fn content(path: &std::path::Path, why: impl std::fmt::Display) -> Self {
        Self::Content { path: path.to_owned(), why: why.to_string() }
    }
}
