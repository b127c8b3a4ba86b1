//! The unwinder's C compiled for user space and run on stacks of real JVMs: no rights are needed, as a process may trace
//! its children.

#![allow(clippy::unwrap_used)]

#[path = "../../hotspot/tests/jvm/mod.rs"]
mod jvm;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CString, c_void};
use std::path::Path;
use std::rc::Rc;

use fathom_capture::unwind::samples::{Walked, WalkedFrame};
use fathom_capture::unwind::shared::{
    CodeMapping, JvmCode, MOST_FRAMES, ProcessCode, RowPage, StackSample, UnwindRow,
};
use fathom_capture::unwind::{Arena, CodeOfProcesses, Publish, reason_name};
use fathom_hotspot::memory::{Memory, ProcessMemory};
use jvm::Jvm;

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
}

type Walk = unsafe extern "C" fn(
    *const UserMode,
    *const ProcessCode,
    *const u64,
    u64,
    *mut StackSample,
    *mut [u64; 2],
);

thread_local! {
    /// What the walk reads.
    static MEMORY: RefCell<Option<ProcessMemory>> = const { RefCell::new(None) };
}

extern "C" fn read(into: *mut u8, length: u32, address: u64) -> i32 {
    // SAFETY: the walk hands over `length` bytes of its own.
    let into = unsafe { std::slice::from_raw_parts_mut(into, length as usize) };
    MEMORY.with_borrow(|memory| match memory.as_ref().map(|memory| memory.read(address, into)) {
        Some(Ok(())) => 0,
        _ => -14,
    })
}

/// Compiles the unwinder and loads it; `None`, loudly, without a C compiler.
fn unwinder(folder: &Path) -> Option<Walk> {
    let bpf = Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf");
    let library = folder.join("unwinder.so");
    let compiled = std::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-g", "-Wall", "-Wno-unused-function", "-o"])
        .arg(&library)
        .arg(bpf.join("user_mode.c"))
        .status();
    let Ok(status) = compiled else {
        eprintln!("SKIPPED: no C compiler (cc)");
        return None;
    };
    assert!(status.success(), "bpf/user_mode.c does not compile");
    let path = CString::new(library.to_str().unwrap()).unwrap();
    // SAFETY: our own library, whose one function has the type above and which is never unloaded.
    unsafe {
        let handle = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
        assert!(!handle.is_null());
        let symbol = libc::dlsym(handle, c"fathom_walk".as_ptr());
        assert!(!symbol.is_null());
        Some(std::mem::transmute::<*mut c_void, Walk>(symbol))
    }
}

/// Keeps what is told of the one process.
struct Told(Rc<RefCell<ProcessCode>>);

impl Publish for Told {
    fn put(&mut self, _pid: u32, code: &ProcessCode) {
        *self.0.borrow_mut() = *code;
    }

    fn remove(&mut self, _pid: u32) {}
}

fn ptrace(request: libc::c_uint, tid: i32, data: *mut c_void) -> bool {
    // SAFETY: `data` is null or a register set that outlives the call.
    unsafe { libc::ptrace(request, tid, std::ptr::null_mut::<c_void>(), data) == 0 }
}

/// Stops a thread, gives its registers to `look`, lets it go on.
fn stopped(tid: i32, look: impl FnOnce(&libc::user_regs_struct)) {
    // SAFETY: a plain struct of integers.
    let mut registers: libc::user_regs_struct = unsafe { std::mem::zeroed() };
    if !ptrace(libc::PTRACE_SEIZE, tid, std::ptr::null_mut()) {
        return;
    }
    let mut status = 0;
    // SAFETY: `status` outlives the call.
    let waited = ptrace(libc::PTRACE_INTERRUPT, tid, std::ptr::null_mut())
        && unsafe { libc::waitpid(tid, &mut status, libc::__WALL) } == tid;
    if waited && ptrace(libc::PTRACE_GETREGS, tid, (&raw mut registers).cast()) {
        look(&registers);
    }
    ptrace(libc::PTRACE_DETACH, tid, std::ptr::null_mut());
}

/// In a system call or in user code, a stopped thread is where a sample would find it.
#[test]
fn stacks_of_stopped_threads_are_walked_to_their_roots() {
    let folder = tempfile::tempdir().unwrap();
    let Some(walk) = unwinder(folder.path()) else { return };
    for jdk in jvm::jdks() {
        let Some(jvm) = Jvm::start(&jdk, &[], &["KnownGraph", "platform", "2"]) else { return };
        std::thread::sleep(std::time::Duration::from_secs(2));
        let told = Rc::new(RefCell::new(ProcessCode::default()));
        let mut code = CodeOfProcesses::new(
            Arena::in_memory(1 << 20),
            Arena::in_memory(1 << 18),
            Arena::in_memory(1 << 12),
            Arena::in_memory(4),
            Box::new(Told(told.clone())),
        );
        code.refresh(jvm.pid() as i32, true);
        let all = fathom_hotspot::maps::read(jvm.pid()).unwrap();
        let code_of_it = all.iter().find(|mapping| mapping.readable && mapping.executable).unwrap();
        MEMORY.set(Some(ProcessMemory::open(jvm.pid(), code_of_it.start).unwrap()));
        let (rows, pages) = code.tables.arrays();
        let (mappings, jvms) = code.arrays();
        let user_mode = UserMode {
            read,
            rows: rows.as_ptr(),
            pages: pages.as_ptr(),
            mappings: mappings.as_ptr(),
            jvms: jvms.as_ptr(),
            row_count: rows.len() as u32,
            page_count: pages.len() as u32,
            mapping_count: mappings.len() as u32,
            jvm_count: jvms.len() as u32,
        };
        let process = *told.borrow();
        let (mut whole, mut java, mut cut) = (0, 0, BTreeMap::<String, u32>::new());
        for _ in 0..40 {
            for task in std::fs::read_dir(format!("/proc/{}/task", jvm.pid())).unwrap().flatten() {
                let tid: i32 = task.file_name().to_str().unwrap().parse().unwrap();
                stopped(tid, |r| {
                    let registers = [
                        r.rax, r.rcx, r.rdx, r.rbx, r.rsp, r.rbp, r.rsi, r.rdi, r.r8, r.r9, r.r10, r.r11,
                        r.r12, r.r13, r.r14, r.r15,
                    ];
                    let mut sample = StackSample::default();
                    let mut frames = vec![[0u64; 2]; MOST_FRAMES];
                    // SAFETY: all that is handed over outlives the call and is as large as the C side says.
                    unsafe {
                        walk(
                            &user_mode,
                            &process,
                            registers.as_ptr(),
                            r.rip,
                            &mut sample,
                            frames.as_mut_ptr(),
                        );
                    }
                    let frames = frames.iter().take(usize::from(sample.frames));
                    let is_java = |frame: WalkedFrame| {
                        matches!(frame, WalkedFrame::Compiled { .. } | WalkedFrame::Interpreted { .. })
                    };
                    java +=
                        u32::from(frames.clone().any(|[low, high]| is_java(Walked::of(*low, *high).frame)));
                    match reason_name(sample.reason) {
                        None => whole += 1,
                        Some(reason) => {
                            let all = fathom_hotspot::maps::read(jvm.pid()).unwrap();
                            let at = all.iter().find(|m| (m.start..m.end).contains(&sample.cut_pc));
                            let module = at.map_or("", |mapping| mapping.file_name());
                            *cut.entry(format!("{reason} in {module}")).or_default() += 1;
                        }
                    }
                });
            }
        }
        eprintln!("JDK {}: {whole} stacks whole, {java} with Java frames, cut {cut:?}", jdk.release);
        let all = whole + cut.values().sum::<u32>();
        assert!(all > 200 && java > 80, "JDK {}: {all} stacks, {java} of Java", jdk.release);
        assert!(f64::from(whole) >= 0.99 * f64::from(all), "JDK {}: {cut:?}", jdk.release);
    }
}
