//! Reading `/proc` by hand: what the kernel prints, bounded, without allocation where it is read
//! every second.
//!
//! Formats: proc(5) and Documentation/filesystems/proc.rst. A process can vanish between any two
//! reads, so that everything here returns an option and never an error.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

pub mod listening;
mod mounts;
mod stat;

pub use mounts::Mounts;
pub use stat::Stat;

/// A file of `/proc` is read up to here: `/proc/stat` of a machine with a thousand CPUs has
/// 200 kB, memory maps of a large JVM some MB.
const MAX_BYTES: u64 = 16 << 20;

/// A whole file as text; bytes that are no UTF-8 are replaced.
pub fn read_to_string(path: impl AsRef<Path>) -> Option<String> {
    Some(String::from_utf8_lossy(&read(path)?).into_owned())
}

/// A whole file.
pub fn read(path: impl AsRef<Path>) -> Option<Vec<u8>> {
    // Most have less; files of /proc report no size, and each call that reads one makes it anew.
    let mut bytes = Vec::with_capacity(4096);
    File::open(path).ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The first value behind a label at the start of a line: `field(status, "CapEff:")`.
pub fn field<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(label))?.split_whitespace().next()
}

/// The same as a number.
pub fn number(text: &str, label: &str) -> Option<u64> {
    field(text, label)?.parse().ok()
}

/// A file that is read again and again: it stays open and fills the same buffer, which the kernel's
/// seq files allow.
#[derive(Debug)]
pub struct Repeated {
    file: File,
    buffer: Vec<u8>,
}

impl Repeated {
    /// Opens it; `None` when it is not there or may not be read.
    pub fn open(path: impl AsRef<Path>) -> Option<Self> {
        Some(Self { file: File::open(path).ok()?, buffer: vec![0; 4096] })
    }

    /// Its content now. `None` when it cannot be read any more (the process is gone).
    pub fn read(&mut self) -> Option<&str> {
        let mut len = 0;
        loop {
            if len == self.buffer.len() {
                if len as u64 >= MAX_BYTES {
                    break;
                }
                self.buffer.resize(len * 2, 0);
            }
            match self.file.read_at(&mut self.buffer[len..], len as u64) {
                Ok(0) => break,
                Ok(n) => len += n,
                Err(cause) if cause.kind() == std::io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        // Lines are cut at what is no UTF-8: the kernel prints ASCII but for names of commands.
        let text = self.buffer.get(..len)?;
        Some(match std::str::from_utf8(text) {
            Ok(text) => text,
            Err(e) => std::str::from_utf8(&text[..e.valid_up_to()]).unwrap_or_default(),
        })
    }
}

/// All process ids that there are.
pub fn pids() -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Ids of the threads of a process.
pub fn tasks(pid: i32) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir(path(pid, "task")) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Whether a process lives, or a thread of it.
pub fn lives(pid: i64, tid: Option<i64>) -> bool {
    let dir = PathBuf::from(format!("/proc/{pid}"));
    tid.map_or(dir.clone(), |tid| dir.join("task").join(tid.to_string())).exists()
}

/// `/proc/PID/NAME`.
pub fn path(pid: i32, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{pid}/{name}"))
}

/// Arguments of a process; empty for a kernel thread or a zombie.
pub fn arguments(pid: i32) -> Vec<String> {
    let bytes = read(path(pid, "cmdline")).unwrap_or_default();
    let bytes = bytes.strip_suffix(&[0]).unwrap_or(&bytes);
    if bytes.is_empty() {
        return Vec::new();
    }
    bytes.split(|b| *b == 0).map(|arg| String::from_utf8_lossy(arg).into_owned()).collect()
}

/// Effective user id of a process.
pub fn owner(pid: i32) -> Option<u32> {
    let status = read_to_string(path(pid, "status"))?;
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    ids.split_whitespace().nth(1)?.parse().ok()
}

/// Ticks a second of the times in `/proc` (USER_HZ, 100 on all machines that we know).
pub fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second().max(1)
}
