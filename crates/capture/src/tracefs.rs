//! The kernel's list of tracepoints. It need not be mounted: a mount of one's own that hangs on a
//! descriptor does as well, and nobody else sees it.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Dir, Mode, OFlags, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use crate::similar_names::similar_names;

/// Where it is mounted by custom.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// A `format` file is some kilobytes.
const LARGEST: u64 = 64 << 10;

/// The `format` file of a tracepoint; the error says what is there instead.
pub(crate) fn format(category: &str, name: &str) -> Result<String, String> {
    let root = root()
        .map_err(|error| format!("the kernel's list of tracepoints (tracefs) cannot be opened: {error}"))?;
    let path = format!("events/{category}/{name}/format");
    match openat(&root, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
        Ok(file) => {
            let mut text = String::new();
            let read = File::from(file).take(LARGEST).read_to_string(&mut text);
            read.map_err(|error| format!("its format cannot be read: {error}")).map(|_| text)
        }
        Err(_) => {
            let names = list(&root, &format!("events/{category}"));
            let (what, names) = if names.is_empty() {
                (format!("there are no tracepoints called {category}:…"), list(&root, "events"))
            } else {
                (format!("{category} has no tracepoint {name}"), names)
            };
            Err(format!("{what}{}", similar_names(name, category, &names)))
        }
    }
}

/// Whether the kernel's list can be read, mounted or not; the error says why not.
pub(crate) fn readable() -> Result<(), String> {
    format("sched", "sched_switch").map(drop)
}

fn root() -> rustix::io::Result<OwnedFd> {
    for place in PLACES {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        if let Ok(root) = openat(rustix::fs::CWD, format!("{place}/events"), flags, Mode::empty()) {
            drop(root);
            return openat(rustix::fs::CWD, place, flags, Mode::empty());
        }
    }
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(context.as_fd())?;
    fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
}

fn list(root: &OwnedFd, path: &str) -> Vec<String> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(directory) = openat(root, path, flags, Mode::empty()) else { return Vec::new() };
    let Ok(entries) = Dir::read_from(&directory) else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned));
    names.filter(|name| !name.starts_with('.')).collect()
}
