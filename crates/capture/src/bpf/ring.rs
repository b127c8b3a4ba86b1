//! A ring buffer of an object, read record by record.

use std::cell::RefCell;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::rc::Rc;

use libbpf_rs::{MapCore, Result, RingBuffer, RingBufferBuilder};

/// A ring buffer and what was read of it, as `T`.
pub(crate) struct Ring<T> {
    ring: RingBuffer<'static>,
    read: Rc<RefCell<Vec<T>>>,
    most: usize,
    /// Without it, what waits would not wake anybody when the object is gone.
    _map: OwnedFd,
}

impl<T: 'static> Ring<T> {
    /// Over a map of a loaded object. `parse` reads a record, `None` when it is not one of ours; at
    /// most `most` are taken in one round, and what is left waits in the kernel's buffer.
    pub(crate) fn over(map: &dyn MapCore, parse: fn(&[u8]) -> Option<T>, most: usize) -> Result<Self> {
        let read = Rc::<RefCell<Vec<T>>>::default();
        let to = Rc::clone(&read);
        let mut builder = RingBufferBuilder::new();
        builder.add(map, move |bytes: &[u8]| {
            to.borrow_mut().extend(parse(bytes));
            0
        })?;
        let map = map.as_fd().try_clone_to_owned()?;
        Ok(Self { ring: builder.build()?, read, most, _map: map })
    }

    /// What came in since the last time.
    pub(crate) fn take(&mut self) -> Vec<T> {
        // It fails only when the callback does, and ours does not.
        let _ = self.ring.consume_raw_n(self.most);
        std::mem::take(&mut *self.read.borrow_mut())
    }

    /// Readable when much waits, or something that should not.
    pub(crate) fn wake(&self) -> BorrowedFd<'_> {
        // SAFETY: the ring buffer owns the descriptor and lives as long as what is returned.
        unsafe { BorrowedFd::borrow_raw(self.ring.epoll_fd()) }
    }
}
