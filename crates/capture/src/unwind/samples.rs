//! Samples as the programs send them.

use zerocopy::IntoBytes;

use super::load::skeleton::types::frame_kind;
use super::shared::{CONTEXT_NONE, CONTEXT_SPAN, MOST_FRAMES, StackSample};
use crate::bpf::record::split;
use crate::thread_context::{Seen, SpanIds};

/// A frame, by its kind.
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
        let frame = match frame_kind((low >> 56) as u32) {
            frame_kind::FRAME_COMPILED => WalkedFrame::Compiled {
                nmethod: at,
                compile_id: (high >> 32) as u32,
                pc: at.wrapping_add(high & 0xffff_ffff),
            },
            frame_kind::FRAME_INTERPRETED => WalkedFrame::Interpreted {
                method: at,
                const_method: high & 0xffff_ffff_ffff,
                bci: (high >> 48) as i32 - 1,
            },
            frame_kind::FRAME_STUB => WalkedFrame::Stub { pc: at },
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

const FRAME: usize = 16;

impl<'a> Sample<'a> {
    /// Reads a record; `None` when it is not one.
    pub fn parse(record: &'a [u8]) -> Option<Self> {
        Self::split(record).map(|(sample, _)| sample)
    }

    /// The same, and what comes behind the stack.
    pub(crate) fn split(record: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let (head, rest) = split::<StackSample>(record)?;
        let length = usize::from(head.frames) * FRAME + usize::from(head.kernel_frames) * 8;
        let (stack, behind) = rest.split_at_checked(length)?;
        (usize::from(head.frames) <= MOST_FRAMES).then_some((Self { head, stack }, behind))
    }

    /// The same stack without its part in the kernel.
    pub(crate) fn without_kernel(self) -> Self {
        let (stack, _) = self.stack.split_at(usize::from(self.head.frames) * FRAME);
        Self { head: StackSample { kernel_frames: 0, ..self.head }, stack }
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
        let comm = self.head.comm.as_bytes();
        let end = comm.iter().position(|byte| *byte == 0).unwrap_or(comm.len());
        fathom_recording::jvm_text(&comm[..end])
    }
}

/// The context of the thread when its stack was taken.
pub(crate) fn context_of(head: &StackSample) -> Seen {
    match head.context {
        CONTEXT_SPAN => Seen::In(SpanIds { trace: head.trace_id, span: head.span_id }),
        CONTEXT_NONE => Seen::Nothing,
        _ => Seen::Unknown,
    }
}

/// A little-endian number.
fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}
