//! A JVM as the unwinder needs it.

use std::sync::Arc;

use fathom_hotspot::code_cache::{CodeCache, CodeStart, UnwindConstants};
use fathom_hotspot::layout::Field;
use fathom_hotspot::memory::{Memory, ProcessMemory};
use fathom_hotspot::symbols::Symbolizer;
use fathom_hotspot::threads::Threads;
use fathom_hotspot::vm_structs::Place;
use fathom_hotspot::{Error, Result, Vm};

use super::shared::{CodeHeap, CodeMapping, JvmCode, JvmField, MappingKind};
use super::tables::{Table, Tables};

/// Largest head of a blob that the programs read: `BLOB_HEAD` of bpf/unwind.h.
const LARGEST_HEAD: u32 = 512;
/// Where a virtual thread's frames on the stack end and those on the heap begin (JDK 21 on).
const RETURN_BARRIER: &str = "StubRoutines._cont_returnBarrier";

/// A JVM that is unwound.
pub struct Jvm {
    /// It.
    pub vm: Vm,
    /// Names of its code.
    pub symbols: Symbolizer,
    /// Its threads.
    pub threads: Option<Threads>,
    /// What the programs read of it.
    pub shared: JvmCode,
    /// Stubs with rows: where, and their table.
    stubs: Vec<(u64, u64, Table)>,
}

impl std::fmt::Debug for Jvm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Jvm")
            .field("release", &self.vm.release)
            .field("shared", &self.shared)
            .finish_non_exhaustive()
    }
}

impl Jvm {
    /// Reads a JVM. `NotReady` while it starts: try again.
    pub fn open(pid: u32, _tables: &mut Tables) -> Result<Self> {
        let vm = Vm::open(pid)?;
        let code = CodeCache::read(&vm)?;
        let constants = UnwindConstants::of(&vm, &code)?;
        let mut shared = shared(&constants)?;
        shared.return_barrier = return_barrier(&vm);
        let symbols = Symbolizer::new(vm.clone(), code)?;
        Ok(Self { symbols, threads: Threads::new(&vm).ok(), shared, vm, stubs: Vec::new() })
    }

    /// Its stubs with rows.
    pub fn stubs(&self) -> &[(u64, u64, Table)] {
        &self.stubs
    }

    /// What is laid over the process' mappings, the later over the earlier.
    pub fn entries(&self) -> Vec<CodeMapping> {
        let heaps = &self.shared.heap[..usize::from(self.shared.heaps)];
        let entry = |start, end, kind, heap: usize| CodeMapping {
            start,
            end,
            origin: start,
            first_page: 0,
            pages: 0,
            kind: kind as u32,
            heap: heap as u32,
        };
        let heap_of = |at: u64| heaps.iter().position(|heap| (heap.low..heap.end).contains(&at)).unwrap_or(0);
        let mut entries: Vec<CodeMapping> = heaps
            .iter()
            .enumerate()
            .map(|(i, heap)| entry(heap.low, heap.end, MappingKind::CodeHeap, i))
            .collect();
        let (begin, end) = (self.shared.interpreter_begin, self.shared.interpreter_end);
        entries.push(entry(begin, end, MappingKind::Interpreter, heap_of(begin)));
        for (begin, end, table) in &self.stubs {
            entries.push(table.entry(
                *begin,
                *end,
                begin & !1023,
                MappingKind::Stubs,
                heap_of(*begin) as u32,
            ));
        }
        entries
    }
}

/// The constants as the programs have them.
pub fn shared(constants: &UnwindConstants) -> Result<JvmCode> {
    let implausible = |what: &str, value: u64| Error::Implausible { what: what.to_owned(), value };
    let head_size = constants.nmethod_size_of.max(constants.blob_size_of);
    if head_size > LARGEST_HEAD {
        return Err(implausible("size of nmethod", u64::from(head_size)));
    }
    let field = |field: Field| JvmField {
        offset: field.offset as u16,
        width: field.width,
        is_signed: u8::from(field.signed),
    };
    let start = |start: CodeStart| match start {
        CodeStart::Address(at) => (field(at), 0),
        CodeStart::Offset(at) => (field(at), 1),
    };
    let (code_begin, code_begin_is_offset) = start(constants.blob_code_begin);
    let (deopt_handler, deopt_is_offset) = start(constants.nmethod_deopt_handler);
    let method_handles = constants.nmethod_deopt_mh_handler.map(start);
    let mut shared = JvmCode {
        interpreter_begin: constants.interpreter_begin,
        interpreter_end: constants.interpreter_end,
        call_stub_return: constants.call_stub_return,
        name: field(constants.blob_name),
        size: field(constants.blob_size),
        frame_size: field(constants.blob_frame_size),
        frame_complete: field(constants.blob_frame_complete),
        code_begin,
        data_offset: field(constants.blob_data_offset),
        compile_id: field(constants.nmethod_compile_id),
        orig_pc_offset: field(constants.nmethod_orig_pc_offset),
        deopt_handler,
        deopt_mh_handler: method_handles.map_or(JvmField::default(), |(at, _)| at),
        const_method: field(constants.method_const_method),
        code_size: field(constants.const_method_code_size),
        block_size: constants.block_size,
        head_size,
        blob_head_size: constants.blob_size_of,
        const_method_size: constants.const_method_size_of,
        code_begin_is_offset,
        deopt_is_offset,
        has_deopt_mh: u8::from(method_handles.is_some_and(|(_, offset)| offset == deopt_is_offset)),
        slot_sender_sp: constants.interpreter_frame.sender_sp as i8,
        slot_method: constants.interpreter_frame.method as i8,
        slot_bytecode: constants.interpreter_frame.bytecode as i8,
        heaps: constants.heaps.len() as u8,
        ..JvmCode::default()
    };
    for (to, heap) in shared.heap.iter_mut().zip(&constants.heaps) {
        *to = CodeHeap {
            low: heap.low,
            end: heap.reserved_end,
            segment_map: heap.segment_map,
            shift: heap.segment_shift,
            pad: 0,
        };
    }
    Ok(shared)
}

fn return_barrier(vm: &Vm<Arc<ProcessMemory>>) -> u64 {
    let Some(entry) = vm.structs.field(RETURN_BARRIER) else { return 0 };
    match entry.place {
        Place::Static(address) => vm.memory.read_u64(address).unwrap_or(0),
        Place::Offset(_) => 0,
    }
}
