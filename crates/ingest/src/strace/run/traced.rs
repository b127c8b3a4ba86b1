//! Calls, threads and processes of a trace.

use fathom_recording::{ProcessId, ThreadId};

use crate::strace::files::Target;

/// A call that has entered the kernel.
pub(super) struct Entered {
    pub(super) name: String,
    pub(super) args: String,
    pub(super) t0_ns: i64,
    pub(super) number: u64,
}

/// A call as it will be written.
pub(super) struct Done {
    pub(super) kind: &'static str,
    pub(super) name: String,
    pub(super) t0_ns: i64,
    pub(super) t1_ns: i64,
    pub(super) number: u64,
    pub(super) result: Option<i64>,
    pub(super) error: Option<String>,
    pub(super) bytes: Option<i64>,
    pub(super) target: Option<Target>,
    pub(super) timeouts: Option<u32>,
}

/// A thread that is traced.
pub(super) struct Traced {
    /// The number of its process among those of the trace.
    pub(super) process: usize,
    pub(super) name: String,
    pub(super) id: Option<ThreadId>,
    /// Calls that wait for the thread's name.
    pub(super) waiting: Vec<Done>,
}

/// A process that is traced.
pub(super) struct Group {
    pub(super) id: ProcessId,
    pub(super) pid: Option<i64>,
    pub(super) jvm: bool,
    pub(super) command: Option<String>,
}
