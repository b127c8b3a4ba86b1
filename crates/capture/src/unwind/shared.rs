//! The types of `bpf/unwind_types.h`, laid out the same.

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

/// `struct unwind_row`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct UnwindRow {
    /// From here on, bytes from the beginning of the page.
    pub at: u16,
    /// A [`RowKind`].
    pub kind: u8,
    /// Where the caller's frame pointer is, in words from its stack pointer; 0: unchanged.
    pub fp: i8,
    /// Bytes.
    pub cfa: i32,
}

/// `struct row_page`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct RowPage {
    /// Index of its first row.
    pub first: u32,
    /// How many there are.
    pub rows: u32,
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

/// `struct code_mapping`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct CodeMapping {
    /// First address.
    pub start: u64,
    /// First address behind it.
    pub end: u64,
    /// Address at which the first page of rows begins.
    pub origin: u64,
    /// Index of that page.
    pub first_page: u32,
    /// How many pages there are.
    pub pages: u32,
    /// A [`MappingKind`].
    pub kind: u32,
    /// Which heap of the code cache.
    pub heap: u32,
}

/// `struct process_code`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ProcessCode {
    /// Index of its first mapping.
    pub first_mapping: u32,
    /// How many it has.
    pub mappings: u32,
    /// Index of its JVM plus one; 0: none.
    pub jvm: u32,
    /// [`PROCESS_JVM_NOT_READ`] and [`PROCESS_KEEPS_STACKS`].
    pub flags: u32,
}

/// `struct jvm_field`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct JvmField {
    /// Bytes from the beginning of the object.
    pub offset: u16,
    /// Bytes of it.
    pub width: u8,
    /// 1 for signed numbers.
    pub is_signed: u8,
}

/// `struct code_heap`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CodeHeap {
    /// First address of its code.
    pub low: u64,
    /// First address behind what is reserved.
    pub end: u64,
    /// First byte of its segment map.
    pub segment_map: u64,
    /// Shift from bytes to segments.
    pub shift: u32,
    /// Nothing.
    pub pad: u32,
}

/// `struct jvm_code`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs)] // the fields of fathom_hotspot::code_cache::UnwindConstants, where each is described
pub struct JvmCode {
    pub interpreter_begin: u64,
    pub interpreter_end: u64,
    pub nmethod_name: u64,
    pub native_nmethod_name: u64,
    pub has_continuations: u64,
    pub call_stub_return: u64,
    pub name: JvmField,
    pub size: JvmField,
    pub frame_size: JvmField,
    pub frame_complete: JvmField,
    pub code_begin: JvmField,
    pub data_offset: JvmField,
    pub compile_id: JvmField,
    pub orig_pc_offset: JvmField,
    pub deopt_handler: JvmField,
    pub deopt_mh_handler: JvmField,
    pub const_method: JvmField,
    pub code_size: JvmField,
    pub block_size: u32,
    pub head_size: u32,
    pub blob_head_size: u32,
    pub const_method_size: u32,
    pub code_begin_is_offset: u8,
    pub deopt_is_offset: u8,
    pub has_deopt_mh: u8,
    pub slot_sender_sp: i8,
    pub slot_method: i8,
    pub slot_bytecode: i8,
    pub heaps: u8,
    pub pad: u8,
    pub heap: [CodeHeap; 8],
}

/// `struct stack_sample`: the head of a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct StackSample {
    /// Monotonic time.
    pub t_ns: u64,
    /// Where the walk ended, unless it reached the root.
    pub cut_pc: u64,
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// User frames.
    pub frames: u16,
    /// Kernel frames.
    pub kernel_frames: u16,
    /// Which program sent it.
    pub kind: u8,
    /// Why the walk ended.
    pub reason: u8,
    /// Nothing.
    pub pad: [u8; 2],
    /// Name of the thread at the kernel.
    pub comm: [u8; 16],
    /// Of a CPU sample: what its perf event had counted since the last, in the event's unit.
    pub weight: u64,
}

/// Types of which every pattern of bytes that the programs read was written by us, and that may be
/// copied as bytes.
///
/// # Safety
/// Implemented for `repr(C)` types without padding and without pointers.
pub unsafe trait Shared: Copy + 'static {}
// SAFETY: `repr(C)`, integers only, sizes checked below: no padding.
unsafe impl Shared for UnwindRow {}
// SAFETY: as above.
unsafe impl Shared for RowPage {}
// SAFETY: as above.
unsafe impl Shared for CodeMapping {}
// SAFETY: as above.
unsafe impl Shared for JvmCode {}
// SAFETY: as above.
unsafe impl Shared for ProcessCode {}

const _: () = {
    assert!(size_of::<UnwindRow>() == 8);
    assert!(size_of::<RowPage>() == 8);
    assert!(size_of::<CodeMapping>() == 40);
    assert!(size_of::<ProcessCode>() == 16);
    assert!(size_of::<JvmCode>() == 376);
    assert!(size_of::<StackSample>() == 56);
};

/// A shared value as its bytes.
pub fn bytes_of<T: Shared>(value: &T) -> &[u8] {
    // SAFETY: `Shared` types have no padding, so that all their bytes are initialised; the slice
    // borrows `value`.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
}
