//! The types of `bpf/unwind_types.h`, where their fields are described.

pub use super::load::skeleton::types::{
    code_heap as CodeHeap, code_mapping as CodeMapping, jvm_code as JvmCode, jvm_field as JvmField,
    kept_head as KeptHead, process_code as ProcessCode, row_page as RowPage, stack_sample as StackSample,
    unwind_row as UnwindRow,
};

/// Frames of a user stack at most.
pub const MOST_FRAMES: usize = 1024;
/// Frames of a kernel stack at most.
pub const MOST_KERNEL_FRAMES: usize = 127;
/// Bytes of a stack that are kept at most: `struct kept_stack`.
pub const MOST_KEPT_STACK: usize = 64 << 10;
/// Shift from bytes of code to pages of rows.
pub const CODE_PAGE_SHIFT: u32 = 10;
/// Set in [`ProcessCode::flags`]: a JVM of which nothing was read yet.
pub const PROCESS_JVM_NOT_READ: u32 = 1;
/// Set there: stacks that cannot be walked are sent as they lie in memory.
pub const PROCESS_KEEPS_STACKS: u32 = 2;

/// `enum row_kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum RowKind {
    /// Nothing is known of the code.
    None,
    /// The root of a thread.
    End,
    /// The caller's stack pointer is the stack pointer and so many bytes.
    Sp,
    /// The caller's stack pointer is the frame pointer and so many bytes.
    Fp,
    /// The caller's stack pointer lies in memory so many bytes from the frame pointer.
    FpDeref,
    /// An entry of the procedure linkage table.
    Plt,
    /// The frame of a signal.
    Signal,
    /// There is a rule, which is not understood.
    Unsupported,
    /// A whole frame of the Java interpreter.
    Interpreted,
    /// Return address and the caller's stack pointer are in registers.
    RaRegister,
    /// An interpreted method is entered: the caller's stack pointer is in r13.
    SenderR13,
    /// An interpreted method is left: the caller's stack pointer is in rbx.
    SenderRbx,
    /// A frame of the interpreter without its method yet.
    InterpretedEarly,
}

/// `enum mapping_kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum MappingKind {
    /// Code of a file, with rows.
    Rows,
    /// Code of no file.
    Anonymous,
    /// A heap of a JVM's code cache.
    CodeHeap,
    /// A JVM's interpreter.
    Interpreter,
    /// Stubs of a JVM, with rows.
    Stubs,
}
