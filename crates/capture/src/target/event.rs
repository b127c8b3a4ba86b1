//! A target, and what may become of it.

use fathom_recording::ProcessId;
use libbpf_rs::{MapCore, MapFlags};

/// A process that is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its id.
    pub pid: i32,
    /// When it started, ticks since boot.
    pub start_ticks: u64,
    /// Its row in the recording. One that becomes another program by exec gets a new row.
    pub process: ProcessId,
    /// Whether HotSpot's library is mapped in it.
    pub jvm: bool,
}

/// What happened to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is recorded from now on.
    Appeared,
    /// It became another program: what is known of its code is void. [`Target::process`] is a new
    /// row.
    Exec,
    /// It has mapped libjvm by now: it is a JVM.
    BecameJvm,
    /// It has ended. Its `/proc` entry may be gone.
    Gone,
}

/// News of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetEvent {
    /// What happened.
    pub change: Change,
    /// The target as it is after that.
    pub target: Target,
    /// When it happened, or was noticed, monotonic nanoseconds.
    pub at_ns: u64,
}

impl TargetEvent {
    /// Whether the target is no longer what it was.
    pub(crate) fn leaves(&self) -> bool {
        matches!(self.change, Change::Exec | Change::Gone)
    }

    /// Enters the target into a map of those that programs look at, or takes it out when it is
    /// gone; whether there was room.
    pub(crate) fn mark(&self, targets: &impl MapCore) -> bool {
        let pid = self.target.pid.to_ne_bytes();
        if self.change == Change::Gone {
            // Not there any more is as good as deleted.
            let _ = targets.delete(&pid);
            return true;
        }
        targets.update(&pid, &[1], MapFlags::ANY).is_ok()
    }
}
