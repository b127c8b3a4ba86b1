//! The unwinder of the programs (`bpf/unwind.h`), compiled for this process: for stacks that were
//! kept, and for tests.

use std::cell::Cell;
use std::sync::{Mutex, PoisonError};

use super::shared::{
    CodeMapping, JvmCode, MOST_FRAMES, PROCESS_JVM_NOT_READ, ProcessCode, RowPage, StackSample, UnwindRow,
};

/// What a walk asks for while it runs.
pub trait Surroundings {
    /// Fills a buffer with the memory of the process at an address; whether it could.
    fn read(&mut self, address: u64, into: &mut [u8]) -> bool;

    /// A page of rows is looked at, by its index.
    fn looked_at(&mut self, _page: u32) {}
}

/// What a walk looks up.
#[derive(Clone, Copy, Debug)]
pub struct Tables<'a> {
    /// Rows of all pages.
    pub rows: &'a [UnwindRow],
    /// Pages of code.
    pub pages: &'a [RowPage],
    /// Mappings of all processes.
    pub mappings: &'a [CodeMapping],
    /// All JVMs.
    pub jvms: &'a [JvmCode],
    /// Which of them belong to the process.
    pub process: ProcessCode,
}

impl Tables<'_> {
    /// Of a process of which nothing is known.
    pub const NONE: Self = Self {
        rows: &[],
        pages: &[],
        mappings: &[],
        jvms: &[],
        process: ProcessCode {
            first_mapping: 0,
            mappings: 0,
            jvm: 0,
            flags: PROCESS_JVM_NOT_READ,
            context_kind: 0,
            context_module: 0,
            context_offset: 0,
        },
    };
}

/// `struct user_mode` of bpf/unwind_port.h.
#[repr(C)]
struct UserMode {
    read: extern "C" fn(*mut u8, u32, u64) -> i32,
    rows: *const UnwindRow,
    pages: *const RowPage,
    mappings: *const CodeMapping,
    jvms: *const JvmCode,
    row_count: u32,
    page_count: u32,
    mapping_count: u32,
    jvm_count: u32,
    looked_at: extern "C" fn(u32),
}

unsafe extern "C" {
    fn fathom_walk(
        with: *const UserMode,
        process: *const ProcessCode,
        registers: *const u64,
        pc: u64,
        sample: *mut StackSample,
        frames: *mut [u64; 2],
    );
}

/// The C side has one walk's state in static memory.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

thread_local! {
    /// The surroundings of the walk that this thread is in.
    static CURRENT: Cell<Option<*mut dyn Surroundings>> = const { Cell::new(None) };
}

fn with_current<T>(ask: impl FnOnce(&mut dyn Surroundings) -> T) -> Option<T> {
    // Taken while it is used, so that there are never two references to it.
    let surroundings = CURRENT.take()?;
    // SAFETY: set by `walk` on this thread from a reference that outlives the call of the C side,
    // from which this is called.
    let answer = ask(unsafe { &mut *surroundings });
    CURRENT.set(Some(surroundings));
    Some(answer)
}

extern "C" fn read(into: *mut u8, length: u32, address: u64) -> i32 {
    // SAFETY: the walk hands over `length` bytes of its own.
    let into = unsafe { std::slice::from_raw_parts_mut(into, length as usize) };
    match with_current(|surroundings| surroundings.read(address, into)) {
        Some(true) => 0,
        _ => -libc::EFAULT,
    }
}

extern "C" fn looked_at(page: u32) {
    with_current(|surroundings| surroundings.looked_at(page));
}

/// Walks from registers (numbered as instructions have them) and a pc: the head of the sample with
/// its reason, and two words a frame, leaf first.
pub fn walk(
    tables: &Tables<'_>,
    registers: &[u64; 16],
    pc: u64,
    surroundings: &mut dyn Surroundings,
) -> (StackSample, Vec<[u64; 2]>) {
    let user_mode = UserMode {
        read,
        rows: tables.rows.as_ptr(),
        pages: tables.pages.as_ptr(),
        mappings: tables.mappings.as_ptr(),
        jvms: tables.jvms.as_ptr(),
        row_count: tables.rows.len() as u32,
        page_count: tables.pages.len() as u32,
        mapping_count: tables.mappings.len() as u32,
        jvm_count: tables.jvms.len() as u32,
        looked_at,
    };
    let mut sample = StackSample::default();
    let mut frames = vec![[0u64; 2]; MOST_FRAMES];
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: only the lifetime is changed; the pointer is taken back below, before the reference
    // ends.
    let current: *mut (dyn Surroundings + 'static) = unsafe {
        std::mem::transmute::<&mut dyn Surroundings, &mut (dyn Surroundings + 'static)>(surroundings)
    };
    CURRENT.set(Some(current));
    // SAFETY: all that is handed over outlives the call and is as large as the C side says
    // (`MOST_FRAMES`, 16 registers); what it is called back with does not unwind but by a panic,
    // which ends the process at the border of the language.
    unsafe {
        fathom_walk(&user_mode, &tables.process, registers.as_ptr(), pc, &mut sample, frames.as_mut_ptr());
    }
    CURRENT.set(None);
    frames.truncate(usize::from(sample.frames));
    (sample, frames)
}
