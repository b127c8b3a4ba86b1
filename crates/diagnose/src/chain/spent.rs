//! What the threads of a JVM spent some windows on, and who ran on the CPUs meanwhile: sums that
//! several rules share, kept with the chains.

use std::collections::BTreeMap;

use fathom_recording::{ProcessId, ThreadId};

/// What was spent in some windows, milliseconds, added up over threads or CPUs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spent<'a> {
    /// The windows.
    pub(crate) length_ms: f64,
    /// Application threads on a CPU.
    pub(crate) running_ms: f64,
    /// Application threads that could run and had no CPU.
    pub(crate) waiting_ms: f64,
    /// Of it, at the ends of waits for a disk: who makes more such calls waits for a CPU more
    /// often, whoever has it meanwhile.
    pub(crate) waiting_after_disk_ms: f64,
    /// Of it, after a thread gave its CPU up itself (`sched_yield`, `Thread.yield`): a busy wait.
    pub(crate) waiting_after_yield_ms: f64,
    /// Application threads whose control group had no quota left.
    pub(crate) throttled_ms: f64,
    /// When any of them had none left: wall time.
    pub(crate) any_throttled_ms: f64,
    /// Application threads that had work and waited for none of the others: those above, and what
    /// lies outside. Who waits for another thread waits for what that one spends its time on.
    pub(crate) active_ms: f64,
    /// When any of them had: wall time.
    pub(crate) any_active_ms: f64,
    /// The same thread by thread, of those that were ready to run at any time.
    pub(crate) threads: BTreeMap<ThreadId, Ready>,
    /// CPU time of all other processes; `None` where the machine was not watched.
    pub(crate) others_ms: Option<f64>,
    /// CPU time of the other recorded JVMs.
    pub(crate) jvms_ms: f64,
    /// CPU time of the recorder.
    pub(crate) recorder_ms: f64,
    /// CPUs that have values.
    pub(crate) processors: usize,
    /// CPU time of other processes by name: how many there were, and milliseconds.
    pub(crate) by_name: BTreeMap<&'a str, (usize, f64)>,
    /// CPU time of JVMs' threads by what they are for: "gc", "jit", "vm", "app".
    pub(crate) roles: BTreeMap<(ProcessId, &'a str), f64>,
    /// Time that the hypervisor gave to others.
    pub(crate) steal_ms: f64,
}

/// What one thread spent some windows on, milliseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ready {
    /// On a CPU, or could have been.
    pub(crate) ready_ms: f64,
    pub(crate) waiting_ms: f64,
    pub(crate) throttled_ms: f64,
    pub(crate) active_ms: f64,
}
