//! Fields that describe where the Java heap and the class space lie.

use super::{Field, Static, group};

group! {
    /// The heap as every collector describes it (src/hotspot/share/memory/universe.hpp,
    /// gc/shared/collectedHeap.hpp, memory/memRegion.hpp, oops/compressedKlass.hpp).
    HeapLayout {
        /// `CollectedHeap*`.
        heap: Static = ["Universe._collectedHeap"];
        /// `CollectedHeap`: what it has reserved, a `MemRegion`. ZGC leaves it empty.
        reserved: Field = ["CollectedHeap._reserved"];
        /// `CollectedHeap`: collections so far, which distinguish a space that was emptied and
        /// filled again from one that did not change.
        collections: Option<Field> = ["CollectedHeap._total_collections"];
        /// `CollectedHeap`: whether a stop-the-world collection is in progress.
        collecting: Option<Field> = ["CollectedHeap._is_stw_gc_active", "CollectedHeap._is_gc_active"];
        /// `MemRegion`: its first address.
        start: Field = ["MemRegion._start"];
        /// `MemRegion`: its length in words.
        words: Field = ["MemRegion._word_size"];
        /// Base of compressed class pointers: the class data of the archive and the class space lie
        /// behind it.
        klass_base: Option<Static> = [
            "Universe._narrow_klass._base", "CompressedKlassPointers._narrow_klass._base", "CompressedKlassPointers._base"
        ];
    }
}
