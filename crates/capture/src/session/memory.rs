//! Whether there is memory enough for a recording where fathom's own control group limits it: the
//! kernel ends what needs more, and a recording with it.

use std::path::{Path, PathBuf};

use crate::Unavailable;
use crate::procfs;

/// What a recording takes, tables in the kernel included, bytes: some processes take 85 to 110 MB,
/// a host with 45 JVMs 239 MB (measured).
const SOME: u64 = 128 << 20;
const HOST: u64 = 256 << 20;

/// That it may be ended for lack of memory; `None`: it fits, or nothing is limited.
pub(super) fn too_little(whole_host: bool) -> Option<Unavailable> {
    let groups = procfs::read_to_string("/proc/self/cgroup")?;
    let room = room(&groups, Path::new("/sys/fs/cgroup"))?;
    let needed = if whole_host { HOST } else { SOME };
    (room < needed).then(|| Unavailable {
        scope: None,
        what: "the end of the recording, perhaps".into(),
        why: format!(
            "fathom's control group has {} MB of memory left, and a recording takes up to {} MB",
            room >> 20,
            needed >> 20
        ),
        remedy: "a larger limit for fathom, or run it outside of the container".into(),
    })
}

/// Bytes that fathom may still take: what the host has available, or its control groups leave,
/// whichever is less. What the page cache has of files that were not touched of late can be given
/// up, and counts as left.
pub fn left() -> Option<u64> {
    let meminfo = procfs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = meminfo.lines().find_map(|line| {
        let kilobytes = line.strip_prefix("MemAvailable:")?.trim().strip_suffix(" kB")?;
        kilobytes.parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
    });
    let groups = procfs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    available.into_iter().chain(room(&groups, Path::new("/sys/fs/cgroup"))).min()
}

/// Bytes that a process may still take, by its groups as `/proc/self/cgroup` has them and where
/// these are mounted.
fn room(groups: &str, mounted: &Path) -> Option<u64> {
    let unified = groups
        .lines()
        .find_map(|line| line.strip_prefix("0::"))
        .map(|path| (mounted.to_path_buf(), path, ["memory.max", "memory.current"]));
    let of_memory = |line: &str| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, _) = rest.split_once(':')?;
        controllers.split(',').any(|name| name == "memory").then_some(())
    };
    let legacy = groups.lines().find(|line| of_memory(line).is_some()).and_then(|line| {
        let path = line.rsplit(':').next()?;
        Some((mounted.join("memory"), path, ["memory.limit_in_bytes", "memory.usage_in_bytes"]))
    });
    let (root, path, files) = legacy.or(unified)?;
    let own: PathBuf = root.join(path.trim_start_matches('/'));
    let number =
        |group: &Path, file: &str| procfs::read_to_string(group.join(file))?.trim().parse::<u64>().ok();
    let groups = own.ancestors().take_while(|group| group.starts_with(&root));
    let given_up = |group: &Path| {
        let all = procfs::read_to_string(group.join("memory.stat"))?;
        let of =
            |name: &str| all.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok());
        of("total_inactive_file ").or_else(|| of("inactive_file "))
    };
    let left = |group: &Path| {
        let (limit, used) = (number(group, files[0])?, number(group, files[1])?);
        Some(limit.saturating_sub(used).saturating_add(given_up(group).unwrap_or(0)).min(limit))
    };
    groups.filter_map(left).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_room_of_all_groups_above_counts() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let file = dir.path().join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        write("a/memory.max", "67108864\n");
        write("a/memory.current", "7108864\n");
        write("a/b/memory.max", "max\n");
        write("a/b/memory.current", "5\n");
        assert_eq!(room("0::/a/b\n", dir.path()), Some(60_000_000));
        assert_eq!(room("0::/\n", dir.path()), None);
        write("memory/c/memory.limit_in_bytes", "100\n");
        write("memory/c/memory.usage_in_bytes", "40\n");
        assert_eq!(room("4:cpu,memory:/c\n0::/a\n", dir.path()), Some(60));
    }
}
