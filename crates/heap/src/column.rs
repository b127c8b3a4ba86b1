//! Columns of the index: one number an object or a reference, in memory or in a file without a
//! name.
//!
//! A column is a mapping of pages either way, of which those take memory that were written to. In
//! memory it is anonymous (huge pages were tried: no less time of its own, and twice the kernel's).
//! On disk it is a file in the folder of temporary files that nobody else can open and that goes
//! with the process: the kernel writes back what does not fit into memory, so that a dump whose
//! index is larger than memory is read slowly rather than not at all.
//!
//! Pages of memory are asked for together where it is known that they are written to: a page that
//! is read first costs a second fault, with a message to the other CPUs.
//!
//! Room in a file is taken before it is mapped (`fallocate`), as writing to a map of a full disk
//! would end the process. Where the disk has none, the column is in memory.

use std::fs::File;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ops::{Deref, DerefMut, Range};
use std::path::PathBuf;
use std::sync::atomic::AtomicU32;

use memmap2::{Advice, MmapMut, MmapOptions};
use rustix::fs::{FallocateFlags, fallocate};

/// Room that is taken in a file at a time where a column grows, bytes.
const STEP: usize = 64 << 20;
/// Memory that is asked for at a time at most where a column grows, bytes.
const MEMORY_STEP: usize = 2 << 20;
/// A column has room for so many bytes at least: an empty mapping there is not.
const LEAST: usize = 4096;

/// Where columns are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Storage {
    /// In memory.
    #[default]
    Memory,
    /// In files of the folder for temporary files, without a name.
    Disk,
}

/// Where files for columns are made, and dumps unpacked: `TMPDIR`, else `/var/tmp`, as `/tmp` is in
/// memory on many machines.
pub fn folder() -> PathBuf {
    let named = std::env::var_os("TMPDIR").map(PathBuf::from);
    let usual = || Some(PathBuf::from("/var/tmp")).filter(|folder| folder.is_dir());
    named.or_else(usual).unwrap_or_else(std::env::temp_dir)
}

/// What a column may have in it: copied as it is.
///
/// # Safety
/// A value whose bytes are all zero is valid.
pub unsafe trait Plain: Copy {}

// SAFETY: zero is a number, and two of them are a pair.
unsafe impl Plain for u8 {}
unsafe impl Plain for u16 {}
unsafe impl Plain for u32 {}
unsafe impl Plain for u64 {}
unsafe impl Plain for (u64, u32) {}

/// A column of numbers for several threads at once.
pub fn shared(column: &mut Column<u32>) -> &[AtomicU32] {
    let numbers: &mut [u32] = column;
    // SAFETY: it is borrowed alone for as long as this is, and an atomic number has the size and
    // the alignment of a plain one.
    unsafe { &*(std::ptr::from_mut(numbers) as *const [AtomicU32]) }
}

/// A column.
#[derive(Debug)]
pub struct Column<T> {
    map: MmapMut,
    /// The file of the map.
    file: Option<File>,
    /// Bytes that were asked for: they have room on disk, or pages of memory.
    room: usize,
    len: usize,
    storage: Storage,
    of: PhantomData<T>,
}

impl<T: Plain> Column<T> {
    /// So many zeros.
    pub fn zeroed(storage: Storage, len: usize) -> Self {
        let bytes = len.saturating_mul(size_of::<T>());
        let mut column = Self::mapped(storage, bytes, bytes);
        column.len = len;
        column
    }

    /// One value so many times.
    pub fn filled(storage: Storage, len: usize, value: T) -> Self {
        let mut column = Self::zeroed(storage, len);
        column.fill(value);
        column
    }

    /// None yet. Addresses are reserved for as many as there may be at most, memory and disk are
    /// only taken as they are pushed.
    pub fn with_room(storage: Storage, most: usize) -> Self {
        let bytes = most.saturating_mul(size_of::<T>());
        Self::mapped(storage, bytes, bytes.min(STEP))
    }

    fn mapped(storage: Storage, bytes: usize, taken: usize) -> Self {
        let bytes = bytes.max(LEAST);
        let on_disk = match storage {
            Storage::Memory => None,
            Storage::Disk => on_disk(bytes, taken.max(LEAST).min(bytes)),
        };
        let (map, file, room) = match on_disk {
            Some((map, file, taken)) => (map, Some(file), taken),
            None => (anonymous(bytes), None, 0),
        };
        Self { map, file, room, len: 0, storage, of: PhantomData }
    }

    /// Asks for the memory of all values at once, as all of it is written to.
    pub fn populate(&self) {
        self.ask_for(0..self.len * size_of::<T>());
    }

    /// Asks for memory. Where the kernel does not know this (before 5.14), it is taken page by
    /// page.
    fn ask_for(&self, bytes: Range<usize>) {
        if self.file.is_none() {
            let _ = self.map.advise_range(Advice::PopulateWrite, bytes.start, bytes.len());
        }
    }

    /// Appends one.
    #[inline]
    pub fn push(&mut self, value: T) {
        let end = (self.len + 1) * size_of::<T>();
        if end > self.room {
            self.grow(end);
        }
        self.len += 1;
        let last = self.len - 1;
        self[last] = value;
    }

    /// Appends many.
    pub fn extend_from_slice(&mut self, values: &[T]) {
        // In steps, so that room on disk is taken as for single ones.
        for part in values.chunks(STEP / size_of::<T>().max(1)) {
            let end = (self.len + part.len()) * size_of::<T>();
            if end > self.room {
                self.grow(end);
            }
            let begin = self.len;
            self.len += part.len();
            self[begin..].copy_from_slice(part);
        }
    }

    #[cold]
    fn grow(&mut self, end: usize) {
        if let Some(file) = &self.file {
            let more = (self.room + STEP).max(end).min(self.map.len());
            if end <= more && fallocate(file, FallocateFlags::empty(), 0, more as u64).is_ok() {
                self.room = more;
                return;
            }
        } else if end <= self.map.len() {
            let step = (self.room / 8).clamp(LEAST, MEMORY_STEP).next_multiple_of(LEAST);
            let more = (self.room + step).max(end).min(self.map.len());
            self.ask_for(self.room..more);
            self.room = more;
            return;
        }
        // More than was expected, or no room on disk: a larger one, in memory where the disk is
        // full.
        let full = self.file.is_some() && end <= self.map.len();
        let storage = if full { Storage::Memory } else { self.storage };
        let bytes = if full { self.map.len() } else { end.saturating_mul(2) };
        let mut larger = Self::mapped(storage, bytes, end.saturating_add(STEP).min(bytes));
        larger.len = self.len;
        larger.copy_from_slice(self);
        *self = larger;
    }

    /// Leaves out all but the first ones.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }
}

impl<T> Deref for Column<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: a map begins at a page, and so is aligned for `T`; it is at least as long as
        // `len` values, which were written as `T` or are zeros, which are valid for every `Plain`,
        // and no column is made of anything else. A file has no name, so nobody else writes to it.
        unsafe { std::slice::from_raw_parts(self.map.as_ptr().cast(), self.len) }
    }
}

impl<T> DerefMut for Column<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and the map is borrowed for as long.
        unsafe { std::slice::from_raw_parts_mut(self.map.as_mut_ptr().cast(), self.len) }
    }
}

fn anonymous(bytes: usize) -> MmapMut {
    MmapOptions::new().len(bytes).no_reserve_swap().map_anon().unwrap_or_else(|_| {
        // As every collection of the standard library ends where there is no memory.
        match std::alloc::Layout::from_size_align(bytes, LEAST) {
            Ok(layout) => std::alloc::handle_alloc_error(layout),
            Err(_) => std::process::abort(),
        }
    })
}

fn on_disk(bytes: usize, taken: usize) -> Option<(MmapMut, File, usize)> {
    let file = tempfile::tempfile_in(folder()).ok()?;
    fallocate(&file, FallocateFlags::empty(), 0, taken as u64).ok()?;
    // SAFETY: the file has no name, so nobody shortens it or writes to it; pages beyond `taken` are
    // not touched.
    let map = unsafe { MmapOptions::new().len(bytes).map_mut(&file) }.ok()?;
    Some((map, file, taken))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_in_memory_and_on_disk_hold_the_same_also_beyond_what_was_expected() {
        for storage in [Storage::Memory, Storage::Disk] {
            let mut column = Column::<u32>::with_room(storage, 10);
            (0..100_000).for_each(|value| column.push(value / 2));
            assert_eq!(column.file.is_some(), storage == Storage::Disk);
            assert_eq!((column.len(), column[99_999], column[1]), (100_000, 49_999, 0));
            column.truncate(50_000);
            assert_eq!((column.len(), column[49_999]), (50_000, 24_999));
            let many: Vec<u32> = (0..STEP as u32 / 4 + 5).collect();
            column.extend_from_slice(&many);
            assert_eq!(
                (column.len(), column[49_999], &column[50_000..]),
                (50_000 + many.len(), 24_999, &many[..])
            );
            assert_eq!(&*Column::filled(storage, 3, u64::MAX), [u64::MAX; 3]);
            assert!(Column::<u64>::zeroed(storage, 0).is_empty());
        }
    }

    #[test]
    fn a_growing_column_takes_room_on_disk_step_by_step() {
        let most = 3 * STEP / size_of::<u64>();
        let mut column = Column::<u64>::with_room(Storage::Disk, most);
        assert_eq!(column.room, STEP);
        (0..=STEP as u64 / 8).for_each(|value| column.push(value));
        assert_eq!(column.room, 2 * STEP);
        assert_eq!(column.last(), Some(&(STEP as u64 / 8)));
    }
}
