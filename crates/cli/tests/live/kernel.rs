//! What fathom has loaded into the kernel, and whether it is gone.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use libbpf_rs::query::ProgInfoIter;

/// Programs in the kernel, by their ids, which are not given to others later.
pub struct Programs(BTreeSet<u32>);

impl Programs {
    /// Those that a process has loaded (proc_pid_fdinfo(5)); it must have some.
    #[track_caller]
    pub fn of(pid: u32) -> Self {
        let files = std::fs::read_dir(format!("/proc/{pid}/fdinfo")).unwrap();
        let texts = files.filter_map(|file| std::fs::read_to_string(file.ok()?.path()).ok());
        let id =
            |text: String| text.lines().find_map(|line| line.strip_prefix("prog_id:")?.trim().parse().ok());
        let ids: BTreeSet<u32> = texts.filter_map(id).collect();
        assert!(!ids.is_empty(), "process {pid} has loaded no program");
        Self(ids)
    }

    /// None of them is left.
    #[track_caller]
    pub fn are_gone(&self) {
        // The kernel takes some time to free a program.
        let patience = Instant::now() + Duration::from_secs(30);
        loop {
            let left: Vec<_> = (ProgInfoIter::default().filter(|program| self.0.contains(&program.id)))
                .map(|program| (program.id, program.name))
                .collect();
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < patience, "{left:?}");
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}
