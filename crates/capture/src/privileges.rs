//! What this process may do.

use crate::{Unavailable, procfs};

/// Bits of the effective capabilities (linux/capability.h).
const CAP_SYS_PTRACE: u32 = 19;
const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
const CAP_BPF: u32 = 39;

/// What lets a user who is not root record JVMs of any user by eBPF, all but probes on functions of
/// libraries: programs and perf events (CAP_BPF, CAP_PERFMON), memory and maps of other users'
/// processes (CAP_SYS_PTRACE), their counters and environments (CAP_DAC_READ_SEARCH), names of
/// kernel functions where `kernel.perf_event_paranoid` is above 1 (CAP_SYSLOG). Tried on 6.18 with
/// JDK 17, by `setpriv` and by capabilities of the file.
pub const SETCAP: &str =
    "sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,cap_syslog+ep $(command -v fathom)";

/// What the list of [`SETCAP`] does not give: Linux asks for CAP_SYS_ADMIN to make the perf event
/// of a probe on a function of a library, though CAP_PERFMON is enough for all else, USDT probes
/// included.
pub const PROBES_OF_FUNCTIONS: &str =
    "calls of Thread.start, name look-ups, functions of libraries (fathom trace uprobe:, alloc)";

/// Whether programs, stacks and code of a JVM are read on such a CPU: system calls by their
/// numbers, registers, stubs and interpreted frames are those of x86-64.
pub(crate) fn processor(name: &str) -> Result<(), Unavailable> {
    if name == "x86_64" {
        return Ok(());
    }
    Err(Unavailable {
        scope: None,
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
        scope: None,
        what: "stacks and events through eBPF".into(),
        why: format!("this user has no {}", missing.join(" and no ")),
        remedy: format!("run fathom as root (sudo), or give it the rights: {SETCAP}"),
    })
}

/// Whether the memory and maps of other users' processes may be read.
pub fn ptrace_any() -> bool {
    has(CAP_SYS_PTRACE)
}

/// Whether functions of libraries may be probed ([`PROBES_OF_FUNCTIONS`]).
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
    fn documents_and_packages_list_the_same_capabilities() {
        let file = |name: &str| {
            let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
            std::fs::read_to_string(root.join(name)).unwrap()
        };
        assert!(file("README.md").contains(SETCAP), "{SETCAP}");
        let (_, list) = SETCAP.split_once("cap_").unwrap();
        let names = list.split_once('+').unwrap().0.split(",cap_").map(str::to_uppercase);
        for name in names {
            assert!(file("packaging/fathom-agent.service").contains(&format!("CAP_{name} ")), "{name}");
            assert!(file("packaging/kubernetes.yaml").contains(&name), "{name}");
            assert!(file("docs/agent.md").contains(&format!("CAP_{name}")), "{name}");
        }
    }

    #[test]
    fn another_processor_is_refused_with_what_works_there() {
        assert!(processor("x86_64").is_ok());
        let refused = processor("aarch64").unwrap_err();
        assert!(refused.why.contains("aarch64") && refused.remedy.contains("--engine jfr"), "{refused:?}");
    }
}
