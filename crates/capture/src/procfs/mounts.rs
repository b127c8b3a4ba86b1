//! Where file systems are mounted, as this process sees it: `/proc/self/mountinfo`
//! (proc_pid_mountinfo(5)).

use std::time::{Duration, Instant};

/// An unknown file system is looked for again after this long.
const AGAIN: Duration = Duration::from_secs(1);

/// The mounts, read when first asked for and again when a file system is unknown.
#[derive(Default)]
pub struct Mounts {
    mounts: Vec<Mount>,
    read: Option<Instant>,
}

/// A mount, or a part of a file system that is bound to a place.
struct Mount {
    /// Number of the file system's device: major, minor.
    device: (u32, u32),
    /// The folder of the file system that is seen, "/" for all of it.
    root: String,
    place: String,
}

impl Mounts {
    /// The path by which this process reaches a file of a file system: `within` is its path from
    /// the file system's root, with a slash in front. `None` where the file system, or that part of
    /// it, is mounted nowhere.
    pub fn path(&mut self, device: (u32, u32), within: &str) -> Option<String> {
        if let Some(path) = self.known(device, within) {
            return Some(path);
        }
        if self.read.is_some_and(|read| read.elapsed() < AGAIN) {
            return None;
        }
        self.mounts = parse(&super::read_to_string("/proc/self/mountinfo").unwrap_or_default());
        self.read = Some(Instant::now());
        self.known(device, within)
    }

    fn known(&self, device: (u32, u32), within: &str) -> Option<String> {
        let below = |mount: &Mount| -> Option<String> {
            let rest = within.strip_prefix(mount.root.trim_end_matches('/'))?;
            let place = mount.place.trim_end_matches('/');
            rest.starts_with('/').then(|| format!("{place}{rest}"))
        };
        let here = self.mounts.iter().filter(|mount| mount.device == device);
        // The whole of it rather than a part of it.
        here.filter_map(|mount| Some((mount.root.len(), below(mount)?))).min().map(|(_, path)| path)
    }
}

/// "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue".
fn parse(text: &str) -> Vec<Mount> {
    let mount = |line: &str| {
        let mut cells = line.split(' ').skip(2);
        let (major, minor) = cells.next()?.split_once(':')?;
        let device = (major.parse().ok()?, minor.parse().ok()?);
        Some(Mount { device, root: unescaped(cells.next()?), place: unescaped(cells.next()?) })
    };
    text.lines().filter_map(mount).collect()
}

/// Blanks, tabs, line feeds and backslashes are written as a backslash and three octal digits.
fn unescaped(cell: &str) -> String {
    let mut parts = cell.split('\\');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match digits.filter(u8::is_ascii) {
            Some(byte) => {
                text.push(char::from(byte));
                text.push_str(&part[3..]);
            }
            None => {
                text.push('\\');
                text.push_str(part);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mounts(text: &str) -> Mounts {
        Mounts { mounts: parse(text), read: Some(Instant::now()) }
    }

    #[test]
    fn a_file_is_found_below_the_mount_of_its_file_system() {
        let mut all = mounts(
            "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
             23 22 8:2 /srv/logs /var/log rw - xfs /dev/sdb rw\n\
             24 22 8:2 / /mnt/two\\040words rw - xfs /dev/sdb rw\n\
             no mount at all\n25 22 x:y / /z - a b c\n",
        );
        assert_eq!(all.path((8, 1), "/etc/passwd").as_deref(), Some("/etc/passwd"));
        assert_eq!(all.path((8, 2), "/srv/logs/gc.log").as_deref(), Some("/mnt/two words/srv/logs/gc.log"));
        assert_eq!(all.path((9, 0), "/a"), None);
        let mut part = mounts("23 22 8:2 /srv/logs /var/log rw - xfs /dev/sdb rw\n");
        assert_eq!(part.path((8, 2), "/srv/logs/gc.log").as_deref(), Some("/var/log/gc.log"));
        assert_eq!(part.path((8, 2), "/srv/logs2/gc.log"), None);
    }

    #[test]
    fn what_is_no_escape_stays() {
        assert_eq!(unescaped("a\\040b\\134\\9é\\"), "a b\\\\9é\\");
    }

    #[test]
    fn the_mounts_of_this_process_are_read_once() {
        let mut mounts = Mounts::default();
        assert_eq!(mounts.path((4095, 1), "/x"), None);
        assert!(!mounts.mounts.is_empty());
        mounts.mounts.clear();
        assert_eq!(mounts.path((4095, 1), "/x"), None);
        assert!(mounts.mounts.is_empty(), "it was read within the second before");
    }
}
