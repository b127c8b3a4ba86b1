//! What this process may do.

use crate::{Unavailable, procfs};

/// Bits of the effective capabilities (linux/capability.h).
const CAP_SYS_PTRACE: u32 = 19;
const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
const CAP_BPF: u32 = 39;

/// Whether the eBPF engine works here: the rights are there, and the kernel, tried, does as it is
/// asked (lockdown, a filter of system calls, or its age can be in the way).
pub fn ebpf() -> Result<(), Unavailable> {
    processor(std::env::consts::ARCH)?;
    capabilities()?;
    match crate::check::ebpf_obstacle() {
        None => Ok(()),
        Some(item) => Err(Unavailable { what: item.what.into(), why: item.found, remedy: item.remedy }),
    }
}

/// Whether programs, stacks and code of a JVM are read on such a processor: system calls by their
/// numbers, registers, stubs and interpreted frames are those of x86-64.
fn processor(name: &str) -> Result<(), Unavailable> {
    if name == "x86_64" {
        return Ok(());
    }
    Err(Unavailable {
        what: "stacks and events through eBPF".into(),
        why: format!("this is {name}, and live recording by eBPF is made for x86-64 only"),
        remedy: "fathom record --engine jfr (the JVM's flight recorder) works here, and so do logs and files"
            .into(),
    })
}

/// Whether this process has the rights to load eBPF programs and to attach them to perf events and
/// probes.
pub fn capabilities() -> Result<(), Unavailable> {
    let missing: Vec<&str> = [(CAP_BPF, "CAP_BPF"), (CAP_PERFMON, "CAP_PERFMON")]
        .into_iter()
        .filter(|(bit, _)| !has(*bit) && !has(CAP_SYS_ADMIN))
        .map(|(_, name)| name)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Unavailable {
        what: "stacks and events through eBPF".into(),
        why: format!("this user has no {}", missing.join(" and no ")),
        remedy: "run fathom as root (sudo), or give it the rights: sudo setcap \
                 cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search+ep $(command -v fathom)"
            .into(),
    })
}

/// Whether the memory and maps of other users' processes may be read.
pub fn ptrace_any() -> bool {
    has(CAP_SYS_PTRACE)
}

/// Whether functions of libraries may be probed.
pub(crate) fn may_probe_libraries() -> bool {
    has(CAP_SYS_ADMIN)
}

fn has(bit: u32) -> bool {
    let effective = procfs::read_to_string("/proc/self/status")
        .and_then(|status| procfs::field(&status, "CapEff:").map(str::to_owned))
        .and_then(|bits| u64::from_str_radix(&bits, 16).ok());
    effective.is_some_and(|bits| bits >> bit & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_processor_is_refused_with_what_works_there() {
        assert!(processor("x86_64").is_ok());
        let refused = processor("aarch64").unwrap_err();
        assert!(refused.why.contains("aarch64") && refused.remedy.contains("--engine jfr"), "{refused:?}");
    }
}
