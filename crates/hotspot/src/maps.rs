//! What is mapped into a process: `/proc/PID/maps` (proc(5)).

use std::fs;
use std::io;
use std::path::PathBuf;

use crate::{Error, Result};

/// The most mappings that are read: `vm.max_map_count` is 65530 by default, some hosts raise it
/// tenfold.
const MOST_MAPPINGS: usize = 1 << 20;

/// One mapping of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// First address.
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// Whether it may be read.
    pub readable: bool,
    /// Whether it may be written.
    pub writable: bool,
    /// Whether it may be executed.
    pub executable: bool,
    /// Where in the file it begins, bytes.
    pub offset: u64,
    /// Device of the file, as the kernel encodes it for user space (`makedev(major, minor)`); 0
    /// without a file.
    pub device: u64,
    /// Inode of the file; 0 without one.
    pub inode: u64,
    /// The file as the process names it (in its mount namespace), "[heap]", "[vdso]" and the like,
    /// or empty.
    pub path: String,
    /// The file was deleted or replaced since it was mapped.
    pub deleted: bool,
}

impl Mapping {
    /// Whether it maps a file of a file system.
    pub fn is_file(&self) -> bool {
        self.inode != 0 && self.path.starts_with('/')
    }

    /// Name of the file without its folders: "libjvm.so".
    pub fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or("")
    }

    /// The places where the mapped file can be opened from outside, best first: the kernel's own
    /// handle on it, which outlives a deletion but needs CAP_CHECKPOINT_RESTORE (or root), then its
    /// path in the mount namespace of the process, which may by now be another file: compare device
    /// and inode.
    pub fn files(&self, pid: u32) -> [PathBuf; 2] {
        let handle = format!("/proc/{pid}/map_files/{:x}-{:x}", self.start, self.end);
        [PathBuf::from(handle), PathBuf::from(format!("/proc/{pid}/root{}", self.path))]
    }
}

/// All mappings of a process, by address.
pub fn read(pid: u32) -> Result<Vec<Mapping>> {
    let path = format!("/proc/{pid}/maps");
    // Paths may hold any byte but NUL.
    let bytes = fs::read(&path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => Error::NoProcess { pid },
        _ if source.raw_os_error() == Some(libc::ESRCH) => Error::NoProcess { pid },
        io::ErrorKind::PermissionDenied => Error::NotAllowed { pid, why: source },
        _ => Error::Proc { path, why: source },
    })?;
    Ok(parse(&String::from_utf8_lossy(&bytes)))
}

/// The mappings in the text of a `maps` file; lines that are not mappings are left out.
pub fn parse(text: &str) -> Vec<Mapping> {
    text.lines().filter_map(line).take(MOST_MAPPINGS).collect()
}

/// `7f0c1a2000-7f0c1a4000 r-xp 0001a000 fe:00 1234   /usr/lib/x.so (deleted)`
fn line(line: &str) -> Option<Mapping> {
    let mut rest = line;
    let mut word = || {
        let trimmed = rest.trim_start_matches(' ');
        let (word, tail) = trimmed.split_at(trimmed.find(' ').unwrap_or(trimmed.len()));
        rest = tail;
        word
    };
    let (start, end) = word().split_once('-')?;
    let rights = word().as_bytes();
    let hex = |text: &str| u64::from_str_radix(text, 16).ok();
    let offset = hex(word())?;
    let (major, minor) = word().split_once(':')?;
    let device = libc::makedev(hex(major)? as libc::c_uint, hex(minor)? as libc::c_uint);
    let inode = word().parse().ok()?;
    let path = rest.trim_start_matches(' ');
    let (path, deleted) = match path.strip_suffix(" (deleted)") {
        Some(path) => (path, true),
        None => (path, false),
    };
    let (start, end) = (hex(start)?, hex(end)?);
    (start < end && rights.len() >= 4).then(|| Mapping {
        start,
        end,
        readable: rights[0] == b'r',
        writable: rights[1] == b'w',
        executable: rights[2] == b'x',
        offset,
        device,
        inode,
        // The kernel writes a newline within a path as "\012" and nothing else (mangle_path in
        // fs/seq_file.c).
        path: path.replace("\\012", "\n"),
        deleted,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_with_blanks_deleted_files_and_nameless_mappings_are_distinguished() {
        let text = "7f10-7f20 r-xp 0001a000 fe:01 1234                       /opt/my java/libjvm.so (deleted)\n\
                    7f20-7f30 rw-p 00000000 00:00 0 \n\
                    7f30-7f40 r-xp 00000000 00:00 0                          [vdso]\n\
                    nonsense\n\
                    7f50-7f40 r-xp 00000000 00:00 0 [backwards]\n\
                    7f60-7f70 r-";
        let all = parse(text);
        assert_eq!(all.len(), 3);
        assert_eq!(all[0].path, "/opt/my java/libjvm.so");
        assert_eq!(all[0].file_name(), "libjvm.so");
        assert!(all[0].deleted && all[0].executable && !all[0].writable && all[0].is_file());
        assert_eq!((all[0].offset, all[0].device, all[0].inode), (0x1a000, libc::makedev(0xfe, 1), 1234));
        assert_eq!((all[1].path.as_str(), all[1].is_file()), ("", false));
        assert_eq!(all[2].path, "[vdso]");
    }

    #[test]
    fn own_mappings_hold_this_code() {
        let here = own_mappings_hold_this_code as *const () as u64;
        let all = read(std::process::id()).unwrap();
        let mapping = all.iter().find(|m| m.start <= here && here < m.end).unwrap();
        assert!(mapping.executable && mapping.is_file());
        assert!(mapping.files(std::process::id()).iter().any(|file| file.exists()));
    }
}
