//! Whose socket it is: the kernel's timer that sends a segment again runs in nobody's name.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::procfs;

/// Descriptors of one process that are looked at.
const MOST_DESCRIPTORS: usize = 65_536;
/// How often the descriptors are read for a socket that is not known.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Sockets of the recorded processes, by inode.
#[derive(Default)]
pub(super) struct Sockets {
    owners: HashMap<u64, i32>,
    next_look: Option<Instant>,
}

impl Sockets {
    /// The process that has a socket open; `None`: none of these.
    pub(super) fn owner(&mut self, inode: u64, pids: impl Iterator<Item = i32>) -> Option<i32> {
        if inode == 0 {
            return None;
        }
        let now = Instant::now();
        if !self.owners.contains_key(&inode) && self.next_look.is_none_or(|next| now >= next) {
            self.next_look = Some(now + LOOK_EVERY);
            self.owners.clear();
            for pid in pids {
                let own = sockets_of(pid);
                self.owners.extend(own.into_iter().map(|inode| (inode, pid)));
            }
        }
        self.owners.get(&inode).copied()
    }
}

fn sockets_of(pid: i32) -> Vec<u64> {
    let Ok(entries) = std::fs::read_dir(procfs::path(pid, "fd")) else { return Vec::new() };
    let links =
        entries.flatten().take(MOST_DESCRIPTORS).filter_map(|entry| std::fs::read_link(entry.path()).ok());
    links
        .filter_map(|link| link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_socket_of_this_process_is_its_own_and_another_nobodys() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let fd = std::os::fd::AsRawFd::as_raw_fd(&socket);
        let inode = std::fs::metadata(format!("/proc/self/fd/{fd}")).unwrap().ino();
        let own = std::process::id() as i32;
        let mut sockets = Sockets::default();
        assert_eq!(sockets.owner(inode, [own].into_iter()), Some(own));
        assert_eq!(sockets.owner(inode + 1_000_000_000, [own].into_iter()), None);
        assert_eq!(sockets.owner(0, [own].into_iter()), None);
    }
}
