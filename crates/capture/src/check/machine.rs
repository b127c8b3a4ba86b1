//! What this machine and this user allow.

use super::tries::{self, CPU_CLOCK, CYCLES, HARDWARE, PROGRAM_TYPES, SOFTWARE};
use super::{Item, State, kernel};
use crate::CaptureEngine;
use crate::privileges::{self, PROBES_OF_FUNCTIONS, SETCAP};

/// Since when a program may loop as long as a deep stack needs (`bpf_loop`).
const LOOPS_SINCE: (u32, u32) = (5, 17);
/// Since when maps of programs are not charged to RLIMIT_MEMLOCK any more.
const FREE_MAPS_SINCE: (u32, u32) = (5, 11);

/// What was found of a machine.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The kernel's release: "6.18.44".
    pub kernel: String,
    /// Whether this process is in a container, or another pid namespace.
    pub contained: bool,
    /// What was looked at.
    pub items: Vec<Item>,
}

/// Looks at this machine, as this user.
pub fn machine() -> Machine {
    let (kernel, version) = kernel::release();
    let contained = kernel::in_pid_namespace();
    let mut items = vec![programs(), locked_down(kernel::LOCKDOWN), loops(version), btf(), tracepoints()];
    items.extend([clock_events(), probes(), breakpoints()]);
    items.extend([other_users(), kernel_symbols(), cycles(), pressure(), processes(contained)]);
    items.extend((version < FREE_MAPS_SINCE).then(memlock));
    Machine { kernel, contained, items }
}

/// Breakpoints that a CPU has (DR0 to DR3 of x86-64).
const BREAKPOINTS: usize = 4;

fn breakpoints() -> Item {
    let item = Item::works("breakpoints", "hardware breakpoints", CaptureEngine::Ebpf, "all four can be had");
    let not_seen = "calls of Java methods (fathom method)";
    let (free, refused) = tries::free_breakpoints(BREAKPOINTS);
    match (free, refused) {
        (_, None) => item,
        (0, Some(error)) if error.raw_os_error() != Some(libc::ENOSPC) => item.limited(
            format!("none can be set ({})", tries::word(&error)),
            not_seen,
            "a CPU, or a virtual machine, that has them; as for CPU samples where it is the user who may not",
        ),
        (free, Some(_)) => item.limited(
            format!("{free} of {BREAKPOINTS} are free, a debugger or another fathom has the others"),
            "more methods at a time (fathom method)",
            "end what has taken them (gdb, perf, another fathom method)",
        ),
    }
}

/// What keeps the eBPF engine from working at all; `None`: nothing.
pub fn ebpf_obstacle() -> Option<Item> {
    let (_, version) = kernel::release();
    [programs(), locked_down(kernel::LOCKDOWN), loops(version), btf()]
        .into_iter()
        .find(|item| item.state == State::Missing)
}

fn programs() -> Item {
    let item = Item::works("ebpf-load", "eBPF programs", CaptureEngine::Ebpf, "one of each type was loaded");
    let failed =
        PROGRAM_TYPES.iter().find_map(|(name, kind)| Some((name, tries::load_program(*kind).err()?)));
    let Some((name, error)) = failed else { return item };
    let found = format!("a program of type {name} is refused ({})", tries::word(&error));
    item.missing(found, "stacks of all layers, system calls, faults, locks of the C library", why_refused())
}

/// What would let eBPF programs be loaded, by what stands in the way first.
fn why_refused() -> String {
    match (kernel::lockdown(kernel::LOCKDOWN).as_deref(), privileges::capabilities()) {
        (Some(CONFIDENTIALITY), _) => UNLOCK.into(),
        (_, Err(_)) => format!("sudo fathom …; or once: {SETCAP}"),
        (_, Ok(())) if kernel::in_pid_namespace() => {
            "the container's filter refuses bpf(2): run it with --privileged, or with --cap-add BPF --cap-add PERFMON and a \
             seccomp profile that allows bpf and perf_event_open"
                .into()
        }
        (_, Ok(())) => "a security module or a seccomp filter refuses bpf(2): see the audit log (ausearch -m avc,seccomp)".into(),
    }
}

/// The level of lockdown at which nobody may read the kernel's memory.
const CONFIDENTIALITY: &str = "confidentiality";
const UNLOCK: &str = "boot with lockdown=integrity, or without; on the kernel's command line, or where Secure Boot asks for it";

/// A locked kernel loads programs and refuses the functions by which they read
/// (`LOCKDOWN_BPF_READ_KERNEL`, security/security.c), so that a trial with a program that reads
/// nothing would not show it.
fn locked_down(file: &str) -> Item {
    let item = Item::works(
        "lockdown",
        "kernel lockdown",
        CaptureEngine::Ebpf,
        "it allows eBPF to read kernel memory",
    );
    if kernel::lockdown(file).as_deref() != Some(CONFIDENTIALITY) {
        return item;
    }
    item.missing(
        "the kernel is locked down (confidentiality): no program may read its memory, no tracepoint or perf event be used",
        "the eBPF engine",
        UNLOCK,
    )
}

fn loops(version: (u32, u32)) -> Item {
    let item = Item::works("ebpf-loop", "deep stacks", CaptureEngine::Ebpf, "the kernel has bpf_loop");
    if version >= LOOPS_SINCE {
        return item;
    }
    let found = format!("kernel {}.{} has no bpf_loop", version.0, version.1);
    item.missing(found, "the eBPF engine: its unwinder needs it", "a kernel of 5.17 or later")
}

fn btf() -> Item {
    let item =
        Item::works("btf", "types of the kernel (BTF)", CaptureEngine::Ebpf, "/sys/kernel/btf/vmlinux");
    if std::fs::File::open("/sys/kernel/btf/vmlinux").is_ok() {
        return item;
    }
    item.missing(
        "no /sys/kernel/btf/vmlinux",
        "the eBPF engine: its programs are fitted to the kernel by it",
        "a kernel built with CONFIG_DEBUG_INFO_BTF=y (all distributions since 2021)",
    )
}

fn tracepoints() -> Item {
    let item = Item::works("tracepoints", "tracepoints", CaptureEngine::Ebpf, "readable");
    let Err(why) = crate::tracefs::readable() else { return item };
    // The collectors find theirs by the kernel's types (BTF).
    item.limited(
        why,
        "tracepoints that are named by hand (fathom trace tracepoint:CATEGORY:NAME)",
        "sudo mount -t tracefs nodev /sys/kernel/tracing",
    )
}

fn clock_events() -> Item {
    let item = Item::works(
        "perf-clock",
        "CPU samples",
        CaptureEngine::Ebpf,
        "a perf event of type cpu-clock was opened",
    );
    let Err(error) = tries::open_event(SOFTWARE, CPU_CLOCK) else { return item };
    let paranoid = kernel::setting("kernel.perf_event_paranoid").unwrap_or(2);
    let found = format!(
        "perf_event_open is refused ({}; kernel.perf_event_paranoid = {paranoid})",
        tries::word(&error)
    );
    let remedy = match privileges::capabilities() {
        Err(_) => format!("sudo sysctl kernel.perf_event_paranoid=-1 and: {SETCAP}"),
        Ok(()) => "the container's seccomp filter: allow perf_event_open".into(),
    };
    item.missing(found, "CPU samples by the kernel", remedy)
}

fn probes() -> Item {
    let item =
        Item::works("uprobes", "probes in libraries (uprobes)", CaptureEngine::Ebpf, "they may be attached");
    let kind = kernel::read("/sys/bus/event_source/devices/uprobe/type").and_then(|kind| kind.parse().ok());
    let Some(kind) = kind else {
        let remedy = "a kernel built with CONFIG_UPROBE_EVENTS=y; the JVM's events also come from a GC log";
        let not_seen = "the JVM's events by its probes, locks, starts of threads, name look-ups";
        return item.limited("the kernel has no uprobes", not_seen, remedy);
    };
    match tries::may_set_uprobes(kind) {
        Ok(()) => item,
        Err(error) => {
            let found = format!("this user may not set them on functions ({})", tries::word(&error));
            let remedy = "sudo fathom …; or CAP_SYS_ADMIN as well (cap_sys_admin in the list of setcap)";
            item.limited(found, PROBES_OF_FUNCTIONS, remedy)
        }
    }
}

fn other_users() -> Item {
    let item =
        Item::works("ptrace", "other users' processes", CaptureEngine::Any, "their memory may be read");
    if privileges::ptrace_any() {
        return item;
    }
    let scope = kernel::setting("kernel.yama.ptrace_scope").unwrap_or(0);
    match scope {
        0 => item.limited(
            "only this user's own may be looked into",
            "JVMs of other users",
            format!("sudo fathom …; or once: {SETCAP}"),
        ),
        scope => item.limited(
            format!("only own ones, and of those not the memory (kernel.yama.ptrace_scope = {scope})"),
            "JVMs of other users; methods and threads by the JVM's own tables",
            "sudo fathom …; or sudo sysctl kernel.yama.ptrace_scope=0",
        ),
    }
}

fn kernel_symbols() -> Item {
    let item = Item::works("kallsyms", "names of kernel functions", CaptureEngine::Ebpf, "readable");
    if kernel::shows_kernel_symbols() {
        return item;
    }
    item.limited(
        "addresses are hidden (kernel.kptr_restrict, kernel.perf_event_paranoid)",
        "names of the kernel's frames",
        kernel::SHOW_SYMBOLS,
    )
}

fn cycles() -> Item {
    let item = Item::works(
        "pmu",
        "hardware counters",
        CaptureEngine::Ebpf,
        "the CPU's cycles can be counted: fathom record --event cycles",
    );
    let Err(error) = tries::open_event(HARDWARE, CYCLES) else { return item };
    let none = [libc::ENOENT, libc::EOPNOTSUPP, libc::ENODEV];
    if !error.raw_os_error().is_some_and(|code| none.contains(&code)) {
        // Refused in the same way as the clock, which is reported already.
        return item.limited(
            tries::word(&error),
            "sampling by cycles (--event cycles)",
            "as for CPU samples",
        );
    }
    item.limited(
        "none, as in most virtual machines: samples go by the kernel's clock",
        "samples by cycles (fathom record --event cycles)",
        "bare metal, or a virtual machine that is given counters (KVM: -cpu host,pmu=on; some clouds: metal sizes)",
    )
}

fn pressure() -> Item {
    let item = Item::works("psi", "pressure stalls (PSI)", CaptureEngine::Any, "readable");
    if kernel::read("/proc/pressure/cpu").is_some() {
        return item;
    }
    item.limited(
        "no /proc/pressure",
        "how long the host waited for CPU, memory and disks",
        "boot with psi=1 (kernel 4.20 or later with CONFIG_PSI)",
    )
}

fn processes(contained: bool) -> Item {
    let item = Item::works("processes", "processes", CaptureEngine::Any, "all of the host are seen");
    if contained {
        return item.limited(
            "only those of this container, or pid namespace",
            "neighbours that take the CPU; JVMs of other containers",
            "run fathom on the host, or in a container with --pid=host",
        );
    }
    if kernel::hides_processes() {
        return item.limited(
            "/proc is mounted with hidepid",
            "other users' processes",
            "sudo fathom …; or sudo mount -o remount,hidepid=0 /proc",
        );
    }
    item
}

fn memlock() -> Item {
    let item = Item::works("memlock", "memory of eBPF programs", CaptureEngine::Ebpf, "not limited");
    let limit = rustix::process::getrlimit(rustix::process::Resource::Memlock).current;
    match limit {
        Some(bytes) if bytes < 64 << 20 => item.limited(
            format!("limited to {} kB, to which kernels before 5.11 charge it", bytes >> 10),
            "the eBPF engine, when its maps find no room",
            "ulimit -l unlimited",
        ),
        _ => item,
    }
}

impl Machine {
    /// What keeps an engine from working at all here.
    pub fn obstacle(&self, engine: CaptureEngine) -> Option<&Item> {
        super::obstacle(&self.items, engine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_kernel_locked_for_confidentiality_keeps_the_engine_from_working() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("lockdown");
        let path = file.to_str().unwrap();
        assert_eq!(locked_down(path).state, State::Works, "a kernel that cannot be locked");
        for (text, state) in [
            ("[none] integrity confidentiality\n", State::Works),
            ("none [integrity] confidentiality\n", State::Works),
            ("none integrity [confidentiality]\n", State::Missing),
            ("", State::Works),
            ("[confidentiality", State::Works),
        ] {
            std::fs::write(&file, text).unwrap();
            let item = locked_down(path);
            assert_eq!((item.state, item.engine), (state, CaptureEngine::Ebpf), "{text}");
            assert!(state == State::Works || item.remedy.contains("lockdown=integrity"), "{item:?}");
        }
    }

    #[test]
    fn an_unmounted_list_of_tracepoints_keeps_no_collector_from_anything() {
        // As root the list is read without a mount; without it only probes that are named by hand
        // are lost.
        let item = tracepoints();
        assert!(rustix::process::geteuid().is_root() <= (item.state == State::Works), "{item:?}");
        assert!(item.state == State::Works || item.loss.contains("named by hand"), "{item:?}");
    }

    #[test]
    fn whatever_is_missing_says_what_is_lost_and_the_ids_are_unique() {
        let machine = machine();
        for item in &machine.items {
            assert_eq!(item.state == State::Works, item.loss.is_empty(), "{item:?}");
            assert!(item.state != State::Missing || !item.remedy.is_empty(), "{item:?}");
        }
        let mut ids: Vec<_> = machine.items.iter().map(|item| item.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), machine.items.len());
    }
}
