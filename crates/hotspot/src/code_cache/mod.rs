//! The code cache: where compiled code, stubs and the interpreter lie, and which of them holds an
//! address.
//!
//! ```text
//! heap.low                                                   high       reserved_end
//!  | block | CodeBlob … code … data | block | free … | block | … |  not committed  |
//!  segment map:  0    1   2   3   4 …   0xff 0xff       0    1        one byte per segment
//! ```
//! The byte of a segment is how many segments further down its block begins, or a step on the path
//! to it; 0xff is free (src/hotspot/share/memory/heap.cpp, `CodeHeap::find_block_for`).

mod blob;
mod constants;

pub use blob::{Blob, BlobKind};
pub use constants::{CodeStart, UnwindConstants};

use crate::layout::{CodeBlobLayout, CodeCacheLayout, InterpreterLayout, NmethodLayout};
use crate::memory::Memory;
use crate::{Error, Result, Vm};

/// The most heaps of a code cache. JDK 9 to 25 have up to 3, JDK 26 may add one for hot code.
pub const MOST_HEAPS: usize = 8;
/// The code cache is limited to 2 GiB (`CODE_CACHE_SIZE_LIMIT` in globalDefinitions.hpp).
const LARGEST_HEAP: u64 = 2 << 30;
/// The most steps down the segment map. A step covers up to 254 segments of 64 or 128 bytes, so
/// this is a blob of 33 MB; maps that were not merged for a long time need some more steps.
const MOST_STEPS: usize = 2048;
/// Mark of a free segment.
const FREE: u8 = 0xff;
/// The most blobs visited by one pass. Large applications have some 50,000.
const MOST_BLOBS: usize = 1 << 19;

/// The most codelets of an interpreter; there are some 300.
const MOST_CODELETS: usize = 1 << 14;
/// Longest name of a codelet read.
const LONGEST_CODELET_NAME: usize = 128;

/// A piece of the interpreter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Codelet {
    /// First address after its head: padding, then its code.
    pub begin: u64,
    /// First address after it.
    pub end: u64,
    /// What it is: "invokevirtual", "method entry point (kind = zerolocals)".
    pub name: String,
}

/// One heap of the code cache. Bounds are those of the reserved range, so that they do not change
/// when the heap grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeHeap {
    /// First address of its code; segment 0 begins here.
    pub low: u64,
    /// First address after what is reserved for code.
    pub reserved_end: u64,
    /// The segment map's first byte.
    pub segment_map: u64,
    /// First address after what is reserved for the segment map.
    pub segment_map_end: u64,
    /// Shift from bytes to segments: 6 or 7.
    pub segment_shift: u32,
    /// The `CodeHeap` itself.
    pub address: u64,
}

impl CodeHeap {
    /// Whether an address lies in it.
    pub fn holds(&self, pc: u64) -> bool {
        (self.low..self.reserved_end).contains(&pc)
    }
}

/// The code cache of a JVM.
#[derive(Clone, Debug)]
pub struct CodeCache {
    /// Its heaps, by address. They do not change once the JVM has started.
    pub heaps: Vec<CodeHeap>,
    /// First address of the interpreter and the first one after it.
    pub interpreter: (u64, u64),
    pub(crate) cache: CodeCacheLayout,
    pub(crate) blob: CodeBlobLayout,
    pub(crate) nmethod: NmethodLayout,
    pub(crate) interpreter_layout: InterpreterLayout,
}

impl CodeCache {
    /// Reads where it lies. [`Error::NotReady`] while the JVM has not created it yet: try again.
    pub fn read<M: Memory>(vm: &Vm<M>) -> Result<Self> {
        let mut this = Self {
            heaps: Vec::new(),
            interpreter: (0, 0),
            cache: CodeCacheLayout::of(vm.source())?,
            blob: CodeBlobLayout::of(vm.source())?,
            nmethod: NmethodLayout::of(vm.source())?,
            interpreter_layout: InterpreterLayout::of(vm.source())?,
        };
        let memory = &vm.memory;
        for address in this.heap_addresses(vm)? {
            let heap = this.heap(memory, address)?;
            this.heaps.push(heap);
        }
        this.heaps.sort_by_key(|heap| heap.low);
        if this.heaps.windows(2).any(|pair| pair[0].reserved_end > pair[1].low) {
            let value = this.heaps[0].reserved_end;
            return Err(Error::Implausible { what: "overlap of code heaps".to_owned(), value });
        }
        this.interpreter = this.interpreter(memory)?;
        Ok(this)
    }

    /// Addresses of the `CodeHeap` objects.
    fn heap_addresses<M: Memory>(&self, vm: &Vm<M>) -> Result<Vec<u64>> {
        let not_ready = || Error::NotReady { what: "the code cache" };
        let memory = &vm.memory;
        if let Some(heaps) = self.cache.heaps {
            let array = heaps.read_u64(memory)?;
            if array == 0 {
                return Err(not_ready());
            }
            let length = self.cache.array_length.read(memory, array)?;
            let data = self.cache.array_data.read_u64(memory, array)?;
            let plausible = usize::try_from(length).is_ok_and(|length| length <= MOST_HEAPS);
            if !plausible {
                return Err(Error::Implausible {
                    what: "number of code heaps".to_owned(),
                    value: length as u64,
                });
            }
            if length == 0 || data == 0 {
                return Err(not_ready());
            }
            (0..length as u64).map(|i| Ok(memory.read_u64(data.wrapping_add(i * 8))?)).collect()
        } else if let Some(heap) = self.cache.heap {
            match heap.read_u64(memory)? {
                0 => Err(not_ready()),
                heap => Ok(vec![heap]),
            }
        } else {
            Err(Error::MissingSymbol {
                symbol: "CodeCache._heap or CodeCache._heaps".to_owned(),
                jvm: vm.release.to_string(),
            })
        }
    }

    fn heap(&self, memory: &impl Memory, address: u64) -> Result<CodeHeap> {
        let space = |field: crate::layout::Field| -> Result<(u64, u64)> {
            let space = field.of(address);
            let low = self.cache.space_low_boundary.read_u64(memory, space)?;
            Ok((low, self.cache.space_high_boundary.read_u64(memory, space)?))
        };
        let (low, reserved_end) = space(self.cache.heap_memory)?;
        let (segment_map, segment_map_end) = space(self.cache.heap_segment_map)?;
        if low == 0 || segment_map == 0 {
            return Err(Error::NotReady { what: "the code cache" });
        }
        let size = reserved_end.wrapping_sub(low);
        if size == 0 || size > LARGEST_HEAP {
            return Err(Error::Implausible { what: "size of a code heap".to_owned(), value: size });
        }
        let shift = self.cache.heap_shift.read_u64(memory, address)?;
        if !(4..=16).contains(&shift) {
            return Err(Error::Implausible { what: "shift of code segments".to_owned(), value: shift });
        }
        let map_size = segment_map_end.wrapping_sub(segment_map);
        if map_size < size >> shift || map_size > LARGEST_HEAP {
            return Err(Error::Implausible { what: "size of a segment map".to_owned(), value: map_size });
        }
        let segment_shift = shift as u32;
        Ok(CodeHeap { low, reserved_end, segment_map, segment_map_end, segment_shift, address })
    }

    /// The range of the interpreter's code.
    fn interpreter(&self, memory: &impl Memory) -> Result<(u64, u64)> {
        let queue = self.interpreter_layout.code.read_u64(memory)?;
        if queue == 0 {
            return Err(Error::NotReady { what: "the interpreter" });
        }
        let low = self.interpreter_layout.buffer.read_u64(memory, queue)?;
        let size = self.interpreter_layout.buffer_limit.read_u64(memory, queue)?;
        if !self.heaps.iter().any(|heap| heap.holds(low)) || size == 0 || size > LARGEST_HEAP {
            return Err(Error::Implausible { what: "place of the interpreter".to_owned(), value: low });
        }
        Ok((low, low.wrapping_add(size)))
    }

    /// The pieces of the interpreter, by address: a template for each bytecode, entries of methods,
    /// and so on. The `InterpreterCodelet` precedes the code of each.
    pub fn codelets(&self, memory: &impl Memory) -> Result<Vec<Codelet>> {
        let layout = &self.interpreter_layout;
        let (mut at, end) = self.interpreter;
        let mut all = Vec::new();
        while at < end && all.len() < MOST_CODELETS {
            let size = layout.codelet_size.read_u64(memory, at)?;
            // The rest of the queue was never used.
            if size <= u64::from(layout.codelet.0) || size > end - at {
                break;
            }
            let name = match layout.codelet_name.read_u64(memory, at)? {
                0 => String::new(),
                name => memory.read_c_string(name, LONGEST_CODELET_NAME)?,
            };
            all.push(Codelet { begin: at + u64::from(layout.codelet.0), end: at + size, name });
            at += size;
        }
        Ok(all)
    }

    /// The heap that holds an address.
    pub fn heap_of(&self, pc: u64) -> Option<&CodeHeap> {
        self.heaps.iter().find(|heap| heap.holds(pc))
    }

    /// The blob that holds an address; `None`: the address is not in the code cache, or nothing is
    /// there now.
    pub fn find(&self, memory: &impl Memory, pc: u64) -> Result<Option<Blob>> {
        let Some(heap) = self.heap_of(pc) else { return Ok(None) };
        let mut segment = (pc - heap.low) >> heap.segment_shift;
        for _ in 0..MOST_STEPS {
            match memory.read_u8(heap.segment_map + segment)? {
                FREE => return Ok(None),
                0 => {
                    let block = heap.low + (segment << heap.segment_shift);
                    if self.cache.block_used.read(memory, block)? == 0 {
                        return Ok(None);
                    }
                    let blob = self.blob_at(memory, block + u64::from(self.cache.block.0))?;
                    return Ok(Some(blob).filter(|blob| blob.holds(pc)));
                }
                back => match segment.checked_sub(u64::from(back)) {
                    Some(lower) => segment = lower,
                    None => return Ok(None),
                },
            }
        }
        Ok(None)
    }

    /// Whether a blob in use begins at an address.
    pub(crate) fn is_blob(&self, memory: &impl Memory, address: u64) -> Result<bool> {
        let block = address.wrapping_sub(u64::from(self.cache.block.0));
        let Some(heap) = self.heap_of(block) else { return Ok(false) };
        let offset = block - heap.low;
        let segment = offset >> heap.segment_shift;
        Ok(segment << heap.segment_shift == offset
            && memory.read_u8(heap.segment_map + segment)? == 0
            && self.cache.block_used.read(memory, block)? != 0)
    }

    /// All blobs of all heaps, by address: what is used now. Blocks that change while they are
    /// visited may be left out.
    pub fn blobs(&self, memory: &impl Memory) -> Result<Vec<Blob>> {
        let mut all = Vec::new();
        for heap in &self.heaps {
            let space = self.cache.heap_memory.of(heap.address);
            let end = self.cache.space_high.read_u64(memory, space)?.min(heap.reserved_end);
            let mut block = heap.low;
            while block < end && all.len() < MOST_BLOBS {
                let segments = self.cache.block_length.read_u64(memory, block)?;
                // A block that was never used is all zero; nothing follows it.
                if segments == 0 || segments > (heap.reserved_end - block) >> heap.segment_shift {
                    break;
                }
                if self.cache.block_used.read(memory, block)? != 0
                    && let Ok(blob) = self.blob_at(memory, block + u64::from(self.cache.block.0))
                {
                    all.push(blob);
                }
                block += segments << heap.segment_shift;
            }
        }
        Ok(all)
    }
}
