//! Java stacks of threads that sleep, read from outside.
//!
//! Programs in the kernel walk the thread that runs. One that sleeps from before a recording until
//! behind it never does, and is the one that somebody looks for: it hangs. Its last Java frame is
//! where it left Java ([`fathom_hotspot::walk`]).

use std::collections::{HashMap, HashSet};

use fathom_hotspot::symbols::{JavaFrame, Lost, Symbolizer};
use fathom_hotspot::walk::{Walk, WalkEnd, WalkedFrame, walk};
use fathom_recording::{FrameType, Sink, StackId};

use super::jvm::Jvm;
use crate::procfs;

/// Threads of a process that are walked at most.
const MOST_THREADS: usize = 4096;
/// Between Java and the kernel.
const NOT_WALKED: &str = "[native frames not walked]";

/// Stacks of the threads that are asked for and that have left Java, by their ids as fathom sees
/// them. A thread that goes on while it is read has none.
pub fn stacks(jvm: &mut Jvm, tids: &HashSet<u32>, sink: &mut dyn Sink) -> HashMap<u32, StackId> {
    let mut found = HashMap::new();
    let Some(threads) = &mut jvm.threads else { return found };
    let (Ok(all), Ok(java)) = (threads.all(&jvm.vm), threads.java(&jvm.vm)) else { return found };
    let anchors: HashMap<u64, _> =
        java.into_iter().filter_map(|thread| Some((thread.address, thread.anchor?))).collect();
    for thread in all.iter().filter(|thread| tids.contains(&thread.tid)).take(MOST_THREADS) {
        let Some(anchor) = thread.java.and_then(|address| anchors.get(&address)) else { continue };
        let Ok(walked) = walk(&jvm.vm, &jvm.code, &jvm.constants, *anchor) else { continue };
        if let Some(stack) = stack(&mut jvm.symbols, &walked, sink) {
            found.insert(thread.tid, stack);
        }
    }
    found
}

/// Where a thread sleeps, as the kernel shows root: `/proc/PID/stack`, upon what called the kernel.
pub fn kernel_stack(tid: u32, caller: Option<StackId>, sink: &mut dyn Sink) -> Option<StackId> {
    let text = procfs::read_to_string(procfs::path(tid.cast_signed(), "stack")).unwrap_or_default();
    let mut names: Vec<&str> =
        text.lines().filter_map(|l| l.split_whitespace().nth(1)?.split('+').next()).collect();
    names.reverse();
    names.into_iter().fold(caller, |caller, name| {
        let frame = sink.frame(name, "kernel", FrameType::Kernel, -1);
        Some(sink.stack(caller, frame))
    })
}

/// Only what reaches the root is sure to be one stack.
fn stack(symbols: &mut Symbolizer, walked: &Walk, sink: &mut dyn Sink) -> Option<StackId> {
    if walked.end != WalkEnd::Root {
        return None;
    }
    let mut stack = None;
    for frame in walked.frames.iter().rev() {
        let inlined: Result<Vec<JavaFrame>, Lost> = match *frame {
            WalkedFrame::Compiled { nmethod, compile_id, pc } => {
                symbols.compiled(nmethod, compile_id, pc).map(|frames| frames.to_vec())
            }
            WalkedFrame::Interpreted { method, bci } => {
                symbols.interpreted(method, None, bci).map(|frame| vec![frame])
            }
            WalkedFrame::Stub { pc } => symbols.stub(pc).map(|frame| vec![frame]),
        };
        for java in inlined.ok()?.iter().rev() {
            let line = java.line.map_or(-1, |line| i32::try_from(line).unwrap_or(-1));
            let frame = sink.frame(&java.name, "", java.frame_type, line);
            stack = Some(sink.stack(stack, frame));
        }
    }
    let frame = sink.frame(NOT_WALKED, "", FrameType::Unknown, -1);
    Some(sink.stack(stack, frame))
}
