//! A JVM as the unwinder needs it.

use fathom_hotspot::code_cache::{Blob, BlobKind, CodeCache, CodeStart, UnwindConstants};
use fathom_hotspot::layout::Field;
use fathom_hotspot::memory::Memory;
use fathom_hotspot::symbols::Symbolizer;
use fathom_hotspot::threads::Threads;
use fathom_hotspot::{Error, Result, Vm};

use super::decode::rows_of_code;
use super::interpreter::rows_of_interpreter;
use super::rows::{Paged, RowAt};
use super::shared::{BLOB_HEAD, CodeHeap, CodeMapping, JvmCode, JvmField, MappingKind, RowKind};
use super::tables::{Table, Tables};

/// JDK 19 and 20 have virtual threads as a preview.
const FIRST_WITH_CONTINUATIONS: u32 = 19;

/// A JVM that is unwound.
pub struct Jvm {
    /// It.
    pub vm: Vm,
    /// Names of its code.
    pub symbols: Symbolizer,
    /// Where its code is.
    pub code: CodeCache,
    /// What its frames look like.
    pub constants: UnwindConstants,
    /// Its threads.
    pub threads: Option<Threads>,
    /// What the programs read of it.
    pub shared: JvmCode,
    /// Where stubs are that have rows.
    stubs: Vec<(u64, u64)>,
    /// Rows of stubs and of the interpreter, with the address at which they begin.
    table: Option<(Table, u64)>,
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
    pub fn open(pid: u32, tables: &mut Tables) -> Result<Self> {
        let vm = Vm::open(pid)?;
        let code = CodeCache::read(&vm)?;
        let constants = UnwindConstants::of(&vm, &code)?;
        let mut shared = shared(&constants)?;
        shared.has_continuations = u64::from(vm.release.feature >= FIRST_WITH_CONTINUATIONS);
        let (stubs, paged) = rows_of_stubs(&vm.memory, &code);
        let origin = paged.origin;
        let table = tables.put(paged, Vec::new()).map(|table| (table, origin));
        let symbols = Symbolizer::new(vm.clone(), code.clone())?;
        let threads = Threads::new(&vm).ok();
        Ok(Self { vm, symbols, code, constants, threads, shared, stubs, table })
    }

    /// The table of its stubs and its interpreter.
    pub fn table(&self) -> Option<&Table> {
        self.table.as_ref().map(|(table, _)| table)
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
        let heap = heap_of(begin);
        let Some((table, origin)) = &self.table else {
            entries.push(entry(begin, end, MappingKind::Interpreter, heap));
            return entries;
        };
        entries.push(table.entry(begin, end, *origin, MappingKind::Interpreter, heap as u32));
        for (begin, end) in &self.stubs {
            entries.push(table.entry(*begin, *end, *origin, MappingKind::Stubs, heap_of(*begin) as u32));
        }
        entries
    }
}

/// The constants as the programs have them.
pub fn shared(constants: &UnwindConstants) -> Result<JvmCode> {
    let implausible = |what: &str, value: u64| Error::Implausible { what: what.to_owned(), value };
    let head_size = constants.nmethod_size_of.max(constants.blob_size_of);
    if head_size > BLOB_HEAD {
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

/// C2 jumps to it with the pc that threw in rdx, which its first instruction pushes and its last
/// ones have there again (`OptoRuntime::generate_exception_blob`).
const EXCEPTION_BLOB: &str = "ExceptionBlob";
/// Numbers of registers as instructions have them.
const RDX: i8 = 2;
const RSP: i32 = 4;

/// The frame that threw is whole, and its pc is in rdx.
fn throwing(at: u64) -> RowAt {
    RowAt { at, kind: RowKind::RaRegister, fp: RDX, cfa: RSP }
}

/// Stubs that are followed at most; a JVM has some 150 and its adapters.
const MOST_STUBS: usize = 900;
/// A stub larger than this is none; the largest of JDK 25 has some 100 KB.
const LARGEST_STUB: u64 = 1 << 20;

/// Follows the code of stubs and interpreter: where the stubs are, and the rows of all. What cannot
/// be read has none.
fn rows_of_stubs(memory: &impl Memory, code: &CodeCache) -> (Vec<(u64, u64)>, Paged) {
    // Stubs lie in the heap that the interpreter is in; the others hold compiled methods, by the
    // ten thousands.
    let mut heap = code.clone();
    heap.heaps.retain(|heap| heap.holds(code.interpreter.0));
    let is_stub = |blob: &&Blob| {
        matches!(blob.kind, BlobKind::Stub | BlobKind::Deoptimization)
            && blob.code_end - blob.code_begin < LARGEST_STUB
    };
    let blobs = heap.blobs(memory).unwrap_or_default();
    let (mut stubs, mut rows): (Vec<(u64, u64)>, Vec<RowAt>) = Default::default();
    for blob in blobs.iter().filter(is_stub).take(MOST_STUBS) {
        let length = (blob.code_end - blob.code_begin) as usize;
        let Ok(bytes) = memory.read_bytes(blob.code_begin, length) else { continue };
        let frame_bytes =
            i32::try_from(blob.frame_size).ok().filter(|words| (1..4096).contains(words)).map(|w| w * 8);
        let of_blob = rows_of_code(&bytes, blob.code_begin, &[blob.code_begin], frame_bytes);
        let throws = blob.name == EXCEPTION_BLOB;
        rows.extend(of_blob.into_iter().map(|row| match row.kind {
            // Before it has its frame, and when it has given it back: no return address is on the
            // stack.
            _ if throws && row.at == blob.code_begin => throwing(row.at),
            RowKind::Unsupported if throws => throwing(row.at),
            _ => row,
        }));
        stubs.push((blob.code_begin, blob.code_end));
    }
    let (begin, end) = code.interpreter;
    let length = usize::try_from(end - begin).unwrap_or(0).min(LARGEST_INTERPRETER);
    if let (Ok(bytes), Ok(codelets)) = (memory.read_bytes(begin, length), code.codelets(memory)) {
        rows.extend(rows_of_interpreter(&bytes, begin, &codelets));
    }
    let lowest = rows.iter().map(|row| row.at).min().unwrap_or(0);
    let highest = rows.iter().map(|row| row.at).max().unwrap_or(0);
    (stubs, Paged::new(rows, lowest, highest))
}

/// The interpreter of JDK 25 has some 300 KB.
const LARGEST_INTERPRETER: usize = 8 << 20;
