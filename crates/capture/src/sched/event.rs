//! What the program in the kernel tells: `bpf/sched.h`, byte by byte.

/// Frames of the kernel in an event.
const KERNEL_FRAMES: usize = 32;
/// Bytes of an event.
const SIZE: usize = 96 + 8 * KERNEL_FRAMES;

/// A thread waited, or ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    /// Switched out, monotonic nanoseconds; 0: no long wait is told, only what is owed.
    pub(super) off_ns: u64,
    /// Ran again, or ended.
    pub(super) on_ns: u64,
    /// How long of it, at its end, it could run and had no CPU.
    pub(super) runq_ns: u64,
    /// Short waits since the last event: blocked.
    pub(super) owed_ns: u64,
    /// The same: on the run queue.
    pub(super) owed_runq_ns: u64,
    pub(super) pid: u32,
    pub(super) tid: u32,
    /// Thread that woke it; 0: an interrupt, or nobody.
    pub(super) waker: u32,
    /// System call that it waited in; -1: none.
    pub(super) syscall: i32,
    state: u32,
    kind: u32,
    /// As the kernel has it: 15 bytes.
    pub(super) comm: String,
    /// Stamp of the sample that has its stack; 0: none was taken.
    pub(super) stack_ns: u64,
    /// Addresses in the kernel, innermost first, where no stack was taken.
    pub(super) kernel: Vec<u64>,
}

impl Event {
    /// An event from the bytes of the ring buffer; `None` when they are none.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..SIZE)?;
        let long = |at: usize| bytes.get(at..at + 8)?.first_chunk().map(|b| u64::from_ne_bytes(*b));
        let word = |at: usize| bytes.get(at..at + 4)?.first_chunk().map(|b| u32::from_ne_bytes(*b));
        let depth = (word(68)? as usize).min(KERNEL_FRAMES);
        let comm = bytes.get(72..88)?.split(|b| *b == 0).next()?;
        Some(Self {
            off_ns: long(0)?,
            on_ns: long(8)?,
            runq_ns: long(16)?,
            owed_ns: long(24)?,
            owed_runq_ns: long(32)?,
            pid: word(44)?,
            tid: word(48)?,
            waker: word(52)?,
            syscall: word(56)?.cast_signed(),
            state: word(60)?,
            kind: word(64)?,
            comm: String::from_utf8_lossy(comm).into_owned(),
            stack_ns: long(88)?,
            kernel: (0..depth).filter_map(|i| long(96 + 8 * i)).filter(|pc| *pc != 0).collect(),
        })
    }

    /// Whether the thread has ended.
    pub(super) fn ended(&self) -> bool {
        self.kind == 2
    }

    /// The state in which it was switched out, in a word (include/linux/sched.h).
    pub(super) fn state(&self) -> &'static str {
        match self.state {
            s if s >> 31 == 1 => "preempted",
            0 => "preempted",
            s if s & 1 != 0 => "sleeping",
            s if s & 2 != 0 => "uninterruptible",
            s if s & (4 | 8) != 0 => "stopped",
            _ => "other",
        }
    }
}
