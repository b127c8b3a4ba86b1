//! Fields that tell where the Java heap and the class space lie.

use super::{Field, Static, group};

group! {
    /// The heap as every collector tells of it (src/hotspot/share/memory/universe.hpp,
    /// gc/shared/collectedHeap.hpp, memory/memRegion.hpp, oops/compressedKlass.hpp).
    HeapLayout {
        /// `CollectedHeap*`.
        heap: Static = ["Universe._collectedHeap"];
        /// `CollectedHeap`: what it has reserved, a `MemRegion`. ZGC leaves it empty.
        reserved: Field = ["CollectedHeap._reserved"];
        /// `CollectedHeap`: collections so far, by which a space that was emptied and filled again
        /// is told from one that was left alone.
        collections: Option<Field> = ["CollectedHeap._total_collections"];
        /// `CollectedHeap`: whether one is under way that stops the JVM.
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
