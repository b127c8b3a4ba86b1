//! Whether objects stayed where they are while they were read.

use std::time::Duration;

use crate::layout::{Field, HeapLayout};
use crate::memory::Memory;
use crate::{Result, Vm};

/// The longest wait for a collection that is in progress.
const LOOKS: usize = 20;
const PAUSE: Duration = Duration::from_millis(1);

/// Where a JVM counts its collections.
#[derive(Debug)]
pub(super) struct Collections {
    /// The object that counts; the count, and whether one is in progress, where they are known.
    heap: u64,
    count: Option<Field>,
    under_way: Option<Field>,
}

impl Collections {
    pub(super) fn of<M: Memory>(vm: &Vm<M>) -> Result<Self> {
        let layout = HeapLayout::of(vm.source())?;
        let heap = layout.heap.read_u64(&vm.memory)?;
        Ok(Self { heap, count: layout.collections, under_way: layout.collecting })
    }

    /// The number of collections so far; waits for one that is in progress. `None` where that is
    /// not known, or it takes too long.
    pub(super) fn so_far(&self, memory: &impl Memory) -> Option<i64> {
        for _ in 0..LOOKS {
            match self.under_way.map(|field| field.read(memory, self.heap)) {
                Some(Ok(moves)) if moves != 0 => std::thread::sleep(PAUSE),
                _ => return self.count?.read(memory, self.heap).ok(),
            }
        }
        None
    }
}
