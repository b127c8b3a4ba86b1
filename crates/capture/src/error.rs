//! What ends a recording before it begins, or in the middle.

use fathom_recording::RecordingError;

/// A recording that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// There is no such process.
    #[error("there is no process {pid} (any more): `fathom ps` lists the JVMs that run")]
    NoProcess {
        /// The id that was asked for.
        pid: i32,
    },
    /// It is a thread's id, or a zombie's.
    #[error("{pid} cannot be recorded: {why}")]
    NotRecordable {
        /// The id that was asked for.
        pid: i32,
        /// What it is instead of a running process.
        why: &'static str,
    },
    /// Somebody else's process.
    #[error(
        "process {pid} belongs to {owner}: run fathom as that user or as root (sudo fathom record -p {pid} …)"
    )]
    NotYours {
        /// The process.
        pid: i32,
        /// Its user.
        owner: String,
    },
    /// Nothing matches, and nothing matched until the end.
    #[error("no process matches {what}: `fathom ps` lists the JVMs that run")]
    NoMatch {
        /// The pattern or the cgroup.
        what: String,
    },
    /// The command could not be started.
    #[error("{command}: {cause}")]
    Command {
        /// The program.
        command: String,
        /// What the system said.
        cause: std::io::Error,
    },
    /// None of the collectors that tell what the target does can work here: an empty recording is refused.
    #[error("nothing of the target can be seen here: {}", .0.join("; "))]
    NothingToSee(Vec<String>),
    /// The system refused something that recording cannot do without.
    #[error("{what}: {cause}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The recording could not be written.
    #[error(transparent)]
    Recording(#[from] RecordingError),
}

impl CaptureError {
    /// Whether it is the environment that does not allow it (as against bad usage).
    pub fn is_environment(&self) -> bool {
        !matches!(self, Self::Recording(_) | Self::Command { .. })
    }

    pub(crate) fn system(what: &'static str) -> impl FnOnce(rustix::io::Errno) -> Self {
        move |errno| Self::System { what, cause: errno.into() }
    }
}
