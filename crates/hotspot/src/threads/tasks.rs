//! Threads as the kernel has them: `/proc/PID/task` (proc(5)).

use std::fs;
use std::io;

use crate::{Error, Result};

/// A thread of the process.
#[derive(Debug)]
pub(super) struct Task {
    /// Its id as this process sees it.
    pub(super) tid: u32,
    /// Its id in its own pid namespace (a container's), as the JVM has it.
    pub(super) tid_inside: u32,
    /// The kernel's name.
    pub(super) name: String,
}

/// All threads; those that end meanwhile are left out.
pub(super) fn read(pid: u32) -> Result<Vec<Task>> {
    let path = format!("/proc/{pid}/task");
    let entries = fs::read_dir(&path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => Error::NoProcess { pid },
        _ => Error::Proc { path: path.clone(), why: source },
    })?;
    let inside = |tid: u32| namespace_tid(&fs::read_to_string(format!("{path}/{tid}/status")).ok()?);
    // One task is enough to see whether the namespaces differ at all.
    let same = inside(pid).is_none_or(|tid| tid == pid);
    let tids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut tasks: Vec<Task> = tids
        .filter_map(|tid: u32| {
            let name = fs::read(format!("{path}/{tid}/comm")).ok()?;
            let name = fathom_recording::jvm_text(name.strip_suffix(b"\n").unwrap_or(&name)).into_owned();
            Some(Task { tid, tid_inside: if same { tid } else { inside(tid)? }, name })
        })
        .collect();
    tasks.sort_by_key(|task| task.tid);
    Ok(tasks)
}

/// The innermost id of the `NSpid` line of a `status` file.
fn namespace_tid(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_whitespace().last()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_the_innermost_namespace_is_taken() {
        assert_eq!(namespace_tid("Name:\tjava\nNSpid:\t4242\t17\t3\nX:\n"), Some(3));
        assert_eq!(namespace_tid("NSpid:\t4242\n"), Some(4242));
        assert_eq!(namespace_tid("Name:\tjava\n"), None);
    }

    #[test]
    fn own_threads_are_listed_with_their_names() {
        let (end, wait) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::Builder::new().name("tasks-test".to_owned());
        let thread = thread.spawn(move || wait.recv()).unwrap();
        // The name is set by the new thread itself.
        let found = (0..100).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            read(std::process::id()).unwrap().iter().any(|task| task.name == "tasks-test")
        });
        drop(end);
        let _ = thread.join();
        assert!(found);
    }
}
