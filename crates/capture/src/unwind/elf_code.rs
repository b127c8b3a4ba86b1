//! What is known of the code of one file: its unwind rows, and its symbols.

use std::fs::File;
use std::os::unix::fs::MetadataExt;

use fathom_hotspot::maps::Mapping;
use fathom_hotspot::memory::{Memory, ProcessMemory};
use object::{Object, ObjectSegment, ReadCache, ReadRef};

use super::eh_frame::rows_of_elf;
use super::rows::{Paged, RowAt};
use super::shared::RowKind;

/// A vDSO is a few pages.
const LARGEST_VDSO: u64 = 1 << 20;

/// Which file: two mappings of the same one share its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    device: u64,
    inode: u64,
    size: u64,
    mtime_ns: i64,
}

/// The loadable parts of a file: where in the file, how much, at which of its own addresses.
pub type Segments = Vec<(u64, u64, u64)>;

/// A file opened by one of its mappings.
pub enum Opened {
    /// A file.
    File(FileId, File),
    /// The code that the kernel maps into every process.
    Vdso(FileId, Vec<u8>),
}

impl Opened {
    /// Opens what a mapping maps; `None` when it cannot be opened or is another file by now.
    pub fn of(pid: u32, mapping: &Mapping) -> Option<Self> {
        if mapping.path == "[vdso]" {
            let size = mapping.end - mapping.start;
            let memory = ProcessMemory::open(pid, mapping.start).ok()?;
            let bytes =
                memory.read_bytes(mapping.start, usize::try_from(size.min(LARGEST_VDSO)).ok()?).ok()?;
            let id = FileId { device: 0, inode: hash(&bytes), size, mtime_ns: 0 };
            return Some(Self::Vdso(id, bytes));
        }
        if !mapping.is_file() {
            return None;
        }
        let [handle, path] = mapping.files(pid);
        let by_handle = File::open(&handle).ok();
        // On overlay file systems the device of a mapping is not the one that stat has: the inode
        // has to do.
        let same = |file: &File| file.metadata().is_ok_and(|m| m.ino() == mapping.inode && m.is_file());
        let by_path = || File::open(&path).ok().filter(same);
        let file = by_handle.or_else(by_path)?;
        let meta = file.metadata().ok().filter(|meta| meta.is_file())?;
        let mtime_ns = meta.mtime().wrapping_mul(1_000_000_000).wrapping_add(meta.mtime_nsec());
        let id = FileId { device: meta.dev(), inode: meta.ino(), size: meta.size(), mtime_ns };
        Some(Self::File(id, file))
    }

    /// Which file it is.
    pub fn id(&self) -> FileId {
        match self {
            Self::File(id, _) | Self::Vdso(id, _) => *id,
        }
    }

    /// Reads rows and segments; `None` when it is no ELF file.
    pub fn read(&self) -> Option<(Paged, Segments)> {
        match self {
            Self::File(_, file) => read(&object::File::parse(&ReadCache::new(file.try_clone().ok()?)).ok()?),
            Self::Vdso(_, bytes) => read(&object::File::parse(bytes.as_slice()).ok()?),
        }
    }
}

fn read<'a, R: ReadRef<'a>>(elf: &object::File<'a, R>) -> Option<(Paged, Segments)> {
    let segments: Segments = elf
        .segments()
        .map(|segment| {
            let (offset, size) = segment.file_range();
            (offset, size, segment.address())
        })
        .collect();
    let mut rows = rows_of_elf(elf);
    end_at_entry(&mut rows, elf.entry());
    // Code is where rows are; what lies beyond has none anyway.
    let begin = rows.iter().map(|row| row.at).min()?;
    let end = rows.iter().map(|row| row.at).max()?;
    Some((Paged::new(rows, begin, end + 1), segments))
}

/// Where a program begins nobody called it. Older start files say nothing of `_start`, which is
/// some 40 bytes long.
fn end_at_entry(rows: &mut Vec<RowAt>, entry: u64) {
    const LENGTH: u64 = 48;
    let is_known = rows.iter().rfind(|row| row.at <= entry).is_some_and(|row| row.kind != RowKind::None);
    if entry != 0 && !is_known {
        let end =
            rows.iter().map(|row| row.at).find(|at| *at > entry).unwrap_or(u64::MAX).min(entry + LENGTH);
        rows.push(RowAt { at: entry, kind: RowKind::End, fp: 0, cfa: 0 });
        if end == entry + LENGTH {
            rows.push(RowAt::none(end));
        }
    }
}

/// FNV-1a: distinguishes the vDSO of one kernel from that of another personality.
fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
