//! From walked frames to stacks of the recording.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use fathom_hotspot::symbols::{JavaFrame, Lost};
use fathom_recording::vocabulary::frame::{UNKNOWN_JAVA, cut};
use fathom_recording::{FrameId, FrameType, Sink, StackId};

use crate::bpf::own::{MODULE, OwnPrograms};
use crate::kernel_symbols::KernelSymbols;
use crate::symbols::NativeSymbols;

use super::processes::Known;
use super::reasons::reason_name;
use super::samples::{Sample, Walked, WalkedFrame};

/// Stacks and frames that are remembered at most; then they are looked up anew.
const MOST_REMEMBERED: usize = 200_000;

/// Frames by what was walked, stacks by all of their frames.
#[derive(Default)]
pub struct Stacks {
    native: NativeSymbols,
    /// By generation of the process (changes with exec) and frame; innermost first.
    frames: HashMap<(u64, Walked), Vec<FrameId>>,
    kernel: HashMap<u64, FrameId>,
    /// fathom's own programs, which run in the name of those that they watch.
    own: OwnPrograms,
    /// By a hash of generation, frames and reason.
    stacks: HashMap<u64, Option<StackId>>,
    hasher: RandomState,
    /// Frames whose method could not be named: code that was freed before it was looked at.
    pub unnamed: u64,
}

impl Stacks {
    /// Forgets all ids of frames and stacks that it was given.
    pub fn forget(&mut self) {
        self.frames.clear();
        self.kernel.clear();
        self.stacks.clear();
    }

    /// Learns the mappings of a process, so that they can be named when it is gone.
    pub fn learn(&mut self, pid: u32, known: &Known) {
        self.native.learn(pid, known.code.iter().map(|code| &code.mapping));
    }

    /// The stack of a sample. `known`: its process, `generation`: of the process.
    pub fn stack(
        &mut self,
        sample: &Sample<'_>,
        known: Option<&mut Known>,
        generation: u64,
        sink: &mut dyn Sink,
    ) -> Option<StackId> {
        let key = self.hasher.hash_one((generation, sample.head.reason, sample.head.frames, sample.stack));
        if let Some(stack) = self.stacks.get(&key) {
            return *stack;
        }
        let stack = self.build(sample, known, generation, sink);
        if self.stacks.len() > MOST_REMEMBERED {
            self.stacks.clear();
        }
        self.stacks.insert(key, stack);
        stack
    }

    fn build(
        &mut self,
        sample: &Sample<'_>,
        mut known: Option<&mut Known>,
        generation: u64,
        sink: &mut dyn Sink,
    ) -> Option<StackId> {
        let mut stack = None;
        if let Some(reason) = reason_name(sample.head.reason) {
            let frame = sink.frame(&cut(reason), "", FrameType::Unknown, -1);
            stack = Some(sink.stack(stack, frame));
        }
        if self.frames.len() > MOST_REMEMBERED {
            self.frames.clear();
        }
        for walked in sample.frames().rev() {
            let key = (generation, walked);
            if !self.frames.contains_key(&key) {
                let frames = self.resolve(walked, sample.head.pid, known.as_deref_mut(), sink);
                self.frames.insert(key, frames);
            }
            for frame in self.frames[&key].iter().rev() {
                stack = Some(sink.stack(stack, *frame));
            }
        }
        for address in sample.kernel().collect::<Vec<_>>().into_iter().rev() {
            let frame = *self.kernel.entry(address).or_insert_with(|| {
                let symbol = || KernelSymbols::get().find(address).unwrap_or(("[kernel]", "kernel"));
                let own = self.own.find(address).map(|name| (name, MODULE));
                let (name, module) = own.unwrap_or_else(symbol);
                sink.frame(name, module, FrameType::Kernel, -1)
            });
            stack = Some(sink.stack(stack, frame));
        }
        stack
    }

    /// All programs of fathom are loaded: their frames are called so from now on.
    pub(crate) fn know_own_programs(&mut self) {
        self.own = OwnPrograms::read();
        self.kernel.clear();
        self.stacks.clear();
    }

    /// The frames that stand for a walked one, innermost first.
    fn resolve(
        &mut self,
        walked: Walked,
        pid: u32,
        known: Option<&mut Known>,
        sink: &mut dyn Sink,
    ) -> Vec<FrameId> {
        let Some(known) = known else { return vec![unknown(walked, sink)] };
        let java = |known: &mut Known| -> Option<Result<Vec<JavaFrame>, Lost>> {
            let symbols = &mut known.jvm.as_mut()?.symbols;
            Some(match walked.frame {
                WalkedFrame::Compiled { nmethod, compile_id, pc } => {
                    symbols.compiled(nmethod, compile_id, pc).map(|frames| frames.to_vec())
                }
                WalkedFrame::Interpreted { method, const_method, bci } => {
                    symbols.interpreted(method, Some(const_method), bci).map(|frame| vec![frame])
                }
                WalkedFrame::Stub { pc } => symbols.stub(pc).map(|frame| vec![frame]),
                WalkedFrame::Native { .. } => return None,
            })
        };
        match java(known) {
            Some(Ok(frames)) => frames
                .iter()
                .map(|f| {
                    let line = f.line.map_or(-1, |line| i32::try_from(line).unwrap_or(-1));
                    sink.frame(&f.name, "", f.frame_type, line)
                })
                .collect(),
            Some(Err(_)) => {
                self.unnamed += 1;
                vec![unknown(walked, sink)]
            }
            None => vec![self.native(walked, pid, known, sink)],
        }
    }

    fn native(&mut self, walked: Walked, pid: u32, known: &Known, sink: &mut dyn Sink) -> FrameId {
        let WalkedFrame::Native { pc } = walked.frame else { return unknown(walked, sink) };
        // A return address may lie behind the end of a function that never gets it back.
        let at = pc.saturating_sub(u64::from(!walked.exact));
        let Some(code) = known.code_at(at) else { return unknown(walked, sink) };
        let frame = self.native.frame(pid, &code.mapping, at);
        sink.frame(&frame.name, &frame.module, frame.frame_type, -1)
    }
}

fn unknown(walked: Walked, sink: &mut dyn Sink) -> FrameId {
    let (name, frame_type) = match walked.frame {
        WalkedFrame::Native { .. } => ("[unknown]", FrameType::Unknown),
        WalkedFrame::Compiled { .. } => (UNKNOWN_JAVA, FrameType::C2),
        WalkedFrame::Interpreted { .. } => (UNKNOWN_JAVA, FrameType::Interpreted),
        WalkedFrame::Stub { .. } => ("[stub]", FrameType::Stub),
    };
    sink.frame(name, "", frame_type, -1)
}
