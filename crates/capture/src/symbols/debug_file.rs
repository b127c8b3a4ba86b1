//! Files with the symbols that were split off a library when it was packaged.
//!
//! They are found by build id, as gdb does: `/usr/lib/debug/.build-id/ab/cdef….debug`. Both this
//! machine's folder and that of the process's own file system (a container) are looked into. The
//! older way by name and checksum (`.gnu_debuglink`) would need to read all of a file to know that
//! it is the right one, so such a file is taken only when its build id says so too.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::elf::{ElfFacts, ElfFunctions};

/// Where distributions put such files.
const FOLDER: &str = "usr/lib/debug";

/// The functions of the file of debugging information of a library, when there is one.
pub(super) fn functions(pid: u32, library: &str, facts: &ElfFacts) -> Option<ElfFunctions> {
    if facts.build_id.len() < 2 {
        return None;
    }
    candidates(pid, library, &facts.build_id).iter().find_map(|path| {
        let (functions, found) = ElfFunctions::read(&open_regular(path)?)?;
        (found.build_id == facts.build_id && found.has_symtab).then_some(functions)
    })
}

/// Where it may lie, best first.
fn candidates(pid: u32, library: &str, build_id: &[u8]) -> Vec<PathBuf> {
    let hex: String = build_id.iter().map(|byte| format!("{byte:02x}")).collect();
    let (start, rest) = hex.split_at(2);
    let library = Path::new(library.trim_start_matches('/'));
    let name = library.file_name().map(|name| format!("{}.debug", name.to_string_lossy()));
    let mut candidates = Vec::new();
    for root in [PathBuf::from("/"), PathBuf::from(format!("/proc/{pid}/root"))] {
        candidates.push(root.join(FOLDER).join(".build-id").join(start).join(format!("{rest}.debug")));
        if let (Some(name), Some(folder)) = (&name, library.parent()) {
            candidates.push(root.join(folder).join(".debug").join(name));
            candidates.push(root.join(FOLDER).join(folder).join(name));
            // Of JDKs: "libjvm.debuginfo" next to libjvm.so.
            candidates.push(root.join(folder).join(name.replace(".so.debug", ".debuginfo")));
        }
    }
    candidates
}

/// Opens a regular file, and nothing that would block or act when it is opened.
pub(super) fn open_regular(path: &Path) -> Option<File> {
    let file =
        OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path).ok()?;
    file.metadata().is_ok_and(|meta| meta.is_file()).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_of_build_ids_is_looked_into_on_both_sides() {
        let candidates = candidates(7, "/lib/libx.so.1", &[0xab, 0xcd, 0xef]);
        assert_eq!(candidates[0], Path::new("/usr/lib/debug/.build-id/ab/cdef.debug"));
        assert!(candidates.contains(&"/proc/7/root/usr/lib/debug/.build-id/ab/cdef.debug".into()));
        assert!(candidates.contains(&"/usr/lib/debug/lib/libx.so.1.debug".into()));
    }

    #[test]
    fn a_pipe_in_place_of_a_file_does_not_stop_anybody() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        let status = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(status.success());
        assert!(open_regular(&path).is_none());
    }
}
