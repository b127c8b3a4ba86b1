//! The types of `bpf/unwind_types.h`, where their fields are described.

pub use super::load::skeleton::types::{
    code_heap as CodeHeap, code_mapping as CodeMapping, jvm_code as JvmCode, jvm_field as JvmField,
    kept_head as KeptHead, process_code as ProcessCode, row_page as RowPage, stack_sample as StackSample,
    unwind_row as UnwindRow,
};
use super::load::skeleton::types::{
    context_kind, context_state, mapping_kind, process_flag, row_kind, unwind_limit,
};

/// Frames of a user stack at most.
pub const MOST_FRAMES: usize = unwind_limit::MOST_FRAMES.0 as usize;
/// Frames of a kernel stack at most.
pub const MOST_KERNEL_FRAMES: usize = unwind_limit::MOST_KERNEL_FRAMES.0 as usize;
/// Bytes of a stack that are kept at most: `struct kept_stack`.
pub const MOST_KEPT_STACK: usize = unwind_limit::MOST_KEPT_STACK.0 as usize;
/// Shift from bytes of code to pages of rows.
pub const CODE_PAGE_SHIFT: u32 = unwind_limit::CODE_PAGE_SHIFT.0;
/// Largest head of a blob that the programs read.
pub const BLOB_HEAD: u32 = unwind_limit::BLOB_HEAD.0;
/// Set in [`ProcessCode::flags`]: a JVM of which nothing was read yet.
pub const PROCESS_JVM_NOT_READ: u32 = process_flag::PROCESS_JVM_NOT_READ.0;
/// Set there: stacks that cannot be walked are sent as they lie in memory.
pub const PROCESS_KEEPS_STACKS: u32 = process_flag::PROCESS_KEEPS_STACKS.0;

/// [`ProcessCode::context_kind`] of threads whose context is at a fixed distance.
pub const CONTEXT_STATIC: u32 = context_kind::CONTEXT_STATIC.0;
/// The same of a context in a module's block.
pub const CONTEXT_DYNAMIC: u32 = context_kind::CONTEXT_DYNAMIC.0;
/// [`StackSample::context`] of a thread that was in no span.
pub const CONTEXT_NONE: u8 = context_state::CONTEXT_NONE.0 as u8;
/// The same of one that was in a span.
pub const CONTEXT_SPAN: u8 = context_state::CONTEXT_SPAN.0 as u8;

/// How a row finds the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RowKind {
    /// Nothing is known of the code.
    None = row_kind::ROW_NONE.0 as u8,
    /// The root of a thread.
    End = row_kind::ROW_END.0 as u8,
    /// The caller's stack pointer is the stack pointer and so many bytes.
    Sp = row_kind::ROW_SP.0 as u8,
    /// The caller's stack pointer is the frame pointer and so many bytes.
    Fp = row_kind::ROW_FP.0 as u8,
    /// The caller's stack pointer lies in memory so many bytes from the frame pointer.
    FpDeref = row_kind::ROW_FP_DEREF.0 as u8,
    /// An entry of the procedure linkage table.
    Plt = row_kind::ROW_PLT.0 as u8,
    /// The frame of a signal.
    Signal = row_kind::ROW_SIGNAL.0 as u8,
    /// There is a rule, which is not understood.
    Unsupported = row_kind::ROW_UNSUPPORTED.0 as u8,
    /// A whole frame of the Java interpreter.
    Interpreted = row_kind::ROW_INTERPRETED.0 as u8,
    /// Return address and the caller's stack pointer are in registers.
    RaRegister = row_kind::ROW_RA_REGISTER.0 as u8,
    /// An interpreted method is entered: the caller's stack pointer is in r13.
    SenderR13 = row_kind::ROW_SENDER_R13.0 as u8,
    /// An interpreted method is left: the caller's stack pointer is in rbx.
    SenderRbx = row_kind::ROW_SENDER_RBX.0 as u8,
    /// A frame of the interpreter without its method yet.
    InterpretedEarly = row_kind::ROW_INTERPRETED_EARLY.0 as u8,
}

/// What code of a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum MappingKind {
    /// Code of a file, with rows.
    Rows = mapping_kind::MAPPING_ROWS.0,
    /// Code of no file.
    Anonymous = mapping_kind::MAPPING_ANONYMOUS.0,
    /// A heap of a JVM's code cache.
    CodeHeap = mapping_kind::MAPPING_CODE_HEAP.0,
    /// A JVM's interpreter.
    Interpreter = mapping_kind::MAPPING_INTERPRETER.0,
    /// Stubs of a JVM, with rows.
    Stubs = mapping_kind::MAPPING_STUBS.0,
}
