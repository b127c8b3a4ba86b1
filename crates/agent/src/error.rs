//! What can go wrong.

use std::path::{Path, PathBuf};

use fathom_capture::CaptureError;

/// An error that ends the agent; what it can go on without is in its status.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// A file of the spool cannot be read or written.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// The spool belongs to an agent that is at work.
    #[error("{}: another fathom agent is running there", .0.display())]
    InUse(PathBuf),
    /// A service of the system is refused.
    #[error("{what}: {cause}")]
    System {
        /// What was asked for.
        what: &'static str,
        /// Why not.
        cause: std::io::Error,
    },
    /// What was asked for cannot be captured.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The place that rows are to go to cannot be used as it was written.
    #[error("--to {place}: {why}")]
    Place {
        /// As it was written.
        place: String,
        /// Why not.
        why: String,
    },
    /// There is no status: no agent has worked with this spool.
    #[error("{}: no fathom agent has run there: {why}", dir.display())]
    NoStatus {
        /// The spool.
        dir: PathBuf,
        /// Why.
        why: String,
    },
}

impl AgentError {
    /// Names the file.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        |cause| Self::Io { path: path.to_path_buf(), cause }
    }

    /// Names what was asked for.
    pub(crate) fn system(what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |cause| Self::System { what, cause }
    }
}
