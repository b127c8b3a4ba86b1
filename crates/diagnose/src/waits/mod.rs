//! What a thread spends its time on: the categories of the ledger of threads, and how a wait is
//! classified by its stack ([`stack`]) or by its record ([`record`]).

mod acceptors;
mod at_rest;
pub(crate) mod frozen;
mod functions;
pub(crate) mod log_write;
mod main_thread;
mod native_rest;
pub(crate) mod place;
mod polls;
pub(crate) mod queues;
pub(crate) mod record;
pub(crate) mod replies;
pub(crate) mod stack;
mod streams;
mod synchronizer;
mod whose;

pub use at_rest::is_at_rest;
use fathom_recording::{Recording, Span};
use serde::Serialize;

/// What the time of a thread is attributed to. All time has one category; the order is that in
/// which they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Category {
    /// On a CPU, in interpreted Java. Here as below with the stubs that such code calls.
    Interpreted,
    /// On a CPU, in code of C1, inlined methods included.
    C1,
    /// On a CPU, in code of C2 or another top-tier compiler, inlined methods included.
    C2,
    /// On a CPU, in the JVM's own code, on a thread that is neither a collector's nor a compiler's.
    Jvm,
    /// On a CPU, a thread of the collector.
    Gc,
    /// On a CPU, a compiler thread.
    Jit,
    /// On a CPU, in native code outside the JVM.
    Native,
    /// On a CPU, in the kernel.
    Kernel,
    /// On a CPU, in the kernel, which handles a page fault of the thread.
    KernelFault,
    /// On a CPU, in a BPF program of the recorder, which runs in the name of the thread that it
    /// watches.
    Recorder,
    /// On a CPU, and no sample shows in which layer.
    Running,
    /// Could run, and had no CPU.
    RunQueue,
    /// Could run, and its cgroup had no quota left.
    Throttled,
    /// Stopped by a signal or a debugger, or frozen with its cgroup: it could not even have waited.
    Frozen,
    /// Stopped for a collection.
    StoppedByGc,
    /// Stopped, and waiting for the last thread to stop.
    StoppedToReach,
    /// Stopped, and the VM thread writes the JVM's log.
    StoppedByLog,
    /// Stopped for another VM operation, or while a safepoint was left.
    Stopped,
    /// Held up by the collector alone, for memory.
    AllocationStall,
    /// Held up by the kernel, which looks for memory: direct reclaim, compaction.
    MemoryStall,
    /// Blocked on a Java monitor.
    Monitor,
    /// Parked on a lock of `java.util.concurrent`.
    Lock,
    /// Blocked on a mutex or condition of the JVM or of native code.
    NativeLock,
    /// Waiting for what another thread does: `Object.wait`, a condition, a future, a latch, `join`.
    Waiting,
    /// Waiting for what another thread does with a time limit, and no thread of the
    /// process ended it: the time ran out.
    TimedWait,
    /// Waiting for a disk, or for the kernel's writing to it.
    Disk,
    /// Waiting for a peer on the network.
    Network,
    /// Resolving a name.
    Dns,
    /// In a page fault.
    PageFault,
    /// Waiting for the lock of its process' address space, in a fault or a call that changes
    /// mappings.
    MapLock,
    /// Waiting for another process.
    Child,
    /// In `sleep`, by its own choice.
    Sleep,
    /// Without work: a pool's thread without a task, a selector or acceptor without an event, the
    /// JVM's own threads.
    Idle,
    /// Blocked, and nothing shows on what.
    Blocked,
    /// Nobody saw it.
    Unknown,
}

impl Category {
    /// All of them, in order.
    pub const ALL: [Self; 35] = [
        Self::Interpreted,
        Self::C1,
        Self::C2,
        Self::Jvm,
        Self::Gc,
        Self::Jit,
        Self::Native,
        Self::Kernel,
        Self::KernelFault,
        Self::Recorder,
        Self::Running,
        Self::RunQueue,
        Self::Throttled,
        Self::Frozen,
        Self::StoppedByGc,
        Self::StoppedToReach,
        Self::StoppedByLog,
        Self::Stopped,
        Self::AllocationStall,
        Self::MemoryStall,
        Self::Monitor,
        Self::Lock,
        Self::NativeLock,
        Self::Waiting,
        Self::TimedWait,
        Self::Disk,
        Self::Network,
        Self::Dns,
        Self::PageFault,
        Self::MapLock,
        Self::Child,
        Self::Sleep,
        Self::Idle,
        Self::Blocked,
        Self::Unknown,
    ];

    /// Its place among all of them.
    pub(crate) fn index(self) -> usize {
        self as usize
    }

    /// In words, as the ledger shows it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Interpreted => "running: Java, interpreted",
            Self::C1 => "running: Java, C1",
            Self::C2 => "running: Java, C2",
            Self::Jvm => "running: JVM",
            Self::Gc => "running: GC",
            Self::Jit => "running: JIT compiler",
            Self::Native => "running: native",
            Self::Kernel => "running: kernel",
            Self::KernelFault => "running: kernel, page faults",
            Self::Recorder => "running: fathom's own programs",
            Self::Running => "running, layer not sampled",
            Self::RunQueue => "waiting for a CPU",
            Self::Throttled => "throttled by the cgroup's quota",
            Self::Frozen => "stopped: by a signal, or frozen",
            Self::StoppedByGc => "stopped: GC",
            Self::StoppedToReach => "stopped: time to safepoint",
            Self::StoppedByLog => "stopped: log write",
            Self::Stopped => "stopped: other VM operations",
            Self::AllocationStall => "stalled: allocation, by GC",
            Self::MemoryStall => "stalled: memory, by the kernel",
            Self::Monitor => "blocked: Java monitor",
            Self::Lock => "blocked: java.util.concurrent lock",
            Self::NativeLock => "blocked: native lock",
            Self::Waiting => "waiting for another thread",
            Self::TimedWait => "in a timed wait",
            Self::Disk => "blocked: disk",
            Self::Network => "blocked: network",
            Self::Dns => "blocked: name resolution",
            Self::PageFault => "blocked: page fault",
            Self::MapLock => "blocked: address space lock",
            Self::Child => "waiting for another process",
            Self::Sleep => "asleep",
            Self::Idle => "idle",
            Self::Blocked => "blocked, cause not seen",
            Self::Unknown => "unknown",
        }
    }

    /// Whether a thread chose it, so that nobody waits for the thread meanwhile.
    pub fn is_idle(self) -> bool {
        matches!(self, Self::Sleep | Self::Idle)
    }

    /// Whether a thread without work may wait so: what it waits for may be an answer, or the next
    /// request.
    pub fn may_be_idle(self) -> bool {
        matches!(
            self,
            Self::NativeLock | Self::Waiting | Self::TimedWait | Self::Network | Self::Child | Self::Blocked
        )
    }

    /// Whether the JVM stopped the thread, in whatever part of a stop.
    pub fn is_stopped(self) -> bool {
        matches!(self, Self::StoppedByGc | Self::StoppedToReach | Self::StoppedByLog | Self::Stopped)
    }

    /// Whether a thread does not get on although it wants to.
    pub fn is_held_up(self) -> bool {
        !self.is_idle() && !self.is_running() && self != Self::Unknown
    }

    /// Whether the thread is on a CPU.
    pub fn is_running(self) -> bool {
        self <= Self::Running
    }
}

/// What threads off the CPU waited for, by the stacks at which they were switched out.
pub struct Causes<'a> {
    recording: &'a Recording,
    stacks: stack::ByStack,
}

impl<'a> Causes<'a> {
    /// Looks at every stack of a recording once.
    pub fn of(recording: &'a Recording) -> Self {
        Self { recording, stacks: stack::ByStack::of(recording) }
    }

    /// The category of a span of a thread off the CPU. Time on the run queue at its end is not
    /// separated here.
    pub fn category(&self, span: &Span<'_>) -> Category {
        if span.name() == "preempted" && self.stacks.category(span.stack()) == Category::Blocked {
            return Category::RunQueue;
        }
        let role = span.thread().and_then(|id| self.recording.threads.get(id.index())).map(|t| t.role);
        self.stacks.of_switch(span, role.unwrap_or(fathom_recording::Role::Other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_complete_and_in_order() {
        for (i, category) in Category::ALL.iter().enumerate() {
            assert_eq!(category.index(), i, "{category:?}");
        }
        assert_eq!(Category::Unknown.index() + 1, Category::ALL.len());
    }
}
