//! Fields of the code cache and of what lies in it.

use super::{Field, Size, Static, group};

group! {
    /// The code cache and its heaps (src/hotspot/share/code/codeCache.hpp, memory/heap.hpp).
    CodeCacheLayout {
        /// The one heap of JDK 8.
        heap: Option<Static> = ["CodeCache._heap"];
        /// The heaps since JDK 9: `GrowableArray<CodeHeap*>*`.
        heaps: Option<Static> = ["CodeCache._heaps"];
        /// Length of a `GrowableArray`.
        array_length: Field = ["GenericGrowableArray._len", "GrowableArrayBase._len"];
        /// Elements of a `GrowableArray`.
        array_data: Field = ["GrowableArray<int>._data"];
        /// The code of a heap: a `VirtualSpace`.
        heap_memory: Field = ["CodeHeap._memory"];
        /// The segment map of a heap: a `VirtualSpace` with one byte per segment.
        heap_segment_map: Field = ["CodeHeap._segmap"];
        /// Shift from bytes to segments.
        heap_shift: Field = ["CodeHeap._log2_segment_size"];
        /// First address reserved.
        space_low_boundary: Field = ["VirtualSpace._low_boundary"];
        /// First address after what is reserved.
        space_high_boundary: Field = ["VirtualSpace._high_boundary"];
        /// First address in use.
        space_low: Field = ["VirtualSpace._low"];
        /// First address after what is in use.
        space_high: Field = ["VirtualSpace._high"];
        /// What precedes each blob.
        block: Size = ["HeapBlock"];
        /// Segments of a block.
        block_length: Field = ["HeapBlock::Header._length"];
        /// Whether a block is in use.
        block_used: Field = ["HeapBlock::Header._used"];
    }
}

group! {
    /// `CodeBlob`: the head of everything in the code cache (code/codeBlob.hpp).
    CodeBlobLayout {
        /// Its own size.
        size_of: Size = ["CodeBlob"];
        /// `const char*`: its name, which shows its kind.
        name: Field = ["CodeBlob._name"];
        /// Bytes of the blob with its head.
        size: Field = ["CodeBlob._size"];
        /// Words of its frame, return address included; 0 or less where the size is not fixed.
        frame_size: Field = ["CodeBlob._frame_size"];
        /// Bytes from the beginning of its code until its frame is complete; negative: never.
        frame_complete: Field = ["CodeBlob._frame_complete_offset"];
        /// First instruction, an address (JDK 9 to 22).
        code_begin: Option<Field> = ["CodeBlob._code_begin"];
        /// First address after its instructions (JDK 9 to 22).
        code_end: Option<Field> = ["CodeBlob._code_end"];
        /// First instruction, bytes from the blob (JDK 8, since JDK 23).
        code_offset: Option<Field> = ["CodeBlob._code_offset"];
        /// Where its code ends and its data begins, bytes from the blob.
        data_offset: Field = ["CodeBlob._data_offset"];
        /// Data that moved out of the code cache (since JDK 25).
        mutable_data: Option<Field> = ["CodeBlob._mutable_data"];
        /// Bytes of that data.
        mutable_data_size: Option<Field> = ["CodeBlob._mutable_data_size"];
        /// Bytes of relocation information, which mutable data begins with.
        relocation_size: Option<Field> = ["CodeBlob._relocation_size"];
    }
}

group! {
    /// `nmethod`: a compiled method (code/nmethod.hpp; until JDK 22 in part
    /// code/compiledMethod.hpp).
    NmethodLayout {
        /// Its own size.
        size_of: Size = ["nmethod"];
        /// `Method*`; null when unloaded.
        method: Field = ["CompiledMethod._method", "nmethod._method"];
        /// Number of its compilation: with the address it names a compiled method over time.
        compile_id: Field = ["nmethod._compile_id"];
        /// Tier, 1 to 4.
        comp_level: Field = ["nmethod._comp_level"];
        /// Bytecode index at which it is entered: -1, or that of an on-stack replacement.
        entry_bci: Field = ["nmethod._entry_bci"];
        /// Life cycle (`nmethod::in_use` …).
        state: Field = ["nmethod._state"];
        /// Where calls that need no check of the receiver's class begin, an address (JDK 8 to 22).
        verified_entry: Option<Field> = ["nmethod._verified_entry_point"];
        /// Like `verified_entry`, bytes from its first instruction (since JDK 23).
        verified_entry_offset: Option<Field> = ["nmethod._verified_entry_offset"];
        /// Bytes from the stack pointer to the slot that keeps the pc of a deoptimised frame.
        orig_pc_offset: Field = ["nmethod._orig_pc_offset"];
        /// Deoptimisation handler, an address (JDK 9 to 22).
        deopt_handler: Option<Field> = ["CompiledMethod._deopt_handler_begin"];
        /// Deoptimisation handler, bytes from the nmethod (JDK 8, since JDK 23).
        deopt_handler_offset: Option<Field> = [
            "nmethod._deoptimize_offset", "nmethod._deopt_handler_offset", "nmethod._deopt_handler_entry_offset"
        ];
        /// Deoptimisation handler at calls of method handles, an address (JDK 9 to 22).
        deopt_mh_handler: Option<Field> = ["CompiledMethod._deopt_mh_handler_begin"];
        /// Deoptimisation handler at calls of method handles, bytes from the nmethod (JDK 8, JDK 23
        /// to 25).
        deopt_mh_handler_offset: Option<Field> = ["nmethod._deoptimize_mh_offset", "nmethod._deopt_mh_handler_offset"];
        /// Exception handler, bytes from the nmethod.
        exception_offset: Option<Field> = ["nmethod._exception_offset"];
        /// Stubs of its calls, bytes from the nmethod.
        stub_offset: Option<Field> = ["nmethod._stub_offset"];
        /// Scopes, an address (JDK 9 to 22).
        scopes_data: Option<Field> = ["CompiledMethod._scopes_data_begin"];
        /// Scopes, bytes from the nmethod (JDK 8) or from its immutable data (since JDK 23).
        scopes_data_offset: Option<Field> = ["nmethod._scopes_data_offset"];
        /// `PcDesc` table, bytes from the nmethod or from its immutable data.
        scopes_pcs_offset: Field = ["nmethod._scopes_pcs_offset"];
        /// What follows the `PcDesc` table until JDK 22.
        dependencies_offset: Option<Field> = ["nmethod._dependencies_offset"];
        /// Table of `Metadata*`: bytes from the nmethod (JDK 8 to 22), or from the blob's data (JDK
        /// 23, 24).
        metadata_offset: Option<Field> = ["nmethod._metadata_offset"];
        /// Data that does not change, outside the code cache (since JDK 23).
        immutable_data: Option<Field> = ["nmethod._immutable_data"];
        /// Bytes of that data.
        immutable_data_size: Option<Field> = ["nmethod._immutable_data_size"];
    }
}

group! {
    /// The interpreter's code: a queue of codelets (interpreter/interpreter.hpp, code/stubs.hpp).
    InterpreterLayout {
        /// `StubQueue*`.
        code: Static = ["AbstractInterpreter._code"];
        /// First address of the queue.
        buffer: Field = ["StubQueue._stub_buffer"];
        /// Bytes of the queue.
        buffer_limit: Field = ["StubQueue._buffer_limit"];
        /// Return address of the stub that calls Java from the JVM.
        call_stub_return: Option<Static> = ["StubRoutines._call_stub_return_address"];
        /// Bytes of a codelet with its head.
        codelet_size: Field = ["InterpreterCodelet._size"];
        /// `const char*`: what a codelet is for.
        codelet_name: Field = ["InterpreterCodelet._description"];
        /// `sizeof` the head of a codelet.
        codelet: Size = ["InterpreterCodelet"];
    }
}
