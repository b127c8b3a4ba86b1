//! Stacks that the program in the kernel could not walk and sent as they lie in memory
//! (`bpf/keep.h`): walked here, by the same unwinder, when more is known of their process.
//!
//! A JVM that starts maps its libraries and makes its code cache and its stubs within some tens of
//! milliseconds. Whoever reads it from outside is later than that, and much later on a machine
//! without an idle CPU.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use fathom_hotspot::memory::{Memory, ProcessMemory};
use zerocopy::IntoBytes;

use super::load::skeleton::types::stack_sample_kind;
use super::samples::Sample;
use super::shared::{KeptHead, MOST_KEPT_STACK, MOST_KERNEL_FRAMES, StackSample};
use super::user_mode::{Surroundings, Tables, walk};
use crate::bpf::record::{read, split};

/// `kind` of a record that is one.
pub const KIND: u8 = stack_sample_kind::SAMPLE_KEPT.0 as u8;
/// Memory of stacks that wait, at most: some hundreds.
const MOST_WAITING_BYTES: usize = 6 << 20;
/// No stack waits longer: what could be learnt of its process is known by then.
const LONGEST: Duration = Duration::from_secs(4);
/// Behind a stack that is longer than what is kept of it, memory as it is now is no part of it.
const NOT_KEPT: u64 = 1 << 20;
/// Stacks are kept page by page.
const PAGE: usize = 4096;

/// A stack as it lay in memory when its sample was taken.
#[derive(Debug)]
pub struct Kept {
    /// Of the sample; `reason`: why it was not walked then.
    pub head: StackSample,
    pc: u64,
    registers: [u64; 16],
    from: u64,
    stack: Box<[u8]>,
    kernel: Box<[u8]>,
    came: Instant,
}

impl Kept {
    /// Whether a record of the ring buffer is one.
    pub fn is_one(record: &[u8]) -> bool {
        read::<StackSample>(record).is_some_and(|head| head.kind == KIND)
    }

    /// Reads a record; `None` when it is not one.
    pub fn parse(record: &[u8]) -> Option<Self> {
        let (head, stack) = split::<KeptHead>(record)?;
        let mut sample = head.sample;
        sample.kernel_frames = sample.kernel_frames.min(MOST_KERNEL_FRAMES as u16);
        let bytes = head.bytes as usize;
        (sample.kind == KIND && bytes <= MOST_KEPT_STACK).then_some(())?;
        let kernel = &head.kernel[..usize::from(sample.kernel_frames)];
        Some(Self {
            head: sample,
            pc: head.pc,
            registers: head.registers,
            from: head.from,
            stack: stack.get(..bytes)?.into(),
            kernel: kernel.as_bytes().into(),
            came: Instant::now(),
        })
    }

    /// Walks it with what is known now. `memory`: of the process, for what is not on the stack;
    /// without it, the walk of Java frames ends early.
    pub fn walk(&self, tables: &Tables<'_>, memory: Option<&ProcessMemory>) -> Walked {
        let mut then = Then { kept: self, memory };
        let (walked, frames) = walk(tables, &self.registers, self.pc, &mut then);
        let mut stack: Vec<u8> = Vec::with_capacity(frames.len() * 16 + self.kernel.len());
        frames.iter().flatten().for_each(|word| stack.extend_from_slice(&word.to_le_bytes()));
        stack.extend_from_slice(&self.kernel);
        let head = StackSample {
            frames: frames.len() as u16,
            reason: walked.reason,
            cut_pc: walked.cut_pc,
            ..self.head
        };
        Walked { head, stack }
    }

    /// Whether it need not wait any longer.
    pub fn is_old(&self) -> bool {
        self.came.elapsed() > LONGEST
    }
}

/// The memory of a process with a stack as it was.
struct Then<'a> {
    kept: &'a Kept,
    memory: Option<&'a ProcessMemory>,
}

impl Surroundings for Then<'_> {
    fn read(&mut self, address: u64, into: &mut [u8]) -> bool {
        let (from, stack) = (self.kept.from, &self.kept.stack);
        let end = from.saturating_add(stack.len() as u64);
        let behind = address.saturating_add(into.len() as u64);
        if (from..end).contains(&address) && behind <= end {
            let first = (address - from) as usize;
            into.copy_from_slice(&stack[first..first + into.len()]);
            return true;
        }
        let is_longer = stack.len() > MOST_KEPT_STACK - PAGE;
        let not_kept = is_longer && behind > end && address < end.saturating_add(NOT_KEPT);
        !not_kept && self.memory.is_some_and(|memory| memory.read(address, into).is_ok())
    }
}

/// A sample that was walked late.
#[derive(Debug)]
pub struct Walked {
    head: StackSample,
    stack: Vec<u8>,
}

impl Walked {
    /// As one that was walked at once.
    pub fn sample(&self) -> Sample<'_> {
        Sample { head: self.head, stack: &self.stack }
    }
}

/// Stacks that wait for more to be known.
#[derive(Debug, Default)]
pub struct Waiting {
    stacks: VecDeque<(Kept, Awaited)>,
    bytes: usize,
}

/// What a stack waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Awaited {
    /// Where its walk ended.
    pub pc: u64,
    /// Why.
    pub reason: u8,
    /// What was known of the process then: `CodeOfProcesses::version`.
    pub version: u64,
}

impl Waiting {
    /// Keeps one; gives back the oldest where there is no room for both.
    pub fn hold(&mut self, kept: Kept, awaited: Awaited) -> Option<Kept> {
        self.bytes += kept.stack.len();
        self.stacks.push_back((kept, awaited));
        let (oldest, _) = (self.bytes > MOST_WAITING_BYTES).then(|| self.stacks.pop_front()).flatten()?;
        self.bytes -= oldest.stack.len();
        Some(oldest)
    }

    /// Takes those out that need wait no longer.
    pub fn take(&mut self, mut is_due: impl FnMut(&Kept, &Awaited) -> bool) -> Vec<Kept> {
        if !self.stacks.iter().any(|(kept, awaited)| is_due(kept, awaited)) {
            return Vec::new();
        }
        let (due, waiting): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.stacks).into_iter().partition(|(kept, awaited)| is_due(kept, awaited));
        self.stacks = waiting.into();
        self.bytes = self.stacks.iter().map(|(kept, _)| kept.stack.len()).sum();
        due.into_iter().map(|(kept, _)| kept).collect()
    }
}
