//! Files that recorded JVMs write while they are recorded: the logs among them are read at the end.
//!
//! A file is opened when it is first seen and stays open here (read only), so that one that is
//! rotated away, deleted, or lies in a container whose process ends can still be read. Which of
//! them are logs is found out from their content, by whoever reads them.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use fathom_recording::ProcessId;

use crate::Targets;
use crate::procfs;

/// How often descriptors are looked at: a log that is opened later is complete from its beginning
/// anyway.
const PERIOD: Duration = Duration::from_secs(2);
/// Files that are held open.
const MAX_FILES: usize = 64;
/// Descriptors of a process that are looked at: a server has thousands of sockets, and its logs are
/// opened early.
const MAX_DESCRIPTORS: usize = 512;
/// Flags of open(2) in `fdinfo`, octal: what is not O_RDONLY.
const ACCESS_MODE: u32 = 0o3;

/// A file that a recorded JVM writes.
#[derive(Debug)]
pub struct WrittenFile {
    /// Its name, as the JVM knows it.
    pub path: PathBuf,
    /// The JVM's row in the recording.
    pub process: ProcessId,
    /// The JVM's process id.
    pub pid: i32,
    /// When the JVM started, ticks since boot.
    pub start_ticks: u64,
    /// Its size when it was first seen, bytes: what was recorded comes after it.
    pub size_at_start: u64,
    /// The file, to be read.
    pub file: File,
}

/// The files of all JVMs so far.
#[derive(Default)]
pub(crate) struct WrittenFiles {
    /// By device and inode.
    files: BTreeMap<(u64, u64), WrittenFile>,
    next: Option<Instant>,
}

impl WrittenFiles {
    /// Looks for new ones, now and then.
    pub fn look(&mut self, targets: &Targets) {
        let now = Instant::now();
        if self.next.is_some_and(|next| now < next) {
            return;
        }
        self.next = Some(now + PERIOD);
        for target in targets.iter().filter(|target| target.jvm) {
            let descriptors =
                std::fs::read_dir(procfs::path(target.pid, "fd")).into_iter().flatten().flatten();
            for descriptor in descriptors.take(MAX_DESCRIPTORS) {
                if self.files.len() >= MAX_FILES {
                    return;
                }
                // Most descriptors are sockets, pipes and jars, and are known by the link alone.
                let Ok(path) = std::fs::read_link(descriptor.path()) else { continue };
                if !path.is_absolute() || is_none_of_a_log(&path.to_string_lossy()) {
                    continue;
                }
                let Some(info) = descriptor.path().metadata().ok().filter(std::fs::Metadata::is_file) else {
                    continue;
                };
                let id = (info.dev(), info.ino());
                if self.files.contains_key(&id) || !is_written(target.pid, &descriptor.file_name()) {
                    continue;
                }
                let Ok(file) = File::open(descriptor.path()) else { continue };
                let (process, pid, start_ticks) = (target.process, target.pid, target.start_ticks);
                let size_at_start = info.len();
                self.files.insert(id, WrittenFile { path, process, pid, start_ticks, size_at_start, file });
            }
        }
    }

    /// All of them.
    pub fn take(self) -> Vec<WrittenFile> {
        self.files.into_values().collect()
    }
}

/// Whether a descriptor may be written to.
fn is_written(pid: i32, descriptor: &std::ffi::OsStr) -> bool {
    let info = procfs::read_to_string(procfs::path(pid, "fdinfo").join(descriptor)).unwrap_or_default();
    let flags = procfs::field(&info, "flags:").and_then(|flags| u32::from_str_radix(flags, 8).ok());
    flags.is_some_and(|flags| flags & ACCESS_MODE != 0)
}

/// Files that every JVM has open and that hold no text.
fn is_none_of_a_log(path: &str) -> bool {
    // ".jfr", and ".part" of JDK 8: chunks of a flight recorder that are not finished. Those of
    // ours come otherwise.
    const ENDINGS: [&str; 6] = [".jar", ".so", ".jfr", ".part", ".jsa", ".db"];
    path.starts_with("/dev/") || path.contains("/hsperfdata_") || ENDINGS.iter().any(|e| path.ends_with(e))
}
