//! An array that BPF programs read, in which ranges are given out and taken back.

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use zerocopy::IntoBytes;

/// A range is not given out anew before this: a program that began to read it has ended long
/// before.
const REST: Duration = Duration::from_millis(500);

/// An array of `T`, shared with the kernel, or in memory for tests. Programs may read it at any
/// moment: it is of numbers, and there is nothing between them.
#[derive(Debug)]
pub struct Arena<T: IntoBytes + Copy> {
    memory: Backing<T>,
    capacity: u32,
    /// Behind the last range ever given out.
    top: u32,
    /// (first, length, since when) of ranges that were taken back.
    free: Vec<(u32, u32, Instant)>,
}

#[derive(Debug)]
enum Backing<T> {
    Shared { memory: *mut T, bytes: usize },
    Owned(Vec<T>),
}

impl<T: IntoBytes + Copy> Arena<T> {
    /// Over a BPF array map that was made with `BPF_F_MMAPABLE` and `capacity` entries.
    pub fn over(map: BorrowedFd<'_>, capacity: u32) -> std::io::Result<Self> {
        let bytes = capacity as usize * size_of::<T>();
        let flags = rustix::mm::MapFlags::SHARED;
        let access = rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice; the kernel refuses more than
        // the map holds.
        let memory = unsafe { rustix::mm::mmap(std::ptr::null_mut(), bytes, access, flags, map, 0) }?;
        let memory = Backing::Shared { memory: memory.cast(), bytes };
        Ok(Self { memory, capacity, top: 0, free: Vec::new() })
    }

    /// In memory: for walks in user mode.
    pub fn in_memory(capacity: u32) -> Self {
        Self { memory: Backing::Owned(Vec::new()), capacity, top: 0, free: Vec::new() }
    }

    /// What was written so far.
    pub fn as_slice(&self) -> &[T] {
        match &self.memory {
            Backing::Owned(all) => all,
            // SAFETY: `top` entries within what is mapped; programs only read there, and `put`
            // needs us exclusively.
            Backing::Shared { memory, .. } => unsafe {
                std::slice::from_raw_parts(*memory, self.top as usize)
            },
        }
    }

    /// Writes values into a range of their own and gives its first index; `None`: there is no
    /// room.
    pub fn put(&mut self, values: &[T]) -> Option<u32> {
        let length = u32::try_from(values.len()).ok()?;
        let first = self.take(length)?;
        match &mut self.memory {
            Backing::Owned(all) => {
                let end = first as usize + values.len();
                if let (true, Some(filler)) = (all.len() < end, values.first()) {
                    all.resize(end, *filler);
                }
                all[first as usize..end].copy_from_slice(values);
            }
            Backing::Shared { memory, .. } => {
                // SAFETY: `take` gives ranges within `capacity`, which is mapped; nobody else
                // writes there, and the programs that may read it do not rely on what they read.
                unsafe { memory.add(first as usize).copy_from_nonoverlapping(values.as_ptr(), values.len()) };
            }
        }
        Some(first)
    }

    /// Takes a range back.
    pub fn release(&mut self, first: u32, length: u32) {
        if length > 0 {
            self.free.push((first, length, Instant::now()));
        }
    }

    /// Entries that were ever in use.
    pub fn used(&self) -> u32 {
        self.top
    }

    fn take(&mut self, length: u32) -> Option<u32> {
        let fits = |(_, free, since): &(u32, u32, Instant)| *free >= length && since.elapsed() > REST;
        let best = self.free.iter().enumerate().filter(|(_, f)| fits(f)).min_by_key(|(_, f)| f.1);
        if let Some((i, _)) = best {
            let (first, free, since) = self.free.swap_remove(i);
            if free > length {
                self.free.push((first + length, free - length, since));
            }
            return Some(first);
        }
        let end = self.top.checked_add(length).filter(|end| *end <= self.capacity)?;
        Some(std::mem::replace(&mut self.top, end))
    }
}

impl<T: IntoBytes + Copy> Drop for Arena<T> {
    fn drop(&mut self) {
        if let Backing::Shared { memory, bytes } = self.memory {
            // SAFETY: mapped by `over`, with this length, and used by nobody after this.
            let _ = unsafe { rustix::mm::munmap(memory.cast(), bytes) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::shared::RowPage;
    use super::*;

    fn pages(n: u32) -> Vec<RowPage> {
        (0..n).map(|i| RowPage { first: i, rows: n }).collect()
    }

    #[test]
    fn what_is_put_is_there_and_no_more_than_fits() {
        let mut arena = Arena::in_memory(10);
        assert_eq!(arena.put(&pages(4)), Some(0));
        assert_eq!(arena.put(&pages(6)), Some(4));
        assert_eq!(arena.put(&pages(1)), None);
        assert_eq!(arena.as_slice()[9], RowPage { first: 5, rows: 6 });
        arena.release(4, 6);
        assert_eq!(arena.put(&pages(2)), None, "it has to rest first");
        arena.free[0].2 -= REST * 2;
        assert_eq!(arena.put(&pages(2)), Some(4));
        arena.free[0].2 -= REST * 2;
        assert_eq!(arena.put(&pages(4)), Some(6));
    }
}
