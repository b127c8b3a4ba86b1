//! All that an unwinder in the kernel must know of a JVM, in one plain value.

use super::blob::no_code_begin;
use super::{CodeCache, CodeHeap};
use crate::layout::{Field, MethodLayout, ThreadLayout};
use crate::machine::InterpreterFrame;
use crate::memory::Memory;
use crate::{Error, Result, Vm};

/// How an object records where a part of it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeStart {
    /// The field holds an address.
    Address(Field),
    /// The field holds bytes from the beginning of the object.
    Offset(Field),
}

/// What does not change during the life of a JVM and is needed to distinguish and unwind frames.
/// Every field has its offset (bytes), width (bytes) and sign within the object named.
#[derive(Clone, Debug)]
pub struct UnwindConstants {
    /// Feature release.
    pub feature: u32,
    /// The heaps of the code cache: bounds, segment map, shift. At most [`super::MOST_HEAPS`].
    pub heaps: Vec<CodeHeap>,
    /// Bytes of the `HeapBlock` that precedes each `CodeBlob`: 16, 8 since JDK 25.
    pub block_size: u32,
    /// `sizeof(CodeBlob)`; the fields of all blobs lie within.
    pub blob_size_of: u32,
    /// `CodeBlob`: `const char*`, its name; see [`super::BlobKind::of`]. The first 8 bytes
    /// distinguish the kinds that are unwound differently: "nmethod", "native n", "Interpre",
    /// "vtable c", "I2C/C2I ", "MethodHa", "Deoptimi".
    pub blob_name: Field,
    /// `CodeBlob`: bytes of all of it.
    pub blob_size: Field,
    /// `CodeBlob`: words of its frame, return address included; 0 or less: no frame of a fixed
    /// size.
    pub blob_frame_size: Field,
    /// `CodeBlob`: bytes from the beginning of its code until the frame is complete; negative:
    /// never (2 bytes wide since JDK 23).
    pub blob_frame_complete: Field,
    /// `CodeBlob`: where its instructions begin.
    pub blob_code_begin: CodeStart,
    /// `CodeBlob`: where its instructions end and its data begins: bytes from the blob.
    pub blob_data_offset: Field,
    /// `sizeof(nmethod)`; the fields of nmethods lie within.
    pub nmethod_size_of: u32,
    /// `nmethod`: its `Method*`.
    pub nmethod_method: Field,
    /// `nmethod`: number of its compilation. An address with another number is another compiled
    /// method.
    pub nmethod_compile_id: Field,
    /// `nmethod`: tier.
    pub nmethod_comp_level: Field,
    /// `nmethod`: bytes from the stack pointer of its (complete) frame to the slot that keeps the
    /// true pc, once the return address into it was replaced by that of its deoptimisation handler.
    pub nmethod_orig_pc_offset: Field,
    /// `nmethod`: the deoptimisation handler: a pc equal to it means the one in the slot
    /// above.
    pub nmethod_deopt_handler: CodeStart,
    /// `nmethod`: the handler of calls through method handles; gone in JDK 26.
    pub nmethod_deopt_mh_handler: Option<CodeStart>,
    /// First address of the interpreter's code.
    pub interpreter_begin: u64,
    /// First address after the interpreter's code.
    pub interpreter_end: u64,
    /// Slots of an interpreted frame.
    pub interpreter_frame: InterpreterFrame,
    /// `Method`: its `ConstMethod*`.
    pub method_const_method: Field,
    /// `sizeof(ConstMethod)`: bytecodes begin this many bytes after it, and a bytecode index is a
    /// bytecode pointer minus that address.
    pub const_method_size_of: u32,
    /// `ConstMethod`: bytes of bytecodes.
    pub const_method_code_size: Field,
    /// The return address of a Java frame that the JVM called through its call stub; 0 where not
    /// exported.
    pub call_stub_return: u64,
    /// `JavaThread`: its `JavaFrameAnchor`, an object within it.
    pub thread_anchor: Field,
    /// `JavaFrameAnchor`: last Java stack pointer; null while the thread is in Java.
    pub anchor_sp: Field,
    /// `JavaFrameAnchor`: last Java pc; null where it is the word below the stack pointer.
    pub anchor_pc: Field,
    /// `JavaFrameAnchor`: last Java frame pointer.
    pub anchor_fp: Field,
    /// `JavaCallWrapper`, which an entry frame points to: the anchor of what was in Java before.
    pub call_wrapper_anchor: Field,
}

impl UnwindConstants {
    /// Collects them. [`Error::NotReady`] while the JVM starts up: try again.
    pub fn of<M: Memory>(vm: &Vm<M>, code: &CodeCache) -> Result<Self> {
        let method = MethodLayout::of(vm.source())?;
        let thread = ThreadLayout::of(vm.source())?;
        let (blob, nmethod) = (&code.blob, &code.nmethod);
        let either = |address: Option<Field>, offset: Option<Field>| {
            address.map(CodeStart::Address).or(offset.map(CodeStart::Offset))
        };
        let call_stub_return = match code.interpreter_layout.call_stub_return {
            Some(pointer) => pointer.read_u64(&vm.memory)?,
            None => 0,
        };
        Ok(Self {
            feature: vm.release.feature,
            heaps: code.heaps.clone(),
            block_size: code.cache.block.0,
            blob_size_of: blob.size_of.0,
            blob_name: blob.name,
            blob_size: blob.size,
            blob_frame_size: blob.frame_size,
            blob_frame_complete: blob.frame_complete,
            blob_code_begin: either(blob.code_begin, blob.code_offset).ok_or_else(no_code_begin)?,
            blob_data_offset: blob.data_offset,
            nmethod_size_of: nmethod.size_of.0,
            nmethod_method: nmethod.method,
            nmethod_compile_id: nmethod.compile_id,
            nmethod_comp_level: nmethod.comp_level,
            nmethod_orig_pc_offset: nmethod.orig_pc_offset,
            nmethod_deopt_handler: either(nmethod.deopt_handler, nmethod.deopt_handler_offset).ok_or_else(
                || Error::MissingSymbol {
                    symbol: "CompiledMethod._deopt_handler_begin or nmethod._deopt_handler_offset".to_owned(),
                    jvm: vm.release.to_string(),
                },
            )?,
            nmethod_deopt_mh_handler: either(nmethod.deopt_mh_handler, nmethod.deopt_mh_handler_offset),
            interpreter_begin: code.interpreter.0,
            interpreter_end: code.interpreter.1,
            interpreter_frame: InterpreterFrame::of(vm.release.feature),
            method_const_method: method.const_method,
            const_method_size_of: method.const_method_size_of.0,
            const_method_code_size: method.code_size,
            call_stub_return,
            thread_anchor: thread.anchor,
            anchor_sp: thread.anchor_sp,
            anchor_pc: thread.anchor_pc,
            anchor_fp: thread.anchor_fp,
            call_wrapper_anchor: thread.call_wrapper_anchor,
        })
    }
}
