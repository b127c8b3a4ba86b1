//! What can only be known by trying: loading a program, opening an event. Nothing of it is attached
//! or left.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// Types of programs that fathom's collectors are (`enum bpf_prog_type`, linux/bpf.h): uprobes and
/// USDT are kprobes to it.
pub(super) const PROGRAM_TYPES: [(&str, u32); 3] = [
    ("perf_event", libbpf_sys::BPF_PROG_TYPE_PERF_EVENT),
    ("tracepoint", libbpf_sys::BPF_PROG_TYPE_TRACEPOINT),
    ("uprobe", libbpf_sys::BPF_PROG_TYPE_KPROBE),
];

/// Loads a program of a type that only returns 0, and drops it.
pub(super) fn load_program(kind: u32) -> io::Result<()> {
    // `r0 = 0; exit` (linux/bpf.h: BPF_ALU64 | BPF_MOV | BPF_K, BPF_JMP | BPF_EXIT).
    let code = [instruction(0xb7), instruction(0x95)];
    // SAFETY: the name and the licence end with NUL, the instructions are two, and options may be
    // null; the kernel copies all of it.
    let fd = unsafe {
        libbpf_sys::bpf_prog_load(
            kind,
            c"fathom_check".as_ptr(),
            c"Dual BSD/GPL".as_ptr(),
            code.as_ptr(),
            code.len() as libbpf_sys::size_t,
            std::ptr::null_mut(),
        )
    };
    owned(fd.into()).map(drop)
}

fn instruction(code: u8) -> libbpf_sys::bpf_insn {
    libbpf_sys::bpf_insn { code, ..libbpf_sys::bpf_insn::default() }
}

/// Kinds of events (`enum perf_type_id`, linux/perf_event.h).
pub(super) const SOFTWARE: u32 = 1;
pub(super) const HARDWARE: u32 = 0;
/// The kernel's clock of a CPU, and the CPU's cycles.
pub(super) const CPU_CLOCK: u64 = 0;
pub(super) const CYCLES: u64 = 0;

/// The first version of `perf_event_attr`, of which the kernel fills the rest with zeros.
#[repr(C)]
#[derive(Default)]
struct EventAttributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    bp_type: u32,
    config1: u64,
}

/// `disabled` of `perf_event_attr`: its first bit.
const DISABLED: u64 = 1;
const FLAG_CLOEXEC: libc::c_ulong = 8;

/// Asks for a probe in a file without a name: who may not set probes is refused before the kernel
/// looks for the file (`perf_uprobe_event_init`, kernel/events/core.c), and for everybody else
/// there is nothing to set it in.
pub(super) fn may_set_uprobes(kind: u32) -> io::Result<()> {
    match open_event(kind, 0) {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM)) => Err(error),
        _ => Ok(()),
    }
}

/// Opens an event of all processes on the first CPU, not counting, and drops it.
pub(super) fn open_event(kind: u32, config: u64) -> io::Result<()> {
    let attributes = EventAttributes {
        kind,
        size: size_of::<EventAttributes>() as u32,
        config,
        flags: DISABLED,
        ..EventAttributes::default()
    };
    const ALL: libc::pid_t = -1;
    const NO_GROUP: libc::c_int = -1;
    const FIRST_PROCESSOR: libc::c_int = 0;
    // SAFETY: the attributes live on, and say how long they are.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            ALL,
            FIRST_PROCESSOR,
            NO_GROUP,
            FLAG_CLOEXEC,
        )
    };
    owned(fd).map(drop)
}

/// How many breakpoints of the first CPU can be had, up to so many, and what was said to the
/// next one. They are not enabled, and given back.
pub(super) fn free_breakpoints(most: usize) -> (usize, Option<io::Error>) {
    // Somewhere in this process' own code; what is not enabled stops nobody.
    let address = free_breakpoints as *const () as u64;
    let mut held = Vec::new();
    while held.len() < most {
        match crate::perf_event::breakpoint(address, 0) {
            Ok(event) => held.push(event),
            Err(error) => return (held.len(), Some(error)),
        }
    }
    (held.len(), None)
}

/// The descriptor that a call gave, or the error. libbpf gives it negated, the C library as
/// `errno`.
fn owned(fd: i64) -> io::Result<OwnedFd> {
    match i32::try_from(fd) {
        // SAFETY: the kernel has just made it for us.
        Ok(fd) if fd >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        Ok(-1) => Err(io::Error::last_os_error()),
        Ok(fd) => Err(io::Error::from_raw_os_error(-fd)),
        Err(_) => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// The word of an error that administrators look for: "EPERM".
pub(super) fn word(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EPERM) => "EPERM: not permitted".into(),
        Some(libc::EACCES) => "EACCES: permission denied".into(),
        Some(libc::ENOENT) => "ENOENT: there is none".into(),
        Some(libc::ENOSYS) => "ENOSYS: the kernel has no such call".into(),
        Some(libc::EOPNOTSUPP) => "EOPNOTSUPP: not supported".into(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trying_gives_a_result_or_an_error_with_a_reason_and_leaves_no_descriptor() {
        let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let before = open();
        for _ in 0..8 {
            for (_, kind) in PROGRAM_TYPES {
                if let Err(error) = load_program(kind) {
                    assert!(error.raw_os_error().is_some(), "{error}");
                }
            }
            let _ = open_event(SOFTWARE, CPU_CLOCK);
        }
        // Other tests of this process open and close theirs meanwhile.
        assert!(open() < before + 16);
        assert!(load_program(u32::MAX).is_err());
        assert!(open_event(u32::MAX, 0).is_err());
    }
}
