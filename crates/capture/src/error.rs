//! What ends a recording before it begins, or in the middle; and what is only not seen.

use fathom_recording::{RecordingError, Unseen};

/// Something that could not be seen, and what would let it be seen. A value that is in the
/// recording, no error.
pub type Unavailable = Unseen;

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
    /// A runtime of Java that is not 64-bit HotSpot.
    #[error(
        "process {pid} is {what}, and fathom reads 64-bit HotSpot only: run the service on a HotSpot JDK (`fathom record -a` \
         records it as a native program with the others)"
    )]
    Foreign {
        /// The process.
        pid: i32,
        /// What it is.
        what: &'static str,
    },
    /// Somebody else's process.
    #[error("process {pid} belongs to {owner}: run fathom as that user or as root (sudo)")]
    NotYours {
        /// The process.
        pid: i32,
        /// Its user.
        owner: String,
    },
    /// A process that not even root may look into.
    #[error(
        "process {pid} may not be looked into, not even by root: a security module, a user namespace or the machine's monitor keeps it closed"
    )]
    Closed {
        /// The process.
        pid: i32,
    },
    /// Nothing matches, and nothing matched until the end.
    #[error("{what}: none found; `fathom ps` lists the JVMs that run")]
    NoMatch {
        /// The pattern or the cgroup.
        what: String,
    },
    /// What matches belongs to others.
    #[error(
        "{what}: found {count} that belong to others, and this user may not look into them: run fathom as that user or as root (sudo)"
    )]
    NoneOfYours {
        /// The pattern or the cgroup.
        what: String,
        /// How many processes.
        count: usize,
    },
    /// The command could not be started.
    #[error("{command}: {cause}")]
    Command {
        /// The program.
        command: String,
        /// What the system said.
        cause: std::io::Error,
    },
    /// What was asked for by its name cannot be had here.
    #[error("{}: {}; {}", .0.what, .0.why, .0.remedy)]
    NotHere(fathom_recording::Unseen),
    /// None of the collectors that show what the target does can work here: an empty recording is
    /// refused.
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
    /// The directory of incidents cannot be used.
    #[error("{place}: {cause}", place = place.display())]
    Place {
        /// The directory.
        place: std::path::PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// The recording could not be written.
    #[error(transparent)]
    Recording(#[from] RecordingError),
}

impl CaptureError {
    /// Whether it is the environment that does not allow it (as against bad usage).
    pub fn is_environment(&self) -> bool {
        !matches!(self, Self::Recording(_) | Self::Command { .. } | Self::Place { .. })
    }

    pub(crate) fn system(what: &'static str) -> impl FnOnce(rustix::io::Errno) -> Self {
        move |errno| Self::System { what, cause: errno.into() }
    }
}
