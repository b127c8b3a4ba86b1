//! Samples as the programs send them.

use super::shared::{MOST_FRAMES, StackSample};

/// Kind of a frame: `enum frame_kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WalkedFrame {
    /// Code outside the code cache.
    Native {
        /// Where it goes on.
        pc: u64,
    },
    /// Compiled Java.
    Compiled {
        /// The nmethod.
        nmethod: u64,
        /// Number of its compilation.
        compile_id: u32,
        /// Where it goes on.
        pc: u64,
    },
    /// Interpreted Java.
    Interpreted {
        /// `Method*`.
        method: u64,
        /// `ConstMethod*`, lower 48 bits.
        const_method: u64,
        /// Bytecode index, -1 when not known.
        bci: i32,
    },
    /// A stub, or code of the code cache that is no method.
    Stub {
        /// Where it goes on.
        pc: u64,
    },
}

/// A frame, and whether its pc is where the thread was rather than where a call returns to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Walked {
    /// The frame.
    pub frame: WalkedFrame,
    /// Its pc is exact.
    pub exact: bool,
}

const LOW: u64 = (1 << 55) - 1;

impl Walked {
    /// From the two words of `struct walked_frame`.
    pub fn of(low: u64, high: u64) -> Self {
        let at = low & LOW;
        let frame = match low >> 56 {
            1 => WalkedFrame::Compiled {
                nmethod: at,
                compile_id: (high >> 32) as u32,
                pc: at.wrapping_add(high & 0xffff_ffff),
            },
            2 => WalkedFrame::Interpreted {
                method: at,
                const_method: high & 0xffff_ffff_ffff,
                bci: (high >> 48) as i32 - 1,
            },
            3 => WalkedFrame::Stub { pc: at },
            _ => WalkedFrame::Native { pc: at },
        };
        Self { frame, exact: low >> 55 & 1 == 1 }
    }
}

/// A sample within a record of the ring buffer.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// Its head.
    pub head: StackSample,
    /// All that identifies its stack, to find the same one again: reason, user frames and kernel
    /// frames.
    pub stack: &'a [u8],
}

const HEAD: usize = size_of::<StackSample>();

/// The head that a record begins with.
pub(super) fn head_of(record: &[u8]) -> Option<StackSample> {
    let head: &[u8; HEAD] = record.first_chunk()?;
    let half = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("4 bytes"));
    let short = |at: usize| u16::from_le_bytes(head[at..at + 2].try_into().expect("2 bytes"));
    Some(StackSample {
        t_ns: word(&head[..8]),
        cut_pc: word(&head[8..16]),
        pid: half(16),
        tid: half(20),
        frames: short(24),
        kernel_frames: short(26),
        kind: head[28],
        reason: head[29],
        pad: [0; 2],
        comm: head[32..48].try_into().expect("16 bytes"),
        weight: word(&head[48..56]),
    })
}

const FRAME: usize = 16;

impl<'a> Sample<'a> {
    /// Reads a record; `None` when it is not one.
    pub fn parse(record: &'a [u8]) -> Option<Self> {
        let (head, stack) = record.split_at_checked(HEAD)?;
        let head = head_of(head)?;
        let length = usize::from(head.frames) * FRAME + usize::from(head.kernel_frames) * 8;
        let fits = usize::from(head.frames) <= MOST_FRAMES && stack.len() >= length;
        fits.then(|| Self { head, stack: &stack[..length] })
    }

    /// User frames, leaf first.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = Walked> + DoubleEndedIterator + '_ {
        let (frames, _) = self.stack.split_at(usize::from(self.head.frames) * FRAME);
        frames.chunks_exact(FRAME).map(|frame| Walked::of(word(&frame[..8]), word(&frame[8..])))
    }

    /// Addresses in the kernel, leaf first.
    pub fn kernel(&self) -> impl ExactSizeIterator<Item = u64> + DoubleEndedIterator + '_ {
        self.stack[usize::from(self.head.frames) * FRAME..].chunks_exact(8).map(word)
    }

    /// The thread's name at the kernel.
    pub fn comm(&self) -> std::borrow::Cow<'_, str> {
        let end = self.head.comm.iter().position(|byte| *byte == 0).unwrap_or(16);
        fathom_recording::jvm_text(&self.head.comm[..end])
    }
}

/// A little-endian number.
pub(crate) fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}
