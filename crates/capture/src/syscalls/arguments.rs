//! Arguments of calls in words: flags, operations, advice. Values: the kernel's uapi headers, on
//! x86-64.

use super::calls::{Call, Flags};

const OPEN: &[(u64, &str)] = &[
    (0o100, "O_CREAT"),
    (0o200, "O_EXCL"),
    (0o1000, "O_TRUNC"),
    (0o2000, "O_APPEND"),
    (0o4000, "O_NONBLOCK"),
    (0o10000, "O_DSYNC"),
    (0o40000, "O_DIRECT"),
    (0o200_000, "O_DIRECTORY"),
    (0o2_000_000, "O_CLOEXEC"),
    (0o4_000_000, "O_SYNC"),
    (0o10_000_000, "O_PATH"),
];
const PROTECTION: &[(u64, &str)] = &[(1, "PROT_READ"), (2, "PROT_WRITE"), (4, "PROT_EXEC")];
const CLONE: &[(u64, &str)] = &[
    (0x100, "CLONE_VM"),
    (0x200, "CLONE_FS"),
    (0x400, "CLONE_FILES"),
    (0x800, "CLONE_SIGHAND"),
    (0x4000, "CLONE_VFORK"),
    (0x1_0000, "CLONE_THREAD"),
    (0x2_0000, "CLONE_NEWNS"),
    (0x2000_0000, "CLONE_NEWPID"),
    (0x4000_0000, "CLONE_NEWNET"),
];
const ADVICE: &[(u64, &str)] = &[
    (0, "MADV_NORMAL"),
    (1, "MADV_RANDOM"),
    (2, "MADV_SEQUENTIAL"),
    (3, "MADV_WILLNEED"),
    (4, "MADV_DONTNEED"),
    (8, "MADV_FREE"),
    (12, "MADV_MERGEABLE"),
    (14, "MADV_HUGEPAGE"),
    (15, "MADV_NOHUGEPAGE"),
    (16, "MADV_DONTDUMP"),
    (21, "MADV_PAGEOUT"),
    (22, "MADV_POPULATE_READ"),
    (23, "MADV_POPULATE_WRITE"),
    (25, "MADV_COLLAPSE"),
];
const FUTEX: &[(u64, &str)] = &[
    (0, "FUTEX_WAIT"),
    (1, "FUTEX_WAKE"),
    (3, "FUTEX_REQUEUE"),
    (4, "FUTEX_CMP_REQUEUE"),
    (5, "FUTEX_WAKE_OP"),
    (6, "FUTEX_LOCK_PI"),
    (7, "FUTEX_UNLOCK_PI"),
    (9, "FUTEX_WAIT_BITSET"),
    (10, "FUTEX_WAKE_BITSET"),
];
/// FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME do not change what is done.
const FUTEX_COMMAND: u64 = 0x7f;

/// The flags of a call. `None`: it has none that are known.
pub(super) fn flags(call: &Call, arguments: &[u64; 6]) -> Option<String> {
    let at = |index: usize| arguments.get(index).copied();
    Some(match call.flags? {
        Flags::Open(index) => {
            let value = at(index)?;
            let mode = ["O_RDONLY", "O_WRONLY", "O_RDWR"].get((value & 3) as usize).copied();
            set(mode.unwrap_or("O_ACCMODE"), value, OPEN)
        }
        Flags::Protection(index) => match at(index)? & 7 {
            0 => "PROT_NONE".to_owned(),
            value => set("", value, PROTECTION),
        },
        Flags::Clone(index) => set("", at(index)?, CLONE),
        Flags::Advice(index) => one(at(index)?, ADVICE)?.to_owned(),
        Flags::Futex(index) => one(at(index)? & FUTEX_COMMAND, FUTEX)?.to_owned(),
    })
}

fn set(first: &str, value: u64, names: &[(u64, &str)]) -> String {
    // O_SYNC has the bit of O_DSYNC in it.
    let has = |bit: u64| value & bit == bit;
    let named = names.iter().filter(|(bit, _)| has(*bit)).map(|(_, name)| *name);
    let all: Vec<&str> = Some(first).filter(|first| !first.is_empty()).into_iter().chain(named).collect();
    all.join("|")
}

fn one(value: u64, names: &[(u64, &'static str)]) -> Option<&'static str> {
    names.iter().find(|(number, _)| *number == value).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::syscalls::calls::{find, number};

    #[test]
    fn flags_are_shown_by_their_names() {
        let shown = |name: &str, arguments: [u64; 6]| {
            flags(find(number(name).unwrap()).unwrap(), &arguments).unwrap_or_default()
        };
        assert_eq!(shown("openat", [0, 0, 0o102_101, 0, 0, 0]), "O_WRONLY|O_CREAT|O_APPEND");
        assert_eq!(shown("mprotect", [0, 0, 3, 0, 0, 0]), "PROT_READ|PROT_WRITE");
        assert_eq!(shown("mprotect", [0, 0, 0, 0, 0, 0]), "PROT_NONE");
        assert_eq!(shown("madvise", [0, 0, 4, 0, 0, 0]), "MADV_DONTNEED");
        assert_eq!(shown("futex", [0, 137, 0, 0, 0, 0]), "FUTEX_WAIT_BITSET");
        assert_eq!(shown("write", [0; 6]), "");
    }
}
