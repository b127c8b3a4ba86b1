//! From a `JavaThread` to the virtual thread that it carries, where `JavaThread::_vthread` does not
//! name it: JDK 21 to 24 make the carrier the current thread again before a virtual thread leaves
//! it, and after it has come back (`VirtualThread.yieldContinuation`).
//!
//! ```text
//!   JavaThread ──_cont_entry──▶ ContinuationEntry (on its stack) ──_cont──▶ VThreadContinuation ──target──▶ Runnable ──val$vthread──▶ it
//! ```
//! The JVM does not export where the first two fields lie. They are found on a thread that carries
//! a virtual thread at that time: a word of the `JavaThread` that points into its own stack, where
//! an object of this class lies.

use crate::layout::LockLayout;
use crate::memory::Memory;
use crate::oops::Oops;
use crate::{Result, Vm};

const CONTINUATION: &str = "java/lang/VirtualThread$VThreadContinuation";
/// `java.lang.VirtualThread.VThreadContinuation.wrap`.
const TARGET: &str = "java/lang/VirtualThread$VThreadContinuation$1";
/// The most bytes of a `JavaThread` that are searched.
const MOST_BYTES: u64 = 8192;
/// Words of a `ContinuationEntry` that may be the continuation (continuationEntry.hpp).
const WORDS: u64 = 4;

/// Where to read what: bytes from the beginning of each object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContinuationConstants {
    /// `JavaThread`: its `ContinuationEntry*`; null when nothing is carried.
    pub entry: u32,
    /// `ContinuationEntry`: the continuation, a plain reference.
    pub continuation: u32,
    /// `jdk.internal.vm.Continuation`: what it runs.
    pub target: u32,
    /// What it runs: the virtual thread.
    pub virtual_thread: u32,
}

/// Finds the fields on a thread that carries a virtual thread now; `None` when this thread does
/// not, or is just switching.
pub(crate) fn find<M: Memory>(
    vm: &Vm<M>,
    layout: &LockLayout,
    oops: &mut Oops,
    thread: u64,
) -> Result<Option<ContinuationConstants>> {
    let memory = &vm.memory;
    let top = layout.stack_base.read_u64(memory, thread)?;
    let stack = top.saturating_sub(layout.stack_size.read_u64(memory, thread)?)..top;
    let size = vm.structs.type_entry("JavaThread").map_or(0, |entry| entry.size.min(MOST_BYTES));
    let words = memory.read_bytes(thread, size as usize)?;
    for (word, at) in words.as_chunks().0.iter().zip((0..).step_by(8)) {
        let entry = u64::from_le_bytes(*word);
        if !stack.contains(&entry) || entry % 8 != 0 {
            continue;
        }
        let Ok(words) = memory.read_bytes(entry, 8 * WORDS as usize) else { continue };
        for (word, continuation) in words.as_chunks().0.iter().zip((0..).step_by(8)) {
            if let Some((target, virtual_thread)) = leads_to_thread(vm, oops, u64::from_le_bytes(*word)) {
                return Ok(Some(ContinuationConstants { entry: at, continuation, target, virtual_thread }));
            }
        }
    }
    Ok(None)
}

/// Whether an address is that of a continuation of a virtual thread, and where it keeps that.
fn leads_to_thread<M: Memory>(vm: &Vm<M>, oops: &mut Oops, object: u64) -> Option<(u32, u32)> {
    let memory = &vm.memory;
    let header = [memory.read_u64(object).ok()?, memory.read_u64(object.wrapping_add(8)).ok()?];
    if oops.klass_name(memory, oops.klass_of_header(header)).ok()? != CONTINUATION {
        return None;
    }
    let at = oops.offset(memory, object, "jdk/internal/vm/Continuation", "target").ok()?;
    let target = oops.load_field(memory, object.wrapping_add(at)).ok()?;
    let virtual_thread = oops.offset(memory, target, TARGET, "val$vthread").ok()?;
    Some((at as u32, virtual_thread as u32))
}
