//! Reasons why a JVM cannot be read.

mod attach;

use std::io;

pub use attach::AttachError;

/// Why a JVM could not be read. Each message names the thing that failed and, where there is one,
/// the fix.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such process, or it ended while it was read.
    #[error("process {pid} does not exist (any more)")]
    NoProcess {
        /// The process.
        pid: u32,
    },
    /// The kernel does not let this user look into the process.
    #[error(
        "process {pid} may not be read: {why}; run fathom as the user of the JVM or as root (in a container: \
         with CAP_SYS_PTRACE)"
    )]
    NotAllowed {
        /// The process.
        pid: u32,
        /// What the kernel answered.
        why: io::Error,
    },
    /// A file of `/proc` could not be read for another reason.
    #[error("{path}: {why}")]
    Proc {
        /// The file.
        path: String,
        /// What the kernel answered.
        why: io::Error,
    },
    /// No libjvm.so is mapped into the process.
    #[error("process {pid} is not a JVM: it has no libjvm.so mapped")]
    NoLibjvm {
        /// The process.
        pid: u32,
    },
    /// A libjvm.so is there, but it does not export the tables of HotSpot, or is not a 64-bit
    /// library.
    #[error(
        "process {pid} has {path}, which is not a 64-bit HotSpot JVM (OpenJ9, 32-bit and others are not read)"
    )]
    NotHotSpot {
        /// The process.
        pid: u32,
        /// The library.
        path: String,
    },
    /// It runs Java, but not on a 64-bit HotSpot JVM.
    #[error("process {pid} is {what}")]
    Foreign {
        /// The process.
        pid: u32,
        /// What it is, and what to do instead.
        what: &'static str,
    },
    /// The JVM has not finished starting, so that its tables are incomplete.
    #[error("the JVM has not started up yet: {what} is not there")]
    NotReady {
        /// What is not there yet.
        what: &'static str,
    },
    /// Its collector keeps objects in a way that fathom does not read from outside.
    #[error(
        "the heap of this JVM cannot be read from outside, which works with G1, Parallel and Serial only; a dump (--dump FILE) or jcmd PID GC.class_histogram works with any collector"
    )]
    NotWalked,
    /// fathom does not read this in a JVM with these options.
    #[error("{what} cannot be read from outside")]
    Unsupported {
        /// What is not read.
        what: String,
    },
    /// A field or constant that is needed is not exported by the JVM.
    #[error("JVM symbol {symbol} not found in {jvm}: this release of HotSpot is not known to fathom")]
    MissingSymbol {
        /// All names under which it was looked for, "A or B".
        symbol: String,
        /// Which JVM.
        jvm: String,
    },
    /// A value that was read from the JVM cannot be right.
    #[error("{what} of the JVM cannot be right: {value:#x}")]
    Implausible {
        /// What was read.
        what: String,
        /// The value read.
        value: u64,
    },
    /// Memory of the JVM could not be read.
    #[error(transparent)]
    Memory(#[from] Unreadable),
    /// The JVM could not be asked.
    #[error(transparent)]
    Attach(#[from] AttachError),
}

/// A range of memory that could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{length} bytes at {address:#x} of the JVM cannot be read (error {errno})")]
pub struct Unreadable {
    /// Where it begins.
    pub address: u64,
    /// How many bytes were requested.
    pub length: usize,
    /// The kernel's error (`errno`); 0 where no kernel was asked.
    pub errno: i32,
}

/// The result of reading a JVM.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    #[test]
    fn what_the_kernel_answered_is_said_once_in_a_chain_of_causes() {
        let why = || io::Error::from_raw_os_error(libc::EACCES);
        for error in [
            Error::NotAllowed { pid: 7, why: why() },
            Error::Proc { path: "/proc/7/maps".into(), why: why() },
        ] {
            assert!(error.to_string().contains("Permission denied"), "{error}");
            assert!(error.source().is_none(), "{error:?}: it would be printed a second time");
        }
    }
}
