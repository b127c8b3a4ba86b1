//! eBPF objects: what stands in their way, in words.

use std::sync::Once;

use libbpf_rs::ErrorKind;

use crate::Unavailable;

/// What an object would have let one see, when `step` ("loading", "attaching") failed.
pub(crate) fn unavailable(what: &str, step: &str, error: &libbpf_rs::Error) -> Unavailable {
    let remedy = match error.kind() {
        ErrorKind::PermissionDenied => {
            "run fathom as root, or with CAP_BPF and CAP_PERFMON; where root is refused too, the kernel is locked down \
             (/sys/kernel/security/lockdown) or a seccomp filter stands before it"
        }
        ErrorKind::NotFound => {
            "a kernel with BTF (/sys/kernel/btf/vmlinux, CONFIG_DEBUG_INFO_BTF) and this tracepoint"
        }
        _ => "a kernel from 5.17 on with BTF; `fathom check` tells what is missing",
    };
    let why = format!("{step} its eBPF program failed: {error:#}");
    Unavailable { what: what.to_owned(), why, remedy: remedy.to_owned() }
}

/// Keeps libbpf from writing to standard error by itself; what matters is in its errors.
pub(crate) fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        libbpf_rs::set_print(None);
    });
}
