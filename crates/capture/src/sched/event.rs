//! What the program in the kernel sends: `bpf/sched.h`, byte by byte.

use crate::bpf::interrupts::Waker;
use crate::bpf::words;
use syscalls::Sysno;

/// Frames of the kernel in an event.
const KERNEL_FRAMES: usize = 32;
/// Bytes of an event.
const SIZE: usize = KERNEL_AT + 8 * KERNEL_FRAMES;
/// Where they begin.
const KERNEL_AT: usize = 136;
/// Where `struct thread` of `bpf/sched_thread.h` has when it was switched out and made, and in
/// which state.
const OFF_AT: usize = 0;
const BORN_AT: usize = 8;
const READY_AT: usize = 16;
const STATE_AT: usize = 28;
/// The same of what it waited and has not reported yet.
const OWED_AT: usize = 40;
const OWED_RUNQ_AT: usize = 48;
const PENDING_OFF_AT: usize = 56;
const PENDING_ON_AT: usize = 64;
const PENDING_RUNQ_AT: usize = 72;
const PENDING_STATE_AT: usize = 84;
const PENDING_SYSCALL_AT: usize = 88;
/// The kernel's part of its stack, which ends the struct.
const KERNEL_BYTES_AT: usize = 92;
/// `TASK_INTERRUPTIBLE` (include/linux/sched.h).
const SLEEPING: u32 = 1;

/// A `struct thread` of so many bytes, of a thread that has slept since a timestamp.
pub(super) fn asleep_since(off_ns: u64, size: usize) -> Vec<u8> {
    let mut thread = vec![0; size.max(STATE_AT + 4)];
    thread[OFF_AT..OFF_AT + 8].copy_from_slice(&off_ns.to_ne_bytes());
    thread[STATE_AT..STATE_AT + 4].copy_from_slice(&SLEEPING.to_ne_bytes());
    thread
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

    /// From the bytes of a `struct thread`; `None`: it is on a CPU.
    pub(super) fn parse(thread: &[u8]) -> Option<Self> {
        let since_ns = words::long(thread, OFF_AT).filter(|ns| *ns != 0)?;
        let ready_ns = words::long(thread, READY_AT)?;
        Some(Self { since_ns, ready_ns, state: state_name(words::word(thread, STATE_AT)?) })
    }
}

/// When a `struct thread` was made, else switched out for the first time that was seen; `None`: it
/// is on a CPU, since nobody knows when.
pub(super) fn seen_from_ns(thread: &[u8]) -> Option<u64> {
    let born_ns = words::long(thread, BORN_AT)?;
    Some(born_ns).filter(|ns| *ns != 0).or_else(|| Off::parse(thread).map(|off| off.since_ns))
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
    /// From the bytes of a `struct thread`; `None`: it has reported all.
    pub(super) fn parse(thread: &[u8]) -> Option<Self> {
        let long = |at: usize| words::long(thread, at);
        let (off_ns, on_ns) = (long(PENDING_OFF_AT)?, long(PENDING_ON_AT)?);
        let depth = (words::word(thread, KERNEL_BYTES_AT)? as usize / 8).min(KERNEL_FRAMES);
        let kernel_at = thread.len().checked_sub(8 * KERNEL_FRAMES)?;
        let unreported = Self {
            owed_ns: long(OWED_AT)?,
            owed_runq_ns: long(OWED_RUNQ_AT)?,
            wait: (off_ns > 0 && on_ns > off_ns).then_some((off_ns, on_ns, long(PENDING_RUNQ_AT)?)),
            state: words::word(thread, PENDING_STATE_AT)?,
            syscall: words::word(thread, PENDING_SYSCALL_AT)?.cast_signed(),
            kernel: (0..depth).filter_map(|i| long(kernel_at + 8 * i)).filter(|pc| *pc != 0).collect(),
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
    /// An event from the bytes of the ring buffer; `None` when they are not one.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..SIZE)?;
        let long = |at: usize| words::long(bytes, at);
        let word = |at: usize| words::word(bytes, at);
        let depth = (word(68)? as usize).min(KERNEL_FRAMES);
        Some(Self {
            off_ns: long(0)?,
            on_ns: long(8)?,
            runq_ns: long(16)?,
            throttled_ns: long(128)?,
            owed_ns: long(24)?,
            owed_runq_ns: long(32)?,
            pid: word(44)?,
            tid: word(48)?,
            waker: Waker::parse(word(52)?),
            syscall: word(56)?.cast_signed(),
            state: word(60)?,
            kind: word(64)?,
            comm: words::text(bytes.get(72..88)?),
            stack_ns: long(88)?,
            born_ns: long(96)?,
            instead: word(104)?,
            migrations: word(108)?,
            instead_comm: words::text(bytes.get(112..128)?),
            kernel: (0..depth).filter_map(|i| long(KERNEL_AT + 8 * i)).filter(|pc| *pc != 0).collect(),
        })
    }

    /// Whether the thread has ended.
    pub(super) fn ended(&self) -> bool {
        self.kind == 2
    }

    /// Whether what the thread did from [`Event::off_ns`] to [`Event::on_ns`] is not known, as a
    /// switch was not seen.
    pub(super) fn is_missed(&self) -> bool {
        self.kind == 3
    }

    /// The state in which it was switched out, in a word.
    pub(super) fn state(&self) -> &'static str {
        state_name(self.state)
    }
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
    fn what_a_thread_owes_at_the_end_is_read_by_its_places() {
        let mut thread = asleep_since(7, 160 + 8 * KERNEL_FRAMES);
        assert_eq!(Unreported::parse(&thread), None);
        for (at, value) in [(40, 5_u64), (48, 6), (56, 100), (64, 300), (72, 20)] {
            thread[at..at + 8].copy_from_slice(&value.to_ne_bytes());
        }
        thread[84..88].copy_from_slice(&1_u32.to_ne_bytes());
        thread[88..92].copy_from_slice(&202_u32.to_ne_bytes());
        thread[92..96].copy_from_slice(&16_u32.to_ne_bytes());
        for (at, pc) in [(160, 0xf1_u64), (168, 0xf2), (176, 0xf3)] {
            thread[at..at + 8].copy_from_slice(&pc.to_ne_bytes());
        }
        let unreported = Unreported::parse(&thread).unwrap();
        let owed = (unreported.owed_ns, unreported.owed_runq_ns, unreported.wait);
        assert_eq!(owed, (5, 6, Some((100, 300, 20))));
        assert_eq!((unreported.state(), unreported.syscall), ("sleeping", 202));
        assert_eq!(unreported.kernel, [0xf1, 0xf2]);
        assert_eq!(Off::parse(&thread), Some(Off::asleep(7)));
        thread[16..24].copy_from_slice(&8_u64.to_ne_bytes());
        thread[28..32].copy_from_slice(&4_u32.to_ne_bytes());
        assert_eq!(Off::parse(&thread), Some(Off { since_ns: 7, ready_ns: 8, state: "stopped" }));
        thread[0..8].fill(0);
        assert_eq!(Off::parse(&thread), None);
        assert_eq!(Unreported::parse(&thread[..60]), None);
    }
}
