//! What the program in the kernel sends (`bpf/sched.h`) and keeps (`bpf/sched_thread.h`).

use syscalls::Sysno;

use super::skeleton::types::{sched_event, sched_event_kind, thread};
use crate::bpf::interrupts::Waker;
use crate::bpf::record::text;

/// `TASK_INTERRUPTIBLE` (include/linux/sched.h).
const SLEEPING: u32 = 1;

/// A thread that has slept since a timestamp.
pub(super) fn asleep_since(off_ns: u64) -> thread {
    thread { off_ns, state: SLEEPING, ..thread::default() }
}

/// A thread that is off the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Off {
    /// When it was switched out.
    pub(super) since_ns: u64,
    /// Since when it could run; 0: it cannot.
    pub(super) ready_ns: u64,
    /// See [`Event::state`].
    pub(super) state: &'static str,
}

impl Off {
    /// One that has slept since a timestamp.
    pub(super) fn asleep(since_ns: u64) -> Self {
        Self { since_ns, ready_ns: 0, state: state_name(SLEEPING) }
    }

    /// As the program keeps it; `None`: it is on a CPU.
    pub(super) fn of(thread: &thread) -> Option<Self> {
        let off =
            Self { since_ns: thread.off_ns, ready_ns: thread.ready_ns, state: state_name(thread.state) };
        (off.since_ns != 0).then_some(off)
    }
}

/// When a thread was made, else switched out for the first time that was seen; `None`: it is on a
/// CPU, since nobody knows when.
pub(super) fn seen_from_ns(thread: &thread) -> Option<u64> {
    [thread.born_ns, thread.off_ns].into_iter().find(|ns| *ns != 0)
}

/// What a thread waited and has not reported, as it does that when it returns from a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unreported {
    /// Short waits: blocked, and on the run queue.
    pub(super) owed_ns: u64,
    pub(super) owed_runq_ns: u64,
    /// A long one that is over: from, to, of it on the run queue.
    pub(super) wait: Option<(u64, u64, u64)>,
    state: u32,
    /// System call that it waited in; -1: none.
    pub(super) syscall: i32,
    /// Addresses in the kernel where it waited, innermost first.
    pub(super) kernel: Vec<u64>,
}

impl Unreported {
    /// As the program keeps it; `None`: it has reported all.
    pub(super) fn of(thread: &thread) -> Option<Self> {
        let (off_ns, on_ns) = (thread.pending_off_ns, thread.pending_on_ns);
        let unreported = Self {
            owed_ns: thread.owed_ns,
            owed_runq_ns: thread.owed_runq_ns,
            wait: (off_ns > 0 && on_ns > off_ns).then_some((off_ns, on_ns, thread.pending_runq_ns)),
            state: thread.pending_state,
            syscall: thread.pending_syscall,
            kernel: frames(&thread.kernel, thread.kernel_bytes / 8),
        };
        (unreported.owed_ns > 0 || unreported.owed_runq_ns > 0 || unreported.wait.is_some())
            .then_some(unreported)
    }

    /// See [`Event::state`].
    pub(super) fn state(&self) -> &'static str {
        state_name(self.state)
    }
}

/// A thread waited, or ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    /// Switched out, monotonic nanoseconds; 0: no long wait is reported, only what is owed.
    pub(super) off_ns: u64,
    /// Ran again, or ended.
    pub(super) on_ns: u64,
    /// How long of it, at its end, it could run and had no CPU.
    pub(super) runq_ns: u64,
    /// Of that, at its beginning: its control group had no quota left.
    pub(super) throttled_ns: u64,
    /// Short waits since the last event: blocked.
    pub(super) owed_ns: u64,
    /// The same: on the run queue.
    pub(super) owed_runq_ns: u64,
    /// How many those were.
    owed_count: u32,
    pub(super) pid: u32,
    pub(super) tid: u32,
    /// Who woke it.
    pub(super) waker: Waker,
    /// System call that it waited in; -1: none.
    pub(super) syscall: i32,
    state: u32,
    kind: u32,
    /// As the kernel has it: 15 bytes.
    pub(super) comm: String,
    /// Timestamp of the sample that has its stack; 0: none was taken.
    pub(super) stack_ns: u64,
    /// When the thread was made; 0: before it was watched.
    pub(super) born_ns: u64,
    /// Thread that had the CPU until it ran again; 0: nobody, it was idle.
    pub(super) instead: u32,
    /// Its name at the kernel.
    pub(super) instead_comm: String,
    /// Times it ran on another CPU than before, since the last event.
    pub(super) migrations: u32,
    /// Addresses in the kernel, innermost first, where no stack was taken.
    pub(super) kernel: Vec<u64>,
}

impl Event {
    /// As the program sends it.
    pub(super) fn of(event: &sched_event) -> Self {
        Self {
            off_ns: event.off_ns,
            on_ns: event.on_ns,
            runq_ns: event.runq_ns,
            throttled_ns: event.throttled_ns,
            owed_ns: event.owed_ns,
            owed_runq_ns: event.owed_runq_ns,
            owed_count: event.owed_count,
            pid: event.pid,
            tid: event.tid,
            waker: Waker::parse(event.waker),
            syscall: event.syscall,
            state: event.state,
            kind: event.kind,
            comm: text(&event.comm),
            stack_ns: event.stack_ns,
            born_ns: event.born_ns,
            instead: event.instead,
            migrations: event.migrations,
            instead_comm: text(&event.instead_comm),
            kernel: frames(&event.kernel, event.kernel_depth),
        }
    }

    /// Waits that it reports, one by one or in sums: what those that were not seen are compared
    /// with.
    pub(super) fn waits(&self) -> u64 {
        u64::from(self.owed_count) + u64::from(self.off_ns > 0 && !self.is_missed())
    }

    /// Whether the thread has ended.
    pub(super) fn ended(&self) -> bool {
        self.kind == sched_event_kind::SCHED_EXITED.0
    }

    /// Whether what the thread did from [`Event::off_ns`] to [`Event::on_ns`] is not known, as a
    /// switch was not seen.
    pub(super) fn is_missed(&self) -> bool {
        self.kind == sched_event_kind::SCHED_MISSED.0
    }

    /// Whether the thread has waited again since, in the same call, which had not returned.
    pub(super) fn is_within_call(&self) -> bool {
        self.kind == sched_event_kind::SCHED_WITHIN.0
    }

    /// The state in which it was switched out, in a word.
    pub(super) fn state(&self) -> &'static str {
        state_name(self.state)
    }
}

/// Addresses in the kernel that are set, of so many.
fn frames(kernel: &[u64], depth: u32) -> Vec<u64> {
    kernel.iter().take(depth as usize).copied().filter(|pc| *pc != 0).collect()
}

/// A state of a task in a word (include/linux/sched.h).
fn state_name(state: u32) -> &'static str {
    match state {
        s if s >> 31 == 1 => "preempted",
        0 => "preempted",
        s if s & 1 != 0 => "sleeping",
        s if s & 2 != 0 => "uninterruptible",
        s if s & (4 | 8) != 0 => "stopped",
        _ => "other",
    }
}

/// What a system call is called.
pub(super) fn syscall_name(number: i32) -> Option<&'static str> {
    Sysno::new(usize::try_from(number).ok()?).map(|call| call.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_in_sums_are_records_as_those_are_that_are_reported_one_by_one() {
        let event = |off_ns, owed_count, kind: sched_event_kind| {
            Event::of(&sched_event { off_ns, owed_count, kind: kind.0, ..sched_event::default() }).waits()
        };
        assert_eq!(event(5, 400, sched_event_kind::SCHED_WAITED), 401);
        assert_eq!(event(0, 400, sched_event_kind::SCHED_WAITED), 400);
        assert_eq!(event(5, 0, sched_event_kind::SCHED_MISSED), 0);
    }

    #[test]
    fn a_thread_owes_what_it_has_not_reported_and_is_off_until_it_runs() {
        let asleep = asleep_since(7);
        assert_eq!(Unreported::of(&asleep), None);
        assert_eq!(Off::of(&asleep), Some(Off::asleep(7)));
        let mut owes = thread {
            ready_ns: 8,
            state: 4,
            owed_ns: 5,
            owed_runq_ns: 6,
            pending_off_ns: 100,
            pending_on_ns: 300,
            pending_runq_ns: 20,
            pending_state: 1,
            pending_syscall: 202,
            kernel_bytes: 16,
            ..asleep
        };
        owes.kernel[..3].copy_from_slice(&[0xf1, 0xf2, 0xf3]);
        let unreported = Unreported::of(&owes).unwrap();
        let owed = (unreported.owed_ns, unreported.owed_runq_ns, unreported.wait);
        assert_eq!(owed, (5, 6, Some((100, 300, 20))));
        assert_eq!((unreported.state(), unreported.syscall), ("sleeping", 202));
        assert_eq!(unreported.kernel, [0xf1, 0xf2]);
        assert_eq!(Off::of(&owes), Some(Off { since_ns: 7, ready_ns: 8, state: "stopped" }));
        assert_eq!(Off::of(&thread { off_ns: 0, ..owes }), None);
    }
}
