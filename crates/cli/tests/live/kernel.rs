//! What fathom has left behind in the kernel.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Of the programs in the kernel (`bpftool prog list`) none of this sort is left. Cannot be told, loudly, without bpftool.
#[track_caller]
pub fn has_no_program(of_this_sort: impl Fn(&Value) -> bool) {
    // The kernel takes some time to free a program.
    let patience = Instant::now() + Duration::from_secs(30);
    loop {
        let Ok(listed) = Command::new("bpftool").args(["-j", "prog", "list"]).output() else {
            eprintln!("SKIPPED in part: no bpftool to look into the kernel with");
            return;
        };
        let listed: Value = serde_json::from_slice(&listed.stdout).unwrap_or_default();
        let programs = listed.as_array().into_iter().flatten();
        let left: Vec<_> = programs.filter(|program| of_this_sort(program)).collect();
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < patience, "{left:?}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Whether a program has one of these names and no process holds it.
pub fn is_left_behind(program: &Value, names: &[&str]) -> bool {
    names.iter().any(|name| program["name"] == *name) && program["pids"].as_array().is_none_or(Vec::is_empty)
}
