//! Events of each CPU as perf events (perf_event_open(2)).

use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// `PERF_TYPE_SOFTWARE` and `PERF_COUNT_SW_CPU_CLOCK` of linux/perf_event.h.
const SOFTWARE: u32 = 1;
const CPU_CLOCK: u64 = 0;
/// `PERF_TYPE_HARDWARE` and `PERF_COUNT_HW_CPU_CYCLES`.
const HARDWARE: u32 = 0;
const CYCLES: u64 = 0;
/// `PERF_TYPE_TRACEPOINT`.
const TRACEPOINT: u32 = 2;

/// Events that come one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SoftwareEvent {
    /// `PERF_COUNT_SW_PAGE_FAULTS_MIN`: at the end of each fault that had to read nothing.
    MinorFaults = 5,
    /// `PERF_COUNT_SW_PAGE_FAULTS_MAJ`: at the end of each that had to.
    MajorFaults = 6,
}
/// Bit of `exclude_idle`: a CPU that has nothing to do is not woken up.
const EXCLUDE_IDLE: u64 = 1 << 7;
/// Bit of `freq`: what is called the period is a rate, and the kernel chooses the period that keeps
/// it.
const FREQUENCY: u64 = 1 << 10;
/// `PERF_EVENT_IOC_PERIOD`.
const SET_PERIOD: libc::c_ulong = 0x4008_2404;
/// `PERF_FLAG_FD_CLOEXEC`.
const CLOEXEC: libc::c_ulong = 1 << 3;

/// `PERF_TYPE_BREAKPOINT`, and `HW_BREAKPOINT_X` of linux/hw_breakpoint.h.
const BREAKPOINT: u32 = 5;
const EXECUTED: u32 = 4;
/// Bits `disabled`, `exclude_kernel` and `exclude_hv`.
const DISABLED: u64 = 1;
const USER_ONLY: u64 = 1 << 5 | 1 << 6;
/// `PERF_EVENT_IOC_DISABLE`.
const DISABLE: libc::c_ulong = 0x2401;

/// `struct perf_event_attr` as far as the length of a breakpoint: its second published version.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint_type: u32,
    config1: u64,
    config2: u64,
}

/// A tick every `period_ns` of a CPU's time, whatever runs on it but idleness.
pub fn cpu_clock(cpu: u32, period_ns: u64) -> std::io::Result<OwnedFd> {
    open(SOFTWARE, CPU_CLOCK, period_ns, EXCLUDE_IDLE, cpu)
}

/// Cycles of a CPU, as many for each sample as keep to `rate_hz` while it is busy. A
/// CPU that is halted counts none, so that `exclude_idle`, which not every driver of counters
/// takes, is not asked for.
pub fn cycles(cpu: u32, rate_hz: u32) -> std::io::Result<OwnedFd> {
    open(HARDWARE, CYCLES, rate_hz.into(), FREQUENCY, cpu)
}

/// Each event of a kind on a CPU, whatever runs on it.
pub fn each(event: SoftwareEvent, cpu: u32) -> std::io::Result<OwnedFd> {
    open(SOFTWARE, event as u64, 1, 0, cpu)
}

/// From now on one in `period` of an event that came one by one.
pub fn every(event: BorrowedFd<'_>, period: u64) -> std::io::Result<()> {
    // SAFETY: the kernel reads the number, which outlives the call, and writes nothing.
    match unsafe { libc::ioctl(event.as_raw_fd(), SET_PERIOD, &raw const period) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// Each execution of a user instruction at an address on a CPU, by whatever process; not
/// counting until it is enabled. Takes one of the CPU's registers for breakpoints (four on
/// x86-64): where none is left, the error is `ENOSPC`.
pub fn breakpoint(address: u64, cpu: u32) -> std::io::Result<OwnedFd> {
    let attributes = Attributes {
        kind: BREAKPOINT,
        period: 1,
        flags: DISABLED | USER_ONLY,
        breakpoint_type: EXECUTED,
        config1: address,
        config2: size_of::<libc::c_long>() as u64,
        ..Attributes::default()
    };
    open_as(attributes, cpu)
}

/// Counts no more, and gives what it has counted since it was opened.
pub fn end(event: BorrowedFd<'_>) -> std::io::Result<u64> {
    // SAFETY: the call takes no argument and touches no memory of this process.
    if unsafe { libc::ioctl(event.as_raw_fd(), DISABLE, 0) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    let mut count = [0; 8];
    match rustix::io::read(event, &mut count)? {
        8 => Ok(u64::from_ne_bytes(count)),
        _ => Err(std::io::ErrorKind::InvalidData.into()),
    }
}

/// Hits of a tracepoint, by its number in the kernel's list.
pub fn tracepoint(id: u64, cpu: u32) -> std::io::Result<OwnedFd> {
    open(TRACEPOINT, id, 1, 0, cpu)
}

fn open(kind: u32, config: u64, period: u64, flags: u64, cpu: u32) -> std::io::Result<OwnedFd> {
    open_as(Attributes { kind, config, period, flags, ..Attributes::default() }, cpu)
}

fn open_as(mut attributes: Attributes, cpu: u32) -> std::io::Result<OwnedFd> {
    attributes.size = size_of::<Attributes>() as u32;
    let (every_process, cpu, no_group) = (-1, cpu as libc::c_int, -1);
    // SAFETY: the kernel reads as many bytes of the attributes as they say, which outlive the call,
    // and writes nothing.
    let fd = unsafe {
        libc::syscall(libc::SYS_perf_event_open, &attributes, every_process, cpu, no_group, CLOEXEC)
    };
    match i32::try_from(fd) {
        // SAFETY: a descriptor that the kernel has just made and nobody else has.
        Ok(fd @ 0..) => Ok(unsafe { OwnedFd::from_raw_fd(fd) }),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// CPUs that are online.
pub fn online() -> Vec<u32> {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let cpus = parse(list.trim());
    if cpus.is_empty() { vec![0] } else { cpus }
}

/// "0-3,8".
fn parse(list: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse::<u32>().ok()?.min(1 << 16))
    };
    list.split(',').filter_map(range).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors_have_ranges() {
        assert_eq!(parse("0-2,5,8-9"), [0, 1, 2, 5, 8, 9]);
        assert_eq!(parse(""), Vec::<u32>::new());
    }
}
