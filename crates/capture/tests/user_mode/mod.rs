//! The unwinder's C compiled for user space, and real JVMs to run it on: what the tests without
//! privileges share.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::c_void;
use std::rc::Rc;

use fathom_capture::unwind::shared::{ProcessCode, StackSample};
pub use fathom_capture::unwind::user_mode::Tables;
use fathom_capture::unwind::user_mode::{self, Surroundings};
use fathom_capture::unwind::{Arena, CodeOfProcesses, Publish};

/// Reads memory into a buffer; whether it could.
type Reader = Box<dyn FnMut(u64, &mut [u8]) -> bool>;

thread_local! {
    /// What the walk reads.
    static MEMORY: RefCell<Option<Reader>> = const { RefCell::new(None) };
    static PAGES: RefCell<BTreeSet<u32>> = const { RefCell::new(BTreeSet::new()) };
}

/// Pages of rows that walks have looked at since this was asked last.
pub fn pages_looked_at() -> BTreeSet<u32> {
    PAGES.take()
}

/// What walks read from now on.
pub fn memory(reader: impl FnMut(u64, &mut [u8]) -> bool + 'static) {
    MEMORY.set(Some(Box::new(reader)));
}

struct OfTheTest;

impl Surroundings for OfTheTest {
    fn read(&mut self, address: u64, into: &mut [u8]) -> bool {
        MEMORY.with_borrow_mut(|memory| memory.as_mut().is_some_and(|read| read(address, into)))
    }

    fn looked_at(&mut self, page: u32) {
        PAGES.with_borrow_mut(|pages| _ = pages.insert(page));
    }
}

/// Walks from registers (as instructions number them) and a pc: the head of the sample, and the
/// walked frames.
pub fn walk(tables: &Tables<'_>, registers: &[u64; 16], pc: u64) -> (StackSample, Vec<[u64; 2]>) {
    user_mode::walk(tables, registers, pc, &mut OfTheTest)
}

/// Keeps what is published of the one process.
struct Kept(Rc<RefCell<ProcessCode>>);

impl Publish for Kept {
    fn put(&mut self, _pid: u32, code: &ProcessCode) {
        *self.0.borrow_mut() = *code;
    }

    fn remove(&mut self, _pid: u32) {}
}

/// The tables of a running JVM, in memory of this process.
pub fn tables_of(pid: u32) -> (CodeOfProcesses, ProcessCode) {
    let kept = Rc::new(RefCell::new(ProcessCode::default()));
    let mut code = CodeOfProcesses::new(
        Arena::in_memory(1 << 20),
        Arena::in_memory(1 << 18),
        Arena::in_memory(1 << 12),
        Arena::in_memory(4),
        Box::new(Kept(kept.clone())),
    );
    code.refresh(pid as i32, true);
    let process = *kept.borrow();
    (code, process)
}

fn ptrace(request: libc::c_uint, tid: i32, data: *mut c_void) -> bool {
    // SAFETY: `data` is null or a register set that outlives the call.
    unsafe { libc::ptrace(request, tid, std::ptr::null_mut::<c_void>(), data) == 0 }
}

/// Stops a thread, gives its registers (as instructions number them) and its pc to `look`, lets it
/// go on.
pub fn stopped(tid: i32, look: impl FnOnce(&[u64; 16], u64)) {
    // SAFETY: a plain struct of integers.
    let mut r: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    if !ptrace(libc::PTRACE_SEIZE, tid, std::ptr::null_mut()) {
        return;
    }
    let mut status = 0;
    // SAFETY: `status` outlives the call.
    let waited = ptrace(libc::PTRACE_INTERRUPT, tid, std::ptr::null_mut())
        && unsafe { libc::waitpid(tid, &mut status, libc::__WALL) } == tid;
    if waited && ptrace(libc::PTRACE_GETREGS, tid, (&raw mut r).cast()) {
        let registers = [
            r.rax, r.rcx, r.rdx, r.rbx, r.rsp, r.rbp, r.rsi, r.rdi, r.r8, r.r9, r.r10, r.r11, r.r12, r.r13,
            r.r14, r.r15,
        ];
        look(&registers, r.rip);
    }
    ptrace(libc::PTRACE_DETACH, tid, std::ptr::null_mut());
}

/// Threads of a process.
pub fn tasks(pid: u32) -> Vec<i32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    tasks.map(|task| task.file_name().to_str().unwrap().parse().unwrap()).collect()
}
