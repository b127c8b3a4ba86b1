//! eBPF objects: how they are loaded and read, and what stands in their way, in words.

pub(crate) mod attached;
pub(crate) mod dispatcher;
pub(crate) mod interrupts;
pub(crate) mod iterator;
pub(crate) mod kit;
pub(crate) mod losses;
pub(crate) mod object;
pub(crate) mod own;
pub(crate) mod record;
pub(crate) mod ring;
pub(crate) mod whole;

use std::os::unix::fs::MetadataExt;
use std::sync::Once;

use libbpf_rs::ErrorKind;

use crate::{Unavailable, privileges};

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
        _ => "a kernel from 5.17 on with BTF; `fathom check` lists what is missing",
    };
    let why = format!("{step} its eBPF program failed: {error:#}");
    Unavailable { scope: None, what: what.to_owned(), why, remedy: remedy.to_owned() }
}

/// What helps where a probe on a function of a library could not be attached, by the rights of this
/// process (see [`privileges::PROBES_OF_FUNCTIONS`]).
pub(crate) fn remedy_of_uprobe() -> Option<&'static str> {
    remedy_without(privileges::may_probe_libraries())
}

fn remedy_without(has_right: bool) -> Option<&'static str> {
    (!has_right).then_some(
        "run fathom as root, or with CAP_SYS_ADMIN, which Linux asks for to probe functions of libraries",
    )
}

/// Keeps libbpf from writing to standard error by itself; what matters is in its errors.
pub(crate) fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        libbpf_rs::set_print(None);
    });
}

/// The pid namespace in which this process names others, for `pidns_ino` of the programs; 0 where
/// it is not known.
pub(crate) fn pid_namespace() -> u64 {
    std::fs::metadata("/proc/self/ns/pid").map_or(0, |namespace| namespace.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_that_fails_is_explained_by_the_right_that_is_missing_and_by_no_words_of_a_library() {
        assert!(remedy_without(false).is_some_and(|remedy| remedy.contains("CAP_SYS_ADMIN")));
        assert_eq!(remedy_without(true), None);
    }
}
