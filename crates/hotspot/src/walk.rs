//! The Java frames of a thread that has left Java, unwound from outside.
//!
//! A thread in native code or in the JVM left an anchor behind: stack pointer, pc and frame pointer
//! of its youngest Java frame. From there frames are complete, so that no prologue or epilogue has
//! to be distinguished. It is what the unwinder in the kernel is checked against when it attaches:
//! when this walk arrives at the thread's root, the constants that both use are right for this JVM.
//!
//! ```text
//!   interpreted:  [fp+8] return address, [fp] caller's fp, slots below (see `machine`)
//!   compiled:     sp + frame size: return address right below, caller's fp below that
//!   entry frame:  the call stub; the anchor of what Java called before lies in its JavaCallWrapper
//! ```

use crate::code_cache::{BlobKind, CodeCache, CodeStart, UnwindConstants};
use crate::memory::Memory;
use crate::threads::Anchor;
use crate::{Error, Result, Vm};

/// Frames walked at most.
const MOST_FRAMES: usize = 4096;
/// Slot of the `JavaCallWrapper*` in an entry frame where it is not exported
/// (`entry_frame_call_wrapper_offset`).
const CALL_WRAPPER_SLOT: i64 = -6;

/// A frame that was walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkedFrame {
    /// Compiled code: see [`crate::symbols::Symbolizer::compiled`].
    Compiled {
        /// Address of the nmethod.
        nmethod: u64,
        /// Number of its compilation.
        compile_id: u32,
        /// Where the frame goes on; the true one where the frame is to be deoptimised.
        pc: u64,
    },
    /// Interpreted code: see [`crate::symbols::Symbolizer::interpreted`].
    Interpreted {
        /// The `Method*`.
        method: u64,
        /// Bytecode index; -1 in a native method.
        bci: i32,
    },
    /// A stub with a frame of its own.
    Stub {
        /// Where it goes on.
        pc: u64,
    },
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkEnd {
    /// At the frame through which the thread entered Java first.
    Root,
    /// At an address that is not in the code cache, or at a blob that no rule is for.
    Unknown {
        /// The address.
        pc: u64,
    },
    /// At the most frames that are walked.
    TooDeep,
}

/// A walk's frames, youngest first, and how it ended.
#[derive(Clone, Debug)]
pub struct Walk {
    /// The frames.
    pub frames: Vec<WalkedFrame>,
    /// How it ended.
    pub end: WalkEnd,
}

/// Unwinds the Java frames of a thread from its anchor. The thread must stay where it is: one that
/// went on meanwhile gives an error, or a walk that does not arrive at its root.
pub fn walk<M: Memory>(
    vm: &Vm<M>,
    code: &CodeCache,
    constants: &UnwindConstants,
    anchor: Anchor,
) -> Result<Walk> {
    let memory = &vm.memory;
    let word = |base: u64, slot: i64| memory.read_u64(base.wrapping_add_signed(slot * 8));
    let Anchor { mut sp, mut pc, mut fp } = anchor;
    let mut frames = Vec::new();
    if pc == 0 {
        pc = word(sp, -1)?;
    }
    while frames.len() < MOST_FRAMES {
        if pc == constants.call_stub_return {
            let Some(outer) = anchor_of_entry(vm, constants, fp)? else {
                return Ok(Walk { frames, end: WalkEnd::Root });
            };
            // Stacks grow down: what called is higher.
            if outer.sp <= sp {
                return Err(Error::Implausible { what: "order of stack frames".to_owned(), value: outer.sp });
            }
            Anchor { sp, pc, fp } = outer;
            if pc == 0 {
                pc = word(sp, -1)?;
            }
            continue;
        }
        let Some(blob) = code.find(memory, pc)? else {
            return Ok(Walk { frames, end: WalkEnd::Unknown { pc } });
        };
        let sender_sp = match blob.kind {
            BlobKind::Interpreter => {
                let slots = constants.interpreter_frame;
                let method = word(fp, slots.method.into())?;
                let bytecode = word(fp, slots.bytecode.into())?;
                let bytecodes = constants
                    .method_const_method
                    .read_u64(memory, method)?
                    .wrapping_add(u64::from(constants.const_method_size_of));
                let bci = i32::try_from(bytecode.wrapping_sub(bytecodes)).unwrap_or(-1);
                frames.push(WalkedFrame::Interpreted { method, bci });
                let (sender_sp, sender_fp) =
                    (word(fp, slots.sender_sp.into())?, word(fp, slots.link.into())?);
                pc = word(fp, slots.return_address.into())?;
                fp = sender_fp;
                sender_sp
            }
            BlobKind::Nmethod | BlobKind::NativeNmethod => {
                let is_handler = |handler: CodeStart| -> Result<bool> {
                    Ok(pc
                        == match handler {
                            CodeStart::Address(field) => field.read_u64(memory, blob.address)?,
                            CodeStart::Offset(field) => {
                                blob.address.wrapping_add_signed(field.read(memory, blob.address)?)
                            }
                        })
                };
                let deoptimised = is_handler(constants.nmethod_deopt_handler)?
                    || match constants.nmethod_deopt_mh_handler {
                        Some(handler) => is_handler(handler)?,
                        None => false,
                    };
                if deoptimised {
                    let slot = constants.nmethod_orig_pc_offset.read(memory, blob.address)?;
                    pc = memory.read_u64(sp.wrapping_add_signed(slot))?;
                }
                let compile_id = constants.nmethod_compile_id.read(memory, blob.address)? as u32;
                frames.push(WalkedFrame::Compiled { nmethod: blob.address, compile_id, pc });
                sized_sender(&blob, sp, &word, &mut pc, &mut fp)?
            }
            _ if blob.frame_size > 0 => {
                frames.push(WalkedFrame::Stub { pc });
                sized_sender(&blob, sp, &word, &mut pc, &mut fp)?
            }
            _ => return Ok(Walk { frames, end: WalkEnd::Unknown { pc } }),
        };
        if sender_sp <= sp {
            return Err(Error::Implausible { what: "order of stack frames".to_owned(), value: sender_sp });
        }
        sp = sender_sp;
    }
    Ok(Walk { frames, end: WalkEnd::TooDeep })
}

/// The caller of a frame of a fixed size.
fn sized_sender(
    blob: &crate::code_cache::Blob,
    sp: u64,
    word: &impl Fn(u64, i64) -> std::result::Result<u64, crate::memory::Unreadable>,
    pc: &mut u64,
    fp: &mut u64,
) -> Result<u64> {
    let sender_sp = sp.wrapping_add(u64::from(blob.frame_size) * 8);
    *pc = word(sender_sp, -1)?;
    *fp = word(sender_sp, -2)?;
    Ok(sender_sp)
}

/// What Java called before the entry frame at `fp`; `None`: nothing, this is how the thread entered
/// Java.
fn anchor_of_entry<M: Memory>(vm: &Vm<M>, constants: &UnwindConstants, fp: u64) -> Result<Option<Anchor>> {
    let memory = &vm.memory;
    let slot = vm.structs.constant("frame::entry_frame_call_wrapper_offset").unwrap_or(CALL_WRAPPER_SLOT);
    let wrapper = memory.read_u64(fp.wrapping_add_signed(slot * 8))?;
    let anchor = wrapper.wrapping_add(u64::from(constants.call_wrapper_anchor.offset));
    let sp = constants.anchor_sp.read_u64(memory, anchor)?;
    let pc = constants.anchor_pc.read_u64(memory, anchor)?;
    let fp = constants.anchor_fp.read_u64(memory, anchor)?;
    Ok((sp != 0).then_some(Anchor { sp, pc, fp }))
}
