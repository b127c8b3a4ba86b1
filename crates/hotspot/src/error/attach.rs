//! Reasons why a JVM cannot be attached to.

use std::io;
use std::time::Duration;

/// Why a JVM could not be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AttachError {
    /// The signal that calls a JVM would end it.
    #[error(
        "process {pid} cannot be attached to: it does not catch SIGQUIT, so that it is no HotSpot JVM, or one that \
         is still starting"
    )]
    DoesNotCatchSigquit {
        /// The process.
        pid: u32,
    },
    /// It was started with `-XX:+DisableAttachMechanism`.
    #[error("JVM {pid} does not let anybody attach: it runs with -XX:+DisableAttachMechanism")]
    Disabled {
        /// The JVM.
        pid: u32,
    },
    /// It is stopped by a signal or a debugger.
    #[error("process {pid} is stopped and answers nothing; let it go on: kill -CONT {pid}")]
    Stopped {
        /// The process.
        pid: u32,
    },
    /// Only the JVM's own user and root may attach.
    #[error("JVM {pid} belongs to another user (uid {uid}): run fathom as that user or as root")]
    NotYours {
        /// The JVM.
        pid: u32,
        /// Its effective user.
        uid: u32,
    },
    /// It did not open its socket, or did not answer.
    #[error("JVM {pid} did not {what} within {} s: it may be busy, stuck, or out of memory", .waited.as_secs())]
    Timeout {
        /// The JVM.
        pid: u32,
        /// What it was expected to do: "open its socket", "answer jcmd".
        what: String,
        /// How long was waited.
        waited: Duration,
    },
    /// Somebody else listens where the JVM should.
    #[error("the socket of JVM {pid} is not its own: process {peer} of uid {uid} listens there")]
    Impostor {
        /// The JVM.
        pid: u32,
        /// Who listens.
        peer: i32,
        /// Its user.
        uid: u32,
    },
    /// The JVM ended.
    #[error("JVM {pid} ended while it was asked")]
    Ended {
        /// The JVM.
        pid: u32,
    },
    /// The answer is not a reply of the protocol.
    #[error("JVM {pid} answered {command} with {bytes} bytes that are not a reply")]
    NoReply {
        /// The JVM.
        pid: u32,
        /// What it was asked.
        command: String,
        /// How many bytes were received.
        bytes: usize,
    },
    /// The JVM refused or failed.
    #[error("{command}: the JVM says: {}", .text.lines().next().unwrap_or("nothing"))]
    Refused {
        /// What it was asked.
        command: String,
        /// Its status.
        status: i32,
        /// The text of its answer, unabridged.
        text: String,
    },
    /// The request is longer than this JVM understands, or holds a NUL.
    #[error(
        "{command}: the request cannot be encoded for this JVM (at most 1024 bytes per argument before JDK 24)"
    )]
    TooLong {
        /// What it was going to be asked.
        command: String,
    },
    /// The system refused something.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// What it answered.
        source: io::Error,
    },
}

impl AttachError {
    /// For `map_err`: names what was tried.
    pub(crate) fn system<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Self {
        let what = what.into();
        move |source| Self::System { what, source: source.into() }
    }
}
