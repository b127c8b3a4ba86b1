//! What the kernel says about itself: files of `/proc` and `/sys`, each with the document that
//! defines it.

use std::fs;

/// Number of the pid namespace that a machine begins with (`PROC_PID_INIT_INO`,
/// include/linux/proc_ns.h).
const FIRST_PID_NAMESPACE: &str = "pid:[4026531836]";

/// The running kernel's release, "6.18.44", and its first two numbers.
pub(super) fn release() -> (String, (u32, u32)) {
    let text = read("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = text.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    (text, version)
}

/// A setting of the kernel as a number.
pub(crate) fn setting(name: &str) -> Option<i64> {
    read(&format!("/proc/sys/{}", name.replace('.', "/")))?.parse().ok()
}

/// Where the kernel shows it.
pub(super) const LOCKDOWN: &str = "/sys/kernel/security/lockdown";

/// What the kernel is locked down for: "none", "integrity", "confidentiality" (kernel_lockdown(7)).
/// `None`: it cannot be. `file`: [`LOCKDOWN`].
pub(super) fn lockdown(file: &str) -> Option<String> {
    chosen(&read(file)?)
}

/// The word in brackets of "none [integrity] confidentiality".
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

/// Whether this process lives in a pid namespace below the machine's.
pub(super) fn in_pid_namespace() -> bool {
    fs::read_link("/proc/self/ns/pid").is_ok_and(|link| link.to_string_lossy() != FIRST_PID_NAMESPACE)
}

/// Whether `/proc` hides other users' processes (proc(5), `hidepid`).
pub(super) fn hides_processes() -> bool {
    let mounts = read("/proc/self/mounts").unwrap_or_default();
    mounts.lines().any(|line| {
        let mut words = line.split(' ');
        let proc = words.nth(1) == Some("/proc") && words.next() == Some("proc");
        let options = words.next().unwrap_or_default();
        proc && options
            .split(',')
            .any(|o| matches!(o, "hidepid=1" | "hidepid=2" | "hidepid=invisible" | "hidepid=noaccess"))
    })
}

/// What shows them. The kernel asks for CAP_SYSLOG unless both settings are low
/// (`kallsyms_show_value`, kernel/ksyms_common.c).
pub(crate) const SHOW_SYMBOLS: &str =
    "sudo fathom …; or CAP_SYSLOG; or sudo sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1";

/// Whether addresses of kernel functions are shown to this process: else frames of the kernel have
/// no names.
pub(super) fn shows_kernel_symbols() -> bool {
    use std::io::{BufRead, BufReader};
    let Ok(file) = fs::File::open("/proc/kallsyms") else { return false };
    let lines = BufReader::new(file).lines().take(64).map_while(Result::ok);
    let mut addresses = lines.map(|line| line.split(' ').next().map(str::to_owned).unwrap_or_default());
    addresses.any(|address| address.bytes().any(|b| b != b'0'))
}

/// A small file without its last line break.
pub(super) fn read(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_word_is_the_one_in_brackets() {
        assert_eq!(chosen("none [integrity] confidentiality").as_deref(), Some("integrity"));
        assert_eq!(chosen("none"), None);
    }

    #[test]
    fn this_kernel_has_a_release_and_settings() {
        let (text, (major, _)) = release();
        assert!(!text.is_empty() && major >= 3, "{text}");
        assert!(setting("kernel.pid_max").is_some() && setting("no.such").is_none());
    }
}
