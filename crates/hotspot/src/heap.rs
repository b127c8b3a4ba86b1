//! Where the Java heap and the space of compressed classes lie.

use std::ops::Range;

use crate::layout::HeapLayout;
use crate::memory::Memory;
use crate::{Error, Result, Vm};

/// Bytes of a word of the heap.
const WORD: u64 = 8;
/// A heap is smaller than what user space can address.
const USER_SPACE: u64 = 1 << 47;
/// Compressed class pointers cover this many bytes from their base: 32 bits, unshifted in all
/// releases that have an archive (`CompressedKlassPointers::initialize`).
const CLASS_SPACE: u64 = 1 << 32;

/// Parts of a JVM's address space that it has reserved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeapBounds {
    /// The Java heap at its largest. `None` with ZGC, whose heap is recognised by the name of its
    /// mapping.
    pub heap: Option<Range<u64>>,
    /// The address range of classes that compressed pointers cover; `None` where pointers are not
    /// compressed, or compressed without a base.
    pub classes: Option<Range<u64>>,
}

impl HeapBounds {
    /// Reads them.
    pub fn read<M: Memory>(vm: &Vm<M>) -> Result<Self> {
        let (memory, layout) = (&vm.memory, HeapLayout::of(vm.source())?);
        let heap = layout.heap.read_u64(memory)?;
        if heap == 0 {
            return Err(Error::NotReady { what: "its heap" });
        }
        let region = layout.reserved.of(heap);
        let start = layout.start.read_u64(memory, region)?;
        let bytes = layout.words.read_u64(memory, region)?.saturating_mul(WORD);
        let end = start.saturating_add(bytes);
        let heap = (start != 0 && bytes != 0 && end <= USER_SPACE).then_some(start..end);
        let base = layout.klass_base.and_then(|base| base.read_u64(memory).ok()).unwrap_or(0);
        let classes = (base != 0 && base < USER_SPACE).then(|| base..base + CLASS_SPACE);
        Ok(Self { heap, classes })
    }
}
